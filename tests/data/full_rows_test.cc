// Rows that all have every column: their columns are kept once, and nothing else is different.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/pool.h"
#include "data/columns.h"
#include "data/survey.h"
#include "files/tensor_file.h"
#include "hinge/kernel.h"
#include "hinge/model.h"
#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

bool is_full(const Dataset& data) {
  return data.visit([](const auto& m) { return m.full; });
}

// The entries of all rows: row, column, value.
std::vector<std::vector<double>> entries(const Dataset& data) {
  std::vector<std::vector<double>> all;
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        all.push_back({static_cast<double>(i), static_cast<double>(m.columns_of(i)[k]),
                       static_cast<double>(m.values_of(i)[k])});
      }
    }
  });
  return all;
}

std::string text_of(const Dataset& data) {
  const testing::TempFolder folder;
  EXPECT_TRUE(save_dataset(data, folder / "rows.svm", {.format = DataFormat::text}).ok());
  return testing::read_file(folder / "rows.svm");
}

// The same entries, beside a column that no row has: rows with holes.
Dataset widened(const Dataset& data) {
  auto rows = std::make_shared<testing::detail::Rows<float>>();
  const auto& m = std::get<CsrView<float>>(data.view());
  rows->offsets.assign(m.offsets, m.offsets + m.rows + 1);
  rows->values.assign(m.values, m.values + m.nonzeros());
  for (std::uint64_t k = 0; k < m.nonzeros(); ++k) rows->columns.push_back(m.column(k));
  const CsrView<float> view = {m.rows, m.features + 1, rows->offsets.data(), rows->columns.data(),
                               rows->values.data()};
  return Dataset::wrap(view, data.labels(), {}, rows).value();
}

TEST(FullRows, AreSeenInText) {
  EXPECT_TRUE(is_full(testing::dataset_from_text("1 1:1 2:2\n-1 1:3 2:4\n")));
  EXPECT_TRUE(is_full(testing::dataset_from_text("1 0:1 1:2\n-1 0:3 1:4\n")));
  EXPECT_TRUE(is_full(
      testing::dataset_from_text("1 1:1 2:2\n-1 1:3 2:4\n", {.index_base = IndexBase::one})));
  EXPECT_TRUE(is_full(testing::dataset_from_text("1 1:1\n-1 1:3\n")));
  for (const char* text : {"1 1:1 2:2\n-1 1:3 2:4\n1 1:5\n", "1 1:1 2:2\n-1 1:3 2:4\n1 1:5 3:1\n",
                           "1 1:1 2:2\n-1\n", "1\n-1\n", "1\n-1 1:1\n", "1 2:1 5:2\n-1 2:3 5:4\n",
                           "1 1:1 2:2\n-1 1:3 2:4\n1 1:5 2:6 3:1\n"}) {
    const Dataset data = testing::dataset_from_text(text);
    EXPECT_FALSE(is_full(data)) << text;
    EXPECT_EQ(text_of(data), text);
  }
  // Counted from 0 they lack a column.
  const Dataset zero =
      testing::dataset_from_text("1 1:1 2:2\n-1 1:3 2:4\n", {.index_base = IndexBase::zero});
  EXPECT_FALSE(is_full(zero));
  EXPECT_EQ(zero.features(), 3U);
}

// The row that is not like the others may come anywhere, in any chunk of the text.
TEST(FullRows, UpToARowThatIsNot) {
  const std::string text =
      text_of(testing::random_dataset({.rows = 9000, .features = 7, .nonzeros = 7}));
  for (const int threads : {1, 3}) {
    const Dataset data = testing::dataset_from_text(text, {.threads = threads});
    EXPECT_TRUE(is_full(data));
    EXPECT_EQ(text_of(data), text);
    for (const std::uint64_t place : {0U, 1U, 4500U, 8999U, 9000U}) {
      std::string broken = text;
      std::size_t at = 0;
      for (std::uint64_t line = 0; line < place; ++line) at = broken.find('\n', at) + 1;
      broken.insert(at, "1 1:0.5 7:0.25\n");
      const Dataset rows = testing::dataset_from_text(broken, {.threads = threads});
      EXPECT_FALSE(is_full(rows));
      EXPECT_EQ(text_of(rows), broken) << place;
    }
  }
}

TEST(FullRows, OfArraysAreChecked) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> labels = {1, -1};
  std::vector<std::uint64_t> offsets = {0, 3, 6};
  std::vector<std::uint32_t> columns = {0, 1, 2};
  const auto wrap = [&] {
    const CsrView<double> view = {2, 3, offsets.data(), columns.data(), values.data(), true};
    const Result<Dataset> data = Dataset::wrap(view, labels, {}, nullptr);
    return data.ok() ? std::string("accepted") : data.error().id;
  };
  EXPECT_EQ(wrap(), "accepted");
  columns = {0, 2, 1};
  EXPECT_EQ(wrap(), "data.matrix");
  columns = {0, 1, 3};
  EXPECT_EQ(wrap(), "data.matrix");
  columns = {0, 1, 2};
  offsets = {0, 2, 6};
  EXPECT_EQ(wrap(), "data.matrix");
}

TEST(FullRows, HaveOneFingerprintHoweverTheyCame) {
  const Dataset data = testing::random_dataset({.rows = 300, .features = 6, .nonzeros = 6});
  ASSERT_TRUE(is_full(data));
  const testing::TempFolder folder;
  ASSERT_TRUE(save_dataset(data, folder / "rows.hinge", {}).ok());
  std::vector<Error> warnings;
  const Dataset mapped = read_dataset(folder / "rows.hinge", {}, warnings).value();
  EXPECT_TRUE(is_full(mapped));
  Pool pool(2);
  const Dataset text = testing::dataset_from_text(text_of(data));
  EXPECT_EQ(fingerprint(mapped, pool), fingerprint(data, pool));
  EXPECT_EQ(fingerprint(text, pool), fingerprint(data, pool));
  EXPECT_NE(fingerprint(widened(data), pool), fingerprint(data, pool));
  // Nor do columns that each row has for itself make a difference: as they were in older files.
  const auto& m = std::get<CsrView<float>>(data.view());
  std::vector<std::uint32_t> columns;
  for (std::uint64_t k = 0; k < m.nonzeros(); ++k) columns.push_back(m.column(k));
  write_tensor_file(folder / "older",
                    {tensor<std::uint64_t>("offsets", {m.rows + 1}, {m.offsets, m.rows + 1}),
                     tensor<std::uint32_t>("columns", {columns.size()}, columns),
                     tensor<float>("values", {m.nonzeros()}, {m.values, m.nonzeros()}),
                     tensor<std::int64_t>("labels", {m.rows}, data.labels())},
                    {{"format", "hinge.dataset"},
                     {"version", "1"},
                     {"written_by", "hinge"},
                     {"features", "6"},
                     {"index_base", "0"}});
  EXPECT_EQ(fingerprint(read_dataset(folder / "older", {}, warnings).value(), pool),
            fingerprint(data, pool));
  // Seen as counted from 0, a mapped set gets its holes.
  const Dataset zero =
      read_dataset(folder / "rows.hinge", {.index_base = IndexBase::zero}, warnings).value();
  EXPECT_EQ(is_full(zero), mapped.index_base() == 0);
  EXPECT_EQ(entries(zero).size(), entries(data).size());
}

TEST(FullRows, InParts) {
  const Dataset data = testing::random_dataset({.rows = 40, .features = 5, .nonzeros = 5});
  Pool pool(1);
  EXPECT_EQ(occurring_columns(data, pool), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  const Dataset some = keep_rows(data, std::vector<std::uint64_t>{3, 30, 4});
  EXPECT_TRUE(is_full(some));
  EXPECT_EQ(text_of(some), text_of(testing::pick_rows(data, {3, 30, 4})));
  const Dataset two = keep_columns(data, std::vector<std::uint32_t>{1, 4}, pool);
  const auto& m = std::get<CsrView<float>>(two.view());
  EXPECT_TRUE(m.full);
  EXPECT_EQ(m.features, 2U);
  EXPECT_EQ(m.values[3], std::get<CsrView<float>>(data.view()).values[5 + 4]);
}

// A column that nobody has changes no sum.
TEST(FullRows, TrainToTheSameBits) {
  for (const std::uint64_t features : {5U, 8U, 24U}) {
    const Dataset data =
        testing::random_dataset({.rows = 400, .features = features, .nonzeros = features});
    const Dataset wide = widened(data);
    ASSERT_TRUE(is_full(data));
    ASSERT_FALSE(is_full(wide));
    for (const Solver solver : {Solver::dual, Solver::ocas, Solver::focus, Solver::pegasos}) {
      TrainOptions options;
      options.solver = solver;
      if (solver != Solver::pegasos) options.gap = 1e-3;
      options.threads = 3;
      const Model full = train(data, options).value().model,
                  holes = train(wide, options).value().model;
      for (std::uint64_t j = 0; j < features; ++j) {
        EXPECT_EQ(full.weights[j], holes.weights[j]) << to_string(solver) << " " << j;
      }
      EXPECT_EQ(holes.weights[features], 0);
      EXPECT_EQ(predict(full, data).value().labels, predict(holes, wide).value().labels);
    }
  }
}

TEST(FullRows, OfAKernelModelAreWrittenAndRead) {
  const Dataset data = testing::random_dataset({.rows = 80, .features = 4, .nonzeros = 4});
  TrainOptions options;
  options.solver = Solver::pegasos;
  options.pegasos.kernel.kind = KernelKind::rbf;
  options.pegasos.kernel.gamma = 0.5;
  const Model model = train(data, options).value().model;
  ASSERT_TRUE(is_full(model.support));
  const testing::TempFolder folder;
  ASSERT_TRUE(save_model(model, folder / "model").ok());
  const Model back = load_model(folder / "model").value();
  EXPECT_TRUE(is_full(back.support));
  EXPECT_EQ(entries(back.support), entries(model.support));
  EXPECT_EQ(predict(back, data).value().labels, predict(model, data).value().labels);
}

}  // namespace
}  // namespace hinge
