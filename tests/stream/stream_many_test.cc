// Streams with many classes: memory and files follow what differs from the class nobody has, and no
// bit does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "hinge/stream.h"
#include "support.h"

namespace hinge::many {
namespace {

using hinge::testing::TempFolder;

struct Row {
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  std::int64_t label;
};

// Columns so far apart that sums of all classes would take 200 MB, some of them beyond those that
// are looked up directly.
std::vector<Row> many_rows(std::size_t count, std::int64_t classes) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int64_t>(below(static_cast<std::uint32_t>(classes)));
    Row row = {{below(4), 5 + below(60), 1000 + 37 * static_cast<std::uint32_t>(label)}, {}, label};
    for (const std::uint32_t from : {20'000U, 90'000U, 5'000'000U}) {
      row.columns.push_back(from + below(9'000));
    }
    for (std::size_t k = 0; k < row.columns.size(); ++k)
      row.values.push_back(0.37 * (1 + below(5)));
    rows.push_back(row);
  }
  return rows;
}

void learn(Stream& stream, std::span<const Row> rows) {
  for (const Row& row : rows) {
    const auto learned = stream.learn_one(row.columns, row.values, row.label);
    ASSERT_TRUE(learned.ok()) << to_string(learned.error());
  }
}

Model learned(std::span<const Row> rows, const StreamOptions& options) {
  Stream stream = Stream::create(options).value();
  learn(stream, rows);
  return stream.snapshot().value();
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kClasses = 250;
const StreamOptions kOptions = {.lambda = 0.01, .bias = 1};

// One class against the rest is what a stream of two classes learns.
TEST(StreamMany, EachClassIsLearnedAsIfAlone) {
  const std::vector<Row> rows = many_rows(600, kClasses);
  const Model model = learned(rows, kOptions);
  ASSERT_TRUE(model.shared());
  EXPECT_TRUE(model.weights.empty());
  const Model whole = write_out(model).value();
  EXPECT_FALSE(whole.shared());
  EXPECT_NEAR(model.norm(), whole.norm(), 1e-12 * whole.norm());
  EXPECT_EQ(model.candidates(), whole.candidates());
  for (std::size_t k = 0; k < model.labels.size(); k += 11) {
    std::vector<Row> two = rows;
    for (Row& row : two) row.label = row.label == model.labels[k] ? 1 : 0;
    StreamOptions options = kOptions;
    options.labels = {0, 1};
    const Model alone = learned(two, options);
    EXPECT_EQ(alone.problems[0].bias, whole.problems[k].bias);
    const auto value = [](const Model& from, std::size_t problem, std::uint32_t column) {
      const auto found = std::ranges::lower_bound(from.columns, column);
      if (found == from.columns.end() || *found != column) return 0.0;
      return from.weights_of(problem)[static_cast<std::size_t>(found - from.columns.begin())];
    };
    ASSERT_FALSE(alone.columns.empty());
    for (const std::uint32_t column : whole.columns) {
      ASSERT_EQ(value(alone, 0, column), value(whole, k, column)) << k << " " << column;
    }
  }
}

TEST(StreamMany, GoesOnFromItsModel) {
  const std::vector<Row> rows = many_rows(500, kClasses);
  std::vector<std::int64_t> labels(kClasses);
  for (std::int64_t k = 0; k < kClasses; ++k) labels[static_cast<std::size_t>(k)] = k;
  for (const auto& known : {std::vector<std::int64_t>(), labels}) {
    StreamOptions options = kOptions;
    options.labels = known;
    const std::string whole = model_to_bytes(learned(rows, options)).value();
    for (const std::size_t cut : {5U, 120U, 400U}) {
      const Model part = learned(std::span(rows).first(cut), options);
      const Model read = model_from_bytes(model_to_bytes(part).value()).value();
      Stream resumed = Stream::resume(read).value();
      learn(resumed, std::span(rows).subspan(cut));
      EXPECT_EQ(model_to_bytes(resumed.snapshot().value()).value(), whole) << cut;
    }
    const TempFolder folder(hinge::testing::memory_folder());
    Stream stream = Stream::create(options).value();
    learn(stream, rows);
    ASSERT_TRUE(stream.save(folder / "m").ok());
    EXPECT_EQ(hinge::testing::read_file(folder / "m"), whole);
  }
}

TEST(StreamMany, PredictsAsIfWrittenOut) {
  const std::vector<Row> rows = many_rows(400, kClasses);
  const Model model = learned(rows, kOptions);
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  for (const Row& row : rows) {
    columns.insert(columns.end(), row.columns.begin(), row.columns.end());
    values.insert(values.end(), row.values.begin(), row.values.end());
    offsets.push_back(columns.size());
  }
  const Dataset::View view =
      CsrView<double>{rows.size(), 6'000'000, offsets.data(), columns.data(), values.data()};
  const Predictions shared = predict(model, view).value();
  const Predictions whole = predict(write_out(model).value(), view).value();
  EXPECT_EQ(shared.labels, whole.labels);
  EXPECT_EQ(shared.scores, whole.scores);
}

// A row that does not fit is not learned, and what was learned can be saved.
TEST(StreamMany, MemoryHasALimit) {
  StreamOptions options = kOptions;
  options.memory = 64 << 20;
  Stream stream = Stream::create(options).value();
  std::size_t done = 0;
  std::string id;
  for (std::int64_t label = 0; id.empty(); ++label) {
    const std::vector<double> values(20'000, 1.0);
    std::vector<std::uint32_t> columns(values.size());
    for (std::size_t k = 0; k < columns.size(); ++k) {
      columns[k] = static_cast<std::uint32_t>(k + static_cast<std::size_t>(label % 7) * 1000);
    }
    const auto learned = stream.learn_one(columns, values, label);
    if (learned.ok()) {
      ++done;
    } else {
      id = learned.error().id;
      EXPECT_NE(learned.error().message.find("--memory allows 64.0 MiB"), std::string::npos);
    }
  }
  EXPECT_EQ(id, "memory.limit");
  EXPECT_GT(done, 16U);
  EXPECT_EQ(stream.figures().rows, done);
  EXPECT_EQ(stream.labels().size(), done);
  const TempFolder folder(hinge::testing::memory_folder());
  ASSERT_TRUE(stream.save(folder / "m").ok());
  EXPECT_EQ(load_model(folder / "m")->stream->rows, done);
}

TEST(StreamMany, RefusesSumsThatMakeNoSense) {
  const Model model = learned(many_rows(400, kClasses), kOptions);
  const TempFolder folder(hinge::testing::memory_folder());
  const auto id_after = [&](const std::function<void(SharedRows&)>& change) {
    Model bad = model;
    change(*bad.stream->shared);
    EXPECT_TRUE(save_model(bad, folder / "m").ok());
    const Result<Model> loaded = load_model(folder / "m");
    return loaded.ok() ? "" : loaded.error().id;
  };
  EXPECT_EQ(id_after([](SharedRows&) {}), "");
  EXPECT_EQ(id_after([](SharedRows& s) { s.common[1] = kInfinity; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.values[1] = kInfinity; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.ends.back() += 1; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.ends[0] = UINT64_MAX; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.rows[s.ends[0] - 1] = kClasses + 1; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.rows[1] = s.rows[0]; }), "model.content");
  EXPECT_EQ(id_after([](SharedRows& s) { s.common.pop_back(); }), "model.header");
  EXPECT_EQ(id_after([](SharedRows& s) { s.rows.pop_back(); }), "model.header");
}

}  // namespace
}  // namespace hinge::many
