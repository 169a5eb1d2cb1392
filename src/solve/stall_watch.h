// Tells when a solver makes no more progress, from the gap at each of its exact passes: none at all
// over a window of them, or none worth the name where only rounding is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/archive.h"
#include "solve/tuning.h"

namespace hinge {

class StallWatch {
 public:
  // True: stalled. `waves`: progress comes in long ones, with the best gap waiting in between.
  bool stalled(double gap, bool waves) {
    idle_ = !gaps_.empty() && gaps_.back() == gap ? idle_ + 1 : 0;
    gaps_.push_back(gap);
    const std::size_t window =
        waves && gap >= StallTuning::kRoundingGap ? StallTuning::kLongWindow : StallTuning::kWindow;
    if (gaps_.size() <= window) return false;
    const double before = gaps_[gaps_.size() - 1 - window];
    if (gaps_.size() > StallTuning::kLongWindow) gaps_.pop_front();
    return gap == before ||
           (gap < StallTuning::kRoundingGap && gap > StallTuning::kRoundingLeft * before);
  }

  std::uint64_t idle() const { return idle_; }  // passes in which nothing changed, up to now

  void archive(Archive& archive) { archive(gaps_, idle_); }

 private:
  std::deque<double> gaps_;
  std::uint64_t idle_ = 0;
};

}  // namespace hinge
