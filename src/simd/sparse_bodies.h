// Bodies of loops on one sparse row, written once and compiled for each instruction set. Weights
// are doubles, or floats of which products and sums are floats too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simd/lanes.h"
#include "simd/sparse_row.h"

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
HINGE_INLINE double dot_body_scalar(const SparseRow<Value>& row, const double* w) {
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
HINGE_INLINE float dot_body_scalar(const SparseRow<Value>& row, const float* w) {
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

// The body of the *_many forms, written once and compiled for each instruction set: four
// neighbouring vectors at a time in whatever registers there are; or one or two.
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
