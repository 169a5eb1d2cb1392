// The container: what is read lies in the file and comes back when it is written and read again.
#include "base/error.h"
#include "container_input.h"
#include "files/tensor_file.h"
#include "fuzz.h"

namespace hinge::fuzz {
namespace {

Result<TensorFile> read(std::string_view bytes) {
  const MemoryFile file(bytes);
  return guard([&] { return TensorFile::read(file.path(), "model"); });
}

std::string_view text_of(const Tensor& t) {
  return {reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()};
}

void require_arrays(const TensorFile& file, std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length + length);
  for (const Tensor& t : file.tensors()) {
    std::uint64_t size = width_of(t.dtype);
    for (const std::uint64_t extent : t.shape) size *= extent;
    require(size == t.bytes.size(), "a shape that is not the size");
    require(reinterpret_cast<std::uintptr_t>(t.bytes.data()) % width_of(t.dtype) == 0,
            "an array that is not aligned");
    require(bytes.starts_with(text_of(t)), "an array that is not in the file");
    bytes.remove_prefix(t.bytes.size());
  }
  require(bytes.empty(), "bytes that belong to no array");
}

std::string write(const TensorFile& file) {
  return written([&](const std::string& path) {
    const Result<void> done =
        guard([&] { write_tensor_file(path, file.tensors(), file.metadata()); });
    require(done.ok(), "not written: " + (done.ok() ? "" : to_string(done.error())));
  });
}

void require_same(const TensorFile& a, const TensorFile& b) {
  Metadata ours = a.metadata(), theirs = b.metadata();
  ours.erase("checksum.header");
  theirs.erase("checksum.header");
  require(ours == theirs, "other metadata when written and read again");
  require(a.tensors().size() == b.tensors().size(), "another number of arrays");
  for (const Tensor& t : a.tensors()) {
    const auto found = std::ranges::find(b.tensors(), t.name, &Tensor::name);
    require(found != b.tensors().end() && found->dtype == t.dtype && found->shape == t.shape &&
                text_of(*found) == text_of(t),
            "another array when written and read again");
  }
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const hinge::Result<hinge::TensorFile> file = read(bytes);
  if (!file.ok()) {
    require_error(file.error(), {80});
    return 0;
  }
  require_arrays(*file, bytes);
  const std::string first = write(*file);
  const hinge::Result<hinge::TensorFile> again = read(first);
  require(again.ok(), "not read again: " + (again.ok() ? "" : to_string(again.error())));
  require_same(*file, *again);
  require(write(*again) == first, "other bytes when written once more");
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_container(data, size, max_size, seed);
}
