#include <fast_float/fast_float.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/dataset_builder.h"
#include "data/source.h"

namespace hinge {

std::vector<double> read_weights(const std::string& path, const std::atomic<bool>* stop) {
  ByteSource source(path, stop);
  std::string text;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  for (std::size_t have = 0;;) {
    text.resize(have + kStep);
    const std::size_t count = source.read({text.data() + have, kStep});
    have += count;
    text.resize(have);
    if (count < kStep) break;
  }
  std::vector<double> weights;
  std::uint64_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row(text.data() + at, end - at);
    at = end + 1;
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    const std::size_t from = row.find_first_not_of(" \t");
    if (from == std::string_view::npos) continue;
    const std::size_t past = row.find_last_not_of(" \t") + 1;
    const std::string_view token = row.substr(from, past - from);
    double value = 0;
    // Out of range is no failure of its own: the value is then infinite, or 0.
    const auto result = fast_float::from_chars(token.data(), token.data() + token.size(), value);
    if (result.ec == std::errc::invalid_argument || result.ptr != token.data() + token.size() ||
        !std::isfinite(value) || value < 0) {
      Error error;
      error.id = "data.weight";
      error.file = path;
      error.line = line;
      error.column = from + 1;
      error.offset = static_cast<std::uint64_t>(token.data() - text.data());
      error.message = fmt::format("row weight is not a finite number >= 0: \"{}\"",
                                  escape(token.substr(0, 40)));
      throw Failure{std::move(error)};
    }
    weights.push_back(value);
  }
  return weights;
}

}  // namespace hinge
