// What dual variables gain, enclosed: for the hinge, and for losses where something is taken off.
#include "proof/gain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "objective/other_losses.h"

namespace hinge {
namespace {

template <class Loss>
void expect_enclosed(const Loss& loss) {
  Random random(8);
  for (const std::size_t rows : {0U, 1U, 511U, 512U, 2000U}) {
    std::vector<double> costs(rows), alpha(rows);
    long double gain = 0, size = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      costs[i] = random.below(9) == 0 ? 0.0 : std::pow(10.0, 6 * random.uniform() - 3);
      const Problem problem = {.costs = costs, .cost = 0.3};
      const double upper = problem.upper(i), lowest = std::max(Loss::kLowest, -9.0);
      alpha[i] = upper * (lowest + (std::min(Loss::kHighest, 9.0) - lowest) * random.uniform());
      if (upper == 0) continue;
      // By the conjugate in long doubles, of which a double's rounding is left.
      const auto [more, less] = loss.enclose_gain(alpha[i], upper);
      gain += static_cast<long double>(more) - static_cast<long double>(less);
      size += static_cast<long double>(more + less);
    }
    const Problem problem = {.costs = costs, .cost = 0.3};
    const GainSums sums = gain_of(loss, problem, alpha);
    EXPECT_GE(sums.more, 0);
    EXPECT_GE(sums.less, 0);
    const Interval found =
        enclose_gain<Loss>(sums, static_cast<double>(rows), sum_depth(alpha.size()));
    EXPECT_LE(found.low, gain) << rows;
    EXPECT_GE(found.high, gain) << rows;
    EXPECT_LE(found.high - found.low, 1e-12L * size + 1e-300L) << rows;
  }
}

TEST(Gain, IsEnclosed) {
  expect_enclosed(Hinge());
  expect_enclosed(SquaredHinge());
  expect_enclosed(Logistic());
  expect_enclosed(testing::TwoSided());
}

}  // namespace
}  // namespace hinge
