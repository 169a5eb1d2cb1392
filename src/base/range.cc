#include "base/range.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace hinge {
namespace {

constexpr double kUnsaid = 1e300;  // an upper end that goes without saying

// As people write it: 1e150, 0.001.
std::string plain(double value) {
  std::string text = fmt::format("{}", value);
  std::erase(text, '+');
  return text;
}

// 2^53 and 2^64 - 1 rather than their digits.
std::string plain(std::uint64_t value) {
  constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
  if (value == std::numeric_limits<std::uint64_t>::max()) return "2^64 - 1";
  if (value >= kLong && std::has_single_bit(value)) {
    return fmt::format("2^{}", std::countr_zero(value));
  }
  return fmt::format("{}", value);
}

}  // namespace

bool NumberRange::contains(double value) const {
  return std::isfinite(value) && (open ? value > least : value >= least) && value <= most;
}

std::string NumberRange::ends() const {
  const bool below = std::isfinite(least), above = most < kUnsaid;
  if (below && above) {
    return open ? fmt::format("in ({}, {}]", plain(least), plain(most))
                : fmt::format("from {} to {}", plain(least), plain(most));
  }
  if (below) return fmt::format("{} {}", open ? ">" : ">=", plain(least));
  return above ? "up to " + plain(most) : "";
}

std::string NumberRange::words() const {
  const std::string_view noun = !what.empty() ? what : most < kUnsaid ? "number" : "finite number";
  const std::string where = ends();
  return fmt::format("a {}{}{}", noun, where.empty() ? "" : " ", where);
}

std::string CountRange::ends() const {
  return fmt::format("{} to {}", plain(least), plain(most));
}

std::string CountRange::words() const {
  const bool endless = most == std::numeric_limits<std::uint64_t>::max() && least > 0;
  return endless ? fmt::format("a whole number > {}", plain(least - 1))
                 : "a whole number from " + ends();
}

std::optional<std::size_t> Choice::find(std::string_view text) const {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string Choice::list() const {
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

std::string Choice::words() const {
  return "one of " + list();
}

std::string Choice::did_you_mean(std::string_view text) const {
  std::string_view best;
  std::size_t distance = 3;  // more edits than this are no slip of the finger
  for (const std::string_view name : names) {
    std::vector<std::size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < name.size(); ++j) {
        const std::size_t changed = diagonal + (text[i] == name[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < distance) {
      distance = row.back();
      best = name;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

std::string one_or_other(std::span<const std::string_view> names) {
  if (names.size() < 2) return names.empty() ? "" : std::string(names[0]);
  return fmt::format("{} or {}", Choice{names.first(names.size() - 1)}.list(), names.back());
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> parse_byte_count(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(result.ptr - text.data()));
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
  if (result.ec != std::errc() || value == 0 || unit.size() > 1 || (!unit.empty() && power == 0) ||
      __builtin_mul_overflow(value, std::uint64_t{1} << (10 * power), &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace hinge
