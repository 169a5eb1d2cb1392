// Round trips, and files made by hand whose checksums are right, so that it is the check in
// question that refuses them.
#include "files/tensor_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "files/checksum.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::write_file;
using Shape = std::vector<std::uint64_t>;

std::string sum_of(std::string_view text) {
  return to_hex(checksum(std::as_bytes(std::span(text.data(), text.size()))));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from + " in " + text);
  return text.replace(at, from.size(), to);
}

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + rest;
}

// A file with this header, padded, its checksum mended wherever it stands as 16 zeros.
std::string pack(std::string header, const std::string& data, char pad = ' ') {
  header.append((8 - header.size() % 8) % 8, pad);
  const std::string key = "\"checksum.header\":\"";
  if (const std::size_t at = header.find(key); at != std::string::npos) {
    header.replace(at + key.size(), 16, sum_of(header));
  }
  return with_length(header.size(), header + data);
}

const std::string kData = "0123456789abcdef01234567";  // 16 bytes of a, 8 bytes of b

std::string metadata_text() {
  return R"({"checksum.a":")" + sum_of(kData.substr(0, 16)) + R"(","checksum.b":")" +
         sum_of(kData.substr(16)) + R"(","checksum.header":"0000000000000000","note":"x"})";
}

std::string header_text() {
  return R"({"__metadata__":)" + metadata_text() +
         R"(,"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]})" +
         R"(,"b":{"dtype":"U32","shape":[2],"data_offsets":[16,24]}})";
}

class TensorFile : public testing::Test {
 protected:
  using File = ::hinge::TensorFile;

  // The id of the error these bytes get, or "accepted".
  std::string verdict(const std::string& bytes) const {
    write_file(folder_ / "file", bytes);
    return verdict_of(folder_ / "file");
  }
  static std::string verdict_of(const std::string& path) {
    try {
      static_cast<void>(File::read(path, "model"));
    } catch (const Failure& failure) {
      EXPECT_EQ(exit_code(failure.error), 80) << to_string(failure.error);
      EXPECT_EQ(failure.error.file, path);
      return failure.error.id;
    }
    return "accepted";
  }
  // The same for a header like the good one but for one place.
  std::string verdict_with(const std::string& from, const std::string& to) const {
    return verdict(pack(replaced(header_text(), from, to), kData));
  }

  // Three arrays of different widths and some metadata, as a program would write them.
  std::string write_small() const {
    const std::vector<std::uint8_t> bytes = {1, 2, 3};
    const std::vector<double> numbers = {0.5, -1};
    const std::vector<std::uint32_t> columns = {7};
    write_tensor_file(
        folder_ / "small",
        {tensor<std::uint8_t>("bytes", {3}, bytes), tensor<std::uint32_t>("columns", {1}, columns),
         tensor<double>("numbers", {1, 2}, numbers)},
        {{"format", "test"}});
    return folder_ / "small";
  }

  testing::TempFolder folder_{testing::memory_folder()};
};

TEST_F(TensorFile, AFormatIsTheMemberOfThatName) {
  const auto looks = [](const std::string& header) {
    return looks_like_tensor_file(pack(header, ""), "hinge.model");
  };
  EXPECT_TRUE(looks(R"({"__metadata__":{"format":"hinge.model"}})"));
  EXPECT_TRUE(
      looks("{\"__metadata__\": {\"status\": \"format\",\n \"format\" : \t\"hinge.model\"}}"));
  EXPECT_FALSE(looks(R"({"__metadata__":{"format":"hinge.models"}})"));
  EXPECT_FALSE(looks(R"({"__metadata__":{"format":"pt","by":"hinge.model"}})"));
  EXPECT_FALSE(looks(R"({"__metadata__":{"name":"\"format\":\"hinge.model\""}})"));
  EXPECT_FALSE(looks(R"({"__metadata__":{"format")"));
  EXPECT_FALSE(looks(R"({"__metadata__":{"format": )"));
}

TEST_F(TensorFile, RoundTripOfEveryType) {
  const std::vector<std::uint8_t> u8 = {0, 1, 255};
  const std::vector<std::uint32_t> u32 = {0, 4294967295U};
  const std::vector<std::int64_t> i64 = {std::numeric_limits<std::int64_t>::min(), -1, 7};
  const std::vector<std::uint64_t> u64 = {std::numeric_limits<std::uint64_t>::max()};
  const std::vector<float> f32 = {-0.0F, 1e-45F, std::numeric_limits<float>::infinity(), 0.1F};
  const std::vector<double> f64 = {0.1, -5e-324, 1e308, 3, 4, 5};
  const std::vector<double> none;
  const Metadata metadata = {{"plain", "text"}, {"odd \" \\ \n key", "\x01 \xc3\xa9"}, {"e", ""}};
  write_tensor_file(folder_ / "all",
                    {tensor<std::uint8_t>("u8", {3}, u8), tensor<std::uint32_t>("u32", {1, 2}, u32),
                     tensor<std::int64_t>("i64", {3}, i64), tensor<std::uint64_t>("u64", {}, u64),
                     tensor<float>("f32", {2, 2}, f32), tensor<double>("f64", {2, 3}, f64),
                     tensor<double>("none", {4, 0}, none)},
                    metadata);

  const File file = File::read(folder_ / "all", "model");
  const auto same = [](auto found, const auto& expected) {
    return found.size() == expected.size() &&
           std::memcmp(found.data(), expected.data(), found.size_bytes()) == 0;
  };
  EXPECT_TRUE(same(file.get<std::uint8_t>("u8", Shape{3}), u8));
  EXPECT_TRUE(same(file.get<std::uint32_t>("u32", Shape{1, 2}), u32));
  EXPECT_TRUE(same(file.get<std::int64_t>("i64", Shape{3}), i64));
  EXPECT_TRUE(same(file.get<std::uint64_t>("u64", Shape{}), u64));
  EXPECT_TRUE(same(file.get<float>("f32", Shape{2, 2}), f32));
  EXPECT_TRUE(same(file.get<double>("f64", Shape{2, 3}), f64));
  EXPECT_TRUE(file.get<double>("none", Shape{4, 0}).empty());
  EXPECT_EQ(Shape(file.shape("f64").begin(), file.shape("f64").end()), (Shape{2, 3}));
  EXPECT_TRUE(file.has("u8"));
  EXPECT_FALSE(file.has("u9"));
  for (const auto& [key, value] : metadata) EXPECT_EQ(file.field(key), value);
}

TEST_F(TensorFile, AsksForNameTypeAndShape) {
  const File file = File::read(write_small(), "model");
  const auto id = [](auto&& ask) -> std::string {
    try {
      static_cast<void>(ask());
    } catch (const Failure& failure) {
      return failure.error.id;
    }
    return "accepted";
  };
  EXPECT_EQ(id([&] { return file.get<double>("numbers", Shape{1, 2}); }), "accepted");
  EXPECT_EQ(id([&] { return file.get<double>("number", Shape{1, 2}); }), "model.header");
  EXPECT_EQ(id([&] { return file.get<double>("numbers", Shape{2, 1}); }), "model.header");
  EXPECT_EQ(id([&] { return file.get<double>("numbers", Shape{2}); }), "model.header");
  EXPECT_EQ(id([&] { return file.get<std::int64_t>("numbers", Shape{1, 2}); }), "model.header");
  EXPECT_EQ(id([&] { return file.shape("number"); }), "model.header");
  EXPECT_EQ(id([&] { return file.field("form"); }), "model.header");
}

TEST_F(TensorFile, WideTypesComeFirstAndEverythingIsAligned) {
  const std::string bytes = read_file(write_small());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  ASSERT_EQ(bytes.size(), 8 + length + 16 + 4 + 3);
  const auto header = nlohmann::ordered_json::parse(bytes.substr(8, length));
  std::vector<std::string> names;
  for (const auto& [name, value] : header.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"__metadata__", "numbers", "columns", "bytes"}));
  EXPECT_EQ(header["numbers"].dump(), R"({"dtype":"F64","shape":[1,2],"data_offsets":[0,16]})");
  EXPECT_EQ(header["columns"].dump(), R"({"dtype":"U32","shape":[1],"data_offsets":[16,20]})");
  EXPECT_EQ(header["bytes"].dump(), R"({"dtype":"U8","shape":[3],"data_offsets":[20,23]})");
  EXPECT_EQ(bytes.substr(8 + length + 20), "\x01\x02\x03");
}

TEST_F(TensorFile, SameContentSameBytes) {
  const std::string first = read_file(write_small());
  std::filesystem::remove(folder_ / "small");
  EXPECT_EQ(read_file(write_small()), first);
  const std::vector<double> x = {1}, y = {2};
  write_tensor_file(folder_ / "xy", {tensor<double>("x", {1}, x), tensor<double>("y", {1}, y)}, {});
  write_tensor_file(folder_ / "yx", {tensor<double>("y", {1}, y), tensor<double>("x", {1}, x)}, {});
  EXPECT_EQ(read_file(folder_ / "xy"), read_file(folder_ / "yx"));
}

TEST_F(TensorFile, EveryTruncationIsRefused) {
  const std::string bytes = read_file(write_small());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string id = verdict(bytes.substr(0, size));
    if (size < 10) {
      EXPECT_TRUE(id.starts_with("model.")) << size << ": " << id;
    } else {
      EXPECT_EQ(id, "model.truncated") << size;
    }
  }
  EXPECT_EQ(verdict(bytes), "accepted");
}

TEST_F(TensorFile, EveryBitFlipIsRefused) {
  const std::string path = write_small();
  const std::string bytes = read_file(path);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto at = static_cast<off_t>(i);
    for (int bit = 0; bit < 8; ++bit) {
      const auto flipped = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_EQ(pwrite(fd, &flipped, 1, at), 1);
      const std::string id = verdict_of(path);
      EXPECT_TRUE(id.starts_with("model.")) << "byte " << i << " bit " << bit << ": " << id;
    }
    ASSERT_EQ(pwrite(fd, &bytes[i], 1, at), 1);
  }
  close(fd);
  EXPECT_EQ(verdict_of(path), "accepted");
}

TEST_F(TensorFile, TrailingBytesAreRefused) {
  const std::string bytes = read_file(write_small());
  for (const std::size_t extra : {1U, 7U, 8U, 5000U}) {
    EXPECT_EQ(verdict(bytes + std::string(extra, '\0')), "model.trailing") << extra;
  }
}

TEST_F(TensorFile, OtherThingsAreNotOurs) {
  EXPECT_EQ(verdict("+1 1:0.5 2:0.25\n-1 1:0.5\n"), "model.magic");
  EXPECT_EQ(verdict("\x7f" + std::string("ELF") + std::string(100, '\0')), "model.magic");
  EXPECT_TRUE(verdict(std::string(100, '\0')).starts_with("model."));
  EXPECT_TRUE(verdict(std::string(100, '\xff')).starts_with("model."));
}

TEST_F(TensorFile, MissingFilesAndFoldersAreNoInput) {
  for (const char* name : {"none", "."}) {
    try {
      static_cast<void>(File::read(folder_ / name, "model"));
      ADD_FAILURE() << name;
    } catch (const Failure& failure) {
      EXPECT_EQ(exit_code(failure.error), 66) << to_string(failure.error);
    }
  }
}

// ---- Made by hand. First that the hand is steady.

TEST_F(TensorFile, HandMadeFileIsAccepted) {
  EXPECT_EQ(verdict(pack(header_text(), kData)), "accepted");
  EXPECT_EQ(verdict_with(R"("note":"x")", R"("note":"y")"), "accepted");
}

TEST_F(TensorFile, HostileNamesAndFields) {
  EXPECT_EQ(verdict_with(R"("b":{)", R"("a":{)"), "model.header");  // name twice
  EXPECT_EQ(verdict_with(R"("note":"x")", R"("note":"x","note":"x")"), "model.header");
  EXPECT_EQ(verdict_with(R"("shape":[2])", R"("shape":[2],"shape":[2])"), "model.header");
  EXPECT_EQ(verdict_with(R"("dtype":"F64")", R"("dtype":"F64","dtype":"F64")"), "model.header");
  EXPECT_EQ(verdict_with(R"("dtype":"F64",)", ""), "model.header");  // missing
  EXPECT_EQ(verdict_with(R"("shape":[2],)", ""), "model.header");
  EXPECT_EQ(verdict_with(R"(,"data_offsets":[0,16])", ""), "model.header");
  EXPECT_EQ(verdict_with(R"("dtype":"F64")", R"("dtype":"F64","extra":[1])"), "model.header");
  EXPECT_EQ(verdict_with(R"({"__metadata__":)" + metadata_text() + ",", "{"), "model.magic");
  EXPECT_EQ(verdict_with(R"("__metadata__")", R"("metadata")"), "model.header");
  EXPECT_EQ(verdict_with(R"(,"a":)", R"(,"__metadata__":{},"a":)"), "model.header");
}

TEST_F(TensorFile, HostileTypes) {
  for (const char* name : {"F16", "f64", "BOOL", "", "F640", "\\u0000F64"}) {
    EXPECT_EQ(verdict_with("\"F64\"", '"' + std::string(name) + '"'), "model.header") << name;
  }
}

TEST_F(TensorFile, HostileLayout) {
  const auto moved = [&](const char* a, const char* b) {
    return verdict(pack(replaced(replaced(header_text(), "[0,16]", a), "[16,24]", b), kData));
  };
  EXPECT_EQ(moved("[0,16]", "[16,24]"), "accepted");
  EXPECT_EQ(moved("[8,24]", "[24,32]"), "model.header");  // a hole in front
  EXPECT_EQ(moved("[0,16]", "[20,28]"), "model.header");  // a hole between
  EXPECT_EQ(moved("[0,16]", "[8,16]"), "model.header");   // an overlap
  EXPECT_EQ(moved("[0,16]", "[0,8]"), "model.header");
  EXPECT_EQ(moved("[8,24]", "[0,8]"), "model.header");    // the other order
  EXPECT_EQ(moved("[8,16]", "[16,24]"), "model.header");  // only the begin is wrong
  EXPECT_EQ(moved("[0,16]", "[20,24]"), "model.header");
  EXPECT_EQ(moved("[0,16]", "[8,24]"), "model.header");
  EXPECT_EQ(moved("[16,0]", "[16,24]"), "model.header");  // end before begin
  EXPECT_EQ(moved("[24,16]", "[16,24]"), "model.header");
  EXPECT_EQ(moved("[0,15]", "[15,23]"), "model.header");  // not what the shape says
  EXPECT_EQ(moved("[0,17]", "[17,25]"), "model.header");
  EXPECT_EQ(moved("[0]", "[16,24]"), "model.header");
  EXPECT_EQ(moved("[0,16,16]", "[16,24]"), "model.header");
  EXPECT_EQ(moved("[]", "[16,24]"), "model.header");
  EXPECT_EQ(moved("[0,18446744073709551615]", "[16,24]"), "model.header");
  EXPECT_EQ(verdict_with("\"shape\":[2],\"data_offsets\":[16,24]",
                         "\"shape\":[4],\"data_offsets\":[16,32]"),
            "model.truncated");
  EXPECT_EQ(verdict_with("\"shape\":[2],\"data_offsets\":[16,24]",
                         "\"shape\":[1],\"data_offsets\":[16,20]"),
            "model.trailing");
}

TEST_F(TensorFile, MisalignedArraysAreRefused) {
  const std::string data(17, 'x');
  const std::string header =
      R"({"__metadata__":{"checksum.a":")" + sum_of("x") + R"(","checksum.b":")" +
      sum_of(data.substr(1)) +
      R"(","checksum.header":"0000000000000000"},"a":{"dtype":"U8","shape":[1],)"
      R"("data_offsets":[0,1]},"b":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}})";
  EXPECT_EQ(verdict(pack(header, data)), "model.header");
  EXPECT_EQ(verdict(pack(replaced(replaced(header, "F64", "U8"), "[2]", "[16]"), data)),
            "accepted");
}

TEST_F(TensorFile, HostileShapes) {
  const auto shaped = [&](const std::string& shape) {
    return verdict_with("\"shape\":[2]", "\"shape\":" + shape);
  };
  EXPECT_EQ(shaped("[2,1,1,1]"), "accepted");
  for (const char* shape :
       {"[3]", "[]", "[-2]", "[2.0]", "[2e0]", "[\"2\"]", "[null]", "[true]", "[[2]]", "[{}]", "2",
        "\"2\"", "{}", "null", "[2,1,1,1,1]", "[18446744073709551616]", "[18446744073709551615]",
        "[2,0,18446744073709551615]"}) {
    EXPECT_EQ(shaped(shape), "model.header") << shape;
  }
  // 8 * 2^61 and 8 * 2^31 * 2^31 * 2 wrap to 0 and to 0: neither may stand for an empty array, nor
  // 8 * (2^61 + 2) for sixteen bytes.
  EXPECT_EQ(verdict_with(R"("shape":[2],"data_offsets":[0,16]},"b":{"dtype":"U32","shape":[2],)"
                         R"("data_offsets":[16,24])",
                         R"("shape":[2305843009213693952],"data_offsets":[0,0]},)"
                         R"("b":{"dtype":"U8","shape":[24],"data_offsets":[0,24])"),
            "model.header");
  EXPECT_EQ(shaped("[2305843009213693954]"), "model.header");
  EXPECT_EQ(shaped("[2147483648,2147483648,2]"), "model.header");
}

TEST_F(TensorFile, HostileMetadata) {
  for (const char* value :
       {"1", "-1", "1.5", "null", "true", "[]", "[\"x\"]", "{}", "{\"x\":\"y\"}"}) {
    EXPECT_EQ(verdict_with("\"note\":\"x\"", std::string("\"note\":") + value), "model.header")
        << value;
  }
  for (const char* value : {"1", "\"x\"", "null", "[]", "true"}) {
    EXPECT_EQ(verdict(pack("{\"__metadata__\":" + std::string(value) + "}", "")), "model.header")
        << value;
  }
}

TEST_F(TensorFile, HostileTopLevel) {
  for (const char* value : {"1", "\"x\"", "null", "[]", "[1]", "true", "{}", "{\"c\":{}}"}) {
    EXPECT_EQ(verdict_with(",\"a\":", std::string(",\"c\":") + value + ",\"a\":"), "model.header")
        << value;
  }
  for (const char* json :
       {"{}", "{", "{}}", "{} {}", "{},", "{\"a\"}", "{\"a\":}", "{,}", "{'a':1}"}) {
    EXPECT_TRUE(verdict(pack(json, "")).starts_with("model.")) << json;
  }
  EXPECT_EQ(verdict(pack("[" + header_text() + "]", kData)), "model.magic");
  EXPECT_EQ(verdict(pack(header_text() + "{}", kData)), "model.header");
  EXPECT_EQ(verdict(pack(header_text() + "/* */", kData)), "model.header");
  EXPECT_EQ(verdict_with("\"x\"", "\"\xff\xfe\""), "model.header");  // not UTF-8
  EXPECT_EQ(verdict_with("\"x\"", "\"\x01\""), "model.header");      // not escaped
}

// A JSON parser made for C strings takes a zero byte for the end of its input.
TEST_F(TensorFile, NothingHidesBehindAZeroByteInTheHeader) {
  EXPECT_EQ(verdict(pack(header_text(), kData, '\0')), "model.header");
  const std::string hidden = std::string(1, '\0') + "anything at all";
  EXPECT_EQ(verdict(pack(header_text() + hidden, kData)), "model.header");
}

TEST_F(TensorFile, HostileHeaderLength) {
  const std::string good = pack(header_text(), kData);
  std::uint64_t length = 0;
  std::memcpy(&length, good.data(), sizeof length);
  const std::string rest = good.substr(8);
  ASSERT_EQ(verdict(with_length(length, rest)), "accepted");
  for (const std::uint64_t bad :
       {std::uint64_t{0}, std::uint64_t{1}, length - 8, length - 1, length + 1, length + 8,
        length + 24, std::uint64_t{1} << 24, (std::uint64_t{1} << 24) + 8, std::uint64_t{1} << 31,
        std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    EXPECT_TRUE(verdict(with_length(bad, rest)).starts_with("model.")) << bad;
  }
  // A length that is not a multiple of 8 is refused even when everything else is consistent.
  std::string header = header_text();
  while (header.size() % 8 == 0 || header.size() % 8 == 7) header += ' ';
  header.replace(header.find("0000000000000000"), 16, sum_of(header));
  EXPECT_EQ(verdict(with_length(header.size(), header + kData)), "model.magic");
}

TEST_F(TensorFile, HeadersHaveALimit) {
  const std::uint64_t large = (std::uint64_t{16} << 20) + 8;
  EXPECT_EQ(verdict(with_length(large, "{" + std::string(large, ' '))), "limit.header");
  EXPECT_EQ(verdict(with_length(large, "{" + std::string(100, ' '))), "model.magic");
  const std::string path = folder_ / "large";
  try {
    write_tensor_file(path, {}, {{"long", std::string(large, 'x')}});
    ADD_FAILURE() << "written";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error.id, "limit.classes");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TensorFile, HostileChecksums) {
  const std::string sum_a = sum_of(kData.substr(0, 16));
  EXPECT_EQ(verdict_with(sum_a, "0123456789abcdef"), "model.checksum");
  EXPECT_EQ(verdict_with(sum_a, sum_a + " "), "model.checksum");
  EXPECT_EQ(verdict_with(sum_a, ""), "model.checksum");
  EXPECT_EQ(verdict_with("\"checksum.a\"", "\"checksum.c\""), "model.header");
  EXPECT_EQ(verdict_with("\"checksum.header\"", "\"checksum.headr\""), "model.magic");
  EXPECT_EQ(verdict_with("\"checksum.header\"", "\"checksum\\u002eheader\""), "model.checksum");
  // The same key in two spellings: which of the two is meant?
  EXPECT_EQ(verdict_with("\"note\":\"x\"", "\"note\":\"x\",\"checksum\\u002eheader\":\"0\""),
            "model.header");
  std::string unmended = header_text();
  unmended.append((8 - unmended.size() % 8) % 8, ' ');
  EXPECT_EQ(verdict(with_length(unmended.size(), unmended + kData)), "model.checksum");
}

TEST_F(TensorFile, HugeClaimsAreRefusedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(verdict_with("\"shape\":[2],\"data_offsets\":[16,24]",
                         "\"shape\":[1000000000000],\"data_offsets\":[16,4000000000016]"),
            "model.truncated");
  EXPECT_EQ(verdict(pack("{\"__metadata__\":" + std::string(1000000, '['), "")), "model.header");
  EXPECT_EQ(verdict(pack("{\"a\":" + std::string(1000000, '{'), "")), "model.header");
  std::string many = header_text();
  many.pop_back();
  for (int i = 0; i < 20000; ++i) {
    many += ",\"x" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[24,24]})";
  }
  EXPECT_EQ(verdict(pack(many + "}", kData)), "model.header");  // no checksums of all these
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 2.0);
}

TEST_F(TensorFile, MessagesEscapeNames) {
  write_file(folder_ / "file", pack(replaced(header_text(), "\"b\":{\"dtype\":\"U32\"",
                                             "\"\\u001b[31m\\n\":{\"dtype\":\"X\""),
                                    kData));
  try {
    static_cast<void>(File::read(folder_ / "file", "model"));
    ADD_FAILURE();
  } catch (const Failure& failure) {
    EXPECT_NE(failure.error.message.find("\\x1b[31m\\x0a"), std::string::npos)
        << failure.error.message;
  }
}

}  // namespace
}  // namespace hinge
