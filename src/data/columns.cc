#include "data/columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <variant>

#include "base/error.h"
#include "data/dataset_builder.h"

namespace hinge {

// Pieces are sorted, then joined two by two.
std::vector<std::uint32_t> occurring_columns(const Dataset& data, Pool& pool) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  const std::uint64_t nonzeros = data.nonzeros();
  std::vector<std::vector<std::uint32_t>> pieces((nonzeros + kPiece - 1) / kPiece);
  data.visit([&](const auto& m) {
    if (m.full) {  // all of them
      pieces.resize(1);
      pieces[0].assign(m.columns, m.columns + m.features);
      return;
    }
    pool.run(pieces.size(), [&](std::size_t k) {
      std::vector<std::uint32_t>& piece = pieces[k];
      piece.assign(m.columns + k * kPiece, m.columns + std::min(nonzeros, (k + 1) * kPiece));
      std::ranges::sort(piece);
      piece.erase(std::unique(piece.begin(), piece.end()), piece.end());
    });
  });
  while (pieces.size() > 1) {
    std::vector<std::vector<std::uint32_t>> joined((pieces.size() + 1) / 2);
    pool.run(joined.size(), [&](std::size_t k) {
      if (2 * k + 1 < pieces.size()) {
        std::ranges::set_union(pieces[2 * k], pieces[2 * k + 1], std::back_inserter(joined[k]));
        pieces[2 * k] = pieces[2 * k + 1] = {};  // memory
      } else {
        joined[k] = std::move(pieces[2 * k]);
      }
    });
    pieces = std::move(joined);
  }
  if (pieces.empty()) return {};
  pieces[0].shrink_to_fit();
  return std::move(pieces[0]);
}

std::optional<std::uint64_t> count_columns(const Dataset& data, std::uint64_t most) {
  return data.visit([&](const auto& m) -> std::optional<std::uint64_t> {
    if (m.full && m.rows > 0 && m.features > most) return {};
    std::unordered_set<std::uint32_t> seen;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      for (std::size_t k = 0; k < m.size_of(i); ++k) seen.insert(m.columns_of(i)[k]);
      if (seen.size() > most) return {};
    }
    return seen.size();
  });
}

Dataset keep_columns(const Dataset& data, std::span<const std::uint32_t> columns, Pool& pool) {
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    DatasetArrays<Value> arrays;
    arrays.names = data.class_names();
    arrays.offsets.resize(m.rows + 1);
    arrays.columns.resize(m.nonzeros());
    arrays.values.resize(m.nonzeros());
    arrays.append_labels(data.row_labels(), 0, data.rows());
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      if (i % 1024 == 0) pool.poll();
      arrays.offsets[i] = kept;
      auto from = columns.begin();  // both ascend
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        const std::uint32_t column = m.columns_of(i)[k];
        from = std::lower_bound(from, columns.end(), column);
        if (from == columns.end()) break;
        if (*from != column) continue;
        arrays.columns[kept] = static_cast<std::uint32_t>(from - columns.begin());
        arrays.values[kept++] = m.values_of(i)[k];
      }
    }
    arrays.offsets[m.rows] = kept;
    arrays.columns.resize(kept);
    arrays.values.resize(kept);
    Dataset out = DatasetBuilder::build(std::move(arrays), columns.size(), data.index_base());
    if (data.weights().empty()) return out;
    return take(out.with_weights({data.weights().begin(), data.weights().end()}));
  });
}

Dataset keep_rows(const Dataset& data, std::span<const std::uint64_t> rows, const StopToken& stop) {
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    DatasetArrays<Value> arrays;
    arrays.names = data.class_names();
    arrays.append_labels(data.row_labels(), 0, 0);  // of no rows they are of the same kind
    std::vector<double> weights;
    std::uint64_t end = 0;
    arrays.offsets.append(&end, 1);
    if (m.full) arrays.columns.append(m.columns, m.features);
    for (const std::uint64_t i : rows) {
      if (i % 256 == 0) stop.poll();
      if (!m.full) arrays.columns.append(m.columns_of(i), m.size_of(i));
      arrays.values.append(m.values_of(i), m.size_of(i));
      arrays.append_labels(data.row_labels(), i, 1);
      end += m.size_of(i);
      arrays.offsets.append(&end, 1);
      if (!data.weights().empty()) weights.push_back(data.weights()[i]);
    }
    Dataset part = DatasetBuilder::build(std::move(arrays), m.features, data.index_base(), m.full);
    return data.weights().empty() ? part : take(part.with_weights(std::move(weights)));
  });
}

bool are_sparse(std::uint64_t occurring, std::uint64_t columns, std::uint64_t vectors) {
  constexpr std::uint64_t kNoMatter = std::uint64_t{1} << 22;  // 32 MB: not worth the trouble
  return columns > kNoMatter / std::max<std::uint64_t>(vectors, 1) && columns / 4 > occurring;
}

namespace {

constexpr std::uint64_t kSampleRows = 512;  // that are looked at
constexpr double kLostShare = 1e-3;         // of the standard deviation
constexpr double kFloatRounding = 0x1p-24;  // of a value, at most

// A column met in all rows so far: values less the first, and their squares.
struct SeenColumn {
  std::uint32_t column = 0;
  double first = 0, largest = 0, sum = 0, squares = 0;
};

}  // namespace

std::optional<Error> look_for_lost_digits(const Dataset& data) {
  const auto* const m = std::get_if<CsrView<float>>(&data.view());
  if (m == nullptr || m->rows < 2) return std::nullopt;
  std::vector<SeenColumn> seen;
  const std::uint64_t step = std::max<std::uint64_t>(1, m->rows / kSampleRows);
  double rows = 0;
  for (std::uint64_t i = 0; i < m->rows; i += step, rows += 1) {
    const std::uint32_t* const columns = m->columns_of(i);
    const float* const values = m->values_of(i);
    const std::size_t size = m->size_of(i);
    if (rows == 0) {
      for (std::size_t k = 0; k < size; ++k) seen.push_back({columns[k], values[k]});
    }
    std::size_t k = 0, kept = 0;
    for (SeenColumn& one : seen) {  // only those that this row has, too
      while (k < size && columns[k] < one.column) ++k;
      if (k == size || columns[k] != one.column) continue;
      const double value = values[k], off = value - one.first;
      one.largest = std::max(one.largest, std::abs(value));
      one.sum += off;
      one.squares += off * off;
      seen[kept++] = one;
    }
    seen.resize(kept);
    if (seen.empty()) return std::nullopt;
  }
  for (const SeenColumn& one : seen) {
    const double mean = one.sum / rows;
    const double deviation = std::sqrt(std::max(0.0, one.squares / rows - mean * mean));
    // A column that is constant has lost nothing, unless floats so large are all the same.
    const bool lost = deviation > 0 ? kFloatRounding * one.largest > kLostShare * deviation
                                    : one.largest > 1 / kFloatRounding;
    if (!lost) continue;
    return make_warning(
        "data.value.f32",
        fmt::format("feature {} has values up to {:.6g} that differ by {:.2g} only (standard "
                    "deviation), and float32 rounds them: --precision f64 keeps them",
                    one.column + static_cast<std::uint64_t>(data.index_base()), one.largest,
                    deviation));
  }
  return std::nullopt;
}

}  // namespace hinge
