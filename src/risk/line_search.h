// Exact line search along a ray for sums of hinges (docs/math.md):
//
//   f(t) = a/2 t^2 + b t + sum_i u_i max(0, c_i + t d_i),   t >= 0,   a >= 0, u_i >= 0
//
// f is convex and piecewise quadratic; each row bends it at t_i = -c_i/d_i, where its slope rises
// by u_i |d_i|. The minimum is found by weighted selection among the bends: O(rows), no sort.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace hinge {

class LineSearch {
 public:
  // Bends beyond t_max are of no interest, and t is at most that.
  LineSearch(double a, double b, double t_max = std::numeric_limits<double>::infinity())
      : a_(a), slope_(b), t_max_(t_max) {}

  void reserve(std::size_t rows) { bends_.reserve(rows); }
  // One hinge u max(0, c + t d).
  void add(double u, double c, double d) {
    if (d == 0 || u == 0) return;
    if (c > 0 || (c == 0 && d > 0)) slope_ += u * d;  // counts just beyond t = 0
    const double size = std::abs(d);
    if ((c < 0) != (d < 0) && c != 0 && std::abs(c) < t_max_ * size) {
      bends_.push_back({-c / d, u * size});
    }
  }
  // So many of them at once.
  void add(Bends& run, std::size_t size, const Kernels& kernels) {
    for (std::size_t k = size; k < Bends::kRun; ++k) run.c[k] = run.d[k] = run.rise[k] = 0;
    slope_ += kernels.find_bends(run, t_max_);
    for (std::size_t k = 0; k < size; ++k) {
      if (run.bucket[k] < Bends::kBuckets) bends_.push_back({-run.c[k] / run.d[k], run.rise[k]});
    }
  }

  double slope() const { return slope_; }  // f' just beyond t = 0

  // The smallest t in [0, t_max] that minimises f; infinity if f falls for ever. Uses up what was
  // added.
  double minimum();

  // A search along another ray, in the same memory.
  void restart(double a, double b) {
    a_ = a;
    slope_ = b;
    bends_.clear();
  }

 private:
  struct Bend {
    double at, rise;
  };
  double a_;
  double slope_;  // f'(0+)
  double t_max_;
  std::vector<Bend> bends_;
};

// The same where the rows are on several ranks, so that slopes are all there is: the t in [0,
// t_max] that minimises f(t) = a/2 t^2 + b t + g(t), a >= 0, g convex; f(t) may be off by the share
// `doubt` of what is gained. `slopes` tells g' just beyond each of some t, in rounds of a handful;
// a few do.
using SlopesAt = std::function<void(std::span<const double> steps, std::span<double> out)>;
double minimum_by_slopes(double a, double b, double t_max, double doubt, const SlopesAt& slopes);

}  // namespace hinge
