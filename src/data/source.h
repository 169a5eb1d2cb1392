// Where bytes come from: a file, a pipe, or standard input, read front to back.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hinge {

// The files behind a DATA argument: itself ("-" and existing paths), or what a pattern matches, in
// name order. Throws Failure (io.open) when nothing matches.
std::vector<std::string> expand_source(const std::string& source);

class ByteSource {
 public:
  // Throws Failure (io.*). `stop` is asked while a pipe has nothing to say (run.interrupted).
  explicit ByteSource(const std::string& path, const std::atomic<bool>* stop = nullptr);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Reads up to into.size() bytes; fewer only at the end, 0 after it. At the end of a regular file
  // checks that it has not changed since it was opened. Throws Failure (io.read, io.changed).
  std::size_t read(std::span<char> into);

  std::uint64_t size() const { return size_; }  // 0 when unknown
  const std::string& name() const { return name_; }

 private:
  void check_unchanged() const;
  void wait_for_bytes() const;

  std::string name_;  // as messages show it
  const std::atomic<bool>* stop_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t read_ = 0;
  bool regular_ = false;
  std::int64_t modified_[2] = {0, 0};  // seconds, nanoseconds
};

}  // namespace hinge
