// train(), predict() and verify() with kernels, as a user of the library sees them.
#include <gtest/gtest.h>

#include <cmath>

#include "hinge/hinge.h"
#include "support.h"

namespace hinge {
namespace {

using testing::accuracy;
using testing::model_bytes;
using testing::TempFolder;

TrainOptions with_kernel(const KernelFunction& kernel, std::uint64_t epochs = 20) {
  TrainOptions options;
  options.solver = Solver::pegasos;
  options.pegasos.kernel = kernel;
  options.pegasos.epochs = epochs;
  return options;
}

const KernelFunction kRbf = {.kind = KernelKind::rbf, .gamma = 2};

// Rings around the origin, one a class: no hyperplane of the plane itself tells them apart.
Dataset rings(std::uint64_t rows, std::uint64_t classes, Precision precision = Precision::f32) {
  Random random(classes, rows);
  std::string text;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t label = i % classes;
    const double angle = 2 * M_PI * random.uniform();
    const double radius = 0.5 + static_cast<double>(label) + 0.2 * random.uniform();
    text += std::to_string(label) + " 1:" + std::to_string(radius * std::cos(angle)) +
            " 2:" + std::to_string(radius * std::sin(angle)) + "\n";
  }
  ReadOptions read;
  read.precision = precision;
  return testing::dataset_from_text(text, read);
}

TEST(TrainKernel, LearnsWhatNoHyperplaneTells) {
  for (const std::uint64_t classes : {2U, 4U}) {
    const Dataset data = rings(300, classes), fresh = rings(200, classes);
    TrainOptions options = with_kernel(kRbf);
    options.cost = 10;
    options.bias = 1;
    const TrainReport report = train(data, options).value();
    EXPECT_GE(accuracy(report.model, fresh), 0.97);
    EXPECT_EQ(report.model.kernel, kRbf);
    EXPECT_EQ(report.model.origin.solver, "pegasos");
    EXPECT_LE(accuracy(train(data, {.cost = 10, .bias = 1}).value().model, fresh), 0.7);
    // Squares are enough for rings.
    options.pegasos.kernel = {.kind = KernelKind::poly, .gamma = 1, .degree = 2, .coef0 = 1};
    if (classes == 2) {
      EXPECT_GE(accuracy(train(data, options).value().model, fresh), 0.97);
    }
  }
}

TEST(TrainKernel, AutoMeansPegasosAndGammaHasADefault) {
  const Dataset data = rings(60, 2);
  TrainOptions options;
  options.pegasos.kernel.kind = KernelKind::rbf;
  const TrainReport report = train(data, options).value();
  EXPECT_EQ(report.model.origin.solver, "auto:pegasos");
  EXPECT_EQ(report.model.kernel.gamma, 0.5);
  EXPECT_EQ(report.status, StopReason::limit);  // no gap was asked for
  EXPECT_TRUE(report.warnings.empty());
}

// Scores are the formula, in any number of threads.
TEST(TrainKernel, PredictsTheFormula) {
  for (const std::uint64_t classes : {2U, 3U}) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const Dataset data = testing::random_dataset({.rows = 700,
                                                    .features = 9,
                                                    .nonzeros = 4,
                                                    .noise = 0.3,
                                                    .precision = precision,
                                                    .classes = classes});
      TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 0.3}, 3);
      options.bias = 2;
      const Model model = train(data, options).value().model;
      EXPECT_GT(model.support.rows(), 512U);  // more than predict() takes at a time
      const Dataset rows = testing::random_dataset({.rows = 300, .features = 12, .nonzeros = 5});
      const Predictions said = predict(model, rows, 1).value();
      EXPECT_EQ(predict(model, rows, 3).value().scores, said.scores);
      const std::size_t problems = model.problems.size();
      rows.visit([&](const auto& m) {
        model.support.visit([&](const auto& s) {
          for (std::uint64_t i = 0; i < m.rows; ++i) {
            std::vector<double> expected(problems);
            for (std::uint64_t j = 0; j < s.rows; ++j) {
              std::vector<double> difference(12);  // features 9 .. 11 are unknown to the model
              for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
                difference[m.column(k)] += static_cast<double>(m.values[k]);
              }
              for (std::uint64_t k = s.offsets[j]; k < s.offsets[j + 1]; ++k) {
                difference[s.column(k)] -= static_cast<double>(s.values[k]);
              }
              double square = 0;
              for (const double x : difference) square += x * x;
              for (std::size_t c = 0; c < problems; ++c) {
                expected[c] += model.weights_of(c)[j] * std::exp(-0.3 * square);
              }
            }
            for (std::size_t c = 0; c < problems; ++c) {
              ASSERT_NEAR(said.scores[i * problems + c], expected[c] + model.problems[c].bias,
                          1e-9);
            }
          }
        });
      });
    }
  }
}

TEST(TrainKernel, SameBytesForAnyThreadsAndInstructionSet) {
  for (const std::uint64_t classes : {2U, 5U}) {
    const Dataset data = testing::random_dataset(
        {.rows = 400, .features = 20, .nonzeros = 8, .noise = 0.2, .classes = classes});
    for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
      TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 0.1}, 4);
      options.bias = 1;
      options.threads = 1;
      options.memory = memory;  // not enough for all kernel values
      const std::string expected = model_bytes(train(data, options).value().model);
      for (const int threads : {2, 7}) {
        options.threads = threads;
        EXPECT_EQ(model_bytes(train(data, options).value().model), expected) << threads;
      }
      for (const auto set :
           {InstructionSet::scalar, InstructionSet::avx2, InstructionSet::avx512}) {
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
}

TEST(TrainKernel, VerifyAgreesAndNoticesEveryChange) {
  for (const std::uint64_t classes : {2U, 3U}) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const Dataset data = rings(150, classes, precision);
      TrainOptions options = with_kernel(kRbf, 5);
      options.bias = 0.5;
      options.class_weights = {{1, 2.0}};
      const Model model = train(data, options).value().model;
      const VerifyReport good = verify(model, data).value();
      EXPECT_TRUE(good.agrees);
      EXPECT_EQ(good.recomputed.primal, good.stored.primal);
      EXPECT_EQ(good.recomputed.dual, good.stored.dual);
      EXPECT_GT(good.recomputed.dual, 0);

      const auto agrees = [&](auto change) {
        Model other = model;
        change(other);
        return verify(other, data).value().agrees;
      };
      EXPECT_TRUE(agrees([](Model&) {}));
      EXPECT_FALSE(agrees([](Model& m) { m.weights[3] += 1e-3; }));
      EXPECT_FALSE(agrees([](Model& m) { m.weights[3] = 1e200; }));
      EXPECT_FALSE(agrees([](Model& m) { m.kernel.gamma *= 1.01; }));
      EXPECT_FALSE(agrees([](Model& m) { m.problems[0].certificate.dual *= 1.001; }));
      EXPECT_FALSE(agrees([](Model& m) { m.problems[0].certificate.relative_gap /= 2; }));
      EXPECT_FALSE(agrees([](Model& m) { m.problems[0].witness.free.at(0) *= 0.5; }));
      EXPECT_FALSE(agrees([](Model& m) { m.problems[0].bias += 0.01; }));
      EXPECT_FALSE(agrees([&](Model& m) {
        m.support = testing::random_dataset(
            {.rows = m.support.rows(), .features = 2, .nonzeros = 2, .seed = 3});
      }));
      Model bare = model;
      for (BinaryProblem& problem : bare.problems) problem.witness = {};
      EXPECT_EQ(verify(bare, data, {.prove = true}).error().id, "usage.value");
      EXPECT_TRUE(verify(bare, data).value().agrees);
    }
  }
}

TEST(TrainKernel, KernelsThatAreNoInnerProductHaveNoBound) {
  const Dataset data = rings(80, 2);
  for (const KernelFunction& kernel :
       {KernelFunction{.kind = KernelKind::sigmoid, .gamma = 0.5, .coef0 = -1},
        KernelFunction{.kind = KernelKind::poly, .gamma = 1, .degree = 2, .coef0 = -3}}) {
    const Model model = train(data, with_kernel(kernel, 2)).value().model;
    EXPECT_EQ(model.certificate().bound, "none");
    EXPECT_EQ(model.certificate().relative_gap, 1);
    EXPECT_TRUE(model.problems[0].witness.empty());
    EXPECT_TRUE(verify(model, data).value().agrees);
    Model forged = model;
    forged.problems[0].certificate.dual = 0.999 * model.problems[0].certificate.primal;
    forged.problems[0].certificate.relative_gap = 0.001;
    forged.problems[0].certificate.bound = "witness";
    EXPECT_FALSE(verify(forged, data).value().agrees);
    TrainOptions asked = with_kernel(kernel);
    asked.gap = 0.1;
    EXPECT_EQ(train(data, asked).error().id, "usage.value");
  }
}

// A few columns among four billion.
TEST(TrainKernel, HugeColumnNumbers) {
  std::string text;
  Random random(2);
  for (int i = 0; i < 120; ++i) {
    const double x = 2 * random.uniform() - 1, y = 2 * random.uniform() - 1;
    text += (x * y > 0 ? "1" : "-1") + std::string(" 7:") + std::to_string(x) +
            " 4294967290:" + std::to_string(y) + "\n";
  }
  const Dataset data = testing::dataset_from_text(text);
  TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 3});
  options.cost = 10;
  const Model model = train(data, options).value().model;
  EXPECT_GE(accuracy(model, data), 0.95);
  EXPECT_TRUE(verify(model, data).value().agrees);
  const TempFolder folder;
  ASSERT_TRUE(save_model(model, folder / "m").ok());
  EXPECT_EQ(predict(load_model(folder / "m").value(), data).value().scores,
            predict(model, data).value().scores);
  // A feature that no support row has makes a row longer, and so farther from all of them.
  const Dataset rows =
      testing::dataset_from_text("1 7:0.5 4294967290:0.5\n1 7:0.5 9:1000 4294967290:0.5\n");
  const Predictions said = predict(model, rows).value();
  EXPECT_GT(std::abs(said.scores[0]), 0.1);
  EXPECT_NEAR(said.scores[1], 0, 1e-9);
}

TEST(TrainKernel, BudgetHoldsForAllClassesTogether) {
  const Dataset data = rings(400, 3), fresh = rings(200, 3);
  TrainOptions options = with_kernel(kRbf);
  options.cost = 5;
  const Model free = train(data, options).value().model;
  double best = 0;
  for (const std::uint64_t budget : {1U, 25U, 100U, 400U}) {
    options.pegasos.budget = budget;
    const Model model = train(data, options).value().model;
    EXPECT_LE(model.support.rows(), budget);
    EXPECT_TRUE(verify(model, data).value().agrees);
    best = accuracy(model, fresh);
  }
  EXPECT_EQ(best, accuracy(free, fresh));
  EXPECT_GE(best, 0.95);
}

// More classes than a sweep takes.
TEST(TrainKernel, ManyClasses) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i % 50) + " 1:" + std::to_string(i % 50) + " 2:0.0" +
            std::to_string(i % 7) + "\n";
  }
  const Dataset data = testing::dataset_from_text(text);
  TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 5});
  options.cost = 10;
  const Model model = train(data, options).value().model;
  EXPECT_EQ(model.problems.size(), 50U);
  EXPECT_EQ(accuracy(model, data), 1);
  EXPECT_TRUE(verify(model, data).value().agrees);
  options.threads = 1;
  EXPECT_EQ(model_bytes(train(data, options).value().model), model_bytes(model));
}

TEST(TrainKernel, AnInterruptGivesTheBestModelSoFar) {
  const Dataset data = rings(200, 3);
  std::atomic<bool> stop = true;
  TrainControl control;
  control.stop = &stop;
  const TrainReport none = train(data, with_kernel(kRbf, 1000), control).value();
  EXPECT_EQ(none.status, StopReason::interrupted);
  EXPECT_EQ(none.iterations, 0U);
  EXPECT_EQ(none.model.certificate().bound, "witness");
  EXPECT_TRUE(verify(none.model, data).value().agrees);
  stop = false;
  std::uint64_t records = 0;
  control.observer = [&](const Progress&) { stop = ++records >= 3; };
  const TrainReport some = train(data, with_kernel(kRbf, 1000000), control).value();
  EXPECT_EQ(some.status, StopReason::interrupted);
  EXPECT_GT(some.iterations, 0U);
  EXPECT_TRUE(verify(some.model, data).value().agrees);
}

TEST(TrainKernel, RefusesWhatHasNoMeaning) {
  const Dataset data = rings(50, 2);
  TrainOptions options = with_kernel(kRbf);
  options.solver = Solver::dual;
  EXPECT_NE(train(data, options).error().message.find("takes no kernels"), std::string::npos);
  const Model start = train(data).value().model;
  TrainControl control;
  control.start = &start;
  EXPECT_EQ(train(data, with_kernel(kRbf), control).error().id, "usage.value");
  const Model curved = train(data, with_kernel(kRbf)).value().model;
  control.start = &curved;
  TrainOptions plain;
  plain.solver = Solver::pegasos;
  EXPECT_EQ(train(data, plain, control).error().id, "model.start");
  const TempFolder folder;
  EXPECT_EQ(save_model(curved, folder / "m", ModelFormat::liblinear).error().id, "model.format");
  // Values that overflow in the kernel are an error, not a model of nans.
  const Dataset large = testing::dataset_from_text("1 1:1e30\n-1 1:-1e30 2:1\n");
  const KernelFunction poly = {.kind = KernelKind::poly, .gamma = 1e30, .degree = 50, .coef0 = 0};
  EXPECT_EQ(train(large, with_kernel(poly)).error().id, "solver.nonfinite");
}

// A column that is large and constant is no part of any difference.
TEST(TrainKernel, LargeColumnsDoNotDrownTheOthers) {
  std::string plain, shifted;
  Random random(6);
  for (int i = 0; i < 150; ++i) {
    const double x = 6 * random.uniform();
    const std::string label = std::sin(2 * x) > 0 ? "1" : "-1";
    plain += label + " 2:" + std::to_string(x) + "\n";
    shifted += label + " 1:1e8 2:" + std::to_string(x) + "\n";
  }
  const Dataset small = testing::dataset_from_text(plain),
                large = testing::dataset_from_text(shifted);
  TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 1}, 50);
  options.cost = 10;
  const Model expected = train(small, options).value().model;
  const Model model = train(large, options).value().model;
  EXPECT_NEAR(model.certificate().primal, expected.certificate().primal,
              1e-6 * expected.certificate().primal);
  EXPECT_NEAR(model.certificate().dual, expected.certificate().dual,
              1e-6 * expected.certificate().dual);
  EXPECT_EQ(accuracy(model, large), accuracy(expected, small));
  EXPECT_TRUE(verify(model, large).value().agrees);
  // Squares that overflow when they are added.
  ReadOptions read;
  read.precision = Precision::f64;
  const Dataset far =
      testing::dataset_from_text("1 1:1.3e154\n-1 1:0.9e154\n1 1:1.2e154\n-1 1:0.5e154\n", read);
  EXPECT_LE(train(far, with_kernel({.kind = KernelKind::rbf, .gamma = 1}))
                .value()
                .model.certificate()
                .dual,
            2 * (1 + 1e-9));
  // A feature that no support row has, beside such columns.
  const Dataset rows =
      testing::dataset_from_text("1 1:1e8 2:1\n1 1:1e8 2:1 3:1\n1 1:1e8 2:1 3:50\n");
  const Predictions said = predict(model, rows).value();
  EXPECT_NEAR(said.scores[1], said.scores[0] * std::exp(-1), 1e-9);
  EXPECT_NEAR(said.scores[2], 0, 1e-9);
}

TEST(TrainKernel, BudgetHoldsForMoreClassesThanASweep) {
  std::string text;
  Random random(8);
  for (int i = 0; i < 400; ++i) {
    text += std::to_string(i % 40) + " 1:" + std::to_string(i % 40 + random.uniform()) + "\n";
  }
  TrainOptions options = with_kernel({.kind = KernelKind::rbf, .gamma = 1}, 3);
  options.cost = 10;
  options.pegasos.budget = 50;
  EXPECT_LE(train(testing::dataset_from_text(text), options).value().model.support.rows(), 50U);
}

TEST(TrainKernel, RowsWithoutFeatures) {
  const Dataset data = testing::dataset_from_text("1\n-1 1:1\n1\n-1 1:2 2:1\n");
  for (const KernelFunction& kernel :
       {kRbf, KernelFunction{.kind = KernelKind::poly, .gamma = 1, .degree = 2, .coef0 = 1}}) {
    const Model model = train(data, with_kernel(kernel, 200)).value().model;
    EXPECT_TRUE(verify(model, data).value().agrees);
    EXPECT_EQ(accuracy(model, data), 1);
  }
}

TEST(TrainKernel, CrossValidation) {
  TrainOptions options = with_kernel(kRbf);
  options.cost = 10;
  EXPECT_GE(cross_validate(rings(300, 2), 3, options).value().accuracy, 0.95);
}

}  // namespace
}  // namespace hinge
