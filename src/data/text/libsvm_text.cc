// Reads libsvm text with several threads.
//
// One thread at a time takes the next chunk of whole lines from the input (text_chunks.h), so
// files, pipes and anything else that yields bytes in order are read the same way; of a plain file
// it only takes the place, and all read at once. Chunks are
// parsed in parallel (text_row.h) into small batches that stay in the cache, and get their places
// in the final arrays in their order (Assembly); then they are copied there in parallel. Nothing
// depends on the number of threads: not the arrays, not which errors are reported, not their line
// numbers. Decompressing is the taker's work, so that it overlaps with the parsing of what others
// have taken.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/pool.h"
#include "data/columns.h"
#include "data/dataset_builder.h"
#include "data/text/text_chunks.h"

namespace hinge {
namespace {

constexpr std::size_t kMaxErrors = 10;

// Where a batch belongs in the final arrays.
template <class Value>
struct PlaceOfBatch {
  std::uint64_t* offsets = nullptr;
  std::uint32_t* columns = nullptr;  // nullptr: all rows have the same
  Value* values = nullptr;
  std::int64_t* labels = nullptr;
  std::uint64_t before = 0;  // nonzeros

  void take(const RowBatch<Value>& batch) const {
    std::ranges::transform(batch.ends, offsets, [&](std::uint64_t end) { return before + end; });
    if (columns != nullptr) std::copy_n(batch.columns.data(), batch.nonzeros, columns);
    std::copy_n(batch.values.data(), batch.nonzeros, values);
    std::ranges::copy(batch.labels, labels);
  }
};

// Receives batches in the order of their chunks and makes the final arrays.
template <class Value>
class Assembly {
 public:
  Assembly(const std::vector<std::string>& paths, const ReadOptions& options,
           std::vector<ByteRange> ranges)
      : paths_(paths), options_(options), ranges_(std::move(ranges)) {
    constexpr std::uint64_t kZero = 0;
    arrays_.offsets.append(&kZero, 1);
  }

  // Whether the arrays stay where they are when this batch comes.
  bool fits(const RowBatch<Value>& batch) const {
    return arrays_.offsets.fits(batch.ends.size()) && arrays_.labels.fits(batch.labels.size()) &&
           arrays_.values.fits(batch.nonzeros) && (alike_ || arrays_.columns.fits(batch.nonzeros));
  }

  // The place of its rows, which are for the caller to copy; none if nothing will be made of them.
  std::optional<PlaceOfBatch<Value>> append(const Chunk& chunk, RowBatch<Value>& batch) {
    if (chunk.file != file_) {
      file_ = chunk.file;
      lines_ = 0;
      counted_ = false;
    }
    if (!batch.errors.empty() || batch.odd()) count_lines_before();
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
    oddities_.merge(batch, name(), lines_);
    lines_ += batch.lines;
    all_lines_ += batch.lines;
    if (!errors_.empty()) return std::nullopt;

    if (arrays_.labels.size() == 0) reserve(chunk, batch);
    settle_columns(batch);
    check_memory(chunk.share, arrays_.labels.size() + batch.labels.size(),
                 arrays_.columns.size() + (alike_ ? 0 : batch.nonzeros),
                 arrays_.values.size() + batch.nonzeros);
    max_index_ = std::max(max_index_, batch.max_index);
    const std::uint64_t before = arrays_.values.size();
    return PlaceOfBatch<Value>{.offsets = arrays_.offsets.extend(batch.ends.size()),
                               .columns = alike_ ? nullptr : arrays_.columns.extend(batch.nonzeros),
                               .values = arrays_.values.extend(batch.nonzeros),
                               .labels = arrays_.labels.extend(batch.labels.size()),
                               .before = before};
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
    if (base == 1 && oddities_.index_zero()) {
      base = 0;
      const std::size_t count = arrays_.columns.size();
      const std::size_t step = std::size_t{1} << 20;
      pool.run((count + step - 1) / step, [&](std::size_t block) {
        const std::size_t end = std::min(count, (block + 1) * step);
        for (std::size_t k = block * step; k < end; ++k) ++arrays_.columns[k];
      });
    }
    oddities_.warn(warnings);
    const std::uint64_t features =
        arrays_.values.size() == 0 ? 0 : std::uint64_t{max_index_} + 1 - base;
    // Columns ascend, so that as many as there are must be all.
    const bool full = alike_ && features > 0 && arrays_.columns.size() == features;
    if (alike_ && !full) spread();
    arrays_.offsets.shrink();
    arrays_.columns.shrink();
    arrays_.values.shrink();
    arrays_.labels.shrink();
    if (rules.real_labels) settle_labels();
    Dataset data =
        DatasetBuilder::build(std::move(arrays_), features, static_cast<int>(base), full);
    if (!oddities_.rounded()) {  // of which one warning is enough
      if (std::optional<Error> lost = look_for_lost_digits(data)) {
        warnings.push_back(*std::move(lost));
      }
    }
    return data;
  }

 private:
  // As long as all rows have the same columns, these are kept once.
  void settle_columns(const RowBatch<Value>& batch) {
    std::uint64_t from = 0;
    if (arrays_.labels.size() == 0 && !batch.ends.empty()) {
      arrays_.columns.append(batch.columns.data(), batch.ends[0]);
    }
    for (std::size_t i = 0; i < batch.ends.size() && alike_; from = batch.ends[i++]) {
      const std::uint64_t size = arrays_.columns.size();
      alike_ = batch.ends[i] - from == size &&
               std::equal(arrays_.columns.data(), arrays_.columns.data() + size,
                          batch.columns.data() + from);
      if (!alike_) spread();
    }
  }

  // Labels that were read as doubles: where all are whole numbers they are kept as such, as they
  // would have been by who wants classes.
  void settle_labels() {
    constexpr double kMost = 0x1p53;  // beyond which doubles leave out whole numbers
    bool whole = true;
    for (const std::int64_t bits : arrays_.labels.span()) {
      const auto label = std::bit_cast<double>(bits);
      whole = whole && std::abs(label) <= kMost && label == std::trunc(label);
    }
    if (whole) {
      for (std::int64_t& label : arrays_.labels.span()) {
        label = static_cast<std::int64_t>(std::bit_cast<double>(label));
      }
      return;
    }
    arrays_.targets.resize(arrays_.labels.size());
    std::ranges::transform(arrays_.labels.span(), arrays_.targets.data(),
                           [](std::int64_t bits) { return std::bit_cast<double>(bits); });
    arrays_.labels = Buffer<std::int64_t>();
  }

  // Gives every row so far its own columns.
  void spread() {
    alike_ = false;
    const std::uint64_t rows = arrays_.labels.size(), size = arrays_.columns.size();
    const std::vector<std::uint32_t> once(arrays_.columns.data(), arrays_.columns.data() + size);
    check_memory(0, rows, rows * size, arrays_.values.size());
    arrays_.columns.resize(0);
    try {
      arrays_.columns.reserve(room_);
    } catch (const std::bad_alloc&) {
    }
    for (std::uint64_t i = 0; i < rows; ++i) arrays_.columns.append(once.data(), size);
  }

  // Makes room for as much as there will be if all chunks are like the first, and a little more:
  // arrays that grow move. It may be far from the truth; where there is no such room they grow.
  void reserve(const Chunk& chunk, const RowBatch<Value>& batch) {
    if (chunk.share <= 0) return;
    const auto whole = [&](std::size_t part) {
      return static_cast<std::size_t>(1.05 * static_cast<double>(part) / chunk.share) + 1;
    };
    try {
      arrays_.offsets.reserve(whole(batch.labels.size()));
      arrays_.labels.reserve(whole(batch.labels.size()));
      room_ = whole(batch.nonzeros);
      arrays_.values.reserve(whole(batch.nonzeros));
    } catch (const std::bad_alloc&) {
    }
  }

  // Of a part of a file nobody knows how many lines come before it, until a line must be named.
  void count_lines_before() {
    if (ranges_.empty() || std::exchange(counted_, true) || ranges_[file_].begin == 0) return;
    ByteSource before(paths_[file_], options_.stop, {0, ranges_[file_].begin});
    std::vector<char> bytes(kChunkBytes);
    while (const std::size_t count = before.read(bytes)) {
      lines_ += static_cast<std::uint64_t>(std::count(bytes.data(), bytes.data() + count, '\n'));
    }
  }

  // Whether there may be so much; `share` of the input is read then, or 0. In memory a row takes an
  // offset and a label besides its entries.
  void check_memory(double share, std::uint64_t rows, std::uint64_t columns,
                    std::uint64_t values) const {
    const std::uint64_t bytes = rows * (sizeof(std::uint64_t) + sizeof(std::int64_t)) +
                                columns * sizeof(std::uint32_t) + values * sizeof(Value);
    if (options_.memory == 0 || bytes <= options_.memory) return;
    const double need = static_cast<double>(bytes) / (share > 0 ? share : 1.0);
    fail("memory.limit", fmt::format("the data needs {} {:.3g} MiB, --memory allows {:.3g} MiB",
                                     share > 0 ? "about" : "more than", need / 0x1p20,
                                     static_cast<double>(options_.memory) / 0x1p20));
  }

  std::string name() const { return paths_[file_] == "-" ? "<stdin>" : paths_[file_]; }

  const std::vector<std::string>& paths_;
  const ReadOptions& options_;
  DatasetArrays<Value> arrays_;
  std::vector<Error> errors_;
  bool limit_hit_ = false;
  Oddities oddities_;
  const std::vector<ByteRange> ranges_;
  std::size_t file_ = 0;
  bool counted_ = false;     // the lines before the part of it that is read
  std::uint64_t lines_ = 0;  // of the present file
  std::uint64_t all_lines_ = 0;
  std::uint32_t max_index_ = 0;
  bool alike_ = true;       // all rows have the columns that arrays_.columns has once
  std::uint64_t room_ = 0;  // for so many columns, if each row has its own
};

// Lets workers take chunks and give batches their places, the latter strictly in order. Who comes
// too early leaves the batch for the one whose turn it is, and goes on: as many may wait as there
// are workers. Whoever comes by copies what has a place.
template <class Value>
class TextReader {
 public:
  TextReader(const std::vector<std::string>& paths, const ReadOptions& options,
             const std::vector<ByteRange>& ranges)
      : options_(options),
        feeder_(paths, options, Feeder::Pace::full, ranges),
        assembly_(paths, options, ranges) {
    rules_.labels = options.labels;
    rules_.real_labels = options.labels && options.real_labels;
    rules_.strict = options.strict;
    rules_.base = options.index_base == IndexBase::zero ? 0 : 1;
    rules_.base_is_fixed = options.index_base != IndexBase::automatic;
    max_errors_ = options.on_bad_row ? SIZE_MAX : kMaxErrors;
  }

  Dataset read(Pool& pool, std::vector<Error>& warnings) {
    most_waiting_ = static_cast<std::size_t>(pool.threads());
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
  struct Piece {
    Chunk chunk;
    RowBatch<Value> batch;
    std::optional<Error> failure;  // of the input, in place of a batch
    std::optional<PlaceOfBatch<Value>> place;
  };

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
    std::unique_ptr<Piece> piece;
    while (true) {
      if (!piece) piece = std::make_unique<Piece>();
      piece->failure.reset();
      {
        const std::lock_guard lock(feeder_mutex_);
        try {
          if (!feeder_.next(piece->chunk)) return;
        } catch (Failure& thrown) {
          if (thrown.error.id == "run.interrupted") throw;
          piece->failure = std::move(thrown.error);
        }
      }
      if (!piece->failure) {
        try {
          Feeder::read(piece->chunk);
        } catch (Failure& thrown) {
          piece->failure = std::move(thrown.error);
        }
      }
      if (!piece->failure) parse_chunk(piece->chunk, rules_, options_, max_errors_, piece->batch);
      std::unique_lock lock(mutex_);
      waiting_.emplace(piece->chunk.sequence, std::move(piece));
      append_in_order(lock);
      while (!placed_.empty()) copy_one(lock);
      turn_.wait(lock, [&] { return over_ || waiting_.size() < most_waiting_; });
      if (over_) return;
      if (!idle_.empty()) {
        piece = std::move(idle_.back());
        idle_.pop_back();
      }
    }
  }

  void append_in_order(std::unique_lock<std::mutex>& lock) {
    while (!over_ && !waiting_.empty() && waiting_.begin()->first == appended_) {
      std::unique_ptr<Piece> piece = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      if (piece->failure) {
        assembly_.stop(std::move(*piece->failure));
        over_ = true;
      } else {
        // Arrays may move only while nobody copies. Nobody else appends: it is this one's turn.
        while (!assembly_.fits(piece->batch) && copying_ > 0) {
          if (placed_.empty()) {
            turn_.wait(lock, [&] { return copying_ == 0 || !placed_.empty(); });
          } else {
            copy_one(lock);
          }
        }
        piece->place = assembly_.append(piece->chunk, piece->batch);
        over_ = over_ || assembly_.over();
      }
      ++appended_;
      if (piece->place) {
        ++copying_;
        placed_.push_back(std::move(piece));
      } else {
        idle_.push_back(std::move(piece));
      }
    }
    turn_.notify_all();
  }

  // One of those that have a place.
  void copy_one(std::unique_lock<std::mutex>& lock) {
    std::unique_ptr<Piece> piece = std::move(placed_.back());
    placed_.pop_back();
    lock.unlock();
    piece->place->take(piece->batch);
    piece->place.reset();
    lock.lock();
    idle_.push_back(std::move(piece));
    if (--copying_ == 0) turn_.notify_all();
  }

  const ReadOptions& options_;
  RowRules rules_;
  std::size_t max_errors_ = 0;  // of one chunk
  std::mutex feeder_mutex_;
  Feeder feeder_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable turn_;
  Assembly<Value> assembly_;
  std::map<std::uint64_t, std::unique_ptr<Piece>> waiting_;  // by place, for those before them
  std::size_t most_waiting_ = 1;
  std::vector<std::unique_ptr<Piece>> placed_;  // to be copied
  std::size_t copying_ = 0;                     // these, and those that are being copied
  std::vector<std::unique_ptr<Piece>> idle_;
  std::uint64_t appended_ = 0;
  bool over_ = false;
};

}  // namespace

Dataset read_text(const std::vector<std::string>& paths, const ReadOptions& options,
                  std::vector<Error>& warnings, std::vector<ByteRange> ranges) {
  Pool pool(options.threads);
  return options.precision == Precision::f32
             ? TextReader<float>(paths, options, ranges).read(pool, warnings)
             : TextReader<double>(paths, options, ranges).read(pool, warnings);
}

}  // namespace hinge
