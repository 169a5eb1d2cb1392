#include "solve/dual/working_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "objective/loss.h"

namespace hinge {
namespace {

constexpr std::uint64_t kCount = 100, kTogether = 8;

// Rows 0, 1, ... in the order of the visits.
std::vector<std::uint64_t> order(const Random& random, const Neighbours& neighbours) {
  const std::vector<std::uint64_t> offsets(kCount + 1);
  const CsrView<float> m = {.rows = kCount, .offsets = offsets.data()};
  WorkingRows<float> rows(m);
  rows.begin(kCount, kTogether);
  for (std::uint64_t i = 0; i < kCount; ++i) rows.add(i, 1, 0, 1);
  rows.shuffle(random, neighbours);
  std::vector<std::uint64_t> found;
  for (const DescentRow& row : rows.items()) found.push_back(row.row);
  return found;
}

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> rows) {
  std::ranges::sort(rows);
  return rows;
}

std::vector<std::uint64_t> all() {
  std::vector<std::uint64_t> rows(kCount);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

TEST(WorkingRows, ShufflesRunsThatStayTogether) {
  const std::vector<std::uint64_t> rows = order(Random(1), {.run = kTogether});
  EXPECT_EQ(sorted(rows), all());
  EXPECT_NE(rows, all());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k % kTogether == 0) {
      EXPECT_EQ(rows[k] % kTogether, 0U);
    } else {
      EXPECT_EQ(rows[k], rows[k - 1] + 1);
    }
  }
}

TEST(WorkingRows, MixesRunsWithinAWindow) {
  const Neighbours mixed = {.run = kTogether, .window = 40, .mix = true};
  const std::vector<std::uint64_t> rows = order(Random(1), mixed);
  const std::vector<std::uint64_t> apart = order(Random(1), {.run = kTogether});
  EXPECT_EQ(sorted(rows), all());
  EXPECT_NE(rows, apart);
  for (std::size_t k = 0; k < kCount; k += 40) {
    const auto window = [&](const std::vector<std::uint64_t>& of) {
      return sorted({of.begin() + static_cast<std::ptrdiff_t>(k),
                     of.begin() + static_cast<std::ptrdiff_t>(std::min(kCount, k + 40))});
    };
    EXPECT_EQ(window(rows), window(apart));
  }
}

TEST(WorkingRows, EachEpochHasItsOrder) {
  EXPECT_NE(order(Random(1, 2, 3), {.run = kTogether}), order(Random(1, 2, 4), {.run = kTogether}));
  EXPECT_EQ(order(Random(1, 2, 3), {.run = kTogether}), order(Random(1, 2, 3), {.run = kTogether}));
}

// Rows between their bounds always; at a bound, those whose gradient does not point outwards by
// more than `beyond`, which is doubled while there are too few.
TEST(WorkingRows, ChoosesRowsThatAreNearTheirBounds) {
  const std::vector<double> gradient = {9, -9, 1, 3, -1, -3, 6, 2.1};
  const std::vector<double> alpha = {0.5, 0.5, 0, 0, 2, 2, 0, 2};
  const std::vector<double> factor = {1, 1, 1, 1, 2, 2, 1, 4};
  const DualRows rows = {gradient.data(), alpha.data(), factor.data(), alpha.size(), 1};
  std::vector<std::uint64_t> chosen;
  const auto choose = [&](double& beyond, std::uint64_t least, int times) {
    choose_near<Hinge>(best_simd(), rows, beyond, least, times, chosen);
    return chosen;
  };
  using Rows = std::vector<std::uint64_t>;
  double beyond = 1;
  EXPECT_EQ(choose(beyond, 0, 4), (Rows{0, 1, 2, 4, 7}));
  EXPECT_EQ(choose(beyond, 5, 4), (Rows{0, 1, 2, 4, 7}));
  EXPECT_EQ(beyond, 1);
  EXPECT_EQ(choose(beyond, 6, 1), (Rows{0, 1, 2, 4, 7}));  // doubled once, in vain
  EXPECT_EQ(beyond, 2);
  EXPECT_EQ(choose(beyond, 6, 4), (Rows{0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(beyond, 4);
  beyond = 1;
  EXPECT_EQ(choose(beyond, 8, 10), (Rows{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(beyond, 8);
}

}  // namespace
}  // namespace hinge
