// The hyperplanes of a stream: sums that gain rows, over columns nobody knows beforehand.
//
// Hyperplanes lie interleaved: entry p of plane c is v[p * stride + c], p the place of its column.
// Columns below kDirect are their own places, in a block that grows with the largest of them; of
// this block only runs in which something was added are ever written, and take memory. Columns
// from there on, which may be few among four billion, get places in a second block as they come,
// found by a hash table. Sums are taken in the order of the columns, whatever the stride, so the
// bits of a plane do not depend on how many others there are, or since when.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace hinge {

// Places for columns, counted from 0 in the order in which they come.
class ColumnTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  ColumnTable();
  std::uint32_t find(std::uint32_t column) const;                      // kNone if it is not there
  std::uint32_t insert(std::uint32_t column);                          // or finds it
  std::span<const std::uint32_t> columns() const { return columns_; }  // by place

 private:
  std::size_t slot(std::uint32_t column) const;
  void grow();

  std::uint64_t multiplier_;
  int shift_ = 0;
  std::vector<std::uint32_t> slots_;  // place + 1; 0 where nothing is
  std::vector<std::uint32_t> columns_;
};

class StreamPlanes {
 public:
  static constexpr std::uint32_t kDirect = std::uint32_t{1} << 20;
  static constexpr std::uint32_t kRun = 64;  // columns that are marked together

  // No plane yet. `bias` is the value of the constant feature, 0 = none.
  StreamPlanes(double bias, const Kernels& kernels) : bias_(bias), kernels_(&kernels) {}

  std::size_t planes() const { return planes_; }
  std::size_t stride() const { return stride_; }

  // Makes room for so many planes. Nothing changes if it fails (memory.model, std::bad_alloc).
  void reserve(std::size_t planes);

  // Adds a plane, for which there is room: zeros, or plane `like` times 1 or -1.
  void add_plane();
  void add_plane(double sign, std::size_t like);

  // A row in terms of places, good until the next one is located.
  template <class Value>
  struct Located {
    SparseRow<Value> low, high;
  };

  // Makes places for columns that are new.
  template <class Value>
  Located<Value> locate(SparseRow<Value> row) {
    const std::size_t size = below(row, kDirect);
    if (size > 0) reserve_low(row.columns[size - 1] + std::size_t{1});
    scratch_.clear();
    for (std::size_t k = size; k < row.size; ++k) scratch_.push_back(place(row.columns[k]));
    return {{row.columns, row.values, size}, {scratch_.data(), row.values + size, row.size - size}};
  }

  // Leaves out columns that were never located.
  template <class Value>
  Located<Value> find(SparseRow<Value> row, std::vector<std::uint32_t>& places,
                      std::vector<Value>& values) const {
    const std::size_t size = below(row, kDirect);
    places.clear();
    values.clear();
    for (std::size_t k = size; k < row.size; ++k) {
      const std::uint32_t found = table_.find(row.columns[k]);
      if (found == ColumnTable::kNone) continue;
      places.push_back(found);
      values.push_back(row.values[k]);
    }
    return {{row.columns, row.values, below(row, low_columns_)},
            {places.data(), values.data(), places.size()}};
  }

  // out[c] = <v_c, x>, c < stride
  template <class Value>
  void scores(const Located<Value>& row, double* out) const {
    kernels_->dot_many(row.low, low_.data(), stride_, out);
    if (row.high.size > 0) more_scores(row.high, out);
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) out[c] += bias_ * constant_[c];
  }

  // v_c += a[c] x
  template <class Value>
  void add(const Located<Value>& row, const double* a) {
    for (std::size_t k = 0; k < row.low.size; ++k) written_[row.low.columns[k] / kRun] = 1;
    kernels_->add_many(row.low, a, stride_, low_.data());
    if (row.high.size > 0) kernels_->add_many(row.high, a, stride_, high_.data());
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) constant_[c] += a[c] * bias_;
  }

  // For going through everything, and for putting it back.
  // f(column), ascending: at least the columns below kDirect that have a sum.
  template <class F>
  void each_low(F&& f) const {
    for (std::size_t run = 0; run * kRun < low_columns_; ++run) {
      if (written_[run] == 0) continue;
      const std::size_t end = std::min((run + 1) * kRun, low_columns_);
      for (std::size_t column = run * kRun; column < end; ++column) f(column);
    }
  }
  std::span<const std::uint32_t> high_columns() const { return table_.columns(); }
  double low(std::size_t column, std::size_t plane) const { return low_[column * stride_ + plane]; }
  double high(std::size_t place, std::size_t plane) const { return high_[place * stride_ + plane]; }
  double constant(std::size_t plane) const { return constant_[plane]; }
  void set(std::uint32_t column, std::size_t plane, double sum);
  void set_constant(std::size_t plane, double sum) { constant_[plane] = sum; }

 private:
  template <class Value>
  static std::size_t below(const SparseRow<Value>& row, std::size_t limit) {
    if (row.size == 0 || row.columns[row.size - 1] < limit) return row.size;
    return static_cast<std::size_t>(std::lower_bound(row.columns, row.columns + row.size, limit) -
                                    row.columns);
  }
  template <class Value>
  void more_scores(const SparseRow<Value>& row, double* out) const {
    constexpr std::size_t kFew = 16;
    double few[kFew];
    std::vector<double> many(stride_ > kFew ? stride_ : 0);
    double* const more = stride_ > kFew ? many.data() : few;
    kernels_->dot_many(row, high_.data(), stride_, more);
    for (std::size_t c = 0; c < stride_; ++c) out[c] += more[c];
  }
  void reserve_low(std::size_t columns) {
    if (columns > low_columns_) grow_low(columns);
  }
  void grow_low(std::size_t columns);
  std::uint32_t place(std::uint32_t column);
  void check_memory(std::size_t places, std::size_t stride) const;

  double bias_;
  const Kernels* kernels_;
  std::size_t planes_ = 0, stride_ = 1;
  std::size_t low_columns_ = 0;  // places there are in low_
  std::vector<std::uint8_t> written_ = std::vector<std::uint8_t>(kDirect / kRun);  // by run
  Buffer<double> low_, high_;             // their entries are met in no order: in huge pages
  std::vector<double> constant_ = {0.0};  // of the constant feature, one a plane
  ColumnTable table_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace hinge
