#include "data/survey.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <type_traits>

#include "base/archive.h"
#include "base/pool.h"
#include "data/dataset_builder.h"
#include "files/checksum.h"
#include "ranks/comm.h"

namespace hinge {

namespace {

// Blocks large enough that handing one out costs nothing, small enough to share out evenly. What is
// a block is part of the fingerprint.
constexpr std::uint64_t kBlockNonzeros = std::uint64_t{1} << 17;
constexpr std::uint64_t kBlockRows = std::uint64_t{1} << 14;

// Where the block ends that begins at `row`.
template <class Value>
std::uint64_t block_end(const CsrView<Value>& m, std::uint64_t row) {
  const std::uint64_t last = std::min(m.rows, row + kBlockRows);
  const std::uint64_t* full =
      std::upper_bound(m.offsets + row + 1, m.offsets + last + 1, m.offsets[row] + kBlockNonzeros);
  return std::max(row + 1, static_cast<std::uint64_t>(full - m.offsets) - 1);
}

}  // namespace

std::vector<std::uint64_t> cut_rows(const Dataset& data) {
  return cut_rows(data.view());
}

std::vector<std::uint64_t> cut_rows(const Dataset::View& view) {
  const auto cut = [](const auto& m) {
    std::vector<std::uint64_t> cuts = {0};
    while (cuts.back() < m.rows) cuts.push_back(block_end(m, cuts.back()));
    return cuts;
  };
  return std::visit(cut, view);
}

double mean_square(const Dataset& data) {
  constexpr std::uint64_t kSample = 4096;
  return data.visit([&](const auto& m) {
    const std::uint64_t step = std::max<std::uint64_t>(1, m.rows / kSample);
    double sum = 0, rows = 0;
    for (std::uint64_t i = 0; i < m.rows; i += step, rows += 1) {
      for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
        sum += static_cast<double>(m.values[k]) * static_cast<double>(m.values[k]);
      }
    }
    return sum / std::max(1.0, rows);
  });
}

namespace {

// This is the same of targets above and below their mean.
bool targets_lie_mixed(std::span<const double> targets) {
  constexpr double kSlack = 0.05;
  double mean = 0, above = 0, equal = 0;
  for (const double target : targets) mean += target / static_cast<double>(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    above += targets[i] > mean ? 1 : 0;
    equal += i > 0 && (targets[i] > mean) == (targets[i - 1] > mean) ? 1 : 0;
  }
  const auto rows = static_cast<double>(targets.size());
  const double share = above / rows, expected = share * share + (1 - share) * (1 - share);
  return equal <= (rows - 1) * (expected + kSlack * (1 - expected));
}

}  // namespace

bool labels_lie_mixed(const Dataset& data) {
  if (data.label_kind() == LabelKind::targets)
    return targets_lie_mixed(data.row_labels().targets());
  constexpr std::uint64_t kPairs = 1 << 16;
  constexpr double kSlack = 0.05;
  double expected = 0;
  for (const LabelCount& c : data.classes()) {
    expected += std::pow(static_cast<double>(c.rows) / static_cast<double>(data.rows()), 2);
  }
  const std::uint64_t step = std::max<std::uint64_t>(1, data.rows() / kPairs);
  double pairs = 0, equal = 0;
  for (std::uint64_t i = 0; i + 1 < data.rows(); i += step) {
    pairs += 1;
    equal += data.labels()[i] == data.labels()[i + 1] ? 1 : 0;
  }
  return equal <= pairs * (expected + kSlack * (1 - expected));
}

namespace {

// |x| as the bits of x, which are in the same order: integers are compared several at a time.
template <class Value>
struct Range {
  using Bits = std::conditional_t<sizeof(Value) == 4, std::int32_t, std::int64_t>;
  static constexpr Bits kMost = std::numeric_limits<Bits>::max();
  Bits low = kMost, high = 0;

  static Range of(std::span<const Value> values) {
    Bits low = kMost, high = 0;
    for (const Value value : values) {
      const Bits size = std::bit_cast<Bits>(value) & kMost;
      low = std::min(low, size == 0 ? kMost : size);
      high = std::max(high, size);
    }
    return {low, high};
  }
  void take(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

// Whether all values but zeros lie in a span that nobody needs to hear of; they are then finite,
// and so are sums of squares. In lanes that compilers make vectors of, which they do not of a
// range: it takes a third of the time of one.
template <class Value>
bool is_tame(std::span<const Value> values) {
  constexpr Value kLeast = 1e-10F, kMost = 1e5F;
  constexpr std::size_t kLanes = 8;
  Value outside[kLanes] = {};  // sums
  const auto odd = [](Value value) {
    const Value size = std::abs(value), small = size < kLeast ? size : Value{0};
    return size <= kMost ? small : size;  // which NaN is not
  };
  std::size_t k = 0;
  for (; k + kLanes <= values.size(); k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) outside[lane] += odd(values[k + lane]);
  }
  for (; k < values.size(); ++k) outside[0] += odd(values[k]);
  return std::ranges::all_of(outside, [](Value sum) { return sum == 0; });
}

// The columns of the rows of any run between cuts, if rows are full: the first of these. As many as
// the longest run has, lest a fingerprint depend on how columns are kept.
template <class Value>
std::vector<std::uint32_t> repeated_columns(const CsrView<Value>& m,
                                            std::span<const std::uint64_t> cuts) {
  std::uint64_t most = 0;
  for (std::size_t b = 1; m.full && b < cuts.size(); ++b) {
    most = std::max(most, cuts[b] - cuts[b - 1]);
  }
  std::vector<std::uint32_t> all;
  all.reserve(most * m.features);
  for (std::uint64_t i = 0; i < most; ++i) all.insert(all.end(), m.columns, m.columns + m.features);
  return all;
}

}  // namespace

GlobalShape global_shape(const Dataset& data) {
  return {.rows = data.rows(),
          .nonzeros = data.nonzeros(),
          .features = data.features(),
          .classes = data.classes(),
          .weighted = !data.weights().empty()};
}

GlobalShape global_shape(const Dataset& data, Comm& comm) {
  struct {
    std::uint64_t rows = 0, nonzeros = 0, features = 0;
    bool weighted = false;
    std::vector<std::int64_t> labels;
    std::vector<std::uint64_t> counts;
    void archive(Archive& archive) { archive(rows, nonzeros, features, weighted, labels, counts); }
  } part{data.rows(), data.nonzeros(), data.features(), !data.weights().empty(), {}, {}};
  for (const LabelCount& c : data.classes()) {
    part.labels.push_back(c.label);
    part.counts.push_back(c.rows);
  }
  GlobalShape shape;
  std::map<std::int64_t, std::uint64_t> classes;
  int rank = 0;
  for (const std::vector<std::byte>& bytes : comm.gather_all(state_of(part))) {
    restore(part, bytes);
    if (rank++ < comm.rank()) {
      shape.first_row += part.rows;
      shape.first_nonzero += part.nonzeros;
    }
    shape.rows += part.rows;
    shape.nonzeros += part.nonzeros;
    shape.features = std::max(shape.features, part.features);
    shape.weighted = shape.weighted || part.weighted;
    for (std::size_t k = 0; k < part.labels.size(); ++k) {
      classes[part.labels[k]] += part.counts[k];
    }
  }
  for (const auto& [label, rows] : classes) shape.classes.push_back({label, rows});
  return shape;
}

namespace {

// Of a block; offsets are those in all rows.
template <class Value>
std::uint64_t checksum_of(std::span<const std::uint64_t> offsets,
                          std::span<const std::uint32_t> columns, std::span<const Value> values,
                          std::span<const std::byte> labels, std::span<const double> weights) {
  std::uint64_t sum = checksum(std::as_bytes(offsets));
  sum = checksum(std::as_bytes(columns), sum);
  sum = checksum(std::as_bytes(values), sum);
  sum = checksum(labels, sum);
  return weights.empty() ? sum : checksum(std::as_bytes(weights), sum);
}

constexpr std::size_t kLabelBytes = 8;  // of a row, whatever the kind

std::span<const std::byte> label_bytes(const Dataset& data, std::uint64_t from, std::uint64_t to) {
  return data.row_labels().bytes().subspan(kLabelBytes * from, kLabelBytes * (to - from));
}

// Labels of different kinds may be the same bytes, so all kinds but whole numbers add a mark, and
// names are among what is summed.
std::string fingerprint_of(std::vector<std::uint64_t> sums, std::uint64_t rows,
                           std::uint64_t features, const Labels& labels) {
  sums.push_back(rows);
  sums.push_back(features);
  if (labels.kind() != LabelKind::numbers) {
    std::uint64_t names = 0;
    for (const std::string& name : labels.names().list()) {
      const std::uint64_t size = name.size();
      names = checksum(std::as_bytes(std::span(&size, 1)), names);
      names = checksum(std::as_bytes(std::span(name)), names);
    }
    sums.push_back(static_cast<std::uint64_t>(labels.kind()));
    sums.push_back(names);
  }
  return to_hex(checksum(std::as_bytes(std::span(sums))));
}

// The blocks between these cuts.
template <class Value>
void survey_blocks(const Dataset& data, const CsrView<Value>& m,
                   std::span<const std::uint64_t> cuts, std::uint64_t first_nonzero, Pool& pool,
                   std::span<std::uint64_t> sums) {
  const std::vector<std::uint32_t> repeated = repeated_columns(m, cuts);
  pool.run(sums.size(), [&](std::size_t block) {
    const std::uint64_t row = cuts[block], end = cuts[block + 1];
    const std::uint64_t from = m.offsets[row], to = m.offsets[end];
    std::vector<std::uint64_t> moved;  // offsets
    if (first_nonzero > 0) {
      for (std::uint64_t i = row; i <= end; ++i) moved.push_back(m.offsets[i] + first_nonzero);
    }
    const std::span<const std::uint64_t> own(m.offsets + row, m.offsets + end + 1);
    sums[block] = checksum_of<Value>(
        moved.empty() ? own : moved, {m.full ? repeated.data() : m.columns + from, to - from},
        {m.values + from, m.values + to}, label_bytes(data, row, end),
        data.weights().empty() ? data.weights() : data.weights().subspan(row, end - row));
  });
}

// Rows of a block that goes on on the next rank.
template <class Value>
struct OpenBlock {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;
  std::vector<std::uint64_t> labels;  // their bytes
  std::vector<double> weights;

  void archive(Archive& archive) { archive(offsets, columns, values, labels, weights); }
  bool takes(std::uint64_t end) const {
    return labels.size() < kBlockRows && end - offsets[0] <= kBlockNonzeros;
  }
  void add(const Dataset& data, const CsrView<Value>& m, std::uint64_t i, std::uint64_t before) {
    if (offsets.empty()) offsets.push_back(m.offsets[i] + before);
    offsets.push_back(m.offsets[i + 1] + before);
    columns.insert(columns.end(), m.columns_of(i), m.columns_of(i) + m.size_of(i));
    values.insert(values.end(), m.values_of(i), m.values_of(i) + m.size_of(i));
    labels.emplace_back();
    std::memcpy(&labels.back(), label_bytes(data, i, i + 1).data(), kLabelBytes);
    if (!data.weights().empty()) weights.push_back(data.weights()[i]);
  }
  std::uint64_t sum() const {
    return checksum_of<Value>(offsets, columns, values, std::as_bytes(std::span(labels)), weights);
  }
};

}  // namespace

Survey survey(const Dataset& data, const GlobalShape& shape, Pool& pool, Comm& comm) {
  Survey out;
  data.visit([&]<class Value>(const CsrView<Value>& m) {
    // Where blocks end depends on all rows before: ranks find out one after the other, handing on
    // the rows of a block that is not full.
    const bool last = comm.rank() + 1 == comm.size();
    std::vector<std::uint64_t> sums, cuts;
    comm.relay([&](std::span<const std::byte> bytes) -> std::vector<std::byte> {
      OpenBlock<Value> open;
      if (!bytes.empty()) restore(open, bytes);
      std::uint64_t row = 0;
      if (!open.labels.empty()) {
        while (row < m.rows && open.takes(m.offsets[row + 1] + shape.first_nonzero)) {
          open.add(data, m, row++, shape.first_nonzero);
        }
        if (row == m.rows && open.labels.size() < kBlockRows && !last) return state_of(open);
        sums.push_back(open.sum());
        open = {};
      }
      cuts.push_back(row);
      while (row < m.rows) {
        const std::uint64_t end = block_end(m, row);
        if (end == m.rows && end - row < kBlockRows && !last &&
            m.offsets[end] - m.offsets[row] <= kBlockNonzeros) {
          for (; row < end; ++row) open.add(data, m, row, shape.first_nonzero);
          return state_of(open);
        }
        cuts.push_back(row = end);
      }
      return {};
    });
    const std::size_t blocks = cuts.empty() ? 0 : cuts.size() - 1, before = sums.size();
    sums.resize(before + blocks);
    survey_blocks(data, m, cuts, shape.first_nonzero, pool, std::span(sums).subspan(before));
    std::vector<std::uint64_t> all;
    comm.gather(std::as_bytes(std::span(sums)), [&](int, std::span<const std::byte> bytes) {
      const std::size_t had = all.size();
      all.resize(had + bytes.size() / sizeof(std::uint64_t));
      if (!bytes.empty()) std::memcpy(all.data() + had, bytes.data(), bytes.size());
    });
    const std::string own =
        fingerprint_of(std::move(all), shape.rows, shape.features, data.row_labels());
    std::vector<std::byte> text(own.size());
    std::memcpy(text.data(), own.data(), own.size());
    comm.broadcast(text);
    out.fingerprint.assign(reinterpret_cast<const char*>(text.data()), text.size());
    const std::span<const Value> values(m.values, m.nonzeros());
    if (comm.max(is_tame(values) ? 0.0 : 1.0) == 0) return;
    const auto range = Range<Value>::of(values);
    const auto high = static_cast<double>(std::bit_cast<Value>(range.high));
    const auto low = static_cast<double>(std::bit_cast<Value>(range.low));
    out.largest = comm.max(high);
    out.smallest = -comm.max(range.high > 0 ? -low : -std::numeric_limits<double>::max());
    if (out.largest == 0) out.smallest = 0;
  });
  return out;
}

Survey survey(const Dataset& data, Pool& pool, const LookAtRows& first) {
  if (const Survey* const known = DatasetBuilder::known(data)) return *known;
  const std::vector<std::uint64_t> cuts = cut_rows(data);
  std::vector<std::uint64_t> sums(cuts.size() - 1);
  Survey out;
  data.visit([&]<class Value>(const CsrView<Value>& m) {
    std::vector<std::uint8_t> tame(cuts.size() - 1);
    const std::vector<std::uint32_t> repeated = repeated_columns(m, cuts);
    pool.run(cuts.size() - 1, [&](std::size_t block) {
      const std::uint64_t row = cuts[block], end = cuts[block + 1];
      const std::uint64_t from = m.offsets[row], to = m.offsets[end];
      const std::span<const Value> values(m.values + from, m.values + to);
      const bool is_so = is_tame(values);
      tame[block] = is_so ? 1 : 0;
      if (first) first(row, end, is_so);
      sums[block] = checksum_of<Value>(
          {m.offsets + row, m.offsets + end + 1},
          {m.full ? repeated.data() : m.columns + from, to - from}, values,
          label_bytes(data, row, end),
          data.weights().empty() ? data.weights() : data.weights().subspan(row, end - row));
    });
    if (std::ranges::count(tame, 0) == 0) return;
    std::vector<Range<Value>> ranges(tame.size());
    pool.run(ranges.size(), [&](std::size_t block) {
      const std::uint64_t from = m.offsets[cuts[block]], to = m.offsets[cuts[block + 1]];
      ranges[block] = Range<Value>::of({m.values + from, m.values + to});
    });
    Range<Value> all;
    for (const Range<Value>& range : ranges) all.take(range);
    out.largest = static_cast<double>(std::bit_cast<Value>(all.high));
    if (all.high > 0) out.smallest = static_cast<double>(std::bit_cast<Value>(all.low));
  });
  out.fingerprint =
      fingerprint_of(std::move(sums), data.rows(), data.features(), data.row_labels());
  return out;
}

}  // namespace hinge
