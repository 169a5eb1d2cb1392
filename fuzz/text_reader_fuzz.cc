// The text reader: a data set that holds together, or errors that lie inside the file; the same for
// two threads. (Starting threads takes longer than all the rest, so only where there is work for
// two.)
#include "files/decoder.h"
#include "fuzz.h"
#include "text_input.h"

namespace hinge::fuzz {
namespace {

struct Outcome {
  Result<Dataset> data;
  std::vector<Error> warnings;
};

Outcome read(const std::string& path, ReadOptions options, int threads) {
  options.threads = threads;
  std::vector<Error> warnings;
  Result<Dataset> data = read_dataset(path, options, warnings);
  return {std::move(data), std::move(warnings)};
}

void require_place(const Error& error, std::string_view text) {
  if (error.line == 0) return;
  std::size_t begin = 0;
  for (std::uint64_t line = 1; line < error.line; ++line) {
    const std::size_t newline = text.find('\n', begin);
    require(newline < text.size(), "a line beyond the file: " + to_string(error));
    begin = newline + 1;
  }
  if (error.line == 1 && text.starts_with("\xef\xbb\xbf")) begin += 3;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  require(error.column >= 1 && error.column <= end - begin + 1,
          "a column beyond the line: " + to_string(error));
  require(error.offset == begin + error.column - 1, "another offset: " + to_string(error));
  require(error.caret <= error.excerpt.size(), "a caret beyond the excerpt");
}

void require_outcome(const Outcome& out, const TextInput& input) {
  for (const Error& warning : out.warnings) require_error(warning, {0});
  if (!out.data.ok()) {
    std::vector<Error> errors = out.data.error().more;
    errors.insert(errors.begin(), out.data.error());
    for (const Error& error : errors) {
      require_error(error, {65, 81});
      require_place(error, input.text);
    }
    return;
  }
  require_dataset_of_text(*out.data);
  const IndexBase base = input.options.index_base;
  require(out.data->precision() == input.options.precision, "another precision than asked for");
  require(
      base == IndexBase::automatic || out.data->index_base() == (base == IndexBase::one ? 1 : 0),
      "another index base than asked for");
}

void require_same(const Outcome& one, const Outcome& two) {
  require(one.data.ok() == two.data.ok(), "read by one thread or by two only");
  require(one.warnings.size() == two.warnings.size(), "other warnings with two threads");
  for (std::size_t i = 0; i < one.warnings.size(); ++i) {
    require(to_string(one.warnings[i]) == to_string(two.warnings[i]), "another warning");
  }
  if (one.data.ok()) {
    fuzz::require_same(*one.data, *two.data);
  } else {
    require(to_string(one.data.error()) == to_string(two.data.error()), "another error");
  }
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  TextInput input = text_input(data, size);
  if (hinge::make_decoder(input.text) != nullptr) return -1;  // has a target of its own
  if (input.cut) {
    constexpr std::size_t kChunk = std::size_t{1} << 18;
    const std::size_t front = kChunk - std::min(kChunk, input.text.size() / 2);
    input.text.insert(0, "#" + std::string(front, ' ') + "\n");
  }
  const MemoryFile file(input.text);
  const Outcome out = read(file.path(), input.options, 1);
  require_outcome(out, input);
  if (input.cut) require_same(out, read(file.path(), input.options, 2));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_text(data, size, max_size, seed);
}
