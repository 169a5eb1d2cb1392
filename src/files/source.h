// Where bytes come from: a file, a pipe, or standard input, read front to back, plain or
// compressed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/decoder.h"
#include "files/file_bytes.h"
#include "hinge/dataset.h"

namespace hinge {

// Appended to the name of a text file, names its cache.
constexpr std::string_view kCacheSuffix = ".cache";

// As source_files() (hinge/dataset.h). Throws Failure.
std::vector<std::string> expand_source(const DataSource& source);

bool is_regular(const std::string& path);  // "-" is not

// Refuses what begins like a file of another kind (data.encoding). Throws Failure.
void check_is_text(std::string_view head, const std::string& name);

// A part of a plain file: bytes begin .. end - 1.
struct ByteRange {
  std::uint64_t begin = 0, end = UINT64_MAX;
  bool whole() const { return begin == 0 && end == UINT64_MAX; }
};

class ByteSource {
 public:
  // Throws Failure (io.*). `stop` is asked while a pipe has nothing to say (run.interrupted). Only
  // of a regular file there can be a part; it is read as it is, never decompressed.
  explicit ByteSource(const std::string& path, const std::atomic<bool>* stop = nullptr,
                      ByteRange range = {});
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Reads up to into.size() bytes, decompressed; fewer only at the end, 0 after it. At the end of a
  // regular file checks that it has not changed since it was opened. Throws Failure (io.read,
  // io.changed; data.gzip and its like for a damaged stream).
  std::size_t read(std::span<char> into);

  // The same without waiting for more than one byte: what a pipe has, as far as it can be
  // decompressed.
  std::size_t read_some(std::span<char> into);

  // Of a regular file whose bytes are as stored and of which some have been read: any place of it,
  // by any thread, all of `into`; and where read() goes on. Both count from the beginning of the
  // file.
  bool seekable() const { return regular_ && looked_ && !decoder_; }
  void read_at(std::uint64_t offset, std::span<char> into) const;
  void seek(std::uint64_t offset);

  FileVersion version() const { return version_; }   // of a regular file
  std::int64_t changed() const { return changed_; }  // likewise, its change time (ctime)
  std::uint64_t size() const {                       // as stored, of its part; 0 when unknown
    return std::min(version_.size, range_.end) - std::min(version_.size, range_.begin);
  }
  std::uint64_t position() const { return read_ - in_.size(); }  // bytes used, as stored
  bool compressed() const { return decoder_ != nullptr; }        // known after the first read()
  const std::string& name() const { return name_; }

 private:
  enum class Until : std::uint8_t { full, some };
  std::size_t read(std::span<char> into, Until until);
  void look(Until until);
  std::size_t read_plain(std::span<char> into, Until until);
  std::size_t decode(std::span<char> into, Until until);
  std::size_t read_raw(std::span<char> into, Until until, std::size_t have = 0);
  void check_unchanged() const;
  bool ready() const;
  void wait_for_bytes() const;
  [[noreturn]] void interrupted() const;
  [[noreturn]] void changed_while_read() const;
  [[noreturn]] void damaged(std::string_view what) const;

  std::string name_;  // as messages show it
  const std::atomic<bool>* stop_;
  int fd_ = -1;
  bool regular_ = false;
  ByteRange range_;
  FileVersion version_;
  std::int64_t changed_ = 0;  // nanoseconds
  std::uint64_t read_ = 0;    // bytes taken from the descriptor
  bool looked_ = false;
  bool ended_ = false;  // the descriptor has no more
  std::vector<char> buffer_;
  std::span<const char> in_;  // part of buffer_ not used yet
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace hinge
