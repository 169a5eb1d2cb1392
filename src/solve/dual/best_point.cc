#include "solve/dual/best_point.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/buffer.h"
#include "objective/loss.h"
#include "solve/dual/descent.h"

namespace hinge {

// The sum is taken in blocks, and in each in several chains: many variables are the same number,
// and one chain would round them all the same way.
template <class Loss>
double inner_by_rows(std::span<const double> alpha, std::span<const double> gradient) {
  constexpr std::size_t kChains = 8;
  const std::size_t some = DualTuning::kSumBlock;
  double sum = 0;
  for (std::size_t from = 0; from < alpha.size(); from += some) {
    const std::size_t to = std::min(from + some, alpha.size());
    double chains[kChains] = {}, block = 0;
    for (std::size_t i = from; i < to; ++i) {
      chains[i % kChains] += alpha[i] * Loss::margin_of(gradient[i]);
    }
    for (const double chain : chains) block += chain;
    sum += block;
  }
  return sum;
}

template <class Loss>
void BestPoint<Loss>::keep(const Point& point) {
  if (w_.empty()) w_ = huge_vector(point.w.size());
  std::ranges::copy(point.w, w_.begin());
  reserve_huge(gradient_, point.gradient.size());
  gradient_.assign(point.gradient.begin(), point.gradient.end());
}

template <class Loss>
bool BestPoint<Loss>::offer(const Point& point, double enough, bool thorough) {
  if (point.primal <= std::min(enough, primal_)) {
    square_ = point.square;
    primal_ = point.primal;
    noise_ = 1;
    return true;
  }
  if (w_.empty()) {
    begin_at(point);
    return false;
  }
  move_along(point, thorough);
  if (thorough) move_along({}, true);  // to the best multiple
  return false;
}

// The first one, or the best multiple of it where w = 0 was the best before.
template <class Loss>
void BestPoint<Loss>::begin_at(const Point& point) {
  const bool from_zero = std::isfinite(primal_);
  reserve_huge(gradient_, point.gradient.size());
  gradient_.assign(point.gradient.begin(), point.gradient.end());
  square_ = point.square;
  primal_ = point.primal;
  noise_ = 1;
  Move found;
  if (from_zero) found = find_move({}, true);
  w_ = huge_vector(point.w.size());
  for (std::size_t j = 0; j < w_.size(); ++j) w_[j] = (1 - found.t) * point.w[j];
  if (found.t != 0) apply(found, {});
}

// <best, w>
template <class Loss>
double BestPoint<Loss>::inner(const Point& point) const {
  if (point.w.empty()) return 0;
  if (!point.alpha.empty() && point.alpha.size() < point.w.size()) {
    return inner_by_rows<Loss>(point.alpha, gradient_);
  }
  return simd_.dot_dense(w_.data(), point.w.data(), problem_.regularised());
}

// Adds the rows to the line search on best + t sign (to - best), t >= 0. A row is one positive part
// there, whose place is that of the loss' corner.
template <class Loss>
void BestPoint<Loss>::add_rows(const Point& to, double sign) {
  static_assert(Loss::kSmooth ||
                (std::size(Loss::kJumps) == 1 && Loss::breakpoints()[0] == Loss::kCorner &&
                 Loss::kJumps[0] == 1 && Loss::kLastSlope == 0));
  const bool zero = to.w.empty();
  const double at_zero = Loss::dual_gradient(0.0);
  Breakpoints run;
  for (std::uint64_t from = 0; from < gradient_.size(); from += Breakpoints::kRun) {
    const std::size_t size = std::min<std::size_t>(Breakpoints::kRun, gradient_.size() - from);
    for (std::size_t k = 0; k < size; ++k) {
      const double here = gradient_[from + k];
      run.c[k] = -here;
      run.d[k] = sign * (here - (zero ? at_zero : to.gradient[from + k]));
      run.step[k] = problem_.upper(from + k);
    }
    search_.add(run, size, simd_);
  }
}

// The first two derivatives of sum_i U_i l(z_i) along best + t (to - best), of all rows.
template <class Loss>
SlopeAndCurvature BestPoint<Loss>::slope_along(const Point& to, double t) const {
  constexpr std::size_t kChains = 4;
  const std::size_t some = DualTuning::kSumBlock;
  const bool zero = to.w.empty();
  const double at_zero = Loss::dual_gradient(0.0);
  SlopeAndCurvature sum;
  for (std::size_t from = 0; from < gradient_.size(); from += some) {
    const std::size_t end = std::min(from + some, gradient_.size());
    double slopes[kChains] = {}, curvatures[kChains] = {};
    for (std::size_t i = from; i < end; ++i) {
      const double here = gradient_[i], way = (zero ? at_zero : to.gradient[i]) - here;
      const double margin = Loss::margin_of(here + t * way), factor = problem_.factor(i) * way;
      slopes[i % kChains] += factor * loss_.slope(margin);
      curvatures[i % kChains] += factor * way * loss_.curvature(margin);
    }
    for (const double x : slopes) sum.slope += x;
    for (const double x : curvatures) sum.curvature += x;
  }
  if (comm_ != nullptr) {
    double sums[] = {sum.slope, sum.curvature};
    comm_->sum(sums);
    sum = {sums[0], sums[1]};
  }
  return {problem_.cost * sum.slope, problem_.cost * sum.curvature};
}

// find_step() where the slope has no jumps: P = square/2 t^2 + slope t + the losses.
template <class Loss>
double BestPoint<Loss>::find_smooth_step(const Point& to, double square, double slope,
                                         bool both_ways) const {
  const auto at = [&](double t) -> SlopeAndCurvature {
    const SlopeAndCurvature losses = slope_along(to, t);
    return {slope + t * square + losses.slope, square + losses.curvature};
  };
  const SlopeAndCurvature here = at(0);
  if (here.slope == 0 || (here.slope > 0 && !both_ways)) return 0;
  const double sign = here.slope < 0 ? 1 : -1;
  return sign * smooth_minimum({-std::abs(here.slope), here.curvature}, DualTuning::kFarthest,
                               [&](double t) -> SlopeAndCurvature {
                                 const SlopeAndCurvature there = at(sign * t);
                                 return {sign * there.slope, there.curvature};
                               });
}

// How far the best point of the line is, in its lengths; > 0 unless `both_ways`, 0 if there is
// none.
template <class Loss>
double BestPoint<Loss>::find_step(const Point& to, double product, bool both_ways) {
  const double square = std::max(0.0, to.square - 2 * product + square_);
  if constexpr (Loss::kSmooth) {
    return find_smooth_step(to, square, product - square_, both_ways);
  } else {
    return find_bent_step(to, square, product - square_, both_ways);
  }
}

template <class Loss>
double BestPoint<Loss>::find_bent_step(const Point& to, double square, double first,
                                       bool both_ways) {
  // Which way does P fall?
  for (const double sign : {1.0, -1.0}) {
    const double slope = sign * first;
    if (comm_ == nullptr) {
      search_.restart(square, slope);
      add_rows(to, sign);
      if (search_.slope() < 0) return sign * search_.minimum();
    } else {
      search_.restart(0, 0);
      add_rows(to, sign);
      const Ray ray = {.a = square,
                       .b = slope,
                       .t_max = DualTuning::kFarthest,
                       .doubt = DualTuning::kSearchDoubt};
      const double t = minimum_on_ranks(ray, search_, *comm_);
      if (t > 0) return sign * t;
    }
    if (!both_ways) break;
  }
  return 0;
}

// To the best point of the line; t = 0 if there is none.
template <class Loss>
typename BestPoint<Loss>::Move BestPoint<Loss>::find_move(const Point& to, bool both_ways) {
  const double product = inner(to);
  double t = find_step(to, product, both_ways);
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  const auto noise = [&] {
    return std::abs(1 - t) * noise_ + std::abs(t) + DualTuning::kMoveNoise;
  };
  while (t != 0 && noise() > DualTuning::kMostNoise) t /= 2;
  if (t == 0) return {};
  double loss =
      problem_.cost * descent_loops(simd_, Loss::kKind)
                          .loss_along(problem_.loss, gradient_.data(),
                                      to.w.empty() ? nullptr : to.gradient.data(),
                                      problem_.costs.empty() ? nullptr : problem_.costs.data(),
                                      gradient_.size(), t);
  if (comm_ != nullptr) loss = comm_->sum(loss);
  const double square = (1 - t) * (1 - t) * square_ + 2 * t * (1 - t) * product + t * t * to.square;
  if (!(square / 2 + loss < primal_)) return {};  // rounding
  return {t, loss, square, noise()};
}

template <class Loss>
void BestPoint<Loss>::apply(const Move& move, const Point& to) {
  noise_ = move.noise;
  square_ = move.square;
  primal_ = square_ / 2 + move.loss;
  const double at_zero = Loss::dual_gradient(0.0);
  for (std::uint64_t i = 0; i < gradient_.size(); ++i) {
    gradient_[i] += move.t * ((to.w.empty() ? at_zero : to.gradient[i]) - gradient_[i]);
  }
}

template <class Loss>
void BestPoint<Loss>::move_along(const Point& to, bool both_ways) {
  Move found = find_move(to, both_ways);
  if (found.t == 0) return;
  const std::size_t regularised = problem_.regularised();
  if (to.w.empty()) {
    for (double& x : w_) x *= 1 - found.t;
    found.square = simd_.dot_dense(w_.data(), w_.data(), regularised);
  } else {
    found.square = simd_.blend_dense(found.t, to.w.data(), w_.data(), regularised);
    if (problem_.free_bias) w_.back() += found.t * (to.w.back() - w_.back());
  }
  apply(found, to);
}

template <class Loss>
void BestPoint<Loss>::archive(Archive& archive) {
  archive.sized_or_empty(w_, problem_.dimension());
  archive.sized(gradient_, w_.empty() ? 0 : problem_.y.size());
  archive(square_, primal_, noise_);
  archive.require(noise_ >= 1 && noise_ <= DualTuning::kMostNoise + DualTuning::kMoveNoise);
}

template double inner_by_rows<Hinge>(std::span<const double>, std::span<const double>);
template double inner_by_rows<SquaredHinge>(std::span<const double>, std::span<const double>);
template double inner_by_rows<Logistic>(std::span<const double>, std::span<const double>);
template class BestPoint<Hinge>;
template class BestPoint<SquaredHinge>;
template class BestPoint<Logistic>;

}  // namespace hinge
