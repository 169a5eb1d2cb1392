// A loss that hinge does not have, to show that the contract of losses is one for others, too: two
// breakpoints, shares below 0.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "objective/loss.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge::testing {

// The larger and the smaller of two numbers, or of each element of two vectors.
template <class T>
HINGE_ANYWHERE inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
HINGE_ANYWHERE inline T smaller(T a, T b) {
  return a < b ? a : b;
}

// l(z) = max(0, |z| - 1/2), l*(-a) = |a|/2 for |a| <= 1: of regression, where z is by how much a
// score misses.
struct TwoSided {
  static constexpr double kHalf = 0.5;
  static constexpr double kLowest = -1, kHighest = 1;
  static constexpr double kCorner = 0;
  static constexpr bool kSmooth = false;
  static constexpr bool kLinearGain = false;
  static constexpr bool kQuadraticGain = true;  // on either side of 0
  static constexpr bool kSlopesEverywhere = false;
  static constexpr std::array<double, 2> kJumps = {1, 1};
  static constexpr std::array<double, 2> breakpoints() { return {-kHalf, kHalf}; }
  static constexpr double kLastSlope = 1;

  template <class T>
  HINGE_ANYWHERE static inline T value(T z) {
    return larger(T{}, larger(z, -z) - kHalf);
  }
  HINGE_ANYWHERE static inline double slope(double z) {
    return z < -kHalf ? -1 : z < kHalf ? 0 : 1;
  }
  HINGE_ANYWHERE static inline double curvature(double /*z*/) { return 0; }
  HINGE_ANYWHERE static inline bool inside(double z) { return slope(z) != 0; }
  template <class T>
  HINGE_ANYWHERE static inline T slack(T z) {
    return kCorner - z;
  }
  template <class T>
  HINGE_ANYWHERE static inline T dual_gradient(T z) {
    return z - kCorner;
  }
  template <class T>
  HINGE_ANYWHERE static inline T margin_of(T gradient) {
    return gradient + kCorner;
  }
  template <class T>
  HINGE_ANYWHERE static inline T value_by_gradient(T gradient) {
    return value(gradient);
  }
  template <class T>
  HINGE_ANYWHERE static inline T lowest(T upper) {
    return -upper;
  }
  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    return upper;
  }
  HINGE_ANYWHERE static inline double conjugate(double a) {
    return a >= kLowest && a <= kHighest ? kHalf * std::abs(a)
                                         : std::numeric_limits<double>::infinity();
  }
  template <class T>
  HINGE_ANYWHERE static inline T dual_gain(T alpha, T /*upper*/ = {}) {
    return -kHalf * larger(alpha, -alpha);
  }
  template <class T>
  HINGE_ANYWHERE static inline T full_gradient(T gradient, T alpha, T /*upper*/) {
    const T zero = {}, half = zero + kHalf;
    return gradient + (alpha < zero ? -half : half);
  }
  HINGE_ANYWHERE static inline double dual_curvature(double /*alpha*/, double /*upper*/) {
    return 0;
  }
  template <class T>
  HINGE_ANYWHERE static inline T lower_bound(T alpha, T upper, T z) {
    return dual_gain(alpha, upper) - alpha * z;
  }
  template <class T>
  HINGE_ANYWHERE static inline T gap(T gradient, T alpha, T upper) {
    return upper * value_by_gradient(gradient) - lower_bound(alpha, upper, gradient);
  }
  HINGE_ANYWHERE static inline double dual_step(double alpha, double upper, double gradient,
                                                double square, double stride = 1) {
    // Where no width counts alpha would go to `free`; with it, that much less, but not through 0.
    const double free = alpha - gradient / square, width = kHalf / square;
    const double best = free > width ? free - width : free < -width ? free + width : 0;
    return larger(-upper, smaller(upper, alpha + stride * (best - alpha)));
  }
  template <class T>
  HINGE_ANYWHERE static inline T prox(T centre, T z, double steepness) {
    const T zero = {}, one = zero + 1.0;
    const T free = centre - steepness * z, width = zero + kHalf * steepness;
    T share = free > width ? free - width : zero;
    share = free < -width ? free + width : share;
    return larger(-one, smaller(one, share));
  }
  HINGE_ANYWHERE static inline double prox_slope(double steepness) { return steepness; }
  struct Enclosure {
    double most = 0, doubt = 0;
  };
  static constexpr double kRoundings = 2;
  static inline Enclosure enclose(double slack_of_row, double off) {
    const double most = std::abs(slack_of_row) - kHalf + off;
    if (most <= 0) return {};
    return {most, off};
  }
  struct Gain {
    double more = 0, less = 0;
  };
  static constexpr double kGainRoundings = 1;
  static inline Gain enclose_gain(double alpha, double /*upper*/) {
    return {0, kHalf * std::abs(alpha)};
  }
};

}  // namespace hinge::testing

#pragma GCC diagnostic pop
