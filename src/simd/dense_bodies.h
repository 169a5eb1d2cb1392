// Bodies of loops on arrays without holes, for simd.cc alone: written once in vectors of four,
// compiled for each instruction set. Every element of a result has one order of summing, whatever
// the registers are like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simd/simd.h"

namespace hinge {
namespace {

// Code that is compiled anew for each instruction set it is used with. Called, it would mix two
// encodings of vector instructions, which costs more than the work itself.
#define HINGE_INLINE __attribute__((always_inline)) inline

using Four = double __attribute__((vector_size(32)));
// How vectors would be handed over in calls does not matter: nothing here is called.
#pragma GCC diagnostic ignored "-Wpsabi"

// The one order in which eight lanes become a sum.
HINGE_INLINE double sum_lanes(const double* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
HINGE_INLINE double sum_lanes(const Four* two) {
  double lanes[8];
  std::memcpy(lanes, two, sizeof lanes);
  return sum_lanes(lanes);
}

HINGE_INLINE Four load_four(const double* from) {
  Four x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
HINGE_INLINE Four load_four(const float* from) {
  float __attribute__((vector_size(16))) x;
  std::memcpy(&x, from, sizeof x);
  return __builtin_convertvector(x, Four);
}
HINGE_INLINE void store_four(double* to, Four x) {
  std::memcpy(to, &x, sizeof x);
}

HINGE_INLINE Four larger(Four a, Four b) {
  return a > b ? a : b;
}

HINGE_INLINE Shortened shorten_body(const double* x, std::size_t size, std::int16_t* out) {
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

// Without branches: which rows bend is as good as random.
HINGE_INLINE double find_bends_body(Bends& bends, double t_max) {
  using FourInts = std::int32_t __attribute__((vector_size(16)));
  constexpr double kScale = Bends::kBuckets, kLast = Bends::kBuckets - 1;
  const Four zero = {}, scale = zero + kScale, last = zero + kLast, one = zero + 1.0;
  Four slopes = {};
  for (std::size_t k = 0; k < Bends::kRun; k += 4) {
    Four c, d, rise;
    std::memcpy(&c, bends.c + k, sizeof c);
    std::memcpy(&d, bends.d + k, sizeof d);
    std::memcpy(&rise, bends.rise + k, sizeof rise);
    const Four length = d < zero ? -d : d, away = c < zero ? -c : c;
    slopes += ((c > zero) | ((c == zero) & (d > zero))) ? rise * d : zero;
    rise *= length;
    // t/(1+t) = |c|/(|c|+|d|)
    const auto ahead =
        (((c < zero) & (d > zero)) | ((c > zero) & (d < zero))) & (away < t_max * length);
    Four place = away / (ahead ? away + length : one) * kScale;
    place = place < last ? place : last;
    place = ahead ? place : scale;
    const FourInts bucket = __builtin_convertvector(place, FourInts);
    std::memcpy(bends.rise + k, &rise, sizeof rise);
    std::memcpy(bends.bucket + k, &bucket, sizeof bucket);
  }
  double lanes[4];
  std::memcpy(lanes, &slopes, sizeof lanes);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// The last corners, fewer than eight, with others of no cost behind them.
struct LastCorners {
  double z[8] = {}, d[8] = {}, centre[8] = {}, cost[8] = {};
  HINGE_INLINE LastCorners(const Corners& all, std::size_t from) {
    for (std::size_t k = 0; from + k < all.size; ++k) {
      z[k] = all.z[from + k];
      d[k] = all.d[from + k];
      centre[k] = all.centre[from + k];
      cost[k] = all.cost == nullptr ? 1.0 : all.cost[from + k];
    }
  }
  HINGE_INLINE Corners view(double slope) const { return {z, d, centre, cost, 8, slope}; }
};

HINGE_INLINE Four status_of(Four centre, Four slack, double slope) {
  const Four zero = {}, one = zero + 1.0;
  Four status = centre + slope * slack;
  status = status < zero ? zero : status;
  return status > one ? one : status;
}

template <bool kCosts>
HINGE_INLINE void corner_slope_eight(const Corners& corners, std::size_t k, double t, Four* sums) {
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four d = load_four(corners.d + k);
    const Four slack = 1.0 - (load_four(corners.z + k) + t * d);
    Four term = d * status_of(load_four(corners.centre + k), slack, corners.slope);
    if (kCosts) term *= load_four(corners.cost + k);
    sums[f] += term;
  }
}

HINGE_INLINE double corner_slope_body(const Corners& corners, double t) {
  Four sums[2] = {};
  std::size_t k = 0;
  if (corners.cost == nullptr) {
    for (; k + 8 <= corners.size; k += 8) corner_slope_eight<false>(corners, k, t, sums);
  } else {
    for (; k + 8 <= corners.size; k += 8) corner_slope_eight<true>(corners, k, t, sums);
  }
  if (k < corners.size) {
    const LastCorners last(corners, k);
    corner_slope_eight<true>(last.view(corners.slope), 0, t, sums);
  }
  return sum_lanes(sums);
}

struct CornerLanes {
  Four loss[2] = {}, status[2] = {}, product[2] = {};
};

template <bool kCosts>
HINGE_INLINE void corner_move_eight(const Corners& corners, std::size_t k, double t, double* z,
                                    double* status, CornerLanes& sums) {
  const Four zero = {};
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four moved = load_four(corners.z + k) + t * load_four(corners.d + k);
    const Four slack = 1.0 - moved;
    const Four now = status_of(load_four(corners.centre + k), slack, corners.slope);
    store_four(z + k, moved);
    store_four(status + k, now);
    const Four loss = slack > zero ? slack : zero;
    const Four cost = kCosts ? load_four(corners.cost + k) : zero + 1.0;
    sums.loss[f] += kCosts ? cost * loss : loss;
    const Four weighted = kCosts ? cost * now : now;
    sums.status[f] += weighted;
    sums.product[f] += weighted * slack;
  }
}

HINGE_INLINE CornerSums corner_move_body(const Corners& corners, double t, double* z,
                                         double* status) {
  CornerLanes sums;
  std::size_t k = 0;
  if (corners.cost == nullptr) {
    for (; k + 8 <= corners.size; k += 8) {
      corner_move_eight<false>(corners, k, t, z, status, sums);
    }
  } else {
    for (; k + 8 <= corners.size; k += 8) corner_move_eight<true>(corners, k, t, z, status, sums);
  }
  if (k < corners.size) {
    const LastCorners last(corners, k);
    double moved[8], now[8];
    corner_move_eight<true>(last.view(corners.slope), 0, t, moved, now, sums);
    std::memcpy(z + k, moved, (corners.size - k) * sizeof *z);
    std::memcpy(status + k, now, (corners.size - k) * sizeof *status);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.status), sum_lanes(sums.product)};
}

// The last rows, fewer than eight, with others of no cost behind them.
struct LastBoxed {
  double gradient[8] = {}, alpha[8] = {}, factor[8] = {};
  HINGE_INLINE LastBoxed(const Boxed& all, std::size_t from) {
    for (std::size_t k = 0; from + k < all.size; ++k) {
      gradient[k] = all.gradient[from + k];
      alpha[k] = all.alpha[from + k];
      factor[k] = all.factor == nullptr ? 1.0 : all.factor[from + k];
    }
  }
  HINGE_INLINE Boxed view(double cost) const { return {gradient, alpha, factor, 8, cost}; }
};

struct BoxedLanes {
  Four loss[2] = {}, alpha[2] = {}, squares[2] = {};
};

template <bool kFactors>
HINGE_INLINE void weigh_eight(const Boxed& rows, std::size_t k, BoxedLanes& sums) {
  const Four zero = {};
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four g = load_four(rows.gradient + k), alpha = load_four(rows.alpha + k);
    const Four upper = kFactors ? rows.cost * load_four(rows.factor + k) : zero + rows.cost;
    const Four falls = g < zero ? g : zero, rises = g > zero ? g : zero;
    sums.loss[f] -= upper * falls;
    sums.alpha[f] += alpha;
    const Four follow = (alpha < upper ? falls : zero) + (alpha > zero ? rises : zero);
    sums.squares[f] += follow * follow;
  }
}

HINGE_INLINE BoxedSums weigh_body(const Boxed& rows) {
  BoxedLanes sums;
  std::size_t k = 0;
  if (rows.factor == nullptr) {
    for (; k + 8 <= rows.size; k += 8) weigh_eight<false>(rows, k, sums);
  } else {
    for (; k + 8 <= rows.size; k += 8) weigh_eight<true>(rows, k, sums);
  }
  if (k < rows.size) {
    const LastBoxed last(rows, k);
    weigh_eight<true>(last.view(rows.cost), 0, sums);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.alpha), sum_lanes(sums.squares)};
}

HINGE_INLINE Four slacks_of_four(const Boxed& rows, std::size_t k) {
  const Four zero = {}, never = zero - std::numeric_limits<double>::infinity();
  const Four g = load_four(rows.gradient + k), alpha = load_four(rows.alpha + k);
  const Four upper =
      rows.factor != nullptr ? rows.cost * load_four(rows.factor + k) : zero + rows.cost;
  const Four above = alpha >= upper ? -g : never;
  return alpha <= zero ? g : above;
}

HINGE_INLINE void slacks_body(const Boxed& rows, double* out) {
  std::size_t k = 0;
  for (; k + 4 <= rows.size; k += 4) store_four(out + k, slacks_of_four(rows, k));
  if (k == rows.size) return;
  const LastBoxed last(rows, k);
  double rest[4];
  store_four(rest, slacks_of_four(last.view(rows.cost), 0));
  std::memcpy(out + k, rest, (rows.size - k) * sizeof *out);
}

HINGE_INLINE double loss_along_body(const double* from, const double* to, const double* c,
                                    std::size_t size, double t) {
  const Four zero = {};
  Four sums[2] = {};
  const auto add = [&](const double* a, const double* b, const double* cost, std::size_t f) {
    const Four start = load_four(a), end = b == nullptr ? zero - 1.0 : load_four(b);
    const Four there = start + t * (end - start);
    const Four loss = there < zero ? there : zero;
    sums[f] -= cost == nullptr ? loss : load_four(cost) * loss;
  };
  const auto at = [](const double* x, std::size_t k) { return x == nullptr ? nullptr : x + k; };
  std::size_t k = 0;
  for (; k + 8 <= size; k += 8) {
    add(from + k, at(to, k), at(c, k), 0);
    add(from + k + 4, at(to, k + 4), at(c, k + 4), 1);
  }
  if (k < size) {
    double a[8] = {}, b[8] = {}, cost[8] = {};
    for (std::size_t j = 0; k + j < size; ++j) {
      a[j] = from[k + j];
      b[j] = to == nullptr ? -1.0 : to[k + j];
      cost[j] = c == nullptr ? 1.0 : c[k + j];
    }
    add(a, b, cost, 0);
    add(a + 4, b + 4, cost + 4, 1);
  }
  return sum_lanes(sums);
}

// Some rows together: w is loaded, and stored, once for all of them.
template <std::size_t kRows, class Value>
HINGE_INLINE void dot_full_rows(const Value* const* rows, const double* w, std::size_t size,
                                double* out) {
  Four sums[kRows][2] = {};
  for (std::size_t j = 0; j < size; j += 8) {
    const Four low = load_four(w + j), high = load_four(w + j + 4);
    for (std::size_t r = 0; r < kRows; ++r) {
      sums[r][0] += load_four(rows[r] + j) * low;
      sums[r][1] += load_four(rows[r] + j + 4) * high;
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) out[r] = sum_lanes(sums[r]);
}

template <class Value>
HINGE_INLINE void dot_full_body(const Value* const* rows, std::size_t count, const double* w,
                                std::size_t size, double* out) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) dot_full_rows<4>(rows + k, w, size, out + k);
  for (; k < count; ++k) dot_full_rows<1>(rows + k, w, size, out + k);
}

template <std::size_t kRows, class Value>
HINGE_INLINE void add_full_rows(const Value* const* rows, const double* a, double* w,
                                std::size_t size) {
  for (std::size_t j = 0; j < size; j += 4) {
    Four sum = load_four(w + j);
    for (std::size_t r = 0; r < kRows; ++r) sum += a[r] * load_four(rows[r] + j);
    store_four(w + j, sum);
  }
}

template <class Value>
HINGE_INLINE void add_full_body(const Value* const* rows, const double* a, std::size_t count,
                                double* w, std::size_t size) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) add_full_rows<4>(rows + k, a + k, w, size);
  for (; k < count; ++k) add_full_rows<1>(rows + k, a + k, w, size);
}

HINGE_INLINE void add_product_body(const double* a, const double* b, std::size_t depth, double* c,
                                   std::size_t stride) {
  Four sums[4][2] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    const Four low = load_four(b + 8 * k), high = load_four(b + 8 * k + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      sums[i][0] += a[4 * k + i] * low;
      sums[i][1] += a[4 * k + i] * high;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    double* const to = c + i * stride;
    store_four(to, load_four(to) + sums[i][0]);
    store_four(to + 4, load_four(to + 4) + sums[i][1]);
  }
}

// So many panels together, lest each addition wait for the one before.
template <std::size_t kPanels>
HINGE_INLINE void solve_some_panels(const double* l, std::size_t stride, std::size_t size,
                                    const double* inverse, double* x) {
  for (std::size_t j = 0; j < size; ++j) {
    Four sums[kPanels][2] = {};
    for (std::size_t k = 0; k < j; ++k) {
      const double factor = l[j * stride + k];
      for (std::size_t p = 0; p < kPanels; ++p) {
        const double* const from = x + (p * size + k) * 8;
        sums[p][0] += factor * load_four(from);
        sums[p][1] += factor * load_four(from + 4);
      }
    }
    for (std::size_t p = 0; p < kPanels; ++p) {
      double* const at = x + (p * size + j) * 8;
      store_four(at, (load_four(at) - sums[p][0]) * inverse[j]);
      store_four(at + 4, (load_four(at + 4) - sums[p][1]) * inverse[j]);
    }
  }
}

HINGE_INLINE void solve_panels_body(const double* l, std::size_t stride, std::size_t size,
                                    const double* inverse, double* x, std::size_t panels) {
  std::size_t p = 0;
  for (; p + 4 <= panels; p += 4) {
    solve_some_panels<4>(l, stride, size, inverse, x + p * size * 8);
  }
  for (; p < panels; ++p) solve_some_panels<1>(l, stride, size, inverse, x + p * size * 8);
}

}  // namespace
}  // namespace hinge
