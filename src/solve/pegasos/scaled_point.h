// The points of the steps, one hyperplane or several, and the sum of those that are averaged.
//
// After step t (tau = t0 + t, m rows, sets of k) a hyperplane is w = s v with s = (m/k) pi/tau,
// where pi is the product of all its projections. So shrinking w changes one number, v only ever
// gains rows, and a step costs O(nonzeros of its rows). So do means over steps: with S the running
// sum of s, sum_t w_t = S v - u, where u gains S a x whenever v gains a x.
//
// Under projection |v|^2 is kept up to date. Vectors of several hyperplanes are interleaved
// (rows/passes.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "solve/pegasos/tuning.h"
#include "solve/solver.h"

namespace hinge {

// Space: Passes, or KernelPasses, where v and u are coefficients of rows.
template <class Space>
class ScaledPoint {
 public:
  struct Scale {        // of one hyperplane
    double s = 0;       // w = s v
    double pi = 1;      // product of the projections
    double sum = 0;     // S, over the steps being averaged
    double square = 0;  // |v|^2, kept where there is projection
    double b = 0;       // free bias

    void archive(Archive& archive) { archive(s, pi, sum, square, b); }
  };

  // base: m/k; t0 > 0 where there is a start.
  ScaledPoint(Space& passes, std::size_t hyperplanes, double base, double t0)
      : passes_(passes),
        stride_(passes.stride()),
        base_(base),
        tau_(t0),
        scales_(hyperplanes),
        v_(passes.size()) {
    if (tau_ > 0) set_scales();
  }

  void begin_at(std::span<const Start> start, bool free_bias) {
    for (std::size_t c = 0; c < start.size(); ++c) {
      for (std::size_t j = 0; j < passes_.dimension(); ++j) {
        v_[j * stride_ + c] = start[c].w[j] / scales_[c].s;
      }
      if (free_bias) scales_[c].b = start[c].w.back();
    }
  }

  std::size_t hyperplanes() const { return scales_.size(); }
  Scale& scale(std::size_t c) { return scales_[c]; }
  const Scale& scale(std::size_t c) const { return scales_[c]; }
  std::span<Scale> scales() { return scales_; }
  double* v() { return v_.data(); }
  double* u() { return u_.data(); }
  double base() const { return base_; }

  // The next step is tau; the points it meets count in the means as soon as whoever steps has added
  // s to S.
  double tau() const { return tau_; }
  void next_step() { tau_ += 1; }
  void go_to(double tau) { tau_ = tau; }
  void count_in_mean(std::uint64_t steps) { averaged_ += steps; }
  void set_scale(Scale& scale) const { scale.s = base_ * scale.pi / tau_; }
  void set_scales() {
    for (Scale& scale : scales_) set_scale(scale);
  }

  // All hyperplanes, interleaved.
  std::vector<double> point() const {
    return combination([](const Scale& scale) { return std::pair(scale.s, 0.0); });
  }

  // From now on the points are averaged: w as each step meets it.
  void begin_mean() {
    averaging_ = true;
    averaged_ = 0;
    u_.resize(v_.size());
    std::ranges::fill(u_.span(), 0.0);
    settled_.clear();
    for (Scale& scale : scales_) scale.sum = 0;
  }
  bool averaging() const { return averaging_; }
  std::uint64_t averaged() const { return averaged_; }  // steps since begin_mean()

  // The sum of the points the last averaged() steps met.
  std::vector<double> sum() const {
    std::vector<double> all =
        combination([](const Scale& scale) { return std::pair(scale.sum, -1.0); });
    for (std::size_t j = 0; j < settled_.size(); ++j) all[j] += settled_[j];
    return all;
  }

  // ---- Projection.

  // Rounding of |v|^2 must not pile up. When it is computed anew depends on the rows seen (`work`
  // of them), not on what was done with them, so that it does not depend on the other hyperplanes;
  // and it costs a fraction of the steps.
  void keep_squares(std::uint64_t work) {
    stepped_ += work;
    if (stepped_ > PegasosTuning::kSquareShare * passes_.measuring_work()) compute_squares();
  }
  void compute_squares() {
    std::vector<double> squares(stride_);
    passes_.squares(v_.data(), squares.data());
    for (std::size_t c = 0; c < scales_.size(); ++c) scales_[c].square = squares[c];
    stepped_ = 0;
  }
  // |v + a x|^2 = |v|^2 + 2 a <v, x> + a^2 |x|^2, with the scores <v, x> from before x was added.
  void lengthen(double row_square, const double* scores, const double* factors) {
    for (std::size_t c = 0; c < scales_.size(); ++c) {
      scales_[c].square += factors[c] * (2 * scores[c] + factors[c] * row_square);
    }
  }
  void project(double radius) {
    for (std::size_t c = 0; c < scales_.size(); ++c) {
      Scale& scale = scales_[c];
      const double length = scale.s * std::sqrt(std::max(0.0, scale.square));
      if (length <= radius) continue;
      scale.pi *= radius / length;
      set_scale(scale);
      if (scale.pi < least_projection()) fold(c);
    }
  }

  // Between two steps.
  void archive(Archive& archive) {
    archive(tau_, averaging_, averaged_, stepped_);
    archive.sized(scales_, scales_.size());
    archive.sized(v_, passes_.size());
    archive.sized(u_, averaging_ ? passes_.size() : u_.size());
    archive.sized_or_empty(settled_, passes_.size());
  }

 private:
  double least_projection() const {
    return averaging_ ? PegasosTuning::kLeastProjectionInMean : PegasosTuning::kLeastProjection;
  }

  // Moves pi into v, and what was averaged so far out of the way.
  void fold(std::size_t c) {
    Scale& scale = scales_[c];
    if (averaging_) {
      settled_.resize(v_.size());
      for (std::size_t j = c; j < v_.size(); j += stride_) {
        settled_[j] += scale.sum * v_[j] - u_[j];
        u_[j] = 0;
      }
      scale.sum = 0;
    }
    for (std::size_t j = c; j < v_.size(); j += stride_) v_[j] *= scale.pi;
    if constexpr (!Space::kLinear) passes_.follow_factor(c, scale.pi);
    scale.square *= scale.pi * scale.pi;
    scale.s /= scale.pi;
    scale.pi = 1;
  }

  // a v + b u for each hyperplane, (a, b) = factors(its scale).
  template <class Factors>
  std::vector<double> combination(Factors factors) const {
    std::vector<double> out(v_.size());
    for (std::size_t c = 0; c < scales_.size(); ++c) {
      const auto [a, b] = factors(scales_[c]);
      for (std::size_t j = c; j < v_.size(); j += stride_) {
        out[j] = a * v_[j] + (b == 0 ? 0.0 : b * u_[j]);
      }
    }
    return out;
  }

  Space& passes_;
  std::size_t stride_;
  double base_;  // m/k
  double tau_;   // t0 + steps done
  std::vector<Scale> scales_;
  Buffer<double> v_, u_;         // in huge pages: their entries are met in no order
  std::vector<double> settled_;  // the part of a sum of points that is no longer in S v - u
  bool averaging_ = false;
  std::uint64_t averaged_ = 0;
  std::uint64_t stepped_ = 0;  // work of the steps since |v|^2 was last computed from v
};

}  // namespace hinge
