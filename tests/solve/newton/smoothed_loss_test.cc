#include "solve/newton/smoothed_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/random.h"
#include "simd_reference.h"
#include "solve/newton/smooth_rows.h"

namespace hinge {
namespace {

using SmoothedLoss = testing::ForEveryIsa;

// What is written out here for one element, for any number of them: the same bits.
TEST_P(SmoothedLoss, HingeMatchesTheDefinition) {
  const SmoothedLoops& loops = smoothed_loops(simd(), LossKind::hinge);
  Random random(5);
  for (const bool costs : {false, true}) {
    for (std::size_t size = 0; size < 40; ++size) {
      std::vector<double> z(size), d(size), centre(size), cost(size), moved(size), status(size);
      for (std::size_t k = 0; k < size; ++k) {
        z[k] = 4 * random.uniform() - 1;
        d[k] = random.uniform() - 0.5;
        centre[k] = random.uniform();
        cost[k] = costs ? random.uniform() : 1.0;
      }
      const SmoothedRows rows = {z.data(), d.data(), centre.data(), costs ? cost.data() : nullptr,
                                 size,     0.7};
      constexpr double kStep = 0.3;
      double slope[8] = {}, loss[8] = {}, sum[8] = {}, product[8] = {};
      const SmoothedSums sums = loops.move(rows, kStep, moved.data(), status.data());
      for (std::size_t k = 0; k < size; ++k) {
        const double slack = 1 - (z[k] + kStep * d[k]);
        const double s = std::min(1.0, std::max(0.0, centre[k] + 0.7 * slack));
        ASSERT_TRUE(testing::same_bits(moved[k], z[k] + kStep * d[k]));
        ASSERT_TRUE(testing::same_bits(status[k], s));
        slope[k % 8] += d[k] * s * cost[k];
        loss[k % 8] += cost[k] * std::max(0.0, slack);
        sum[k % 8] += cost[k] * s;
        product[k % 8] += cost[k] * s * slack;
      }
      EXPECT_EQ(loops.slope(rows, kStep), testing::sum_of_lanes(slope)) << size;
      EXPECT_EQ(sums.loss, testing::sum_of_lanes(loss)) << size;
      EXPECT_EQ(sums.gain, testing::sum_of_lanes(sum)) << size;
      EXPECT_EQ(sums.bound, testing::sum_of_lanes(product)) << size;
    }
  }
}

// A smooth loss has no corner to replace: shares are twice the slack, and what they gain is by P's
// loss.
TEST_P(SmoothedLoss, SquaredHingeIsItself) {
  EXPECT_THROW(smoothed_loops(simd(), LossKind::squared_hinge), std::logic_error);
  EXPECT_THROW(smooth_loops(simd(), LossKind::hinge), std::logic_error);
  const SmoothLoops& loops = smooth_loops(simd(), LossKind::squared_hinge);
  Random random(6);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<double> z(size), d(size), moved(size), share(size);
    for (std::size_t k = 0; k < size; ++k) {
      z[k] = 4 * random.uniform() - 1;
      d[k] = random.uniform() - 0.5;
    }
    const RowsAlongRay rows = {z.data(), d.data(), nullptr, size, LossKind::squared_hinge};
    const SumsOfRows sums = loops.move(rows, 0.3, moved.data(), share.data());
    double loss = 0, gain = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const double slack = std::max(0.0, 1 - (z[k] + 0.3 * d[k]));
      EXPECT_EQ(share[k], 2 * slack);
      loss += slack * slack;
      gain += share[k] * (1 - share[k] / 4);
    }
    EXPECT_NEAR(sums.loss, loss, 1e-13 * loss);
    EXPECT_NEAR(sums.gain, gain, 1e-13 * loss);
    const SlopeOfRows slope = loops.slope(rows, 0.3);
    double expected = 0;
    for (std::size_t k = 0; k < size; ++k) expected -= d[k] * share[k];
    EXPECT_NEAR(slope.slope, expected, 1e-13 * static_cast<double>(size));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, SmoothedLoss, testing::every_isa(),
                         testing::name_of_isa);

}  // namespace
}  // namespace hinge
