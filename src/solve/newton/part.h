// Newton steps on some rows. For centres c_i among the shares of a loss l (objective/loss.h), a
// steepness q and costs u_i (docs/math.md)
//
//   status s_i(w) = prox(c_i, z_i, q), z_i = y_i <w, x_i>,  dual variable u_i s_i,
//   F(w) = 1/2 |w|^2 + sum_i u_i (-l*(-s_i) - s_i z_i - (s_i - c_i)^2 / 2q),   F' = w - v,
//   v = sum_i u_i s_i y_i x_i,    F'' = I + q' sum_{s_i inside its range} u_i x_i x_i^T
//
// q' being by how much a status changes with the margin. For the hinge s_i(w) = clip(c_i + q (1 -
// z_i), 0, 1), q' = q, and 1/2q is half the width of the corner that replaces its own. (A smooth
// loss has none to replace: smooth_part.h.) The statuses are feasible for the dual at every w: each
// step knows how far from the optimum it is. With a free bias the last coordinate is moved after
// each step to where sum_i u_i s_i y_i = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/newton/block_sums.h"
#include "solve/newton/hessian.h"
#include "solve/newton/roots.h"
#include "solve/newton/signed_rows.h"
#include "solve/newton/smoothed_loss.h"
#include "solve/newton/system.h"
#include "solve/newton/tuning.h"

namespace hinge {

template <class Value, class Loss>
class NewtonPart {
  using Tuning = NewtonTuning;

 public:
  // `unit`: of the costs u_i = unit c_i. To `touched` rows are added as passes touch them.
  NewtonPart(NewtonSignedRows<Value> rows, double unit, const Problem& problem,
             NewtonSystem& system, const Simd& simd, Pool& pool, std::uint64_t& touched)
      : problem_(problem),
        rows_(std::move(rows)),
        unit_(unit),
        total_(rows_.total_cost()),
        free_(problem.free_bias),
        features_(rows_.features()),
        regularised_(problem.regularised()),
        system_(system),
        simd_(simd),
        loops_(smoothed_loops(simd, Loss::kKind)),
        pool_(pool),
        touched_(touched),
        cuts_(rows_.rows().cuts()),
        blocks_(cuts_.size() - 1),
        hessian_(rows_.rows(), cuts_, rows_.costs(), problem, system, simd, pool, touched),
        d_(size()),
        spare_(size()),
        w(system.size()),
        v(system.size()),
        z(size()),
        centre(size()),
        status(size()) {
    for (Block& block : blocks_) block.change.v.resize(system.size());
    if constexpr (Loss::kRegression) {
      for (std::uint64_t i = 0; i < size(); ++i) {
        z[i] = -rows_.target(i);
        scale_ += std::abs(z[i]) / static_cast<double>(size());
      }
      if (!(scale_ > 0)) scale_ = 1;
    } else {
      scale_ = 1;
    }
    const std::uint64_t step = size() / Tuning::kCurvatureRows + 1;
    double squares = 0, count = 0;
    const double constant = free_ ? 0.0 : rows_.bias() * rows_.bias();
    for (std::uint64_t i = 0; i < size(); i += step, ++count) {
      squares += rows_.cost(i) * (rows_.rows().square(i) + constant);
    }
    curvature_ = std::max(1e-100, unit_ * squares / count);
  }

  NewtonPart(const NewtonPart&) = delete;
  NewtonPart& operator=(const NewtonPart&) = delete;

  const NewtonSignedRows<Value>& rows() const { return rows_; }
  std::uint64_t size() const { return rows_.size(); }
  // How large margins are to begin with, in which widths of corners are counted: 1 of classes.
  double scale() const { return scale_; }

  double primal() const { return Problem::primal(problem_.square(w), unit_ * sums_.loss); }
  double dual() const {
    return Problem::dual(problem_.square(v), unit_ * sums_.gain, free_ ? v[features_] : 0.0,
                         free_ ? w[features_] : 0.0);
  }
  // Primal less dual where all other rows stay as they are; and the part of it that a minimum of F
  // would not have.
  double gap() const { return half_gradient() + unit_ * (sums_.loss - sums_.bound); }
  double half_gradient() const {
    double sum = 0;
    for (std::size_t j = 0; j < regularised_; ++j) sum += (w[j] - v[j]) * (w[j] - v[j]);
    return sum / 2;
  }

  // The first centres, halfway, and steepness. Rows of zeros have margin 0 whatever w is. Where
  // costs times squares of rows are so large that statuses must be tiny, the centres are 0, and
  // the steepness is one that can tell such statuses apart.
  void begin_with(double wanted) {
    const bool few = size() < Tuning::kFewRowsByColumns * regularised_;
    const double largest = few ? Tuning::kLargestCurvatureOfFew : Tuning::kLargestCurvature;
    const bool large = wanted * curvature_ > largest;
    steepness = large ? largest / curvature_ : wanted;
    for (std::uint64_t i = 0; i < size(); ++i) {
      const double first = large || Loss::kKinked ? 0.0 : Tuning::kFirstCentre;
      centre[i] = rows_.zero(i) ? -loss_.slope(-rows_.target(i)) : first;
    }
    stale = true;
  }

  void set_steepness(double wanted) {
    steepness = wanted;
    stale = true;
  }

  // Sharper corners, as far as rounding of margins does not show in statuses.
  void sharpen(double factor) {
    steepness = std::min(steepness * factor, Tuning::kSteepest);
    stale = true;
  }

  // Other centres, or another steepness: statuses are to be found anew before the next step.
  void recentre() {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      std::copy(status.data() + begin, status.data() + end, centre.data() + begin);
    });
    stale = true;
  }

  // With a free bias: other rows have their part in v, which does not change.
  void count_others() {
    double sum = 0;
    for (std::uint64_t i = 0; i < size(); ++i) sum += rows_.cost(i) * rows_.y(i) * status[i];
    others_ = v[features_] / unit_ - sum;
  }

  // Sets z from w, exactly; and v from the statuses.
  void measure_margins() {
    score(w.data(), z.data());
    if constexpr (Loss::kRegression) {
      for (std::uint64_t i = 0; i < size(); ++i) z[i] -= rows_.target(i);
    }
  }
  void measure_sum() {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      StatusChanges<Value> changes(rows_, blocks_[b].change);
      for (std::uint64_t i = begin; i < end; ++i) {
        if (status[i] != 0) changes.add(i, status[i]);
      }
      changes.finish();
    });
    std::ranges::fill(v, 0.0);
    take_changed();
  }

  // Statuses at z by centres and steepness; v follows.
  void settle() {
    if (free_) {
      move_bias();
    } else {
      move(0);
    }
  }

  enum class Step : std::uint8_t { taken, none, stopped };

  // One step, unless rounding leaves no way down, or go() says no.
  template <class Go>
  Step step(const Go& go) {
    if (std::exchange(stale, false)) {
      settle();
      hessian_.forget();
    }
    hessian_.list([this](std::uint64_t i) { return between(i); });
    std::vector<double> g(system_.size()), s;
    for (std::size_t j = 0; j < regularised_; ++j) g[j] = v[j] - w[j];
    if (free_) g[features_] = v[features_];
    hessian_.solve(loss_.prox_slope(steepness) * unit_, Tuning::kResidual, g, s, go);
    if (!go()) return Step::stopped;
    double down = 0, square = 0;
    for (std::size_t j = 0; j < s.size(); ++j) down += g[j] * s[j];
    if (!(down > 0) || !std::isfinite(down)) return Step::none;
    double most = 0;
    for (const double x : g) most += x * x;
    if (!free_ && down > Tuning::kSpoilt * most) return Step::none;
    for (std::size_t j = 0; j < regularised_; ++j) square += s[j] * s[j];
    const double t = search(s.data(), -down, square);
    if (t == 0) return Step::none;
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += t * s[j];
    if (free_) {
      shift(t);
      move_bias();
    } else {
      move(t);
    }
    return Step::taken;
  }

  // d = y_i <s, x_i> of all rows, for advance().
  void set_direction(const double* s) { score(s, d_.data()); }
  std::span<double> direction() { return d_.span(); }
  void advance(double t) {
    shift(t);
    settle();
  }

  // Of the primal at w + t s, where d is that of s.
  double loss_at(double t) {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      double sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        sum += rows_.cost(i) * loss_.value(z[i] + t * d_[i]);
      }
      blocks_[b].slope = sum;
    });
    return unit_ * sum_slopes();
  }

  bool between(std::uint64_t i) const { return inside(status[i]); }

  // The statuses as they are now are kept until others are marked; zeros at first.
  void mark_best() { best_is_now_ = true; }
  const Buffer<double>& best() {
    if (best_.size() != size()) best_.resize(size());
    return best_is_now_ ? status : best_;
  }
  Buffer<double> take_best() {  // at the end
    best();
    return std::move(best_is_now_ ? status : best_);
  }
  // Before statuses are changed from outside.
  void keep_best() {
    if (std::exchange(best_is_now_, false)) std::copy_n(status.data(), size(), best_.data());
  }

  // The state where `stale` is set.
  void archive(Archive& archive) {
    archive.sized(w, system_.size());
    archive.sized(v, system_.size());
    archive.sized(z, size());
    archive.sized(centre, size());
    archive.sized(status, size());
    archive.sized(best_, size());
    archive(best_is_now_, steepness, sums_.loss, sums_.gain, sums_.bound, between_, hessian_);
    archive.require(steepness > 0 && std::isfinite(steepness));
  }

 private:
  struct alignas(NewtonTuning::kLine) Block {
    ChangeOfSum change;
    SmoothedSums sums;
    double slope = 0;
    std::uint64_t between = 0;
  };

  template <class F>
  void for_blocks(F&& f) {
    pool_.run(blocks_.size(), [&](std::size_t b) { f(b, cuts_[b], cuts_[b + 1]); });
  }

  // Whether a share follows the margin: it is at no bound, nor at a kink of the conjugate.
  static bool inside(double share) {
    return share > Loss::kLowest && share < Loss::kHighest && !(Loss::kKinked && share == 0);
  }
  SmoothedRows smoothed(std::uint64_t begin, std::uint64_t end) const {
    return {z.data() + begin, d_.data() + begin, centre.data() + begin, rows_.costs_from(begin),
            end - begin,      steepness,         problem_.loss};
  }

  void score(const double* s, double* out) {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      rows_.score(s, out, begin, end);
    });
    touched_ += size();
  }

  double slope_at(double t) {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      blocks_[b].slope = loops_.slope(smoothed(begin, end), t);
    });
    return sum_slopes();
  }
  double sum_slopes() const {
    double sum = 0;
    for (const Block& block : blocks_) sum += block.slope;
    return sum;
  }

  // How far to go along s: F'(w + t s) rises with t from `first` < 0. What other rows have in it
  // does not change, so only differences count.
  double search(const double* s, double first, double square) {
    std::vector<double> at_zero(blocks_.size());
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      rows_.score(s, d_.data(), begin, end);
      at_zero[b] = loops_.slope(smoothed(begin, end), 0);
      blocks_[b].slope = loops_.slope(smoothed(begin, end), 1);
    });
    touched_ += size();
    const double start = std::accumulate(at_zero.begin(), at_zero.end(), 0.0);
    return search_step(first, first + square + unit_ * (start - sum_slopes()), [&](double t) {
      return first + t * square + unit_ * (start - slope_at(t));
    });
  }

  void shift(double t) {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      simd_.add_dense(t, d_.data() + begin, z.data() + begin, end - begin);
    });
  }

  // z + t d, the statuses there, v and what is to follow in F''.
  void move(double t) {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      Block& block = blocks_[b];
      block.sums = loops_.move(smoothed(begin, end), t, z.data() + begin, spare_.data() + begin);
      StatusChanges<Value> changes(rows_, block.change);
      std::uint64_t between = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const double now = spare_[i], was = status[i];
        if constexpr (Loss::kRegression) {
          block.sums.gain += rows_.cost(i) * now * rows_.target(i);
        }
        between += static_cast<std::uint64_t>(inside(now));
        if (now == was) continue;
        changes.add(i, now - was);
      }
      changes.finish();
      block.between = between;
    });
    std::swap(status, spare_);
    if (std::exchange(best_is_now_, false)) {
      best_.resize(size());
      std::swap(best_, spare_);
    }
    sums_ = {};
    between_ = 0;
    for (const Block& block : blocks_) {
      sums_.loss += block.sums.loss;
      sums_.gain += block.sums.gain;
      sums_.bound += block.sums.bound;
      between_ += block.between;
    }
    take_changed();
  }

  void take_changed() {
    for (const Block& block : blocks_) touched_ += block.change.changed;
    add_vectors(
        blocks_,
        [](const Block& block) {
          return block.change.changed == 0 ? nullptr : block.change.v.data();
        },
        unit_, v, simd_, pool_);
  }

  // Moves the free bias to where sum_i c_i y_i s_i, which falls as it rises, is 0.
  void move_bias() {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) d_[i] = rows_.y(i);
    });
    const auto balance_at = [this](double by) { return others_ + slope_at(by); };
    RootEnd low = {0, balance_at(0)}, high = low;
    const double enough = Tuning::kBalanced * total_;
    double t = 0;
    if (std::abs(low.value) > enough) {
      // A step that would do if as many rows were between their bounds as last time.
      double by = between_ > 0 ? Tuning::kBiasBeyond * std::abs(low.value) /
                                     (loss_.prox_slope(steepness) * static_cast<double>(between_))
                               : 1 / loss_.prox_slope(steepness);
      by = std::clamp(by, Tuning::kBiasLeast, Tuning::kBiasMost);
      const double sign = low.value > 0 ? 1 : -1;
      for (int step = 0; step < Tuning::kBiasSteps; ++step, by *= Tuning::kBiasWiden) {
        high.at += sign * by;
        high.value = balance_at(high.at);
        if (sign * high.value <= 0) break;
        low = high;
      }
      t = find_root(low, high, enough, Tuning::kBiasTrials, balance_at);
    }
    move(t);
    w[features_] += t;
    if (between_ > 0) return;
    // With no row between its bounds there is a range of such places. From its middle rows of both
    // labels come back together; from an end each step would be undone.
    const double middle = middle_of_range();
    move(middle);
    w[features_] += middle;
  }

  // How far away the middle is of the range of the bias in which no status changes.
  double middle_of_range() const {
    double low = -std::numeric_limits<double>::infinity(), high = -low;
    for (std::uint64_t i = 0; i < size(); ++i) {
      if (rows_.cost(i) == 0) continue;
      if constexpr (Loss::kKinked) {  // where y is 1
        const double middle = centre[i] / steepness - z[i], width = problem_.loss.epsilon;
        if (status[i] >= Loss::kHighest) {
          high = std::min(high, middle - Loss::kHighest / steepness - width);
        } else if (status[i] <= Loss::kLowest) {
          low = std::max(low, middle - Loss::kLowest / steepness + width);
        } else {
          low = std::max(low, middle - width);
          high = std::min(high, middle + width);
        }
        continue;
      }
      const bool at_lowest = status[i] <= Loss::kLowest;
      const double room = at_lowest
                              ? loss_.dual_gradient(z[i]) - (centre[i] - Loss::kLowest) / steepness
                              : loss_.slack(z[i]) - (Loss::kHighest - centre[i]) / steepness;
      if ((rows_.y(i) > 0) == at_lowest) {
        low = std::max(low, -room);
      } else {
        high = std::min(high, room);
      }
    }
    const double middle = (low + high) / 2;
    return std::isfinite(middle) ? middle : 0.0;
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  NewtonSignedRows<Value> rows_;
  double unit_;
  double total_;          // sum of c_i
  double curvature_ = 0;  // mean of u_i |x_i|^2, by a sample
  double scale_ = 0;
  double others_ = 0;  // sum of c_i y_i s_i over rows elsewhere; free bias
  bool free_;
  std::size_t features_, regularised_;
  NewtonSystem& system_;
  const Simd& simd_;
  const SmoothedLoops& loops_;
  Pool& pool_;
  std::uint64_t& touched_;
  std::vector<std::uint64_t> cuts_;
  std::vector<Block> blocks_;
  SmoothedSums sums_;
  std::uint64_t between_ = 0;  // rows
  NewtonHessian<Value> hessian_;
  Buffer<double> d_, spare_, best_;
  bool best_is_now_ = false;

 public:
  // The state; who changes it sets `stale`. v goes with the statuses, z with w.
  std::vector<double> w, v;  // of as many numbers as the system has
  Buffer<double> z, centre, status;
  double steepness = 1;  // q
  bool stale = true;
};

}  // namespace hinge
