#include "rows/quantised_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

#include "proof/certificate.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge {
namespace {

const CsrView<double>& doubles(const Dataset& data) {
  return std::get<CsrView<double>>(data.view());
}

TEST(QuantisedRows, NoEntryIsOffByMoreThanHalfAStep) {
  const Dataset data = testing::random_dataset(
      {.rows = 500, .features = 300, .nonzeros = 21, .precision = Precision::f64});
  const CsrView<double>& m = doubles(data);
  Pool one(1), four(4);
  const QuantisedRows quantised(m, 1 << 20, best_simd(), one), same(m, 1 << 20, best_simd(), four);
  ASSERT_EQ(quantised.rows, m.rows);
  const auto equal = [](std::int16_t a, std::int16_t b) { return a == b; };
  EXPECT_TRUE(std::ranges::equal(quantised.values.span(), same.values.span(), equal));
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    const std::int16_t* const at =
        quantised.values.data() + m.offsets[i] + Quantisation::kPlaces * i;
    Quantisation with = {};
    std::memcpy(&with, at, sizeof with);
    double square = 0;
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      const double value = m.values_of(i)[k], step = static_cast<double>(with.scale);
      EXPECT_LE(std::abs(value - step * at[Quantisation::kPlaces + k]), 0.501 * step);
      square += value * value;
    }
    EXPECT_NEAR(quantised.square(m, i), square, 1e-6 * square);
  }
}

TEST(QuantisedRows, AreAsManyAsFit) {
  const Dataset data = testing::random_dataset(
      {.rows = 100, .features = 30, .nonzeros = 5, .precision = Precision::f64});
  const CsrView<double>& m = doubles(data);
  Pool pool(1);
  for (std::uint64_t bytes = 0; bytes < 2500; bytes += 7) {
    const QuantisedRows quantised(m, bytes, best_simd(), pool);
    EXPECT_TRUE(quantised.rows == 0 || quantised.values.size() * sizeof(std::int16_t) <= bytes);
    const std::uint64_t next = quantised.rows + 1;
    EXPECT_TRUE(quantised.rows == m.rows ||
                (m.offsets[next] + Quantisation::kPlaces * next + 7) * sizeof(std::int16_t) >
                    bytes);
  }
}

// Rows that are only nearly those of the problem, and off by a tenth of it: descent notices, and
// goes on with the rows as they are.
TEST(QuantisedRows, WhatTheyLoseIsFound) {
  const Dataset data = testing::random_dataset(
      {.rows = 400, .features = 100, .nonzeros = 9, .precision = Precision::f64});
  const CsrView<double>& m = doubles(data);
  Random random(6);
  std::vector<double> values(m.values, m.values + m.nonzeros());
  for (double& value : values) value *= 0.9 + 0.2 * random.uniform();
  CsrView<double> others = m;
  others.values = values.data();
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 1};
  Pool pool(2);
  const QuantisedRows quantised(others, 1 << 20, best_simd(), pool);
  const auto solve = [&](const DualSetup& setup) {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = 1e-3, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                    nobody);
    Solution solution = solve_dual(problem, setup, monitor, pool);
    EXPECT_EQ(monitor.reason(), StopReason::converged);
    EXPECT_LE(certify(problem, solution.w, solution.alpha, pool).relative_gap, 1e-3);
    return solution;
  };
  const Solution plain = solve({}),
                 warned = solve({.float_weights = true, .quantised_rows = &quantised});
  EXPECT_LT(warned.rows_touched, 3 * plain.rows_touched);
}

}  // namespace
}  // namespace hinge
