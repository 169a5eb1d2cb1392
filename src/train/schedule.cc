// Costs one by one go upwards: from the smallest up, each begins where the last one ended. Several
// at the same time go abreast: every second cost begins at 0, then those between, each from between
// its neighbours; so what they find does not depend on whether they run at the same time. (From the
// last one alone they would hardly be done sooner than from 0: most of the work is done near the
// end.)
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "train/one_model.h"
#include "train/report.h"
#include "train/starts.h"

namespace hinge {
namespace {

template <class F>
struct Finally {
  F f;
  ~Finally() { f(); }
};
template <class F>
Finally(F) -> Finally<F>;

// The place of one cost in the path.
struct PathSlot {
  std::optional<TrainReport> report = {};
  WarmStarts end = {};   // where neighbours may begin
  std::size_t used = 0;  // by so many of them
  bool running = false, ended = false;
};

// A path knows the places of all costs, and lets threads that work on them wait for each other.
class Path {
 public:
  Path(const Plan& plan, Run& run) : plan_(plan), run_(run), slots_(plan.cost_path.size()) {
    order_.resize(slots_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (!abreast()) return;
    // The longest comes first, unless time might end before it does.
    if (!std::isfinite(run.seconds)) std::ranges::reverse(order_);
    std::stable_partition(order_.begin(), order_.end(),
                          [&](std::size_t k) { return !is_between(k); });
  }

  bool abreast() const { return plan_.abreast > 1; }
  std::size_t size() const { return slots_.size(); }
  std::size_t at(std::size_t turn) const { return order_[turn]; }

  // The turns in their order, whatever order a pool takes its blocks in: whoever waits, waits for
  // costs whose turn was before, and these have begun.
  std::size_t next_turn() {
    const std::lock_guard lock(mutex_);
    return turns_++;
  }

  // Returns where the cost begins whose turn it is, or none if there will be no model. Abreast, it
  // waits for the neighbours, and for a place among those that run at the same time.
  std::optional<WarmStarts> enter(std::size_t turn) {
    const std::size_t k = order_[turn];
    if (!abreast()) {
      if (k == 0) return WarmStarts{};
      if (out_of_time() || slots_[k - 1].end.cost == 0) return std::nullopt;
      return std::exchange(slots_[k - 1].end, {});
    }
    if (!wait_for_place(k) || (turn > 0 && out_of_time())) return std::nullopt;
    if (!is_between(k)) return WarmStarts{};
    WarmStarts from = between(slots_[k - 1].end, slots_[k + 1].end, plan_.cost_path[k]);
    drop_end(k - 1);
    drop_end(k + 1);
    return from;
  }

  // Cost k has its model.
  void put(std::size_t k, TrainReport report, WarmStarts end) {
    report.threads = run_.pool.threads() - run_.pool.missing();
    const std::lock_guard lock(mutex_);
    slots_[k].end = std::move(end);
    slots_[k].report = std::move(report);
  }

  // Shares out the seconds since `last` among all models; or gives them to one, if the clocks of
  // several costs or problems ran.
  void share_seconds_since(double& last) {
    const double now = run_.clock.seconds();
    const double seconds = now - std::exchange(last, now);
    const std::vector<TrainReport*> reports = reports_of(slots_);
    share_seconds(seconds, reports);
  }
  void share_seconds_of(std::size_t k, double& last) {
    const double now = run_.clock.seconds();
    const double seconds = now - std::exchange(last, now);
    if (size() == 1 && plan_.problems() == 1) return;
    TrainReport* const report = &*slots_[k].report;
    share_seconds(seconds, {&report, 1});
  }

  void notify_finished(std::size_t k) {
    const std::lock_guard watching(run_.observing);
    TrainReport& report = *slots_[k].report;
    {
      const std::lock_guard lock(mutex_);
      witnesses_.add(report, reports_of(slots_));
    }
    if (run_.control.finished) run_.control.finished(report);
  }

  // Nobody works on cost k any more.
  void leave(std::size_t k) {
    const std::lock_guard lock(mutex_);
    if (slots_[k].running) --running_;
    slots_[k].ended = true;
    changed_.notify_all();
  }

  std::vector<TrainReport> take_reports() {
    std::vector<TrainReport> reports;
    for (PathSlot& slot : slots_) {
      if (slot.report) reports.push_back(std::move(*slot.report));
    }
    return reports;
  }

 private:
  bool is_between(std::size_t k) const { return k > 0 && (size() - 1 - k) % 2 == 1; }

  bool out_of_time() const {
    const bool interrupted = run_.interrupted();
    return run_.late() || interrupted;
  }

  // Returns false where a neighbour that it would begin at has no end.
  bool wait_for_place(std::size_t k) {
    std::unique_lock lock(mutex_);
    const bool waits = is_between(k);
    changed_.wait(lock, [&] {
      return running_ < plan_.abreast && (!waits || (slots_[k - 1].ended && slots_[k + 1].ended));
    });
    ++running_;
    slots_[k].running = true;
    return !waits || (slots_[k - 1].end.cost > 0 && slots_[k + 1].end.cost > 0);
  }

  // One cost that began there does not need it any more.
  void drop_end(std::size_t k) {
    const std::lock_guard lock(mutex_);
    const std::size_t needed_by = k > 0 && k + 1 < size() ? 2 : 1;
    if (++slots_[k].used == needed_by) slots_[k].end = {};
  }

  static std::vector<TrainReport*> reports_of(std::span<PathSlot> slots) {
    std::vector<TrainReport*> reports;
    for (PathSlot& slot : slots) {
      if (slot.report) reports.push_back(&*slot.report);
    }
    return reports;
  }

  const Plan& plan_;
  Run& run_;
  std::vector<std::size_t> order_;
  std::mutex mutex_;  // guards what follows while costs run abreast
  std::condition_variable changed_;
  std::vector<PathSlot> slots_;  // by cost
  std::size_t running_ = 0;
  std::size_t turns_ = 0;
  WitnessBudget witnesses_;
};

}  // namespace

std::vector<TrainReport> schedule(const Plan& plan, Run& run) {
  Path path(plan, run);
  const double prepared = run.clock.seconds();
  double last = prepared;
  const auto train_next = [&](std::size_t turn) {
    const std::size_t k = path.at(turn);
    const Finally finally{[&] { path.leave(k); }};  // come what may, others wait for it
    std::optional<WarmStarts> from = path.enter(turn);
    if (!from) return false;
    std::optional<Pool> own;  // abreast, some of the threads each
    if (path.abreast()) {
      const auto sharing = static_cast<int>(plan.abreast);
      own.emplace((run.pool.threads() + sharing - 1) / sharing, &run.stop);
    }
    OneModel model(plan, run, k, own ? *own : run.pool);
    TrainReport report = model.run(std::move(*from));
    path.put(k, std::move(report), model.take_end());
    if (!path.abreast()) path.share_seconds_of(k, last);
    path.notify_finished(k);
    return true;
  };
  if (path.abreast()) {
    const Pool::Grace unhurried(run.pool, Pool::Grace::kForever);  // each is asked to end by itself
    run.pool.run(path.size(), [&](std::size_t) { train_next(path.next_turn()); });
    path.share_seconds_since(last);
  } else {
    for (std::size_t turn = 0; turn < path.size() && train_next(turn); ++turn) {
    }
  }
  std::vector<TrainReport> reports = path.take_reports();
  finish_reports(plan, run, prepared, reports);
  return reports;
}

}  // namespace hinge
