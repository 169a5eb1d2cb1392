#include "objective/free_bias.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support.h"

namespace hinge {
namespace {

using BendList = std::vector<SlopeStep>;

// By sorting: the first bend with which the slope is no longer negative.
Crossing sorted_crossing(double slope, BendList bends) {
  std::ranges::sort(bends, {}, [](const SlopeStep& b) { return std::tuple(b.place, b.item); });
  for (std::size_t k = 0; k < bends.size(); ++k) {
    const SlopeStep& b = bends[k];
    if (slope + b.size < 0 && k + 1 < bends.size()) {
      slope += b.size;
      continue;
    }
    const double share = b.size > 0 ? std::clamp(-slope / b.size, 0.0, 1.0) : 0.0;
    return {.at = b.place, .item = b.item, .share = share};
  }
  return {};
}

// SlopeSteps are small whole numbers, so that sums are exact in any order.
BendList random_bends(std::uint64_t count, std::uint64_t places, Random& random) {
  BendList bends;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place =
        places == 0 ? 10 * random.uniform() - 5 : static_cast<double>(random.below(places)) / 4 - 1;
    bends.push_back({place, static_cast<double>(random.below(4)), i});
  }
  return bends;
}
double size_of_all(const BendList& bends) {
  double sum = 0;
  for (const SlopeStep& b : bends) sum += b.size;
  return sum;
}
void expect_same(const Crossing& found, const Crossing& wanted) {
  EXPECT_EQ(found.at, wanted.at);
  EXPECT_EQ(found.item, wanted.item);
  EXPECT_EQ(found.share, wanted.share);
}

Crossing find(CrossingSearch& search, const BendList& bends, std::span<const std::uint64_t> cuts,
              double slope, double guess, Pool& pool) {
  std::vector<double> places, sizes;
  for (const SlopeStep& b : bends) {
    places.push_back(b.place);
    sizes.push_back(b.size);
  }
  return search.find(places, sizes, cuts, slope, guess, pool);
}

TEST(FindCrossing, AsBySorting) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    // No two at one place, a few places, all at one.
    const std::uint64_t places[] = {0, 7, 1};
    BendList bends = random_bends(1 + random.below(40), places[round % 3], random);
    const double all = size_of_all(bends);
    // Also a slope that never crosses, as rounding may have it.
    for (const double slope :
         {-all * random.uniform(), -std::floor(all / 2), -all, 0.0, 1.0, -all - 1}) {
      const Crossing wanted = sorted_crossing(slope, bends);
      expect_same(find_crossing(slope, bends), wanted);
    }
  }
}

TEST(FindCrossing, RisesOfAnySize) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    BendList bends = random_bends(50, 0, random);
    double all = 0;
    for (SlopeStep& b : bends) {
      b.size = random.below(5) == 0 ? 0.0 : std::pow(10.0, 24 * random.uniform() - 12);
      all += b.size;
    }
    const double slope = -all * random.uniform();
    const Crossing c = find_crossing(slope, bends);
    // What lies before it and its own share make the slope 0.
    double left = slope;
    for (const SlopeStep& b : bends) {
      if (c.passed(b.place, b.item)) left += b.size;
      if (b.item == c.item) left += c.share * b.size;
    }
    EXPECT_NEAR(left, 0, 1e-13 * all);
  }
}

// Many blocks, and a search that has seen other bends before.
TEST(CrossingSearch, AsBySortingWhateverCameBefore) {
  Random random(3);
  for (const std::uint64_t places : {0U, 9U, 1U}) {
    CrossingSearch one, four, far;
    Pool alone(1), together(4);
    BendList bends = random_bends(3000, places, random);
    const std::vector<std::uint64_t> cuts = {0, 1, 1000, 1000, 2048, 3000};
    double guess = 0;
    for (int round = 0; round < 150; ++round) {
      // They move less and less, then at once by much.
      const double way = round % 50 == 49 ? 100.0 : std::pow(0.8, round % 50);
      const double all = way * (random.uniform() - 0.5);
      for (SlopeStep& b : bends) b.place += places == 0 ? way * random.uniform() / 10 : all;
      const double slope = -size_of_all(bends) * (0.4 + 0.2 * random.uniform());
      const Crossing wanted = sorted_crossing(slope, bends);
      expect_same(find(one, bends, cuts, slope, guess, alone), wanted);
      expect_same(find(four, bends, cuts, slope, guess, together), wanted);
      expect_same(find(far, bends, cuts, slope, 1e3 * random.uniform(), alone), wanted);
      ASSERT_FALSE(HasFailure()) << places << " " << round;
      guess = wanted.at;
    }
  }
}

// The same crossing again and again: the window shrinks to nothing.
TEST(CrossingSearch, NothingMoves) {
  for (const double place : {1.0, 0.0, -1e-300, 1e15}) {
    BendList bends;
    for (std::uint64_t i = 0; i < 1000; ++i) bends.push_back({place, 1, i});
    for (std::uint64_t i = 1000; i < 1100; ++i) {
      bends.push_back({place + (i % 2 == 0 ? 0.5 : -0.5) * (std::abs(place) + 1), 1, i});
    }
    const std::vector<std::uint64_t> cuts = {0, 500, 1100};
    CrossingSearch search;
    Pool pool(1);
    for (int round = 0; round < 1300; ++round) {
      const Crossing c = find(search, bends, cuts, -600, place, pool);
      ASSERT_EQ(c.at, place) << round;
      ASSERT_EQ(c.item, 549U) << round;
      // Now and then by a hair.
      if (round % 100 == 99) {
        const double near = std::nextafter(place, 2 * place + 1);
        ASSERT_EQ(find(search, bends, cuts, -600, near, pool).at, place) << round;
      }
    }
  }
}

// A single bend; and guesses that are no numbers, which runs that overflow may come to.
TEST(CrossingSearch, AnyGuess) {
  const BendList bends = {{2, 3, 0}};
  const std::vector<std::uint64_t> cuts = {0, 1};
  Pool pool(1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double guess : {2.0, -1e300, 1e308, kInfinity, -kInfinity, std::nan("")}) {
    CrossingSearch search;
    for (int round = 0; round < 10; ++round) {
      const Crossing c = find(search, bends, cuts, -1, guess, pool);
      EXPECT_EQ(c.at, 2) << guess;
      EXPECT_EQ(c.share, 1.0 / 3) << guess;
    }
  }
}

TEST(CrossingSearch, PlacesThatAreNoNumbers) {
  Random random(5);
  BendList bends = random_bends(500, 0, random);
  const std::vector<std::uint64_t> cuts = {0, 250, 500};
  const double slope = -size_of_all(bends) / 2;
  CrossingSearch search;
  Pool pool(1);
  const double guess = find(search, bends, cuts, slope, 0, pool).at;
  for (int round = 0; round < 10; ++round) {
    find(search, bends, cuts, slope, guess, pool);
    bends[static_cast<std::size_t>(round)].place = std::nan("");
  }
  for (SlopeStep& b : bends) b.place = std::nan("");
  EXPECT_TRUE(std::isnan(find(search, bends, cuts, slope, guess, pool).at));
}

// ---- balance()

struct Balanced {
  std::vector<std::int8_t> y;
  std::vector<double> costs;  // empty: all 1
  std::vector<double> alpha;
  double cost = 1;
};

double sum_of(const Balanced& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.y.size(); ++i) sum += b.y[i] * b.alpha[i];
  return sum;
}

// Balances and checks what must hold in any case; returns how many variables changed.
int expect_balanced(Balanced& b, const std::string& name) {
  const Problem problem = {
      .data = nullptr, .y = b.y, .costs = b.costs, .cost = b.cost, .bias = 1, .free_bias = true};
  const std::vector<double> before = b.alpha;
  balance(problem, b.alpha);
  int changed = 0;
  double all = 0;
  for (std::size_t i = 0; i < b.alpha.size(); ++i) {
    EXPECT_GE(b.alpha[i], 0) << name;
    EXPECT_LE(b.alpha[i], problem.upper(i)) << name;
    changed += b.alpha[i] != before[i] ? 1 : 0;
    all += b.alpha[i];
  }
  EXPECT_NEAR(sum_of(b), 0, 1e-15 * all) << name;
  return changed;
}

TEST(Balance, ByHand) {
  Balanced even{.y = {1, -1, 1}, .costs = {}, .alpha = {0.25, 0.75, 0.5}};
  EXPECT_EQ(expect_balanced(even, "nothing to do"), 0);
  Balanced none{.y = {1, -1}, .costs = {}, .alpha = {0, 0}};
  EXPECT_EQ(expect_balanced(none, "all 0"), 0);
  // The heavier side gives half of each.
  Balanced heavy{.y = {1, 1, -1}, .costs = {}, .alpha = {1, 0.5, 0.75}};
  expect_balanced(heavy, "by much");
  EXPECT_EQ(heavy.alpha, (std::vector<double>{0.5, 0.25, 0.75}));
  // The other side has nothing: neither has this one.
  Balanced alone{.y = {1, 1, -1}, .costs = {}, .alpha = {1, 0.5, 0}};
  expect_balanced(alone, "one side only");
  EXPECT_EQ(alone.alpha, (std::vector<double>{0, 0, 0}));
  Balanced single{.y = {-1, -1}, .costs = {}, .alpha = {1, 0.5}};
  expect_balanced(single, "one class only");
  EXPECT_EQ(single.alpha, (std::vector<double>{0, 0}));
  Balanced no_cost{.y = {1, -1, 1}, .costs = {0, 1, 2}, .alpha = {0, 1, 2}};
  expect_balanced(no_cost, "a row without cost");
  EXPECT_EQ(no_cost.alpha, (std::vector<double>{0, 1, 1}));
}

// What rounding left is taken from one row between its bounds, if there is one on either side:
// rows at bounds stay there, or the proof kept in a model grows.
TEST(Balance, ALittleChangesLittle) {
  const double little = 1e-9;
  Balanced same{.y = {1, 1, -1, -1}, .costs = {}, .alpha = {1, 0.5 + little, 1, 0.5}};
  EXPECT_LE(expect_balanced(same, "between, the heavier side"), 2);
  Balanced other{.y = {1, 1, -1, -1, -1}, .costs = {}, .alpha = {1, 1, 1, 1 - 2 * little, little}};
  EXPECT_LE(expect_balanced(other, "between, the lighter side"), 2);
  EXPECT_EQ(other.alpha[0], 1);
  EXPECT_EQ(other.alpha[1], 1);
  EXPECT_EQ(other.alpha[2], 1);
  // Up to its bound, and the rest elsewhere.
  Balanced full{.y = {1, 1, -1, -1}, .costs = {1, 1, 1, 1 - 1e-8}, .alpha = {1, 1, 1, 0.9999999}};
  expect_balanced(full, "not enough room");
  EXPECT_EQ(full.alpha[2], 1);
  // Nothing in between at all: one row must do.
  Balanced bounds{.y = {1, 1, -1}, .costs = {1, 1, 2 - little}, .alpha = {1, 1, 2 - little}};
  EXPECT_EQ(expect_balanced(bounds, "all at bounds"), 1);
}

TEST(Balance, AnyVariables) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    Balanced b;
    b.cost = std::pow(10.0, 12 * random.uniform() - 6);
    const std::uint64_t rows = 1 + random.below(60);
    const std::uint64_t weights = random.below(3);
    for (std::uint64_t i = 0; i < rows; ++i) {
      b.y.push_back(random.below(1 + static_cast<std::uint64_t>(round % 5)) == 0 ? 1 : -1);
      const double wide = std::pow(10.0, 12 * random.uniform() - 6);
      const double cost = weights == 0 ? 1.0 : random.below(5) == 0 ? 0.0 : wide;
      if (weights > 0) b.costs.push_back(cost);
      const double shares[] = {0, 1, random.uniform()};
      b.alpha.push_back(b.cost * cost * shares[random.below(round % 2 == 0 ? 2 : 3)]);
    }
    expect_balanced(b, std::to_string(round));
    // Once balanced, next to nothing is left to do; nor after a hair's change.
    expect_balanced(b, "again");
    for (double& a : b.alpha) a *= 1 - 1e-12 * random.uniform();
    expect_balanced(b, "after a hair's change");
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace hinge
