// Arithmetic whose rounding is known, so that what is reported can be rounded outwards. In IEEE
// double arithmetic, rounded to nearest, one operation is off by at most u = 2^-53 of its result, a
// number that went through k of them by gamma(k) = k u / (1 - k u), and a product whose result is
// below 2^-1022 by kTiny besides. docs/math.md has the theorem that rests on this.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace hinge {

constexpr double kUnit = 0x1p-53;
constexpr double kTiny = 0x1p-1074;

// While it lives, this thread rounds to nearest and keeps subnormal numbers, whatever another
// library of the same process has made of the processor's control word.
class PlainArithmetic {
 public:
  PlainArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~PlainArithmetic() { std::fesetenv(&before_); }
  PlainArithmetic(const PlainArithmetic&) = delete;
  PlainArithmetic& operator=(const PlainArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

// The result of one operation, moved to the other side of what it was before rounding.
inline double up(double x) {
  return std::nextafter(x, std::numeric_limits<double>::infinity());
}
inline double down(double x) {
  return std::nextafter(x, -std::numeric_limits<double>::infinity());
}

// The result is at least k u / (1 - k u), and infinite where that means nothing.
inline double gamma(double k) {
  const double share = k * kUnit;  // exact: kUnit is a power of two
  return share < 0.25 ? up(share / down(1 - share)) : std::numeric_limits<double>::infinity();
}

// The result is at least a b, and a b itself if that is a double.
inline double product_up(double a, double b) {
  const double product = a * b;
  return std::fma(a, b, -product) > 0 ? up(product) : product;
}

struct Interval {
  double low = 0, high = 0;
};

// What a sum of terms that are not negative is, if its computed value is `computed`, every term
// went through at most `roundings` operations, and `products` of them may have underflowed.
inline Interval enclose_sum(double computed, double roundings, double products) {
  if (computed == 0 && products == 0) return {};
  const double off = gamma(roundings), lost = products * kTiny;  // which is exact, too
  if (!(off < 1)) return {0, std::numeric_limits<double>::infinity()};
  const double low = down(down(computed - lost) / up(1 + off));
  const double high = lost == 0 ? computed : up(computed + lost);
  return {low > 0 ? low : 0.0, up(high / down(1 - off))};
}

// a + b is sum + error, exactly.
struct ExactSum {
  double sum, error;
};
inline ExactSum two_sum(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// A sum of term(x) over v, in blocks: one chain of sums would round many numbers that are the same,
// as dual variables are, all the same way. A term goes through sum_depth(v.size()) additions.
constexpr std::size_t kSumBlock = 512;
inline double sum_depth(std::size_t size) {
  return static_cast<double>((size < kSumBlock ? size : kSumBlock) + size / kSumBlock + 1);
}
template <class Term>
double sum_of(std::span<const double> v, const Term& term) {
  double sum = 0;
  for (std::size_t from = 0; from < v.size(); from += kSumBlock) {
    double block = 0;
    const std::size_t size = v.size() - from < kSumBlock ? v.size() - from : kSumBlock;
    for (const double x : v.subspan(from, size)) block += term(x);
    sum += block;
  }
  return sum;
}

// 1/2 |v|^2
inline Interval half_square(std::span<const double> v) {
  const double sum = sum_of(v, [](double x) { return x * x; });
  const bool zero = sum == 0 && std::ranges::all_of(v, [](double x) { return x == 0; });
  if (zero) return {};
  const Interval whole = enclose_sum(sum, sum_depth(v.size()) + 1, static_cast<double>(v.size()));
  return {std::max(0.0, down(whole.low / 2)), up(whole.high / 2)};
}

}  // namespace hinge
