#include "solve/crawl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "base/error.h"
#include "data/memory.h"

namespace hinge {
namespace {

// Work that a run may take: on data that could be less than a megabyte of text, that of some
// seconds for all problems together, but for each at least so many passes; on other data so many
// for each. Nothing is judged before a part of it is done.
constexpr double kMostWork = 8e9, kFewPasses = 100, kPasses = 10'000;
constexpr double kSmallText = 1e6, kLeastValue = 4, kLeastRow = 2;  // bytes
constexpr double kJudgeAfter = 0.4;

// Cutting planes come nearer with every step: on small data those that are lost beyond doubt are
// found out after this share of the work, a tenth of a second.
constexpr double kLostAfter = 0.0125;

// Newton follows where descent, after this share of the work that newton would take, is on its way
// to take so many times as much; but not before there was any work to speak of.
constexpr double kChangeAfter = 0.5, kChangeAbove = 2, kLeastWork = 1e6;

constexpr std::uint64_t kMostSmaller = 2500;    // of rows and columns the smaller number
constexpr double kMostMemory = 128.0 * 0x1p20;  // bytes, or as many as the rows take
constexpr double kRoundingGap = 1e-6;           // below it a stall is rounding, most likely

}  // namespace

Limits watched(Limits limits, const Dataset& rows, std::size_t problems, Solver solver) {
  limits.pass_work = static_cast<double>(rows.nonzeros()) + 10 * static_cast<double>(rows.rows());
  limits.iteration_work = 1000 + 2 * static_cast<double>(rows.features());
  const double text = kLeastValue * static_cast<double>(rows.nonzeros()) +
                      kLeastRow * static_cast<double>(rows.rows());
  const double most = text < kSmallText ? std::max(kMostWork / static_cast<double>(problems),
                                                   kFewPasses * limits.pass_work)
                                        : std::max(kMostWork, kPasses * limits.pass_work);
  limits.pace = {.least = kJudgeAfter * most, .most = most};
  if (cutting_planes(solver) && text < kSmallText) limits.pace.soonest = kLostAfter * most;
  return limits;
}

bool newton_may_follow(const Dataset& rows, std::uint64_t columns) {
  return std::min(rows.rows(), columns) <= kMostSmaller &&
         newton_memory(rows, columns) <= std::max(kMostMemory, training_memory(rows, 1).rows);
}

std::vector<Solution> solve_in_turns(const SolverTask& task, Pool& pool) {
  const Problem& problem = task.problems[0];
  Monitor& monitor = task.monitors[0];
  const PaceLimit lasting = monitor.limits().pace;
  const double newton = newton_work(*problem.data, problem.data->features());
  const PaceLimit soon = {.least = std::max(kLeastWork, kChangeAfter * newton),
                          .most = std::max(kLeastWork, kChangeAbove * newton)};
  struct Turn {
    Solver solver;
    PaceLimit pace;
  };
  const Turn all[] = {{Solver::dual, soon}, {Solver::newton, lasting}, {Solver::dual, lasting}};
  const std::span<const Turn> turns = std::span(all).subspan(task.solver == Solver::newton ? 1 : 0);
  DualSetup dual = {.common = task.common,
                    .float_weights = task.float_weights,
                    .quantised_rows = task.quantised_rows};
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
    const bool lost =
        monitor.crawls() || (solution.stalled && monitor.last().relative_gap > kRoundingGap);
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
