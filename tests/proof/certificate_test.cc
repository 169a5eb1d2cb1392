#include "proof/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/error.h"
#include "proof/witness.h"
#include "solve/solver.h"
#include "support.h"
#include "tiny_problems.h"

namespace hinge {
namespace {

using testing::tiny_problems;
using testing::TinyData;
using testing::TinyProblem;

TEST(Certificate, AgreesWithTheDerivations) {
  Pool pool(2);
  for (const TinyProblem& tiny : tiny_problems()) {
    const TinyData<double> data(tiny);
    const Certificate c = certify(data.problem, tiny.w, tiny.alpha, pool);
    EXPECT_GE(c.primal, tiny.optimum) << tiny.name;
    EXPECT_LE(c.primal, tiny.optimum * (1 + 1e-13)) << tiny.name;
    EXPECT_LE(c.dual, tiny.optimum) << tiny.name;
    EXPECT_GE(c.dual, tiny.optimum * (1 - 1e-13)) << tiny.name;
    EXPECT_LE(c.relative_gap, 1e-13) << tiny.name;
    EXPECT_EQ(c.bound, "witness");
  }
}

// Weak duality: no feasible point beats the optimum, on either side.
TEST(Certificate, BoundsTheOptimumFromBothSides) {
  Pool pool(1);
  Random random(21);
  for (const TinyProblem& tiny : tiny_problems()) {
    const TinyData<double> data(tiny);
    for (int k = 0; k < 200; ++k) {
      std::vector<double> w(data.problem.dimension()), alpha(tiny.y.size());
      for (double& x : w) x = 4 * random.uniform() - 2;
      for (std::size_t i = 0; i < alpha.size(); ++i) {
        alpha[i] = random.uniform() * std::min(data.problem.highest(i), 3 * data.problem.upper(i));
      }
      const Certificate c = certify(data.problem, w, alpha, pool);
      EXPECT_GE(c.primal, tiny.optimum - 1e-12) << tiny.name;
      EXPECT_LE(c.dual, tiny.optimum + 1e-12) << tiny.name;
    }
  }
}

// With a free bias, sum_i y_i alpha_i must be 0; a witness with another sum could claim any bound
// up to the optimum of the problem without a bias. What the sum is off is charged for.
TEST(Certificate, ASumThatIsNotZeroBuysNothing) {
  Pool pool(1);
  const std::function<void(const Progress&)> nobody;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Dataset data = testing::random_dataset(
        {.rows = 40, .features = 4, .nonzeros = 4, .noise = 0.3, .seed = seed});
    std::vector<std::int8_t> y = signs(data, 1);
    for (std::size_t i = 0; i < 25; ++i) y[i] = seed % 2 == 0 ? 1 : -1;  // so that b matters
    Problem problem = {.data = &data, .y = y, .cost = std::pow(10.0, seed % 4) / 10};
    const auto solve = [&] {
      const Stopwatch clock;
      Monitor monitor({.gap = 1e-11, .seconds = 20}, clock, 0, nobody);
      return solve_dual(problem, {}, monitor, pool);
    };
    const Solution without = solve();
    problem.bias = 1;
    problem.free_bias = true;
    const Solution with = solve();
    const double best = certify(problem, with.w, with.alpha, pool).primal;
    std::vector<double> w = without.w;
    w.push_back(0);
    EXPECT_GT(certify(problem, w, {}, pool).primal, best * (1 + 1e-3)) << "b does not matter";
    Random random(seed);
    for (int k = 0; k <= 100; ++k) {
      // From the best witness to the best that knows no sum, and beside that.
      const double to = k / 100.0, beside = k % 3 == 0 ? 0.0 : 0.1 * random.uniform();
      std::vector<double> alpha(data.rows());
      for (std::size_t i = 0; i < alpha.size(); ++i) {
        const double there = without.alpha[i] + beside * (random.uniform() - 0.5);
        alpha[i] = std::clamp(with.alpha[i] + to * (there - with.alpha[i]), 0.0, problem.cost);
      }
      EXPECT_LE(certify(problem, with.w, alpha, pool).dual, best * (1 + 1e-9)) << seed << " " << k;
      EXPECT_LE(certify(problem, w, alpha, pool).dual, best * (1 + 1e-9)) << seed << " " << k;
    }
  }
}

TEST(Certificate, WithoutWitnessThereIsNoBound) {
  Pool pool(1);
  const TinyProblem tiny = tiny_problems()[0];
  const TinyData<double> data(tiny);
  const Certificate c = certify(data.problem, tiny.w, {}, pool);
  EXPECT_EQ(c.bound, "none");
  EXPECT_EQ(c.dual, 0);
  EXPECT_EQ(c.relative_gap, 1);
}

TEST(Certificate, ReachesTheFirstGoalAndNoOther) {
  const Certificate c = {.primal = 10, .dual = 9, .relative_gap = 0.1, .bound = "witness"};
  const auto asks = [](auto set) {
    Origin asked;
    asked.cost = 0.5;
    asked.rows = 4;
    set(asked);
    return asked;
  };
  EXPECT_FALSE(reaches(c, asks([](Origin&) {})));
  EXPECT_TRUE(reaches(c, asks([](Origin& o) { o.gap = 0.1; })));
  EXPECT_FALSE(reaches(c, asks([](Origin& o) { o.gap = 0.0999; })));
  // Rounded outwards, a difference of 1 is a little more.
  EXPECT_TRUE(reaches(c, asks([](Origin& o) { o.gap_absolute = 1 + 1e-15; })));
  EXPECT_FALSE(reaches(c, asks([](Origin& o) { o.gap_absolute = 1 - 1e-15; })));
  EXPECT_TRUE(reaches(c, asks([](Origin& o) { o.gap_per_row = 0.5 + 1e-15; })));
  EXPECT_FALSE(reaches(c, asks([](Origin& o) { o.gap_per_row = 0.5 - 1e-15; })));
  EXPECT_TRUE(reaches(c, asks([](Origin& o) { o.target = 10; })));
  EXPECT_FALSE(reaches(c, asks([](Origin& o) { o.target = 10 - 1e-14; })));
  const Origin several =
      asks([](Origin& o) { o.gap = 1e-9, o.gap_absolute = 1e-9, o.target = 11; });
  EXPECT_TRUE(reaches(c, several));

  // Without a bound only the primal can be where it was asked to be.
  const Certificate alone = {.primal = 10, .dual = 0, .relative_gap = 1, .bound = "none"};
  EXPECT_FALSE(reaches(alone, asks([](Origin& o) { o.gap_absolute = 100, o.gap_per_row = 100; })));
  EXPECT_TRUE(reaches(alone, asks([](Origin& o) { o.target = 10; })));
  const Certificate unknown = {.bound = "unknown"};
  EXPECT_FALSE(reaches(unknown, several));

  EXPECT_EQ(absolute_goal(asks([](Origin& o) { o.gap_absolute = 3, o.gap_per_row = 2; })), 4);
  EXPECT_EQ(relative_goal(asks([](Origin& o) { o.gap_per_row = 2; }), 20, 10), 0.2);
  EXPECT_DOUBLE_EQ(relative_goal(asks([](Origin& o) { o.target = 12.5; }), 20, 10), 0.2);
  EXPECT_EQ(relative_goal(asks([](Origin& o) { o.target = 9; }), 20, 10), 0);
  EXPECT_EQ(gap_to_certify(asks([](Origin& o) { o.target = 9; }), 20), 1);
  EXPECT_EQ(gap_to_certify(asks([](Origin& o) { o.gap_absolute = 2; }), 20), 0.1);
}

TEST(Witness, ComesBackExactly) {
  const Dataset data = testing::random_dataset({.rows = 101});
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .costs = {}, .cost = 0.7, .bias = 0};
  Random random(22);
  std::vector<double> alpha(data.rows());
  for (double& a : alpha) {
    const std::uint64_t kind = random.below(3);
    a = kind == 0 ? 0.0 : kind == 1 ? 0.7 : 0.7 * random.uniform();
  }
  const Witness witness = compact(problem, alpha);
  EXPECT_EQ(witness.states.size(), 26U);
  EXPECT_EQ(expand(problem, witness), alpha);
}

TEST(Witness, RefusesWhatDoesNotFit) {
  const Dataset data = testing::random_dataset({.rows = 6});
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .costs = {}, .cost = 1, .bias = 0};
  const auto refused = [&](const Witness& witness) {
    const auto result = guard([&] { return expand(problem, witness); });
    return !result.ok() && result.error().id == "model.content";
  };
  const Witness good = {.states = {0x12, 0x00}, .free = {0.5}};
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused({.states = {0x12}, .free = {0.5}}));             // too few rows
  EXPECT_TRUE(refused({.states = {0x13, 0x00}, .free = {0.5}}));       // unknown state
  EXPECT_TRUE(refused({.states = {0x12, 0x10}, .free = {0.5}}));       // a seventh row
  EXPECT_TRUE(refused({.states = {0x12, 0x00}, .free = {}}));          // a value is missing
  EXPECT_TRUE(refused({.states = {0x12, 0x00}, .free = {0.5, 0.5}}));  // one too many
  EXPECT_TRUE(refused({.states = {0x12, 0x00}, .free = {1.5}}));       // outside the box
  EXPECT_TRUE(refused({.states = {0x12, 0x00}, .free = {NAN}}));
}

}  // namespace
}  // namespace hinge
