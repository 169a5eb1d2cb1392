#include "simd/simd.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "simd/dense_bodies.h"
#include "simd/sparse_bodies.h"

namespace hinge {
namespace {

template <class Value>
double dot_scalar(SparseRow<Value> row, const double* w) {
  return dot_scalar_body(row, w);
}

template <class Value>
void gradients_scalar(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end,
                      const std::int8_t* y, const double* w, double shift, double* out) {
  for (std::uint64_t i = begin; i < end; ++i) {
    out[i - begin] = y[i] * (dot_scalar_body(row_of(m, i), w) + shift) - 1;
  }
}

template <class Value>
void add_scalar(SparseRow<Value> row, double a, double* w) {
  add_body(row, a, w);
}

template <class Value, class Weight>
void descend_scalar(Descent<Value, Weight>& descent, DescentRow* first, std::size_t count,
                    std::ptrdiff_t step) {
  Descent<Value, Weight> d = descent;  // its own, which nothing that is stored can change
  for (std::size_t k = 0; k < count; ++k) {
    DescentRow* const row = begin_visit(d, first, k, count, step);
    if (row == nullptr) continue;
    if constexpr (kMayBeShort<Value, Weight>) {
      if (row->row < d.short_rows) {
        const ShortRow short_row = shorts_of(d, *row);
        end_visit(d, *row, short_row, static_cast<double>(dot_scalar_body(short_row.x, d.w)));
        continue;
      }
    }
    const SparseRow<Value> x = entries_of(d, *row);
    end_visit(d, *row, x, static_cast<double>(dot_scalar_body(x, d.w)));
  }
  descent = d;
}

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

// Columns ascend, so the part of a row up to an element belongs to that element's row of h.
template <class Value>
void add_outer(SparseRow<Value> row, double a, double* h, std::size_t stride) {
  for (std::size_t k = 0; k < row.size; ++k) {
    double* const to = h + row.columns[k] * stride;
    const double factor = a * static_cast<double>(row.values[k]);
    std::size_t j = 0;
    for (; j + 4 <= k + 1; j += 4) {
      const std::uint32_t* const c = row.columns + j;
      const Value* const v = row.values + j;
      to[c[0]] += factor * static_cast<double>(v[0]);
      to[c[1]] += factor * static_cast<double>(v[1]);
      to[c[2]] += factor * static_cast<double>(v[2]);
      to[c[3]] += factor * static_cast<double>(v[3]);
    }
    for (; j <= k; ++j) to[row.columns[j]] += factor * static_cast<double>(row.values[j]);
  }
}

// One function a kernel and instruction set. A macro, because attributes are not inherited.
#define HINGE_MANY(suffix, attributes)                                                             \
  template <class Value>                                                                           \
  attributes void dot_many_##suffix(SparseRow<Value> row, const double* w, std::size_t stride,     \
                                    double* out) {                                                 \
    dot_many_body(row, w, stride, out);                                                            \
  }                                                                                                \
  template <class Value>                                                                           \
  attributes void add_many_##suffix(SparseRow<Value> row, const double* a, std::size_t stride,     \
                                    double* w) {                                                   \
    add_many_body(row, a, stride, w);                                                              \
  }                                                                                                \
  attributes void exp_all_##suffix(double* x, std::size_t size) {                                  \
    exp_all_body(x, size);                                                                         \
  }                                                                                                \
  attributes void add_dense_##suffix(double a, const double* x, double* y, std::size_t size) {     \
    add_dense_body(a, x, y, size);                                                                 \
  }                                                                                                \
  attributes double dot_dense_##suffix(const double* x, const double* y, std::size_t size) {       \
    return dot_dense_body(x, y, size);                                                             \
  }                                                                                                \
  attributes double blend_dense_##suffix(double t, const double* x, double* y, std::size_t size) { \
    return blend_dense_body(t, x, y, size);                                                        \
  }                                                                                                \
  attributes Shortened shorten_##suffix(const double* x, std::size_t size, std::int16_t* out) {    \
    return shorten_body(x, size, out);                                                             \
  }                                                                                                \
  attributes double find_bends_##suffix(Bends& bends, double t_max) {                              \
    return find_bends_body(bends, t_max);                                                          \
  }                                                                                                \
  attributes BoxedSums weigh_##suffix(const Boxed& rows) {                                         \
    return weigh_body(rows);                                                                       \
  }                                                                                                \
  attributes void slacks_##suffix(const Boxed& rows, double* out) {                                \
    slacks_body(rows, out);                                                                        \
  }                                                                                                \
  attributes double loss_along_##suffix(const double* from, const double* to, const double* c,     \
                                        std::size_t size, double t) {                              \
    return loss_along_body(from, to, c, size, t);                                                  \
  }                                                                                                \
  attributes double corner_slope_##suffix(const Corners& corners, double t) {                      \
    return corner_slope_body(corners, t);                                                          \
  }                                                                                                \
  attributes CornerSums corner_move_##suffix(const Corners& corners, double t, double* z,          \
                                             double* status) {                                     \
    return corner_move_body(corners, t, z, status);                                                \
  }                                                                                                \
  template <class Value>                                                                           \
  attributes void dot_full_##suffix(const Value* const* rows, std::size_t count, const double* w,  \
                                    std::size_t size, double* out) {                               \
    dot_full_body(rows, count, w, size, out);                                                      \
  }                                                                                                \
  template <class Value>                                                                           \
  attributes void add_full_##suffix(const Value* const* rows, const double* a, std::size_t count,  \
                                    double* w, std::size_t size) {                                 \
    add_full_body(rows, a, count, w, size);                                                        \
  }                                                                                                \
  attributes void add_product_##suffix(const double* a, const double* b, std::size_t depth,        \
                                       double* c, std::size_t stride) {                            \
    add_product_body(a, b, depth, c, stride);                                                      \
  }                                                                                                \
  attributes void solve_panels_##suffix(const double* l, std::size_t stride, std::size_t size,     \
                                        const double* inverse, double* x, std::size_t panels) {    \
    solve_panels_body(l, stride, size, inverse, x, panels);                                        \
  }

HINGE_MANY(scalar, )

constexpr Simd kScalar = {.name = "scalar",
                          .dot_f32 = dot_scalar<float>,
                          .dot_f64 = dot_scalar<double>,
                          .add_f32 = add_scalar<float>,
                          .add_f64 = add_scalar<double>,
                          .gradients_f32 = gradients_scalar<float>,
                          .gradients_f64 = gradients_scalar<double>,
                          .descend_f32 = descend_scalar<float>,
                          .descend_f64 = descend_scalar<double>,
                          .descend_rough_f32 = descend_scalar<float>,
                          .descend_rough_f64 = descend_scalar<double>,
                          .dot_many_f32 = dot_many_scalar<float>,
                          .dot_many_f64 = dot_many_scalar<double>,
                          .add_many_f32 = add_many_scalar<float>,
                          .add_many_f64 = add_many_scalar<double>,
                          .exp_all = exp_all_scalar,
                          .add_dense = add_dense_scalar,
                          .dot_dense = dot_dense_scalar,
                          .blend_dense = blend_dense_scalar,
                          .shorten = shorten_scalar,
                          .find_bends = find_bends_scalar,
                          .weigh = weigh_scalar,
                          .slacks = slacks_scalar,
                          .loss_along = loss_along_scalar,
                          .corner_slope = corner_slope_scalar,
                          .corner_move = corner_move_scalar,
                          .dot_full_f32 = dot_full_scalar<float>,
                          .dot_full_f64 = dot_full_scalar<double>,
                          .add_full_f32 = add_full_scalar<float>,
                          .add_full_f64 = add_full_scalar<double>,
                          .add_outer_f32 = add_outer<float>,
                          .add_outer_f64 = add_outer<double>,
                          .add_product = add_product_scalar,
                          .solve_panels = solve_panels_scalar,
                          .dot_rows_f32 = dot_rows_scalar<float>,
                          .dot_rows_f64 = dot_rows_scalar<double>};

#if defined(__x86_64__)

// Gather instructions take signed 32-bit indices. Columns are unsigned: both they and the base are
// moved by 2^31, which cancels.
template <class Weight>
HINGE_INLINE const Weight* gather_base(const Weight* w) {
  return reinterpret_cast<const Weight*>(reinterpret_cast<std::uintptr_t>(w) +
                                         (std::uintptr_t{1} << 31) * sizeof(Weight));
}

#define HINGE_AVX2 __attribute__((target("avx2")))

HINGE_AVX2 __m256d widen4(const float* v) {
  return _mm256_cvtps_pd(_mm_loadu_ps(v));
}
HINGE_AVX2 __m256d widen4(const double* v) {
  return _mm256_loadu_pd(v);
}

// Single loads rather than a gather instruction: on AMD's CPUs gathers take longer, and on several
// of Intel's since their microcode was mended; a load also sees what was stored just before. There
// are more loads than a CPU has ways for them, so columns come in pairs.
HINGE_AVX2 __m256d load4(const double* w, const std::uint32_t* c) {
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
HINGE_AVX2 HINGE_INLINE double dot_avx2_body(const SparseRow<Value>& row, const double* w) {
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
template <bool gathering = false, class Value>
HINGE_AVX2 HINGE_INLINE float dot_avx2_body(const SparseRow<Value>& row, const float* w) {
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

template <class Value>
HINGE_AVX2 double dot_avx2(SparseRow<Value> row, const double* w) {
  return dot_avx2_body(row, w);
}

template <class Value>
HINGE_AVX2 void gradients_avx2(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end,
                               const std::int8_t* y, const double* w, double shift, double* out) {
  for (std::uint64_t i = begin; i < end; ++i) {
    out[i - begin] = y[i] * (dot_avx2_body(row_of(m, i), w) + shift) - 1;
  }
}

template <class Value>
HINGE_AVX2 void add_avx2(SparseRow<Value> row, double a, double* w) {
  add_body(row, a, w);
}

template <bool gathering, class Value, class Weight>
HINGE_AVX2 HINGE_INLINE double dot_of(const SparseRow<Value>& row, const Weight* w) {
  if constexpr (gathering) {
    return static_cast<double>(dot_avx2_body<true>(row, w));
  } else {
    return static_cast<double>(dot_avx2_body(row, w));
  }
}

template <class Value, class Weight, bool gathering = false>
HINGE_AVX2 void descend_avx2(Descent<Value, Weight>& descent, DescentRow* first, std::size_t count,
                             std::ptrdiff_t step) {
  Descent<Value, Weight> d = descent;
  for (std::size_t k = 0; k < count; ++k) {
    DescentRow* const row = begin_visit(d, first, k, count, step);
    if (row == nullptr) continue;
    if constexpr (kMayBeShort<Value, Weight>) {
      if (row->row < d.short_rows) {
        const ShortRow short_row = shorts_of(d, *row);
        end_visit(d, *row, short_row, dot_of<gathering>(short_row.x, d.w));
        continue;
      }
    }
    const SparseRow<Value> x = entries_of(d, *row);
    end_visit(d, *row, x, dot_of<gathering>(x, d.w));
  }
  descent = d;
}

HINGE_MANY(avx2, HINGE_AVX2)

constexpr Simd kAvx2 = {.name = "avx2",
                        .dot_f32 = dot_avx2<float>,
                        .dot_f64 = dot_avx2<double>,
                        .add_f32 = add_avx2<float>,
                        .add_f64 = add_avx2<double>,
                        .gradients_f32 = gradients_avx2<float>,
                        .gradients_f64 = gradients_avx2<double>,
                        .descend_f32 = descend_avx2<float>,
                        .descend_f64 = descend_avx2<double>,
                        .descend_rough_f32 = descend_avx2<float>,
                        .descend_rough_f64 = descend_avx2<double>,
                        .dot_many_f32 = dot_many_avx2<float>,
                        .dot_many_f64 = dot_many_avx2<double>,
                        .add_many_f32 = add_many_avx2<float>,
                        .add_many_f64 = add_many_avx2<double>,
                        .exp_all = exp_all_avx2,
                        .add_dense = add_dense_avx2,
                        .dot_dense = dot_dense_avx2,
                        .blend_dense = blend_dense_avx2,
                        .shorten = shorten_avx2,
                        .find_bends = find_bends_avx2,
                        .weigh = weigh_avx2,
                        .slacks = slacks_avx2,
                        .loss_along = loss_along_avx2,
                        .corner_slope = corner_slope_avx2,
                        .corner_move = corner_move_avx2,
                        .dot_full_f32 = dot_full_avx2<float>,
                        .dot_full_f64 = dot_full_avx2<double>,
                        .add_full_f32 = add_full_avx2<float>,
                        .add_full_f64 = add_full_avx2<double>,
                        .add_outer_f32 = add_outer<float>,
                        .add_outer_f64 = add_outer<double>,
                        .add_product = add_product_avx2,
                        .solve_panels = solve_panels_avx2,
                        .dot_rows_f32 = dot_rows_avx2<float>,
                        .dot_rows_f64 = dot_rows_avx2<double>};

// GCC 12 misaligns 64-byte registers it keeps on AddressSanitizer's fake stack, hence the
// exception.
#define HINGE_AVX512 __attribute__((target("avx512f,avx512vl"), no_sanitize_address))

HINGE_AVX512 __m512d widen8(const float* v, __mmask8 mask) {
  return _mm512_maskz_cvtps_pd(mask, _mm256_maskz_loadu_ps(mask, v));
}
HINGE_AVX512 __m512d widen8(const double* v, __mmask8 mask) {
  return _mm512_maskz_loadu_pd(mask, v);
}

template <class Value>
HINGE_AVX512 double dot_avx512(SparseRow<Value> row, const double* w) {
  // Not dot_run() itself: what the sanitizer watches must not be inlined where it does not look.
  if (row.run) return dot_avx2(row, w);
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

// Where floats are read, gathers pay even though these may just have been written: 0.89 to 0.98 of
// an epoch's time on Intel's CPUs that best_simd() has it for.
constexpr Simd gathering(Simd simd) {
  simd.descend_rough_f32 = descend_avx2<float, float, true>;
  simd.descend_rough_f64 = descend_avx2<double, float, true>;
  simd.dot_rows_f32 = dot_rows_avx512<float>;
  simd.dot_rows_f64 = dot_rows_avx512<double>;
  return simd;
}

// Everything else is AVX2's.
constexpr Simd kAvx512 = [] {
  Simd simd = gathering(kAvx2);
  simd.name = "avx512";
  simd.dot_f32 = dot_avx512<float>;
  simd.dot_f64 = dot_avx512<double>;
  return simd;
}();

// AVX2's where doubles are read that may just have been written.
constexpr Simd kMixed = gathering(kAvx2);

#endif

}  // namespace

std::span<const Simd* const> available_simd() {
#if defined(__x86_64__)
  static constexpr std::array<const Simd*, 3> kAll = {&kScalar, &kAvx2, &kAvx512};
  const std::size_t count =
      !__builtin_cpu_supports("avx2")                                              ? 1
      : !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) ? 2
                                                                                   : 3;
  return std::span(kAll).first(count);
#else
  static constexpr std::array<const Simd*, 1> kAll = {&kScalar};
  return kAll;
#endif
}

const Simd& best_simd() {
  const auto all = available_simd();
#if defined(__x86_64__)
  // Of Intel's CPUs those with instructions for bfloat16 have gathers that needed no mending: whole
  // rows are scored in 0.85 of the time.
  const bool gathers = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512bf16");
  if (all.size() == 3 && gathers) return kMixed;
#endif
  // AVX-512's difference to AVX2 is its gather instruction, see above. On AMD's CPUs it is slower;
  // on Intel's it was as fast with long rows, and with short ones, which descent has just written
  // to where it reads, took 1.1 to 1.2 times as long.
  return *all[std::min<std::size_t>(1, all.size() - 1)];
}

}  // namespace hinge
