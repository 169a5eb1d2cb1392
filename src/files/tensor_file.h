// Our one container: safetensors. 8 bytes header length, a JSON header, then contiguous
// little-endian arrays. Every array and the header carry an XXH3 checksum in the metadata.
// docs/formats.md has the bytes. Writing is deterministic; reading is strict: of what hinge would
// not write, only unknown metadata is passed over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "files/file_bytes.h"

namespace hinge {

enum class DType : std::uint8_t { u8, u32, i64, u64, f32, f64 };

struct Tensor {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

// What the header calls a type ("F64") and how many bytes a number of it takes; and back, nullopt:
// there is no such type.
std::string_view name_of(DType dtype);
std::uint64_t width_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
}

template <class T>
Tensor tensor(std::string name, std::vector<std::uint64_t> shape, std::span<const T> values) {
  return {std::move(name), dtype_of<T>(), std::move(shape), std::as_bytes(values)};
}

// Whether a file that begins with these bytes (9 are enough) may be a container.
bool looks_like_tensor_file(std::string_view head);
// Whether it may be one of this format ("hinge.model"), which stands in the first 4 KiB.
bool looks_like_tensor_file(std::string_view head, std::string_view format);

using Metadata = std::map<std::string, std::string>;

struct TensorFileOptions {
  const std::atomic<bool>* stop = nullptr;
  std::function<void()> before =
      {};                          // called when all bytes are on the disk, before they are named
  bool only_owner_writes = false;  // as of OutputFile
};

// Tensors are laid out wide types first, then by name. Checksums are added to the metadata. Throws
// Failure (io.*), and Interrupted while nothing has happened yet to what was there.
void write_tensor_file(const std::string& path, std::vector<Tensor> tensors, Metadata metadata,
                       const TensorFileOptions& options = {});

// The bytes of that file.
std::string tensor_file_bytes(std::vector<Tensor> tensors, Metadata metadata);

class TensorFile {
 public:
  // Reads and checks everything. `kind` ("model") starts the ids of its errors: model.truncated,
  // model.checksum, ... Throws Failure.
  static TensorFile read(const std::string& path, std::string_view kind);

  // The two halves of read(), for a file that may be something else: refuses a file by its first
  // bytes, and takes the bytes of the whole. `path` is for messages.
  static void check_head(std::span<const std::byte> head, const std::string& path,
                         std::string_view kind);
  static TensorFile parse(FileBytes bytes, const std::string& path, std::string_view kind);

  // Maps the file and checks its header and layout; the arrays are for the caller to check().
  static TensorFile map(const std::string& path, std::string_view kind);
  static TensorFile map(FileBytes bytes, const std::string& path, std::string_view kind);

  // Goes through an array once: compares its checksum, and calls inspect(end) whenever the bytes
  // before `end` have been seen, while they are still in the cache. Arrays may be checked in
  // parallel.
  void check(std::string_view name, const std::function<void(std::uint64_t end)>& inspect) const;
  void check_unchanged() const { bytes_.check_unchanged(); }  // io.changed

  const Metadata& metadata() const { return metadata_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }  // in file order
  const std::string& field(const std::string& key) const;  // fails with KIND.header if missing
  bool has_field(const std::string& key) const { return metadata_.contains(key); }
  bool has(std::string_view name) const;  // an array

  // The array of that name; fails with KIND.header unless it has this type and shape.
  template <class T>
  std::span<const T> get(std::string_view name, std::span<const std::uint64_t> shape) const {
    const std::span<const std::byte> bytes = find(name, dtype_of<T>(), shape);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  std::span<const std::uint64_t> shape(std::string_view name) const;
  DType dtype(std::string_view name) const;

  // Fails with KIND.header if there are arrays of other names, but for those that begin with
  // `prefix` where one is given.
  void allow_only(std::initializer_list<std::string_view> names,
                  std::string_view prefix = {}) const;

  [[noreturn]] void reject(std::string_view problem, std::string message) const;

 private:
  void open();
  void parse_header(std::string_view header, std::uint64_t data_bytes);
  void check_header_sum(std::string_view header) const;
  [[noreturn]] void bad_checksum(const Tensor& tensor) const;
  const Tensor& named(std::string_view name) const;
  std::span<const std::byte> find(std::string_view name, DType dtype,
                                  std::span<const std::uint64_t> shape) const;

  std::string path_;
  std::string kind_;
  FileBytes bytes_;
  Metadata metadata_;
  std::vector<Tensor> tensors_;  // in file order
};

}  // namespace hinge
