// The careful parser: the grammar in full, with a located error for everything outside it.
#include <fast_float/fast_float.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "data/text/text_row.h"

namespace hinge {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// fast_float takes no leading '+'.
std::string_view without_plus(std::string_view token) {
  if (token.starts_with('+')) token.remove_prefix(1);
  return token;
}

// What went wrong, thrown from anywhere below and caught once per row.
struct Bad {
  const char* at;
  std::size_t length;
  std::string id;
  std::string message;
  std::string help;
};

[[noreturn]] void bad(std::string_view token, std::string id, std::string message,
                      std::string help = {}) {
  throw Bad{token.data(), token.size(), std::move(id), std::move(message), std::move(help)};
}

std::string quoted(std::string_view token) {
  constexpr std::size_t kMost = 40;
  return fmt::format("\"{}{}\"", escape(token.substr(0, kMost)), token.size() > kMost ? "..." : "");
}

// A decimal number: [+-] digits [. digits] [e [+-] digits]. `stop` is its first byte that does not
// fit.
struct Decimal {
  bool ok = false;
  bool has_nonzero_digit = false;
  bool only_integer = false;  // no point, no exponent
  std::size_t stop = 0;
};

Decimal scan_decimal(std::string_view text) {
  Decimal d;
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && is_digit(text[i])) d.has_nonzero_digit |= text[i++] != '0';
    return i - from;
  };
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  std::size_t count = digits();
  d.only_integer = true;
  if (i < text.size() && text[i] == '.') {
    const std::size_t point = i++;
    d.only_integer = false;
    const std::size_t places = digits();
    if (count + places == 0) i = point;
    count += places;
  }
  d.stop = i;
  if (count == 0) return d;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const bool mantissa_nonzero = d.has_nonzero_digit;
    d.only_integer = false;
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return d;  // stop stays at the 'e'
    d.has_nonzero_digit = mantissa_nonzero;
    d.stop = i;
  }
  d.ok = d.stop == text.size();
  return d;
}

bool names_nonfinite(std::string_view token) {
  if (!token.empty() && (token[0] == '+' || token[0] == '-')) token.remove_prefix(1);
  std::string lower;
  for (const char c : token.substr(0, 4)) lower += static_cast<char>(c | 0x20);
  return lower == "nan" || lower == "nan(" || lower == "inf" || lower == "infi";
}

template <class Value>
Value to_value(std::string_view token) {
  Value value{};
  token = without_plus(token);
  // Out of range is no failure here: the result is then 0 or infinite, and judged by the caller.
  static_cast<void>(fast_float::from_chars(token.data(), token.data() + token.size(), value));
  return value;
}

// A decimal as text * 10^exponent, text without zeros at either end; a zero is "" * 10^0.
struct Digits {
  std::string text;
  std::int64_t exponent = 0;
};

Digits significant_digits(std::string_view decimal) {
  Digits out;
  const std::size_t e = std::min(decimal.find_first_of("eE"), decimal.size());
  if (e < decimal.size()) {
    const std::string_view power = without_plus(decimal.substr(e + 1));
    const auto result = std::from_chars(power.data(), power.data() + power.size(), out.exponent);
    constexpr std::int64_t kFar = 1'000'000'000;  // further than any number of digits reaches
    if (result.ec != std::errc()) out.exponent = power.starts_with('-') ? -kFar : kFar;
    out.exponent = std::clamp(out.exponent, -kFar, kFar);
  }
  bool fraction = false;
  for (const char c : decimal.substr(0, e)) {
    if (c == '.') fraction = true;
    if (!is_digit(c)) continue;
    out.exponent -= fraction;
    if (c != '0' || !out.text.empty()) out.text += c;
  }
  while (out.text.ends_with('0')) {
    out.text.pop_back();
    ++out.exponent;
  }
  if (out.text.empty()) out.exponent = 0;
  return out;
}

std::int64_t parse_label(std::string_view token, bool real) {
  if (names_nonfinite(token)) {
    bad(token, "data.label.nonfinite",
        fmt::format("label is not a finite number: {}", quoted(token)),
        "remove the row, or mend it");
  }
  const Decimal decimal = scan_decimal(token);
  if (!decimal.ok) {
    const std::size_t comma = token.find(',');
    if (comma != std::string_view::npos && scan_decimal(token.substr(0, comma)).ok) {
      bad(token, "data.label.multi", fmt::format("several labels in one row: {}", quoted(token)),
          "hinge learns one label a row; is this CSV?");
    }
    bad(token, "data.label", fmt::format("expected a label, found {}", quoted(token)),
        comma != std::string_view::npos
            ? "is this CSV? rows are `label index:value ...`"
            : "rows are `label index:value ...`; use --no-labels to predict rows without labels");
  }
  if (real) {
    const double label = to_value<double>(token);
    if (!std::isfinite(label)) {
      bad(token, "data.label.range", fmt::format("label does not fit a double: {}", quoted(token)),
          "scale the targets");
    }
    return std::bit_cast<std::int64_t>(label);
  }
  // Exactly: +1, 1.0 and 10e-1 are 1, while 9007199254740993.5, which no double holds, is not
  // whole.
  const Digits digits = significant_digits(token);
  if (digits.exponent < 0) {
    bad(token, "data.label.not-integer",
        fmt::format("label is not a whole number: {}", quoted(token)),
        "classes are whole numbers; real ones are for --loss squared_epsilon or "
        "epsilon_insensitive");
  }
  constexpr std::size_t kMostDigits = 19;  // of a 64-bit integer
  std::int64_t label = 0;
  bool fits = digits.text.size() + static_cast<std::size_t>(digits.exponent) <= kMostDigits;
  if (fits) {
    const std::string whole = (token[0] == '-' ? "-" : "") + digits.text +
                              std::string(static_cast<std::size_t>(digits.exponent), '0');
    fits = digits.text.empty() ||
           std::from_chars(whole.data(), whole.data() + whole.size(), label).ec == std::errc();
  }
  if (!fits) {
    bad(token, "data.label.range", fmt::format("label does not fit 64 bits: {}", quoted(token)),
        "number your classes from 0");
  }
  return label;
}

std::uint32_t parse_index(std::string_view token, const RowRules& rules) {
  std::string_view digits = token;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with('-') && digits.size() > 1 &&
      std::ranges::all_of(digits.substr(1), is_digit)) {
    bad(token, "data.index.negative", fmt::format("feature index is negative: {}", quoted(token)));
  }
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) {
    bad(token, "data.index", fmt::format("feature index is not a whole number: {}", quoted(token)),
        "write every feature as index:value");
  }
  std::uint64_t index = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (result.ec != std::errc() || index >= std::uint64_t{1} << 63) {
    bad(token, "data.index.range", fmt::format("feature index does not fit: {}", quoted(token)),
        "renumber the features");
  }
  if (index == 0 && rules.base == 1 && rules.base_is_fixed) {
    bad(token, "data.index.zero", "feature index is 0 but this data counts from 1",
        "if it counts from 0, give --index-base 0");
  }
  if (index > std::numeric_limits<std::uint32_t>::max() - 1) {
    bad(token, "memory.model",
        fmt::format("feature index {} needs a weight vector of {} GiB", index, index >> 27),
        "renumber the features, or hash them into fewer columns");
  }
  return static_cast<std::uint32_t>(index);
}

template <class Value>
Value parse_number(std::string_view token, bool& underflow, bool& rounded) {
  if (names_nonfinite(token)) {
    bad(token, "data.value.nonfinite",
        fmt::format("feature value is not a finite number: {}", quoted(token)),
        "remove the row, or mend it");
  }
  const Decimal decimal = scan_decimal(token);
  if (!decimal.ok) {
    bad({token.data() + decimal.stop, std::max<std::size_t>(token.size() - decimal.stop, 1)},
        "data.value", fmt::format("feature value is not a decimal number: {}", quoted(token)),
        "write values such as 0.25 or 2.5e-3");
  }
  const Value value = to_value<Value>(token);
  if (!std::isfinite(value)) {
    const bool fits_double = std::isfinite(to_value<double>(token));
    bad(token, fits_double ? "data.value.f32-range" : "data.value.overflow",
        fmt::format("feature value is too large for {}: {}", fits_double ? "float32" : "a double",
                    quoted(token)),
        fits_double ? "scale the data, or give --precision f64" : "scale the data");
  }
  // A double keeps its subnormals exactly; a float's are a loss of digits the user should know of.
  const bool lost = std::is_same_v<Value, float>
                        ? std::abs(value) < std::numeric_limits<Value>::min()
                        : value == 0;
  underflow = decimal.has_nonzero_digit && lost;
  const std::string_view digits = token.substr(token[0] == '-' || token[0] == '+' ? 1 : 0);
  rounded = std::is_same_v<Value, float> && digits.find_first_not_of("0123456789") == digits.npos &&
            to_value<double>(token) != static_cast<double>(value);
  return value;
}

// The character that begins at text[0] (a byte above 0x7f) in UTF-8: how many bytes, which code
// point. Length 0 if it is none.
struct CodePoint {
  std::size_t length = 0;
  std::uint32_t value = 0;
};

CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (length == 0 || byte(0) > 0xf4 || text.size() < length) return {};
  std::uint32_t value = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  return {length, value};
}

std::string_view character_name(std::uint32_t code_point) {
  if (code_point == 0xa0) return "no-break space ";
  if (code_point == 0x2212) return "minus sign ";
  if (code_point == 0xfeff) return "byte order mark ";
  if (code_point >= 0xff01 && code_point <= 0xff5e) return "full-width character ";
  return "character ";
}

// Bytes that no rule of the grammar knows, before any other complaint about the row.
void check_bytes(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte >= 0x20 && byte < 0x7f) || byte == '\t') continue;
    const CodePoint found = byte > 0x7f ? decode(text.substr(i)) : CodePoint{};
    if (found.length == 0) {
      bad(text.substr(i, 1), "data.byte", fmt::format("unexpected byte \\x{:02x} in a row", byte));
    }
    bad(text.substr(i, found.length), "data.byte",
        fmt::format("unexpected {}(U+{:04X}) in a row", character_name(found.value), found.value));
  }
}

// Also in comments: a file of the old Mac kind that begins with one has nothing but comments.
void check_line_ends(std::string_view line) {
  const std::size_t cr = line.find('\r');
  if (cr == std::string_view::npos) return;
  bad(line.substr(cr, 1), "data.line.cr-only", "carriage return inside a line",
      "if the file ends its lines with CR alone, convert it: tr '\\r' '\\n' < old > new");
}

struct Feature {
  std::uint32_t index;
  double value;  // holds every float exactly
  std::string_view token;
};

// Takes a row's text apart; its features come in the order written.
template <class Value>
class CarefulRow {
 public:
  CarefulRow(std::string_view text, bool unterminated, const RowRules& rules)
      : text_(text), unterminated_(unterminated), rules_(rules) {}

  std::int64_t label = 0;
  std::vector<Feature> features;
  const char* qid = nullptr;
  const char* underflow = nullptr;
  std::uint64_t underflows = 0;
  const char* rounded = nullptr;

  void read() {
    if (rules_.labels) {
      const std::string_view token = next();
      if (token.find(':') != std::string_view::npos) {
        bad(token, "data.label", fmt::format("expected a label, found {}", quoted(token)),
            "rows are `label index:value ...`; use --no-labels to predict rows without labels");
      }
      label = parse_label(token, rules_.real_labels);
    }
    for (std::string_view token = next(); !token.empty(); token = next()) {
      if (token.starts_with("qid:") && features.empty() && qid == nullptr) {
        qid = token.data();
      } else {
        read_feature(token);
      }
    }
  }

 private:
  std::string_view next() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    const std::size_t from = at_;
    while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }

  void read_feature(std::string_view token) {
    const std::size_t colon = token.find(':');
    if (colon == std::string_view::npos) {
      bad(token, "data.pair", fmt::format("expected index:value, found {}", quoted(token)),
          cut_off(token));
    }
    const std::uint32_t index = parse_index(token.substr(0, colon), rules_);
    const std::string_view number = token.substr(colon + 1);
    if (number.empty()) {
      bad(token, "data.value.missing", fmt::format("feature {} has no value", index),
          cut_off(token));
    }
    bool lost = false, inexact = false;
    const Value value = parse_number<Value>(number, lost, inexact);
    if (inexact && rounded == nullptr) rounded = number.data();
    if (lost) {
      ++underflows;
      if (underflow == nullptr) underflow = number.data();
    }
    features.push_back({index, value, token});
  }

  std::string cut_off(std::string_view token) const {
    return unterminated_ && token.data() + token.size() == text_.data() + text_.size()
               ? "the last line has no newline: was the file cut off?"
               : "write every feature as index:value";
  }

  std::string_view text_;
  bool unterminated_;
  const RowRules& rules_;
  std::size_t at_ = 0;
};

void note(Oddity& oddity, std::uint64_t count, std::uint64_t line, std::uint64_t column) {
  if (oddity.count == 0) oddity = {0, line, column};
  oddity.count += count;
}

// Sorts the features of a row; returns the first that was out of place, or nullptr.
const char* sort_features(std::vector<Feature>& features) {
  const auto unsorted = std::ranges::is_sorted_until(features, {}, &Feature::index);
  const char* const place = unsorted == features.end() ? nullptr : unsorted->token.data();
  if (place != nullptr) std::ranges::stable_sort(features, {}, &Feature::index);
  for (std::size_t i = 1; i < features.size(); ++i) {
    if (features[i].index == features[i - 1].index) {
      const std::string_view token = features[i].token;
      bad(token, "data.index.duplicate",
          fmt::format("feature {} occurs twice in this row", features[i].index),
          "merge the two entries");
    }
  }
  return place;
}

}  // namespace

std::int64_t read_label(std::string_view token) {
  try {
    return parse_label(token, false);
  } catch (Bad& problem) {
    fail(std::move(problem.id), std::move(problem.message), std::move(problem.help));
  }
}

template <class Value>
void parse_careful(const char* line, const char* end, bool unterminated, const RowRules& rules,
                   RowBatch<Value>& batch) {
  std::string_view text(line, static_cast<std::size_t>(end - line));
  if (text.ends_with('\r')) text.remove_suffix(1);
  const auto column = [&](const char* at) { return static_cast<std::uint64_t>(at - line) + 1; };
  try {
    check_line_ends(text);
    text = text.substr(0, text.find('#'));
    if (std::ranges::all_of(text, is_blank)) return;
    check_bytes(text);
    CarefulRow<Value> row(text, unterminated, rules);
    row.read();
    const char* const unsorted = sort_features(row.features);
    if (unsorted != nullptr && rules.strict) {
      bad({unsorted, 1}, "data.index.order", "feature indices do not ascend in this row",
          "sort the row, or drop --strict");
    }
    double squares = 0;
    for (const Feature& f : row.features) squares += f.value * f.value;
    if (!std::isfinite(squares)) {
      bad(text, "data.row.norm", "the squared norm of this row overflows", "scale the data");
    }
    if (row.qid != nullptr) note(batch.qid, 1, batch.lines, column(row.qid));
    if (unsorted != nullptr) note(batch.unsorted, 1, batch.lines, column(unsorted));
    if (row.rounded != nullptr) note(batch.rounded, 1, batch.lines, column(row.rounded));
    if (row.underflows > 0)
      note(batch.underflow, row.underflows, batch.lines, column(row.underflow));
    for (const Feature& f : row.features) {
      if (f.index == 0) note(batch.index_zero, 1, batch.lines, column(f.token.data()));
      if (f.value == 0) continue;
      batch.columns[batch.nonzeros] = f.index - rules.base;
      batch.values[batch.nonzeros] = static_cast<Value>(f.value);
      ++batch.nonzeros;
      batch.max_index = std::max(batch.max_index, f.index);
    }
    batch.labels.push_back(row.label);
    batch.ends.push_back(batch.nonzeros);
  } catch (Bad& problem) {
    Error error;
    error.id = std::move(problem.id);
    error.line = batch.lines;
    error.column = column(problem.at);
    error.message = std::move(problem.message);
    error.help = std::move(problem.help);
    const std::size_t at = static_cast<std::size_t>(problem.at - line);
    const std::size_t from = at > 60 ? at - 60 : 0;
    error.excerpt = std::string(line + from, std::min<std::size_t>(text.size() - from, 120));
    error.caret = static_cast<std::uint32_t>(at - from);
    error.caret_length = static_cast<std::uint32_t>(std::min<std::size_t>(problem.length, 60));
    error.offset = at;  // within the line; the reader adds where the line begins
    batch.errors.push_back(std::move(error));
  }
}

template void parse_careful(const char*, const char*, bool, const RowRules&, RowBatch<float>&);
template void parse_careful(const char*, const char*, bool, const RowRules&, RowBatch<double>&);

}  // namespace hinge
