// The samples by way of which newton comes to all rows: how large, which rows, how closely solved.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "solve/newton/tuning.h"

namespace hinge {

// The largest first; none where rows are few.
inline std::vector<std::uint64_t> sample_sizes(std::uint64_t rows, std::size_t dimension) {
  const std::uint64_t least = std::max<std::uint64_t>(
      NewtonTuning::kLeastSample, NewtonTuning::kLeastSampleByColumns * dimension);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = rows / NewtonTuning::kSampleRatio; size >= least;
       size /= NewtonTuning::kSampleRatio) {
    sizes.push_back(size);
  }
  return sizes;
}

// One row of each of `size` runs of neighbours, ascending.
inline std::vector<std::uint64_t> sample_of_rows(std::uint64_t rows, std::uint64_t size,
                                                 Random random) {
  std::vector<std::uint64_t> chosen(size);
  for (std::uint64_t k = 0; k < size; ++k) {
    const std::uint64_t from = rows * k / size, to = rows * (k + 1) / size;
    chosen[k] = from + random.below(to - from);
  }
  return chosen;
}

// How closely a sample is solved where the problem is to be solved to `gap`.
inline double sample_gap(std::uint64_t size, std::size_t dimension, double gap) {
  const double wanted =
      NewtonTuning::kSampleGap * static_cast<double>(dimension) / static_cast<double>(size);
  return std::max(gap / 2, std::min(NewtonTuning::kLargestSampleGap, wanted));
}
// The same with a smooth loss.
inline double smooth_sample_gap(std::uint64_t size, std::size_t dimension, double gap) {
  const double wanted =
      NewtonTuning::kSmoothSampleGap * static_cast<double>(dimension) / static_cast<double>(size);
  return std::max(gap / 2, std::min(NewtonTuning::kLargestSmoothSampleGap, wanted));
}

// Half the width of the corner after so many rows have been solved for.
inline double sample_half_width(std::uint64_t rows, std::size_t dimension) {
  return std::min(NewtonTuning::kFirstHalfWidth,
                  NewtonTuning::kSampleHalfWidth *
                      std::sqrt(static_cast<double>(dimension) / static_cast<double>(rows)));
}

}  // namespace hinge
