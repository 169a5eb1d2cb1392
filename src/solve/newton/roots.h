// Where a function that is monotone is 0, or nearly so.
#pragma once

#include <algorithm>
#include <cmath>

#include "solve/newton/tuning.h"

namespace hinge {

// How far to go along a step: value(t) rises with t from `first` < 0, and that it be small beside
// that will do. `at_one` = value(1). 0 if that is no number.
template <class F>
double search_step(double first, double at_one, const F& value) {
  using Tuning = NewtonTuning;
  double high = 1, high_value = at_one;
  if (high_value <= -Tuning::kSearched * first) return 1;
  if (!std::isfinite(high_value)) return 0;
  double low = 0, low_value = first;
  for (int trial = 0; trial < Tuning::kSearchTrials; ++trial) {
    const double share = std::clamp(-low_value / (high_value - low_value), Tuning::kSearchEdge,
                                    1 - Tuning::kSearchEdge);
    const double t = low + share * (high - low);
    const double at_t = value(t);
    if (std::abs(at_t) <= -Tuning::kSearched * first) return t;
    (at_t < 0 ? low : high) = t;
    (at_t < 0 ? low_value : high_value) = at_t;
  }
  return low > 0 ? low : high;
}

// An end of a bracket, and the value there.
struct RootEnd {
  double at = 0, value = 0;
};

// The root between `low` and `high`, whose values have different signs, to `enough`; or whatever of
// it so many trials find. Regula falsi; an end that stays is given less weight.
template <class F>
double find_root(RootEnd low, RootEnd high, double enough, int trials, const F& value) {
  int last = 0;
  for (int trial = 0; trial < trials; ++trial) {
    if (std::abs(high.value) <= enough || high.at == low.at) break;
    double t = low.value == high.value
                   ? (low.at + high.at) / 2
                   : low.at + (high.at - low.at) * (low.value / (low.value - high.value));
    if (!(std::min(low.at, high.at) < t && t < std::max(low.at, high.at))) {
      t = (low.at + high.at) / 2;
    }
    if (t == low.at || t == high.at) break;
    const double at_t = value(t);
    if (std::abs(at_t) <= enough) return t;
    if ((at_t > 0) == (low.value > 0)) {
      low = {t, at_t};
      if (last == 1) high.value /= 2;
      last = 1;
    } else {
      high = {t, at_t};
      if (last == 2) low.value /= 2;
      last = 2;
    }
  }
  return high.at;
}

}  // namespace hinge
