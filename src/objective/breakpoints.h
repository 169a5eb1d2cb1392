// Where sums of positive parts u max(0, c + t d), of which losses of straight pieces are made,
// break along a ray t >= 0: by runs, for an exact line search (line_search.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/simd.h"

namespace hinge {

// A part breaks at t = -c/d where that is in (0, t_max); there its slope steps up by u |d|.
struct Breakpoints {
  static constexpr std::size_t kRun = 64;
  static constexpr std::int32_t kBuckets = 255;
  double c[kRun], d[kRun];
  double step[kRun];  // u >= 0 on the way in, u |d| on the way out
  // Which of kBuckets equal parts of (0, 1) t/(1+t) lies in; kBuckets where there is no breakpoint.
  std::int32_t bucket[kRun];
};

// Fills in steps and buckets, and returns the sum of the slopes just beyond t = 0.
double find_breakpoints(Breakpoints& run, double t_max, const Simd& simd);

}  // namespace hinge
