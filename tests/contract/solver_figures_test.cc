// What every solver must find: the optimum, bounds on it, and the gap it says. A new solver joins
// with one line in solver_cases.h.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "contract/solver_cases.h"
#include "tiny_problems.h"

namespace hinge::contract {
namespace {

using testing::tiny_problems;
using testing::TinyData;
using testing::TinyProblem;

class SolverFigures : public ::testing::TestWithParam<SolverCase> {};
class ExactSolverFigures : public ::testing::TestWithParam<SolverCase> {};

// The optimum of a noisy problem, to 1e-11: solved once for all solvers that are compared with it.
const Certificate& optimum(const NoisyProblem& sample) {
  using Key = std::tuple<std::uint64_t, std::uint64_t, bool, std::size_t, LossKind>;
  static std::map<Key, Certificate> known;
  const Problem& problem = sample.problem;
  const Key key{problem.data->rows(), problem.data->features(), problem.free_bias,
                problem.data->view().index(), problem.loss.kind};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = run(dual, problem, {.gap = 1e-11, .seconds = kNever}).certificate;
}

TEST_P(SolverFigures, SolvesTinyProblems) {
  for (const TinyProblem& tiny : tiny_problems()) {
    if (tiny.loss.kind != GetParam().loss.kind) continue;
    const TinyData<float> data(tiny);
    const double gap = GetParam().gap(1e-10);
    const Outcome r = run(GetParam().solve, data.problem, {.gap = gap, .seconds = kNever});
    EXPECT_LE(r.certificate.relative_gap, gap * (1 + 1e-9)) << tiny.name;
    EXPECT_NEAR(r.certificate.primal, tiny.optimum, 10 * gap * tiny.optimum) << tiny.name;
    EXPECT_NEAR(r.certificate.dual, tiny.optimum, 10 * gap * tiny.optimum) << tiny.name;
    for (std::size_t j = 0; j < tiny.w.size(); ++j) {
      // P is strongly convex: |w - w*|^2 <= 2 (P - P*). Not in a free bias, which follows w.
      const double more = j < data.problem.regularised() ? 1 : 30;
      EXPECT_NEAR(r.solution.w[j], tiny.w[j], more * (2 * std::sqrt(gap * tiny.optimum) + 1e-9))
          << tiny.name;
    }
  }
}

TEST_P(SolverFigures, ReportsTheGapItReached) {
  for (const ProblemShape& shape : kShapes) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const NoisyProblem sample(precision, shape, GetParam().loss);
      const Certificate& best = optimum(sample);
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
        EXPECT_LE(r.certificate.dual, best.primal * (1 + 1e-12));
        EXPECT_GE(r.certificate.primal, best.dual * (1 - 1e-12));
        for (const Progress& p : r.trace) {
          EXPECT_LE(p.dual, best.primal * (1 + 1e-12));
          EXPECT_GE(p.primal, best.dual * (1 - 1e-12));
        }
      }
    }
  }
}

TEST_P(SolverFigures, BoundRisesAndPrimalFalls) {
  for (const ProblemShape& shape : kShapes) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
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

TEST_P(SolverFigures, RowsOfNoWeightDoNotCount) {
  const NoisyProblem sample(Precision::f32, {kRows, true}, GetParam().loss);
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
  std::vector<double> targets;
  if (!sample.problem.targets.empty()) {
    for (const std::uint64_t i : rows) targets.push_back(sample.problem.targets[i]);
    fewer.y = sample.problem.y.first(rows.size());  // all 1
    fewer.targets = targets;
  }
  const Outcome without = run(GetParam().solve, fewer, limits);
  EXPECT_NEAR(whole.certificate.primal, without.certificate.primal,
              2 * limits.gap * whole.certificate.primal);
}

// Wherever a run is cut off, what it said last is no better than what it returns.
TEST_P(SolverFigures, ReturnsTheBestItSaid) {
  TinyData<float> tiny(tiny_problems()[5]);
  tiny.problem.loss = GetParam().loss;
  MaybeTargets targets;
  targets.give(tiny.problem);
  ASSERT_TRUE(tiny.problem.free_bias);
  const NoisyProblem narrow(Precision::f32, {kFewRows, true}, GetParam().loss),
      wide(Precision::f32, kWide, GetParam().loss);
  for (const Problem& problem : {tiny.problem, narrow.problem, wide.problem}) {
    for (std::uint64_t passes = 1; passes < 2000; passes += 1 + passes / 3) {
      const Outcome r =
          run(GetParam().solve, problem,
              {.gap = 1e-12, .seconds = kNever, .passes = static_cast<double>(passes)});
      expect_feasible(problem, r.solution.alpha);
      const double slack = 1e-9 * r.certificate.primal;
      if (r.trace.empty()) {  // targets that cost nothing
        EXPECT_EQ(r.certificate.primal, 0);
        continue;
      }
      EXPECT_GE(r.certificate.dual, r.trace.back().dual - slack) << passes;
      EXPECT_LE(r.certificate.primal, r.trace.back().primal + slack) << passes;
    }
  }
}

// Files are often sorted by label. A constant feature is what suffers most from that.
TEST_P(ExactSolverFigures, SortedRowsDoNoHarm) {
  const Dataset mixed =
      testing::random_dataset({.rows = 20000, .features = 40, .nonzeros = 7, .noise = 0.2});
  const auto touched = [&](const Dataset& data) {
    const std::vector<std::int8_t> y = signs(data, 1);
    Problem problem = {.data = &data, .y = y, .cost = 0.01, .bias = 30, .loss = GetParam().loss};
    MaybeTargets targets;
    targets.give(problem);
    const Limits limits = {.gap = GetParam().gap(1e-3), .seconds = kNever};
    return run(GetParam().solve, problem, limits).solution.rows_touched;
  };
  EXPECT_LT(static_cast<double>(touched(testing::sorted_by_label(mixed))),
            1.5 * static_cast<double>(touched(mixed)));
}

// A free bias takes up whatever is added to all rows: margins stay as they are.
TEST_P(SolverFigures, AddingTheSameToAllRowsChangesNoMargin) {
  constexpr std::uint64_t kCount = 150, kFeatures = 5;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    double shift[kFeatures];
    for (double& x : shift) x = 6 * random.uniform() - 3;
    testing::detail::Rows<double> rows, shifted;
    std::vector<std::int8_t> y;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      double score = 0.4;
      for (std::uint32_t j = 0; j < kFeatures; ++j) {
        const double x = 2 * random.uniform() - 1;
        score += j < 3 ? x : -x;
        for (auto* to : {&rows, &shifted}) to->columns.push_back(j);
        rows.values.push_back(x);
        shifted.values.push_back(x + shift[j]);
      }
      y.push_back((score > 0) != (random.below(10) == 0) ? 1 : -1);
      for (auto* to : {&rows, &shifted}) to->offsets.push_back(to->columns.size());
    }
    const std::vector<std::int64_t> labels(y.begin(), y.end());
    const double gap = GetParam().gap(1e-9);
    std::vector<double> margins[2];
    double primals[2];
    for (const int k : {0, 1}) {
      const auto& from = k == 0 ? rows : shifted;
      const CsrView<double> view = {kCount, kFeatures, from.offsets.data(), from.columns.data(),
                                    from.values.data()};
      const Dataset data = Dataset::wrap(view, labels, {}, nullptr).value();
      Problem problem = {
          .data = &data, .y = y, .cost = 1, .bias = 1, .free_bias = true, .loss = GetParam().loss};
      MaybeTargets targets;
      targets.give(problem);
      const Outcome r = run(GetParam().solve, problem, {.gap = gap, .seconds = 30});
      EXPECT_EQ(r.reason, StopReason::converged);
      primals[k] = r.certificate.primal;
      for (std::uint64_t i = 0; i < kCount; ++i) {
        double score = r.solution.w.back();
        for (std::uint64_t j = 0; j < kFeatures; ++j) {
          score += r.solution.w[j] * from.values[i * kFeatures + j];
        }
        margins[k].push_back(y[i] * score);
      }
    }
    EXPECT_NEAR(primals[0], primals[1], 2 * gap * primals[0]);
    // Either w is within sqrt(2 gap P) of the optimum; so are rows, which are no longer than 3.
    const double near = 2 * 3 * std::sqrt(2 * gap * primals[0]);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      EXPECT_NEAR(margins[0][i], margins[1][i], 2 * near) << i;
    }
  }
}

// Ends rather than runs for ever when rounding does not allow the gap asked for.
TEST_P(ExactSolverFigures, EndsAtTheLimitOfRounding) {
  for (const ProblemShape& shape : kShapes) {
    const NoisyProblem sample(Precision::f32, shape, GetParam().loss);
    const Outcome r = run(GetParam().solve, sample.problem, {.gap = 1e-18, .seconds = 20});
    // What sums of so many columns may be apart.
    const double least = shape.free_bias ? 1e-12 : shape.features > kFewRows ? 4e-15 : 1e-15;
    const double outwards = r.certificate.rounding() / r.certificate.primal;
    EXPECT_LE(outwards, is_regression(GetParam().loss.kind) ? 1e-11 : 1e-12);  // by |t|, too
    EXPECT_TRUE(r.solution.stalled || r.certificate.relative_gap <= least + outwards)
        << r.certificate.relative_gap;
    EXPECT_LE(r.certificate.relative_gap, 1e-10);
  }
}

// Degenerate input: extreme costs and scales still end with a true certificate.
TEST_P(ExactSolverFigures, ExtremeCosts) {
  for (const ProblemShape& shape : kShapes) {
    NoisyProblem sample(Precision::f64, shape, GetParam().loss);
    for (const double cost : {1e-9, 1e-6, 1e-3, 1e3, 1e6}) {
      const LossKind loss = GetParam().loss.kind;
      if (cost > 1e3 && (loss == LossKind::hinge || is_regression(loss))) continue;
      sample.problem.cost = cost;
      const Outcome r = run(GetParam().solve, sample.problem, {.gap = 1e-3, .seconds = 20});
      EXPECT_LE(r.certificate.relative_gap, 1e-3 * (1 + 1e-9)) << cost;
      expect_feasible(sample.problem, r.solution.alpha);
    }
  }
}

// Rows so short that w cannot matter: a free bias has the loss to itself, and goes with the larger
// class, or anywhere between where they are equal: P* = 2 C times the rows of the lesser. With the
// squared hinge p (1-b)^2 + n (1+b)^2 is least, 4 p n/(p+n), where b = (p-n)/(p+n); the logistic
// loss is the entropy of the labels.
TEST_P(ExactSolverFigures, ShortRowsLeaveItToTheBias) {
  if (is_regression(GetParam().loss.kind)) GTEST_SKIP() << "rows have no class to go with";
  for (const double length : {1e-4, 1e-9, 1e-20, 1e-150, 0.0}) {
    for (const std::uint64_t positive : {1U, 20U, 30U}) {
      TinyProblem tiny{.name = "",
                       .rows = {},
                       .y = {},
                       .row_weights = {},
                       .cost = 1,
                       .bias = 1,
                       .optimum = 0,
                       .w = {},
                       .alpha = {},
                       .free_bias = true};
      Random random(positive);
      for (std::uint64_t i = 0; i < 40; ++i) {
        tiny.rows.push_back({length * random.uniform(), length * (random.uniform() - 0.5)});
        tiny.y.push_back(i < positive ? 1 : -1);
      }
      tiny.loss = GetParam().loss;
      const TinyData<double> data(tiny);
      const Outcome r = run(GetParam().solve, data.problem, {.gap = 1e-6, .seconds = 20});
      EXPECT_EQ(r.reason, StopReason::converged) << length << " " << positive;
      const double lesser = static_cast<double>(std::min<std::uint64_t>(positive, 40 - positive));
      const double entropy =
          -lesser * std::log(lesser / 40) - (40 - lesser) * std::log(1 - lesser / 40);
      const double best = tiny.loss == LossKind::hinge      ? 2 * lesser
                          : tiny.loss == LossKind::logistic ? entropy
                                                            : 4 * lesser * (40 - lesser) / 40;
      EXPECT_NEAR(r.certificate.primal, best, 1e-4) << length << " " << positive;
    }
  }
}

// Small costs, where most variables are at bounds: little but the sum moves a free bias, which once
// was too slow to get anywhere.
TEST_P(ExactSolverFigures, SmallCostsMoveTheBias) {
  for (std::uint64_t seed = 2300; seed < 2400; ++seed) {
    Random random(seed);
    const Dataset data = testing::random_dataset({.rows = 4 + random.below(60),
                                                  .features = 1 + random.below(40),
                                                  .nonzeros = 1 + random.below(10),
                                                  .noise = 0.3,
                                                  .seed = seed});
    std::vector<std::int8_t> y = signs(data, 1);
    for (std::int8_t& label : y) label = random.below(10) > 0 ? 1 : label;  // most of one class
    // Of one class alone the logistic loss has no minimum, only a limit.
    if (GetParam().loss == LossKind::logistic && std::ranges::count(y, -1) == 0) y[0] = -1;
    Problem problem = {.data = &data,
                       .y = y,
                       .cost = std::pow(10.0, -4 * random.uniform()),
                       .bias = 1,
                       .free_bias = true,
                       .loss = GetParam().loss};
    MaybeTargets targets;
    targets.give(problem);
    const Outcome r = run(GetParam().solve, problem, {.gap = 1e-6, .seconds = 20});
    EXPECT_EQ(r.reason, StopReason::converged) << seed;
    EXPECT_LE(r.certificate.relative_gap, 1.001e-6) << seed;
  }
}

TEST(SolverAgreement, AllSolversFindTheSameOptimum) {
  for (const ProblemShape& shape : kShapes) {
    std::map<LossKind, double> optima;
    for (const SolverCase& s : solvers()) {
      const NoisyProblem sample(Precision::f32, shape, s.loss);
      const double gap = s.gap(1e-8);
      const double p =
          run(s.solve, sample.problem, {.gap = gap, .seconds = kNever}).certificate.primal;
      const double first = optima.try_emplace(s.loss.kind, p).first->second;
      EXPECT_NEAR(p, first, 2 * gap * first) << s.name;
    }
    EXPECT_EQ(optima.size(), 5U);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryExactSolver, ExactSolverFigures, ::testing::ValuesIn(exact_solvers()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(EverySolver, SolverFigures, ::testing::ValuesIn(solvers()), name_of);

}  // namespace
}  // namespace hinge::contract
