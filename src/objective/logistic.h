// The logistic loss (loss.h says what every member is).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "hinge/loss.h"
#include "objective/margins.h"
#include "simd/elementary.h"

// How vectors would be handed over in calls does not matter: nothing here is called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge {

// l(z) = log(1 + e^-z), l*(-a) = a log a + (1 - a) log(1 - a) for 0 <= a <= 1
//
// Its slope is -s(-z), s(t) = 1/(1 + e^-t) being the logistic function, whose inverse is
// log(a/(1 - a)): the slope of l*(-a), infinite at 0 and 1. A variable at a bound is taken to be as
// near to it as doubles are, so that everything is finite there.
struct Logistic : FallingLoss<0> {
  static constexpr LossKind kKind = LossKind::logistic;
  static constexpr std::string_view kName = "logistic";

  static constexpr double kHighest = 1;
  static constexpr bool kSmooth = true;
  static constexpr bool kLinearGain = false;
  static constexpr bool kQuadraticGain = false;
  static constexpr bool kSlopesEverywhere = true;
  static constexpr std::array<double, 0> kJumps = {};
  static constexpr std::array<double, 0> breakpoints() { return {}; }
  static constexpr double kLastSlope = 0;

  // Nothing overflows: e^-|z| is at most 1.
  template <class T>
  HINGE_ANYWHERE static inline T value(T z) {
    return positive(-z) + elementary::log1p_of_share(elementary::exp(-size(z)));
  }
  // -l'(z): the best share at a margin.
  template <class T>
  HINGE_ANYWHERE static inline T share(T z) {
    const T zero = {}, e = elementary::exp(-size(z)), larger = 1.0 / (1.0 + e);
    return z > zero ? e * larger : larger;
  }
  HINGE_ANYWHERE static inline double slope(double z) { return -share(z); }
  template <class T>
  HINGE_ANYWHERE static inline T curvature(T z) {
    const T e = elementary::exp(-size(z)), larger = 1.0 / (1.0 + e);
    return (e * larger) * larger;
  }
  // That of the margin whose best share is a.
  template <class T>
  HINGE_ANYWHERE static inline T curvature_of_share(T a) {
    return a * (1.0 - a);
  }
  HINGE_ANYWHERE static inline bool inside(double /*z*/) { return true; }

  template <class T>
  HINGE_ANYWHERE static inline T value_by_gradient(T gradient) {
    return value(gradient);
  }

  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    return upper;
  }
  HINGE_ANYWHERE static inline double conjugate(double a) {
    return a >= 0 && a <= 1 ? -dual_gain(a, 1.0) : std::numeric_limits<double>::infinity();
  }
  // U times the entropy of alpha/U, by the smaller of alpha and U - alpha.
  template <class T>
  HINGE_ANYWHERE static inline T dual_gain(T alpha, T upper) {
    const T rest = upper - alpha, small = alpha < rest ? alpha : rest;
    const T share = at_least(small / at_least(upper));
    return -(small * elementary::log(share) + (upper - small) * elementary::log1p(-share));
  }
  template <class T>
  HINGE_ANYWHERE static inline T full_gradient(T gradient, T alpha, T upper) {
    return gradient + log_odds(alpha, upper);
  }
  HINGE_ANYWHERE static inline double dual_curvature(double alpha, double upper) {
    return 1 / at_least(alpha) + 1 / rest_of(alpha, upper);
  }
  template <class T>
  HINGE_ANYWHERE static inline T lower_bound(T alpha, T upper, T z) {
    return dual_gain(alpha, upper) - alpha * z;
  }
  // U times the relative entropy of alpha/U and the best share. Where these are near each other,
  // which is where the full gradient g is small, that is the logarithm of the mean of e^-g t over t
  // in {0, 1} with mean a = alpha/U, and a g: a sum over cumulants of t from the second on.
  template <class T>
  HINGE_ANYWHERE static inline T gap(T gradient, T alpha, T upper) {
    constexpr double kNear = 0.125;
    const T full = full_gradient(gradient, alpha, upper);
    const auto near = [&]() -> T {
      const T a = alpha / at_least(upper), v = a * (1.0 - a), skew = 1.0 - 2.0 * a;
      const T g2 = full * full;
      const T even = 0.5 + g2 * ((1.0 - 6.0 * v) * (1.0 / 24) +
                                 g2 * ((1.0 - v * (30.0 - 120.0 * v)) * (1.0 / 720)));
      const T odd = 1.0 / 6 + g2 * ((1.0 - 12.0 * v) * (1.0 / 120));
      return upper * (v * (g2 * (even - full * (skew * odd))));
    };
    const auto at_zero = [&]() -> T { return upper * value(gradient); };
    const auto far = [&]() -> T {
      return positive(at_zero() - lower_bound(alpha, upper, gradient));
    };
    if constexpr (std::is_same_v<T, double>) {
      return size(full) < kNear ? near() : alpha == 0 ? at_zero() : far();
    } else {
      const T zero = {}, bound = zero + kNear;
      const T rest = alpha == zero ? at_zero() : far();
      return size(full) < bound ? near() : rest;
    }
  }
  // Of x, the smaller of alpha and U - alpha where that is going to be the smaller one, the slope
  // is h = z + q (x' - x) + t with x' = U s(t): rising and convex in t <= 0. Halley's method in t,
  // or where that would go too far Newton's, needs an exponential a trial, and never leaves the
  // range. `fine`: of t, the last trial, which leaves less than half of its third power.
  static constexpr double kFine = 0.02, kRough = 0.5;
  HINGE_ANYWHERE static inline double dual_step(double alpha, double upper, double gradient,
                                                double square, double stride = 1,
                                                double fine = kFine) {
    constexpr int kTrials = 100;
    if (!(upper >= elementary::kLeastNormal)) return alpha;
    const bool above = gradient + square * (upper / 2 - alpha) < 0;
    const double x = above ? upper - alpha : alpha, z = above ? -gradient : gradient;
    const double curvature = square * upper, odds = log_odds(alpha, upper);
    double share = x / upper, t = 0;
    if (!(x > 0)) {
      t = -positive(z);
      share = share_of(t);
    } else if (share > 0.5) {
      share = 0.5;
    } else {
      t = above ? -odds : odds;
    }
    for (int trial = 0; trial < kTrials; ++trial) {
      const double bent = curvature * (share * (1 - share)), rise = 1 + bent;
      const double step = (z + square * (upper * share - x) + t) / rise;
      const double back = step * (bent * (1 - 2 * share) / rise) / 2;
      const double before = t;
      t -= back < 0.5 ? step / (1 - back) : step;
      t = t < 0 ? t : 0.0;
      share = share_of(t);
      if (!(std::abs(t - before) > fine)) break;
    }
    const double found = upper * share, to = above ? upper - found : found;
    if (stride == 1) return to;
    // Not farther than half of what is left from there to a bound.
    const double there = alpha + stride * (to - alpha);
    if (stride < 1) return there;
    const double least = to / 2, most = to + (upper - to) / 2;
    return there < least ? least : there > most ? most : there;
  }

  struct Enclosure {
    double most = 0, doubt = 0;
  };
  // The exponential, its logarithm, which passes on no more than the error of that, their sum with
  // the positive part, and three to spare.
  static constexpr double kRoundings = elementary::kExpRoundings + elementary::kLog1pRoundings + 4;
  static inline Enclosure enclose(double slack_of_row, double off) {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    const double high = std::nextafter(slack_of_row + off, kMost);
    // Where the exponential would underflow what it is there is more than enough.
    if (high < elementary::kLeastExponent + 1) return {kFarBeyond, kFarBeyond};
    const double low = std::nextafter(slack_of_row - off, -kMost);
    const double most = value(-high), least = low < elementary::kLeastExponent ? 0.0 : value(-low);
    return {most, most > least ? (most - least) / 2 : 0.0 * most};
  }

  struct Gain {
    double more = 0, less = 0;
  };
  // Of p, the smaller of alpha/U and 1 - alpha/U, one; its logarithm passes on 1.5 times that. The
  // one of 1 - p doubles its own where that is near 1, and has two more; and there are two
  // products, the difference U - alpha and the sum, and two to spare.
  static constexpr double kGainRoundings = 2 * elementary::kLogRoundings + 10;
  static inline Gain enclose_gain(double alpha, double upper) {
    const double rest = upper - alpha, small = alpha < rest ? alpha : rest;
    // A bound may leave out what a cost so small can gain, which is next to nothing.
    if (!(small > 0) || upper < elementary::kLeastNormal) return {};
    const double share = small / upper;
    constexpr double kUp = 0x1p600, kLogOfUp = 415.88830833596718565;  // for what would underflow
    const double log_of_share =
        share > 1 / kUp ? elementary::log(share)
                        : elementary::log(small * kUp) - (kLogOfUp + elementary::log(upper));
    return {-(small * log_of_share + (upper - small) * elementary::log1p(-share)), 0};
  }

 private:
  static constexpr double kFarBeyond = 0x1p-1019;  // more than e^(kLeastExponent + 1)

  template <class T>
  HINGE_ANYWHERE static inline T size(T x) {
    const T zero = {};
    return x < zero ? -x : x;
  }
  // x, or what keeps logarithms and quotients finite.
  template <class T>
  HINGE_ANYWHERE static inline T at_least(T x) {
    const T least = T{} + elementary::kLeastNormal;
    return x > least ? x : least;
  }
  // U - alpha, or of a variable at its bound a rounding of that.
  template <class T>
  HINGE_ANYWHERE static inline T rest_of(T alpha, T upper) {
    const T rest = upper - alpha, least = at_least(upper * 0x1p-53);
    return rest > least ? rest : least;
  }
  // log(alpha / (U - alpha)), between -708 and 37
  template <class T>
  HINGE_ANYWHERE static inline T log_odds(T alpha, T upper) {
    return elementary::log(at_least(at_least(alpha) / rest_of(alpha, upper)));
  }
  // s(t) of t <= 0
  HINGE_ANYWHERE static inline double share_of(double t) {
    const double e = elementary::exp(t);
    return e / (1 + e);
  }
};

}  // namespace hinge

#pragma GCC diagnostic pop
