#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <vector>

namespace hinge {
namespace {

std::array<std::uint64_t, 4> first_draws(Random random) {
  return {random.next(), random.next(), random.next(), random.next()};
}

TEST(Random, SameKeySameStream) {
  EXPECT_EQ(first_draws(Random(42, 7, 3)), first_draws(Random(42, 7, 3)));
  EXPECT_EQ(first_draws(Random(42)), first_draws(Random(42, 0, 0)));
}

// Generated data and trained models depend on these numbers: they may never change.
TEST(Random, GoldenDraws) {
  using Four = std::array<std::uint64_t, 4>;
  EXPECT_EQ(first_draws(Random(0)), (Four{0x0cc78fb979ce5090U, 0xab9aa3dafba6b4acU,
                                          0xb0c750a86b3b1dd2U, 0x4b04a99a393a7f6bU}));
  EXPECT_EQ(first_draws(Random(1)), (Four{0x6735fa339a2f4459U, 0xd69887a7933b8aadU,
                                          0x93a728c7519ce556U, 0x9b8bd6bbebb43f61U}));
  EXPECT_EQ(first_draws(Random(1, 2, 3)), (Four{0x6ff419cb83dfe1e6U, 0xf475ff91157f0556U,
                                                0x4699fcaeeedee030U, 0xebf8925eb818f960U}));
  Random random(5);
  EXPECT_EQ(random.below(1000), 4U);
  EXPECT_EQ(random.below(1000), 36U);
  EXPECT_EQ(random.uniform(), 0x1.aa42b701bf4d1p-1);
  std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7};
  random.shuffle(std::span(items));
  EXPECT_EQ(items, (std::vector<int>{5, 7, 0, 1, 4, 2, 3, 6}));
}

TEST(Random, DrawsAtCompileTime) {
  constexpr std::uint64_t kDraw = [] {
    Random random(1);
    return random.next();
  }();
  EXPECT_EQ(kDraw, Random(1).next());
}

TEST(Random, StreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      for (std::uint64_t substream = 0; substream < 20; ++substream) {
        for (const std::uint64_t draw : first_draws(Random(seed, stream, substream))) {
          firsts.insert(draw);
        }
      }
    }
  }
  EXPECT_EQ(firsts.size(), 4U * 20 * 20 * 20);
}

TEST(Random, UniformStaysInItsInterval) {
  Random random(3);
  double sum = 0, low = 1, high = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_LT(low, 0.001);
  EXPECT_GT(high, 0.999);
}

TEST(Random, BelowIsEven) {
  for (const std::uint64_t n : {2U, 10U, 33U}) {
    Random random(11, n);
    constexpr double kDraws = 100000;
    std::vector<double> counts(n);
    for (int i = 0; i < static_cast<int>(kDraws); ++i) counts.at(random.below(n)) += 1;
    const double expected = kDraws / static_cast<double>(n);
    double chi_square = 0;
    for (const double count : counts)
      chi_square += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_square, 3 * static_cast<double>(n) + 20) << n;
  }
}

// next() % n would put half of the draws into the lower third; a product without rejection would
// make half of the remainders 0.
TEST(Random, BelowIsEvenForHugeRanges) {
  Random random(12);
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  std::array<int, 3> thirds{};
  std::array<int, 3> remainders{};
  constexpr int kDraws = 30000;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t draw = random.below(3 * kThird);
    ASSERT_LT(draw, 3 * kThird);
    ++thirds[draw / kThird];
    ++remainders[draw % 3];
  }
  for (const int count : thirds) EXPECT_NEAR(count, kDraws / 3, 500);
  for (const int count : remainders) EXPECT_NEAR(count, kDraws / 3, 500);
}

TEST(Random, BelowOneIsZero) {
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, ShufflePermutes) {
  std::vector<int> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::vector<int> items = sorted;
  Random(9).shuffle(std::span(items));
  EXPECT_NE(items, sorted);
  EXPECT_TRUE(std::is_permutation(items.begin(), items.end(), sorted.begin()));
  std::vector<int> other = sorted;
  Random(10).shuffle(std::span(other));
  EXPECT_NE(items, other);
  Random(1).shuffle(std::span<int>());
}

TEST(Random, ShuffleGivesEveryOrderItsShare) {
  Random random(13);
  std::array<int, 6> counts{};
  constexpr int kDraws = 60000;
  for (int i = 0; i < kDraws; ++i) {
    std::array<int, 3> items = {0, 1, 2};
    random.shuffle(std::span<int>(items));
    ++counts[static_cast<std::size_t>(2 * items[0] + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 6, 500);
}

}  // namespace
}  // namespace hinge
