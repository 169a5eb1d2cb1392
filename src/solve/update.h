// What a step of Pegasos learns from a row: a share a of it, so that w gains a c y x times the size
// of the step. The dual variable of the row is U times the mean of its shares (docs/pegasos.md).
//
//   margin    A row inside the margin, where the loss has a slope. With the hinge it is a
//             sub-gradient step, as published, a = -l'(z) = 1. While steps are long such a step
//             goes far beyond the optimum, so that with any other loss the share is the one at the
//             point that the step leads to, an implicit step. A step on several rows at once takes
//             -l'(z) of each, and where slopes have no bound is as long as is best
//             (pegasos/step_length.h).
//   mistake   The same, but only rows predicted wrongly, z <= 0: a perceptron that shrinks. A score
//             of 0 speaks for no class, so it is a mistake; w = 0 could not begin otherwise.
#pragma once

#include <limits>
#include <type_traits>

#include "hinge/options.h"
#include "objective/loss.h"

namespace hinge {

// Whether a row is learned from as a whole or not at all, so that its shares can be counted.
template <class Loss>
constexpr bool kLearnsByHits = !Loss::kSmooth && Loss::kLowest == 0 && Loss::kHighest == 1;

// Whether slopes have no bound, so that steps on several rows have a length of their own.
template <class Loss>
constexpr bool kSteep = Loss::kHighest == std::numeric_limits<double>::infinity();

// A row is learned from as a whole if z is below this. No number lies between 0 and the one of
// `mistake`.
template <class Loss>
constexpr double learns_below(Update update) {
  static_assert(kLearnsByHits<Loss>);
  return update == Update::mistake ? std::numeric_limits<double>::denorm_min()
                                   : Loss::breakpoints()[0];
}

// The margin of a row where a step finds it, and where the step would leave it were nothing learned
// from it; and by how much it rises with a share, at least 0.
struct RowOfStep {
  double margin = 0, shrunk = 0, rise = 0;
};

// The share of a row of any other loss in a step on several.
template <class Loss>
double sloping_share(const Loss& loss, Update update, double margin) {
  static_assert(!kLearnsByHits<Loss>);
  return update == Update::mistake && !(margin <= 0) ? 0.0 : -loss.slope(margin);
}

// And in a step on this row alone.
template <class Loss>
double learned_share(const Loss& loss, Update update, const RowOfStep& row) {
  static_assert(!kLearnsByHits<Loss>);
  if (update == Update::mistake && !(row.margin <= 0)) return 0;
  return loss.dual_step(0.0, 1.0, loss.dual_gradient(row.shrunk), row.rise);
}

}  // namespace hinge
