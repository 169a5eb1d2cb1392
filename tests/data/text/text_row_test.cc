// The two parsers of a row: what the fast one accepts, the careful one reads the same; numbers are
// rounded as strtod and strtof round them (in the C locale they run in).
#include "data/text/text_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

template <class Value>
struct Parsed {
  bool accepted = false;
  RowBatch<Value> batch;
};

template <class Value>
Parsed<Value> fast(const std::string& line, const RowRules& rules = {}) {
  Parsed<Value> out;
  const std::string text = line + "\n" + std::string(kTextPadding, '\n');
  out.batch.reset(text.size());
  out.batch.lines = 1;
  const char* next = parse_fast(text.data(), rules, out.batch);
  out.accepted = next != nullptr;
  if (out.accepted) {
    EXPECT_EQ(next, text.data() + line.size() + 1) << line;
  }
  return out;
}

template <class Value>
Parsed<Value> careful(const std::string& line, const RowRules& rules = {}) {
  Parsed<Value> out;
  const std::string text = line + "\n" + std::string(kTextPadding, '\n');
  out.batch.reset(text.size());
  out.batch.lines = 1;
  parse_careful(text.data(), text.data() + line.size(), false, rules, out.batch);
  out.accepted = out.batch.errors.empty();
  return out;
}

template <class Value>
void expect_same(const std::string& line, const RowRules& rules = {}) {
  const Parsed<Value> quick = fast<Value>(line, rules);
  if (!quick.accepted) return;
  const Parsed<Value> slow = careful<Value>(line, rules);
  ASSERT_TRUE(slow.accepted) << line;
  ASSERT_EQ(quick.batch.labels, slow.batch.labels) << line;
  ASSERT_EQ(quick.batch.ends, slow.batch.ends) << line;
  const std::size_t n = quick.batch.nonzeros;
  ASSERT_EQ(std::memcmp(quick.batch.columns.data(), slow.batch.columns.data(), n * 4), 0) << line;
  ASSERT_EQ(std::memcmp(quick.batch.values.data(), slow.batch.values.data(), n * sizeof(Value)), 0)
      << line;
}

double reference(const std::string& text, double) {
  return std::strtod(text.c_str(), nullptr);
}
float reference(const std::string& text, float) {
  return std::strtof(text.c_str(), nullptr);
}

template <class Value>
void expect_rounded(const std::string& number) {
  const Value expected = reference(number, Value{});
  const std::string line = "1 1:" + number;
  const Parsed<Value> slow = careful<Value>(line);
  ASSERT_TRUE(slow.accepted) << number;
  const Parsed<Value> quick = fast<Value>(line);
  for (const Parsed<Value>* p : {&slow, &quick}) {
    if (!p->accepted) continue;
    const Value value = p->batch.nonzeros == 0 ? Value{0} : p->batch.values[0];
    ASSERT_EQ(value, expected) << number;
  }
}

std::string digits(Random& random, std::uint64_t count) {
  std::string out;
  for (std::uint64_t k = 0; k < count; ++k) out += static_cast<char>('0' + random.below(10));
  return out;
}

TEST(TextRow, OrdinaryRowsTakeTheFastWay) {
  for (const char* line :
       {"1 1:0.5 2:3", "-1 7:1e-3", "+1", "0 1:1 ", "3  1:2   4:.5", "1 12345678:1",
        "1 1:0.12345678901234567", "1 1:-2.5", "1 1:5\r", "12345678 1:1"}) {
    EXPECT_TRUE(fast<float>(line).accepted) << line;
    EXPECT_TRUE(fast<double>(line).accepted) << line;
  }
}

TEST(TextRow, OddRowsAreLeftToTheCarefulParser) {
  for (const char* line :
       {"",        "# x",    "1 2:1 1:1",     "1 1:1 1:2", "1 1:nan",   "1 1:1e400",
        "1.5 1:1", "x",      "1 1",           "1 1:",      "1 :1",      "1 1:1:1",
        "1 0:1",   "1\t1:1", "1 qid:1 1:1",   "1 1:1 # c", "1 1:0x1p3", "1 -1:1",
        "1 1:1e",  "1 1:.",  "123456789 1:1x"}) {
    EXPECT_FALSE(fast<float>(line).accepted) << line;
  }
}

TEST(TextRow, NumbersAreCorrectlyRounded) {
  Random random(11);
  for (int k = 0; k < 20000; ++k) {
    std::string number = random.below(2) == 0 ? "" : "-";
    number += digits(random, random.below(4));
    const std::uint64_t places = random.below(22);
    if (number.size() < 2 || places > 0) number += "." + digits(random, places + 1);
    if (random.below(5) == 0) {
      number += "e" + std::to_string(static_cast<int>(random.below(60)) - 30);
    }
    expect_rounded<float>(number);
    expect_rounded<double>(number);
  }
}

// Decimals next to the middle between two floats, where rounding twice goes wrong.
TEST(TextRow, HalfwayCasesAreCorrectlyRounded) {
  Random random(12);
  for (int k = 0; k < 3000; ++k) {
    const auto bits = static_cast<std::uint32_t>(0x3f000000U + random.below(0x02000000U));
    float low;
    std::memcpy(&low, &bits, sizeof low);
    const double middle =
        (static_cast<double>(low) + static_cast<double>(std::nextafter(low, 9.0F))) / 2;
    char exact[80];
    for (const double nudge : {0.0, 1e-12, -1e-12, 3e-16, -3e-16}) {
      std::snprintf(exact, sizeof exact, "%.25f", middle + nudge);
      expect_rounded<float>(exact);
      std::snprintf(exact, sizeof exact, "%.15f", middle + nudge);
      expect_rounded<float>(exact);
      expect_rounded<double>(exact);
    }
  }
}

TEST(TextRow, LongAndExtremeNumbers) {
  expect_rounded<double>("0." + std::string(700, '3'));
  expect_rounded<double>(std::string(140, '9') + ".5");
  expect_rounded<double>("4.9e-324");
  expect_rounded<double>("2.2250738585072011e-308");
  expect_rounded<double>("9007199254740993");
  expect_rounded<float>("16777217");
  expect_rounded<float>("3.4028235e38");
  expect_rounded<float>("1e-45");
  expect_rounded<double>("0." + std::string(100000, '1'));
}

// Random damage to ordinary lines: whatever the fast parser still accepts must mean the same.
TEST(TextRow, FastEqualsCarefulOnDamagedLines) {
  Random random(13);
  const std::string alphabet = "0123456789.:-+eE #\t\rx ";
  for (int k = 0; k < 60000; ++k) {
    std::string line = random.below(2) == 0 ? "1" : "-1";
    std::uint64_t index = 0;
    for (std::uint64_t n = random.below(4); n > 0; --n) {
      index += 1 + random.below(300);
      line += " " + std::to_string(index) + ":0." + digits(random, 1 + random.below(9));
    }
    for (std::uint64_t n = random.below(3); n > 0; --n) {
      line[random.below(line.size())] = alphabet[random.below(alphabet.size())];
    }
    RowRules rules;
    rules.labels = random.below(4) != 0;
    rules.base = random.below(2) == 0 ? 0 : 1;
    expect_same<float>(line, rules);
    expect_same<double>(line, rules);
  }
}

TEST(TextRow, ExplicitZerosAreNotStored) {
  const Parsed<float> row = fast<float>("1 1:0 2:0.0 3:-0 4:5");
  ASSERT_TRUE(row.accepted);
  ASSERT_EQ(row.batch.nonzeros, 1U);
  EXPECT_EQ(row.batch.columns[0], 3U);
}

}  // namespace
}  // namespace hinge
