// Shares of dual variables in few bits: a floating format without a sign for zero and without
// infinities. Some bits of a code choose an octave below 2^exponent, the others a place in it;
// below the last octave steps stay as they are, down to 0. Where shares may be negative the highest
// bit is the sign. Wider codes have more octaves.
//
//   16 bits: 3 for the octave, 13 (signed: 12) for the place       32 bits: 5 and 27 (26)
//
// Of the formats of 16 bits this one loses the least gap over all (docs/math.md has figures): one
// with fewer octaves is coarse where a few shares are large, one with more is coarse everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hinge {

class ShareCode {
 public:
  // Exponents for which every step is a normal double, and every share is finite.
  static constexpr int kLeastExponent = -900, kMostExponent = 900;

  ShareCode(int bits, bool is_signed, int exponent)
      : place_bits_(bits - (bits == 16 ? 3 : 5) - (is_signed ? 1 : 0)),
        sign_(is_signed ? std::uint32_t{1} << (bits - 1) : 0),
        most_(is_signed ? sign_ - 1 : std::numeric_limits<std::uint32_t>::max() >> (32 - bits)),
        step_(std::ldexp(1.0, exponent - place_bits_ - (bits == 16 ? 7 : 31))),
        steps_(1 / step_) {}

  // The share of a code; that of 0 is 0.
  double share(std::uint32_t code) const {
    const double size = static_cast<double>(length(code & most_)) * step_;
    return (code & sign_) != 0 ? -size : size;
  }

  // The code whose share is nearest to this one.
  std::uint32_t code(double share) const {
    const double size = std::abs(share) * steps_;
    if (!(size < 0x1p62)) return with_sign(most_, share);
    // Octaves above that of the least steps: each halves what is counted.
    const auto octave = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023;
    const std::int64_t above = std::max<std::int64_t>(0, octave - place_bits_);
    const double half = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - above) << 52);
    const double place = (size * half + 0x1p52) - 0x1p52;  // rounded to nearest
    // A place that was rounded up to the next octave is counted as its first.
    const std::int64_t code = (above << place_bits_) + static_cast<std::int64_t>(place);
    return with_sign(static_cast<std::uint32_t>(std::min<std::int64_t>(code, most_)), share);
  }

  // From a share to its neighbours is at least that far.
  double least_step(std::uint32_t code) const {
    const std::uint32_t octave = (code & most_) >> place_bits_;
    return static_cast<double>(std::uint64_t{1} << (octave > 1 ? octave - 2 : 0)) * step_;
  }

  // The next code up or down, of a share of the same sign; or the same where there is none.
  std::uint32_t next(std::uint32_t code, bool up) const {
    const std::uint32_t size = code & most_;
    const bool longer = up == ((code & sign_) == 0);
    if (longer ? size == most_ : size <= 1) return code;
    return (code & sign_) | (longer ? size + 1 : size - 1);
  }

 private:
  std::uint64_t length(std::uint32_t size) const {
    const std::uint64_t octave = size >> place_bits_, first = std::uint64_t{1} << place_bits_;
    const std::uint64_t place = size & (first - 1);
    return octave == 0 ? place : (first + place) << (octave - 1);
  }
  std::uint32_t with_sign(std::uint32_t size, double share) const {
    return share < 0 && size > 0 ? sign_ | size : size;
  }

  int place_bits_;
  std::uint32_t sign_, most_;
  double step_, steps_;  // the least step, and how many of it are 1
};

}  // namespace hinge
