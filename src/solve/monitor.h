// Follows a solver and tells it when to stop. Solvers read no clock; this does.
//
// On several ranks (Limits::comm) every rank has its own, which says stop to all or to none: a wish
// of one counts once it has come to all of them with some sum. So between two questions there must
// be one, or the second answer is that of the first.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/stopwatch.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "solve/pace.h"

namespace hinge {

struct Limits {
  // Goals, each a little less than what was asked for, as the proof rounds outwards; the first that
  // is reached ends the run. 0 = not asked.
  double gap = 1e-3;                        // (P - bound)/P
  double absolute = 0;                      // P - bound
  double target = 0;                        // P
  double seconds = 0;                       // infinite = none
  double passes = 0;                        // 0 = none
  const std::atomic<bool>* stop = nullptr;  // set by a signal
  Comm* comm = nullptr;                     // the ranks, if there are several
  // The work after which a run that crawls is ended; in about nanoseconds of one core, which are
  // counted, not measured. Ranks, which count differently, are not judged.
  PaceLimit pace = {};
  double pass_work = 0, iteration_work = 0;  // of a pass over the data; of an iteration besides

  bool have_goal() const { return gap > 0 || absolute > 0 || target > 0; }
  bool at_target(double primal) const { return target > 0 && primal <= target; }
  // The relative gap that will do at such a primal value, unless that is at the target; 0: none.
  double gap_at(double primal) const {
    if (!(absolute > 0)) return gap;
    const double share = primal > 0 ? std::min(1.0, absolute / primal) : 1;
    return std::max(gap, share - most_rounding(share));
  }
  // The relative gap a run will end at, about, as far as one can say before there are values: P is
  // at most P(0), which is C times the rows without weights. A target says nothing of it.
  double likely_gap(double at_zero) const {
    const double will_do = gap_at(at_zero);
    return will_do > 0 ? will_do : kDefaultGap;
  }
  bool reached(double primal, double relative_gap) const {
    const double will_do = gap_at(primal);
    return (will_do > 0 && relative_gap <= will_do) || at_target(primal);
  }
  // The relative gap to make for from these values, all goals told as one: with this bound the
  // primal is at the target where the gap is (target - bound)/target. Of no use far from there.
  double aim(double primal, double bound) const {
    const double will_do = gap_at(primal);
    return target > bound ? std::max(will_do, std::min(0.5, 1 - bound / target)) : will_do;
  }
  // The primal value to make for with such a bound.
  double primal_aim(double bound) const {
    return std::max({bound / (1 - std::min(0.5, gap)), bound + absolute, target});
  }
};

// Takes the states of a solver from which a later run can go on (train/checkpoint_writer.h).
class StateSink {
 public:
  virtual ~StateSink() = default;
  virtual bool wanted() = 0;  // cheap
  // `last` is the last record reported.
  virtual void keep(std::vector<std::byte> state, const Progress& last) = 0;
  virtual void lost() = 0;  // there was no memory for it
};

class Monitor {
 public:
  // `clock` runs since training began and is shared by all problems; `observer` may be empty, and
  // there may be no sink.
  Monitor(const Limits& limits, const Stopwatch& clock, std::size_t problem,
          const std::function<void(const Progress&)>& observer, StateSink* sink = nullptr)
      : limits_(limits),
        clock_(clock),
        problem_(problem),
        observer_(observer),
        sink_(sink),
        pace_(limits.pace) {}

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

  // For a problem of one row in `every` solved on the way: the same limits but for the goal, and
  // nobody watching.
  Monitor for_part(double gap, std::uint64_t every) const {
    static const std::function<void(const Progress&)> nobody;
    Limits limits = limits_;
    limits.gap = gap;
    limits.absolute = limits.target = 0;
    limits.passes *= static_cast<double>(every);
    return Monitor(limits, clock_, problem_, nobody);
  }

  void add_spent(const Monitor& part) {
    for (std::size_t k = 0; k < std::size(spent_); ++k) spent_[k] += part.spent_[k];
  }

  // Before a solver begins: that a run is to be judged by another limit than Limits has.
  void set_pace(const PaceLimit& pace) {
    limits_.pace = pace;
    pace_ = Pace(pace);
  }

  // Another solver goes on with the problem, from where the last one ended: records go on as if
  // there had been one.
  void change_solver(const PaceLimit& pace) {
    set_pace(pace);
    before_ = {.iteration = last_.iteration,
               .data_passes = last_.data_passes,
               .primal = last_.primal,
               .dual = last_.dual};
    ++changes_;
    crawls_ = false;
    work_ = 0;
  }

  // Work that shows neither in passes nor in iterations.
  void add_work(double work) { work_ += work; }

  // A record with exact values. True: stop, see reason().
  bool report(Progress progress) {
    const double work = progress.data_passes * limits_.pass_work +
                        static_cast<double>(progress.iteration) * limits_.iteration_work + work_;
    passes_per_work_ = work > 0 ? progress.data_passes / work : 0;
    progress.iteration += before_.iteration;
    progress.data_passes += before_.data_passes;
    if (changes_ > 0) take_best_of(progress);
    progress.problem = problem_;
    progress.seconds = clock_.seconds();
    progress.objective_seconds = spent(Stage::objective);
    progress.search_seconds = spent(Stage::search);
    last_ = progress;
    if (observer_) observer_(progress);
    if (limits_.reached(progress.primal, progress.relative_gap)) {
      reason_ = StopReason::converged;
      return true;
    }
    if (poll_at(progress.data_passes)) return true;
    hopeless_ = is_hopeless(progress);
    crawls_ =
        !hopeless_ && limits_.comm == nullptr &&
        pace_.crawls(work, progress.relative_gap, limits_.aim(progress.primal, progress.dual));
    if (crawls_ || hopeless_) reason_ = StopReason::limit;
    return crawls_ || hopeless_;
  }

  // To be called where a solver can tell its whole state: state() returns it as bytes
  // (base/archive.h), if it is wanted. When that is, a clock says: it must change nothing. Once
  // poll() has said stop, the state may be one that the run would not have come to: no more.
  template <class State>
  void offer_state(const State& state) {
    if (sink_ == nullptr || stopped_ || !sink_->wanted()) return;
    try {
      sink_->keep(state(), last_);
    } catch (const std::bad_alloc&) {
      sink_->lost();  // training can do without it
    }
  }

  // A sign of life where values are not known: primal and dual are 0.
  void mark(Progress progress) const {
    progress.problem = problem_;
    progress.seconds = clock_.seconds();
    if (observer_) observer_(progress);
  }

  // Cheap; to be asked between small pieces of work. True: stop.
  bool poll(double data_passes) { return poll_at(before_.data_passes + data_passes); }

  // Work gave way to the flag in the middle (base/stop.h).
  void interrupt() {
    reason_ = StopReason::interrupted;
    stopped_ = true;
  }
  // Whether it was told to stop: then a run that goes on from a checkpoint could do more.
  bool stopped() const { return stopped_; }

  // Whether it was ended because it crawls; then how many passes it lacked at its pace, about.
  bool crawls() const { return crawls_; }
  double passes_left() const { return pace_.left() * passes_per_work_; }
  // Whether it was ended because its only goal is a primal value that no point has.
  bool hopeless() const { return hopeless_; }

  // The state of what is judged here belongs to that of the solver, and comes first in it.
  void archive(Archive& archive) {
    archive(changes_, before_.iteration, before_.data_passes, before_.primal, before_.dual, work_,
            pace_);
  }
  // How often solvers had changed (change_solver()) when this was the state of one.
  static std::uint8_t changes_in(std::span<const std::byte> state) {
    std::uint8_t changes = 0;
    Archive archive(state);
    archive(changes);
    return changes;
  }

  const Progress& last() const { return last_; }      // record that was reported
  const Progress& before() const { return before_; }  // what the solvers before this one came to
  const Limits& limits() const { return limits_; }
  StopReason reason() const { return reason_; }

 private:
  // Primal and bound are the best so far, whichever solver found them.
  void take_best_of(Progress& progress) const {
    progress.primal = std::min(progress.primal, before_.primal);
    progress.dual = std::max(progress.dual, before_.dual);
    if (progress.primal > 0) {
      progress.relative_gap = std::max(0.0, (progress.primal - progress.dual) / progress.primal);
    }
  }

  // Bounds are doubted by their rounding.
  bool is_hopeless(const Progress& progress) const {
    return limits_.target > 0 && !(limits_.gap > 0) && !(limits_.absolute > 0) &&
           progress.dual > limits_.target * (1 + 2 * most_rounding(1));
  }

  bool poll_at(double data_passes) {
    bool interrupted = limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed);
    bool late = clock_.seconds() >= limits_.seconds ||
                (limits_.passes != 0 && data_passes >= limits_.passes);
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

  Limits limits_;
  const Stopwatch& clock_;
  std::size_t problem_;
  const std::function<void(const Progress&)>& observer_;
  StateSink* sink_;
  Pace pace_;
  double work_ = 0;  // since the solver began, besides passes and iterations
  double passes_per_work_ = 0;
  std::uint8_t changes_ = 0;  // of solvers,
  Progress before_ = {};      // and what they came to
  bool crawls_ = false, hopeless_ = false;
  Progress last_;
  bool stopped_ = false;
  StopReason reason_ = StopReason::limit;
  double spent_[2] = {};  // seconds, by stage
};

}  // namespace hinge
