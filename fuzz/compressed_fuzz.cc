// Compressed text: any stream is decoded or refused with an id of the catalogue, the same for one
// thread and for two, and the damage it may have is told before the rows it spoils.
#include "files/decoder.h"
#include "fuzz.h"
#include "hinge/dataset.h"

namespace hinge::fuzz {
namespace {

Result<Dataset> read(const std::string& path, int threads) {
  std::vector<Error> warnings;
  return read_dataset(path, {.threads = threads, .max_line_bytes = 1 << 20, .max_bytes = 1 << 22},
                      warnings);
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (hinge::make_decoder(bytes) == nullptr) return -1;  // text has targets of its own
  const MemoryFile file(bytes);
  const hinge::Result<hinge::Dataset> one = read(file.path(), 1);
  const hinge::Result<hinge::Dataset> two = read(file.path(), 2);
  require(one.ok() == two.ok(), "read by one thread or by two only");
  if (!one.ok()) {
    require_error(one.error(), {65, 81});
    require(to_string(one.error()) == to_string(two.error()), "another error");
    return 0;
  }
  require_dataset_of_text(*one);
  require_same(*one, *two);
  return 0;
}
