// Rows as inner loops see them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/dataset.h"

namespace hinge {

// One sparse row: columns[k], values[k] for k < size. Values are widened to double. Where the
// columns are known to be one `run`, columns[0], columns[0] + 1, ..., vectors are loaded instead of
// entries; the bits are the same.
template <class Value>
struct SparseRow {
  const std::uint32_t* columns;
  const Value* values;
  std::size_t size;
  bool run = false;
};

// Rows begin .. end - 1 of a matrix, of which nobody has looked at the columns.
template <class Value>
struct RowRun {
  const CsrView<Value>& m;
  std::uint64_t begin, end;
};

template <class Value>
__attribute__((always_inline)) inline SparseRow<Value> row_of(const CsrView<Value>& m,
                                                              std::uint64_t i) {
  return {m.columns_of(i), m.values_of(i), m.size_of(i), m.full};
}

// |x|^2, summed in the order of the columns, as the *_many forms do.
template <class Value>
double square_of(const SparseRow<Value>& row) {
  double sum = 0;
  for (std::size_t k = 0; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    sum += value * value;
  }
  return sum;
}

// The same in eight lanes, which need not wait for each other: faster, and other bits.
template <class Value>
__attribute__((always_inline)) inline double square_in_lanes(const SparseRow<Value>& row) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t k = 0;
  for (; k + kLanes <= row.size; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(row.values[k + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    sum += value * value;
  }
  for (const double lane : lanes) sum += lane;
  return sum;
}

// The stride of so many interleaved vectors.
constexpr std::size_t stride_of(std::size_t vectors) {
  return vectors == 1 ? 1 : (vectors + 3) / 4 * 4;
}

}  // namespace hinge
