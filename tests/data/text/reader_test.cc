// The parallel reader: what it reads does not depend on threads, chunk borders, or how lines end.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "base/pool.h"
#include "base/random.h"
#include "hinge/dataset.h"
#include "support.h"

namespace hinge {
namespace {

using testing::identity;
using testing::TempFolder;
using testing::write_file;

Result<Dataset> read_on(const std::string& path, int threads = 1, ReadOptions options = {}) {
  std::vector<Error> warnings;
  options.threads = threads;
  return read_dataset(path, options, warnings);
}

// Rows of very different lengths, so that chunks of 256 KiB end everywhere; one is longer than a
// chunk.
std::string large_text(std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    text += random.below(2) == 0 ? "+1" : "-1";
    const std::uint64_t features = i == 3000 ? 40000 : random.below(60);
    std::uint64_t index = 0;
    for (std::uint64_t k = 0; k < features; ++k) {
      index += 1 + random.below(20);
      text += " " + std::to_string(index) + ":0." + std::to_string(1 + random.below(999999));
    }
    text += "\n";
  }
  return text;
}

TEST(Reader, SameDataForAnyNumberOfThreads) {
  const TempFolder folder;
  write_file(folder / "a.svm", large_text(1));
  const Dataset one = read_on(folder / "a.svm", 1).value();
  EXPECT_EQ(one.rows(), 6000U);
  for (const int threads : {2, 3, 8}) {
    EXPECT_EQ(identity(read_on(folder / "a.svm", threads).value()), identity(one)) << threads;
  }
}

TEST(Reader, SeveralFilesAreOneDataSetInNameOrder) {
  const TempFolder folder;
  const std::string a = large_text(2), b = large_text(3);
  write_file(folder / "part-1", a.substr(0, a.size() - 1));  // the last line is not ended
  write_file(folder / "part-2", b);
  write_file(folder / "whole", a + b);
  EXPECT_EQ(identity(read_on(folder / "part-*", 2).value()),
            identity(read_on(folder / "whole", 2).value()));
}

TEST(Reader, LineEndsBlanksAndCommentsDoNotMatter) {
  const std::string plain = "1 1:1 3:2\n-1 2:0.5\n1 1:3\n";
  const Dataset expected = testing::dataset_from_text(plain);
  for (const char* text : {"1 1:1 3:2\n-1 2:0.5\n1 1:3", "1 1:1 3:2\r\n-1 2:0.5\r\n1 1:3\r\n",
                           "\xef\xbb\xbf"
                           "1 1:1 3:2\n-1 2:0.5\n1 1:3\n",
                           "1\t1:1  3:2 \n\n-1 2:0.5 # note\n# all of it\n  1 1:3\n",
                           "1.0 1:1 3:2 7:0\n-1 2:5e-1\n01 +1:3\n",
                           "1 qid:4 1:1 3:2\n-1 2:0.5\n1 1:3\n", "1 3:2 1:1\n-1 2:0.5\n1 1:3\n"}) {
    EXPECT_EQ(identity(testing::dataset_from_text(text)), identity(expected)) << text;
  }
}

TEST(Reader, IndexZeroAnywhereMeansZeroBased) {
  const Dataset zero = testing::dataset_from_text("1 1:1 2:2\n-1 0:3 1:4\n");
  EXPECT_EQ(zero.index_base(), 0);
  EXPECT_EQ(zero.features(), 3U);
  const Dataset one = testing::dataset_from_text("1 1:1 2:2\n-1 1:4\n");
  EXPECT_EQ(one.index_base(), 1);
  EXPECT_EQ(one.features(), 2U);
  const auto& m = std::get<CsrView<float>>(zero.view());
  EXPECT_EQ(std::vector<std::uint32_t>(m.columns, m.columns + 4),
            (std::vector<std::uint32_t>{1, 2, 0, 1}));
  EXPECT_EQ(
      testing::dataset_from_text("1 1:1\n-1 1:2\n", {.index_base = IndexBase::zero}).features(),
      2U);
}

TEST(Reader, LabelsAreExact64BitIntegers) {
  const Dataset data = testing::dataset_from_text(
      "9223372036854775807 1:1\n-9223372036854775808 1:1\n9007199254740993 1:1\n1e10 1:1\n-0 "
      "1:1\n0 1:1\n");
  const std::vector<std::int64_t> expected = {INT64_MAX,   INT64_MIN, 9007199254740993,
                                              10000000000, 0,         0};
  EXPECT_EQ(std::vector<std::int64_t>(data.labels().begin(), data.labels().end()), expected);
  EXPECT_EQ(data.classes().size(), 5U);
}

TEST(Reader, ErrorsAreTheSameForAnyNumberOfThreads) {
  std::string text = large_text(4);
  // Damage twelve lines far apart.
  std::size_t at = 0;
  for (int k = 0; k < 12; ++k) {
    at = text.find('\n', at + text.size() / 14) + 1;
    text.replace(at, 2, "??");
  }
  const TempFolder folder;
  write_file(folder / "bad.svm", text);
  const Result<Dataset> one = read_on(folder / "bad.svm", 1);
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().id, "data.label");
  EXPECT_EQ(one.error().more.size(), 9U);
  EXPECT_EQ(text.substr(one.error().offset, 2), "??");
  EXPECT_EQ(text.substr(one.error().more[8].offset, 2), "??");
  for (const int threads : {2, 3, 8}) {
    const Result<Dataset> many = read_on(folder / "bad.svm", threads);
    ASSERT_FALSE(many.ok());
    EXPECT_EQ(to_string(many.error()), to_string(one.error())) << threads;
  }
}

TEST(Reader, AnErrorInTheSecondFileNamesItAndItsOwnLine) {
  const TempFolder folder;
  write_file(folder / "p1", "1 1:1\n-1 1:2\n");
  write_file(folder / "p2", "1 1:1\n\n-1 1:nan\n");
  const Result<Dataset> data = read_on(folder / "p*");
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().file, folder / "p2");
  EXPECT_EQ(data.error().line, 3U);
  EXPECT_EQ(data.error().column, 6U);
  EXPECT_EQ(data.error().id, "data.value.nonfinite");
}

TEST(Reader, ReadsPipes) {
  const TempFolder folder;
  const std::string text = large_text(5);
  write_file(folder / "file", text);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::thread writer([&] { write_file(folder / "pipe", text); });
  const Result<Dataset> piped = read_on(folder / "pipe", 2);
  writer.join();
  EXPECT_EQ(identity(piped.value()), identity(read_on(folder / "file").value()));
}

TEST(Reader, LongLinesAreLimited) {
  const TempFolder folder;
  write_file(folder / "long", "1 1:1\n1 " + std::string(1 << 20, ' ') + "1:1\n");
  EXPECT_TRUE(read_on(folder / "long").ok());
  const Result<Dataset> data = read_on(folder / "long", 2, {.max_line_bytes = 1 << 19});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "limit.line-bytes");
  // Every line counts, and one of exactly the limit is allowed.
  write_file(folder / "short", "1 1:1\n-1 1:2 2:3\n1 1:1\n");
  EXPECT_TRUE(read_on(folder / "short", 2, {.max_line_bytes = 10}).ok());
  EXPECT_FALSE(read_on(folder / "short", 2, {.max_line_bytes = 9}).ok());
}

TEST(Reader, StopsWhenAsked) {
  const TempFolder folder;
  write_file(folder / "a.svm", large_text(6));
  const std::atomic<bool> stop{true};
  const Result<Dataset> data = read_on(folder / "a.svm", 2, {.stop = &stop});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().id, "run.interrupted");
}

TEST(Reader, PrecisionDecidesHowValuesAreKept) {
  const std::string text = "1 1:0.1\n-1 1:1e-300\n";
  const TempFolder folder;
  write_file(folder / "a.svm", text);
  std::vector<Error> warnings;
  const Dataset wide =
      read_dataset(folder / "a.svm", {.precision = Precision::f64}, warnings).value();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(std::get<CsrView<double>>(wide.view()).values[0], 0.1);
  const Dataset narrow = read_dataset(folder / "a.svm", {}, warnings).value();
  EXPECT_EQ(std::get<CsrView<float>>(narrow.view()).values[0], 0.1F);
  EXPECT_EQ(narrow.nonzeros(), 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].id, "data.value.underflow");
}

TEST(Reader, RowWeights) {
  const TempFolder folder;
  write_file(folder / "a.svm", "1 1:1\n-1 1:2\n");
  write_file(folder / "w", "2\n0.5\n");
  write_file(folder / "short", "2\n");
  write_file(folder / "bad", "2\n-1\n");
  const Dataset data = read_on(folder / "a.svm", 1, {.weights_file = folder / "w"}).value();
  EXPECT_EQ(std::vector<double>(data.weights().begin(), data.weights().end()),
            (std::vector<double>{2, 0.5}));
  EXPECT_EQ(read_on(folder / "a.svm", 1, {.weights_file = folder / "short"}).error().id,
            "data.weights.count");
  const Result<Dataset> bad = read_on(folder / "a.svm", 1, {.weights_file = folder / "bad"});
  EXPECT_EQ(bad.error().id, "data.weight");
  EXPECT_EQ(bad.error().line, 2U);
}

// A carriage return belongs to the end of a line; before a number it does not hide that number.
TEST(Reader, RowWeightsEndWithLfOrCrLf) {
  const TempFolder folder;
  write_file(folder / "a.svm", "1 1:1\n-1 1:2\n");
  const auto read_with = [&](const std::string& weights) {
    write_file(folder / "w", weights);
    return read_on(folder / "a.svm", 1, {.weights_file = folder / "w"});
  };
  EXPECT_TRUE(read_with("1\r\n\r\n 2 \r\n").ok());
  EXPECT_TRUE(read_with("1\n1e-400\n").ok());
  for (const char* text : {"1\n\r5\n2\n", "1\n2\r\r\n", "1\n\r\r\n2\n", "1\n2\r3\n"}) {
    const Result<Dataset> data = read_with(text);
    ASSERT_FALSE(data.ok()) << text;
    EXPECT_EQ(data.error().id, "data.weight");
    EXPECT_EQ(data.error().line, 2U);
    EXPECT_EQ(data.error().offset, 2U);
  }
}

TEST(Dataset, WrapRefusesWhatIsNoMatrix) {
  const std::vector<std::uint64_t> offsets = {0, 2, 3};
  const std::vector<double> values = {1, 2, 3};
  const std::vector<std::int64_t> labels = {1, -1};
  const auto wrap = [&](const std::vector<std::uint64_t>& o, const std::vector<std::uint32_t>& c,
                        const std::vector<double>& v, std::uint64_t features) {
    return Dataset::wrap(CsrView<double>{2, features, o.data(), c.data(), v.data()}, labels, {},
                         nullptr);
  };
  EXPECT_TRUE(wrap(offsets, {0, 1, 0}, values, 2).ok());
  EXPECT_FALSE(wrap(offsets, {1, 0, 0}, values, 2).ok());
  EXPECT_FALSE(wrap(offsets, {0, 0, 0}, values, 2).ok());
  EXPECT_FALSE(wrap(offsets, {0, 2, 0}, values, 2).ok());
  EXPECT_FALSE(wrap({0, 3, 2}, {0, 1, 0}, values, 2).ok());
  EXPECT_FALSE(wrap({1, 2, 3}, {0, 1, 0}, values, 2).ok());
  EXPECT_FALSE(wrap(offsets, {0, 1, 0}, {1, 2, NAN}, 2).ok());
  EXPECT_FALSE(wrap(offsets, {0, 1, 0}, {1, 1e200, 3}, 2).ok());
}

// Chunks of the file of weights end every 64 KiB, in the middle of a number, too.
TEST(Reader, WeightsAreNotCutInTwo) {
  const TempFolder folder;
  std::string text, weights;
  for (int i = 0; i < 40'000; ++i) {
    text += i % 2 == 0 ? "1 1:1\n" : "-1 1:2\n";
    weights += std::to_string(i % 100'003) + ".5\n";
  }
  write_file(folder / "d", text);
  write_file(folder / "w", weights);
  const Dataset data = read_on(folder / "d", 1, {.weights_file = folder / "w"}).value();
  for (std::size_t i = 0; i < data.rows(); ++i) {
    ASSERT_EQ(data.weights()[i], static_cast<double>(i % 100'003) + 0.5) << i;
  }
  for (const std::string& bad : {std::string(65'534, ' ') + "12345\n",
                                 "5" + std::string(70'000, ' ') + "7\n", std::string(2000, ' ')}) {
    write_file(folder / "w", bad + weights);
    const Result<Dataset> refused = read_on(folder / "d", 1, {.weights_file = folder / "w"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().id, "limit.line-bytes");
  }
  write_file(folder / "w", weights + "1\n" + std::string(1 << 20, 'x'));
  const Result<Dataset> many = read_on(folder / "d", 1, {.weights_file = folder / "w"});
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().id, "data.weights.count");  // before the rest is read
}

// Wherever in a chunk it lies, a line is as long as it is.
TEST(Reader, LineLimitIsExact) {
  const TempFolder folder;
  const std::string row = "1 1:1 2:0.25", filler = "-1 3:1\n";
  for (const std::size_t before : {0U, 1U, 1000U, 40'000U}) {
    std::string text;
    for (std::size_t i = 0; i < before; ++i) text += filler;
    write_file(folder / "d", text + row + "\n" + filler);
    for (const int threads : {1, 2}) {
      EXPECT_TRUE(read_on(folder / "d", threads, {.max_line_bytes = row.size()}).ok());
      const Result<Dataset> refused =
          read_on(folder / "d", threads, {.max_line_bytes = row.size() - 1});
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().id, "limit.line-bytes");
      EXPECT_EQ(refused.error().line, before + 1);
      EXPECT_EQ(refused.error().column, row.size());
    }
  }
  write_file(folder / "d", std::string(std::size_t{3} << 20, ' '));  // no line ends in it
  const Result<Dataset> refused =
      read_on(folder / "d", 1, {.max_line_bytes = std::size_t{1} << 20});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().id, "limit.line-bytes");
  EXPECT_EQ(read_on(folder / "d", 1, {.max_line_bytes = UINT64_MAX}).error().id, "data.empty");
}

}  // namespace
}  // namespace hinge
