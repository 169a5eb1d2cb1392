// Dot products of sparse rows by the gather instruction of AVX-512.
#pragma once

#include "simd/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/row_runs.h"

namespace hinge {
namespace {

HINGE_AVX512 inline __m512d widen8(const float* v, __mmask8 mask) {
  return _mm512_maskz_cvtps_pd(mask, _mm256_maskz_loadu_ps(mask, v));
}
HINGE_AVX512 inline __m512d widen8(const double* v, __mmask8 mask) {
  return _mm512_maskz_loadu_pd(mask, v);
}

// By itself: what the sanitizer watches must not be inlined where it does not look.
template <class Value>
HINGE_AVX2 double dot_run_avx2(const SparseRow<Value>& row, const double* w) {
  return dot_run(row, w);
}

template <class Value>
HINGE_AVX512 double dot_avx512(SparseRow<Value> row, const double* w) {
  if (row.run) return dot_run_avx2(row, w);
  const double* const base = gather_base(w);
  const __m256i move = _mm256_set1_epi32(INT32_MIN);
  __m512d sum = _mm512_setzero_pd();
  for (std::size_t k = 0; k < row.size; k += 8) {
    const std::size_t left = row.size - k;
    const auto mask = static_cast<__mmask8>(left >= 8 ? 0xffU : (1U << left) - 1U);
    const __m256i columns = _mm256_xor_si256(_mm256_maskz_loadu_epi32(mask, row.columns + k), move);
    const __m512d gathered = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, columns, base, 8);
    // Lanes outside the mask keep their value: adding even a zero could change the sign of one.
    sum = _mm512_mask_add_pd(sum, mask, sum, _mm512_mul_pd(widen8(row.values + k, mask), gathered));
  }
  double lanes[8];
  _mm512_storeu_pd(lanes, sum);
  return sum_lanes(lanes);
}

template <class Value>
HINGE_AVX512 bool dot_rows_avx512(const RowRun<Value>& rows, std::span<const double> w, double* out,
                                  std::size_t stride) {
  if (rows.m.full) return dot_rows_avx2(rows, w, out, stride);
  const auto known = static_cast<std::uint32_t>(std::min<std::uint64_t>(w.size(), rows.m.features));
  const double* const base = gather_base(w.data());
  const __m256i move = _mm256_set1_epi32(INT32_MIN);
  const __m256i limit = _mm256_set1_epi32(static_cast<std::int32_t>(known));
  bool good = true;
  for (std::uint64_t i = rows.begin; i < rows.end; ++i, out += stride) {
    const SparseRow<Value> row = row_of(rows.m, i);
    __m512d sum = _mm512_setzero_pd();
    std::size_t k = 0;
    for (; k < row.size; k += 8) {
      __builtin_prefetch(row.columns + k + kAhead);
      __builtin_prefetch(row.values + k + kAhead);
      const std::size_t left = row.size - k;
      const auto mask = static_cast<__mmask8>(left >= 8 ? 0xffU : (1U << left) - 1U);
      const __m256i columns = _mm256_maskz_loadu_epi32(mask, row.columns + k);
      if (_mm256_mask_cmplt_epu32_mask(mask, columns, limit) != mask) break;
      const __m512d gathered = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask,
                                                        _mm256_xor_si256(columns, move), base, 8);
      sum =
          _mm512_mask_add_pd(sum, mask, sum, _mm512_mul_pd(widen8(row.values + k, mask), gathered));
    }
    if (k < row.size) {  // a column without a weight
      good &= dot_rows_avx2(RowRun<Value>{rows.m, i, i + 1}, w, out, stride);
      continue;
    }
    double lanes[8];
    _mm512_storeu_pd(lanes, sum);
    *out = sum_lanes(lanes);
  }
  return good;
}

}  // namespace
}  // namespace hinge

#endif
