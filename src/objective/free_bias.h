// The bias b that is not regularised. For given scores s_i = <w,x_i> the best b minimises
//   sum_i c_i l(y_i (s_i + b)),
// which is convex. Where the loss is of straight pieces so is this: the hinge breaks it at b_i =
// y_i - s_i, where its slope steps up by c_i. So the best b is a weighted selection among the b_i,
// O(rows). Statuses are those of the rows inside the margin, but for one row at the breakpoint,
// whose share makes sum_i s_i c_i y_i = 0.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/problem.h"

namespace hinge {

// Where a slope that rises in steps becomes 0.
struct Crossing {
  double at = 0;           // the step's place
  std::uint64_t item = 0;  // whose it is
  double share = 0;        // of its size that is needed, in [0, 1]

  void archive(Archive& archive) { archive(at, item, share); }

  // Whether the slope has risen by all of this step before the crossing. Steps of one place come
  // in the order of their items.
  bool passed(double place, std::uint64_t one) const {
    return place < at || (place == at && one < item);
  }
};

struct SlopeStep {
  double place, size;
  std::uint64_t item;
};

// The crossing among these steps, of which there is at least one; `slope` is that before all of
// them. If rounding makes it too large from the first, or too small to the last, that is it.
Crossing find_crossing(double slope, std::vector<SlopeStep>& steps);

// Finds crossings again and again, each near a guess: only steps in a window about it are looked at
// one by one, and the window follows what was seen.
class CrossingSearch {
 public:
  // Steps at places[k], cut into blocks cuts[b] <= k < cuts[b+1], of sizes[k], or all of 1 if there
  // are no sizes. The same for any number of threads.
  Crossing find(std::span<const double> places, std::span<const double> sizes,
                std::span<const std::uint64_t> cuts, double slope, double guess, Pool& pool);

  void archive(Archive& archive) {
    archive(window_, density_);
    archive.require(window_ >= 0 && density_ >= 0);
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double window_ = kInfinity;  // half its width
  double density_ = 0;         // steps by length, as last seen
};

// This is the most that a dual variable may change by where none comes to its bounds.
inline double room_of(double alpha, double upper) {
  return upper > 0 ? alpha * (1 - alpha / upper) : 0.0;
}

// Makes dual variables inside their box feasible for a free bias, sum_i alpha_i y_i = 0: a small
// difference is taken from rows between their bounds, a large one from all rows of the heavier side
// in proportion. With a loss whose gain bends most near the bounds all rows give in proportion to
// their room first.
void balance(const Problem& problem, std::span<double> alpha);

}  // namespace hinge
