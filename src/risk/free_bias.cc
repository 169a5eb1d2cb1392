#include "risk/free_bias.h"

#include <tuple>

namespace hinge {

Crossing find_crossing(double slope, std::vector<SlopeBend>& bends) {
  const auto earlier = [](const SlopeBend& a, const SlopeBend& b) {
    return std::tie(a.place, a.item) < std::tie(b.place, b.item);
  };
  auto first = bends.begin(), last = bends.end();
  while (last - first > 1) {  // the crossing is at one of them; the slope before them is `slope`
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, earlier);
    double rise = 0;
    for (auto it = first; it != middle; ++it) rise += it->rise;
    if (slope + rise >= 0) {
      last = middle;
    } else {
      slope += rise;
      first = middle;
    }
  }
  const double share = first->rise > 0 ? std::clamp(-slope / first->rise, 0.0, 1.0) : 0.0;
  return {.at = first->place, .item = first->item, .share = share};
}

void balance(const Problem& problem, std::span<double> alpha) {
  constexpr double kSmall = 1e-6;  // of the heavier side
  constexpr int kRounds = 3;       // sums of what was changed are rounded too
  for (int round = 0; round < kRounds; ++round) {
    double sides[2] = {};  // of y = -1 and of y = +1
    for (std::uint64_t i = 0; i < alpha.size(); ++i) sides[problem.y[i] > 0 ? 1 : 0] += alpha[i];
    const int heavier = sides[1] > sides[0] ? 1 : 0;
    double excess = sides[heavier] - sides[1 - heavier];
    if (excess == 0) return;
    if (excess > kSmall * sides[heavier]) {
      const double keep = sides[1 - heavier] / sides[heavier];
      for (std::uint64_t i = 0; i < alpha.size(); ++i) {
        if ((problem.y[i] > 0 ? 1 : 0) == heavier) alpha[i] *= keep;
      }
      continue;
    }
    for (std::uint64_t i = 0; i < alpha.size() && excess > 0; ++i) {
      const double upper = problem.upper(i);
      if (!(alpha[i] > 0 && alpha[i] < upper)) continue;
      const bool heavy = (problem.y[i] > 0 ? 1 : 0) == heavier;
      const double before = alpha[i];
      alpha[i] = heavy ? std::max(0.0, before - excess) : std::min(upper, before + excess);
      excess -= std::abs(alpha[i] - before);
    }
    // No row in between, or too few: one at a bound must do.
    for (std::uint64_t i = 0; i < alpha.size() && excess > 0; ++i) {
      if ((problem.y[i] > 0 ? 1 : 0) != heavier) continue;
      const double before = alpha[i];
      alpha[i] = std::max(0.0, before - excess);
      excess -= before - alpha[i];
    }
  }
}

}  // namespace hinge
