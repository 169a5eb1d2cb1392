// The contract of every loss (objective/loss.h): formulas against numeric searches, and vectors
// against numbers. A loss that is added to hinge is added to Losses.
#include "objective/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "objective/line_search.h"
#include "simd/lanes.h"
#include "simd_reference.h"

namespace hinge {
namespace {

constexpr int kRounds = 400;
constexpr double kFar = 30;  // margins and shares that are looked at

// The largest value of a concave function between two places, found by thirds.
template <class F>
double largest(double from, double to, const F& f) {
  for (int k = 0; k < 200; ++k) {
    const double a = from + (to - from) / 3, b = to - (to - from) / 3;
    (f(a) < f(b) ? from : to) = f(a) < f(b) ? a : b;
  }
  return f((from + to) / 2);
}

// f of vectors of four has the bits of f of each of their elements.
template <class F, class... Numbers>
void expect_bits_of_numbers(const char* name, const F& f, const Numbers (&... of)[4]) {
  const Four vector = f(load_four(of)...);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(testing::same_bits(vector[k], f(of[k]...))) << name << " " << k;
  }
}

template <class Loss>
class LossContract : public ::testing::Test {
 protected:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double margin() { return 8 * random_.uniform() - 4; }
  double upper() { return std::pow(10.0, 4 * random_.uniform() - 2); }
  // A share inside the range: now and then one of its ends.
  double share() {
    const double lowest = std::max(Loss::kLowest, -5.0), highest = std::min(Loss::kHighest, 5.0);
    const double shares[] = {lowest, highest, lowest + (highest - lowest) * random_.uniform(), 0};
    return shares[random_.below(4)];
  }
  // Whether slope() jumps or bends so near that differences mean nothing.
  bool rough(double z) const {
    const auto near = [z](double place) { return std::abs(z - place) < 1e-3; };
    if constexpr (Loss::kRegression) {
      if (near(loss_.epsilon) || near(-loss_.epsilon)) return true;
    }
    return near(Loss::kCorner) || std::ranges::any_of(loss_.breakpoints(), near);
  }
  // By l* as it is defined: a loss' own formula is held to it by ConjugateIsTheMaximum.
  double gain(double alpha, double upper) const { return -upper * loss_.conjugate(alpha / upper); }

  const Loss loss_{};
  Random random_{31};
};

// A loss of regression with an epsilon of so many tenths.
template <class Base, int tenths>
struct Wide : Base {
  Wide() { this->epsilon = tenths / 10.0; }
};

using Losses = ::testing::Types<Hinge, SquaredHinge, Logistic, Wide<EpsilonInsensitive, 0>,
                                Wide<EpsilonInsensitive, 1>, Wide<EpsilonInsensitive, 13>,
                                Wide<SquaredEpsilon, 0>, Wide<SquaredEpsilon, 5>>;
TYPED_TEST_SUITE(LossContract, Losses);

TYPED_TEST(LossContract, IsConvexAndItsSlopeIsThatOfDifferences) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  constexpr double kStep = 1e-6;
  for (int round = 0; round < kRounds; ++round) {
    const double z = this->margin(), other = this->margin();
    EXPECT_GE(loss.value(z), 0);
    EXPECT_LE(loss.value((z + other) / 2), (loss.value(z) + loss.value(other)) / 2 + 1e-12);
    EXPECT_GE(loss.value(other), loss.value(z) + loss.slope(z) * (other - z) - 1e-12);
    EXPECT_EQ(loss.inside(z), loss.slope(z) != 0);
    if (this->rough(z)) continue;
    EXPECT_NEAR(loss.slope(z), (loss.value(z + kStep) - loss.value(z - kStep)) / (2 * kStep), 1e-7);
    EXPECT_NEAR(loss.curvature(z), (loss.slope(z + kStep) - loss.slope(z - kStep)) / (2 * kStep),
                1e-7);
  }
}

TYPED_TEST(LossContract, BreakpointsAndJumpsMakeIt) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  ASSERT_EQ(std::size(loss.breakpoints()), std::size(Loss::kJumps));
  EXPECT_EQ(Loss::kSmooth, std::size(loss.breakpoints()) == 0);
  if constexpr (!Loss::kSmooth) {
    const auto pieces = [&](double z) {
      double sum = Loss::kLastSlope * z;
      for (std::size_t k = 0; k < std::size(loss.breakpoints()); ++k) {
        sum += Loss::kJumps[k] * std::max(0.0, loss.breakpoints()[k] - z);
      }
      return sum;
    };
    const double constant = loss.value(0.0) - pieces(0);
    for (int round = 0; round < kRounds; ++round) {
      const double z = this->margin();
      EXPECT_NEAR(loss.value(z), pieces(z) + constant, 1e-12);
    }
    for (const double place : loss.breakpoints()) {
      EXPECT_EQ(loss.slope(place), loss.slope(place + 1e-9)) << "from the right";
      EXPECT_NE(loss.slope(place), loss.slope(place - 1e-9));
    }
  }
}

// The minimum of a sum of losses along a ray, against a search by thirds.
TYPED_TEST(LossContract, LineSearchFindsItsMinimum) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  if constexpr (!Loss::kSmooth) {
    for (int round = 0; round < 50; ++round) {
      const double a = 0.1 + this->random_.uniform(), b = this->random_.uniform() - 0.5;
      std::vector<double> u(20), z(20), dz(20);
      LineSearch search(a, b);
      for (std::size_t i = 0; i < u.size(); ++i) {
        u[i] = this->random_.uniform();
        z[i] = this->margin();
        dz[i] = this->margin();
        search.add_loss(loss, u[i], z[i], dz[i]);
      }
      const auto minus_f = [&](double t) {
        double sum = a / 2 * t * t + b * t;
        for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * loss.value(z[i] + t * dz[i]);
        return -sum;
      };
      EXPECT_NEAR(minus_f(search.minimum()), largest(0, 1000, minus_f), 1e-9) << round;
    }
  }
}

TYPED_TEST(LossContract, RowsThatCostNothingAddNothing) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    const double z = this->margin(), gradient = loss.dual_gradient(z);
    EXPECT_EQ(loss.dual_gain(0.0, 0.0), 0);
    EXPECT_EQ(loss.lower_bound(0.0, 0.0, z), 0);
    EXPECT_EQ(loss.gap(gradient, 0.0, 0.0), 0);
    EXPECT_TRUE(std::isfinite(loss.full_gradient(gradient, 0.0, 0.0)));
    EXPECT_EQ(loss.enclose_gain(0, 0).more, 0);
    EXPECT_EQ(loss.enclose_gain(0, 0).less, 0);
  }
}

TYPED_TEST(LossContract, SaysWhetherItsGainIsLinear) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  bool linear = true;
  for (int round = 0; round < kRounds; ++round) {
    const double upper = this->upper(), alpha = upper * this->share();
    linear = linear && loss.dual_gain(alpha, upper) == alpha;
  }
  EXPECT_EQ(Loss::kLinearGain, linear);
}

TYPED_TEST(LossContract, MarginsAreKeptByTheirDifferenceFromTheCorner) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    const double z = this->margin(), gradient = loss.dual_gradient(z);
    EXPECT_EQ(gradient, z - Loss::kCorner);
    EXPECT_EQ(loss.slack(z), -gradient);
    EXPECT_NEAR(loss.margin_of(gradient), z, 1e-15 * 8);
    EXPECT_NEAR(loss.value_by_gradient(gradient), loss.value(z), 1e-14);
  }
}

TYPED_TEST(LossContract, ConjugateIsTheMaximum) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    const double a = this->share();
    const double most = largest(-kFar, kFar, [&](double z) { return -a * z - loss.value(z); });
    EXPECT_NEAR(loss.conjugate(a), most, 1e-9) << a;
  }
  for (const double end : {Loss::kLowest - 0.5, Loss::kHighest + 0.5}) {
    if (std::isinf(end)) continue;
    EXPECT_EQ(loss.conjugate(end), this->kInfinity);
    EXPECT_GT(largest(-1e6, 1e6, [&](double z) { return -end * z - loss.value(z); }), 1e5);
  }
}

TYPED_TEST(LossContract, RangeOfTheDualVariable) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  ASSERT_LE(Loss::kLowest, 0);
  ASSERT_GE(Loss::kHighest, 0);
  for (int round = 0; round < kRounds; ++round) {
    const double upper = this->upper();
    EXPECT_EQ(loss.lowest(upper), Loss::kLowest * upper);
    EXPECT_EQ(loss.highest(upper), Loss::kHighest * upper);
    const double best = -loss.slope(this->margin());
    EXPECT_GE(best, Loss::kLowest);
    EXPECT_LE(best, Loss::kHighest);
  }
  EXPECT_EQ(loss.lowest(0.0), 0);  // of a row that does not count
  EXPECT_EQ(loss.highest(0.0), 0);
}

TYPED_TEST(LossContract, GainAndGradientsAreThoseOfTheConjugate) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    const double upper = this->upper(), a = this->share(), alpha = upper * a, z = this->margin();
    const double tiny = 1e-12 * upper * 100;
    EXPECT_NEAR(loss.dual_gain(alpha, upper), this->gain(alpha, upper), tiny);
    EXPECT_NEAR(loss.lower_bound(alpha, upper, z), this->gain(alpha, upper) - alpha * z, tiny);
    EXPECT_LE(loss.lower_bound(alpha, upper, z), upper * loss.value(z) + tiny);
    EXPECT_NEAR(loss.gap(loss.dual_gradient(z), alpha, upper),
                upper * loss.value(z) - loss.lower_bound(alpha, upper, z), tiny);
    const double best = -loss.slope(z) * upper;  // where nothing is left between the two
    EXPECT_NEAR(loss.gap(loss.dual_gradient(z), best, upper), 0, tiny);
    const double step = 1e-6 * upper;
    if (a == 0 || alpha - step < loss.lowest(upper) || alpha + step > loss.highest(upper)) {
      continue;
    }
    // An infinite slope is no matter for differences.
    if (!Loss::kQuadraticGain && (a < 0.05 || a > 0.95)) continue;
    const double slope =
        z - (this->gain(alpha + step, upper) - this->gain(alpha - step, upper)) / (2 * step);
    EXPECT_NEAR(loss.full_gradient(loss.dual_gradient(z), alpha, upper), slope, 1e-7);
    if constexpr (!Loss::kQuadraticGain) {
      EXPECT_NEAR(loss.dual_curvature(alpha, upper) * upper,
                  (loss.full_gradient(0.0, alpha + step, upper) -
                   loss.full_gradient(0.0, alpha - step, upper)) /
                      2e-6,
                  1e-5);
      continue;
    }
    // D along a way is a quadratic, by these two.
    const double way = upper * this->random_.uniform(), t = way / 2;
    const double along = this->gain(alpha, upper) + t * gain_slope(loss, alpha, upper) -
                         t * t / 2 * loss.dual_curvature(alpha, upper);
    if (alpha + t <= loss.highest(upper) && alpha >= 0) {
      EXPECT_NEAR(along, this->gain(alpha + t, upper), tiny);
    }
  }
}

// Beside a kink there are two slopes, and elsewhere one.
TYPED_TEST(LossContract, KinksHaveSlopesToBothSides) {
  using Loss = TypeParam;
  if constexpr (Loss::kKinked) {
    const Loss loss = this->loss_;
    for (int round = 0; round < kRounds; ++round) {
      const double upper = this->upper(), z = this->margin(), step = 1e-7 * upper;
      for (const double alpha : {0.0, upper * this->share()}) {
        const auto slope_to = [&](double way) {
          return z - (this->gain(alpha + way, upper) - this->gain(alpha, upper)) / way;
        };
        const double gradient = loss.dual_gradient(z);
        if (alpha + step <= loss.highest(upper)) {
          EXPECT_NEAR(loss.full_gradient(gradient, alpha, upper), slope_to(step), 1e-6);
        }
        if (alpha - step >= loss.lowest(upper)) {
          EXPECT_NEAR(loss.left_gradient(gradient, alpha, upper), slope_to(-step), 1e-6);
        }
      }
    }
  }
}

// D along one variable, as exactly as a search finds its best.
TYPED_TEST(LossContract, DualStepGoesToTheBest) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    const double upper = this->upper(), alpha = upper * this->share(), z = this->margin();
    const double square = this->upper(), gradient = loss.dual_gradient(z);
    const auto gain_of = [&](double to) {
      return this->gain(to, upper) - (to - alpha) * z - (to - alpha) * (to - alpha) * square / 2;
    };
    const double lowest = std::max(loss.lowest(upper), -1e4);
    const double highest = std::min(loss.highest(upper), 1e4);
    const double to = loss.dual_step(alpha, upper, gradient, square);
    ASSERT_GE(to, lowest);
    ASSERT_LE(to, highest);
    const double most = largest(lowest, highest, gain_of);
    EXPECT_NEAR(gain_of(to), most, 1e-9 * (1 + std::abs(most))) << alpha << " " << z;
    // A part of the way, or further, but for the bounds.
    for (const double stride : {0.5, 1.5}) {
      const double there = loss.dual_step(alpha, upper, gradient, square, stride);
      EXPECT_GE(there, lowest);
      EXPECT_LE(there, highest);
      EXPECT_GE((there - alpha) * (to - alpha), 0);
      if (stride > 1) continue;  // a bent conjugate may make too much of it
      EXPECT_GE(gain_of(there), gain_of(alpha) - 1e-9 * (1 + std::abs(most)));
    }
  }
}

TYPED_TEST(LossContract, ProxIsTheBestShare) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  if constexpr (Loss::kSmooth) {
    SUCCEED() << "it has share() instead";
  } else {
    for (int round = 0; round < kRounds; ++round) {
      const double centre = this->share(), z = this->margin(), steepness = this->upper();
      const auto worth = [&](double a) {
        return -loss.conjugate(a) - a * z - (a - centre) * (a - centre) / (2 * steepness);
      };
      const double a = loss.prox(centre, z, steepness);
      ASSERT_GE(a, Loss::kLowest);
      ASSERT_LE(a, Loss::kHighest);
      const double most =
          largest(std::max(Loss::kLowest, -1e4), std::min(Loss::kHighest, 1e4), worth);
      EXPECT_NEAR(worth(a), most, 1e-9 * (1 + std::abs(most))) << centre << " " << z;
      const double nearer = loss.prox(centre, z - 1e-6, steepness);
      const auto inside = [](double share) {
        return share > Loss::kLowest && share < Loss::kHighest;
      };
      if (!inside(a) || !inside(nearer) || a == 0 || nearer == 0) continue;
      EXPECT_NEAR((nearer - a) / 1e-6, loss.prox_slope(steepness), 1e-5 * (1 + steepness));
    }
  }
}

TYPED_TEST(LossContract, ShareIsTheSlope) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  if constexpr (Loss::kSmooth) {
    for (int round = 0; round < kRounds; ++round) {
      double z[4];
      for (double& x : z) {
        x = this->margin() * (this->random_.below(9) == 0 ? 300 : 1);
        EXPECT_EQ(loss.share(x), -loss.slope(x));
        const double bent = loss.curvature(x);
        EXPECT_NEAR(loss.curvature_of_share(loss.share(x)), bent, 1e-15);
      }
      expect_bits_of_numbers(
          "share", [&](auto x) { return loss.share(x); }, z);
      expect_bits_of_numbers(
          "curvature", [&](auto x) { return loss.curvature(x); }, z);
    }
  }
}

// Whatever the true slack is, within what is known of it.
TYPED_TEST(LossContract, EnclosuresHoldTheLoss) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  constexpr double kRounding = 1e-15;
  for (int round = 0; round < kRounds; ++round) {
    const double slack = 2 * this->random_.uniform() - 1;
    const double off = std::pow(10.0, -10 * this->random_.uniform());
    const auto [most, doubt] = loss.enclose(slack, off);
    for (const double share : {-1.0, -0.7, 0.0, 0.3, 1.0}) {
      const double lost = loss.value(Loss::kCorner - (slack + share * off));
      EXPECT_LE(lost, most + kRounding) << slack << " " << off;
      EXPECT_GE(lost, most - 2 * doubt - kRounding) << slack << " " << off;
    }
    const double upper = this->upper(), alpha = upper * this->share();
    const auto [more, less] = loss.enclose_gain(alpha, upper);
    EXPECT_GE(more, 0);
    EXPECT_GE(less, 0);
    EXPECT_NEAR(more - less, this->gain(alpha, upper), 1e-10 * upper);
  }
  EXPECT_TRUE(std::isnan(loss.enclose(std::nan(""), 1).most));
  EXPECT_GE(Loss::kRoundings, 1);
}

TYPED_TEST(LossContract, VectorsHaveTheBitsOfNumbers) {
  using Loss = TypeParam;
  [[maybe_unused]] const Loss loss = this->loss_;
  for (int round = 0; round < kRounds; ++round) {
    double z[4], alpha[4], upper[4], centre[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const double special[] = {0.0,  -0.0, 1.0, Loss::kCorner, this->kInfinity, -this->kInfinity,
                                1e300};
      z[k] = this->random_.below(4) == 0 ? special[this->random_.below(7)] : this->margin();
      upper[k] = this->upper();
      centre[k] = this->share();
      alpha[k] = upper[k] * this->share();
    }
    expect_bits_of_numbers(
        "value", [&](auto x) { return loss.value(x); }, z);
    expect_bits_of_numbers(
        "slack", [&](auto x) { return loss.slack(x); }, z);
    expect_bits_of_numbers(
        "dual_gradient", [&](auto x) { return loss.dual_gradient(x); }, z);
    expect_bits_of_numbers(
        "margin_of", [&](auto x) { return loss.margin_of(x); }, z);
    expect_bits_of_numbers(
        "by gradient", [&](auto x) { return loss.value_by_gradient(x); }, z);
    expect_bits_of_numbers(
        "lowest", [&](auto u) { return loss.lowest(u); }, upper);
    expect_bits_of_numbers(
        "highest", [&](auto u) { return loss.highest(u); }, upper);
    const auto gain = [&](auto a, auto u) { return loss.dual_gain(a, u); };
    expect_bits_of_numbers("dual_gain", gain, alpha, upper);
    const auto full = [&](auto x, auto a, auto u) { return loss.full_gradient(x, a, u); };
    expect_bits_of_numbers("full_gradient", full, z, alpha, upper);
    const auto bound = [&](auto a, auto u, auto x) { return loss.lower_bound(a, u, x); };
    const auto gap = [&](auto x, auto a, auto u) { return loss.gap(x, a, u); };
    for (double& x : z) x = std::clamp(x, -1e9, 1e9);  // no infinity less infinity
    expect_bits_of_numbers("lower_bound", bound, alpha, upper, z);
    expect_bits_of_numbers("gap", gap, z, alpha, upper);
    if constexpr (!Loss::kSmooth) {
      const auto prox = [&](auto c, auto x) { return loss.prox(c, x, 0.7); };
      expect_bits_of_numbers("prox", prox, centre, z);
    }
  }
}

TEST(Loss, ChoicesHaveTheirNumbers) {
  for (const double epsilon : {0.0, 0.25}) {
    EXPECT_EQ(make_loss<EpsilonInsensitive>({LossKind::epsilon_insensitive, epsilon}).epsilon,
              epsilon);
    visit_loss({LossKind::squared_epsilon, epsilon}, [&](const auto& loss) {
      EXPECT_EQ(loss.value(1.0), (1 - epsilon) * (1 - epsilon));
    });
  }
}

TEST(Loss, KindsHaveTheirLoss) {
  EXPECT_TRUE((visit_loss(Hinge::kKind,
                          []<class Loss>(const Loss&) { return std::is_same_v<Loss, Hinge>; })));
  EXPECT_TRUE((visit_loss(SquaredHinge::kKind, []<class Loss>(const Loss&) {
    return std::is_same_v<Loss, SquaredHinge>;
  })));
  EXPECT_TRUE((visit_loss(Logistic::kKind,
                          []<class Loss>(const Loss&) { return std::is_same_v<Loss, Logistic>; })));
}

}  // namespace
}  // namespace hinge
