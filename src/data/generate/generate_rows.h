// How the rows of a synthetic data set are made; generate.cc cuts the work and writes the file.
//
// The same bytes on any machine and for any number of threads: a row depends on (seed, row number)
// alone, and is made with integers and + - * / sqrt on doubles, which IEEE 754 rounds alike
// everywhere. exp and log of the C library do not, hence the two of our own below.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "base/random.h"

namespace hinge {

struct RowRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Appends the text of the rows, each ended by '\n'. May be called from several threads at once.
using RowMaker = std::function<void(RowRange rows, std::string& out)>;

// Streams of Random(seed, stream, .): rows draw from kRowStream with their number, the hidden rule
// from the others.
enum : std::uint64_t { kRowStream = 0x67656e31, kRuleStream, kColumnStream };

// Documents. Words are Zipf-like: the word of rank r has weight 1 / ((r + shift) (1 + r / knee)).
// A document has a main topic, which decides its class, and a side topic, which need not agree. A
// share of its words comes from the two and the rest is chatter: what a classifier gets wrong are
// documents with little of their topic, much of another, or a label turned round.
struct TextShape {
  double median_length = 60.5;  // distinct words of a document; log-normal
  double length_spread = 0.7;   // standard deviation of the logarithm of the length
  double zipf_shift = 60;
  double zipf_knee = 2800;
  std::uint32_t topics = 64;
  std::uint32_t positive_topics = 30;
  std::uint32_t topic_words = 200;
  double min_share = 0.15;  // of the words from topics, uniform from min_share to max_share
  double max_share = 0.5;
  double max_side = 0.3;  // of these from the side topic, uniform from 0
  double flips = 0.02;    // labels turned round
  int decimals = 6;       // of the values
};
RowMaker make_text_rows(const TextShape& shape, std::uint64_t features, std::uint64_t seed);

// Forest cover: ten measurements in [0, 1] and two indicators, one of 4 and one of features - 14.
RowMaker make_cover_rows(std::uint64_t features, std::uint64_t seed);

// Embeddings: unit vectors around a common mean and a few centres, shifted a little by class.
RowMaker make_dense_rows(std::uint64_t features, std::uint64_t seed);

// Mean 0, variance 1, bell-shaped, within +-3.47: the sum of four 16-bit uniforms of one number.
inline double bell(Random& random) {
  const std::uint64_t bits = random.next();
  const std::uint64_t sum =
      (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  constexpr double kSqrt3 = 1.7320508075688772;
  return (static_cast<double>(sum) - 131070.0) * (kSqrt3 / 65536.0);
}

// (1 + x/16)^16, within 15 % of e^x for |x| < 2.
inline double rough_exp(double x) {
  double y = 1 + x / 16;
  for (int i = 0; i < 4; ++i) y *= y;
  return y;
}

// 2^16 (x^(2^-16) - 1), within 0.02 % of log x for 1 <= x < 1e9.
inline double rough_log(double x) {
  for (int i = 0; i < 16; ++i) x = std::sqrt(x);
  return (x - 1) * 65536;
}

inline void append_label(bool positive, std::string& out) {
  out.append(positive ? "+1" : "-1");
}

// Appends " index:value", the value being units / 10^decimals without trailing zeros. A value is
// never 0: units of 0 count as 1. |units| <= 10^decimals <= 10^9.
inline void append_feature(std::uint64_t index, std::int64_t units, int decimals,
                           std::string& out) {
  char text[48];
  text[0] = ' ';
  char* p = std::to_chars(text + 1, text + 24, index).ptr;
  *p++ = ':';
  if (units < 0) *p++ = '-';
  std::uint64_t digits = static_cast<std::uint64_t>(units < 0 ? -units : units);
  if (digits == 0) digits = 1;
  for (; decimals > 0 && digits % 10 == 0; --decimals) digits /= 10;
  if (decimals == 0) {
    p = std::to_chars(p, text + sizeof text, digits).ptr;
  } else {
    *p++ = '0';
    *p++ = '.';
    for (char* q = p + decimals; q != p; digits /= 10) {
      *--q = static_cast<char>('0' + digits % 10);
    }
    p += decimals;
  }
  out.append(text, p);
}

// The nearest whole number of units, halves away from zero.
inline std::int64_t to_units(double value, double units_per_one) {
  const double scaled = value * units_per_one;
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace hinge
