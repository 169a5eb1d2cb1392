// The fast parser. It reads eight bytes at a time: one subtraction turns digits into their values,
// one addition marks the first byte that is none, three multiplications make the number. A decimal
// m / 10^k with m and 10^k exact in the target type is correctly rounded by one division;
// everything else goes to fast_float, or to the careful parser.
#include "data/text/text_row.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace hinge {
namespace {

std::uint64_t load8(const char* p) {
  std::uint64_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// How many of the eight bytes are digits before the first that is none; `digits` holds their
// values.
int leading_digits(std::uint64_t digits) {
  const std::uint64_t other = (digits | (digits + 0x7676767676767676U)) & 0x8080808080808080U;
  return other == 0 ? 8 : std::countr_zero(other) / 8;
}

// The number written by the first `count` of eight digit values, 1 <= count <= 8.
std::uint64_t to_number(std::uint64_t digits, int count) {
  std::uint64_t x = digits << (64 - 8 * count);  // leading zeros for the missing ones
  x = x * 10 + (x >> 8);                         // pairs
  return (((x & 0x000000ff000000ffU) * 0x000f424000000064U) +
          (((x >> 16) & 0x000000ff000000ffU) * 0x0000271000000001U)) >>
         32;
}

constexpr std::uint64_t kZeros = 0x3030303030303030U;
constexpr std::uint64_t kPow10[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr double kDoublePow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr float kFloatPow10[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F, 1e8F, 1e9F, 1e10F};

bool ends_token(char c) {
  return c == ' ' || c == '\n' || c == '\r';
}

// mantissa / 10^places, correctly rounded; false if that takes more than one exact division.
// `rounded` becomes true for a whole number that a float does not hold.
bool exact_quotient(std::uint64_t mantissa, int places, double& value, bool&) {
  if (mantissa > (std::uint64_t{1} << 53)) return false;
  value = static_cast<double>(mantissa) / kDoublePow10[places];
  return true;
}
bool exact_quotient(std::uint64_t mantissa, int places, float& value, bool& rounded) {
  if (mantissa <= (1U << 24) && places <= 10) {
    value = static_cast<float>(mantissa) / kFloatPow10[places];
    return true;
  }
  // Through double: rounding twice differs from rounding once only if the double lies exactly
  // between two floats. (Values here are 0 or >= 1e-16, far from float's subnormals.)
  double wide;
  if (!exact_quotient(mantissa, places, wide, rounded)) return false;
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
  if ((std::bit_cast<std::uint64_t>(wide) & kDropped) == std::uint64_t{1} << 28) return false;
  value = static_cast<float>(wide);
  if (places == 0 && static_cast<double>(value) != wide) rounded = true;
  return true;
}

// The general algorithm, for a number that begins at `token` and of which `p` has been read: an
// exponent, or more digits than one division can round. Rare, and kept out of the way: inlined, it
// takes the registers that parse_value() needs.
template <class Value>
[[gnu::noinline, gnu::cold]] const char* parse_general(const char* token, const char* p,
                                                       Value& value, bool& rounded) {
  bool whole = true;
  for (p = token; !ends_token(*p); ++p) {
    if (p - token > 64) return nullptr;
    whole = whole && ((*p >= '0' && *p <= '9') || (p == token && *p == '-'));
  }
  const auto result = fast_float::from_chars(token, p, value);
  if (result.ec != std::errc() || result.ptr != p) return nullptr;
  // Overflow, underflow and nan are the careful parser's to judge.
  const Value size = std::abs(value);
  const bool usual =
      size >= std::numeric_limits<Value>::min() && size <= std::numeric_limits<Value>::max();
  if (std::is_same_v<Value, float> && whole && size >= Value{1 << 24}) {
    double wide = 0;
    fast_float::from_chars(token, p, wide);
    rounded = rounded || wide != static_cast<double>(value);
  }
  return usual ? p : nullptr;
}

// Parses a decimal number at p. Returns the byte after it, which ends a token, or nullptr. Whether
// it is zero is told apart from the value so that nothing waits for the division.
template <class Value>
const char* parse_value(const char* p, Value& value, bool& nonzero, bool& rounded) {
  const char* const token = p;
  const bool negative = *p == '-';
  p += negative;
  std::uint64_t digits = load8(p) ^ kZeros;
  // Most values are below 1. Knowing where their fraction begins without counting digits takes a
  // third off the chain of instructions that each wait for the one before.
  const bool fraction = (digits & 0xffff) == ('.' ^ '0') << 8;
  const int whole = fraction ? 1 : leading_digits(digits);
  std::uint64_t mantissa = fraction || whole == 0 ? 0 : to_number(digits, whole);
  int places = 0;
  p += whole;
  if (*p == '.') {
    ++p;
    digits = load8(p) ^ kZeros;
    places = leading_digits(digits);
    if (places > 0) mantissa = mantissa * kPow10[places] + to_number(digits, places);
    p += places;
    if (places == 8) {
      digits = load8(p) ^ kZeros;
      const int more = leading_digits(digits);
      if (more > 0 && whole + places + more <= 19) {
        mantissa = mantissa * kPow10[more] + to_number(digits, more);
        places += more;
        p += more;
      }
    }
  }
  if (whole + places == 0) return nullptr;
  if (!ends_token(*p) || !exact_quotient(mantissa, places, value, rounded)) {
    nonzero = true;
    return parse_general(token, p, value, rounded);
  }
  if (negative) value = -value;
  nonzero = mantissa != 0;
  return p;
}

// Returns the byte after a label that is a real number, or nullptr. Not inlined, lest whole numbers
// take longer.
[[gnu::noinline]] const char* parse_real_label(const char* p, std::int64_t& bits) {
  double label = 0;
  bool nonzero = false, rounded = false;
  p = parse_value(p + (*p == '+' ? 1 : 0), label, nonzero, rounded);
  bits = std::bit_cast<std::int64_t>(label);
  return p;
}

}  // namespace

template <class Value>
void RowBatch<Value>::reset(std::size_t bytes) {
  labels.clear();
  ends.clear();
  row_lines.clear();
  errors.clear();
  nonzeros = lines = max_index = 0;
  index_zero = unsorted = underflow = qid = rounded = {};
  // A feature takes at least four bytes (" 1:1"), the first of an unlabelled row three.
  const std::size_t most = bytes / 3 + 8;
  if (columns.size() < most) {
    columns.resize(most);
    values.resize(most);
  }
}

template <class Value>
const char* parse_fast(const char* line, const RowRules& rules, RowBatch<Value>& batch) {
  const char* p = line;
  std::int64_t label = 0;
  if (rules.labels && rules.real_labels) {
    p = parse_real_label(p, label);
    if (p == nullptr) return nullptr;
  } else if (rules.labels) {
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const std::uint64_t digits = load8(p) ^ kZeros;
    const int count = leading_digits(digits);
    if (count == 0) return nullptr;
    label = static_cast<std::int64_t>(to_number(digits, count));
    if (negative) label = -label;
    p += count;
    if (!ends_token(*p)) return nullptr;
  } else if (ends_token(*p)) {
    return nullptr;
  }

  std::uint32_t* const columns = batch.columns.data();
  Value* const values = batch.values.data();
  std::uint64_t k = batch.nonzeros;
  std::int64_t previous = -1;
  bool rounded = false;
  bool at_feature = !rules.labels;  // an unlabelled row begins with one, without a blank
  while (at_feature || *p == ' ') {
    p += !at_feature;
    at_feature = false;
    const std::uint64_t digits = load8(p) ^ kZeros;
    const int count = leading_digits(digits);
    if (count == 0) {
      if (ends_token(*p)) continue;  // doubled or trailing blanks
      return nullptr;
    }
    const auto index = static_cast<std::int64_t>(to_number(digits, count));
    if (p[count] != ':' || index <= previous) return nullptr;
    if (index == 0 && batch.index_zero.count == 0) return nullptr;
    previous = index;
    Value value;
    bool nonzero;
    p = parse_value(p + count + 1, value, nonzero, rounded);
    if (p == nullptr) return nullptr;
    columns[k] = static_cast<std::uint32_t>(index) - rules.base;
    values[k] = value;
    k += nonzero;  // explicit zeros are not stored
  }
  p += *p == '\r';
  if (*p != '\n') return nullptr;
  if constexpr (std::is_same_v<Value, double>) {
    double squares = 0;
    for (std::uint64_t i = batch.nonzeros; i < k; ++i) squares += values[i] * values[i];
    if (!(squares <= std::numeric_limits<double>::max())) return nullptr;
  }
  // The first is left to the careful parser, which says where it is.
  if (rounded && batch.rounded.count++ == 0) {
    batch.rounded = {};
    return nullptr;
  }
  if (k > batch.nonzeros) batch.max_index = std::max(batch.max_index, columns[k - 1] + rules.base);
  batch.nonzeros = k;
  batch.labels.push_back(label);
  batch.ends.push_back(k);
  return p + 1;
}

template struct RowBatch<float>;
template struct RowBatch<double>;
template const char* parse_fast(const char*, const RowRules&, RowBatch<float>&);
template const char* parse_fast(const char*, const RowRules&, RowBatch<double>&);

}  // namespace hinge
