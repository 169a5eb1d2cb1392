// The text reader: one thread and two give the same data set or the same errors, which lie inside
// the file.
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

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  TextInput input = text_input(data, size);
  if (input.cut) {
    constexpr std::size_t kChunk = std::size_t{1} << 18;
    const std::size_t front = kChunk - std::min(kChunk, input.text.size() / 2);
    input.text.insert(0, "#" + std::string(front, ' ') + "\n");
  }
  const MemoryFile file(input.text);
  const Outcome one = read(file.path(), input.options, 1);
  const Outcome two = read(file.path(), input.options, 2);

  require(one.data.ok() == two.data.ok(), "read by one thread or by two only");
  require(one.warnings.size() == two.warnings.size(), "other warnings with two threads");
  for (std::size_t i = 0; i < one.warnings.size(); ++i) {
    require_error(one.warnings[i], {0});
    require(to_string(one.warnings[i]) == to_string(two.warnings[i]), "another warning");
  }
  if (!one.data.ok()) {
    const hinge::Error& error = one.data.error();
    require(to_string(error) == to_string(two.data.error()), "another error with two threads");
    require_error(error, {65, 81});
    require_place(error, input.text);
    for (const hinge::Error& next : error.more) {
      require_error(next, {65, 81});
      require_place(next, input.text);
    }
    return 0;
  }
  require_dataset(*one.data);
  require_same(*one.data, *two.data);
  const hinge::IndexBase base = input.options.index_base;
  require(one.data->precision() == input.options.precision, "another precision than asked for");
  require(base == hinge::IndexBase::automatic ||
              one.data->index_base() == (base == hinge::IndexBase::one ? 1 : 0),
          "another index base than asked for");
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_text(data, size, max_size, seed);
}
