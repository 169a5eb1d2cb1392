// Exact line search along a ray for losses of straight pieces, which are sums of positive parts
// (docs/math.md):
//
//   f(t) = a/2 t^2 + b t + sum_i u_i max(0, c_i + t d_i),   t >= 0,   a >= 0, u_i >= 0
//
// f is convex and piecewise quadratic; each part breaks it at t_i = -c_i/d_i, where its slope steps
// up by u_i |d_i|. The minimum is found by weighted selection among the breakpoints: O(rows), no
// sort.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <vector>

#include "objective/breakpoints.h"
#include "ranks/comm.h"
#include "simd/simd.h"

namespace hinge {

struct Breakpoint {
  double at, step;  // where, and by how much the slope steps up there
};

// f' just beyond t = 0 without b, and by how much it steps up in each bucket: a sum over rows.
// Bucket k is where t/(1+t) lies between k and k + 1 parts of kBuckets.
struct SlopeSteps {
  static constexpr std::size_t kBuckets = Breakpoints::kBuckets;
  std::array<double, 1 + kBuckets> values{};

  double& slope() { return values[0]; }
  double& in(std::size_t bucket) { return values[1 + bucket]; }
};

// The bucket that has the minimum of f, if f falls at first.
struct Bucket {
  std::size_t number = 0;
  double begin = 0, end = 0;  // of t; the last has no end
  double slope = 0;           // f' without a t, before the breakpoints inside
  double step = 0;            // of the slope, through these
};
Bucket find_bucket(double a, double b, SlopeSteps steps);

class LineSearch {
 public:
  // Breakpoints beyond t_max are of no interest, and t is at most that.
  LineSearch(double a, double b, double t_max = std::numeric_limits<double>::infinity())
      : a_(a), slope_(b), t_max_(t_max) {}

  void reserve(std::size_t rows) { breakpoints_.reserve(rows); }
  // One positive part u max(0, c + t d).
  void add(double u, double c, double d) {
    if (d == 0 || u == 0) return;
    if (c > 0 || (c == 0 && d > 0)) slope_ += u * d;  // counts just beyond t = 0
    const double size = std::abs(d);
    if ((c < 0) != (d < 0) && c != 0 && std::abs(c) < t_max_ * size) {
      breakpoints_.push_back({-c / d, u * size});
    }
  }
  // So many of them at once.
  void add(Breakpoints& run, std::size_t size, const Simd& simd) {
    for (std::size_t k = size; k < Breakpoints::kRun; ++k) run.c[k] = run.d[k] = run.step[k] = 0;
    slope_ += find_breakpoints(run, t_max_, simd);
    for (std::size_t k = 0; k < size; ++k) {
      if (run.bucket[k] == Breakpoints::kBuckets) continue;
      breakpoints_.push_back({-run.c[k] / run.d[k], run.step[k]});
    }
  }
  // The loss of one row along the ray: u l(z + t dz).
  template <class Loss>
  void add_loss(const Loss& loss, double u, double z, double dz) {
    static_assert(!Loss::kSmooth);
    if constexpr (Loss::kLastSlope != 0) slope_ += u * Loss::kLastSlope * dz;
    const auto breakpoints = loss.breakpoints();
    for (std::size_t k = 0; k < std::size(breakpoints); ++k) {
      add(u * Loss::kJumps[k], breakpoints[k] - z, -dz);
    }
  }

  double slope() const { return slope_; }  // f' just beyond t = 0
  void add_slope(double slope) { slope_ += slope; }

  // Breakpoints of parts whose slope just beyond t = 0 is in b.
  void add_breakpoints(const std::vector<Breakpoint>& breakpoints) {
    breakpoints_.insert(breakpoints_.end(), breakpoints.begin(), breakpoints.end());
  }

  // The smallest t in [0, t_max] that minimises f; infinity if f falls for ever. Uses up what was
  // added.
  double minimum();

  // What was added, for ranks to add up.
  SlopeSteps slope_steps() const;
  std::vector<Breakpoint> breakpoints_in(std::size_t bucket) const;

  // A search along another ray, in the same memory.
  void restart(double a, double b) {
    a_ = a;
    slope_ = b;
    breakpoints_.clear();
  }

 private:
  double a_;
  double slope_;  // f'(0+)
  double t_max_;
  std::vector<Breakpoint> breakpoints_;
};

// The same where rows are on several ranks, each of which knows its own. First all learn how f'
// steps up in buckets of t, in one message, and so in which of them the minimum lies. Then only the
// breakpoints in there count, and in each round those of a part of what the round before left.
struct Ray {
  double a = 0, b = 0;  // f without its rows
  double t_max = std::numeric_limits<double>::infinity();
  double doubt = 0;  // by what share of the gain f(t) may be above the minimum
};

// What ranks make of numbers that each of them has: sums, and the largest.
struct Reduction {
  std::function<void(std::span<double>)> sum;
  std::function<double(double)> largest;
};

// The breakpoints of the rank's own rows in the bucket.
using BreakpointsIn = std::function<std::vector<Breakpoint>(std::size_t bucket)>;
// `steps` are those of the rank's own rows, but for breakpoints at t_max and beyond. The same t
// everywhere.
double minimum_on_ranks(const Ray& ray, SlopeSteps steps, const BreakpointsIn& breakpoints,
                        const Reduction& ranks);
// Of rows that were added to a search with this t_max and neither a nor b.
double minimum_on_ranks(const Ray& ray, const LineSearch& own, Comm& comm);

}  // namespace hinge
