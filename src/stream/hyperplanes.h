// The hyperplanes of a stream: sums that gain rows, over columns nobody knows beforehand.
//
// Hyperplanes lie interleaved: entry p of hyperplane c is v[p * stride + c], p the place of its
// column. Columns below kDirect are their own places, in a block that grows with the largest of
// them; of this block only runs in which something was added are ever written, and take memory.
// Columns from there on, which may be few among four billion, get places in a second block as they
// come, found by a hash table. Sums are taken in the order of the columns, whatever the stride, so
// the bits of a hyperplane do not depend on how many others there are, or since when.
//
// Of many hyperplanes that would take much memory only what differs from hyperplane 0 is kept,
// which must then be the rest (SharedPlanes): most hyperplanes gain from most rows what the rest
// gains. All columns then have their places in the table. This changes no bit either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "model/shared_planes.h"
#include "simd/simd.h"
#include "stream/column_table.h"

namespace hinge {

class StreamHyperplanes {
 public:
  static constexpr std::uint32_t kDirect = std::uint32_t{1} << 20;
  static constexpr std::uint32_t kRun = 64;           // columns that are marked together
  static constexpr std::size_t kFewHyperplanes = 16;  // up to so many are kept whole, if they fit

  // No hyperplane yet. `bias` is the value of the constant feature, 0 = none; `rest`: hyperplane 0
  // will be the rest.
  StreamHyperplanes(double bias, bool rest, const Simd& simd)
      : bias_(bias), rest_(rest), simd_(&simd) {}

  // Bytes that the sums and what saving takes besides may have; 0 = nine tenths of what this
  // process can have.
  void set_limit(std::uint64_t bytes) { limit_ = bytes; }

  std::size_t count() const { return count_; }
  std::size_t stride() const { return stride_; }

  // Makes room for so many hyperplanes. Nothing changes if it fails (memory.*, std::bad_alloc).
  void reserve(std::size_t hyperplanes);

  // Adds a hyperplane, for which there is room: zeros, or hyperplane `like` times 1 or -1. Beside
  // more than two hyperplanes a new one is like hyperplane 0.
  void add_hyperplane();
  void add_hyperplane(double sign, std::size_t like);

  // A row in terms of places, good until the next one is located.
  template <class Value>
  struct Located {
    SparseRow<Value> low, high;
  };

  // Makes places for columns that are new.
  template <class Value>
  Located<Value> locate(SparseRow<Value> row) {
    const bool shared = shared_.has_value();
    const std::size_t size = below(row, kDirect);
    if (size > 0 && !shared) reserve_low(row.columns[size - 1] + std::size_t{1});
    scratch_.clear();
    for (std::size_t k = shared ? 0 : size; k < row.size; ++k) {
      scratch_.push_back(place(row.columns[k]));
    }
    if (shared_.has_value() != shared) return locate(row);  // places have changed
    const std::uint32_t* const places = scratch_.data();
    if (!shared) {
      return {{row.columns, row.values, size}, {places, row.values + size, row.size - size}};
    }
    return {{places, row.values, size}, {places + size, row.values + size, row.size - size}};
  }

  // Leaves out columns that were never located.
  template <class Value>
  Located<Value> find(SparseRow<Value> row, std::vector<std::uint32_t>& places,
                      std::vector<Value>& values) const {
    const std::size_t size = below(row, kDirect);
    std::size_t low = 0;
    places.clear();
    values.clear();
    for (std::size_t k = shared_ ? 0 : size; k < row.size; ++k) {
      const std::uint32_t found = table_.find(row.columns[k]);
      if (found == ColumnTable::kNone) continue;
      places.push_back(found);
      values.push_back(row.values[k]);
      low += k < size;
    }
    const SparseRow<Value> high = {places.data() + low, values.data() + low, places.size() - low};
    if (shared_) return {{places.data(), values.data(), low}, high};
    return {{row.columns, row.values, below(row, low_columns_)}, high};
  }

  // out[c] = <v_c, x>, c < stride
  template <class Value>
  void scores(const Located<Value>& row, double* out) const {
    if (shared_) {
      shared_->scores(row.low, out);
    } else {
      simd_->dot_many(row.low, low_.data(), stride_, out);
    }
    if (row.high.size > 0) more_scores(row.high, out);
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) out[c] += bias_ * constant_[c];
  }

  // Takes the memory for add(), which then cannot fail. `hyperplanes` counts those, too, that are
  // added in between.
  template <class Value>
  void prepare(const Located<Value>& row, const double* a, std::size_t hyperplanes) {
    if (shared_) prepare_shared({row.low.columns, row.low.size + row.high.size}, a, hyperplanes);
  }

  // v_c += a[c] x
  template <class Value>
  void add(const Located<Value>& row, const double* a) {
    add_features(row, a);
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) constant_[c] += a[c] * bias_;
  }

  // ---- For going through everything, and for putting it back.

  struct Column {
    std::uint32_t number, place;
  };
  // Sums of a column that are not like most.
  struct OwnSums {
    double common = 0;  // what more than half of the hyperplanes have; else 0
    std::vector<std::uint32_t> hyperplanes;
    std::vector<double> sums;  // of these

    bool any() const { return common != 0 || !hyperplanes.empty(); }
  };

  std::vector<Column> columns() const;  // ascending; all that have a sum
  // Of the hyperplanes from `first` on; numbers depend on the sums alone, not on how they are kept.
  void own_sums(const Column& column, std::size_t first, OwnSums& out) const;
  void all_sums(const Column& column, double* out) const;  // of every hyperplane
  double constant(std::size_t hyperplane) const { return constant_[hyperplane]; }

  // A column that has no sums yet. `sums` are of every hyperplane, and 0 from there up to stride().
  void set(std::uint32_t column, const double* sums);
  void set_constant(std::size_t hyperplane, double sum) { constant_[hyperplane] = sum; }

  // Memory that building a model of all this takes, at most.
  std::size_t saving_bytes() const;

 private:
  template <class Value>
  static std::size_t below(const SparseRow<Value>& row, std::size_t limit) {
    if (row.size == 0 || row.columns[row.size - 1] < limit) return row.size;
    return static_cast<std::size_t>(std::lower_bound(row.columns, row.columns + row.size, limit) -
                                    row.columns);
  }
  template <class Value>
  void more_scores(const SparseRow<Value>& row, double* out) const {
    double few[kFewHyperplanes];
    std::vector<double> many(stride_ > kFewHyperplanes ? stride_ : 0);
    double* const more = stride_ > kFewHyperplanes ? many.data() : few;
    if (shared_) {
      shared_->scores(row, more);
    } else {
      simd_->dot_many(row, high_.data(), stride_, more);
    }
    for (std::size_t c = 0; c < stride_; ++c) out[c] += more[c];
  }
  template <class Value>
  void add_features(const Located<Value>& row, const double* a) {
    if (shared_) {
      shared_->add(row.low);
      shared_->add(row.high);
      return;
    }
    for (std::size_t k = 0; k < row.low.size; ++k) written_[row.low.columns[k] / kRun] = 1;
    simd_->add_many(row.low, a, stride_, low_.data());
    if (row.high.size > 0) simd_->add_many(row.high, a, stride_, high_.data());
  }
  void reserve_low(std::size_t columns) {
    if (columns > low_columns_) grow_low(columns);
  }
  // At least the columns below kDirect that have a sum, while hyperplanes are kept whole.
  template <class F>
  void each_low(F&& f) const {
    for (std::size_t run = 0; run * kRun < low_columns_; ++run) {
      if (written_[run] == 0) continue;
      const std::size_t end = std::min((run + 1) * kRun, low_columns_);
      for (std::size_t column = run * kRun; column < end; ++column) f(column);
    }
  }
  const double* whole(const Column& column) const {
    return column.number < kDirect ? low_.data() + column.place * stride_
                                   : high_.data() + column.place * stride_;
  }
  void grow_low(std::size_t columns);
  std::uint32_t place(std::uint32_t column);
  double limit() const;
  // Of so many places for hyperplanes, all of them kept, and of saving them.
  double whole_bytes(std::size_t places, std::size_t stride, std::size_t hyperplanes) const;
  bool worth_sharing(std::size_t places, std::size_t stride, std::size_t hyperplanes) const;
  void share();
  void prepare_shared(std::span<const std::uint32_t> places, const double* a,
                      std::size_t hyperplanes);
  void check_whole(std::size_t places, std::size_t stride, std::size_t hyperplanes) const;
  void check_shared(std::size_t columns, std::size_t blocks) const;
  void check_memory(double bytes, std::size_t columns, std::size_t hyperplanes) const;

  double bias_;
  bool rest_;
  const Simd* simd_;
  std::uint64_t limit_ = 0;
  std::size_t count_ = 0, stride_ = 1;
  std::size_t low_columns_ = 0;  // places there are in low_
  std::vector<std::uint8_t> written_ = std::vector<std::uint8_t>(kDirect / kRun);  // by run
  Buffer<double> low_, high_;             // their entries are met in no order: in huge pages
  std::vector<double> constant_ = {0.0};  // of the constant feature, one a hyperplane
  ColumnTable table_;
  std::optional<SharedPlanes> shared_;  // instead of low_ and high_
  std::vector<std::uint32_t> scratch_;
};

}  // namespace hinge
