#include "hinge/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/pool.h"
#include "data/data_file.h"
#include "data/dataset_builder.h"
#include "data/survey.h"
#include "files/source.h"
#include "files/tensor_file.h"

namespace hinge {
namespace {

[[noreturn]] void bad_matrix(const std::string& message) {
  fail("data.matrix", message);
}

void check_weights(std::span<const double> weights, std::uint64_t rows) {
  if (weights.size() != rows) {
    fail("data.weights.count", fmt::format("{} weights for {} rows", weights.size(), rows));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      fail("data.weight",
           fmt::format("weight of row {} is {}; expected a finite number >= 0", i, weights[i]));
    }
  }
}

void check_labels(const Labels& labels) {
  for (std::size_t i = 0; i < labels.targets().size(); ++i) {
    const double target = labels.targets()[i];
    if (!std::isfinite(target)) {
      fail("data.label.nonfinite", fmt::format("the target of row {} is {}", i, target));
    }
  }
  if (labels.kind() != LabelKind::names) return;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t place = labels.numbers()[i];
    if (place < 0 || static_cast<std::uint64_t>(place) >= labels.names().size()) {
      bad_matrix(fmt::format("row {} has class {} of {} names", i, place, labels.names().size()));
    }
  }
}

template <class Value>
bool is_full(const CsrView<Value>& m) {
  if (m.full || m.rows == 0 || m.features == 0) return m.full;
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    if (m.size_of(i) != m.features) return false;
  }
  return true;
}

std::vector<LabelCount> count_classes(std::span<const std::int64_t> labels) {
  std::unordered_map<std::int64_t, std::uint64_t> counts;
  // Neighbouring rows often share a label, and there are often few: count runs, not rows, and look
  // up only what was not seen lately.
  struct {
    std::int64_t label;
    std::uint64_t* rows;
  } seen[8] = {};  // by the last bits of the label
  for (std::size_t i = 0; i < labels.size();) {
    const std::int64_t label = labels[i];
    std::size_t end = i + 1;
    while (end < labels.size() && labels[end] == label) ++end;
    auto& last = seen[static_cast<std::uint64_t>(label) % std::size(seen)];
    if (last.rows == nullptr || last.label != label) last = {label, &counts[label]};
    *last.rows += end - i;
    i = end;
  }
  std::vector<LabelCount> classes;
  classes.reserve(counts.size());
  for (const auto& [label, rows] : counts) classes.push_back({label, rows});
  std::ranges::sort(classes, {}, &LabelCount::label);
  return classes;
}

Dataset read_rows(const std::vector<std::string>& files, const ReadOptions& options,
                  std::vector<Error>& warnings) {
  const auto binary = std::ranges::find_if(files, is_data_file);
  if (binary != files.end()) {
    if (files.size() == 1) return map_dataset(TensorFile::map(files[0], "cache"), options);
    fail_file("data.encoding", *binary, "a binary data set cannot be one of several files",
              "convert the text of all of them into one data set");
  }
  const bool cached = options.cache != Cache::off && !options.on_bad_row;
  return cached ? read_cached(files, options, warnings) : read_text(files, options, warnings);
}

}  // namespace

void check_offsets(const Dataset::View& view) {
  std::visit(
      [](const auto& m) {
        if (m.features > std::uint64_t{0xffffffff}) bad_matrix("more than 2^32 - 1 features");
        if (m.offsets == nullptr) bad_matrix("no offsets");
        if (m.offsets[0] != 0) bad_matrix("offsets do not begin with 0");
        for (std::uint64_t i = 0; i < m.rows; ++i) {
          if (m.offsets[i + 1] < m.offsets[i]) bad_matrix(fmt::format("offset {} descends", i + 1));
          if (m.full && m.size_of(i) != m.features) {
            bad_matrix(fmt::format("row {} of full rows has {} of {} columns", i, m.size_of(i),
                                   m.features));
          }
        }
      },
      view);
}

void check_columns(const Dataset::View& view, std::uint64_t from, std::uint64_t to) {
  std::visit(
      [&](const auto& m) {
        // Of full rows there is one list, which comes with the first row.
        for (std::uint64_t i = from; i < (m.full ? std::min<std::uint64_t>(to, 1) : to); ++i) {
          const std::uint32_t* const columns = m.columns_of(i);
          const std::size_t size = m.size_of(i);
          if (size == 0) continue;
          // In numbers as wide as columns, and to the end, so that many are compared at once.
          std::uint32_t wrong = columns[size - 1] >= m.features ? 1U : 0U;
          for (std::size_t k = 1; k < size; ++k) wrong |= columns[k] <= columns[k - 1] ? 1U : 0U;
          if (wrong != 0)
            bad_matrix(fmt::format("row {}: a column is out of range or out of order", i));
        }
      },
      view);
}

void check_values(const Dataset::View& view, std::uint64_t from, std::uint64_t to) {
  std::visit(
      [&](const auto& m) {
        constexpr std::size_t kLanes = 8;  // sums that need not wait for each other
        for (std::uint64_t i = from; i < to; ++i) {
          const auto* const values = m.values_of(i);
          const std::size_t size = m.size_of(i);
          double squares[kLanes] = {};
          std::size_t k = 0;
          for (; k + kLanes <= size; k += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
              const auto value = static_cast<double>(values[k + lane]);
              squares[lane] += value * value;
            }
          }
          for (; k < size; ++k) {
            squares[0] += static_cast<double>(values[k]) * static_cast<double>(values[k]);
          }
          double sum = 0;
          for (const double lane : squares) sum += lane;
          if (!std::isfinite(sum)) {
            bad_matrix(fmt::format("row {}: a value is not finite, or its square overflows", i));
          }
        }
      },
      view);
}

Dataset DatasetBuilder::wrap(Dataset::View view, Labels labels, std::span<const double> weights,
                             int index_base, std::shared_ptr<const void> owner) {
  Dataset data;
  std::visit([](auto& m) { m.full = is_full(m); }, view);
  data.view_ = view;
  data.weights_ = weights;
  data.classes_ = count_classes(labels.numbers());
  data.labels_ = std::move(labels);
  data.index_base_ = index_base;
  data.owner_ = std::move(owner);
  return data;
}

Result<Dataset> Dataset::wrap(View view, Labels labels, std::span<const double> weights,
                              std::shared_ptr<const void> owner, const WrapOptions& options) {
  return guard([&] {
    check_offsets(view);
    const std::uint64_t rows = std::visit([](const auto& m) { return m.rows; }, view);
    if (labels.size() != rows) {
      bad_matrix(fmt::format("{} labels for {} rows", labels.size(), rows));
    }
    check_labels(labels);
    if (!weights.empty()) check_weights(weights, rows);
    Dataset data = DatasetBuilder::wrap(view, std::move(labels), weights, options.index_base,
                                        std::move(owner));
    Pool pool(options.threads);
    // Not the view of the data set, which may take rows for full whose columns nobody has seen.
    data.survey_ = std::make_shared<Survey>(
        survey(data, pool, [&view](std::uint64_t from, std::uint64_t to, bool tame) {
          check_columns(view, from, to);
          if (!tame) check_values(view, from, to);
        }));
    return data;
  });
}

std::uint64_t Dataset::rows() const {
  return visit([](const auto& m) { return m.rows; });
}
std::uint64_t Dataset::features() const {
  return visit([](const auto& m) { return m.features; });
}
std::uint64_t Dataset::nonzeros() const {
  return visit([](const auto& m) { return m.nonzeros(); });
}

Result<Dataset> Dataset::with_weights(std::vector<double> weights) const {
  return guard([&] {
    check_weights(weights, rows());
    auto owned = std::make_shared<std::vector<double>>(std::move(weights));
    Dataset data = *this;
    data.weights_ = *owned;
    data.weights_owner_ = std::move(owned);
    data.survey_ = nullptr;
    return data;
  });
}

Result<void> Dataset::check_classes() const {
  return guard([&] {
    if (label_kind() != LabelKind::targets) return;
    const std::span<const double> targets = labels_.targets();
    fail("data.label.kind",
         fmt::format("the labels are real targets{}; expected classes: whole numbers, or names",
                     targets.empty() ? "" : fmt::format(" (row 1: {})", targets[0])),
         "give every row one of a few classes, or --loss squared_epsilon or epsilon_insensitive");
  });
}

Result<Dataset> Dataset::with_class_names(const ClassNames& names) const {
  return guard([&] {
    Labels labels = take(labels_.counted_by(names));
    if (labels.names() == labels_.names()) return *this;
    Dataset data = *this;
    data.classes_ = count_classes(labels.numbers());
    data.labels_ = std::move(labels);
    data.survey_ = nullptr;
    return data;
  });
}

Result<std::vector<std::string>> source_files(const DataSource& source) {
  return guard([&] { return expand_source(source); });
}

Result<Dataset> read_dataset(const DataSource& source, const ReadOptions& options,
                             std::vector<Error>& warnings) {
  return guard([&] {
    Dataset data = read_rows(expand_source(source), options, warnings);
    if (options.weights_file.empty()) return data;
    return take(data.with_weights(read_weights(options.weights_file, data.rows(), options.stop)));
  });
}

}  // namespace hinge
