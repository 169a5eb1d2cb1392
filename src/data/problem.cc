#include "data/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/checksum.h"
#include "base/parallel.h"
#include "data/columns.h"

namespace hinge {

std::vector<double> row_costs(const Dataset& data, std::span<const ClassWeight> class_weights) {
  std::vector<double> costs(data.weights().begin(), data.weights().end());
  if (class_weights.empty()) return costs;
  std::vector<ClassWeight> sorted(class_weights.begin(), class_weights.end());
  std::ranges::sort(sorted, {}, &ClassWeight::label);
  if (costs.empty()) costs.assign(data.rows(), 1.0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto found = std::ranges::lower_bound(sorted, data.labels()[i], {}, &ClassWeight::label);
    if (found != sorted.end() && found->label == data.labels()[i]) costs[i] *= found->factor;
  }
  return costs;
}

std::vector<std::int8_t> signs(const Dataset& data, std::int64_t positive) {
  std::vector<std::int8_t> y(data.rows());
  std::ranges::transform(data.labels(), y.begin(), [positive](std::int64_t label) {
    return static_cast<std::int8_t>(label == positive ? 1 : -1);
  });
  return y;
}

std::vector<std::uint64_t> cut_rows(const Dataset& data) {
  return cut_rows(data.view());
}

std::vector<std::uint64_t> cut_rows(const Dataset::View& view) {
  // Large enough that handing out a block costs nothing, small enough to share out evenly.
  constexpr std::uint64_t kNonzeros = std::uint64_t{1} << 17;
  constexpr std::uint64_t kRows = std::uint64_t{1} << 14;
  const auto cut = [](const auto& m) {
    std::vector<std::uint64_t> cuts = {0};
    for (std::uint64_t row = 0; row < m.rows;) {
      const std::uint64_t last = std::min(m.rows, row + kRows);
      const std::uint64_t* full =
          std::upper_bound(m.offsets + row + 1, m.offsets + last + 1, m.offsets[row] + kNonzeros);
      row = std::max(row + 1, static_cast<std::uint64_t>(full - m.offsets) - 1);
      cuts.push_back(row);
    }
    return cuts;
  };
  return std::visit(cut, view);
}

bool labels_lie_mixed(const Dataset& data) {
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

TrainingMemory training_memory(const Dataset& data, std::uint64_t planes, const SweepShape& sweep) {
  const auto rows = static_cast<double>(data.rows()),
             nonzeros = static_cast<double>(data.nonzeros());
  const bool sparse = are_sparse(data.nonzeros(), data.features(), planes);
  const double columns = sparse ? nonzeros : static_cast<double>(data.features());  // at most
  TrainingMemory memory;
  const bool full = data.visit([](const auto& m) { return m.full; });
  memory.rows =
      16 * rows + ((data.precision() == Precision::f32 ? 4 : 8) + (full ? 0 : 4)) * nonzeros;
  memory.work = 16 * rows + (sparse ? memory.rows + 4 * nonzeros : 0.0);
  memory.weights = 8 * columns * (static_cast<double>(planes) + 2);
  if (sweep.planes > 0) {
    // For each row and hyperplane: signs, counts (now, and at two marks), score, dual variable; for
    // each row: visits, bends of a line search, lengths. For each row of a step: scores and
    // factors.
    const auto together = static_cast<double>(sweep.planes);
    const double start = sweep.start ? 8 * together : 0;
    memory.work += rows * (24 + 34 * together + start) +
                   static_cast<double>(sweep.batch) * (24 + 24 * together);
    if (sweep.kernel) {
      // Coefficients for rows, and rows in the model; blocks of rows made dense, here and in the
      // proof, where each thread has one. Kernel values that are kept take what is left.
      memory.work += rows * 64 * together + 2 * memory.rows;
      memory.weights += columns * (128 + 96 * static_cast<double>(sweep.threads));
    } else {
      memory.weights += columns * (64 * together + start);
    }
  }
  return memory;
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

Survey survey(const Dataset& data, Pool& pool) {
  const std::vector<std::uint64_t> cuts = cut_rows(data);
  std::vector<std::uint64_t> sums(cuts.size() + 1);
  Survey out;
  data.visit([&]<class Value>(const CsrView<Value>& m) {
    std::vector<Range<Value>> ranges(cuts.size() - 1);
    const std::vector<std::uint32_t> repeated = repeated_columns(m, cuts);
    pool.run(cuts.size() - 1, [&](std::size_t block) {
      const std::uint64_t row = cuts[block], end = cuts[block + 1];
      const std::uint64_t from = m.offsets[row], to = m.offsets[end];
      const std::span<const Value> values(m.values + from, m.values + to);
      std::uint64_t sum = checksum(std::as_bytes(std::span(m.offsets + row, m.offsets + end + 1)));
      const std::uint32_t* const columns = m.full ? repeated.data() : m.columns + from;
      sum = checksum(std::as_bytes(std::span(columns, to - from)), sum);
      sum = checksum(std::as_bytes(values), sum);
      sum = checksum(std::as_bytes(data.labels().subspan(row, end - row)), sum);
      if (!data.weights().empty()) {
        sum = checksum(std::as_bytes(data.weights().subspan(row, end - row)), sum);
      }
      sums[block] = sum;
      ranges[block] = Range<Value>::of(values);  // which are in the cache now
    });
    Range<Value> all;
    for (const Range<Value>& range : ranges) all.take(range);
    out.largest = static_cast<double>(std::bit_cast<Value>(all.high));
    if (all.high > 0) out.smallest = static_cast<double>(std::bit_cast<Value>(all.low));
  });
  sums[cuts.size() - 1] = data.rows();
  sums[cuts.size()] = data.features();
  out.fingerprint = to_hex(checksum(std::as_bytes(std::span(sums))));
  return out;
}

}  // namespace hinge
