// Columns that are few among very many: the same model as if they were numbered one after another.
#include "data/columns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "hinge/model.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;
using testing::write_file;

// Forty columns, numbered by `number`; labels follow the first.
std::string text_with(const std::vector<std::uint64_t>& numbers, int classes) {
  Random random(5);
  std::string text;
  for (int i = 0; i < 120; ++i) {
    std::string row;
    double sum = 0;
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      if (random.below(4) != 0) continue;
      const double value = static_cast<double>(1 + random.below(1000)) / 500 - 1;
      sum += j % 2 == 0 ? value : -value;
      row += " " + std::to_string(numbers[j]) + ":" + std::to_string(value);
    }
    const int label = classes == 2 ? (sum > 0 ? 1 : -1) : i % classes;
    text += std::to_string(label) + row + "\n";
  }
  return text;
}

std::vector<std::uint64_t> near_numbers() {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t j = 1; j <= 40; ++j) numbers.push_back(j);
  return numbers;
}

std::vector<std::uint64_t> far_numbers() {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t j = 1; j <= 40; ++j) numbers.push_back(j * j * 2'600'000 - 7);
  return numbers;
}

class Columns : public testing::TestWithParam<int> {
 protected:
  Dataset near_ = testing::dataset_from_text(text_with(near_numbers(), GetParam()));
  Dataset far_ = testing::dataset_from_text(text_with(far_numbers(), GetParam()));
  const TempFolder folder_;
};

TEST_P(Columns, SameWeightsAndCertificate) {
  ASSERT_GT(far_.features(), 4'000'000'000U);
  for (const double bias : {0.0, 1.0}) {
    const TrainReport a = train(near_, {.gap = 1e-6, .bias = bias}, {}).value();
    const TrainReport b = train(far_, {.gap = 1e-6, .bias = bias}, {}).value();
    EXPECT_EQ(a.model.weights, b.model.weights);
    EXPECT_EQ(b.model.columns.size(), 40U);
    EXPECT_EQ(a.model.certificate().primal, b.model.certificate().primal);
    EXPECT_EQ(a.model.certificate().dual, b.model.certificate().dual);
    const VerifyReport verified = verify(b.model, far_, {}).value();
    EXPECT_TRUE(verified.agrees);
    EXPECT_EQ(verified.recomputed.dual, b.model.certificate().dual);
    EXPECT_EQ(predict(a.model, near_, 1).value().scores, predict(b.model, far_, 1).value().scores);
  }
}

TEST_P(Columns, FilesStaySmall) {
  const Model model = train(far_, {}, {}).value().model;
  ASSERT_TRUE(save_model(model, folder_ / "m").ok());
  EXPECT_LT(testing::read_file(folder_ / "m").size(), 20'000U);
  const Model back = load_model(folder_ / "m").value();
  EXPECT_EQ(back.features, model.features);
  EXPECT_EQ(back.columns, model.columns);
  EXPECT_EQ(back.weights, model.weights);
  EXPECT_EQ(predict(back, far_, 1).value().labels, predict(model, far_, 1).value().labels);
  EXPECT_TRUE(verify(back, far_, {}).value().agrees);
}

TEST_P(Columns, AWeightWhereTheDataHasNoneIsNoticed) {
  Model model = train(far_, {}, {}).value().model;
  std::vector<double> longer;
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    longer.push_back(0.5);
    const auto weights = model.weights_of(k);
    longer.insert(longer.end(), weights.begin(), weights.end());
  }
  model.columns.insert(model.columns.begin(), 3);
  model.weights = longer;
  EXPECT_FALSE(verify(model, far_, {}).value().agrees);
}

TEST_P(Columns, NoWeightAtAll) {
  Model model = train(near_, {.time_limit = 0}, {}).value().model;
  model.features = std::uint64_t{1} << 23;
  model.weights.assign(model.problems.size() * model.features, 0.0);
  ASSERT_TRUE(save_model(model, folder_ / "m").ok());
  const Model back = load_model(folder_ / "m").value();
  EXPECT_EQ(back.width(), 1U);
  EXPECT_EQ(back.features, model.features);
  const Predictions predictions = predict(back, far_, 1).value();
  for (const double score : predictions.scores) EXPECT_EQ(score, 0);
}

// A data set may claim features that no row has.
TEST_P(Columns, NoNonzeroAtAll) {
  static constexpr std::uint64_t kOffsets[] = {0, 0, 0, 0};
  static constexpr std::int64_t kLabels[] = {0, 1, 2};
  const std::uint64_t rows = static_cast<std::uint64_t>(GetParam());
  const CsrView<float> view = {rows, 4'000'000'000, kOffsets, nullptr, nullptr};
  const Dataset data = Dataset::wrap(view, std::span(kLabels, rows), {}, nullptr).value();
  const Model model = train(data, {.bias = 1}, {}).value().model;
  EXPECT_EQ(model.width(), 1U);
  EXPECT_TRUE(verify(model, data, {}).value().agrees);
  ASSERT_TRUE(save_model(model, folder_ / "m").ok());
  EXPECT_EQ(load_model(folder_ / "m").value().width(), 1U);
}

// What is small for one class is not for many.
TEST_P(Columns, ManyClassesTakeNoMemoryForColumnsThatDoNotOccur) {
  std::string text;
  for (int label = 0; label < 400; ++label) text += std::to_string(label) + " 4000000:1 7:2\n";
  const Model model = train(testing::dataset_from_text(text), {.max_passes = 1}, {}).value().model;
  EXPECT_EQ(model.width(), 2U);
  ASSERT_TRUE(save_model(model, folder_ / "m").ok());
  EXPECT_EQ(load_model(folder_ / "m").value().width(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Classes, Columns, testing::Values(2, 3));

TEST(KeepColumns, KeepsThoseAskedForAndWeights) {
  const Dataset data =
      testing::dataset_from_text("1 1:1 5:2 9:3\n-1 5:4\n1\n").with_weights({1, 2, 3}).value();
  Pool pool(2);
  EXPECT_EQ(occurring_columns(data, pool), (std::vector<std::uint32_t>{0, 4, 8}));
  const std::vector<std::uint32_t> wanted = {2, 4, 8, 100};
  const Dataset kept = keep_columns(data, wanted, pool);
  EXPECT_EQ(kept.features(), 4U);
  EXPECT_EQ(kept.rows(), 3U);
  EXPECT_EQ(kept.weights()[2], 3);
  const auto& m = std::get<CsrView<float>>(kept.view());
  EXPECT_EQ(std::vector<std::uint64_t>(m.offsets, m.offsets + 4),
            (std::vector<std::uint64_t>{0, 2, 3, 3}));
  EXPECT_EQ(std::vector<std::uint32_t>(m.columns, m.columns + 3),
            (std::vector<std::uint32_t>{1, 2, 1}));
}

}  // namespace
}  // namespace hinge
