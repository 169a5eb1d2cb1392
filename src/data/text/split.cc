// Stratified split of a text data set. Two passes over the same scanner: the first counts the rows
// of each class, the second draws, row by row, which part gets the line (of the `left` rows of a
// class still to come, `wanted` go to the test part: this one with probability wanted / left).
// Nothing is kept per row.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"
#include "data/text/text_row.h"
#include "files/source.h"
#include "hinge/dataset.h"
#include "hinge/files.h"

namespace hinge {
namespace {

constexpr std::size_t kSplitBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxPrefix = std::size_t{1} << 20;  // bytes of a line up to its label's end
constexpr std::uint64_t kSplitStream = 0x73706c31;

bool is_blank_or_return(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Cuts text that comes in chunks into rows. For every row, on_row(label) is called, then
// on_text(bytes) once or more with its line, from the first byte to the '\n'. Blank lines and
// comment lines are passed over. Lines may be longer than memory.
template <class OnRow, class OnText>
class RowScanner {
 public:
  RowScanner(const OnRow& on_row, const OnText& on_text) : on_row_(on_row), on_text_(on_text) {}

  void scan(const std::string& path, const std::atomic<bool>* stop) {
    ByteSource source(path);
    file_ = path;
    line_ = 1;
    std::string chunk(kSplitBytes, '\0');
    for (bool first = true;; first = false) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) {
        fail("run.interrupted", "interrupted; nothing was written");
      }
      std::string_view text(chunk.data(), source.read(chunk));
      if (text.empty()) break;
      if (first) {
        check_is_text(text, source.name());
        text = check_start(text);
      }
      while (!text.empty()) text.remove_prefix(take_part(text));
    }
    // The last line need not end with '\n' in the file, but does here.
    if (place_ == Place::prefix && prefix_.empty()) return;
    for (std::string_view end = "\n"; !end.empty();) end.remove_prefix(take_part(end));
  }

 private:
  enum class Place { prefix, row, comment };

  // Drops a byte order mark, which could end up in the middle of a part; refuses old Mac text.
  std::string_view check_start(std::string_view text) const {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    if (text.find('\n') == std::string_view::npos) {
      const std::size_t cr = text.find('\r');
      if (cr != std::string_view::npos && cr + 1 < text.size()) {
        fail_file("data.line.cr-only", file_, "lines end with CR alone");
      }
    }
    return text;
  }

  // Takes some bytes, at most to the end of the line, and returns how many.
  std::size_t take_part(std::string_view text) {
    if (place_ == Place::prefix) return take_prefix(text);
    const std::size_t newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    if (place_ == Place::row) on_text_(text.substr(0, size));
    if (newline != std::string_view::npos) end_line();
    return size;
  }

  // Collects blanks and the label in prefix_; at the byte after the label the row begins.
  std::size_t take_prefix(std::string_view text) {
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (is_blank_or_return(c) || c == '#' || c == '\n') {
        if (label_start_ != std::string::npos) {
          begin_row();
          return i;
        }
        if (c == '\n') {
          end_line();
          return i + 1;
        }
        if (c == '#') {
          place_ = Place::comment;
          return i;
        }
      } else if (label_start_ == std::string::npos) {
        label_start_ = prefix_.size();
      }
      if (prefix_.size() >= kMaxPrefix) {
        fail_here("limit.line-bytes", fmt::format("no label within {} bytes", kMaxPrefix));
      }
      prefix_.push_back(c);
    }
    return i;
  }

  void begin_row() {
    try {
      on_row_(read_label(std::string_view(prefix_).substr(label_start_)));
    } catch (Failure& failure) {
      failure.error.excerpt = prefix_;
      failure.error.caret = static_cast<std::uint32_t>(label_start_);
      failure.error.caret_length = static_cast<std::uint32_t>(prefix_.size() - label_start_);
      locate(failure.error);
      throw;
    }
    place_ = Place::row;
    on_text_(prefix_);
  }

  void end_line() {
    ++line_;
    place_ = Place::prefix;
    prefix_.clear();
    label_start_ = std::string::npos;
  }

  void locate(Error& error) const {
    error.file = file_;
    error.line = line_;
    error.column = (label_start_ == std::string::npos ? 0 : label_start_) + 1;
  }

  [[noreturn]] void fail_here(std::string id, std::string message) const {
    Error error;
    error.id = std::move(id);
    error.message = std::move(message);
    locate(error);
    throw Failure{std::move(error)};
  }

  const OnRow& on_row_;
  const OnText& on_text_;
  std::string file_;
  std::uint64_t line_ = 1;
  Place place_ = Place::prefix;
  std::string prefix_;
  std::size_t label_start_ = std::string::npos;  // in prefix_
};

template <class OnRow, class OnText>
void scan_rows(const std::vector<std::string>& files, const std::atomic<bool>* stop,
               const OnRow& on_row, const OnText& on_text) {
  RowScanner scanner(on_row, on_text);
  for (const std::string& file : files) scanner.scan(file, stop);
}

// Rows of a class that are still to be dealt out, and how many of them to the test part.
struct Quota {
  std::uint64_t left = 0;
  std::uint64_t wanted = 0;
};
using Quotas = std::unordered_map<std::int64_t, Quota>;

Quotas count_classes(const std::vector<std::string>& files, const SplitOptions& options) {
  Quotas quotas;
  const auto on_row = [&](std::int64_t label) {
    ++quotas[label].left;
    if (quotas.size() > kMaxClasses) {
      fail("limit.classes", fmt::format("more than {} classes", kMaxClasses));
    }
  };
  scan_rows(files, options.stop, on_row, [](std::string_view) {});
  for (auto& [label, quota] : quotas) {
    if (quota.left < 2) continue;  // the only row of a class is for training
    const double share = options.test * static_cast<double>(quota.left);
    quota.wanted =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(share + 0.5), 1, quota.left - 1);
  }
  return quotas;
}

SplitCounts deal_rows(const std::vector<std::string>& files, const SplitOptions& options,
                      Quotas& quotas, OutputFile& train, OutputFile& test) {
  SplitCounts counts;
  Random random(options.seed, kSplitStream);
  bool to_test = false;
  const auto on_row = [&](std::int64_t label) {
    Quota& quota = quotas[label];
    if (quota.left == 0) fail("io.changed", "the data changed while it was split");
    to_test = random.below(quota.left) < quota.wanted;
    --quota.left;
    if (to_test) --quota.wanted;
    ++(to_test ? counts.test : counts.train);
  };
  const auto on_text = [&](std::string_view text) { take((to_test ? test : train).write(text)); };
  scan_rows(files, options.stop, on_row, on_text);
  for (const auto& [label, quota] : quotas) {
    if (quota.left != 0) fail("io.changed", "the data changed while it was split");
  }
  return counts;
}

void check_files(const std::vector<std::string>& files, const std::string& train_path,
                 const std::string& test_path) {
  if (same_file(train_path, test_path)) {
    fail("usage.same-file", fmt::format("TRAIN and TEST are the same file: {}", escape(test_path)));
  }
  for (const std::string& file : files) {
    std::error_code ignored;
    if (file == "-" || std::filesystem::is_fifo(file, ignored)) {
      fail("usage.value", "split reads DATA twice: give a file, not standard input");
    }
    for (const std::string& output : {train_path, test_path}) {
      if (same_file(file, output)) {
        fail("usage.same-file", fmt::format("{} is both input and output", escape(file)));
      }
    }
  }
}

}  // namespace

Result<SplitCounts> split_dataset(const DataSource& source, const std::string& train_path,
                                  const std::string& test_path, const SplitOptions& options) {
  return guard([&] {
    if (!(options.test > 0 && options.test < 1)) {
      fail("usage.value",
           fmt::format("--test: expected a number above 0 and below 1, got {}", options.test));
    }
    const std::vector<std::string> files = expand_source(source);
    check_files(files, train_path, test_path);
    OutputFile train = take(OutputFile::create(train_path));
    OutputFile test = take(OutputFile::create(test_path));
    Quotas quotas = count_classes(files, options);
    if (quotas.empty()) fail_file("data.empty", files.front(), "no rows");
    const SplitCounts counts = deal_rows(files, options, quotas, train, test);
    // A full disk shall be noticed before the first of the two is replaced.
    take(train.sync());
    take(test.sync());
    take(train.commit());
    take(test.commit());
    return counts;
  });
}

}  // namespace hinge
