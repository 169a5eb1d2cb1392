// Reads libsvm text with several threads.
//
// One thread at a time takes the next chunk of whole lines from the input (Feeder), so files, pipes
// and anything else that yields bytes in order are read the same way. Chunks are parsed in parallel
// (text_row.h) into small batches that stay in the cache, and appended to the final arrays in their
// order (Assembly). Nothing depends on the number of threads: not the arrays, not which errors are
// reported, not their line numbers. Decompressing is the taker's work, so that it overlaps with the
// parsing of what others have taken.
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "data/dataset_builder.h"
#include "data/source.h"
#include "data/text_row.h"

namespace hinge {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;  // text and batch together fit a 1 MiB L2
constexpr std::size_t kMaxErrors = 10;
constexpr const char* kLineLimit = "limit.line-bytes";

// Whole lines of one file. `text` holds `size` bytes, the last of them '\n', and kTextPadding more.
struct Chunk {
  std::vector<char> text;
  std::size_t size = 0;
  std::uint64_t sequence = 0;  // position among all chunks
  std::size_t file = 0;
  std::uint64_t offset = 0;   // of the first byte in its file, decompressed
  double share = 0;           // of all input, up to here; 0 when unknown
  bool unterminated = false;  // the '\n' at the end was added
};

// Hands out the input in chunks. Calls of next() must not overlap.
class Feeder {
 public:
  Feeder(const std::vector<std::string>& paths, const ReadOptions& options)
      : paths_(paths), options_(options) {
    // Every file must open before the first is read. A pipe can be opened once only.
    bool known = true;
    for (const std::string& path : paths) {
      struct stat status {};
      const bool pipe = stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
      known = known && path != "-" && !pipe;
      if (path != "-" && !pipe) total_ += ByteSource(path).size();
    }
    if (!known) total_ = 0;
  }

  // False at the end. After a failure there is nothing more; chunk.sequence tells its place.
  bool next(Chunk& chunk) {
    try {
      return advance(chunk);
    } catch (...) {
      file_ = paths_.size();
      source_.reset();
      chunk.sequence = sequence_++;
      throw;
    }
  }

 private:
  bool advance(Chunk& chunk) {
    check_stop();
    while (file_ < paths_.size()) {
      if (!source_) open_file();
      if (fill(chunk)) {
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

  void check_stop() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      fail("run.interrupted", "interrupted while reading");
    }
  }

  void open_file() {
    source_ = std::make_unique<ByteSource>(paths_[file_], options_.stop);
    tail_.clear();
    offset_ = 0;
    ended_ = false;
  }

  // The tail of the last chunk, then new bytes up to the last newline; more if there is none.
  bool fill(Chunk& chunk) {
    std::size_t size = tail_.size();
    if (ended_ && size == 0) return false;
    if (chunk.text.size() < kChunkBytes + kTextPadding)
      chunk.text.resize(kChunkBytes + kTextPadding);
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
      const std::size_t count = source_->read({chunk.text.data() + size, room});
      if (offset_ == 0 && size == 0) check_is_text({chunk.text.data(), count}, source_->name());
      check_bytes(count);
      ended_ = count < room;
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

  void check_bytes(std::size_t count) {
    bytes_ += count;
    if (bytes_ <= options_.max_bytes) return;
    fail_file("limit.bytes", source_->name(),
              fmt::format("the data is longer than {} bytes", options_.max_bytes),
              "is this the right file? --max-bytes sets the limit");
  }

  // Told without its number, which only the parsers know.
  [[noreturn]] void line_too_long() const {
    fail_file(kLineLimit, source_->name(),
              fmt::format("a line is longer than {} bytes", options_.max_line_bytes),
              "is this the right file? --max-line-bytes sets the limit");
  }

  const std::vector<std::string>& paths_;
  const ReadOptions& options_;
  std::size_t file_ = 0;
  std::unique_ptr<ByteSource> source_;
  std::string tail_;  // begun line, not yet handed out
  bool ended_ = false;
  std::uint64_t offset_ = 0;  // in the file, of the next chunk
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_ = 0;   // of all files, decompressed
  std::uint64_t before_ = 0;  // of the files that are done, as stored
  std::uint64_t total_ = 0;   // as stored; 0 when unknown
};

Error too_long(std::uint64_t line, std::uint64_t limit, std::uint64_t offset) {
  Error error = make_error(kLineLimit, fmt::format("a line is longer than {} bytes", limit),
                           "is this the right file? --max-line-bytes sets the limit");
  error.line = line;
  error.column = limit + 1;
  error.offset = offset + limit;
  return error;
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
    p = newline + 1;
  }
}

// Receives batches in the order of their chunks and makes the final arrays.
template <class Value>
class Assembly {
 public:
  Assembly(const std::vector<std::string>& paths, const ReadOptions& options)
      : paths_(paths), options_(options) {
    constexpr std::uint64_t kZero = 0;
    arrays_.offsets.append(&kZero, 1);
  }

  void append(const Chunk& chunk, RowBatch<Value>& batch) {
    if (chunk.file != file_) {
      file_ = chunk.file;
      lines_ = 0;
    }
    for (Error& error : batch.errors) {
      error.file = name();
      error.line += lines_;
      limit_hit_ = limit_hit_ || error.id == kLineLimit;
      if (options_.on_bad_row && error.id != kLineLimit) {
        options_.on_bad_row(error);
      } else if (!full()) {
        if (error.id == "data.value.nonfinite") {
          error.help += fmt::format("; `hinge check {}` lists all such rows", escape(name()));
        }
        errors_.push_back(std::move(error));
      }
    }
    merge(index_zero_, batch.index_zero);
    merge(unsorted_, batch.unsorted);
    merge(underflow_, batch.underflow);
    merge(qid_, batch.qid);
    lines_ += batch.lines;
    all_lines_ += batch.lines;
    if (!errors_.empty()) return;  // nothing will be made of the rows

    check_memory(chunk, batch);
    const std::uint64_t before = arrays_.columns.size();
    for (std::uint64_t& end : batch.ends) end += before;
    arrays_.offsets.append(batch.ends.data(), batch.ends.size());
    arrays_.columns.append(batch.columns.data(), batch.nonzeros);
    arrays_.values.append(batch.values.data(), batch.nonzeros);
    arrays_.labels.append(batch.labels.data(), batch.labels.size());
    max_index_ = std::max(max_index_, batch.max_index);
  }

  bool full() const { return errors_.size() == kMaxErrors; }
  bool over() const { return full() || limit_hit_; }

  // The input itself failed, after what was appended. A damaged stream, the only failure with an
  // offset, explains the bad rows of its file.
  void stop(Error error) {
    auto place = errors_.end();
    if (error.offset > 0) place = std::ranges::find(errors_, error.file, &Error::file);
    errors_.insert(place, std::move(error));
  }

  const std::string& path() const { return paths_[file_]; }  // of the rows appended last

  Dataset finish(const RowRules& rules, Pool& pool, std::vector<Error>& warnings) {
    if (!errors_.empty()) {
      Error first = std::move(errors_.front());
      first.more.assign(std::make_move_iterator(errors_.begin() + 1),
                        std::make_move_iterator(errors_.end()));
      throw Failure{std::move(first)};
    }
    if (arrays_.labels.size() == 0) {
      fail_file("data.empty", paths_.size() == 1 ? name() : std::string{},
                all_lines_ == 0 ? "no rows" : fmt::format("0 rows in {} lines", all_lines_));
    }
    std::uint32_t base = rules.base;
    if (base == 1 && index_zero_.count > 0) {
      base = 0;
      const std::size_t count = arrays_.columns.size();
      const std::size_t step = std::size_t{1} << 20;
      pool.run((count + step - 1) / step, [&](std::size_t block) {
        const std::size_t end = std::min(count, (block + 1) * step);
        for (std::size_t k = block * step; k < end; ++k) ++arrays_.columns[k];
      });
    }
    warn(warnings, "data.index.unsorted", unsorted_, "rows were not sorted by index; sorted");
    warn(warnings, "data.value.underflow", underflow_, "values were too small to be kept exactly");
    warn(warnings, "data.qid.ignored", qid_, "rows carry a qid; ignored");
    const bool empty = arrays_.columns.size() == 0;
    arrays_.offsets.shrink();
    arrays_.columns.shrink();
    arrays_.values.shrink();
    arrays_.labels.shrink();
    return DatasetBuilder::build(std::move(arrays_),
                                 empty ? 0 : std::uint64_t{max_index_} + 1 - base,
                                 static_cast<int>(base));
  }

 private:
  struct Place {
    std::uint64_t count = 0;
    std::string file;
    std::uint64_t line = 0, column = 0;
  };

  // In memory a row takes its nonzeros, an offset and a label.
  static std::uint64_t bytes_of(std::uint64_t rows, std::uint64_t nonzeros) {
    return rows * (sizeof(std::uint64_t) + sizeof(std::int64_t)) +
           nonzeros * (sizeof(std::uint32_t) + sizeof(Value));
  }

  void check_memory(const Chunk& chunk, const RowBatch<Value>& batch) const {
    const std::uint64_t bytes = bytes_of(arrays_.labels.size() + batch.labels.size(),
                                         arrays_.columns.size() + batch.nonzeros);
    if (options_.memory == 0 || bytes <= options_.memory) return;
    const double need = static_cast<double>(bytes) / (chunk.share > 0 ? chunk.share : 1.0);
    fail("memory.limit", fmt::format("the data needs {} {:.3g} MiB, --memory allows {:.3g} MiB",
                                     chunk.share > 0 ? "about" : "more than", need / 0x1p20,
                                     static_cast<double>(options_.memory) / 0x1p20));
  }

  std::string name() const { return paths_[file_] == "-" ? "<stdin>" : paths_[file_]; }

  void merge(Place& place, const Oddity& found) {
    if (found.count == 0) return;
    if (place.count == 0) place = {0, name(), lines_ + found.line, found.column};
    place.count += found.count;
  }

  static void warn(std::vector<Error>& warnings, const char* id, const Place& place,
                   std::string_view what) {
    if (place.count == 0) return;
    warnings.push_back(make_warning(id, fmt::format("{} {} (first: {}:{}:{})", place.count, what,
                                                    escape(place.file), place.line, place.column)));
  }

  const std::vector<std::string>& paths_;
  const ReadOptions& options_;
  DatasetArrays<Value> arrays_;
  std::vector<Error> errors_;
  bool limit_hit_ = false;
  Place index_zero_, unsorted_, underflow_, qid_;
  std::size_t file_ = 0;
  std::uint64_t lines_ = 0;  // of the present file
  std::uint64_t all_lines_ = 0;
  std::uint32_t max_index_ = 0;
};

// Lets workers take chunks and append batches, the latter strictly in order.
template <class Value>
class TextReader {
 public:
  TextReader(const std::vector<std::string>& paths, const ReadOptions& options)
      : options_(options), feeder_(paths, options), assembly_(paths, options) {
    rules_.labels = options.labels;
    rules_.strict = options.strict;
    rules_.base = options.index_base == IndexBase::zero ? 0 : 1;
    rules_.base_is_fixed = options.index_base != IndexBase::automatic;
    max_errors_ = options.on_bad_row ? SIZE_MAX : kMaxErrors;
  }

  Dataset read(Pool& pool, std::vector<Error>& warnings) {
    pool.run(static_cast<std::size_t>(pool.threads()), [&](std::size_t) {
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        over_ = true;
        turn_.notify_all();
        throw;
      }
    });
    if (assembly_.full()) look_for_damage();
    return assembly_.finish(rules_, pool, warnings);
  }

 private:
  // Rows of a compressed file that make no sense may be due to damage that shows only further on.
  // The file is read again, for a while, to find out: who was reading it has given up somewhere.
  void look_for_damage() {
    const std::uint64_t most = std::min(options_.max_bytes, std::uint64_t{1} << 30);
    if (!is_regular(assembly_.path())) return;
    const Result<void> found = guard([&] {
      ByteSource source(assembly_.path(), options_.stop);
      std::vector<char> sink(kChunkBytes);
      std::uint64_t bytes = source.read(sink);
      while (source.compressed() && bytes < most && bytes % sink.size() == 0) {
        const std::size_t count = source.read(sink);
        if (count == 0) break;
        bytes += count;
      }
    });
    if (!found.ok()) assembly_.stop(found.error());
  }

  void work() {
    Chunk chunk;
    RowBatch<Value> batch;
    while (true) {
      std::optional<Error> failure;
      {
        const std::lock_guard lock(feeder_mutex_);
        try {
          if (!feeder_.next(chunk)) return;
        } catch (Failure& thrown) {
          if (thrown.error.id == "run.interrupted") throw;
          failure = std::move(thrown.error);
        }
      }
      if (!failure) parse_chunk(chunk, rules_, options_, max_errors_, batch);
      std::unique_lock lock(mutex_);
      turn_.wait(lock, [&] { return over_ || appended_ == chunk.sequence; });
      if (over_) return;
      if (failure) {
        assembly_.stop(std::move(*failure));
      } else {
        assembly_.append(chunk, batch);
      }
      ++appended_;
      over_ = failure || assembly_.over();
      turn_.notify_all();
    }
  }

  const ReadOptions& options_;
  RowRules rules_;
  std::size_t max_errors_ = 0;  // of one chunk
  std::mutex feeder_mutex_;
  Feeder feeder_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable turn_;
  Assembly<Value> assembly_;
  std::uint64_t appended_ = 0;
  bool over_ = false;
};

}  // namespace

Dataset read_text(const std::vector<std::string>& paths, const ReadOptions& options,
                  std::vector<Error>& warnings) {
  Pool pool(options.threads);
  return options.precision == Precision::f32
             ? TextReader<float>(paths, options).read(pool, warnings)
             : TextReader<double>(paths, options).read(pool, warnings);
}

}  // namespace hinge
