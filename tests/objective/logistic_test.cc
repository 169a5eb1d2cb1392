// The logistic loss where the contract of losses (loss_test.cc) does not look: far margins, tiny
// and huge costs, against long doubles.
#include "objective/logistic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/random.h"

namespace hinge {
namespace {

constexpr int kLogisticRounds = 40'000;

// log(1 + e^t)
long double soft(long double t) {
  return t > 0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t));
}

long double gain_of(double alpha, double upper) {
  const long double rest = static_cast<long double>(upper) - alpha;
  const long double small = std::min(static_cast<long double>(alpha), rest), share = small / upper;
  if (small == 0) return 0;
  return -(small * std::log(share) + (upper - small) * std::log1p(-share));
}

// Any margin, of any size.
double far_margin(Random& random) {
  const double sizes[] = {2, 50, 2000};
  return (random.uniform() - 0.5) * sizes[random.below(3)];
}
// Any variable between its bounds, also very near to them.
double any_alpha(Random& random, double upper) {
  const double near = upper * std::pow(10.0, -300 * random.uniform() * random.uniform());
  switch (random.below(3)) {
    case 0:
      return near;
    case 1:
      return upper - upper * std::pow(10.0, -15 * random.uniform());
    default:
      return upper * random.uniform();
  }
}
double any_cost(Random& random) {
  return std::pow(10.0, 16 * random.uniform() - 8);
}

TEST(Logistic, IsRightFarOut) {
  Random random(1);
  for (int round = 0; round < kLogisticRounds; ++round) {
    const double z = far_margin(random);
    const long double value = soft(-z), share = std::exp(-soft(z));
    if (value > 1e-300L) {
      EXPECT_NEAR(Logistic::value(z), static_cast<double>(value), 1e-15 * Logistic::value(z)) << z;
      EXPECT_NEAR(Logistic::share(z), static_cast<double>(share), 1e-15 * Logistic::share(z)) << z;
    }
    EXPECT_GT(Logistic::value(z), 0);
    EXPECT_GT(Logistic::share(z), 0);
    EXPECT_LE(Logistic::share(z), 1);
    EXPECT_GE(Logistic::curvature(z), 0);
  }
  for (const double z : {1e3, 1e300}) {
    EXPECT_EQ(Logistic::value(-z), z);
    EXPECT_EQ(Logistic::share(-z), 1);
    EXPECT_LT(Logistic::value(z), 1e-300);
  }
}

TEST(Logistic, EnclosuresHoldItFarOut) {
  Random random(2);
  for (int round = 0; round < kLogisticRounds; ++round) {
    const double slack = far_margin(random),
                 off = std::pow(10.0, -16 * random.uniform()) * std::max(1.0, std::abs(slack));
    const auto [most, doubt] = Logistic::enclose(slack, off);
    const long double rounding = Logistic::kRoundings * 0x1p-53L * most;
    for (const double share : {-1.0, 0.3, 1.0}) {
      const long double loss = soft(static_cast<long double>(slack) + share * off);
      EXPECT_LE(loss, most + rounding) << slack << " " << off;
      EXPECT_GE(loss, most - 2.0L * doubt - rounding) << slack << " " << off;
    }
    // And they are no larger than need be.
    const long double least =
        soft(static_cast<long double>(slack) - 1.01L * off - 1e-15L * std::abs(slack));
    EXPECT_GE(most - 2.0L * doubt, least - 2 * rounding - 1e-300L) << slack << " " << off;
  }
}

TEST(Logistic, GainsAreEnclosed) {
  Random random(3);
  for (int round = 0; round < kLogisticRounds; ++round) {
    const double upper = any_cost(random), alpha = any_alpha(random, upper);
    if (!(alpha > 0 && alpha < upper)) continue;
    const long double gain = gain_of(alpha, upper);
    const auto [more, less] = Logistic::enclose_gain(alpha, upper);
    EXPECT_EQ(less, 0);
    EXPECT_LE(std::abs(more - gain), Logistic::kGainRoundings * 0x1p-53L * gain)
        << alpha << " of " << upper;
    EXPECT_NEAR(Logistic::dual_gain(alpha, upper), static_cast<double>(gain), 1e-14 * more);
  }
  EXPECT_EQ(Logistic::enclose_gain(3, 3).more, 0);
  EXPECT_EQ(Logistic::enclose_gain(0, 3).more, 0);
}

// The slope at the place it goes to, in long doubles, is 0 or changes its sign within a rounding.
TEST(Logistic, DualStepStaysInsideAndIsRight) {
  Random random(4);
  for (int round = 0; round < kLogisticRounds; ++round) {
    const double upper = any_cost(random), z = far_margin(random);
    const double alpha = round % 5 == 0 ? 0.0 : any_alpha(random, upper);
    const double square = std::pow(10.0, 12 * random.uniform() - 6);
    const double to = Logistic::dual_step(alpha, upper, z, square);
    ASSERT_GT(to, 0);
    ASSERT_LE(to, upper);
    const auto slope_at = [&](long double at) -> long double {
      return z + square * (at - alpha) + std::log(at / (upper - at));
    };
    const long double below = to * (1 - 1e-5L),
                      above = std::min<long double>(to * (1 + 1e-5L), (to + upper) / 2.0L);
    if (to > upper * 1e-307) {  // or it is the least share there is
      EXPECT_LE(slope_at(below), 1e-9) << alpha << " of " << upper << " at " << z << " " << square;
    }
    if (to < upper * (1 - 1e-12)) {
      EXPECT_GE(slope_at(above), -1e-9) << alpha << " of " << upper << " at " << z << " " << square;
    }
    // Rough steps go nearly as far, counted in the logarithm of what is small.
    const double rough = Logistic::dual_step(alpha, upper, z, square, 1, Logistic::kRough);
    const auto small = [&](double at) { return to > upper / 2 ? upper - at : at; };
    if (small(to) > upper * 1e-12) {
      const double most = std::pow(Logistic::kRough, 3) / 2;
      EXPECT_NEAR(std::log(small(rough) / small(to)), 0, most + 1e-3)
          << alpha << " of " << upper << " at " << z << " " << square;
    }
    for (const double stride : {1e-3, 0.75, 1.25, 4.0}) {
      const double there = Logistic::dual_step(alpha, upper, z, square, stride);
      EXPECT_GE(there, 0);
      EXPECT_LE(there, upper);
    }
  }
}

// Where the share is nearly the best the gap has digits of its own: it is not a difference of what
// is a million times as large.
TEST(Logistic, GapHasNoCancellation) {
  Random random(5);
  for (int round = 0; round < kLogisticRounds; ++round) {
    const double z = 8 * random.uniform() - 4, upper = any_cost(random);
    const double off = std::pow(10.0, -7 * random.uniform());
    const double alpha = upper * std::min(Logistic::share(z) * (1 + off), 0.999);
    const long double a = static_cast<long double>(alpha) / upper, p = std::exp(-soft(z));
    const long double gap =
        upper * (a * std::log1p((a - p) / p) + (1 - a) * std::log1p((p - a) / (1 - p)));
    EXPECT_NEAR(Logistic::gap(z, alpha, upper), static_cast<double>(gap),
                5e-8 * static_cast<double>(gap) + 1e-22 * upper)
        << z << " " << off;
  }
}

}  // namespace
}  // namespace hinge
