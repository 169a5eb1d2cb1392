// What a row inside the margin costs: the losses that training can minimise.
#pragma once

#include <cstdint>
#include <string_view>

namespace hinge {

// Of a margin z = y <w, x> (docs/math.md):
//   hinge           max(0, 1 - z)
//   squared_hinge   max(0, 1 - z)^2, which has no corner, and costs a row far inside more
//   logistic        log(1 + e^-z), of which every row has some: of it probabilities are made
enum class LossKind : std::uint8_t { hinge, squared_hinge, logistic };

// "hinge": its name in options, models and reports.
std::string_view to_string(LossKind loss);

}  // namespace hinge
