// Which cost is worked on when, and where it begins.
#pragma once

#include <vector>

#include "hinge/train.h"
#include "train/plan.h"

namespace hinge {

// Trains a model for every cost of the plan, ascending; fewer where the run was stopped, but one at
// least.
std::vector<TrainReport> schedule(const Plan& plan, Run& run);

}  // namespace hinge
