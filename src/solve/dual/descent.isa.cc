#include "solve/dual/descent.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "simd/lanes.h"
#include "simd/sparse_avx2.h"
#include "simd/sparse_bodies.h"

namespace hinge {
namespace {

// ---- Visits.

// Whether rows may be in 16 bits.
template <class Value, class Weight>
constexpr bool kMayBeQuantised = std::is_same_v<Value, double>&& std::is_same_v<Weight, float>;

// Has the beginning of a row fetched that is visited soon; the rest follows by itself once the row
// is read in order. Where it is quantised, that is memory beyond the row, or none: addresses, not
// pointers.
template <class Value, class Weight>
HINGE_INLINE void fetch(const Descent<Value, Weight>& descent, const DescentRow& row) {
  const auto two_lines = [](const auto* array, std::uint64_t offset) {
    constexpr std::uintptr_t kLine = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(array) + offset * sizeof *array;
    __builtin_prefetch(reinterpret_cast<const void*>(address));
    __builtin_prefetch(reinterpret_cast<const void*>(address + kLine));
  };
  bool quantised = false;
  if constexpr (kMayBeQuantised<Value, Weight>) quantised = row.row < descent.quantised_rows;
  if (quantised) {
    two_lines(descent.quantised, row.offset + Quantisation::kPlaces * row.row);
  } else {
    two_lines(descent.values, row.offset);
  }
  if (!descent.full) two_lines(descent.columns, row.offset);
}

// The row to visit, if any.
template <class Value, class Weight>
HINGE_INLINE DescentRow* begin_visit(const Descent<Value, Weight>& d, DescentRow* first,
                                     std::size_t k, std::size_t count, std::ptrdiff_t step) {
  constexpr std::size_t kAhead = 2;  // rows, fetched before they are visited
  const auto place = [&](std::size_t n) { return first + static_cast<std::ptrdiff_t>(n) * step; };
  if (k + kAhead < count) fetch(d, *place(k + kAhead));
  return place(k)->asleep ? nullptr : place(k);
}
template <class Value, class Weight>
HINGE_INLINE SparseRow<Value> entries_of(const Descent<Value, Weight>& d, const DescentRow& row) {
  return {d.full ? d.columns : d.columns + row.offset, d.values + row.offset, row.size, d.full};
}

struct QuantisedRow {
  SparseRow<std::int16_t> x;
  Quantisation with;
};
HINGE_INLINE QuantisedRow quantised_entries_of(const Descent<double, float>& d,
                                               const DescentRow& row) {
  const std::int16_t* const at = d.quantised + row.offset + Quantisation::kPlaces * row.row;
  QuantisedRow found = {
      {d.full ? d.columns : d.columns + row.offset, at + Quantisation::kPlaces, row.size, d.full},
      {}};
  std::memcpy(&found.with, at, sizeof found.with);
  return found;
}

template <class Value>
HINGE_INLINE double square_of_x(const SparseRow<Value>& x) {
  return square_in_lanes(x);
}
HINGE_INLINE double square_of_x(const QuantisedRow& row) {
  return static_cast<double>(row.with.square);
}
template <class Value, class Weight>
HINGE_INLINE void add_x(const SparseRow<Value>& x, double a, Weight* w) {
  add_body(x, static_cast<Weight>(a), w);
}
HINGE_INLINE void add_x(const QuantisedRow& row, double a, float* w) {
  add_body(row.x, static_cast<float>(a * static_cast<double>(row.with.scale)), w);
}
template <class Value>
HINGE_INLINE double scaled(const SparseRow<Value>& /*x*/, double dot) {
  return dot;
}
HINGE_INLINE double scaled(const QuantisedRow& row, double dot) {
  return dot * static_cast<double>(row.with.scale);
}

// Where formulas take logarithms one visit in so many looks at the gap of its row, for all of them,
// and steps are rough, as all will come by again.
template <class Loss>
constexpr bool kTakesLogarithms = Loss::kSmooth && !Loss::kQuadraticGain;
constexpr std::uint64_t kLooks = 4;

// dot: <w, x>, of a quantised row without its scale
template <class Loss, class Value, class Weight, class X>
HINGE_INLINE void end_visit(Descent<Value, Weight>& d, DescentRow& row, const X& x, double dot) {
  const auto loss = make_loss<Loss>(d.loss);
  ++d.visits;
  const double upper = d.factor == nullptr ? d.cost : d.cost * d.factor[row.row];
  if (row.curvature == DescentRow::kUnknown) {
    row.curvature = square_of_x(x) + d.unit * d.unit;
    // A row of zeros has margin 0 whatever w is, and the variable that is best there.
    if (!(row.curvature > 0)) {
      double margin_of_zeros = 0;
      if constexpr (Loss::kRegression) margin_of_zeros = -d.targets[row.row];
      row.alpha = -loss.slope(margin_of_zeros) * upper;
      return;
    }
  }
  // Signs and bounds are as good as random, so jumps would be guessed wrong: minima and maxima in
  // their place, which are instructions (0.98 of the time; rows of 14 entries 0.93).
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double alpha = row.alpha, lowest = loss.lowest(upper), highest = loss.highest(upper);
  double margin = row.y * (scaled(x, dot) + (d.shift + d.gain * d.v));
  if constexpr (Loss::kRegression) margin -= d.targets[row.row];
  const double gradient = Loss::dual_gradient(margin);
  const double g = loss.full_gradient(gradient, alpha, upper);
  const double most = alpha <= lowest ? 0 : kNever, least = alpha >= highest ? 0 : -kNever;
  if constexpr (!kTakesLogarithms<Loss>) {
    d.estimate += loss.gap(gradient, alpha, upper);
  } else if (d.visits % kLooks == 0) {
    d.estimate += kLooks * loss.gap(gradient, alpha, upper);
  }
  if constexpr (Loss::kKinked) {
    const double left = loss.left_gradient(gradient, alpha, upper);
    const double p = std::max(least, std::min(0.0, g)) + std::min(most, std::max(0.0, left));
    d.squares += p * p;
    const double at_kink = alpha == 0 ? std::min(g, -left) : -kNever;
    row.asleep = std::max(at_kink, std::max(g - most, least - left)) > d.rest;
  } else {
    const double p = std::max(least, std::min(most, g));  // as far as it can be followed
    d.squares += p * p;
    row.asleep = std::max(g - most, least - g) > d.rest;
  }
  d.awake += row.asleep ? 0 : 1;
  double to = 0;
  if constexpr (kTakesLogarithms<Loss>) {
    to = loss.dual_step(alpha, upper, gradient, row.curvature, d.stride, Loss::kRough);
  } else {
    to = loss.dual_step(alpha, upper, gradient, row.curvature, d.stride);
  }
  const double a = (to - alpha) * row.y * d.stiffness;
  row.alpha = to;
  if (a == 0) return;
  d.inside += to > lowest && to < highest && !(Loss::kKinked && to == 0) ? 1 : 0;
  add_x(x, a, d.w);
  d.v += a * d.unit;
}

// ---- Sums over rows.

template <class Loss>
HINGE_INLINE Four left_of(const Loss& loss, Four gradient, Four alpha, Four upper) {
  if constexpr (Loss::kKinked) {
    return loss.left_gradient(gradient, alpha, upper);
  } else {
    return loss.full_gradient(gradient, alpha, upper);
  }
}

// The last rows, fewer than eight, with others of no cost behind them.
struct LastRows {
  double gradient[8] = {}, alpha[8] = {}, factor[8] = {}, targets[8] = {};
  HINGE_INLINE LastRows(const DualRows& all, std::size_t from) {
    for (std::size_t k = 0; from + k < all.size; ++k) {
      gradient[k] = all.gradient[from + k];
      alpha[k] = all.alpha[from + k];
      factor[k] = all.factor == nullptr ? 1.0 : all.factor[from + k];
      if (all.targets != nullptr) targets[k] = all.targets[from + k];
    }
  }
  HINGE_INLINE DualRows view(const DualRows& all) const {
    return {gradient, alpha, factor, 8, all.cost, all.loss, targets};
  }
};

struct SumsOfEight {
  Four loss[2] = {}, gain[2] = {}, squares[2] = {};
};

template <class Loss, bool kFactors>
HINGE_INLINE void sums_of_eight(const DualRows& rows, std::size_t k, SumsOfEight& sums) {
  const auto loss = make_loss<Loss>(rows.loss);
  const Four zero = {};
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four g = load_four(rows.gradient + k), alpha = load_four(rows.alpha + k);
    const Four upper = kFactors ? rows.cost * load_four(rows.factor + k) : zero + rows.cost;
    const Four full = loss.full_gradient(g, alpha, upper);
    const Four left = Loss::kKinked ? left_of(loss, g, alpha, upper) : full;
    const Four falls = full < zero ? full : zero, rises = left > zero ? left : zero;
    sums.loss[f] += upper * loss.value_by_gradient(g);
    sums.gain[f] += loss.dual_gain(alpha, upper);
    if constexpr (Loss::kRegression) sums.gain[f] += alpha * load_four(rows.targets + k);
    const Four follow =
        (alpha < loss.highest(upper) ? falls : zero) + (alpha > loss.lowest(upper) ? rises : zero);
    sums.squares[f] += follow * follow;
  }
}

template <class Loss>
HINGE_INLINE DualSums sums_body(const DualRows& rows) {
  SumsOfEight sums;
  std::size_t k = 0;
  if (rows.factor == nullptr) {
    for (; k + 8 <= rows.size; k += 8) sums_of_eight<Loss, false>(rows, k, sums);
  } else {
    for (; k + 8 <= rows.size; k += 8) sums_of_eight<Loss, true>(rows, k, sums);
  }
  if (k < rows.size) {
    const LastRows last(rows, k);
    sums_of_eight<Loss, true>(last.view(rows), 0, sums);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.gain), sum_lanes(sums.squares)};
}

template <class Loss>
HINGE_INLINE Four slacks_of_four(const DualRows& rows, std::size_t k) {
  const auto loss = make_loss<Loss>(rows.loss);
  const Four zero = {}, never = zero - std::numeric_limits<double>::infinity();
  const Four g = load_four(rows.gradient + k), alpha = load_four(rows.alpha + k);
  const Four upper =
      rows.factor != nullptr ? rows.cost * load_four(rows.factor + k) : zero + rows.cost;
  const Four full = loss.full_gradient(g, alpha, upper);
  if constexpr (Loss::kKinked) {
    const Four left = left_of(loss, g, alpha, upper), closer = full < -left ? full : -left;
    const Four inside = alpha == zero ? closer : never;
    const Four above = alpha >= loss.highest(upper) ? -left : inside;
    return alpha <= loss.lowest(upper) ? full : above;
  }
  const Four above = alpha >= loss.highest(upper) ? -full : never;
  return alpha <= loss.lowest(upper) ? full : above;
}

template <class Loss>
HINGE_INLINE void slacks_body(const DualRows& rows, double* out) {
  std::size_t k = 0;
  for (; k + 4 <= rows.size; k += 4) store_four(out + k, slacks_of_four<Loss>(rows, k));
  if (k == rows.size) return;
  const LastRows last(rows, k);
  double rest[4];
  store_four(rest, slacks_of_four<Loss>(last.view(rows), 0));
  std::memcpy(out + k, rest, (rows.size - k) * sizeof *out);
}

template <class Loss>
HINGE_INLINE double loss_along_body(const LossChoice& choice, const double* from, const double* to,
                                    const double* c, std::size_t size, double t) {
  const auto loss = make_loss<Loss>(choice);
  const Four at_zero = Four{} + Loss::dual_gradient(0.0);  // of w
  Four sums[2] = {};
  const auto add = [&](const double* a, const double* b, const double* cost, std::size_t f) {
    const Four start = load_four(a), end = b == nullptr ? at_zero : load_four(b);
    const Four there = start + t * (end - start);
    const Four lost = loss.value_by_gradient(there);
    sums[f] += cost == nullptr ? lost : load_four(cost) * lost;
  };
  const auto at = [](const double* x, std::size_t k) { return x == nullptr ? nullptr : x + k; };
  std::size_t k = 0;
  for (; k + 8 <= size; k += 8) {
    add(from + k, at(to, k), at(c, k), 0);
    add(from + k + 4, at(to, k + 4), at(c, k + 4), 1);
  }
  if (k < size) {
    double a[8] = {}, b[8] = {}, cost[8] = {};
    for (std::size_t j = 0; k + j < size; ++j) {
      a[j] = from[k + j];
      b[j] = to == nullptr ? Loss::dual_gradient(0.0) : to[k + j];
      cost[j] = c == nullptr ? 1.0 : c[k + j];
    }
    add(a, b, cost, 0);
    add(a + 4, b + 4, cost + 4, 1);
  }
  return sum_lanes(sums);
}

// ---- For each instruction set.

#define HINGE_DESCENT(isa, attributes)                                                             \
  template <class Loss, class Value>                                                               \
  attributes void gradients_##isa(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end, \
                                  const std::int8_t* y, const double* targets, const double* w,    \
                                  double shift, double* out) {                                     \
    for (std::uint64_t i = begin; i < end; ++i) {                                                  \
      double margin = y[i] * (dot_body_##isa(row_of(m, i), w) + shift);                            \
      if constexpr (Loss::kRegression) margin -= targets[i];                                       \
      out[i - begin] = Loss::dual_gradient(margin);                                                \
    }                                                                                              \
  }                                                                                                \
  template <class Loss, class Value, class Weight>                                                 \
  attributes void descend_##isa(Descent<Value, Weight>& descent, DescentRow* first,                \
                                std::size_t count, std::ptrdiff_t step) {                          \
    Descent<Value, Weight> d = descent; /* its own, which nothing that is stored can change */     \
    for (std::size_t k = 0; k < count; ++k) {                                                      \
      DescentRow* const row = begin_visit(d, first, k, count, step);                               \
      if (row == nullptr) continue;                                                                \
      if constexpr (kMayBeQuantised<Value, Weight>) {                                              \
        if (row->row < d.quantised_rows) {                                                         \
          const QuantisedRow x = quantised_entries_of(d, *row);                                    \
          end_visit<Loss>(d, *row, x, static_cast<double>(dot_body_##isa(x.x, d.w)));              \
          continue;                                                                                \
        }                                                                                          \
      }                                                                                            \
      const SparseRow<Value> x = entries_of(d, *row);                                              \
      end_visit<Loss>(d, *row, x, static_cast<double>(dot_body_##isa(x, d.w)));                    \
    }                                                                                              \
    descent = d;                                                                                   \
  }                                                                                                \
  template <class Loss>                                                                            \
  attributes DualSums sums_##isa(const DualRows& rows) {                                           \
    return sums_body<Loss>(rows);                                                                  \
  }                                                                                                \
  template <class Loss>                                                                            \
  attributes void slacks_##isa(const DualRows& rows, double* out) {                                \
    slacks_body<Loss>(rows, out);                                                                  \
  }                                                                                                \
  template <class Loss>                                                                            \
  attributes double loss_along_##isa(const LossChoice& choice, const double* from,                 \
                                     const double* to, const double* c, std::size_t size,          \
                                     double t) {                                                   \
    return loss_along_body<Loss>(choice, from, to, c, size, t);                                    \
  }                                                                                                \
  template <class Loss, class Value>                                                               \
  constexpr DescentLoopsOf<Value> kLoopsOf_##isa = {                                               \
      .gradients = gradients_##isa<Loss, Value>,                                                   \
      .descend = descend_##isa<Loss, Value, double>,                                               \
      .descend_floats = descend_##isa<Loss, Value, float>};

#define HINGE_TABLE(isa, attributes)    \
  {.f32 = kLoopsOf_##isa<Loss, float>,  \
   .f64 = kLoopsOf_##isa<Loss, double>, \
   .sums = sums_##isa<Loss>,            \
   .slacks = slacks_##isa<Loss>,        \
   .loss_along = loss_along_##isa<Loss>},

HINGE_FOR_EACH_ISA(HINGE_DESCENT)
template <class Loss>
constexpr DescentLoops kLoops[] = {HINGE_FOR_EACH_ISA(HINGE_TABLE)};

}  // namespace

const DescentLoops& descent_loops(const Simd& simd, LossKind kind) {
  return visit_loss(kind, [&]<class Loss>(const Loss&) -> const DescentLoops& {
    return table_for(simd.isa, kLoops<Loss>);
  });
}

}  // namespace hinge
