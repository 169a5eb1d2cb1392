#include "solve/best_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/buffer.h"

namespace hinge {
namespace {

constexpr double kMostNoise = 20;  // in roundings of a point that was computed from the data
constexpr double kMoveNoise = 0.5;

}  // namespace

double inner_by_rows(const Kernels& kernels, std::span<const double> alpha,
                     std::span<const double> gradient) {
  return std::accumulate(alpha.begin(), alpha.end(), 0.0) +
         kernels.dot_dense(alpha.data(), gradient.data(), alpha.size());
}

void BestPoint::take(const Point& point) {
  if (w_.empty()) w_ = huge_zeros(point.w.size());
  std::ranges::copy(point.w, w_.begin());
  gradient_.assign(point.gradient.begin(), point.gradient.end());
  square_ = point.square;
  primal_ = point.primal;
  noise_ = 1;
}

void BestPoint::offer(const Point& point, double enough, bool thorough) {
  if (w_.empty() || point.primal <= std::min(enough, primal_)) {
    const bool from_zero = w_.empty() && std::isfinite(primal_);
    take(point);
    if (from_zero && point.primal > enough) move_along({}, true);
    return;
  }
  move_along(point, thorough);
  if (thorough) move_along({}, true);  // to the best multiple
}

// <best, w>
double BestPoint::inner(const Point& point) const {
  if (point.w.empty()) return 0;
  if (!point.alpha.empty() && point.alpha.size() < point.w.size()) {
    return inner_by_rows(kernels_, point.alpha, gradient_);
  }
  return kernels_.dot_dense(w_.data(), point.w.data(), problem_.regularised());
}

// The line search on best + t sign (to - best), t >= 0.
void BestPoint::look_along(const Point& to, double inner, double sign) {
  const bool zero = to.w.empty();
  search_.restart(std::max(0.0, to.square - 2 * inner + square_), sign * (inner - square_));
  Bends run;
  for (std::uint64_t from = 0; from < gradient_.size(); from += Bends::kRun) {
    const std::size_t size = std::min<std::size_t>(Bends::kRun, gradient_.size() - from);
    for (std::size_t k = 0; k < size; ++k) {
      const double here = gradient_[from + k];
      run.c[k] = -here;
      run.d[k] = sign * (here - (zero ? -1.0 : to.gradient[from + k]));
      run.rise[k] = problem_.upper(from + k);
    }
    search_.add(run, size, kernels_);
  }
}

// To the best point of best + t (to - best), where no point means w = 0; t >= 0 unless `both_ways`.
void BestPoint::move_along(const Point& to, bool both_ways) {
  const bool zero = to.w.empty();
  const std::size_t regularised = problem_.regularised();
  const double product = inner(to);
  // Which way does P fall?
  double sign = 1;
  look_along(to, product, sign);
  if (both_ways && search_.slope() >= 0) look_along(to, product, sign = -1);
  if (search_.slope() >= 0) return;
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  double t = sign * search_.minimum();
  const auto noise = [&] { return std::abs(1 - t) * noise_ + std::abs(t) + kMoveNoise; };
  while (t != 0 && noise() > kMostNoise) t /= 2;
  const auto there = [&t](double from, double to_there) { return from + t * (to_there - from); };
  const double loss =
      problem_.cost * kernels_.loss_along(gradient_.data(), zero ? nullptr : to.gradient.data(),
                                          problem_.costs.empty() ? nullptr : problem_.costs.data(),
                                          gradient_.size(), t);
  const double square = (1 - t) * (1 - t) * square_ + 2 * t * (1 - t) * product + t * t * to.square;
  if (!(square / 2 + loss < primal_)) return;  // rounding
  noise_ = noise();
  for (std::size_t j = 0; j < w_.size(); ++j) w_[j] = there(w_[j], zero ? 0.0 : to.w[j]);
  square_ = kernels_.dot_dense(w_.data(), w_.data(), regularised);
  primal_ = square_ / 2 + loss;
  for (std::uint64_t i = 0; i < gradient_.size(); ++i) {
    gradient_[i] = there(gradient_[i], zero ? -1.0 : to.gradient[i]);
  }
}

void BestPoint::archive(Archive& archive) {
  archive.sized_or_empty(w_, problem_.dimension());
  archive.sized(gradient_, w_.empty() ? 0 : problem_.y.size());
  archive(square_, primal_, noise_);
  archive.require(noise_ >= 1 && noise_ <= kMostNoise + kMoveNoise);
}

}  // namespace hinge
