// Small cases worked out by hand, and the ranking measures against their definitions.
#include "hinge/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/random.h"
#include "support.h"

namespace hinge {
namespace {

using LabelList = std::vector<std::int64_t>;
using Scores = std::vector<double>;
using Table = std::vector<std::vector<std::uint64_t>>;

// Rows without features: only their labels matter here.
Dataset rows_with(const LabelList& labels) {
  struct Owned {
    LabelList labels;
    std::vector<std::uint64_t> offsets;
  };
  auto owned = std::make_shared<Owned>();
  owned->labels = labels;
  owned->offsets.resize(labels.size() + 1);
  const CsrView<float> view{labels.size(), 0, owned->offsets.data(), nullptr, nullptr};
  Result<Dataset> data = Dataset::wrap(view, owned->labels, {}, owned);
  if (!data.ok()) throw std::runtime_error(to_string(data.error()));
  return std::move(data).value();
}

Model model_of(const LabelList& labels) {
  Model model;
  model.labels = labels;
  model.problems.resize(labels.size() == 2 ? 1 : labels.size());
  for (std::size_t k = 0; k < model.problems.size(); ++k) model.problems[k].label = labels[k];
  return model;
}

Metrics measure(const Model& model, const LabelList& truth, const Predictions& predictions) {
  Result<Metrics> metrics = evaluate(model, rows_with(truth), predictions);
  if (!metrics.ok()) throw std::runtime_error(to_string(metrics.error()));
  return std::move(metrics).value();
}

// A binary model with labels +1 and -1 whose scores decide.
Metrics measure_binary(const LabelList& truth, const Scores& scores) {
  Predictions predictions;
  predictions.scores = scores;
  for (const double score : scores) predictions.labels.push_back(score > 0 ? 1 : -1);
  return measure(model_of({1, -1}), truth, predictions);
}

// AUC by counting pairs: a positive above a negative 1, level with it 1/2.
double auc_by_pairs(const LabelList& truth, const Scores& scores) {
  double sum = 0, pairs = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    for (std::size_t j = 0; j < truth.size(); ++j) {
      if (truth[i] != 1 || truth[j] == 1) continue;
      pairs += 1;
      sum += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
    }
  }
  return sum / pairs;
}

// Average precision by its definition: over the thresholds, precision times what recall gains.
double precision_by_thresholds(const LabelList& truth, const Scores& scores) {
  Scores thresholds = scores;
  std::ranges::sort(thresholds, std::greater<>());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  const auto positives = static_cast<double>(std::ranges::count(truth, 1));
  double sum = 0, recall_before = 0;
  for (const double threshold : thresholds) {
    double hits = 0, chosen = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (scores[i] < threshold) continue;
      chosen += 1;
      hits += truth[i] == 1;
    }
    sum += (hits / positives - recall_before) * hits / chosen;
    recall_before = hits / positives;
  }
  return sum;
}

TEST(Metrics, BinaryByHand) {
  // score     0.9  0.8  0.7  0.2 -0.1 -0.5
  // truth      +    -    +    -    +    -      predicted + four times, two of them right
  const Metrics m = measure_binary({1, -1, 1, -1, 1, -1}, {0.9, 0.8, 0.7, 0.2, -0.1, -0.5});
  EXPECT_EQ(m.rows, 6U);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(m.error, 0.5);
  EXPECT_DOUBLE_EQ(m.precision, 2.0 / 4);
  EXPECT_DOUBLE_EQ(m.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.f1, 4.0 / 7);   // 2 * 2 hits / (4 predicted + 3 true)
  EXPECT_DOUBLE_EQ(m.auc, 6.0 / 9);  // 3 + 2 + 1 of 3 * 3 pairs
  EXPECT_DOUBLE_EQ(m.average_precision, (1.0 / 1 + 2.0 / 3 + 3.0 / 5) / 3);
  EXPECT_EQ(m.labels, (LabelList{-1, 1}));
  EXPECT_EQ(m.confusion, (Table{{1, 2}, {1, 2}}));
  EXPECT_EQ(m.rejected, 0U);
  EXPECT_EQ(m.unseen_labels, 0U);
}

TEST(Metrics, PerfectAndHopeless) {
  const Metrics good = measure_binary({1, 1, -1}, {3, 2, -1});
  EXPECT_EQ(good.accuracy, 1);
  EXPECT_EQ(good.error, 0);
  EXPECT_EQ(good.precision, 1);
  EXPECT_EQ(good.recall, 1);
  EXPECT_EQ(good.f1, 1);
  EXPECT_EQ(good.auc, 1);
  EXPECT_EQ(good.average_precision, 1);
  const Metrics bad = measure_binary({1, 1, -1}, {-3, -2, 1});
  EXPECT_EQ(bad.accuracy, 0);
  EXPECT_EQ(bad.precision, 0);
  EXPECT_EQ(bad.recall, 0);
  EXPECT_EQ(bad.f1, 0);
  EXPECT_EQ(bad.auc, 0);
  EXPECT_DOUBLE_EQ(bad.average_precision, (1.0 / 2 + 2.0 / 3) / 2);
}

TEST(Metrics, TiesShareTheirRank) {
  const Metrics level = measure_binary({1, -1, 1, -1}, {0.5, 0.5, 0.5, 0.5});
  EXPECT_DOUBLE_EQ(level.auc, 0.5);
  EXPECT_DOUBLE_EQ(level.average_precision, 0.5);
  // One step of a positive and a negative, then a positive, then a negative.
  const Metrics some = measure_binary({-1, 1, 1, -1}, {0.9, 0.9, 0.4, -1});
  EXPECT_DOUBLE_EQ(some.auc, (0.5 + 1 + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(some.average_precision, (1.0 / 2 + 2.0 / 3) / 2);
  // The order of the rows does not matter.
  const Metrics turned = measure_binary({-1, 1, 1, -1}, {-1, 0.4, 0.9, 0.9});
  EXPECT_DOUBLE_EQ(turned.auc, some.auc);
  EXPECT_DOUBLE_EQ(turned.average_precision, some.average_precision);
}

TEST(Metrics, RankingAgreesWithItsDefinition) {
  Random random(31);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t rows = 2 + random.below(120);
    const std::uint64_t levels = round % 3 == 0 ? 4 : 1000000;  // many ties, or few
    LabelList truth;
    Scores scores;
    for (std::uint64_t i = 0; i < rows; ++i) {
      truth.push_back(random.below(3) == 0 ? 1 : -1);
      scores.push_back(static_cast<double>(random.below(levels)) - 2);
    }
    truth[0] = 1;
    truth[1] = -1;
    const Metrics m = measure_binary(truth, scores);
    EXPECT_NEAR(m.auc, auc_by_pairs(truth, scores), 1e-12) << round;
    EXPECT_NEAR(m.average_precision, precision_by_thresholds(truth, scores), 1e-12) << round;
  }
}

TEST(Metrics, OneClassInTheData) {
  const Metrics positive = measure_binary({1, 1, 1}, {1, 2, -3});
  EXPECT_DOUBLE_EQ(positive.accuracy, 2.0 / 3);
  EXPECT_DOUBLE_EQ(positive.precision, 1);
  EXPECT_DOUBLE_EQ(positive.recall, 2.0 / 3);
  EXPECT_TRUE(std::isnan(positive.auc));
  EXPECT_EQ(positive.balanced_accuracy, positive.recall);  // of the one class that occurs
  EXPECT_EQ(positive.labels, (LabelList{-1, 1}));
  const Metrics negative = measure_binary({-1, -1}, {1, -2});
  EXPECT_DOUBLE_EQ(negative.accuracy, 0.5);
  EXPECT_EQ(negative.precision, 0);          // 0 of 1
  EXPECT_TRUE(std::isnan(negative.recall));  // 0 of 0
  EXPECT_EQ(negative.f1, 0);
  EXPECT_TRUE(std::isnan(negative.auc));
  EXPECT_TRUE(std::isnan(negative.average_precision));
  const Metrics silent = measure_binary({-1, -1}, {-1, -2});
  EXPECT_TRUE(std::isnan(silent.precision) && std::isnan(silent.f1));
  EXPECT_EQ(silent.accuracy, 1);
}

TEST(Metrics, AllRowsPositiveIsPerfectAveragePrecision) {
  EXPECT_EQ(measure_binary({1, 1, 1}, {1, 2, -3}).average_precision, 1);
}

TEST(Metrics, LabelsTheModelDoesNotKnow) {
  const Metrics m = measure_binary({1, -1, 7, 7}, {1, -1, 1, -1});
  EXPECT_EQ(m.unseen_labels, 2U);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.5);
  EXPECT_EQ(m.labels, (LabelList{-1, 1, 7}));
  EXPECT_EQ(m.confusion, (Table{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}}));
  EXPECT_DOUBLE_EQ(m.precision, 0.5);
  EXPECT_DOUBLE_EQ(m.recall, 1);
}

TEST(Metrics, LabelsThatCannotBeTheModels) {
  const auto check = [](const LabelList& known, const LabelList& truth) {
    return check_same_labels(model_of(known), rows_with(truth));
  };
  for (const LabelList& truth : {LabelList{0, 1}, LabelList{0, 0}, LabelList{2, 1}, LabelList{7}}) {
    const Result<void> same = check({1, -1}, truth);
    ASSERT_FALSE(same.ok()) << truth[0];
    EXPECT_EQ(same.error().id, "data.label.mismatch");
    Predictions predictions;
    predictions.labels.assign(truth.size(), 1);
    predictions.scores.assign(truth.size(), 1);
    const Result<Metrics> m = evaluate(model_of({1, -1}), rows_with(truth), predictions);
    ASSERT_FALSE(m.ok());
    EXPECT_EQ(m.error().id, "data.label.mismatch");
    EXPECT_FALSE(curves(model_of({1, -1}), rows_with(truth), predictions).ok());
  }
  EXPECT_NE(check({1, -1}, {0, 1}).error().help.find("sed 's/^0 /-1 /'"), std::string::npos);
  EXPECT_NE(check({1, 2, 3}, {4, 5}).error().message.find("4, 5, the model 1, 2, 3"),
            std::string::npos);
  for (const LabelList& truth :
       {LabelList{}, LabelList{1}, LabelList{1, -1}, LabelList{1, -1, 4}}) {
    EXPECT_TRUE(check({1, -1}, truth).ok());
  }
  EXPECT_TRUE(check({1, 2, 3}, {1, 4}).ok());  // a warning's matter
}

// Classes 1, 2, 3; the scores of a row stand in that order.
struct ThreeClasses {
  LabelList truth = {1, 1, 2, 2, 3};
  Predictions predictions;
  ThreeClasses() {
    predictions.labels = {1, 2, 2, 3, 3};
    predictions.scores = {5,  1, 0,  //
                          2,  3, 1,  //
                          0,  4, 1,  //
                          -1, 2, 6,  //
                          1,  0, 7};
  }
};

TEST(Metrics, ThreeClassesByHand) {
  const ThreeClasses given;
  const Metrics m = measure(model_of({1, 2, 3}), given.truth, given.predictions);
  EXPECT_DOUBLE_EQ(m.accuracy, 3.0 / 5);
  EXPECT_EQ(m.confusion, (Table{{1, 1, 0}, {0, 1, 1}, {0, 0, 1}}));
  EXPECT_DOUBLE_EQ(m.precision, (1.0 + 1.0 / 2 + 1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(m.recall, (1.0 / 2 + 1.0 / 2 + 1.0) / 3);
  EXPECT_DOUBLE_EQ(m.f1, (2.0 / 3 + 1.0 / 2 + 2.0 / 3) / 3);
  // Class 1 ranks 5 2 | 1 0 -1: all 6 pairs. Class 2 ranks 4 (3) 2 (1 0): 3 + 2 of 6. Class 3:
  // all 4.
  EXPECT_DOUBLE_EQ(m.auc, (1.0 + 5.0 / 6 + 1.0) / 3);
  EXPECT_DOUBLE_EQ(m.average_precision, (1.0 + (1.0 + 2.0 / 3) / 2 + 1.0) / 3);
}

TEST(Metrics, EachClassByHand) {
  const ThreeClasses given;
  const Metrics m = measure(model_of({1, 2, 3}), given.truth, given.predictions);
  ASSERT_EQ(m.classes.size(), 3U);
  EXPECT_EQ(m.classes[1].label, 2);
  EXPECT_EQ(m.classes[1].rows, 2U);
  EXPECT_EQ(m.classes[1].said, 2U);
  EXPECT_DOUBLE_EQ(m.classes[1].precision, 1.0 / 2);
  EXPECT_DOUBLE_EQ(m.classes[1].auc, 5.0 / 6);
  EXPECT_DOUBLE_EQ(m.balanced_accuracy, m.recall);
  EXPECT_DOUBLE_EQ(m.macro.f1, m.f1);
  EXPECT_DOUBLE_EQ(m.weighted.precision, (2 * 1.0 + 2 * 0.5 + 1 * 0.5) / 5);
  EXPECT_DOUBLE_EQ(m.weighted.recall, m.accuracy);  // as it always is
  EXPECT_FALSE(m.probabilities.has_value());
}

TEST(Metrics, ProbabilitiesByHand) {
  Model model = model_of({1, -1});
  model.origin.loss = LossKind::logistic;
  Predictions predictions;
  predictions.labels = {1, 1, -1};
  predictions.scores = {std::log(3.0), std::log(4.0), -std::log(4.0)};  // 0.75, 0.8, 0.2
  const Metrics m = measure(model, {1, -1, -1}, predictions);
  ASSERT_TRUE(m.probabilities.has_value());
  EXPECT_NEAR(m.probabilities->log_loss, -(std::log(0.75) + std::log(0.2) + std::log(0.8)) / 3,
              1e-14);
  EXPECT_NEAR(m.probabilities->brier, (0.0625 + 0.64 + 0.04) / 3, 1e-14);
  // One bin has 0.75 and 0.8, and one hit; another has 0.2 and none.
  EXPECT_NEAR(m.probabilities->calibration_error, (0.55 + 0.2) / 3, 1e-14);
  const Metrics unseen = measure(model, {1, -1, 4}, predictions);
  EXPECT_TRUE(std::isnan(unseen.probabilities->log_loss));
  // What was thought impossible counts as 2^-52.
  const Metrics sure = measure(model, {-1}, {.labels = {1}, .rejected = {}, .scores = {1e5}});
  EXPECT_DOUBLE_EQ(sure.probabilities->log_loss, 52 * std::log(2.0));
}

TEST(Metrics, MeansAreOverClassesThatOccur) {
  Predictions predictions;
  predictions.labels = {1, 2};
  predictions.scores = {1, 0, 0, /**/ 0, 1, 0};
  const Metrics m = measure(model_of({1, 2, 3}), {1, 2}, predictions);
  EXPECT_EQ(m.precision, 1);
  EXPECT_EQ(m.recall, 1);
  EXPECT_EQ(m.f1, 1);
  EXPECT_EQ(m.auc, 1);
  EXPECT_EQ(m.confusion, (Table{{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}));
}

TEST(Metrics, RejectedRowsAreErrors) {
  ThreeClasses given;
  given.predictions.rejected = {0, 0, 1, 0, 0};
  const Metrics m = measure(model_of({1, 2, 3}), given.truth, given.predictions);
  EXPECT_EQ(m.rejected, 1U);
  EXPECT_EQ(m.classes[1].rejected, 1U);
  EXPECT_EQ(m.classes[1].rows, 2U);
  EXPECT_DOUBLE_EQ(m.accuracy, 2.0 / 5);
  EXPECT_DOUBLE_EQ(m.error, 3.0 / 5);
  EXPECT_EQ(m.confusion, (Table{{1, 1, 0}, {0, 0, 1}, {0, 0, 1}}));
  EXPECT_DOUBLE_EQ(m.precision, (1.0 + 0.0 + 1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(m.recall, (1.0 / 2 + 0.0 + 1.0) / 3);
  given.predictions.rejected.assign(5, 1);
  const Metrics none = measure(model_of({1, 2, 3}), given.truth, given.predictions);
  EXPECT_EQ(none.rejected, 5U);
  EXPECT_EQ(none.accuracy, 0);
  EXPECT_EQ(none.f1, 0);
}

TEST(Metrics, PredictionsOfOtherRowsAreRefused) {
  Predictions predictions;
  predictions.labels = {1, 1};
  predictions.scores = {1, 1};
  for (const LabelList& truth : {LabelList{1}, LabelList{1, -1, 1}}) {
    const Result<Metrics> m = evaluate(model_of({1, -1}), rows_with(truth), predictions);
    ASSERT_FALSE(m.ok());
    EXPECT_EQ(m.error().id, "usage.value");
  }
  predictions.scores.push_back(1);
  EXPECT_FALSE(evaluate(model_of({1, -1}), rows_with({1, -1}), predictions).ok());
}

TEST(Metrics, AgreesWithThePredictionsOfAModel) {
  const Dataset data = testing::random_dataset({.rows = 200, .classes = 4});
  Model model = model_of({0, 1, 2, 3});
  model.features = data.features();
  Random random(8);
  for (std::uint64_t i = 0; i < 4 * model.features; ++i) {
    model.weights.push_back(random.uniform() - 0.5);
  }
  const Result<Predictions> predictions = predict(model, data, 2);
  ASSERT_TRUE(predictions.ok());
  const Result<Metrics> m = evaluate(model, data, *predictions);
  ASSERT_TRUE(m.ok());
  std::uint64_t right = 0, total = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    right += m->confusion[i][i];
    for (std::size_t j = 0; j < 4; ++j) total += m->confusion[i][j];
  }
  EXPECT_EQ(total, 200U);
  EXPECT_DOUBLE_EQ(m->accuracy, static_cast<double>(right) / 200);
}

}  // namespace
}  // namespace hinge
