// exp, log and log1p against those of long doubles: their bounds over all arguments, and vectors
// against numbers.
#include "simd/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "simd/lanes.h"
#include "simd_reference.h"

namespace hinge {
namespace {

constexpr int kElementaryRounds = 200'000;
constexpr double kBeyondAll = std::numeric_limits<double>::infinity();

// By how many roundings a number is off; `exact` is taken to be right.
double roundings(double found, long double exact) {
  return static_cast<double>(std::abs((static_cast<long double>(found) - exact) / exact) * 0x1p53L);
}

TEST(Elementary, ExpIsAsExactAsItSays) {
  Random random(1);
  double worst = 0;
  for (int round = 0; round < kElementaryRounds; ++round) {
    const double far = elementary::kLargestExponent - 1, u = random.uniform();
    const double size = round % 2 == 0 ? far * u : std::pow(10.0, -20 * u);
    for (const double x : {size, -size}) {
      worst = std::max(worst, roundings(elementary::exp(x), std::exp(static_cast<long double>(x))));
    }
  }
  EXPECT_LT(worst, elementary::kExpRoundings);
  RecordProperty("worst", std::to_string(worst));
}

TEST(Elementary, LogIsAsExactAsItSays) {
  Random random(2);
  double worst = 0;
  for (int round = 0; round < kElementaryRounds; ++round) {
    const double x = round % 2 == 0 ? std::pow(2.0, 2044 * random.uniform() - 1022)
                                    : 1 + std::pow(10.0, -16 * random.uniform()) *
                                              (random.below(2) == 0 ? 1 : -0.6);
    if (x == 1) continue;
    worst = std::max(worst, roundings(elementary::log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, elementary::kLogRoundings);
  RecordProperty("worst", std::to_string(worst));
}

TEST(Elementary, Log1pIsAsExactAsItSays) {
  Random random(3);
  double worst = 0, worst_of_all = 0;
  for (int round = 0; round < kElementaryRounds; ++round) {
    const double u = random.uniform(), y = round % 2 == 0 ? u : std::pow(10.0, -300 * u);
    worst = std::max(
        worst, roundings(elementary::log1p_of_share(y), std::log1p(static_cast<long double>(y))));
    for (const double other : {y, -y, 1 / std::max(y, 1e-300)}) {
      if (other == -1 || other == 0) continue;
      worst_of_all = std::max(worst_of_all, roundings(elementary::log1p(other),
                                                      std::log1p(static_cast<long double>(other))));
    }
  }
  EXPECT_LT(worst, elementary::kLog1pRoundings);
  EXPECT_LT(worst_of_all, 2 * elementary::kLogRoundings + 2);
}

TEST(Elementary, EndsAreWhatTheyAreSaidToBe) {
  EXPECT_EQ(elementary::exp(0.0), 1);
  EXPECT_EQ(elementary::exp(-0.0), 1);
  EXPECT_EQ(elementary::log(1.0), 0);
  EXPECT_EQ(elementary::log1p(0.0), 0);
  EXPECT_EQ(elementary::log1p_of_share(0.0), 0);
  for (const double x : {-1e3, -1e300, -kBeyondAll}) {
    EXPECT_EQ(elementary::exp(x), elementary::exp(elementary::kLeastExponent));
    EXPECT_GE(elementary::exp(x), elementary::kLeastNormal);
  }
  for (const double x : {1e3, 1e300, kBeyondAll}) {
    EXPECT_EQ(elementary::exp(x), elementary::exp(elementary::kLargestExponent));
    EXPECT_TRUE(std::isfinite(elementary::exp(x)));
  }
  EXPECT_EQ(elementary::exp(std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_EQ(elementary::log1p(std::numeric_limits<double>::denorm_min()),
            std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(elementary::log(kBeyondAll), kBeyondAll);
  const double none = std::nan("");
  EXPECT_TRUE(std::isnan(elementary::exp(none)));
  EXPECT_TRUE(std::isnan(elementary::log(none)));
  EXPECT_TRUE(std::isnan(elementary::log1p(none)));
}

TEST(Elementary, VectorsHaveTheBitsOfNumbers) {
  Random random(4);
  for (int round = 0; round < 10'000; ++round) {
    double x[4], positive[4], share[4];
    for (std::size_t k = 0; k < 4; ++k) {
      x[k] = random.below(8) == 0 ? 1e4 * random.uniform() - 5e3 : 20 * random.uniform() - 10;
      positive[k] = std::pow(10.0, 600 * random.uniform() - 300);
      share[k] = random.uniform();
    }
    const Four exp = elementary::exp(load_four(x)), log = elementary::log(load_four(positive)),
               log1p = elementary::log1p(load_four(positive)),
               of_share = elementary::log1p_of_share(load_four(share));
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_TRUE(testing::same_bits(exp[k], elementary::exp(x[k]))) << x[k];
      EXPECT_TRUE(testing::same_bits(log[k], elementary::log(positive[k]))) << positive[k];
      EXPECT_TRUE(testing::same_bits(log1p[k], elementary::log1p(positive[k]))) << positive[k];
      EXPECT_TRUE(testing::same_bits(of_share[k], elementary::log1p_of_share(share[k])));
    }
  }
}

}  // namespace
}  // namespace hinge
