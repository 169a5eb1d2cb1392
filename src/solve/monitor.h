// Follows a solver and tells it when to stop. Solvers read no clock; this does.
//
// On several ranks (Limits::comm) every rank has its own, which says stop to all or to none: a wish
// of one counts once it has come to all of them with some sum. So between two questions there must
// be one, or the second answer is that of the first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <vector>

#include "base/comm.h"
#include "base/stopwatch.h"
#include "hinge/train.h"

namespace hinge {

struct Limits {
  double gap = 1e-3;                        // 0 = none asked
  double seconds = 0;                       // infinite = none
  std::uint64_t passes = 0;                 // 0 = none
  const std::atomic<bool>* stop = nullptr;  // set by a signal
  Comm* comm = nullptr;                     // the ranks, if there are several
};

// Where the states of a solver go from which a later run can go on (train_checkpoint.h).
class StateKeeper {
 public:
  virtual ~StateKeeper() = default;
  virtual bool wanted() = 0;  // cheap
  // `last` is the last record reported.
  virtual void keep(std::vector<std::byte> state, const Progress& last) = 0;
  virtual void lost() = 0;  // there was no memory for it
};

class Monitor {
 public:
  // `clock` runs since training began and is shared by all problems; `observer` may be empty, and
  // there may be no keeper.
  Monitor(const Limits& limits, const Stopwatch& clock, std::size_t problem,
          const std::function<void(const Progress&)>& observer, StateKeeper* keeper = nullptr)
      : limits_(limits), clock_(clock), problem_(problem), observer_(observer), keeper_(keeper) {}

  // The stages of a solver whose time is told apart; stage() measures until its result goes.
  enum class Stage : std::uint8_t { objective, search };
  class Timer {
   public:
    explicit Timer(double& total) : total_(total) {}
    ~Timer() { total_ += clock_.seconds(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    double& total_;
    const Stopwatch clock_;
  };
  [[nodiscard]] Timer stage(Stage stage) { return Timer(spent_[static_cast<std::size_t>(stage)]); }
  double spent(Stage stage) const { return spent_[static_cast<std::size_t>(stage)]; }

  // For a problem of one row in `every` solved on the way: the same limits but for the gap, and
  // nobody watching.
  Monitor for_part(double gap, std::uint64_t every) const {
    static const std::function<void(const Progress&)> nobody;
    Limits limits = limits_;
    limits.gap = gap;
    if (limits.passes > std::numeric_limits<std::uint64_t>::max() / every) limits.passes = 0;
    limits.passes *= every;
    return Monitor(limits, clock_, problem_, nobody);
  }

  void add_spent(const Monitor& part) {
    for (std::size_t k = 0; k < std::size(spent_); ++k) spent_[k] += part.spent_[k];
  }

  // A record with exact values. True: stop, see reason().
  bool report(Progress progress) {
    progress.problem = problem_;
    progress.seconds = clock_.seconds();
    progress.objective_seconds = spent(Stage::objective);
    progress.search_seconds = spent(Stage::search);
    last_ = progress;
    if (observer_) observer_(progress);
    if (limits_.gap > 0 && progress.relative_gap <= limits_.gap) {
      reason_ = StopReason::converged;
      return true;
    }
    return poll(progress.data_passes);
  }

  // To be called where a solver can tell its whole state: state() returns it as bytes
  // (base/archive.h), if it is wanted. When that is, a clock says: it must change nothing. Once
  // poll() has said stop, the state may be one that the run would not have come to: no more.
  template <class State>
  void offer_state(const State& state) {
    if (keeper_ == nullptr || stopped_ || !keeper_->wanted()) return;
    try {
      keeper_->keep(state(), last_);
    } catch (const std::bad_alloc&) {
      keeper_->lost();  // training can do without it
    }
  }

  // A sign of life where values are not known: primal and dual are 0.
  void mark(Progress progress) const {
    progress.problem = problem_;
    progress.seconds = clock_.seconds();
    if (observer_) observer_(progress);
  }

  // Cheap; to be asked between small pieces of work. True: stop.
  bool poll(double data_passes) {
    bool interrupted = limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed);
    bool late = clock_.seconds() >= limits_.seconds ||
                (limits_.passes != 0 && data_passes >= static_cast<double>(limits_.passes));
    if (limits_.comm != nullptr) {
      if (interrupted) limits_.comm->raise(Wish::interrupt);
      if (late) limits_.comm->raise(Wish::limit);
      interrupted = limits_.comm->raised(Wish::interrupt);
      late = limits_.comm->raised(Wish::limit);
    }
    if (interrupted) {
      reason_ = StopReason::interrupted;
      stopped_ = true;
      return true;
    }
    if (late) {
      reason_ = StopReason::limit;
      stopped_ = true;
      return true;
    }
    return false;
  }

  // Work gave way to the flag in the middle (base/stop.h).
  void interrupt() {
    reason_ = StopReason::interrupted;
    stopped_ = true;
  }
  // Whether it was told to stop: then a run that goes on from a checkpoint could do more.
  bool stopped() const { return stopped_; }

  const Progress& last() const { return last_; }  // record that was reported
  const Limits& limits() const { return limits_; }
  StopReason reason() const { return reason_; }

 private:
  Limits limits_;
  const Stopwatch& clock_;
  std::size_t problem_;
  const std::function<void(const Progress&)>& observer_;
  StateKeeper* keeper_;
  Progress last_;
  bool stopped_ = false;
  StopReason reason_ = StopReason::limit;
  double spent_[2] = {};  // seconds, by stage
};

}  // namespace hinge
