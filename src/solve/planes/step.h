// How far the five methods go from the best point, the anchor, towards the minimum w_t of the small
// problem, the trial, and where they lay the next plane. Along the way
//   F(t) = 1/2 |point(t)|^2 + C R_active(point(t)),  point(t) = anchor + t (trial - anchor).
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/archive.h"
#include "objective/problem.h"
#include "solve/monitor.h"
#include "solve/planes/risk.h"
#include "solve/planes/tuning.h"

namespace hinge {

// As multiples of trial - anchor.
struct Step {
  double go = 0;
  double plane = 0;
  double primal = 0;  // F at `go`
};

class StepSearch {
 public:
  StepSearch(const Problem& problem, Solver method, double mu, Risk& risk, Monitor& monitor)
      : problem_(problem), method_(method), mu_(mu), risk_(risk), monitor_(monitor) {}

  // The anchor or the trial moved. `back`: the anchor is where a round of `focus` began, and the
  // trial where it ended.
  void follow(const Segment& segment, bool back = false) {
    segment_ = segment;
    back_ = back;
  }
  const Segment& segment() const { return segment_; }

  // `here` is F(0), `bound` the bound.
  Step find(double here, double bound) {
    switch (method_) {
      case Solver::cpa:
        return {.go = 1, .plane = 1, .primal = objective(1)};
      case Solver::active:
        return beyond_minimum(within_reach(), here, bound);
      default: {
        const double go = method_ == Solver::ocas3 ? three_points(here) : search(range());
        return beyond_minimum({go, (1 - mu_) * go + mu_, objective(go)}, here, bound);
      }
    }
  }

  // What was gone in the end, which later searches go by.
  void remember(double go) {
    for (std::size_t k = std::size(steps_) - 1; k > 0; --k) steps_[k] = steps_[k - 1];
    steps_[0] = go;
  }
  void forget() { std::ranges::fill(steps_, kNoStep); }

  // For `active`: how far w may go before a row that is not active changes sides, which must be
  // less far than keep_near() was told. Never less than the way to the plane: rows that are not
  // active must be there on the side they are on here.
  double reach_after(const Step& step) {
    const double distance = std::sqrt(segment_.square);
    reach_ = std::max(*std::ranges::max_element(steps_) + mu_, std::abs(step.plane - step.go)) *
             distance;
    if (!(distance > 0) || problem_.free_bias) reach_ = kInfinity;
    return reach_;
  }

  void archive(Archive& archive) { archive(segment_, first_try_, steps_, reach_); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kNoStep = -1;

  // F(t); the second form where the stage is timed already.
  double objective(double t) {
    const auto timer = monitor_.stage(Monitor::Stage::objective);
    return value(t);
  }
  double value(double t) {
    const double square = segment_.anchor_square +
                          2 * t * (segment_.product - segment_.anchor_square) +
                          t * t * segment_.square;
    return square / 2 + problem_.cost * risk_.value(t);
  }

  // The minimum of F in [0, t_max].
  double search(double t_max) {
    const auto timer = monitor_.stage(Monitor::Stage::search);
    const double t =
        risk_.search(segment_.square / problem_.cost,
                     (segment_.product - segment_.anchor_square) / problem_.cost, t_max);
    return std::min(t, PlanesTuning::kLongestStep);
  }

  // Focus looks no further than a few times as far as it went lately, and from a round's beginning
  // hardly beyond its end.
  double range() const {
    if (method_ != Solver::focus || steps_[0] == kNoStep) return kInfinity;
    return back_ ? PlanesTuning::kSearchRangeBack
                 : PlanesTuning::kSearchRange * (*std::ranges::max_element(steps_) + mu_);
  }

  // The minimum of a parabola through three points that enclose the minimum, four evaluations at
  // most besides F(0), which is known.
  double three_points(double here) {
    const auto timer = monitor_.stage(Monitor::Stage::search);
    double left = 0, at_left = here;
    double middle = first_try_, at_middle = value(middle);
    double right = 2 * middle, at_right = value(right);
    for (int more = 0; more < PlanesTuning::kThreePointMoves; ++more) {
      if (at_middle > at_left) {  // too far: halve
        right = middle, at_right = at_middle;
        middle /= 2, at_middle = value(middle);
      } else if (at_right < at_middle) {  // not far enough: double
        left = middle, at_left = at_middle;
        middle = right, at_middle = at_right;
        right *= 2, at_right = value(right);
      } else {
        break;
      }
    }
    // Also where no step is taken: the next search goes on from here.
    first_try_ = std::clamp(middle, PlanesTuning::kShortestFirstTry, PlanesTuning::kLongestStep);
    const double p = (middle - left) * (at_middle - at_right),
                 q = (middle - right) * (at_middle - at_left);
    double best = middle;
    if (at_left < at_middle) best = left;
    if (at_right < std::min(at_left, at_middle)) best = right;
    if (p - q == 0 || !std::isfinite(p - q)) return best;
    const double vertex = middle - ((middle - left) * p - (middle - right) * q) / (2 * (p - q));
    return std::clamp(vertex, left, right);
  }

  // [AS] Algorithm 1: a step of at most `reach_` / |w_t - w_b| carries no row across its margin
  // that is not active. Where all are active it may be longer; the search begins within reach all
  // the same, since it looks at the more rows the farther it goes.
  Step within_reach() {
    const double distance = std::sqrt(segment_.square);
    const double reach = distance > 0 && reach_ > 0 ? reach_ / distance : kInfinity;
    const double most = risk_.active() == risk_.rows().all_rows() ? kInfinity : reach;
    Step step;
    step.go = search(reach);
    if (step.go >= reach && reach < most) step.go = search(most);
    if (step.go >= most) {
      step.go = PlanesTuning::kShareOfReach * most;
      step.plane = most;
    } else {
      step.plane = std::min((1 - mu_) * step.go + mu_, most);
    }
    step.primal = objective(step.go);
    return step;
  }

  // A plane must lie where F rises, or it need not cut w_t off. search() goes along a straight line
  // in a free bias, while F has the best one of every point: it may still fall where that line does
  // not. So a step that gained little goes on while F falls.
  Step beyond_minimum(Step step, double here, double bound) {
    if (!problem_.free_bias || method_ == Solver::ocas3) return step;
    if (here - step.primal > PlanesTuning::kLittleGain * (here - bound)) return step;
    for (double ahead = step.plane - step.go; ahead > 0; ahead *= 2) {
      const double primal = objective(step.plane);
      if (!(primal < step.primal)) break;
      step = {step.plane, std::min(1.0, step.plane + 2 * ahead), primal};
      if (step.go >= 1) break;
    }
    return step;
  }

  const Problem& problem_;
  const Solver method_;
  const double mu_;
  Risk& risk_;
  Monitor& monitor_;
  Segment segment_;
  bool back_ = false;
  double first_try_ = 1;                                    // of the three-point search
  double steps_[4] = {kNoStep, kNoStep, kNoStep, kNoStep};  // the last ones, newest first
  double reach_ = kInfinity;
};

}  // namespace hinge
