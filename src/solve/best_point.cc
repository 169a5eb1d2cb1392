#include "solve/best_point.h"

#include <algorithm>
#include <cmath>

#include "risk/line_search.h"

namespace hinge {
namespace {

constexpr double kFarthest = 8;    // along a line, in its lengths
constexpr double kMostNoise = 20;  // in roundings of a point that was computed from the data

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
    take(point);
    return;
  }
  if (!move_along(point, 1) && thorough) move_along(point, -1);
  const Point none = {};
  if (thorough && !move_along(none, 1)) move_along(none, -1);
}

// To the best point of best + t sign (to - best), t >= 0, where no point means w = 0. False: that
// is where it was.
bool BestPoint::move_along(const Point& to, double sign) {
  const bool zero = to.w.empty();
  const auto end = [&](std::uint64_t i) { return zero ? -1.0 : to.gradient[i]; };
  double inner = 0;  // of both points
  for (std::size_t j = 0; !zero && j < problem_.regularised(); ++j) inner += w_[j] * to.w[j];
  LineSearch search(std::max(0.0, to.square - 2 * inner + square_), sign * (inner - square_),
                    kFarthest);
  const std::uint64_t rows = gradient_.size();
  for (std::uint64_t i = 0; i < rows; ++i) {
    search.add(problem_.upper(i), -gradient_[i], sign * (gradient_[i] - end(i)));
  }
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  double t = sign * search.minimum();
  const auto noise = [&] { return std::abs(1 - t) * noise_ + std::abs(t); };
  while (noise() > kMostNoise) t /= 2;
  if (t == 0) return false;
  const auto there = [&t](double from, double to_there) { return from + t * (to_there - from); };
  double loss = 0;
  for (std::uint64_t i = 0; i < rows; ++i) {
    loss += problem_.upper(i) * std::max(0.0, -there(gradient_[i], end(i)));
  }
  const double square = (1 - t) * (1 - t) * square_ + 2 * t * (1 - t) * inner + t * t * to.square;
  if (!(square / 2 + loss < primal_)) return false;  // rounding
  noise_ = noise();
  square_ = 0;
  for (std::size_t j = 0; j < w_.size(); ++j) {
    w_[j] = there(w_[j], zero ? 0.0 : to.w[j]);
    if (j < problem_.regularised()) square_ += w_[j] * w_[j];
  }
  primal_ = square_ / 2 + loss;
  for (std::uint64_t i = 0; i < rows; ++i) gradient_[i] = there(gradient_[i], end(i));
  return true;
}

void BestPoint::archive(Archive& archive) {
  archive.sized(w_, problem_.dimension());
  archive.sized(gradient_, problem_.y.size());
  archive(square_, primal_, noise_);
}

}  // namespace hinge
