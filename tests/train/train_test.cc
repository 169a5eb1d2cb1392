// train() and verify() as a user of the library sees them.
#include "hinge/train.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "hinge/metrics.h"
#include "hinge/verify.h"
#include "support.h"

namespace hinge {
namespace {

using testing::accuracy;
using testing::model_bytes;
using testing::RandomData;
using testing::TempFolder;

TEST(Train, LearnsTwoClasses) {
  const Dataset data = testing::random_dataset({.rows = 500, .features = 30, .noise = 0.02});
  const TrainReport report = train(data, {.cost = 10, .gap = 1e-4}).value();
  EXPECT_EQ(report.status, StopReason::converged);
  EXPECT_LE(report.model.certificate().relative_gap, 1e-4);
  EXPECT_EQ(report.model.labels, (std::vector<std::int64_t>{1, -1}));
  EXPECT_GT(accuracy(report.model, data), 0.95);
}

TEST(Train, LearnsSeveralClassesOneAgainstTheRest) {
  const Dataset data =
      testing::random_dataset({.rows = 900, .features = 12, .noise = 0.0, .seed = 2, .classes = 5});
  const TrainReport report = train(data, {.cost = 100, .gap = 1e-3}).value();
  ASSERT_EQ(report.model.problems.size(), 5U);
  EXPECT_EQ(report.model.labels, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_GT(accuracy(report.model, data), 0.75);
  // Every class is the two-class problem "this label against the others".
  std::vector<std::int64_t> labels;
  for (const std::int64_t label : data.labels()) labels.push_back(label == 3 ? 1 : -1);
  const Dataset binary = Dataset::wrap(data.view(), labels, {}, nullptr).value();
  const TrainReport alone = train(binary, {.cost = 100, .gap = 1e-3}).value();
  EXPECT_EQ(alone.model.problems[0].certificate.primal,
            report.model.problems[3].certificate.primal);
}

TEST(Train, SameBytesForAnyThreadsAndInstructionSet) {
  for (const std::uint64_t classes : {std::uint64_t{2}, std::uint64_t{4}}) {
    const Dataset data =
        testing::random_dataset({.rows = 700, .features = 50, .nonzeros = 12, .classes = classes});
    TrainOptions options = {.gap = 1e-5, .bias = 1, .threads = 1};
    const std::string expected = model_bytes(train(data, options).value().model);
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      EXPECT_EQ(model_bytes(train(data, options).value().model), expected) << threads;
    }
    for (const auto set : {InstructionSet::scalar, InstructionSet::avx2, InstructionSet::avx512}) {
      options.instruction_set = set;
      const Result<TrainReport> report = train(data, options);
      if (!report.ok()) {
        EXPECT_EQ(report.error().id, "system.cpu");
        continue;
      }
      EXPECT_EQ(model_bytes(report->model), expected);
    }
  }
}

// With another goal no relative gap is asked for; each class has its own goals, and so has each
// cost.
TEST(Train, EndsAtTheGoalThatWasAsked) {
  const Dataset data =
      testing::random_dataset({.rows = 300, .features = 20, .noise = 0.3, .classes = 3});
  const TrainOptions tight = {.cost = 0.5, .gap = 1e-8};
  const Model best = train(data, tight).value().model;
  for (const Solver solver : {Solver::dual, Solver::newton, Solver::focus, Solver::pegasos}) {
    const TrainReport rough =
        train(data, {.cost = 0.5, .gap_per_row = 0.05, .solver = solver}).value();
    EXPECT_EQ(rough.status, StopReason::converged);
    EXPECT_EQ(rough.why, "");
    EXPECT_EQ(rough.model.origin.gap, 0);
    EXPECT_EQ(rough.model.origin.gap_per_row, 0.05);
    EXPECT_GT(rough.model.certificate().relative_gap, kDefaultGap);
    for (const BinaryProblem& p : rough.model.problems) {
      EXPECT_LE((p.certificate.primal - p.certificate.dual) / (0.5 * 300), 0.05);
    }
    const VerifyReport verified = verify(rough.model, data).value();
    EXPECT_TRUE(verified.agrees) << verified.why;
  }
  double largest = 0;
  for (const BinaryProblem& p : best.problems) largest = std::max(largest, p.certificate.primal);
  const TrainReport at = train(data, {.cost = 0.5, .target = 1.01 * largest}).value();
  EXPECT_EQ(at.status, StopReason::converged);
  for (const BinaryProblem& p : at.model.problems) {
    EXPECT_LE(p.certificate.primal, 1.01 * largest);
  }
  const std::vector<TrainReport> path =
      train_path(data, {.path = {0.1, 1}, .gap_per_row = 0.01}).value();
  for (const TrainReport& report : path) {
    const Origin& origin = report.model.origin;
    EXPECT_EQ(report.status, StopReason::converged);
    for (const BinaryProblem& p : report.model.problems) {
      EXPECT_LE((p.certificate.primal - p.certificate.dual) / (origin.cost * 300), 0.01);
    }
  }
}

TEST(Train, SaysWhichGoalWasNotReached) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 20, .noise = 0.3});
  const TrainReport none =
      train(data, {.gap_absolute = 1e-9, .gap_per_row = 1e-9, .max_passes = 3}).value();
  EXPECT_EQ(none.status, StopReason::limit);
  EXPECT_NE(
      none.why.find("; a primal within 1e-09 of the bound, or a primal within 1e-09 C rows of "
                    "the bound was asked for"),
      std::string::npos)
      << none.why;
  const TrainReport below = train(data, {.target = 1e-3}).value();
  EXPECT_EQ(below.status, StopReason::limit);
  EXPECT_TRUE(below.why.starts_with("no point has a primal of 0.001: the bound is ")) << below.why;
  const PegasosOptions kernel = {.epochs = 50, .kernel = {.kind = KernelKind::rbf, .gamma = 0.5}};
  const TrainReport in_kernel = train(data, {.target = 1e-3, .pegasos = kernel}).value();
  EXPECT_EQ(in_kernel.status, StopReason::limit);
  EXPECT_TRUE(in_kernel.why.starts_with("no point has a primal of 0.001: the bound is "))
      << in_kernel.why;
  ASSERT_EQ(in_kernel.warnings.size(), 1U);
  EXPECT_EQ(in_kernel.warnings[0].id, "solver.stalled");
}

// Who says that a model converged must show it.
TEST(Train, VerifyHoldsAModelToItsGoal) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 20, .noise = 0.3});
  Model model = train(data, {.gap_absolute = 1}).value().model;
  const Certificate c = model.certificate();
  EXPECT_TRUE(verify(model, data).value().agrees);
  model.origin.gap_absolute = (c.primal - c.dual) / 2;
  EXPECT_EQ(verify(model, data).value().why,
            "it says that it converged, and has none of what was asked for");
  model.origin.target = c.primal;
  EXPECT_TRUE(verify(model, data).value().agrees);
  model.origin.target = c.primal * (1 - 1e-12);
  EXPECT_FALSE(verify(model, data).value().agrees);
}

TEST(Train, LambdaIsCostInOtherWords) {
  const Dataset data = testing::random_dataset({.rows = 200});
  const TrainReport by_cost = train(data, {.cost = 0.5, .gap = 1e-6}).value();
  const TrainReport by_lambda = train(data, {.lambda = 1 / (0.5 * 200), .gap = 1e-6}).value();
  EXPECT_DOUBLE_EQ(by_lambda.model.origin.cost, 0.5);
  EXPECT_NEAR(by_cost.lambda, 0.01, 1e-15);
  EXPECT_NEAR(by_cost.model.certificate().primal, by_lambda.model.certificate().primal, 1e-9);
}

// A class weight of 3 is the same problem as a row weight of 3 on every row of the class.
TEST(Train, ClassWeightsAreRowWeights) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.2});
  std::vector<double> weights;
  for (const std::int64_t label : data.labels()) weights.push_back(label == 1 ? 3 : 1);
  const Dataset weighted = data.with_weights(weights).value();
  const Model by_class = train(data, {.gap = 1e-6, .class_weights = {{1, 3.0}}}).value().model;
  const Model by_row = train(weighted, {.gap = 1e-6}).value().model;
  EXPECT_EQ(by_class.weights, by_row.weights);
}

TEST(Train, BalancedWeightsUndoImbalance) {
  const Dataset data = testing::dataset_from_text("1 1:1\n-1 1:-1\n-1 1:-2\n-1 1:-3\n");
  const Model model = train(data, {.balanced = true}).value().model;
  ASSERT_EQ(model.origin.class_weights.size(), 2U);
  EXPECT_DOUBLE_EQ(model.origin.class_weights[0].factor, 4.0 / (2 * 3));
  EXPECT_DOUBLE_EQ(model.origin.class_weights[1].factor, 4.0 / (2 * 1));
}

TEST(Train, RefusesWhatCannotBeLearned) {
  const auto id = [](const std::string& text, const TrainOptions& options = {}) {
    const Result<TrainReport> report = train(testing::dataset_from_text(text), options);
    return report.ok() ? "" : report.error().id;
  };
  EXPECT_EQ(id("1 1:1\n1 2:1\n"), "data.one-class");
  EXPECT_EQ(id("1 1:1\n-1 2:1\n", {.cost = -1}), "usage.value");
  EXPECT_EQ(id("1 1:1\n-1 2:1\n", {.gap = 0}), "usage.value");
  const Dataset data = testing::dataset_from_text("1 1:1\n-1 2:1\n");
  EXPECT_EQ(train(data.with_weights({0, 1}).value()).error().id, "data.weights.zero");
}

TEST(Train, AllZeroRowsGiveABiasOnlyModel) {
  const Dataset data = testing::dataset_from_text("1 1:0\n-1 1:0\n1\n");
  const TrainReport report = train(data, {.gap = 1e-6, .bias = 1}).value();
  EXPECT_EQ(report.status, StopReason::converged);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_EQ(report.warnings[0].id, "data.all-zero");
  EXPECT_EQ(predict(report.model, data).value().labels[1], 1);
}

TEST(Train, LimitsAreReportedAndTheModelIsUsable) {
  const Dataset data = testing::random_dataset({.rows = 400, .noise = 0.2});
  const TrainReport report = train(data, {.cost = 100, .gap = 1e-9, .max_passes = 3}).value();
  EXPECT_EQ(report.status, StopReason::limit);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_EQ(report.warnings.back().id, "solver.limit");
  EXPECT_TRUE(verify(report.model, data).value().agrees);
  EXPECT_EQ(train(data, {.time_limit = 0}).value().status, StopReason::limit);
}

TEST(Train, AnInterruptGivesTheBestModelSoFar) {
  const Dataset data = testing::random_dataset({.rows = 400, .noise = 0.2});
  std::atomic<bool> stop{false};
  TrainControl control;
  control.stop = &stop;
  control.observer = [&](const Progress& p) { stop = p.iteration > 2; };
  const TrainReport report = train(data, {.cost = 100, .gap = 1e-12}, control).value();
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_LT(report.model.certificate().relative_gap, 1);
  EXPECT_TRUE(verify(report.model, data).value().agrees);
}

// As after an interrupt of a very large run: nothing is claimed, everything can be computed.
TEST(Train, AModelWhoseCertificateWasSkippedCanBeVerified) {
  const Dataset data = testing::random_dataset({.rows = 100, .classes = 3});
  const Model trained = train(data, {}).value().model;
  Model model = trained;
  model.problems[1].certificate = {.bound = "unknown"};
  model.origin.status = StopReason::interrupted;
  EXPECT_FALSE(model.certificate().known());
  EXPECT_FALSE(model.certificate().bounded());
  const TempFolder folder;
  ASSERT_TRUE(save_model(model, folder / "m").ok());
  const Model read = load_model(folder / "m").value();
  EXPECT_FALSE(read.certificate().known());
  const VerifyReport report = verify(read, data).value();
  EXPECT_TRUE(report.agrees);
  EXPECT_FALSE(report.stored.known());
  EXPECT_EQ(report.recomputed.primal, trained.certificate().primal);
  EXPECT_EQ(report.recomputed.dual, trained.certificate().dual);
  // What is not known has no value.
  model.problems[1].certificate.primal = 1;
  ASSERT_TRUE(save_model(model, folder / "m").ok());
  EXPECT_EQ(load_model(folder / "m").error().id, "model.content");
}

// Classes whose turn had not come are learned in the time there is after a signal.
TEST(Train, ClassesNotBegunWhenInterruptedAreSwept) {
  const Dataset data = testing::random_dataset({.rows = 2000, .noise = 0, .classes = 5});
  const std::atomic<bool> stop{true};
  TrainControl control;
  control.stop = &stop;
  const TrainReport report = train(data, {.cost = 3}, control).value();
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_EQ(report.model.candidates().size(), 5U);
  for (const BinaryProblem& problem : report.model.problems) {
    EXPECT_LT(problem.certificate.primal, 3.0 * 2000);
    EXPECT_LT(problem.certificate.relative_gap, 1);
  }
  EXPECT_GT(accuracy(report.model, data), 0.6);
  EXPECT_TRUE(verify(report.model, data).value().agrees);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_NE(report.warnings.back().message.find("0 of 5 classes"), std::string::npos);
}

// A signal in the middle: those that are done keep their gap, the others are not empty.
TEST(Train, AnInterruptBetweenClassesKeepsEveryClass) {
  const Dataset data = testing::random_dataset({.rows = 1000, .noise = 0.05, .classes = 6});
  std::atomic<bool> stop{false};
  TrainControl control;
  control.stop = &stop;
  control.observer = [&](const Progress& p) { stop = stop || p.problem == 2; };
  const TrainReport report = train(data, {.cost = 1, .threads = 1}, control).value();
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_LE(report.model.problems[0].certificate.relative_gap, 1e-3);
  EXPECT_EQ(report.model.candidates().size(), 6U);
  EXPECT_GT(accuracy(report.model, data), 0.6);
  EXPECT_NE(report.why.find("of 6 classes reached"), std::string::npos) << report.why;
  EXPECT_TRUE(verify(report.model, data).value().agrees);
}

// A limit too short for any class: a sweep over all of them comes first, and is what is left.
TEST(Train, LimitsKeepEveryClass) {
  const Dataset data = testing::random_dataset({.rows = 1500, .noise = 0.05, .classes = 6});
  const double whole = accuracy(train(data, {}).value().model, data);
  for (const Solver solver : {Solver::automatic, Solver::dual, Solver::newton, Solver::cpa}) {
    const TrainReport report =
        train(data, {.gap = 1e-9, .solver = solver, .max_passes = 5}).value();
    EXPECT_EQ(report.status, StopReason::limit);
    EXPECT_EQ(report.model.candidates().size(), 6U);
    EXPECT_GT(accuracy(report.model, data), whole - 0.15) << to_string(solver);
    EXPECT_TRUE(verify(report.model, data).value().agrees);
    EXPECT_NE(report.why.find("0 of 6 classes"), std::string::npos) << report.why;
  }
  const TrainReport none = train(data, {.time_limit = 0}).value();
  EXPECT_EQ(none.status, StopReason::limit);
  EXPECT_TRUE(verify(none.model, data).value().agrees);
}

// A limit that is not reached changes no bit: what the sweep found is not begun from.
TEST(Train, ALimitThatIsNotReachedChangesNothing) {
  const Dataset data = testing::random_dataset({.rows = 300, .classes = 4});
  const std::string expected = model_bytes(train(data, {}).value().model);
  EXPECT_EQ(model_bytes(train(data, {.time_limit = 1000}).value().model), expected);
  EXPECT_EQ(model_bytes(train(data, {.max_passes = 100'000}).value().model), expected);
}

// Of rows that cancel each other 0 is all there is to learn, and that is no reason not to win.
TEST(Train, AClassThatIsBestAtZeroMayWin) {
  const Dataset data = testing::dataset_from_text("1 1:1\n1 1:-1\n2 1:1\n3 1:-1\n2 1:2\n3 1:-2\n");
  const Model model = train(data, {}).value().model;
  ASSERT_EQ(model.weights[0], 0);
  EXPECT_EQ(model.candidates().size(), 3U);
}

// A sweep that fails where the solver does not: it was only for want of something better.
TEST(Train, ASweepThatFailsIsDoneWithout) {
  std::string text;
  Random random(3);
  for (int i = 0; i < 90; ++i) {
    text += fmt::format("{} 1:{:.3f}e150 2:{:.3f}e150\n", i % 3, random.uniform() + i % 3,
                        random.uniform());
  }
  const Dataset data = testing::dataset_from_text(text, {.precision = Precision::f64});
  const TrainOptions options = {.cost = 1e6, .solver = Solver::dual};
  ASSERT_TRUE(train(data, options).ok());
  TrainOptions limited = options;
  limited.time_limit = 1000;
  EXPECT_EQ(model_bytes(train(data, limited).value().model),
            model_bytes(train(data, options).value().model));
}

// Its score is 0 on every row, and others are below that: it never wins all the same.
TEST(Train, AClassOfWhichNothingWasLearnedIsNeverPredicted) {
  const Dataset data = testing::random_dataset({.rows = 400, .classes = 4});
  Model model = train(data, {}).value().model;
  std::fill_n(model.weights.begin() + static_cast<std::ptrdiff_t>(model.width()), model.width(), 0);
  EXPECT_EQ(model.candidates().size(), 4U);  // 0 is proved to be its best, so it says
  model.problems[1].certificate.relative_gap = 1;
  EXPECT_EQ(model.candidates(), (std::vector<std::size_t>{0, 2, 3}));
  const Predictions found = predict(model, data).value();
  EXPECT_EQ(std::ranges::count(found.labels, 1), 0);
  std::size_t others_below = 0;
  for (std::uint64_t i = 0; i < data.rows(); ++i) {
    const double* const scores = &found.scores[4 * i];
    EXPECT_EQ(scores[1], 0);
    if (std::max({scores[0], scores[2], scores[3]}) < 0) ++others_below;
  }
  EXPECT_GT(others_below, 0U);
  // Where nothing was learned at all, the first of equals is.
  std::ranges::fill(model.weights, 0.0);
  for (BinaryProblem& problem : model.problems) problem.certificate.relative_gap = 1;
  EXPECT_EQ(model.candidates().size(), 4U);
  EXPECT_EQ(predict(model, data).value().labels[0], 0);
}

Dataset far_from_origin(std::uint64_t rows, std::uint64_t columns, double offset) {
  return testing::random_dataset({.rows = rows,
                                  .features = columns,
                                  .nonzeros = columns,
                                  .precision = Precision::f64,
                                  .offset = offset});
}

// Descent crawls there; whatever goes on has a model that is proved.
TEST(TrainAuto, FarFromTheOriginItChangesSolver) {
  const Dataset data = far_from_origin(200, 60, 1e4);
  for (const double bias : {0.0, 1.0}) {
    TrainOptions options = {.cost = 1000, .bias = bias, .threads = 1};
    const TrainReport report = train(data, options).value();
    EXPECT_EQ(report.status, StopReason::converged);
    EXPECT_TRUE(report.model.origin.because.ends_with("newton went on from there"))
        << report.model.origin.because;
    EXPECT_TRUE(verify(report.model, data).value().agrees);
    options.threads = 4;
    EXPECT_EQ(model_bytes(train(data, options).value().model), model_bytes(report.model));
    options.max_passes = 100'000;
    EXPECT_EQ(model_bytes(train(data, options).value().model), model_bytes(report.model));
  }
}

// A signal just where newton takes over: what descent had found is not lost.
TEST(TrainAuto, AnInterruptAtTheChangeKeepsPointAndBound) {
  const Dataset data = far_from_origin(60, 30, 1e3);
  std::atomic<bool> stop{false};
  TrainControl control;
  control.stop = &stop;
  Progress last;
  last.iteration = UINT64_MAX;
  control.observer = [&](const Progress& p) {
    if (p.iteration == last.iteration && p.iteration > 0) stop = true;  // newton's first
    if (!stop) last = p;
  };
  const TrainReport report = train(data, {.cost = 100, .bias = 1, .threads = 1}, control).value();
  ASSERT_TRUE(stop);
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_LE(report.model.certificate().primal, last.primal * (1 + 1e-6));
  EXPECT_GE(report.model.certificate().dual, last.dual * (1 - 1e-6));
  EXPECT_LT(report.model.certificate().primal, 0.9 * 100 * 60);
}

TEST(TrainAuto, SeveralClassesChangeEachForItself) {
  const Dataset data = testing::random_dataset({.rows = 120,
                                                .features = 40,
                                                .nonzeros = 40,
                                                .precision = Precision::f64,
                                                .offset = 1e3,
                                                .classes = 3});
  const TrainReport report = train(data, {.cost = 100}).value();
  EXPECT_EQ(report.status, StopReason::converged);
  EXPECT_NE(report.model.origin.because.find("of 3 problems"), std::string::npos)
      << report.model.origin.because;
}

// A free bias takes up the mean of the rows, and descent alone is quick.
TEST(TrainDual, WithAFreeBiasRowsAreCentred) {
  for (const double offset : {1e2, 1e5}) {
    const Dataset data = far_from_origin(300, 10, offset), near = far_from_origin(300, 10, 0);
    const TrainOptions options = {.gap = 1e-4, .solver = Solver::dual, .free_bias = true};
    const TrainReport report = train(data, options).value();
    EXPECT_EQ(report.status, StopReason::converged);
    EXPECT_TRUE(verify(report.model, data).value().agrees);
    const TrainReport expected = train(near, options).value();
    EXPECT_NEAR(report.model.certificate().primal, expected.model.certificate().primal,
                2e-4 * expected.model.certificate().primal);
    EXPECT_LT(report.data_passes, 20 * expected.data_passes + 100);
    // Another run may begin there.
    const TrainReport again = train(data, options, {.start = &report.model}).value();
    EXPECT_LT(again.data_passes, report.data_passes);
  }
}

// The number of a column says nothing about how many there are.
TEST(TrainAuto, CountsColumnsThatOccur) {
  std::string near, far;
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    std::string row = i % 2 == 0 ? "1" : "-1";
    for (int j = 1; j <= 30; ++j) {
      row += fmt::format(" {}:{:.3f}", j, 3 * random.uniform() + (i % 2) * 0.3);
    }
    near += row + fmt::format(" 31:{}\n", i % 3);
    far += row + fmt::format(" 4294967293:{}\n", i % 3);
  }
  const TrainOptions options = {.cost = 10};
  const TrainReport a = train(testing::dataset_from_text(near), options).value(),
                    b = train(testing::dataset_from_text(far), options).value();
  EXPECT_EQ(a.model.origin.solver, "auto:newton");
  EXPECT_EQ(b.model.origin.solver, a.model.origin.solver);
  EXPECT_EQ(b.model.origin.because, a.model.origin.because);
  EXPECT_EQ(b.model.certificate().primal, a.model.certificate().primal);
  EXPECT_EQ(b.model.columns.size(), 31U);
}

// Of many sparse rows of few columns newton is the one for a smooth loss, at costs at which it is
// not for the hinge.
TEST(TrainAuto, KnowsTheLoss) {
  for (const std::uint64_t rows : {6000U, 32000U}) {  // without samples, and with one
    const Dataset data =
        testing::random_dataset({.rows = rows, .features = 100, .nonzeros = 9, .noise = 0.1});
    const auto taken = [&](LossKind loss, double hardness) {
      double square = 0;
      const auto& m = std::get<CsrView<float>>(data.view());
      for (std::uint64_t k = 0; k < m.nonzeros(); ++k) square += std::pow(m.values[k], 2);
      TrainOptions options = {.cost = hardness * static_cast<double>(rows) / square, .gap = 1e-3};
      options.loss = loss;
      return train(data, options).value().model.origin.solver;
    };
    const std::string few = rows < 32000 ? "auto:dual" : "auto:newton";
    EXPECT_EQ(taken(LossKind::hinge, 1.5), "auto:dual");
    EXPECT_EQ(taken(LossKind::squared_hinge, 1.8), "auto:newton");
    EXPECT_EQ(taken(LossKind::squared_hinge, 0.5), few);
    EXPECT_EQ(taken(LossKind::squared_hinge, 0.1), "auto:dual");
    EXPECT_EQ(taken(LossKind::logistic, 5), "auto:newton");
    EXPECT_EQ(taken(LossKind::logistic, 0.5), few);
    EXPECT_EQ(taken(LossKind::logistic, 0.05), "auto:dual");
  }
}

// Every solver that promises it ends on what it cannot solve, and says why.
TEST(Train, StallsHaveAReason) {
  const Dataset data = far_from_origin(30, 10, 1e6);
  std::size_t stalls = 0;
  std::vector<Solver> solvers = {Solver::ocas3};
  if (!testing::slow()) solvers.insert(solvers.end(), {Solver::dual, Solver::newton});
  for (const Solver solver : solvers) {
    const TrainReport report = train(data, {.cost = 1e4, .gap = 1e-6, .solver = solver}).value();
    if (report.status == StopReason::converged) continue;
    EXPECT_EQ(report.status, StopReason::limit);
    ASSERT_FALSE(report.warnings.empty());
    EXPECT_EQ(report.warnings.back().id, "solver.stalled") << to_string(solver);
    EXPECT_FALSE(report.why.empty());
    ++stalls;
  }
  EXPECT_GT(stalls, 0U);
}

// Two rows that cannot be told apart, as far from the origin as may be.
TEST(Train, TwinsEnd) {
  for (const char* const length : {"100", "100000", "1e8"}) {
    const Dataset data = testing::dataset_from_text(fmt::format("1 1:{0}\n-1 1:{0}\n", length));
    for (const Solver solver : {Solver::automatic, Solver::dual, Solver::newton, Solver::focus}) {
      const TrainReport report = train(data, {.solver = solver, .free_bias = true}).value();
      EXPECT_TRUE(report.status == StopReason::converged || !report.why.empty());
      if (solver == Solver::dual) {
        EXPECT_EQ(report.status, StopReason::converged) << length;
      }
    }
  }
}

// Scores that overflow are an error, not a ranking.
TEST(Train, ScoresThatAreNotFiniteAreRefused) {
  const Dataset data =
      testing::dataset_from_text("1 1:1e150 2:1e150\n-1 1:1\n", {.precision = Precision::f64});
  Model model = train(testing::dataset_from_text("1 1:1\n-1 2:1\n")).value().model;
  model.weights = {1e300, -1e300};
  EXPECT_EQ(predict(model, data).error().id, "solver.nonfinite");
}

// Numbers so far apart that no step changes anything: the run ends and says so.
TEST(Train, EndsWhereNothingMoves) {
  const Dataset data = testing::dataset_from_text(
      "1 1:1e100 2:1e-100\n-1 1:1e100 2:-1e-100\n1 1:-1e100 2:1e-100\n-1 1:-1e100 2:-1e-100\n",
      {.precision = Precision::f64});
  const TrainReport report = train(data, {.time_limit = 60}).value();
  EXPECT_NE(report.status, StopReason::converged);
  EXPECT_TRUE(verify(report.model, data).value().agrees);
}

TEST(Train, CrossValidationPredictsRowsNotTrainedOn) {
  // Labels drawn without looking at the rows cannot be predicted; trained rows can be memorised.
  const Dataset noise =
      testing::random_dataset({.rows = 300, .features = 400, .nonzeros = 50, .noise = 1});
  const TrainOptions options = {.cost = 100};
  EXPECT_GT(accuracy(train(noise, options).value().model, noise), 0.95);
  EXPECT_NEAR(cross_validate(noise, 5, options).value().accuracy, 0.5, 0.15);

  const Dataset data = testing::random_dataset({.rows = 600, .noise = 0.02, .classes = 3});
  const Metrics metrics = cross_validate(data, 4, {.cost = 10}).value();
  EXPECT_EQ(metrics.rows, 600U);
  EXPECT_GT(metrics.accuracy, 0.7);
  EXPECT_EQ(cross_validate(data, 1).error().id, "usage.value");
  EXPECT_EQ(cross_validate(testing::dataset_from_text("1 1:1\n1 1:2\n-1 1:1\n"), 2).error().id,
            "data.folds");
}

TEST(Verify, AgreesWithEveryModelAndNoticesEveryChange) {
  for (const std::uint64_t classes : {std::uint64_t{2}, std::uint64_t{3}}) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const Dataset data = testing::random_dataset(
          {.rows = 300, .noise = 0.2, .precision = precision, .classes = classes});
      const Model model =
          train(data, {.gap = 1e-5, .bias = 2, .class_weights = {{1, 2.0}}}).value().model;
      const VerifyReport good = verify(model, data).value();
      EXPECT_TRUE(good.agrees);
      EXPECT_EQ(good.recomputed.primal, good.stored.primal);
      EXPECT_EQ(good.recomputed.dual, good.stored.dual);

      Model other = model;
      other.weights[3] += 1e-3;
      EXPECT_FALSE(verify(other, data).value().agrees);
      other = model;
      other.weights[3] = 1e200;  // the primal is infinite
      EXPECT_FALSE(verify(other, data).value().agrees);
      other = model;
      other.problems[0].bias += 1e-3;
      EXPECT_FALSE(verify(other, data).value().agrees);
      other = model;
      other.problems[0].certificate.relative_gap /= 2;
      EXPECT_FALSE(verify(other, data).value().agrees);
      other = model;
      other.problems[0].certificate.dual *= 1.001;
      EXPECT_FALSE(verify(other, data).value().agrees);
      other = model;
      ASSERT_FALSE(other.problems[0].witness.free.empty());
      other.problems[0].witness.free[0] *= 0.5;
      EXPECT_FALSE(verify(other, data).value().agrees);
    }
  }
}

TEST(Verify, RefusesOtherData) {
  const Dataset data = testing::random_dataset({.rows = 100});
  const Model model = train(data).value().model;
  for (const RandomData& other : {RandomData{.rows = 99}, RandomData{.rows = 100, .seed = 2},
                                  RandomData{.rows = 100, .precision = Precision::f64}}) {
    EXPECT_EQ(verify(model, testing::random_dataset(other)).error().id, "verify.data");
  }
  const Dataset weighted = data.with_weights(std::vector<double>(100, 1.0)).value();
  EXPECT_EQ(verify(model, weighted).error().id, "verify.data");
}

// A model of fewer features that claims the fingerprint of the data must not be indexed beyond its
// end.
TEST(Verify, RefusesAForgedNumberOfFeatures) {
  const Dataset data = testing::random_dataset({.rows = 50, .features = 20});
  Model model = train(data).value().model;
  model.features = 3;
  model.weights.resize(3);
  EXPECT_EQ(verify(model, data).error().id, "verify.data");
}

TEST(Verify, NoticesABiasOfNoFeature) {
  const Dataset data = testing::random_dataset({.rows = 50});
  Model model = train(data).value().model;
  model.problems[0].bias = 1000;
  EXPECT_FALSE(verify(model, data).value().agrees);
}

TEST(Verify, ABoundAboveThePrimalIsRefuted) {
  const Dataset data = testing::random_dataset({.rows = 50});
  Model model = train(data, {.witness = false}).value().model;
  EXPECT_TRUE(verify(model, data).value().agrees);
  model.problems[0].certificate.dual = 2 * model.problems[0].certificate.primal;
  EXPECT_FALSE(verify(model, data).value().agrees);
}

TEST(Verify, FindsABoundWhereThereIsNone) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.2});
  const Model model = train(data, {.gap = 1e-4, .witness = false}).value().model;
  const VerifyReport plain = verify(model, data).value();
  EXPECT_TRUE(plain.agrees);
  EXPECT_EQ(plain.recomputed.bound, "none");
  const VerifyReport proved = verify(model, data, {.prove = true, .gap = 1e-3}).value();
  EXPECT_TRUE(proved.agrees);
  EXPECT_EQ(proved.recomputed.bound, "proved");
  EXPECT_LE(proved.recomputed.relative_gap, 1e-3);
  EXPECT_LE(proved.recomputed.dual, proved.recomputed.primal);
}

// ---- Pegasos

constexpr Solver kPegasos = Solver::pegasos;

TEST(TrainPegasos, RunsItsEpochsAndSaysSo) {
  const Dataset data = testing::random_dataset({.rows = 400, .noise = 0.2});
  const TrainReport report = train(data, {.solver = kPegasos}).value();
  EXPECT_EQ(report.status, StopReason::limit);
  EXPECT_TRUE(report.warnings.empty());  // no gap was asked for, so none was missed
  EXPECT_EQ(report.model.origin.solver, "pegasos");
  EXPECT_EQ(report.model.origin.gap, 0);
  EXPECT_EQ(report.iterations, 20U * 400);
  EXPECT_LT(report.model.certificate().relative_gap, 0.2);
  EXPECT_TRUE(verify(report.model, data).value().agrees);

  const TrainReport reached = train(data, {.gap = 0.05, .solver = kPegasos}).value();
  EXPECT_EQ(reached.status, StopReason::converged);
  EXPECT_LE(reached.model.certificate().relative_gap, 0.05);
  const TrainReport missed =
      train(data, {.gap = 1e-6, .solver = kPegasos, .pegasos = {.epochs = 2}}).value();
  EXPECT_EQ(missed.status, StopReason::limit);
  ASSERT_FALSE(missed.warnings.empty());
  EXPECT_EQ(missed.warnings.back().id, "solver.limit");
}

// Classes are shared out among threads and worked on several at a time: the model is the same.
TEST(TrainPegasos, SeveralClassesForAnyThreads) {
  for (const std::uint64_t classes : {3U, 10U, 70U}) {
    const Dataset data = testing::random_dataset(
        {.rows = 700, .features = 60, .nonzeros = 10, .noise = 0.1, .classes = classes});
    TrainOptions plain = {.lambda = 0.01, .solver = kPegasos, .bias = 1};
    plain.pegasos.epochs = 5;
    TrainOptions to_a_gap = plain;  // each class stops at its own time
    to_a_gap.gap = 0.15;
    to_a_gap.pegasos.epochs = 100;
    TrainOptions limited = plain;
    limited.pegasos.check_every = 1;
    limited.max_passes = 14;
    limited.pegasos.epochs = 100;
    for (TrainOptions options : {plain, to_a_gap, limited}) {
      options.threads = 1;
      const TrainReport one = train(data, options).value();
      EXPECT_TRUE(verify(one.model, data).value().agrees);
      for (const int threads : {2, 3, 5}) {
        options.threads = threads;
        const TrainReport many = train(data, options).value();
        EXPECT_EQ(many.model.weights, one.model.weights) << classes << " " << threads;
        EXPECT_EQ(many.data_passes, one.data_passes);
        for (std::size_t k = 0; k < classes; ++k) {
          const BinaryProblem &a = many.model.problems[k], &b = one.model.problems[k];
          EXPECT_EQ(a.bias, b.bias);
          EXPECT_EQ(a.iterations, b.iterations);
          EXPECT_EQ(a.witness.states, b.witness.states);
          EXPECT_EQ(a.witness.free, b.witness.free);
        }
      }
    }
  }
}

TEST(TrainPegasos, CostsByClassAndByRow) {
  const Dataset data = testing::random_dataset({.rows = 300, .noise = 0.2});
  std::vector<double> weights(300);
  for (std::size_t i = 0; i < 300; ++i) weights[i] = data.labels()[i] == 1 ? 3 : 1;
  const TrainOptions plain = {.solver = kPegasos};
  TrainOptions by_class = plain;
  by_class.class_weights = {{1, 3.0}};
  EXPECT_EQ(train(data, by_class).value().model.weights,
            train(data.with_weights(weights).value(), plain).value().model.weights);
}

TEST(TrainDual, StartsFromTheProofOfAModel) {
  const Dataset data = testing::random_dataset({.rows = 500, .features = 40, .noise = 0.1});
  TrainControl control;
  for (const double cost : {0.01, 1.0}) {
    const TrainReport cold = train(data, {.cost = cost, .gap = 1e-5, .bias = 1}).value();
    for (const double from : {0.01 * cost, 0.5 * cost, cost, 2 * cost, 10 * cost}) {
      const Model start = train(data, {.cost = from, .gap = 1e-5, .bias = 1}).value().model;
      control.start = &start;
      const TrainReport warm = train(data, {.cost = cost, .gap = 1e-5, .bias = 1}, control).value();
      EXPECT_EQ(warm.status, StopReason::converged);
      EXPECT_NEAR(warm.model.certificate().primal, cold.model.certificate().primal,
                  1e-5 * cold.model.certificate().primal);
      EXPECT_TRUE(verify(warm.model, data).value().agrees);
      if (from == cost) {
        EXPECT_EQ(warm.iterations, 0U);
      }
      // Stopped before the first step there is a bound, and no worse one than that of 0.
      const TrainReport none =
          train(data, {.cost = cost, .bias = 1, .time_limit = 0}, control).value();
      EXPECT_GE(none.model.certificate().dual, 0);
    }
  }
  Model start = train(data, {.bias = 1, .witness = false}).value().model;
  control.start = &start;
  EXPECT_EQ(train(data, {.bias = 1}, control).error().id, "model.start");
}

TEST(TrainPegasos, StartsFromAModel) {
  const Dataset data = testing::random_dataset({.rows = 500, .features = 40, .noise = 0.1});
  const TrainOptions options = {
      .cost = 10, .solver = kPegasos, .bias = 1, .pegasos = {.epochs = 1, .t0 = 25000}};
  Model start = train(data, {.cost = 10, .gap = 1e-6, .bias = 1}).value().model;
  TrainControl control;
  control.start = &start;
  const Certificate cold = train(data, options).value().model.certificate();
  const TrainReport warm = train(data, options, control).value();
  EXPECT_LT(warm.model.certificate().primal, cold.primal);
  // The proof of the start, made on the same data, is not forgotten.
  EXPECT_GE(warm.model.certificate().dual, start.certificate().dual * (1 - 1e-12));
  EXPECT_TRUE(verify(warm.model, data).value().agrees);

  // The same hyperplane seen from the other side.
  Model turned = start;
  std::swap(turned.labels[0], turned.labels[1]);
  turned.problems[0].label = turned.labels[0];
  turned.problems[0].bias *= -1;
  turned.problems[0].witness = {};
  for (double& w : turned.weights) w = -w;
  control.start = &turned;
  EXPECT_EQ(train(data, options, control).value().model.weights, warm.model.weights);

  // Columns it does not know begin at 0.
  Model fewer = start;
  fewer.features = 30;
  fewer.weights.resize(30);
  fewer.problems[0].witness = {};
  control.start = &fewer;
  EXPECT_TRUE(train(data, options, control).ok());
}

TEST(TrainPegasos, RefusesAStartThatDoesNotFit) {
  const Dataset data = testing::random_dataset({.rows = 100});
  const Model start = train(data, {.bias = 1}).value().model;
  TrainControl control;
  control.start = &start;
  const auto id = [&](const TrainOptions& options, const Dataset& rows) {
    const Result<TrainReport> report = train(rows, options, control);
    return report.ok() ? "" : report.error().id;
  };
  EXPECT_EQ(id({.solver = kPegasos, .bias = 1}, data), "");
  EXPECT_EQ(id({.bias = 1}, data), "");
  EXPECT_EQ(id({.solver = kPegasos}, data), "model.start");
  EXPECT_EQ(id({.solver = kPegasos, .bias = 1, .pegasos = {.t0 = 0}}, data), "usage.value");
  EXPECT_EQ(
      id({.solver = kPegasos, .bias = 1}, testing::random_dataset({.rows = 100, .classes = 3})),
      "model.start");
  EXPECT_EQ(cross_validate(data, 3, {.solver = kPegasos, .bias = 1}, control).error().id,
            "usage.value");
  control.start = nullptr;
  EXPECT_EQ(id({.solver = kPegasos, .pegasos = {.batch = 101}}, data), "usage.value");
  EXPECT_EQ(id({.solver = kPegasos, .pegasos = {.batch = 100}}, data), "");
}

TEST(TrainPegasos, AnInterruptGivesTheBestModelSoFar) {
  const Dataset data = testing::random_dataset({.rows = 3000, .noise = 0.2});
  std::atomic<bool> stop{false};
  TrainControl control;
  control.stop = &stop;
  control.observer = [&](const Progress& p) { stop = p.iteration >= 6000; };
  TrainOptions options = {.solver = kPegasos};
  options.pegasos.epochs = 1000000;
  const TrainReport report = train(data, options, control).value();
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_EQ(report.iterations, 6000U);
  EXPECT_TRUE(verify(report.model, data).value().agrees);
  // As good as if no more had been asked for.
  options.pegasos.epochs = 2;
  const double asked = train(data, options).value().model.certificate().primal;
  EXPECT_LT(report.model.certificate().primal, 1.05 * asked);
}

TEST(TrainPegasos, AnInterruptKeepsTheStart) {
  const Dataset data = testing::random_dataset({.rows = 500, .features = 40, .classes = 70});
  const Model start = train(data, {.lambda = 0.01}).value().model;
  const std::atomic<bool> stop{true};
  TrainControl control;
  control.stop = &stop;
  control.start = &start;
  const TrainReport report = train(data, {.lambda = 0.01, .solver = kPegasos}, control).value();
  EXPECT_EQ(report.status, StopReason::interrupted);
  EXPECT_LE(report.model.certificate().primal, start.certificate().primal * (1 + 1e-9));
}

// Of millions of columns few occur: the model to start from has renumbered others than the data.
TEST(TrainPegasos, StartsFromAModelOfFewColumns) {
  std::string monday, tuesday;
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const std::string sign = i % 2 == 0 ? "1" : "-1";
    const std::string own = std::to_string(i % 2 == 0 ? 4000000 : 5000000);
    const auto noise = [&](int from) {
      return std::to_string(from + static_cast<int>(random.below(50)));
    };
    monday += sign + " " + noise(10) + ":1 " + own + ":1 90000000:0.1\n";
    tuesday += sign + " " + noise(1000) + ":1 " + own + ":1 80000000:0.1\n";
  }
  const Dataset first = testing::dataset_from_text(monday),
                next = testing::dataset_from_text(tuesday);
  const Model start = train(first, {.gap = 1e-6}).value().model;
  ASSERT_FALSE(start.columns.empty());
  TrainControl control;
  control.start = &start;
  const TrainOptions options = {
      .solver = kPegasos,
      .pegasos = {.iterate = Iterate::last, .steps = 1, .t0 = 1000000, .rescale = false}};
  const TrainReport report = train(next, options, control).value();
  ASSERT_FALSE(report.model.columns.empty());
  // One tiny step from the start: what both know is as it was, what only one knows is 0 or gone.
  const auto weight = [](const Model& model, std::uint32_t column) {
    const auto found = std::ranges::find(model.columns, column);
    return found == model.columns.end()
               ? 0.0
               : model.weights[static_cast<std::size_t>(found - model.columns.begin())];
  };
  for (const std::uint32_t column : {3999999U, 4999999U}) {
    EXPECT_GT(std::abs(weight(start, column)), 0.1);
    EXPECT_NEAR(weight(report.model, column), weight(start, column), 1e-3);
  }
  EXPECT_NEAR(weight(report.model, 79999999), 0, 1e-3);
}

}  // namespace
}  // namespace hinge
