// Predictions of rows that are no data set yet, and what wrapping asks of arrays.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

// Arrays of the caller: so many rows of the columns 0, 3, 6, ... and one that is empty.
template <class Value>
struct Arrays {
  std::uint64_t features = 40;
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;

  explicit Arrays(std::uint64_t rows) {
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint32_t j = 0; j < features && i != 5; j += 3) {
        columns.push_back(j);
        values.push_back(static_cast<Value>(std::sin(static_cast<double>(7 * i + j))));
      }
      offsets.push_back(columns.size());
    }
  }
  CsrView<Value> view() const {
    return {offsets.size() - 1, features, offsets.data(), columns.data(), values.data()};
  }
  std::vector<std::int64_t> labels() const {
    std::vector<std::int64_t> all(offsets.size() - 1);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i % 3);
    return all;
  }
};

constexpr std::uint64_t kRows = 30'000;  // several blocks

Result<Predictions> predicted(const Model& model, const Dataset::View& view) {
  const Result<Predictions> one = predict(model, view, 1), four = predict(model, view, 4);
  EXPECT_EQ(one.ok(), four.ok());
  if (one.ok()) {
    EXPECT_EQ(one->scores, four->scores);
  } else {
    EXPECT_EQ(to_string(one.error()), to_string(four.error()));
  }
  return one;
}

template <class Value>
void expect_same_predictions() {
  const Arrays<Value> arrays(kRows);
  const std::vector<std::int64_t> labels = arrays.labels();
  const Dataset data = Dataset::wrap(arrays.view(), labels, {}, nullptr).value();
  const Model model = train(data, {.cost = 0.01, .gap = 0.1}).value().model;
  const Predictions wanted = predict(model, data).value();
  const Predictions found = predicted(model, arrays.view()).value();
  EXPECT_EQ(found.scores, wanted.scores);
  EXPECT_EQ(found.labels, wanted.labels);
}

TEST(PredictRows, SameAsOfADataset) {
  expect_same_predictions<float>();
  expect_same_predictions<double>();
}

TEST(PredictRows, FullRows) {
  std::vector<double> values(3 * 4);
  std::iota(values.begin(), values.end(), -6.0);
  const std::vector<std::uint64_t> offsets = {0, 4, 8, 12};
  const std::vector<std::uint32_t> columns = {0, 1, 2, 3};
  const CsrView<double> view = {3, 4, offsets.data(), columns.data(), values.data(), true};
  const std::vector<std::int64_t> labels = {0, 1, 1};
  const Dataset data = Dataset::wrap(view, labels, {}, nullptr).value();
  const Model model = train(data).value().model;
  EXPECT_EQ(predicted(model, view)->scores, predict(model, data)->scores);
}

TEST(PredictRows, KernelsAndFewColumnsAmongMany) {
  const Arrays<double> arrays(200);
  const std::vector<std::int64_t> labels = arrays.labels();
  const Dataset data = Dataset::wrap(arrays.view(), labels, {}, nullptr).value();
  TrainOptions options = {.lambda = 0.01, .solver = Solver::pegasos};
  options.pegasos.kernel = {.kind = KernelKind::rbf, .gamma = 0.5};
  const Model kernel = train(data, options).value().model;
  EXPECT_EQ(predicted(kernel, arrays.view())->scores, predict(kernel, data)->scores);

  Arrays<double> wide(20);
  wide.features = 4'000'000'000;
  const std::vector<std::int64_t> kept = wide.labels();
  const Dataset few = Dataset::wrap(wide.view(), kept, {}, nullptr).value();
  const Model sparse = train(few).value().model;
  ASSERT_FALSE(sparse.columns.empty());
  EXPECT_EQ(predicted(sparse, wide.view())->scores, predict(sparse, few)->scores);
}

class BadRows : public testing::Test {
 protected:
  static constexpr std::size_t kPlace = 20'000 * 14 + 3;  // far from the first block

  BadRows() {
    const std::vector<std::int64_t> labels = good_.labels();
    const Dataset data = Dataset::wrap(good_.view(), labels, {}, nullptr).value();
    model_ = train(data, {.cost = 0.01, .gap = 0.1}).value().model;
  }

  // The ids that wrapping and predicting give, wrapping on one thread and on four.
  std::pair<std::string, std::string> ids() const {
    const std::vector<std::int64_t> labels = bad_.labels();
    const Result<Dataset> one = Dataset::wrap(bad_.view(), labels, {}, nullptr, {.threads = 1}),
                          four = Dataset::wrap(bad_.view(), labels, {}, nullptr, {.threads = 4});
    EXPECT_FALSE(one.ok());
    EXPECT_EQ(to_string(one.error()), to_string(four.error()));
    const Result<Predictions> found = predicted(model_, bad_.view());
    EXPECT_FALSE(found.ok());
    return {one.error().id, found.error().id};
  }
  using Ids = std::pair<std::string, std::string>;

  // The scores of the bad rows are those of `same`.
  void expect_refused_but_scored(const Arrays<double>& same) const {
    const std::vector<std::int64_t> labels = bad_.labels();
    EXPECT_EQ(Dataset::wrap(bad_.view(), labels, {}, nullptr).error().id, "data.matrix");
    const Predictions found = predicted(model_, bad_.view()).value();
    const Predictions wanted = predict(model_, same.view()).value();
    ASSERT_EQ(found.scores.size(), wanted.scores.size());
    for (std::size_t k = 0; k < found.scores.size(); ++k) {
      ASSERT_NEAR(found.scores[k], wanted.scores[k], 1e-12);
    }
  }

  const Arrays<double> good_{kRows};
  Arrays<double> bad_{kRows};
  Model model_;
};

TEST_F(BadRows, ColumnBeyondTheLast) {
  bad_.columns[kPlace] = 40;
  EXPECT_EQ(ids(), Ids("data.matrix", "data.matrix"));
  bad_.columns[kPlace] = 0xffffffff;
  EXPECT_EQ(ids(), Ids("data.matrix", "data.matrix"));
}

// A data set has to be in order; scores are sums.
TEST_F(BadRows, ColumnsOutOfOrder) {
  std::swap(bad_.columns[kPlace], bad_.columns[kPlace + 1]);
  std::swap(bad_.values[kPlace], bad_.values[kPlace + 1]);
  expect_refused_but_scored(good_);
}

TEST_F(BadRows, ColumnTwice) {
  Arrays<double> once(kRows);
  once.values[kPlace] += 0.5;
  bad_.columns[kPlace + 1] = bad_.columns[kPlace];
  once.values[kPlace + 1] = 0;
  bad_.values[kPlace + 1] = 0.5;
  expect_refused_but_scored(once);
}

TEST_F(BadRows, ValuesThatAreNotFinite) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    bad_.values[kPlace] = value;
    EXPECT_EQ(ids(), Ids("data.matrix", "solver.nonfinite"));
  }
}

TEST_F(BadRows, ValuesOfColumnsThatTheModelDoesNotKnow) {
  bad_.features = 50;
  bad_.columns[bad_.offsets[20'001] - 1] = 45;
  bad_.values[bad_.offsets[20'001] - 1] = std::nan("");
  EXPECT_EQ(ids(), Ids("data.matrix", "data.matrix"));
}

TEST_F(BadRows, OffsetsThatDescend) {
  bad_.offsets[7] = bad_.offsets[9];
  EXPECT_EQ(ids(), Ids("data.matrix", "data.matrix"));
}

TEST(Wrap, IndexBaseIsThatOfTheModelToo) {
  const Arrays<float> arrays(9);
  const std::vector<std::int64_t> labels = arrays.labels();
  for (const int base : {0, 1}) {
    const Dataset data =
        Dataset::wrap(arrays.view(), labels, {}, nullptr, {.index_base = base}).value();
    EXPECT_EQ(data.index_base(), base);
    EXPECT_EQ(train(data).value().model.index_base, base);
  }
}

}  // namespace
}  // namespace hinge
