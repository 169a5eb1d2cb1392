// The mathematics of one binary problem on borrowed memory: a loss, a cost, row weights and a bias,
// and the rows and labels they are for.
//
//   P(w) = 1/2 |w|^2 + sum_i U_i l(y_i <w, x_i>),        U_i = C c_i
//   D(a) = sum_i -U_i l*(-a_i / U_i) - 1/2 |v|^2,        v = sum_i a_i y_i x_i
//
// with y_i in {-1, +1} and c_i = class factor times row weight; in regression y_i = 1, margins are
// <w, x_i> - t_i, and D(a) has sum_i a_i t_i besides; l and l* are those of loss.h, so
// that with the hinge D(a) = sum_i a_i - 1/2 |v|^2, 0 <= a_i <= U_i. A bias S != 0 appends the
// constant feature S to every row; its weight is the last coordinate of w. A free bias b is such a
// weight with S = 1 that has no part in |w|^2, and the dual has the constraint sum_i a_i y_i = 0
// instead (free_bias.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "objective/loss.h"

namespace hinge {

// The share of the primal that rounding may make out where a gap is asked for: above it all is
// worth a second computation, and solvers are asked for that much less than the gap.
inline double most_rounding(double gap) {
  return std::min(5e-10, gap / 100);
}

struct Problem {
  const Dataset* data = nullptr;
  std::span<const std::int8_t> y = {};
  std::span<const double> costs = {};  // c_i; empty: all 1
  double cost = 1;                     // C
  double bias = 0;                     // S; 0 = none
  bool free_bias = false;              // not regularised; then S = 1
  LossChoice loss = {};
  std::span<const double> targets = {};  // of a loss of regression: t_i

  double factor(std::uint64_t i) const { return costs.empty() ? 1 : costs[i]; }           // c_i
  double upper(std::uint64_t i) const { return costs.empty() ? cost : cost * costs[i]; }  // U_i
  // The bounds of dual variable i, which may be infinite.
  double lowest(std::uint64_t i) const {
    return visit_loss(loss, [&](const auto& of) { return of.lowest(upper(i)); });
  }
  double highest(std::uint64_t i) const {
    return visit_loss(loss, [&](const auto& of) { return of.highest(upper(i)); });
  }
  // The margin of row i of y_i <w, x_i>.
  template <class Loss>
  double margin(std::uint64_t i, double score) const {
    if constexpr (Loss::kRegression) {
      return score - targets[i];
    } else {
      return score;
    }
  }
  // What y_i <w, x_i> is where the margin is kCorner: the slack of the row is this less that.
  template <class Loss>
  double corner(std::uint64_t i) const {
    if constexpr (Loss::kRegression) {
      return targets[i];
    } else {
      return Loss::kCorner;
    }
  }
  std::size_t dimension() const { return data->features() + (bias != 0 ? 1 : 0); }
  // The coordinates of w that count in |w|^2, which are the first.
  std::size_t regularised() const { return dimension() - (free_bias ? 1 : 0); }

  // |w|^2 of those, summed in their order.
  double square(std::span<const double> w) const {
    double sum = 0;
    for (const double x : w.first(regularised())) sum += x * x;
    return sum;
  }
  // P(w) of |w|^2 and sum_i U_i l(z_i).
  static double primal(double square, double loss) { return square / 2 + loss; }
  // D(a) of |v|^2 and what the variables gain, the first sum. If sum_i a_i y_i = 0, which a free
  // bias asks for, is missed by `unbalanced`, that costs as much times |b| at the optimum, for
  // which a solver has the b it is at.
  static double dual(double square, double gain, double unbalanced = 0, double b = 0) {
    return gain - square / 2 - std::abs(unbalanced * b);
  }
};

// c_i of every row: the factor of its class times its weight. Empty when all are 1.
std::vector<double> row_costs(const Dataset& data, std::span<const ClassWeight> class_weights);

// +1 where the label is `positive`, else -1.
std::vector<std::int8_t> signs(const Dataset& data, std::int64_t positive);

// What scores shall come to in regression: real targets, or whole numbers taken as such. Names are
// none (data.label.kind). There y_i is +1 for every row.
std::vector<double> targets_of(const Dataset& data);
inline std::vector<std::int8_t> signs_of_targets(const Dataset& data) {
  return std::vector<std::int8_t>(data.rows(), 1);
}

}  // namespace hinge
