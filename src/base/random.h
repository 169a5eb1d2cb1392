// Counter-based random numbers: the stream is a pure function of (seed, stream, position), so any
// block of work can draw its own numbers without asking what others drew. Not for secrets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace hinge {

class Random {
 public:
  // Different (seed, stream, substream) give unrelated sequences.
  explicit constexpr Random(std::uint64_t seed, std::uint64_t stream = 0,
                            std::uint64_t substream = 0)
      : key_(mix(mix(mix(seed) ^ stream) + substream)) {}

  constexpr std::uint64_t next() { return mix(key_ + kGolden * ++counter_); }

  // Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Uniform in 0 .. n-1, n > 0, without bias (Lemire's multiply and reject).
  constexpr std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    Wide product = Wide{next()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold) product = Wide{next()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  template <class T>
  constexpr void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  template <class Archive>
  void archive(Archive& archive) {
    archive(key_, counter_);
  }

 private:
  static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

  // The finaliser of splitmix64: a bijection in which every input bit moves every output bit.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x += kGolden;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace hinge
