#include "objective/breakpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "objective/line_search.h"
#include "simd_reference.h"

namespace hinge {
namespace {

using BreakpointsContract = testing::ForEveryIsa;

// One part by its definition: where it breaks is known to be -c/d, by how much u |d|.
TEST_P(BreakpointsContract, MatchTheDefinition) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Random random(21);
  for (const double t_max : {kInfinity, 1.0, 1e-3}) {
    for (int round = 0; round < 50; ++round) {
      Breakpoints run;
      for (std::size_t k = 0; k < Breakpoints::kRun; ++k) {
        run.c[k] = random.below(5) == 0 ? 0.0 : 2 * random.uniform() - 1;
        run.d[k] = random.below(5) == 0 ? 0.0 : std::pow(10.0, 4 * random.uniform() - 2);
        if (random.below(2) == 0) run.d[k] = -run.d[k];
        run.step[k] = random.below(5) == 0 ? 0.0 : random.uniform();
      }
      const Breakpoints before = run;
      double slopes[4] = {};
      const double slope = find_breakpoints(run, t_max, simd());
      for (std::size_t k = 0; k < Breakpoints::kRun; ++k) {
        const double c = before.c[k], d = before.d[k], u = before.step[k];
        if (c > 0 || (c == 0 && d > 0)) slopes[k % 4] += u * d;
        ASSERT_EQ(run.step[k], u * std::abs(d));
        const double t = -c / d;
        const bool breaks = d != 0 && t > 0 && std::abs(c) < t_max * std::abs(d);
        ASSERT_EQ(run.bucket[k] < Breakpoints::kBuckets, breaks) << c << " " << d;
        if (!breaks) continue;
        const double place = t / (1 + t) * Breakpoints::kBuckets;
        ASSERT_GE(run.bucket[k], place - 1 - 1e-9);
        ASSERT_LE(run.bucket[k], place + 1e-9);
      }
      ASSERT_EQ(slope, (slopes[0] + slopes[1]) + (slopes[2] + slopes[3]));
    }
  }
}

// A search that was given its parts in runs finds what one does that was given them one by one.
TEST_P(BreakpointsContract, RunsAreAsGoodAsParts) {
  Random random(22);
  for (std::size_t size = 0; size <= Breakpoints::kRun; ++size) {
    Breakpoints run;
    LineSearch one(3, -1), many(3, -1);
    for (std::size_t k = 0; k < size; ++k) {
      // Whole numbers, so that sums are exact in any order.
      run.c[k] = static_cast<double>(random.below(9)) - 4;
      run.d[k] = static_cast<double>(random.below(9)) - 4;
      run.step[k] = static_cast<double>(random.below(3));
      one.add(run.step[k], run.c[k], run.d[k]);
    }
    many.add(run, size, simd());
    EXPECT_EQ(many.slope(), one.slope()) << size;
    EXPECT_EQ(many.slope_steps().values, one.slope_steps().values) << size;
    EXPECT_EQ(many.minimum(), one.minimum()) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, BreakpointsContract, testing::every_isa(),
                         testing::name_of_isa);

}  // namespace
}  // namespace hinge
