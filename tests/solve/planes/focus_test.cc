// Which rows focus looks at, and when, and the sample it begins on.
#include "solve/planes/focus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "rows/memory_rows.h"
#include "solve/planes/sample_start.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge {
namespace {

// A risk at some point, of which all rows are active.
struct RiskAtPoint {
  explicit RiskAtPoint(std::uint64_t features = 6) {
    data = testing::random_dataset({.rows = 300, .features = features, .nonzeros = 4});
    y = signs(data, 1);
    problem.y = y;
    rows.emplace(data, 0, best_simd(), pool);
    RiskOptions options = {.slots = 20, .use = ActiveUse::narrowed};
    risk.emplace(problem, *rows, options, pool);
    risk->begin(std::vector<double>(features, 0.3));
    risk->plane(0, 0);
  }
  std::vector<double> distances() const {
    std::vector<double> away;
    for (const double z : risk->margins().anchor) away.push_back(std::abs(1 - z));
    return away;
  }
  // A step, so that margins move.
  void move(double t) {
    std::vector<double> beta(20);
    beta[0] = 0.01;
    risk->set_trial(beta);
    risk->advance(t);
  }

  Dataset data;
  std::vector<std::int8_t> y;
  Problem problem = {.data = &data};
  Pool pool{1};
  std::optional<MemoryRows> rows;
  std::optional<Risk> risk;
};

TEST(NearMargin, WidthsAndCounts) {
  RiskAtPoint at;
  NearMargin near(*at.risk);
  std::vector<double> away = at.distances();
  std::ranges::sort(away);
  for (const double share : {0.0, 0.25, 0.35, 1.0}) {
    EXPECT_EQ(near.width_of(share), away[static_cast<std::size_t>(share * 299)]);
  }
  const double widths[] = {away[0], away[100], away[299]};
  double counts[3];
  near.count(widths, counts);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(counts[k], static_cast<double>(std::ranges::count_if(
                             away, [&](double x) { return x <= widths[k]; })));
  }
}

TEST(NearMargin, NarrowsAndReturns) {
  RiskAtPoint at;
  NearMargin near(*at.risk);
  at.risk->mark();
  EXPECT_EQ(near.moved(), 0.0);
  const std::vector<double> before = at.risk->margins().anchor, away = at.distances();
  at.move(0.5);
  double sum = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    sum += std::pow(at.risk->margins().anchor[i] - before[i], 2);
  }
  EXPECT_NEAR(near.moved(), std::sqrt(sum / 300), 1e-14);
  EXPECT_GT(near.moved(), 0);

  at.risk->mark();
  const double width = near.width_of(0.3);
  EXPECT_EQ(near.narrow(-1), 0U);  // nothing changes
  EXPECT_EQ(at.risk->active(), 300U);
  const std::vector<double> now = at.distances();
  const auto wanted =
      static_cast<std::uint64_t>(std::ranges::count_if(now, [&](double x) { return x <= width; }));
  EXPECT_EQ(near.narrow(width), wanted);
  EXPECT_EQ(at.risk->active(), wanted);
  for (const std::uint64_t i : at.risk->margins().active.list) EXPECT_LE(now[i], width);
  at.risk->return_to_mark();
  EXPECT_EQ(at.risk->active(), 300U);
  EXPECT_TRUE(at.risk->margins().active.all);
}

TEST(Focus, WaitsThenNarrowsThenLearns) {
  RiskAtPoint at;
  Focus focus(*at.risk);
  focus.begin(false);
  for (std::uint64_t k = 0; k < PlanesTuning::kStepsBetweenRounds; ++k) {
    EXPECT_FALSE(focus.narrow(false)) << k;
    at.move(0.05);
  }
  EXPECT_TRUE(focus.narrow(false));
  EXPECT_LT(at.risk->active(), 300U);
  EXPECT_LE(at.risk->active(), 1 + static_cast<std::uint64_t>(300 * PlanesTuning::kMaxActiveShare));

  // A good round: the next one at once.
  at.risk->return_to_mark();
  at.move(0.05);
  focus.learn(1.0);
  EXPECT_TRUE(focus.narrow(false));

  // A bad one: steps on all rows first, twice as many the second time.
  for (const std::uint64_t pause : {1U, 2U}) {
    at.risk->return_to_mark();
    at.move(0.05);
    focus.learn(0.0);
    for (std::uint64_t k = 0; k < pause * PlanesTuning::kStepsBetweenRounds; ++k) {
      EXPECT_FALSE(focus.narrow(false)) << pause << " " << k;
      at.move(0.05);
    }
    EXPECT_TRUE(focus.narrow(false));
  }
}

TEST(Focus, KeepsMoreRowsAfterARoundThatWasTakenBack) {
  std::vector<std::uint64_t> active;
  for (const double step : {1.0, 0.6, 0.4}) {  // of the way that the round went
    RiskAtPoint at;
    Focus focus(*at.risk);
    focus.begin(true);
    ASSERT_TRUE(focus.narrow(true));
    at.risk->return_to_mark();
    at.move(0.2);
    focus.learn(step);
    ASSERT_TRUE(focus.narrow(false));
    active.push_back(at.risk->active());
  }
  EXPECT_LT(active[0], active[1]);
  EXPECT_LT(active[1], active[2]);
}

TEST(Focus, NarrowsAtOnceFromAGivenStart) {
  RiskAtPoint at;
  Focus focus(*at.risk);
  focus.begin(true);
  EXPECT_TRUE(focus.narrow(true));
  const auto most = static_cast<std::uint64_t>(300 * PlanesTuning::kFirstActiveShare);
  EXPECT_NEAR(static_cast<double>(at.risk->active()), static_cast<double>(most), 2);
}

TEST(Focus, NothingMovedNothingToGoBy) {
  RiskAtPoint at;
  Focus focus(*at.risk);
  focus.begin(true);
  EXPECT_FALSE(focus.narrow(false));
  EXPECT_EQ(at.risk->active(), 300U);
}

TEST(SampleStart, WhereRowsAreMany) {
  using Tuning = PlanesTuning;
  const std::uint64_t rows = Tuning::kSampleEvery * Tuning::kMinSample;
  EXPECT_EQ(sample_rows(rows, 1), Tuning::kMinSample);
  EXPECT_EQ(sample_rows(rows - 1, 1), 0U);
  const std::uint64_t columns = Tuning::kMinSample / Tuning::kMinSamplePerColumn;
  EXPECT_EQ(sample_rows(rows, columns), Tuning::kMinSample);
  EXPECT_EQ(sample_rows(rows, columns + 1), 0U);
}

// The optimum of a sample, at a cost that makes up for the others, is a good point of the whole.
TEST(SampleStart, IsNearTheOptimumOfAllRows) {
  const Dataset data = testing::random_dataset(
      {.rows = 8 * PlanesTuning::kMinSample, .features = 5, .nonzeros = 5, .noise = 0.2});
  const std::vector<std::int8_t> y = signs(data, 1);
  std::vector<double> costs(data.rows());
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = 0.1 * static_cast<double>(i % 7);
  const std::function<void(const Progress&)> nobody;
  const Stopwatch clock;
  Pool pool(1);
  for (const bool weighted : {false, true}) {
    Problem problem = {.data = &data, .y = y, .cost = 0.01};
    if (weighted) problem.costs = costs;
    MemoryRows rows(data, 0, best_simd(), pool);
    Monitor monitor({.gap = 1e-3}, clock, 0, nobody), best_monitor({.gap = 1e-3}, clock, 0, nobody);
    const Solution sample = solve_sample(problem, rows, {}, monitor, pool);
    const Solution best = solve_planes(problem, {.method = Solver::ocas}, best_monitor, pool);
    const auto primal = [&](std::vector<double> w) {
      Risk risk(problem, rows, {}, pool);
      return std::inner_product(w.begin(), w.end(), w.begin(), 0.0) / 2 +
             problem.cost * risk.begin(w);
    };
    EXPECT_LE(primal(sample.w), 1.03 * primal(best.w)) << weighted;
  }
}

}  // namespace
}  // namespace hinge
