// The row of this solver in the table of solve/traits.h.
#pragma once

#include "solve/traits.h"

namespace hinge {

extern const SolverTraits kDualTraits;

}  // namespace hinge
