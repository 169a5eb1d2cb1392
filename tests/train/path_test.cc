// Several costs in one run (train_path) and in one file (save_models).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

#include "hinge/hinge.h"
#include "support.h"

namespace hinge {
namespace {

const std::vector<double> kCosts = {0.01, 0.1, 1, 10, 100};

double norm(const Model& model) {
  double sum = 0;
  for (const double w : model.weights) sum += w * w;
  return std::sqrt(sum);
}

std::vector<Model> models_of(std::vector<TrainReport> reports) {
  std::vector<Model> models;
  for (TrainReport& report : reports) models.push_back(std::move(report.model));
  return models;
}

class Path : public ::testing::TestWithParam<Solver> {};
INSTANTIATE_TEST_SUITE_P(Solvers, Path,
                         ::testing::Values(Solver::dual, Solver::focus, Solver::ocas,
                                           Solver::pegasos),
                         [](const auto& one) { return std::string(to_string(one.param)); });

// Each model has its own proof, and lies within the gap of one trained alone.
TEST_P(Path, ModelsAreThoseTrainedAlone) {
  const double gap = GetParam() == Solver::pegasos ? 0.05 : 1e-4;
  for (const std::uint64_t classes : {2U, 3U}) {
    const Dataset data =
        testing::random_dataset({.rows = 300, .features = 30, .noise = 0.1, .classes = classes});
    for (const bool witness : {true, false}) {
      TrainOptions options = {.gap = gap, .solver = GetParam(), .bias = 1, .witness = witness};
      options.path = kCosts;
      const std::vector<TrainReport> path = train_path(data, options).value();
      options.path = {};
      ASSERT_EQ(path.size(), kCosts.size());
      for (std::size_t k = 0; k < kCosts.size(); ++k) {
        options.cost = kCosts[k];
        EXPECT_EQ(path[k].status, StopReason::converged);
        EXPECT_EQ(path[k].model.origin.cost, kCosts[k]);
        EXPECT_TRUE(verify(path[k].model, data).value().agrees);
        EXPECT_EQ(path[k].model.problems[0].witness.empty(), !witness);
        const TrainReport alone = train(data, options).value();
        for (std::size_t p = 0; p < alone.model.problems.size(); ++p) {
          const Certificate& a = path[k].model.problems[p].certificate;
          const Certificate& b = alone.model.problems[p].certificate;
          EXPECT_LE(a.relative_gap, gap);
          EXPECT_LE(std::abs(a.primal - b.primal), gap * std::max(a.primal, b.primal));
          EXPECT_LE(a.dual, b.primal * (1 + 1e-12));  // bounds of the same minimum
          EXPECT_LE(b.dual, a.primal * (1 + 1e-12));
        }
      }
    }
  }
}

// As functions of C the least objective rises and is concave, and |w| of the optimum rises.
TEST(PathOfOptima, RisesAndIsConcave) {
  const Dataset data = testing::random_dataset({.rows = 200, .features = 20, .noise = 0.2});
  TrainOptions options = {.gap = 1e-8};
  for (int k = 0; k < 25; ++k) options.path.push_back(1e-3 * std::pow(10, k / 4.0));
  const std::vector<Model> models = models_of(train_path(data, options).value());
  ASSERT_EQ(models.size(), options.path.size());
  const auto at = [&](std::size_t k) { return models[k].certificate().primal; };
  for (std::size_t k = 1; k < models.size(); ++k) {
    EXPECT_GE(at(k), at(k - 1) * (1 - 1e-8));
    EXPECT_GE(norm(models[k]), norm(models[k - 1]) * (1 - 1e-3));
    if (k + 1 == models.size()) break;
    const double a = options.path[k - 1], b = options.path[k], c = options.path[k + 1];
    EXPECT_GE(at(k), (at(k - 1) * (c - b) + at(k + 1) * (b - a)) / (c - a) * (1 - 1e-7));
  }
}

TEST(TrainPath, OneCostIsTrain) {
  const Dataset data = testing::random_dataset({.rows = 100});
  const TrainOptions options = {.cost = 3};
  const std::vector<TrainReport> path = train_path(data, options).value();
  ASSERT_EQ(path.size(), 1U);
  EXPECT_EQ(path[0].model.weights, train(data, options).value().model.weights);
}

TEST(TrainPath, IsTheSameForAnyNumberOfThreads) {
  for (const std::uint64_t classes : {2U, 3U}) {
    const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.1, .classes = classes});
    TrainOptions options = {.solver = Solver::dual, .threads = 1};
    options.path = kCosts;
    const std::vector<Model> one = models_of(train_path(data, options).value());
    ASSERT_EQ(one.size(), kCosts.size());
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const std::vector<Model> several = models_of(train_path(data, options).value());
      for (std::size_t k = 0; k < one.size(); ++k) EXPECT_EQ(one[k].weights, several[k].weights);
    }
  }
}

// Two classes: every second cost, and with a time limit the smallest, come first.
TEST(TrainPath, CostsComeEveryOtherFirst) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.1});
  TrainOptions options = {.solver = Solver::dual, .threads = 1};
  options.path = {1, 2, 3, 4, 5, 6};
  std::vector<double> finished;
  TrainControl control;
  control.finished = [&](const TrainReport& r) { finished.push_back(r.model.origin.cost); };
  EXPECT_EQ(train_path(data, options, control).value().size(), 6U);
  EXPECT_EQ(finished, (std::vector<double>{6, 4, 2, 1, 5, 3}));
  finished.clear();
  options.time_limit = 1000;
  const std::vector<TrainReport> reports = train_path(data, options, control).value();
  EXPECT_EQ(finished, (std::vector<double>{1, 2, 4, 6, 3, 5}));
  for (std::size_t k = 0; k < reports.size(); ++k) {
    EXPECT_EQ(reports[k].model.origin.cost, options.path[k]);
  }
}

// Between two neighbours that a signal left unfinished no model is begun; with a failure nobody
// waits for it in vain.
TEST(TrainPath, EndsWhereverItIsStopped) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.1});
  for (const int threads : {1, 4}) {
    for (int after = 0; after < 60; after += 3) {
      TrainOptions options = {.gap = 1e-6, .solver = Solver::dual, .threads = threads};
      for (int k = 0; k < 9; ++k) options.path.push_back(std::pow(3.0, k - 4));
      std::atomic<bool> stop{false};
      std::atomic<int> looks{0};
      TrainControl control;
      control.stop = &stop;
      control.observer = [&](const Progress&) { stop = stop || ++looks > after; };
      const std::vector<TrainReport> some = train_path(data, options, control).value();
      ASSERT_GE(some.size(), 1U);
      for (const TrainReport& r : some) EXPECT_TRUE(verify(r.model, data).value().agrees);
      control.stop = nullptr;
      control.observer = [&](const Progress& p) {
        if (p.cost > 1 && p.iteration > 0) throw std::runtime_error("as observers may");
      };
      EXPECT_FALSE(train_path(data, options, control).ok());
    }
  }
}

TEST(TrainPath, WarmStartsSaveWork) {
  const Dataset data = testing::random_dataset({.rows = 1000, .features = 50, .noise = 0.1});
  TrainOptions options = {.gap = 1e-5};
  for (int k = 0; k < 10; ++k) options.path.push_back(1 + 0.1 * k);
  std::uint64_t warm = 0, cold = 0;
  const std::vector<TrainReport> path = train_path(data, options).value();
  for (const TrainReport& report : path) warm += report.iterations;
  for (const double cost : options.path) {
    cold += train(data, {.cost = cost, .gap = 1e-5}).value().iterations;
  }
  EXPECT_LT(warm, cold);
}

TEST(TrainPath, StoppedItReturnsTheModelsSoFar) {
  const Dataset data = testing::random_dataset({.rows = 300, .classes = 3});
  TrainOptions options = {.gap = 1e-6};
  options.path = kCosts;
  std::atomic<bool> stop{false};
  std::vector<double> finished;
  TrainControl control;
  control.stop = &stop;
  control.finished = [&](const TrainReport& r) { finished.push_back(r.model.origin.cost); };
  control.observer = [&](const Progress& p) { stop = p.cost == 1 && p.iteration > 0; };
  const std::vector<TrainReport> some = train_path(data, options, control).value();
  ASSERT_EQ(some.size(), 3U);
  EXPECT_EQ(finished, (std::vector<double>{0.01, 0.1, 1}));
  EXPECT_EQ(some[1].status, StopReason::converged);
  EXPECT_EQ(some[2].status, StopReason::interrupted);
  for (const TrainReport& r : some) EXPECT_TRUE(verify(r.model, data).value().agrees);

  options.time_limit = 0;
  const std::vector<TrainReport> none = train_path(data, options).value();
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].warnings.back().id, "solver.limit");
}

TEST(TrainPath, RefusesWhatTakesOneCost) {
  const Dataset data = testing::random_dataset({.rows = 100});
  TrainOptions options;
  options.path = {1, 2};
  EXPECT_EQ(train(data, options).error().id, "usage.value");
  EXPECT_EQ(cross_validate(data, 3, options).error().id, "usage.value");
  options.solver = Solver::pegasos;
  options.pegasos.t0 = 0;
  EXPECT_EQ(train_path(data, options).error().id, "usage.value");
}

TEST(TrainPath, CrossValidatesEveryCost) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.2, .classes = 3});
  TrainOptions options = {.gap = 1e-6};
  options.path = {0.001, 1};
  const std::vector<Metrics> both = cross_validate_path(data, 3, options).value();
  ASSERT_EQ(both.size(), 2U);
  options.path = {};
  for (std::size_t k = 0; k < 2; ++k) {
    options.cost = k == 0 ? 0.001 : 1;
    EXPECT_NEAR(both[k].accuracy, cross_validate(data, 3, options).value().accuracy, 0.01);
  }
}

class PathFile : public ::testing::Test {
 protected:
  testing::TempFolder folder_{testing::memory_folder()};
  Dataset data_ = testing::random_dataset({.rows = 40, .features = 5, .classes = 3});
  std::vector<Model> models_ = train();

  std::vector<Model> train() const {
    TrainOptions options = {.bias = 1};
    options.path = {0.1, 1, 10};
    return models_of(train_path(data_, options).value());
  }
  std::string bytes() const { return testing::read_file(folder_ / "m"); }
  std::string id_of(const std::string& bytes) const {
    testing::write_file(folder_ / "bad", bytes);
    const Result<std::vector<Model>> models = load_models(folder_ / "bad");
    return models.ok() ? "" : models.error().id;
  }
};

TEST_F(PathFile, ComesBackAsItWas) {
  ASSERT_TRUE(save_models(models_, folder_ / "m").ok());
  const std::vector<Model> back = load_models(folder_ / "m").value();
  ASSERT_EQ(back.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(back[k].weights, models_[k].weights);
    EXPECT_EQ(back[k].origin.cost, models_[k].origin.cost);
    EXPECT_EQ(back[k].origin.status, models_[k].origin.status);
    EXPECT_TRUE(verify(back[k], data_).value().agrees);
    const Model one = load_model(folder_ / "m", models_[k].origin.cost * (1 + 5e-7)).value();
    EXPECT_EQ(one.weights, models_[k].weights);
    // One taken out is written as if it had been trained alone.
    ASSERT_TRUE(save_model(one, folder_ / "one").ok());
    EXPECT_EQ(load_models(folder_ / "one").value().size(), 1U);
    EXPECT_EQ(load_model(folder_ / "one").value().weights, models_[k].weights);
  }
  const std::string before = bytes();
  ASSERT_TRUE(save_models(back, folder_ / "m").ok());
  EXPECT_EQ(bytes(), before);
}

TEST_F(PathFile, OneModelIsWrittenAsAlways) {
  ASSERT_TRUE(save_model(models_[0], folder_ / "m").ok());
  const std::string before = bytes();
  ASSERT_TRUE(save_models(std::span(models_).first(1), folder_ / "m").ok());
  EXPECT_EQ(bytes(), before);
}

TEST_F(PathFile, OneMustBeChosen) {
  ASSERT_TRUE(save_models(models_, folder_ / "m").ok());
  const Error several = load_model(folder_ / "m").error();
  EXPECT_EQ(several.id, "model.path");
  EXPECT_NE(several.message.find("0.1, 1, 10"), std::string::npos) << several.message;
  EXPECT_EQ(load_model(folder_ / "m", 2.0).error().id, "model.path");
  EXPECT_EQ(load_model(folder_ / "m", std::nan("")).error().id, "model.path");
  ASSERT_TRUE(save_model(models_[0], folder_ / "m").ok());
  EXPECT_EQ(load_model(folder_ / "m", 2.0).error().id, "model.path");
  EXPECT_TRUE(load_model(folder_ / "m", 0.1).ok());
}

TEST_F(PathFile, RefusesModelsThatDoNotBelongTogether) {
  const auto refused = [&](const std::vector<Model>& models) {
    const Result<void> saved = save_models(models, folder_ / "x");
    return !saved.ok() && saved.error().id == "model.format";
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({models_[1], models_[0]}));
  EXPECT_TRUE(refused({models_[0], models_[0]}));
  Model other = models_[1];
  other.origin.fingerprint[0] ^= 1;
  EXPECT_TRUE(refused({models_[0], other}));
  other = models_[1];
  other.origin.seed = 7;
  EXPECT_TRUE(refused({models_[0], other}));
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(PathFile, DamageIsRefused) {
  ASSERT_TRUE(save_models(models_, folder_ / "m").ok());
  const std::string good = bytes();
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_TRUE(id_of(good.substr(0, size)).starts_with("model.")) << size;
  }
  for (std::size_t k = 0; k < good.size(); k += testing::at_length() ? 1U : 7U) {
    std::string bad = good;
    bad[k] = static_cast<char>(bad[k] ^ 1 << k % 8);
    EXPECT_TRUE(id_of(bad).starts_with("model.")) << k;
  }
}

// ---- The search for a cost.

TEST(FindCost, DoublesFromACostThatIsSmallForThisData) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 10, .noise = 0.1});
  std::vector<CostTrial> told;
  const CostSearch found =
      find_cost(data, 4, 0, {.loss = LossKind::squared_hinge}, {}, [&](const CostTrial& trial) {
        told.push_back(trial);
      }).value();
  ASSERT_GE(found.trials.size(), 5U);
  ASSERT_EQ(told.size(), found.trials.size());
  EXPECT_EQ(std::exp2(std::round(std::log2(found.trials[0].cost))), found.trials[0].cost);
  double longest = 0;
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      double square = 0;
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        square += static_cast<double>(m.values_of(i)[k]) * static_cast<double>(m.values_of(i)[k]);
      }
      longest = std::max(longest, square);
    }
  });
  EXPECT_LE(found.trials[0].cost, 1 / (2 * 300 * longest));
  EXPECT_GT(found.trials[0].cost, 1 / (4 * 300 * longest));
  for (std::size_t k = 0; k < told.size(); ++k) {
    EXPECT_EQ(told[k].cost, found.trials[0].cost * std::exp2(static_cast<double>(k)));
    EXPECT_LE(told[k].accuracy, found.best.accuracy);
    if (told[k].accuracy == found.best.accuracy) {
      EXPECT_GE(told[k].cost, found.best.cost);
    }
    const Metrics alone =
        cross_validate(data, 4, {.loss = LossKind::squared_hinge, .cost = told[k].cost}).value();
    EXPECT_NEAR(alone.accuracy, told[k].accuracy, 0.02);
  }
}

TEST(FindCost, EndsWhereNothingGetsBetterOrAtTheLargest) {
  const Dataset data = testing::random_dataset({.rows = 200, .features = 5, .noise = 0.2});
  const CostSearch found = find_cost(data, 3, 0, {}).value();
  EXPECT_GT(found.best.accuracy, found.trials.front().accuracy);
  const auto after = std::ranges::count_if(
      found.trials, [&](const CostTrial& trial) { return trial.cost > found.best.cost; });
  EXPECT_TRUE(found.trials.back().cost == 1024 || (after >= 5 && after < 10)) << after;
  const CostSearch last = find_cost(data, 3, 300, {}).value();
  ASSERT_EQ(last.trials.size(), 2U);
  EXPECT_EQ(last.trials[1].cost, 600);
}

TEST(FindCost, OfRegressionFindsAnEpsilonToo) {
  const Dataset classes = testing::random_dataset({.rows = 60, .features = 4});
  std::vector<double> targets;
  for (const std::int64_t label : classes.labels()) {
    targets.push_back(static_cast<double>(label) + 0.01 * static_cast<double>(targets.size()));
  }
  const double largest = std::abs(
      *std::ranges::max_element(targets, {}, [](double target) { return std::abs(target); }));
  const Dataset data =
      classes.visit([&](const auto& m) { return Dataset::wrap(m, targets, {}, nullptr).value(); });
  const TrainOptions options = {.loss = LossKind::squared_epsilon};
  for (const double first : {0.0, 0.32 * largest}) {
    const CostSearch found = find_cost_and_epsilon(data, 3, 0.25, first, options).value();
    double epsilon = found.trials.front().epsilon, least = 1e300;
    EXPECT_DOUBLE_EQ(epsilon, (first > 0 ? 6 : 19) * largest / 20);
    for (const CostTrial& trial : found.trials) {
      EXPECT_LE(trial.epsilon, epsilon);
      epsilon = trial.epsilon;
      least = std::min(least, trial.squared_error);
    }
    EXPECT_EQ(epsilon, 0);
    EXPECT_EQ(found.best.squared_error, least);
    TrainOptions of_best = options;
    of_best.epsilon = found.best.epsilon;
    of_best.cost = found.best.cost;
    const double rmse = cross_validate(data, 3, of_best).value().regression->rmse;
    EXPECT_NEAR(rmse * rmse, least, 0.02 * least);
  }
  EXPECT_EQ(find_cost_and_epsilon(data, 3, 0, -1, options).error().id, "usage.value");
  EXPECT_EQ(find_cost_and_epsilon(data, 3, 0, 0, {}).error().id, "usage.value");
}

TEST(FindCost, RefusesWhatMakesNoSense) {
  const Dataset data = testing::random_dataset({.rows = 50});
  const auto id = [&](int folds, double first, const TrainOptions& options) {
    return find_cost(data, folds, first, options).error().id;
  };
  EXPECT_EQ(id(3, 2000, {}), "usage.value");
  EXPECT_EQ(id(3, -1, {}), "usage.value");
  EXPECT_EQ(id(1, 0, {}), "usage.value");
  EXPECT_EQ(id(3, 0, {.lambda = 1}), "usage.value");
  EXPECT_EQ(id(3, 0, {.path = {1, 2}}), "usage.value");
}

}  // namespace
}  // namespace hinge
