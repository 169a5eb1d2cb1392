// What is decided of a run of Pegasos before its first step: how many steps it takes, and after
// which of them it is measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/archive.h"
#include "hinge/options.h"
#include "solve/monitor.h"
#include "solve/pegasos/last_half.h"
#include "solve/pegasos/rank_sums.h"
#include "solve/pegasos/tuning.h"

namespace hinge {

class PegasosSchedule {
 public:
  // rows: of all ranks, of which there may be several.
  PegasosSchedule(const PegasosOptions& asked, const Limits& limits, std::uint64_t rows,
                  bool several)
      : check_every_(asked.check_every),
        share_(several ? PegasosTuning::kMeasuringShareOfRanks : PegasosTuning::kMeasuringShare),
        batch_(asked.batch == 0 ? rows : asked.batch),
        epoch_((rows + batch_ - 1) / batch_) {
    const bool goal_asked = limits.have_goal();
    const bool best_of = asked.iterate == Iterate::best_of;
    measures_between_ = (goal_asked || asked.check_every > 0) && !best_of;
    keeps_best_ = goal_asked || best_of;
    if (asked.steps > 0) {
      total_ = asked.steps;
    } else if (asked.epochs > 0 || !goal_asked || best_of) {
      const std::uint64_t epochs = asked.epochs > 0 ? asked.epochs : PegasosTuning::kDefaultEpochs;
      total_ = epochs > kNever / epoch_ ? kNever : epochs * epoch_;
    } else {
      ends_ = false;
    }
    runs_ = best_of ? std::min(asked.runs, total_) : 1;
    may_end_early_ = goal_asked || std::isfinite(limits.seconds) || limits.passes > 0 ||
                     total_ / epoch_ > PegasosTuning::kLongRun;
  }

  std::uint64_t batch() const { return batch_; }  // rows of a step, on all ranks
  std::uint64_t epoch() const { return epoch_; }  // steps of an epoch
  std::uint64_t total() const { return total_; }  // steps to do, in all runs
  std::uint64_t runs() const { return runs_; }
  std::uint64_t steps_of_run(std::uint64_t number) const {
    return total_ / runs_ + (number < total_ % runs_ ? 1 : 0);
  }
  // Whether a number of steps was asked for.
  bool ends() const { return ends_; }
  // Whether the result is the best point and bound that were measured, not those of the end.
  bool keeps_best() const { return keeps_best_; }

  // The steps after which primal and bound are measured next; a run of `end` steps is measured at
  // its end, whatever this says.
  std::uint64_t first_measuring(std::uint64_t end) const {
    return measures_between_ ? measuring_after(0) : end;
  }
  std::uint64_t measuring_after(std::uint64_t steps) const {
    const std::uint64_t epochs = steps / epoch_;
    const std::uint64_t more = check_every_ > 0 ? check_every_ : 1 + epochs / share_;
    return more > kNever / epoch_ - epochs ? kNever : (epochs + more) * epoch_;
  }

  // Where the mean over the last half of a run begins, and where counts of hits do. A run of no
  // known end is long enough for either to begin again and again.
  LastHalf marks_of_points(std::uint64_t steps_of_run) const {
    return {half_of(steps_of_run), may_end_early_ ? std::max<std::uint64_t>(1, epoch_ / 2) : 0};
  }
  LastHalf marks_of_counts(std::uint64_t steps_of_run) const {
    return {half_of(steps_of_run) / epoch_ * epoch_, epoch_};
  }

  // A run that goes on has the marks that it had, whatever limits it has besides.
  void archive(Archive& archive) { archive(may_end_early_); }

 private:
  static std::uint64_t half_of(std::uint64_t steps) { return steps == kNever ? 0 : steps / 2; }

  std::uint64_t check_every_;  // epochs between two measurings; 0: as suits the run,
  std::uint64_t share_;        // 1 + e/share after epoch e
  std::uint64_t batch_, epoch_;
  std::uint64_t total_ = kNever, runs_ = 1;
  bool ends_ = true;            // a number of steps was asked for
  bool may_end_early_ = false;  // something else than that may end the run
  bool measures_between_ = false, keeps_best_ = false;
};

// Steps between two questions to the monitor. With a kernel, a step may take as long as a pass over
// the rows. Of several ranks each draws its share of one step at a time.
template <class Space>
std::uint64_t steps_at_once(const typename Space::Rows& rows, const RankSums& ranks) {
  if (ranks.several()) return 1;
  if (Space::kLinear) return kNever;
  return std::clamp<std::uint64_t>(PegasosTuning::kKernelValuesBetweenPolls / (rows.nonzeros() + 1),
                                   PegasosTuning::kLeastStepsBetweenPolls,
                                   PegasosTuning::kMostStepsBetweenPolls);
}

}  // namespace hinge
