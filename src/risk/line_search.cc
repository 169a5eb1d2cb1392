#include "risk/line_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hinge {

double LineSearch::minimum() {
  if (slope_ >= 0) return 0;
  // f' rises from slope_ < 0. `before` is f' without a t just before the bends still in doubt,
  // which are [first, last).
  double before = slope_;
  auto first = bends_.begin(), last = bends_.end();
  double left_end = 0;  // f' < 0 just beyond it
  while (first != last) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, [](const Bend& x, const Bend& y) { return x.at < y.at; });
    double through = before;  // of all bends up to `middle`, but for its own
    for (auto bend = first; bend != middle; ++bend) through += bend->rise;
    if (a_ * middle->at + through >= 0) {
      last = middle;
      continue;
    }
    before = through + middle->rise;
    left_end = middle->at;
    if (a_ * left_end + before >= 0) return left_end;
    first = middle + 1;
  }
  if (a_ > 0) return std::min(t_max_, std::max(left_end, -before / a_));
  return before < 0 ? t_max_ : left_end;
}

namespace {

constexpr std::size_t kSteps = 16;  // asked for in a round
constexpr int kGrid = 10;           // the first round looks at 2^-10, 2^-9, ..., 2^4
constexpr int kRounds = 60;         // no search takes as many

}  // namespace

// f(t) = a/2 t^2 + b t + g(t) is convex; f' is known where it is asked for. The
// minimum is kept between two steps, one on either side. Each round asks at many between them: some
// evenly spread, lest it take long, the others ever closer to where f' would be 0 if it were
// straight, since with many rows it nearly is.
double minimum_by_slopes(double a, double b, double t_max, double doubt, const SlopesAt& slopes) {
  std::vector<double> steps = {0}, found;
  struct {
    double t, slope;
  } left = {0, 0}, right = {std::numeric_limits<double>::infinity(), 0};
  const auto look = [&] {
    std::erase_if(steps, [&](double t) { return !(t <= t_max); });
    std::ranges::sort(steps);
    found.resize(steps.size());
    slopes(steps, found);
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const double slope = a * steps[k] + b + found[k];
      if (!(slope < 0)) {
        right = {steps[k], slope};
        return;
      }
      left = {steps[k], slope};
    }
  };
  for (std::size_t k = 0; k + 1 < kSteps; ++k) {
    steps.push_back(std::ldexp(1.0, static_cast<int>(k) - kGrid));
  }
  look();
  if (right.t == 0) return 0;
  const double steepest = b + found[0];
  for (int round = 0; round < kRounds; ++round) {
    steps.clear();
    if (std::isinf(right.t)) {  // not in sight yet
      if (left.t >= t_max || left.t > 1e300) return t_max;
      for (std::size_t k = 0; k < kSteps; ++k) {
        steps.push_back(std::ldexp(std::max(left.t, 1e-3), static_cast<int>(k + 1) * (round + 1)));
      }
      if (std::isfinite(t_max)) steps.push_back(t_max);
      look();
      continue;
    }
    const double width = right.t - left.t;
    // f' may leap at a bend; where it would be 0 if it rose evenly.
    const double even =
        std::clamp(left.t - left.slope * (width / (right.slope - left.slope)), left.t, right.t);
    // On either side of it f cannot fall by more than this.
    const double off = right.slope * (even - left.t);
    if (!(off > doubt * -steepest * right.t) || !(width > 1e-15 * right.t)) return even;
    for (std::size_t k = 1; k <= kSteps / 2; ++k) {
      steps.push_back(left.t + width * static_cast<double>(k) / (kSteps / 2 + 1));
    }
    for (const double near : {0.0, 1e-5, 1e-3, 2e-2}) {
      steps.push_back(even + near * width);
      steps.push_back(even - near * width - 1e-9 * width);
    }
    std::erase_if(steps, [&](double t) { return !(t > left.t && t < right.t); });
    if (steps.empty()) return even;
    look();
  }
  return left.t;
}

}  // namespace hinge
