// How far a step of Pegasos goes on a set of rows whose loss has slopes without bound: where they
// are steep a sub-gradient step of the published size would go far beyond the optimum.
//
// With shares a_i = -l'(z_i) at w, alpha_i = U_i a_i and z'_i the margin at (1 - 1/tau) w, the step
// adds (m/(k tau)) r sum_i alpha_i y_i x_i, r >= 0 being the best of
//
//   sum_i (-U_i l*(-r a_i) - r alpha_i z'_i) - r^2/2 (m/(k tau)) |sum_i alpha_i y_i x_i|^2
//
// which is the dual of the problem that an implicit step on these rows solves (docs/math.md). Where
// l* is a parabola one step of Newton's method finds it.
#pragma once

#include <algorithm>

#include "objective/loss.h"

namespace hinge {

class StepLength {
 public:
  template <class Loss>
  void add(const Loss& loss, double alpha, double upper, double shrunk) {
    slope_ += alpha * (gain_slope(loss, alpha, upper) - shrunk);
    bent_ += alpha * alpha * loss.dual_curvature(alpha, upper);
  }
  // What several ranks have is the sum.
  double slope() const { return slope_; }
  double bent() const { return bent_; }
  void set(double slope, double bent) {
    slope_ = slope;
    bent_ = bent;
  }

  // r, where (m/(k tau)) |sum_i alpha_i y_i x_i|^2 is known.
  double best(double square) const {
    const double curvature = bent_ + square;
    return curvature > 0 ? std::max(0.0, 1 + (slope_ - square) / curvature) : 0.0;
  }

 private:
  double slope_ = 0, bent_ = 0;  // of the rows' terms where r = 1
};

}  // namespace hinge
