// Columns of which float32 keeps too little.
#pragma once

#include <optional>

#include "hinge/dataset.h"
#include "hinge/result.h"

namespace hinge {

// A warning (data.value.f32) where the rounding of a column's values to float32 may exceed a
// thousandth of their standard deviation, as it does where they are large and nearly the same; of
// the first such column. Looks at some rows spread through the data.
std::optional<Error> look_for_lost_digits(const Dataset& data);

}  // namespace hinge
