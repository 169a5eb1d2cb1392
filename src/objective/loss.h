// What a row costs: a loss l(z) of its margin z = y <w, x>, convex, and everything that solvers,
// line searches and certificates ask of it. A loss is one struct of formulas without state, for the
// host and for devices; nobody else writes them out.
//
//   P(w) = 1/2 |w|^2 + sum_i U_i l(z_i),     D(alpha) = sum_i -U_i l*(-a_i) - 1/2 |v|^2,
//   v = sum_i alpha_i y_i x_i,               alpha_i = U_i a_i,  l*(-a) = sup_z (-a z - l(z))
//
// a_i is the share of a dual variable in its bound U_i, and l*(-a) is finite for kLowest <= a <=
// kHighest alone.
//
// Functions of one argument type take doubles, or vectors of doubles (simd/lanes.h) of which every
// element is computed for itself; both give the same bits.
#pragma once

#include <limits>
#include <string_view>

#if defined(__CUDACC__)
#define HINGE_ANYWHERE __host__ __device__
#else
#define HINGE_ANYWHERE __attribute__((always_inline))
#endif

namespace hinge {

// l(z) = max(0, 1 - z)
struct Hinge {
  static constexpr std::string_view kName = "hinge";

  static constexpr double kLowest = 0, kHighest = 1;  // of a
  static constexpr bool kSmooth = false;              // whether slope() has no jumps
  static constexpr double kBreakpoints[] = {1.0};     // z where it jumps

  // l(z)
  template <class T>
  HINGE_ANYWHERE static inline T value(T z) {
    return positive(slack(z));
  }

  // l'(z); from the right where it jumps.
  HINGE_ANYWHERE static inline double slope(double z) { return inside(z) ? -1.0 : 0.0; }

  // l''(z), where there is one.
  HINGE_ANYWHERE static inline double curvature(double /*z*/) { return 0; }

  // l*(-a) = -a inside the range; infinite outside.
  HINGE_ANYWHERE static inline double conjugate(double a) {
    return a >= kLowest && a <= kHighest ? -a : std::numeric_limits<double>::infinity();
  }

  // What a dual variable alpha adds to D besides -1/2 |v|^2: -U l*(-alpha/U), inside its range.
  template <class T>
  HINGE_ANYWHERE static inline T dual_gain(T alpha) {
    return alpha;
  }

  // The slope of the (minimised) dual along alpha where the margin is z; and the margin again.
  template <class T>
  HINGE_ANYWHERE static inline T dual_gradient(T z) {
    return z - 1.0;
  }
  template <class T>
  HINGE_ANYWHERE static inline T margin_of(T gradient) {
    return gradient + 1.0;
  }
  // l(z) by that slope, without the rounding of z.
  template <class T>
  HINGE_ANYWHERE static inline T value_by_gradient(T gradient) {
    return positive(-gradient);
  }

  // Where alpha is best for a row of square `square` > 0 while all others stay, within 0 .. upper;
  // or `stride` times as far, but for the bounds. The slope there is `gradient`.
  HINGE_ANYWHERE static inline double dual_step(double alpha, double upper, double gradient,
                                                double square, double stride = 1) {
    const double to = alpha - stride * gradient / square;
    const double below = to < upper ? to : upper;
    return below > 0 ? below : 0.0;
  }

  // The share a that maximises -l*(-a) - a z - (a - centre)^2 / (2 steepness): the prox of the
  // conjugate, by which a smoothed loss has its slope (solve/newton).
  template <class T>
  HINGE_ANYWHERE static inline T prox(T centre, T slack_of_row, double steepness) {
    const T zero = {}, one = zero + 1.0;
    T share = centre + steepness * slack_of_row;
    share = share < zero ? zero : share;
    return share > one ? one : share;
  }

  // 1 - z, what is lacking: l(z) where that is positive.
  template <class T>
  HINGE_ANYWHERE static inline T slack(T z) {
    return 1.0 - z;
  }
  // Whether the row costs anything: its status, in planes.
  HINGE_ANYWHERE static inline bool inside(double z) { return z < kBreakpoints[0]; }

 private:
  template <class T>
  HINGE_ANYWHERE static inline T positive(T x) {
    const T zero = {};
    return x > zero ? x : zero;
  }
};

}  // namespace hinge
