// Where descent has come to: w = sum_i a_i y_i x_i of the variables a. With a free bias also
// e = sum_i a_i y_i, which bias = centre + curvature e follows (dual_bias.h).
#pragma once

#include <vector>

#include "objective/problem.h"
#include "simd/simd.h"

namespace hinge {

struct DualPoint {
  std::vector<double> w;
  bool is_zero = true;        // whether w is 0 as it was at first, which measure needs no rows for
  double label_sum = 0;       // e
  double bias_centre = 0;     // c
  double bias_curvature = 0;  // r, which it adds to the curvature along every variable

  double bias() const { return bias_centre + bias_curvature * label_sum; }
};

// w += a x, and what goes with it: the weight of a constant feature, or e.
template <class Value>
void add_row(const Problem& problem, const Simd& simd, const SparseRow<Value>& x, double a,
             std::vector<double>& w, double& label_sum) {
  if (a == 0) return;
  simd.add(x, a, w.data());
  if (problem.free_bias) {
    label_sum += a;
  } else if (problem.bias != 0) {
    w.back() += a * problem.bias;
  }
}

}  // namespace hinge
