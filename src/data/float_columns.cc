#include "data/float_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "base/error.h"

namespace hinge {
namespace {

constexpr std::uint64_t kRows = 512;   // that are looked at
constexpr double kShare = 1e-3;        // of the standard deviation
constexpr double kRounding = 0x1p-24;  // of a value, at most

// A column met in all rows so far: values less the first, and their squares.
struct Seen {
  std::uint32_t column = 0;
  double first = 0, largest = 0, sum = 0, squares = 0;
};

}  // namespace

std::optional<Error> look_for_lost_digits(const Dataset& data) {
  const auto* const m = std::get_if<CsrView<float>>(&data.view());
  if (m == nullptr || m->rows < 2) return std::nullopt;
  std::vector<Seen> seen;
  const std::uint64_t step = std::max<std::uint64_t>(1, m->rows / kRows);
  double rows = 0;
  for (std::uint64_t i = 0; i < m->rows; i += step, rows += 1) {
    const std::uint32_t* const columns = m->columns_of(i);
    const float* const values = m->values_of(i);
    const std::size_t size = m->size_of(i);
    if (rows == 0) {
      for (std::size_t k = 0; k < size; ++k) seen.push_back({columns[k], values[k]});
    }
    std::size_t k = 0, kept = 0;
    for (Seen& one : seen) {  // only those that this row has, too
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
  for (const Seen& one : seen) {
    const double mean = one.sum / rows;
    const double deviation = std::sqrt(std::max(0.0, one.squares / rows - mean * mean));
    // A column that is constant has lost nothing, unless floats so large are all the same.
    const bool lost =
        deviation > 0 ? kRounding * one.largest > kShare * deviation : one.largest > 1 / kRounding;
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
