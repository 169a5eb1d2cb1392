// Models as bytes in memory: the bytes of the file, and as strict.
#include <gtest/gtest.h>

#include <string>

#include "hinge/model.h"
#include "hinge/stream.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

Model trained() {
  const Dataset data = testing::dataset_from_text("1 1:1 3:2\n-1 2:1\n1 1:2\n-1 2:2 3:-1\n");
  return train(data, {.gap = 1e-6}).value().model;
}

TEST(ModelBytes, AreThoseOfTheFileAndComeBack) {
  const testing::TempFolder folder(testing::memory_folder());
  const Dataset rows = testing::dataset_from_text("2 1:1\n1 2:1\n3 3:1\n");
  Stream stream = Stream::create({.lambda = 0.1}).value();
  std::vector<StreamPrediction> ignored;
  ASSERT_TRUE(stream.learn_batch(rows, ignored).ok());
  for (const Model& model : {trained(), stream.snapshot().value()}) {
    ASSERT_TRUE(save_model(model, folder / "model").ok());
    const std::string bytes = model_to_bytes(model).value();
    EXPECT_EQ(bytes, testing::read_file(folder / "model"));
    const Result<Model> back = model_from_bytes(bytes);
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_EQ(back->weights, model.weights);
    EXPECT_EQ(model_to_bytes(*back).value(), bytes);
  }
}

TEST(ModelBytes, EveryPrefixAndEveryFlippedBitIsRefused) {
  const std::string good = model_to_bytes(trained()).value();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Result<Model> model = model_from_bytes(std::string_view(good).substr(0, size));
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(exit_code(model.error()), 80) << to_string(model.error());
    EXPECT_EQ(model.error().file, "");
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += testing::at_length() ? 1U : 9U) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(model_from_bytes(bad).ok()) << bit;
  }
  EXPECT_EQ(model_from_bytes(good + "x").error().id, "model.trailing");
}

TEST(ModelBytes, SeveralModelsAreNotOne) {
  const testing::TempFolder folder(testing::memory_folder());
  const Dataset data = testing::dataset_from_text("1 1:1\n-1 2:1\n1 1:2\n-1 2:2\n");
  std::vector<Model> models;
  TrainOptions options;
  options.path = {0.1, 1};
  const Result<std::vector<TrainReport>> reports = train_path(data, options);
  for (const TrainReport& report : *reports) models.push_back(report.model);
  ASSERT_TRUE(save_models(models, folder / "path").ok());
  EXPECT_EQ(model_from_bytes(testing::read_file(folder / "path")).error().id, "model.path");
}

}  // namespace
}  // namespace hinge
