// Newton steps on P itself, on some rows, for a smooth loss (objective/loss.h). For costs u_i, and
// targets t_i in regression,
//
//   a_i = -l'(z_i), z_i = y_i <w, x_i> - t_i,  v = sum_i u_i a_i y_i x_i,  P' = w - v,
//   P'' = I + sum_i u_i l''(z_i) x_i x_i^T
//
// Where l'' is one number wherever it is not 0, the sum is kept up to date from step to step.
//
// The dual variables u_i a_i are the best for their margins, and P - D = 1/2 |w - v|^2. With a free
// bias the last coordinate is moved after each step to where sum_i u_i a_i y_i = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "simd/simd.h"
#include "solve/newton/block_sums.h"
#include "solve/newton/hessian.h"
#include "solve/newton/signed_rows.h"
#include "solve/newton/smooth_rows.h"
#include "solve/newton/system.h"
#include "solve/newton/tuning.h"

namespace hinge {

template <class Value, class Loss>
class SmoothPart {
  using Tuning = NewtonTuning;

 public:
  // `unit`: of the costs u_i = unit c_i. To `touched` rows are added as passes touch them.
  SmoothPart(NewtonSignedRows<Value> rows, double unit, const Problem& problem,
             NewtonSystem& system, const Simd& simd, Pool& pool, std::uint64_t& touched)
      : w(system.size()),
        problem_(problem),
        rows_(std::move(rows)),
        unit_(unit),
        free_(problem.free_bias),
        features_(rows_.features()),
        regularised_(problem.regularised()),
        system_(system),
        simd_(simd),
        loops_(smooth_loops(simd, problem.loss.kind)),
        pool_(pool),
        touched_(touched),
        cuts_(rows_.rows().cuts()),
        blocks_(cuts_.size() - 1),
        hessian_(rows_.rows(), cuts_, rows_.costs(), problem, system, simd, pool, touched),
        v_(system.size()),
        d_(size()) {
    if constexpr (Loss::kQuadraticGain) hessian_.end_by_gain();
    for (Block& block : blocks_) block.v.resize(system.size());
    for (Buffer<double>* const each : {&here_.z, &here_.share, &there_.z, &there_.share}) {
      each->resize(size());
    }
    y_.resize(free_ ? size() : 0);
    for (std::uint64_t i = 0; i < y_.size(); ++i) y_[i] = rows_.y(i);
  }

  SmoothPart(const SmoothPart&) = delete;
  SmoothPart& operator=(const SmoothPart&) = delete;

  const NewtonSignedRows<Value>& rows() const { return rows_; }
  std::uint64_t size() const { return rows_.size(); }

  double primal() const { return Problem::primal(problem_.square(w), unit_ * sums_.loss); }
  double dual() const { return dual_value(v_, sums_.gain); }
  // About how far P is above its minimum, at the point before the last step, by that step.
  double decrement() const { return decrement_; }
  double half_gradient() const {
    double sum = 0;
    for (std::size_t j = 0; j < regularised_; ++j) sum += (w[j] - v_[j]) * (w[j] - v_[j]);
    return sum / 2;
  }

  // Everything at w, from the rows. A free bias becomes the best.
  void measure() {
    for (std::uint64_t i = 0; i < size(); ++i) here_.z[i] = 0.0 - rows_.target(i);  // no -0
    go_along(w.data(), 1, w);
    accept();
  }
  // Everything where w and margins are known.
  void settle() {
    const bool best_is_now = std::exchange(best_is_now_, false);
    std::fill_n(d_.data(), size(), 0.0);
    pass(nullptr, ray(), 0);
    accept();
    best_is_now_ = best_is_now;
  }

  enum class Step : std::uint8_t { taken, none, stopped };

  // One step, unless rounding leaves no way down, or go() says no. `to_end`: whether shares that
  // follow it are wanted, as they may be a proof (follow()).
  template <class Go>
  Step step(const Go& go, bool to_end) {
    followed_ = false;
    std::vector<double> g(system_.size()), s;
    for (std::size_t j = 0; j < regularised_; ++j) g[j] = v_[j] - w[j];
    if (free_) g[features_] = v_[features_];
    const bool exact = solve(g, s, go);
    if (!go()) return Step::stopped;
    double down = 0, square = 0, inner = 0;
    for (std::size_t j = 0; j < s.size(); ++j) down += g[j] * s[j];
    if (!(down > 0) || !std::isfinite(down)) return Step::none;
    for (std::size_t j = 0; j < regularised_; ++j) {
      square += s[j] * s[j];
      inner += w[j] * s[j];
    }
    decrement_ = down / 2;
    const double before = half_gradient(), primal_before = primal();
    std::vector<double> to(w.size());
    for (std::size_t j = 0; j < w.size(); ++j) to[j] = w[j] + s[j];
    go_along(s.data(), 1, to);
    double rise = 0;
    for (std::size_t j = 0; j < regularised_; ++j) rise += (to[j] - next_v_[j]) * s[j];
    if (free_) rise -= next_v_[features_] * s[features_];
    const auto falls = [&] {
      return Problem::primal(problem_.square(to), unit_ * next_sums_.loss) <=
             primal_before + Tuning::kTrusted * primal_before;
    };
    if (!(rise <= Tuning::kMostRise * down) || !falls()) {
      const double t = search(-down, inner, square);
      if (t == 0) return Step::none;
      for (std::size_t j = 0; j < w.size(); ++j) to[j] = w[j] + t * s[j];
      go_along(nullptr, t, to);
    } else if (to_end && exact && !Loss::kQuadraticGain) {
      follow(to);
    }
    if (!falls()) return Step::none;
    w = to;
    accept();
    if (half_gradient() > Tuning::kSlowFall * before) {
      residual_ = std::max(Tuning::kLeastResidual, Tuning::kResidualLess * residual_);
      if (primal() > (1 - Tuning::kLittleFall) * primal_before) hessian_.gain_more();
    }
    return Step::taken;
  }

  // Whether the next step makes its matrix anew: then the state can be told.
  bool anew() const { return !Loss::kQuadraticGain || steps_ % Tuning::kStepsOfMatrix == 0; }

  // D of the shares that follow the last step, if they were wanted and it was a whole one; they and
  // D as it is by the rows.
  double dual_of_followed() const { return followed_ ? followed_dual_ : 0.0; }
  double measure_followed() {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      Block& block = blocks_[b];
      std::ranges::fill(block.v, 0.0);
      add(followed_shares_.data(), begin, end, block);
    });
    touched_ += size();
    std::vector<double> v(v_.size());
    take_sums(v);
    return dual_value(v, followed_gain_);
  }
  const Buffer<double>& followed() const { return followed_shares_; }

  // D of other dual variables.
  double dual_of(std::span<const double> alpha) {
    followed_shares_.resize(size());
    followed_gain_ = 0;
    for (std::uint64_t i = 0; i < size(); ++i) {
      const double upper = problem_.upper(i);
      followed_shares_[i] = upper > 0 ? alpha[i] / upper : 0.0;
      followed_gain_ += loss_.dual_gain(alpha[i], upper) / unit_;
      if constexpr (Loss::kRegression) {
        followed_gain_ += alpha[i] / unit_ * problem_.targets[i];
      }
    }
    return measure_followed();
  }

  // The multiple of the shares as they are whose D is largest: a quadratic of the factor.
  Buffer<double> best_multiple() const {
    double gain = 0, bent = 0;
    for (std::uint64_t i = 0; i < size(); ++i) {
      const double upper = problem_.upper(i), alpha = upper * here_.share[i];
      const double curvature = alpha * alpha * loss_.dual_curvature(0, upper);
      gain += loss_.dual_gain(alpha, upper) + curvature / 2;
      if constexpr (Loss::kRegression) gain += alpha * problem_.targets[i];
      bent += curvature;
    }
    const double factor = gain / (bent + problem_.square(v_));
    Buffer<double> shares(size());
    for (std::uint64_t i = 0; i < size(); ++i) {
      shares[i] = factor > 0 && std::isfinite(factor) ? factor * here_.share[i] : 0.0;
    }
    return shares;
  }

  // The shares as they are now are kept until others are marked; zeros at first.
  void mark_best() { best_is_now_ = true; }
  const Buffer<double>& best() {
    if (best_.size() != size()) best_.resize(size());
    return best_is_now_ ? here_.share : best_;
  }

  void archive(Archive& archive) {
    if (best_is_now_ && !archive.reading()) std::copy_n(here_.share.data(), size(), best_.data());
    archive.sized(w, system_.size());
    archive.sized(here_.z, size());
    archive.sized(best_, size());
    archive(hessian_, residual_, best_is_now_);
    archive.require(residual_ > 0 && residual_ < 1);
  }

  std::vector<double> w;  // of as many numbers as the system has

 private:
  struct alignas(NewtonTuning::kLine) Block {
    std::vector<double> v;
    SumsOfRows sums;
    SlopeOfRows slope;
    SumsOfShares shares;
  };
  struct State {
    Buffer<double> z, share;
  };

  template <class F>
  void for_blocks(F&& f) {
    pool_.run(blocks_.size(), [&](std::size_t b) { f(b, cuts_[b], cuts_[b + 1]); });
  }
  RowsAlongRay ray() const {
    return {here_.z.data(), d_.data(), rows_.costs_from(0), size(), problem_.loss};
  }
  static RowsAlongRay part_of(const RowsAlongRay& all, std::uint64_t begin, std::uint64_t end) {
    return {all.z + begin, all.d + begin, all.cost == nullptr ? nullptr : all.cost + begin,
            end - begin, all.loss};
  }

  // The system of a step; true: exactly.
  template <class Go>
  bool solve(const std::vector<double>& g, std::vector<double>& s, const Go& go) {
    if constexpr (Loss::kQuadraticGain) {
      if (anew()) hessian_.forget();
      ++steps_;
      hessian_.list([this](std::uint64_t i) { return here_.share[i] != 0; });
      return hessian_.solve(loss_.curvature_of_share(1.0) * unit_, residual_, g, s, go);
    }
    hessian_.weigh([this](std::uint64_t i) { return loss_.curvature_of_share(here_.share[i]); });
    return hessian_.solve(unit_, residual_, g, s, go);
  }

  double dual_value(const std::vector<double>& v, double gain) const {
    return Problem::dual(problem_.square(v), unit_ * gain, free_ ? v[features_] : 0.0,
                         free_ ? w[features_] : 0.0);
  }

  // The state where margins are z + t d, and v there; d is that of s, unless it is as it was. A
  // free bias, the last of `to`, goes on to the best.
  void go_along(const double* s, double t, std::vector<double>& to) {
    RowsAlongRay all = ray();
    if (!free_) return pass(s, all, t);
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      if (s != nullptr) rows_.score(s, d_.data(), begin, end);
      for (std::uint64_t i = begin; i < end; ++i) there_.z[i] = here_.z[i] + t * d_[i];
    });
    if (s != nullptr) touched_ += size();
    all.z = there_.z.data();
    all.d = y_.data();
    const double shift = best_shift(all);
    to[features_] += shift;
    pass(nullptr, all, shift);
  }
  void pass(const double* s, const RowsAlongRay& all, double t) {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      constexpr std::size_t kRun = Tuning::kChangesAtOnce;
      Block& block = blocks_[b];
      std::ranges::fill(block.v, 0.0);
      block.sums = {};
      for (std::uint64_t from = begin; from < end; from += kRun) {
        const std::uint64_t to = std::min<std::uint64_t>(from + kRun, end);
        if (s != nullptr) rows_.score(s, d_.data(), from, to);
        const SumsOfRows sums = loops_.move(part_of(all, from, to), t, there_.z.data() + from,
                                            there_.share.data() + from);
        block.sums.loss += sums.loss;
        block.sums.gain += sums.gain;
        if constexpr (Loss::kRegression) {
          for (std::uint64_t i = from; i < to; ++i) {
            block.sums.gain += rows_.cost(i) * there_.share[i] * rows_.target(i);
          }
        }
        add(there_.share.data(), from, to, block);
      }
    });
    touched_ += (s != nullptr ? 2 : 1) * size();
    next_v_.assign(v_.size(), 0.0);
    take_sums(next_v_);
    next_sums_ = {};
    for (const Block& block : blocks_) {
      next_sums_.loss += block.sums.loss;
      next_sums_.gain += block.sums.gain;
    }
  }

  // v += sum_i c_i a_i y_i x_i over some rows of a block.
  void add(const double* share, std::uint64_t begin, std::uint64_t end, Block& block) {
    constexpr std::size_t kRun = Tuning::kChangesAtOnce;
    std::uint64_t chosen[kRun];
    double factors[kRun], sum = 0;
    for (std::uint64_t from = begin; from < end; from += kRun) {
      const std::uint64_t to = std::min<std::uint64_t>(from + kRun, end);
      std::size_t count = 0;
      for (std::uint64_t i = from; i < to; ++i) {
        chosen[count] = i;
        factors[count] = rows_.cost(i) * share[i] * rows_.y(i);
        sum += factors[count];
        count += factors[count] != 0 ? 1 : 0;
      }
      rows_.rows().add(
          count, [&chosen](std::uint64_t k) { return chosen[k]; }, factors, block.v.data());
    }
    if (rows_.bias() != 0) block.v[features_] += rows_.bias() * sum;
  }
  void take_sums(std::vector<double>& v) const {
    add_vectors(
        blocks_, [](const Block& block) { return block.v.data(); }, unit_, v, simd_, pool_);
  }

  // Shares as the slopes of the old ones say, of a loss whose slope bends: the step solves its
  // system, which says that their v would be w where it ends, so that of P - D only the relative
  // entropies are left, of the fourth power of the step. Where some must be others, v is that much
  // off.
  void follow(const std::vector<double>& to) {
    followed_shares_.resize(size());
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      Block& block = blocks_[b];
      block.shares =
          loops_.follow({here_.share.data() + begin, d_.data() + begin, there_.share.data() + begin,
                         rows_.costs_from(begin), end - begin, problem_.loss},
                        followed_shares_.data() + begin);
      if (block.shares.replaced == 0) return;
      std::ranges::fill(block.v, 0.0);
      double sum = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const double share = here_.share[i];
        const double linear = share - loss_.curvature_of_share(share) * d_[i];
        if (followed_shares_[i] == linear) continue;
        const double by = rows_.cost(i) * (followed_shares_[i] - linear) * rows_.y(i);
        sum += by;
        rows_.rows().add(
            1, [i](std::uint64_t) { return i; }, &by, block.v.data());
      }
      if (rows_.bias() != 0) block.v[features_] += rows_.bias() * sum;
    });
    std::vector<double> v(to);
    if (free_) v[features_] = 0;
    followed_gain_ = 0;
    for (const Block& block : blocks_) {
      followed_gain_ += block.shares.gain;
      if (block.shares.replaced > 0) {
        simd_.add_dense(unit_, block.v.data(), v.data(), v.size());
      }
    }
    followed_dual_ = dual_value(v, followed_gain_);
    followed_ = true;
  }

  void accept() {
    std::swap(here_.z, there_.z);
    std::swap(here_.share, there_.share);
    if (std::exchange(best_is_now_, false)) {
      best_.resize(size());
      std::swap(best_, there_.share);
    }
    std::swap(v_, next_v_);
    sums_ = next_sums_;
  }

  // The first two derivatives of the losses along a ray, but for the unit of costs.
  SlopeOfRows slope_along(const RowsAlongRay& all, double t) {
    for_blocks([&](std::size_t b, std::uint64_t begin, std::uint64_t end) {
      blocks_[b].slope = loops_.slope(part_of(all, begin, end), t);
    });
    SlopeOfRows sum;
    for (const Block& block : blocks_) {
      sum.slope += block.slope.slope;
      sum.curvature += block.slope.curvature;
    }
    return sum;
  }

  // How far to go along s, by P' = first + t square + that of the losses, where the slope at 0 is
  // `slope` < 0.
  double search(double slope, double first, double square) {
    const RowsAlongRay all = ray();
    const auto at = [&](double t) -> SlopeAndCurvature {
      const SlopeOfRows losses = slope_along(all, t);
      return {first + t * square + unit_ * losses.slope, square + unit_ * losses.curvature};
    };
    return smooth_minimum({slope, at(0).curvature}, 1, at, Tuning::kSearched);
  }

  // How far the free bias is from its best.
  double best_shift(const RowsAlongRay& all) {
    const auto at = [&](double sign, double t) -> SlopeAndCurvature {
      const SlopeOfRows losses = slope_along(all, sign * t);
      return {sign * losses.slope, losses.curvature};
    };
    const SlopeAndCurvature here = at(1, 0);
    if (here.slope == 0 || !std::isfinite(here.slope)) return 0;
    const double sign = here.slope < 0 ? 1 : -1;
    return sign * smooth_minimum({-std::abs(here.slope), here.curvature},
                                 std::numeric_limits<double>::infinity(),
                                 [&](double t) { return at(sign, t); });
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  NewtonSignedRows<Value> rows_;
  double unit_;
  bool free_;
  std::size_t features_, regularised_;
  NewtonSystem& system_;
  const Simd& simd_;
  const SmoothLoops& loops_;
  Pool& pool_;
  std::uint64_t& touched_;
  std::vector<std::uint64_t> cuts_;
  std::vector<Block> blocks_;
  NewtonHessian<Value> hessian_;
  State here_, there_;  // of rows where w is, and where a step may lead
  std::vector<double> v_, next_v_;
  SumsOfRows sums_, next_sums_;
  Buffer<double> d_, y_, best_;
  bool best_is_now_ = false;
  Buffer<double> followed_shares_;
  double followed_gain_ = 0, followed_dual_ = 0;
  bool followed_ = false;
  double decrement_ = 0;
  double residual_ = Tuning::kResidual;
  std::uint64_t steps_ = 0;  // taken, or tried
};

}  // namespace hinge
