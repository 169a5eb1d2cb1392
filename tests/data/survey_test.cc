// What is learned about data in one pass.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "data/dataset_builder.h"
#include "data/survey.h"

namespace hinge {
namespace {

// A row for every ten values.
template <class Value>
Survey survey_of(const std::vector<Value>& values, int threads) {
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  for (std::size_t k = 0; k < values.size(); ++k) {
    columns.push_back(static_cast<std::uint32_t>(k % 10));
    if (k % 10 == 9 || k + 1 == values.size()) offsets.push_back(k + 1);
  }
  if (values.empty()) offsets.push_back(0);
  const std::vector<std::int64_t> labels(offsets.size() - 1, 1);
  const CsrView<Value> view = {labels.size(), 10, offsets.data(), columns.data(), values.data()};
  const Result<Dataset> data = Dataset::wrap(view, labels, {}, nullptr, {.threads = threads});
  EXPECT_TRUE(data.ok());
  Pool pool(threads);
  return survey(*data, pool);
}

template <class Value>
void expect_range(Value low, Value high) {
  // Several blocks, and the extremes in any of them; zeros are no values.
  constexpr std::size_t kSize = 600000;
  Random random(7);
  for (int round = 0; round < 4; ++round) {
    std::vector<Value> values(kSize, (low + high) / 2);
    for (std::size_t k = 0; k < kSize; k += 3) values[k] = k % 2 == 0 ? Value{0} : -Value{0};
    values[3 * random.below(kSize / 3)] = round % 2 == 0 ? low : -low;
    values[3 * random.below(kSize / 3) + 1] = round < 2 ? high : -high;
    const Survey one = survey_of(values, 1), three = survey_of(values, 3);
    EXPECT_EQ(one.smallest, static_cast<double>(low));
    EXPECT_EQ(one.largest, static_cast<double>(high));
    EXPECT_EQ(one.smallest, three.smallest);
    EXPECT_EQ(one.largest, three.largest);
    EXPECT_EQ(one.fingerprint, three.fingerprint);
  }
}

TEST(Survey, FindsTheSmallestAndTheLargestValue) {
  expect_range(1e-30F, 1e30F);
  expect_range(std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max() / 4);
  expect_range(9e-11F, 0.25F);
  expect_range(0.25, 1.1e5);
  expect_range(1e-300, 1e100);
}

TEST(Survey, OfNoValuesAndOfTameOnesKnowsNone) {
  const std::vector<float> tame = {0.0F, 1e-10F, -1e5F, -1e-10F, 1e5F, 0.25F, 1, 2, -3, 0, 4};
  for (const std::vector<float>& values : {std::vector<float>{}, {0.0F, -0.0F}, tame}) {
    const Survey seen = survey_of(values, 1);
    EXPECT_EQ(seen.smallest, 0);
    EXPECT_EQ(seen.largest, 0);
  }
}

// Wrapping takes the survey in the pass that checks the arrays, and other weights make it another.
TEST(Survey, OfWrappedArraysIsThatOfTheSameRowsBuilt) {
  const std::vector<std::uint64_t> offsets = {0, 2, 4, 6};
  const std::vector<std::uint32_t> columns = {0, 1, 0, 1, 0, 1};
  const std::vector<double> values = {1, 2, 1e-200, 4, 5e100, 6};
  const std::vector<std::int64_t> labels = {1, 2, 1};
  const std::vector<double> weights = {1, 2, 3};
  const CsrView<double> m = {3, 2, offsets.data(), columns.data(), values.data()};
  Pool pool(1);
  const Survey built = survey(DatasetBuilder::wrap(m, labels, {}, 0, nullptr), pool);
  const Survey weighted = survey(DatasetBuilder::wrap(m, labels, weights, 0, nullptr), pool);
  EXPECT_NE(built.fingerprint, weighted.fingerprint);
  const Dataset data = Dataset::wrap(m, labels, {}, nullptr).value();
  EXPECT_EQ(survey(data, pool).fingerprint, built.fingerprint);
  EXPECT_EQ(survey(data, pool).smallest, 1e-200);
  EXPECT_EQ(survey(data, pool).largest, 5e100);
  const Dataset other = data.with_weights(weights).value();
  EXPECT_EQ(survey(other, pool).fingerprint, weighted.fingerprint);
}

}  // namespace
}  // namespace hinge
