// Where solvers begin: at another cost of the same path, or at a model.
#pragma once

#include <cstddef>
#include <vector>

#include "objective/problem.h"
#include "solve/solver.h"
#include "train/plan.h"

namespace hinge {

// Where the models of another cost may begin.
struct WarmStarts {
  double cost = 0;                // 0: none
  bool cut = false;               // a limit decided where: another run would not begin there
  std::vector<Start> start = {};  // one a problem
};

// Returns a place between two of them. Were no row to change sides, dual variables would be linear
// in the cost.
WarmStarts between(const WarmStarts& below, const WarmStarts& above, double cost);

// Returns where `problem` begins that comes after the same one of cost `before`, which ended at
// `end`.
Start start_after(Start end, double before, const Problem& problem);

// What the start model of the plan says of `problem`, number k of `model`, in its columns. Throws
// Failure (model.start) where the solver needs a proof of these rows, and there is none.
Start start_at_model(const Plan& plan, int ranks, const Model& model, const Problem& problem,
                     std::size_t k);

}  // namespace hinge
