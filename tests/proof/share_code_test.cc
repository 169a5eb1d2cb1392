// Shares in few bits: codes ascend with their shares, and the nearest one is chosen.
#include "proof/share_code.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace hinge {
namespace {

TEST(ShareCode, AscendsInSixteenBits) {
  const ShareCode shares(16, false, 0);
  EXPECT_EQ(shares.share(0), 0);
  EXPECT_EQ(shares.share(0xffff), 1 - 0x1p-14);
  for (std::uint32_t code = 1; code < 0x10000; ++code) {
    const double share = shares.share(code), before = shares.share(code - 1);
    ASSERT_GT(share, before) << code;
    ASSERT_EQ(shares.code(share), code);
    ASSERT_LE(share - before, std::max(0x1p-20, share * 0x1p-13)) << code;
    // Of what lies between two the nearer one is taken.
    ASSERT_EQ(shares.code(before + 0.49 * (share - before)), code - 1);
    ASSERT_EQ(shares.code(before + 0.51 * (share - before)), code);
    ASSERT_EQ(shares.next(code, true), code < 0xffff ? code + 1 : code);
    ASSERT_EQ(shares.next(code, false), code > 1 ? code - 1 : code);
    ASSERT_LE(shares.least_step(code), share - before);
  }
}

TEST(ShareCode, HasASignWhereItIsWanted) {
  const ShareCode shares(16, true, 3);
  for (std::uint32_t code = 1; code < 0x8000; ++code) {
    const std::uint32_t negative = code | 0x8000;
    ASSERT_EQ(shares.share(negative), -shares.share(code));
    ASSERT_EQ(shares.code(shares.share(negative)), negative);
    ASSERT_LE(shares.share(shares.next(negative, false)), shares.share(negative));
  }
  EXPECT_EQ(shares.code(-1e-30), 0U);
  EXPECT_EQ(shares.share(shares.code(-100)), -8 * (1 - 0x1p-13));
}

TEST(ShareCode, HasTwiceTheDigitsInThirtyTwoBits) {
  Random random(4);
  for (const int exponent : {ShareCode::kLeastExponent, -3, 0, 5, ShareCode::kMostExponent}) {
    const ShareCode shares(32, false, exponent);
    for (int k = 0; k < 20000; ++k) {
      const double share =
          std::ldexp(0.5 + random.uniform() / 2, exponent - static_cast<int>(random.below(31)));
      const double rounded = shares.share(shares.code(share));
      ASSERT_LE(std::abs(rounded - share), share * 0x1p-28) << share;
      ASSERT_EQ(shares.code(rounded), shares.code(share));
    }
    EXPECT_LT(shares.share(0xffffffff), std::ldexp(1.0, exponent));
    EXPECT_EQ(shares.code(std::ldexp(1.0, exponent)), 0xffffffff);
  }
}

}  // namespace
}  // namespace hinge
