// What can be proved without projection, which is how hinge does it unless told otherwise, as
// tests; docs/math.md has the proofs. R is max c_i |x_i| m/W. As in pegasos_theory_test.cc lambda
// and the number of steps are chosen such that the bounds say something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "hinge/options.h"
#include "pegasos_theory.h"

namespace hinge {
namespace {

using testing::excesses;
using testing::expect_bounded;
using testing::inner;
using testing::kMeaningful;
using testing::norm;
using testing::Optimum;
using testing::optimum;
using testing::Scaled;
using testing::SinglePlane;
using testing::some_costs;
using testing::unit_rows;
using testing::Vector;

// Steps are at most G = 2R long, times 1/(lambda t).
double step_bound(const Scaled& s, double steps) {
  return std::pow(2 * s.largest(), 2) / (s.lambda() * steps);
}
double regret_bound(const Scaled& s, double steps) {
  return step_bound(s, steps) * (1 + std::log(steps)) / 2;
}
// Of the mean over the last half of an even number of steps.
double suffix_bound(const Scaled& s, double steps) {
  return step_bound(s, steps) * (1 + std::log(2.0));
}
// Of w_(steps + 1).
double last_bound(const Scaled& s, double steps) {
  return step_bound(s, steps + 1) * (2 + std::log(steps + 1));
}

double mean(const Vector& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}
double share_above(const Vector& all, double limit) {
  const auto above = std::ranges::count_if(all, [limit](double e) { return e > limit; });
  return static_cast<double>(above) / static_cast<double>(all.size());
}

// A step on a set of rows, which whoever chooses may do in sight of the point.
using Choose = std::function<std::span<const std::uint64_t>(const Vector& w)>;

// The regret against the optimum; on the way |w_t| <= R/lambda, and no sub-gradient is longer than
// 2R.
void check_unprojected(const Scaled& s, std::uint64_t batch, std::uint64_t steps,
                       const Choose& choose) {
  const auto count = static_cast<double>(steps), k = static_cast<double>(batch);
  ASSERT_LE(regret_bound(s, count), kMeaningful);
  const Optimum best = optimum(s);
  SinglePlane run(s, batch, false);
  const double radius = s.largest() / s.lambda() * (1 + 1e-12);
  double ours = 0, theirs = 0, longest = 0, steepest = 0;
  for (std::uint64_t t = 1; t <= steps; ++t) {
    const Vector w = run.state.point();
    const std::span<const std::uint64_t> set = choose(w);
    ours += s.f(w, set, k);
    theirs += s.f(best.w, set, k);
    Vector gradient = w;
    for (double& x : gradient) x *= s.lambda();
    for (const std::uint64_t i : set) {
      if (!(s.y(i) * inner(w, s.x(i)) < 1)) continue;
      for (std::size_t j = 0; j < w.size(); ++j) {
        gradient[j] -= s.scale() / k * s.cost(i) * s.y(i) * s.x(i)[j];
      }
    }
    longest = std::max(longest, norm(w));
    steepest = std::max(steepest, norm(gradient));
    run.state.run(set);
  }
  EXPECT_LE(longest, radius);
  EXPECT_LE(steepest, 2 * s.largest() * (1 + 1e-12));
  expect_bounded((ours - theirs) / count, regret_bound(s, count));
}

TEST(PegasosUnprojected, RegretIsBoundedForAnySequence) {
  const Scaled plain(unit_rows(300), 0.02);
  const Scaled weighted(unit_rows(300), 0.1, some_costs(300), 0.5);
  for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
    for (const auto& [s, batch] :
         {std::pair<const Scaled*, std::uint64_t>{&plain, 1}, {&plain, 7}, {&weighted, 1}}) {
      Batches batches({.rows = s->rows(), .batch = batch, .sampling = sampling});
      check_unprojected(*s, batch, 40000, [&](const Vector&) { return batches.next(1); });
    }
  }
}

// Also for a sequence that is chosen to hurt: always the row that the present point does worst on,
// or one that it does well on, which only shrinks it.
TEST(PegasosUnprojected, RegretIsBoundedAgainstAnAdversary) {
  const Scaled s(unit_rows(100), 0.1);
  std::uint64_t chosen = 0, steps = 0;
  check_unprojected(s, 1, 8000, [&](const Vector& w) {
    const bool worst = ++steps % 3 != 0;
    double most = -1e300;
    for (std::uint64_t i = 0; i < s.rows(); ++i) {
      const double margin = s.y(i) * inner(w, s.x(i)), harm = worst ? -margin : margin;
      if (harm > most) {
        most = harm;
        chosen = i;
      }
    }
    return std::span<const std::uint64_t>(&chosen, 1);
  });
}

TEST(PegasosUnprojected, RegretIsBoundedOnRealRows) {
  std::optional<Dataset> rows = testing::real_rows(2000);
  if (!rows) GTEST_SKIP() << "no a9a-train.svm.xz (HINGE_SHARED_DATA)";
  const Scaled s(std::move(*rows), 1);  // rows are sqrt(14) long
  Batches batches({.rows = s.rows(), .batch = 1});
  check_unprojected(s, 1, 12000, [&](const Vector&) { return batches.next(1); });
}

// With all rows in every step: the mean of w_1 .. w_T.
TEST(PegasosUnprojected, MeanOfTheDeterministicMethod) {
  const Scaled s(unit_rows(200), 0.1, some_costs(200));
  constexpr std::uint64_t kSteps = 16000;
  ASSERT_LE(regret_bound(s, kSteps), kMeaningful);
  const PegasosOptions options = {
      .batch = 0, .iterate = Iterate::average, .steps = kSteps, .rescale = false};
  expect_bounded(s.f(testing::solve(s, {.pegasos = options})[0].w) - optimum(s).f,
                 regret_bound(s, kSteps), 1e-3);
}

// Means, the last half of the points and the last point are good on average over what is drawn; and
// with probability 1 - delta within 1/delta times that (Markov).
TEST(PegasosUnprojected, PointsOfRunsOnRowsDrawnAtRandom) {
  const Scaled s(unit_rows(300), 0.1);
  constexpr double kDelta = 0.2;
  constexpr std::uint64_t kSteps = 60000;
  const struct {
    Iterate iterate;
    double bound;
  } cases[] = {{Iterate::average, regret_bound(s, kSteps)},
               {Iterate::random, regret_bound(s, kSteps)},
               {Iterate::suffix, suffix_bound(s, kSteps)},
               {Iterate::last, last_bound(s, kSteps)}};
  for (const auto& [iterate, bound] : cases) {
    ASSERT_LE(bound / kDelta, kMeaningful);
    for (std::uint64_t batch = 1; batch <= (testing::at_length() ? 5 : 1); batch += 4) {
      const Vector all = excesses(s, {.batch = batch, .iterate = iterate, .steps = kSteps});
      SCOPED_TRACE(std::to_string(static_cast<int>(iterate)) + " " + std::to_string(batch));
      expect_bounded(mean(all), bound);
      EXPECT_LE(share_above(all, bound / kDelta), kDelta);
    }
  }
}

// The lecture states of the last point, with high probability, f <= f* + C R^2 ln(T)/(lambda T) for
// "some constant C > 1", and that a precise statement is more involved. Here C = 2 does for 19 of
// 20 runs, whatever T and lambda.
TEST(PegasosUnprojected, LastPointAsTheLectureSays) {
  const Dataset data = unit_rows(300);
  double least = 1;
  for (const double lambda : {0.01, 0.1}) {
    const Scaled s(data, lambda);
    for (const std::uint64_t steps : {1000U, 10000U, 100000U}) {
      const auto count = static_cast<double>(steps);
      const double limit = 2 * s.largest() * s.largest() * std::log(count) / (lambda * count);
      const Vector all = excesses(s, {.iterate = Iterate::last, .steps = steps});
      EXPECT_LE(share_above(all, limit), 0.05) << lambda << " " << steps;
      least = std::min(least, limit);
    }
  }
  EXPECT_LE(least, kMeaningful);
}

// --delta: the best of s = ceil(ln(1/delta)) draws, each from T/s steps. One of them is worse than
// e times what its run promises with probability 1/e at most, so all are with probability delta.
TEST(PegasosUnprojected, BestOfSeveralDraws) {
  const Scaled s(unit_rows(300), 0.1);
  for (const auto& [delta, steps] :
       {std::pair<double, std::uint64_t>{0.3, 30000}, {0.05, 60000}, {0.01, 90000}}) {
    TrainOptions options;
    ASSERT_TRUE(set_option(options, "delta", std::to_string(delta)).ok());
    const double runs = std::ceil(std::log(1 / delta));
    ASSERT_EQ(static_cast<double>(options.pegasos.runs), runs);
    const double limit = std::exp(1.0) * regret_bound(s, static_cast<double>(steps) / runs);
    ASSERT_LE(limit, kMeaningful);
    options.pegasos.steps = steps;
    const Vector all = excesses(s, options.pegasos);
    EXPECT_LE(share_above(all, limit), delta) << delta;
    expect_bounded(mean(all), limit, 0.05);
  }
}

// The number of steps has nothing to do with the number of rows: the same bound holds whether rows
// are few or many, and what is left is about the same.
TEST(PegasosUnprojected, StepsDoNotDependOnTheNumberOfRows) {
  constexpr std::uint64_t kSteps = 20000;
  Vector left;
  for (const std::uint64_t rows : {300U, 3000U, testing::slow() ? 6000U : 30000U}) {
    const Scaled s(unit_rows(rows), 0.1);
    ASSERT_LE(suffix_bound(s, kSteps), kMeaningful);
    double sum = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const PegasosOptions options = {
          .sampling = Sampling::replace, .steps = kSteps, .rescale = false};
      sum += s.f(testing::solve(s, {.common = {.seed = seed}, .pegasos = options})[0].w);
    }
    left.push_back(sum / 3 - optimum(s).f);
    expect_bounded(left.back(), suffix_bound(s, kSteps));
  }
  EXPECT_LE(*std::ranges::max_element(left), 4 * *std::ranges::min_element(left));
}

}  // namespace
}  // namespace hinge
