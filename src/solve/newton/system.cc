#include "solve/newton/system.h"

#include <algorithm>
#include <cmath>

#include "solve/newton/cholesky.h"

namespace hinge {
namespace {

constexpr std::size_t kDepth = NewtonTuning::kDepth;

}  // namespace

NewtonSystem::NewtonSystem(const Problem& problem, const Simd& simd, Pool& pool)
    : simd_(simd),
      pool_(pool),
      features_(problem.data->features()),
      size_((problem.dimension() + 7) / 8 * 8),
      bias_(problem.bias),
      free_(problem.free_bias),
      least_part_(visit_loss(problem.loss, []<class Loss>(const Loss&) { return Loss::kSmooth; })
                      ? NewtonTuning::kPartWork * static_cast<double>(size_ * size_)
                      : 0.0),
      sum_(factors() ? size_ * size_ : 0),
      factor_(sum_.size()) {}

std::size_t NewtonSystem::parts(std::size_t size) {
  return std::clamp<std::size_t>(NewtonTuning::kPartNumbers / (size * size), 1,
                                 NewtonTuning::kMostParts);
}

double NewtonSystem::memory(std::uint64_t dimension) {
  if (dimension > NewtonTuning::kMostColumns) return 0;
  const auto size = static_cast<double>((dimension + 7) / 8 * 8);
  const double parts =
      size < NewtonTuning::kPartsBelow ? static_cast<double>(NewtonTuning::kPartNumbers) : 0;
  return 8 * (2 * size * size + parts + 2 * size * (kTile + kDepth));
}

void NewtonSystem::clear() {
  clear(sum_.data());
}

// Only the lower triangle of a matrix is ever read.
void NewtonSystem::clear(double* matrix) const {
  for (std::size_t i = 0; i < size_; ++i) std::fill_n(matrix + i * size_, i + 1, 0.0);
}

template <class Value>
void NewtonSystem::add(const NewtonRows<Value>& rows, std::span<const Term> terms) {
  if (terms.empty()) return;
  const double work = sum_work(static_cast<double>(terms.size()), rows.mean_width(),
                               static_cast<double>(size_), rows.full());
  work_ += work;
  if (rows.full()) return add_full(rows, terms);
  // Parts of the terms have sums of their own; or if these would be too large, each thread has some
  // rows of the one there is.
  // Rows without entries take no work at all.
  const auto all = static_cast<double>(terms.size());
  const double least = work > 0 ? std::min(least_part_ / (work / all), all + 1) : all + 1;
  const std::size_t count = std::min(
      parts(size_),
      terms.size() / std::max(NewtonTuning::kPartTerms, static_cast<std::size_t>(least)) + 1);
  if (count == 1) {
    const std::size_t bands = size_ < NewtonTuning::kLargeMatrix ? 1 : NewtonTuning::kBands;
    pool_.run(bands, [&](std::size_t b) {
      // The lower triangle has more entries in its last rows.
      const auto at = [&](std::size_t k) {
        return static_cast<std::size_t>(static_cast<double>(size_) *
                                        std::sqrt(static_cast<double>(k) / NewtonTuning::kBands));
      };
      add_sparse(rows, terms, sum_.data(), bands == 1 ? 0 : at(b), bands == 1 ? size_ : at(b + 1));
    });
    return;
  }
  const std::size_t numbers = size_ * size_;
  parts_.resize(count * numbers);
  pool_.run(count, [&](std::size_t p) {
    double* const h = parts_.data() + p * numbers;
    clear(h);
    const std::size_t from = terms.size() * p / count, to = terms.size() * (p + 1) / count;
    add_sparse(rows, terms.subspan(from, to - from), h, 0, size_);
  });
  for (std::size_t p = 0; p < count; ++p) {
    const double* const part = parts_.data() + p * numbers;
    for (std::size_t i = 0; i < size_; ++i) {
      simd_.add_dense(1.0, part + i * size_, sum_.data() + i * size_, i + 1);
    }
  }
}

// To rows `from` to `to` of h.
template <class Value>
void NewtonSystem::add_sparse(const NewtonRows<Value>& rows, std::span<const Term> terms, double* h,
                              std::size_t from, std::size_t to) const {
  const bool all = from == 0 && to == size_;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (t % 1024 == 0) pool_.poll();
    const SparseRow<Value> row = rows.sparse(terms[t].row);
    if (all) {
      simd_.add_outer(row, terms[t].u, h, size_);
    } else {
      const auto first = static_cast<std::size_t>(
          std::lower_bound(row.columns, row.columns + row.size, from) - row.columns);
      for (std::size_t k = first; k < row.size && row.columns[k] < to; ++k) {
        simd_.add(SparseRow<Value>{row.columns, row.values, k + 1},
                  terms[t].u * static_cast<double>(row.values[k]), h + row.columns[k] * size_);
      }
    }
    if (bias_ != 0 && features_ >= from && features_ < to) {
      double* const last = h + features_ * size_;
      simd_.add(row, terms[t].u * bias_, last);
      last[features_] += terms[t].u * bias_ * bias_;
    }
  }
}

// Some rows at a time are laid out as the product kernel wants them, then multiplied tile by tile.
template <class Value>
void NewtonSystem::add_full(const NewtonRows<Value>& rows, std::span<const Term> terms) {
  columns_.resize(size_ * kDepth);
  weighted_.resize(size_ * kDepth);
  const std::size_t tiles = (size_ + kTile - 1) / kTile;
  for (std::size_t first = 0; first < terms.size(); first += kDepth) {
    const std::size_t depth = std::min(kDepth, terms.size() - first);
    const auto value = [&](const Value* row, std::size_t j) {
      return j < features_ ? static_cast<double>(row[j]) : j == features_ ? bias_ : 0.0;
    };
    pool_.run(tiles, [&](std::size_t tile) {
      const std::size_t begin = tile * kTile, end = std::min(size_, begin + kTile);
      for (std::size_t k = 0; k < depth; ++k) {
        const Value* const row = rows.full_row(terms[first + k].row);
        const double u = terms[first + k].u;
        for (std::size_t j = begin; j < end; j += kPanel) {
          double* const to = columns_.data() + j * depth + k * kPanel;
          if (j + kPanel <= features_) {
            for (std::size_t c = 0; c < kPanel; ++c) to[c] = static_cast<double>(row[j + c]);
          } else {
            for (std::size_t c = 0; c < kPanel; ++c) to[c] = value(row, j + c);
          }
          for (std::size_t half = 0; half < 2; ++half) {
            double* const by = weighted_.data() + (j + half * kHalf) * depth + k * kHalf;
            for (std::size_t c = 0; c < kHalf; ++c) by[c] = u * to[half * kHalf + c];
          }
        }
      }
    });
    pool_.run(tiles * (tiles + 1) / 2, [&](std::size_t t) {
      std::size_t row = 0;
      while ((row + 1) * (row + 2) / 2 <= t) ++row;
      const std::size_t column = t - row * (row + 1) / 2;
      const std::size_t i_end = std::min(size_, (row + 1) * kTile),
                        j_end = std::min(size_, (column + 1) * kTile);
      for (std::size_t j = column * kTile; j < j_end; j += kPanel) {
        for (std::size_t i = std::max(row * kTile, j); i < i_end; i += kHalf) {
          simd_.add_product(weighted_.data() + i * depth, columns_.data() + j * depth, depth,
                            sum_.data() + i * size_ + j, size_);
        }
      }
    });
  }
}

void NewtonSystem::solve(double slope, double* x) {
  work_ += factor_work(static_cast<double>(size_));
  const std::size_t tiles = (size_ + kTile - 1) / kTile;
  pool_.run(tiles, [&](std::size_t tile) {
    for (std::size_t i = tile * kTile; i < std::min(size_, (tile + 1) * kTile); ++i) {
      const double* const from = sum_.data() + i * size_;
      double* const to = factor_.data() + i * size_;
      for (std::size_t j = 0; j <= i; ++j) to[j] = slope * from[j];
    }
  });
  // Whatever the sum is, no pivot of the regularised coordinates is below 1. A free bias has the
  // weights of its rows; where there are none, its step hardly matters, as long as there is one.
  std::vector<double> floors(size_, 1.0);
  for (std::size_t i = 0; i < size_; ++i) {
    double& diagonal = factor_[i * size_ + i];
    if (free_ && i == features_) {
      floors[i] = std::max(NewtonTuning::kBiasFloor * diagonal, NewtonTuning::kLeastBiasFloor);
      diagonal += floors[i];
    } else {
      diagonal += 1;
    }
  }
  factor_cholesky(factor_.data(), size_, floors, simd_, pool_);
  solve_cholesky(factor_.data(), size_, x, simd_);
}

template void NewtonSystem::add(const NewtonRows<float>&, std::span<const Term>);
template void NewtonSystem::add(const NewtonRows<double>&, std::span<const Term>);

}  // namespace hinge
