#include "solve/dual/best_point.h"

#include <algorithm>
#include <cmath>

#include "base/buffer.h"
#include "solve/dual/descent.h"

namespace hinge {
namespace {

constexpr double kMostNoise = 20;  // in roundings of a point that was computed from the data
constexpr double kMoveNoise = 0.5;

}  // namespace

// In lanes and blocks: many variables are the same number, and one chain of sums would round them
// all the same way.
double inner_by_rows(std::span<const double> alpha, std::span<const double> gradient) {
  constexpr std::size_t kBlock = 512, kLanes = 8;
  double sum = 0;
  for (std::size_t from = 0; from < alpha.size(); from += kBlock) {
    const std::size_t to = std::min(from + kBlock, alpha.size());
    double lanes[kLanes] = {}, block = 0;
    for (std::size_t i = from; i < to; ++i) lanes[i % kLanes] += alpha[i] * (1 + gradient[i]);
    for (const double lane : lanes) block += lane;
    sum += block;
  }
  return sum;
}

void BestPoint::keep(const Point& point) {
  if (w_.empty()) w_ = huge_vector(point.w.size());
  std::ranges::copy(point.w, w_.begin());
  reserve_huge(gradient_, point.gradient.size());
  gradient_.assign(point.gradient.begin(), point.gradient.end());
}

bool BestPoint::offer(const Point& point, double enough, bool thorough) {
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
void BestPoint::begin_at(const Point& point) {
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
double BestPoint::inner(const Point& point) const {
  if (point.w.empty()) return 0;
  if (!point.alpha.empty() && point.alpha.size() < point.w.size()) {
    return inner_by_rows(point.alpha, gradient_);
  }
  return simd_.dot_dense(w_.data(), point.w.data(), problem_.regularised());
}

// The line search on best + t sign (to - best), t >= 0.
void BestPoint::look_along(const Point& to, double product, double sign) {
  const bool zero = to.w.empty();
  search_.restart(std::max(0.0, to.square - 2 * product + square_), sign * (product - square_));
  Breakpoints run;
  for (std::uint64_t from = 0; from < gradient_.size(); from += Breakpoints::kRun) {
    const std::size_t size = std::min<std::size_t>(Breakpoints::kRun, gradient_.size() - from);
    for (std::size_t k = 0; k < size; ++k) {
      const double here = gradient_[from + k];
      run.c[k] = -here;
      run.d[k] = sign * (here - (zero ? -1.0 : to.gradient[from + k]));
      run.step[k] = problem_.upper(from + k);
    }
    search_.add(run, size, simd_);
  }
}

// To the best point of the line; t >= 0 unless `both_ways`, 0 if there is none.
BestPoint::Move BestPoint::find_move(const Point& to, bool both_ways) {
  const double product = inner(to);
  // Which way does P fall?
  double sign = 1;
  look_along(to, product, sign);
  if (both_ways && search_.slope() >= 0) look_along(to, product, sign = -1);
  if (search_.slope() >= 0) return {};
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  double t = sign * search_.minimum();
  const auto noise = [&] { return std::abs(1 - t) * noise_ + std::abs(t) + kMoveNoise; };
  while (t != 0 && noise() > kMostNoise) t /= 2;
  const double loss =
      problem_.cost * descent_loops(simd_, problem_.loss)
                          .loss_along(gradient_.data(), to.w.empty() ? nullptr : to.gradient.data(),
                                      problem_.costs.empty() ? nullptr : problem_.costs.data(),
                                      gradient_.size(), t);
  const double square = (1 - t) * (1 - t) * square_ + 2 * t * (1 - t) * product + t * t * to.square;
  if (!(square / 2 + loss < primal_)) return {};  // rounding
  return {t, loss, square, noise()};
}

void BestPoint::apply(const Move& move, const Point& to) {
  noise_ = move.noise;
  square_ = move.square;
  primal_ = square_ / 2 + move.loss;
  for (std::uint64_t i = 0; i < gradient_.size(); ++i) {
    gradient_[i] += move.t * ((to.w.empty() ? -1.0 : to.gradient[i]) - gradient_[i]);
  }
}

void BestPoint::move_along(const Point& to, bool both_ways) {
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

void BestPoint::archive(Archive& archive) {
  archive.sized_or_empty(w_, problem_.dimension());
  archive.sized(gradient_, w_.empty() ? 0 : problem_.y.size());
  archive(square_, primal_, noise_);
  archive.require(noise_ >= 1 && noise_ <= kMostNoise + kMoveNoise);
}

}  // namespace hinge
