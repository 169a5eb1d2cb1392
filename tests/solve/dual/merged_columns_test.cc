#include "solve/dual/merged_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "data/dataset_builder.h"
#include "hinge/train.h"
#include "simd/simd.h"
#include "support.h"

namespace hinge {
namespace {

constexpr std::uint64_t kRows = 200, kFeatures = 120'000, kShared = 50;

// Rows with some columns of their own, some that others have as well, and one without its own.
Dataset wide_data() {
  Random random(5);
  DatasetArrays<float> arrays;
  std::uint64_t end = 0;
  arrays.offsets.append(&end, 1);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto add = [&](std::uint64_t column) {
      const auto c = static_cast<std::uint32_t>(column);
      const float value = static_cast<float>(random.uniform()) - 0.4F;
      arrays.columns.append(&c, 1);
      arrays.values.append(&value, 1);
      ++end;
    };
    for (std::uint64_t j = 0; j < kShared; ++j) {
      if (random.below(4) == 0) add(j * 7);  // with numbers between them that do not occur
    }
    for (std::uint64_t j = 0; j < i % 20; ++j) add(1000 + 100 * i + 3 * j);
    const std::int64_t label = random.below(2) == 0 ? 1 : -1;
    arrays.labels.append(&label, 1);
    arrays.offsets.append(&end, 1);
  }
  return DatasetBuilder::build(std::move(arrays), kFeatures, 1);
}

const CsrView<float>& view_of(const Dataset& data) {
  return std::get<CsrView<float>>(data.view());
}

std::vector<double> sum_of_rows(const Dataset& data, std::span<const double> a, std::size_t size) {
  std::vector<double> w(size);
  const CsrView<float>& m = view_of(data);
  for (std::uint64_t i = 0; i < m.rows; ++i) best_simd().add(row_of(m, i), a[i], w.data());
  return w;
}

TEST(MergedColumns, RowsHaveTheSameInnerProducts) {
  const Dataset data = wide_data();
  const Pool pool(1);
  MergedColumns columns(data, pool);
  ASSERT_TRUE(columns.worth_it());
  const Dataset merged = columns.merge(pool).value();
  EXPECT_EQ(merged.features(), kShared + 2 * kRows);
  EXPECT_TRUE(std::ranges::equal(merged.labels(), data.labels()));
  for (std::uint64_t i = 0; i < kRows; i += 7) {
    std::vector<double> unit(kRows);
    unit[i] = 1;
    const std::vector<double> before = sum_of_rows(data, unit, kFeatures),
                              after = sum_of_rows(merged, unit, merged.features());
    for (std::uint64_t j = 0; j < kRows; ++j) {
      EXPECT_NEAR(best_simd().dot(row_of(view_of(data), j), before.data()),
                  best_simd().dot(row_of(view_of(merged), j), after.data()), 1e-13);
    }
  }
}

TEST(MergedColumns, ExpandedWeightsAreThoseOfTheRowsThereWere) {
  const Dataset data = wide_data();
  const Pool pool(1);
  MergedColumns columns(data, pool);
  const Dataset merged = columns.merge(pool).value();
  Random random(6);
  std::vector<double> a(kRows);
  for (double& x : a) x = random.below(3) == 0 ? 0.0 : random.uniform() - 0.5;
  std::vector<double> w = sum_of_rows(merged, a, merged.features());
  w.push_back(0.25);  // a bias
  const std::vector<double> expanded = columns.expand(w);
  std::vector<double> expected = sum_of_rows(data, a, kFeatures);
  expected.push_back(0.25);
  ASSERT_EQ(expanded.size(), expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_NEAR(expanded[j], expected[j], 1e-14) << j;
  }
}

TEST(MergedColumns, OnlyWhereItPays) {
  const Dataset data = wide_data();
  const std::vector<std::int8_t> y = signs(data, 1);
  Problem problem = {.data = &data, .y = y, .cost = 0.1};
  EXPECT_TRUE(may_merge_columns(problem, 1e-6));
  EXPECT_FALSE(may_merge_columns(problem, 1e-3));
  problem.cost = 1000;
  EXPECT_TRUE(may_merge_columns(problem, 1e-3));
  EXPECT_FALSE(may_merge_columns(problem, 1e-2));
  EXPECT_GT(merging_memory(data, kFeatures, 1e-3), 0);
  EXPECT_EQ(merging_memory(data, kFeatures, 1e-2), 0);
  const Dataset narrow = testing::random_dataset({.rows = 50, .features = 500, .nonzeros = 5});
  const std::vector<std::int8_t> other = signs(narrow, 1);
  EXPECT_FALSE(may_merge_columns({.data = &narrow, .y = other, .cost = 1000}, 1e-6));
  EXPECT_EQ(merging_memory(narrow, 500, 1e-3), 0);
}

TEST(MergedColumns, NotWhereARootIsTooLarge) {
  DatasetArrays<float> arrays;
  for (const std::uint64_t offset : {0U, 3U, 6U}) arrays.offsets.append(&offset, 1);
  for (const std::uint32_t column : {0U, 5U, 6U, 0U, 7U, 8U}) arrays.columns.append(&column, 1);
  for (int k = 0; k < 6; ++k) {
    const float value = 3e38F;
    arrays.values.append(&value, 1);
  }
  for (const std::int64_t label : {1, -1}) arrays.labels.append(&label, 1);
  const Dataset data = DatasetBuilder::build(std::move(arrays), kFeatures, 1);
  const Pool pool(1);
  MergedColumns columns(data, pool);
  EXPECT_TRUE(columns.worth_it());
  EXPECT_FALSE(columns.merge(pool).has_value());
}

// Through all of training: the certificate is that of the columns there were.
TEST(MergedColumns, ModelsAreThoseOfOtherSolvers) {
  const Dataset data = wide_data();
  for (const double bias : {0.0, 0.5}) {
    for (const bool free_bias : {false, true}) {
      TrainOptions options;
      options.cost = 3;
      options.bias = bias;
      options.free_bias = free_bias;
      options.solver = Solver::dual;
      options.gap = 1e-8;
      const std::vector<std::int8_t> y = signs(data, 1);
      ASSERT_TRUE(may_merge_columns({.data = &data, .y = y, .cost = options.cost}, 1e-8));
      const TrainReport merged = take(train(data, options));
      options.solver = Solver::focus;
      options.gap = 1e-5;
      const TrainReport other = take(train(data, options));
      const Certificate &a = merged.model.problems[0].certificate,
                        &b = other.model.problems[0].certificate;
      EXPECT_LE(a.relative_gap, 1e-8);
      EXPECT_LE(a.dual, b.primal);
      EXPECT_LE(b.dual, a.primal);
      EXPECT_EQ(merged.model.features, kFeatures);
    }
  }
}

}  // namespace
}  // namespace hinge
