// What the name of a file stands for, and all bytes of the file, read or mapped.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/stop.h"

struct stat;

namespace hinge {

std::string folder_of(const std::string& path);

// Follows symbolic links, also to files that do not exist yet, so that a model that is a link stays
// one.
std::string resolve_links(std::string path);

// /dev/stdout and its like name an open descriptor; whatever file is behind it belongs to whoever
// opened it and is not to be replaced. -1: not such a name.
int descriptor_behind(std::string path);

// What identifies the content of a regular file without reading it.
struct FileVersion {
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds
  bool operator==(const FileVersion&) const = default;
};
FileVersion version_of(const struct stat& status);

// Who can have written a file.
struct FileWriters {
  unsigned owner = 0;   // the user it belongs to
  bool others = false;  // its group or everybody may write to it
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes a regular file begins with, as many as fit `into`; nothing if it is none or cannot be
// opened. (Looking into a pipe would take bytes out of it.) Takes no memory: what a file is must
// not depend on it. Throws Failure (io.read).
std::string_view first_bytes(const std::string& path, std::span<char> into);

class FileBytes {
 public:
  FileBytes() = default;
  ~FileBytes();
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // A regular file, a pipe, or standard input ("-"), to its end. `check_head` sees the first bytes
  // (up to 1 MiB) and may throw before the rest is read. Throws Failure (io.*), and Interrupted
  // while a pipe has nothing to say.
  static FileBytes read(const std::string& path,
                        const std::function<void(std::span<const std::byte>)>& check_head,
                        const StopToken& stop = StopToken());

  // A regular file without reading it; where mapping is not possible it is read. Whoever uses the
  // bytes must live with SIGBUS if another process cuts the file short. Throws Failure (io.*).
  static FileBytes map(const std::string& path);

  // Bytes that came from elsewhere, copied.
  static FileBytes copy(std::span<const std::byte> bytes);

  std::span<const std::byte> span() const { return bytes_; }

  // Of the file that was opened, whatever has its name by now.
  const FileWriters& writers() const { return writers_; }

  // Throws Failure (io.changed) unless a mapped file is what it was when it was mapped.
  void check_unchanged() const;

 private:
  void swap(FileBytes& other) noexcept;

  std::string path_;
  std::span<const std::byte> bytes_;
  Buffer<std::byte> owned_;  // read
  int fd_ = -1;              // mapped
  FileVersion version_;
  FileWriters writers_;
};

}  // namespace hinge
