// Streams with other losses than hinges: targets in the place of classes, and steps that never go
// too far.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hinge/stream.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

// Random rows with targets about what their labels are.
class TargetRows {
 public:
  explicit TargetRows(std::uint64_t rows, double middle = 0.5) {
    const Dataset classes = testing::random_dataset({.rows = rows, .features = 20, .nonzeros = 6});
    Random random(7);
    for (const std::int64_t label : classes.labels()) {
      targets_.push_back(middle + static_cast<double>(label) + random.uniform());
    }
    data = classes.visit([&](const auto& m) {
      return Dataset::wrap(m, targets_, {}, std::make_shared<Dataset>(classes)).value();
    });
  }
  TargetRows(const TargetRows&) = delete;
  TargetRows& operator=(const TargetRows&) = delete;
  const std::vector<double>& targets() const { return targets_; }

  Dataset data;

 private:
  std::vector<double> targets_;
};

std::vector<StreamPrediction> learn_rows(Stream& stream, const Dataset& data,
                                         const Stream::Range& range = {}) {
  std::vector<StreamPrediction> said;
  const Result<void> learned = stream.learn_batch(data, said, range);
  EXPECT_TRUE(learned.ok()) << to_string(learned.error());
  return said;
}

std::string saved_bytes(const Model& model) {
  const testing::TempFolder folder(testing::memory_folder());
  EXPECT_TRUE(save_model(model, folder / "m").ok());
  return testing::read_file(folder / "m");
}

constexpr LossKind kOfTargets[] = {LossKind::epsilon_insensitive, LossKind::squared_epsilon};

double largest_difference(const Model& a, const Model& b) {
  double most = std::abs(a.problems[0].bias - b.problems[0].bias);
  for (std::size_t j = 0; j < a.weights.size(); ++j) {
    most = std::max(most, std::abs(a.weights[j] - b.weights[j]));
  }
  return most;
}

TEST(StreamLosses, EqualPegasosInOrder) {
  const TargetRows rows(300);
  const Dataset classes = testing::random_dataset({.rows = 300, .features = 20});
  for (const LossKind loss :
       {LossKind::epsilon_insensitive, LossKind::squared_epsilon, LossKind::logistic}) {
    const Dataset& data = is_regression(loss) ? rows.data : classes;
    for (const double bias : {0.0, 2.5}) {
      const StreamOptions asked = {.lambda = 0.0137, .bias = bias, .t0 = 3, .loss = loss};
      Stream stream = Stream::create(asked).value();
      learn_rows(stream, data);
      TrainOptions batch = {.lambda = asked.lambda, .solver = Solver::pegasos, .bias = bias};
      batch.loss = loss;
      batch.pegasos = {.sampling = Sampling::order,
                       .iterate = Iterate::last,
                       .epochs = 1,
                       .t0 = 3,
                       .rescale = false};
      const Model whole = train(data, batch).value().model;
      // The share of a logistic step is found to four digits.
      EXPECT_LT(largest_difference(stream.snapshot().value(), whole),
                loss == LossKind::logistic ? 1e-4 : 1e-11);
    }
  }
}

TEST(StreamLosses, FiguresOfTargetsFromTheDefinition) {
  const TargetRows rows(200, 3);
  for (const LossKind loss : kOfTargets) {
    Stream stream =
        Stream::create({.lambda = 0.05, .bias = 1, .loss = loss, .epsilon = 0.3}).value();
    const std::vector<StreamPrediction> said = learn_rows(stream, rows.data);
    double losses = 0, squares = 0;
    for (std::size_t i = 0; i < said.size(); ++i) {
      EXPECT_FALSE(said[i].none);
      const double missed = std::abs(said[i].score - rows.targets()[i]);
      const double beyond = std::max(0.0, missed - 0.3);
      losses += loss == LossKind::squared_epsilon ? beyond * beyond : beyond;
      squares += missed * missed;
    }
    EXPECT_EQ(said[0].score, 0);
    EXPECT_NEAR(stream.figures().loss, losses, 1e-12 * losses);
    EXPECT_NEAR(stream.figures().squares, squares, 1e-12 * squares);
    EXPECT_EQ(stream.figures().errors, 0U);
    EXPECT_TRUE(stream.labels().empty());
    const Model model = stream.snapshot().value();
    EXPECT_TRUE(model.regression());
    const std::vector<StreamPrediction> now = stream.predict(rows.data).value();
    const Predictions by_model = predict(model, rows.data).value();
    for (std::size_t i = 0; i < now.size(); ++i) {
      EXPECT_NEAR(now[i].score, by_model.scores[i], 1e-12 * std::abs(now[i].score));
    }
  }
}

TEST(StreamLosses, OfTargetsGoOnAsIfTheyHadNotBeenCut) {
  const TargetRows rows(80);
  for (const LossKind loss : kOfTargets) {
    const StreamOptions options = {.lambda = 0.02, .bias = 0.5, .loss = loss, .epsilon = 0.2};
    Stream whole = Stream::create(options).value();
    learn_rows(whole, rows.data);
    const Model expected = whole.snapshot().value();
    for (const std::uint64_t cut : {1U, 40U, 79U}) {
      Stream first = Stream::create(options).value();
      learn_rows(first, rows.data, {.count = cut});
      const testing::TempFolder folder(testing::memory_folder());
      ASSERT_TRUE(first.save(folder / "m").ok());
      const Model kept = load_model(folder / "m").value();
      EXPECT_EQ(kept.origin.epsilon, 0.2);
      EXPECT_EQ(kept.stream->squares, first.figures().squares);
      Stream second = Stream::resume(kept).value();
      learn_rows(second, rows.data, {.first = cut});
      EXPECT_EQ(saved_bytes(second.snapshot().value()), saved_bytes(expected));
    }
  }
}

// Whole numbers are targets too, and one row at a time is the same as many.
TEST(StreamLosses, TargetsComeInAnyForm) {
  const Dataset whole = testing::random_dataset({.rows = 50, .features = 10});
  for (const LossKind loss : kOfTargets) {
    const StreamOptions options = {.lambda = 0.02, .loss = loss};
    Stream batch = Stream::create(options).value(), by_label = Stream::create(options).value(),
           by_target = Stream::create(options).value();
    learn_rows(batch, whole);
    whole.visit([&](const auto& m) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        const std::vector<std::uint32_t> columns(m.columns_of(i), m.columns_of(i) + m.size_of(i));
        const std::vector<double> values(m.values_of(i), m.values_of(i) + m.size_of(i));
        const std::int64_t label = whole.labels()[i];
        EXPECT_TRUE(by_label.learn_one(columns, values, label).ok());
        EXPECT_TRUE(by_target.learn_target(columns, values, static_cast<double>(label)).ok());
      }
    });
    EXPECT_EQ(by_label.snapshot().value().weights, batch.snapshot().value().weights);
    EXPECT_EQ(by_target.snapshot().value().weights, batch.snapshot().value().weights);
  }
}

TEST(StreamLosses, RefuseWhatIsOfClasses) {
  const auto refused = [](StreamOptions options) {
    options.lambda = 0.1;
    options.loss = LossKind::squared_epsilon;
    const Result<Stream> stream = Stream::create(options);
    return stream.ok() ? "" : stream.error().id;
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({.epsilon = -1}), "usage.value");
  EXPECT_EQ(refused({.epsilon = std::numeric_limits<double>::infinity()}), "usage.value");
  EXPECT_EQ(refused({.update = Update::mistake}), "usage.value");
  EXPECT_EQ(refused({.class_weights = {{1, 2}}}), "usage.value");
  EXPECT_EQ(refused({.labels = {1, 2}}), "usage.value");
  EXPECT_EQ(refused({.reject = true}), "usage.value");

  const TargetRows rows(5);
  Stream of_classes = Stream::create({.lambda = 0.1}).value();
  std::vector<StreamPrediction> said;
  EXPECT_EQ(of_classes.learn_batch(rows.data, said).error().id, "data.label.kind");
  const std::vector<std::uint32_t> columns = {0};
  const std::vector<double> values = {1};
  EXPECT_EQ(of_classes.learn_target(columns, values, 0.5).error().id, "usage.value");
  Stream of_targets =
      Stream::create({.lambda = 0.1, .loss = LossKind::epsilon_insensitive}).value();
  learn_rows(of_targets, rows.data);
  const std::string before = saved_bytes(of_targets.snapshot().value());
  EXPECT_EQ(of_targets.learn_target(columns, values, std::nan("")).error().id,
            "data.label.nonfinite");
  EXPECT_EQ(of_targets.learn_target(columns, values, 1e200).error().id, "solver.nonfinite");
  EXPECT_EQ(saved_bytes(of_targets.snapshot().value()), before);
}

// A step of the size of the slope would bring a loss of about 1/lambda in the first rows. To the
// point where the slope is what was stepped by, it brings no more than a few.
TEST(StreamLosses, FirstStepsAreNotWild) {
  const Dataset classes = testing::random_dataset({.rows = 500, .features = 20, .noise = 0.2});
  const TargetRows rows(500);
  for (const LossKind loss :
       {LossKind::logistic, LossKind::epsilon_insensitive, LossKind::squared_epsilon}) {
    const auto mean_loss = [&](double lambda) {
      Stream stream = Stream::create({.lambda = lambda, .loss = loss}).value();
      learn_rows(stream, is_regression(loss) ? rows.data : classes);
      return stream.figures().loss / 500;
    };
    EXPECT_LT(mean_loss(1e-8), 20) << to_string(loss);
  }
}

}  // namespace
}  // namespace hinge
