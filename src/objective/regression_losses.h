// The losses of regression (loss.h says what a loss is): of z = <w, x> - t, by how much a score
// misses the target t of its row. Up to epsilon, either way, that costs nothing. Their conjugates
// are bent at 0, inside the range of a share: epsilon |a| is part of each.
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include "hinge/loss.h"
#include "objective/margins.h"
#include "simd/anywhere.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge {

// What they have in common.
struct TwoSidedLoss : MarginsAbout<0> {
  static constexpr bool kLinearGain = false;
  static constexpr bool kQuadraticGain = true;  // on either side of 0
  static constexpr bool kSlopesEverywhere = false;
  static constexpr bool kRegression = true, kKinked = true;

  double epsilon = 0;

 protected:
  template <class T>
  HINGE_ANYWHERE static inline T larger(T a, T b) {
    return a > b ? a : b;
  }
  template <class T>
  HINGE_ANYWHERE static inline T smaller(T a, T b) {
    return a < b ? a : b;
  }
  template <class T>
  HINGE_ANYWHERE static inline T size(T x) {
    return larger(x, -x);
  }
  // How far z is outside, where nothing is lost.
  template <class T>
  HINGE_ANYWHERE inline T beyond(T z) const {
    const T zero = {};
    return larger(zero, size(z) - epsilon);
  }
  // The slope of epsilon |alpha|; at 0 from the right, or from the left.
  template <class T>
  HINGE_ANYWHERE inline T kink(T alpha) const {
    const T zero = {}, width = zero + epsilon;
    return alpha < zero ? -width : width;
  }
  template <class T>
  HINGE_ANYWHERE inline T left_kink(T alpha) const {
    const T zero = {}, width = zero + epsilon;
    return alpha > zero ? width : -width;
  }
  // The best share or variable, of which above 0 one is best and below 0 another; never does the
  // first lie above the other.
  template <class T>
  HINGE_ANYWHERE static inline T best_of(T above, T below) {
    const T zero = {}, negative = below < zero ? below : zero;
    return above > zero ? above : negative;
  }
  // This is the most that a row lies outside, whose slack is known to `off`. What is no number
  // stays none.
  double most_beyond(double slack_of_row, double off) const {
    const double outside = size(slack_of_row) - epsilon;
    if (outside < -2 * off) return 0;
    return outside <= 0 ? off : outside + off;
  }
};

// l(z) = max(0, |z| - epsilon), l*(-a) = epsilon |a| for |a| <= 1
struct EpsilonInsensitive : TwoSidedLoss {
  static constexpr LossKind kKind = LossKind::epsilon_insensitive;
  static constexpr std::string_view kName = "epsilon_insensitive";

  static constexpr double kLowest = -1, kHighest = 1;
  static constexpr bool kSmooth = false;
  static constexpr std::array<double, 2> kJumps = {1, 1};
  static constexpr double kLastSlope = 1;
  HINGE_ANYWHERE inline std::array<double, 2> breakpoints() const { return {-epsilon, epsilon}; }

  template <class T>
  HINGE_ANYWHERE inline T value(T z) const {
    return beyond(z);
  }
  HINGE_ANYWHERE inline double slope(double z) const {
    const double right = z < epsilon ? 0.0 : 1.0;
    return z < -epsilon ? -1.0 : right;
  }
  HINGE_ANYWHERE static inline double curvature(double /*z*/) { return 0; }
  HINGE_ANYWHERE inline bool inside(double z) const { return slope(z) != 0; }
  template <class T>
  HINGE_ANYWHERE inline T value_by_gradient(T gradient) const {
    return beyond(gradient);
  }

  template <class T>
  HINGE_ANYWHERE static inline T lowest(T upper) {
    return -upper;
  }
  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    return upper;
  }
  HINGE_ANYWHERE inline double conjugate(double a) const {
    return size(a) <= 1 ? epsilon * size(a) : std::numeric_limits<double>::infinity();
  }
  template <class T>
  HINGE_ANYWHERE inline T dual_gain(T alpha, T /*upper*/ = {}) const {
    return -epsilon * size(alpha);
  }
  template <class T>
  HINGE_ANYWHERE inline T full_gradient(T gradient, T alpha, T /*upper*/) const {
    return gradient + kink(alpha);
  }
  template <class T>
  HINGE_ANYWHERE inline T left_gradient(T gradient, T alpha, T /*upper*/) const {
    return gradient + left_kink(alpha);
  }
  HINGE_ANYWHERE static inline double dual_curvature(double /*alpha*/, double /*upper*/) {
    return 0;
  }
  template <class T>
  HINGE_ANYWHERE inline T lower_bound(T alpha, T upper, T z) const {
    return dual_gain(alpha, upper) - alpha * z;
  }
  // (U - |alpha|) l(z) + |alpha| max(epsilon, |z|) + alpha z
  template <class T>
  HINGE_ANYWHERE inline T gap(T gradient, T alpha, T upper) const {
    const T zero = {}, width = zero + epsilon;
    return (upper - size(alpha)) * beyond(gradient) +
           (size(alpha) * larger(width, size(gradient)) + alpha * gradient);
  }
  HINGE_ANYWHERE inline double dual_step(double alpha, double upper, double gradient, double square,
                                         double stride = 1) const {
    const double to = best_of(alpha - stride * ((gradient + epsilon) / square),
                              alpha - stride * ((gradient - epsilon) / square));
    return larger(-upper, smaller(upper, to));
  }
  template <class T>
  HINGE_ANYWHERE inline T prox(T centre, T z, double steepness) const {
    const T zero = {}, one = zero + 1.0;
    const T to = best_of(centre - steepness * (z + epsilon), centre - steepness * (z - epsilon));
    return larger(-one, smaller(one, to));
  }
  HINGE_ANYWHERE static inline double prox_slope(double steepness) { return steepness; }

  struct Enclosure {
    double most = 0, doubt = 0;
  };
  static constexpr double kRoundings = 2;
  inline Enclosure enclose(double slack_of_row, double off) const {
    const double most = most_beyond(slack_of_row, off);
    if (most == 0) return {};
    return {most, most < off ? most : off};
  }
  struct Gain {
    double more = 0, less = 0;
  };
  static constexpr double kGainRoundings = 1;
  inline Gain enclose_gain(double alpha, double /*upper*/) const {
    return {0, epsilon * size(alpha)};
  }
};

// l(z) = max(0, |z| - epsilon)^2, l*(-a) = epsilon |a| + a^2/4
struct SquaredEpsilon : TwoSidedLoss {
  static constexpr LossKind kKind = LossKind::squared_epsilon;
  static constexpr std::string_view kName = "squared_epsilon";

  static constexpr double kHighest = std::numeric_limits<double>::infinity(), kLowest = -kHighest;
  static constexpr bool kSmooth = true;
  static constexpr std::array<double, 0> kJumps = {};
  static constexpr double kLastSlope = 0;
  static constexpr std::array<double, 0> breakpoints() { return {}; }

  template <class T>
  HINGE_ANYWHERE inline T value(T z) const {
    const T outside = beyond(z);
    return outside * outside;
  }
  HINGE_ANYWHERE inline double slope(double z) const {
    return z < 0 ? -2 * beyond(z) : 2 * beyond(z);
  }
  template <class T>
  HINGE_ANYWHERE inline T share(T z) const {
    return 2.0 * best_of(-z - epsilon, epsilon - z);
  }
  template <class T>
  HINGE_ANYWHERE inline T curvature(T z) const {
    const T zero = {}, two = zero + 2.0;
    return beyond(z) > zero ? two : zero;
  }
  // That of the margin whose best share is a.
  template <class T>
  HINGE_ANYWHERE static inline T curvature_of_share(T a) {
    const T zero = {}, two = zero + 2.0;
    return a != zero ? two : zero;
  }
  HINGE_ANYWHERE inline bool inside(double z) const { return beyond(z) > 0; }
  template <class T>
  HINGE_ANYWHERE inline T value_by_gradient(T gradient) const {
    return value(gradient);
  }

  // A row that costs nothing has a variable of 0.
  template <class T>
  HINGE_ANYWHERE static inline T lowest(T upper) {
    return -highest(upper);
  }
  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    const T zero = {}, any = zero + kHighest;
    return upper > zero ? any : zero;
  }
  HINGE_ANYWHERE inline double conjugate(double a) const {
    return size(a) * (epsilon + size(a) / 4);
  }
  template <class T>
  HINGE_ANYWHERE inline T dual_gain(T alpha, T upper) const {
    return -(size(alpha) * (epsilon + size(alpha) * (bend(upper) * 0.5)));
  }
  template <class T>
  HINGE_ANYWHERE inline T full_gradient(T gradient, T alpha, T upper) const {
    return (gradient + alpha * bend(upper)) + kink(alpha);
  }
  template <class T>
  HINGE_ANYWHERE inline T left_gradient(T gradient, T alpha, T upper) const {
    return (gradient + alpha * bend(upper)) + left_kink(alpha);
  }
  HINGE_ANYWHERE static inline double dual_curvature(double /*alpha*/, double upper) {
    return bend(upper);
  }
  template <class T>
  HINGE_ANYWHERE inline T lower_bound(T alpha, T upper, T z) const {
    return dual_gain(alpha, upper) - alpha * z;
  }
  // U (beyond - |alpha|/2U)^2 + |alpha| max(epsilon, |z|) + alpha z
  template <class T>
  HINGE_ANYWHERE inline T gap(T gradient, T alpha, T upper) const {
    const T zero = {}, width = zero + epsilon;
    const T off = beyond(gradient) - size(alpha) * bend(upper);
    return upper * (off * off) + (size(alpha) * larger(width, size(gradient)) + alpha * gradient);
  }
  HINGE_ANYWHERE inline double dual_step(double alpha, double upper, double gradient, double square,
                                         double stride = 1) const {
    const double bent = bend(upper), slope_at_alpha = gradient + alpha * bent;
    return best_of(alpha - stride * ((slope_at_alpha + epsilon) / (square + bent)),
                   alpha - stride * ((slope_at_alpha - epsilon) / (square + bent)));
  }
  struct Enclosure {
    double most = 0, doubt = 0;
  };
  // The difference, the sum, their square, and one to spare.
  static constexpr double kRoundings = 6;
  inline Enclosure enclose(double slack_of_row, double off) const {
    const double most = most_beyond(slack_of_row, off);
    if (most == 0) return {};
    const double square = most * most, least = larger(0.0, most - 2 * off);
    // What underflows is still more than 0.
    if (square < kLeast) return {kLeast, kLeast};
    return {square, (square - least * least) / 2};
  }
  struct Gain {
    double more = 0, less = 0;
  };
  static constexpr double kGainRoundings = 3;
  inline Gain enclose_gain(double alpha, double upper) const {
    if (alpha == 0) return {};
    const double quarter = size(alpha) / 4 / upper;  // which may underflow
    return {0, size(alpha) * (epsilon + larger(quarter, kLeast))};
  }

 private:
  static constexpr double kLeast = std::numeric_limits<double>::min();

  // 1/2U: by how much the slope along alpha rises with it. Nothing is divided by 0.
  template <class T>
  HINGE_ANYWHERE static inline T bend(T upper) {
    const T least = T{} + kLeast;
    return 0.5 / larger(upper, least);
  }
};

}  // namespace hinge

#pragma GCC diagnostic pop
