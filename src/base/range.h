// Ranges of values that people give, each stated once: what is in it, and the words that say so.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace hinge {

// A range of finite numbers from `least` to `most`. An upper end of 1e300 or more goes without
// saying: what such numbers are for overflows beyond.
struct NumberRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open = false;           // `least` itself is not in it
  std::string_view what = {};  // "factor", rather than "number" or "finite number"

  bool contains(double value) const;
  std::string words() const;  // "a number in (0, 1]", "a finite number > 0", "a factor > 0"
  std::string ends() const;   // "in (0, 1]", "> 0", "from 0.001 to 1", "up to 1e150"
};

// A range of whole numbers from `least` to `most`.
struct CountRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

  template <class Integer>
  bool contains(Integer value) const {
    return value >= 0 && static_cast<std::uint64_t>(value) >= least &&
           static_cast<std::uint64_t>(value) <= most;
  }
  std::string words() const;  // "a whole number from 2 to 100", "a whole number > 0"
  std::string ends() const;   // "2 to 100"
};

// A choice of names of which one may be said.
struct Choice {
  std::span<const std::string_view> names;

  // Its place among them.
  std::optional<std::size_t> find(std::string_view text) const;
  std::string words() const;  // "one of a, b, c"
  std::string list() const;   // "a, b, c"
  // The name nearest to what was typed, as a question behind a semicolon; or nothing.
  std::string did_you_mean(std::string_view text) const;
};

// "a, b or c"
std::string one_or_other(std::span<const std::string_view> names);

// Text as numbers: all of it, in the form of std::from_chars. None where it is not one, or no
// finite one.
std::optional<double> parse_number(std::string_view text);
template <class Integer>
std::optional<Integer> parse_whole(std::string_view text) {
  Integer value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// A number of bytes > 0: digits and, if need be, K, M, G or T (powers of 1024).
constexpr std::string_view kByteCountWords = "a size such as 500M or 2G";
std::optional<std::uint64_t> parse_byte_count(std::string_view text);

}  // namespace hinge
