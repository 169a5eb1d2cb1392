// What a row costs: a loss l(z) of its margin z = y <w, x>, convex, and everything that solvers,
// line searches and certificates ask of it. A loss is one struct of formulas, for the host and for
// devices; nobody else writes them out. It may have numbers of its own, so formulas are asked of an
// object (visit_loss(), make_loss()); constants and ranges are those of its type.
// tests/objective/loss_test.cc holds each of them to what is said here.
//
//   P(w) = 1/2 |w|^2 + sum_i U_i l(z_i),     D(alpha) = sum_i -U_i l*(-a_i) - 1/2 |v|^2,
//   v = sum_i alpha_i y_i x_i,               alpha_i = U_i a_i,  l*(-a) = sup_z (-a z - l(z))
//
// a_i is the share of a dual variable in U_i, between kLowest and kHighest, which may be infinite;
// outside l*(-a) is. The best share at a margin is -l'(z).
//
// Margins are kept by what they differ from kCorner, near which they mostly are: a difference has
// less rounding than two margins. The gradient of a row is z - kCorner, its slack kCorner - z.
//
// Where rows have targets (kRegression) y is +1, and z = <w, x> - t is by how much a score misses
// its target: D has sum_i alpha_i t_i besides, and a gradient is <w, x> - t. Formulas see z alone.
//
// Loops are filled up with rows of U = 0 and alpha = 0, of which every formula is finite.
//
// Functions of an argument type T take doubles, or vectors of doubles (simd/lanes.h) of which every
// element is computed for itself; both give the same bits.
//
// To add a loss: ARCHITECTURE.md has the steps.
#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <type_traits>

#include "hinge/loss.h"
#include "objective/logistic.h"
#include "objective/margins.h"
#include "objective/regression_losses.h"
#include "simd/anywhere.h"

// How vectors would be handed over in calls does not matter: nothing here is called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge {

// l(z) = max(0, 1 - z)
struct Hinge : FallingLoss<1> {
  static constexpr LossKind kKind = LossKind::hinge;
  static constexpr std::string_view kName = "hinge";

  // ---- Its shape.

  static constexpr double kHighest = 1;             // of a share; kLowest and kCorner: margins.h
  static constexpr bool kSmooth = false;            // whether slope() has no jumps
  static constexpr bool kLinearGain = true;         // whether dual_gain() is alpha itself
  static constexpr bool kQuadraticGain = true;      // or at most a quadratic of alpha
  static constexpr bool kSlopesEverywhere = false;  // whether l' < 0 everywhere, and l(z) >= -z
  // Of others kRegression says that margins are <w, x> - t, and kKinked that l* has a kink inside,
  // at a = 0.
  // A loss of straight pieces is, but for a constant,
  //   kLastSlope z + sum_k kJumps[k] max(0, breakpoints()[k] - z):
  // its slope jumps by kJumps[k] at breakpoints()[k], and is kLastSlope beyond the last of them.
  static constexpr std::array<double, 1> kJumps = {1.0};
  static constexpr std::array<double, 1> breakpoints() { return {1.0}; }
  static constexpr double kLastSlope = 0;

  // ---- The loss of a margin.

  // l(z)
  template <class T>
  HINGE_ANYWHERE static inline T value(T z) {
    return positive(slack(z));
  }
  // l'(z); from the right where it jumps.
  HINGE_ANYWHERE static inline double slope(double z) { return inside(z) ? -1.0 : 0.0; }
  // l''(z), where there is one.
  HINGE_ANYWHERE static inline double curvature(double /*z*/) { return 0; }
  // Whether l'(z) is not 0: then the row has a part in the gradient of P.
  HINGE_ANYWHERE static inline bool inside(double z) { return z < kCorner; }

  // ---- Margins as they are kept: besides slack(z), dual_gradient(z) and margin_of(gradient).

  // l(z), without the rounding of z.
  template <class T>
  HINGE_ANYWHERE static inline T value_by_gradient(T gradient) {
    return positive(-gradient);
  }

  // ---- The dual of one row.

  // The largest alpha = upper a; lowest(upper) is the least.
  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    return upper;
  }
  // l*(-a); infinite outside the range of a.
  HINGE_ANYWHERE static inline double conjugate(double a) {
    return a >= kLowest && a <= kHighest ? -a : std::numeric_limits<double>::infinity();
  }
  // What alpha inside its range adds to D besides its part in -1/2 |v|^2: -U l*(-alpha/U).
  template <class T>
  HINGE_ANYWHERE static inline T dual_gain(T alpha, T /*upper*/ = {}) {
    return alpha;
  }
  // The slope of the (minimised) dual along alpha: the gradient, and what l* is bent there. Where
  // that has a kink it is the slope to the right, and left_gradient() is that to the left.
  template <class T>
  HINGE_ANYWHERE static inline T full_gradient(T gradient, T /*alpha*/, T /*upper*/) {
    return gradient;
  }
  // That slope rises so much with alpha for what l* is bent; 0 where dual_gain() is linear.
  HINGE_ANYWHERE static inline double dual_curvature(double /*alpha*/, double /*upper*/) {
    return 0;
  }
  // What alpha says of U l(z), at most that much: -U l*(-alpha/U) - alpha z.
  template <class T>
  HINGE_ANYWHERE static inline T lower_bound(T alpha, T /*upper*/, T z) {
    return alpha * slack(z);
  }
  // U l(z) less that: the row's part in P(w) - D(alpha) where w = v. It is not negative.
  template <class T>
  HINGE_ANYWHERE static inline T gap(T gradient, T alpha, T upper) {
    return upper * value_by_gradient(gradient) + alpha * gradient;
  }
  // Where alpha is best for a row of square `square` > 0 while all others stay, inside its range;
  // or `stride` times as far, but for the bounds.
  HINGE_ANYWHERE static inline double dual_step(double alpha, double upper, double gradient,
                                                double square, double stride = 1) {
    const double to = alpha - stride * gradient / square;
    const double below = to < upper ? to : upper;
    return below > 0 ? below : 0.0;
  }
  // The share a that maximises -l*(-a) - a z - (a - centre)^2 / (2 steepness): the prox of the
  // conjugate, by which a smoothed loss has its slope (solve/newton). centre is inside the range.
  // Smooth losses have no need of it, and have share(z) in its place, the best share at a margin,
  // -l'(z), and curvature_of_share(a), which is l'' there; these and curvature(z) take vectors,
  // too.
  template <class T>
  HINGE_ANYWHERE static inline T prox(T centre, T z, double steepness) {
    const T zero = {}, one = zero + 1.0;
    T share = centre + steepness * slack(z);
    share = share < zero ? zero : share;
    return share > one ? one : share;
  }
  // The share falls so much with z while it is inside the range.
  HINGE_ANYWHERE static inline double prox_slope(double steepness) { return steepness; }

  // ---- Rounding outwards (proof/).

  // l(z) where the slack of z is known to `off`: at most `most`, at least most - 2 doubt, in real
  // arithmetic but for kRoundings roundings of `most`. What is no number stays none.
  struct Enclosure {
    double most = 0, doubt = 0;
  };
  static constexpr double kRoundings = 1;
  static inline Enclosure enclose(double slack_of_row, double off) {
    const double most = slack_of_row + off;
    if (most <= 0) return {};
    return {most, off};
  }
  // dual_gain() as `more` - `less`, neither of which is negative nor off by more than
  // kGainRoundings roundings.
  struct Gain {
    double more = 0, less = 0;
  };
  static constexpr double kGainRoundings = 0;
  static inline Gain enclose_gain(double alpha, double /*upper*/) { return {alpha, 0}; }
};

// l(z) = max(0, 1 - z)^2, l*(-a) = a^2/4 - a for a >= 0
struct SquaredHinge : FallingLoss<1> {
  static constexpr LossKind kKind = LossKind::squared_hinge;
  static constexpr std::string_view kName = "squared_hinge";

  static constexpr double kHighest = std::numeric_limits<double>::infinity();
  static constexpr bool kSmooth = true;
  static constexpr bool kLinearGain = false;
  static constexpr bool kQuadraticGain = true;
  static constexpr bool kSlopesEverywhere = false;
  static constexpr std::array<double, 0> kJumps = {};
  static constexpr std::array<double, 0> breakpoints() { return {}; }
  static constexpr double kLastSlope = 0;

  template <class T>
  HINGE_ANYWHERE static inline T value(T z) {
    const T lacking = positive(slack(z));
    return lacking * lacking;
  }
  HINGE_ANYWHERE static inline double slope(double z) { return z < kCorner ? -2 * slack(z) : 0.0; }
  // -l'(z): the best share at a margin.
  template <class T>
  HINGE_ANYWHERE static inline T share(T z) {
    return 2.0 * positive(slack(z));
  }
  template <class T>
  HINGE_ANYWHERE static inline T curvature(T z) {
    const T zero = {}, corner = zero + kCorner, two = zero + 2.0;
    return z < corner ? two : zero;
  }
  // That of the margin whose best share is a.
  template <class T>
  HINGE_ANYWHERE static inline T curvature_of_share(T a) {
    const T zero = {}, two = zero + 2.0;
    return a != zero ? two : zero;
  }
  HINGE_ANYWHERE static inline bool inside(double z) { return z < kCorner; }

  template <class T>
  HINGE_ANYWHERE static inline T value_by_gradient(T gradient) {
    const T lacking = positive(-gradient);
    return lacking * lacking;
  }

  // A row that costs nothing has a variable of 0.
  template <class T>
  HINGE_ANYWHERE static inline T highest(T upper) {
    const T zero = {}, any = zero + kHighest;
    return upper > zero ? any : zero;
  }
  HINGE_ANYWHERE static inline double conjugate(double a) {
    return a >= 0 ? a * (a / 4 - 1) : kHighest;
  }
  template <class T>
  HINGE_ANYWHERE static inline T dual_gain(T alpha, T upper) {
    return alpha - alpha * alpha * (bend(upper) * 0.5);
  }
  template <class T>
  HINGE_ANYWHERE static inline T full_gradient(T gradient, T alpha, T upper) {
    return gradient + alpha * bend(upper);
  }
  HINGE_ANYWHERE static inline double dual_curvature(double /*alpha*/, double upper) {
    return bend(upper);
  }
  template <class T>
  HINGE_ANYWHERE static inline T lower_bound(T alpha, T upper, T z) {
    return dual_gain(alpha, upper) - alpha * z;
  }
  // U (max(0, -g) - alpha/2U)^2 + alpha max(0, g)
  template <class T>
  HINGE_ANYWHERE static inline T gap(T gradient, T alpha, T upper) {
    const T off = positive(-gradient) - alpha * bend(upper);
    return upper * (off * off) + alpha * positive(gradient);
  }
  HINGE_ANYWHERE static inline double dual_step(double alpha, double upper, double gradient,
                                                double square, double stride = 1) {
    const double bent = bend(upper);
    const double to = alpha - stride * ((gradient + alpha * bent) / (square + bent));
    return to > 0 ? to : 0.0;
  }
  struct Enclosure {
    double most = 0, doubt = 0;
  };
  // The sum, its square, and one to spare.
  static constexpr double kRoundings = 4;
  static inline Enclosure enclose(double slack_of_row, double off) {
    const double most = slack_of_row + off, least = positive(slack_of_row - off);
    if (most <= 0) return {};
    const double square = most * most;
    // What underflows is still more than 0.
    if (square < kLeast) return {kLeast, kLeast};
    return {square, (square - least * least) / 2};
  }

  struct Gain {
    double more = 0, less = 0;
  };
  static constexpr double kGainRoundings = 3;
  static inline Gain enclose_gain(double alpha, double upper) {
    if (alpha == 0) return {};
    const double quarter = alpha / 4 / upper;  // which may underflow
    return {alpha, alpha * (quarter < kLeast ? kLeast : quarter)};
  }

 private:
  static constexpr double kLeast = std::numeric_limits<double>::min();

  // 1/2U: by how much the slope along alpha rises with it. Nothing is divided by 0.
  template <class T>
  HINGE_ANYWHERE static inline T bend(T upper) {
    const T least = T{} + kLeast;
    return 0.5 / (upper > least ? upper : least);
  }
};

// What alpha adds to D besides its part in -1/2 |v|^2 rises so much with alpha.
template <class Loss>
HINGE_ANYWHERE inline double gain_slope(const Loss& loss, double alpha, double upper) {
  return -loss.full_gradient(-Loss::kCorner, alpha, upper);
}

// A loss by its kind and the numbers that are its state.
struct LossChoice {
  LossKind kind = LossKind::hinge;
  double epsilon = 0;

  constexpr LossChoice(LossKind of = LossKind::hinge, double width = 0)
      : kind(of), epsilon(width) {}
  bool operator==(const LossChoice&) const = default;
};

// The loss of this type with the numbers chosen, if it has any.
template <class Loss>
HINGE_ANYWHERE inline Loss make_loss(const LossChoice& choice) {
  if constexpr (std::is_empty_v<Loss>) {
    return {};
  } else {
    Loss loss;
    loss.epsilon = choice.epsilon;
    return loss;
  }
}

// Calls f with the loss chosen.
template <class F>
decltype(auto) visit_loss(const LossChoice& choice, F&& f) {
  switch (choice.kind) {
    case LossKind::squared_hinge:
      return f(make_loss<SquaredHinge>(choice));
    case LossKind::logistic:
      return f(make_loss<Logistic>(choice));
    case LossKind::epsilon_insensitive:
      return f(make_loss<EpsilonInsensitive>(choice));
    case LossKind::squared_epsilon:
      return f(make_loss<SquaredEpsilon>(choice));
    case LossKind::hinge:
      break;
  }
  return f(make_loss<Hinge>(choice));
}

}  // namespace hinge

#pragma GCC diagnostic pop
