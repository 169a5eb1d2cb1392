// Recomputes primal and dual values from the rows, in double code that shares nothing with the
// solvers and rounds outwards: primal is at least P(w), dual is at most the optimum, in real
// arithmetic, whatever was rounded on the way (docs/math.md, "Rounding outwards"). What it returns
// is what hinge reports; what a solver believes is never reported.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/pool.h"
#include "hinge/model.h"
#include "objective/problem.h"
#include "ranks/comm.h"

namespace hinge {

// A certificate, and how far its ends were moved: P(w) lies in [primal_low, primal] and what alpha
// proves in [dual, dual_high]; but `dual` is never below 0, which bounds any optimum.
struct Proof : Certificate {
  double primal_low = 0;
  double dual_high = 0;
  double plain_rounding = 0;  // rounding() as it would be, were there no second computation

  // How much of the gap, at most, is rounding of this computation.
  double rounding() const {
    return (primal - primal_low) + (bounded() ? std::max(0.0, dual_high - dual) : 0.0);
  }
};

// w: problem.dimension() weights. alpha: feasible dual variables, or empty for "no bound known".
// Where plain sums would leave more than 5e-10 of the primal to rounding, or more than a hundredth
// of `gap`, or of few values anything one could see, all is computed again with twice
// the digits (not on several ranks). Throws Interrupted if the pool's stop token says so, as the
// other one does. On several ranks the rows and alpha are this rank's, the certificate is that of
// all.
Proof certify(const Problem& problem, std::span<const double> w, std::span<const double> alpha,
              Pool& pool, Comm* comm = nullptr, double gap = 1);

// The same in the space of a kernel, for all problems of some rows at once: they share the kernel
// values. w_k = sum_j coefficients[k * support.rows() + j] phi(support row j); `support` has the
// columns of the data. alphas: one a problem, each feasible or empty. Kernels that are not positive
// definite have no bound.
std::vector<Proof> certify(std::span<const Problem> problems, const KernelFunction& kernel,
                           const Dataset& support, std::span<const double> coefficients,
                           std::span<const std::vector<double>> alphas, Pool& pool);

// Sets relative_gap from primal and dual: (P - D)/P, rounded up; 0 when P is 0, 1 without a bound
// and where that is no number.
void set_gap(Certificate& certificate);

// Whether a problem has what `asked` asks for: the gap, in one of its forms, or the primal value.
bool reaches(const Certificate& certificate, const Origin& asked);

// The largest P - bound that will do; 0: none was asked for.
double absolute_goal(const Origin& asked);

// The relative gap that will do where a proof has these values: the largest of what was asked for,
// whatever its form; 0: none will.
double relative_goal(const Origin& asked, double primal, double dual);

// The gap that certify() is to be told, where the primal is at most this.
double gap_to_certify(const Origin& asked, double primal);

// What both certify() end with: intervals become a certificate. Throws Failure (run.internal) if
// the bound exceeds the primal, which no input can bring about.
struct Interval;
Proof make_proof(const Interval& primal, const Interval* dual);

}  // namespace hinge
