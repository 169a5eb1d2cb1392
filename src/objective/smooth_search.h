// The minimum of a convex function of one number whose slope has no jumps, as sums of smooth losses
// along a ray: Newton's method between two places where the slope has different signs. Where the
// function is piecewise quadratic, as with the squared hinge, it ends after finitely many trials.
#pragma once

#include <cmath>
#include <limits>

#include "objective/tuning.h"

namespace hinge {

// f' and f'' somewhere.
struct SlopeAndCurvature {
  double slope = 0, curvature = 0;
};

// The t in [0, t_max] that minimises f, of which at(t) tells slope and curvature; `here` are those
// at 0, where the slope is negative. With rows on several ranks at(t) is a sum over all of them, so
// that t is the same everywhere. A slope of `enough` of that at 0 is none.
template <class At>
double smooth_minimum(const SlopeAndCurvature& here, double t_max, const At& at,
                      double enough = SmoothSearchTuning::kEnough) {
  double low = 0, high = std::numeric_limits<double>::infinity();
  double t = here.curvature > 0 ? -here.slope / here.curvature : t_max;
  if (!(t < t_max)) t = t_max;
  if (!std::isfinite(t)) return 0;  // nothing says how far
  for (int trial = 0; trial < SmoothSearchTuning::kTrials; ++trial) {
    const SlopeAndCurvature there = at(t);
    if (!(std::abs(there.slope) > enough * -here.slope)) break;
    (there.slope < 0 ? low : high) = t;
    if (low >= t_max) break;
    double next = t - there.slope / there.curvature;
    if (!(next > low && next < high)) next = std::isfinite(high) ? low + (high - low) / 2 : 2 * t;
    if (!(next < t_max)) next = t_max;
    if (next == t) break;
    t = next;
  }
  return t;
}

// Where in [0, 1] a smooth concave function is largest; and where about it would be if it went on
// beyond 1 as it does there.
struct ShareOfWay {
  double best = 1, beyond = 1;
};
// at(t): its slope, and by how much that falls. It is asked for 1 first, as near 0 the slope may be
// too steep for trials.
template <class At>
ShareOfWay concave_maximum(const At& at) {
  const SlopeAndCurvature end = at(1.0);
  const double further = end.slope / end.curvature;
  if (!(end.slope < 0)) return {1, further > 0 ? 1 + further : 1.0};
  const double back = smooth_minimum(end, 1, [&](double t) { return at(1 - t); });
  return {1 - back, 1 - back};
}

}  // namespace hinge
