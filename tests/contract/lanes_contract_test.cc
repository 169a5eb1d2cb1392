// Dual descent on lanes: ranks that are threads here solve the problems of the contract, and what
// they come to holds for all rows, however these are cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "contract/solver_cases.h"
#include "data/columns.h"
#include "thread_transport.h"
#include "tiny_problems.h"

namespace hinge::contract {
namespace {

struct OnLanes {
  Solution solution;  // of all rows
  StopReason reason = StopReason::limit;
  std::vector<Progress> trace;
};

// Rows cuts[k] .. cuts[k + 1] - 1 on lane k; a start, if any, is of all rows.
OnLanes solve_on_lanes(const Problem& problem, const std::vector<std::uint64_t>& cuts, double gap,
                       const Start* start = nullptr, double passes = 0) {
  OnLanes out;
  const std::size_t lanes = cuts.size() - 1;
  std::vector<Solution> found(lanes);
  testing::ThreadGroup(static_cast<int>(lanes)).run([&](Transport& transport) {
    const auto k = static_cast<std::size_t>(transport.rank());
    const std::uint64_t first = cuts[k], rows = cuts[k + 1] - first;
    std::vector<std::uint64_t> own(rows);
    for (std::uint64_t i = 0; i < rows; ++i) own[i] = first + i;
    const Dataset part = keep_rows(*problem.data, own);
    Problem mine = problem;
    mine.data = &part;
    mine.y = problem.y.subspan(first, rows);
    if (!problem.costs.empty()) mine.costs = problem.costs.subspan(first, rows);
    std::vector<Start> starts;
    if (start != nullptr) {
      const auto from = start->alpha.begin() + static_cast<std::ptrdiff_t>(first);
      starts = {{start->w, {from, from + static_cast<std::ptrdiff_t>(rows)}}};
    }
    Comm comm(transport);
    const std::function<void(const Progress&)> observer = [&](const Progress& p) {
      if (k == 0) out.trace.push_back(p);
    };
    const Stopwatch clock;
    Monitor monitor({.gap = gap, .seconds = kNever, .passes = passes, .comm = &comm}, clock, 0,
                    observer);
    Pool pool(1);
    found[k] = solve_dual(mine, {.common = {.start = starts, .comm = &comm}, .float_weights = true},
                          monitor, pool);
    if (k == 0) out.reason = monitor.reason();
  });
  out.solution.w = found[0].w;
  for (const Solution& one : found) {
    EXPECT_EQ(one.w, found[0].w) << "the same bits on every lane";
    EXPECT_EQ(one.iterations, found[0].iterations);
    out.solution.alpha.insert(out.solution.alpha.end(), one.alpha.begin(), one.alpha.end());
  }
  out.solution.iterations = found[0].iterations;
  return out;
}

std::vector<std::vector<std::uint64_t>> cuts_of(std::uint64_t rows) {
  return {{0, rows},
          {0, rows / 2, rows},
          {0, rows / 5, rows / 5, rows},
          {0, rows / 7, rows / 3, rows / 2, rows}};
}

void expect_certified(const Problem& problem, const OnLanes& found, double gap) {
  EXPECT_EQ(found.reason, StopReason::converged);
  expect_feasible(problem, found.solution.alpha);
  Pool pool(1);
  const Certificate proof = certify(problem, found.solution.w, found.solution.alpha, pool);
  EXPECT_TRUE(proof.bounded());
  EXPECT_LE(proof.relative_gap, gap * 1.001);
  double best = 0;  // the bound never falls, the best primal value never rises
  double primal = kNever;
  for (const Progress& p : found.trace) {
    EXPECT_GE(p.dual, best);
    EXPECT_LE(p.primal, primal * (1 + 1e-14));
    best = p.dual;
    primal = p.primal;
  }
}

TEST(DualOnLanes, ReachesTheCertificate) {
  for (const ProblemShape& shape : kShapes) {
    if (shape.free_bias) continue;
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      for (const LossKind loss : {LossKind::hinge, LossKind::squared_hinge, LossKind::logistic}) {
        const NoisyProblem sample(precision, shape, loss);
        for (const std::vector<std::uint64_t>& cuts : cuts_of(shape.rows)) {
          SCOPED_TRACE(std::to_string(cuts.size() - 1) + " lanes");
          expect_certified(sample.problem, solve_on_lanes(sample.problem, cuts, 1e-6), 1e-6);
        }
      }
    }
  }
}

TEST(DualOnLanes, SolvesTinyProblems) {
  for (const testing::TinyProblem& tiny : testing::tiny_problems()) {
    if (tiny.free_bias) continue;
    SCOPED_TRACE(tiny.name);
    const testing::TinyData<double> data(tiny);
    for (const std::vector<std::uint64_t>& cuts : cuts_of(tiny.rows.size())) {
      const OnLanes found = solve_on_lanes(data.problem, cuts, 1e-9);
      expect_certified(data.problem, found, 1e-9);
      EXPECT_LE(found.trace.back().dual, tiny.optimum * (1 + 1e-12));
      EXPECT_GE(found.trace.back().primal, tiny.optimum * (1 - 1e-12));
    }
  }
}

// Where lanes begin at variables of others, with however many of them these were found, the bound
// is at once what it was.
TEST(DualOnLanes, GoesOnFromWhereOthersCameTo) {
  const NoisyProblem sample(Precision::f32);
  const OnLanes first = solve_on_lanes(sample.problem, {0, 200, kRows}, 1e-2);
  const Start start = {first.solution.w, first.solution.alpha};
  for (const std::vector<std::uint64_t>& cuts :
       {std::vector<std::uint64_t>{0, kRows}, {0, 100, 100, 500, kRows}}) {
    const OnLanes then = solve_on_lanes(sample.problem, cuts, 1e-5, &start);
    EXPECT_GE(then.trace.front().dual, first.trace.back().dual * (1 - 1e-9));
    EXPECT_LE(then.trace.front().primal, first.trace.back().primal * (1 + 1e-9));
    expect_certified(sample.problem, then, 1e-5);
  }
}

// A limit that one lane meets ends all of them, in the same round.
TEST(DualOnLanes, EndTogether) {
  const NoisyProblem sample(Precision::f32);
  const OnLanes found = solve_on_lanes(sample.problem, {0, 7, kRows}, 1e-13, nullptr, 12);
  EXPECT_EQ(found.reason, StopReason::limit);
  expect_feasible(sample.problem, found.solution.alpha);
  EXPECT_LT(found.trace.back().relative_gap, 0.5);
}

}  // namespace
}  // namespace hinge::contract
