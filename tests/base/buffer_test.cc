#include "base/buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

namespace hinge {
namespace {

std::vector<std::uint32_t> counting(std::size_t count, std::uint32_t from = 0) {
  std::vector<std::uint32_t> items(count);
  std::iota(items.begin(), items.end(), from);
  return items;
}

Buffer<std::uint32_t> counting_buffer(std::size_t count) {
  Buffer<std::uint32_t> buffer;
  buffer.append(counting(count).data(), count);
  return buffer;
}

bool counts(const Buffer<std::uint32_t>& buffer, std::size_t size) {
  return buffer.size() == size && std::ranges::equal(buffer.span(), counting(size));
}

// Bytes of address space this process has mapped.
std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Buffer, BeginsEmpty) {
  const Buffer<double> buffer;
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_TRUE(buffer.span().empty());
}

TEST(Buffer, FreshMemoryIsZero) {
  const Buffer<std::uint64_t> buffer(100000);
  ASSERT_EQ(buffer.size(), 100000U);
  EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](std::uint64_t x) { return x == 0; }));
}

TEST(Buffer, GrowthKeepsContent) {
  Buffer<std::uint32_t> buffer;
  std::uint32_t next = 0;
  for (std::size_t count = 0; buffer.size() < 3000000; count = 2 * count + 1) {
    const auto part = counting(count, next);
    buffer.append(part.data(), count);
    next += static_cast<std::uint32_t>(count);
  }
  EXPECT_TRUE(counts(buffer, next));
}

// As far as several moves of memory in huge pages; what lies around must be left alone.
TEST(Buffer, LargeBuffersGrowSideBySide) {
  Buffer<std::uint32_t> a, b;
  const std::size_t step = std::size_t{3} << 18;
  for (std::uint32_t k = 0; k < 12; ++k) {
    const auto part = counting(step, k * static_cast<std::uint32_t>(step));
    a.append(part.data(), step);
    b.append(part.data(), step);
  }
  EXPECT_TRUE(counts(a, 12 * step));
  EXPECT_TRUE(counts(b, 12 * step));
  const std::uint64_t before = mapped_bytes();
  const std::uint64_t bytes = 4 * 12 * step;
  a = {};
  b = {};
  EXPECT_LE(mapped_bytes() + 2 * bytes, before);
}

TEST(Buffer, DoesNotMoveWithinWhatIsReserved) {
  Buffer<std::uint32_t> buffer = counting_buffer(10);
  buffer.reserve(5000000);
  EXPECT_TRUE(counts(buffer, 10));
  const std::uint32_t* const data = buffer.data();
  buffer.append(counting(4999990, 10).data(), 4999990);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_TRUE(counts(buffer, 5000000));
  buffer.reserve(1);
  EXPECT_EQ(buffer.size(), 5000000U);
}

TEST(Buffer, AppendOfNothingChangesNothing) {
  Buffer<std::uint32_t> buffer;
  buffer.append(nullptr, 0);
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(Buffer, ResizeKeepsTheFront) {
  Buffer<std::uint32_t> buffer = counting_buffer(5000);
  buffer.resize(100);
  EXPECT_TRUE(counts(buffer, 100));
  buffer.resize(1000000);
  ASSERT_EQ(buffer.size(), 1000000U);
  EXPECT_TRUE(std::ranges::equal(buffer.span().first(100), counting(100)));
  buffer[999999] = 7;
  EXPECT_EQ(buffer.span().back(), 7U);
}

TEST(Buffer, ShrinkKeepsContentAndGivesMemoryBack) {
  Buffer<std::uint32_t> buffer = counting_buffer(std::size_t{1} << 24);
  buffer.resize(1000);
  const std::uint64_t before = mapped_bytes();
  buffer.shrink();
  EXPECT_LT(mapped_bytes() + (std::uint64_t{1} << 25), before);
  EXPECT_TRUE(counts(buffer, 1000));
  const auto more = counting(5000, 1000);
  buffer.append(more.data(), more.size());
  EXPECT_TRUE(counts(buffer, 6000));
}

TEST(Buffer, ShrinkToNothingCanBeUsedAgain) {
  Buffer<std::uint32_t> buffer = counting_buffer(10);
  buffer.resize(0);
  buffer.shrink();
  EXPECT_EQ(buffer.size(), 0U);
  buffer.append(counting(3).data(), 3);
  EXPECT_TRUE(counts(buffer, 3));
}

TEST(Buffer, MovesWithoutCopying) {
  Buffer<std::uint32_t> first = counting_buffer(5000);
  const std::uint32_t* const memory = first.data();
  Buffer<std::uint32_t> second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  EXPECT_TRUE(counts(second, 5000));
  Buffer<std::uint32_t> third = counting_buffer(7);
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
  EXPECT_TRUE(counts(third, 5000));
}

TEST(Buffer, DestructionGivesMemoryBack) {
  const std::uint64_t before = mapped_bytes();
  { const Buffer<std::uint8_t> buffer(std::size_t{1} << 26); }
  EXPECT_LT(mapped_bytes(), before + (std::uint64_t{1} << 25));
}

TEST(Buffer, TooMuchIsBadAllocAndLeavesTheBufferAsItWas) {
  Buffer<std::uint32_t> buffer = counting_buffer(100);
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  // More than there are addresses; then counts whose number of bytes wraps around.
  for (const std::size_t size : {std::size_t{1} << 58, kMost / 4, kMost / 4 + 2, kMost}) {
    EXPECT_THROW(buffer.resize(size), std::bad_alloc) << size;
    EXPECT_TRUE(buffer.size() == 100 && buffer.data() != nullptr) << size;
    if (buffer.size() != 100 || buffer.data() == nullptr) return;
  }
  EXPECT_TRUE(counts(buffer, 100));
}

}  // namespace
}  // namespace hinge
