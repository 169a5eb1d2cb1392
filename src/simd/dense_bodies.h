// Bodies of loops on arrays without holes, written in vectors of four and compiled for each
// instruction set. Every element of a result has one order of summing, whatever the registers are
// like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simd/lanes.h"
#include "simd/simd.h"

namespace hinge {
namespace {

HINGE_INLINE void add_dense_body(double a, const double* x, double* y, std::size_t size) {
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) {
    Four from, to;
    std::memcpy(&from, x + k, sizeof from);
    std::memcpy(&to, y + k, sizeof to);
    to += a * from;
    std::memcpy(y + k, &to, sizeof to);
  }
  for (; k < size; ++k) y[k] += a * x[k];
}

HINGE_INLINE double dot_dense_body(const double* x, const double* y, std::size_t size) {
  Four sums[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= size; k += 8) {
    for (std::size_t f = 0; f < 2; ++f) {
      Four a, b;
      std::memcpy(&a, x + k + 4 * f, sizeof a);
      std::memcpy(&b, y + k + 4 * f, sizeof b);
      sums[f] += a * b;
    }
  }
  double lanes[8];
  std::memcpy(lanes, sums, sizeof lanes);
  for (std::size_t j = 0; k + j < size; ++j) lanes[j] += x[k + j] * y[k + j];
  return sum_lanes(lanes);
}

HINGE_INLINE double blend_dense_body(double t, const double* x, double* y, std::size_t size) {
  Four sums[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= size; k += 8) {
    for (std::size_t f = 0; f < 2; ++f) {
      Four to = load_four(y + k + 4 * f);
      to += t * (load_four(x + k + 4 * f) - to);
      store_four(y + k + 4 * f, to);
      sums[f] += to * to;
    }
  }
  double lanes[8];
  std::memcpy(lanes, sums, sizeof lanes);
  for (std::size_t j = 0; k + j < size; ++j) {
    y[k + j] += t * (x[k + j] - y[k + j]);
    lanes[j] += y[k + j] * y[k + j];
  }
  return sum_lanes(lanes);
}

// Eight numbers of one precision.
HINGE_INLINE EightFloats eight_of(const float* from) {
  return load_eight(from);
}
struct EightDoubles {
  Four half[2];
};
HINGE_INLINE EightDoubles eight_of(const double* from) {
  return {{load_four(from), load_four(from + 4)}};
}
HINGE_INLINE EightDoubles operator+(EightDoubles a, EightDoubles b) {
  return {{a.half[0] + b.half[0], a.half[1] + b.half[1]}};
}
HINGE_INLINE EightDoubles operator-(EightDoubles a, EightDoubles b) {
  return {{a.half[0] - b.half[0], a.half[1] - b.half[1]}};
}
HINGE_INLINE EightDoubles operator*(double a, EightDoubles b) {
  return {{a * b.half[0], a * b.half[1]}};
}

// Elements are summed up in the order of the ends; squares and products in eight lanes.
template <class Value>
HINGE_INLINE JoinedWay join_body(const Value* const* ends, std::size_t count, std::size_t begin,
                                 const Value* from, double share, Value* to, std::size_t size) {
  const auto factor = static_cast<Value>(share);
  Four squares[2] = {}, products[2] = {};
  const std::size_t end = begin + size;
  std::size_t j = begin;
  for (; j + 8 <= end; j += 8) {
    const auto base = eight_of(from + j);
    auto sum = eight_of(ends[0] + j) - base;
    for (std::size_t k = 1; k < count; ++k) sum = sum + (eight_of(ends[k] + j) - base);
    sum = factor * sum;
    const auto there = base + sum;
    Value way[8];
    std::memcpy(way, &sum, sizeof way);
    std::memcpy(to + j, &there, sizeof way);
    for (std::size_t f = 0; f < 2; ++f) {
      const Four four = load_four(way + 4 * f);
      squares[f] += four * four;
      products[f] += four * load_four(from + j + 4 * f);
    }
  }
  double square[8], product[8];
  std::memcpy(square, squares, sizeof square);
  std::memcpy(product, products, sizeof product);
  for (std::size_t lane = 0; j < end; ++j, ++lane) {
    Value sum = ends[0][j] - from[j];
    for (std::size_t k = 1; k < count; ++k) sum += ends[k][j] - from[j];
    sum *= factor;
    to[j] = from[j] + sum;
    square[lane] += static_cast<double>(sum) * static_cast<double>(sum);
    product[lane] += static_cast<double>(sum) * static_cast<double>(from[j]);
  }
  return {sum_lanes(square), sum_lanes(product)};
}

HINGE_INLINE Four larger(Four a, Four b) {
  return a > b ? a : b;
}

HINGE_INLINE Quantisation quantise_body(const double* x, std::size_t size, std::int16_t* out) {
  constexpr double kMost = 32767;
  constexpr double kRound = 0x1.8p52;  // added and taken away, it rounds to whole numbers
  Four squares = {}, most = {};
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) {
    const Four four = load_four(x + k);
    squares += four * four;
    most = larger(most, larger(four, -four));
  }
  double largest = 0, square = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    largest = largest > most[n] ? largest : most[n];
    square += squares[n];
  }
  for (; k < size; ++k) {
    const double of = x[k] < 0 ? -x[k] : x[k];
    largest = largest > of ? largest : of;
    square += of * of;
  }
  const auto scale = static_cast<float>(largest / kMost);
  const double inverse = scale > 0 ? 1 / static_cast<double>(scale) : 0;
  using FourWhole = std::int32_t __attribute__((vector_size(16)));
  using FourShort = std::int16_t __attribute__((vector_size(8)));
  for (k = 0; k + 4 <= size; k += 4) {
    const Four rounded = (load_four(x + k) * inverse + kRound) - kRound;
    const FourShort four =
        __builtin_convertvector(__builtin_convertvector(rounded, FourWhole), FourShort);
    std::memcpy(out + k, &four, sizeof four);
  }
  for (; k < size; ++k) {
    out[k] = static_cast<std::int16_t>((x[k] * inverse + kRound) - kRound);
  }
  return {scale, static_cast<float>(square)};
}

// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln(2)/2, and the series of e^r. Not the library's
// exp(), which gives other bits on other CPUs.
HINGE_INLINE void exp_fours(double* x) {
  using Bits = std::uint64_t __attribute__((vector_size(32)));
  constexpr double kLog2 = 1.4426950408889634, kLn2High = 0x1.62e42fee00000p-1,
                   kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;   // added and taken away, it rounds to whole numbers
  constexpr double kSmallest = -708.0;  // beyond it e^x leaves the normal numbers: 0
  constexpr double kInverseFactorials[] = {1.0 / 6227020800,
                                           1.0 / 479001600,
                                           1.0 / 39916800,
                                           1.0 / 3628800,
                                           1.0 / 362880,
                                           1.0 / 40320,
                                           1.0 / 5040,
                                           1.0 / 720,
                                           1.0 / 120,
                                           1.0 / 24,
                                           1.0 / 6,
                                           1.0 / 2,
                                           1.0,
                                           1.0};
  Four value;
  std::memcpy(&value, x, sizeof value);
  const auto tiny = value < kSmallest;
  value = tiny ? Four{} + kSmallest : value;
  const Four rounded = value * kLog2 + kRound;
  const Four n = rounded - kRound;
  const Four r = (value - n * kLn2High) - n * kLn2Low;
  Four sum = Four{};
  for (const double factor : kInverseFactorials) sum = sum * r + factor;
  Bits bits;
  std::memcpy(&bits, &rounded, sizeof bits);  // the low bits of `rounded` are n
  bits = (bits + 1023) << 52;
  Four power;
  std::memcpy(&power, &bits, sizeof power);
  sum = tiny ? Four{} : sum * power;
  std::memcpy(x, &sum, sizeof sum);
}

HINGE_INLINE void exp_all_body(double* x, std::size_t size) {
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) exp_fours(x + k);
  if (k == size) return;
  double rest[4] = {};
  std::memcpy(rest, x + k, (size - k) * sizeof *x);
  exp_fours(rest);
  std::memcpy(x + k, rest, (size - k) * sizeof *x);
}

}  // namespace
}  // namespace hinge
