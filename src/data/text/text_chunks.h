// Text in pieces of whole lines, on its way from the input to rows: what the reader of data sets
// (libsvm_text.cc) and that of rows as they arrive (row_reader.cc) share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "data/text/text_row.h"
#include "files/source.h"
#include "hinge/dataset.h"

namespace hinge {

constexpr std::size_t kChunkBytes = std::size_t{1} << 17;  // with its batch well within L2
constexpr const char* kLineLimit = "limit.line-bytes";     // after it no row can be read

// GlobalShape lines of one file. `text` holds `size` bytes, the last of them '\n', and kTextPadding
// more.
struct Chunk {
  Buffer<char> text;
  std::size_t size = 0;
  std::uint64_t sequence = 0;  // position among all chunks
  std::size_t file = 0;
  std::uint64_t offset = 0;   // of the first byte in its file, decompressed
  double share = 0;           // of all input, up to here; 0 when unknown
  bool unterminated = false;  // the '\n' at the end was added
  // Where the text is still to be read from, by Feeder::read(); nullptr: it is there.
  std::shared_ptr<const ByteSource> source;
};

// Hands out the input in chunks: full ones, or, if prompt, whatever whole lines there are. Calls of
// next() must not overlap.
class Feeder {
 public:
  enum class Pace : std::uint8_t { full, prompt };

  // Paths and options must outlive it. `ranges`: of each file, whole lines of it; or none, all of
  // them. Throws Failure (io.*) if a file cannot be opened.
  Feeder(const std::vector<std::string>& paths, const ReadOptions& options, Pace pace,
         std::vector<ByteRange> ranges = {});

  // False at the end. Throws Failure; after that there is nothing more, and chunk.sequence tells
  // the place of the failure. Of a plain file it may only say where the text is: read() reads it,
  // for which many threads need not wait for each other.
  bool next(Chunk& chunk);
  static void read(Chunk& chunk);

 private:
  bool advance(Chunk& chunk);
  void check_stop() const;
  void open_file();
  bool fill(Chunk& chunk);
  bool find(Chunk& chunk);
  void check_bytes(std::size_t count);
  [[noreturn]] void line_too_long() const;
  ByteRange range(std::size_t file) const { return ranges_.empty() ? ByteRange{} : ranges_[file]; }

  const std::vector<std::string>& paths_;
  const ReadOptions& options_;
  const Pace pace_;
  const std::vector<ByteRange> ranges_;  // by file, or empty
  std::size_t file_ = 0;
  std::shared_ptr<ByteSource> source_;
  std::string tail_;  // begun line, not yet handed out
  bool ended_ = false;
  std::uint64_t offset_ = 0;  // in the file, of the next chunk
  std::uint64_t sequence_ = 0;
  std::uint64_t bytes_ = 0;   // of all files, decompressed
  std::uint64_t before_ = 0;  // of the files that are done, as stored
  std::uint64_t total_ = 0;   // as stored; 0 when unknown
};

// The rows of a chunk, in place of those in `batch`. Ends early at a line that is too long, or when
// there are max_errors bad rows.
template <class Value>
void parse_chunk(const Chunk& chunk, const RowRules& rules, const ReadOptions& options,
                 std::size_t max_errors, RowBatch<Value>& batch);

// What was odd but usable, over all chunks: how often, and where first.
class Oddities {
 public:
  // `lines` come before the batch in its file.
  template <class Value>
  void merge(const RowBatch<Value>& batch, const std::string& file, std::uint64_t lines) {
    merge(index_zero_, batch.index_zero, file, lines);
    merge(unsorted_, batch.unsorted, file, lines);
    merge(underflow_, batch.underflow, file, lines);
    merge(rounded_, batch.rounded, file, lines);
    merge(qid_, batch.qid, file, lines);
  }
  bool index_zero() const { return index_zero_.count > 0; }
  bool rounded() const { return rounded_.count > 0; }
  void warn(std::vector<Error>& warnings) const;  // one a kind

 private:
  struct Place {
    std::uint64_t count = 0;
    std::string file;
    std::uint64_t line = 0, column = 0;
  };
  static void merge(Place& place, const Oddity& found, const std::string& file,
                    std::uint64_t lines);

  Place index_zero_, unsorted_, underflow_, rounded_, qid_;
};

}  // namespace hinge
