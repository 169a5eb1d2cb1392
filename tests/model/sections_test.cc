// Model files grow by sections: what a version does not know it carries along or refuses by name;
// and what released versions wrote is read as it was.
#include "model/sections.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/json.h"
#include "hinge/model.h"
#include "hinge/stream.h"
#include "hinge/train.h"
#include "labelled_rows.h"
#include "released_files.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::write_file;

ModelSection lanes() {
  const std::array<double, 2> numbers = {0.5, -1};
  return {.name = "lanes",
          .content = R"({"count":2,"note":"\u00e9"})",
          .arrays = {{.name = "own.ends", .type = "U32", .shape = {0, 3}, .bytes = ""},
                     {.name = "weights",
                      .type = "F64",
                      .shape = {2, 1},
                      .bytes = std::string(reinterpret_cast<const char*>(numbers.data()), 16)}}};
}

ModelSection plain(std::string name) {
  return {.name = std::move(name), .content = "any text\n\"at\" all", .arrays = {}};
}

const Dataset& rows() {
  static const Dataset data = testing::dataset_from_text("1 1:1\n-1 2:1\n1 1:2 3:1\n-1 2:2 3:-1\n");
  return data;
}

Model some_model(const TrainOptions& options = {}) {
  return train(rows(), options).value().model;
}

// A model file taken apart, to be changed and put together again with the right checksums.
struct Unpacked {
  Metadata metadata;
  std::map<std::string, std::pair<Tensor, std::string>> arrays;

  explicit Unpacked(const std::string& bytes) {
    const auto raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
    const TensorFile file = TensorFile::parse(FileBytes::copy(raw), "", "model");
    metadata = file.metadata();
    for (const Tensor& t : file.tensors()) arrays[t.name] = {t, std::string(as_text(t.bytes))};
  }
  std::string bytes() const {
    Metadata said = metadata;
    std::erase_if(said, [](const auto& entry) { return entry.first.starts_with("checksum."); });
    std::vector<Tensor> tensors;
    for (const auto& [name, array] : arrays) {
      tensors.push_back(
          {name, array.first.dtype, array.first.shape, std::as_bytes(std::span(array.second))});
    }
    return tensor_file_bytes(std::move(tensors), std::move(said));
  }
};

// What the bytes of a model become after a change; the model has the section "lanes".
Result<Model> changed(const std::function<void(Unpacked&)>& change) {
  Model model = some_model();
  model.sections = {lanes()};
  Unpacked parts(model_to_bytes(model).value());
  change(parts);
  return model_from_bytes(parts.bytes());
}

std::string verdict(const std::function<void(Unpacked&)>& change) {
  const Result<Model> model = changed(change);
  if (model.ok()) return "accepted";
  EXPECT_EQ(exit_code(model.error()), 80) << to_string(model.error());
  return model.error().id;
}

void expect_same_predictions(const Model& a, const Model& b, const Dataset& data) {
  const Predictions p = predict(a, data).value(), q = predict(b, data).value();
  EXPECT_EQ(p.labels, q.labels);
  EXPECT_EQ(p.scores, q.scores);
}

TEST(ModelSections, ModelsWithoutAnyAreWrittenAsBefore) {
  const Unpacked parts(model_to_bytes(some_model()).value());
  EXPECT_EQ(parts.metadata.at("version"), "1");
  EXPECT_FALSE(parts.metadata.contains("sections"));
}

TEST(ModelSections, UnknownOnesThatAreHarmlessAreCarriedAlong) {
  const testing::TempFolder folder(testing::memory_folder());
  for (const std::vector<ModelSection>& sections :
       {std::vector{lanes()}, {plain("a")}, {plain("a_1"), lanes(), plain("zz")}}) {
    Model model = some_model();
    model.sections = sections;
    ASSERT_TRUE(save_model(model, folder / "m").ok());
    const Model back = load_model(folder / "m").value();
    EXPECT_EQ(back.sections, sections);
    expect_same_predictions(back, model, rows());
    ASSERT_TRUE(save_model(back, folder / "again").ok());
    EXPECT_EQ(read_file(folder / "again"), read_file(folder / "m"));
    EXPECT_EQ(model_to_bytes(back).value(), read_file(folder / "m"));
    EXPECT_EQ(Unpacked(read_file(folder / "m")).metadata.at("version"), "3");
  }
  // In whatever order they are given.
  Model model = some_model();
  model.sections = {plain("b"), plain("a")};
  const Model back = model_from_bytes(model_to_bytes(model).value()).value();
  EXPECT_EQ(back.sections, (std::vector{plain("a"), plain("b")}));
}

TEST(ModelSections, OfEverySchema) {
  const testing::TempFolder folder(testing::memory_folder());
  for (const std::string_view old :
       {testing::kLinearModel, testing::kClassesModel, testing::kWideModel, testing::kKernelModel,
        testing::kStreamModel}) {
    Model model = model_from_bytes(testing::from_base64(old)).value();
    model.sections = {lanes(), plain("zz")};
    const std::string bytes = model_to_bytes(model).value();
    const Result<Model> back = model_from_bytes(bytes);
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_EQ(back->sections, model.sections);
    EXPECT_EQ(model_to_bytes(*back).value(), bytes);
    expect_same_predictions(*back, model, rows());
  }
  write_file(folder / "path", testing::from_base64(testing::kPathModel));
  std::vector<Model> models = load_models(folder / "path").value();
  for (Model& model : models) model.sections = {lanes()};
  ASSERT_TRUE(save_models(models, folder / "m").ok());
  const std::vector<Model> back = load_models(folder / "m").value();
  ASSERT_EQ(back.size(), 3U);
  for (const Model& model : back) EXPECT_EQ(model.sections, models[0].sections);
  ASSERT_TRUE(save_models(back, folder / "again").ok());
  EXPECT_EQ(read_file(folder / "again"), read_file(folder / "m"));
  EXPECT_EQ(load_model(folder / "m", 10).value().sections, models[0].sections);
  models[1].sections = {plain("zz")};
  EXPECT_EQ(save_models(models, folder / "other").error().id, "model.format");
}

TEST(ModelSections, TheSumsOfAStreamMayBeSharedToo) {
  // 40 classes of 4,000 columns, of which each has a few of its own.
  std::string text;
  for (int label = 0; label < 40; ++label) {
    for (int k = 0; k < 4; ++k) {
      text += std::to_string(label);
      for (int j = 1; j <= 25; ++j) text += " " + std::to_string(label * 100 + 25 * k + j) + ":1";
      text += "\n";
    }
  }
  Stream stream = Stream::create({.lambda = 0.1}).value();
  std::vector<StreamPrediction> said;
  const Dataset many = testing::dataset_from_text(text);
  ASSERT_TRUE(stream.learn_batch(many, said).ok());
  Model model = stream.snapshot().value();
  ASSERT_TRUE(model.shared());
  EXPECT_EQ(Unpacked(model_to_bytes(model).value()).metadata.at("version"), "2");
  model.sections = {lanes()};
  const std::string bytes = model_to_bytes(model).value();
  EXPECT_EQ(Unpacked(bytes).metadata.at("version"), "3");
  const Model back = model_from_bytes(bytes).value();
  EXPECT_TRUE(back.shared());
  EXPECT_EQ(model_to_bytes(back).value(), bytes);
  expect_same_predictions(back, model, many);
  EXPECT_TRUE(Stream::resume(back).ok());
}

TEST(ModelSections, UnknownOnesThatChangePredictionsAreRefusedByName) {
  const Result<Model> model = changed([](Unpacked& p) {
    p.metadata["written_by"] = "hinge 9.8 \x1b[31m";
    p.metadata["sections"] =
        R"([{"name":"calibration","affects_predictions":true},{"name":"lanes","affects_predictions":false}])";
    p.metadata["section.calibration"] = "{}";
  });
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().id, "model.section");
  EXPECT_EQ(exit_code(model.error()), 80);
  EXPECT_NE(model.error().message.find("\"calibration\""), std::string::npos)
      << model.error().message;
  EXPECT_NE(model.error().message.find("hinge 9.8 \\x1b[31m"), std::string::npos);
  // Before anything else that may be new to this version is looked at.
  EXPECT_EQ(verdict([](Unpacked& p) {
              p.metadata["sections"] = R"([{"name":"lanes","affects_predictions":true}])";
              p.arrays["surprise"] = p.arrays.at("bias");
              p.metadata.erase("certificate");
            }),
            "model.section");
}

TEST(ModelSections, WhatTheListSaysMustBeThere) {
  EXPECT_EQ(verdict([](Unpacked&) {}), "accepted");
  const auto with_list = [](std::string list) {
    return verdict([&](Unpacked& p) { p.metadata["sections"] = std::move(list); });
  };
  for (
      const char* bad :
      {"",
       "null",
       "{}",
       "7",
       "[7]",
       "[{}]",
       "[[\"lanes\",false]]",
       "[\"lanes\"]",
       "[",
       R"([{"name":"lanes"}])",
       R"([{"affects_predictions":false}])",
       R"([{"affects_predictions":false,"name":"lanes"}])",
       R"([{"name":"lanes","affects_predictions":0}])",
       R"([{"name":7,"affects_predictions":false}])",
       R"([{"name":"lanes","affects_predictions":false,"more":1}])",
       R"([{"name":"lanes","name":"lanes","affects_predictions":false}])",
       R"([{"name":"","affects_predictions":false}])",
       R"([{"name":"Lanes","affects_predictions":false}])",
       R"([{"name":"la.nes","affects_predictions":false}])",
       R"([{"name":"other","affects_predictions":false}])",
       R"([{"name":"lanes","affects_predictions":false},{"name":"lanes","affects_predictions":false}])",
       R"([{"name":"lanes","affects_predictions":false},{"name":"lane","affects_predictions":false}])",
       R"({"a":{"name":"lanes","affects_predictions":false}})",
       "[]"}) {
    EXPECT_EQ(with_list(bad), "model.header") << bad;
  }
  EXPECT_EQ(verdict([](Unpacked& p) { p.metadata.erase("sections"); }), "model.header");
  EXPECT_EQ(verdict([](Unpacked& p) { p.metadata.erase("section.lanes"); }), "model.header");
  for (const char* key : {"section.", "section.other", "section.lanes.more", "section..lanes"}) {
    EXPECT_EQ(verdict([&](Unpacked& p) { p.metadata[key] = "{}"; }), "model.header") << key;
  }
  for (const char* name : {"section.", "section.lanes", "section.lanes.", "section.other.weights",
                           "section.lanes.Weights", "section..weights", "sections"}) {
    EXPECT_EQ(verdict([&](Unpacked& p) { p.arrays[name] = p.arrays.at("bias"); }), "model.header")
        << name;
  }
}

// To versions 1 and 2 of the format sections are nothing: a field is passed over as any is that
// they do not know, an array refused.
TEST(ModelSections, BelongToTheirVersion) {
  const auto as_version = [](const char* version, bool arrays) {
    return verdict([&](Unpacked& p) {
      p.metadata["version"] = version;
      if (!arrays) std::erase_if(p.arrays, [](const auto& a) { return a.first[0] == 's'; });
    });
  };
  EXPECT_EQ(as_version("1", true), "model.header");
  EXPECT_EQ(as_version("1", false), "accepted");
  EXPECT_EQ(as_version("2", false), "model.header");  // only of a stream
  EXPECT_EQ(as_version("4", true), "model.version");
}

TEST(ModelSections, WhatCannotBeWritten) {
  const testing::TempFolder folder(testing::memory_folder());
  const auto id = [&](std::vector<ModelSection> sections) {
    Model model = some_model();
    model.sections = std::move(sections);
    const Result<void> saved = save_model(model, folder / "m");
    return saved.ok() ? "accepted" : saved.error().id;
  };
  const auto with = [&](const std::function<void(ModelSection&)>& change) {
    ModelSection section = lanes();
    change(section);
    return id({section});
  };
  EXPECT_EQ(with([](ModelSection&) {}), "accepted");
  EXPECT_EQ(id({lanes(), lanes()}), "model.format");
  for (const char* bad : {"", "A", "a.b", "a b", "class_names", "\xc3\xa9"}) {
    EXPECT_EQ(id({plain(bad)}), "model.format") << bad;
  }
  EXPECT_EQ(id({plain(std::string(64, 'a'))}), "accepted");
  EXPECT_EQ(id({plain(std::string(65, 'a'))}), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.content = "\xff"; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.content = std::string("a\0b", 3); }), "accepted");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].name = ""; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].name = "own.ends"; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].type = "F16"; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].bytes.pop_back(); }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].shape = {3}; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].shape = {1, 1, 2, 1, 1}; }), "model.format");
  EXPECT_EQ(with([](ModelSection& s) { s.arrays[1].shape = {UINT64_MAX, 2}; }), "model.format");
}

TEST(ModelSections, LiblinearLeavesThemOut) {
  const testing::TempFolder folder(testing::memory_folder());
  Model model = some_model();
  ASSERT_TRUE(save_model(model, folder / "plain", ModelFormat::liblinear).ok());
  model.sections = {lanes()};
  ASSERT_TRUE(save_model(model, folder / "m", ModelFormat::liblinear).ok());
  EXPECT_EQ(read_file(folder / "m"), read_file(folder / "plain"));
}

TEST(ModelSections, EveryPrefixAndFlippedBitIsRefused) {
  Model model = some_model();
  model.sections = {lanes(), plain("zz")};
  model.class_names = ClassNames::of({"a", "b", "c"}).value();
  model.labels = {2, 0};
  model.problems[0].label = 2;
  const std::string good = model_to_bytes(model).value();
  ASSERT_TRUE(model_from_bytes(good).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(model_from_bytes(std::string_view(good).substr(0, size)).ok()) << size;
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += testing::at_length() ? 1U : 9U) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(model_from_bytes(bad).ok()) << bit;
  }
}

// ---- What released versions wrote.

struct Released {
  std::string_view file;
  double cost;
  std::vector<std::int64_t> labels;
  std::vector<double> scores;
};

TEST(ReleasedModels, PredictAsTheyDid) {
  const testing::TempFolder folder(testing::memory_folder());
  const Dataset data = testing::dataset_from_text("0 1:1 2:0.5 3:-2\n0 1:0.1 5:1 7:3 900:0.25\n",
                                                  {.precision = Precision::f64});
  const Released all[] = {
      {testing::kLinearModel, 1, {-1, 1}, {-0.6666666666666666, 0.26666666666666666}},
      {testing::kClassesModel, 1, {3, 3}, {1.5, 2.5, -3.5, -0.1, 0.1, -0.1}},
      {testing::kWideModel, 1, {-1, -1}, {0, -0.6}},
      {testing::kKernelModel, 1, {-1, 1}, {-0.2258990524323719, 0.0012524519747240579}},
      {testing::kPathModel, 0.1, {-1, 1}, {-0.125, 0.04000000000000001}},
      {testing::kPathModel, 1, {-1, 1}, {-0.6250000000000002, 0.09999999999999998}},
      {testing::kPathModel, 10, {-1, 1}, {-0.5554999999999999, 0.11111}},
      {testing::kStreamModel,
       1,
       {3, 3},
       {2.5, 4.166666666666667, -5.833333333333333, -0.16666666666666666, 0.16666666666666666,
        -0.16666666666666666}}};
  for (const Released& one : all) {
    write_file(folder / "m", testing::from_base64(one.file));
    const bool path = one.file == testing::kPathModel;
    const Result<Model> model =
        load_model(folder / "m", path ? std::optional(one.cost) : std::nullopt);
    ASSERT_TRUE(model.ok()) << to_string(model.error());
    const Predictions said = predict(*model, data).value();
    EXPECT_EQ(said.labels, one.labels);
    ASSERT_EQ(said.scores.size(), one.scores.size());
    for (std::size_t k = 0; k < said.scores.size(); ++k) {
      // The exponential function of kernels is that of the machine's library.
      EXPECT_NEAR(said.scores[k], one.scores[k], model->kernel.linear() ? 0 : 1e-14) << k;
    }
  }
}

// Nothing new is used, so nothing in the file is new but who wrote it.
TEST(ReleasedModels, AreWrittenAsTheyWere) {
  const testing::TempFolder folder(testing::memory_folder());
  for (const std::string_view old :
       {testing::kLinearModel, testing::kClassesModel, testing::kWideModel, testing::kKernelModel,
        testing::kPathModel, testing::kStreamModel}) {
    const std::string bytes = testing::from_base64(old);
    write_file(folder / "old", bytes);
    ASSERT_TRUE(save_models(load_models(folder / "old").value(), folder / "new").ok());
    Unpacked before(bytes), after(read_file(folder / "new"));
    for (Unpacked* parts : {&before, &after}) {
      parts->metadata.erase("written_by");
      parts->metadata.erase("checksum.header");  // which is of that, too
    }
    EXPECT_EQ(before.metadata, after.metadata);  // among it the checksums of the arrays
  }
}

}  // namespace
}  // namespace hinge
