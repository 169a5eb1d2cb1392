#include "solve/dual/gap_forecast.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "solve/dual/low_precision.h"

namespace hinge {
namespace {

// Estimates that halve: the next one would be half of the last, and that is where it ended.
TEST(GapForecast, FollowsTheDecayOfEstimates) {
  GapForecast forecast;
  EXPECT_EQ(forecast.gap(), 0);
  forecast.see_epoch(8);
  EXPECT_EQ(forecast.gap(), 8);
  forecast.see_epoch(4);
  EXPECT_EQ(forecast.decay(), 0.5);
  EXPECT_EQ(forecast.gap(), 2);
  forecast.see_epoch(6);  // risen: no decay
  EXPECT_EQ(forecast.gap(), 6);
  forecast.see_epoch(0.06);  // faster than is believed
  EXPECT_EQ(forecast.decay(), DualTuning::kFastestDecay);
}

TEST(GapForecast, IsCorrectedByExactPasses) {
  GapForecast forecast;
  forecast.see_exact(7);  // no estimate yet: nothing to correct
  forecast.see_epoch(8);
  forecast.see_exact(4);
  EXPECT_EQ(forecast.gap(), 4);
  forecast.see_epoch(4);
  EXPECT_EQ(forecast.gap(), 1);  // 4 * 0.5 * 0.5
  forecast.forget_short_steps();
  EXPECT_EQ(forecast.gap(), 2);
  forecast.see_exact(1000);
  EXPECT_EQ(forecast.gap(), 2 * DualTuning::kMaxGapCorrection);
  forecast.forget_short_steps();
  EXPECT_EQ(forecast.gap(), 2 * DualTuning::kMaxGapCorrection);
  forecast.see_exact(1e-9);
  EXPECT_EQ(forecast.gap(), 2 / DualTuning::kMaxGapCorrection);
}

// |v|^2 of v = w + (v - w), where <w, v> is known.
TEST(LowPrecision, SquareBesideThatOfTheWeights) {
  const auto gap_of = [](double gap) { return [gap](double) { return gap; }; };
  EXPECT_EQ(square_beside(4, 4, 10, gap_of(1)), 4.0);  // v is w
  // 2 <w, v> - |w|^2, and as much as ten roundings of that drift make out.
  EXPECT_NEAR(square_beside(4, 4.005, 10, gap_of(1)).value(), 4.01 + 10 * 0.005 * 0.005 / 4, 1e-12);
  EXPECT_EQ(square_beside(4, 4.011, 10, gap_of(1)), std::nullopt);
  EXPECT_NE(square_beside(4, 4.011, 10, gap_of(2)), std::nullopt);
  EXPECT_EQ(square_beside(0, 0, 10, gap_of(1)), 0.0);
}

}  // namespace
}  // namespace hinge
