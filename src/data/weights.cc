#include <fast_float/fast_float.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/dataset_builder.h"
#include "files/source.h"

namespace hinge {

namespace {

constexpr std::size_t kWeightsBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxLine = 1000;

struct Line {
  std::string_view text;
  std::uint64_t number = 0;  // from 1
  std::uint64_t offset = 0;  // of its first byte in the file
};

// Appends the number of a line, if it holds one.
void read_line(const Line& line, const std::string& file, std::vector<double>& weights) {
  std::string_view row = line.text;
  if (row.ends_with('\r')) row.remove_suffix(1);
  const std::size_t from = row.find_first_not_of(" \t");
  if (from == std::string_view::npos) return;
  const std::string_view token = row.substr(from, row.find_last_not_of(" \t") + 1 - from);
  double value = 0;
  // Out of range is no failure of its own: the value is then infinite, or 0.
  const auto result = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  if (result.ec == std::errc::invalid_argument || result.ptr != token.data() + token.size() ||
      !std::isfinite(value) || value < 0) {
    Error error = make_error(
        "data.weight",
        fmt::format("row weight is not a finite number >= 0: \"{}\"", escape(token.substr(0, 40))));
    error.file = file;
    error.line = line.number;
    error.column = from + 1;
    error.offset = line.offset + from;
    throw Failure{std::move(error)};
  }
  weights.push_back(value);
}

}  // namespace

std::vector<double> read_weights(const std::string& path, std::uint64_t rows,
                                 const std::atomic<bool>* stop) {
  ByteSource source(path, stop);
  std::vector<double> weights;
  std::string text;  // a line begun, then the next chunk
  Line line;
  for (bool ended = false; !ended;) {
    const std::size_t begun = text.size();
    text.resize(begun + kWeightsBytes);
    const std::size_t count = source.read({text.data() + begun, kWeightsBytes});
    text.resize(begun + count);
    ended = count < kWeightsBytes;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const bool whole = end != std::string_view::npos;
      if (!whole && !ended && rest.size() <= kMaxLine) break;
      line.text = rest.substr(0, end);
      ++line.number;
      if (line.text.size() > kMaxLine) {
        fail_file("limit.line-bytes", path,
                  fmt::format("line {} is longer than {} bytes", line.number, kMaxLine),
                  "row weights are one number a line");
      }
      read_line(line, path, weights);
      if (weights.size() > rows) {
        fail("data.weights.count", fmt::format("more than {} weights for {} rows", rows, rows));
      }
      const std::size_t used = line.text.size() + (whole ? 1 : 0);
      line.offset += used;
      rest.remove_prefix(used);
    }
    text.erase(0, text.size() - rest.size());
  }
  return weights;
}

}  // namespace hinge
