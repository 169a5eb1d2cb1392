// Arithmetic on rows and arrays, chosen for the CPU at run time. Loops that know a loss or a solver
// are beside their user, in files *.isa.cc (simd/isa.h), and chosen by Simd::isa.
//
// Every instruction set gives the same bits: a dot product has eight lanes (element k goes to lane
// k mod 8), each product is rounded before it is added, and the lanes are summed in one fixed
// order.
//
// The *_many forms work on several vectors at once, which lie interleaved: entry j of vector c is
// w[j * stride + c], stride 1, 2 or a multiple of 4. A row is read once for all of them; each
// vector's sum is taken in the order of the columns, so its bits do not depend on its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "simd/isa.h"
#include "simd/sparse_row.h"

namespace hinge {

// What goes with a row x of doubles that became whole numbers q up to 32767: x = scale q, or nearly
// so.
struct Quantisation {
  float scale;
  float square;  // |x|^2

  static constexpr std::size_t kPlaces = 4;  // of values in 16 bits, in which it fits
};
static_assert(sizeof(Quantisation) == Quantisation::kPlaces * sizeof(std::int16_t));

// Of a way from one point to another: its |.|^2, and the product with where it begins.
struct JoinedWay {
  double square = 0, product = 0;
};

// Loops on rows of one precision.
template <class Value>
struct RowLoops {
  double (*dot)(SparseRow<Value> row, const double* w);    // sum_k values[k] w[columns[k]]
  void (*add)(SparseRow<Value> row, double a, double* w);  // w[columns[k]] += a values[k]
  // out[c] = sum_k values[k] w[columns[k] * stride + c]
  void (*dot_many)(SparseRow<Value> row, const double* w, std::size_t stride, double* out);
  // w[columns[k] * stride + c] += a[c] values[k]
  void (*add_many)(SparseRow<Value> row, const double* a, std::size_t stride, double* w);
  // Of `count` rows without holes, each of `size` values, a multiple of 8: out[k] = <w, row k>
  void (*dot_full)(const Value* const* rows, std::size_t count, const double* w, std::size_t size,
                   double* out);
  // w += sum_k a[k] row k, in the order of the rows
  void (*add_full)(const Value* const* rows, const double* a, std::size_t count, double* w,
                   std::size_t size);
  // to = from + share sum_k (ends[k] - from), of `size` numbers from `begin` on; returns the way.
  JoinedWay (*join)(const Value* const* ends, std::size_t count, std::size_t begin,
                    const Value* from, double share, Value* to, std::size_t size);
  // The lower triangle of a x x^T is added to h, whose rows are `stride` apart.
  void (*add_outer)(SparseRow<Value> row, double a, double* h, std::size_t stride);
  // out[k * stride] = the dot product of row k of the run, where columns that w does not have count
  // as zero; false if any column is beyond the features of the matrix.
  bool (*dot_rows)(const RowRun<Value>& rows, std::span<const double> w, double* out,
                   std::size_t stride);
};

struct Simd {
  std::string_view name;  // "scalar", "avx2", "avx512"
  Isa isa;                // by which others choose their tables
  RowLoops<float> f32;
  RowLoops<double> f64;
  void (*exp_all)(double* x, std::size_t size);  // x[k] <- e^x[k] for x[k] <= 0, to 1e-15 relative
  void (*add_dense)(double a, const double* x, double* y, std::size_t size);  // y[k] += a x[k]
  double (*dot_dense)(const double* x, const double* y, std::size_t size);    // sum_k x[k] y[k]
  // y[k] += t (x[k] - y[k]); returns sum_k y[k]^2 of what came out
  double (*blend_dense)(double t, const double* x, double* y, std::size_t size);
  // |x[k]| are between 1e-15 and 1e15, or 0.
  Quantisation (*quantise)(const double* x, std::size_t size, std::int16_t* out);
  // c[i * stride + j] += sum_k a[4 k + i] b[8 k + j] for i < 4, j < 8: what large products of
  // matrices are made of.
  void (*add_product)(const double* a, const double* b, std::size_t depth, double* c,
                      std::size_t stride);
  // Panels of 8 rows, x[8 k + r] of each being entry k of row r, one behind the other: L x_r = row
  // r for each of them, by the lower triangle l and the inverses of its diagonal.
  void (*solve_panels)(const double* l, std::size_t stride, std::size_t size, const double* inverse,
                       double* x, std::size_t panels);

  template <class Value>
  const RowLoops<Value>& rows() const {
    if constexpr (std::is_same_v<Value, float>) {
      return f32;
    } else {
      return f64;
    }
  }
  template <class Value>
  double dot(const SparseRow<Value>& row, const double* w) const {
    return rows<Value>().dot(row, w);
  }
  template <class Value>
  void add(const SparseRow<Value>& row, double a, double* w) const {
    rows<Value>().add(row, a, w);
  }
  template <class Value>
  void dot_many(const SparseRow<Value>& row, const double* w, std::size_t stride,
                double* out) const {
    rows<Value>().dot_many(row, w, stride, out);
  }
  template <class Value>
  void add_many(const SparseRow<Value>& row, const double* a, std::size_t stride, double* w) const {
    rows<Value>().add_many(row, a, stride, w);
  }
  template <class Value>
  void dot_full(const Value* const* values, std::size_t count, const double* w, std::size_t size,
                double* out) const {
    rows<Value>().dot_full(values, count, w, size, out);
  }
  template <class Value>
  void add_full(const Value* const* values, const double* a, std::size_t count, double* w,
                std::size_t size) const {
    rows<Value>().add_full(values, a, count, w, size);
  }
  template <class Value>
  JoinedWay join(const Value* const* ends, std::size_t count, std::size_t begin, const Value* from,
                 double share, Value* to, std::size_t size) const {
    return rows<Value>().join(ends, count, begin, from, share, to, size);
  }
  template <class Value>
  void add_outer(const SparseRow<Value>& row, double a, double* h, std::size_t stride) const {
    rows<Value>().add_outer(row, a, h, stride);
  }
  template <class Value>
  bool dot_rows(const RowRun<Value>& run, std::span<const double> w, double* out,
                std::size_t stride) const {
    return rows<Value>().dot_rows(run, w, out, stride);
  }
};

// What this CPU can run, narrowest first; "scalar" is always there.
std::span<const Simd* const> available_simd();

// The fastest of them, by experience.
const Simd& best_simd();

}  // namespace hinge
