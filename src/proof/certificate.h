// Recomputes primal and dual values from the rows, in plain double code that shares nothing with
// the solvers. What it returns is what hinge reports; what a solver believes is never reported.
#pragma once

#include <span>
#include <vector>

#include "base/comm.h"
#include "base/parallel.h"
#include "data/problem.h"
#include "hinge/model.h"

namespace hinge {

// w: problem.dimension() weights. alpha: feasible dual variables, or empty for "no bound known".
// Both ways throw Interrupted if the pool's stop token says so.
// On several ranks the rows and alpha are this rank's, the certificate is that of all.
Certificate certify(const Problem& problem, std::span<const double> w,
                    std::span<const double> alpha, Pool& pool, Comm* comm = nullptr);

// The same in the space of a kernel, for all problems of some rows at once: they share the kernel
// values. w_k = sum_j coefficients[k * support.rows() + j] phi(support row j); `support` has the
// columns of the data. alphas: one a problem, each feasible or empty. Kernels that are not positive
// definite have no bound.
std::vector<Certificate> certify(std::span<const Problem> problems, const KernelFunction& kernel,
                                 const Dataset& support, std::span<const double> coefficients,
                                 std::span<const std::vector<double>> alphas, Pool& pool);

// Sets relative_gap from primal and dual: (P - D)/P, 0 when P is 0 or rounding made D exceed P, 1
// where that is no number.
void set_gap(Certificate& certificate);

}  // namespace hinge
