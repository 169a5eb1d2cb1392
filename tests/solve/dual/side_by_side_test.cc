// Lanes side by side in one process: what holds of every epoch, and that the number of threads does
// not show.
#include "solve/dual/side_by_side.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>
#include <variant>
#include <vector>

#include "hinge/train.h"
#include "hinge/verify.h"
#include "objective/loss.h"
#include "solve/dual/lane.h"
#include "support.h"

namespace hinge {
namespace {

using testing::random_dataset;

// Enough entries for three lanes.
Dataset some_rows(Precision precision = Precision::f32, std::uint64_t rows = 26'000) {
  return random_dataset({.rows = rows,
                         .features = 40,
                         .nonzeros = 15,
                         .noise = 0.2,
                         .seed = 5,
                         .precision = precision});
}

TEST(SideBySide, AsManyLanesAsEntriesAreWorth) {
  EXPECT_EQ(lanes_worth(0, 40, 16), 1U);
  const double round = entries_a_round(40);
  EXPECT_EQ(lanes_worth(2 * DualTuning::kLeastRounds * round - 1, 40, 16), 1U);
  EXPECT_EQ(lanes_worth(2 * DualTuning::kLeastRounds * round, 40, 16), 2U);
  EXPECT_EQ(lanes_worth(1e12, 40, 16), 16U);
  EXPECT_EQ(lanes_worth(1e12, 40, 3), 3U);
  EXPECT_GT(entries_a_round(1'000'000), round);
}

// Variables stay in their box, w is that of the variables, and D does not fall.
TEST(SideBySide, EpochsRaiseTheDual) {
  const Dataset data = some_rows(Precision::f64);
  const auto& m = std::get<CsrView<double>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  for (const double cost : {0.01, 10.0}) {
    const Problem problem = {.data = &data, .y = y, .cost = cost};
    Pool pool(2);
    DualSetup setup;
    setup.lanes = 3;
    Lane<Hinge, double> lane(problem, m, setup, pool);
    double before = 0;
    for (std::uint64_t round = 0; round < 6; ++round) {
      lane.working.choose(data.rows(), 1, pool, [&](std::size_t i) {
        return WorkingRows<double>::Chosen{.row = i,
                                           .y = y[i],
                                           .alpha = lane.alpha[i],
                                           .curvature = lane.squares[i],
                                           .moves = true};
      });
      lane.share_out();
      ASSERT_EQ(lane.lanes(), 3U);
      lane.shuffle(1, round, 0, {});
      lane.working.lay_out(false, pool);
      EpochSums saw;
      std::uint64_t touched = 0;
      ASSERT_TRUE(lane.epoch(
          {.backward = round % 2 == 1}, touched, [] { return false; }, saw));
      EXPECT_EQ(saw.visits, data.rows());
      EXPECT_EQ(touched, data.rows());
      lane.store();
      std::vector<double> w(data.features());
      double gain = 0;
      for (std::uint64_t i = 0; i < data.rows(); ++i) {
        ASSERT_GE(lane.alpha[i], 0);
        ASSERT_LE(lane.alpha[i], cost);
        gain += lane.alpha[i];
        best_simd().add(row_of(m, i), lane.alpha[i] * y[i], w.data());
      }
      const double scale = std::abs(*std::ranges::max_element(w)) + 1;
      for (std::size_t j = 0; j < w.size(); ++j) {
        ASSERT_NEAR(lane.iterate.w[j], w[j], 1e-10 * scale);
      }
      const double dual = gain - std::inner_product(w.begin(), w.end(), w.begin(), 0.0) / 2;
      EXPECT_GT(dual, before) << cost << " " << round;
      before = dual;
    }
  }
}

// An epoch that is told to stop says so.
TEST(SideBySide, Stops) {
  const Dataset data = some_rows();
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y};
  Pool pool(2);
  DualSetup setup;
  setup.lanes = 2;
  const auto& m = std::get<CsrView<float>>(data.view());
  Lane<Hinge, float> lane(problem, m, setup, pool);
  lane.working.choose(data.rows(), 1, pool, [&](std::size_t i) {
    return WorkingRows<float>::Chosen{
        .row = i, .y = y[i], .alpha = 0, .curvature = DescentRow::kUnknown, .moves = true};
  });
  lane.share_out();
  lane.working.lay_out(false, pool);
  EpochSums saw;
  std::uint64_t touched = 0;
  int asked = 0;
  EXPECT_FALSE(lane.epoch(
      {}, touched, [&] { return ++asked > 2; }, saw));
  EXPECT_EQ(asked, 3);
}

struct Case {
  LossKind loss;
  double cost;
  bool free_bias;
};
class SideBySideTraining : public ::testing::TestWithParam<Case> {};

// The same model on any number of threads; with another number of lanes another one, as near.
TEST_P(SideBySideTraining, LanesCountAndThreadsDoNot) {
  const auto [loss, cost, free_bias] = GetParam();
  const Dataset data = some_rows();
  TrainOptions options = {.cost = cost, .gap = 1e-2, .solver = Solver::dual};
  options.loss = loss;
  options.free_bias = free_bias;
  std::vector<double> one;
  for (const int lanes : {1, 2, 4}) {
    std::vector<double> first;
    for (const int threads : {1, 3}) {
      options.lanes = lanes;
      options.threads = threads;
      const Result<TrainReport> report = train(data, options);
      ASSERT_TRUE(report.ok()) << report.error().message;
      EXPECT_EQ(report->model.origin.lanes, lanes);
      EXPECT_LE(report->model.problems[0].certificate.relative_gap, 1e-2);
      if (first.empty()) first = report->model.weights;
      EXPECT_EQ(report->model.weights, first) << lanes << " " << threads;
    }
    if (lanes == 1) one = first;
    EXPECT_EQ(first == one, lanes == 1);
  }
}
INSTANTIATE_TEST_SUITE_P(Losses, SideBySideTraining,
                         ::testing::Values(Case{LossKind::hinge, 1, false},
                                           Case{LossKind::hinge, 0.01, true},
                                           Case{LossKind::squared_hinge, 0.1, false},
                                           Case{LossKind::squared_hinge, 0.1, true},
                                           Case{LossKind::logistic, 0.1, false},
                                           Case{LossKind::logistic, 0.1, true},
                                           Case{LossKind::epsilon_insensitive, 0.1, false},
                                           Case{LossKind::squared_epsilon, 0.1, true}));

// By default lanes follow the threads asked for, where there is enough for them to do.
TEST(SideBySide, LanesFollowThreads) {
  const auto lanes = [](const Dataset& data, TrainOptions options) {
    options.gap = 0.1;
    options.solver = Solver::dual;
    return train(data, options).value().model.origin.lanes;
  };
  const Dataset data = some_rows(Precision::f32, 52'000);
  for (const auto& [threads, expected] : {std::tuple{1, 1}, {2, 2}, {3, 2}, {4, 2}, {8, 2}}) {
    EXPECT_EQ(lanes(data, {.threads = threads}), expected) << threads;
  }
  EXPECT_EQ(lanes(random_dataset({.rows = 2000}), {.threads = 8}), 1);
  const Dataset classes =
      random_dataset({.rows = 52'000, .features = 40, .nonzeros = 15, .classes = 3});
  EXPECT_EQ(lanes(classes, {.threads = 4}), 1);  // which share the threads
}

}  // namespace
}  // namespace hinge
