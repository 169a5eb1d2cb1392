// What the fuzz targets share. A target is one file NAME_fuzz.cc: LLVMFuzzerTestOneInput, and
// LLVMFuzzerCustomMutator if its input has a structure (text_input.h, container_input.h).
//
// Targets promise what the headers of include/hinge promise: any bytes are read or refused with an
// id of the catalogue, and what is read holds together. Whatever breaks a promise ends the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "hinge/dataset.h"
#include "hinge/result.h"

extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
}

namespace hinge::fuzz {

// Prints `what` and aborts unless `condition` holds.
void require(bool condition, std::string_view what);

// Requires an error of the catalogue with one of these exit codes, said in printable ASCII.
void require_error(const Error& error, std::initializer_list<int> exit_codes);

// Requires what hinge/dataset.h says of rows read from a file.
void require_dataset(const Dataset& data);

// Requires the same rows, labels and weights, to the last bit.
void require_same(const Dataset& a, const Dataset& b);

// Takes values off the front of the input; what is missing at its end counts as zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof value, left_.size());
    if (count > 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  bool empty() const { return left_.empty(); }
  std::size_t size() const { return left_.size(); }
  std::string_view rest() const {
    return {reinterpret_cast<const char*>(left_.data()), left_.size()};
  }

 private:
  std::span<const std::uint8_t> left_;
};

// A regular file with these bytes that lies in memory and has a path while the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// The bytes that `write` leaves in the file whose path it is given.
std::string written(const std::function<void(const std::string& path)>& write);

// LLVMFuzzerMutate on text.
void mutate(std::string& text, std::size_t max_size);

// What a custom mutator returns: the new bytes are in `data`.
std::size_t give(std::string_view bytes, std::uint8_t* data, std::size_t max_size);

}  // namespace hinge::fuzz
