// Classes with names the whole way: rows -> training -> model file -> predictions -> figures.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/columns.h"
#include "files/tensor_file.h"
#include "hinge/file_kind.h"
#include "hinge/metrics.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "labelled_rows.h"
#include "support.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::labelled;
using testing::read_file;
using testing::write_file;
using Names = std::vector<std::string>;

// The rows of random data with names in place of its classes.
Dataset renamed(const Dataset& data, const Names& names) {
  Names rows;
  for (const std::int64_t label : data.labels()) {
    const auto place = std::ranges::find(data.classes(), label, &LabelCount::label);
    rows.push_back(names[static_cast<std::size_t>(place - data.classes().begin())]);
  }
  auto owner = std::make_shared<Dataset>(data);
  const Labels labels = Labels::of_names(rows).value();
  return Dataset::wrap(data.view(), labels, {}, owner, {.index_base = 1}).value();
}

Names said(const Model& model, const Predictions& predictions) {
  Names all;
  for (const std::int64_t label : predictions.labels) {
    all.push_back(model.class_names.text(label));
  }
  return all;
}

const Names kAnimals = {"bird", "cat", "dog"};

Dataset animals() {
  return testing::random_dataset({.rows = 80, .classes = 3});
}

Model model_of(const Dataset& data, const TrainOptions& options = {}) {
  return train(data, options).value().model;
}

TEST(NamedClasses, AreLearnedAsNumberedOnesAre) {
  for (const std::uint64_t classes : {2U, 3U}) {
    const Dataset numbers = testing::random_dataset({.rows = 80, .classes = classes});
    const Dataset names = renamed(numbers, kAnimals);
    for (const Solver solver : {Solver::automatic, Solver::pegasos, Solver::focus}) {
      TrainOptions options;
      options.solver = solver;
      const Model a = model_of(numbers, options), b = model_of(names, options);
      EXPECT_EQ(a.weights, b.weights);
      EXPECT_TRUE(a.class_names.empty());
      EXPECT_EQ(b.class_names, names.class_names());
      EXPECT_NE(a.origin.fingerprint, b.origin.fingerprint);
      const Predictions p = predict(a, numbers).value(), q = predict(b, names).value();
      EXPECT_EQ(p.scores, q.scores);
      EXPECT_EQ(evaluate(a, numbers, p).value().accuracy, evaluate(b, names, q).value().accuracy);
    }
  }
}

TEST(NamedClasses, TravelThroughEveryKindOfModel) {
  const testing::TempFolder folder(testing::memory_folder());
  const Dataset data = renamed(animals(), kAnimals);
  TrainOptions kernel;
  kernel.solver = Solver::pegasos;
  kernel.pegasos.kernel = {.kind = KernelKind::rbf, .gamma = 0.5};
  TrainOptions weighted;
  weighted.class_weights = {{1, 2.5}};
  for (const TrainOptions& options : {TrainOptions(), kernel, weighted}) {
    const Model model = model_of(data, options);
    ASSERT_TRUE(save_model(model, folder / "m").ok());
    const Result<Model> back = load_model(folder / "m");
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_EQ(back->class_names, model.class_names);
    EXPECT_TRUE(back->sections.empty());
    EXPECT_EQ(model_to_bytes(*back).value(), read_file(folder / "m"));
    const Predictions predictions = predict(*back, data).value();
    EXPECT_EQ(said(*back, predictions), said(model, predict(model, data).value()));
    const Metrics metrics = evaluate(*back, data, predictions).value();
    EXPECT_GT(metrics.accuracy, 0.7);
    EXPECT_EQ(metrics.class_names, data.class_names());
    EXPECT_EQ(metrics.unseen_labels, 0U);
    EXPECT_TRUE(verify(*back, data).value().agrees);
    EXPECT_EQ(TensorFile::read(folder / "m", "model").field("version"), "3");
  }
  TrainOptions path;
  path.path = {0.1, 1};
  std::vector<Model> models;
  const std::vector<TrainReport> reports = train_path(data, path).value();
  for (const TrainReport& report : reports) models.push_back(report.model);
  ASSERT_TRUE(save_models(models, folder / "m").ok());
  const std::vector<Model> back = load_models(folder / "m").value();
  ASSERT_EQ(back.size(), 2U);
  for (const Model& model : back) EXPECT_EQ(model.class_names, data.class_names());
  ASSERT_TRUE(save_models(back, folder / "again").ok());
  EXPECT_EQ(read_file(folder / "again"), read_file(folder / "m"));
}

TEST(NamedClasses, MeanTheSameInDataThatCountsThemOtherwise) {
  const Dataset data = renamed(animals(), kAnimals);
  const Model model = model_of(data);
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < data.rows(); ++i) {
    if (data.labels()[i] != 0) rows.push_back(i);  // no bird, so that cats are the first class
  }
  const Dataset some = keep_rows(data, rows);
  Names names;
  for (const std::int64_t label : some.labels()) names.push_back(some.class_names().text(label));
  auto owner = std::make_shared<Dataset>(some);
  const Dataset other =
      Dataset::wrap(some.view(), Labels::of_names(names).value(), {}, owner).value();
  ASSERT_EQ(other.class_names().text(0), "cat");
  const Predictions predictions = predict(model, other).value();
  EXPECT_EQ(evaluate(model, other, predictions).value().accuracy,
            evaluate(model, some, predictions).value().accuracy);
  names[0] = "ant";  // which the model does not know
  const Dataset unseen =
      Dataset::wrap(some.view(), Labels::of_names(names).value(), {}, owner).value();
  const Metrics metrics = evaluate(model, unseen, predictions).value();
  EXPECT_EQ(metrics.unseen_labels, 1U);
  EXPECT_EQ(metrics.labels.size(), 4U);
  EXPECT_EQ(metrics.class_names.text(3), "ant");
  EXPECT_EQ(verify(model, other).error().id, "verify.data");
}

TEST(NamedClasses, AreNotTakenForNumbersNorNumbersForThem) {
  const Dataset numbers = animals(), names = renamed(numbers, kAnimals);
  const Model of_numbers = model_of(numbers), of_names = model_of(names);
  const Predictions p = predict(of_names, numbers).value();
  EXPECT_EQ(evaluate(of_names, numbers, p).error().id, "data.label.kind");
  EXPECT_EQ(evaluate(of_numbers, names, p).error().id, "data.label.kind");
  EXPECT_EQ(evaluate(of_numbers, labelled(std::vector<double>(80, 0.5)), p).error().id,
            "data.label.kind");
  EXPECT_EQ(verify(of_names, numbers).error().id, "verify.data");
  TrainControl control;
  TrainOptions options;
  options.solver = Solver::focus;
  for (const auto& [start, data] : {std::pair{of_numbers, names}, {of_names, numbers}}) {
    control.start = &start;
    EXPECT_EQ(train(data, options, control).error().id, "model.start");
  }
  control.start = &of_names;
  EXPECT_TRUE(train(names, options, control).ok());
}

TEST(NamedClasses, LiblinearHasNone) {
  const testing::TempFolder folder(testing::memory_folder());
  const Model model = model_of(renamed(animals(), kAnimals));
  for (const Result<void>& refused : {check_format(model, ModelFormat::liblinear),
                                      save_model(model, folder / "m", ModelFormat::liblinear)}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().id, "model.format");
    EXPECT_NE(refused.error().message.find("names"), std::string::npos);
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(NamedClasses, FoldsKnowThem) {
  const Dataset numbers = animals(), names = renamed(numbers, kAnimals);
  EXPECT_EQ(cross_validate(names, 4, {}).value().accuracy,
            cross_validate(numbers, 4, {}).value().accuracy);
}

TEST(NamedClasses, MessagesSayThem) {
  const Dataset one = testing::named({"caf\xc3\xa9", "caf\xc3\xa9"});
  const Error error = train(one, {}).error();
  EXPECT_EQ(error.id, "data.one-class");
  EXPECT_NE(error.message.find("caf\\xc3\\xa9"), std::string::npos) << error.message;
}

// Ranks whose rows count classes by different lists would mean different classes by one label.
TEST(NamedClasses, AreTheSameOnAllRanks) {
  const Dataset data = renamed(animals(), kAnimals);
  const auto outcomes = [&](const std::function<Dataset(Dataset, int)>& given) {
    std::vector<std::string> ids(2);
    testing::ThreadGroup(2).run([&](Transport& transport) {
      std::vector<std::uint64_t> rows;
      for (std::uint64_t i = 40 * static_cast<std::uint64_t>(transport.rank()); rows.size() < 40;) {
        rows.push_back(i++);
      }
      TrainControl control;
      control.ranks = &transport;
      TrainOptions options;
      options.solver = Solver::focus;
      options.threads = 1;
      const Result<TrainReport> report =
          train(given(keep_rows(data, rows), transport.rank()), options, control);
      ids[static_cast<std::size_t>(transport.rank())] =
          report.ok() ? report->model.origin.fingerprint : report.error().id;
    });
    return ids;
  };
  EXPECT_EQ(outcomes([](Dataset rows, int) { return rows; }),
            std::vector<std::string>(2, model_of(data).origin.fingerprint));
  const ClassNames other = ClassNames::of({"dog", "cat", "bird"}).value();
  EXPECT_EQ(outcomes([&](Dataset rows, int rank) {
              return rank == 0 ? rows : rows.with_class_names(other).value();
            }),
            std::vector<std::string>(2, "mpi.inconsistent"));
}

// ---- Files with names that do not hold together.

class NamedModel : public testing::Test {
 protected:
  struct Arrays {
    Metadata metadata;
    std::vector<double> bias, weights;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint64_t> ends;
  };
  std::string verdict(const std::function<void(Arrays&)>& change) const {
    Arrays a;
    a.metadata = {
        {"format", "hinge.model"},
        {"version", "3"},
        {"written_by", "hinge 9.9"},
        {"status", "limit"},
        {"labels", "[1,0]"},
        {"options",
         R"({"solver":"dual","cost":1,"gap":0.1,"bias_feature":0,"class_weights":[[0,2]],"row_weights":false,"seed":1,"reject":false})"},
        {"data",
         R"({"rows":4,"features":1,"nonzeros":4,"index_base":1,"precision":"f32","fingerprint":"0"})"},
        {"certificate",
         R"([{"class":1,"primal":1,"dual":0,"relative_gap":1,"bound":"none","iterations":1}])"},
        {"sections", R"([{"name":"class_names","affects_predictions":true}])"},
        {"section.class_names", ""}};
    a.bias = {0};
    a.weights = {1};
    a.bytes = {'a', 'b', 'c'};
    a.ends = {1, 3};
    change(a);
    const testing::TempFolder folder(testing::memory_folder());
    write_tensor_file(
        folder / "m",
        {tensor<double>("bias", {1}, a.bias), tensor<double>("weights", {1, 1}, a.weights),
         tensor<std::uint8_t>("section.class_names.bytes", {a.bytes.size()}, a.bytes),
         tensor<std::uint64_t>("section.class_names.bytes.ends", {a.ends.size()}, a.ends)},
        a.metadata);
    const Result<Model> model = load_model(folder / "m");
    if (model.ok()) return "accepted: " + model->class_names.text(1);
    EXPECT_EQ(exit_code(model.error()), 80) << to_string(model.error());
    return model.error().id;
  }
};

TEST_F(NamedModel, MustHoldTogether) {
  EXPECT_EQ(verdict([](Arrays&) {}), "accepted: bc");
  using Ends = std::vector<std::uint64_t>;
  for (const Ends& bad :
       {Ends{1, 2}, Ends{0, 3}, Ends{3, 3}, Ends{UINT64_MAX, 3}, Ends{}, Ends{3}}) {
    EXPECT_EQ(verdict([&](Arrays& a) { a.ends = bad; }), "model.content");
  }
  EXPECT_EQ(verdict([](Arrays& a) { a.bytes[1] = 0x1b; }), "model.content");
  EXPECT_EQ(verdict([](Arrays& a) {
              a.bytes = {'a', 'a'};
              a.ends = {1, 2};
            }),
            "model.content");
  EXPECT_EQ(verdict([](Arrays& a) { a.metadata["labels"] = "[2,0]"; }), "model.content");
  EXPECT_EQ(verdict([](Arrays& a) { a.metadata["labels"] = "[1,-1]"; }), "model.content");
  EXPECT_EQ(verdict([](Arrays& a) {
              std::string& options = a.metadata["options"];
              options.replace(options.find("[[0,2]]"), 7, "[[2,2]]");
            }),
            "model.content");
  EXPECT_EQ(verdict([](Arrays& a) {
              a.metadata["sections"] = R"([{"name":"class_names","affects_predictions":false}])";
            }),
            "model.header");
  EXPECT_EQ(verdict([](Arrays& a) {
              a.metadata.erase("section.class_names");
              a.metadata["sections"] = "[]";
            }),
            "model.header");
}

// ---- Lists of predictions.

TEST(NamedClasses, PredictionsAreToldByWhoKnowsTheNames) {
  const testing::TempFolder folder(testing::memory_folder());
  const ClassNames names = ClassNames::of({"cat", "a b", "none", "\"q", "7"}).value();
  EXPECT_EQ(prediction_text(names, 0), "cat");
  EXPECT_EQ(prediction_text(names, 1), "\"a b\"");
  EXPECT_EQ(prediction_text(names, 2), "\"none\"");
  EXPECT_EQ(prediction_text(names, 3), "\"\\\"q\"");
  EXPECT_EQ(prediction_text(names, 4), "7");
  EXPECT_EQ(prediction_text({}, -3), "-3");
  const auto kinds = [&](const std::string& text) {
    write_file(folder / "p", text);
    return std::pair(file_kind(folder / "p").value(), file_kind(folder / "p", names).value());
  };
  using enum FileKind;
  EXPECT_EQ(kinds("cat\n\"a b\"\nnone\n"), std::pair(other, predictions));
  EXPECT_EQ(kinds("cat 0.5 1e-3\n\"\\\"q\" -1 2\n\"none\" 1 2\n"), std::pair(other, predictions));
  EXPECT_EQ(kinds("7\n-1 0.25\nnone\n"), std::pair(predictions, predictions));
  for (const char* text : {"dog\n", "cat\ndog\n", "cat food\n", "a b\n", "\"a b\n", "\"a\n", "\"\n",
                           "\"a b\" x\n", "\"cat\"\n", "cat\n\n"}) {
    EXPECT_EQ(kinds(text), std::pair(other, other)) << text;
  }
  EXPECT_EQ(check_replaces(folder / "p", predictions).error().id, "io.replace");
  write_file(folder / "p", "cat\n");
  EXPECT_EQ(check_replaces(folder / "p", predictions).error().id, "io.replace");
  EXPECT_TRUE(check_replaces(folder / "p", predictions, names).ok());
}

}  // namespace
}  // namespace hinge
