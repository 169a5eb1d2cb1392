// The bias b that is not regularised. For given scores s_i = <w,x_i> the best b minimises
//   sum_i c_i max(0, 1 - y_i (s_i + b)),
// which is convex and bends at b_i = y_i - s_i: there its slope rises by c_i. So the best b is a
// weighted selection among the b_i, O(rows). Statuses are those of the rows inside the margin, but
// for one row at the bend, whose share makes sum_i s_i c_i y_i = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/parallel.h"
#include "data/problem.h"

namespace hinge {

// Where a slope that rises at bends becomes 0.
struct Crossing {
  double at = 0;           // the bend's place
  std::uint64_t item = 0;  // whose it is
  double share = 0;        // of its rise that is needed, in [0, 1]

  void archive(Archive& archive) { archive(at, item, share); }

  // Whether the slope has risen by all of this bend's before the crossing. Bends of one place come
  // in the order of their items.
  bool passed(double place, std::uint64_t one) const {
    return place < at || (place == at && one < item);
  }
};

struct SlopeBend {
  double place, rise;
  std::uint64_t item;
};

// The crossing among these bends, of which there is at least one; `slope` is that before all of
// them. If rounding makes it too large from the first, or too small to the last, that is it.
Crossing find_crossing(double slope, std::vector<SlopeBend>& bends);

// Finds crossings that are expected near 0, again and again: only bends in a window about it are
// looked at one by one, and the window follows what was seen.
class CrossingSearch {
 public:
  // Bend k, cuts[b] <= k < cuts[b+1] of some block b, is bend(k). The same for any number of
  // threads.
  template <class F>
  Crossing find(std::span<const std::uint64_t> cuts, double slope, const F& bend, Pool& pool) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    struct Part {
      double below = 0;
      std::vector<SlopeBend> near;
    };
    const std::uint64_t count = cuts.back() - cuts.front();
    for (;;) {
      std::vector<Part> parts(cuts.size() - 1);
      pool.run(parts.size(), [&](std::size_t block) {
        const double window = window_;
        double below = 0;
        std::vector<SlopeBend> near;
        for (std::uint64_t k = cuts[block]; k < cuts[block + 1]; ++k) {
          const SlopeBend one = bend(k);
          below += one.place < -window ? one.rise : 0.0;
          if (std::abs(one.place) <= window) near.push_back(one);
        }
        parts[block] = {.below = below, .near = std::move(near)};
      });
      double before = slope, rise = 0;
      std::vector<SlopeBend> near = std::move(parts[0].near);
      for (std::size_t block = 0; block < parts.size(); ++block) {
        before += parts[block].below;
        if (block == 0) continue;
        near.insert(near.end(), parts[block].near.begin(), parts[block].near.end());
      }
      for (const SlopeBend& one : near) rise += one.rise;
      if (window_ < kInfinity && (near.empty() || !(before < 0) || !(before + rise > 0))) {
        window_ = window_ > 0 && ++misses_ < 3 ? 16 * window_ : kInfinity;
        continue;
      }
      misses_ = 0;
      if (near.empty()) return {};  // no place is a number
      // The next window holds about one bend in kShare, but is a few times as wide as the crossing
      // is far now.
      constexpr double kShare = 200, kFirst = 0.01, kFar = 4;
      const double seen = static_cast<double>(near.size()),
                   wanted = static_cast<double>(count) / kShare;
      const Crossing crossing = find_crossing(before, near);
      window_ = window_ == kInfinity ? kFirst : window_ * std::clamp(wanted / seen, 0.1, 2.0);
      window_ = std::max(window_, kFar * std::abs(crossing.at));
      return crossing;
    }
  }

  void archive(Archive& archive) {
    archive(window_, misses_);
    archive.require(window_ >= 0 && misses_ >= 0 && misses_ < 4);
  }

 private:
  double window_ = std::numeric_limits<double>::infinity();
  int misses_ = 0;
};

// Makes dual variables inside their box feasible for a free bias, sum_i alpha_i y_i = 0: a small
// difference is taken from rows between their bounds, a large one from all rows of the heavier side
// in proportion.
void balance(const Problem& problem, std::span<double> alpha);

}  // namespace hinge
