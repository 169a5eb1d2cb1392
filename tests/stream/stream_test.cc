// hinge/stream.h as a user of the library sees it: what is learned, that labels and columns may
// come at any time, and that a stream that was cut goes on as if it had not been.
#include "hinge/stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <thread>

#include "hinge/metrics.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "stream/hyperplanes.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;

struct Row {
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::int64_t label;
};

Dataset to_dataset(const std::vector<Row>& rows) {
  auto all = std::make_shared<testing::detail::Rows<double>>();
  std::uint64_t features = 0;
  for (const Row& row : rows) {
    all->columns.insert(all->columns.end(), row.columns.begin(), row.columns.end());
    all->values.insert(all->values.end(), row.values.begin(), row.values.end());
    all->offsets.push_back(all->columns.size());
    all->labels.push_back(row.label);
    if (!row.columns.empty()) features = std::max<std::uint64_t>(features, row.columns.back() + 1);
  }
  const CsrView<double> view{rows.size(), features, all->offsets.data(), all->columns.data(),
                             all->values.data()};
  return Dataset::wrap(view, all->labels, {}, all).value();
}

Dataset twice(const Dataset& data) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < 2 * data.rows(); ++i) rows.push_back(i % data.rows());
  return testing::pick_rows(data, rows);
}

void learn(Stream& stream, const Dataset& data, const Stream::Range& range = {}) {
  std::vector<StreamPrediction> predictions;
  const Result<void> learned = stream.learn_batch(data, predictions, range);
  ASSERT_TRUE(learned.ok()) << to_string(learned.error());
}

Model learned(const Dataset& data, const StreamOptions& options) {
  Stream stream = Stream::create(options).value();
  learn(stream, data);
  return stream.snapshot().value();
}

std::string bytes_of(const Model& model) {
  static const TempFolder folder(testing::memory_folder());
  const Result<void> saved = save_model(model, folder / "bytes");
  EXPECT_TRUE(saved.ok()) << to_string(saved.error());
  return testing::read_file(folder / "bytes");
}

Model reloaded(const Model& model) {
  static const TempFolder folder(testing::memory_folder());
  EXPECT_TRUE(save_model(model, folder / "again").ok());
  return load_model(folder / "again").value();
}

// The largest difference of two weight vectors, relative to the largest weight.
double difference(const Model& a, const Model& b) {
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.weights.size(), b.weights.size());
  double most = 0, size = 0;
  const auto compare = [&](double x, double y) {
    most = std::max(most, std::abs(x - y));
    size = std::max(size, std::abs(x));
  };
  for (std::size_t k = 0; k < std::min(a.weights.size(), b.weights.size()); ++k) {
    compare(a.weights[k], b.weights[k]);
  }
  for (std::size_t k = 0; k < a.problems.size(); ++k) {
    compare(a.problems[k].bias, b.problems[k].bias);
  }
  return most / size;
}

TrainOptions as_batch(const StreamOptions& stream) {
  TrainOptions options = {.lambda = stream.lambda, .solver = Solver::pegasos, .bias = stream.bias};
  options.loss = stream.loss;
  options.class_weights = stream.class_weights;
  options.pegasos = {.update = stream.update,
                     .sampling = Sampling::order,
                     .iterate = Iterate::last,
                     .epochs = 2,
                     .t0 = stream.t0,
                     .rescale = false};
  return options;
}

// ---- The same as `train`, which knows everything beforehand.

TEST(Stream, EqualsPegasosInOrder) {
  for (const std::uint64_t classes : {2U, 3U, 5U, 9U}) {
    for (const auto& [bias, t0, update, loss] :
         {std::tuple<double, std::uint64_t, Update, LossKind>{0, 0, Update::margin, {}},
          {2.5, 0, Update::margin, {}},
          {0, 700, Update::margin, {}},
          {0, 0, Update::mistake, {}},
          {2.5, 40, Update::mistake, {}},
          {0, 0, Update::margin, LossKind::squared_hinge},
          {2.5, 40, Update::margin, LossKind::squared_hinge},
          {0, 3, Update::mistake, LossKind::squared_hinge}}) {
      const Dataset data = testing::random_dataset(
          {.rows = 300, .features = 40, .nonzeros = 9, .seed = classes, .classes = classes});
      const StreamOptions options = {
          .lambda = 0.0137, .bias = bias, .t0 = t0, .loss = loss, .update = update};
      const Model batch = train(data, as_batch(options)).value().model;
      EXPECT_LT(difference(learned(twice(data), options), batch), 1e-12) << classes << " " << bias;
    }
  }
}

// With factors train() takes lambda times their sum for the cost, a stream times the rows: lambda
// is that of a row of factor 1.
TEST(Stream, ClassWeightsAsPegasosHasThem) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 30});
  StreamOptions options = {.lambda = 0.0137, .class_weights = {{1, 2.5}, {-1, 0.75}}};
  const TrainOptions batch = as_batch(options);
  double sum = 0;
  for (const LabelCount& c : data.classes()) {
    sum += static_cast<double>(c.rows) * (c.label == 1 ? 2.5 : 0.75);
  }
  options.lambda *= sum / static_cast<double>(data.rows());
  EXPECT_LT(difference(learned(twice(data), options), train(data, batch).value().model), 1e-12);
}

TEST(Stream, RowWeightsAreFactors) {
  const Dataset data = testing::random_dataset({.rows = 200});
  std::vector<double> weights;
  for (const std::int64_t label : data.labels()) weights.push_back(label == 1 ? 3 : 1);
  const Dataset weighted = data.with_weights(weights).value();
  EXPECT_EQ(learned(weighted, {.lambda = 0.1}).weights,
            learned(data, {.lambda = 0.1, .class_weights = {{1, 3}}}).weights);
}

TEST(Stream, EqualsPegasosOnRealData) {
  const char* const folder = std::getenv("HINGE_SHARED_DATA");
  for (const std::string name : {"a9a", "digits"}) {
    const std::string path =
        std::string(folder == nullptr ? "" : folder) + "/" + name + "-train.svm.xz";
    std::vector<Error> warnings;
    const Result<Dataset> data = read_dataset(path, {}, warnings);
    if (!data.ok()) GTEST_SKIP() << "no " << path << " (HINGE_SHARED_DATA)";
    const StreamOptions options = {.lambda = 1.2345e-3, .bias = 1};  // no exact ties at margin 1
    const Model batch = train(*data, as_batch(options)).value().model;
    EXPECT_LT(difference(learned(twice(*data), options), batch), 1e-12) << name;
  }
}

// ---- Labels.

// Rows of nine classes, each of which first appears late and in no order; their last columns lie
// `far` beyond the others.
std::vector<Row> late_labels(std::uint64_t seed,
                             std::uint32_t far = 5 * StreamHyperplanes::kDirect) {
  constexpr std::size_t kRows = 400;
  const std::vector<std::int64_t> order = {7, -3, 40, 5, 1000000007, 6, -9, 0, 12};
  Random random(seed);
  std::vector<Row> all;
  for (std::size_t i = 0; i < kRows; ++i) {
    Row row;
    const std::size_t known = 1 + i * order.size() / kRows;
    row.label = order[random.below(known)];
    for (std::uint32_t j = 0; j < 12; ++j) {
      if (random.below(2) == 0) continue;
      row.columns.push_back(j + (j > 9 ? far : 0));
      row.values.push_back(random.uniform() - 0.4 + (row.label % 5 == j % 5 ? 0.7 : 0.0));
    }
    all.push_back(row);
  }
  return all;
}

std::map<std::size_t, double> weights_by_column(const Model& model, std::size_t problem) {
  std::map<std::size_t, double> all;
  const auto weights = model.weights_of(problem);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (weights[j] != 0) all[model.columns.empty() ? j : model.columns[j]] = weights[j];
  }
  return all;
}

TEST(Stream, LabelsMayComeAtAnyTime) {
  for (const std::size_t rows : {30U, 45U, 90U, 130U, 400U}) {  // 1, 2, 3, 4, 9 labels
    std::vector<Row> all = late_labels(rows);
    all.resize(rows);
    Stream open = Stream::create({.lambda = 0.01, .bias = 1}).value();
    learn(open, to_dataset(all));
    const Model as_they_come = open.snapshot().value();
    const std::vector<std::int64_t> labels = open.labels();
    if (labels.size() == 1) continue;
    const Model fixed = learned(to_dataset(all), {.lambda = 0.01, .bias = 1, .labels = labels});
    // To the bit: nothing depends on when a label first appeared.
    EXPECT_EQ(as_they_come.labels, fixed.labels);
    for (std::size_t k = 0; k < fixed.problems.size(); ++k) {
      EXPECT_EQ(weights_by_column(as_they_come, k), weights_by_column(fixed, k)) << labels.size();
      EXPECT_EQ(as_they_come.problems[k].bias, fixed.problems[k].bias);
    }
  }
}

TEST(Stream, OneLabel) {
  Stream stream = Stream::create({.lambda = 0.5}).value();
  const std::vector<std::uint32_t> columns = {0, 2};
  const std::vector<double> values = {1, -2};
  StreamPrediction said = stream.learn_one(columns, values, 4).value();
  EXPECT_TRUE(said.none);
  said = stream.learn_one(columns, values, 4).value();
  EXPECT_FALSE(said.none);
  EXPECT_EQ(said.label, 4);
  EXPECT_DOUBLE_EQ(said.score, 10);  // w = x/(0.5 * 1)
  const Model model = stream.snapshot().value();
  EXPECT_EQ(model.labels, std::vector<std::int64_t>{4});
  EXPECT_EQ(model.weights, (std::vector<double>{1, 0, -2}));
  const Model again = reloaded(model);
  const Dataset rows = to_dataset({{columns, values, 4}, {{0}, {-1}, 4}, {{7}, {1}, 9}});
  const Predictions predictions = predict(again, rows).value();
  EXPECT_EQ(predictions.labels, (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_NEAR(evaluate(again, rows, predictions).value().accuracy, 2.0 / 3, 1e-12);
  EXPECT_EQ(check_format(again, ModelFormat::liblinear).error().id, "model.format");
  EXPECT_EQ(verify(again, rows).error().id, "verify.data");
}

// Worked out by hand, lambda = 1, one column: w of "larger against smaller" and the losses.
TEST(Stream, SecondLabelSmallerOrLarger) {
  for (const std::int64_t second : {1, 9}) {
    Stream stream = Stream::create({.lambda = 1}).value();
    const auto row = [&](double x, std::int64_t label) {
      return stream.learn_one(std::vector<std::uint32_t>{0}, std::vector<double>{x}, label).value();
    };
    row(2, 5);  // w_5 = 2
    EXPECT_EQ(stream.figures().loss, 1);
    StreamPrediction said = row(1, second);  // w_5 x = 2: 5; loss 1 + 2; w_5 = 2/2 - 1/2
    EXPECT_EQ(said.label, 5);
    EXPECT_EQ(said.score, 2);
    EXPECT_EQ(stream.figures().loss, 4);
    EXPECT_EQ(stream.figures().errors, 2U);
    const Model model = stream.snapshot().value();
    EXPECT_EQ(model.labels, (second < 5 ? std::vector<std::int64_t>{5, second}
                                        : std::vector<std::int64_t>{second, 5}));
    EXPECT_EQ(model.weights, std::vector<double>{second < 5 ? 0.5 : -0.5});
    // The third: against 5, against the second, and as the third, a copy of the rest (-1).
    said = row(1, 7);
    EXPECT_EQ(said.label, 5);
    EXPECT_EQ(said.score, second < 5 ? 0.5 : -0.5);
    EXPECT_EQ(stream.figures().loss, 4 + 1.5 + 0.5 + 2);
  }
}

TEST(Stream, RejectsAndCounts) {
  const Dataset data = to_dataset({{{0}, {1}, 1}, {{1}, {1}, 2}, {{2}, {1}, 3}, {{3}, {1}, 3}});
  std::vector<StreamPrediction> said;
  Stream plain = Stream::create({.lambda = 1}).value();
  ASSERT_TRUE(plain.learn_batch(data, said).ok());
  EXPECT_FALSE(said[3].none);
  said.clear();
  Stream reject = Stream::create({.lambda = 1, .reject = true}).value();
  ASSERT_TRUE(reject.learn_batch(data, said).ok());
  EXPECT_TRUE(said[0].none);
  EXPECT_FALSE(said[1].none);  // one label: nothing to choose
  EXPECT_FALSE(said[2].none);
  EXPECT_TRUE(said[3].none);
  EXPECT_EQ(reject.figures().errors, 4U);
  EXPECT_TRUE(reject.predict(to_dataset({{{9}, {1}, 3}})).value()[0].none);
  EXPECT_EQ(reject.predict(to_dataset({{{2}, {1}, 3}})).value()[0].label, 3);
}

TEST(Stream, PredictsWhatTheModelPredicts) {
  for (const std::size_t rows : {45U, 400U}) {
    std::vector<Row> all = late_labels(3, StreamHyperplanes::kDirect);
    all.resize(rows);
    const Dataset data = to_dataset(all);
    Stream stream = Stream::create({.lambda = 0.01, .bias = 1}).value();
    learn(stream, data);
    const std::vector<StreamPrediction> said = stream.predict(data).value();
    const Model model = stream.snapshot().value();
    const Predictions predictions = predict(model, data).value();
    for (std::size_t i = 0; i < said.size(); ++i) {
      EXPECT_EQ(said[i].label, predictions.labels[i]) << i;
      const auto scores =
          std::span(predictions.scores).subspan(i * model.problems.size(), model.problems.size());
      const double best = model.binary() ? scores[0] : *std::ranges::max_element(scores);
      EXPECT_NEAR(said[i].score, best, 1e-9 * std::abs(best));
    }
  }
}

TEST(Stream, ManyClasses) {
  Stream stream = Stream::create({.lambda = 0.1}).value();
  for (std::uint32_t k = 0; k < 300; ++k) {
    const std::int64_t label = (k * 7919) % 300;
    const std::vector<std::uint32_t> columns = {static_cast<std::uint32_t>(label), 5000};
    const std::vector<double> values = {1, 0.1};
    ASSERT_TRUE(stream.learn_one(columns, values, label).ok());
  }
  const Model model = reloaded(stream.snapshot().value());
  EXPECT_EQ(model.labels.size(), 300U);
  EXPECT_TRUE(std::ranges::is_sorted(model.labels));
  for (std::size_t k = 0; k < 300; ++k) EXPECT_GT(model.weights_of(k)[k], 0) << k;
}

// ---- Going on.

// Options and rows of streams that are cut at any row.
struct Cut {
  const char* name;
  std::vector<Row> rows;
  StreamOptions options;
};

std::vector<Row> two_classes() {
  std::vector<Row> all = late_labels(11);
  for (Row& row : all) row.label = row.label % 2 == 0 ? -1 : 1;
  return all;
}

std::vector<Row> huge_columns(bool zero) {
  std::vector<Row> all = late_labels(12);
  Random random(5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int k = 0; k < 3; ++k) {
      all[i].columns.push_back(all[i].columns.empty()
                                   ? 3
                                   : all[i].columns.back() + 1 +
                                         static_cast<std::uint32_t>(random.below(1'000'000'000)));
      all[i].values.push_back(random.uniform());
    }
    for (std::uint32_t& column : all[i].columns) column += !zero || i < 250 ? 1 : 0;
  }
  return all;
}

std::vector<Cut> cuts() {
  return {{"two classes", two_classes(), {.lambda = 0.01, .bias = 1.5}},
          {"fixed", two_classes(), {.lambda = 0.01, .t0 = 9, .labels = {1, -1}}},
          {"late labels", late_labels(1), {.lambda = 0.003, .class_weights = {{5, 2}, {77, 3}}}},
          {"mistakes", late_labels(2), {.lambda = 0.003, .update = Update::mistake}},
          {"mistakes, two classes", two_classes(), {.lambda = 0.01, .update = Update::mistake}},
          {"squared hinge", late_labels(5), {.lambda = 0.003, .loss = LossKind::squared_hinge}},
          {"squared hinge, two classes",
           two_classes(),
           {.lambda = 0.01, .bias = 1, .loss = LossKind::squared_hinge}},
          {"huge columns", huge_columns(false), {.lambda = 0.01}},
          {"automatic", huge_columns(false), {.lambda = 0.01, .index_base = IndexBase::automatic}},
          {"automatic, a zero later",
           huge_columns(true),
           {.lambda = 0.01, .reject = true, .index_base = IndexBase::automatic}}};
}

TEST(Stream, CutAnywhereItGoesOnAsIfItHadNotBeen) {
  for (const Cut& cut : cuts()) {
    const Dataset data = to_dataset(cut.rows);
    const std::string expected = bytes_of(learned(data, cut.options));
    Random random(3);
    for (int k = 0; k < (testing::at_length() ? 50 : 8); ++k) {
      const std::uint64_t at = 1 + random.below(data.rows() - 1);
      Stream first = Stream::create(cut.options).value();
      learn(first, data, {.count = at});
      Stream second = Stream::resume(reloaded(first.snapshot().value())).value();
      EXPECT_EQ(bytes_of(second.snapshot().value()), bytes_of(first.snapshot().value()));
      learn(second, data, {.first = at});
      ASSERT_EQ(bytes_of(second.snapshot().value()), expected) << cut.name << ", cut at " << at;
    }
  }
}

TEST(Stream, CutAtEveryRow) {
  for (const Cut& cut : cuts()) {
    const Dataset data = to_dataset(cut.rows);
    Stream stream = Stream::create(cut.options).value();
    for (std::uint64_t i = 0; i < 60; ++i) {
      learn(stream, data, {.first = i, .count = 1});
      stream = Stream::resume(stream.snapshot().value()).value();
    }
    Stream whole = Stream::create(cut.options).value();
    learn(whole, data, {.count = 60});
    EXPECT_EQ(bytes_of(stream.snapshot().value()), bytes_of(whole.snapshot().value())) << cut.name;
  }
}

TEST(Stream, IndexBases) {
  // The same text, read as counting from 1 and by the numbers it has.
  const std::vector<Row> from_one = late_labels(4);
  std::vector<Row> numbers = from_one;
  for (Row& row : numbers) {
    for (std::uint32_t& column : row.columns) ++column;
  }
  Model one = learned(to_dataset(from_one), {.lambda = 0.1});
  Model automatic =
      learned(to_dataset(numbers), {.lambda = 0.1, .index_base = IndexBase::automatic});
  EXPECT_EQ(one.index_base, 1);
  EXPECT_EQ(automatic.index_base, 1);
  EXPECT_EQ(automatic.features, one.features);
  EXPECT_EQ(automatic.weights, one.weights);
  Model zero = learned(to_dataset(from_one), {.lambda = 0.1, .index_base = IndexBase::zero});
  automatic = learned(to_dataset(from_one), {.lambda = 0.1, .index_base = IndexBase::automatic});
  EXPECT_EQ(zero.index_base, 0);
  EXPECT_EQ(automatic.index_base, 0);
  EXPECT_EQ(automatic.weights, zero.weights);
}

TEST(Stream, SameBytesForAnyInstructionSet) {
  for (const Cut& cut : cuts()) {
    StreamOptions options = cut.options;
    const std::string expected = bytes_of(learned(to_dataset(cut.rows), options));
    for (const auto set : {InstructionSet::scalar, InstructionSet::avx2, InstructionSet::avx512}) {
      options.instruction_set = set;
      if (!Stream::create(options).ok()) continue;
      EXPECT_EQ(bytes_of(learned(to_dataset(cut.rows), options)), expected) << cut.name;
    }
  }
}

// ---- Memory.

TEST(Stream, AColumnOfFourBillionCostsNextToNothing) {
  const Dataset data = to_dataset({{{3, 4294967293}, {1, 1}, 1}, {{4294967293}, {-1}, -1}});
  const Model model = learned(data, {.lambda = 1});
  EXPECT_EQ(model.features, 4294967294U);
  EXPECT_EQ(model.columns, (std::vector<std::uint32_t>{3, 4294967293}));
  EXPECT_EQ(model.stream->sums.size(), 4U);
  EXPECT_LT(bytes_of(model).size(), 4096U);
}

std::uint64_t peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6));
  }
  return 0;
}

TEST(Stream, ColumnsInBetweenCostNothing) {
  const std::uint64_t before = peak_kilobytes();
  const std::vector<std::uint32_t> columns = {7, StreamHyperplanes::kDirect - 1};
  Stream stream = Stream::create({.lambda = 1e-3}).value();
  for (std::int64_t label = 0; label < 100; ++label) {
    ASSERT_TRUE(stream.learn_one(columns, std::vector<double>{1, 2}, label).ok());
  }
  const Model model = stream.snapshot().value();
  EXPECT_EQ(model.columns, columns);
  EXPECT_EQ(bytes_of(Stream::resume(model)->snapshot().value()), bytes_of(model));
  EXPECT_LE(peak_kilobytes(), before + 65536);  // all of them would take a GB
}

TEST(Stream, MemoryDoesNotGrowWithTheRows) {
  const Dataset data = testing::random_dataset({.rows = 10'000, .features = 100, .nonzeros = 5});
  Stream stream = Stream::create({.lambda = 1e-3}).value();
  std::uint64_t early = 0;
  std::vector<StreamPrediction> predictions;
  for (int k = 0; k < 100; ++k) {
    predictions.clear();
    ASSERT_TRUE(stream.learn_batch(data, predictions).ok());
    if (k == 9) early = peak_kilobytes();
  }
  EXPECT_EQ(stream.figures().rows, 1'000'000U);
  EXPECT_LE(peak_kilobytes(), early + 2048);
}

// ---- What it refuses.

TEST(Stream, RefusesOptionsOutOfRange) {
  const std::vector<StreamOptions> bad = {{},
                                          {.lambda = -1},
                                          {.lambda = std::nan("")},
                                          {.lambda = 1e-200},
                                          {.lambda = 1, .bias = -1},
                                          {.lambda = 1, .bias = 1e151},
                                          {.lambda = 1, .t0 = std::uint64_t{1} << 53},
                                          {.lambda = 1, .class_weights = {{1, 0}}},
                                          {.lambda = 1, .class_weights = {{1, 1e200}}},
                                          {.lambda = 1, .labels = {1}},
                                          {.lambda = 1, .labels = {1, 2, 1}}};
  for (const StreamOptions& options : bad) {
    const Result<Stream> stream = Stream::create(options);
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(stream.error().id, "usage.value");
  }
}

TEST(Stream, ARowThatFailsChangesNothing) {
  const Dataset data = to_dataset(two_classes());
  StreamOptions options = {.lambda = 0.1, .labels = {-1, 1}, .max_classes = 2};
  for (const bool fixed : {true, false}) {
    if (!fixed) options.labels.clear();
    Stream stream = Stream::create(options).value();
    learn(stream, data);
    const std::string before = bytes_of(stream.snapshot().value());
    const std::vector<std::uint32_t> columns = {1, 2'000'000};
    const auto id = [&](const std::vector<std::uint32_t>& c, const std::vector<double>& v,
                        std::int64_t label) { return stream.learn_one(c, v, label).error().id; };
    EXPECT_EQ(id(columns, {1, 1}, 7), fixed ? "data.label.unknown" : "limit.classes");
    EXPECT_EQ(id({2, 1}, {1, 1}, 1), "data.matrix");
    EXPECT_EQ(id({1, 1}, {1, 1}, 1), "data.matrix");
    EXPECT_EQ(id({1}, {1, 1}, 1), "data.matrix");
    EXPECT_EQ(id({1}, {std::nan("")}, 1), "data.matrix");
    EXPECT_EQ(id({1}, {1e200}, 1), "data.matrix");
    EXPECT_EQ(id({0xffffffff}, {1}, 1), "data.matrix");
    EXPECT_EQ(bytes_of(stream.snapshot().value()), before);
  }
}

TEST(Stream, ARowThatFailsAddsNoClass) {
  // Scores are finite; their sum, the loss, is not.
  for (const std::size_t known : {0U, 1U, 2U, 3U}) {
    Stream stream = Stream::create({.lambda = 1e-10}).value();
    const std::vector<std::uint32_t> columns = {0};
    const auto add = [&](double value, std::int64_t label) {
      return stream.learn_one(columns, std::vector<double>{value}, label);
    };
    for (std::size_t k = 0; k < known; ++k) {
      ASSERT_TRUE(add(1e-149, static_cast<std::int64_t>(k)).ok());
    }
    std::int64_t label = 10;
    while (add(1.2e149, label).ok()) ASSERT_LT(++label, 30);
    EXPECT_EQ(add(1.2e149, label).error().id, "solver.nonfinite");
    const Model model = stream.snapshot().value();
    EXPECT_EQ(stream.labels().size(), stream.figures().rows);
    EXPECT_EQ(model.labels.size(), stream.figures().rows);
    EXPECT_EQ(reloaded(model).labels, model.labels);
    // And what comes then is learned as if nothing had been.
    Stream other = Stream::resume(model).value();
    ASSERT_TRUE(add(1e-149, label).ok());
    ASSERT_TRUE(other.learn_one(columns, std::vector<double>{1e-149}, label).ok());
    EXPECT_EQ(bytes_of(stream.snapshot().value()), bytes_of(other.snapshot().value()));
  }
}

TEST(Stream, ABatchTellsHowFarItCame) {
  Stream stream = Stream::create({.lambda = 0.1, .labels = {1, 2}}).value();
  const Dataset data = to_dataset({{{0}, {1}, 1}, {{0}, {1}, 2}, {{0}, {1}, 3}, {{0}, {1}, 1}});
  std::vector<StreamPrediction> said;
  EXPECT_EQ(stream.learn_batch(data, said).error().id, "data.label.unknown");
  EXPECT_EQ(said.size(), 2U);
  EXPECT_EQ(stream.figures().rows, 2U);
  const std::atomic<bool> stop = true;
  EXPECT_TRUE(stream.learn_batch(data, said, {.first = 0, .stop = &stop}).ok());
  EXPECT_EQ(said.size(), 3U);
}

TEST(Stream, ScoresThatAreNotFinite) {
  Stream stream = Stream::create({.lambda = 1e-20}).value();
  const std::vector<std::uint32_t> columns = {0};
  const std::vector<double> values = {1e150};
  ASSERT_TRUE(stream.learn_one(columns, values, 1).ok());
  EXPECT_EQ(stream.learn_one(columns, values, 2).error().id, "solver.nonfinite");
  EXPECT_EQ(stream.labels(), std::vector<std::int64_t>{1});
  EXPECT_TRUE(stream.snapshot().ok());
}

TEST(Stream, NothingLearnedIsNoModel) {
  EXPECT_EQ(Stream::create({.lambda = 1}).value().snapshot().error().id, "data.empty");
  EXPECT_TRUE(
      Stream::create({.lambda = 1}).value().predict(to_dataset({{{0}, {1}, 1}})).value()[0].none);
}

TEST(Stream, FactorsAndStepsNeverVanish) {
  using Weights = std::vector<ClassWeight>;
  for (const Weights& weights : {Weights{{1, 1e-200}, {1, 1e-200}}, Weights{{1, 1e100}, {1, 1e100}},
                                 Weights{{1, -1}, {1, -1}}}) {
    const Result<Stream> made = Stream::create({.lambda = 1, .class_weights = weights});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().id, "usage.value");
  }
  EXPECT_TRUE(
      Stream::create({.lambda = 1, .class_weights = {{1, 1e100}, {1, 1e100}, {1, 1e-90}}}).ok());
  const std::uint64_t most = (std::uint64_t{1} << 53) - 1;
  for (const auto& [lambda, t0] : {std::pair<double, std::uint64_t>{1e300, 1'000'000'000},
                                   {1e300, 0},
                                   {1.5e292, most},
                                   {1, most + 1}}) {
    const Result<Stream> made = Stream::create({.lambda = lambda, .t0 = t0});
    ASSERT_FALSE(made.ok()) << lambda << " " << t0;
    EXPECT_EQ(made.error().id, "usage.value");
  }
  Stream last = Stream::create({.lambda = 9e291, .t0 = most}).value();
  learn(last, to_dataset({{{0}, {1e150}, 1}}));
  EXPECT_EQ(reloaded(last.snapshot().value()).stream->t0, most);
}

TEST(Stream, ModelsOutOfRangeCannotBeResumed) {
  const Model model = learned(to_dataset({{{0}, {1}, 1}, {{1}, {1}, 2}}), {.lambda = 0.1});
  ASSERT_TRUE(Stream::resume(model).ok());
  const auto id = [&](auto&& change) {
    Model other = model;
    change(other);
    return Stream::resume(other).error().id;
  };
  EXPECT_EQ(id([](Model& m) { m.stream->t0 = std::uint64_t{1} << 53; }), "model.content");
  EXPECT_EQ(id([](Model& m) { m.stream->lambda = 1e-200; }), "model.content");
  EXPECT_EQ(id([](Model& m) { m.origin.bias_feature = 1e300; }), "model.content");
  EXPECT_EQ(id([](Model& m) { m.origin.class_weights = {{1, 1e200}}; }), "model.content");
}

TEST(Stream, OtherModelsCannotBeResumed) {
  const Dataset data = testing::random_dataset({.rows = 50});
  EXPECT_EQ(Stream::resume(train(data).value().model).error().id, "model.stream");
  Model model = learned(data, {.lambda = 1});
  model.stream->sums.pop_back();
  EXPECT_EQ(Stream::resume(model).error().id, "model.stream");
}

// Const calls may overlap each other.
TEST(StreamReader, PredictionsFromSeveralThreads) {
  const Dataset data = to_dataset(late_labels(2));
  Stream stream = Stream::create({.lambda = 0.01}).value();
  learn(stream, data);
  const std::string expected = bytes_of(stream.snapshot().value());
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> right(4);
  for (std::size_t k = 0; k < right.size(); ++k) {
    threads.emplace_back([&, k] {
      const std::vector<StreamPrediction> said = stream.predict(data).value();
      for (std::size_t i = 0; i < said.size(); ++i) right[k] += said[i].label == data.labels()[i];
      static_cast<void>(stream.snapshot().value());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t count : right) EXPECT_EQ(count, right[0]);
  EXPECT_EQ(bytes_of(stream.snapshot().value()), expected);
}

}  // namespace
}  // namespace hinge
