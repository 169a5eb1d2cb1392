#include "solve/dual/working_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "objective/loss.h"

namespace hinge {
namespace {

constexpr std::uint64_t kCount = 100, kTogether = 8;

WorkingRows<float>::Chosen every_row(std::size_t k) {
  return {.row = k, .y = 1, .alpha = 0, .curvature = 1, .moves = true};
}

// Rows 0, 1, ... in the order of the visits.
std::vector<std::uint64_t> order(const Random& random, const Neighbours& neighbours) {
  const std::vector<std::uint64_t> offsets(kCount + 1);
  const CsrView<float> m = {.rows = kCount, .offsets = offsets.data()};
  WorkingRows<float> rows(m);
  Pool pool(1);
  rows.choose(kCount, kTogether, pool, every_row);
  rows.shuffle(0, random, neighbours);
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
  Pool pool(1);
  Buffer<std::uint64_t> chosen;
  using Rows = std::vector<std::uint64_t>;
  const auto choose = [&](double& beyond, std::uint64_t least) {
    choose_near<Hinge>(best_simd(), rows, beyond, least, pool, chosen);
    return Rows(chosen.data(), chosen.data() + chosen.size());
  };
  double beyond = 1;
  EXPECT_EQ(choose(beyond, 0), (Rows{0, 1, 2, 4, 7}));
  EXPECT_EQ(choose(beyond, 5), (Rows{0, 1, 2, 4, 7}));
  EXPECT_EQ(beyond, 1);
  EXPECT_EQ(choose(beyond, 6), (Rows{0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(beyond, 4);
  beyond = 1;
  EXPECT_EQ(choose(beyond, 8), (Rows{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(beyond, 8);
  beyond = 0.01;
  EXPECT_EQ(choose(beyond, 8), (Rows{0, 1, 7}));  // doubled as often as may be, in vain
  EXPECT_EQ(beyond, 0.16);
}

// The same rows on any number of threads, of more blocks than one and of some without any.
TEST(WorkingRows, ChoosesInBlocks) {
  constexpr std::size_t kMany = 3 * DualTuning::kRowsABlock + 7;
  std::vector<double> gradient(kMany), alpha(kMany);
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < kMany; ++i) {
    const bool near = i % 3 == 0 && i / DualTuning::kRowsABlock != 1;
    gradient[i] = near ? 0.5 : 2;
    if (near) expected.push_back(i);
  }
  const std::vector<std::uint64_t> offsets(kMany + 1);
  const CsrView<float> m = {.rows = kMany, .offsets = offsets.data()};
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    Buffer<std::uint64_t> chosen;
    double beyond = 1;
    choose_near<Hinge>(best_simd(), {gradient.data(), alpha.data(), nullptr, kMany, 1}, beyond, 1,
                       pool, chosen);
    EXPECT_EQ(std::vector(chosen.data(), chosen.data() + chosen.size()), expected);
    WorkingRows<float> rows(m);
    rows.choose(kMany, 1, pool, [](std::size_t k) {
      auto row = every_row(k);
      row.moves = k % 5 != 0;
      return row;
    });
    ASSERT_EQ(rows.items().size(), kMany - (kMany + 4) / 5);
    std::uint64_t row = 0;
    for (const DescentRow& item : rows.items()) {
      row += row % 5 == 0 ? 1 : 0;
      ASSERT_EQ(item.row, row++);
    }
    for (DescentRow& item : rows.items()) item.asleep = item.row % 4 == 0;
    rows.leave_sleepers(pool);
    row = 0;
    for (const DescentRow& item : rows.items()) {
      while (row % 5 == 0 || row % 4 == 0) ++row;
      ASSERT_EQ(item.row, row++);
    }
    EXPECT_GE(row, kMany - 2);
  }
}

// Each lane gets neighbours, and all lanes about as many entries.
class SharedOut : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SharedOut, RowsByTheirEntries) {
  const std::size_t count = GetParam();
  std::vector<std::uint64_t> offsets = {0};
  for (std::uint64_t i = 0; i < count; ++i) offsets.push_back(offsets.back() + 1 + i % 7);
  const CsrView<float> m = {.rows = count, .offsets = offsets.data()};
  WorkingRows<float> rows(m);
  Pool pool(2);
  rows.choose(count, 1, pool, every_row);
  EXPECT_EQ(rows.lanes(), 1U);
  EXPECT_EQ(rows.entries(), offsets.back());
  for (const std::size_t lanes : {1U, 2U, 3U, 8U}) {
    rows.share_out(lanes, pool);
    ASSERT_EQ(rows.lanes(), lanes);
    std::uint64_t next = 0;
    for (std::size_t k = 0; k < lanes; ++k) {
      double entries = 0;
      for (const DescentRow& row : rows.of_lane(k)) {
        ASSERT_EQ(row.row, next++);
        entries += row.size;
      }
      EXPECT_NEAR(entries, static_cast<double>(rows.entries()) / static_cast<double>(lanes), 8);
    }
    ASSERT_EQ(next, count);
  }
  rows.share_out(2 * count, pool);  // more lanes than rows: some have none
  EXPECT_EQ(rows.lanes(), 2 * count);
  EXPECT_TRUE(rows.of_lane(2 * count - 1).empty());
}
INSTANTIATE_TEST_SUITE_P(WorkingRows, SharedOut,
                         ::testing::Values(kCount, 2 * DualTuning::kRowsABlock + 5));

}  // namespace
}  // namespace hinge
