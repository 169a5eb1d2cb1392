// Which solver --solver auto takes, and why.
#pragma once

#include <string>

#include "data/problem.h"
#include "hinge/dataset.h"
#include "hinge/options.h"

namespace hinge {

struct SolverChoice {
  Solver solver;
  std::string because;  // in words; empty where the solver was named
};

// A function of rows, columns, lengths of rows, costs and gap; never of threads, so that the bits
// of a model are the same for any number of them.
SolverChoice choose_solver(const TrainOptions& options, const Dataset& data);

// The same on several ranks, where what is sent counts too.
SolverChoice choose_solver(const TrainOptions& options, const Whole& whole, int ranks);

}  // namespace hinge
