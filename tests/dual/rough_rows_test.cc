#include "dual/rough_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include "data/dataset_builder.h"
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

// Columns so unlike each other that in 16 bits the small ones are lost, and with them all that
// tells the labels: descent notices, and goes on with the rows as they are.
TEST(RoughRows, WhatTheyLoseIsFound) {
  constexpr std::uint64_t kRows = 200;
  Random random(6);
  DatasetArrays<double> arrays;
  std::uint64_t end = 0;
  arrays.offsets.append(&end, 1);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const std::int64_t label = random.below(2) == 0 ? 1 : -1;
    const double values[] = {1e4 * (random.uniform() - 0.5),
                             0.01 * (static_cast<double>(label) + random.uniform())};
    for (std::uint32_t j = 0; j < 2; ++j) {
      arrays.columns.append(&j, 1);
      arrays.values.append(&values[j], 1);
    }
    end += 2;
    arrays.offsets.append(&end, 1);
    arrays.labels.append(&label, 1);
  }
  const Dataset data = DatasetBuilder::build(std::move(arrays), 2, 1);
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 100};
  Pool pool(2);
  const RoughRows rough(doubles(data), best_kernels(), pool);
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  Monitor monitor({.gap = 1e-3, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                  nobody);
  const Solution solution = solve_dual(problem, {.floats = true, .rough = &rough}, monitor, pool);
  EXPECT_EQ(monitor.reason(), StopReason::converged);
  EXPECT_LE(certify(problem, solution.w, solution.alpha, pool).relative_gap, 1e-3);
}

}  // namespace
}  // namespace hinge
