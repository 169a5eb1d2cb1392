// Dot products of sparse rows in the instructions of AVX2.
#pragma once

#include "simd/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/lanes.h"
#include "simd/sparse_bodies.h"
#include "simd/sparse_row.h"

namespace hinge {
namespace {

// Gather instructions take signed 32-bit indices. Columns are unsigned: both they and the base are
// moved by 2^31, which cancels.
template <class Weight>
HINGE_INLINE const Weight* gather_base(const Weight* w) {
  return reinterpret_cast<const Weight*>(reinterpret_cast<std::uintptr_t>(w) +
                                         (std::uintptr_t{1} << 31) * sizeof(Weight));
}

HINGE_AVX2 HINGE_INLINE __m256d widen4(const float* v) {
  return _mm256_cvtps_pd(_mm_loadu_ps(v));
}
HINGE_AVX2 HINGE_INLINE __m256d widen4(const double* v) {
  return _mm256_loadu_pd(v);
}

// Single loads rather than a gather instruction: on AMD's CPUs gathers take longer, and on several
// of Intel's since their microcode was mended; a load also sees what was stored just before. There
// are more loads than a CPU has ways for them, so columns come in pairs.
HINGE_AVX2 HINGE_INLINE __m256d load4(const double* w, const std::uint32_t* c) {
  std::uint64_t pairs[2];
  std::memcpy(pairs, c, sizeof pairs);
  const auto load2 = [w](std::uint64_t pair) HINGE_AVX2 {
    return _mm_loadh_pd(_mm_load_sd(w + static_cast<std::uint32_t>(pair)), w + (pair >> 32));
  };
  return _mm256_set_m128d(load2(pairs[1]), load2(pairs[0]));
}

// The first `left` elements of four; none of the others is read.
HINGE_AVX2 HINGE_INLINE __m256d widen4(const float* v, __m128i mask) {
  return _mm256_cvtps_pd(_mm_maskload_ps(v, mask));
}
HINGE_AVX2 HINGE_INLINE __m256d widen4(const double* v, __m128i mask) {
  return _mm256_maskload_pd(v, _mm256_cvtepi32_epi64(mask));
}
// sum + v w[c] where the mask says so. Elsewhere sum stays: adding even a zero could change the
// sign of one. Columns that are not there are taken to be `any`, which is.
template <class Value>
HINGE_AVX2 HINGE_INLINE __m256d add_masked(__m256d sum, const Value* v, const std::uint32_t* c,
                                           __m128i mask, __m128i any, const double* w) {
  alignas(16) std::uint32_t columns[4];
  const __m128i loaded = _mm_maskload_epi32(reinterpret_cast<const int*>(c), mask);
  _mm_store_si128(reinterpret_cast<__m128i*>(columns), _mm_blendv_epi8(any, loaded, mask));
  const __m256d added = _mm256_add_pd(sum, _mm256_mul_pd(widen4(v, mask), load4(w, columns)));
  return _mm256_blendv_pd(sum, added, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask)));
}

// Rows are short and their lengths as good as random: the last elements, fewer than eight, are
// taken without a jump that would have to be guessed.
template <class Value>
HINGE_AVX2 HINGE_INLINE double dot_body_avx2(const SparseRow<Value>& row, const double* w) {
  alignas(32) static constexpr std::int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  if (row.run) return dot_run(row, w);
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    low = _mm256_add_pd(low, _mm256_mul_pd(widen4(row.values + k), load4(w, row.columns + k)));
    high = _mm256_add_pd(high,
                         _mm256_mul_pd(widen4(row.values + k + 4), load4(w, row.columns + k + 4)));
  }
  if (k < row.size) {
    const auto* const masks = reinterpret_cast<const __m128i*>(kMasks + 8 - (row.size - k));
    const __m128i any = _mm_set1_epi32(static_cast<int>(row.columns[k]));
    low = add_masked(low, row.values + k, row.columns + k, _mm_loadu_si128(masks), any, w);
    high = add_masked(high, row.values + k + 4, row.columns + k + 4, _mm_loadu_si128(masks + 1),
                      any, w);
  }
  const __m256d pairs = _mm256_add_pd(low, high);  // as sum_lanes() has it
  const __m128d sums = _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd(pairs, 1));
  return _mm_cvtsd_f64(_mm_add_sd(sums, _mm_unpackhi_pd(sums, sums)));
}

// ---- With w in floats.
HINGE_AVX2 HINGE_INLINE __m128 load4(const float* w, const std::uint32_t* c) {
  std::uint64_t first = 0, second = 0;
  std::memcpy(&first, c, sizeof first);
  std::memcpy(&second, c + 2, sizeof second);
  __m128 x = _mm_load_ss(w + static_cast<std::uint32_t>(first));
  x = _mm_insert_ps(x, _mm_load_ss(w + (first >> 32)), 0x10);
  x = _mm_insert_ps(x, _mm_load_ss(w + static_cast<std::uint32_t>(second)), 0x20);
  return _mm_insert_ps(x, _mm_load_ss(w + (second >> 32)), 0x30);
}
HINGE_AVX2 HINGE_INLINE __m256 load8(const float* w, const std::uint32_t* c) {
  return _mm256_set_m128(load4(w, c + 4), load4(w, c));
}
HINGE_AVX2 HINGE_INLINE __m256 floats8(const float* v) {
  return _mm256_loadu_ps(v);
}
HINGE_AVX2 HINGE_INLINE __m256 floats8(const double* v) {
  return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(v + 4)),
                         _mm256_cvtpd_ps(_mm256_loadu_pd(v)));
}
HINGE_AVX2 HINGE_INLINE __m256 floats8(const std::int16_t* v) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(v));
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(x));
}
// Those of the mask; there are always eight in 16 bits.
HINGE_AVX2 HINGE_INLINE __m256 floats8(const float* v, __m256i mask) {
  return _mm256_maskload_ps(v, mask);
}
HINGE_AVX2 HINGE_INLINE __m256 floats8(const double* v, __m256i mask) {
  const auto four = [](const double* from, __m128i of) HINGE_AVX2 {
    return _mm256_cvtpd_ps(_mm256_maskload_pd(from, _mm256_cvtepi32_epi64(of)));
  };
  return _mm256_set_m128(four(v + 4, _mm256_extracti128_si256(mask, 1)),
                         four(v, _mm256_castsi256_si128(mask)));
}
HINGE_AVX2 HINGE_INLINE __m256 floats8(const std::int16_t* v, __m256i /*mask*/) {
  return floats8(v);
}

// By single loads or, `gathering`, by the instruction for it.
template <bool gathering, class Value>
HINGE_AVX2 HINGE_INLINE float dot_floats_avx2(const SparseRow<Value>& row, const float* w) {
  alignas(32) static constexpr std::int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  if (row.run) return dot_run(row, w);
  const __m256i move = _mm256_set1_epi32(INT32_MIN);
  const float* const base = gather_base(w);
  __m256 sum = _mm256_setzero_ps();
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    __m256 x;
    if constexpr (gathering) {
      const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.columns + k));
      x = _mm256_i32gather_ps(base, _mm256_xor_si256(c, move), 4);
    } else {
      x = load8(w, row.columns + k);
    }
    sum = _mm256_add_ps(sum, _mm256_mul_ps(floats8(row.values + k), x));
  }
  if (k < row.size) {
    const __m256i mask =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - (row.size - k)));
    const __m256i any = _mm256_set1_epi32(static_cast<int>(row.columns[k]));
    const __m256i loaded =
        _mm256_maskload_epi32(reinterpret_cast<const int*>(row.columns + k), mask);
    const __m256i c = _mm256_blendv_epi8(any, loaded, mask);
    __m256 x;
    if constexpr (gathering) {
      x = _mm256_i32gather_ps(base, _mm256_xor_si256(c, move), 4);
    } else {
      alignas(32) std::uint32_t columns[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(columns), c);
      x = load8(w, columns);
    }
    const __m256 added = _mm256_add_ps(sum, _mm256_mul_ps(floats8(row.values + k, mask), x));
    sum = _mm256_blendv_ps(sum, added, _mm256_castsi256_ps(mask));
  }
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));  // as sum_lanes() has it
}

template <class Value>
HINGE_AVX2 HINGE_INLINE float dot_body_avx2(const SparseRow<Value>& row, const float* w) {
  return dot_floats_avx2<false>(row, w);
}

// Gathers are for floats alone.
template <class Value>
HINGE_AVX2 HINGE_INLINE double dot_body_avx2_gather(const SparseRow<Value>& row, const double* w) {
  return dot_body_avx2(row, w);
}
template <class Value>
HINGE_AVX2 HINGE_INLINE float dot_body_avx2_gather(const SparseRow<Value>& row, const float* w) {
  return dot_floats_avx2<true>(row, w);
}

}  // namespace
}  // namespace hinge

#endif
