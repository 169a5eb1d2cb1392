// Kernel values of a few rows against many, the inner loop of everything that has a kernel.
//
// The few rows lie interleaved in a dense array, so that the nonzeros of one of the many are read
// once for all of them. K(x, z) has the same bits as K(z, x) and does not depend on which rows
// share a block: the products of common columns are summed in the order of the columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hinge/kernel.h"
#include "simd/simd.h"

namespace hinge {

// Whether |x - z|^2 must be summed from differences, since |x|^2 + |z|^2 - 2 <x, z> would have lost
// what matters to this kernel to rounding (columns that are large and nearly constant) or overflow.
// `largest` is the largest |x|^2 of the rows.
bool needs_differences(const KernelFunction& kernel, double largest);

// dots[k] = <x, z_k> becomes K(x, z_k); `square` is |x|^2, squares[k] |z_k|^2.
void apply_kernel(const KernelFunction& kernel, const Simd& loops, double square,
                  const double* squares, double* dots, std::size_t size);

class KernelBlock {
 public:
  // Rows have columns below `features`; `differences` as needs_differences() says.
  KernelBlock(const KernelFunction& kernel, std::uint64_t features, bool differences,
              const Simd& loops)
      : kernel_(kernel),
        differences_(differences),
        loops_(&loops),
        stride_(rows_for(features)),
        dense_(differences ? 0 : features * stride_),
        squares_(stride_) {}

  // How many rows a block holds: about as many as the cache has room for.
  static std::size_t rows_for(std::uint64_t features) {
    constexpr std::uint64_t kCache = std::uint64_t{1} << 16;  // numbers
    return features * 16 <= kCache ? 16 : features * 8 <= kCache ? 8 : 4;
  }
  std::size_t capacity() const { return stride_; }
  std::size_t size() const { return used_; }

  // Replaces the rows of the block by row_at(0) .. row_at(count - 1), at most capacity(), where
  // square_at(b) is |x|^2 of row b; with differences, of that part of it which row_at(b) leaves
  // out.
  template <class RowAt, class SquareAt>
  void load(std::size_t count, const RowAt& row_at, const SquareAt& square_at) {
    if (!differences_) {
      for (const std::uint32_t column : columns_) {
        std::fill_n(dense_.data() + column * stride_, stride_, 0.0);
      }
    }
    columns_.clear();
    values_.clear();
    ends_.clear();
    used_ = count;
    for (std::size_t b = 0; b < count; ++b) {
      const auto row = row_at(b);
      columns_.insert(columns_.end(), row.columns, row.columns + row.size);
      squares_[b] = square_at(b);
      if (differences_) {
        values_.insert(values_.end(), row.values, row.values + row.size);
        ends_.push_back(columns_.size());
        continue;
      }
      for (std::size_t k = 0; k < row.size; ++k) {
        dense_[row.columns[k] * stride_ + b] = static_cast<double>(row.values[k]);
      }
    }
  }

  // out[b * lead + k] = K(row b, row_at(k)) + constant for k from `begin` to `end` - 1; squares[k]
  // is |z_k|^2. Several threads may evaluate the same block.
  template <class RowAt>
  void evaluate(std::size_t begin, std::size_t end, const RowAt& row_at, const double* squares,
                double constant, double* out, std::size_t lead) const {
    double dots[16];
    for (std::size_t k = begin; k < end; ++k) {
      if (differences_) {
        for (std::size_t b = 0; b < used_; ++b) {
          out[b * lead + k] = -kernel_.gamma * (squares_[b] + square_of_difference(b, row_at(k)));
        }
        continue;
      }
      loops_->dot_many(row_at(k), dense_.data(), stride_, dots);
      for (std::size_t b = 0; b < used_; ++b) out[b * lead + k] = dots[b];
    }
    for (std::size_t b = 0; b < used_; ++b) {
      double* const values = out + b * lead;
      if (differences_) {
        loops_->exp_all(values + begin, end - begin);
      } else {
        apply_kernel(kernel_, *loops_, squares_[b], squares + begin, values + begin, end - begin);
      }
      if (constant == 0) continue;
      for (std::size_t k = begin; k < end; ++k) values[k] += constant;
    }
  }

 private:
  // |x - z|^2 of row b and z, column by column.
  template <class Value>
  double square_of_difference(std::size_t b, const SparseRow<Value>& z) const {
    std::size_t k = b == 0 ? 0 : ends_[b - 1];
    double sum = 0;
    const auto add = [&sum](double difference) { sum += difference * difference; };
    for (std::size_t j = 0; j < z.size; ++j) {
      for (; k < ends_[b] && columns_[k] < z.columns[j]; ++k) add(values_[k]);
      const bool both = k < ends_[b] && columns_[k] == z.columns[j];
      add((both ? values_[k++] : 0.0) - static_cast<double>(z.values[j]));
    }
    for (; k < ends_[b]; ++k) add(values_[k]);
    return sum;
  }

  KernelFunction kernel_;
  bool differences_;
  const Simd* loops_;
  std::size_t stride_, used_ = 0;
  std::vector<double> dense_;           // of row b and column j at j * stride + b
  std::vector<std::uint32_t> columns_;  // of the rows, one after the other
  std::vector<double> values_;          // likewise, with differences
  std::vector<std::size_t> ends_;
  std::vector<double> squares_;
};

}  // namespace hinge
