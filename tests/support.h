// What many tests need: a folder of their own, files in it, and small data sets.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "data/survey.h"
#include "hinge/dataset.h"
#include "hinge/metrics.h"
#include "hinge/model.h"

namespace hinge::testing {

// Lets code inside namespace hinge go on saying testing::Test for GoogleTest's.
using namespace ::testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether tests take the time they want, as `make test-all` asks: HINGE_LONG=1.
inline bool at_length() {
  const char* const asked = std::getenv("HINGE_LONG");
  return asked != nullptr && std::string_view(asked) != "0";
}

// Whether the program is slow, since a sanitizer watches it: HINGE_SLOW=1.
inline bool slow() {
  return std::getenv("HINGE_SLOW") != nullptr;
}

// Of many cases that are alike, a sanitizer sees all there is to see in one of `count`: it looks
// for other faults than wrong figures.
inline std::uint64_t one_in(std::uint64_t count) {
  return slow() ? count : 1;
}

// Where files cost no disk access; for tests that write thousands of them.
inline std::filesystem::path memory_folder() {
  const char* const memory = "/dev/shm";
  return access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

// A fresh empty folder, removed with everything in it at the end. No two are the same, so tests may
// run in parallel and any number of times.
class TempFolder {
 public:
  explicit TempFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "hinge_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  // The names of what is in it, sorted; hidden files too.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      all.push_back(entry.path().filename().string());
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

// The rows of libsvm text, read as any file is. Text that is not a data set is the test's mistake.
inline Dataset dataset_from_text(const std::string& text, const ReadOptions& options = {}) {
  const TempFolder folder;
  write_file(folder / "rows.svm", text);
  std::vector<Error> warnings;
  Result<Dataset> data = read_dataset(folder / "rows.svm", options, warnings);
  if (!data.ok()) throw std::runtime_error(to_string(data.error()));
  return std::move(data).value();
}

// What tells data sets apart: their rows, and where indices begin.
inline std::string identity(const Dataset& data) {
  Pool pool(1);
  return fingerprint(data, pool) + std::to_string(data.index_base());
}

// The file that a model is saved in.
inline std::string model_bytes(const Model& model) {
  const TempFolder folder(memory_folder());
  EXPECT_TRUE(save_model(model, folder / "m").ok());
  return read_file(folder / "m");
}

inline double accuracy(const Model& model, const Dataset& data) {
  return evaluate(model, data, predict(model, data).value()).value().accuracy;
}

struct RandomData {
  std::uint64_t rows = 60;
  std::uint64_t features = 20;
  std::uint64_t nonzeros = 5;  // a row, in different columns; at most `features`
  double noise = 0.1;          // share of rows whose label is drawn without looking at the row
  std::uint64_t seed = 1;
  Precision precision = Precision::f32;
  double offset = 0;          // added to every value: labels do not depend on it
  std::uint64_t classes = 2;  // 2: labels -1 and +1; more: 0 .. classes - 1
};

namespace detail {

template <class Value>
struct Rows {
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;
  std::vector<std::int64_t> labels;
};

template <class Value>
Dataset random_dataset(const RandomData& shape) {
  Random random(shape.seed);
  std::vector<double> truth(shape.classes * shape.features);
  for (double& w : truth) w = 2 * random.uniform() - 1;
  auto rows = std::make_shared<Rows<Value>>();
  for (std::uint64_t i = 0; i < shape.rows; ++i) {
    std::vector<double> scores(shape.classes);
    std::uint64_t wanted = std::min(shape.nonzeros, shape.features);
    for (std::uint64_t j = 0; j < shape.features; ++j) {
      if (random.below(shape.features - j) >= wanted) continue;  // each set of columns as likely
      --wanted;
      const double size = 0.1 + random.uniform();  // never 0
      const double value = static_cast<Value>(random.below(2) == 0 ? size : -size);
      rows->columns.push_back(static_cast<std::uint32_t>(j));
      rows->values.push_back(static_cast<Value>(shape.offset + value));
      for (std::uint64_t k = 0; k < shape.classes; ++k) {
        scores[k] += truth[k * shape.features + j] * value;
      }
    }
    const auto best = static_cast<std::uint64_t>(std::ranges::max_element(scores) - scores.begin());
    const std::uint64_t drawn = random.below(shape.classes);
    std::uint64_t label = random.uniform() < shape.noise ? drawn : best;
    if (i < shape.classes) label = i;  // every class occurs
    rows->offsets.push_back(rows->columns.size());
    rows->labels.push_back(shape.classes == 2 ? 2 * static_cast<std::int64_t>(label) - 1
                                              : static_cast<std::int64_t>(label));
  }
  const CsrView<Value> view{shape.rows, shape.features, rows->offsets.data(), rows->columns.data(),
                            rows->values.data()};
  Result<Dataset> data = Dataset::wrap(view, rows->labels, {}, rows);
  if (!data.ok()) throw std::runtime_error(to_string(data.error()));
  return std::move(data).value();
}

}  // namespace detail

// Rows labelled by the best of `classes` random hyperplanes; the same shape gives the same rows.
inline Dataset random_dataset(const RandomData& shape = {}) {
  return shape.precision == Precision::f32 ? detail::random_dataset<float>(shape)
                                           : detail::random_dataset<double>(shape);
}

// Some rows of a float32 data set, in this order; a row may come more than once.
inline Dataset pick_rows(const Dataset& data, const std::vector<std::uint64_t>& wanted) {
  const auto& m = std::get<CsrView<float>>(data.view());
  auto rows = std::make_shared<detail::Rows<float>>();
  for (const std::uint64_t i : wanted) {
    rows->columns.insert(rows->columns.end(), m.columns_of(i), m.columns_of(i) + m.size_of(i));
    rows->values.insert(rows->values.end(), m.values_of(i), m.values_of(i) + m.size_of(i));
    rows->offsets.push_back(rows->values.size());
    rows->labels.push_back(data.labels()[i]);
  }
  const CsrView<float> view{wanted.size(), m.features, rows->offsets.data(), rows->columns.data(),
                            rows->values.data()};
  Result<Dataset> picked = Dataset::wrap(view, rows->labels, {}, rows);
  if (!picked.ok()) throw std::runtime_error(to_string(picked.error()));
  return std::move(picked).value();
}

inline Dataset sorted_by_label(const Dataset& data) {
  std::vector<std::uint64_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  std::ranges::stable_sort(rows, {}, [&](std::uint64_t i) { return data.labels()[i]; });
  return pick_rows(data, rows);
}

}  // namespace hinge::testing
