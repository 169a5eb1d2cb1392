#include "crawl.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "last_digits.h"

namespace hinge {
namespace {

// Work that a run may take: that of some seconds for all its problems together; but for each so
// many passes, where passes are quick and where they are not. Nothing is judged before a part of
// it is done.
constexpr double kMostWork = 1e10, kQuickPass = 1e6, kQuickPasses = 500, kPasses = 10'000;
constexpr double kJudgeAfter = 0.125;

// Newton follows where descent, after this share of the work that newton would take, is on its way
// to take so many times as much; but not before there was any work to speak of.
constexpr double kChangeAfter = 0.5, kChangeAbove = 2, kLeastWork = 1e6;

constexpr std::uint64_t kMostSmaller = 2500;    // of rows and columns the smaller number
constexpr double kMostMemory = 512.0 * 0x1p20;  // bytes

}  // namespace

Limits watched(Limits limits, const Dataset& rows, std::size_t problems) {
  limits.pass_work = static_cast<double>(rows.nonzeros()) + 10 * static_cast<double>(rows.rows());
  limits.iteration_work = 1000 + 2 * static_cast<double>(rows.features());
  const double passes = limits.pass_work < kQuickPass ? kQuickPasses : kPasses;
  const double most =
      std::max(kMostWork / static_cast<double>(problems), passes * limits.pass_work);
  limits.pace = {.least = kJudgeAfter * most, .most = most};
  return limits;
}

bool newton_may_follow(const Dataset& rows, std::uint64_t columns) {
  return std::min(rows.rows(), columns) <= kMostSmaller &&
         newton_memory(rows, columns) <= kMostMemory;
}

Solution solve_dual_or_newton(const Problem& problem, const SolverOptions& options,
                              Monitor& monitor, Pool& pool) {
  const PaceLimit lasting = monitor.limits().pace;
  SolverOptions from = options;
  Start start;
  if (options.resume.empty() || !Monitor::changed_in(options.resume)) {
    const double newton = newton_work(*problem.data, problem.data->features());
    monitor.set_pace({.least = std::max(kLeastWork, kChangeAfter * newton),
                      .most = std::max(kLeastWork, kChangeAbove * newton)});
    Solution first = solve_dual(problem, options, monitor, pool);
    if (!monitor.crawls()) return first;
    start = {.w = std::move(first.w), .alpha = std::move(first.alpha)};
    from.start = std::span(&start, 1);
    from.resume = {};
  }
  monitor.change_solver(lasting);
  Solution solution = solve_newton(problem, from, monitor, pool);
  solution.changed = true;
  solution.iterations += monitor.before().iteration;
  solution.rows_touched += static_cast<std::uint64_t>(
      std::llround(monitor.before().data_passes * static_cast<double>(problem.data->rows())));
  return solution;
}

std::string why_stalled(const Problem& problem, double gap, const Solution& solution,
                        const Proof& proof) {
  if (proof.relative_gap <= gap) return "";
  std::string why = why_rounding(problem, gap, proof);
  if (!why.empty()) return why;
  if (solution.passes_left == 0) return "the last steps brought nothing that rounding would show";
  return std::isfinite(solution.passes_left)
             ? fmt::format("at its pace about {:.1g} passes more would be needed",
                           solution.passes_left)
             : "for half of all its passes the gap has not fallen";
}

}  // namespace hinge
