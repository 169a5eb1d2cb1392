// The inner loops, chosen for the CPU at run time.
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

#include "hinge/dataset.h"

namespace hinge {

// One sparse row: columns[k], values[k] for k < size. Values are widened to double. Where the
// columns are known to be one `run`, columns[0], columns[0] + 1, ..., vectors are loaded instead of
// entries; the bits are the same.
template <class Value>
struct SparseRow {
  const std::uint32_t* columns;
  const Value* values;
  std::size_t size;
  bool run = false;
};

// A run of hinges along a ray, for an exact line search. A hinge bends at t = -c/d where that is in
// (0, t_max); find_bends() puts rise = weight |d| in the place of the weight and says which of
// kBuckets equal parts of (0, 1) t/(1+t) lies in, kBuckets where there is no bend. It returns the
// sum of the slopes just beyond t = 0.
struct Bends {
  static constexpr std::size_t kRun = 64;
  static constexpr std::int32_t kBuckets = 255;
  double c[kRun], d[kRun];
  double rise[kRun];  // weight >= 0 on the way in
  std::int32_t bucket[kRun];
};

// Rows of a smoothed hinge: status_i(t) = clip(centre_i + slope (1 - z_i - t d_i), 0, 1).
struct Corners {
  const double* z;
  const double* d;
  const double* centre;
  const double* cost;  // c_i; nullptr: all 1
  std::size_t size;
  double slope;
};
struct CornerSums {
  double loss = 0;     // sum_i c_i max(0, 1 - z_i)
  double status = 0;   // sum_i c_i status_i
  double product = 0;  // sum_i c_i status_i (1 - z_i)
};

// Rows of the dual: variables between 0 and cost c_i, and the gradients there, g_i = y_i <w, x_i>
// - 1.
struct Boxed {
  const double* gradient;
  const double* alpha;
  const double* factor;  // c_i; nullptr: all 1
  std::size_t size;
  double cost;

  Boxed part(std::size_t from, std::size_t count) const {
    return {gradient + from, alpha + from, factor == nullptr ? nullptr : factor + from, count,
            cost};
  }
};
struct BoxedSums {
  double loss = 0;     // sum_i cost c_i max(0, -g_i)
  double alpha = 0;    // sum_i alpha_i
  double squares = 0;  // of the gradients where they can be followed inside the box
};

// What goes with x, doubles, that became whole numbers q up to 32767: x = scale q, or nearly so.
struct Shortened {
  float scale;
  float square;  // |x|^2

  static constexpr std::size_t kPlaces = 4;  // of values in 16 bits, in which it fits
};
static_assert(sizeof(Shortened) == Shortened::kPlaces * sizeof(std::int16_t));

// A row that descent visits.
struct DescentRow {
  static constexpr double kUnknown = -1;

  std::uint64_t row;     // its number in the data
  std::uint64_t offset;  // where its entries begin
  std::uint32_t size;    // of them
  std::int8_t y;
  bool asleep;  // not visited any more
  double alpha;
  double curvature;  // of the dual along alpha; kUnknown: its first visit finds |x|^2 + unit^2
};

// Descent in the dual, one variable after the other: each goes to its minimum inside the box, or
// `stride` times as far, and w with it. A row whose variable is at a bound, and is held there by a
// gradient beyond `rest`, falls asleep. With w in floats, products and their sums are floats too.
template <class Value, class Weight = double>
struct Descent {
  const std::uint32_t* columns;  // of all rows, from where their offsets count
  const Value* values;
  bool full;
  const double* factor;  // c_i; nullptr: all 1
  double cost;
  double rest;
  Weight* w;
  double stride = 1;
  // With w in floats, the first rows of the data in 16 bits a value. Row i is at its offset +
  // i Shortened::kPlaces: a Shortened, then its values. Behind the last seven more can be read.
  const std::int16_t* shorts = nullptr;
  std::uint64_t short_rows = 0;
  // One more column, if any: of its weight v scores take shift + gain v, and v += unit a where w +=
  // a x.
  double shift = 0, gain = 0, unit = 0, v = 0;

  // Sums over the visits.
  double estimate = 0;       // of P - D, by the gradients as they were met
  double squares = 0;        // of the gradients where they can be followed inside the box
  std::uint64_t visits = 0;  // of them all
  std::uint64_t awake = 0;   // did not fall asleep
  std::uint64_t inside = 0;  // moved to between the bounds
};

// Rows begin .. end - 1 of a matrix, of which nobody has looked at the columns.
template <class Value>
struct RowRun {
  const CsrView<Value>& m;
  std::uint64_t begin, end;
};

struct Simd {
  std::string_view name;                                     // "scalar", "avx2", "avx512"
  double (*dot_f32)(SparseRow<float> row, const double* w);  // sum_k values[k] w[columns[k]]
  double (*dot_f64)(SparseRow<double> row, const double* w);
  void (*add_f32)(SparseRow<float> row, double a, double* w);  // w[columns[k]] += a values[k]
  void (*add_f64)(SparseRow<double> row, double a, double* w);
  // out[i - begin] = y_i (<w, x_i> + shift) - 1 of the rows i from begin to end
  void (*gradients_f32)(const CsrView<float>& m, std::uint64_t begin, std::uint64_t end,
                        const std::int8_t* y, const double* w, double shift, double* out);
  void (*gradients_f64)(const CsrView<double>& m, std::uint64_t begin, std::uint64_t end,
                        const std::int8_t* y, const double* w, double shift, double* out);
  // Visits those of `count` rows that are awake, from the first on, `step` (1 or -1) by `step`.
  void (*descend_f32)(Descent<float>& descent, DescentRow* first, std::size_t count,
                      std::ptrdiff_t step);
  void (*descend_f64)(Descent<double>& descent, DescentRow* first, std::size_t count,
                      std::ptrdiff_t step);
  void (*descend_rough_f32)(Descent<float, float>& descent, DescentRow* first, std::size_t count,
                            std::ptrdiff_t step);
  void (*descend_rough_f64)(Descent<double, float>& descent, DescentRow* first, std::size_t count,
                            std::ptrdiff_t step);
  // out[c] = sum_k values[k] w[columns[k] * stride + c]
  void (*dot_many_f32)(SparseRow<float> row, const double* w, std::size_t stride, double* out);
  void (*dot_many_f64)(SparseRow<double> row, const double* w, std::size_t stride, double* out);
  // w[columns[k] * stride + c] += a[c] values[k]
  void (*add_many_f32)(SparseRow<float> row, const double* a, std::size_t stride, double* w);
  void (*add_many_f64)(SparseRow<double> row, const double* a, std::size_t stride, double* w);
  void (*exp_all)(double* x, std::size_t size);  // x[k] <- e^x[k] for x[k] <= 0, to 1e-15 relative
  void (*add_dense)(double a, const double* x, double* y, std::size_t size);  // y[k] += a x[k]
  double (*dot_dense)(const double* x, const double* y, std::size_t size);    // sum_k x[k] y[k]
  // y[k] += t (x[k] - y[k]); returns sum_k y[k]^2 of what came out
  double (*blend_dense)(double t, const double* x, double* y, std::size_t size);
  // |x[k]| are between 1e-15 and 1e15, or 0.
  Shortened (*shorten)(const double* x, std::size_t size, std::int16_t* out);
  // See Bends.
  double (*find_bends)(Bends& bends, double t_max);
  BoxedSums (*weigh)(const Boxed& rows);
  // How far inside its bound each gradient keeps its variable: g_i at 0, -g_i at the upper one,
  // -infinity between them.
  void (*slacks)(const Boxed& rows, double* out);
  // sum_i c_i max(0, -(from_i + t (to_i - from_i))), where no `to` is -1 everywhere, no c all 1
  double (*loss_along)(const double* from, const double* to, const double* c, std::size_t size,
                       double t);
  // sum_i c_i d_i status_i(t)
  double (*corner_slope)(const Corners& corners, double t);
  // z_i + t d_i, the status there, and sums of both; may write to where it reads.
  CornerSums (*corner_move)(const Corners& corners, double t, double* z, double* status);
  // Of `count` rows without holes, each of `size` values, a multiple of 8: out[k] = <w, row k>
  void (*dot_full_f32)(const float* const* rows, std::size_t count, const double* w,
                       std::size_t size, double* out);
  void (*dot_full_f64)(const double* const* rows, std::size_t count, const double* w,
                       std::size_t size, double* out);
  // w += sum_k a[k] row k, in the order of the rows
  void (*add_full_f32)(const float* const* rows, const double* a, std::size_t count, double* w,
                       std::size_t size);
  void (*add_full_f64)(const double* const* rows, const double* a, std::size_t count, double* w,
                       std::size_t size);
  // The lower triangle of a x x^T is added to h, whose rows are `stride` apart.
  void (*add_outer_f32)(SparseRow<float> row, double a, double* h, std::size_t stride);
  void (*add_outer_f64)(SparseRow<double> row, double a, double* h, std::size_t stride);
  // c[i * stride + j] += sum_k a[4 k + i] b[8 k + j] for i < 4, j < 8: what large products of
  // matrices are made of.
  void (*add_product)(const double* a, const double* b, std::size_t depth, double* c,
                      std::size_t stride);
  // Panels of 8 rows, x[8 k + r] of each being entry k of row r, one behind the other: L x_r = row
  // r for each of them, by the lower triangle l and the inverses of its diagonal.
  void (*solve_panels)(const double* l, std::size_t stride, std::size_t size, const double* inverse,
                       double* x, std::size_t panels);
  // out[k * stride] = the dot product of row k of the run, where columns that w does not have count
  // as zero; false if any column is beyond the features of the matrix.
  bool (*dot_rows_f32)(const RowRun<float>& rows, std::span<const double> w, double* out,
                       std::size_t stride);
  bool (*dot_rows_f64)(const RowRun<double>& rows, std::span<const double> w, double* out,
                       std::size_t stride);

  double dot(SparseRow<float> row, const double* w) const { return dot_f32(row, w); }
  double dot(SparseRow<double> row, const double* w) const { return dot_f64(row, w); }
  void gradients(const CsrView<float>& m, std::uint64_t begin, std::uint64_t end,
                 const std::int8_t* y, const double* w, double shift, double* out) const {
    gradients_f32(m, begin, end, y, w, shift, out);
  }
  void gradients(const CsrView<double>& m, std::uint64_t begin, std::uint64_t end,
                 const std::int8_t* y, const double* w, double shift, double* out) const {
    gradients_f64(m, begin, end, y, w, shift, out);
  }
  void add(SparseRow<float> row, double a, double* w) const { add_f32(row, a, w); }
  void add(SparseRow<double> row, double a, double* w) const { add_f64(row, a, w); }
  void descend(Descent<float>& descent, DescentRow* first, std::size_t count,
               std::ptrdiff_t step) const {
    descend_f32(descent, first, count, step);
  }
  void descend(Descent<double>& descent, DescentRow* first, std::size_t count,
               std::ptrdiff_t step) const {
    descend_f64(descent, first, count, step);
  }
  void descend(Descent<float, float>& descent, DescentRow* first, std::size_t count,
               std::ptrdiff_t step) const {
    descend_rough_f32(descent, first, count, step);
  }
  void descend(Descent<double, float>& descent, DescentRow* first, std::size_t count,
               std::ptrdiff_t step) const {
    descend_rough_f64(descent, first, count, step);
  }
  void dot_many(SparseRow<float> row, const double* w, std::size_t stride, double* out) const {
    dot_many_f32(row, w, stride, out);
  }
  void dot_many(SparseRow<double> row, const double* w, std::size_t stride, double* out) const {
    dot_many_f64(row, w, stride, out);
  }
  void add_many(SparseRow<float> row, const double* a, std::size_t stride, double* w) const {
    add_many_f32(row, a, stride, w);
  }
  void add_many(SparseRow<double> row, const double* a, std::size_t stride, double* w) const {
    add_many_f64(row, a, stride, w);
  }
  void dot_full(const float* const* rows, std::size_t count, const double* w, std::size_t size,
                double* out) const {
    dot_full_f32(rows, count, w, size, out);
  }
  void add_full(const float* const* rows, const double* a, std::size_t count, double* w,
                std::size_t size) const {
    add_full_f32(rows, a, count, w, size);
  }
  void dot_full(const double* const* rows, std::size_t count, const double* w, std::size_t size,
                double* out) const {
    dot_full_f64(rows, count, w, size, out);
  }
  void add_full(const double* const* rows, const double* a, std::size_t count, double* w,
                std::size_t size) const {
    add_full_f64(rows, a, count, w, size);
  }
  void add_outer(SparseRow<float> row, double a, double* h, std::size_t stride) const {
    add_outer_f32(row, a, h, stride);
  }
  void add_outer(SparseRow<double> row, double a, double* h, std::size_t stride) const {
    add_outer_f64(row, a, h, stride);
  }
  bool dot_rows(const RowRun<float>& rows, std::span<const double> w, double* out,
                std::size_t stride) const {
    return dot_rows_f32(rows, w, out, stride);
  }
  bool dot_rows(const RowRun<double>& rows, std::span<const double> w, double* out,
                std::size_t stride) const {
    return dot_rows_f64(rows, w, out, stride);
  }
};

// What this CPU can run, narrowest first; "scalar" is always there.
std::span<const Simd* const> available_simd();

// The fastest of them, by experience.
const Simd& best_simd();

template <class Value>
__attribute__((always_inline)) inline SparseRow<Value> row_of(const CsrView<Value>& m,
                                                              std::uint64_t i) {
  return {m.columns_of(i), m.values_of(i), m.size_of(i), m.full};
}

// |x|^2, summed in the order of the columns, as the *_many forms do.
template <class Value>
double square_of(const SparseRow<Value>& row) {
  double sum = 0;
  for (std::size_t k = 0; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    sum += value * value;
  }
  return sum;
}

// The same in eight lanes, which need not wait for each other: faster, and other bits.
template <class Value>
__attribute__((always_inline)) inline double square_in_lanes(const SparseRow<Value>& row) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t k = 0;
  for (; k + kLanes <= row.size; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(row.values[k + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (; k < row.size; ++k) {
    const auto value = static_cast<double>(row.values[k]);
    sum += value * value;
  }
  for (const double lane : lanes) sum += lane;
  return sum;
}

// The stride of so many interleaved vectors.
constexpr std::size_t stride_of(std::size_t vectors) {
  return vectors == 1 ? 1 : (vectors + 3) / 4 * 4;
}

}  // namespace hinge
