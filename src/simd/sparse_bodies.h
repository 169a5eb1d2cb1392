// Bodies of loops on sparse rows, for simd.cc alone: written once, compiled for each
// instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd/dense_bodies.h"
#include "simd/simd.h"

namespace hinge {
namespace {

// f(j) for the last elements j of eight, `left` < 8 of them. One jump, where a loop would have as
// many branches to guess.
template <class F>
HINGE_INLINE void for_last(std::size_t left, const F& f) {
  switch (left) {
    case 7:
      f(6);
      [[fallthrough]];
    case 6:
      f(5);
      [[fallthrough]];
    case 5:
      f(4);
      [[fallthrough]];
    case 4:
      f(3);
      [[fallthrough]];
    case 3:
      f(2);
      [[fallthrough]];
    case 2:
      f(1);
      [[fallthrough]];
    case 1:
      f(0);
      [[fallthrough]];
    default:
      break;
  }
}

// Each to its lane.
template <class Value, class Weight>
HINGE_INLINE void add_tail(SparseRow<Value> row, std::size_t k, const Weight* w, Weight* lanes) {
  const std::uint32_t* const c = row.columns + k;
  const Value* const v = row.values + k;
  for_last(row.size - k, [&](std::size_t j) { lanes[j] += static_cast<Weight>(v[j]) * w[c[j]]; });
}

// A run of columns against as many entries of w side by side.
template <class Value>
HINGE_INLINE double dot_run(const SparseRow<Value>& row, const double* w) {
  if (row.size == 0) return 0;
  const double* const from = w + row.columns[0];
  Four sums[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    sums[0] += load_four(row.values + k) * load_four(from + k);
    sums[1] += load_four(row.values + k + 4) * load_four(from + k + 4);
  }
  double lanes[8];
  std::memcpy(lanes, sums, sizeof lanes);
  add_tail(row, k, w, lanes);
  return sum_lanes(lanes);
}

template <class Value>
HINGE_INLINE void add_run(const SparseRow<Value>& row, double a, double* w) {
  if (row.size == 0) return;
  double* const to = w + row.columns[0];
  std::size_t k = 0;
  for (; k + 4 <= row.size; k += 4) {
    store_four(to + k, load_four(to + k) + a * load_four(row.values + k));
  }
  for (; k < row.size; ++k) to[k] += a * static_cast<double>(row.values[k]);
}

template <class Value>
HINGE_INLINE double dot_scalar_body(const SparseRow<Value>& row, const double* w) {
  if (row.run) return dot_run(row, w);
  double lanes[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      lanes[j] += static_cast<double>(row.values[k + j]) * w[row.columns[k + j]];
    }
  }
  add_tail(row, k, w, lanes);
  return sum_lanes(lanes);
}

// Columns of a row are distinct, so the order of these additions does not matter. Scatter
// instructions were no faster than this loop on any CPU tried.
template <class Value>
HINGE_INLINE void add_body(const SparseRow<Value>& row, double a, double* w) {
  if (row.run) return add_run(row, a, w);
  std::size_t k = 0;
  for (; k + 4 <= row.size; k += 4) {
    const std::uint32_t* c = row.columns + k;
    const Value* v = row.values + k;
    w[c[0]] += a * static_cast<double>(v[0]);
    w[c[1]] += a * static_cast<double>(v[1]);
    w[c[2]] += a * static_cast<double>(v[2]);
    w[c[3]] += a * static_cast<double>(v[3]);
  }
  for (; k < row.size; ++k) w[row.columns[k]] += a * static_cast<double>(row.values[k]);
}

// ---- The same with w in floats: eight lanes of floats.
using EightFloats = float __attribute__((vector_size(32)));

HINGE_INLINE float sum_lanes(const float* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
HINGE_INLINE EightFloats load_eight(const float* from) {
  EightFloats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
HINGE_INLINE EightFloats load_eight(const double* from) {
  using FourFloats = float __attribute__((vector_size(16)));
  return __builtin_shufflevector(__builtin_convertvector(load_four(from), FourFloats),
                                 __builtin_convertvector(load_four(from + 4), FourFloats), 0, 1, 2,
                                 3, 4, 5, 6, 7);
}
HINGE_INLINE EightFloats load_eight(const std::int16_t* from) {
  std::int16_t __attribute__((vector_size(16))) x;
  std::memcpy(&x, from, sizeof x);
  using Wide = std::int32_t __attribute__((vector_size(32)));
  return __builtin_convertvector(__builtin_convertvector(x, Wide), EightFloats);
}

template <class Value>
HINGE_INLINE float dot_run(const SparseRow<Value>& row, const float* w) {
  if (row.size == 0) return 0;
  const float* const from = w + row.columns[0];
  EightFloats sum = {};
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) sum += load_eight(row.values + k) * load_eight(from + k);
  float lanes[8];
  std::memcpy(lanes, &sum, sizeof lanes);
  add_tail(row, k, w, lanes);
  return sum_lanes(lanes);
}

template <class Value>
HINGE_INLINE void add_run(const SparseRow<Value>& row, float a, float* w) {
  if (row.size == 0) return;
  float* const to = w + row.columns[0];
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    const EightFloats sum = load_eight(to + k) + a * load_eight(row.values + k);
    std::memcpy(to + k, &sum, sizeof sum);
  }
  for (; k < row.size; ++k) to[k] += a * static_cast<float>(row.values[k]);
}

template <class Value>
HINGE_INLINE float dot_scalar_body(const SparseRow<Value>& row, const float* w) {
  if (row.run) return dot_run(row, w);
  float lanes[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      lanes[j] += static_cast<float>(row.values[k + j]) * w[row.columns[k + j]];
    }
  }
  add_tail(row, k, w, lanes);
  return sum_lanes(lanes);
}

// Behind the last value in 16 bits there are others, which are read and not used.
template <class Value>
HINGE_INLINE void add_body(const SparseRow<Value>& row, float a, float* w) {
  if (row.run) return add_run(row, a, w);
  std::size_t k = 0;
  for (; k + 8 <= row.size; k += 8) {
    const std::uint32_t* const c = row.columns + k;
    const EightFloats x = a * load_eight(row.values + k);
    for (std::size_t j = 0; j < 8; ++j) w[c[j]] += x[j];
  }
  const std::uint32_t* const c = row.columns + k;
  const Value* const v = row.values + k;
  if constexpr (std::is_integral_v<Value>) {
    float x[8];
    const EightFloats last = a * load_eight(v);
    std::memcpy(x, &last, sizeof x);
    for_last(row.size - k, [&](std::size_t j) { w[c[j]] += x[j]; });
  } else {
    for_last(row.size - k, [&](std::size_t j) { w[c[j]] += a * static_cast<float>(v[j]); });
  }
}

// Whether descent knows rows in 16 bits.
template <class Value, class Weight>
constexpr bool kMayBeShort = std::is_same_v<Value, double>&& std::is_same_v<Weight, float>;

// Has the beginning of a row fetched that is visited soon; the rest follows by itself once the row
// is read in order. Where it is short, that is memory beyond the row, or none: addresses, not
// pointers.
template <class Value, class Weight>
HINGE_INLINE void fetch(const Descent<Value, Weight>& descent, const DescentRow& row) {
  const auto two_lines = [](const auto* array, std::uint64_t offset) {
    constexpr std::uintptr_t kLine = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(array) + offset * sizeof *array;
    __builtin_prefetch(reinterpret_cast<const void*>(address));
    __builtin_prefetch(reinterpret_cast<const void*>(address + kLine));
  };
  bool is_short = false;
  if constexpr (kMayBeShort<Value, Weight>) is_short = row.row < descent.short_rows;
  if (is_short) {
    two_lines(descent.shorts, row.offset + Shortened::kPlaces * row.row);
  } else {
    two_lines(descent.values, row.offset);
  }
  if (!descent.full) two_lines(descent.columns, row.offset);
}

// The row to visit, if any.
template <class Value, class Weight>
HINGE_INLINE DescentRow* begin_visit(const Descent<Value, Weight>& d, DescentRow* first,
                                     std::size_t k, std::size_t count, std::ptrdiff_t step) {
  constexpr std::size_t kAhead = 2;  // rows, fetched before they are visited
  const auto place = [&](std::size_t n) { return first + static_cast<std::ptrdiff_t>(n) * step; };
  if (k + kAhead < count) fetch(d, *place(k + kAhead));
  return place(k)->asleep ? nullptr : place(k);
}
template <class Value, class Weight>
HINGE_INLINE SparseRow<Value> entries_of(const Descent<Value, Weight>& d, const DescentRow& row) {
  return {d.full ? d.columns : d.columns + row.offset, d.values + row.offset, row.size, d.full};
}

// The same in 16 bits.
struct ShortRow {
  SparseRow<std::int16_t> x;
  Shortened with;
};
HINGE_INLINE ShortRow shorts_of(const Descent<double, float>& d, const DescentRow& row) {
  const std::int16_t* const at = d.shorts + row.offset + Shortened::kPlaces * row.row;
  ShortRow found = {
      {d.full ? d.columns : d.columns + row.offset, at + Shortened::kPlaces, row.size, d.full}, {}};
  std::memcpy(&found.with, at, sizeof found.with);
  return found;
}

template <class Value>
HINGE_INLINE double square_of_x(const SparseRow<Value>& x) {
  return square_in_lanes(x);
}
HINGE_INLINE double square_of_x(const ShortRow& row) {
  return static_cast<double>(row.with.square);
}
template <class Value, class Weight>
HINGE_INLINE void add_x(const SparseRow<Value>& x, double a, Weight* w) {
  add_body(x, static_cast<Weight>(a), w);
}
HINGE_INLINE void add_x(const ShortRow& row, double a, float* w) {
  add_body(row.x, static_cast<float>(a * static_cast<double>(row.with.scale)), w);
}
template <class Value>
HINGE_INLINE double scaled(const SparseRow<Value>& /*x*/, double dot) {
  return dot;
}
HINGE_INLINE double scaled(const ShortRow& row, double dot) {
  return dot * static_cast<double>(row.with.scale);
}

// dot: <w, x>, of a short row without its scale
template <class Value, class Weight, class X>
HINGE_INLINE void end_visit(Descent<Value, Weight>& d, DescentRow& row, const X& x, double dot) {
  ++d.visits;
  const double upper = d.factor == nullptr ? d.cost : d.cost * d.factor[row.row];
  if (row.curvature == DescentRow::kUnknown) {
    row.curvature = square_of_x(x) + d.unit * d.unit;
    // A row of zeros loses its full cost whatever w is: its variable belongs at the bound.
    if (!(row.curvature > 0)) {
      row.alpha = upper;
      return;
    }
  }
  // Signs and bounds are as good as random, so jumps would be guessed wrong: minima and maxima in
  // their place, which are instructions (0.98 of the time; rows of 14 entries 0.93).
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double alpha = row.alpha;
  const double g = row.y * (scaled(x, dot) + (d.shift + d.gain * d.v)) - 1;
  const bool at_zero = alpha <= 0, at_upper = alpha >= upper;
  const double highest = at_zero ? 0 : kNever, lowest = at_upper ? 0 : -kNever;
  d.estimate += upper * std::max(0.0, -g) + alpha * g;
  const double p = std::max(lowest, std::min(highest, g));
  d.squares += p * p;
  row.asleep = std::max(g - highest, lowest - g) > d.rest;
  d.awake += row.asleep ? 0 : 1;
  const double to = std::max(0.0, std::min(upper, alpha - d.stride * g / row.curvature));
  const double a = (to - alpha) * row.y;
  row.alpha = to;
  if (a == 0) return;
  d.inside += to > 0 && to < upper ? 1 : 0;
  add_x(x, a, d.w);
  d.v += a * d.unit;
}

// The body of the *_many forms, written once and compiled for each instruction set: four
// neighbouring vectors at a time in whatever registers there are; or one or two.
using Two = double __attribute__((vector_size(16)));

template <class Values, class Value>
HINGE_INLINE void dot_few(SparseRow<Value> row, const double* w, double* out) {
  constexpr std::size_t kStride = sizeof(Values) / sizeof(double);
  Values sum = {};
  for (std::size_t k = 0; k < row.size; ++k) {
    Values x;
    std::memcpy(&x, w + row.columns[k] * kStride, sizeof x);
    sum += static_cast<double>(row.values[k]) * x;
  }
  std::memcpy(out, &sum, sizeof sum);
}

template <class Values, class Value>
HINGE_INLINE void add_few(SparseRow<Value> row, const double* a, double* w) {
  constexpr std::size_t kStride = sizeof(Values) / sizeof(double);
  Values factor;
  std::memcpy(&factor, a, sizeof factor);
  for (std::size_t k = 0; k < row.size; ++k) {
    double* const to = w + row.columns[k] * kStride;
    Values x;
    std::memcpy(&x, to, sizeof x);
    x += static_cast<double>(row.values[k]) * factor;
    std::memcpy(to, &x, sizeof x);
  }
}

template <std::size_t kFours, class Value>
HINGE_INLINE void dot_fours(SparseRow<Value> row, const double* w, std::size_t stride,
                            double* out) {
  Four sum[kFours] = {};
  for (std::size_t k = 0; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    const double* const from = w + row.columns[k] * stride;
    for (std::size_t f = 0; f < kFours; ++f) {
      Four x;
      std::memcpy(&x, from + 4 * f, sizeof x);
      sum[f] += value * x;
    }
  }
  std::memcpy(out, sum, sizeof sum);
}

template <class Value>
HINGE_INLINE void dot_many_body(SparseRow<Value> row, const double* w, std::size_t stride,
                                double* out) {
  if (stride == 1) return dot_few<double>(row, w, out);
  if (stride == 2) return dot_few<Two>(row, w, out);
  std::size_t c = 0;
  for (; c + 16 <= stride; c += 16) dot_fours<4>(row, w + c, stride, out + c);
  for (; c + 8 <= stride; c += 8) dot_fours<2>(row, w + c, stride, out + c);
  if (c < stride) dot_fours<1>(row, w + c, stride, out + c);
}

template <class Value>
HINGE_INLINE void add_many_body(SparseRow<Value> row, const double* a, std::size_t stride,
                                double* w) {
  if (stride == 1) return add_few<double>(row, a, w);
  if (stride == 2) return add_few<Two>(row, a, w);
  for (std::size_t k = 0; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    double* const to = w + row.columns[k] * stride;
    for (std::size_t c = 0; c < stride; c += 4) {
      Four x, factor;
      std::memcpy(&x, to + c, sizeof x);
      std::memcpy(&factor, a + c, sizeof factor);
      x += value * factor;
      std::memcpy(to + c, &x, sizeof x);
    }
  }
}

}  // namespace
}  // namespace hinge
