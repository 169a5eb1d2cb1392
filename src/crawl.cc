#include "crawl.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.h"
#include "last_digits.h"

namespace hinge {
namespace {

// Work that a run may take: that of some seconds for all its problems together; but for each so
// many passes, where passes are quick and where they are not. Nothing is judged before a part of
// it is done.
constexpr double kMostWork = 1e10, kQuickPass = 1e6, kQuickPasses = 500, kPasses = 10'000;
constexpr double kJudgeAfter = 0.4;

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
  const double newton = newton_work(*problem.data, problem.data->features());
  const PaceLimit paces[] = {{.least = std::max(kLeastWork, kChangeAfter * newton),
                              .most = std::max(kLeastWork, kChangeAbove * newton)},
                             lasting,
                             lasting};
  constexpr std::uint8_t kLast = std::size(paces) - 1;
  SolverOptions from = options;
  Start start;
  std::uint8_t stage = options.resume.empty() ? 0 : Monitor::changes_in(options.resume);
  if (stage > kLast) fail("checkpoint.content", "a state in the checkpoint is of no solver");
  monitor.set_pace(paces[stage]);
  if (stage > 0) from.start = std::span(&start, 1);  // there was one, which the state has seen
  for (;; ++stage) {
    Solution solution = (stage == 1 ? solve_newton : solve_dual)(problem, from, monitor, pool);
    const bool ended = !monitor.crawls() && !(stage == 1 && solution.stalled);
    if (stage == kLast || ended) {
      solution.changed = stage > 0;
      solution.iterations += monitor.before().iteration;
      solution.rows_touched += static_cast<std::uint64_t>(
          std::llround(monitor.before().data_passes * static_cast<double>(problem.data->rows())));
      return solution;
    }
    start = {.w = std::move(solution.w), .alpha = std::move(solution.alpha)};
    from.start = std::span(&start, 1);
    from.resume = {};
    monitor.change_solver(paces[stage + 1]);
  }
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
