// What a run of newton is besides its steps, for every loss: the best it has found, what it tells
// the monitor, and when it ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/stop.h"
#include "objective/problem.h"
#include "solve/monitor.h"
#include "solve/newton/system.h"
#include "solve/newton/tuning.h"
#include "solve/solver.h"
#include "solve/tuning.h"

namespace hinge {

class NewtonRun {
  using Tuning = NewtonTuning;

 protected:
  // All must outlive this. The best is w = 0, with such a primal value.
  NewtonRun(const Problem& problem, std::uint64_t rows, Monitor& monitor, Pool& pool)
      : monitor_(monitor), pool_(pool), best_w_(problem.dimension()), rows_(rows) {
    visit_loss(problem.loss, [&]<class Loss>(const Loss& loss) {
      for (std::uint64_t i = 0; i < rows; ++i) {
        double margin = 0;
        if constexpr (Loss::kRegression) margin = -problem.targets[i];
        primal_ += problem.upper(i) * loss.value(margin);
      }
    });
  }
  ~NewtonRun() = default;

  double relative_gap() const {
    return primal_ > 0 ? std::max(0.0, (primal_ - dual_) / primal_) : 0.0;
  }
  double passes() const {
    return static_cast<double>(solution_.rows_touched) / static_cast<double>(rows_);
  }
  bool stop() {
    stopped_ = stopped_ || monitor_.poll(passes());
    return stopped_;
  }
  bool report() {
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = passes();
    progress.primal = primal_;
    progress.dual = dual_;
    progress.relative_gap = relative_gap();
    progress.active_rows = rows_;
    return monitor_.report(progress);
  }

  // To be called with every new pair of values; and whether there is no progress any more.
  void watch() {
    idle_ = relative_gap() < Tuning::kProgress * least_ ? 0 : idle_ + 1;
    least_ = std::min(least_, relative_gap());
  }
  bool stalled() const {
    return idle_ > (relative_gap() < Tuning::kFineGap ? Tuning::kIdleFine : Tuning::kIdle);
  }

  // One step on a part of the rows, or on all. Go on where it is not `stopped`.
  template <class Part, class... More>
  typename Part::Step take_step(Part& part, NewtonSystem& system, More... more) {
    if (stop()) return Part::Step::stopped;
    const auto step = part.step([this] { return !stop(); }, more...);
    monitor_.add_work(system.take_work());
    if (step == Part::Step::stopped) return step;
    ++solution_.iterations;
    latest_w_ = part.w;
    return step;
  }

  // Is the point where a signal met us, perhaps on some of the rows, better than the best?
  template <class Part, class Measure>
  void look_once_more(Part& whole, const Measure& measure) {
    if (latest_w_.empty()) return;
    try {
      const Pool::Grace grace(pool_, kLastLook);
      whole.w = latest_w_;
      measure();
    } catch (const Interrupted&) {
      // The best before will do.
    }
  }

  Monitor& monitor_;
  Pool& pool_;
  Solution solution_;
  std::vector<double> best_w_, latest_w_;
  double primal_ = 0, dual_ = 0;  // the best
  std::uint64_t idle_ = 0;        // steps, about, without progress
  double least_ = std::numeric_limits<double>::infinity();
  bool seen_start_ = false;  // its values are known
  bool stopped_ = false;

 private:
  std::uint64_t rows_;
};

}  // namespace hinge
