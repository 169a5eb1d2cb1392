// exp, log and log1p of doubles, or of every element of a vector of them (simd/lanes.h): the same
// bits for both, and on every instruction set, as the C library does not promise. Nothing is
// looked up and nothing branches. Bounds below are of the relative error, in units of u = 2^-53,
// and count roundings; tests hold them to long doubles.
//
// Coefficients are those of Chebyshev interpolations of (e^r - 1 - r)/r^2 on |r| <= ln 2 / 2, and
// of (2 artanh(s)/s - 2)/s^2 in s^2 on [0, ((sqrt 2 - 1)/(sqrt 2 + 1))^2] and on [0, 1/9].
#pragma once

#include <cstdint>

#include "simd/anywhere.h"

// How vectors would be handed over in calls does not matter: nothing here is called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge::elementary {

// The words of 64 bits of numbers.
template <class T>
struct WordsOf {
  typedef std::uint64_t type __attribute__((vector_size(sizeof(T))));  // NOLINT: no alias has one
};
template <>
struct WordsOf<double> {
  using type = std::uint64_t;
};
template <class T>
using Words = typename WordsOf<T>::type;

// ln 2 in two parts, of which the first times a whole number below 2^11 is exact.
constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
// The smallest and the largest argument that exp() tells apart from others beyond it.
constexpr double kLeastExponent = -708, kLargestExponent = 709;
constexpr double kLeastNormal = 0x1p-1022;

// e^x, for x below kLeastExponent and above kLargestExponent that of these: it is never 0, infinite
// or subnormal.
//
// n ln 2 is off by n times what kLn2Low is off by, which is nothing, and r = x - n ln 2, |r| <=
// 0.3466, by two roundings of it and one of n kLn2Low: e^r by 0.7 u. r + r^2 E is off by 1.4 u of
// 0.42 at most, E's interpolation by 0.2 u, and adding 1 by u. Relative to 0.7 at least: 4 u.
constexpr double kExpRoundings = 4;
template <class T>
HINGE_ANYWHERE inline T exp(T x) {
  const T zero = {}, least = zero + kLeastExponent, most = zero + kLargestExponent;
  constexpr double kRounder = 0x1.8p52;  // adding it leaves a whole number in the last bits
  x = x < least ? least : x;
  x = x > most ? most : x;
  const T shifted = x * 0x1.71547652b82fep+0 + kRounder, n = shifted - kRounder;
  const T r = (x - n * kLn2High) - n * kLn2Low;
  const T r2 = r * r, r4 = r2 * r2;
  const T low = (0x1.0000000000001p-1 + r * 0x1.5555555555556p-3) +
                r2 * (0x1.5555555553d63p-5 + r * 0x1.11111111109b3p-7);
  const T middle = (0x1.6c16c1788bd90p-10 + r * 0x1.a01a01a7c41d5p-13) +
                   r2 * (0x1.a019b90d2ae7ap-16 + r * 0x1.71de0dae63bb3p-19);
  const T high = 0x1.289185613a3d6p-22 + r * 0x1.af38a9b0ec855p-26;
  const T power = 1.0 + (r + r2 * ((low + r4 * middle) + (r4 * r4) * high));
  const Words<T> scale =
      (__builtin_bit_cast(Words<T>, shifted) << 52) + std::uint64_t{0x3ff0000000000000};
  return power * __builtin_bit_cast(T, scale);
}

// log(1 + f) where 2 artanh(s) = 2 s + s R for s = f / (2 + f), which is f - s (f - R).
template <class T>
HINGE_ANYWHERE inline T log_near_one(T f) {
  const T s = f / (2.0 + f), x = s * s, x2 = x * x;
  const T low = 0x1.5555555555558p-1 + x * 0x1.99999999952d7p-2;
  const T middle = 0x1.2492492df281ap-2 + x * 0x1.c71c62e3f11e6p-3;
  const T high = (0x1.7462b51cb66b1p-3 + x * 0x1.39fe51a7c18f9p-3) + x2 * 0x1.2b5900de53b32p-3;
  return f - s * (f - x * ((low + x2 * middle) + (x2 * x2) * high));
}

// log x of a normal number x > 0, or infinity.
//
// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). f is exact; s (f - R), at most a fifth
// of log(1 + f), is off by 4.4 u, its difference from f by one rounding more: 2 u. With k != 0 the
// sum is 0.34 at least, and these 2 u of 0.35, a rounding of that and one of the sum make 5 u.
constexpr double kLogRoundings = 5;
template <class T>
HINGE_ANYWHERE inline T log(T x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2),
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kMantissa = 0x000fffffffffffff;
  constexpr std::uint64_t kTwoTo52 = 0x4330000000000000;  // of 1 and of 2^52
  const Words<T> moved = __builtin_bit_cast(Words<T>, x) + (kOne - kHalfRoot);
  const T k = __builtin_bit_cast(T, (moved >> 52) | kTwoTo52) - (0x1p52 + 1023);
  const T f = __builtin_bit_cast(T, (moved & kMantissa) + kHalfRoot) - 1.0;
  const T found = k * kLn2High + (log_near_one(f) + k * kLn2Low);
  const T zero = {}, infinite = zero + __builtin_inf();
  return x < infinite ? found : x;  // or no number
}

// log(1 + y) for y in [0, 1]. s (y - R), at most 0.45 of it, is off by 4.7 u: with the rounding of
// the difference that is 4 u.
constexpr double kLog1pRoundings = 4;
template <class T>
HINGE_ANYWHERE inline T log1p_of_share(T y) {
  const T s = y / (2.0 + y), x = s * s, x2 = x * x, x4 = x2 * x2;
  const T low = (0x1.5555555555555p-1 + x * 0x1.999999999a3ddp-2) +
                x2 * (0x1.24924923d4483p-2 + x * 0x1.c71c7271467b3p-3);
  const T middle = (0x1.745cf0b03ada4p-3 + x * 0x1.3b18b2a6e1b59p-3) +
                   x2 * (0x1.10ac74b2e93fep-3 + x * 0x1.eb9074a16ed6ap-4);
  const T high = 0x1.6879fd8722f84p-4 + x * 0x1.4b0a9e911b05cp-3;
  return y - s * (y - x * ((low + x4 * middle) + (x4 * x4) * high));
}

// log(1 + y) for y > -1; not where 1 + y is subnormal. What 1 + y loses to rounding is added.
template <class T>
HINGE_ANYWHERE inline T log1p(T y) {
  const T whole = 1.0 + y;
  return log(whole) + (y - (whole - 1.0)) / whole;
}

}  // namespace hinge::elementary

#pragma GCC diagnostic pop
