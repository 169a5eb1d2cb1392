// Row weights: the first byte says how many rows there are, the rest is the file of weights. It is
// read as a naive reader would, or refused in a line that is there.
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "fuzz.h"

namespace hinge::fuzz {
namespace {

// One number a line, between blanks; nothing if a line holds anything else.
std::optional<std::vector<double>> read_naive(std::string_view text) {
  std::vector<double> weights;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > 1000) return {};
    if (line.ends_with('\r')) line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(line.find_last_not_of(" \t") + 1);
    if (line.empty()) continue;
    char* end = nullptr;
    const double value = std::strtod(line.c_str(), &end);
    if (line[0] == '+' || line.find_first_not_of("0123456789+-.eE") != std::string::npos ||
        end != line.c_str() + line.size() || !std::isfinite(value) || value < 0) {
      return {};
    }
    weights.push_back(value);
  }
  return weights;
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  Bytes bytes(data, size);
  const std::size_t rows = 1 + bytes.take<std::uint8_t>() % 8U;
  std::string text;
  for (std::size_t i = 0; i < rows; ++i) text += "1 1:1\n";
  const MemoryFile file(text), weights(bytes.rest());
  hinge::ReadOptions options;
  options.threads = 1;
  options.weights_file = weights.path();
  std::vector<hinge::Error> warnings;
  const hinge::Result<hinge::Dataset> read = read_dataset(file.path(), options, warnings);
  const std::optional<std::vector<double>> naive = read_naive(bytes.rest());
  if (!read.ok()) {
    const hinge::Error& error = read.error();
    require_error(error, {65});
    require(error.line <= static_cast<std::size_t>(std::ranges::count(bytes.rest(), '\n')) + 1,
            "a line beyond the file");
    require(!naive || naive->size() != rows, "refused: " + to_string(error));
    return 0;
  }
  require_dataset(*read);
  require(naive && std::ranges::equal(*naive, read->weights()), "other weights");
  return 0;
}
