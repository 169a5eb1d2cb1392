// The solver as a whole: what every combination of options must give.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "pegasos_reference.h"

namespace hinge {
namespace {

using testing::norm;
using testing::Optimum;
using testing::optimum;
using testing::random_costs;
using testing::random_dataset;
using testing::Scaled;
using testing::solve;
using testing::Vector;

// Whatever the variant: alpha inside its box, D <= P* <= P, and what the solver returns is what
// the recomputation finds.
TEST(PegasosSolver, EveryVariantProvesItsGap) {
  const Scaled s(
      random_dataset({.rows = 230, .features = 40, .nonzeros = 7, .noise = 0.2, .seed = 6}), 0.01,
      random_costs(230), 0.5);
  const double best = optimum(s).f / s.lambda();
  const std::vector<Start> start = {{.w = Vector(41, 0.3), .alpha = Vector(230, 0.0)}};
  Pool pool(1);
  int variants = 0;
  for (const std::uint64_t batch : {1U, 10U, 0U}) {
    for (const bool projection : {false, true}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
        for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix,
                                      Iterate::random, Iterate::best_of}) {
          for (const std::uint64_t steps : {1U, 7U, testing::slow() ? 200U : 1000U}) {
            for (const double gap : {0.0, 0.2}) {
              for (const bool warm : {false, true}) {
                const PegasosSetup options = {
                    .common = {.start = warm ? std::span(start) : std::span<const Start>()},
                    .pegasos = {.batch = batch,
                                .projection = projection,
                                .sampling = sampling,
                                .iterate = iterate,
                                .runs = iterate == Iterate::best_of ? 3U : 1U,
                                .steps = steps,
                                .rescale = !projection}};
                const Solution found = solve(s, options, gap)[0];
                ASSERT_EQ(found.alpha.size(), 230U);
                for (std::uint64_t i = 0; i < 230; ++i) {
                  ASSERT_GE(found.alpha[i], 0.0);
                  ASSERT_LE(found.alpha[i], s.problem().upper(i));
                }
                const Certificate c = certify(s.problem(), found.w, found.alpha, pool);
                ASSERT_LE(c.dual, best * (1 + 1e-8));
                ASSERT_GE(c.primal, best * (1 - 1e-8));
                ASSERT_LE(found.iterations, steps);
                ASSERT_TRUE(found.iterations == steps || c.relative_gap <= gap);
                ++variants;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(variants, 3 * 2 * 3 * 5 * 3 * 2 * 2);
}

// The bound is worth something: after 100 epochs within a few per cent of the optimum, whatever the
// way rows are drawn.
TEST(PegasosSolver, TheBoundIsTight) {
  const Scaled s(
      random_dataset({.rows = 400, .features = 40, .nonzeros = 7, .noise = 0.2, .seed = 6}), 0.02);
  const double best = optimum(s).f / s.lambda();
  Pool pool(1);
  for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
    for (const bool projection : {false, true}) {
      const Solution found =
          solve(s, {.pegasos = {.projection = projection, .sampling = sampling, .epochs = 100}})[0];
      const Certificate c = certify(s.problem(), found.w, found.alpha, pool);
      EXPECT_GT(c.dual, 0.97 * best);
      EXPECT_LT(c.primal, 1.01 * best);
    }
  }
}

// "The last half of the steps" is that, where the number of steps is known.
TEST(PegasosSolver, SuffixIsTheMeanOverTheLastHalf) {
  const Scaled s(random_dataset({.rows = 90, .features = 20, .nonzeros = 5}), 0.05);
  for (const std::uint64_t steps : {2U, 7U, 90U, 333U}) {
    testing::SinglePlane run(s, 1, false);
    Batches batches({.rows = 90, .batch = 1, .sampling = Sampling::replace});
    Vector sum(20);
    for (std::uint64_t t = 0; t < steps; ++t) {
      const Vector w = run.state.point();
      for (std::size_t j = 0; j < 20 && t >= steps / 2; ++j) sum[j] += w[j];
      run.state.run(batches.next(1));
    }
    for (double& x : sum) x /= static_cast<double>(steps - steps / 2);
    const PegasosOptions plain = {.sampling = Sampling::replace, .steps = steps, .rescale = false};
    const Vector w = solve(s, {.pegasos = plain})[0].w;
    EXPECT_LE(testing::distance(w, sum), 1e-12 * (norm(w) + norm(sum))) << steps;
    // Looking on the way changes nothing.
    PegasosOptions looking = plain;
    looking.check_every = 1;
    EXPECT_EQ(solve(s, {.pegasos = looking})[0].w, w);
    PegasosOptions last = plain;
    last.iterate = Iterate::last;
    const Vector end = run.state.point();
    EXPECT_LE(testing::distance(end, solve(s, {.pegasos = last})[0].w), 1e-12 * norm(end));
  }
}

TEST(PegasosSolver, RescalingNeverHurts) {
  const Scaled s(random_dataset({.rows = 200, .features = 20, .nonzeros = 5}), 0.001);
  for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix}) {
    for (const std::uint64_t epochs : {1U, 5U, 30U}) {
      const auto run = [&](bool rescale) {
        return solve(s, {.pegasos = {.iterate = iterate, .epochs = epochs, .rescale = rescale}})[0];
      };
      const Vector plain = run(false).w, scaled = run(true).w;
      EXPECT_LE(s.f(scaled), s.f(plain) * (1 + 1e-12));
      // The same direction, only another length.
      EXPECT_NEAR(testing::inner(plain, scaled), norm(plain) * norm(scaled),
                  1e-9 * norm(plain) * norm(scaled));
    }
  }
}

TEST(PegasosSolver, TwentyEpochsUnlessAskedOtherwise) {
  const Scaled s(random_dataset({.rows = 100, .features = 20, .nonzeros = 5}), 0.01);
  EXPECT_EQ(solve(s, {})[0].iterations, 2000U);
  EXPECT_EQ(solve(s, {.pegasos = {.batch = 30}})[0].iterations, 80U);
  EXPECT_EQ(solve(s, {.pegasos = {.batch = 0}})[0].iterations, 20U);
  EXPECT_EQ(solve(s, {.pegasos = {.epochs = 3}})[0].iterations, 300U);
  EXPECT_EQ(solve(s, {.pegasos = {.steps = 77}})[0].iterations, 77U);
  EXPECT_EQ(solve(s, {.pegasos = {.iterate = Iterate::best_of, .runs = 3}})[0].iterations, 2000U);
  // A gap is reached at a look, the sooner the larger it is.
  const std::uint64_t soon = solve(s, {}, 0.3)[0].iterations,
                      late = solve(s, {}, 0.01)[0].iterations;
  EXPECT_LT(soon, late);
  EXPECT_EQ(soon % 100, 0U);
  EXPECT_EQ(solve(s, {.pegasos = {.check_every = 7}}, 0.01)[0].iterations % 700, 0U);
}

// Rows sorted by label are drawn well mixed, although neighbours are drawn together.
TEST(PegasosSolver, SortedRowsDoNoHarm) {
  const Dataset mixed =
      random_dataset({.rows = 20000, .features = 40, .nonzeros = 7, .noise = 0.2});
  // A constant feature is what suffers most from seeing one label for long.
  const Scaled a(mixed, 1e-4, {}, 3), b(testing::sorted_by_label(mixed), 1e-4, {}, 3);
  for (const std::uint64_t epochs : {1U, 5U}) {
    const PegasosSetup options = {.pegasos = {.epochs = epochs}};
    EXPECT_LT(b.f(solve(b, options)[0].w), 1.01 * a.f(solve(a, options)[0].w)) << epochs;
    // What happens to those who take the rows as they come.
    const PegasosSetup as_they_come = {.pegasos = {.sampling = Sampling::order, .epochs = epochs}};
    EXPECT_GT(b.f(solve(b, as_they_come)[0].w), 1.1 * a.f(solve(a, options)[0].w)) << epochs;
  }
}

// Where rows are hardly hit any more in the last half of the steps, there is still a bound.
TEST(PegasosSolver, ABoundWhereNothingIsHit) {
  const Scaled s(random_dataset({.rows = 200, .features = 100, .nonzeros = 20, .noise = 0}), 1e-6);
  const Solution found = solve(s, {.pegasos = {.epochs = 200}})[0];
  Pool pool(1);
  EXPECT_GT(certify(s.problem(), found.w, found.alpha, pool).dual, 0.0);
}

// A run that a limit ends has the mean over about its last half, as if it had been asked for.
TEST(PegasosSolver, CutShort) {
  const Scaled s(random_dataset({.rows = 2000, .features = 40, .nonzeros = 7, .noise = 0.2}), 1e-4);
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  std::vector<Monitor> monitors;
  monitors.emplace_back(
      Limits{.gap = 0, .seconds = std::numeric_limits<double>::infinity(), .passes = 6}, clock, 0,
      nobody);
  Pool pool(1);
  const Solution cut =
      solve_pegasos(std::span(&s.problem(), 1), {.pegasos = {.epochs = 1000}}, monitors, pool)[0];
  EXPECT_TRUE(cut.cut_short);
  EXPECT_EQ(monitors[0].reason(), StopReason::limit);
  const Solution whole = solve(s, {.pegasos = {.epochs = 6}})[0];
  EXPECT_FALSE(whole.cut_short);
  EXPECT_LT(s.f(cut.w), 1.05 * s.f(whole.w));
}

// Going on from a solution does not lose it.
TEST(PegasosSolver, WarmStart) {
  const Scaled s(random_dataset({.rows = 300, .features = 20, .nonzeros = 5}), 0.001);
  const Optimum best = optimum(s);
  const std::vector<Start> start = {{.w = best.w, .alpha = {}}};
  const auto after_one = [&](std::span<const Start> from, std::optional<std::uint64_t> t0) {
    return s.f(
        solve(s,
              {.common = {.start = from},
               .pegasos = {.iterate = Iterate::last, .epochs = 1, .t0 = t0, .rescale = false}})[0]
            .w);
  };
  const double cold = after_one({}, {}), warm = after_one(start, {}),
               slow = after_one(start, 300000);
  EXPECT_LT(warm, cold);
  EXPECT_LT(slow, warm);
  EXPECT_LT(slow, best.f * 1.001);
}

// A bound that comes with the start is kept until a better one is found.
TEST(PegasosSolver, KeepsTheBoundItStartsWith) {
  const Scaled s(random_dataset({.rows = 300, .features = 20, .nonzeros = 5}), 0.001);
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  Monitor monitor({.gap = 1e-6, .seconds = 1e9}, clock, 0, nobody);
  Pool pool(1);
  const Solution dual = solve_dual(s.problem(), {}, monitor, pool);
  const std::vector<Start> start = {{.w = dual.w, .alpha = dual.alpha}};
  const Solution found = solve(s, {.common = {.start = start}, .pegasos = {.epochs = 1}})[0];
  const double before = certify(s.problem(), dual.w, dual.alpha, pool).dual;
  EXPECT_GE(certify(s.problem(), found.w, found.alpha, pool).dual, before * (1 - 1e-12));
}

}  // namespace
}  // namespace hinge
