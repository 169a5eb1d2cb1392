// What a row costs: the losses that training can minimise.
#pragma once

#include <cstdint>
#include <string_view>

namespace hinge {

// Of a margin z = y <w, x> (docs/math.md):
//   hinge           max(0, 1 - z)
//   squared_hinge   max(0, 1 - z)^2, which has no corner, and costs a row far inside more
//   logistic        log(1 + e^-z), of which every row has some: of it probabilities are made
// Of regression, where z = <w, x> - t is by how much a score misses the target t of its row:
//   epsilon_insensitive   max(0, |z| - epsilon)
//   squared_epsilon       max(0, |z| - epsilon)^2
enum class LossKind : std::uint8_t {
  hinge,
  squared_hinge,
  logistic,
  epsilon_insensitive,
  squared_epsilon
};

// Whether rows have real targets in place of classes.
constexpr bool is_regression(LossKind loss) {
  return loss == LossKind::epsilon_insensitive || loss == LossKind::squared_epsilon;
}

// "hinge": its name in options, models and reports.
std::string_view to_string(LossKind loss);

}  // namespace hinge
