// Dot products of many rows of which nobody has looked at the columns, for each instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/lanes.h"
#include "simd/sparse_avx2.h"
#include "simd/sparse_bodies.h"
#include "simd/sparse_row.h"

namespace hinge {
namespace {

// The rest of a row whose columns nobody has looked at, from element k on; of columns from `known`
// on there is no weight. False if one is not of the matrix at all.
template <class Value>
HINGE_INLINE bool add_unchecked(const SparseRow<Value>& row, std::size_t k, const double* w,
                                std::uint64_t known, std::uint64_t features, double* lanes) {
  bool good = true;
  for (; k < row.size; ++k) {
    const std::uint32_t column = row.columns[k];
    if (column < known) {
      lanes[k % 8] += static_cast<double>(row.values[k]) * w[column];
    } else {
      good = good && column < features;
    }
  }
  return good;
}

template <class Value>
HINGE_INLINE void dot_full_rows(const RowRun<Value>& rows, std::span<const double> w, double* out,
                                std::size_t stride) {
  for (std::uint64_t i = rows.begin; i < rows.end; ++i, out += stride) {
    SparseRow<Value> row = row_of(rows.m, i);
    row.size = std::min(row.size, w.size());
    *out = dot_run(row, w.data());
  }
}

template <class Value>
bool dot_rows_scalar(const RowRun<Value>& rows, std::span<const double> w, double* out,
                     std::size_t stride) {
  if (rows.m.full) {
    dot_full_rows(rows, w, out, stride);
    return true;
  }
  const std::uint64_t known = std::min<std::uint64_t>(w.size(), rows.m.features);
  bool good = true;
  for (std::uint64_t i = rows.begin; i < rows.end; ++i, out += stride) {
    double lanes[8] = {};
    good &= add_unchecked(row_of(rows.m, i), 0, w.data(), known, rows.m.features, lanes);
    *out = sum_lanes(lanes);
  }
  return good;
}

#if defined(__x86_64__)

// Columns are looked at eight at a time, just before they are used; where one has no weight, the
// rest of the row is taken one by one. Rows lie one behind the other, so that what comes after a
// few can be fetched before it is needed.
constexpr std::size_t kAhead = 256;  // elements

template <class Value>
HINGE_AVX2 bool dot_rows_avx2(const RowRun<Value>& rows, std::span<const double> w, double* out,
                              std::size_t stride) {
  const std::uint64_t known = std::min<std::uint64_t>(w.size(), rows.m.features);
  if (rows.m.full) {
    dot_full_rows(rows, w, out, stride);
    return true;
  }
  if (known == 0) return dot_rows_scalar(rows, w, out, stride);
  const __m256i last = _mm256_set1_epi32(static_cast<std::int32_t>(known - 1));
  bool good = true;
  for (std::uint64_t i = rows.begin; i < rows.end; ++i, out += stride) {
    const SparseRow<Value> row = row_of(rows.m, i);
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    std::size_t k = 0;
    for (; k + 8 <= row.size; k += 8) {
      __builtin_prefetch(row.columns + k + kAhead);
      __builtin_prefetch(row.values + k + kAhead);
      const __m256i columns = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.columns + k));
      const __m256i within = _mm256_cmpeq_epi32(_mm256_min_epu32(columns, last), columns);
      if (_mm256_movemask_epi8(within) != -1) break;
      low = _mm256_add_pd(low,
                          _mm256_mul_pd(widen4(row.values + k), load4(w.data(), row.columns + k)));
      high = _mm256_add_pd(
          high, _mm256_mul_pd(widen4(row.values + k + 4), load4(w.data(), row.columns + k + 4)));
    }
    double lanes[8];
    _mm256_storeu_pd(lanes, low);
    _mm256_storeu_pd(lanes + 4, high);
    good &= add_unchecked(row, k, w.data(), known, rows.m.features, lanes);
    *out = sum_lanes(lanes);
  }
  return good;
}

#endif

}  // namespace
}  // namespace hinge
