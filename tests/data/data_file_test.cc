// Binary data sets and the cache: exact round trips, and nothing damaged or hostile is accepted.
#include "data/data_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "hinge/dataset.h"
#include "support.h"

namespace hinge {
namespace {

using testing::identity;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

Result<Dataset> read(const std::string& path, ReadOptions options = {}) {
  std::vector<Error> warnings;
  if (options.threads == 0) options.threads = 1;
  return read_dataset(path, options, warnings);
}

std::string verdict(const std::string& path, const ReadOptions& options = {}) {
  const Result<Dataset> data = read(path, options);
  if (data.ok()) return "accepted";
  EXPECT_EQ(exit_code(data.error()), 80) << to_string(data.error());
  EXPECT_EQ(data.error().file, path);
  return data.error().id;
}

class DataFile : public testing::Test {
 protected:
  std::string save(const Dataset& data, const std::string& name = "d.hinge") const {
    const Result<void> saved = save_dataset(data, folder_ / name, {});
    if (!saved.ok()) throw std::runtime_error(to_string(saved.error()));
    return folder_ / name;
  }
  const TempFolder folder_{testing::memory_folder()};
};

TEST_F(DataFile, RoundTrip) {
  for (const Precision precision : {Precision::f32, Precision::f64}) {
    for (const std::uint64_t classes : {2U, 5U}) {
      const Dataset data =
          testing::random_dataset({.rows = 300, .precision = precision, .classes = classes});
      const Dataset back = read(save(data)).value();
      EXPECT_EQ(identity(back), identity(data));
      EXPECT_EQ(back.precision(), precision);
      EXPECT_EQ(back.features(), data.features());
      EXPECT_EQ(back.classes().size(), classes);
      for (const int threads : {2, 8}) {
        EXPECT_EQ(identity(read(folder_ / "d.hinge", {.threads = threads}).value()),
                  identity(data));
      }
    }
  }
}

TEST_F(DataFile, KeepsWeightsAndIndexBase) {
  const Dataset zero = testing::dataset_from_text("1 0:1 2:2\n-1 1:3\n");
  EXPECT_EQ(read(save(zero)).value().index_base(), 0);
  const Dataset one =
      testing::dataset_from_text("1 1:1 2:2\n-1 1:3\n3\n").with_weights({1, 0.5, 0}).value();
  const Dataset back = read(save(one)).value();
  EXPECT_EQ(back.index_base(), 1);
  EXPECT_EQ(back.weights()[1], 0.5);
  EXPECT_EQ(identity(back), identity(one));
}

TEST_F(DataFile, TextAndBack) {
  for (const Precision precision : {Precision::f32, Precision::f64}) {
    const std::string text =
        "1 1:0.1 3:-1e-30 7:3.4e38\n-1\n2 2:16777217 3:1.17549435e-38\n-9 9:1e10\n";
    const Dataset data = testing::dataset_from_text(text, {.precision = precision});
    for (const int threads : {1, 3}) {
      ASSERT_TRUE(
          save_dataset(data, folder_ / "t.svm", {.format = DataFormat::text, .threads = threads})
              .ok());
      EXPECT_EQ(identity(read(folder_ / "t.svm", {.precision = precision}).value()),
                identity(data));
    }
  }
}

TEST_F(DataFile, TextHasNoPlaceForWeights) {
  const Dataset data = testing::dataset_from_text("1 1:1\n-1 1:2\n").with_weights({1, 2}).value();
  const Result<void> saved = save_dataset(data, folder_ / "t.svm", {.format = DataFormat::text});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().id, "usage.value");
  EXPECT_TRUE(folder_.names().empty());
}

// A data set that counts from 1, read for a model that counts from 0, and the other way round.
TEST_F(DataFile, CountsAsAsked) {
  const std::string text = "1 1:1 3:2\n-1 2:0.5\n";
  write_file(folder_ / "d.svm", text);
  save(read(folder_ / "d.svm").value());
  EXPECT_EQ(identity(read(folder_ / "d.hinge", {.index_base = IndexBase::zero}).value()),
            identity(read(folder_ / "d.svm", {.index_base = IndexBase::zero}).value()));
  EXPECT_EQ(identity(read(folder_ / "d.hinge", {.index_base = IndexBase::one}).value()),
            identity(read(folder_ / "d.svm").value()));
  save(testing::dataset_from_text("1 0:1\n-1 1:1\n"));
  const Result<Dataset> refused = read(folder_ / "d.hinge", {.index_base = IndexBase::one});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().id, "data.index.zero");
}

TEST_F(DataFile, LargestIndex) {
  for (const char* text : {"1 4294967294:1 0:1\n-1 1:1\n", "1 4294967294:1 1:1\n-1 1:1\n"}) {
    write_file(folder_ / "d.svm", text);
    for (const IndexBase base : {IndexBase::automatic, IndexBase::zero}) {
      const Dataset data = read(folder_ / "d.svm", {.index_base = base}).value();
      EXPECT_EQ(identity(read(save(data)).value()), identity(data));
      save(read(folder_ / "d.svm").value());
      EXPECT_EQ(identity(read(folder_ / "d.hinge", {.index_base = base}).value()), identity(data));
    }
  }
}

TEST_F(DataFile, IsToldByContent) {
  const std::string path = save(testing::random_dataset());
  std::filesystem::rename(path, folder_ / "text.svm");
  EXPECT_TRUE(looks_like_dataset(folder_ / "text.svm"));
  EXPECT_TRUE(read(folder_ / "text.svm").ok());
  write_file(folder_ / "d.hinge", "1 1:1\n-1 1:2\n");
  EXPECT_FALSE(looks_like_dataset(folder_ / "d.hinge"));
  EXPECT_TRUE(read(folder_ / "d.hinge").ok());
  const Result<Dataset> both = read(folder_ / "*");
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().id, "data.encoding");
}

TEST_F(DataFile, CanBeInterrupted) {
  const std::atomic<bool> stop = true;
  const Dataset data = testing::random_dataset();
  const Result<Dataset> read_back = read(save(data), {.stop = &stop});
  ASSERT_FALSE(read_back.ok());
  EXPECT_EQ(read_back.error().id, "run.interrupted");
  const Result<void> saved =
      save_dataset(data, folder_ / "t.svm", {.format = DataFormat::text, .stop = &stop});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().id, "run.interrupted");
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"d.hinge"});
}

// B1, B2, B3 on a file of about 4 KB.
class DamagedDataFile : public DataFile {
 protected:
  void SetUp() override {
    save(testing::random_dataset({.rows = 60, .features = 20, .nonzeros = 4}));
    good_ = read_file(folder_ / "d.hinge");
    ASSERT_GT(good_.size(), 3000U);
    ASSERT_LT(good_.size(), 5000U);
  }
  std::string verdict_of(const std::string& bytes) const {
    write_file(folder_ / "d.hinge", bytes);
    return verdict(folder_ / "d.hinge");
  }
  std::string good_;
};

TEST_F(DamagedDataFile, EveryPrefixIsRefused) {
  std::map<std::string, int> ids;
  for (std::size_t length = 9; length < good_.size(); ++length) {
    ++ids[verdict_of(good_.substr(0, length))];
  }
  EXPECT_EQ(ids["cache.truncated"] + ids["cache.magic"], static_cast<int>(good_.size()) - 9);
  EXPECT_LE(ids["cache.magic"], 1);
  for (std::size_t length = 0; length < 9; ++length) {  // not recognisable: bad text
    write_file(folder_ / "d.hinge", good_.substr(0, length));
    const Result<Dataset> data = read(folder_ / "d.hinge");
    ASSERT_FALSE(data.ok());
    EXPECT_EQ(exit_code(data.error()), 65);
  }
}

TEST_F(DamagedDataFile, EveryFlippedBitIsRefused) {
  for (std::size_t bit = 0; bit < 8 * good_.size(); bit += testing::at_length() ? 1U : 9U) {
    std::string bad = good_;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    write_file(folder_ / "d.hinge", bad);
    const Result<Dataset> data = read(folder_ / "d.hinge");
    ASSERT_FALSE(data.ok()) << bit;
    const int code = exit_code(data.error());
    EXPECT_TRUE(code == 80 || (code == 65 && bit < 72)) << bit << to_string(data.error());
  }
}

// In four parts, which are run at the same time as others.
class DamagedLargeFile : public DamagedDataFile, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, DamagedLargeFile, ::testing::Range(0, 4));

TEST_P(DamagedLargeFile, ThousandsOfFlipsAreRefused) {
  const int flips = (testing::at_length() ? 10'000 : 100) / 4;
  save(testing::random_dataset({.rows = 45'000, .features = 300, .nonzeros = 30}));
  const std::string path = folder_ / "d.hinge";
  const auto size = std::filesystem::file_size(path);
  ASSERT_GT(size, std::uintmax_t{10} << 20);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Random random(7, static_cast<std::uint64_t>(GetParam()), 0);
  int accepted = 0;
  for (int k = 0; k < flips; ++k) {
    const auto at = static_cast<off_t>(random.below(size));
    char byte = 0;
    ASSERT_EQ(pread(fd, &byte, 1, at), 1);
    const auto flipped = static_cast<char>(byte ^ (1 << random.below(8)));
    ASSERT_EQ(pwrite(fd, &flipped, 1, at), 1);
    accepted += read(path).ok();
    ASSERT_EQ(pwrite(fd, &byte, 1, at), 1);
  }
  EXPECT_EQ(accepted, 0);
  EXPECT_TRUE(read(path).ok());
  close(fd);
}

TEST_F(DamagedDataFile, TheSectionIsNamed) {
  std::string bad = good_;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  write_file(folder_ / "d.hinge", bad);
  const Result<Dataset> data = read(folder_ / "d.hinge");
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "cache.checksum");
  EXPECT_NE(data.error().message.find("\"values\""), std::string::npos);
}

TEST_F(DamagedDataFile, BytesAfterTheEnd) {
  EXPECT_EQ(verdict_of(good_ + '\0'), "cache.trailing");
  EXPECT_EQ(verdict_of(good_ + good_), "cache.trailing");
}

TEST_F(DamagedDataFile, BigEndian) {
  std::string bad = good_;
  std::reverse(bad.begin(), bad.begin() + 8);
  EXPECT_EQ(verdict_of(bad), "cache.endian");
}

// Content that makes no sense under right checksums (B5, B7, B8, I11).
class HostileDataFile : public DataFile {
 protected:
  std::vector<std::uint64_t> offsets_ = {0, 2, 2, 3};
  std::vector<std::uint32_t> columns_ = {0, 4, 1};
  std::vector<double> values_ = {1, 2, 3};
  std::vector<std::int64_t> labels_ = {1, -1, 1};
  std::vector<double> weights_ = {1, 1, 1};
  Metadata metadata_ = {{"format", "hinge.dataset"},
                        {"version", "1"},
                        {"written_by", "hinge 9.9"},
                        {"features", "5"},
                        {"index_base", "1"}};

  std::string outcome() const {
    write_tensor_file(folder_ / "d.hinge",
                      {tensor<std::uint64_t>("offsets", {offsets_.size()}, offsets_),
                       tensor<std::uint32_t>("columns", {columns_.size()}, columns_),
                       tensor<double>("values", {values_.size()}, values_),
                       tensor<std::int64_t>("labels", {labels_.size()}, labels_),
                       tensor<double>("weights", {weights_.size()}, weights_)},
                      metadata_);
    return verdict(folder_ / "d.hinge");
  }
};

TEST_F(HostileDataFile, IsGoodToBeginWith) {
  EXPECT_EQ(outcome(), "accepted");
}

TEST_F(HostileDataFile, Offsets) {
  for (const std::vector<std::uint64_t>& bad : {std::vector<std::uint64_t>{1, 2, 2, 3},
                                                {0, 2, 1, 3},
                                                {0, 2, 2, 2},
                                                {0, 2, 2, 4},
                                                {0, UINT64_MAX, 2, 3},
                                                {0, 4, 4, 3}}) {
    offsets_ = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
  offsets_ = {0, 2, 3};
  EXPECT_EQ(outcome(), "cache.header");
  offsets_ = {};
  EXPECT_EQ(outcome(), "cache.header");
}

TEST_F(HostileDataFile, Columns) {
  for (const std::vector<std::uint32_t>& bad :
       {std::vector<std::uint32_t>{4, 0, 1}, {0, 0, 1}, {0, 5, 1}, {0, 4, 5}, {0, UINT32_MAX, 1}}) {
    columns_ = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
  columns_ = {0, 4};
  EXPECT_EQ(outcome(), "cache.header");
}

// Full rows have their columns once.
TEST_F(HostileDataFile, ColumnsOfOneRow) {
  metadata_["features"] = "2";
  values_ = {1, 2, 3, 4, 5, 6};
  offsets_ = {0, 2, 4, 6};
  columns_ = {0, 1};
  EXPECT_EQ(outcome(), "accepted");
  for (const std::vector<std::uint32_t>& bad :
       {std::vector<std::uint32_t>{1, 0}, {0, 2}, {0, UINT32_MAX}, {1, 2}}) {
    columns_ = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
  columns_ = {0, 1};
  for (const std::vector<std::uint64_t>& bad :
       {std::vector<std::uint64_t>{0, 1, 4, 6}, {0, 2, 2, 6}, {0, 0, 0, 6}, {0, 2, 4, 5}}) {
    offsets_ = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
  offsets_ = {0, 2, 4, 6};
  columns_ = {0, 1, 2};
  EXPECT_EQ(outcome(), "cache.header");
  columns_ = {0};
  EXPECT_EQ(outcome(), "cache.header");
  columns_ = {};
  EXPECT_EQ(outcome(), "cache.header");
}

TEST_F(HostileDataFile, Values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), kInfinity, -kInfinity, 1e200}) {
    values_[2] = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
}

TEST_F(HostileDataFile, NarrowValues) {
  const auto outcome_of = [&](float value) {
    const std::vector<float> values = {1, -value, 3};
    write_tensor_file(folder_ / "d.hinge",
                      {tensor<std::uint64_t>("offsets", {offsets_.size()}, offsets_),
                       tensor<std::uint32_t>("columns", {columns_.size()}, columns_),
                       tensor<float>("values", {values.size()}, values),
                       tensor<std::int64_t>("labels", {labels_.size()}, labels_)},
                      metadata_);
    return verdict(folder_ / "d.hinge");
  };
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(outcome_of(Limits::max()), "accepted");
  EXPECT_EQ(outcome_of(Limits::denorm_min()), "accepted");
  EXPECT_EQ(outcome_of(Limits::infinity()), "cache.content");
  EXPECT_EQ(outcome_of(-Limits::infinity()), "cache.content");
  EXPECT_EQ(outcome_of(Limits::quiet_NaN()), "cache.content");
}

TEST_F(HostileDataFile, Weights) {
  for (const double bad : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
    weights_[1] = bad;
    EXPECT_EQ(outcome(), "cache.content");
  }
  weights_ = {1, 1};
  EXPECT_EQ(outcome(), "cache.header");
}

TEST_F(HostileDataFile, ArraysThatDoNotBelong) {
  write_tensor_file(folder_ / "d.hinge",
                    {tensor<std::uint64_t>("offsets", {offsets_.size()}, offsets_),
                     tensor<std::uint32_t>("columns", {columns_.size()}, columns_),
                     tensor<double>("values", {values_.size()}, values_),
                     tensor<std::int64_t>("labels", {labels_.size()}, labels_),
                     tensor<double>("extra", {weights_.size()}, weights_)},
                    metadata_);
  EXPECT_EQ(verdict(folder_ / "d.hinge"), "cache.header");
}

TEST_F(HostileDataFile, NoRows) {
  offsets_ = {0};
  columns_ = {};
  values_ = {};
  labels_ = {};
  weights_ = {};
  EXPECT_EQ(outcome(), "cache.content");
}

TEST_F(HostileDataFile, Metadata) {
  for (const auto& [key, value, id] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"features", "4", "cache.content"},
           {"features", "-1", "cache.header"},
           {"features", "5x", "cache.header"},
           {"features", "", "cache.header"},
           {"features", "4294967295", "cache.header"},
           {"features", "99999999999999999999", "cache.header"},
           {"index_base", "2", "cache.header"},
           {"index_base", "one", "cache.header"},
           {"version", "4", "cache.version"},
           {"version", "", "cache.version"},
           {"format", "hinge.model", "cache.magic"},
           {"format", "other", "cache.magic"}}) {
    const Metadata before = metadata_;
    metadata_[key] = value;
    EXPECT_EQ(outcome(), id) << key << " " << value;
    metadata_.erase(key);
    EXPECT_EQ(outcome(), "cache.header") << key;
    metadata_ = before;
  }
}

// ---- The cache.

class CacheTest : public DataFile {
 protected:
  void SetUp() override { write_file(folder_ / "d.svm", "1 1:1 2:2\n-1 2:1 1:1\n1 1:3\n"); }

  Result<Dataset> load(ReadOptions options = {}) {
    warnings_.clear();
    options.threads = 1;
    if (options.cache == Cache::off) options.cache = Cache::on;
    return read_dataset(folder_ / "d.svm", options, warnings_);
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> all;
    for (const Error& warning : warnings_) all.push_back(warning.id);
    return all;
  }
  std::string expected() const { return identity(read(folder_ / "d.svm").value()); }
  void later() const {  // another time stamp, whatever the file system's resolution
    using namespace std::chrono_literals;
    std::filesystem::last_write_time(folder_ / "d.svm",
                                     std::filesystem::last_write_time(folder_ / "d.svm") + 2s);
  }
  std::vector<Error> warnings_;
  using Ids = std::vector<std::string>;
};

TEST_F(CacheTest, SecondReadIsTheSameAndWarnsAlike) {
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids(), Ids{"data.index.unsorted"});
  const std::string first = to_string(warnings_[0]);
  const std::string bytes = read_file(folder_ / "d.svm.cache");
  EXPECT_EQ(identity(load().value()), expected());
  ASSERT_EQ(ids(), Ids{"data.index.unsorted"});
  EXPECT_EQ(to_string(warnings_[0]), first);
  EXPECT_EQ(read_file(folder_ / "d.svm.cache"), bytes);
  EXPECT_EQ(folder_.names(), (Ids{"d.svm", "d.svm.cache"}));
}

TEST_F(CacheTest, OtherTextWithTheOldTimeIsNoticed) {
  // Other content of the same size and time, beyond what is looked at.
  const std::string path = folder_ / "d.svm";
  std::string text = "1 1:1 2:2\n-1 1:1\n" + std::string(1 << 17, '\n') + "1 1:3\n";
  write_file(path, text);
  ASSERT_TRUE(load().ok());
  const auto time = std::filesystem::last_write_time(path);
  const std::string cached = identity(load().value());
  text[text.size() - 2] = '4';
  write_file(path, text);
  std::filesystem::last_write_time(path, time);
  // The change time tells, which makes somebody look; without it the cache is as good as before.
  EXPECT_NE(expected(), cached);
  EXPECT_EQ(load({.cache = Cache::strict}).error().id, "cache.stale");
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids(), Ids{"cache.stale"});
}

TEST_F(CacheTest, StaleWhenTheTextChanged) {
  ASSERT_TRUE(load().ok());
  for (const char* text : {"1 1:1 2:2\n-1 2:1 1:1\n1 1:4\n", "1 1:1\n-1 1:2\n"}) {
    write_file(folder_ / "d.svm", text);
    later();
    const std::string old = read_file(folder_ / "d.svm.cache");
    EXPECT_EQ(load({.cache = Cache::strict}).error().id, "cache.stale");
    EXPECT_EQ(read_file(folder_ / "d.svm.cache"), old);
    EXPECT_EQ(identity(load().value()), expected());
    EXPECT_EQ(ids().front(), "cache.stale");
    EXPECT_EQ(identity(load().value()), expected());
    EXPECT_TRUE(ids().empty() || ids().front() != "cache.stale");
  }
  later();
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids().front(), "cache.stale");
}

// The last two are the same number for a double, and not for a float: it lies between two of them.
TEST_F(CacheTest, OneServesAllOptions) {
  for (const char* value : {"0.5", "0.1", "16777217", "1e-40", "1e-50", "1.00000005960464477539",
                            "1.00000005960464477540"}) {
    write_file(folder_ / "d.svm", "1 1:1 2:2\n-1 1:" + std::string(value) + "\n1 2:3 3:1\n");
    const ReadOptions ways[] = {{},
                                {.precision = Precision::f64},
                                {.index_base = IndexBase::zero},
                                {.precision = Precision::f64, .index_base = IndexBase::zero},
                                {.strict = true}};
    std::string first_bytes;
    for (const ReadOptions& first : ways) {
      std::filesystem::remove(folder_ / "d.svm.cache");
      ASSERT_TRUE(load(first).ok());
      const std::string bytes = read_file(folder_ / "d.svm.cache");
      if (first_bytes.empty()) first_bytes = bytes;
      EXPECT_EQ(bytes, first_bytes) << value;
      for (const ReadOptions& options : ways) {
        std::vector<Error> plain;
        ReadOptions uncached = options;
        uncached.threads = 1;
        const Dataset data = read_dataset(folder_ / "d.svm", uncached, plain).value();
        const Result<Dataset> cached = load(options);
        EXPECT_EQ(identity(*cached), identity(data)) << value;
        EXPECT_EQ(cached->precision(), options.precision);
        ASSERT_EQ(warnings_.size(), plain.size()) << value;
        for (std::size_t i = 0; i < plain.size(); ++i) {
          EXPECT_EQ(to_string(warnings_[i]), to_string(plain[i]));
        }
      }
      EXPECT_EQ(read_file(folder_ / "d.svm.cache"), bytes);
    }
  }
}

TEST_F(CacheTest, RefusesWhatTheTextWouldBeRefusedFor) {
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(load({.strict = true}).error().id,
            read(folder_ / "d.svm", {.strict = true}).error().id);
  write_file(folder_ / "d.svm", "1 0:1 2:2\n-1 1:1\n");
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(load({.index_base = IndexBase::one}).error().line, 1U);
}

TEST_F(CacheTest, OfOthersIsNotUsed) {
  ASSERT_TRUE(load().ok());
  const std::string path = folder_ / "d.svm.cache", bytes = read_file(path);
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids().front(), "cache.owner");
  EXPECT_EQ(load({.cache = Cache::strict}).error().id, "cache.owner");
  write_file(path, "garbage that nobody looks at");
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids().front(), "cache.owner");
}

TEST_F(CacheTest, DamagedIsRefused) {
  ASSERT_TRUE(load().ok());
  std::string bytes = read_file(folder_ / "d.svm.cache");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(folder_ / "d.svm.cache", bytes);
  const Result<Dataset> data = load();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "cache.checksum");
  write_file(folder_ / "d.svm.cache", "not a cache");
  EXPECT_EQ(load().error().id, "cache.magic");
  write_file(folder_ / "d.svm.cache", "");
  EXPECT_EQ(load().error().id, "cache.truncated");
}

TEST_F(CacheTest, OtherFilesAreNotOverwritten) {
  save(testing::random_dataset(), "d.svm.cache");
  const std::string before = read_file(folder_ / "d.svm.cache");
  const Result<Dataset> data = load();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "cache.magic");
  EXPECT_EQ(read_file(folder_ / "d.svm.cache"), before);
}

TEST_F(CacheTest, APipeOfThatNameIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_ / "d.svm.cache").c_str(), 0600), 0);
  const Result<Dataset> data = load();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "io.not-a-file");
}

TEST_F(CacheTest, StreamsAreReadWithoutOne) {
  const std::string pipe = folder_ / "pipe", text = read_file(folder_ / "d.svm");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_file(pipe, text); });
  std::vector<Error> warnings;
  const Result<Dataset> data = read_dataset(pipe, {.threads = 1, .cache = Cache::on}, warnings);
  writer.join();
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(identity(*data), expected());
  EXPECT_EQ(warnings.front().id, "cache.write");
  EXPECT_FALSE(std::filesystem::exists(pipe + ".cache"));
}

TEST_F(CacheTest, NameThatCannotBeWritten) {  // also for root
  std::filesystem::create_directories(folder_ / "other");
  std::filesystem::create_symlink("missing/folder/file", folder_ / "d.svm.cache");
  EXPECT_EQ(identity(load().value()), expected());
  EXPECT_EQ(ids().back(), "cache.write");
}

TEST_F(CacheTest, PatternsDoNotTakeCachesForData) {
  std::vector<Error> warnings;
  write_file(folder_ / "d.svm2", "1 1:7\n");
  ReadOptions options = {.threads = 1, .cache = Cache::on};
  const std::string first = identity(read_dataset(folder_ / "d.*", options, warnings).value());
  EXPECT_EQ(identity(read_dataset(folder_ / "d.*", options, warnings).value()), first);
  EXPECT_EQ(identity(read(folder_ / "d.*").value()), first);
}

TEST_F(CacheTest, ManyAtOnce) {
  const std::string good = expected();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        std::vector<Error> warnings;
        if (i % 5 == 0) std::filesystem::remove(folder_ / "d.svm.cache");
        const Result<Dataset> data =
            read_dataset(folder_ / "d.svm", {.threads = 1, .cache = Cache::on}, warnings);
        wrong += !data.ok() || identity(*data) != good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(folder_.names(), (Ids{"d.svm", "d.svm.cache"}));
}

}  // namespace
}  // namespace hinge
