// Newton steps on P itself, for a smooth loss.
#pragma once

#include "solve/solver.h"

namespace hinge {

// By way of samples of the rows, as solve_newton() does it.
template <class Loss>
Solution solve_smoothly(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                        Pool& pool);

}  // namespace hinge
