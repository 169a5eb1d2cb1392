// Solves A s = g by products with a positive definite A alone, scaled by its diagonal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/newton/tuning.h"

namespace hinge {

struct ProductsLimit {
  double residual =
      NewtonTuning::kResidual;  // of g's length, both measured by the inverse of the diagonal
  std::uint64_t products = 0;
  // It ends, too, where one product more gains less than this share of what they gained so far, on
  // average (Nash and Sofer, 1990). 0: that does not matter.
  double gain = 0;
};

// multiply(p, q): q = A p. go(): false ends it. s, of as many numbers as g, becomes what it came
// to: the best of all points that so many products reach, and so a way down at any moment. Returns
// the number of products, which is beyond the limit if that was not enough.
template <class Multiply, class Go>
std::uint64_t conjugate_gradients(const Multiply& multiply, std::span<const double> diagonal,
                                  std::span<const double> g, const ProductsLimit& limit,
                                  const Go& go, std::vector<double>& s) {
  const std::size_t n = g.size();
  std::vector<double> r(g.begin(), g.end()), p(n), q(n);
  s.assign(n, 0.0);
  double before = 0, first = 0, gained = 0;
  for (std::uint64_t k = 0;; ++k) {
    double now = 0;
    for (std::size_t j = 0; j < n; ++j) now += r[j] * (r[j] / diagonal[j]);
    if (k == 0) first = now;
    if (!(now > limit.residual * limit.residual * first)) return k;
    if (k == limit.products || !go()) return limit.products + 1;
    const double keep = k == 0 ? 0.0 : now / before;
    before = now;
    for (std::size_t j = 0; j < n; ++j) p[j] = r[j] / diagonal[j] + keep * p[j];
    multiply(p, q);
    double curvature = 0;
    for (std::size_t j = 0; j < n; ++j) curvature += p[j] * q[j];
    const double step = now / curvature;
    for (std::size_t j = 0; j < n; ++j) {
      s[j] += step * p[j];
      r[j] -= step * q[j];
    }
    gained += step * now / 2;
    if (static_cast<double>(k + 1) * (step * now / 2) < limit.gain * gained) return k + 1;
  }
}

}  // namespace hinge
