// What every solver must do with threads, limits and signals. A new solver joins with one line in
// solver_cases.h.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "contract/solver_cases.h"

namespace hinge::contract {
namespace {

class SolverContract : public ::testing::TestWithParam<SolverCase> {};

TEST_P(SolverContract, SameBitsForAnyThreadsAndInstructionSet) {
  for (const ProblemShape& shape : kShapes) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
    const Limits limits = {.gap = GetParam().gap(testing::slow() ? 1e-3 : 1e-6), .seconds = kNever};
    const Outcome one = run(GetParam().solve, sample.problem, limits, 1);
    for (const int threads : {2, 3, 8}) {
      const Outcome many = run(GetParam().solve, sample.problem, limits, threads);
      EXPECT_EQ(one.solution.w, many.solution.w) << threads;
      EXPECT_EQ(one.solution.alpha, many.solution.alpha) << threads;
    }
    for (const Simd* simd : available_simd()) {
      const Outcome other = run(GetParam().solve, sample.problem, limits, 1, {.simd = simd});
      EXPECT_EQ(one.solution.w, other.solution.w) << simd->name;
      EXPECT_EQ(one.solution.alpha, other.solution.alpha) << simd->name;
    }
  }
}

TEST_P(SolverContract, HonoursLimits) {
  for (const ProblemShape& shape : kShapes) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
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

// Each form of goal ends a run, and is true of the certificate; the first that is reached does.
TEST_P(SolverContract, HonoursGoals) {
  for (const ProblemShape& shape : kShapes) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
    const double best =
        run(dual, sample.problem, {.gap = 1e-6, .seconds = kNever}).certificate.dual;
    const double near = 0.02 * best, target = 1.05 * best;
    const auto end_of = [&](const Limits& limits) {
      const Outcome r = run(GetParam().solve, sample.problem, limits);
      EXPECT_EQ(r.reason, StopReason::converged);
      return r;
    };
    const Outcome absolute = end_of({.gap = 0, .absolute = near, .seconds = kNever});
    EXPECT_LE(absolute.certificate.primal - absolute.certificate.dual, near);
    const Outcome low = end_of({.gap = 0, .target = target, .seconds = kNever});
    EXPECT_LE(low.certificate.primal, target);
    const Outcome first =
        end_of({.gap = 1e-9, .absolute = 1e-9, .target = target, .seconds = kNever});
    EXPECT_EQ(first.solution.rows_touched, low.solution.rows_touched);
  }
}

// A target below the optimum is given up once the bound is above it, but not where there is another
// goal as well.
TEST_P(SolverContract, GivesUpATargetThatNoPointReaches) {
  const NoisyProblem sample(Precision::f32, {}, GetParam().loss);
  const double best = run(dual, sample.problem, {.gap = 1e-6, .seconds = kNever}).certificate.dual;
  const Limits limits = {.gap = 0, .target = 0.9 * best, .seconds = kNever};
  const Outcome r = run(GetParam().solve, sample.problem, limits);
  EXPECT_EQ(r.reason, StopReason::limit);
  EXPECT_GT(r.certificate.dual, limits.target);
  expect_feasible(sample.problem, r.solution.alpha);
  const Outcome both =
      run(GetParam().solve, sample.problem, {.gap = 0.01, .target = 0.9 * best, .seconds = kNever});
  EXPECT_EQ(both.reason, StopReason::converged);
  EXPECT_LE(both.certificate.relative_gap, 0.01);
}

TEST_P(SolverContract, HonoursInterrupts) {
  for (const ProblemShape& shape : {ProblemShape{kRows, true}, kWide}) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
    std::atomic<bool> stop{true};
    const Outcome r =
        run(GetParam().solve, sample.problem, {.gap = 1e-9, .seconds = kNever, .stop = &stop});
    EXPECT_EQ(r.reason, StopReason::interrupted);
    expect_feasible(sample.problem, r.solution.alpha);
  }
}

// A signal may come at any moment, also in the middle of a pass: what is returned is whole, and no
// worse than where all began.
TEST_P(SolverContract, MayBeInterruptedAnywhere) {
  for (const ProblemShape& shape :
       {ProblemShape{kRows, true}, ProblemShape{kFewRows, true}, kWide}) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
    double at_zero = 0;
    visit_loss(sample.problem.loss, [&]<class Loss>(const Loss& loss) {
      for (std::uint64_t i = 0; i < shape.rows; ++i) {
        const double margin = Loss::kRegression ? -sample.problem.targets[i] : 0.0;
        at_zero += sample.problem.upper(i) * loss.value(margin);
      }
    });
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

INSTANTIATE_TEST_SUITE_P(EverySolver, SolverContract, ::testing::ValuesIn(solvers()), name_of);

}  // namespace
}  // namespace hinge::contract
