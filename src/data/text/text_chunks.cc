#include "data/text/text_chunks.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace hinge {
namespace {

Error too_long(std::uint64_t line, std::uint64_t limit, std::uint64_t offset) {
  Error error = make_error(kLineLimit, fmt::format("a line is longer than {} bytes", limit),
                           "is this the right file? --max-line-bytes sets the limit");
  error.line = line;
  error.column = limit + 1;
  error.offset = offset + limit;
  return error;
}

template <class Value>
void drop_last_row(const RowRules& rules, RowBatch<Value>& batch) {
  batch.labels.pop_back();
  batch.ends.pop_back();
  batch.nonzeros = batch.ends.empty() ? 0 : batch.ends.back();
  batch.max_index = 0;
  for (std::uint64_t k = 0; k < batch.nonzeros; ++k) {
    batch.max_index = std::max(batch.max_index, batch.columns[k] + rules.base);
  }
}

}  // namespace

Feeder::Feeder(const std::vector<std::string>& paths, const ReadOptions& options, Pace pace,
               std::vector<ByteRange> ranges)
    : paths_(paths), options_(options), pace_(pace), ranges_(std::move(ranges)) {
  // Every file must open before the first is read. A pipe can be opened once only.
  bool known = true;
  for (std::size_t file = 0; file < paths.size(); ++file) {
    const std::string& path = paths[file];
    struct stat status {};
    const bool pipe = stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    known = known && path != "-" && !pipe;
    if (path != "-" && !pipe) total_ += ByteSource(path, nullptr, range(file)).size();
  }
  if (!known) total_ = 0;
}

bool Feeder::next(Chunk& chunk) {
  try {
    return advance(chunk);
  } catch (...) {
    file_ = paths_.size();
    source_.reset();
    chunk.sequence = sequence_++;
    throw;
  }
}

bool Feeder::advance(Chunk& chunk) {
  check_stop();
  while (file_ < paths_.size()) {
    if (!source_) open_file();
    if (find(chunk) || fill(chunk)) {
      chunk.sequence = sequence_++;
      const std::uint64_t bytes = before_ + source_->position();
      chunk.share = total_ == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(total_);
      if (options_.progress) options_.progress(bytes, total_);
      return true;
    }
    before_ += source_->position();
    source_.reset();
    ++file_;
  }
  return false;
}

void Feeder::check_stop() const {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    fail("run.interrupted", "interrupted while reading");
  }
}

void Feeder::open_file() {
  source_ = std::make_shared<ByteSource>(paths_[file_], options_.stop, range(file_));
  tail_.clear();
  offset_ = range(file_).begin;
  ended_ = false;
}

// Only where the next chunk is: up to the last newline of so many bytes. False: where that is not
// to be had so easily, as at the beginning, the end, and in long lines; fill() goes on there.
bool Feeder::find(Chunk& chunk) {
  constexpr std::size_t kLook = 4096;  // bytes in which a newline is looked for
  const ByteRange part = range(file_);
  if (pace_ != Pace::full || offset_ == part.begin || !source_->seekable()) return false;
  if (offset_ + 2 * kChunkBytes > std::min(source_->version().size, part.end)) return false;
  char look[kLook];
  source_->read_at(offset_ + kChunkBytes - kLook, look);
  const void* const newline = memrchr(look, '\n', kLook);
  if (newline == nullptr) return false;
  bytes_ -= std::exchange(tail_, {}).size();  // they come again
  chunk.size =
      kChunkBytes - kLook + static_cast<std::size_t>(static_cast<const char*>(newline) - look) + 1;
  check_bytes(chunk.size);
  chunk.source = source_;
  chunk.file = file_;
  chunk.offset = offset_;
  chunk.unterminated = false;
  offset_ += chunk.size;
  source_->seek(offset_);
  return true;
}

void Feeder::read(Chunk& chunk) {
  if (!chunk.source) return;
  if (chunk.text.size() < chunk.size + kTextPadding) chunk.text.resize(chunk.size + kTextPadding);
  chunk.source->read_at(chunk.offset, {chunk.text.data(), chunk.size});
  chunk.source.reset();
  // The newline that was seen there; who writes the file may have taken it away.
  chunk.text[chunk.size - 1] = '\n';
  std::memset(chunk.text.data() + chunk.size, '\n', kTextPadding);
}

// The tail of the last chunk, then new bytes up to the last newline; more if there is none.
bool Feeder::fill(Chunk& chunk) {
  std::size_t size = tail_.size();
  if (ended_ && size == 0) return false;
  chunk.source.reset();
  if (chunk.text.size() < kChunkBytes + kTextPadding) chunk.text.resize(kChunkBytes + kTextPadding);
  if (chunk.text.size() < 2 * size + kTextPadding) chunk.text.resize(2 * size + kTextPadding);
  std::memcpy(chunk.text.data(), tail_.data(), size);
  tail_.clear();
  std::size_t lines = 0;  // bytes of whole lines
  while (!ended_ && lines == 0) {
    const std::size_t room = chunk.text.size() - kTextPadding - size;
    if (room == 0) {
      if (size > options_.max_line_bytes) line_too_long();
      // No further than it takes to see that a line is too long.
      const std::uint64_t rest = options_.max_line_bytes - size;
      chunk.text.resize(chunk.text.size() + std::min<std::uint64_t>(size, rest) + 1);
      continue;
    }
    const std::span<char> into(chunk.text.data() + size, room);
    const std::size_t count = pace_ == Pace::full ? source_->read(into) : source_->read_some(into);
    if (offset_ == 0 && size == 0) check_is_text({chunk.text.data(), count}, source_->name());
    check_bytes(count);
    ended_ = count < (pace_ == Pace::full ? room : 1);
    const void* newline = memrchr(chunk.text.data() + size, '\n', count);
    size += count;
    if (newline != nullptr) {
      lines = static_cast<std::size_t>(static_cast<const char*>(newline) - chunk.text.data()) + 1;
    }
  }
  if (size == 0) return false;
  chunk.unterminated = false;
  if (ended_) {
    if (chunk.text[size - 1] != '\n') {
      chunk.unterminated = true;
      chunk.text[size++] = '\n';
    }
    lines = size;
  } else {
    tail_.assign(chunk.text.data() + lines, size - lines);
  }
  // What follows the last newline is looked at but never used; it must be the same every time.
  std::memset(chunk.text.data() + lines, '\n',
              kTextPadding - (lines == size && chunk.unterminated));
  chunk.size = lines;
  chunk.file = file_;
  chunk.offset = offset_;
  offset_ += lines - chunk.unterminated;
  return true;
}

void Feeder::check_bytes(std::size_t count) {
  bytes_ += count;
  if (bytes_ <= options_.max_bytes) return;
  fail_file("limit.bytes", source_->name(),
            fmt::format("the data is longer than {} bytes", options_.max_bytes),
            "is this the right file? --max-bytes sets the limit");
}

// Told without its number, which only the parsers know.
void Feeder::line_too_long() const {
  fail_file(kLineLimit, source_->name(),
            fmt::format("a line is longer than {} bytes", options_.max_line_bytes),
            "is this the right file? --max-line-bytes sets the limit");
}

template <class Value>
void parse_chunk(const Chunk& chunk, const RowRules& rules, const ReadOptions& options,
                 std::size_t max_errors, RowBatch<Value>& batch) {
  batch.reset(chunk.size);
  const char* p = chunk.text.data();
  const char* const end = p + chunk.size;
  if (chunk.offset == 0 && std::string_view(p, chunk.size).starts_with("\xef\xbb\xbf")) p += 3;
  while (p < end) {
    ++batch.lines;
    const std::uint64_t offset = chunk.offset + static_cast<std::uint64_t>(p - chunk.text.data());
    const char* const next = parse_fast(p, rules, batch);
    const char* const newline =
        next != nullptr
            ? next - 1
            : static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    if (static_cast<std::uint64_t>(newline - p) > options.max_line_bytes) {
      if (next != nullptr) drop_last_row(rules, batch);
      batch.errors.push_back(too_long(batch.lines, options.max_line_bytes, offset));
      return;
    }
    if (next == nullptr) {
      const std::size_t errors = batch.errors.size();
      parse_careful(p, newline, chunk.unterminated && newline + 1 == end, rules, batch);
      if (batch.errors.size() > errors) {
        batch.errors.back().offset += offset;
        if (batch.errors.size() == max_errors) return;
      }
    }
    if (batch.keep_lines && batch.labels.size() > batch.row_lines.size()) {
      batch.row_lines.push_back(batch.lines);
    }
    p = newline + 1;
  }
}

void Oddities::merge(Place& place, const Oddity& found, const std::string& file,
                     std::uint64_t lines) {
  if (found.count == 0) return;
  if (place.count == 0) place = {0, file, lines + found.line, found.column};
  place.count += found.count;
}

void Oddities::warn(std::vector<Error>& warnings) const {
  const auto add = [&](const char* id, const Place& place, std::string_view what) {
    if (place.count == 0) return;
    warnings.push_back(make_warning(id, fmt::format("{} {} (first: {}:{}:{})", place.count, what,
                                                    escape(place.file), place.line, place.column)));
  };
  add("data.index.unsorted", unsorted_, "rows were not sorted by index; sorted");
  add("data.value.underflow", underflow_, "values were too small to be kept exactly");
  add("data.value.f32", rounded_,
      "rows have whole numbers beyond 2^24 that float32 does not hold: --precision f64 does");
  add("data.qid.ignored", qid_, "rows carry a qid; ignored");
}

template void parse_chunk(const Chunk&, const RowRules&, const ReadOptions&, std::size_t,
                          RowBatch<float>&);
template void parse_chunk(const Chunk&, const RowRules&, const ReadOptions&, std::size_t,
                          RowBatch<double>&);

}  // namespace hinge
