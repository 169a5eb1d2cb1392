#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hinge/dataset.h"

namespace hinge {
namespace {

// An empty folder for as long as it is in scope.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              ("hinge-generate-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string generate(const GenerateOptions& options) {
  const Folder folder;
  const std::string path = folder.file("data.svm");
  const Result<void> result = generate_dataset(path, options);
  EXPECT_TRUE(result.ok()) << to_string(result.error());
  return read_text(path);
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// What a text says of itself; rows, indices and values are checked on the way.
struct Statistics {
  double rows = 0, positive = 0, nonzeros = 0;
  double shortest = 1e9, longest = 0;
  double min_norm = 1e9, max_norm = 0;
  std::uint64_t max_index = 0;
};

Statistics measure(const std::string& text) {
  Statistics all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string label, field;
    fields >> label;
    EXPECT_TRUE(label == "+1" || label == "-1") << line;
    double nonzeros = 0, squares = 0;
    std::uint64_t previous = 0;
    while (fields >> field) {
      std::size_t used = 0;
      const std::uint64_t index = std::stoull(field, &used);
      EXPECT_EQ(field[used], ':') << line;
      const double value = std::stod(field.substr(used + 1));
      EXPECT_NE(value, 0) << line;
      EXPECT_GT(index, previous) << line;
      previous = index;
      ++nonzeros;
      squares += value * value;
    }
    ++all.rows;
    all.positive += label == "+1";
    all.nonzeros += nonzeros;
    all.shortest = std::min(all.shortest, nonzeros);
    all.longest = std::max(all.longest, nonzeros);
    all.min_norm = std::min(all.min_norm, std::sqrt(squares));
    all.max_norm = std::max(all.max_norm, std::sqrt(squares));
    all.max_index = std::max(all.max_index, previous);
  }
  return all;
}

struct Expected {
  std::string like;
  std::uint64_t rows;
  std::uint64_t features;
  double nonzeros;  // mean of a row
  double positive;  // share
  bool unit_norm;
};

class GenerateShape : public testing::TestWithParam<Expected> {};

TEST_P(GenerateShape, IsThatOfTheSetItIsLike) {
  const Expected& expected = GetParam();
  const Statistics got = measure(generate({.like = expected.like, .rows = expected.rows}));
  EXPECT_EQ(got.rows, static_cast<double>(expected.rows));
  EXPECT_LE(got.max_index, expected.features);
  EXPECT_GT(got.max_index, expected.features * 9 / 10);
  EXPECT_NEAR(got.nonzeros / got.rows, expected.nonzeros, 0.05 * expected.nonzeros);
  EXPECT_NEAR(got.positive / got.rows, expected.positive, 0.03);
  if (expected.unit_norm) {
    EXPECT_GT(got.min_norm, 0.9999);
    EXPECT_LT(got.max_norm, 1.0001);
  }
}

INSTANTIATE_TEST_SUITE_P(Generate, GenerateShape,
                         testing::Values(Expected{"ccat", 5000, 47236, 75.7, 0.47, true},
                                         Expected{"cov1", 5000, 54, 11.94, 0.488, false},
                                         Expected{"real-sim", 5000, 20958, 50.9, 0.44, true},
                                         Expected{"news20", 2000, 1355191, 455, 0.5, true},
                                         Expected{"dense", 2000, 384, 384, 0.5, true}),
                         [](const auto& each) {
                           std::string name = each.param.like;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Generate, TheSameBytesForAnyThreads) {
  for (const std::string like : {"ccat", "cov1", "real-sim", "dense"}) {
    GenerateOptions options{.like = like, .rows = 3001, .seed = 7, .threads = 1};
    const std::string one = generate(options);
    for (const int threads : {1, 2, 3}) {
      options.threads = threads;
      EXPECT_TRUE(generate(options) == one) << like << " with " << threads << " threads";
    }
  }
}

// The hashes were taken once; they must not change with the compiler, its options or the machine.
TEST(Generate, TheSameBytesOnAnyMachine) {
  const auto hash = [](const std::string& like) {
    return fnv1a(generate({.like = like, .rows = 500, .seed = 3}));
  };
  EXPECT_EQ(hash("ccat"), 2441356817398119036U);
  EXPECT_EQ(hash("cov1"), 17134125127215845074U);
  EXPECT_EQ(hash("real-sim"), 5938142674662907687U);
  EXPECT_EQ(hash("news20"), 10345221750157821486U);
  EXPECT_EQ(hash("dense"), 4952189674286922315U);
}

TEST(Generate, MoreRowsBeginWithTheSameRows) {
  const std::string few = generate({.like = "real-sim", .rows = 100});
  const std::string more = generate({.like = "real-sim", .rows = 900});
  EXPECT_LT(few.size(), more.size());
  EXPECT_TRUE(more.starts_with(few));
}

TEST(Generate, SeedsDiffer) {
  for (const std::string like : {"ccat", "cov1", "dense"}) {
    EXPECT_NE(generate({.like = like, .rows = 20, .seed = 1}),
              generate({.like = like, .rows = 20, .seed = 2}));
  }
}

TEST(Generate, LengthsSpread) {
  const Statistics got = measure(generate({.like = "ccat", .rows = 3000}));
  EXPECT_LT(got.shortest, 20);
  EXPECT_GT(got.longest, 250);
}

TEST(Generate, OneRow) {
  for (const std::string like : {"ccat", "cov1", "real-sim", "dense"}) {
    EXPECT_EQ(measure(generate({.like = like, .rows = 1})).rows, 1);
  }
}

TEST(Generate, TakesOtherNumbersOfFeatures) {
  EXPECT_LE(measure(generate({.rows = 200, .features = 1000})).max_index, 1000U);
  const std::uint64_t wide = measure(generate({.rows = 200, .features = 4294967294U})).max_index;
  EXPECT_GT(wide, 4200000000U);
  EXPECT_LE(wide, 4294967294U);
  const Statistics cover = measure(generate({.like = "cov1", .rows = 500, .features = 15}));
  EXPECT_EQ(cover.max_index, 15U);
  EXPECT_EQ(measure(generate({.like = "dense", .rows = 3, .features = 1536})).nonzeros, 3 * 1536);
  EXPECT_EQ(measure(generate({.like = "dense", .rows = 3, .features = 2})).nonzeros, 3 * 2);
}

std::string error_id(const std::string& path, const GenerateOptions& options) {
  const Result<void> result = generate_dataset(path, options);
  return result.ok() ? "" : result.error().id;
}

TEST(Generate, RefusesWhatItCannotMake) {
  const Folder folder;
  const std::string path = folder.file("data.svm");
  EXPECT_EQ(error_id(path, {.like = "mnist"}), "usage.value");
  EXPECT_EQ(error_id(path, {.features = 999}), "usage.value");
  EXPECT_EQ(error_id(path, {.features = 4294967295U}), "usage.value");
  EXPECT_EQ(error_id(path, {.like = "cov1", .features = 14}), "usage.value");
  EXPECT_EQ(error_id(path, {.like = "dense", .features = 1}), "usage.value");
  EXPECT_EQ(error_id(folder.file("none/data.svm"), {.rows = 1}), "io.create");
  EXPECT_TRUE(folder.empty());

  const Result<void> unknown = generate_dataset(path, {.like = "mnist"});
  EXPECT_EQ(unknown.error().message,
            "--like: expected one of ccat, cov1, real-sim, news20, dense, got \"mnist\"");
}

TEST(Generate, StopsWhenAskedAndLeavesNothing) {
  const Folder folder;
  const std::atomic<bool> stop{true};
  EXPECT_EQ(error_id(folder.file("data.svm"), {.rows = 1000, .stop = &stop}), "run.interrupted");
  EXPECT_TRUE(folder.empty());
}

TEST(Generate, StreamsReportAFullDevice) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_EQ(error_id("/dev/full", {.rows = 10}), "io.write");
}

// A perceptron that has never seen the hidden rule must find most of it.
TEST(Generate, ClassesCanBeLearnt) {
  std::vector<double> w(20959);
  std::istringstream lines(generate({.like = "real-sim", .rows = 12000}));
  int row = 0, wrong = 0;
  for (std::string line; std::getline(lines, line); ++row) {
    std::istringstream fields(line);
    double label = 0, score = 0, value = 0;
    char colon = 0;
    std::size_t index = 0;
    fields >> label;
    std::vector<std::pair<std::size_t, double>> entries;
    while (fields >> index >> colon >> value) {
      entries.emplace_back(index, value);
      score += w[index] * value;
    }
    wrong += row >= 10000 && score * label <= 0;
    if (row < 10000 && score * label < 0.5) {
      for (const auto& [j, x] : entries) w[j] += 0.5 * label * x;
    }
  }
  EXPECT_LT(wrong, 2000 * 0.12);
}

}  // namespace
}  // namespace hinge
