// Checkpoints as a user of the library sees them; contract/checkpoint_contract_test.cc has what
// every solver must do, cli/checkpoint_test.py what happens to files.
#include "hinge/checkpoint.h"

#include <gtest/gtest.h>

#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;

std::string model_bytes(const std::vector<TrainReport>& reports) {
  const TempFolder folder(testing::memory_folder());
  std::vector<Model> models;
  for (const TrainReport& report : reports) models.push_back(report.model);
  EXPECT_TRUE(save_models(models, folder / "m").ok());
  return testing::read_file(folder / "m");
}

struct Case {
  const char* name;
  TrainOptions options;
  std::uint64_t classes = 2;
};

std::vector<Case> cases() {
  const auto pegasos = [](PegasosOptions options) {
    return TrainOptions{.solver = Solver::pegasos, .pegasos = options};
  };
  const KernelFunction rbf = {.kind = KernelKind::rbf, .gamma = 0.2};
  const auto path = [](TrainOptions options) {
    options.path = {0.1, 1, 10};
    return options;
  };
  return {{"dual", {.gap = 1e-5}},
          {"dual_path", path({.gap = 1e-4, .free_bias = true})},
          {"focus_path", path({.gap = 1e-4, .solver = Solver::focus}), 3},
          {"newton_path", path({.gap = 1e-6, .solver = Solver::newton, .free_bias = true})},
          {"newton_classes", {.gap = 1e-6, .solver = Solver::newton}, 3},
          {"active_per_row_path", path({.gap_per_row = 1e-3, .solver = Solver::active}), 3},
          {"dual_absolute_classes", {.gap_absolute = 0.02}, 5},
          {"newton_target", {.target = 1, .solver = Solver::newton}},
          {"pegasos_path", path(pegasos({.epochs = 4})), 5},
          {"dual_classes", {.gap = 1e-4}, 5},
          {"focus_classes", {.gap = 1e-4, .solver = Solver::focus}, 3},
          {"pegasos_classes", pegasos({.epochs = 8}), 7},
          {"kernel_classes", pegasos({.epochs = 3, .kernel = rbf, .budget = 15}), 3}};
}

class TrainCheckpoints : public ::testing::TestWithParam<Case> {};

TEST_P(TrainCheckpoints, EveryFileLeadsToTheSameModel) {
  const Dataset data = testing::random_dataset(
      {.rows = 160, .features = 12, .noise = 0.2, .classes = GetParam().classes});
  TrainOptions options = GetParam().options;
  options.threads = 1;
  const std::vector<TrainReport> undisturbed = train_path(data, options).value();
  const std::string expected = model_bytes(undisturbed);

  const TempFolder folder(testing::memory_folder());
  std::vector<std::string> files;
  TrainControl control;
  control.checkpoint = {.path = folder / "ck", .seconds = 0};
  control.observer = [&](const Progress&) {  // from one thread at a time
    if (!std::filesystem::exists(folder / "ck")) return;
    std::string bytes = testing::read_file(folder / "ck");
    if (files.empty() || files.back() != bytes) files.push_back(std::move(bytes));
  };
  options.threads = 3;
  EXPECT_EQ(model_bytes(train_path(data, options, control).value()), expected);
  ASSERT_FALSE(files.empty());
  EXPECT_TRUE(looks_like_checkpoint(folder / "ck"));
  const std::size_t step = files.size() / 8 + 1;
  for (std::size_t k = 0; k < files.size(); k += step) {
    testing::write_file(folder / "old", files[k]);
    options.threads = 1 + static_cast<int>(k % 4);
    const auto reports = train_path(data, options, {.resume = folder / "old"}).value();
    EXPECT_EQ(model_bytes(reports), expected) << k;
    ASSERT_EQ(reports.size(), undisturbed.size());
    for (std::size_t c = 0; c < reports.size(); ++c) {
      EXPECT_EQ(reports[c].iterations, undisturbed[c].iterations);
      EXPECT_EQ(reports[c].rows_touched, undisturbed[c].rows_touched);
      EXPECT_EQ(reports[c].status, undisturbed[c].status);
    }
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"ck", "ck.previous", "old"}));
}

INSTANTIATE_TEST_SUITE_P(All, TrainCheckpoints, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// Far from the origin descent crawls, and newton goes on: before and after that a checkpoint leads
// to the same model.
TEST(TrainCheckpoint, LeadsToTheSameModelWhereSolversChange) {
  const Dataset data = testing::random_dataset(
      {.rows = 60, .features = 30, .nonzeros = 30, .precision = Precision::f64, .offset = 1e3});
  TrainOptions options = {.cost = 100, .gap = 1e-6, .bias = 1, .threads = 1};
  const TrainReport undisturbed = train(data, options).value();
  ASSERT_NE(undisturbed.model.origin.because.find("newton went on"), std::string::npos);
  EXPECT_EQ(undisturbed.status, StopReason::converged);
  const std::string expected = testing::model_bytes(undisturbed.model);

  const TempFolder folder(testing::memory_folder());
  std::vector<std::string> files;
  TrainControl control;
  control.checkpoint = {.path = folder / "ck", .seconds = 0};
  double last_gap = 2, last_passes = 0;
  control.observer = [&](const Progress& p) {
    EXPECT_LE(p.relative_gap, last_gap);  // also from one solver to the next
    EXPECT_GE(p.data_passes, last_passes);
    last_gap = p.relative_gap;
    last_passes = p.data_passes;
    if (!std::filesystem::exists(folder / "ck")) return;
    std::string bytes = testing::read_file(folder / "ck");
    if (files.empty() || files.back() != bytes) files.push_back(std::move(bytes));
  };
  EXPECT_EQ(testing::model_bytes(train(data, options, control).value().model), expected);
  ASSERT_GT(files.size(), 4U);
  const std::size_t step = files.size() / 12 + 1;
  for (std::size_t back = 0; back < files.size(); back += step) {  // the last ones are newton's
    testing::write_file(folder / "old", files[files.size() - 1 - back]);
    const TrainReport report = train(data, options, {.resume = folder / "old"}).value();
    EXPECT_EQ(testing::model_bytes(report.model), expected) << back;
    EXPECT_EQ(report.iterations, undisturbed.iterations);
    EXPECT_EQ(report.rows_touched, undisturbed.rows_touched);
  }
}

TEST(TrainCheckpoint, IsWrittenOnRequestAndSaysWhatItIs) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 20, .noise = 0.2});
  const TempFolder folder(testing::memory_folder());
  std::atomic<std::uint64_t> requests = 0;
  TrainControl control;
  control.checkpoint = {.path = folder / "ck", .seconds = 1e9, .requests = &requests};
  TrainOptions options = {.cost = 3, .gap = 1e-7};
  ASSERT_TRUE(train(data, options, control).ok());
  EXPECT_TRUE(folder.names().empty());  // nobody asked, and it was soon over
  control.observer = [&](const Progress& progress) { requests += progress.iteration > 0 ? 1 : 0; };
  ASSERT_TRUE(train(data, options, control).ok());
  std::vector<Error> warnings;
  const CheckpointInfo info = read_checkpoint(folder / "ck", warnings).value();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(info.solver, "auto:dual");
  EXPECT_EQ(info.rows, 300U);
  EXPECT_EQ(info.problems, 1U);
  const std::pair<std::string, std::string> cost = {"cost", "3"};
  EXPECT_NE(std::ranges::find(info.options, cost), info.options.end());

  options.cost = 4;
  const Result<TrainReport> other = train(data, options, {.resume = folder / "ck"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().id, "checkpoint.mismatch");
  EXPECT_EQ(other.error().message, "--cost: 3 in the checkpoint, 4 now");
}

TEST(TrainCheckpoint, TheLockIsHeldWhileItTrains) {
  const Dataset data = testing::random_dataset({.rows = 100, .features = 10});
  const TempFolder folder(testing::memory_folder());
  TrainControl control;
  control.checkpoint.path = folder / "ck";
  std::string second;
  control.observer = [&](const Progress&) {
    const Result<TrainReport> other = train(data, {}, {.checkpoint = {.path = folder / "ck"}});
    second = other.ok() ? "" : other.error().id;
  };
  EXPECT_TRUE(train(data, {}, control).ok());
  EXPECT_EQ(second, "lock.held");
}

}  // namespace
}  // namespace hinge
