// Problems small enough to solve by hand. Each comes with its optimum P* = D*, the optimal w
// and a dual point, and the derivation. P(w) = 1/2|w|^2 + C sum_i c_i max(0, 1 - y_i <w,x_i>), or
// the squares of these, in which D(a) has - a_i^2/4U_i besides, or log(1 + e^-z), in which it has
// the entropies of a_i/U_i times U_i; with a free bias b the margin is y_i (<w,x_i> + b), and sum_i
// y_i alpha_i = 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "objective/problem.h"

namespace hinge::testing {

struct TinyProblem {
  std::string name;
  std::vector<std::vector<double>> rows;  // dense; zeros are left out
  std::vector<std::int8_t> y;
  std::vector<double> row_weights;  // empty: all 1
  double cost;
  double bias;
  double optimum;
  std::vector<double> w;      // optimal, with the weight of the constant feature last if bias != 0
  std::vector<double> alpha;  // one optimal dual point
  bool free_bias = false;     // then bias is 1
  LossKind loss = LossKind::hinge;
};

// The data of a tiny problem as a Dataset (labels are y), with a Problem on it.
template <class Value>
class TinyData {
 public:
  explicit TinyData(const TinyProblem& tiny) : tiny_(tiny) {
    struct Arrays {
      std::vector<std::uint64_t> offsets = {0};
      std::vector<std::uint32_t> columns;
      std::vector<Value> values;
      std::vector<std::int64_t> labels;
    };
    auto a = std::make_shared<Arrays>();
    for (const auto& row : tiny.rows) {
      for (std::size_t j = 0; j < row.size(); ++j) {
        if (row[j] == 0) continue;
        a->columns.push_back(static_cast<std::uint32_t>(j));
        a->values.push_back(static_cast<Value>(row[j]));
      }
      a->offsets.push_back(a->columns.size());
    }
    a->labels.assign(tiny.y.begin(), tiny.y.end());
    const CsrView<Value> view = {tiny.rows.size(), tiny.rows[0].size(), a->offsets.data(),
                                 a->columns.data(), a->values.data()};
    data = Dataset::wrap(view, a->labels, tiny_.row_weights, a).value();
    problem = {.data = &data,
               .y = tiny_.y,
               .costs = tiny_.row_weights,
               .cost = tiny_.cost,
               .bias = tiny_.bias,
               .free_bias = tiny_.free_bias,
               .loss = tiny_.loss};
  }
  TinyData(const TinyData&) = delete;
  TinyData& operator=(const TinyData&) = delete;

 private:
  TinyProblem tiny_;

 public:
  Dataset data;
  Problem problem;
};

inline TinyProblem squared(TinyProblem tiny) {
  tiny.loss = LossKind::squared_hinge;
  return tiny;
}

inline TinyProblem logistic(TinyProblem tiny) {
  tiny.loss = LossKind::logistic;
  return tiny;
}

inline std::vector<TinyProblem> tiny_problems() {
  // Places where the logistic function has values that one can write: s(ln 2) = 2/3.
  const double two = std::log(2.0), three = std::log(3.0), half = std::log(1.5);
  const double e = std::exp(1.0);
  return {
      // Two points at +1 and -1. P = w^2/2 + 2 max(0, 1-w). Left of 1 the slope is w - 2 < 0, right
      // of
      // it w > 0: w = 1, no loss, P* = 1/2. Dual: s - s^2/2 with s = a_1 + a_2, largest at s = 1.
      {"separable", {{1}, {-1}}, {1, -1}, {}, 1, 0, 0.5, {1}, {0.5, 0.5}},

      // The same with C = 1/4. Left of 1 the slope is w - 1/2: w = 1/2, both rows inside the
      // margin,
      // P* = 1/8 + 2 * 1/4 * 1/2 = 3/8. Both variables at the bound: s = 1/2, D = 1/2 - 1/8.
      {"all inside the margin", {{1}, {-1}}, {1, -1}, {}, 0.25, 0, 0.375, {0.5}, {0.25, 0.25}},

      // The same point with both labels, the positive one three times as dear, C = 1/10. For |w| <
      // 1
      // the slope is w - 0.3 + 0.1: w = 0.2, P* = 0.02 + 0.3 * 0.8 + 0.1 * 1.2 = 0.38. Dual at the
      // bounds:
      // v = 0.3 - 0.1, D = 0.4 - 0.02.
      {"contradiction with weights", {{1}, {1}}, {1, -1}, {3, 1}, 0.1, 0, 0.38, {0.2}, {0.3, 0.1}},

      // A row of zeros loses C whatever w is; its variable stands at the bound. The others: P =
      // w^2/2 +
      // 2 max(0, 1-2w), kink at 1/2 with slope 1/2 - 4 on its left: w = 1/2, P* = 1/8 + 1. Dual: 1
      // + s -
      // (2s)^2/2, largest at s = 1/4: 1 + 1/4 - 1/8.
      {"row of zeros", {{0}, {2}, {-2}}, {1, 1, -1}, {}, 1, 0, 1.125, {0.5}, {1, 0.125, 0.125}},

      // Orthogonal rows (1,0,+) and (0,1,-) with the constant feature 2. By symmetry its weight is
      // 0 and
      // the coordinates part: each w_j^2/2 + 10 max(0, 1-|w_j|), so w = (1,-1), P* = 1. Dual: a =
      // (1,1)
      // gives v = (1,-1, 2-2), D = 2 - 1.
      {"constant feature", {{1, 0}, {0, 1}}, {1, -1}, {}, 10, 2, 1, {1, -1, 0}, {1, 1}},

      // Free bias. Points 9 and 11, halfway at 10: w = 1, b = -10, no loss, P* = 1/2, whatever the
      // size of b. Dual: both variables are equal, v = 11 a - 9 a = 2 a, D = 2 a - 2 a^2, largest
      // at a = 1/2.
      {"far from 0", {{11}, {9}}, {1, -1}, {}, 1, 1, 0.5, {1, -10}, {0.5, 0.5}, true},

      // The same at 0 and 2: here a row of zeros matters.
      {"zeros and a bias", {{0}, {2}}, {-1, 1}, {}, 1, 1, 0.5, {1, -1}, {0.5, 0.5}, true},

      // Only rows of zeros: 2 max(0, 1-b) + max(0, 1+b) falls up to b = 1 and rises from there, P*
      // = 2. Dual: the positive rows have as much as the negative one, which is at its bound, D
      // = 2.
      {"only a bias", {{0}, {0}, {0}}, {1, 1, -1}, {}, 1, 1, 2, {0, 1}, {0.5, 0.5, 1}, true},

      // Points 1 and -1, the first twice as dear, C = 1/8. Both variables are equal and at most
      // 1/8; v = 2 a, D = 2 a - 2 a^2 rises up to 1/2: a = 1/8, D = 7/32, w = 1/4. The first row is
      // between its bounds, so at the margin: b = 3/4. P = 1/32 + 1/8 (1 + 1/2).
      {"weights and a bias",
       {{1}, {-1}},
       {1, -1},
       {2, 1},
       0.125,
       1,
       7.0 / 32,
       {0.25, 0.75},
       {0.125, 0.125},
       true},

      // The squared hinge, in which a_i = 2 U_i max(0, 1 - z_i) at the optimum.
      //
      // Two points at +1 and -1: P = w^2/2 + 2 (1-w)^2 up to 1, w = 4 (1-w): w = 4/5, P* = 8/25 +
      // 2/25. D = 4/5 - 2 (2/5)^2/4 - (4/5)^2/2.
      squared({"separable, squared", {{1}, {-1}}, {1, -1}, {}, 1, 0, 0.4, {0.8}, {0.4, 0.4}}),

      // The same point with both labels: P = w^2/2 + 0.3 (1-w)^2 + 0.1 (1+w)^2, w = 0.6 (1-w) - 0.2
      // (1+w): w = 2/9, P* = (2 + 0.3 * 49 + 0.1 * 121)/81.
      squared({"contradiction with weights, squared",
               {{1}, {1}},
               {1, -1},
               {3, 1},
               0.1,
               0,
               28.8 / 81,
               {2.0 / 9},
               {7.0 / 15, 11.0 / 45}}),

      // A row of zeros loses C whatever w is. The others: P = w^2/2 + 2 (1-2w)^2, w = 8 (1-2w): w =
      // 8/17, P* = 34/289 + 1.
      squared({"row of zeros, squared",
               {{0}, {2}, {-2}},
               {1, 1, -1},
               {},
               1,
               0,
               19.0 / 17,
               {8.0 / 17},
               {2, 2.0 / 17, 2.0 / 17}}),

      // The coordinates part: each w_j^2/2 + 10 (1-|w_j|)^2, w_j = 20/21, P* = 2 (200 + 10)/441.
      squared({"constant feature, squared",
               {{1, 0}, {0, 1}},
               {1, -1},
               {},
               10,
               2,
               20.0 / 21,
               {20.0 / 21, -20.0 / 21, 0},
               {20.0 / 21, 20.0 / 21}}),

      // Free bias: points 9 and 11, halfway at 10, are +1 and -1 from there.
      squared({"far from 0, squared",
               {{11}, {9}},
               {1, -1},
               {},
               1,
               1,
               0.4,
               {0.8, -8},
               {0.4, 0.4},
               true}),

      // Only rows of zeros: 2 (1-b)^2 + (1+b)^2, 4 (1-b) = 2 (1+b): b = 1/3, P* = 8/9 + 16/9.
      squared({"only a bias, squared",
               {{0}, {0}, {0}},
               {1, 1, -1},
               {},
               1,
               1,
               24.0 / 9,
               {0, 1.0 / 3},
               {4.0 / 3, 4.0 / 3, 8.0 / 3},
               true}),

      // The logistic loss, in which a_i = U_i s(-z_i) at the optimum, s(t) = 1/(1 + e^-t).
      //
      // Two points at +1 and -1: P = w^2/2 + 2 C log(1 + e^-w), w = 2 C/(1 + e^w), which is 1 with
      // 2 C = 1 + e.
      logistic({"separable, logistic",
                {{1}, {-1}},
                {1, -1},
                {},
                (1 + e) / 2,
                0,
                0.5 + (1 + e) * std::log1p(1 / e),
                {1},
                {0.5, 0.5}}),

      // The same point with both labels: w = C (3 s(-w) - s(w)), where w = ln 2: C (3/3 - 2/3).
      logistic({"contradiction with weights, logistic",
                {{1}, {1}},
                {1, -1},
                {3, 1},
                3 * two,
                0,
                two * two / 2 + 3 * two * (3 * half + three),
                {two},
                {3 * two, 2 * two}}),

      // A row of zeros loses C ln 2 whatever w is, with C/2 for its variable. The others: w = 4 C
      // s(-2w), where w = ln 2 / 2: 4/3 C.
      logistic({"row of zeros, logistic",
                {{0}, {2}, {-2}},
                {1, 1, -1},
                {},
                3 * two / 8,
                0,
                two * two / 8 + 3 * two / 8 * (two + 2 * half),
                {two / 2},
                {3 * two / 16, two / 8, two / 8}}),

      // The coordinates part: w_j = C s(-w_j), where that is ln 2: C/3.
      logistic({"constant feature, logistic",
                {{1, 0}, {0, 1}},
                {1, -1},
                {},
                3 * two,
                2,
                two * two + 6 * two * half,
                {two, -two, 0},
                {two, two}}),

      // Free bias: points 9 and 11, halfway at 10, are +1 and -1 from there: w = 2 C s(-w).
      logistic({"far from 0, logistic",
                {{11}, {9}},
                {1, -1},
                {},
                1.5 * two,
                1,
                two * two / 2 + 3 * two * half,
                {two, -10 * two},
                {two / 2, two / 2},
                true}),

      // Only rows of zeros: 2 s(-b) = s(b), b = ln 2.
      logistic({"only a bias, logistic",
                {{0}, {0}, {0}},
                {1, 1, -1},
                {},
                1,
                1,
                2 * half + three,
                {0, two},
                {1.0 / 3, 1.0 / 3, 2.0 / 3},
                true}),
  };
}

}  // namespace hinge::testing
