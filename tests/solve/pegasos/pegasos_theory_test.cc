// What the papers prove with projection, as tests. lambda and the number of steps are chosen such
// that the bounds say something: at most 0.05, where f(0) = 1.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "pegasos_theory.h"

namespace hinge {
namespace {

using testing::excesses;
using testing::expect_bounded;
using testing::kMeaningful;
using testing::kSeeds;
using testing::Optimum;
using testing::optimum;
using testing::real_rows;
using testing::Scaled;
using testing::SinglePlane;
using testing::solve;
using testing::some_costs;
using testing::unit_rows;
using testing::Vector;

// Theorem 1 holds for any sequence of sets whatsoever.
void check_regret(const Scaled& s, std::uint64_t batch, Sampling sampling, std::uint64_t steps) {
  ASSERT_LE(s.bound(static_cast<double>(steps)), kMeaningful);
  const Optimum best = optimum(s);
  SinglePlane run(s, batch, true);
  Batches batches({.rows = s.rows(), .batch = batch, .sampling = sampling});
  double ours = 0, theirs = 0;
  for (std::uint64_t t = 1; t <= steps; ++t) {
    const std::span<const std::uint64_t> set = batches.next(1);
    const Vector w = run.state.point();
    ours += s.f(w, set, static_cast<double>(batch));
    theirs += s.f(best.w, set, static_cast<double>(batch));
    run.state.run(set);
  }
  const auto count = static_cast<double>(steps);
  expect_bounded((ours - theirs) / count, s.bound(count));
}

TEST(PegasosTheory, RegretIsBoundedForAnySequence) {
  const Scaled plain(unit_rows(300), 0.01);
  const Scaled weighted(unit_rows(300), 0.05, some_costs(300), 0.5);
  for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
    check_regret(plain, 1, sampling, 30000);
    check_regret(plain, 7, sampling, 30000);
    check_regret(weighted, 1, sampling, 30000);
  }
}

TEST(PegasosTheory, RegretIsBoundedOnRealRows) {
  std::optional<Dataset> rows = real_rows(2000);
  if (!rows) GTEST_SKIP() << "no a9a-train.svm.xz (HINGE_SHARED_DATA)";
  const Scaled s(std::move(*rows), 0.1);
  for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
    check_regret(s, 1, sampling, 45000);
  }
}

// Corollary 1: with all rows in every step the mean of w_1 .. w_T is as good as the bound says.
TEST(PegasosTheory, MeanOfTheDeterministicMethod) {
  const Scaled s(unit_rows(200), 0.1, some_costs(200));
  constexpr std::uint64_t kSteps = 6000;
  ASSERT_LE(s.bound(kSteps), kMeaningful);
  const Solution mean = solve(s, {.pegasos = {.batch = 0,
                                              .projection = true,
                                              .iterate = Iterate::average,
                                              .steps = kSteps,
                                              .rescale = false}})[0];
  expect_bounded(s.f(mean.w) - optimum(s).f, s.bound(kSteps), 1e-3);
  EXPECT_EQ(mean.iterations, kSteps);
}

// Theorem 2: a point drawn by lot is good on average. Theorem 3: and rarely much worse.
TEST(PegasosTheory, PointDrawnByLot) {
  const Scaled s(unit_rows(300), 0.1);
  constexpr double kDelta = 0.1;
  constexpr std::uint64_t kSteps = 60000;
  const double bound = s.bound(kSteps);
  ASSERT_LE(bound / kDelta, kMeaningful);
  for (const std::uint64_t batch : {1U, 5U}) {
    const Vector all = excesses(
        s, {.batch = batch, .projection = true, .iterate = Iterate::random, .steps = kSteps});
    SCOPED_TRACE(batch);
    expect_bounded(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
                   bound);
    const auto failures = std::ranges::count_if(all, [&](double e) { return e > bound / kDelta; });
    EXPECT_LE(static_cast<double>(failures), kDelta * kSeeds);
  }
}

// With probability 1 - delta the best of ceil(ln(1/delta)) draws is within e ceil(ln(1/delta))
// times the bound, T being all steps together.
TEST(PegasosTheory, BestOfSeveralDraws) {
  const Scaled s(unit_rows(300), 0.1);
  constexpr double kDelta = 0.05;
  constexpr std::uint64_t kSteps = 60000, kRuns = 3;
  ASSERT_EQ(std::ceil(std::log(1 / kDelta)), kRuns);
  const double limit = s.bound(kSteps) * std::exp(1.0) * kRuns;
  ASSERT_LE(limit, kMeaningful);
  const Vector all = excesses(
      s, {.projection = true, .iterate = Iterate::best_of, .runs = kRuns, .steps = kSteps});
  const auto failures = std::ranges::count_if(all, [&](double e) { return e > limit; });
  EXPECT_LE(static_cast<double>(failures), kDelta * kSeeds);
  expect_bounded(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()),
                 limit, 0.05);
}

// The draw is fair: over many seeds the point returned is w_t with the same frequency for every t.
TEST(PegasosTheory, EveryPointIsAsLikely) {
  const Scaled s(unit_rows(40), 0.1);
  constexpr std::uint64_t kSteps = 8, kDraws = 4000;
  SinglePlane run(s, 1, false);
  std::vector<Vector> points;
  Batches batches({.rows = s.rows(), .batch = 1, .sampling = Sampling::order});
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    points.push_back(run.state.point());
    run.state.run(batches.next(1));
  }
  Vector seen(kSteps);
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Solution drawn = solve(s, {.common = {.seed = seed},
                                     .pegasos = {.sampling = Sampling::order,
                                                 .iterate = Iterate::random,
                                                 .steps = kSteps,
                                                 .rescale = false}})[0];
    const auto found = std::ranges::find(points, drawn.w);
    ASSERT_NE(found, points.end());
    seen[static_cast<std::size_t>(found - points.begin())] += 1;
  }
  double chi = 0;
  for (const double count : seen) {
    chi += std::pow(count - static_cast<double>(kDraws) / kSteps, 2) /
           (static_cast<double>(kDraws) / kSteps);
  }
  EXPECT_LT(chi, 35);  // 7 degrees of freedom: above 35 once in 1e5
}

TEST(PegasosTheory, OptimumLiesInTheBall) {
  for (const double lambda : {1e-4, 0.01, 1.0}) {
    const Scaled s(unit_rows(200), lambda, some_costs(200), 0.5);
    EXPECT_LE(testing::norm(optimum(s).w), s.radius() * (1 + 1e-9));
  }
}

// Weight 2 is the row twice: exactly, where every step sees all rows.
TEST(PegasosTheory, WeightTwoIsTheRowTwice) {
  const Dataset once = unit_rows(120);
  Vector costs;
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < 120; ++i) {
    costs.push_back(i % 3 == 0 ? 2 : 1);
    rows.insert(rows.end(), i % 3 == 0 ? 2 : 1, i);
  }
  const Scaled a(once, 0.05, costs), b(testing::pick_rows(once, rows), 0.05);

  const PegasosOptions whole = {.batch = 0, .projection = true, .steps = 300};
  const Vector wa = solve(a, {.pegasos = whole})[0].w, wb = solve(b, {.pegasos = whole})[0].w;
  EXPECT_LE(testing::distance(wa, wb), 1e-12 * testing::norm(wa));

  // Otherwise on average over the draws: the means differ by no more than chance allows.
  for (const std::uint64_t batch : {1U, 10U}) {
    constexpr int kRuns = 200;
    const auto sample = [&](const Scaled& s) {
      Vector mean(30), square(30);
      for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
        const Vector w = solve(s, {.common = {.seed = seed},
                                   .pegasos = {.batch = batch,
                                               .sampling = Sampling::replace,
                                               .iterate = Iterate::last,
                                               .steps = 1500,
                                               .rescale = false}})[0]
                             .w;
        for (std::size_t j = 0; j < 30; ++j) {
          mean[j] += w[j] / kRuns;
          square[j] += w[j] * w[j] / kRuns;
        }
      }
      for (std::size_t j = 0; j < 30; ++j) square[j] = (square[j] - mean[j] * mean[j]) / kRuns;
      return std::pair(mean, square);
    };
    const auto [mean_a, error_a] = sample(a);
    const auto [mean_b, error_b] = sample(b);
    for (std::size_t j = 0; j < 30; ++j) {
      EXPECT_LE(std::abs(mean_a[j] - mean_b[j]), 5 * std::sqrt(error_a[j] + error_b[j])) << j;
    }
  }
}

}  // namespace
}  // namespace hinge
