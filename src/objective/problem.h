// The mathematics of one binary problem on borrowed memory:
//
//   P(w) = 1/2 |w|^2 + sum_i U_i max(0, 1 - y_i <w, x_i>),   U_i = C c_i
//   D(a) = sum_i a_i - 1/2 |sum_i a_i y_i x_i|^2,            0 <= a_i <= U_i
//
// with y_i in {-1, +1} and c_i = class factor times row weight. A bias S != 0 appends the constant
// feature S to every row; its weight is the last coordinate of w. A free bias b is such a weight
// with S = 1 that has no part in |w|^2, and the dual has the constraint sum_i a_i y_i = 0 instead
// (risk/free_bias.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"

namespace hinge {

struct Problem {
  const Dataset* data = nullptr;
  std::span<const std::int8_t> y = {};
  std::span<const double> costs = {};  // c_i; empty: all 1
  double cost = 1;                     // C
  double bias = 0;                     // S; 0 = none
  bool free_bias = false;              // not regularised; then S = 1

  double factor(std::uint64_t i) const { return costs.empty() ? 1 : costs[i]; }  // c_i
  double upper(std::uint64_t i) const { return costs.empty() ? cost : cost * costs[i]; }
  std::size_t dimension() const { return data->features() + (bias != 0 ? 1 : 0); }
  // The coordinates of w that count in |w|^2, which are the first.
  std::size_t regularised() const { return dimension() - (free_bias ? 1 : 0); }
};

// c_i of every row: the factor of its class times its weight. Empty when all are 1.
std::vector<double> row_costs(const Dataset& data, std::span<const ClassWeight> class_weights);

// +1 where the label is `positive`, else -1.
std::vector<std::int8_t> signs(const Dataset& data, std::int64_t positive);

}  // namespace hinge
