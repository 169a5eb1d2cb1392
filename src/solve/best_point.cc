#include "solve/best_point.h"

#include <algorithm>
#include <cmath>

namespace hinge {
namespace {

constexpr double kMostNoise = 20;  // in roundings of a point that was computed from the data
constexpr double kMoveNoise = 0.5;

}  // namespace

void BestPoint::take(const Point& point) {
  w_.assign(point.w.begin(), point.w.end());
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

// To the best point of best + t (to - best), where no point means w = 0; t >= 0 unless `both_ways`.
void BestPoint::move_along(const Point& to, bool both_ways) {
  const bool zero = to.w.empty();
  const auto end = [&](std::uint64_t i) { return zero ? -1.0 : to.gradient[i]; };
  const std::uint64_t rows = gradient_.size();
  double inner = 0;  // of both points
  for (std::size_t j = 0; !zero && j < problem_.regularised(); ++j) inner += w_[j] * to.w[j];
  // Which way does P fall? Rows at a bend are slopes up either way.
  double slope = inner - square_, ahead = 0, behind = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (gradient_[i] > 0) continue;
    const double part = problem_.upper(i) * (gradient_[i] - end(i));
    if (gradient_[i] < 0) {
      slope += part;
    } else {
      ahead += std::max(0.0, part);
      behind += std::max(0.0, -part);
    }
  }
  const double sign = slope + ahead < 0 ? 1 : both_ways && behind - slope < 0 ? -1 : 0;
  if (sign == 0) return;
  search_.reserve(rows);
  search_.restart(std::max(0.0, to.square - 2 * inner + square_),
                  sign > 0 ? slope + ahead : behind - slope);
  for (std::uint64_t i = 0; i < rows; ++i) {
    search_.add_bend(problem_.upper(i), -gradient_[i], sign * (gradient_[i] - end(i)));
  }
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  double t = sign * search_.minimum();
  const auto noise = [&] { return std::abs(1 - t) * noise_ + std::abs(t) + kMoveNoise; };
  while (t != 0 && noise() > kMostNoise) t /= 2;
  const auto there = [&t](double from, double to_there) { return from + t * (to_there - from); };
  double loss = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    loss += problem_.upper(i) * std::max(0.0, -there(gradient_[i], end(i)));
  }
  const double square = (1 - t) * (1 - t) * square_ + 2 * t * (1 - t) * inner + t * t * to.square;
  if (!(square / 2 + loss < primal_)) return;  // rounding
  noise_ = noise();
  square_ = 0;
  for (std::size_t j = 0; j < w_.size(); ++j) {
    w_[j] = there(w_[j], zero ? 0.0 : to.w[j]);
    if (j < problem_.regularised()) square_ += w_[j] * w_[j];
  }
  primal_ = square_ / 2 + loss;
  for (std::uint64_t i = 0; i < rows; ++i) gradient_[i] = there(gradient_[i], end(i));
}

void BestPoint::archive(Archive& archive) {
  archive.sized_or_empty(w_, problem_.dimension());
  archive.sized(gradient_, w_.empty() ? 0 : problem_.y.size());
  archive(square_, primal_, noise_);
  archive.require(noise_ >= 1 && noise_ <= kMostNoise + kMoveNoise);
}

}  // namespace hinge
