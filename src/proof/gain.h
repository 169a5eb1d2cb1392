// What dual variables add to D besides -1/2 |v|^2, recomputed for a certificate.
#pragma once

#include <cmath>
#include <span>

#include "objective/problem.h"
#include "proof/outward.h"

namespace hinge {

// Sums of terms that are not negative, of which `less` is to be taken from `more`.
struct GainSums {
  double more = 0, less = 0;
};

// sum_i -U_i l*(-alpha_i / U_i), and sum_i alpha_i t_i where rows have targets. A term goes through
// kGainDepth operations and the additions of sum_depth().
template <class Loss>
constexpr double kGainDepth = Loss::kRegression ? Loss::kGainRoundings + 1 : Loss::kGainRoundings;

template <class Loss>
GainSums gain_of(const Loss& loss, const Problem& problem, std::span<const double> alpha) {
  GainSums sums, block;
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    auto [more, less] = loss.enclose_gain(alpha[i], problem.upper(i));
    if constexpr (Loss::kRegression) {
      const double met = alpha[i] * problem.targets[i];
      (met > 0 ? more : less) += std::abs(met);
    }
    block.more += more;
    block.less += less;
    if ((i + 1) % kSumBlock != 0 && i + 1 != alpha.size()) continue;
    sums.more += block.more;
    sums.less += block.less;
    block = {};
  }
  return sums;
}

// What they are in real arithmetic, where each of so many terms went through so many additions.
template <class Loss>
Interval enclose_gain(const GainSums& sums, double terms, double additions) {
  const double roundings = additions + kGainDepth<Loss>;
  const double products = kGainDepth<Loss> * terms;  // that may have underflowed
  const Interval more = enclose_sum(sums.more, roundings, products);
  if (sums.less == 0) return more;
  const Interval less = enclose_sum(sums.less, roundings, products);
  return {down(more.low - less.high), up(more.high - less.low)};
}

}  // namespace hinge
