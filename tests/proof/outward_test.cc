#include "proof/outward.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <vector>

#include "proof/certificate.h"
#include "support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hinge {
namespace {

TEST(Outward, SumsOfNumbersThatAreNotNegativeAreEnclosed) {
  Random random(1);
  for (int k = 0; k < 200; ++k) {
    std::vector<double> v(1 + random.below(3000));
    long double exact = 0, half = 0;
    for (double& x : v) {
      x = std::pow(10.0, 20 * random.uniform() - 10);
      exact += static_cast<long double>(x);
      half += static_cast<long double>(x) * static_cast<long double>(x) / 2;
    }
    const double sum = sum_of(v, [](double x) { return x; });
    const Interval found = enclose_sum(sum, sum_depth(v.size()), 0);
    EXPECT_LE(found.low, exact);
    EXPECT_GE(found.high, exact);
    EXPECT_LE(found.high - found.low, 1e-12 * found.high);
    EXPECT_LE(half_square(v).low, half);
    EXPECT_GE(half_square(v).high, half);
  }
}

TEST(Outward, WhatUnderflowsIsNotNothing) {
  const std::vector<double> tiny(3, 1e-170), zero(3, 0.0);
  EXPECT_GT(half_square(tiny).high, 0);
  EXPECT_EQ(half_square(tiny).low, 0);
  EXPECT_EQ(half_square(zero).high, 0);
  EXPECT_EQ(product_up(3, 200), 600);
  EXPECT_GT(static_cast<long double>(product_up(0.1, 0.7)), 0.1L * 0.7L - 1e-17L);
}

TEST(Outward, WhatAnAdditionRoundsAwayIsKept) {
  const ExactSum sum = two_sum(1e16, 1.25);
  EXPECT_EQ(sum.sum, 1e16 + 2);  // the nearest double
  EXPECT_EQ(sum.error, -0.75);
}

// The certificate trusts the C library to 4 units in the last place.
TEST(Outward, TheLibraryIsAsGoodAsIsAssumed) {
  Random random(2);
  const auto off = [](double found, long double exact) {
    return std::abs(static_cast<double>((static_cast<long double>(found) - exact) / exact)) / kUnit;
  };
  double worst = 0;
  for (int k = 0; k < 200'000; ++k) {
    const double x = 1400 * random.uniform() - 700, base = std::pow(10.0, 6 * random.uniform() - 3);
    const int degree = 1 + static_cast<int>(random.below(12));
    worst = std::max(worst, off(std::exp(x), std::exp(static_cast<long double>(x))));
    worst = std::max(worst, off(std::tanh(x / 100), std::tanh(static_cast<long double>(x / 100))));
    worst = std::max(worst,
                     off(std::pow(base, degree), std::pow(static_cast<long double>(base), degree)));
  }
  EXPECT_LE(worst, 8);  // 4 units in the last place are at most 8 u
}

// Another library of the same process may round downwards, or flush what is tiny to 0: neither the
// certificate nor the other library notices.
TEST(Outward, TheControlWordOfOthersDoesNotMatter) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 20, .nonzeros = 6});
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 1e-300};
  std::vector<double> w(data.features(), 1e-160), alpha(data.rows(), 1e-301);
  Pool pool(1);
  const Proof plain = certify(problem, w, alpha, pool);
  const int rounding = std::fegetround();
  std::fesetround(FE_DOWNWARD);
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040U);  // flush to zero, denormals are zero
#endif
  Pool other(3);  // whose threads inherit it
  const Proof found = certify(problem, w, alpha, other);
#if defined(__x86_64__)
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0xFFC0U, (before | 0x8040U) & 0xFFC0U);
#endif
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(rounding);
  EXPECT_EQ(found.primal, plain.primal);
  EXPECT_EQ(found.dual, plain.dual);
  EXPECT_EQ(found.relative_gap, plain.relative_gap);
  EXPECT_GT(plain.primal, 0);
}

// Rows of 1e15 that differ in their last digit: in plain sums v would be anything.
TEST(Outward, CancellationIsNotLost) {
  const Dataset data = testing::dataset_from_text(
      "1 1:1000000000000000.125\n-1 1:1000000000000000.25\n", {.precision = Precision::f64});
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 1e4};
  const std::vector<double> w = {0}, alpha = {1e4, 1e4};  // v = -1250
  Pool pool(1);
  const Proof found = certify(problem, w, alpha, pool);
  EXPECT_NEAR(found.primal, 20000, 1e-9);
  EXPECT_EQ(found.dual, 0);
  EXPECT_NEAR(found.dual_high, 20000 - 1250.0 * 1250 / 2, 1e-6);
}

}  // namespace
}  // namespace hinge
