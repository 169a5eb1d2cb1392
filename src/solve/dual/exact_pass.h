// The exact pass: gradients and P at w from all rows, D from that, and what is best of them. Where
// rows are on several ranks, sums over rows are sums over ranks.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/error.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "solve/dual/best_point.h"
#include "solve/dual/dual_bias.h"
#include "solve/dual/epochs.h"
#include "solve/dual/gradients.h"
#include "solve/dual/lane.h"
#include "solve/dual/tuning.h"
#include "solve/monitor.h"
#include "solve/solver.h"

namespace hinge {

template <class Loss, class Value>
class ExactPass {
 public:
  // Counts rows in `work`.
  ExactPass(const Problem& problem, const SolverOptions& options, Lane<Loss, Value>& lane,
            Epochs<Loss, Value>& epochs, Pool& pool, Solution& work)
      : problem_(problem),
        simd_(*options.simd),
        comm_(options.comm),
        lane_(lane),
        iterate_(lane.iterate),
        low_precision_(lane.low_precision),
        epochs_(epochs),
        pool_(pool),
        work_(work),
        regularised_(problem.regularised()),
        gradients_(problem, lane.data(), simd_, pool),
        bias_(problem, lane, gradients_, pool),
        best_point_(problem, simd_, options.comm) {}

  Gradients<Loss, Value>& gradients() { return gradients_; }
  DualBias<Loss, Value>& bias() { return bias_; }

  double bound() const { return bound_; }
  double primal() const { return best_point_.primal(); }
  double gap() const { return gap_; }                // P of the best point less D at w
  double gap_before() const { return gap_before_; }  // that of the pass before
  double relative_gap() const {
    return primal() > 0 ? std::max(0.0, (primal() - bound_) / primal()) + best_point_.noise() : 0.0;
  }
  // On ranks: the same by w as the variables say, which becomes w. Joins only carry it on.
  double relative_gap_from_scratch() {
    keep_best();
    lane_.recompute_weights();
    comm_->sum(iterate_.w);
    const double dual = Problem::dual(square(iterate_.w), gain_);
    return primal() > 0 ? std::max(0.0, (primal() - dual) / primal()) : 0.0;
  }
  std::uint64_t active_rows() const {
    return comm_ == nullptr ? lane_.working.items().size() : active_on_ranks_;
  }

  // |w|^2
  double square(std::span<const double> w) const {
    return simd_.dot_dense(w.data(), w.data(), regularised_);
  }

  // To be called before the first pass: finds out how many rows all ranks have.
  void begin() { rows_ = comm_ == nullptr ? lane_.rows() : comm_->sum(lane_.rows()); }

  // Measures where epochs have come to. The limits are those of the run.
  void run(const Limits& limits) {
    keep_best();
    const Measured found = measure();
    if (!std::isfinite(found.primal())) {
      fail("solver.nonfinite",
           fmt::format("the objective is not finite after {:.0f} passes over the data",
                       epochs_.passes()),
           "scale the data, or lower --cost");
    }
    gain_ = found.sums.gain;
    const double dual = raise_bound(found);
    offer_point(found, limits);
    gap_before_ = std::exchange(gap_, best_point_.primal() - dual);
    epochs_.see_exact(gap_, found.sums.squares / static_cast<double>(rows_));
    if (!iterate_.is_zero) work_.rows_touched += lane_.rows();
    iterate_.is_zero = false;
  }

  // Offers a primal point from elsewhere.
  void compare(const std::vector<double>& w) {
    DualSums sums = gradients_.find_and_sum(w, lane_.alpha);
    if (bias_.is_free()) sums = gradients_.shift_and_sum(w.back(), lane_.alpha);
    sums = over_ranks(sums);
    const double squared = square(w);
    if (!std::isfinite(squared / 2 + sums.loss)) return;
    const Point point = {w, gradients_.all(), squared, squared / 2 + sums.loss};
    if (best_point_.offer(point, 0, false)) best_point_.keep(point);
    work_.rows_touched += lane_.rows();
  }

  // To be called before w, the mean of leaps or the gradients change.
  void keep_best() {
    if (unkept_ != nullptr) best_point_.keep({.w = *unkept_, .gradient = gradients_.all()});
    unkept_ = nullptr;
  }
  std::vector<double> copy_best() const { return best_point_.copy(); }

  // To be called at the end.
  std::vector<double> take_best() {
    return unkept_ != nullptr ? std::move(*unkept_) : best_point_.take();
  }
  std::vector<double> take_alpha() {
    return std::move(best_alpha_.empty() ? lane_.alpha : best_alpha_);
  }

  // The parts of a state, which stand apart in it.
  void archive_rows(Archive& archive) {
    archive.sized(best_alpha_, bias_.is_free() ? lane_.rows() : 0);
    archive.sized(gradients_.all(), lane_.rows());
  }
  void archive_best(Archive& archive) { archive(best_point_, bound_, gap_, gap_before_); }

 private:
  using Point = typename BestPoint<Loss>::Point;

  // What is found at a point: w, or the mean of leaps.
  struct Measured {
    std::vector<double>& point;
    bool is_mean = false;
    DualSums sums = {};
    double square = 0;       // of the point
    double dual_square = 0;  // |v|^2, v = sum_i a_i y_i x_i
    bool by_rows = false;  // whether that was found by rows, of which there are fewer than columns

    double primal() const { return Problem::primal(square, sums.loss); }
  };

  // Leaps go to and fro about the optimum: where w is far worse than the best point, their mean
  // takes its place.
  Measured measure() {
    if (epochs_.leaps().changed_w()) epochs_.recompute_weights();
    double squared =
        low_precision_.used() ? low_precision_.give(iterate_.w, regularised_, simd_, pool_) : 0;
    if (!std::isfinite(squared)) epochs_.promote_to_double();
    const bool at_mean = epochs_.leaps().count() > 0 &&
                         epochs_.forecast().estimate() > DualTuning::kMeanAbove * gap_;
    if (bias_.is_free()) {
      bias_.settle();
      if (low_precision_.used()) {
        low_precision_.take(iterate_.w);
        squared = square(iterate_.w);
      }
    }
    std::vector<double>& mean = epochs_.leaps().take_mean(at_mean);
    Measured found = {.point = at_mean ? mean : iterate_.w, .is_mean = at_mean, .square = squared};
    found.sums = sums_at(found.point);
    if (!find_dual_square_in_low_precision(found)) find_squares(found);
    if (bias_.is_free()) found.point.back() = bias_.at_w();
    return found;
  }

  // Returns the sums of all rows at a point; a free bias is the best one for it.
  DualSums sums_at(std::span<const double> point) {
    if (iterate_.is_zero) point = {};
    if (!bias_.is_free()) return over_ranks(gradients_.find_and_sum(point, lane_.alpha));
    gradients_.find(point);
    bias_.find_best();
    if (iterate_.is_zero) bias_.centre_at_best();
    return gradients_.shift_and_sum(bias_.at_w(), lane_.alpha);
  }

  DualSums over_ranks(const DualSums& own) {
    if (comm_ == nullptr) return own;
    const auto active = static_cast<double>(lane_.working.items().size());
    double sums[] = {own.loss, own.gain, own.squares, active};
    comm_->sum(sums);
    active_on_ranks_ = static_cast<std::uint64_t>(sums[3]);
    return {sums[0], sums[1], sums[2]};
  }

  // True: w is in floats, and |v|^2 was found beside |w|^2. Where that is too coarse, rows are
  // others than they are, taken in low precision: w becomes double, and is measured again.
  bool find_dual_square_in_low_precision(Measured& found) {
    if (!low_precision_.used()) return false;
    if (iterate_.is_zero) {
      found.dual_square = found.square;
      return true;
    }
    const std::optional<double> beside = square_beside(
        found.square, product_by_rows(), regularised_,
        [&](double dual_square) { return found.primal() - (found.sums.gain - dual_square / 2); });
    if (beside) {
      found.dual_square = *beside;
      return true;
    }
    epochs_.promote_to_double();
    found.sums = sums_at(iterate_.w);
    return false;
  }

  // Finds |v|^2 by rows only before leaps: w and the variables drift apart.
  void find_squares(Measured& found) {
    found.by_rows = !bias_.is_free() && comm_ == nullptr && lane_.rows() < iterate_.w.size() &&
                    !epochs_.is_hard();
    found.dual_square = found.by_rows ? product_by_rows() : square(iterate_.w);
    found.square = found.is_mean ? square(found.point) : found.dual_square;
  }

  // <w, v> by the gradients at w.
  double product_by_rows() {
    return inner_by_rows<Loss>(problem_, lane_.alpha, gradients_.all()) -
           iterate_.label_sum * bias_.at_w();
  }

  // Raises the bound to D at the variables, if that is more, and returns D. With a free bias it may
  // fall again, as their sum is brought back to 0, and those of the best bound are kept.
  double raise_bound(const Measured& found) {
    const double dual =
        Problem::dual(found.dual_square, found.sums.gain, iterate_.label_sum, bias_.at_w());
    if (bias_.is_free() && (dual > bound_ || best_alpha_.empty())) best_alpha_ = lane_.alpha;
    bound_ = std::max(bound_, dual);
    return dual;
  }

  void offer_point(const Measured& found, const Limits& limits) {
    if (iterate_.is_zero && !bias_.is_free()) {
      best_point_.offer_zero(found.sums.loss);
      return;
    }
    Point offered = {found.point, gradients_.all(), found.square, found.primal()};
    if (found.by_rows) offered.alpha = lane_.alpha;
    const double wanted = limits.primal_aim(bound_);
    // Midway the next point will be better anyway.
    const double left = offered.primal - bound_;
    const bool midway = !epochs_.is_hard() &&
                        left > DualTuning::kSearchWithin * (wanted - bound_) &&
                        left < DualTuning::kSearchBeyond * offered.primal;
    if (best_point_.offer(offered, midway ? offered.primal : wanted, epochs_.is_hard())) {
      unkept_ = &found.point;
    }
  }

  const Problem& problem_;
  const Simd& simd_;
  Comm* const comm_;  // the ranks, if there are several
  Lane<Loss, Value>& lane_;
  DualPoint& iterate_;           // of the lane,
  LowPrecision& low_precision_;  // and its w while that is enough
  Epochs<Loss, Value>& epochs_;
  Pool& pool_;
  Solution& work_;
  const std::size_t regularised_;  // columns

  Gradients<Loss, Value> gradients_;
  DualBias<Loss, Value> bias_;
  std::uint64_t rows_ = 0;  // of all ranks
  std::uint64_t active_on_ranks_ = 0;
  double bound_ = 0;                // alpha = 0 is feasible
  std::vector<double> best_alpha_;  // behind the bound: free bias only
  BestPoint<Loss> best_point_;
  std::vector<double>* unkept_ = nullptr;  // the best point is this one, and as yet only this one
  double gap_ = 0, gap_before_ = 0;
  double gain_ = 0;  // of all variables in D, in the last pass
};

}  // namespace hinge
