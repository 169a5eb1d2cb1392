#include "data/data_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/error.h"
#include "base/pool.h"
#include "data/dataset_builder.h"
#include "data/names_file.h"
#include "files/file_bytes.h"
#include "hinge/version.h"

namespace hinge {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::string_view kVersionOfBoth = "2";    // values in both precisions
constexpr std::string_view kVersionOfLabels = "3";  // labels that are no whole numbers

constexpr const char* kValues = "values";
constexpr const char* kDoubles = "doubles";
constexpr const char* kLabels = "labels";
constexpr const char* kTargets = "targets";
constexpr const char* kNames = "names";
constexpr const char* kNameEnds = "names.ends";

std::uint64_t whole(const TensorFile& file, const char* key, std::uint64_t most) {
  const std::string& text = file.field(key);
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value > most) {
    file.reject("header", fmt::format("{} is not a number from 0 to {}", key, most));
  }
  return value;
}

std::uint64_t length(const TensorFile& file, std::string_view name) {
  const auto shape = file.shape(name);
  if (shape.size() != 1) file.reject("header", fmt::format("array \"{}\" is no list", name));
  return shape[0];
}

// The first thing wrong with an array's content. It is told only once the checksum has proved that
// the content is what was written: damage is the likelier story.
struct Finding {
  std::string what;
  void add(std::string_view text, std::uint64_t row) {
    if (what.empty()) what = fmt::format("row {}: {}", row + 1, text);
  }
};

void check_offsets(const TensorFile& file, std::span<const std::uint64_t> offsets,
                   std::uint64_t nonzeros) {
  file.check("offsets", [](std::uint64_t) {});
  bool good = offsets.front() == 0 && offsets.back() == nonzeros;
  for (std::size_t i = 1; i < offsets.size(); ++i) good = good && offsets[i - 1] <= offsets[i];
  if (!good) file.reject("content", "row offsets do not ascend from 0 to the number of nonzeros");
}

void check_stop(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) {
    fail("run.interrupted", "interrupted while checking a data set");
  }
}

// What must be true of columns: element(k) for each entry of a row, then row_end(row).
struct ColumnsOfRows {
  std::span<const std::uint32_t> columns;
  std::uint64_t features;
  Finding finding = {};
  std::int64_t previous = -1;
  bool ascends = true;

  void element(std::uint64_t k) {
    ascends = ascends && previous < std::int64_t{columns[k]};
    previous = columns[k];
  }
  void row_end(std::uint64_t row) {
    if (!ascends) finding.add("columns do not ascend", row);
    if (previous >= static_cast<std::int64_t>(features)) {
      finding.add("a column lies outside the data set", row);
    }
    previous = -1;
  }
};

// And of values.
template <class Value>
struct ValuesOfRows {
  std::span<const Value> values;
  Finding finding = {};
  double squares = 0;

  void element(std::uint64_t k) {
    squares += static_cast<double>(values[k]) * static_cast<double>(values[k]);
  }
  void row_end(std::uint64_t row) {
    if (!std::isfinite(squares)) {
      finding.add("a value is not finite, or its square overflows", row);
    }
    squares = 0;
  }
};

// Checks what is in an array, in parts: the first is the whole array's checksum, the others are
// about as many entries each, by rows.
struct PartsOfArray {
  const TensorFile& file;
  std::string_view name;
  std::span<const std::uint64_t> offsets;
  const std::atomic<bool>* stop;

  static constexpr std::size_t kParts = 32;

  void checksum() const {
    file.check(name, [&](std::uint64_t) { check_stop(stop); });
  }
  template <class OfRows>
  void content(std::size_t part, OfRows rows) const {
    check_stop(stop);
    const auto begin_of = [&](std::size_t number) -> std::uint64_t {
      if (number == kParts) return offsets.size() - 1;
      const std::uint64_t wanted = offsets.back() / kParts * number;
      return static_cast<std::uint64_t>(
          std::ranges::lower_bound(offsets.first(offsets.size() - 1), wanted) - offsets.begin());
    };
    const std::uint64_t last = begin_of(part + 1);
    for (std::uint64_t row = begin_of(part); row < last; ++row) {
      for (std::uint64_t k = offsets[row]; k < offsets[row + 1]; ++k) rows.element(k);
      rows.row_end(row);
    }
    reject(rows.finding);
  }
  // All of it in one pass: checksum and content of bytes that are in the cache.
  template <class OfRows>
  void at_once(std::uint64_t width, OfRows rows) const {
    std::uint64_t k = 0, row = 0;
    file.check(name, [&](std::uint64_t bytes) {
      check_stop(stop);
      const std::uint64_t end = bytes / width;
      while (k < end) {
        const std::uint64_t until = std::min(offsets[row + 1], end);
        for (; k < until; ++k) rows.element(k);
        while (row + 1 < offsets.size() && offsets[row + 1] == k) rows.row_end(row++);
      }
    });
    reject(rows.finding);
  }

 private:
  void reject(const Finding& finding) const {
    if (!finding.what.empty()) file.reject("content", finding.what);
  }
};

void check_weights(const TensorFile& file, std::span<const double> weights) {
  file.check("weights", [](std::uint64_t) {});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      file.reject("content", fmt::format("row {}: the weight is not a number >= 0", i + 1));
    }
  }
}

// Of whichever kind the file has; what is in the arrays is for check_labels().
Labels map_labels(const TensorFile& file) {
  if (file.has(kTargets)) {
    return file.get<double>(kTargets, std::array{length(file, kTargets)});
  }
  const auto numbers = file.get<std::int64_t>(kLabels, std::array{length(file, kLabels)});
  return Labels(numbers, file.has(kNameEnds) ? read_names(file, kNames) : ClassNames());
}

// Those from row `first` on.
void check_labels(const TensorFile& file, const Labels& labels, std::uint64_t first) {
  for (std::size_t i = 0; i < labels.targets().size(); ++i) {
    if (std::isfinite(labels.targets()[i])) continue;
    file.reject("content", fmt::format("row {}: the target is not finite", first + i + 1));
  }
  if (labels.kind() != LabelKind::names) return;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t place = labels.numbers()[i];
    if (place >= 0 && static_cast<std::uint64_t>(place) < labels.names().size()) continue;
    file.reject("content", fmt::format("row {}: a class without a name", first + i + 1));
  }
}

// Columns that are there once, for rows that all have every one of them.
void check_full(const TensorFile& file, std::span<const std::uint64_t> offsets,
                std::span<const std::uint32_t> columns) {
  file.check("columns", [](std::uint64_t) {});
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (columns[k] != k) file.reject("content", "the columns of full rows are not 0, 1, 2, ...");
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] == columns.size()) continue;
    file.reject("content", fmt::format("row {}: not all columns, as full rows have", i));
  }
}

// What keeps the arrays alive: the mapping, columns of our own if they had to be renumbered,
// doubles if they had to be made of floats, and the offsets of a part.
struct Owner {
  TensorFile file;
  Buffer<std::uint32_t> columns;
  Buffer<double> doubles;
  std::vector<std::uint64_t> offsets;
};

// The rows of one part, checked as all of them would be.
template <class Value>
void check_rows(const TensorFile& file, const CsrView<Value>& m, std::uint64_t first,
                std::span<const double> weights) {
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    const std::uint32_t* const columns = m.columns_of(i);
    double squares = 0;
    bool ascends = true;
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      const auto value = static_cast<double>(m.values_of(i)[k]);
      ascends = ascends && (k == 0 || columns[k - 1] < columns[k]) && columns[k] < m.features;
      squares += value * value;
    }
    if (!ascends) {
      file.reject(
          "content",
          fmt::format("row {}: columns do not ascend, or lie outside the data set", first + i + 1));
    }
    const bool weighs = weights.empty() || (weights[i] >= 0 && std::isfinite(weights[i]));
    if (!std::isfinite(squares) || !weighs) {
      file.reject("content",
                  fmt::format("row {}: a value or a weight is out of range", first + i + 1));
    }
  }
}

// Column c is feature c + base. Data that counts from 1 can be seen as counting from 0: feature 0
// does not occur in it.
template <class Value>
void count_from_zero(Owner& owner, CsrView<Value>& m) {
  owner.columns.resize(m.nonzeros());
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      owner.columns[m.offsets[i] + k] = m.columns_of(i)[k] + 1;
    }
  }
  m.columns = owner.columns.data();
  m.features += m.features > 0 ? 1 : 0;
  m.full = false;
}

CsrView<double> make_doubles(Owner& owner, const CsrView<float>& m, Pool& pool) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  const std::size_t count = m.nonzeros();
  owner.doubles.resize(count);
  pool.run((count + kStep - 1) / kStep, [&](std::size_t block) {
    const std::size_t end = std::min(count, (block + 1) * kStep);
    for (std::size_t k = block * kStep; k < end; ++k) owner.doubles[k] = m.values[k];
  });
  return {m.rows, m.features, m.offsets, m.columns, owner.doubles.data(), m.full};
}

// What is asked of a file: which part of its rows, and from which array the values.
struct Wanted {
  int part = 0, parts = 1;
  std::string values = kValues;
  bool as_doubles = false;
};

// The rows of one share. It begins at the first row with so many nonzeros before it, or, where no
// row has any, so many rows.
template <class Value>
Dataset map_rows(std::shared_ptr<Owner> owner, const CsrView<Value>& m, const Labels& labels,
                 std::span<const double> weights, int base, const Wanted& share) {
  const std::uint64_t nonzeros = owner->file.shape(share.values)[0];
  const auto begin_of = [&](int part) -> std::uint64_t {
    const double before = static_cast<double>(part) / share.parts;
    if (part == share.parts) return m.rows;
    if (nonzeros == 0) return static_cast<std::uint64_t>(static_cast<double>(m.rows) * before);
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(nonzeros) * before);
    return static_cast<std::uint64_t>(std::lower_bound(m.offsets, m.offsets + m.rows, wanted) -
                                      m.offsets);
  };
  const std::uint64_t first = begin_of(share.part), last = begin_of(share.part + 1);
  bool good = first <= last;
  for (std::uint64_t i = first; good && i < last; ++i) good = m.offsets[i] <= m.offsets[i + 1];
  if (!good || m.offsets[last] > nonzeros || m.offsets[0] != 0) {
    owner->file.reject("content", "row offsets do not ascend from 0 to the number of nonzeros");
  }
  const std::uint64_t from = m.offsets[first];
  for (std::uint64_t i = first; i <= last; ++i) owner->offsets.push_back(m.offsets[i] - from);
  CsrView<Value> view = {last - first, m.features,      owner->offsets.data(),
                         m.columns,    m.values + from, m.full};
  if (m.full) {
    check_full(owner->file, owner->offsets, {m.columns, m.features});
  } else {
    view.columns += from;
  }
  if (!weights.empty()) weights = weights.subspan(first, last - first);
  check_rows(owner->file, view, first, weights);
  const Labels own = labels.part(first, last - first);
  check_labels(owner->file, own, first);
  owner->file.check_unchanged();
  return DatasetBuilder::wrap(view, own, weights, base, owner);
}

template <class Value>
Dataset map_arrays(std::shared_ptr<Owner> owner, const ReadOptions& options, const Wanted& wanted) {
  const TensorFile& file = owner->file;
  const Labels labels = map_labels(file);
  const std::uint64_t rows = labels.size(), nonzeros = length(file, wanted.values);
  const bool full = length(file, "columns") != nonzeros;
  int base = static_cast<int>(whole(file, "index_base", 1));
  constexpr std::uint64_t kMostColumns = 0xffffffff;  // of features counted from 0
  const std::uint64_t features =
      whole(file, "features", kMostColumns - static_cast<unsigned>(base));
  if (rows == UINT64_MAX || rows == 0) file.reject("content", "no rows");
  const auto offsets = file.get<std::uint64_t>("offsets", std::array{rows + 1});
  const auto columns = file.get<std::uint32_t>("columns", std::array{full ? features : nonzeros});
  const auto values = file.get<Value>(wanted.values, std::array{nonzeros});
  if (file.has(kDoubles)) {
    static_cast<void>(file.get<float>(kValues, std::array{nonzeros}));
    static_cast<void>(file.get<double>(kDoubles, std::array{nonzeros}));
  }
  const auto weights = file.has("weights") ? file.get<double>("weights", std::array{rows})
                                           : std::span<const double>{};
  if (wanted.parts > 1) {
    const CsrView<Value> all = {rows,           features,      offsets.data(),
                                columns.data(), values.data(), full};
    return map_rows(std::move(owner), all, labels, weights, base, wanted);
  }
  check_offsets(file, offsets, nonzeros);
  Pool pool(options.threads);
  const PartsOfArray of_columns{file, "columns", offsets, options.stop},
      of_values{file, wanted.values, offsets, options.stop};
  const ColumnsOfRows columns_of_rows{columns, features};
  const ValuesOfRows<Value> values_of_rows{values};
  const auto check_others = [&] {
    file.check(labels.kind() == LabelKind::targets ? kTargets : kLabels, [](std::uint64_t) {});
    check_labels(file, labels, 0);
    if (!weights.empty()) check_weights(file, weights);
  };
  // Whatever is wrong, the first of these that finds something speaks: checksums before contents,
  // columns before values.
  if (pool.threads() <= 2) {
    pool.run(3, [&](std::size_t task) {
      if (task == 0 && full) check_full(file, offsets, columns);
      if (task == 0 && !full) of_columns.at_once(sizeof(std::uint32_t), columns_of_rows);
      if (task == 1) of_values.at_once(sizeof(Value), values_of_rows);
      if (task == 2) check_others();
    });
  } else {
    constexpr std::size_t kParts = PartsOfArray::kParts;
    pool.run(3 + 2 * kParts, [&](std::size_t task) {
      if (task == 0 && full) check_full(file, offsets, columns);
      if (task == 0 && !full) of_columns.checksum();
      if (task == 1) of_values.checksum();
      if (task == 2) check_others();
      if (task < 3) return;
      if (task >= 3 + kParts) {
        of_values.content(task - 3 - kParts, values_of_rows);
      } else if (!full) {
        of_columns.content(task - 3, columns_of_rows);
      }
    });
  }
  file.check_unchanged();
  if (options.index_base == IndexBase::one && base == 0) {
    fail("data.index.zero", "this data set counts its features from 0",
         "give --index-base 0 for training and prediction alike");
  }
  CsrView<Value> view = {rows, features, offsets.data(), columns.data(), values.data(), full};
  if (options.index_base == IndexBase::zero && base == 1) {
    count_from_zero(*owner, view);
    base = 0;
  }
  if constexpr (std::is_same_v<Value, float>) {
    if (wanted.as_doubles) {
      return DatasetBuilder::wrap(make_doubles(*owner, view, pool), labels, weights, base, owner);
    }
  }
  return DatasetBuilder::wrap(view, labels, weights, base, owner);
}

}  // namespace

bool is_data_file(const std::string& path) {
  char head[9];
  return looks_like_tensor_file(first_bytes(path, head));
}

bool looks_like_dataset(const std::string& path) {
  char bytes[4096];
  const Result<std::string_view> head = guard([&] { return first_bytes(path, bytes); });
  return head.ok() && looks_like_tensor_file(*head, kDatasetFormat);
}

namespace {
Dataset map_part(TensorFile file, const ReadOptions& options, Wanted wanted) {
  if (file.field("format") == "hinge.model") {
    file.reject("magic", "this is a model of hinge, not a data set");
  }
  if (file.field("format") != kDatasetFormat)
    file.reject("magic", "this is not a data set of hinge");
  const std::string& stated = file.field("version");
  if (stated != kVersion && stated != kVersionOfBoth && stated != kVersionOfLabels) {
    file.reject("version",
                fmt::format("written by {} in format {}; this is hinge {}",
                            escape(file.field("written_by")), escape(stated), version()));
  }
  if (stated == kVersion) {
    file.allow_only({"offsets", "columns", kValues, kLabels, "weights"});
  } else if (stated == kVersionOfBoth) {
    file.allow_only({"offsets", "columns", kValues, kDoubles, kLabels, "weights"});
  } else if (file.has(kTargets)) {
    file.allow_only({"offsets", "columns", kValues, kDoubles, kTargets, "weights"});
  } else {
    file.allow_only(
        {"offsets", "columns", kValues, kDoubles, kLabels, kNames, kNameEnds, "weights"});
    if (!file.has(kNameEnds)) file.reject("header", "the names of classes are missing");
  }
  if (options.precision == Precision::f64 && file.has(kDoubles)) wanted.values = kDoubles;
  auto owner = std::make_shared<Owner>();
  owner->file = std::move(file);
  return owner->file.dtype(wanted.values) == DType::f32
             ? map_arrays<float>(owner, options, wanted)
             : map_arrays<double>(owner, options, wanted);
}
}  // namespace

Dataset map_dataset(TensorFile file, const ReadOptions& options) {
  return map_part(std::move(file), options, {});
}

Dataset map_as_asked(TensorFile file, const ReadOptions& options) {
  return map_part(std::move(file), options, {.as_doubles = options.precision == Precision::f64});
}

Dataset map_share(TensorFile file, const ReadOptions& options, int share, int shares) {
  return map_part(std::move(file), options, {.part = share, .parts = shares});
}

void write_dataset(const Dataset& data, const std::string& path, DataFileOptions options) {
  Metadata& more = options.more;
  more["format"] = kDatasetFormat;
  const Labels& labels = data.row_labels();
  more["version"] = labels.kind() != LabelKind::numbers ? kVersionOfLabels
                    : options.doubles.empty()           ? kVersion
                                                        : kVersionOfBoth;
  more["written_by"] = fmt::format("hinge {}", version());
  more["features"] = std::to_string(data.features());
  more["index_base"] = std::to_string(data.index_base());
  const std::uint64_t rows = data.rows(), nonzeros = data.nonzeros();
  std::vector<Tensor> tensors;
  data.visit([&]<class Value>(const CsrView<Value>& m) {
    if (m.offsets[0] != 0) fail("data.matrix", "offsets do not begin with 0");
    tensors.push_back(tensor<std::uint64_t>("offsets", {rows + 1}, {m.offsets, rows + 1}));
    const std::uint64_t columns = m.full ? m.features : nonzeros;
    tensors.push_back(tensor<std::uint32_t>("columns", {columns}, {m.columns, columns}));
    tensors.push_back(tensor<Value>(kValues, {nonzeros}, {m.values, nonzeros}));
  });
  if (!options.doubles.empty()) {
    tensors.push_back(tensor<double>(kDoubles, {nonzeros}, options.doubles));
  }
  const NameArrays names = arrays_of(data.class_names());
  if (labels.kind() == LabelKind::targets) {
    tensors.push_back(tensor<double>(kTargets, {rows}, labels.targets()));
  } else {
    tensors.push_back(tensor<std::int64_t>(kLabels, {rows}, labels.numbers()));
  }
  if (labels.kind() == LabelKind::names) {
    tensors.push_back(tensor<std::uint8_t>(kNames, {names.bytes.size()}, names.bytes));
    tensors.push_back(tensor<std::uint64_t>(kNameEnds, {names.ends.size()}, names.ends));
  }
  if (!data.weights().empty()) {
    tensors.push_back(tensor<double>("weights", {rows}, data.weights()));
  }
  write_tensor_file(path, std::move(tensors), std::move(more),
                    {.stop = options.stop, .only_owner_writes = options.only_owner_writes});
}

}  // namespace hinge
