// Where lanes meet (lane.h). Each has gone a way of its own from the same w: its variables by d_k,
// which moves w by v_k = sum_i d_i y_i x_i over its rows. Together they go
//
//   alpha <- alpha + t d,   w <- w + t v,   v = sum_k v_k
//
// with the t in [0, 1] that is best in D, which costs two inner products: D never falls, and alpha
// stays in its box.
//
// Were every lane to descend as if the others stood still, with a stiffness of 1, lanes whose rows
// share columns would all do the same work and together go too far; with as many as there are lanes
// the sum cannot lower D whatever the rows, but where they share little it goes much less far than
// it could. So the stiffness is tried: where t < 1 would have been best it was too small, and where
// more would have been, too large.
//
// Every lane calls join() with its own part and gets the same t. What it takes from the others is
// one sum over lanes of as many numbers as w has and two more, however these come together: ranks
// exchange messages, threads would meet at a barrier, lanes that take turns would add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "objective/loss.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "simd/simd.h"

namespace hinge {

// values[k] becomes its sum over all lanes, the same bits for every lane. Many are 0 on each.
using SumOverLanes = std::function<void(std::span<double>)>;

// What variables add to the part of D that is not w's where they go the share t of their way:
// slope t - curvature t^2 / 2.
struct StepGain {
  double slope = 0, curvature = 0;
};
// Of the variable of a row that goes from one value to another. Where that is no quadratic, the one
// with its slope where the way begins and its value where it ends.
template <class Loss>
StepGain step_gain(const Problem& problem, const Loss& loss, std::uint64_t row, double from,
                   double to) {
  const double upper = problem.upper(row), way = to - from;
  if constexpr (!Loss::kQuadraticGain) {
    const double slope = way * gain_slope(loss, from, upper);
    const double gained = loss.dual_gain(to, upper) - loss.dual_gain(from, upper);
    return {slope, 2 * (slope - gained)};
  } else {
    const double curvature = way * way * loss.dual_curvature(from, upper);
    if constexpr (!Loss::kKinked) return {way * gain_slope(loss, from, upper), curvature};
    // Where that crosses the kink D is above such a quadratic, the same at both ends.
    return {loss.dual_gain(to, upper) - loss.dual_gain(from, upper) + curvature / 2 +
                way * problem.template corner<Loss>(row),
            curvature};
  }
}
// Where that is no quadratic: its slope at t, and by how much it falls there.
using GainAlong = std::function<SlopeAndCurvature(double t)>;

class Join {
 public:
  Join(std::size_t lanes, SumOverLanes sum, const Simd& simd);

  // What lanes descend with next: between 1 and their number.
  double stiffness() const { return stiffness_; }

  // Before they do: w, which is the same for all.
  void part(std::span<const double> w);
  // Afterwards: w as this lane sees it becomes that of all lanes. `gain` is what its variables add
  // to the part of D that is not w's on the way they went. Returns t.
  double meet(std::span<double> w, const StepGain& gain);
  double meet(std::span<double> w, const GainAlong& gain);

 private:
  void sum_up(std::span<const double> w, double slope, double curvature);
  double go(std::span<double> w, double share, double best);

  const double lanes_;
  const SumOverLanes sum_;
  const Simd& simd_;
  double stiffness_;
  std::vector<double> from_, step_;  // w where lanes parted; v, and the two of the gain behind it
};

}  // namespace hinge
