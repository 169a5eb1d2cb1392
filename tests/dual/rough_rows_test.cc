#include "dual/rough_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

TEST(RoughRows, NoEntryIsOffByMoreThanHalfAStep) {
  const Dataset data = testing::random_dataset(
      {.rows = 500, .features = 300, .nonzeros = 21, .precision = Precision::f64});
  const CsrView<double>& m = doubles(data);
  Pool one(1), four(4);
  const RoughRows rough(m, best_kernels(), one), same(m, best_kernels(), four);
  EXPECT_EQ(rough.scale, same.scale);
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    double most = 0, square = 0;
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      const double value = m.values_of(i)[k];
      const double step = static_cast<double>(rough.scale[i]);
      EXPECT_LE(std::abs(value - step * rough.m.values_of(i)[k]), 0.501 * step);
      EXPECT_EQ(rough.m.values_of(i)[k], same.m.values_of(i)[k]);
      most = std::max(most, std::abs(value));
      square += value * value;
    }
    EXPECT_FLOAT_EQ(rough.scale[i], static_cast<float>(most / 32767));
    EXPECT_NEAR(rough.square[i], square, 1e-12 * square);
  }
}

// Rows that are only roughly those of the problem, and off by a tenth of it: descent notices, and
// goes on with the rows as they are.
TEST(RoughRows, WhatTheyLoseIsFound) {
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
  const RoughRows rough(others, best_kernels(), pool);
  const auto solve = [&](const SolverOptions& options) {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = 1e-3, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                    nobody);
    Solution solution = solve_dual(problem, options, monitor, pool);
    EXPECT_EQ(monitor.reason(), StopReason::converged);
    EXPECT_LE(certify(problem, solution.w, solution.alpha, pool).relative_gap, 1e-3);
    return solution;
  };
  const Solution plain = solve({}), warned = solve({.floats = true, .rough = &rough});
  EXPECT_LT(warned.rows_touched, 3 * plain.rows_touched);
}

}  // namespace
}  // namespace hinge
