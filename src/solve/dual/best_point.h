// The best primal point among those a solver has met and the lines between them. A dual solver
// comes to the optimum by points whose primal value is far above it; along a line margins are
// linear, and the exact minimum costs no pass over the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "objective/line_search.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "ranks/comm.h"
#include "simd/simd.h"
#include "solve/dual/tuning.h"

namespace hinge {

// <v, w> where w = sum_i a_i y_i x_i, by the gradients at v: the sum of a_i z_i, and of a_i t_i. A
// pass over rows in the place of one over columns.
template <class Loss>
double inner_by_rows(const Problem& problem, std::span<const double> alpha,
                     std::span<const double> gradient);

template <class Loss>
class BestPoint {
 public:
  // Where rows are on several ranks, each offers the same points with the gradients of its own.
  BestPoint(const Problem& problem, const Simd& simd, Comm* comm)
      : problem_(problem), simd_(simd), comm_(comm) {}

  struct Point {
    std::span<const double> w;
    std::span<const double> gradient;  // of the rows (objective/loss.h)
    double square = 0;                 // |w|^2
    double primal = 0;                 // P(w)
    // a where w = sum_i a_i y_i x_i, which spares a pass over w; empty: it is not known to be.
    std::span<const double> alpha = {};
  };
  // Takes a point into account. If its P is no more than `enough`, nor than the best so far, it
  // becomes the best as it is, without a search; `true` then says that keep() must be called before
  // w or its gradients change, or take() would not have it. (Often there is no need: the solver has
  // arrived.) Where the search shall be `thorough`, multiples count as well. They matter with large
  // costs: many rows have margins a little below 1 then.
  bool offer(const Point& point, double enough, bool thorough);
  void keep(const Point& point);
  // Takes w = 0 into account, as the first point.
  void offer_zero(double primal) { primal_ = primal; }

  double primal() const { return primal_; }  // infinite before there is a point
  // How far that may be off, as a share of it, for want of a pass over the data.
  double noise() const { return noise_ * std::numeric_limits<double>::epsilon(); }
  std::vector<double> copy() const {
    return w_.empty() ? std::vector<double>(problem_.dimension()) : w_;
  }
  std::vector<double> take() { return w_.empty() ? copy() : std::move(w_); }

  void archive(Archive& archive);

 private:
  // A move along the line to a point, where no point means w = 0: to best + t (to - best).
  struct Move {
    double t = 0;
    double loss = 0, square = 0;  // where it ends
    double noise = 1;
  };
  double inner(const Point& point) const;
  const double* end_of(const Point& to);
  static double gradient_at(const double* end, std::uint64_t i) {
    return end == nullptr ? Loss::dual_gradient(0.0) : end[i];
  }
  double add_rows(const double* end, double sign);
  SlopeAndCurvature slope_along(const double* end_point, double t) const;
  double find_bent_step(const double* end, double square, double first, bool both_ways);
  double find_smooth_step(const double* end, double square, double slope, bool both_ways) const;
  double find_step(const Point& to, double product, bool both_ways);
  Move find_move(const Point& to, bool both_ways);
  void apply(const Move& move, const Point& to);  // to all but w
  void move_along(const Point& to, bool both_ways);
  void begin_at(const Point& point);

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const Simd& simd_;
  Comm* const comm_;  // or none
  LineSearch search_{0, 0, DualTuning::kFarthest};
  std::vector<double> w_, gradient_;  // empty: 0
  std::vector<double> at_zero_;       // gradients of w = 0 where rows have targets
  double square_ = 0, primal_ = std::numeric_limits<double>::infinity();
  double noise_ = 1;  // how far margins and w may be apart, in roundings
};

}  // namespace hinge
