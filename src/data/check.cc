#include "hinge/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/stopwatch.h"
#include "data/columns.h"
#include "data/memory.h"
#include "files/checksum.h"

namespace hinge {
namespace {

struct ColumnRange {
  std::uint64_t count = 0;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  double scale() const { return std::max(std::abs(low), std::abs(high)); }
};

std::vector<ColumnRange> column_ranges(const Dataset& data, const Pool& pool) {
  std::vector<ColumnRange> ranges(data.features());
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      if (i % 1024 == 0) pool.poll();
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        ColumnRange& range = ranges[m.columns_of(i)[k]];
        const auto value = static_cast<double>(m.values_of(i)[k]);
        ++range.count;
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
    }
  });
  return ranges;
}

// `columns` are the numbers of data's columns in the file; empty: as they are.
void check_columns(const Dataset& data, std::span<const std::uint32_t> columns, const Pool& pool,
                   std::vector<Error>& findings) {
  const auto name = [&](std::size_t j) {
    return (columns.empty() ? j : columns[j]) + static_cast<std::size_t>(data.index_base());
  };
  const std::vector<ColumnRange> ranges = column_ranges(data, pool);
  std::size_t constant = 0, first_constant = 0, smallest = 0, largest = 0;
  bool any = false;
  for (std::size_t j = 0; j < ranges.size(); ++j) {
    const ColumnRange& range = ranges[j];
    if (range.count == 0) continue;
    if (range.count == data.rows() && range.low == range.high && constant++ == 0) {
      first_constant = j;
    }
    if (!any || range.scale() < ranges[smallest].scale()) smallest = j;
    if (!any || range.scale() > ranges[largest].scale()) largest = j;
    any = true;
  }
  if (constant > 0 && data.rows() > 1) {
    findings.push_back(make_warning(
        "check.constant", fmt::format("{} columns hold the same value in every row (first: {})",
                                      constant, name(first_constant))));
  }
  constexpr double kWild = 1e4;
  if (any && ranges[largest].scale() > kWild * ranges[smallest].scale()) {
    findings.push_back(make_warning(
        "check.scale",
        fmt::format("column {} reaches {:.3g}, column {} only {:.3g}", name(largest),
                    ranges[largest].scale(), name(smallest), ranges[smallest].scale())));
  }
}

struct RowKey {
  std::uint64_t sum;
  std::int64_t label;  // its bytes
  std::uint64_t row;
  auto operator<=>(const RowKey&) const = default;
};

// Rows that equal an earlier one, by a 64-bit checksum.
void check_duplicates(const Dataset& data, const Pool& pool, std::vector<Error>& findings) {
  std::vector<RowKey> keys(data.rows());
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      if (i % 1024 == 0) pool.poll();
      std::uint64_t sum = checksum(std::as_bytes(std::span(m.columns_of(i), m.size_of(i))));
      sum = checksum(std::as_bytes(std::span(m.values_of(i), m.size_of(i))), sum);
      std::int64_t label = 0;
      std::memcpy(&label, data.row_labels().bytes().data() + i * sizeof label, sizeof label);
      keys[i] = {sum, label, i};
    }
  });
  std::uint64_t asked = 0;
  std::ranges::sort(keys, [&](const RowKey& a, const RowKey& b) {
    if (++asked % (1 << 20) == 0) pool.poll();
    return a < b;
  });
  std::uint64_t duplicates = 0, contradictions = 0;
  std::uint64_t first_duplicate = UINT64_MAX, first_contradiction = UINT64_MAX;
  for (std::size_t k = 1; k < keys.size(); ++k) {
    if (keys[k].sum != keys[k - 1].sum) continue;
    const bool same = keys[k].label == keys[k - 1].label;
    ++(same ? duplicates : contradictions);
    std::uint64_t& first = same ? first_duplicate : first_contradiction;
    first = std::min(first, std::max(keys[k].row, keys[k - 1].row));
  }
  if (duplicates > 0) {
    findings.push_back(make_warning(
        "check.duplicates", fmt::format("{} rows repeat another, label and all (first: row {})",
                                        duplicates, first_duplicate + 1)));
  }
  if (contradictions > 0) {
    findings.push_back(
        make_warning("check.contradictions",
                     fmt::format("{} times the same row comes with another label (first: row {})",
                                 contradictions, first_contradiction + 1)));
  }
}

void check_classes(const Dataset& data, std::vector<Error>& findings) {
  const std::vector<LabelCount>& classes = data.classes();
  if (classes.empty()) return;
  if (classes.size() == 1) {
    findings.push_back(
        make_warning("check.one-class",
                     fmt::format("all {} rows have label {}; training needs two classes",
                                 data.rows(), escape(data.class_names().text(classes[0].label)))));
    return;
  }
  constexpr double kRare = 0.01;
  const auto rarest = std::ranges::min_element(classes, {}, &LabelCount::rows);
  const double share = static_cast<double>(rarest->rows) / static_cast<double>(data.rows());
  if (share < kRare / static_cast<double>(classes.size()) * 2) {
    findings.push_back(make_warning(
        "check.imbalance",
        fmt::format("class {} has {} of {} rows", escape(data.class_names().text(rarest->label)),
                    rarest->rows, data.rows())));
  }
}

void estimate(const Dataset& data, CheckReport& report) {
  const std::uint64_t planes = data.classes().size() <= 2 ? 1 : data.classes().size();
  const TrainingMemory memory = training_memory(data, planes);
  report.data_bytes = static_cast<std::uint64_t>(memory.rows);
  report.train_bytes = static_cast<std::uint64_t>(memory.all());
  // Seconds a nonzero and hyperplane: 23e-9 on sparse text (ccat), 42e-9 on dense digits, 330e-9 on
  // many rows of few columns (covtype).
  const double nonzeros = static_cast<double>(data.nonzeros()) * static_cast<double>(planes);
  report.train_seconds_from = 20e-9 * nonzeros;
  report.train_seconds_to = 400e-9 * nonzeros;
}

}  // namespace

std::optional<Error> check_scale(const Dataset& data) {
  constexpr std::uint64_t kScaleRows = 4096, kScaleEntries = 1 << 20;  // that are looked at
  // Words that few rows have differ so by design, where rare ones weigh more.
  constexpr double kScaleRatio = 100, kScaleShare = 0.5;
  struct Column {
    double rows = 0, largest = 0;
  };
  std::unordered_map<std::uint32_t, Column> columns;
  double rows = 0;
  data.visit([&](const auto& m) {
    const std::uint64_t step = std::max<std::uint64_t>(1, m.rows / kScaleRows);
    std::uint64_t entries = 0;
    for (std::uint64_t i = 0; i < m.rows && entries < kScaleEntries; i += step, rows += 1) {
      for (std::size_t k = 0; k < m.size_of(i); ++k, ++entries) {
        const auto value = std::abs(static_cast<double>(m.values_of(i)[k]));
        if (value == 0) continue;
        Column& column = columns[m.columns_of(i)[k]];
        column.rows += 1;
        column.largest = std::max(column.largest, value);
      }
    }
  });
  std::optional<std::uint32_t> smallest, largest;
  for (const auto& entry : columns) {
    const std::uint32_t j = entry.first;
    const Column& column = entry.second;
    if (column.rows < kScaleShare * rows) continue;
    // The first of equal ones is taken, whatever order the map has them in.
    const auto takes = [&](const std::optional<std::uint32_t>& now, double sign) {
      if (!now) return true;
      const double off = sign * (column.largest - columns.at(*now).largest);
      return off > 0 || (off == 0 && j < *now);
    };
    if (takes(smallest, -1)) smallest = j;
    if (takes(largest, 1)) largest = j;
  }
  if (!smallest) return std::nullopt;
  const double low = columns.at(*smallest).largest, high = columns.at(*largest).largest;
  if (!(high > kScaleRatio * low)) return std::nullopt;
  const auto name = [&](std::uint32_t j) {
    return j + static_cast<std::uint64_t>(data.index_base());
  };
  return make_warning("data.scale", fmt::format("column {} reaches {:.3g}, column {} only {:.3g}",
                                                name(*largest), high, name(*smallest), low));
}

Result<CheckReport> check_dataset(const DataSource& source, const ReadOptions& options,
                                  const std::function<void(const Error&)>& on_bad_row) {
  return guard([&] {
    CheckReport report;
    ReadOptions read = options;
    read.on_bad_row = [&](const Error& error) {
      ++report.bad_rows;
      if (on_bad_row) on_bad_row(error);
    };
    const Stopwatch clock;
    const Dataset data = take(read_dataset(source, read, report.findings));
    report.load_seconds = clock.seconds();
    report.rows = data.rows();
    report.features = data.features();
    report.nonzeros = data.nonzeros();
    report.classes = data.classes();
    report.class_names = data.class_names();
    const StopToken stop(options.stop);
    Pool pool(options.threads, &stop);
    if (are_sparse(data.nonzeros(), data.features(), 1)) {
      const std::vector<std::uint32_t> columns = occurring_columns(data, pool);
      check_columns(keep_columns(data, columns, pool), columns, pool, report.findings);
    } else {
      check_columns(data, {}, pool, report.findings);
    }
    if (std::ranges::find(report.findings, "check.scale", &Error::id) == report.findings.end()) {
      if (std::optional<Error> found = check_scale(data)) report.findings.push_back(*found);
    }
    estimate(data, report);
    check_classes(data, report.findings);
    check_duplicates(data, pool, report.findings);
    return report;
  });
}

}  // namespace hinge
