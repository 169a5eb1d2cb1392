// The inner loops of dual descent: visits to rows, and sums over many rows of gradients and
// variables. A row's gradient is that of objective/loss.h, y_i <w, x_i> - 1 for the hinge, and
// <w, x_i> - t_i where rows have targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hinge/dataset.h"
#include "objective/loss.h"
#include "simd/simd.h"

namespace hinge {

// Rows of the dual: their gradients, and their variables, which are between bounds by U_i = cost
// c_i.
struct DualRows {
  const double* gradient;
  const double* alpha;
  const double* factor;  // c_i; nullptr: all 1
  std::size_t size;
  double cost;
  LossChoice loss = {};
  const double* targets = nullptr;  // t_i of a loss of regression

  DualRows part(std::size_t from, std::size_t count) const {
    return {gradient + from,
            alpha + from,
            factor == nullptr ? nullptr : factor + from,
            count,
            cost,
            loss,
            targets == nullptr ? nullptr : targets + from};
  }
};
struct DualSums {
  double loss = 0;     // sum_i U_i l(z_i)
  double gain = 0;     // sum_i of what the variables add to D besides -1/2 |v|^2
  double squares = 0;  // of the gradients where they can be followed between the bounds
};

// A row that descent visits.
struct DescentRow {
  static constexpr double kUnknown = -1;

  std::uint64_t row;     // its number in the data
  std::uint64_t offset;  // where its entries begin
  std::uint32_t size;    // of them
  std::int8_t y;
  bool asleep;  // not visited any more
  double alpha;
  double curvature;  // of the dual along alpha; kUnknown: its first visit finds |x|^2 + unit^2
};

// Descent in the dual, one variable after the other: each goes to its minimum inside its bounds, or
// `stride` times as far, and w with it. A row whose variable is at a bound, and is held there by a
// gradient beyond `rest`, falls asleep. With w in floats, products and their sums are floats too.
template <class Value, class Weight = double>
struct Descent {
  const std::uint32_t* columns;  // of all rows, from where their offsets count
  const Value* values;
  bool full;
  const double* factor;  // c_i; nullptr: all 1
  double cost;
  double rest;
  Weight* w;
  LossChoice loss = {};
  const double* targets = nullptr;  // t_i by row, of a loss of regression
  double stride = 1;
  // w goes so many times as far as its variable says, as if others took the same step elsewhere;
  // whoever sets it divides `stride` by it (solve/dual/lane.h).
  double stiffness = 1;
  // With w in floats, the first rows of the data in 16 bits a value. Row i is at its offset +
  // i Quantisation::kPlaces: a Quantisation, then its values. Behind the last seven more can be
  // read.
  const std::int16_t* quantised = nullptr;
  std::uint64_t quantised_rows = 0;
  // One more column, if any: of its weight v scores take shift + gain v, and v += unit a where w +=
  // a x.
  double shift = 0, gain = 0, unit = 0, v = 0;

  // Sums over the visits.
  double estimate = 0;       // of P - D, by the gradients as they were met
  double squares = 0;        // of the gradients where they can be followed between the bounds
  std::uint64_t visits = 0;  // of them all
  std::uint64_t awake = 0;   // did not fall asleep
  std::uint64_t inside = 0;  // moved to between the bounds
};

// Loops on the rows of a data set of one precision.
template <class Value>
struct DescentLoopsOf {
  // out[i - begin] = the gradient of row i at score <w, x_i> + shift, of the rows from begin to
  // end; `targets`: of a loss of regression
  void (*gradients)(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end,
                    const std::int8_t* y, const double* targets, const double* w, double shift,
                    double* out);
  // Visits those of `count` rows that are awake, from the first on, `step` (1 or -1) by `step`.
  void (*descend)(Descent<Value>& descent, DescentRow* first, std::size_t count,
                  std::ptrdiff_t step);
  void (*descend_floats)(Descent<Value, float>& descent, DescentRow* first, std::size_t count,
                         std::ptrdiff_t step);
};

struct DescentLoops {
  DescentLoopsOf<float> f32;
  DescentLoopsOf<double> f64;
  DualSums (*sums)(const DualRows& rows);
  // How far inside its bound each gradient keeps its variable: itself at the lower one, with the
  // other sign at the upper one, -infinity between them. A kink is a bound on both sides.
  void (*slacks)(const DualRows& rows, double* out);
  // sum_i c_i l(z_i) where gradients are from_i + t (to_i - from_i); no `to`: those of w = 0
  // everywhere, without targets; no c: all 1
  double (*loss_along)(const LossChoice& choice, const double* from, const double* to,
                       const double* c, std::size_t size, double t);

  template <class Value>
  const DescentLoopsOf<Value>& of() const {
    if constexpr (std::is_same_v<Value, float>) {
      return f32;
    } else {
      return f64;
    }
  }
  template <class Value>
  void gradients(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end,
                 const std::int8_t* y, const double* targets, const double* w, double shift,
                 double* out) const {
    of<Value>().gradients(m, begin, end, y, targets, w, shift, out);
  }
  template <class Value, class Weight>
  void descend(Descent<Value, Weight>& descent, DescentRow* first, std::size_t count,
               std::ptrdiff_t step) const {
    if constexpr (std::is_same_v<Weight, float>) {
      of<Value>().descend_floats(descent, first, count, step);
    } else {
      of<Value>().descend(descent, first, count, step);
    }
  }
};

const DescentLoops& descent_loops(const Simd& simd, LossKind loss);

}  // namespace hinge
