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

double Join::meet(std::span<double> w, const StepGain& gain) {
  const std::size_t size = w.size();
  step_.resize(size + 2);
  for (std::size_t j = 0; j < size; ++j) step_[j] = (w[j] - from_[j]) / stiffness_;
  step_[size] = gain.slope;
  step_[size + 1] = gain.curvature;
  sum_(step_);
  const double square = simd_.dot_dense(step_.data(), step_.data(), size) + step_[size + 1];
  const double slope = step_[size] - simd_.dot_dense(from_.data(), step_.data(), size);
  const double best = square > 0 ? slope / square : 1.0;
  const double t = std::clamp(best, 0.0, 1.0);
  const double change = std::clamp(best, DualTuning::kLeastStiffening, DualTuning::kMostStiffening);
  stiffness_ = std::clamp(stiffness_ / change, 1.0, lanes_);
  for (std::size_t j = 0; j < size; ++j) w[j] = from_[j] + t * step_[j];
  return t;
}

}  // namespace hinge
