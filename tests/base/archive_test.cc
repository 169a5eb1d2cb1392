#include "base/archive.h"

#include <gtest/gtest.h>

#include <limits>

namespace hinge {
namespace {

struct Inner {
  double number = 0;
  std::vector<std::uint32_t> list;
  void archive(Archive& archive) { archive(number, list); }
  bool operator==(const Inner&) const = default;
};

struct Outer {
  bool flag = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  double steps[3] = {};
  std::array<float, 2> pair = {};
  std::string text;
  std::vector<bool> bits;
  std::vector<double> numbers;
  std::vector<std::vector<double>> nested;
  std::vector<Inner> inners;
  std::deque<double> queue;
  std::optional<Inner> maybe, none;

  void archive(Archive& archive) {
    archive(flag, small, large, steps, pair, text, bits);
    archive.sized(numbers, 2);
    archive.sized_or_empty(nested, 3);
    archive(inners, queue, maybe, none);
  }
  bool operator==(const Outer&) const = default;
};

Outer sample() {
  Outer outer;
  outer.flag = true;
  outer.small = -5;
  outer.large = std::numeric_limits<std::uint64_t>::max();
  outer.steps[1] = -0.0;
  outer.steps[2] = 1e-310;
  outer.pair = {1, 2};
  outer.text = std::string("a\0b", 3);
  outer.bits = {true, false, true};
  outer.numbers = {std::numeric_limits<double>::infinity(), 3};
  outer.nested = {{}, {1}, {2, 3}};
  outer.inners = {{1, {7}}, {2, {}}};
  outer.queue = {4, 5};
  outer.maybe = Inner{6, {8, 9}};
  return outer;
}

TEST(Archive, WhatIsWrittenIsRead) {
  Outer outer = sample(), back;
  back.none = Inner{};
  const std::vector<std::byte> state = state_of(outer);
  EXPECT_EQ(outer, sample());
  restore(back, state);
  EXPECT_EQ(back, outer);
  EXPECT_EQ(state_of(back), state);
}

TEST(Archive, EveryPrefixAndWhatIsLeftOverIsRefused) {
  Outer outer = sample();
  std::vector<std::byte> state = state_of(outer);
  for (std::size_t size = 0; size < state.size(); ++size) {
    Outer back;
    EXPECT_THROW(restore(back, std::span(state).first(size)), Failure) << size;
  }
  state.push_back({});
  EXPECT_THROW(restore(outer, state), Failure);
}

TEST(Archive, LengthsAreCheckedBeforeMemoryIsTaken) {
  std::vector<double> numbers;
  for (const std::uint64_t length : {std::uint64_t{2}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    std::uint64_t one = 1, count = length;
    const std::vector<std::byte> bytes =
        Archive::written_by([&](Archive& out) { out(count, one); });
    Archive in(bytes);
    EXPECT_THROW(in(numbers), Failure);
    Archive sized(bytes);
    EXPECT_THROW(sized.sized(numbers, 1), Failure);
  }
  EXPECT_TRUE(numbers.empty());
}

TEST(Archive, AnythingButTwoBytesIsNoTruth) {
  std::uint8_t two = 2;
  const std::vector<std::byte> bytes = Archive::written_by([&](Archive& out) { out(two); });
  bool flag = false;
  Archive in(bytes);
  EXPECT_THROW(in(flag), Failure);
}

}  // namespace
}  // namespace hinge
