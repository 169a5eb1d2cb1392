// What every solver must do. A new solver joins with one line in solvers().
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "proof/certificate.h"
#include "proof/witness.h"
#include "solve/solver.h"
#include "support.h"
#include "tiny_problems.h"

namespace hinge {
namespace {

using testing::tiny_problems;
using testing::TinyData;
using testing::TinyProblem;

using SolveFunction = Solution (*)(const Problem&, const SolverOptions&, Monitor&, Pool&);

Solution pegasos(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                 Pool& pool) {
  return solve_pegasos(std::span(&problem, 1), options, std::span(&monitor, 1), pool)[0];
}

struct SolverCase {
  const char* name;
  SolveFunction solve;
  double finest = 0;  // the smallest gap it can be asked for in reasonable time; 0: any

  double gap(double wanted) const { return std::max(wanted, finest); }
};

template <Solver method>
Solution planes(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                Pool& pool) {
  return solve_planes(problem, method, options, monitor, pool);
}

std::vector<SolverCase> solvers() {
  return {{"dual", solve_dual},
          {"pegasos", pegasos, 1e-3},
          {"cpa", planes<Solver::cpa>, 1e-6},
          {"ocas", planes<Solver::ocas>},
          {"ocas3", planes<Solver::ocas3>},
          {"active", planes<Solver::active>, 1e-5},
          {"focus", planes<Solver::focus>}};
}
std::vector<SolverCase> exact_solvers() {
  std::vector<SolverCase> exact = solvers();
  std::erase_if(exact, [](const SolverCase& solver) { return solver.finest > 0; });
  return exact;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Outcome {
  Solution solution;
  Certificate certificate;
  std::vector<Progress> trace;
  StopReason reason;
};

Outcome run(SolveFunction solve, const Problem& problem, Limits limits, int threads = 1,
            const SolverOptions& options = {}) {
  Outcome out;
  const std::function<void(const Progress&)> observer = [&](const Progress& p) {
    if (p.primal > 0) out.trace.push_back(p);  // else a sign of life
  };
  const Stopwatch clock;
  Monitor monitor(limits, clock, 0, observer);
  Pool pool(threads);
  out.solution = solve(problem, options, monitor, pool);
  out.certificate = certify(problem, out.solution.w, out.solution.alpha, pool);
  out.reason = monitor.reason();
  return out;
}

void expect_feasible(const Problem& problem, const std::vector<double>& alpha) {
  ASSERT_EQ(alpha.size(), problem.data->rows());
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    ASSERT_GE(alpha[i], 0.0) << i;
    ASSERT_LE(alpha[i], problem.upper(i)) << i;
  }
}

// A noisy problem with everything a solver meets: rows of no weight, row weights, a bias. Cutting
// planes keep planes in another way where rows are few beside the columns.
constexpr std::uint64_t kRows = 600, kFewRows = 250;
struct Sample {
  explicit Sample(Precision precision, std::uint64_t rows = kRows)
      : data(testing::random_dataset({.rows = rows,
                                      .features = 80,
                                      .nonzeros = 9,
                                      .noise = 0.1,
                                      .seed = 3,
                                      .precision = precision})),
        y(signs(data, 1)),
        costs(data.rows()) {
    Random random(5);
    for (double& c : costs) c = random.below(8) == 0 ? 0.0 : 0.25 + random.uniform();
    problem = {.data = &data, .y = y, .costs = costs, .cost = 2, .bias = 0.5};
  }
  Dataset data;
  std::vector<std::int8_t> y;
  std::vector<double> costs;
  Problem problem;
};

class SolverContract : public ::testing::TestWithParam<SolverCase> {};
class ExactSolverContract : public ::testing::TestWithParam<SolverCase> {};

TEST_P(SolverContract, SolvesTinyProblems) {
  for (const TinyProblem& tiny : tiny_problems()) {
    const TinyData<float> data(tiny);
    const double gap = GetParam().gap(1e-10);
    const Outcome r = run(GetParam().solve, data.problem, {.gap = gap, .seconds = kNever});
    EXPECT_LE(r.certificate.relative_gap, gap * (1 + 1e-9)) << tiny.name;
    EXPECT_NEAR(r.certificate.primal, tiny.optimum, 10 * gap * tiny.optimum) << tiny.name;
    EXPECT_NEAR(r.certificate.dual, tiny.optimum, 10 * gap * tiny.optimum) << tiny.name;
    for (std::size_t j = 0; j < tiny.w.size(); ++j) {
      // P is strongly convex: |w - w*|^2 <= 2 (P - P*).
      EXPECT_NEAR(r.solution.w[j], tiny.w[j], 2 * std::sqrt(gap * tiny.optimum) + 1e-9)
          << tiny.name;
    }
  }
}

TEST_P(SolverContract, ReportsTheGapItReached) {
  for (const auto& [precision, rows] : {std::pair(Precision::f32, kRows),
                                        {Precision::f64, kRows},
                                        {Precision::f32, kFewRows},
                                        {Precision::f64, kFewRows}}) {
    const Sample sample(precision, rows);
    const Outcome best = run(solve_dual, sample.problem, {.gap = 1e-11, .seconds = kNever});
    for (const double wanted : {1e-1, 1e-3, 1e-6}) {
      const double gap = GetParam().gap(wanted);
      const Outcome r = run(GetParam().solve, sample.problem, {.gap = gap, .seconds = kNever});
      expect_feasible(sample.problem, r.solution.alpha);
      EXPECT_EQ(r.reason, StopReason::converged);
      EXPECT_LE(r.certificate.relative_gap, gap * (1 + 1e-9));
      // The solver's own last words agree with the recomputation.
      EXPECT_NEAR(r.trace.back().primal, r.certificate.primal, 1e-9 * r.certificate.primal);
      EXPECT_NEAR(r.trace.back().dual, r.certificate.dual, 1e-9 * r.certificate.primal);
      // Lower bound <= optimum <= primal, with the optimum known to 1e-11.
      EXPECT_LE(r.certificate.dual, best.certificate.primal * (1 + 1e-12));
      EXPECT_GE(r.certificate.primal, best.certificate.dual * (1 - 1e-12));
    }
  }
}

TEST_P(SolverContract, BoundRisesAndPrimalFalls) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    const Outcome r =
        run(GetParam().solve, sample.problem, {.gap = GetParam().gap(1e-8), .seconds = kNever});
    ASSERT_GT(r.trace.size(), 2U);
    for (std::size_t k = 1; k < r.trace.size(); ++k) {
      EXPECT_GE(r.trace[k].dual, r.trace[k - 1].dual);
      EXPECT_LE(r.trace[k].primal, r.trace[k - 1].primal);
      EXPECT_GE(r.trace[k].data_passes, r.trace[k - 1].data_passes);
    }
  }
}

TEST_P(SolverContract, SameBitsForAnyThreadsAndInstructionSet) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    const Limits limits = {.gap = GetParam().gap(1e-6), .seconds = kNever};
    const Outcome one = run(GetParam().solve, sample.problem, limits, 1);
    for (const int threads : {2, 3, 8}) {
      const Outcome many = run(GetParam().solve, sample.problem, limits, threads);
      EXPECT_EQ(one.solution.w, many.solution.w) << threads;
      EXPECT_EQ(one.solution.alpha, many.solution.alpha) << threads;
    }
    for (const Kernels* kernels : available_kernels()) {
      const Outcome other = run(GetParam().solve, sample.problem, limits, 1, {.kernels = kernels});
      EXPECT_EQ(one.solution.w, other.solution.w) << kernels->name;
      EXPECT_EQ(one.solution.alpha, other.solution.alpha) << kernels->name;
    }
  }
}

TEST_P(SolverContract, RowsOfNoWeightDoNotCount) {
  const Sample sample(Precision::f32);
  const Limits limits = {.gap = GetParam().gap(1e-9), .seconds = kNever};
  const Outcome whole = run(GetParam().solve, sample.problem, limits);
  std::vector<std::uint64_t> rows;
  std::vector<double> costs;
  for (std::uint64_t i = 0; i < sample.data.rows(); ++i) {
    if (sample.costs[i] == 0) continue;
    rows.push_back(i);
    costs.push_back(sample.costs[i]);
  }
  const Dataset kept = testing::pick_rows(sample.data, rows);
  const std::vector<std::int8_t> y = signs(kept, 1);
  Problem fewer = sample.problem;
  fewer.data = &kept;
  fewer.y = y;
  fewer.costs = costs;
  const Outcome without = run(GetParam().solve, fewer, limits);
  EXPECT_NEAR(whole.certificate.primal, without.certificate.primal,
              2 * limits.gap * whole.certificate.primal);
}

TEST_P(SolverContract, HonoursLimits) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    const Outcome at_once = run(GetParam().solve, sample.problem, {.gap = 1e-9, .seconds = 0});
    EXPECT_EQ(at_once.reason, StopReason::limit);
    expect_feasible(sample.problem, at_once.solution.alpha);
    EXPECT_EQ(at_once.solution.w.size(), sample.problem.dimension());

    const Outcome passes =
        run(GetParam().solve, sample.problem, {.gap = 1e-12, .seconds = kNever, .passes = 5});
    EXPECT_EQ(passes.reason, StopReason::limit);
    EXPECT_LE(passes.solution.rows_touched, 7 * sample.data.rows());
    expect_feasible(sample.problem, passes.solution.alpha);
    EXPECT_LT(passes.certificate.relative_gap, 1.0);
  }
}

TEST_P(SolverContract, HonoursInterrupts) {
  const Sample sample(Precision::f32);
  std::atomic<bool> stop{true};
  const Outcome r =
      run(GetParam().solve, sample.problem, {.gap = 1e-9, .seconds = kNever, .stop = &stop});
  EXPECT_EQ(r.reason, StopReason::interrupted);
  expect_feasible(sample.problem, r.solution.alpha);
}

// A signal may come at any moment, also in the middle of a pass: what is returned is whole, and no
// worse than where all began.
TEST_P(SolverContract, MayBeInterruptedAnywhere) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    double at_zero = 0;
    for (std::uint64_t i = 0; i < rows; ++i) at_zero += sample.problem.upper(i);
    const std::function<void(const Progress&)> nobody;
    for (int trial = 0; trial < 40; ++trial) {
      std::atomic<bool> flag{false};
      const StopToken stop(&flag);
      const Stopwatch clock;
      Monitor monitor({.gap = 1e-13, .seconds = kNever, .stop = &flag}, clock, 0, nobody);
      Pool pool(1 + trial % 3, &stop);
      std::thread raiser([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(trial * trial * 5));
        flag = true;
      });
      const Solution solution = GetParam().solve(sample.problem, {}, monitor, pool);
      raiser.join();
      expect_feasible(sample.problem, solution.alpha);
      ASSERT_EQ(solution.w.size(), sample.problem.dimension());
      Pool again(1);
      const Certificate found = certify(sample.problem, solution.w, solution.alpha, again);
      EXPECT_LE(found.primal, at_zero * (1 + 1e-9)) << trial;
      EXPECT_LE(found.dual, found.primal * (1 + 1e-9)) << trial;
    }
  }
}

// Files are often sorted by label. A constant feature is what suffers most from that.
TEST_P(ExactSolverContract, SortedRowsDoNoHarm) {
  const Dataset mixed =
      testing::random_dataset({.rows = 20000, .features = 40, .nonzeros = 7, .noise = 0.2});
  const auto touched = [&](const Dataset& data) {
    const std::vector<std::int8_t> y = signs(data, 1);
    const Problem problem = {.data = &data, .y = y, .cost = 0.01, .bias = 30};
    const Limits limits = {.gap = GetParam().gap(1e-3), .seconds = kNever};
    return run(GetParam().solve, problem, limits).solution.rows_touched;
  };
  EXPECT_LT(static_cast<double>(touched(testing::sorted_by_label(mixed))),
            1.5 * static_cast<double>(touched(mixed)));
}

// Ends rather than runs for ever when rounding does not allow the gap asked for.
TEST_P(ExactSolverContract, EndsAtTheLimitOfRounding) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    const Outcome r = run(GetParam().solve, sample.problem, {.gap = 1e-18, .seconds = 20});
    EXPECT_TRUE(r.solution.stalled || r.certificate.relative_gap <= 1e-15);
    EXPECT_LE(r.certificate.relative_gap, 1e-10);
  }
}

// Degenerate input: extreme costs and scales still end with a true certificate.
TEST_P(ExactSolverContract, ExtremeCosts) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    Sample sample(Precision::f64, rows);
    for (const double cost : {1e-9, 1e-3, 1e3}) {
      sample.problem.cost = cost;
      const Outcome r = run(GetParam().solve, sample.problem, {.gap = 1e-3, .seconds = 20});
      EXPECT_LE(r.certificate.relative_gap, 1e-3 * (1 + 1e-9)) << cost;
      expect_feasible(sample.problem, r.solution.alpha);
    }
  }
}

TEST(SolverAgreement, AllSolversFindTheSameOptimum) {
  for (const std::uint64_t rows : {kRows, kFewRows}) {
    const Sample sample(Precision::f32, rows);
    std::vector<double> optima;
    for (const SolverCase& s : solvers()) {
      const double gap = s.gap(1e-7);
      const double p =
          run(s.solve, sample.problem, {.gap = gap, .seconds = kNever}).certificate.primal;
      optima.push_back(p);
      EXPECT_NEAR(p, optima[0], 2 * gap * optima[0]) << s.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryExactSolver, ExactSolverContract,
                         ::testing::ValuesIn(exact_solvers()),
                         [](const auto& instance) { return std::string(instance.param.name); });
INSTANTIATE_TEST_SUITE_P(EverySolver, SolverContract, ::testing::ValuesIn(solvers()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace hinge
