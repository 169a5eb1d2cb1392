// What happens on the way from anchor to trial: the line search, the best bias, and where the five
// methods go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "rows/memory_rows.h"
#include "solve/planes/best_bias.h"
#include "solve/planes/segment_search.h"
#include "solve/planes/step.h"
#include "support.h"

namespace hinge {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Rows with made-up margins at two points.
struct TwoPoints {
  explicit TwoPoints(bool free_bias, bool costs) {
    Random random(7);
    now = RowBits(data.rows());
    for (std::uint64_t i = 0; i < data.rows(); ++i) {
      if (costs) c.push_back(random.below(5) == 0 ? 0.0 : random.uniform());
      margins.anchor[i] = 3 * random.uniform() - 0.5;
      margins.trial[i] = 3 * random.uniform() - 0.5;
    }
    problem.costs = c;
    problem.free_bias = free_bias;
    problem.bias = free_bias ? 1 : 0;
  }
  // c_i l(z_i + y_i shift) of all rows
  double loss(double t, double shift = 0) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < data.rows(); ++i) {
      const double slack = 1 - margins.at(i, t) - y[i] * shift;
      sum += rows.cost(i) * std::max(0.0, slack);
    }
    return sum;
  }

  std::vector<double> c;
  Dataset data = testing::random_dataset({.rows = 500, .features = 10, .nonzeros = 3});
  std::vector<std::int8_t> y = signs(data, 1);
  Problem problem = {.data = &data, .y = y};
  Pool pool{2};
  MemoryRows all{data, 0, best_simd(), pool};
  SignedRows rows{problem, all, best_simd(), pool};
  Margins margins{rows};
  RowBits now;
};

TEST(SegmentSearch, FindsTheMinimum) {
  for (const bool costs : {false, true}) {
    TwoPoints points(false, costs);
    SegmentSearch search(points.rows, points.margins, points.now, 0);
    std::uint64_t breakpoints = 0;
    for (const double a : {0.0, 0.1, 30.0}) {
      for (const double b : {0.0, -20.0, 40.0}) {
        for (const double t_max : {kNoLimit, 0.8}) {
          const double t = search.minimum(a, b, t_max, 0);
          // Rows with a breakpoint in the range count where the minimum is inside it.
          std::uint64_t in_range = 0;
          for (std::uint64_t i = 0; i < points.data.rows(); ++i) {
            const double from = points.margins.anchor[i], to = points.margins.trial[i];
            const double at = (1 - from) / (to - from);
            in_range += at > 0 && at < t_max ? 1U : 0U;
          }
          EXPECT_EQ(search.breakpoints() - breakpoints, t > 0 && t < t_max ? in_range : 0U);
          breakpoints = search.breakpoints();
          const auto f = [&](double at) { return a / 2 * at * at + b * at + points.loss(at); };
          ASSERT_GE(t, 0);
          ASSERT_LE(t, t_max);
          for (int k = 0; k <= 1000; ++k) {
            const double at = std::min(t_max, 0.01 * k);
            EXPECT_GE(f(at), f(std::min(t, 1e6)) - 1e-9) << a << " " << b << " " << at;
          }
        }
      }
    }
    EXPECT_GT(breakpoints, 0U);
  }
}

// Rows that are not active add the newest plane's slope, and rows of status 1 only what that has
// too much of: with all statuses as they are at the anchor the search is the same.
TEST(SegmentSearch, StatusesAndThePlaneMakeTheSame) {
  TwoPoints points(false, true);
  SegmentSearch search(points.rows, points.margins, points.now, 0);
  const double plain = search.minimum(0.5, -3, kNoLimit, 0);
  double slope = 0;
  for (std::uint64_t i = 0; i < points.data.rows(); ++i) {
    const double anchor = points.margins.anchor[i];
    if (anchor >= 1) continue;
    points.now.flip(i);
    slope -= points.rows.cost(i) * (points.margins.trial[i] - anchor);
  }
  EXPECT_NEAR(search.minimum(0.5, -3, kNoLimit, slope), plain, 1e-12);
}

TEST(BestBias, IsWhereTheLossIsLeast) {
  for (const bool costs : {false, true}) {
    TwoPoints points(true, costs);
    BestBias best(points.rows, points.margins, points.now);
    best.follow_active();
    for (const double t : {0.0, 0.4, 1.0, 1.6}) {
      const double shift = best.at_point(t), least = points.loss(t, shift);
      for (std::uint64_t i = 0; i < points.data.rows(); ++i) {
        const double bend = points.y[i] * (1 - points.margins.at(i, t));
        EXPECT_GE(points.loss(t, bend), least - 1e-10);
      }
      EXPECT_EQ(best.at_point(t), shift);
      // Balanced statuses, of which one lies between.
      const BestBias::Statuses statuses = best.statuses(t);
      double balance = 0;
      for (std::uint64_t i = 0; i < points.data.rows(); ++i) {
        double status = statuses.bit(i, points.y[i]) ? 1 : 0;
        if (i == statuses.between.row) status += statuses.between.more;
        EXPECT_GE(status, 0);
        EXPECT_LE(status, 1);
        balance += status * points.rows.cost(i) * points.y[i];
        const double slack = 1 - points.margins.at(i, t) - points.y[i] * statuses.crossing.at;
        if (std::abs(slack) > 1e-12) {
          EXPECT_EQ(status, slack > 0 ? 1 : 0);
        }
      }
      EXPECT_NEAR(balance, 0, 1e-11);
    }
    EXPECT_EQ(best.at_trial(0), best.at_point(1));
  }
}

// A risk with two planes and a trial made of them.
struct OneStep {
  OneStep(Solver method, double cost) {
    problem.cost = cost;
    risk.begin(std::vector<double>(data.features()));
    risk.plane(0, 0);
    beta[0] = cost * 0.5;
    risk.set_trial(beta);
    risk.plane(1, 1);
    beta[1] = cost * 0.3;
    risk.set_trial(beta);
    search.emplace(problem, method, mu, risk, monitor);
    search->follow(risk.segment());
  }
  // F(t), by definition.
  double primal(double t) {
    const Segment s = risk.segment();
    const double square =
        (1 - t) * (1 - t) * s.anchor_square + 2 * t * (1 - t) * s.product + t * t * s.trial_square;
    return square / 2 + problem.cost * risk.value(t);
  }
  Step find() { return search->find(primal(0), 0); }

  static constexpr double mu = 0.1;
  Dataset data = testing::random_dataset({.rows = 400, .features = 12, .nonzeros = 5});
  std::vector<std::int8_t> y = signs(data, 1);
  Problem problem = {.data = &data, .y = y};
  Pool pool{1};
  MemoryRows rows{data, 0, best_simd(), pool};
  Risk risk{problem, rows, {.slots = 2}, pool};
  std::vector<double> beta = {0, 0};
  const std::function<void(const Progress&)> nobody;
  const Stopwatch clock;
  Monitor monitor{{}, clock, 0, nobody};
  std::optional<StepSearch> search;
};

TEST(StepSearch, GoesToTheMinimum) {
  for (const double cost : {0.01, 0.1}) {
    double least = kNoLimit;
    OneStep exact(Solver::ocas, cost);
    const Step step = exact.find();
    for (int k = 0; k <= 2000; ++k) least = std::min(least, exact.primal(0.001 * k));
    EXPECT_LE(step.primal, least * (1 + 1e-12));
    EXPECT_NEAR(step.primal, exact.primal(step.go), 1e-12 * step.primal);
    EXPECT_NEAR(step.plane, step.go + OneStep::mu * (1 - step.go), 1e-15);

    OneStep three(Solver::ocas3, cost);
    const Step near = three.find();
    EXPECT_LT(near.primal, three.primal(0));
    EXPECT_LE(near.primal - least, 0.2 * (three.primal(0) - least));

    const Step all = OneStep(Solver::cpa, cost).find();
    EXPECT_EQ(all.go, 1.0);
    EXPECT_EQ(all.plane, 1.0);
  }
}

TEST(StepSearch, ActiveStaysWithinItsReach) {
  OneStep free(Solver::active, 0.1);
  const Step far = free.find();
  ASSERT_GT(far.go, 0);
  OneStep bound(Solver::active, 0.1);
  const double distance = std::sqrt(bound.risk.segment().square);
  bound.search->forget();
  bound.search->remember(far.go / 10 - OneStep::mu > 0 ? far.go / 10 - OneStep::mu : 0.0);
  const double reach = bound.search->reach_after({.go = 0, .plane = 0, .primal = 0}) / distance;
  // While all rows are active none can cross unseen.
  EXPECT_EQ(bound.find().go, far.go);
  EXPECT_EQ(bound.find().plane, far.plane);

  std::vector<std::uint64_t> most(bound.problem.data->rows() - 1);
  std::iota(most.begin(), most.end(), 0);
  const std::uint64_t count = most.size();
  bound.risk.activate(bound.rows.cut(std::move(most)), count, {});
  const Step near = bound.find();
  EXPECT_LE(near.plane, reach * (1 + 1e-15));
  if (reach < far.go) {  // F falls beyond
    EXPECT_NEAR(near.go, 0.9 * reach, 1e-12);
    EXPECT_EQ(near.plane, reach);
  }
}

}  // namespace
}  // namespace hinge
