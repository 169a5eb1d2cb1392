// With a free bias: the primal at a point, or at the best multiple of it, each with the bias that
// is best there. In one process.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "objective/free_bias.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "solve/pegasos/hit_shares.h"
#include "solve/pegasos/tuning.h"

namespace hinge {

template <class Loss>
class FreeBiasPoint {
 public:
  // Of the point only |w|^2 and the scores of the rows are known.
  FreeBiasPoint(const Problem& problem, double square, RowNumbers scores)
      : problem_(problem), square_(square), scores_(scores) {}

  // P at the point times factor with the best bias, and how it changes with the factor.
  MeasuredPoint multiple(double factor) const {
    if constexpr (Loss::kSmooth) {
      return smooth_multiple(factor);
    } else {
      return bent_multiple(factor);
    }
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
  // The statuses s_i that make sum_i s_i U_i y_i = 0 hide the bias from the slope.
  MeasuredPoint bent_multiple(double factor) const {
    if constexpr (Loss::kRegression) {
      return two_sided_multiple(factor);
    } else {
      return one_sided_multiple(factor);
    }
  }

  MeasuredPoint one_sided_multiple(double factor) const {
    static_assert(kLearnsByHits<Loss>, "a row has one place where it is hit");
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
      at.primal += upper * loss_.value(y * (factor * scores_[i] + at.bias));
      const double passed = i == crossing.item             ? crossing.share
                            : crossing.passed(place(i), i) ? 1.0
                                                           : 0.0;
      at.slope -= (y > 0 ? 1 - passed : passed) * upper * y * scores_[i];
    }
    return at;
  }

  // In regression, where y_i is 1, a row has several places, at each of which its slope rises; the
  // share of the step at the crossing is what makes the slopes of all rows sum up to 0.
  MeasuredPoint two_sided_multiple(double factor) const {
    constexpr std::size_t kPlaces = Loss::kJumps.size();
    const std::uint64_t rows = problem_.y.size();
    const auto place = [&](std::uint64_t i, std::size_t k) {
      return loss_.breakpoints()[k] - problem_.margin<Loss>(i, factor * scores_[i]);
    };
    MeasuredPoint at = {.primal = std::nan(""), .factor = factor};
    double first = Loss::kLastSlope;  // the slope of the loss before all its places
    for (const double jump : Loss::kJumps) first -= jump;
    double before = 0;
    std::vector<SlopeStep> steps(rows * kPlaces);
    for (std::uint64_t i = 0; i < rows; ++i) {
      before += problem_.upper(i) * first;
      for (std::size_t k = 0; k < kPlaces; ++k) {
        SlopeStep& step = steps[i * kPlaces + k];
        step = {.place = place(i, k),
                .size = problem_.upper(i) * Loss::kJumps[k],
                .item = i * kPlaces + k};
        if (!std::isfinite(step.place)) return at;
      }
    }
    const Crossing crossing = find_crossing(before, steps);
    at.bias = crossing.at;
    at.primal = factor * factor * square_ / 2;
    at.slope = factor * square_;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double upper = problem_.upper(i);
      at.primal += upper * loss_.value(problem_.margin<Loss>(i, factor * scores_[i] + at.bias));
      double slope = first;
      for (std::size_t k = 0; k < kPlaces; ++k) {
        const std::uint64_t item = i * kPlaces + k;
        const double passed = item == crossing.item                ? crossing.share
                              : crossing.passed(place(i, k), item) ? 1.0
                                                                   : 0.0;
        slope += Loss::kJumps[k] * passed;
      }
      at.slope += slope * upper * scores_[i];
    }
    return at;
  }

  // So does a bias at which the slope along it is 0.
  MeasuredPoint smooth_multiple(double factor) const {
    const std::uint64_t rows = problem_.y.size();
    const auto margin = [&](std::uint64_t i, double bias) {
      return problem_.margin<Loss>(i, problem_.y[i] * (factor * scores_[i] + bias));
    };
    const auto along_bias = [&](double bias) {
      SlopeAndCurvature sum;
      for (std::uint64_t i = 0; i < rows; ++i) {
        const double y = problem_.y[i], upper = problem_.upper(i), z = margin(i, bias);
        sum.slope += upper * y * loss_.slope(z);
        sum.curvature += upper * loss_.curvature(z);
      }
      return sum;
    };
    MeasuredPoint at = {.primal = std::nan(""), .factor = factor};
    const SlopeAndCurvature here = along_bias(0);
    if (!std::isfinite(here.slope)) return at;
    if (here.slope != 0) {
      const double sign = here.slope < 0 ? 1 : -1;
      at.bias = sign * smooth_minimum({-std::abs(here.slope), here.curvature},
                                      std::numeric_limits<double>::infinity(),
                                      [&](double t) -> SlopeAndCurvature {
                                        const SlopeAndCurvature there = along_bias(sign * t);
                                        return {sign * there.slope, there.curvature};
                                      });
    }
    at.primal = factor * factor * square_ / 2;
    at.slope = factor * square_;
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double z = margin(i, at.bias), upper = problem_.upper(i);
      at.primal += upper * loss_.value(z);
      at.slope += upper * loss_.slope(z) * problem_.y[i] * scores_[i];
    }
    return at;
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  double square_;
  RowNumbers scores_;
};

}  // namespace hinge
