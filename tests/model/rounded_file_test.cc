// The section "witness" of model files: what may stand there.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

// A model file taken apart, to be changed and put together again with the right checksums.
struct File {
  Metadata metadata;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> bytes;

  explicit File(const std::string& path) {
    const TensorFile file = TensorFile::read(path, "model");
    metadata = file.metadata();
    for (const Tensor& t : file.tensors()) {
      tensors[t.name] = t;
      bytes[t.name].assign(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
    }
  }
  void write(const std::string& path) {
    std::vector<Tensor> all;
    for (auto& [name, t] : tensors) {
      t.bytes = std::as_bytes(std::span(bytes.at(name)));
      all.push_back(t);
    }
    write_tensor_file(path, all, metadata);
  }
  void resize(const std::string& name, std::size_t size) {
    bytes.at(name).resize(size);
    tensors.at(name).shape = {size};
  }
};

class RoundedFile : public testing::Test {
 protected:
  void SetUp() override {
    const Dataset data = testing::random_dataset({.rows = 50, .noise = 0.2});
    const Model model = train(data, {.loss = LossKind::squared_hinge, .gap = 1e-3}).value().model;
    ASSERT_EQ(model.problems[0].witness.bits, 16);
    ASSERT_TRUE(save_model(model, folder_ / "good").ok());
  }

  std::string verdict(const std::function<void(File&)>& change) const {
    File file(folder_ / "good");
    change(file);
    file.write(folder_ / "bad");
    const Result<Model> model = load_model(folder_ / "bad");
    if (model.ok()) return "accepted";
    EXPECT_EQ(exit_code(model.error()), 80) << to_string(model.error());
    return model.error().id;
  }
  std::string verdict_of(const std::string& content) const {
    return verdict([&](File& f) { f.metadata.at("section.witness") = content; });
  }

  testing::TempFolder folder_{testing::memory_folder()};
  const std::string states_ = "section.witness.states", values_ = "section.witness.values";
};

TEST_F(RoundedFile, IsReadAsItWasWritten) {
  EXPECT_EQ(verdict([](File&) {}), "accepted");
  EXPECT_EQ(File(folder_ / "good").metadata.at("version"), "3");
}

TEST_F(RoundedFile, FormsMustMakeSense) {
  const File good(folder_ / "good");
  const std::string values = std::to_string(good.bytes.at(values_).size() / 2);
  EXPECT_EQ(verdict_of(R"([{"bits":16,"exponent":3,"values":)" + values + "}]"), "accepted");
  for (const std::string& content :
       {std::string(""), std::string("{}"), std::string("7"), std::string("[7]"),
        R"([{"bits":16,"values":)" + values + "}]", std::string(R"([{"bits":16,"exponent":3}])"),
        R"([{"bits":16.5,"exponent":3,"values":)" + values + "}]",
        R"([{"bits":16,"exponent":"3","values":)" + values + "}]"}) {
    EXPECT_EQ(verdict_of(content), "model.header") << content;
  }
  for (const std::string& content :
       {std::string("[]"), R"([{"bits":8,"exponent":3,"values":)" + values + "}]",
        R"([{"bits":32,"exponent":3,"values":)" + values + "}]",
        std::string(R"([{"bits":16,"exponent":3,"values":0}])"),
        std::string(R"([{"bits":16,"exponent":3,"values":18446744073709551615}])"),
        R"([{"bits":16,"exponent":5000,"values":)" + values + "}]",
        R"([{"bits":16,"exponent":3,"values":)" + values +
            R"(},{"bits":16,"exponent":3,"values":0}])"}) {
    EXPECT_EQ(verdict_of(content), "model.content") << content;
  }
}

TEST_F(RoundedFile, ArraysMustFit) {
  for (const std::string& name : {states_, values_}) {
    EXPECT_EQ(verdict([&](File& f) { f.tensors.erase(name); }), "model.header") << name;
  }
  EXPECT_EQ(verdict([&](File& f) { f.resize(values_, f.bytes.at(values_).size() + 1); }),
            "model.content");
  EXPECT_EQ(verdict([&](File& f) { f.resize(values_, f.bytes.at(values_).size() - 2); }),
            "model.content");
  EXPECT_EQ(verdict([&](File& f) { f.resize(states_, 13); }), "model.header");
  EXPECT_EQ(verdict([&](File& f) {
              f.tensors["witness.states"] = f.tensors.at(states_);
              f.tensors["witness.states"].name = "witness.states";
              f.bytes["witness.states"] = f.bytes.at(states_);
            }),
            "model.content");
}

TEST_F(RoundedFile, OnlyALossThatIsRoundedHasIt) {
  EXPECT_EQ(verdict([](File& f) {
              f.metadata.erase("section.loss");
              f.metadata.at("sections") = R"([{"name":"witness","affects_predictions":false}])";
            }),
            "model.content");
  EXPECT_EQ(
      verdict([](File& f) {
        f.metadata.at("sections") =
            R"([{"name":"loss","affects_predictions":false},{"name":"witness","affects_predictions":true}])";
      }),
      "model.header");
}

}  // namespace
}  // namespace hinge
