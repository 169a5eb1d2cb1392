// Map: Pegasos::run is all runs, one_run() the loop over the steps of one. What interrupts the
// steps (measuring, marks, points to remember) happens at known steps (schedule.h).
//
//   which rows a step sees      solve/batches.h
//   the steps                   pegasos_state.h on scaled_point.h and budget.h
//   primal and bound            measuring.h on hit_shares.h and free_bias_point.h
//   which point is the result   result_point.h on last_half.h
//   several ranks               rank_sums.h, wherever rows are summed over
//   kernels                     kernel_passes.h, a template argument
#include <algorithm>
#include <cassert>
#include <utility>

#include "base/random.h"
#include "objective/loss.h"
#include "solve/batches.h"
#include "solve/pegasos/kernel_passes.h"
#include "solve/pegasos/measuring.h"
#include "solve/pegasos/pegasos_state.h"
#include "solve/pegasos/rank_sums.h"
#include "solve/pegasos/result_point.h"
#include "solve/pegasos/schedule.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr std::uint64_t kLot = 0x6c6f74;  // random stream of the point drawn by lot

// Space: Passes, or KernelPasses, where points are coefficients of rows.
template <class Space, class Loss>
class Pegasos {
 public:
  Pegasos(std::span<const Problem> problems, Space& space, const PegasosSetup& setup,
          std::span<Monitor> monitors, Pool& pool)
      : problems_(problems),
        m_(space.rows()),
        asked_(setup.pegasos),
        seed_(setup.common.seed),
        start_(setup.common.start),
        resume_(setup.common.resume),
        monitors_(monitors),
        pool_(pool),
        passes_(space),
        ranks_(setup.common.comm),
        rows_of_all_(ranks_.sum(m_.rows)),
        schedule_(asked_, monitors[0].limits(), rows_of_all_, ranks_.several()),
        proves_(asked_.kernel.positive_definite()),
        measuring_(problems, space,
                   {.rescales = asked_.rescale, .proves = proves_, .together = together()}, ranks_,
                   pool) {}

  std::vector<Solution> run() {
    {
      const Pool::Grace uninterrupted(pool_, Pool::Grace::kForever);
      if (measuring_.measure_start(start_)) count_rows(m_.rows, rows_of_all_);
    }
    Archive before(resume_);
    std::uint64_t first = 0;
    if (!resume_.empty()) {
      before(first);
      before.require(first < schedule_.runs());
    }
    for (std::uint64_t k = first; k < schedule_.runs() && !stopped_; ++k) {
      one_run(k, k == first && !resume_.empty() ? &before : nullptr);
    }
    std::vector<Solution> solutions;
    for (std::size_t c = 0; c < problems_.size(); ++c) solutions.push_back(solution(c));
    return solutions;
  }

 private:
  using State = PegasosState<Space, Loss>;

  struct Run {
    State state;
    Batches batches;
    ResultPoint point;
    HitShares<Loss> shares;
    std::uint64_t total;           // steps to do
    std::uint64_t next_measuring;  // steps
    std::uint64_t steps = 0;       // done
  };

  bool together() const { return asked_.budget > 0; }

  // `before`: the state to go on from, or none.
  void one_run(std::uint64_t number, Archive* before) {
    if (before != nullptr) schedule_.archive(*before);
    Run run = begin(number);
    if (before != nullptr) {
      archive(*before, run);
      before->end();
    } else {
      run.point.begin(run.state);
    }
    stopped_ = poll();
    bool measured = false;
    while (run.steps < run.total && !stopped_) {
      offer_state(number, run);
      take_steps(run);
      measured = run.steps == run.next_measuring;
      if (measured) {
        stopped_ = measure(run);
        run.next_measuring = schedule_.measuring_after(run.steps);
      } else if (run.steps % schedule_.epoch() == 0) {
        monitors_[0].mark(progress());
      }
      keep_marks(run);
      stopped_ = stopped_ || poll();
    }
    if (!measured) stopped_ = measure(run) || stopped_;
  }

  Run begin(std::uint64_t number) {
    const double t0 = asked_.t0        ? static_cast<double>(*asked_.t0)
                      : start_.empty() ? 0.0
                                       : static_cast<double>(m_.rows);
    const std::uint64_t total = schedule_.steps_of_run(number);
    return {.state = State({.problems = problems_,
                            .batch = schedule_.batch(),
                            .update = asked_.update,
                            .projection = asked_.projection,
                            .budget = asked_.budget,
                            .t0 = t0,
                            .start = start_,
                            .ranks = ranks_,
                            .epoch = static_cast<double>(schedule_.epoch())},
                           passes_),
            .batches = Batches({.rows = m_.rows,
                                .batch = schedule_.batch(),
                                .sampling = asked_.sampling,
                                .seed = seed_,
                                .stream = number * ranks_.count() + ranks_.number(),
                                .neighbours = neighbours(),
                                .rows_of_all = ranks_.several() ? rows_of_all_ : 0}),
            .point = ResultPoint(asked_.iterate, asked_.budget > 0,
                                 schedule_.marks_of_points(total), Random(seed_, kLot, number)),
            .shares = HitShares<Loss>(schedule_.marks_of_counts(total)),
            .total = total,
            .next_measuring = schedule_.first_measuring(total)};
  }

  // Ranks shuffle single rows, which makes better sets than neighbours do: what they wait for is
  // each other, not memory.
  Neighbours neighbours() const {
    if (ranks_.several()) return {};
    return neighbours_in(*problems_[0].data, m_.rows / PegasosTuning::kLeastRuns);
  }

  // Up to the next step at which something is due.
  void take_steps(Run& run) {
    const std::uint64_t until =
        std::min({run.next_measuring, run.point.next_mark(), run.shares.next_mark(), run.total});
    const std::span<const std::uint64_t> rows =
        run.batches.next(std::min(until - run.steps, steps_at_once<Space>(m_, ranks_)));
    {
      const Pool::Grace uninterrupted(pool_, Pool::Grace::kForever);  // half a step is none
      run.state.run(rows, run.batches.ahead());
    }
    run.steps += run.batches.steps();
    steps_ += run.batches.steps();
    count_rows(rows.size(), run.batches.rows_of_steps());
  }

  // What is due between two steps.
  void keep_marks(Run& run) {
    run.point.mark(run.state, run.steps, run.steps < run.total);
    if (run.steps == run.shares.next_mark()) run.shares.mark(counts(run));
  }

  // Exact primal and bound at the chosen point. True: stop. An interrupt in the middle: again while
  // there is time for it, else the point is taken unseen if no other was seen.
  bool measure(const Run& run) {
    try {
      return measure_and_report(run);
    } catch (const Interrupted&) {
      for (std::size_t c = 0; c < problems_.size(); ++c) {
        if (measuring_.best(c).open()) monitors_[c].interrupt();
      }
    }
    try {
      const Pool::Grace grace(pool_, kLastLook);
      measure_and_report(run);
    } catch (const Interrupted&) {
      measuring_.take_unseen(reached(run), [&](std::size_t c) { return run.state.free_bias(c); });
    }
    return true;
  }

  bool measure_and_report(const Run& run) {
    if (!schedule_.keeps_best()) measuring_.forget();
    measuring_.measure(reached(run));
    count_rows(2 * m_.rows, 2 * rows_of_all_);
    bool stop = true;
    for (std::size_t c = 0; c < problems_.size(); ++c) {
      stop = (measuring_.best(c).done || report(c)) && stop;
    }
    return stop;
  }

  typename Measuring<Space, Loss>::Reached reached(const Run& run) const {
    return {.w = run.point.chosen(run.state, run.steps),
            .counts = counts(run),
            .shares = run.shares,
            .steps = run.steps,
            .epoch = schedule_.epoch()};
  }
  ShareCounts<Loss> counts(const Run& run) const { return {run.state.counts(), problems_.size()}; }

  bool report(std::size_t c) {
    BestSoFar& best = measuring_.best(c);
    Progress now = progress();
    now.primal = best.primal;
    now.dual = proves_ ? best.bound() : 0.0;
    now.relative_gap =
        best.primal > 0 ? std::max(0.0, (best.primal - now.dual) / best.primal) : 0.0;
    const bool stop = monitors_[c].report(now);
    best.done = stop && monitors_[c].reason() == StopReason::converged && !together();
    if (best.done) {
      best.steps = steps_;
      best.rows_touched = rows_touched_;
    }
    return stop;
  }

  bool poll() {
    if (wishes_due()) {
      ranks_.pass_wishes();
      steps_at_wishes_ = steps_;
    }
    bool stop = false;
    for (Monitor& monitor : monitors_) stop = monitor.poll(passes_done()) || stop;
    return stop;
  }
  bool wishes_due() const {
    if (ranks_.columns_carry_wishes(passes_.size())) return false;
    const std::uint64_t most =
        std::clamp<std::uint64_t>(PegasosTuning::kRowsBetweenWishes / schedule_.batch(), 1,
                                  PegasosTuning::kMostStepsBetweenWishes);
    return steps_ - steps_at_wishes_ >= most;
  }

  Progress progress() const {
    Progress progress;
    progress.iteration = steps_;
    progress.data_passes = passes_done();
    return progress;
  }
  double passes_done() const {
    return static_cast<double>(rows_of_all_touched_) / static_cast<double>(rows_of_all_);
  }
  void count_rows(std::uint64_t here, std::uint64_t of_all) {
    rows_touched_ += here;
    rows_of_all_touched_ += of_all;
  }

  Solution solution(std::size_t c) {
    const BestSoFar& best = measuring_.best(c);
    return {.w = measuring_.take_best_w(c),
            .alpha = measuring_.take_best_alpha(c, start_),
            .iterations = best.done ? best.steps : steps_,
            .rows_touched = best.done ? best.rows_touched : rows_touched_,
            .cut_short = schedule_.ends() && !best.done && steps_ < schedule_.total()};
  }

  void offer_state(std::uint64_t number, Run& run) {
    monitors_[0].offer_state([&] {
      return Archive::written_by([&](Archive& state) {
        state(number);
        schedule_.archive(state);
        archive(state, run);
      });
    });
  }

  // Between two chunks of steps, of a run that was begun with the same number and end. In one
  // process.
  void archive(Archive& archive, Run& run) {
    archive(steps_, rows_touched_);
    rows_of_all_touched_ = rows_touched_;
    measuring_.archive(archive);
    archive(run.steps, run.next_measuring);
    archive.require(run.steps < std::min(run.total, kMostSteps) && run.next_measuring > run.steps);
    run.point.archive(archive, run.steps, passes_.size());
    run.shares.archive(archive, run.steps, m_.rows * (problems_.size() + 1));
    run.state.archive(archive);
    run.batches.archive(archive);
  }

  std::span<const Problem> problems_;
  const typename Space::Rows& m_;
  const PegasosOptions& asked_;
  std::uint64_t seed_;
  std::span<const Start> start_;
  std::span<const std::byte> resume_;
  std::span<Monitor> monitors_;
  Pool& pool_;
  Space& passes_;
  RankSums ranks_;
  std::uint64_t rows_of_all_;  // of all ranks
  PegasosSchedule schedule_;
  bool proves_;  // there is a bound to prove
  Measuring<Space, Loss> measuring_;
  std::uint64_t steps_ = 0, rows_touched_ = 0, rows_of_all_touched_ = 0;
  std::uint64_t steps_at_wishes_ = 0;  // when wishes to stop were last passed on
  bool stopped_ = false;
};

}  // namespace

std::vector<Solution> solve_pegasos(std::span<const Problem> problems, const PegasosSetup& setup,
                                    std::span<Monitor> monitors, Pool& pool) {
  const double bias = problems[0].free_bias ? 0.0 : problems[0].bias;  // a feature of the rows
  const KernelFunction& kernel = setup.pegasos.kernel;
  // What several ranks do not do, traits.cc has refused.
  assert(setup.common.comm == nullptr ||
         (kernel.linear() && !problems[0].free_bias && !setup.pegasos.projection &&
          setup.pegasos.sampling != Sampling::replace && setup.common.start.empty() &&
          setup.common.resume.empty()));
  return problems[0].data->visit([&]<class Value>(const CsrView<Value>& m) {
    if (kernel.linear()) {
      Passes<Value> space(m, bias, problems.size(), *setup.common.simd, pool);
      return visit_loss(problems[0].loss, [&]<class Loss>(const Loss&) {
        return Pegasos<Passes<Value>, Loss>(problems, space, setup, monitors, pool).run();
      });
    }
    assert(problems[0].loss.kind == LossKind::hinge);  // traits.cc offers no other with a kernel
    KernelPasses<Value> space(m, kernel, bias, problems.size(), setup, pool);
    return Pegasos<KernelPasses<Value>, Hinge>(problems, space, setup, monitors, pool).run();
  });
}

}  // namespace hinge
