#include "solve/best_point.h"

#include <algorithm>
#include <cmath>

#include "risk/line_search.h"

namespace hinge {
namespace {

constexpr std::size_t kPast = 3;   // points that stay at hand, beside the newest
constexpr double kFarthest = 8;    // along a line, in its lengths
constexpr double kMostNoise = 20;  // in roundings of a point that was computed from the data

}  // namespace

double BestPoint::value(std::span<const double> w, std::span<const double> gradient) const {
  double norm = 0, loss = 0;
  for (const double x : w.first(problem_.regularised())) norm += x * x;
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    loss += problem_.upper(i) * std::max(0.0, -gradient[i]);
  }
  return norm / 2 + loss;
}

void BestPoint::offer(std::span<const double> w, std::span<const double> gradient, bool remember) {
  if (empty()) {
    primal_ = value(w, gradient);
    best_ = {{w.begin(), w.end()}, {gradient.begin(), gradient.end()}};
    return;
  }
  const auto search = [&](std::span<const double> to, std::span<const double> its_gradient) {
    if (!move_along(to, its_gradient, 1)) move_along(to, its_gradient, -1);
  };
  search(w, gradient);
  for (auto point = past_.rbegin(); point != past_.rend(); ++point) {
    search(point->w, point->gradient);
  }
  if (!remember) return;
  if (past_.size() == kPast) past_.pop_front();
  past_.push_back({{w.begin(), w.end()}, {gradient.begin(), gradient.end()}});
}

// To the best point of best + t sign (w - best), t >= 0. False: that is where it was.
bool BestPoint::move_along(std::span<const double> w, std::span<const double> gradient,
                           double sign) {
  double square = 0, slope = 0;
  for (std::size_t j = 0; j < problem_.regularised(); ++j) {
    const double step = sign * (w[j] - best_.w[j]);
    square += step * step;
    slope += best_.w[j] * step;
  }
  LineSearch search(square, slope, kFarthest);
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    search.add(problem_.upper(i), -best_.gradient[i], sign * (best_.gradient[i] - gradient[i]));
  }
  // Beyond the points of the line rounding grows from one to the next; less than the minimum is a
  // gain too.
  double t = sign * search.minimum();
  const auto noise = [&] { return std::abs(1 - t) * noise_ + std::abs(t); };
  while (noise() > kMostNoise) t /= 2;
  if (t == 0) return false;
  const auto there = [t](double from, double to) { return from + t * (to - from); };
  double norm = 0, loss = 0;
  for (std::size_t j = 0; j < problem_.regularised(); ++j) {
    const double x = there(best_.w[j], w[j]);
    norm += x * x;
  }
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    loss += problem_.upper(i) * std::max(0.0, -there(best_.gradient[i], gradient[i]));
  }
  if (!(norm / 2 + loss < primal_)) return false;  // rounding
  primal_ = norm / 2 + loss;
  noise_ = noise();
  for (std::size_t j = 0; j < w.size(); ++j) best_.w[j] = there(best_.w[j], w[j]);
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    best_.gradient[i] = there(best_.gradient[i], gradient[i]);
  }
  return true;
}

void BestPoint::archive(Archive& archive) {
  const std::size_t dimension = problem_.dimension(), rows = problem_.y.size();
  archive(best_, primal_, noise_, past_);
  archive.require(past_.size() <= kPast);
  archive.require(best_.w.size() == dimension && best_.gradient.size() == rows);
  for (const Point& point : past_) {
    archive.require(point.w.size() == dimension && point.gradient.size() == rows);
  }
}

}  // namespace hinge
