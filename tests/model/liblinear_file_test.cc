// LIBLINEAR's text models: what it writes is read, and nothing else. tests/cli/liblinear_test.py
// holds the two programs against each other.
#include "model/liblinear_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::write_file;

// As liblinear-train 2.3 wrote them.
const std::string kTwo =
    "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 2\nnr_feature 3\nbias 1\nw\n"
    "0.73640661681251074 \n0.32007705152892907 \n0.45624066569347155 \n-0.026541497810310989 \n";
const std::string kThree =
    "solver_type MCSVM_CS\nnr_class 3\nlabel 5 -2 3\nnr_feature 3\nbias -1\nw\n"
    "0.84000000000000008 -0.92000000000000004 0.07999999999999996 \n"
    "0.41999999999999998 -0.37333333333333329 -0.046666666666666773 \n"
    "-0.16666666666666669 -1.6666666666666669e-05 -0 \n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from + " in " + text);
  return text.replace(at, from.size(), to);
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> out;
  for (const double value : values) out.push_back(std::bit_cast<std::uint64_t>(value));
  return out;
}

std::vector<double> biases(const Model& model) {
  std::vector<double> out;
  for (const BinaryProblem& problem : model.problems) out.push_back(problem.bias);
  return out;
}

void expect_same(const Model& a, const Model& b, const std::string& note = {}) {
  EXPECT_EQ(a.labels, b.labels) << note;
  EXPECT_EQ(a.features, b.features) << note;
  EXPECT_EQ(a.index_base, b.index_base) << note;
  EXPECT_EQ(a.reject, b.reject) << note;
  EXPECT_EQ(bits(a.weights), bits(b.weights)) << note;
  EXPECT_EQ(bits(biases(a)), bits(biases(b))) << note;
  EXPECT_EQ(a.origin.solver, b.origin.solver) << note;
  EXPECT_EQ(a.origin.bias_feature, b.origin.bias_feature) << note;
  EXPECT_EQ(a.origin.rows, b.origin.rows) << note;
  EXPECT_EQ(a.origin.status, b.origin.status) << note;
}

// The invariants of hinge/model.h.
void expect_sense(const Model& model, const std::string& note) {
  ASSERT_GE(model.labels.size(), 2U) << note;
  ASSERT_EQ(model.problems.size(), model.binary() ? 1 : model.labels.size()) << note;
  ASSERT_EQ(model.weights.size(), model.problems.size() * model.features) << note;
  std::vector<std::int64_t> labels = model.labels;
  std::ranges::sort(labels);
  EXPECT_EQ(std::ranges::adjacent_find(labels), labels.end()) << note;
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    EXPECT_EQ(model.problems[k].label, model.labels[k]) << note;
    EXPECT_EQ(model.problems[k].certificate.bound, "none") << note;
    EXPECT_TRUE(std::isfinite(model.problems[k].bias)) << note;
  }
  EXPECT_TRUE(std::ranges::all_of(model.weights, [](double w) { return std::isfinite(w); }))
      << note;
}

class LiblinearFile : public testing::Test {
 protected:
  Result<Model> load(const std::string& text) const {
    write_file(folder_ / "model", text);
    return load_model(folder_ / "model");
  }

  Model good(const std::string& text) const {
    Result<Model> model = load(text);
    if (!model.ok()) throw std::runtime_error(to_string(model.error()));
    return std::move(model).value();
  }

  std::string written(const Model& model) const {
    const Result<void> saved = save_model(model, folder_ / "written", ModelFormat::liblinear);
    if (!saved.ok()) throw std::runtime_error(to_string(saved.error()));
    return read_file(folder_ / "written");
  }

  // "model.content 7:3", or "accepted".
  std::string verdict(const std::string& text) const {
    const Result<Model> model = load(text);
    if (model.ok()) return "accepted";
    const Error& error = model.error();
    EXPECT_EQ(exit_code(error), 80) << to_string(error);
    EXPECT_EQ(error.file, folder_ / "model");
    return error.id + " " + std::to_string(error.line) + ":" + std::to_string(error.column);
  }

  // What is read can be written, in both formats, and read again as the same model.
  void expect_round_trips(const Model& model, const std::string& note = {}) const {
    expect_sense(model, note);
    expect_same(good(written(model)), model, note);
    ASSERT_TRUE(save_model(model, folder_ / "native").ok()) << note;
    const Result<Model> native = load_model(folder_ / "native");
    ASSERT_TRUE(native.ok()) << to_string(native.error()) << note;
    expect_same(*native, model, note);
  }

  testing::TempFolder folder_{testing::memory_folder()};
};

TEST_F(LiblinearFile, ReadsWhatLiblinearWrites) {
  const Model two = good(kTwo);
  EXPECT_EQ(two.labels, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(two.features, 3U);
  EXPECT_EQ(two.index_base, 1);
  EXPECT_EQ(two.weights,
            (std::vector{0.73640661681251074, 0.32007705152892907, 0.45624066569347155}));
  EXPECT_EQ(biases(two), std::vector{-0.026541497810310989});
  EXPECT_EQ(two.origin.solver, "liblinear:L2R_L2LOSS_SVC_DUAL");
  EXPECT_EQ(two.origin.bias_feature, 1);
  EXPECT_EQ(two.origin.rows, 0U);
  EXPECT_EQ(two.origin.cost, 1);
  EXPECT_NE(two.origin.status, StopReason::converged);  // nobody has proved it

  const Model three = good(kThree);
  EXPECT_EQ(three.labels, (std::vector<std::int64_t>{5, -2, 3}));
  EXPECT_EQ(three.weights_of(1)[0], -0.92000000000000004);
  EXPECT_EQ(three.weights_of(0)[2], -0.16666666666666669);
  EXPECT_EQ(three.origin.bias_feature, 0);
  EXPECT_EQ(biases(three), (std::vector<double>{0, 0, 0}));
}

TEST_F(LiblinearFile, EveryClassifierIsRead) {
  for (const char* name : {"L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL",
                           "L1R_L2LOSS_SVC", "L1R_LR", "L2R_LR_DUAL"}) {
    const Model two = good(replaced(kTwo, "L2R_L2LOSS_SVC_DUAL", name));
    EXPECT_EQ(two.origin.solver, std::string("liblinear:") + name);
    expect_round_trips(two);
    expect_round_trips(good(replaced(kThree, "MCSVM_CS", name)));
  }
}

TEST_F(LiblinearFile, RoundTrips) {
  for (const std::string& text : {kTwo, kThree}) expect_round_trips(good(text));
  std::string carriage;
  for (const char c : kThree) carriage += c == '\n' ? "\r\n" : std::string(1, c);
  expect_same(good(carriage), good(kThree));
  expect_same(good(replaced(kTwo, "4 \n", "4\n")), good(kTwo));  // the blank may be missing
  expect_same(good(replaced(kTwo, "bias 1\n", "bias 1.0\n")), good(kTwo));
}

// bias / S * S is not always the bias.
TEST_F(LiblinearFile, BiasesComeBackBitForBit) {
  Random random(1);
  for (const double feature : {1.0, 0.1, 3.0, 1e-5, 12345.678, 1e-310, 1e300, 5e-324}) {
    for (int i = 0; i < 300; ++i) {
      Model model = good(kTwo);
      model.origin.bias_feature = feature;
      const double weight = (random.uniform() - 0.5) * (i % 3 == 0 ? 1e-8 : 1e8);
      model.problems[0].bias = feature * weight;
      if (!std::isfinite(model.problems[0].bias)) continue;
      expect_same(good(written(model)), model, std::to_string(feature));
    }
  }
}

TEST_F(LiblinearFile, ExtremeNumbersComeBackBitForBit) {
  Model model = good(kThree);
  const double most = std::numeric_limits<double>::max();
  model.weights = {5e-324, -5e-324, most, -most, -0.0, 0.1, 1e22, 2.2250738585072014e-308, 1.0 / 3};
  model.labels = {2147483647, -2147483647 - 1, 0};
  for (std::size_t k = 0; k < 3; ++k) model.problems[k].label = model.labels[k];
  expect_round_trips(model);
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    for (double& w : model.weights) {
      do w = std::bit_cast<double>(random.below(std::numeric_limits<std::uint64_t>::max()));
      while (!std::isfinite(w));
    }
    expect_same(good(written(model)), model);
  }
}

TEST_F(LiblinearFile, WhatIsWrittenIsOurLoss) {
  Model model = good(kTwo);
  EXPECT_EQ(model.origin.loss, LossKind::squared_hinge);  // as kTwo says
  model.origin.solver = "auto:dual";
  EXPECT_TRUE(written(model).starts_with("solver_type L2R_L2LOSS_SVC\nnr_class 2\n"));
  model.origin.loss = LossKind::hinge;
  EXPECT_TRUE(written(model).starts_with(
      "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 2\nnr_feature 3\nbias 1\nw\n0.7364"));
  model.origin.solver = "liblinear:MCSVM_CS";  // which two classes cannot be
  EXPECT_TRUE(written(model).starts_with("solver_type L2R_L1LOSS_SVC_DUAL\n"));
  model.origin.solver = "liblinear:x\nnr_class 7";
  EXPECT_TRUE(written(model).starts_with("solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\n"));
}

TEST_F(LiblinearFile, WhatCannotBeSaidIsNotWritten) {
  const auto refused = [&](const char* word, auto change) {
    Model model = good(kTwo);
    change(model);
    const Result<void> saved = save_model(model, folder_ / "none", ModelFormat::liblinear);
    const Result<void> checked = check_format(model, ModelFormat::liblinear);
    ASSERT_TRUE(!saved.ok() && !checked.ok()) << word;
    EXPECT_EQ(saved.error().id, "model.format");
    EXPECT_EQ(exit_code(saved.error()), 64);
    EXPECT_EQ(to_string(saved.error()), to_string(checked.error()));
    EXPECT_NE(saved.error().message.find(word), std::string::npos) << saved.error().message;
    EXPECT_TRUE(check_format(model, ModelFormat::native).ok());
  };
  refused("from 0", [](Model& m) { m.index_base = 0; });
  refused("rejects", [](Model& m) { m.reject = true; });
  refused("no constant feature", [](Model& m) { m.origin.bias_feature = 0; });
  refused("32 bits", [](Model& m) { m.labels[0] = std::int64_t{1} << 31; });
  refused("0 features", [](Model& m) {
    m.features = 0;
    m.weights.clear();
  });
  refused("too large", [](Model& m) {
    m.origin.bias_feature = 1e-300;
    m.problems[0].bias = 1e300;
  });
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"model"});
}

TEST_F(LiblinearFile, LooksLikeAModel) {
  write_file(folder_ / "model", kTwo);
  EXPECT_TRUE(looks_like_model(folder_ / "model"));
  write_file(folder_ / "data", "1 1:0.5\n");
  EXPECT_FALSE(looks_like_model(folder_ / "data"));
  write_file(folder_ / "empty", "");
  EXPECT_FALSE(looks_like_model(folder_ / "empty"));
}

TEST_F(LiblinearFile, IsReadFromAPipe) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_file(pipe, kThree); });
  const Result<Model> model = load_model(pipe);
  writer.join();
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  expect_same(*model, good(kThree));
}

// M1. The last byte is the newline of the last weight.
TEST_F(LiblinearFile, EveryPrefixIsRefused) {
  for (const std::string& text : {kTwo, kThree}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      const std::string said = verdict(text.substr(0, size));
      ASSERT_TRUE(said.starts_with("model.truncated ")) << size << ": " << said;
    }
  }
}

// As LIBLINEAR 2.43 writes them with -s 11, 12 and 13: no labels, and two classes.
TEST_F(LiblinearFile, Regression) {
  const std::pair<std::string, LossKind> solvers[] = {
      {"L2R_L2LOSS_SVR", LossKind::squared_epsilon},
      {"L2R_L2LOSS_SVR_DUAL", LossKind::squared_epsilon},
      {"L2R_L1LOSS_SVR_DUAL", LossKind::epsilon_insensitive}};
  for (const auto& [solver, loss] : solvers) {
    const std::string text =
        "solver_type " + solver + "\nnr_class 2\nnr_feature 2\nbias 1\nw\n0.5 \n-0.25 \n2 \n";
    const Result<Model> model = load(text);
    ASSERT_TRUE(model.ok()) << solver;
    EXPECT_TRUE(model->regression());
    EXPECT_EQ(model->origin.loss, loss);
    EXPECT_TRUE(model->labels.empty());
    ASSERT_EQ(model->problems.size(), 1U);
    EXPECT_EQ(model->problems[0].bias, 2);
    EXPECT_EQ(model->weights, (std::vector<double>{0.5, -0.25}));
    ASSERT_TRUE(save_model(*model, folder_ / "again", ModelFormat::liblinear).ok());
    EXPECT_EQ(testing::read_file(folder_ / "again"), text);
  }
}

struct Bad {
  const char* name;
  std::string text;
  const char* verdict;
};

TEST_F(LiblinearFile, BadFiles) {
  const auto two = [](const char* from, const std::string& to) { return replaced(kTwo, from, to); };
  const auto three = [](const char* from, const std::string& to) {
    return replaced(kThree, from, to);
  };
  const std::string weight = "0.32007705152892907";
  const std::string kRegression =
      "solver_type L2R_L2LOSS_SVR\nnr_class 3\nnr_feature 1\nbias -1\nw\n1 \n";
  const std::string kOutliers =
      "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 1\nbias -1\nrho 1\nw\n1 \n";
  const std::vector<Bad> table = {
      // M4: the header
      {"unknown solver", two("L2R_L2LOSS_SVC_DUAL", "L3"), "model.header 1:13"},
      {"no solver", two("L2R_L2LOSS_SVC_DUAL", ""), "model.header 1:13"},
      {"solver and more", two("SVC_DUAL", "SVC_DUAL "), "model.header 1:13"},
      {"solver in small letters", two("L2R", "l2r"), "model.header 1:13"},
      {"regression of three classes", kRegression, "model.header 2:1"},
      {"labels of regression", two("L2R_L2LOSS_SVC_DUAL", "L2R_L1LOSS_SVR_DUAL"),
       "model.header 3:1"},
      {"outliers", kOutliers, "model.header 1:13"},
      {"Crammer and Singer, two classes", two("L2R_L2LOSS_SVC_DUAL", "MCSVM_CS"),
       "model.header 2:1"},
      {"classes -1", two("nr_class 2", "nr_class -1"), "model.header 2:10"},
      {"classes 0", two("nr_class 2", "nr_class 0"), "model.header 2:10"},
      {"classes 1", two("nr_class 2", "nr_class 1"), "model.header 2:10"},
      {"classes 2^31-1", two("nr_class 2", "nr_class 2147483647"), "model.header 2:10"},
      {"classes 2^63", two("nr_class 2", "nr_class 9223372036854775808"), "model.header 2:10"},
      {"classes 2^64+2", two("nr_class 2", "nr_class 18446744073709551618"), "model.header 2:10"},
      {"classes x", two("nr_class 2", "nr_class x"), "model.header 2:10"},
      {"classes 2.0", two("nr_class 2", "nr_class 2.0"), "model.header 2:10"},
      {"classes +2", two("nr_class 2", "nr_class +2"), "model.header 2:10"},
      {"classes twice on a line", two("nr_class 2", "nr_class 2 2"), "model.header 2:10"},
      {"classes after two blanks", two("nr_class 2", "nr_class  2"), "model.header 2:10"},
      {"classes without a value", two("nr_class 2", "nr_class"), "model.header 2:9"},
      {"classes after a tab", two("nr_class 2", "nr_class\t2"), "model.header 2:1"},
      {"classes given twice", two("label", "nr_class 2\nlabel"), "model.header 3:1"},
      {"classes missing", two("nr_class 2\n", ""), "model.header 2:1"},
      {"classes out of order", two("nr_class 2\nlabel 1 2\n", "label 1 2\nnr_class 2\n"),
       "model.header 2:1"},
      {"labels missing", two("label 1 2\n", ""), "model.header 3:1"},
      {"features -1", two("nr_feature 3", "nr_feature -1"), "model.header 4:12"},
      {"features 0", two("nr_feature 3", "nr_feature 0"), "model.header 4:12"},
      {"features 2^31-1", two("nr_feature 3", "nr_feature 2147483647"), "model.header 4:12"},
      {"features 2^63", two("nr_feature 3", "nr_feature 9223372036854775808"), "model.header 4:12"},
      {"features nan", two("nr_feature 3", "nr_feature nan"), "model.header 4:12"},
      {"features missing", two("nr_feature 3\n", ""), "model.header 4:1"},
      {"features given twice", two("bias", "nr_feature 3\nbias"), "model.header 5:1"},
      {"bias missing", two("bias 1\n", ""), "model.header 5:1"},
      {"bias given twice", two("w\n", "bias 1\nw\n"), "model.header 6:1"},
      {"w missing", two("w\n", ""), "model.header 6:1"},
      {"w and a blank", two("w\n", "w \n"), "model.header 6:3"},
      {"w and a number", two("w\n", "w 1\n"), "model.header 6:3"},
      {"unknown key", two("bias", "rho 1\nbias"), "model.header 5:1"},
      {"an empty line", two("bias", "\nbias"), "model.header 5:1"},
      {"a leading blank", two("bias", " bias"), "model.header 5:1"},
      {"solver given twice", kTwo.substr(0, 32) + kTwo, "model.header 2:1"},
      // M7: numbers
      {"weight nan", two(weight.c_str(), "nan"), "model.content 8:1"},
      {"weight -nan", two(weight.c_str(), "-nan"), "model.content 8:1"},
      {"weight inf", two(weight.c_str(), "inf"), "model.content 8:1"},
      {"weight -infinity", two(weight.c_str(), "-infinity"), "model.content 8:1"},
      {"weight 1e999", two(weight.c_str(), "1e999"), "model.content 8:1"},
      {"weight x", two(weight.c_str(), "x"), "model.content 8:1"},
      {"weight 1,5", two(weight.c_str(), "1,5"), "model.content 8:1"},
      {"weight 0x10", two(weight.c_str(), "0x10"), "model.content 8:1"},
      {"weight +1", two(weight.c_str(), "+1"), "model.content 8:1"},
      {"weight 1e", two(weight.c_str(), "1e"), "model.content 8:1"},
      {"weight after a blank", two(weight.c_str(), " 1"), "model.content 8:1"},
      {"weight after a tab", two(weight.c_str(), "\t1"), "model.content 8:1"},
      {"weight and a zero byte", two(weight.c_str(), std::string("1\0", 2)), "model.content 8:1"},
      {"weight and a return", two(weight.c_str(), "1\r2"), "model.content 8:1"},
      {"weight of the bias nan", two("-0.026541497810310989", "nan"), "model.content 10:1"},
      {"bias times its weight",
       replaced(two("bias 1", "bias 1e300"), "-0.026541497810310989", "1e9"), "model.content 10:1"},
      {"bias nan", two("bias 1", "bias nan"), "model.content 5:6"},
      {"bias inf", two("bias 1", "bias inf"), "model.content 5:6"},
      {"bias none", two("bias 1", "bias none"), "model.content 5:6"},
      {"bias empty", two("bias 1", "bias "), "model.content 5:6"},
      {"bias twice on a line", two("bias 1", "bias 1 1"), "model.content 5:6"},
      // M8, M9: how many
      {"too few labels", two("label 1 2", "label 1"), "model.content 3:8"},
      {"no labels", two("label 1 2", "label"), "model.content 3:6"},
      {"too many labels", two("label 1 2", "label 1 2 3"), "model.content 3:11"},
      {"more classes than labels", two("nr_class 2", "nr_class 2000000000"), "model.content 3:10"},
      {"a label twice", two("label 1 2", "label 1 1"), "model.content 3:9"},
      {"a label twice, differently", two("label 1 2", "label 1 01"), "model.content 3:9"},
      {"a label twice, three classes", three("label 5 -2 3", "label 5 -2 5"), "model.content 3:12"},
      {"label nan", two("label 1 2", "label 1 nan"), "model.content 3:9"},
      {"label 1.5", two("label 1 2", "label 1.5 2"), "model.content 3:7"},
      {"label 2^31", two("label 1 2", "label 1 2147483648"), "model.content 3:9"},
      {"label after two blanks", two("label 1 2", "label 1  2"), "model.content 3:9"},
      {"an empty line of weights", two((weight + " ").c_str(), ""), "model.content 8:1"},
      {"too many numbers", two(weight.c_str(), "1 2"), "model.content 8:3"},
      {"too few numbers", three(" -0.37333333333333329", ""), "model.content 8:43"},
      {"two blanks after the last", two((weight + " ").c_str(), "1  "), "model.content 8:3"},
      {"weights of one class for three",
       replaced(kTwo, "nr_class 2\nlabel 1 2", "nr_class 3\nlabel 1 2 3"), "model.content 7:21"},
      // M1, M3: too short, too long
      {"one line of weights missing", two("0.73640661681251074 \n", ""), "model.truncated 10:1"},
      {"more features than lines", two("nr_feature 3", "nr_feature 4"), "model.truncated 11:1"},
      {"an empty line at the end", kTwo + "\n", "model.trailing 11:1"},
      {"a zero byte at the end", kTwo + std::string(1, '\0'), "model.trailing 11:1"},
      {"a second model", kTwo + kTwo, "model.trailing 11:1"},
      {"fewer features than lines", two("nr_feature 3", "nr_feature 2"), "model.trailing 10:1"},
      {"no bias but its weight", two("bias 1", "bias -1"), "model.trailing 10:1"},
  };
  for (const Bad& bad : table) EXPECT_EQ(verdict(bad.text), bad.verdict) << bad.name;
}

TEST_F(LiblinearFile, MessagesShowThePlace) {
  const Result<Model> model = load(replaced(kThree, "-0.37333333333333329", "nan"));
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().offset, kThree.find("-0.37333333333333329"));
  EXPECT_EQ(to_string(model.error()),
            folder_ / "model" +
                ":8:21: error: a weight is not a finite number: \"nan\" [model.content]\n"
                "    8 | 0.41999999999999998 nan -0.046666666666666773 \n"
                "      |                     ^~~");
  const auto message = [&](const std::string& text) { return load(text).error().message; };
  EXPECT_EQ(message("solver_type ONECLASS_SVM\n"),
            "a ONECLASS_SVM model finds outliers; hinge classifies");
  EXPECT_EQ(message(replaced(kTwo, "label", "\x1b[31m%n")),
            "expected \"label\", found \"\\x1b[31m%n\"");
}

// M5, M6: what a file claims is held against its size first.
TEST_F(LiblinearFile, HugeClaimsTakeNoMemory) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const auto start = std::chrono::steady_clock::now();
  std::string labels;
  for (int k = 0; k < 200; ++k) labels += " " + std::to_string(k);
  const std::string head = "solver_type L2R_LR\nnr_class 200\nlabel" + labels + "\n";
  for (const char* features : {"2147483646", "1000000000", "1000", "3"}) {
    const std::string text =
        head + "nr_feature " + features + "\nbias -1\nw\n" + std::string(1000, '0');
    EXPECT_EQ(verdict(text), "model.truncated 6:1") << features;
  }
  EXPECT_EQ(verdict(replaced(kTwo, "nr_feature 3", "nr_feature 2147483646")),
            "model.truncated 6:1");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024);  // KiB
  EXPECT_LT(seconds.count(), 1.0);
}

// M10: refused, after one look at most.
TEST_F(LiblinearFile, LongTokensAndManyLines) {
  const std::size_t kLong = 100'000;
  const std::string digits(kLong, '1'), zeros = std::string(kLong, '0') + "2";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(verdict(replaced(kTwo, "L2R_L2LOSS_SVC_DUAL", digits)), "model.header 1:13");
  EXPECT_EQ(verdict(replaced(kTwo, "nr_class", digits)), "model.header 2:1");
  EXPECT_EQ(verdict(replaced(kTwo, "nr_class 2", "nr_class " + digits)), "limit.token 2:10");
  EXPECT_EQ(verdict(replaced(kTwo, "nr_class 2", "nr_class " + zeros)), "limit.token 2:10");
  EXPECT_EQ(verdict(replaced(kTwo, "label 1 2", "label 1 " + zeros)), "limit.token 3:9");
  EXPECT_EQ(verdict(replaced(kTwo, "bias 1", "bias 0." + digits)), "limit.token 5:6");
  EXPECT_EQ(verdict(replaced(kTwo, "0.45624066569347155", "0." + digits)), "limit.token 9:1");
  const int count = testing::at_length() ? 1'000'000 : 100'000;
  std::string many;
  for (int i = 0; i < count; ++i) many += "nr_class 2\n";
  EXPECT_EQ(verdict(replaced(kTwo, "nr_class 2\n", many)), "model.header 3:1");
  many = "label";
  for (int i = 0; i < count; ++i) many += " " + std::to_string(i % (count - 1));
  const std::string classes = "nr_class " + std::to_string(count);
  EXPECT_EQ(verdict(replaced(replaced(kTwo, "nr_class 2", classes), "label 1 2", many)),
            "model.content 3:" + std::to_string(many.size()));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 30.0);  // about a tenth of a second; sanitizers are slower
}

// A changed digit is still a model, and nothing in the text can tell. But what is accepted is one.
TEST_F(LiblinearFile, ChangedBytesNeverGiveABrokenModel) {
  const std::string bytes = std::string("\0\n\r\t +-.,09ex\x7f\xff", 15);
  std::size_t accepted = 0, cases = 0;
  for (const std::string& text : {kTwo, kThree}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const char byte : bytes) {
        std::string changed = text;
        changed[at] = byte;
        ++cases;
        const Result<Model> model = load(changed);
        if (!model.ok()) {
          ASSERT_TRUE(model.error().id.starts_with("model.")) << to_string(model.error());
          continue;
        }
        ++accepted;
        expect_round_trips(*model, "byte " + std::to_string(at));
      }
      std::string shorter = text;
      shorter.erase(at, 1);
      ++cases;
      if (const Result<Model> model = load(shorter); model.ok()) {
        ++accepted;
        expect_round_trips(*model, "without byte " + std::to_string(at));
      }
    }
  }
  RecordProperty("cases", static_cast<int>(cases));
  RecordProperty("accepted", static_cast<int>(accepted));
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace hinge
