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

#include "base/parallel.h"
#include "data/problem.h"

namespace hinge {

// Where a slope that rises at bends becomes 0.
struct Crossing {
  double at = 0;           // the bend's place
  std::uint64_t item = 0;  // whose it is
  double share = 0;        // of its rise that is needed, in [0, 1]

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

// Finds crossings again and again, each near a guess: only bends in a window about it are looked at
// one by one, and the window follows what was seen.
class CrossingSearch {
 public:
  // Bend k, cuts[b] <= k < cuts[b+1] of some block b, is bend(k). The same for any number of
  // threads.
  template <class F>
  Crossing find(std::span<const std::uint64_t> cuts, double slope, double guess, const F& bend,
                Pool& pool) {
    const auto count = static_cast<double>(cuts.back() - cuts.front());
    double from = guess - window_, to = guess + window_;
    if (window_ < kInfinity && density_ * 2 * window_ > count / kCrowd) {
      narrow(cuts, slope, bend, pool, from, to);
    }
    for (;;) {
      struct Part {
        double below = 0;
        std::vector<SlopeBend> near;
      };
      std::vector<Part> parts(cuts.size() - 1);
      pool.run(parts.size(), [&](std::size_t block) {
        double below = 0;
        std::vector<SlopeBend> near;
        for (std::uint64_t k = cuts[block]; k < cuts[block + 1]; ++k) {
          const SlopeBend one = bend(k);
          below += one.place < from ? one.rise : 0.0;
          if (one.place >= from && one.place <= to) near.push_back(one);
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
      const bool all = from == -kInfinity && to == kInfinity;
      if (!all && (near.empty() || !(before < 0) || !(before + rise > 0))) {
        from = -kInfinity;
        to = kInfinity;
        continue;
      }
      // Places that are no numbers, where margins overflowed: nor is this, and solvers look for it.
      if (near.empty()) return {.at = std::numeric_limits<double>::quiet_NaN()};
      if (!all) density_ = static_cast<double>(near.size()) / (to - from);
      const Crossing crossing = find_crossing(before, near);
      const double far = std::abs(crossing.at - guess);
      // A few times as wide as the crossing was far, and with some bends in it.
      window_ = std::max({kFar * far, window_ == kInfinity ? kFirst : window_ / 2,
                          density_ > 0 ? kLeast / density_ : 0.0});
      return crossing;
    }
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kFar = 3, kFirst = 0.01, kLeast = 50;
  static constexpr double kCrowd = 64;  // more bends than one in so many are first put in buckets
  static constexpr std::size_t kBuckets = 128;

  // Cuts the window down to the bucket with the crossing; leaves it if that is not inside.
  template <class F>
  void narrow(std::span<const std::uint64_t> cuts, double slope, const F& bend, Pool& pool,
              double& from, double& to) const {
    struct Part {
      double rise[kBuckets + 2] = {};
    };
    std::vector<Part> parts(cuts.size() - 1);
    const double scale = static_cast<double>(kBuckets) / (to - from), first = from;
    if (!std::isfinite(scale)) return;  // as narrow as can be
    pool.run(parts.size(), [&](std::size_t block) {
      Part& part = parts[block];
      for (std::uint64_t k = cuts[block]; k < cuts[block + 1]; ++k) {
        const SlopeBend one = bend(k);
        const double bucket =
            std::clamp((one.place - first) * scale, -1.0, static_cast<double>(kBuckets)) + 1;
        if (bucket >= 0) part.rise[static_cast<std::size_t>(bucket)] += one.rise;  // is a number
      }
    });
    for (std::size_t bucket = 0; bucket < kBuckets + 1; ++bucket) {
      for (const Part& part : parts) slope += part.rise[bucket];
      if (!(slope > 0)) continue;
      if (bucket == 0) return;
      // A little more on either side, for what rounding may have put into the next bucket.
      from = first + (static_cast<double>(bucket) - 1.01) / scale;
      to = first + (static_cast<double>(bucket) + 0.01) / scale;
      return;
    }
  }

  double window_ = kInfinity;  // half its width
  double density_ = 0;         // bends by length, as last seen
};

// Makes dual variables inside their box feasible for a free bias, sum_i alpha_i y_i = 0: a small
// difference is taken from rows between their bounds, a large one from all rows of the heavier side
// in proportion.
void balance(const Problem& problem, std::span<double> alpha);

}  // namespace hinge
