// The rows of the five methods of cutting planes in the table of solve/traits.h.
#pragma once

#include <array>

#include "solve/traits.h"

namespace hinge {

extern const std::array<SolverTraits, 5> kPlanesTraits;

}  // namespace hinge
