// Dual variables in and out of the compact form a model keeps (hinge/model.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hinge/model.h"
#include "objective/problem.h"

namespace hinge {

// alpha must be within the box of the problem.
Witness compact(const Problem& problem, std::span<const double> alpha);

// Throws Failure (model.content) unless the witness fits the problem: one state a row, every state
// known, as many free values as free rows, every value finite and strictly inside its box.
std::vector<double> expand(const Problem& problem, const Witness& witness);

}  // namespace hinge
