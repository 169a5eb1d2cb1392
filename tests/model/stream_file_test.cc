// Models of streams in their file: everything comes back, and what no stream can have written is
// refused. What all models have in common is in model_file_test.cc.
#include <gtest/gtest.h>

#include <functional>

#include "files/tensor_file.h"
#include "hinge/json.h"
#include "hinge/stream.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;

Model learned(std::uint64_t classes, std::uint64_t far, bool rest = true) {
  StreamOptions options = {.lambda = 0.1, .bias = 1, .t0 = 3, .class_weights = {{1, 2}}};
  if (!rest)
    options.labels =
        classes == 2 ? std::vector<std::int64_t>{-1, 1} : std::vector<std::int64_t>{0, 1, 2};
  Stream stream = Stream::create(options).value();
  const Dataset data = testing::random_dataset({.rows = 40, .classes = classes});
  std::vector<StreamPrediction> said;
  EXPECT_TRUE(stream.learn_batch(data, said).ok());
  const std::vector<std::uint32_t> columns = {static_cast<std::uint32_t>(far)};
  const std::vector<double> values = {0.5};
  EXPECT_TRUE(stream.learn_one(columns, values, 1).ok());
  stream.set_lines(77);
  return stream.snapshot().value();
}

TEST(StreamFile, ComesBackWhole) {
  const TempFolder folder(testing::memory_folder());
  for (const std::uint64_t classes : {2U, 3U}) {
    for (const std::uint64_t far : {25U, 3'000'000U, 4'000'000'000U}) {
      for (const bool rest : {true, false}) {
        const Model model = learned(classes, far, rest);
        ASSERT_TRUE(save_model(model, folder / "m").ok());
        const Result<Model> again = load_model(folder / "m");
        ASSERT_TRUE(again.ok()) << to_string(again.error());
        EXPECT_EQ(again->labels, model.labels);
        EXPECT_EQ(again->features, far + 1);
        EXPECT_EQ(again->columns, model.columns);
        EXPECT_EQ(again->weights, model.weights);
        const StreamState &a = *again->stream, &b = *model.stream;
        EXPECT_EQ(a.sums, b.sums);
        EXPECT_EQ(a.bias_sums, b.bias_sums);
        EXPECT_EQ(std::tuple(a.lambda, a.t0, a.rows, a.lines, a.loss, a.errors, a.rest),
                  std::tuple(0.1, 3U, 41U, 77U, b.loss, b.errors, rest));
        EXPECT_EQ(a.index_base, IndexBase::one);
        EXPECT_EQ(again->problems[0].bias, model.problems[0].bias);
        EXPECT_EQ(again->certificate().bound, "none");
        EXPECT_EQ(again->origin.solver, "stream");
        EXPECT_EQ(again->origin.rows, 0U);
        const std::string bytes = testing::read_file(folder / "m");
        ASSERT_TRUE(save_model(*again, folder / "m").ok());
        EXPECT_EQ(testing::read_file(folder / "m"), bytes);
      }
    }
  }
}

// A file with some metadata changed and right checksums.
Result<Model> with(const Model& model, const std::function<void(Metadata&)>& change) {
  const TempFolder folder(testing::memory_folder());
  EXPECT_TRUE(save_model(model, folder / "m").ok());
  const TensorFile file = TensorFile::read(folder / "m", "model");
  Metadata metadata = file.metadata();
  std::erase_if(metadata, [](const auto& field) { return field.first.starts_with("checksum."); });
  change(metadata);
  write_tensor_file(folder / "n", file.tensors(), metadata);
  return load_model(folder / "n");
}

TEST(StreamFile, RefusesWhatNoStreamWrites) {
  const Model model = learned(3, 25);
  ASSERT_TRUE(with(model, [](Metadata&) {}).ok());
  struct Case {
    const char* field;
    std::string old, now;
  };
  const std::vector<Case> cases = {
      {"stream", "\"rows\":41", "\"rows\":0"},
      {"stream", "\"rows\":41", "\"rows\":2"},
      {"stream", "\"rows\":41", "\"rows\":41.5"},
      {"stream", "\"rows\":41", "\"rows\":9007199254740993"},
      {"stream", "\"t0\":3", "\"t0\":9007199254740993"},
      {"stream", "\"t0\":3", "\"t0\":9007199254740992"},
      {"stream", "\"t0\":3", "\"t0\":9007199254740952"},  // 40 less than 2^53, of 41 rows
      {"stream", "\"t0\":3", "\"t0\":-3"},
      {"stream", "\"lines\":77", "\"lines\":null"},
      {"stream", "\"lambda\":0.1", "\"lambda\":0"},
      {"stream", "\"lambda\":0.1", "\"lambda\":-0.1"},
      {"stream", "\"lambda\":0.1", "\"lambda\":1e-320"},
      {"stream", "\"lambda\":0.1", "\"lambda\":1e999"},
      {"stream", "\"loss\":", "\"loss\":-"},
      {"stream", "\"errors\":", "\"errors\":100"},
      {"stream", "\"rest\":true", "\"rest\":false"},
      {"stream", "\"rest\":true", "\"rest\":1"},
      {"stream", "\"index_base\":\"1\"", "\"index_base\":\"0\""},
      {"stream", "\"index_base\":\"1\"", "\"index_base\":1"},
      {"stream", "\"lambda\"", "\"lambdo\""},
      {"labels", "[0,1,2]", "[0,2,1]"},
      {"labels", "[0,1,2]", "[0,1]"},
      {"labels", "[0,1,2]", "[0,1,1]"},
      {"labels", "[0,1,2]", "[]"},
      {"options", "\"solver\":\"stream\"", "\"solver\":\"dual\""},
      {"data", "\"rows\":0", "\"rows\":41"},
      {"data", "\"features\":26", "\"features\":25"},
  };
  for (const Case& c : cases) {
    const Result<Model> loaded = with(model, [&](Metadata& metadata) {
      std::string& text = metadata[c.field];
      const std::size_t at = text.find(c.old);
      ASSERT_NE(at, std::string::npos) << c.field << " " << text;
      text.replace(at, c.old.size(), c.now);
    });
    ASSERT_FALSE(loaded.ok()) << c.now;
    EXPECT_TRUE(loaded.error().id == "model.content" || loaded.error().id == "model.header")
        << c.now << ": " << to_string(loaded.error());
  }
  EXPECT_TRUE(with(model, [](Metadata& metadata) {
                std::string& text = metadata["stream"];
                text.replace(text.find("\"t0\":3"), 6, "\"t0\":9007199254740951");
              }).ok());
  EXPECT_EQ(with(model, [](Metadata& metadata) { metadata.erase("stream"); }).error().id,
            "model.header");
}

}  // namespace
}  // namespace hinge
