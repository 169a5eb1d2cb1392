// The one way hinge writes a file. A reader of `path` sees the old file or the whole new one, never
// a part of it: bytes go to a temporary file in the same folder, which is synced and then renamed.
// What a process that was killed leaves of one, NAME.tmp. and 16 hexadecimal digits, the next one
// that writes NAME removes (on local file systems, whose locks tell who is alive). "-", pipes and
// devices cannot be renamed onto; they are written as streams with checked errors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hinge/result.h"

namespace hinge {

class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile();  // without commit(): the temporary file is removed, the old file stays
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;

  // Fails with io.create or io.permission. A named pipe is waited for until somebody reads it, or a
  // signal comes that ends such waits (run.interrupted); so it is when a reader takes no more.
  static Result<OutputFile> create(const std::string& path);

  // Before anything is written: neither its group nor others shall be able to write to the file,
  // whatever the umask says or the file had before.
  void only_owner_writes() { only_owner_writes_ = true; }

  // Appends; buffered. Fails with io.write; after a failure only destruction makes sense.
  Result<void> write(std::string_view bytes);

  // Hands on what is buffered: whoever reads the other end of a pipe shall not wait for more.
  // Fails with io.write.
  Result<void> flush();

  // Flushes and syncs, so that commit() only has to rename: for several files that belong together,
  // sync all, then commit all. Fails with io.write.
  Result<void> sync();

  // Syncs and renames. Nothing is visible under `path` before that. Fails with io.write; or with
  // io.sync when the new file is in place, but a power cut may still undo that.
  Result<void> commit();

  const std::string& path() const { return path_; }

 private:
  Result<void> send(std::string_view bytes);
  void abandon() noexcept;

  std::string path_;       // as the user named it
  std::string target_;     // what is renamed onto (symbolic links followed)
  std::string folder_;     // of target_
  std::string temporary_;  // empty for a stream
  std::string buffer_;
  std::uint64_t written_ = 0;
  int fd_ = -1;
  bool only_owner_writes_ = false;
  int held_ = -1;  // the same file after sync(): locked, so that nobody takes it for a leftover
  bool pipe_ = false;
};

// Whether create(path) would succeed, without leaving anything behind. Lets a long run fail before
// it starts rather than after hours of work.
Result<void> check_output(const std::string& path);

// Whether two paths name the same file, also one that does not exist yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace hinge
