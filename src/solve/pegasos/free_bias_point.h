// With a free bias: the primal at a point, or at the best multiple of it, each with the bias that
// is best there. In one process.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "objective/free_bias.h"
#include "objective/problem.h"
#include "solve/pegasos/hit_shares.h"
#include "solve/pegasos/tuning.h"

namespace hinge {

template <class Loss>
class FreeBiasPoint {
 public:
  // Of the point only |w|^2 and the scores of the rows are known.
  FreeBiasPoint(const Problem& problem, double square, RowNumbers scores)
      : problem_(problem), square_(square), scores_(scores) {}

  // P at the point times factor with the best bias, and how it changes with the factor. The
  // statuses s_i that make sum_i s_i U_i y_i = 0 hide the bias from that slope.
  MeasuredPoint multiple(double factor) const {
    const std::uint64_t rows = problem_.y.size();
    const auto place = [&](std::uint64_t i) { return problem_.y[i] - factor * scores_[i]; };
    MeasuredPoint at = {.primal = std::nan(""), .factor = factor};
    double before = 0;
    std::vector<SlopeStep> steps(rows);
    for (std::uint64_t i = 0; i < rows; ++i) {
      steps[i] = {.place = place(i), .size = problem_.upper(i), .item = i};
      if (!std::isfinite(steps[i].place)) return at;
      if (problem_.y[i] > 0) before -= problem_.upper(i);
    }
    const Crossing crossing = find_crossing(before, steps);
    at.bias = crossing.at;
    at.primal = factor * factor * square_ / 2;
    at.slope = factor * square_;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double y = problem_.y[i], upper = problem_.upper(i);
      at.primal += upper * Loss::value(y * (factor * scores_[i] + at.bias));
      const double passed = i == crossing.item             ? crossing.share
                            : crossing.passed(place(i), i) ? 1.0
                                                           : 0.0;
      at.slope -= (y > 0 ? 1 - passed : passed) * upper * y * scores_[i];
    }
    return at;
  }

  // The best of those. P is convex in the factor, so its slope is brought to 0 by secants; of an
  // end that stays the slope is halved, lest the other come too slowly (Illinois). Two tangents say
  // what more could be gained.
  MeasuredPoint best_multiple(Pool& pool) const {
    MeasuredPoint low = multiple(0), high = multiple(1);
    MeasuredPoint best = low.primal < high.primal ? low : high;
    double left = low.slope, right = high.slope;
    for (int k = 0; k < PegasosTuning::kMostSecants && low.slope < 0 && high.slope != 0; ++k) {
      const bool inside = high.slope > 0;
      if (inside) {
        const double at =
            (high.primal - low.primal + low.slope * low.factor - high.slope * high.factor) /
            (low.slope - high.slope);
        const double least = low.primal + low.slope * (at - low.factor);
        if (!(best.primal - least > PegasosTuning::kLeastSecantGain * best.primal)) break;
      }
      const double factor =
          inside ? (low.factor * right - high.factor * left) / (right - left) : 2 * high.factor;
      pool.poll();  // each of them selects among all rows
      const MeasuredPoint next = multiple(factor);
      if (!std::isfinite(next.primal)) break;
      if (next.primal < best.primal) best = next;
      if (!inside) {
        low = std::exchange(high, next);
        left = low.slope;
        right = high.slope;
      } else if (next.slope < 0) {
        low = next;
        left = low.slope;
        right /= 2;
      } else {
        high = next;
        right = high.slope;
        left /= 2;
      }
    }
    return std::isfinite(high.primal) ? best : high;
  }

 private:
  const Problem& problem_;
  double square_;
  RowNumbers scores_;
};

}  // namespace hinge
