// Tells a run that will end from one that crawls: at the pace of its second half, would it take
// more work than it may? Work and gaps are numbers that a solver counts and computes, so the answer
// is the same in every run, on any machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/archive.h"
#include "solve/tuning.h"

namespace hinge {

struct PaceLimit {
  double least = 0;  // work after which a run is judged
  double most = 0;   // that a run may take; 0 = any amount
  // Work after which a run is judged already that is lost beyond doubt: as many times too slow as
  // the work done is less than `least`. 0: none is.
  double soonest = 0;
};

class Pace {
 public:
  explicit Pace(const PaceLimit& limit) : limit_(limit) {}

  // A record of the run: its gap after so much work in all, and the one to come to; 0: none. True:
  // it crawls. The same record may come twice.
  bool crawls(double work, double gap, double goal) {
    if (limit_.most == 0 || goal == 0) return false;
    if (work > CrawlTuning::kApart * records_.back().work) records_.push_back({work, gap});
    const double from = limit_.soonest > 0 ? std::min(limit_.soonest, limit_.least) : limit_.least;
    if (work < from || gap <= goal) return false;
    std::size_t at = records_.size() - 1;
    while (records_[at].work > work / 2) --at;
    const double fallen = std::log(records_[at].gap / gap);
    left_ = fallen > 0 ? std::log(gap / goal) / fallen * (work - records_[at].work)
                       : std::numeric_limits<double>::infinity();
    const double trust = work < limit_.least ? work / limit_.least : 1;
    return trust * (work + left_) > limit_.most;
  }

  // Work from the last record to the goal, at this pace; infinite: there was no progress at all.
  double left() const { return left_; }

  void archive(Archive& archive) {
    archive(records_, left_);
    archive.require(!records_.empty() && records_[0].work == 0);
  }

 private:
  struct Record {
    double work = 0, gap = 1;
    void archive(Archive& archive) { archive(work, gap); }
  };

  PaceLimit limit_;
  std::vector<Record> records_ = {{}};
  double left_ = 0;
};

}  // namespace hinge
