#include "simd/simd.h"

#include <algorithm>
#include <array>

#include "simd/dense_bodies.h"
#include "simd/matrix_bodies.h"
#include "simd/row_runs.h"
#include "simd/sparse_avx2.h"
#include "simd/sparse_avx512.h"
#include "simd/sparse_bodies.h"

namespace hinge {
namespace {

// One function a loop, and the table of them.
#define HINGE_ARITHMETIC(isa_name, attributes)                                                    \
  template <class Value>                                                                          \
  attributes double dot_##isa_name(SparseRow<Value> row, const double* w) {                       \
    return dot_body_##isa_name(row, w);                                                           \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes void add_##isa_name(SparseRow<Value> row, double a, double* w) {                     \
    add_body(row, a, w);                                                                          \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes void dot_many_##isa_name(SparseRow<Value> row, const double* w, std::size_t stride,  \
                                      double* out) {                                              \
    dot_many_body(row, w, stride, out);                                                           \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes void add_many_##isa_name(SparseRow<Value> row, const double* a, std::size_t stride,  \
                                      double* w) {                                                \
    add_many_body(row, a, stride, w);                                                             \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes void dot_full_##isa_name(const Value* const* rows, std::size_t count,                \
                                      const double* w, std::size_t size, double* out) {           \
    dot_full_body(rows, count, w, size, out);                                                     \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes void add_full_##isa_name(const Value* const* rows, const double* a,                  \
                                      std::size_t count, double* w, std::size_t size) {           \
    add_full_body(rows, a, count, w, size);                                                       \
  }                                                                                               \
  template <class Value>                                                                          \
  attributes JoinedWay join_##isa_name(const Value* const* ends, std::size_t count,               \
                                       std::size_t begin, const Value* from, double share,        \
                                       Value* to, std::size_t size) {                             \
    return join_body(ends, count, begin, from, share, to, size);                                  \
  }                                                                                               \
  attributes void exp_all_##isa_name(double* x, std::size_t size) {                               \
    exp_all_body(x, size);                                                                        \
  }                                                                                               \
  attributes void add_dense_##isa_name(double a, const double* x, double* y, std::size_t size) {  \
    add_dense_body(a, x, y, size);                                                                \
  }                                                                                               \
  attributes double dot_dense_##isa_name(const double* x, const double* y, std::size_t size) {    \
    return dot_dense_body(x, y, size);                                                            \
  }                                                                                               \
  attributes double blend_dense_##isa_name(double t, const double* x, double* y,                  \
                                           std::size_t size) {                                    \
    return blend_dense_body(t, x, y, size);                                                       \
  }                                                                                               \
  attributes Quantisation quantise_##isa_name(const double* x, std::size_t size,                  \
                                              std::int16_t* out) {                                \
    return quantise_body(x, size, out);                                                           \
  }                                                                                               \
  attributes void add_product_##isa_name(const double* a, const double* b, std::size_t depth,     \
                                         double* c, std::size_t stride) {                         \
    add_product_body(a, b, depth, c, stride);                                                     \
  }                                                                                               \
  attributes void solve_panels_##isa_name(const double* l, std::size_t stride, std::size_t size,  \
                                          const double* inverse, double* x, std::size_t panels) { \
    solve_panels_body(l, stride, size, inverse, x, panels);                                       \
  }                                                                                               \
  template <class Value>                                                                          \
  constexpr RowLoops<Value> kRows_##isa_name = {.dot = dot_##isa_name<Value>,                     \
                                                .add = add_##isa_name<Value>,                     \
                                                .dot_many = dot_many_##isa_name<Value>,           \
                                                .add_many = add_many_##isa_name<Value>,           \
                                                .dot_full = dot_full_##isa_name<Value>,           \
                                                .add_full = add_full_##isa_name<Value>,           \
                                                .join = join_##isa_name<Value>,                   \
                                                .add_outer = add_outer<Value>,                    \
                                                .dot_rows = dot_rows_##isa_name<Value>};          \
  constexpr Simd kSimd_##isa_name = {.name = #isa_name,                                           \
                                     .isa = Isa::isa_name,                                        \
                                     .f32 = kRows_##isa_name<float>,                              \
                                     .f64 = kRows_##isa_name<double>,                             \
                                     .exp_all = exp_all_##isa_name,                               \
                                     .add_dense = add_dense_##isa_name,                           \
                                     .dot_dense = dot_dense_##isa_name,                           \
                                     .blend_dense = blend_dense_##isa_name,                       \
                                     .quantise = quantise_##isa_name,                             \
                                     .add_product = add_product_##isa_name,                       \
                                     .solve_panels = solve_panels_##isa_name};

HINGE_ARITHMETIC(scalar, )

#if defined(__x86_64__)

HINGE_ARITHMETIC(avx2, HINGE_AVX2)

// Where floats are read, gathers pay even though these may just have been written: 0.89 to 0.98 of
// an epoch's time on Intel's CPUs that best_simd() has it for. Elsewhere it is AVX2's, for doubles
// are read that may just have been written.
constexpr Simd kMixed = [] {
  Simd simd = kSimd_avx2;
  simd.isa = Isa::avx2_gather;
  simd.f32.dot_rows = dot_rows_avx512<float>;
  simd.f64.dot_rows = dot_rows_avx512<double>;
  return simd;
}();

// That, and gathers of doubles.
constexpr Simd kAvx512 = [] {
  Simd simd = kMixed;
  simd.name = "avx512";
  simd.f32.dot = dot_avx512<float>;
  simd.f64.dot = dot_avx512<double>;
  return simd;
}();

#endif

}  // namespace

std::span<const Simd* const> available_simd() {
#if defined(__x86_64__)
  static constexpr std::array<const Simd*, 3> kAll = {&kSimd_scalar, &kSimd_avx2, &kAvx512};
  const std::size_t count =
      !__builtin_cpu_supports("avx2")                                              ? 1
      : !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) ? 2
                                                                                   : 3;
  return std::span(kAll).first(count);
#else
  static constexpr std::array<const Simd*, 1> kAll = {&kSimd_scalar};
  return kAll;
#endif
}

const Simd& best_simd() {
  const auto all = available_simd();
#if defined(__x86_64__)
  // Of Intel's CPUs those with instructions for bfloat16 have gathers that needed no mending: whole
  // rows are scored in 0.85 of the time.
  const bool gathers = __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512bf16");
  if (all.size() == 3 && gathers) return kMixed;
#endif
  // AVX-512's difference to AVX2 is its gather instruction, see above. On AMD's CPUs it is slower;
  // on Intel's it was as fast with long rows, and with short ones, which descent has just written
  // to where it reads, took 1.1 to 1.2 times as long.
  return *all[std::min<std::size_t>(1, all.size() - 1)];
}

}  // namespace hinge
