// Groups of rows: the first byte says how many rows there are, the rest is the file of groups. It
// is read as a naive reader would: rows are of one group just where their lines are the same.
#include <string>
#include <vector>

#include "fuzz.h"
#include "hinge/tune.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  Bytes bytes(data, size);
  const std::size_t rows = 1 + bytes.take<std::uint8_t>() % 8U;
  const MemoryFile file(bytes.rest());
  const auto read = hinge::read_groups(file.path(), rows);
  std::vector<std::string> lines;
  bool too_long = false;
  for (std::string_view text = bytes.rest(); !text.empty();) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    too_long |= line.size() > 1000;
    lines.push_back(std::move(line));
  }
  if (!read.ok()) {
    require_error(read.error(), {65});
    const std::string& id = read.error().id;
    if (id != "data.groups" && id != "limit.line-bytes") return 0;  // of compressed bytes
    require(too_long || lines.size() != rows, "refused: " + to_string(read.error()));
    return 0;
  }
  require(!too_long && lines.size() == rows && read->size() == rows, "other lines");
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      require((lines[i] == lines[j]) == ((*read)[i] == (*read)[j]), "other groups");
    }
  }
  return 0;
}
