#include "solve/crawl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.h"
#include "data/memory.h"
#include "solve/tuning.h"

namespace hinge {

Limits watched(Limits limits, const Dataset& rows, std::size_t problems, Solver solver) {
  limits.pass_work = static_cast<double>(rows.nonzeros()) + 10 * static_cast<double>(rows.rows());
  limits.iteration_work = 1000 + 2 * static_cast<double>(rows.features());
  const double text = CrawlTuning::kLeastBytesOfValue * static_cast<double>(rows.nonzeros()) +
                      CrawlTuning::kLeastBytesOfRow * static_cast<double>(rows.rows());
  const double most =
      text < CrawlTuning::kSmallText
          ? std::max(CrawlTuning::kMaxWorkOfSmall / static_cast<double>(problems),
                     CrawlTuning::kLeastPassesOfSmall * limits.pass_work)
          : std::max(CrawlTuning::kMaxWorkOfSmall, CrawlTuning::kMaxPasses * limits.pass_work);
  limits.pace = {.least = CrawlTuning::kJudgeAfter * most, .most = most};
  if (cutting_planes(solver) && text < CrawlTuning::kSmallText) {
    limits.pace.soonest = CrawlTuning::kJudgePlanesAfter * most;
  }
  return limits;
}

bool newton_may_follow(const Dataset& rows, std::uint64_t columns) {
  return std::min(rows.rows(), columns) <= CrawlTuning::kMaxSmallerSide &&
         newton_memory(rows, columns) <=
             std::max(CrawlTuning::kMaxMemory, training_memory(rows, 1).rows);
}

std::vector<Solution> solve_in_turns(const SolverTask& task, Pool& pool) {
  const Problem& problem = task.problems[0];
  Monitor& monitor = task.monitors[0];
  const PaceLimit lasting = monitor.limits().pace;
  const double newton = newton_work(*problem.data, problem.data->features());
  const PaceLimit soon = {
      .least = std::max(CrawlTuning::kLeastWork, CrawlTuning::kChangeAfter * newton),
      .most = std::max(CrawlTuning::kLeastWork, CrawlTuning::kChangeAbove * newton)};
  struct Turn {
    Solver solver;
    PaceLimit pace;
  };
  const Turn all[] = {{Solver::dual, soon}, {Solver::newton, lasting}, {Solver::dual, lasting}};
  const std::span<const Turn> turns = std::span(all).subspan(task.solver == Solver::newton ? 1 : 0);
  DualSetup dual = {.common = task.common,
                    .float_weights = task.float_weights,
                    .quantised_rows = task.quantised_rows,
                    .lanes = task.lanes};
  SolverOptions& from = dual.common;
  Start start;
  std::size_t turn = from.resume.empty() ? 0 : Monitor::changes_in(from.resume);
  if (turn >= turns.size()) fail("checkpoint.content", "a state in the checkpoint is of no solver");
  if (turn > 0) from.start = std::span(&start, 1);  // there was one, which the state has seen
  monitor.set_pace(turns[turn].pace);
  for (;; ++turn) {
    Solution solution = turns[turn].solver == Solver::dual
                            ? solve_dual(problem, dual, monitor, pool)
                            : solve_newton(problem, from, monitor, pool);
    const bool lost = monitor.crawls() ||
                      (solution.stalled && monitor.last().relative_gap > CrawlTuning::kRoundingGap);
    if (!lost || turn + 1 == turns.size()) {
      solution.changed = turn > 0;
      solution.iterations += monitor.before().iteration;
      solution.rows_touched += static_cast<std::uint64_t>(
          std::llround(monitor.before().data_passes * static_cast<double>(problem.data->rows())));
      return only(std::move(solution));
    }
    start = {.w = std::move(solution.w), .alpha = std::move(solution.alpha)};
    from.start = std::span(&start, 1);
    from.resume = {};
    monitor.change_solver(turns[turn + 1].pace);
  }
}

}  // namespace hinge
