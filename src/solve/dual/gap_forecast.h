// What the gap is by the next exact pass, told for nothing by what epochs see on their way. Their
// estimate is of the points on the way of an epoch: where the next epoch would bring it is about
// where this one ended. It leaves out rows that are not visited; by how much it was off at the last
// exact pass it is corrected.
#pragma once

#include <algorithm>

#include "base/archive.h"
#include "solve/dual/tuning.h"

namespace hinge {

class GapForecast {
 public:
  void see_epoch(double estimate) {
    const double before = estimate_;
    estimate_ = estimate;
    decay_ = before > 0 ? std::clamp(estimate_ / before, DualTuning::kFastestDecay, 1.0) : 1.0;
  }
  void see_exact(double gap) {
    if (!(estimate_ > 0)) return;
    const double most = DualTuning::kMaxGapCorrection;
    correction_ = std::clamp(gap / (estimate_ * decay_), 1 / most, most);
  }
  // The correction was that of short steps, after which the gap is smaller than after others.
  void forget_short_steps() { correction_ = std::max(correction_, 1.0); }

  double estimate() const { return estimate_; }  // of the last epoch, as it is
  double decay() const { return decay_; }        // of estimates, from one epoch to the next
  double gap() const { return estimate_ * decay_ * correction_; }

  void archive(Archive& archive) { archive(estimate_, decay_, correction_); }

 private:
  double estimate_ = 0, decay_ = 1, correction_ = 1;
};

}  // namespace hinge
