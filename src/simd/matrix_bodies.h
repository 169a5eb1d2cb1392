// Bodies of loops on rows without holes and on matrices, written in vectors of four and compiled
// for each instruction set.
#pragma once

#include <cstddef>

#include "simd/lanes.h"
#include "simd/sparse_row.h"

namespace hinge {
namespace {

// Some rows together: w is loaded, and stored, once for all of them.
template <std::size_t kRows, class Value>
HINGE_INLINE void dot_full_rows(const Value* const* rows, const double* w, std::size_t size,
                                double* out) {
  Four sums[kRows][2] = {};
  for (std::size_t j = 0; j < size; j += 8) {
    const Four low = load_four(w + j), high = load_four(w + j + 4);
    for (std::size_t r = 0; r < kRows; ++r) {
      sums[r][0] += load_four(rows[r] + j) * low;
      sums[r][1] += load_four(rows[r] + j + 4) * high;
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) out[r] = sum_lanes(sums[r]);
}

template <class Value>
HINGE_INLINE void dot_full_body(const Value* const* rows, std::size_t count, const double* w,
                                std::size_t size, double* out) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) dot_full_rows<4>(rows + k, w, size, out + k);
  for (; k < count; ++k) dot_full_rows<1>(rows + k, w, size, out + k);
}

template <std::size_t kRows, class Value>
HINGE_INLINE void add_full_rows(const Value* const* rows, const double* a, double* w,
                                std::size_t size) {
  for (std::size_t j = 0; j < size; j += 4) {
    Four sum = load_four(w + j);
    for (std::size_t r = 0; r < kRows; ++r) sum += a[r] * load_four(rows[r] + j);
    store_four(w + j, sum);
  }
}

template <class Value>
HINGE_INLINE void add_full_body(const Value* const* rows, const double* a, std::size_t count,
                                double* w, std::size_t size) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) add_full_rows<4>(rows + k, a + k, w, size);
  for (; k < count; ++k) add_full_rows<1>(rows + k, a + k, w, size);
}

HINGE_INLINE void add_product_body(const double* a, const double* b, std::size_t depth, double* c,
                                   std::size_t stride) {
  Four sums[4][2] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    const Four low = load_four(b + 8 * k), high = load_four(b + 8 * k + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      sums[i][0] += a[4 * k + i] * low;
      sums[i][1] += a[4 * k + i] * high;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    double* const to = c + i * stride;
    store_four(to, load_four(to) + sums[i][0]);
    store_four(to + 4, load_four(to + 4) + sums[i][1]);
  }
}

// So many panels together, lest each addition wait for the one before.
template <std::size_t kPanels>
HINGE_INLINE void solve_some_panels(const double* l, std::size_t stride, std::size_t size,
                                    const double* inverse, double* x) {
  for (std::size_t j = 0; j < size; ++j) {
    Four sums[kPanels][2] = {};
    for (std::size_t k = 0; k < j; ++k) {
      const double factor = l[j * stride + k];
      for (std::size_t p = 0; p < kPanels; ++p) {
        const double* const from = x + (p * size + k) * 8;
        sums[p][0] += factor * load_four(from);
        sums[p][1] += factor * load_four(from + 4);
      }
    }
    for (std::size_t p = 0; p < kPanels; ++p) {
      double* const at = x + (p * size + j) * 8;
      store_four(at, (load_four(at) - sums[p][0]) * inverse[j]);
      store_four(at + 4, (load_four(at + 4) - sums[p][1]) * inverse[j]);
    }
  }
}

HINGE_INLINE void solve_panels_body(const double* l, std::size_t stride, std::size_t size,
                                    const double* inverse, double* x, std::size_t panels) {
  std::size_t p = 0;
  for (; p + 4 <= panels; p += 4) {
    solve_some_panels<4>(l, stride, size, inverse, x + p * size * 8);
  }
  for (; p < panels; ++p) solve_some_panels<1>(l, stride, size, inverse, x + p * size * 8);
}

// Columns ascend, so the part of a row up to an element belongs to that element's row of h. Four
// rows of h are worked on at once, for which an element is read once.
template <class Value>
void add_outer(SparseRow<Value> row, double a, double* h, std::size_t stride) {
  const std::uint32_t* const c = row.columns;
  const auto value = [&row](std::size_t k) { return static_cast<double>(row.values[k]); };
  std::size_t k = 0;
  for (; k + 4 <= row.size; k += 4) {
    double* const to[4] = {h + c[k] * stride, h + c[k + 1] * stride, h + c[k + 2] * stride,
                           h + c[k + 3] * stride};
    const double by[4] = {a * value(k), a * value(k + 1), a * value(k + 2), a * value(k + 3)};
    for (std::size_t j = 0; j <= k; ++j) {
      const std::size_t at = c[j];
      const double x = value(j);
      to[0][at] += by[0] * x;
      to[1][at] += by[1] * x;
      to[2][at] += by[2] * x;
      to[3][at] += by[3] * x;
    }
    for (std::size_t r = 1; r < 4; ++r) {
      for (std::size_t j = 1; j <= r; ++j) to[r][c[k + j]] += by[r] * value(k + j);
    }
  }
  for (; k < row.size; ++k) {
    double* const to = h + c[k] * stride;
    const double by = a * value(k);
    for (std::size_t j = 0; j <= k; ++j) to[c[j]] += by * value(j);
  }
}

}  // namespace
}  // namespace hinge
