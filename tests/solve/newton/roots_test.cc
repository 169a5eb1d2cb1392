#include "solve/newton/roots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "solve/newton/sample.h"

namespace hinge {
namespace {

// A slope that is -1 at 0 and rises in pieces; where it is small again, or the whole step.
TEST(NewtonSearch, EndsWhereTheSlopeIsSmall) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const double knee = random.uniform(), steep = std::pow(10.0, 4 * random.uniform());
    const auto slope = [&](double t) { return -1 + 0.1 * t + (t > knee ? steep * (t - knee) : 0); };
    const double t = search_step(-1.0, slope(1), slope);
    EXPECT_GT(t, 0);
    EXPECT_LE(t, 1);
    EXPECT_LE(slope(t), NewtonTuning::kSearched) << "beyond the minimum";
    if (steep < 100) {  // others may take more trials than there are
      EXPECT_LE(std::abs(slope(t)), t == 1 ? 1.0 : NewtonTuning::kSearched) << knee << " " << steep;
    }
    if (slope(1) <= NewtonTuning::kSearched) {
      EXPECT_EQ(t, 1);
    }
  }
  const auto nothing = [](double) { return 0.0; };
  EXPECT_EQ(search_step(-1.0, std::numeric_limits<double>::infinity(), nothing), 0);
  EXPECT_EQ(search_step(-1.0, std::nan(""), nothing), 0);
}

TEST(NewtonRoot, LiesBetweenEndsOfDifferentSigns) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const double root = 2 * random.uniform() - 1, sign = round % 2 == 0 ? 1 : -1;
    const auto value = [&](double x) { return sign * (std::pow(x - root, 3) + 0.1 * (x - root)); };
    const RootEnd low = {-2, value(-2)}, high = {2, value(2)};
    for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)}) {
      const double found = find_root(from, to, 1e-14, 100, value);
      EXPECT_NEAR(found, root, 1e-12) << round;
    }
  }
  // A step has no place where it is 0.
  const auto step = [](double x) { return x < 0.3 ? -1.0 : 1.0; };
  EXPECT_NEAR(find_root({0, -1}, {1, 1}, 1e-15, 200, step), 0.3, 1e-12);
}

TEST(NewtonSample, OneRowOfEachRun) {
  const std::vector<std::uint64_t> sizes = sample_sizes(1'000'000, 50);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{125'000, 15'625}));
  EXPECT_EQ(sample_sizes(31'999, 1), std::vector<std::uint64_t>());
  EXPECT_EQ(sample_sizes(32'000, 1), std::vector<std::uint64_t>{4000});
  EXPECT_EQ(sample_sizes(1'000'000, 10'000), std::vector<std::uint64_t>());  // 20 rows a column
  const std::vector<std::uint64_t> rows = sample_of_rows(1003, 100, Random(1, 0));
  ASSERT_EQ(rows.size(), 100U);
  for (std::uint64_t k = 0; k < rows.size(); ++k) {
    EXPECT_GE(rows[k], 1003 * k / 100);
    EXPECT_LT(rows[k], 1003 * (k + 1) / 100);
  }
  EXPECT_NE(rows, sample_of_rows(1003, 100, Random(2, 0)));
}

}  // namespace
}  // namespace hinge
