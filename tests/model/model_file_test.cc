#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "files/tensor_file.h"
#include "hinge/model.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::write_file;

struct Form {
  std::vector<std::int64_t> labels = {1, -1};
  std::uint64_t features = 10;
  std::uint64_t used = 10;  // columns that have a weight
  bool witness = true;
  bool kernel = false;  // support rows, one for each of the first features, in place of weights
};

// A model as train() would make it, with every field different from its default.
Model make_model(const Form& form) {
  Random random(form.labels.size(), form.features, form.used);
  Model model;
  model.labels = form.labels;
  model.features = form.features;
  model.index_base = 0;
  model.reject = form.labels.size() > 2;
  Origin& o = model.origin;
  o.solver = "auto:dual";
  o.cost = 0.1;
  o.gap = 1e-7;
  o.gap_absolute = 3.25;
  o.gap_per_row = 1e-5;
  o.target = 77;
  o.bias_feature = 1.5;
  o.class_weights = {{form.labels[0], 2.5}, {form.labels[1], 1e-3}};
  o.row_weights = true;
  o.seed = std::numeric_limits<std::uint64_t>::max();
  o.rows = 13;
  o.nonzeros = std::uint64_t{1} << 40;
  o.precision = Precision::f64;
  o.fingerprint = "0123456789abcdef";
  o.status = StopReason::interrupted;
  const std::size_t problems = form.labels.size() == 2 ? 1 : form.labels.size();
  model.weights.resize(problems * form.features);
  for (std::size_t k = 0; k < problems; ++k) {
    BinaryProblem p;
    p.label = form.labels[k];
    p.bias = random.uniform() - 0.5;
    p.certificate = {.primal = 10.1 + static_cast<double>(k),
                     .dual = 1.0 / 3,
                     .relative_gap = 0.25,
                     .bound = form.witness ? "witness" : "none"};
    p.iterations = 1000 + k;
    if (form.witness) {
      p.witness.states = {0x06, 0x18, 0x42, 0x01};  // 13 rows, 2 bits each
      for (std::size_t i = 0; i <= k % 2; ++i) p.witness.free.push_back(0.05 * random.uniform());
    }
    model.problems.push_back(p);
    for (std::size_t j = 0; j < form.used; ++j) {
      model.weights[k * form.features + j * form.features / form.used] = random.uniform() - 0.5;
    }
  }
  if (form.kernel) {
    model.kernel = {.kind = KernelKind::poly, .gamma = 0.125, .degree = 5, .coef0 = 0.1};
    model.support = testing::random_dataset(
        {.rows = form.features, .features = form.features, .nonzeros = 2, .seed = 8});
  }
  return model;
}

// The rows as text; labels are not kept.
std::string save_text(const Dataset& data) {
  std::string text;
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
        text += std::to_string(m.column(k)) + ":" +
                std::to_string(std::bit_cast<std::uint64_t>(static_cast<double>(m.values[k]))) +
                " ";
      }
      text += "\n";
    }
  });
  return text;
}

void expect_equal(const Model& a, const Model& b) {
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.index_base, b.index_base);
  EXPECT_EQ(a.reject, b.reject);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.support.precision(), b.support.precision());
  EXPECT_EQ(save_text(a.support), save_text(b.support));
  EXPECT_EQ(a.origin.solver, b.origin.solver);
  EXPECT_EQ(a.origin.cost, b.origin.cost);
  EXPECT_EQ(a.origin.gap, b.origin.gap);
  EXPECT_EQ(a.origin.gap_absolute, b.origin.gap_absolute);
  EXPECT_EQ(a.origin.gap_per_row, b.origin.gap_per_row);
  EXPECT_EQ(a.origin.target, b.origin.target);
  EXPECT_EQ(a.origin.bias_feature, b.origin.bias_feature);
  EXPECT_EQ(a.origin.update, b.origin.update);
  ASSERT_EQ(a.origin.class_weights.size(), b.origin.class_weights.size());
  for (std::size_t i = 0; i < a.origin.class_weights.size(); ++i) {
    EXPECT_EQ(a.origin.class_weights[i].label, b.origin.class_weights[i].label);
    EXPECT_EQ(a.origin.class_weights[i].factor, b.origin.class_weights[i].factor);
  }
  EXPECT_EQ(a.origin.row_weights, b.origin.row_weights);
  EXPECT_EQ(a.origin.seed, b.origin.seed);
  EXPECT_EQ(a.origin.rows, b.origin.rows);
  EXPECT_EQ(a.origin.nonzeros, b.origin.nonzeros);
  EXPECT_EQ(a.origin.precision, b.origin.precision);
  EXPECT_EQ(a.origin.fingerprint, b.origin.fingerprint);
  EXPECT_EQ(a.origin.status, b.origin.status);
  ASSERT_EQ(a.problems.size(), b.problems.size());
  for (std::size_t k = 0; k < a.problems.size(); ++k) {
    const BinaryProblem &p = a.problems[k], &q = b.problems[k];
    EXPECT_EQ(p.label, q.label);
    EXPECT_EQ(p.bias, q.bias);
    EXPECT_EQ(p.certificate.primal, q.certificate.primal);
    EXPECT_EQ(p.certificate.dual, q.certificate.dual);
    EXPECT_EQ(p.certificate.relative_gap, q.certificate.relative_gap);
    EXPECT_EQ(p.certificate.bound, q.certificate.bound);
    EXPECT_EQ(p.witness.states, q.witness.states);
    EXPECT_EQ(p.witness.free, q.witness.free);
    EXPECT_EQ(p.iterations, q.iterations);
  }
}

// A model file taken apart, to be changed and put together again with the right checksums.
struct Parts {
  Metadata metadata;
  std::map<std::string, std::vector<double>> f64;
  std::map<std::string, std::vector<float>> f32;
  std::map<std::string, std::vector<std::uint64_t>> u64;
  std::map<std::string, std::vector<std::uint32_t>> u32;
  std::map<std::string, std::vector<std::uint8_t>> u8;
  std::map<std::string, std::vector<std::uint64_t>> shapes;

  explicit Parts(const std::string& path) {
    const TensorFile file = TensorFile::read(path, "model");
    metadata = file.metadata();
    const auto take_array = [&]<class T>(const std::string& name,
                                         std::map<std::string, std::vector<T>>& into) {
      if (!file.has(name)) return;
      shapes[name].assign(file.shape(name).begin(), file.shape(name).end());
      const auto values = file.get<T>(name, shapes[name]);
      into[name].assign(values.begin(), values.end());
    };
    take_array("bias", f64);
    take_array("weights", f64);
    take_array("columns", u32);
    take_array("support.offsets", u64);
    take_array("support.columns", u32);
    take_array("support.values", f32);
    take_array("witness.free", f64);
    take_array("witness.free_counts", u64);
    take_array("witness.states", u8);
  }

  // Replaces text within a metadata field; the text must be there.
  void edit(const std::string& key, const std::string& from, const std::string& to) {
    std::string& text = metadata.at(key);
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("no " + from + " in " + text);
    text.replace(at, from.size(), to);
  }

  void write(const std::string& path) const {
    std::vector<Tensor> tensors;
    const auto add = [&](const auto& arrays) {
      for (const auto& [name, values] : arrays) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        tensors.push_back(tensor<Value>(name, shapes.at(name), values));
      }
    };
    add(f64);
    add(f32);
    add(u64);
    add(u32);
    add(u8);
    write_tensor_file(path, std::move(tensors), metadata);
  }
};

class ModelFile : public testing::Test {
 protected:
  void save(const Model& model, const std::string& path) const {
    const Result<void> saved = save_model(model, path);
    ASSERT_TRUE(saved.ok()) << to_string(saved.error());
  }

  // Saved, loaded, equal; and saving again gives the same bytes.
  void expect_round_trip(const Model& model) const {
    save(model, folder_ / "model");
    const Result<Model> loaded = load_model(folder_ / "model");
    ASSERT_TRUE(loaded.ok()) << to_string(loaded.error());
    expect_equal(model, *loaded);
    save(*loaded, folder_ / "again");
    EXPECT_EQ(read_file(folder_ / "again"), read_file(folder_ / "model"));
    EXPECT_EQ(model_to_bytes(model).value(), read_file(folder_ / "model"));
  }

  static std::string verdict_of(const std::string& path) {
    const Result<Model> model = load_model(path);
    if (model.ok()) return "accepted";
    EXPECT_EQ(exit_code(model.error()), 80) << to_string(model.error());
    return model.error().id;
  }

  // The id a model gets after one change to its content, checksums mended.
  std::string verdict(const Form& form, const std::function<void(Parts&)>& change) const {
    save(make_model(form), folder_ / "good");
    Parts parts(folder_ / "good");
    change(parts);
    parts.write(folder_ / "bad");
    return verdict_of(folder_ / "bad");
  }
  std::string verdict_edit(const std::string& key, const std::string& from,
                           const std::string& to) const {
    return verdict({}, [&](Parts& p) { p.edit(key, from, to); });
  }

  testing::TempFolder folder_{testing::memory_folder()};
  const Form sparse_{.features = 1000, .used = 5};
  const Form three_{.labels = {-7, 0, 5}};
  const Form kernel_{.kernel = true};
};

TEST_F(ModelFile, RoundTripBinary) {
  expect_round_trip(make_model({}));
  expect_round_trip(make_model({.witness = false}));
}

TEST_F(ModelFile, RoundTripOfMistakes) {
  Model model = make_model({});
  model.origin.update = Update::mistake;
  expect_round_trip(model);
  EXPECT_EQ(verdict_edit("options", R"("seed":)", R"("update":"mistake","seed":)"), "accepted");
  EXPECT_EQ(verdict_edit("options", R"("seed":)", R"("update":"margins","seed":)"), "model.header");
  EXPECT_EQ(verdict_edit("options", R"("seed":)", R"("update":1,"seed":)"), "model.header");
}

TEST_F(ModelFile, RoundTripSeveralClasses) {
  expect_round_trip(make_model({.labels = {-7, 0, 5}}));
  expect_round_trip(make_model({.labels = {1, 2, 3, 4, 5}, .witness = false}));
}

TEST_F(ModelFile, RoundTripSparse) {
  expect_round_trip(make_model({.features = 5000, .used = 3}));
  EXPECT_LT(std::filesystem::file_size(folder_ / "model"), 5000U);
  expect_round_trip(make_model({.labels = {1, 2, 3}, .features = 5000, .used = 3}));
  expect_round_trip(make_model({.features = 100, .used = 60}));
  expect_round_trip(make_model({.features = 100, .used = 99}));
}

TEST_F(ModelFile, RoundTripKernels) {
  expect_round_trip(make_model(kernel_));
  expect_round_trip(make_model({.labels = {-7, 0, 5}, .witness = false, .kernel = true}));
  Model model = make_model({.features = 7, .used = 7, .witness = false, .kernel = true});
  model.support = testing::random_dataset(
      {.rows = 7, .features = 7, .nonzeros = 3, .precision = Precision::f64});
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::poly, KernelKind::sigmoid}) {
    model.kernel.kind = kind;
    expect_round_trip(model);
  }
  EXPECT_EQ(check_format(model, ModelFormat::liblinear).error().id, "model.format");
  // No support rows: every score is the bias.
  model.support = testing::dataset_from_text("1 1:1\n");
  const CsrView<float> none = {0, 7, std::get<CsrView<float>>(model.support.view()).offsets};
  model.support = Dataset::wrap(none, {}, {}, std::make_shared<Dataset>(model.support)).value();
  model.weights.clear();
  expect_round_trip(model);
  const Dataset rows = testing::dataset_from_text("1 1:1 900:2\n-1\n");
  EXPECT_EQ(predict(model, rows).value().scores, std::vector<double>(2, model.problems[0].bias));
}

TEST_F(ModelFile, SupportRowsMustMakeSense) {
  const auto after = [&](const std::function<void(Parts&)>& change) {
    return verdict(kernel_, change);
  };
  EXPECT_EQ(after([](Parts&) {}), "accepted");
  const auto offset = [&](std::size_t at, std::uint64_t value) {
    return after([&](Parts& p) { p.u64.at("support.offsets").at(at) = value; });
  };
  EXPECT_EQ(offset(0, 1), "model.content");
  EXPECT_EQ(offset(1, 20), "model.content");
  EXPECT_EQ(offset(3, 0), "model.content");
  EXPECT_EQ(offset(10, 19), "model.content");
  EXPECT_EQ(offset(10, 21), "model.content");
  EXPECT_EQ(offset(10, UINT64_MAX), "model.content");
  const auto column = [&](std::size_t at, std::uint32_t value) {
    return after([&](Parts& p) { p.u32.at("support.columns").at(at) = value; });
  };
  EXPECT_EQ(column(1, 10), "model.content");
  EXPECT_EQ(column(1, 0xffffffffU), "model.content");
  EXPECT_EQ(column(1, 0), "model.content");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(after([&](Parts& p) { p.f32.at("support.values")[0] = bad; }), "model.content");
  }
  EXPECT_EQ(after([](Parts& p) { p.f64.at("weights")[0] = std::nan(""); }), "model.content");
  for (const char* name : {"support.offsets", "support.columns", "support.values"}) {
    const auto erase = [&](Parts& p) {
      p.u64.erase(name);
      p.u32.erase(name);
      p.f32.erase(name);
    };
    EXPECT_EQ(after(erase), "model.header") << name;
    EXPECT_EQ(after([&](Parts& p) { p.shapes.at(name).insert(p.shapes.at(name).begin(), 1); }),
              "model.header");
  }
  EXPECT_EQ(after([](Parts& p) { p.metadata.erase("kernel"); }), "model.header");
  EXPECT_EQ(verdict({},
                    [](Parts& p) {
                      p.metadata["kernel"] = R"({"kind":"rbf","gamma":1,"degree":3,"coef0":0})";
                    }),
            "model.header");
  const auto kernel = [&](const std::string& from, const std::string& to) {
    return after([&](Parts& p) { p.edit("kernel", from, to); });
  };
  EXPECT_EQ(kernel("poly", "rbf"), "accepted");
  EXPECT_EQ(kernel("poly", "sigmoid"), "model.content");  // which has no bound
  EXPECT_EQ(kernel("\"coef0\":0.1", "\"coef0\":-0.1"), "model.content");
  EXPECT_EQ(kernel("poly", "linear"), "model.header");
  EXPECT_EQ(kernel("poly", "gauss"), "model.header");
  EXPECT_EQ(kernel("0.125", "0"), "model.content");
  EXPECT_EQ(kernel("0.125", "-1"), "model.content");
  EXPECT_EQ(kernel("0.125", "1e999"), "model.header");
  EXPECT_EQ(kernel("\"degree\":5", "\"degree\":0"), "model.content");
  EXPECT_EQ(kernel("\"degree\":5", "\"degree\":2.5"), "model.header");
  EXPECT_EQ(kernel("\"coef0\":", "\"coef\":"), "model.header");
}

TEST_F(ModelFile, RoundTripNoWeights) {
  Model zero = make_model({.features = 50, .used = 1});
  zero.weights.assign(50, 0.0);
  expect_round_trip(zero);
  Model none = make_model({.features = 1, .used = 1});
  none.features = 0;
  none.weights.clear();
  expect_round_trip(none);
}

TEST_F(ModelFile, RoundTripExtremeLabelsAndNumbers) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  expect_round_trip(make_model({.labels = {kHigh, kLow}}));
  expect_round_trip(make_model({.labels = {kLow, kLow + 1, -1, kHigh - 1, kHigh}}));
  Model model = make_model({});
  model.weights = {5e-324, -1e308, 0.1, -0.0, 1, 2, 3, 4, 5, 6};
  model.origin.cost = 1e300;
  model.origin.gap = 5e-324;
  model.problems[0].certificate.dual = -1e308;
  expect_round_trip(model);
}

TEST_F(ModelFile, PredictsTheSame) {
  const Model model = make_model({.labels = {-7, 0, 5}, .features = 20, .used = 4});
  save(model, folder_ / "model");
  const Result<Model> loaded = load_model(folder_ / "model");
  ASSERT_TRUE(loaded.ok());
  const Dataset data = testing::random_dataset({.rows = 50, .features = 20});
  const Result<Predictions> a = predict(model, data, 1), b = predict(*loaded, data, 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->scores, b->scores);
  EXPECT_EQ(a->labels, b->labels);
}

TEST_F(ModelFile, LooksLikeAModel) {
  save(make_model({}), folder_ / "model");
  write_file(folder_ / "text", "+1 1:0.5 2:0.25\n{\"a\":1}\n");
  write_file(folder_ / "short", "1 {");
  EXPECT_TRUE(looks_like_model(folder_ / "model"));
  EXPECT_FALSE(looks_like_model(folder_ / "text"));
  EXPECT_FALSE(looks_like_model(folder_ / "short"));
  EXPECT_FALSE(looks_like_model(folder_ / "none"));
  EXPECT_FALSE(looks_like_model(folder_ / "."));
}

TEST_F(ModelFile, FailuresOfTheOutsideWorld) {
  const Result<void> saved = save_model(make_model({}), folder_ / "no/such/folder");
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().id, "io.create");
  const Result<void> full = save_model(make_model({}), "/dev/full");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().id, "io.write");
  const Result<Model> none = load_model(folder_ / "none");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().id, "io.open");
}

TEST_F(ModelFile, EveryTruncationIsRefused) {
  const std::string path = folder_ / "model";
  save(make_model({.labels = {-7, 0, 5}, .features = 100, .used = 90}), path);
  const std::string bytes = read_file(path);
  ASSERT_GT(bytes.size(), 3500U);
  ASSERT_LT(bytes.size(), 5000U);
  for (std::size_t size = bytes.size(); size-- > 0;) {
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
    const std::string id = verdict_of(path);
    ASSERT_TRUE(size < 10 ? id.starts_with("model.") : id == "model.truncated")
        << size << ": " << id;
  }
}

TEST_F(ModelFile, EveryBitFlipIsRefused) {
  const std::string path = folder_ / "model";
  save(make_model({.labels = {-7, 0, 5}, .features = 100, .used = 90}), path);
  const std::string bytes = read_file(path);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto at = static_cast<off_t>(i);
    for (int bit = 0; bit < 8; ++bit) {
      if (!testing::at_length() && bit != static_cast<int>(i % 8)) continue;  // one of each byte
      const auto flipped = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_EQ(pwrite(fd, &flipped, 1, at), 1);
      const std::string id = verdict_of(path);
      ASSERT_TRUE(id.starts_with("model.")) << "byte " << i << " bit " << bit << ": " << id;
    }
    ASSERT_EQ(pwrite(fd, &bytes[i], 1, at), 1);
  }
  close(fd);
  EXPECT_EQ(verdict_of(path), "accepted");
}

// ---- Content that makes no sense under checksums that are right. First that the hand is steady.

TEST_F(ModelFile, UnchangedPartsAreAccepted) {
  for (const Form& form : {Form{}, sparse_, three_}) {
    EXPECT_EQ(verdict(form, [](Parts&) {}), "accepted");
    EXPECT_EQ(read_file(folder_ / "bad"), read_file(folder_ / "good"));
  }
}

TEST_F(ModelFile, NumbersThatAreNotFinite) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const char* name : {"weights", "bias"}) {
      for (const Form& form : {Form{}, sparse_, three_}) {
        EXPECT_EQ(verdict(form, [&](Parts& p) { p.f64.at(name).back() = bad; }), "model.content")
            << name << bad;
      }
    }
  }
  EXPECT_EQ(verdict_edit("options", "\"cost\":0.1", "\"cost\":1e999"), "model.header");
  EXPECT_EQ(verdict_edit("options", "\"cost\":0.1", "\"cost\":null"), "model.header");
}

TEST_F(ModelFile, LabelsAndPlanesMustFit) {
  const auto labels = [&](const Form& form, const std::string& text) {
    return verdict(form, [&](Parts& p) { p.metadata["labels"] = text; });
  };
  EXPECT_EQ(labels({}, "[1,-1]"), "accepted");
  EXPECT_EQ(labels({}, "[1,1]"), "model.content");
  EXPECT_EQ(labels({}, "[1]"), "model.content");
  EXPECT_EQ(labels({}, "[]"), "model.content");
  EXPECT_EQ(labels({}, "[1,-1,2]"), "model.content");
  EXPECT_EQ(labels({}, "[2,-1]"), "model.content");  // not the label of the plane
  EXPECT_EQ(labels(three_, "[-7,0,0]"), "model.content");
  EXPECT_EQ(labels(three_, "[-7,5,0]"), "model.content");
  EXPECT_EQ(labels(three_, "[-7,0]"), "model.content");
  for (const char* text :
       {"", "1", "{}", "null", "[1,-1", "[1,\"-1\"]", "[1,null]", "[1,[-1]]", "[1,-1] x"}) {
    EXPECT_TRUE(labels({}, text).starts_with("model.")) << text;
  }
  EXPECT_TRUE(labels({}, std::string(1000000, '[')).starts_with("model."));
}

TEST_F(ModelFile, LabelsAreWholeNumbers) {
  for (const char* text : {"[1.5,-1]", "[1,99999999999999999999]", "[1,-1e300]", "[1,-1.25]",
                           "[true,-1]", "[1,false]"}) {
    const std::string id = verdict({}, [&](Parts& p) { p.metadata["labels"] = text; });
    EXPECT_TRUE(id.starts_with("model.")) << text << ": " << id;
  }
}

// Other programs have other orders; what counts is that no label occurs twice.
TEST_F(ModelFile, LabelsMayStandInAnyOrder) {
  expect_round_trip(make_model({.labels = {-1, 1}}));
  expect_round_trip(make_model({.labels = {5, -7, 0}}));
  EXPECT_EQ(verdict({.labels = {5, 0, 5}}, [](Parts&) {}), "model.content");
  EXPECT_EQ(verdict({.labels = {1, 1}}, [](Parts&) {}), "model.content");
}

// A model another program trained: no rows, and so no bound.
TEST_F(ModelFile, WithoutRowsThereIsNoBound) {
  Model model = make_model({.witness = false});
  model.origin.rows = 0;
  expect_round_trip(model);
  model.problems[0].certificate.bound = "witness";
  save(model, folder_ / "bad");
  EXPECT_EQ(verdict_of(folder_ / "bad"), "model.content");
}

TEST_F(ModelFile, WeightsComeBackBitForBit) {
  Model model = make_model({.features = 100, .used = 3});
  model.weights[7] = -0.0;  // a column of its own
  save(model, folder_ / "model");
  const Result<Model> loaded = load_model(folder_ / "model");
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(std::signbit(loaded->weights[7]));
}

// As LIBLINEAR and scikit-learn decide: 0 is not positive, and of equal scores the first wins.
TEST_F(ModelFile, TiesAreDecidedByTheOrderOfTheLabels) {
  const Dataset data = testing::dataset_from_text("1 1:0\n");
  for (const std::vector<std::int64_t>& labels :
       {std::vector<std::int64_t>{1, -1}, {-1, 1}, {3, 1, 2}}) {
    Model model = make_model({.labels = labels});
    model.reject = false;
    for (BinaryProblem& problem : model.problems) problem.bias = 0;
    const Result<Predictions> said = predict(model, data, 1);
    ASSERT_TRUE(said.ok());
    EXPECT_EQ(said->labels[0], labels.size() == 2 ? labels[1] : labels[0]);
  }
}

TEST_F(ModelFile, ColumnsMustAscendInsideTheModel) {
  const auto columns = [&](std::vector<std::uint32_t> values) {
    return verdict(sparse_, [&](Parts& p) { p.u32.at("columns") = std::move(values); });
  };
  EXPECT_EQ(columns({0, 200, 400, 600, 999}), "accepted");
  EXPECT_EQ(columns({0, 200, 400, 600, 1000}), "model.content");
  EXPECT_EQ(columns({0, 200, 400, 600, 0xffffffffU}), "model.content");
  EXPECT_EQ(columns({0, 200, 200, 600, 800}), "model.content");
  EXPECT_EQ(columns({0, 400, 200, 600, 800}), "model.content");
  const auto shapes = [&](const char* name, std::vector<std::uint64_t> shape) {
    return verdict(sparse_, [&](Parts& p) { p.shapes.at(name) = std::move(shape); });
  };
  EXPECT_EQ(shapes("columns", {5, 1}), "model.header");
  EXPECT_EQ(shapes("columns", {1, 5}), "model.header");
  EXPECT_EQ(shapes("weights", {5}), "model.header");
  EXPECT_EQ(shapes("weights", {5, 1}), "model.header");
}

TEST_F(ModelFile, ArraysMustBeThereInTheRightSize) {
  for (const char* name : {"weights", "bias"}) {
    EXPECT_EQ(verdict({}, [&](Parts& p) { p.f64.erase(name); }), "model.header") << name;
    EXPECT_EQ(verdict({},
                      [&](Parts& p) {
                        p.f64.at(name).push_back(0);
                        ++p.shapes.at(name).back();
                      }),
              "model.header")
        << name;
  }
  EXPECT_EQ(verdict_edit("data", "\"features\":10", "\"features\":11"), "model.header");
  EXPECT_EQ(verdict_edit("data", "\"features\":10", "\"features\":18446744073709551615"),
            "model.content");
}

TEST_F(ModelFile, WitnessMustFit) {
  for (const Form& form : {Form{}, three_}) {
    EXPECT_EQ(verdict(form,
                      [](Parts& p) {
                        auto& states = p.u8.at("witness.states");
                        states.resize(states.size() / 4 * 5);
                        p.shapes.at("witness.states").back() = 5;
                      }),
              "model.header");
    EXPECT_EQ(verdict(form,
                      [](Parts& p) {
                        p.f64.at("witness.free").push_back(0.01);
                        ++p.shapes.at("witness.free").back();
                      }),
              "model.header");
    EXPECT_EQ(verdict(form, [](Parts& p) { ++p.u64.at("witness.free_counts")[0]; }),
              "model.header");
    for (const char* name : {"witness.free", "witness.free_counts"}) {
      EXPECT_EQ(verdict(form,
                        [&](Parts& p) {
                          p.f64.erase(name);
                          p.u64.erase(name);
                        }),
                "model.header")
          << name;
    }
  }
  // Counts that add up only modulo 2^64.
  const std::string id = verdict(three_, [](Parts& p) {
    auto& counts = p.u64.at("witness.free_counts");
    counts[0] += std::uint64_t{1} << 63;
    counts[1] += std::uint64_t{1} << 63;
  });
  EXPECT_EQ(id, "model.content");
  EXPECT_EQ(verdict_edit("data", "\"rows\":13", "\"rows\":17"), "model.header");
  EXPECT_EQ(verdict_edit("data", "\"rows\":13", "\"rows\":18446744073709551615"), "model.header");
}

TEST_F(ModelFile, OtherVersionsAndFormats) {
  EXPECT_EQ(verdict_edit("version", "1", "4"), "model.version");
  EXPECT_EQ(verdict_edit("version", "1", "10"), "model.version");
  EXPECT_EQ(verdict_edit("format", "hinge.model", "hinge.cache"), "model.magic");
  for (const char* key :
       {"format", "version", "labels", "options", "data", "certificate", "status"}) {
    EXPECT_EQ(verdict({}, [&](Parts& p) { p.metadata.erase(key); }), "model.header") << key;
  }
}

TEST_F(ModelFile, NewerVersionIsNamed) {
  save(make_model({}), folder_ / "good");
  Parts parts(folder_ / "good");
  parts.metadata["version"] = "4";
  parts.metadata["written_by"] = "hinge 9.8 \x1b[31m";
  parts.write(folder_ / "bad");
  const Result<Model> model = load_model(folder_ / "bad");
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("hinge 9.8 \\x1b[31m"), std::string::npos)
      << model.error().message;
}

TEST_F(ModelFile, OptionsMustMakeSense) {
  const auto expect_refused = [&](const char* key, const char* from, const char* to) {
    const std::string id = verdict_edit(key, from, to);
    EXPECT_TRUE(id.starts_with("model.")) << key << " " << to << ": " << id;
  };
  expect_refused("options", "\"cost\":0.1", "\"cost\":0");
  expect_refused("options", "\"cost\":0.1", "\"cost\":-1");
  expect_refused("options", "\"cost\":0.1", "\"cost\":\"1\"");
  expect_refused("options", "\"cost\":0.1,", "");
  expect_refused("options", "\"row_weights\":true", "\"row_weights\":1");
  expect_refused("options", "\"solver\":\"auto:dual\"", "\"solver\":7");
  expect_refused("options", "[1,2.5]", "[1]");
  expect_refused("options", "[1,2.5]", "1");
  expect_refused("data", "\"index_base\":0", "\"index_base\":2");
  expect_refused("data", "\"index_base\":0", "\"index_base\":-1");
  expect_refused("data", "\"precision\":\"f64\"", "\"precision\":\"f16\"");
  expect_refused("data", "\"features\":10", "\"features\":-10");
  expect_refused("certificate", "\"primal\":10.1", "\"primal\":\"10.1\"");
  expect_refused("certificate", "\"class\":1", "\"class\":2");
  expect_refused("certificate", "[{", "[{},{");
}

// Going through a JSON object visits its values, as if it were a list.
TEST_F(ModelFile, ListsAreLists) {
  const auto expect_refused = [&](const char* key, const std::string& text) {
    const std::string id = verdict({}, [&](Parts& p) { p.metadata[key] = text; });
    EXPECT_TRUE(id.starts_with("model.")) << key << " " << text << ": " << id;
  };
  expect_refused("labels", R"({"a":1,"b":-1})");
  save(make_model({}), folder_ / "good");
  const Parts good(folder_ / "good");
  const std::string list = good.metadata.at("certificate");
  expect_refused("certificate", "{\"a\":" + list.substr(1, list.size() - 2) + "}");
  expect_refused("certificate", list.substr(1, list.size() - 2));
  Parts parts(folder_ / "good");
  parts.edit("options", "[[1,2.5],[-1,0.001]]", R"({"a":[1,2.5]})");
  expect_refused("options", parts.metadata.at("options"));
}

TEST_F(ModelFile, UnknownStatusIsNotTakenForConverged) {
  const std::string id = verdict_edit("status", "interrupted", "whatever");
  EXPECT_TRUE(id.starts_with("model.")) << id;
}

TEST_F(ModelFile, ClassFactorsArePositive) {
  for (const char* factor : {"[1,0]", "[1,-2.5]"}) {
    const std::string id = verdict_edit("options", "[1,2.5]", factor);
    EXPECT_TRUE(id.starts_with("model.")) << factor << ": " << id;
  }
}

TEST_F(ModelFile, CountsAreWholeNumbers) {
  const auto expect_refused = [&](const char* key, const char* from, const char* to) {
    const std::string id = verdict_edit(key, from, to);
    EXPECT_TRUE(id.starts_with("model.")) << key << " " << to << ": " << id;
  };
  expect_refused("data", "\"features\":10", "\"features\":10.5");
  expect_refused("data", "\"index_base\":0", "\"index_base\":0.5");
  expect_refused("data", "\"nonzeros\":1099511627776", "\"nonzeros\":-1");
  expect_refused("options", "\"seed\":18446744073709551615", "\"seed\":-1");
  expect_refused("certificate", "\"iterations\":1000", "\"iterations\":-1000");
}

// A few kilobytes may claim more features than any machine can hold weights of: only those the file
// has weights for take memory.
TEST_F(ModelFile, HugeClaimsTakeNoMemory) {
  Form many{.features = 1000, .used = 1, .witness = false};
  many.labels.clear();
  for (std::int64_t label = 0; label < 300; ++label) many.labels.push_back(label);
  save(make_model(many), folder_ / "good");
  Parts parts(folder_ / "good");
  parts.edit("data", "\"features\":1000", "\"features\":4294967294");
  parts.write(folder_ / "bad");
  const Result<Model> model = load_model(folder_ / "bad");  // else 10 TB of weights
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  EXPECT_EQ(model->width(), 1U);
  EXPECT_EQ(model->weights.size(), 300U);
}

}  // namespace
}  // namespace hinge
