// What dual variables add to D besides -1/2 |v|^2, recomputed for a certificate.
#pragma once

#include <span>

#include "objective/problem.h"
#include "proof/outward.h"

namespace hinge {

// sum_i -U_i l*(-alpha_i / U_i): no term is negative, and each goes through Loss::kGainRoundings
// operations before it is added (sum_depth() of them).
template <class Loss>
double gain_of(const Problem& problem, std::span<const double> alpha) {
  return sum_of_terms(alpha.size(),
                      [&](std::size_t i) { return Loss::dual_gain(alpha[i], problem.upper(i)); });
}

}  // namespace hinge
