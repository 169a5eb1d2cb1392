// The binary data set: what is mapped holds together and is the same when saved and mapped again,
// also as text.
#include "container_input.h"
#include "fuzz.h"
#include "hinge/dataset.h"

namespace hinge::fuzz {
namespace {

Result<Dataset> map(const std::string& path, const ReadOptions& options) {
  std::vector<Error> warnings;
  return read_dataset(path, options, warnings);
}

std::string save(const Dataset& data, DataFormat format) {
  return written([&](const std::string& path) {
    const Result<void> done = save_dataset(data, path, {.format = format, .threads = 1});
    require(done.ok(), "not saved: " + (done.ok() ? "" : to_string(done.error())));
  });
}

void require_same_text(const Dataset& data) {
  if (!data.weights().empty() || data.nonzeros() == 0) return;
  if (data.label_kind() == LabelKind::names) return;  // for which text has no place
  const MemoryFile text(save(data, DataFormat::text));
  if (data.label_kind() == LabelKind::targets) return;  // which are not read from text
  const Result<Dataset> read =
      map(text.path(), {.precision = data.precision(),
                        .index_base = data.index_base() == 0 ? IndexBase::zero : IndexBase::one,
                        .threads = 1});
  require(read.ok(), "its text is not read: " + (read.ok() ? "" : to_string(read.error())));
  require(std::ranges::equal(read->labels(), data.labels()), "other labels in its text");
  require(read->nonzeros() <= data.nonzeros(), "more nonzeros in its text");  // zeros are dropped
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  // Other bytes are text, which has targets of its own.
  if (!hinge::looks_like_dataset(file.path())) return -1;
  const hinge::ReadOptions options = {.threads = 1};
  const hinge::Result<hinge::Dataset> read = map(file.path(), options);
  if (!read.ok()) {
    require_error(read.error(), {80});
    return 0;
  }
  require_dataset(*read);
  const MemoryFile again(save(*read, hinge::DataFormat::binary));
  const hinge::Result<hinge::Dataset> same = map(again.path(), options);
  require(same.ok(), "not mapped again: " + (same.ok() ? "" : to_string(same.error())));
  require_same(*read, *same);
  require_same_text(*read);
  const hinge::Result<hinge::Dataset> zero =
      map(file.path(), {.index_base = hinge::IndexBase::zero, .threads = 1});
  require(zero.ok() && zero->nonzeros() == read->nonzeros(), "cannot be counted from 0");
  require_dataset(*zero);
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_container(data, size, max_size, seed);
}
