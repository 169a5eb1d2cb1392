#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "hinge/dataset.h"

namespace hinge {
namespace {

// A folder with a data set to split, new for every test.
class Split : public testing::Test {
 protected:
  Split()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("hinge-split-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Split() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::vector<std::string> lines(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  SplitCounts split(const std::string& source, const SplitOptions& options = {}) const {
    Result<SplitCounts> result = split_dataset(source, path("train"), path("test"), options);
    EXPECT_TRUE(result.ok()) << to_string(result.error());
    return result.ok() ? *result : SplitCounts{};
  }

  // The error of a split that must leave the folder as it was.
  Error fail_split(const std::string& source, const std::string& train, const std::string& test,
                   const SplitOptions& options = {}) const {
    const auto before = files();
    const Result<SplitCounts> result = split_dataset(source, train, test, options);
    EXPECT_EQ(files(), before);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error{} : result.error();
  }
  Error fail_split(const std::string& source, const SplitOptions& options = {}) const {
    return fail_split(source, path("train"), path("test"), options);
  }

  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      all[entry.path().filename().string()] = entry.is_regular_file() ? entry.file_size() : 0;
    }
    return all;
  }

  std::filesystem::path folder_;
};

// 1,000 rows of three classes: 700 of +1, 297 of -1, 3 of 2. Row i holds index i+1.
std::string three_classes() {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    const char* label = i % 333 == 100 ? "2" : i % 10 < 7 ? "+1" : "-1";
    text += std::string(label) + " " + std::to_string(i + 1) + ":0.5\n";
  }
  return text;
}

std::map<std::string, int> count_labels(const std::vector<std::string>& rows) {
  std::map<std::string, int> counts;
  for (const std::string& row : rows) ++counts[row.substr(0, row.find(' '))];
  return counts;
}

TEST_F(Split, TakesTheShareOfEveryClass) {
  const std::string data = write("data", three_classes());
  const auto all = count_labels(lines("data"));
  const SplitCounts counts = split(data, {.test = 0.1});
  auto expected = all;
  for (auto& [label, count] : expected) count = label == "2" ? 1 : (count + 5) / 10;
  EXPECT_EQ(count_labels(lines("test")), expected);
  EXPECT_EQ(counts.test, lines("test").size());
  EXPECT_EQ(counts.train, lines("train").size());
  EXPECT_EQ(counts.train + counts.test, 1000U);
}

TEST_F(Split, EveryRowGoesToOnePartInItsOrder) {
  const std::string data = write("data", three_classes());
  split(data, {.test = 0.4});
  const auto train = lines("train"), test = lines("test");
  std::size_t i = 0, j = 0;
  for (const std::string& row : lines("data")) {
    if (i < train.size() && train[i] == row) {
      ++i;
    } else {
      ASSERT_LT(j, test.size());
      ASSERT_EQ(test[j++], row);
    }
  }
  EXPECT_EQ(i, train.size());
  EXPECT_EQ(j, test.size());
}

TEST_F(Split, SameSeedSameParts) {
  const std::string data = write("data", three_classes());
  split(data, {.seed = 5});
  const std::string train = read("train"), test = read("test");
  split(data, {.seed = 5});
  EXPECT_EQ(read("train"), train);
  EXPECT_EQ(read("test"), test);
  split(data, {.seed = 6});
  EXPECT_NE(read("test"), test);
}

TEST_F(Split, EveryPlaceIsAsLikelyAsAnother) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "1 1:" + std::to_string(i) + "\n";
  split(write("data", text), {.test = 0.3});
  std::vector<int> tenths(10);
  for (const std::string& row : lines("test")) ++tenths[std::stoul(row.substr(4)) / 1000];
  for (const int count : tenths) EXPECT_NEAR(count, 300, 70);  // 5 standard deviations
}

TEST_F(Split, KeepsBothPartsOfSmallClasses) {
  const std::string data = write("data", "1 1:1\n1 2:1\n2 1:1\n3 1:1\n3 2:1\n3 3:1\n");
  split(data, {.test = 0.01});
  EXPECT_EQ(count_labels(lines("test")), (std::map<std::string, int>{{"1", 1}, {"3", 1}}));
  split(data, {.test = 0.99});
  EXPECT_EQ(count_labels(lines("train")),
            (std::map<std::string, int>{{"1", 1}, {"2", 1}, {"3", 1}}));
}

TEST_F(Split, WaysToWriteALabelAreOneClass) {
  const std::string data = write("data", "+1 1:1\n1 1:2\n1.0 1:3\n1e0 1:4\n-1 1:5\n-1.0 1:6\n");
  const SplitCounts counts = split(data, {.test = 0.5});
  EXPECT_EQ(counts.test, 3U);
  const auto negative = [](const std::vector<std::string>& rows) {
    return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row[0] == '-'; });
  };
  EXPECT_EQ(negative(lines("test")), 1);
}

TEST_F(Split, CopiesLinesAsTheyAre) {
  const std::string row = "\t -1  3:1e-3 \t7:+2 # why\r\n";
  const std::string data = write("data", row + row + "1#x\n1");
  split(data, {.test = 0.5});
  const std::string test = read("test"), train = read("train");
  EXPECT_TRUE(test == row + "1#x\n" || test == row + "1\n") << test;
  EXPECT_EQ(test.size() + train.size(), 2 * row.size() + 6);
  EXPECT_TRUE(train.starts_with(row));
}

TEST_F(Split, DropsCommentsBlankLinesAndTheMark) {
  const std::string data =
      write("data", "\xef\xbb\xbf# head\n\n1 1:1\n  \r\n \t# c\n1 2:1\n\r\n  ");
  const SplitCounts counts = split(data, {.test = 0.5});
  EXPECT_EQ(counts.train, 1U);
  EXPECT_EQ(counts.test, 1U);
  EXPECT_EQ(read("train") + read("test") == "1 1:1\n1 2:1\n" ||
                read("test") + read("train") == "1 1:1\n1 2:1\n",
            true);
}

TEST_F(Split, LinesMayBeLongerThanAChunk) {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += "  " + std::to_string(i % 2) + " 1:" + std::to_string(i);
    while (text.size() < static_cast<std::size_t>(i + 1) * 1500000) text += " 2:0.25";
    text += "\n";
  }
  const std::string data = write("data", text);
  split(data, {.test = 0.5});
  const auto train = lines("train"), test = lines("test"), all = lines("data");
  ASSERT_EQ(train.size(), 2U);
  ASSERT_EQ(test.size(), 2U);
  for (const std::string& row : all) {
    EXPECT_EQ(
        std::count(train.begin(), train.end(), row) + std::count(test.begin(), test.end(), row), 1);
  }
}

TEST_F(Split, APatternIsOneDataSet) {
  write("part-1", "1 1:1\n1 2:1\n # end");
  write("part-2", "1 3:1\n1 4:1");
  write("part-3", "1 5:1\n1 6:1");
  const SplitCounts counts = split(path("part-*"), {.test = 0.5});
  EXPECT_EQ(counts.train, 3U);
  EXPECT_EQ(counts.test, 3U);
  EXPECT_EQ(read("train").size() + read("test").size(), 36U);
}

TEST_F(Split, RefusesSharesOutsideTheRange) {
  const std::string data = write("data", "1 1:1\n1 2:1\n");
  for (const double test : {0.0, 1.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(fail_split(data, {.test = test}).id, "usage.value");
  }
}

TEST_F(Split, RefusesStandardInput) {
  const Error error = fail_split("-");
  EXPECT_EQ(error.id, "usage.value");
  EXPECT_EQ(error.message, "split reads DATA twice: give a file, not standard input");
}

TEST_F(Split, RefusesToOverwriteItsInput) {
  const std::string data = write("data", "1 1:1\n1 2:1\n");
  EXPECT_EQ(fail_split(data, data, path("test")).id, "usage.same-file");
  EXPECT_EQ(fail_split(data, path("train"), data).id, "usage.same-file");
  EXPECT_EQ(fail_split(data, path("train"), path("train")).id, "usage.same-file");
  EXPECT_EQ(fail_split(data, path("train"), path("./train")).id, "usage.same-file");
  EXPECT_EQ(fail_split(path("da*"), path("train"), path("./data")).id, "usage.same-file");
}

TEST_F(Split, RefusesDataItCannotSplit) {
  const auto id = [&](const std::string& text) { return fail_split(write("data", text)).id; };
  EXPECT_EQ(id(""), "data.empty");
  EXPECT_EQ(id("\n# nothing\n\r\n"), "data.empty");
  EXPECT_EQ(id("1 1:1\r2 1:1\r"), "data.line.cr-only");
  EXPECT_EQ(id("1 1:1\n1.5 1:1\n"), "data.label.not-integer");
  EXPECT_EQ(id("1 1:1\nnan 1:1\n"), "data.label.nonfinite");
  EXPECT_EQ(id("1 1:1\n1e30 1:1\n"), "data.label.range");
  EXPECT_EQ(id("1 1:1\n+-1 1:1\n"), "data.label");
  EXPECT_EQ(id("1 1:1\n+ 1:1\n"), "data.label");
  EXPECT_EQ(fail_split(path("none")).id, "io.open");
  EXPECT_EQ(fail_split(path("none-*")).id, "io.open");
  EXPECT_EQ(fail_split(folder_.string()).id, "io.not-a-file");
}

TEST_F(Split, SaysWhereALabelIsWrong) {
  const std::string data = write("data", "# head\n1 1:1\n\n  3:0.5 4:1\n");
  const Error error = fail_split(data);
  EXPECT_EQ(error.id, "data.label");
  EXPECT_EQ(error.file, data);
  EXPECT_EQ(error.line, 4U);
  EXPECT_EQ(error.column, 3U);
  EXPECT_EQ(error.message, "expected a label, found \"3:0.5\"");
}

TEST_F(Split, KeepsOldPartsWhenItFails) {
  const std::string data = write("data", "1 1:1\nx\n");
  write("train", "old");
  write("test", "older");
  EXPECT_EQ(fail_split(data).id, "data.label");
  EXPECT_EQ(read("train"), "old");
  EXPECT_EQ(read("test"), "older");
  EXPECT_EQ(fail_split(data, path("train"), path("none/test")).id, "io.create");
}

TEST_F(Split, StopsWhenAsked) {
  const std::string data = write("data", "1 1:1\n1 2:1\n");
  const std::atomic<bool> stop{true};
  EXPECT_EQ(fail_split(data, {.stop = &stop}).id, "run.interrupted");
}

}  // namespace
}  // namespace hinge
