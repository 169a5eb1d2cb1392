// The statuses behind each plane: one bit a row, or for planes that were merged a number in [0,1].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"

namespace hinge {

// One bit a row; but with a free bias one row may lie between.
class RowBits {
 public:
  RowBits() = default;
  explicit RowBits(std::uint64_t rows) : words_((rows + 63) / 64) {}
  bool get(std::uint64_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void flip(std::uint64_t i) { words_[i / 64] ^= std::uint64_t{1} << (i % 64); }
  void set(std::uint64_t i, bool value) {
    if (get(i) != value) flip(i);
  }
  std::uint64_t word(std::size_t k) const { return words_[k]; }
  std::uint64_t& word(std::size_t k) { return words_[k]; }
  std::size_t size() const { return words_.size(); }

  // The row whose status is not its bit: how much it is more, or less.
  struct Between {
    std::uint64_t row = 0;
    double more = 0;
  };
  Between between;
  double status(std::uint64_t i) const {
    return (get(i) ? 1.0 : 0.0) + (i == between.row ? between.more : 0.0);
  }

  void archive(Archive& archive, std::uint64_t rows);  // there may be no bits at all

 private:
  std::vector<std::uint64_t> words_;
};

class PlaneStatuses {
 public:
  PlaneStatuses(std::uint64_t rows, std::size_t slots) : rows_(rows), planes_(slots) {}

  void set(std::size_t slot, const RowBits& bits) { planes_[slot] = {.bits = bits, .shares = {}}; }
  void set(std::size_t slot, std::span<const double> shares) {
    planes_[slot] = {.bits = {}, .shares = {shares.begin(), shares.end()}};
  }
  void drop(std::size_t slot) { planes_[slot] = {}; }
  void merge(std::size_t into, std::size_t from, double u, double v, Pool& pool);

  bool merged(std::size_t slot) const { return !planes_[slot].shares.empty(); }
  const RowBits& bits(std::size_t slot) const { return planes_[slot].bits; }

  // out[i] += sum_k coefficients[k] s_ik, over the slots in order
  void spread(std::span<const double> coefficients, std::span<double> out, Pool& pool) const;

  void grow(std::size_t slots) { planes_.resize(slots); }

  void archive(Archive& archive, const std::vector<bool>& taken);  // which slots have a plane

 private:
  struct Plane {
    RowBits bits;
    std::vector<double> shares;  // empty: bits
  };
  std::uint64_t rows_;
  std::vector<Plane> planes_;
};

}  // namespace hinge
