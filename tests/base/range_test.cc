#include "base/range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace hinge {
namespace {

TEST(Range, NumbersAndTheirWords) {
  constexpr NumberRange kShare = {.least = 0, .most = 1, .open = true};
  EXPECT_EQ(kShare.words(), "a number in (0, 1]");
  for (const double good : {1e-300, 0.5, 1.0}) EXPECT_TRUE(kShare.contains(good)) << good;
  for (const double bad : {0.0, -0.0, -1.0, 1.0000001, std::nan(""), testing::kInfinity}) {
    EXPECT_FALSE(kShare.contains(bad)) << bad;
  }
  constexpr NumberRange kClosed = {.least = 0.001, .most = 1};
  EXPECT_EQ(kClosed.words(), "a number from 0.001 to 1");
  EXPECT_TRUE(kClosed.contains(0.001));
  EXPECT_FALSE(kClosed.contains(0.0009));
  EXPECT_EQ((NumberRange{.most = 1e150}.words()), "a number up to 1e150");
  EXPECT_EQ((NumberRange{.least = 0, .most = 1e300, .open = true}.words()), "a finite number > 0");
  EXPECT_EQ((NumberRange{.least = 0, .open = true, .what = "factor"}.words()), "a factor > 0");
  EXPECT_EQ((NumberRange{.least = 0, .what = "number of seconds"}.words()),
            "a number of seconds >= 0");
  EXPECT_EQ(NumberRange{}.words(), "a finite number");
  for (const double bad : {std::nan(""), testing::kInfinity, -testing::kInfinity}) {
    EXPECT_FALSE(NumberRange{}.contains(bad)) << bad;
  }
}

TEST(Range, CountsAndTheirWords) {
  constexpr CountRange kFew = {.least = 2, .most = 10};
  EXPECT_EQ(kFew.words(), "a whole number from 2 to 10");
  EXPECT_EQ(kFew.ends(), "2 to 10");
  for (const int value : {-1, 0, 1, 11}) EXPECT_FALSE(kFew.contains(value)) << value;
  for (const int value : {2, 10}) EXPECT_TRUE(kFew.contains(value)) << value;
  EXPECT_FALSE(CountRange{}.contains(-1));
  EXPECT_EQ((CountRange{.least = 1}.words()), "a whole number > 0");
  EXPECT_EQ((CountRange{.least = 2}.words()), "a whole number > 1");
  EXPECT_EQ(CountRange{}.words(), "a whole number from 0 to 2^64 - 1");
  EXPECT_EQ((CountRange{.most = std::uint64_t{1} << 53}.words()), "a whole number from 0 to 2^53");
  EXPECT_EQ((CountRange{.most = 4096}.words()), "a whole number from 0 to 4096");
}

TEST(Range, Choices) {
  static constexpr std::string_view kNames[] = {"permute", "replace", "order"};
  constexpr Choice kChoice = {kNames};
  EXPECT_EQ(kChoice.words(), "one of permute, replace, order");
  EXPECT_EQ(kChoice.find("order"), 2U);
  EXPECT_FALSE(kChoice.find("Order").has_value());
  EXPECT_EQ(kChoice.did_you_mean("permut"), "; did you mean permute?");
  EXPECT_EQ(kChoice.did_you_mean("something else"), "");
  EXPECT_EQ(one_or_other(kNames), "permute, replace or order");
  EXPECT_EQ(one_or_other(std::span(kNames).first(1)), "permute");
  EXPECT_EQ(one_or_other({}), "");
}

TEST(Range, TextIsReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_number("-1.5e3"), -1500.0);
  for (const char* bad : {"", " 1", "1 ", "1x", "nan", "inf", "1e999", "+1", "0x1"}) {
    EXPECT_FALSE(parse_number(bad).has_value()) << bad;
  }
  EXPECT_EQ(parse_whole<std::uint64_t>("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(parse_whole<int>("-7"), -7);
  EXPECT_FALSE(parse_whole<std::uint64_t>("18446744073709551616").has_value());
  EXPECT_FALSE(parse_whole<int>("1.5").has_value());
  EXPECT_EQ(parse_byte_count("3K"), 3072U);
  for (const char* bad : {"", "0", "K", "1KB", "1k", "17000000T"}) {
    EXPECT_FALSE(parse_byte_count(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace hinge
