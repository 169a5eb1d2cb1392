// Many hyperplanes that are alike in most columns.
//
// Plane 0 has a number in every column. Of the other planes a column keeps, in blocks of four
// neighbours, those of which some number is not that of plane 0; planes without a block there have
// plane 0's number, bit for bit. So memory and time follow what differs rather than planes x
// columns, and a plane that is to begin as a copy of plane 0 costs nothing.
//
// Each plane's sum over a row is taken in the order of the columns, by itself, as dot_many takes
// it: the bits are those of planes kept whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simd/simd.h"

namespace hinge {

class SharedPlanes {
 public:
  static constexpr std::size_t kBlock = 4;
  struct Block {
    std::uint32_t number;  // planes 4 number to 4 number + 3
    double values[kBlock];
  };

  explicit SharedPlanes(std::size_t planes) : planes_(planes) {}

  std::size_t planes() const { return planes_; }
  std::size_t columns() const { return common_.size(); }
  std::size_t blocks() const { return blocks_; }  // there is room for

  // Planes that are new begin as copies of plane 0.
  void set_planes(std::size_t planes) { planes_ = planes; }

  // Adds a column: `common` is plane 0's; some planes, ascending, have numbers of their own.
  void add_column(double common, std::span<const std::uint32_t> planes,
                  std::span<const double> values);

  double common(std::size_t column) const { return common_[column]; }
  std::span<const Block> own(std::size_t column) const { return own_[column]; }
  // Numbers of the blocks that some of these columns have, ascending.
  std::vector<std::uint32_t> blocks_of(std::span<const std::uint32_t> columns) const;

  // out[c] = <v_c, x>, c < planes(), rounded up to whole blocks
  template <class Value>
  void scores(SparseRow<Value> row, double* out) const {
    const std::vector<std::uint32_t> numbers = blocks_of({row.columns, row.size});
    double common = 0;
    for (std::size_t k = 0; k < row.size; ++k) {
      common += static_cast<double>(row.values[k]) * common_[row.columns[k]];
    }
    std::fill_n(out, block_count(planes_) * kBlock, common);
    for (const std::uint32_t number : numbers) std::fill_n(out + number * kBlock, kBlock, 0.0);
    for (std::size_t k = 0; k < row.size && !numbers.empty(); ++k) {
      const auto value = static_cast<double>(row.values[k]);
      const double shared = value * common_[row.columns[k]];
      const Block* next = own_[row.columns[k]].data();
      const Block* const end = next + own_[row.columns[k]].size();
      for (const std::uint32_t number : numbers) {
        double* const to = out + number * kBlock;
        if (next != end && next->number == number) {
          for (std::size_t i = 0; i < kBlock; ++i) to[i] += value * next->values[i];
          ++next;
        } else {
          for (std::size_t i = 0; i < kBlock; ++i) to[i] += shared;
        }
      }
    }
  }

  // v_c += a[c] x, a[c] being a[0] from c = `count` on, in three steps: how many blocks it takes
  // that are not there; making them, which may throw std::bad_alloc and changes no number; adding.
  std::size_t plan(std::span<const std::uint32_t> columns, const double* a, std::size_t count);
  void make_blocks(std::span<const std::uint32_t> columns);
  template <class Value>
  void add(SparseRow<Value> row) noexcept {
    for (std::size_t k = 0; k < row.size; ++k) {
      const auto value = static_cast<double>(row.values[k]);
      common_[row.columns[k]] += value * factors_[0];
      for (Block& block : own_[row.columns[k]]) {
        const double* const a = factors_.data() + block.number * kBlock;
        for (std::size_t i = 0; i < kBlock; ++i) block.values[i] += value * a[i];
      }
    }
  }

 private:
  static std::size_t block_count(std::size_t planes) { return (planes + kBlock - 1) / kBlock; }
  std::size_t missing_in(std::uint32_t column) const;  // blocks that are needed

  std::size_t planes_;
  std::size_t blocks_ = 0;
  std::vector<double> common_;
  std::vector<std::vector<Block>> own_;  // by column, ascending by number
  std::vector<double> factors_;          // of the row to be added
  std::vector<std::uint32_t> needed_;    // blocks it needs in every column
};

}  // namespace hinge
