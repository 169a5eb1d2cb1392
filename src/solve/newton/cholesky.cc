// Right-looking: a block of columns is factored, the rows below it are solved for, and their
// products are taken from what is left of the matrix. That last part is nearly all of the work.
#include "solve/newton/cholesky.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hinge {
namespace {

// Columns that are factored at once, at most kTile.
std::size_t block_size(std::size_t size) {
  return size >= NewtonTuning::kLargeMatrix ? kTile : NewtonTuning::kNarrowBlock;
}

void factor_diagonal(double* a, std::size_t stride, std::size_t size, const double* floors,
                     double* inverse, const Simd& simd) {
  for (std::size_t i = 0; i < size; ++i) {
    double* const row = a + i * stride;
    for (std::size_t j = 0; j < i; ++j) {
      row[j] = (row[j] - simd.dot_dense(row, a + j * stride, j)) * inverse[j];
    }
    const double pivot = row[i] - simd.dot_dense(row, row, i);
    row[i] = std::sqrt(pivot > floors[i] ? pivot : floors[i]);
    // What is left of a column whose pivot was rounding is rounding too.
    inverse[i] = pivot > floors[i] ? 1 / row[i] : 0;
  }
}

class Blocks {
 public:
  Blocks(double* a, std::size_t size, const Simd& simd, Pool& pool)
      : a_(a), size_(size), simd_(simd), pool_(pool) {}

  void factor(std::span<const double> floors) {
    const std::size_t wide = block_size(size_);
    packed_.resize(size_ * wide);
    negative_.resize(size_ * wide);
    double inverse[kTile];
    for (std::size_t from = 0; from < size_; from += wide) {
      const std::size_t width = std::min(wide, size_ - from);
      double* const corner = a_ + from * size_ + from;
      factor_diagonal(corner, size_, width, floors.data() + from, inverse, simd_);
      const std::size_t below = from + width;
      if (below == size_) return;
      share((size_ - below + kTile - 1) / kTile, size_ - below, [&](std::size_t t) {
        const std::size_t first = below + t * kTile;
        solve_rows(from, width, below, first, std::min(size_, first + kTile), inverse);
      });
      const std::size_t tiles = (size_ - below + kTile - 1) / kTile;
      share(tiles * (tiles + 1) / 2, size_ - below, [&](std::size_t t) {
        // Tile t of the lower triangle, counted by rows.
        auto i = static_cast<std::size_t>((std::sqrt(8 * static_cast<double>(t) + 1) - 1) / 2);
        while (i * (i + 1) / 2 > t) --i;
        while ((i + 1) * (i + 2) / 2 <= t) ++i;
        update(below, width, i, t - i * (i + 1) / 2);
      });
    }
  }

 private:
  template <class F>
  void share(std::size_t parts, std::size_t rows, F&& f) {
    if (rows * rows >= NewtonTuning::kWorthThreads) return pool_.run(parts, f);
    for (std::size_t k = 0; k < parts; ++k) f(k);
  }

  // Rows first to last of L in the columns from `from`, kept in both shapes that products take.
  void solve_rows(std::size_t from, std::size_t width, std::size_t below, std::size_t first,
                  std::size_t last, const double* inverse) {
    double* const packed = packed_.data() + (first - below) * width;
    double* const negative = negative_.data() + (first - below) * width;
    for (std::size_t r = first; r < last; ++r) {
      const double* const row = a_ + r * size_ + from;
      double* const to = packed + (r - first) / kPanel * kPanel * width + (r - first) % kPanel;
      for (std::size_t k = 0; k < width; ++k) to[k * kPanel] = row[k];
    }
    simd_.solve_panels(a_ + from * size_ + from, size_, width, inverse, packed,
                       (last - first) / kPanel);
    for (std::size_t r = first; r < last; ++r) {
      double* const row = a_ + r * size_ + from;
      const std::size_t at = r - first;
      const double* const x = packed + at / kPanel * kPanel * width + at % kPanel;
      double* const minus = negative + at / kHalf * kHalf * width + at % kHalf;
      for (std::size_t k = 0; k < width; ++k) {
        row[k] = x[k * kPanel];
        minus[k * kHalf] = -x[k * kPanel];
      }
    }
  }

  void update(std::size_t below, std::size_t width, std::size_t tile_row, std::size_t tile_column) {
    const std::size_t rows = size_ - below;
    const std::size_t i_end = std::min(rows, (tile_row + 1) * kTile),
                      j_end = std::min(rows, (tile_column + 1) * kTile);
    for (std::size_t j = tile_column * kTile; j < j_end; j += kPanel) {
      for (std::size_t i = std::max(tile_row * kTile, j); i < i_end; i += kHalf) {
        simd_.add_product(negative_.data() + i * width, packed_.data() + j * width, width,
                          a_ + (below + i) * size_ + below + j, size_);
      }
    }
  }

  double* a_;
  std::size_t size_;
  const Simd& simd_;
  Pool& pool_;
  std::vector<double> packed_, negative_;
};

}  // namespace

void factor_cholesky(double* a, std::size_t size, std::span<const double> floors, const Simd& simd,
                     Pool& pool) {
  Blocks(a, size, simd, pool).factor(floors);
}

void solve_cholesky(const double* l, std::size_t size, double* x, const Simd& simd) {
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = (x[i] - simd.dot_dense(l + i * size, x, i)) / l[i * size + i];
  }
  for (std::size_t i = size; i-- > 0;) {
    x[i] /= l[i * size + i];
    simd.add_dense(-x[i], l + i * size, x, i);
  }
}

}  // namespace hinge
