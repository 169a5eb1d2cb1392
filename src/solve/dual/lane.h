// A lane: some rows, their dual variables, and weights as these rows see them. Lanes descend
//
//   a_i <- clip(a_i - g_i / (sigma |x_i|^2), 0, U_i),   g_i = y_i <w, x_i> - 1 for the hinge
//   w   <- w + sigma (the step of a_i) y_i x_i
//
// by themselves, as if all others took the same steps: sigma, the stiffness, says how much of
// theirs is felt here. Then they are joined (join.h), and w is the same on all of them again. One
// lane with sigma = 1 that is never joined is plain dual coordinate descent.
//
// Each of several ranks is one. What a process has is a Lane, too, which may share out its epochs
// among lanes that run side by side (side_by_side.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "base/random.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/dual/descent.h"
#include "solve/dual/dual_point.h"
#include "solve/dual/join.h"
#include "solve/dual/low_precision.h"
#include "solve/dual/side_by_side.h"
#include "solve/dual/tuning.h"
#include "solve/dual/working_rows.h"
#include "solve/solver.h"

namespace hinge {

struct EpochRules {
  bool backward = false;  // whether rows are visited from last to first
  double stride = 1;      // how far steps go, times the way to the optimum of their variable
  double stiffness = 1;   // sigma
  // A row at a bound falls asleep where its gradient points outwards by more than this.
  double rest = std::numeric_limits<double>::infinity();
};

struct EpochSums {
  double estimate = 0;       // of P - D, by the gradients as they were met
  double squares = 0;        // of the gradients where they can be followed inside the box
  std::uint64_t visits = 0;  // of rows
  std::uint64_t awake = 0;   // rows that did not fall asleep
  std::uint64_t inside = 0;  // rows whose variable a step left between its bounds
};

template <class Loss, class Value>
class Lane {
 public:
  using Row = typename WorkingRows<Value>::Item;
  static constexpr double kUnknown = DescentRow::kUnknown;

  Lane(const Problem& problem, const CsrView<Value>& m, const DualSetup& setup, Pool& pool)
      : alpha(huge_vector(m.rows)),
        squares(huge_vector(m.rows, kUnknown)),
        iterate{.w = huge_vector(problem.dimension())},
        low_precision(setup),
        working(m),
        problem_(problem),
        m_(m),
        simd_(*setup.common.simd),
        loops_(descent_loops(simd_, Loss::kKind)),
        pool_(pool),
        side_by_side_(problem, simd_, setup.lanes, pool) {}

  std::vector<double> alpha;    // the variables, by row, as store() left them
  std::vector<double> squares;  // |x_i|^2 + S^2 by row, or kUnknown until its first visit
  DualPoint iterate;            // w as these rows see it, while it is in doubles
  LowPrecision low_precision;   // w, else
  WorkingRows<Value> working;   // the rows that are visited, with their variables

  std::uint64_t rows() const { return m_.rows; }
  const CsrView<Value>& data() const { return m_; }
  bool has_entries(std::uint64_t i) const { return m_.size_of(i) > 0; }

  // The curvature of the (minimised) dual along a variable.
  double curvature(std::uint64_t i) const { return squares[i] + iterate.bias_curvature; }

  void find_square(std::uint64_t i, double constant_feature) {
    squares[i] = low_precision.square_of_row(m_, i) + constant_feature;
    // A row of zeros has margin 0 whatever w is, and the variable that is best there.
    if (squares[i] == 0 && !problem_.free_bias) {
      double margin = 0;
      if constexpr (Loss::kRegression) margin = -problem_.targets[i];
      alpha[i] = -loss_.slope(margin) * problem_.upper(i);
    }
  }

  void archive(Archive& archive) {
    archive.sized(iterate.w, problem_.dimension());
    low_precision.archive(archive, problem_.dimension());
    archive.sized(alpha, m_.rows);
    archive(side_by_side_);
  }

  // A variable becomes another, and w follows.
  void move(std::uint64_t i, double to) {
    add(i, (to - alpha[i]) * problem_.y[i]);
    alpha[i] = to;
  }

  // Computes the part of w that is of this lane's variables anew.
  void recompute_weights() {
    std::ranges::fill(iterate.w, 0.0);
    iterate.label_sum = 0;
    const std::span<const double> variables = alpha;
    for (std::uint64_t i = 0; i < variables.size(); ++i) {
      if (variables[i] != 0) add(i, variables[i] * problem_.y[i]);
    }
  }

  // Visits every working row once, in their order or from last to first. Asks stop(), which may
  // read `rows_touched`, now and then; false: it said so, and `saw` is as before.
  template <class Stop>
  bool epoch(const EpochRules& rules, std::uint64_t& rows_touched, const Stop& stop,
             EpochSums& saw) {
    if (!low_precision.used()) {
      return epoch(working.template descent<double>(), iterate.w, rules, rows_touched, stop, saw);
    }
    Descent<Value, float> descent = working.template descent<float>();
    low_precision.point_at_rows(descent);
    return epoch(descent, low_precision.float_weights(), rules, rows_touched, stop, saw);
  }

  // Returns what the variables add to the part of D that is not w's on their way since store(), but
  // for rows of zeros: theirs does not depend on how far lanes go.
  StepGain gain() const {
    StepGain sum;
    for (const Row& row : working.items()) {
      if (row.curvature == 0) continue;
      const StepGain gain = step_gain(problem_, loss_, row.row, alpha[row.row], row.alpha);
      sum.slope += gain.slope;
      sum.curvature += gain.curvature;
    }
    return sum;
  }

  // The slope of that and by how much it falls where variables have gone the share t of their way.
  SlopeAndCurvature gain_at(double t) const {
    SlopeAndCurvature sum;
    for (const Row& row : working.items()) {
      if (row.curvature == 0) continue;
      const double upper = problem_.upper(row.row), way = row.alpha - alpha[row.row];
      if (way == 0) continue;
      const double there = alpha[row.row] + t * way;
      sum.slope += way * gain_slope(loss_, there, upper);
      sum.curvature += way * way * loss_.dual_curvature(there, upper);
    }
    return sum;
  }

  // That visit the present rows.
  std::size_t lanes() const { return side_by_side_.lanes(); }
  // To be called when rows were chosen, or some have left.
  void share_out() { side_by_side_.share_out(working); }
  // Draws the order of the next epoch.
  void shuffle(std::uint64_t seed, std::uint64_t stream, std::uint64_t substream,
               const Neighbours& neighbours) {
    const Pool::Grace whole(pool_, Pool::Grace::kForever);  // epochs are between two store()s
    pool_.run(working.lanes(), [&](std::size_t k) {
      working.shuffle(k, Random(seed + k, stream, substream), neighbours);
    });
  }

  // What epochs made of the variables becomes theirs, by row; or `share` in [0, 1] of the way that
  // each went, but for rows of zeros, whose first visit has found what is best for good.
  void store() {
    const Pool::Grace whole(pool_, Pool::Grace::kForever);  // variables go with w
    const std::span<const Row> rows = working.items();
    in_blocks(pool_, rows.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (const Row& row : rows.subspan(begin, end - begin)) {
        alpha[row.row] = row.alpha;
        if (squares[row.row] == kUnknown) squares[row.row] = row.curvature;
      }
    });
  }
  void store(double share) {
    if (share == 1) return store();
    for (Row& row : working.items()) {
      if (row.curvature == 0) continue;
      const double upper = problem_.upper(row.row), from = alpha[row.row];
      row.alpha =
          std::clamp(from + share * (row.alpha - from), loss_.lowest(upper), loss_.highest(upper));
    }
    store();
  }

 private:
  template <class Weight, class Stop>
  bool epoch(Descent<Value, Weight> descent, std::vector<Weight>& w, const EpochRules& rules,
             std::uint64_t& rows_touched, const Stop& stop, EpochSums& saw) {
    const std::span<Row> rows = working.items();
    descent.w = w.data();
    descent.stride = rules.stride / rules.stiffness;
    descent.stiffness = rules.stiffness;
    descent.factor = problem_.costs.empty() ? nullptr : problem_.costs.data();
    descent.cost = problem_.cost;
    descent.loss = problem_.loss;
    descent.targets = problem_.targets.data();
    descent.rest = rules.rest;
    const bool with_bias = problem_.bias != 0 && !problem_.free_bias;
    if (problem_.free_bias) {
      descent.shift = iterate.bias_centre;
      descent.gain = iterate.bias_curvature;
      descent.unit = 1;
      descent.v = iterate.label_sum;
    } else if (with_bias) {
      descent.gain = descent.unit = problem_.bias;
      descent.v = static_cast<double>(w.back());
    }
    if (side_by_side_.lanes() > 1) {
      if (!side_by_side_.epoch(descent, w, working, rules.backward, stop)) return false;
      if (problem_.free_bias) iterate.label_sum = descent.v;
      rows_touched += descent.visits;
      see(descent, saw);
      return true;
    }
    const std::size_t some = DualTuning::kRowsBetweenPolls;
    for (std::size_t from = 0; from < rows.size(); from += some) {
      if (stop()) return false;
      const std::uint64_t before = descent.visits;
      loops_.descend(descent, &rows[rules.backward ? rows.size() - 1 - from : from],
                     std::min(some, rows.size() - from), rules.backward ? -1 : 1);
      if (problem_.free_bias) iterate.label_sum = descent.v;
      if (with_bias) w.back() = static_cast<Weight>(descent.v);
      rows_touched += descent.visits - before;
    }
    see(descent, saw);
    return true;
  }

  template <class Weight>
  void see(const Descent<Value, Weight>& descent, EpochSums& saw) const {
    const double by_bias = problem_.free_bias ? iterate.bias() * iterate.label_sum : 0.0;
    saw = {.estimate = descent.estimate - by_bias,
           .squares = descent.squares,
           .visits = descent.visits,
           .awake = descent.awake,
           .inside = descent.inside};
  }

  void add(std::uint64_t i, double a) {
    add_row(problem_, simd_, row_of(m_, i), a, iterate.w, iterate.label_sum);
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const CsrView<Value>& m_;
  const Simd& simd_;
  const DescentLoops& loops_;
  Pool& pool_;
  SideBySide<Loss, Value> side_by_side_;
};

}  // namespace hinge
