// RowReader: the rows a data set would have, as soon as they are there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/random.h"
#include "compress.h"
#include "hinge/stream.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;
using testing::write_file;

// What the blocks of a reader hold, one after the other; `error` is how it ended, if not well.
struct Found {
  std::vector<std::int64_t> labels;
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  std::vector<std::uint64_t> lines;
  std::uint64_t read = 0;
  std::string error;
};

Found read_all(const std::string& path, const ReadOptions& options = {}, std::uint64_t skip = 0) {
  Found found;
  RowReader reader = RowReader::open(path, options, skip).value();
  RowBlock block;
  while (true) {
    const Result<bool> more = reader.next(block);
    if (!more.ok()) found.error = more.error().id;
    if (!more.ok() || !*more) break;
    const auto& m = std::get<CsrView<float>>(block.rows.view());
    EXPECT_EQ(block.lines.size(), m.rows);
    found.labels.insert(found.labels.end(), block.rows.labels().begin(), block.rows.labels().end());
    found.columns.insert(found.columns.end(), m.columns, m.columns + m.nonzeros());
    found.values.insert(found.values.end(), m.values, m.values + m.nonzeros());
    found.lines.insert(found.lines.end(), block.lines.begin(), block.lines.end());
  }
  found.read = reader.lines();
  return found;
}

// A file of that text, and what is read from it.
Found read_text(const std::string& text, const ReadOptions& options = {}, std::uint64_t skip = 0) {
  const TempFolder folder(testing::memory_folder());
  write_file(folder / "rows", text);
  return read_all(folder / "rows", options, skip);
}

std::string random_text(std::uint64_t seed, std::size_t rows) {
  Random random(seed);
  std::string text;
  for (std::size_t i = 0; i < rows; ++i) {
    if (random.below(9) == 0) text += random.below(2) == 0 ? "\n" : "# a comment\n";
    text += std::to_string(random.below(5));
    for (std::uint64_t j = 1; j < 3000; j += 1 + random.below(400)) {
      text += " " + std::to_string(j) + ":0." + std::to_string(random.below(1000) + 1);
    }
    text += random.below(5) == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(RowReader, ReadsWhatADataSetHas) {
  for (const std::size_t rows : {std::size_t{1}, std::size_t{50}, std::size_t{20'000}}) {
    const std::string text = random_text(rows, rows);
    const Dataset data = testing::dataset_from_text(text);
    for (const std::string& form : {text, testing::gzip(text)}) {
      const Found found = read_text(form, {.index_base = IndexBase::one});
      const auto& m = std::get<CsrView<float>>(data.view());
      EXPECT_TRUE(std::ranges::equal(found.labels, data.labels()));
      EXPECT_TRUE(std::ranges::equal(found.columns, std::span(m.columns, m.nonzeros())));
      EXPECT_TRUE(std::ranges::equal(found.values, std::span(m.values, m.nonzeros())));
      EXPECT_EQ(found.read, static_cast<std::uint64_t>(std::ranges::count(text, '\n')));
    }
  }
}

TEST(RowReader, TellsTheLineOfEveryRow) {
  const Found found = read_text("\xef\xbb\xbf# rows\n1 1:1\n\n2 1:1\n3 1:1");
  EXPECT_EQ(found.lines, (std::vector<std::uint64_t>{2, 4, 5}));
  EXPECT_EQ(found.read, 5U);
}

TEST(RowReader, AutomaticColumnsAreTheNumbersOfTheText) {
  const std::string text = "1 1:1 7:1\n1 0:1 4294967294:1\n";
  EXPECT_EQ(read_text(text, {.index_base = IndexBase::automatic}).columns,
            (std::vector<std::uint32_t>{1, 7, 0, 4294967294}));
  EXPECT_EQ(read_text(text, {.index_base = IndexBase::zero}).columns,
            (std::vector<std::uint32_t>{1, 7, 0, 4294967294}));
  EXPECT_EQ(read_text(text, {.index_base = IndexBase::one}).error, "data.index.zero");
}

TEST(RowReader, RowsBeforeABadOneComeFirst) {
  const std::string text = random_text(4, 5000) + "1 1:x\n" + random_text(5, 10);
  const Found found = read_text(text);
  EXPECT_EQ(found.labels.size(), 5000U);
  EXPECT_EQ(found.error, "data.value");
  ReadOptions options;
  std::vector<std::uint64_t> bad;
  options.on_bad_row = [&](const Error& error) { bad.push_back(error.line); };
  const Found skipped = read_text(text + "x\n", options);
  EXPECT_EQ(skipped.labels.size(), 5010U);
  EXPECT_EQ(skipped.error, "");
  ASSERT_EQ(bad.size(), 2U);
  EXPECT_EQ(bad[1], skipped.read);
  const Found end = read_text("1 1:1\n" + std::string(3000, ' ') + "\n1 1:1\n",
                              {.max_line_bytes = 1000, .on_bad_row = [](const Error&) {}});
  EXPECT_EQ(end.error, "limit.line-bytes");
  EXPECT_EQ(end.labels.size(), 1U);
}

TEST(RowReader, ALineThatIsTooLongIsNoRow) {
  // An ordinary row otherwise, in one chunk with those before.
  for (const std::string before : {"", "1 1:1\n2 3:1\n"}) {
    const Found found = read_text(before + "3 1:1 2:1 7:1\n4 1:1\n", {.max_line_bytes = 10});
    EXPECT_EQ(found.error, "limit.line-bytes");
    EXPECT_EQ(found.labels.size(), before.empty() ? 0U : 2U);
    EXPECT_EQ(found.columns,
              before.empty() ? std::vector<std::uint32_t>{} : (std::vector<std::uint32_t>{1, 3}));
  }
  const TempFolder folder(testing::memory_folder());
  write_file(folder / "rows", "1 1:1\n3 1:1 2:1 7:1\n");
  RowReader reader = RowReader::open(folder / "rows", {.max_line_bytes = 10}).value();
  RowBlock block;
  ASSERT_TRUE(reader.next(block).value());
  EXPECT_EQ(block.rows.features(), 2U);
}

TEST(RowReader, PassesOverLines) {
  const std::string text = random_text(8, 3000) + "1 2:3";
  const Found whole = read_text(text);
  for (const std::uint64_t skip : {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{2999},
                                   whole.read - 1, whole.read, whole.read + 1}) {
    for (const std::string& form : {text, testing::gzip(text)}) {
      const Found rest = read_text(form, {}, skip);
      const auto from = std::ranges::upper_bound(whole.lines, skip) - whole.lines.begin();
      EXPECT_TRUE(std::ranges::equal(
          rest.lines, std::span(whole.lines).subspan(static_cast<std::size_t>(from))))
          << skip;
      EXPECT_TRUE(std::ranges::equal(
          rest.labels, std::span(whole.labels).subspan(static_cast<std::size_t>(from))));
      EXPECT_EQ(rest.error, skip > whole.read ? "data.lines" : "");
      EXPECT_EQ(rest.read, whole.read);
    }
  }
}

TEST(RowReader, WhatCameBeforeDamageIsHandedOut) {
  const std::string text = random_text(6, 20'000), packed = testing::gzip(text);
  const Found found = read_text(packed.substr(0, packed.size() / 2));
  EXPECT_EQ(found.error, "data.gzip");
  EXPECT_GT(found.labels.size(), 5000U);
  const Found whole = read_text(text);
  EXPECT_TRUE(std::equal(found.labels.begin(), found.labels.end(), whole.labels.begin()));
}

TEST(RowReader, KeptRowsStay) {
  const TempFolder folder(testing::memory_folder());
  write_file(folder / "rows", random_text(9, 20'000));
  RowReader reader = RowReader::open(folder / "rows").value();
  RowBlock first, other;
  ASSERT_TRUE(reader.next(first).value());
  const std::vector<std::int64_t> labels(first.rows.labels().begin(), first.rows.labels().end());
  while (reader.next(other).value()) {
  }
  EXPECT_TRUE(std::ranges::equal(first.rows.labels(), labels));
}

// A pipe that pauses after every few bytes, wherever that is.
TEST(RowReader, PipesInAnyPieces) {
  const TempFolder folder;
  const std::string text = random_text(7, 300), path = folder / "pipe";
  const Found expected = read_text(text);
  for (const std::string& form : {text, testing::gzip(text)}) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      const int fd = open(path.c_str(), O_WRONLY);
      Random random(form.size());
      for (std::size_t at = 0; at < form.size();) {
        const std::size_t size = std::min<std::size_t>(form.size() - at, 1 + random.below(3000));
        EXPECT_EQ(write(fd, form.data() + at, size), static_cast<ssize_t>(size));
        at += size;
      }
      close(fd);
    });
    const Found found = read_all(path);
    writer.join();
    EXPECT_EQ(found.labels, expected.labels);
    EXPECT_EQ(found.columns, expected.columns);
    EXPECT_EQ(found.lines, expected.lines);
    EXPECT_EQ(found.error, "");
    unlink(path.c_str());
  }
}

TEST(RowReader, ARowIsThereAsSoonAsItsLine) {
  const TempFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int writer = open(path.c_str(), O_RDWR);  // so that there is always a writer
  std::atomic<bool> stop = false;
  RowReader reader = RowReader::open(path, {.stop = &stop}).value();
  RowBlock block;
  for (const std::string line : {"1\n", "2 1:1\n", "3\n# note\n4 2:1\n"}) {
    ASSERT_EQ(write(writer, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ASSERT_TRUE(reader.next(block).value());  // would wait for ever
    EXPECT_EQ(block.rows.labels()[0], line[0] - '0');
  }
  stop = true;
  EXPECT_EQ(reader.next(block).error().id, "run.interrupted");
  close(writer);
}

}  // namespace
}  // namespace hinge
