// The text reader against a naive one, written from docs/formats.md alone: both read the same rows
// to the last bit, or both refuse the same line.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "fuzz.h"
#include "text_input.h"

namespace hinge::fuzz {
namespace {

struct Row {
  std::int64_t label = 0;
  std::map<std::uint32_t, double> features;  // by index, zeros too; a double holds any float
};

bool only(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// strtod knows hexadecimal numbers, infinities and blanks; those letters are not let through.
template <class Value>
std::optional<Value> decimal(const std::string& text) {
  if (!only(text, "0123456789+-.eE")) return {};
  char* end = nullptr;
  Value value{};
  if constexpr (std::is_same_v<Value, float>) value = std::strtof(text.c_str(), &end);
  if constexpr (std::is_same_v<Value, double>) value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return {};
  return value;  // infinite if too large
}

// A decimal that denotes a whole number of 64 bits: the point moved by hand.
std::optional<std::int64_t> whole(const std::string& text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (!only(text, "0123456789+-.eE") || !decimal<double>(text.substr(0, e) + "e0")) return {};
  std::string digits = text.substr(0, e);
  const bool minus = digits[0] == '-';
  if (minus || digits[0] == '+') digits.erase(0, 1);
  double power = e < text.size() ? std::strtod(text.c_str() + e + 1, nullptr) : 0;  // e9999 is inf
  if (e < text.size() && !decimal<double>("0" + text.substr(e))) return {};
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    power -= static_cast<double>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  digits.erase(0, digits.find_first_not_of('0'));
  if (digits.empty()) return 0;
  for (; digits.back() == '0'; ++power) digits.pop_back();
  if (power < 0 || power > 18) return {};
  digits = (minus ? "-" : "") + digits + std::string(static_cast<std::size_t>(power), '0');
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc()) return {};
  return value;
}

// One line that is not blank, without comment and line end.
template <class Value>
std::optional<Row> read_row(const std::string& line, const ReadOptions& options) {
  Row row;
  std::istringstream words(line);
  std::string word;
  if (options.labels) {
    words >> word;
    const std::optional<std::int64_t> label = whole(word);
    if (!label) return {};
    row.label = *label;
  }
  double squares = 0;
  for (bool first = true; words >> word; first = false) {
    if (first && word.starts_with("qid:")) continue;
    const std::size_t colon = std::min(word.find(':'), word.size() - 1);
    std::string index_text = word.substr(0, colon);
    if (index_text.starts_with('+')) index_text.erase(0, 1);
    const std::optional<Value> value = decimal<Value>(word.substr(colon + 1));
    const std::optional<double> index = decimal<double>(index_text);
    if (!only(index_text, "0123456789") || !index || *index >= 4294967295.0 || !value) return {};
    if (*index == 0 && options.index_base == IndexBase::one) return {};
    if (options.strict && !row.features.empty() && *index <= row.features.rbegin()->first) {
      return {};
    }
    if (!row.features.emplace(static_cast<std::uint32_t>(*index), *value).second) return {};
  }
  // Values too large for their type are infinite here.
  for (const auto& [index, value] : row.features) squares += value * value;
  if (!std::isfinite(squares)) return {};
  return row;
}

struct Naive {
  std::vector<Row> rows;
  std::uint64_t bad_line = 0;
};

template <class Value>
Naive read_naive(std::string_view text, const ReadOptions& options) {
  Naive out;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, newline));
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    bool good = line.find('\r') == std::string::npos;
    line = line.substr(0, line.find('#'));
    if (good && line.find_first_not_of(" \t") == std::string::npos) continue;
    for (const char c : line) good = good && ((c >= ' ' && c < 0x7f) || c == '\t');
    const std::optional<Row> row = good ? read_row<Value>(line, options) : std::nullopt;
    if (!row) {
      out.bad_line = number;
      return out;
    }
    out.rows.push_back(*row);
  }
  return out;
}

template <class Value>
void require_rows(const Naive& naive, const Dataset& data) {
  require(data.rows() == naive.rows.size(), "another number of rows");
  const auto& m = std::get<CsrView<Value>>(data.view());
  std::uint64_t k = 0;
  for (std::size_t i = 0; i < naive.rows.size(); ++i) {
    require(data.labels()[i] == naive.rows[i].label, "another label");
    for (const auto& [index, value] : naive.rows[i].features) {
      if (value == 0) continue;
      require(k < m.offsets[i + 1], "a feature is missing");
      require(m.column(k) + static_cast<std::uint32_t>(data.index_base()) == index,
              "another index");
      require(m.values[k] == static_cast<Value>(value), "another value");
      ++k;
    }
    require(k == m.offsets[i + 1], "a feature too many");
  }
}

template <class Value>
void compare(const TextInput& input) {
  const MemoryFile file(input.text);
  std::vector<Error> warnings;
  ReadOptions options = input.options;
  options.threads = 1;
  const Result<Dataset> data = read_dataset(file.path(), options, warnings);
  const Naive naive = read_naive<Value>(input.text, options);
  if (naive.bad_line > 0) {
    require(!data.ok(), "only the naive reader refuses line " + std::to_string(naive.bad_line));
    require(data.error().line == naive.bad_line, "not the first bad line, which is " +
                                                     std::to_string(naive.bad_line) + ": " +
                                                     to_string(data.error()));
  } else if (naive.rows.empty()) {
    require(!data.ok() && data.error().id == "data.empty", "rows out of nothing");
  } else {
    require(data.ok(), "refused: " + (data.ok() ? "" : to_string(data.error())));
    require_rows<Value>(naive, *data);
  }
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const TextInput input = text_input(data, size);
  // What a file that is not text begins with is for the reader alone to judge.
  std::string_view head = std::string_view(input.text).substr(0, 16);
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  for (const char c : head) {
    if ((c < ' ' || c == 0x7f) && c != '\t' && c != '\n' && c != '\r') return -1;
  }
  if (head.starts_with("BZh") || head.starts_with("PAR1") || head.starts_with("%PDF")) return -1;
  if (input.options.precision == hinge::Precision::f32) {
    compare<float>(input);
  } else {
    compare<double>(input);
  }
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_text(data, size, max_size, seed);
}
