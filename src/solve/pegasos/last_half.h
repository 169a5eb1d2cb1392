#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/archive.h"

namespace hinge {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMostSteps = kNever / 16;  // more are not believed of a state

// Two things are summed over about the last half of the steps: points, and visits and hits. Where
// the end is known, the sum begins half-way. Where it is not, it is begun anew at marks `unit`,
// 2 `unit`, 4 `unit`, ..., and the sum of the part before is kept: of the two beginnings one is
// never far from the middle.
class LastHalf {
 public:
  // half: where the sum shall begin, 0 = not known; unit: 0 = no other marks. Both: marks until
  // then.
  LastHalf(std::uint64_t half, std::uint64_t unit) : half_(half), unit_(unit) { advance(); }

  std::uint64_t next() const { return next_; }
  void mark() {
    previous_ = start_;
    start_ = next_;
    advance();
  }
  // Whether, after `steps`, the part before the last mark belongs to the last half; the part since
  // then must have `least` steps to stand alone.
  bool both(std::uint64_t steps, std::uint64_t least) const {
    const auto off = [&](std::uint64_t x) { return x > steps / 2 ? x - steps / 2 : steps / 2 - x; };
    return steps - start_ < least || off(previous_) <= off(start_);
  }

  // After `steps`, with the same half and unit.
  void archive(Archive& archive, std::uint64_t steps) {
    archive(previous_, start_);
    archive.require(previous_ <= start_ && start_ <= steps);
    if (archive.reading()) advance();
  }

 private:
  void advance() {
    next_ = unit_ == 0 ? kNever : unit_;
    while (next_ <= start_) next_ *= 2;
    if (half_ > 0) next_ = start_ < half_ ? std::min(next_, half_) : kNever;
  }

  std::uint64_t half_, unit_;
  std::uint64_t previous_ = 0, start_ = 0, next_ = 0;
};

}  // namespace hinge
