// The search for a cost, beside cross-validation by hand.
#include "hinge/tune.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hinge/json.h"
#include "support.h"
#include "tune/folds.h"

namespace hinge {
namespace {

const Dataset& noisy() {
  static const Dataset data =
      testing::random_dataset({.rows = 400, .features = 30, .noise = 0.2, .classes = 2});
  return data;
}

TrainOptions costs(std::vector<double> path) {
  TrainOptions options;
  options.path = std::move(path);
  return options;
}

TEST(CrossValidateFolds, FiguresAreThoseOfModelsTrainedByHand) {
  const FoldOptions how = {.folds = 3, .metric = Metric::f1};
  const Folded found = cross_validate_folds(noisy(), how, costs({0.01, 1})).value();
  EXPECT_EQ(found.finished, 3);
  ASSERT_EQ(found.costs.size(), 2U);
  const std::vector<int> part = deal_folds(noisy(), how, true, 1).value();
  for (const FoldedCost& cost : found.costs) {
    ASSERT_EQ(cost.figures.size(), 3U);
    EXPECT_EQ(cost.metrics.rows, 400U);
    const double mean = (cost.figures[0] + cost.figures[1] + cost.figures[2]) / 3;
    EXPECT_NEAR(cost.mean, mean, 1e-15);
    double squares = 0;
    for (const double figure : cost.figures) squares += (figure - mean) * (figure - mean);
    EXPECT_NEAR(cost.spread, std::sqrt(squares / 2), 1e-15);
    // Every row is predicted by a model that has not seen it: nobody is perfect on such noise.
    EXPECT_LT(cost.metrics.accuracy, 0.95);
  }
}

TEST(CrossValidateFolds, TimeOrderLeavesTheFirstRowsOut) {
  const Folded found =
      cross_validate_folds(noisy(), {.folds = 3, .time_order = true}, {.cost = 0.1}).value();
  EXPECT_EQ(found.costs[0].metrics.rows, 300U);
  EXPECT_EQ(found.costs[0].figures.size(), 3U);
}

TEST(CrossValidateFolds, KeepsWhatAStopLeaves) {
  std::atomic<bool> stop = false;
  const TrainControl control = {.stop = &stop};
  std::vector<int> told;
  const auto tell = [&](const Folded& so_far) {
    told.push_back(so_far.finished);
    if (so_far.finished == 2) stop = true;
  };
  const Folded found = cross_validate_folds(noisy(), {.folds = 4}, {}, control, tell).value();
  EXPECT_EQ(told, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(found.finished, 2);
  EXPECT_EQ(found.costs[0].figures.size(), 2U);
  EXPECT_EQ(found.costs[0].metrics.rows, 200U);
  EXPECT_EQ(cross_validate_folds(noisy(), {.folds = 4}, {}, control).error().id, "run.interrupted");
}

TEST(CrossValidateFolds, RefusesAMetricOfOtherData) {
  const auto id = [](std::optional<Metric> metric, LossKind loss) {
    const auto found =
        cross_validate_folds(noisy(), {.folds = 2, .metric = metric}, {.loss = loss});
    return found.ok() ? "" : found.error().id;
  };
  EXPECT_EQ(id(Metric::rmse, LossKind::hinge), "usage.value");
  EXPECT_EQ(id(Metric::log_loss, LossKind::hinge), "usage.value");
  EXPECT_EQ(id(Metric::accuracy, LossKind::epsilon_insensitive), "usage.value");
  EXPECT_EQ(id(Metric::log_loss, LossKind::logistic), "");
  EXPECT_EQ(id({}, LossKind::epsilon_insensitive), "");
}

TEST(Tune, ChoosesTheBestAndTrainsOnAllRows) {
  const TuneOptions how = {.folds = {.folds = 4, .drop_losers = false}};
  const TrainOptions options = costs({1e-5, 1e-3, 0.1, 10});
  const TuneReport found = tune(noisy(), how, options).value();
  ASSERT_EQ(found.costs.size(), 4U);
  for (const FoldedCost& cost : found.costs) {
    EXPECT_LE(cost.mean, found.costs[found.chosen].mean);
    EXPECT_EQ(cost.figures.size(), 4U);
  }
  ASSERT_TRUE(found.run.has_value());
  TrainOptions one;
  one.cost = found.costs[found.chosen].cost;
  EXPECT_EQ(found.run->model.weights, train(noisy(), one).value().model.weights);
  ASSERT_EQ(found.run->model.sections.size(), 1U);
  EXPECT_EQ(found.run->model.sections[0].name, "search");
  const std::optional<Json> kept = Json::parse(found.run->model.sections[0].content);
  EXPECT_EQ(kept->at("chosen").get<double>(), one.cost);
  EXPECT_EQ(kept->at("costs").values().size(), 4U);
  const Model read = model_from_bytes(model_to_bytes(found.run->model).value()).value();
  EXPECT_EQ(read.sections, found.run->model.sections);
}

TEST(Tune, OneStandardErrorTakesASmallerCost) {
  TuneOptions how = {.folds = {.folds = 5, .drop_losers = false}};
  const TrainOptions options = costs({1e-4, 1e-3, 1e-2, 0.1, 1, 10});
  const TuneReport best = tune(noisy(), how, options).value();
  how.one_standard_error = true;
  const TuneReport simple = tune(noisy(), how, options).value();
  EXPECT_LE(simple.chosen, best.chosen);
  const FoldedCost& winner = best.costs[best.chosen];
  const double least = winner.mean - winner.spread / std::sqrt(5.0);
  for (std::size_t c = 0; c < simple.costs.size(); ++c) {
    if (c < simple.chosen) {
      EXPECT_LT(simple.costs[c].mean, least);
    }
  }
  EXPECT_GE(simple.costs[simple.chosen].mean, least);
}

TEST(Tune, LosersAreDroppedAndTheChoiceStays) {
  std::ptrdiff_t dropped = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    TrainOptions options = costs({1e-6, 1e-4, 1e-2, 0.1, 1});
    options.seed = seed;
    const Dataset data = testing::random_dataset(
        {.rows = 500, .features = 20, .noise = 0.05, .seed = seed, .classes = 3});
    TuneOptions how;
    const TuneReport some = tune(data, how, options).value();
    how.folds.drop_losers = false;
    const TuneReport all = tune(data, how, options).value();
    EXPECT_EQ(some.chosen, all.chosen) << seed;
    dropped += std::ranges::count(some.costs, true, &FoldedCost::dropped);
    for (const FoldedCost& cost : some.costs) {
      EXPECT_EQ(cost.dropped, cost.figures.size() < 5U);
    }
  }
  EXPECT_GT(dropped, 0);
}

TEST(Tune, WhoLosesToAKnownCostIsDroppedToo) {
  const FoldedCost perfect = {.cost = 1, .figures = std::vector<double>(5, 1.0), .mean = 1};
  const FoldOptions how = {.drop_losers = true};
  const TrainOptions options = costs({0.01, 1});
  const Folded found = fold_costs(noisy(), how, options, {}, {}, &perfect);
  EXPECT_EQ(found.finished, found.folds);
  for (const FoldedCost& cost : found.costs) {
    EXPECT_TRUE(cost.dropped);
    EXPECT_LT(cost.figures.size(), 5U);
  }
}

TEST(Tune, FindsCostsOfItsOwn) {
  const TuneReport found = tune(noisy()).value();
  ASSERT_GE(found.costs.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(found.costs, {}, &FoldedCost::cost));
  for (const FoldedCost& cost : found.costs) {
    EXPECT_EQ(std::exp2(std::round(std::log2(cost.cost))), cost.cost);
    if (!cost.dropped) {
      EXPECT_LE(cost.mean, found.costs[found.chosen].mean);
    }
  }
  EXPECT_TRUE(found.whole);
}

TEST(Tune, AStopLeavesWhatIsKnown) {
  std::atomic<bool> stop = false;
  const auto tell = [&](const Folded& so_far) { stop = so_far.finished == 2; };
  const TuneReport found = tune(noisy(), {}, costs({0.01, 1}), {.stop = &stop}, tell).value();
  EXPECT_FALSE(found.whole);
  EXPECT_FALSE(found.run.has_value());
  EXPECT_EQ(found.costs[found.chosen].figures.size(), 2U);
  EXPECT_EQ(tune(noisy(), {}, {.lambda = 1}).error().id, "usage.value");
}

TEST(Tune, NamesOfMetrics) {
  for (const char* name : {"accuracy", "balanced", "f1", "auc", "ap", "logloss", "rmse"}) {
    EXPECT_EQ(to_string(parse_metric(name).value()), name);
  }
  EXPECT_EQ(parse_metric("roc").error().id, "usage.value");
  EXPECT_FALSE(larger_is_better(Metric::log_loss));
}

}  // namespace
}  // namespace hinge
