// Compressed text: the same rows as plain, however it is cut into members; and whatever is damaged
// is refused with its place.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "compress.h"
#include "hinge/dataset.h"
#include "support.h"

namespace hinge {
namespace {

using testing::bzip2;
using testing::gzip;
using testing::identity;
using testing::TempFolder;
using testing::write_file;
using testing::xz;
using testing::zstd;

struct Codec {
  const char* name;
  std::string (*compress)(const std::string&);
};

class Compressed : public testing::TestWithParam<Codec> {
 protected:
  std::string compress(const std::string& text) const { return GetParam().compress(text); }
  std::string id() const { return std::string("data.") + GetParam().name; }

  Result<Dataset> read(const std::string& bytes, int threads = 1) const {
    write_file(folder_ / "file", bytes);
    std::vector<Error> warnings;
    return read_dataset(folder_ / "file", {.threads = threads}, warnings);
  }

  const TempFolder folder_{testing::memory_folder()};
};

std::string rows(int count, std::uint64_t seed = 1) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? "1" : "-1";
    for (std::uint64_t j = 1; j < 30; j += 1 + random.below(9)) {
      text += " " + std::to_string(j) + ":0." + std::to_string(1 + random.below(99999));
    }
    text += "\n";
  }
  return text;
}

TEST_P(Compressed, SameRowsAsPlainText) {
  const std::string text = rows(30'000);  // several chunks
  const std::string expected = identity(read(text).value());
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(identity(read(compress(text), threads).value()), expected);
  }
}

TEST_P(Compressed, MembersOneAfterAnother) {
  const std::string a = rows(3000, 1), b = rows(5, 2), c = rows(2000, 3);
  const std::string cut = c.substr(0, 777), rest = c.substr(777);  // inside a row
  const std::string expected = identity(read(a + b + c).value());
  EXPECT_EQ(identity(read(compress(a) + compress(b) + compress(c)).value()), expected);
  EXPECT_EQ(identity(read(compress(a + b + cut) + compress("") + compress(rest)).value()),
            expected);
}

TEST_P(Compressed, NothingInside) {
  const Result<Dataset> none = read(compress(""));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().id, "data.empty");
}

TEST_P(Compressed, EveryPrefixIsRefused) {
  const std::string good = compress(rows(20));
  for (std::size_t length = 6; length < good.size(); ++length) {
    const Result<Dataset> result = read(good.substr(0, length));
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_EQ(result.error().id, id()) << length << to_string(result.error());
    EXPECT_NE(result.error().message.find("cut off"), std::string::npos) << length;
    EXPECT_EQ(result.error().offset, length);
  }
  // Two members of which the second is cut off.
  const std::string twice = good + good;
  for (std::size_t length = good.size() + 1; length < twice.size(); ++length) {
    const Result<Dataset> result = read(twice.substr(0, length));
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_EQ(result.error().id, id()) << length;
  }
}

// A few bits of a stream mean nothing (the time stamp of gzip); any other change is noticed.
TEST_P(Compressed, AnyFlippedBitIsRefusedOrMeansNothing) {
  const std::string good = compress(rows(20));
  const std::string expected = identity(read(good).value());
  std::size_t accepted = 0;
  for (std::size_t bit = 8 * 6; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const Result<Dataset> result = read(bad);
    if (!result.ok()) {
      EXPECT_EQ(exit_code(result.error()), 65) << to_string(result.error());
      EXPECT_EQ(result.error().id, id()) << bit << to_string(result.error());
      continue;
    }
    ++accepted;
    EXPECT_EQ(identity(*result), expected) << bit;
  }
  EXPECT_LT(accepted, 8 * 8U);
}

TEST_P(Compressed, GarbageAtTheEndIsRefused) {
  const std::string good = compress(rows(20));
  for (const char* garbage : {"x", "garbage", "1 1:1\n-1 1:2\n and more of it"}) {
    const Result<Dataset> result = read(good + garbage);
    ASSERT_FALSE(result.ok()) << garbage;
    EXPECT_EQ(result.error().id, id());
    EXPECT_GE(result.error().offset, good.size());
  }
}

// The damage explains the rows that make no sense: it is told first, for any number of threads.
TEST_P(Compressed, DamageComesBeforeTheRowsItSpoils) {
  std::string text = rows(50'000);
  for (std::size_t at = 1000; at < text.size(); at += 30'000) text[at] = '?';
  const std::string whole = compress(text);
  for (const int threads : {1, 2, 8}) {
    const Result<Dataset> result = read(whole.substr(0, whole.size() - 3), threads);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().id, id()) << to_string(result.error());
    EXPECT_GE(result.error().more.size(), 9U);
    EXPECT_TRUE(result.error().more[0].id.starts_with("data."));
    EXPECT_GT(result.error().more[0].line, 0U);
  }
}

// Ten bad rows end the reading long before the damage at the end of the file, or of another file.
TEST_P(Compressed, DamageIsLookedForInTheFileOfTheBadRowsOnly) {
  std::string bad;
  for (int i = 0; i < 12; ++i) bad += "?\n";
  const std::string damaged = compress(bad + rows(60'000));
  for (const int threads : {1, 2, 8}) {
    const Result<Dataset> one = read(damaged.substr(0, damaged.size() - 1), threads);
    ASSERT_FALSE(one.ok());
    EXPECT_EQ(one.error().id, id());
    EXPECT_EQ(one.error().more.size(), 10U);
    write_file(folder_ / "part-1", bad);
    write_file(folder_ / "part-2", compress(rows(5000)).substr(0, 2000));
    std::vector<Error> warnings;
    const Result<Dataset> two = read_dataset(folder_ / "part-*", {.threads = threads}, warnings);
    ASSERT_FALSE(two.ok());
    EXPECT_EQ(two.error().id, "data.label") << to_string(two.error());
    EXPECT_EQ(two.error().more.size(), 9U);
  }
}

TEST_P(Compressed, RowErrorsHaveTheLinesOfTheText) {
  const Result<Dataset> result = read(compress("1 1:1\n-1 1:2\n1 1:x\n"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().id, "data.value");
  EXPECT_EQ(result.error().line, 3U);
  EXPECT_EQ(result.error().column, 5U);
  EXPECT_EQ(result.error().offset, 17U);
}

TEST_P(Compressed, FromAPipe) {
  const std::string text = rows(5000), bytes = compress(text);
  const std::string expected = identity(read(text).value());
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_file(pipe, bytes); });
  std::vector<Error> warnings;
  const Result<Dataset> data = read_dataset(pipe, {.threads = 2}, warnings);
  writer.join();
  ASSERT_TRUE(data.ok()) << to_string(data.error());
  EXPECT_EQ(identity(*data), expected);
}

TEST_P(Compressed, LimitsCountWhatComesOut) {
  const std::string bomb = compress(std::string(std::size_t{40} << 20, ' '));
  EXPECT_LT(bomb.size(), std::size_t{1} << 16);
  write_file(folder_ / "bomb", bomb);
  std::vector<Error> warnings;
  const Result<Dataset> line =
      read_dataset(folder_ / "bomb", {.threads = 1, .max_line_bytes = 1 << 20}, warnings);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().id, "limit.line-bytes");
  const Result<Dataset> all =
      read_dataset(folder_ / "bomb", {.threads = 1, .max_bytes = 1 << 20}, warnings);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().id, "limit.bytes");
}

INSTANTIATE_TEST_SUITE_P(All, Compressed,
                         testing::Values(Codec{"gzip", gzip}, Codec{"bzip2", bzip2},
                                         Codec{"xz", xz}, Codec{"zstd", zstd}),
                         [](const auto& codec) { return codec.param.name; });

TEST(CompressedZstd, SkippableFramesAreSkipped) {
  using std::string_literals::operator""s;
  const TempFolder folder;
  const std::string text = rows(100);
  const std::string skip = "\x50\x2a\x4d\x18\x04\x00\x00\x00more"s;
  write_file(folder / "a", skip + zstd(text) + skip);
  write_file(folder / "b", text);
  std::vector<Error> warnings;
  EXPECT_EQ(identity(read_dataset(folder / "a", {}, warnings).value()),
            identity(read_dataset(folder / "b", {}, warnings).value()));
}

// A block header that asks for a dictionary of 4 GiB, its checksum mended.
TEST(CompressedXz, TooLargeADictionary) {
  const TempFolder folder;
  std::string bytes = xz(rows(5));
  constexpr std::size_t kBlock = 12;
  const std::size_t size = (static_cast<unsigned char>(bytes[kBlock]) + 1U) * 4;
  const std::size_t filter = bytes.find('\x21', kBlock);
  ASSERT_LT(filter, kBlock + size);
  bytes[filter + 2] = 40;
  const std::uint32_t sum =
      lzma_crc32(reinterpret_cast<const std::uint8_t*>(bytes.data()) + kBlock, size - 4, 0);
  std::memcpy(bytes.data() + kBlock + size - 4, &sum, sizeof sum);
  write_file(folder / "a", bytes);
  std::vector<Error> warnings;
  const Result<Dataset> result = read_dataset(folder / "a", {}, warnings);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().id, "data.xz");
  EXPECT_NE(result.error().message.find("dictionary"), std::string::npos);
}

TEST(CompressedXz, PaddingBetweenStreams) {
  const TempFolder folder;
  const std::string text = rows(100);
  write_file(folder / "a", xz(text) + std::string(8, '\0') + xz(text) + std::string(4, '\0'));
  write_file(folder / "b", text + text);
  std::vector<Error> warnings;
  EXPECT_EQ(identity(read_dataset(folder / "a", {}, warnings).value()),
            identity(read_dataset(folder / "b", {}, warnings).value()));
}

}  // namespace
}  // namespace hinge
