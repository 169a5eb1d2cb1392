// Where progress is slow, epochs go the same way again and again. A leap goes on along it: from
// here to the best point of
//   alpha + s r + t p,   r: the way since the last leap, p: that leap with the way to it,
// cut off at the bounds. Were there none, that would be conjugate gradients, with an epoch there
// and back (which is a symmetric matrix) to condition them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/dual/dual_point.h"
#include "solve/dual/tuning.h"
#include "solve/dual/working_rows.h"

namespace hinge {

// D along a way is a quadratic of how far it goes, for losses whose conjugate is one; of others the
// quadratic is that of where a leap begins, and a leap is made if it gains all the same.
template <class Loss, class Value>
class Leaps {
  using Item = typename WorkingRows<Value>::Item;

 public:
  // `rows` are those that epochs visit, `iterate` is where these have come to.
  Leaps(const Problem& problem, const CsrView<Value>& m, const Simd& simd, WorkingRows<Value>& rows,
        DualPoint& iterate)
      : problem_(problem),
        m_(m),
        simd_(simd),
        rows_(rows),
        iterate_(iterate),
        regularised_(problem.regularised()) {}

  // To be called after rows were chosen: the last leap goes on, but for rows not among them.
  void choose() {
    step_.clear();
    if (step_by_row_.empty()) return;
    for (const Item& item : rows_.items()) {
      step_.push_back(std::exchange(step_by_row_[item.row], 0.0));
    }
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      add_row(problem_, simd_, row_of(m_, i), -step_by_row_[i] * problem_.y[i], step_w_, step_sum_);
    }
  }

  // To be called before others are: the last leap is kept by row, whichever they are.
  void store() {
    step_by_row_.assign(step_.empty() ? 0 : m_.rows, 0.0);
    for (std::size_t k = 0; k < step_.size(); ++k) step_by_row_[rows_.items()[k].row] = step_[k];
  }

  // Says that the next leap begins here.
  void mark() {
    before_.clear();
    for (const Item& item : rows_.items()) before_.push_back(item.alpha);
    before_w_ = iterate_.w;
    before_sum_ = iterate_.label_sum;
  }

  // Leaps as far as it pays; returns how many rows were touched.
  std::uint64_t leap() {
    touched_ = 0;
    leap_as_far_as_it_pays();
    if (count_++ == 0) mean_.assign(iterate_.w.size(), 0.0);
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += iterate_.w[j];
    return touched_;
  }

  // How many leaps there were since take_mean(), and whether w is what they have led to: rounding
  // grows with them.
  std::uint64_t count() const { return count_; }
  bool changed_w() const { return changed_w_; }
  void w_is_computed() { changed_w_ = false; }

  // Returns the mean of w after each of them, of which there was at least one if it is `wanted`.
  std::vector<double>& take_mean(bool wanted) {
    if (wanted) {
      for (double& x : mean_) x /= static_cast<double>(count_);
    }
    count_ = 0;
    return mean_;
  }

  // To be called between store() and choose(), when w was computed from the variables.
  void archive(Archive& archive) {
    archive.sized_or_empty(step_by_row_, m_.rows);
    archive.sized(step_w_, step_by_row_.empty() ? 0 : problem_.dimension());
    archive(step_sum_);
  }

 private:
  void leap_as_far_as_it_pays() {
    const std::span<Item> items = rows_.items();
    const std::vector<double>& w = iterate_.w;
    const bool first = step_.empty();
    double ww = 0, rr = 0, rp = 0, pp = 0, slope_r = 0, slope_p = 0;  // slopes: of the dual
    for (std::size_t j = 0; j < regularised_; ++j) {
      const double r = w[j] - before_w_[j], p = first ? 0 : step_w_[j];
      ww += w[j] * w[j];
      rr += r * r;
      rp += r * p;
      pp += p * p;
      slope_r -= w[j] * r;
      slope_p -= w[j] * p;
    }
    if (problem_.free_bias) {
      const double r = iterate_.label_sum - before_sum_, p = first ? 0 : step_sum_;
      rr += iterate_.bias_curvature * r * r;
      rp += iterate_.bias_curvature * r * p;
      pp += iterate_.bias_curvature * p * p;
      slope_r -= iterate_.bias() * r;
      slope_p -= iterate_.bias() * p;
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
      const double r = items[k].alpha - before_[k], p = first ? 0 : step_[k];
      if constexpr (Loss::kLinearGain) {
        slope_r += r;
        slope_p += p;
      } else {
        const double upper = problem_.upper(items[k].row), alpha = items[k].alpha;
        const double slope = gain_slope(loss_, alpha, upper);
        const double curvature = loss_.dual_curvature(alpha, upper);
        slope_r += slope * r;
        slope_p += slope * p;
        rr += curvature * r * r;
        rp += curvature * r * p;
        pp += curvature * p * p;
      }
    }
    const double determinant = rr * pp - rp * rp;
    double s = rr > 0 ? slope_r / rr : 0, t = 0;
    if (determinant > DualTuning::kLeastDeterminant * rr * pp) {
      s = (slope_r * pp - slope_p * rp) / determinant;
      t = (slope_p * rr - slope_r * rp) / determinant;
    }
    for (int n = 0; n < DualTuning::kLeapTries; ++n, s /= 2, t /= 2) {
      const double length = 1 + std::abs(s) + std::abs(t);
      if (leap_to(s, t, DualTuning::kLeapNoise * ww * length)) return;
    }
    mark();
    step_.clear();
    step_w_.clear();
  }

  // Leaps to alpha + s r + t p. False: the bounds leave no more gain than `least`, and nothing has
  // changed.
  bool leap_to(double s, double t, double least) {
    const std::span<Item> items = rows_.items();
    std::vector<double>& w = iterate_.w;
    const bool first = step_.empty();
    const double sum_before = iterate_.label_sum;
    if (leap_w_.empty()) leap_w_ = huge_vector(w.size());
    leap_.resize(items.size());
    for (std::size_t j = 0; j < w.size(); ++j) {
      leap_w_[j] = w[j] + s * (w[j] - before_w_[j]) + (first ? 0 : t * step_w_[j]);
    }
    iterate_.label_sum += s * (iterate_.label_sum - before_sum_) + (first ? 0 : t * step_sum_);
    double gain = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
      const Item& item = items[k];
      const double wanted = item.alpha + s * (item.alpha - before_[k]) + (first ? 0 : t * step_[k]);
      const double upper = problem_.upper(item.row);
      leap_[k] = fit(wanted, item.alpha, upper);
      gain += loss_.dual_gain(leap_[k], upper) - loss_.dual_gain(item.alpha, upper);
      if (leap_[k] == wanted) continue;
      add_row(problem_, simd_, rows_.entries(item), (leap_[k] - wanted) * item.y, leap_w_,
              iterate_.label_sum);
      ++touched_;
    }
    for (std::size_t j = 0; j < regularised_; ++j) {
      const double way = leap_w_[j] - w[j];
      gain -= way * (w[j] + way / 2);
    }
    if (problem_.free_bias) {
      const double way = iterate_.label_sum - sum_before;
      gain -= way * (iterate_.bias_centre + iterate_.bias_curvature * (sum_before + way / 2));
    }
    if (!(gain > least)) {
      iterate_.label_sum = sum_before;
      return false;
    }
    step_.resize(items.size());
    step_w_.resize(w.size());
    for (std::size_t k = 0; k < items.size(); ++k) {
      step_[k] = leap_[k] - before_[k];
      if (leap_[k] != items[k].alpha) items[k].asleep = false;
      items[k].alpha = leap_[k];
    }
    for (std::size_t j = 0; j < w.size(); ++j) step_w_[j] = leap_w_[j] - before_w_[j];
    step_sum_ = iterate_.label_sum - before_sum_;
    w.swap(leap_w_);
    changed_w_ = true;
    mark();
    return true;
  }

  // Where a variable may leap to. One whose gain has an infinite slope at its bounds goes at most
  // half of the way to them.
  double fit(double wanted, double alpha, double upper) const {
    const double low = loss_.lowest(upper), high = loss_.highest(upper);
    if constexpr (Loss::kQuadraticGain) {
      return std::clamp(wanted, low, high);
    } else {
      return std::clamp(wanted, alpha - (alpha - low) / 2, alpha + (high - alpha) / 2);
    }
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const CsrView<Value>& m_;
  const Simd& simd_;
  WorkingRows<Value>& rows_;
  DualPoint& iterate_;
  const std::size_t regularised_;  // columns

  // The members `before` say where the last leap ended, `step` how it and the way to it went.
  std::vector<double> before_, before_w_, step_, step_w_, leap_, leap_w_;
  std::vector<double> step_by_row_;
  double before_sum_ = 0, step_sum_ = 0;
  std::vector<double> mean_;  // a sum until it is taken
  std::uint64_t count_ = 0, touched_ = 0;
  bool changed_w_ = false;
};

}  // namespace hinge
