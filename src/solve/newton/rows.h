// The rows that Newton steps are taken on: those of the data as they are, or a copy of some of
// them. Where few entries are 0 rows are kept without columns, each as long as the next: half the
// bytes, and products of whole matrices instead of single entries. Data that is like that already
// is not copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "simd/simd.h"
#include "solve/newton/tuning.h"

namespace hinge {

template <class Value>
class NewtonRows {
 public:
  // All rows of m, which must outlive this.
  NewtonRows(const CsrView<Value>& m, const Simd& simd, Pool& pool)
      : m_(m), simd_(&simd), width_((m.features + 7) / 8 * 8) {
    const double entries = static_cast<double>(m.rows) * static_cast<double>(m.features);
    if (!(static_cast<double>(m.nonzeros()) > NewtonTuning::kFullShare * entries) || m.features < 8)
      return;
    if (m.full && width_ == m.features) {
      full_rows_ = m.values_of(0);
      return;
    }
    full_.resize(m.rows * width_);
    full_rows_ = full_.data();
    const std::uint64_t run = run_of(m.rows);
    pool.run((m.rows + run - 1) / run, [&](std::size_t block) {
      const std::uint64_t end = std::min(m.rows, (block + 1) * run);
      for (std::uint64_t i = block * run; i < end; ++i) fill(i);
    });
  }

  // Copies of some rows of another.
  NewtonRows(const NewtonRows& from, std::span<const std::uint64_t> rows, Pool& pool)
      : m_(from.m_), simd_(from.simd_), width_(from.width_) {
    m_.rows = rows.size();
    const std::uint64_t run = run_of(rows.size());
    const auto copy = [&](const auto& one) {
      pool.run((rows.size() + run - 1) / run, [&](std::size_t block) {
        const std::uint64_t end = std::min<std::uint64_t>(rows.size(), (block + 1) * run);
        for (std::uint64_t k = block * run; k < end; ++k) one(k);
      });
    };
    if (from.full()) {
      full_.resize(rows.size() * width_);
      full_rows_ = full_.data();
      copy([&](std::uint64_t k) {
        std::copy_n(from.full_row(rows[k]), width_, full_.data() + k * width_);
      });
      return;
    }
    offsets_.resize(rows.size() + 1);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      offsets_[k + 1] = offsets_[k] + from.m_.offsets[rows[k] + 1] - from.m_.offsets[rows[k]];
    }
    columns_.resize(offsets_.back());
    values_.resize(offsets_.back());
    copy([&](std::uint64_t k) {
      const SparseRow<Value> row = from.sparse(rows[k]);
      std::copy_n(row.columns, row.size, columns_.data() + offsets_[k]);
      std::copy_n(row.values, row.size, values_.data() + offsets_[k]);
    });
    m_.offsets = offsets_.data();
    m_.columns = columns_.data();
    m_.full = false;
    m_.values = values_.data();
  }

  NewtonRows(NewtonRows&&) = default;
  NewtonRows& operator=(NewtonRows&&) = default;

  std::uint64_t rows() const { return m_.rows; }
  std::uint64_t features() const { return m_.features; }
  bool full() const { return full_rows_ != nullptr; }
  std::size_t width() const { return width_; }  // of full rows: features, and zeros up to 8 k

  const Value* full_row(std::uint64_t i) const { return full_rows_ + i * width_; }
  SparseRow<Value> sparse(std::uint64_t i) const { return row_of(m_, i); }
  bool zero(std::uint64_t i) const { return !full() && m_.offsets[i] == m_.offsets[i + 1]; }

  // out[k] = <w, x_row(k)> for k < count; w has width() entries.
  template <class RowOf>
  void scores(std::uint64_t count, const RowOf& row, const double* w, double* out) const {
    if (!full()) {
      for (std::uint64_t k = 0; k < count; ++k) out[k] = simd_->dot(sparse(row(k)), w);
      return;
    }
    in_runs(count, row, [&](std::uint64_t k, std::size_t run, const Value* const* from) {
      simd_->dot_full(from, run, w, width_, out + k);
    });
  }

  // out[k] = <w, x_(begin + k)>
  void scores_of_run(std::uint64_t begin, std::uint64_t end, const double* w, double* out) const {
    if (full()) {
      scores(
          end - begin, [begin](std::uint64_t k) { return begin + k; }, w, out);
    } else {
      simd_->dot_rows(RowRun<Value>{m_, begin, end}, {w, m_.features}, out, 1);
    }
  }

  // w += sum_k a[k] x_row(k)
  template <class RowOf>
  void add(std::uint64_t count, const RowOf& row, const double* a, double* w) const {
    if (!full()) {
      for (std::uint64_t k = 0; k < count; ++k) simd_->add(sparse(row(k)), a[k], w);
      return;
    }
    in_runs(count, row, [&](std::uint64_t k, std::size_t run, const Value* const* from) {
      simd_->add_full(from, a + k, run, w, width_);
    });
  }

  // w += a times the squares of x_i
  void add_squares(std::uint64_t i, double a, double* w) const {
    const auto add = [a](double& to, Value value) {
      to += a * static_cast<double>(value) * static_cast<double>(value);
    };
    if (full()) {
      const Value* const row = full_row(i);
      for (std::size_t j = 0; j < width_; ++j) add(w[j], row[j]);
    } else {
      const SparseRow<Value> row = sparse(i);
      for (std::size_t k = 0; k < row.size; ++k) add(w[row.columns[k]], row.values[k]);
    }
  }

  // |x_i|^2
  double square(std::uint64_t i) const {
    if (!full()) return square_of(sparse(i));
    double sum = 0;
    for (std::size_t j = 0; j < width_; ++j) {
      sum += static_cast<double>(full_row(i)[j]) * static_cast<double>(full_row(i)[j]);
    }
    return sum;
  }

  // Entries of a row that are worked on, on average.
  double mean_width() const {
    if (full()) return static_cast<double>(width_);
    return static_cast<double>(m_.offsets[m_.rows] - m_.offsets[0]) /
           static_cast<double>(std::max<std::uint64_t>(1, m_.rows));
  }

  // Into runs of about the same number of nonzeros, few of them: each may have vectors of its own.
  std::vector<std::uint64_t> cuts() const {
    const std::uint64_t least = std::max<std::uint64_t>(NewtonTuning::kLeastBlock, 2 * m_.features);
    const std::uint64_t all = full() ? rows() * width_ : m_.offsets[m_.rows] - m_.offsets[0];
    const std::uint64_t work = all + 4 * rows();
    const std::uint64_t parts =
        std::clamp<std::uint64_t>(work / least, 1, NewtonTuning::kMostBlocks);
    std::vector<std::uint64_t> cuts = {0};
    for (std::uint64_t p = 1; p < parts; ++p) {
      std::uint64_t row = rows() * p / parts;
      if (!full()) {
        const std::uint64_t wanted = all / parts * p + m_.offsets[0];
        row = static_cast<std::uint64_t>(std::lower_bound(m_.offsets, m_.offsets + rows(), wanted) -
                                         m_.offsets);
      }
      if (row > cuts.back()) cuts.push_back(row);
    }
    if (rows() > cuts.back()) cuts.push_back(rows());
    return cuts;
  }

 private:
  template <class RowOf, class F>
  void in_runs(std::uint64_t count, const RowOf& row, const F& f) const {
    constexpr std::uint64_t kRun = NewtonTuning::kRowsAtOnce;
    const Value* from[kRun];
    for (std::uint64_t k = 0; k < count; k += kRun) {
      const auto run = static_cast<std::size_t>(std::min(kRun, count - k));
      for (std::size_t r = 0; r < run; ++r) from[r] = full_row(row(k + r));
      f(k, run, from);
    }
  }

  static std::uint64_t run_of(std::uint64_t rows) {
    return std::clamp<std::uint64_t>(rows / NewtonTuning::kCopyRuns, NewtonTuning::kLeastCopyRun,
                                     NewtonTuning::kMostCopyRun);
  }

  void fill(std::uint64_t i) {
    Value* const to = full_.data() + i * width_;
    const SparseRow<Value> row = row_of(m_, i);
    if (row.size == m_.features) {
      std::copy_n(row.values, row.size, to);
      std::fill(to + row.size, to + width_, Value{0});
      return;
    }
    std::fill(to, to + width_, Value{0});
    for (std::size_t k = 0; k < row.size; ++k) to[row.columns[k]] = row.values[k];
  }

  CsrView<Value> m_;
  const Simd* simd_;
  std::size_t width_;
  const Value* full_rows_ = nullptr;    // those of the data, or
  Buffer<Value> full_;                  // these; or
  std::vector<std::uint64_t> offsets_;  // of copies
  Buffer<std::uint32_t> columns_;
  Buffer<Value> values_;
};

}  // namespace hinge
