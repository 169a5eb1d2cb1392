// Every solver is one function here. It works on a Problem until its Monitor says stop and returns
// the best point it found with feasible dual variables; whoever calls it has both certified
// (proof/).
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "data/problem.h"
#include "kernels/kernels.h"
#include "solve/monitor.h"

namespace hinge {

struct Solution {
  std::vector<double> w;      // best primal point, problem.dimension() numbers
  std::vector<double> alpha;  // best dual point, one number a row, inside its box
  std::uint64_t iterations = 0;
  std::uint64_t rows_touched = 0;
  bool stalled = false;  // ended because rounding allows no further progress
};

struct SolverOptions {
  std::uint64_t seed = 1;
  const Kernels* kernels = &best_kernels();
};

// Dual coordinate descent. Each step moves one dual variable to its optimum:
//   a_i <- clip(a_i - (y_i <w,x_i> - 1)/|x_i|^2, 0, U_i),  w = sum_i a_i y_i x_i kept up to date.
// Rows are visited in shuffled runs of neighbours (memory streams, epochs needed stay the same).
// Rows at a bound whose gradient points well outwards rest until the next exact pass, which
// computes P and D from all rows and chooses the rows to work on anew.
Solution solve_dual(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                    Pool& pool);

}  // namespace hinge
