#include "solve/dual/join.h"

#include <algorithm>
#include <utility>

#include "solve/dual/tuning.h"

namespace hinge {

Join::Join(std::size_t lanes, SumOverLanes sum, const Simd& simd)
    : lanes_(static_cast<double>(lanes)),
      sum_(std::move(sum)),
      simd_(simd),
      stiffness_((1 + lanes_) / 2) {}

void Join::part(std::span<const double> w) {
  from_.assign(w.begin(), w.end());
}

// v of all lanes, and these two.
void Join::sum_up(std::span<const double> w, double slope, double curvature) {
  const std::size_t size = w.size();
  step_.resize(size + 2);
  for (std::size_t j = 0; j < size; ++j) step_[j] = (w[j] - from_[j]) / stiffness_;
  step_[size] = slope;
  step_[size + 1] = curvature;
  sum_(step_);
}

double Join::meet(std::span<double> w, const StepGain& gain) {
  const std::size_t size = w.size();
  sum_up(w, gain.slope, gain.curvature);
  const double square = simd_.dot_dense(step_.data(), step_.data(), size) + step_[size + 1];
  const double slope = step_[size] - simd_.dot_dense(from_.data(), step_.data(), size);
  const double best = square > 0 ? slope / square : 1.0;
  return go(w, std::clamp(best, 0.0, 1.0), best);
}

double Join::meet(std::span<double> w, const GainAlong& gain) {
  const std::size_t size = w.size();
  const SlopeAndCurvature own = gain(1);
  sum_up(w, own.slope, own.curvature);
  const double square = simd_.dot_dense(step_.data(), step_.data(), size),
               first = simd_.dot_dense(from_.data(), step_.data(), size);
  SlopeAndCurvature gained = {step_[size], step_[size + 1]};
  const ShareOfWay share = concave_maximum([&](double t) -> SlopeAndCurvature {
    if (t != 1) {
      const SlopeAndCurvature here = gain(t);
      double sums[] = {here.slope, here.curvature};
      sum_(sums);
      gained = {sums[0], sums[1]};
    }
    return {gained.slope - first - t * square, gained.curvature + square};
  });
  return go(w, share.best, share.beyond);
}

// To the share of the way; `best` would have been more, or it.
double Join::go(std::span<double> w, double share, double best) {
  const double change = std::clamp(best, DualTuning::kLeastStiffening, DualTuning::kMostStiffening);
  stiffness_ = std::clamp(stiffness_ / change, 1.0, lanes_);
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = from_[j] + share * step_[j];
  return share;
}

}  // namespace hinge
