#include <fast_float/fast_float.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/dataset_builder.h"
#include "data/source.h"

namespace hinge {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxLine = 1000;

[[noreturn]] void bad_weight(const std::string& file, std::uint64_t line, std::size_t column,
                             std::string_view token) {
  Error error = make_error("data.weight", fmt::format("row weight is not a finite number >= 0: "
                                                      "\"{}\"",
                                                      escape(token.substr(0, 40))));
  error.file = file;
  error.line = line;
  error.column = column;
  throw Failure{std::move(error)};
}

// Appends the number of a line, if it holds one.
void read_line(std::string_view row, const std::string& file, std::uint64_t line,
               std::vector<double>& weights) {
  const std::size_t from = row.find_first_not_of(" \t");
  if (from == std::string_view::npos || row[from] == '\r') return;
  const std::string_view token = row.substr(from, row.find_last_not_of(" \t\r") + 1 - from);
  double value = 0;
  const auto result = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  if (result.ec != std::errc() || result.ptr != token.data() + token.size() ||
      !std::isfinite(value) || value < 0) {
    bad_weight(file, line, from + 1, token);
  }
  weights.push_back(value);
}

}  // namespace

std::vector<double> read_weights(const std::string& path, const std::atomic<bool>* stop) {
  ByteSource source(path, stop);
  std::vector<double> weights;
  std::string text;  // a line begun, then the next chunk
  std::uint64_t line = 0;
  for (bool ended = false; !ended;) {
    const std::size_t begun = text.size();
    if (begun > kMaxLine) bad_weight(path, line + 1, 1, text);
    text.resize(begun + kChunkBytes);
    const std::size_t count = source.read({text.data() + begun, kChunkBytes});
    text.resize(begun + count);
    ended = count < kChunkBytes;
    std::string_view rest = text;
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      read_line(rest.substr(0, end), path, ++line, weights);
      rest.remove_prefix(end + 1);
    }
    if (ended) read_line(rest, path, ++line, weights);
    text.erase(0, text.size() - rest.size());
  }
  return weights;
}

}  // namespace hinge
