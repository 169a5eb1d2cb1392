// The inner loops: a sparse row, a dense vector and a factor out of the input's bytes. Every
// instruction set gives the bits of the scalar loop.
#include <bit>
#include <cmath>
#include <vector>

#include "fuzz.h"
#include "simd/simd.h"
#include "solve/dual/descent.h"

namespace hinge::fuzz {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Any finite number, subnormals and both zeros too: what data sets and models may hold.
template <class Value>
Value finite(Bytes& bytes) {
  const Value value = bytes.take<Value>();
  return std::isfinite(value) ? value : Value{1};
}

// A row of up to so many columns, in arrays exactly as long, so that AddressSanitizer sees any byte
// read beyond it.
template <class Value>
void take_row(Bytes& bytes, std::size_t features, std::vector<std::uint32_t>& columns,
              std::vector<Value>& values) {
  for (std::uint32_t j = 0; j < features && !bytes.empty(); ++j) {
    j += bytes.take<std::uint8_t>() % 4U;
    if (j >= features) break;
    columns.push_back(j);
    values.push_back(finite<Value>(bytes));
  }
  columns.shrink_to_fit();
  values.shrink_to_fit();
}

// Several vectors at once: w, shifted by one entry more for each.
template <class Value>
void compare_many(const SparseRow<Value>& row, const std::vector<double>& w, double factor) {
  for (const std::size_t stride : {1U, 2U, 4U, 8U, 12U, 16U, 20U}) {
    std::vector<double> all(w.size() * stride), factors(stride, factor), dots(stride);
    for (std::size_t j = 0; j < all.size(); ++j) {
      all[j] = w[(j / stride + j % stride) % w.size()];
    }
    const Simd& scalar = *available_simd().front();
    scalar.dot_many(row, all.data(), stride, dots.data());
    std::vector<double> sums = all;
    scalar.add_many(row, factors.data(), stride, sums.data());
    for (const Simd* simd : available_simd().subspan(1)) {
      std::vector<double> other(stride);
      simd->dot_many(row, all.data(), stride, other.data());
      for (std::size_t c = 0; c < stride; ++c) {
        require(same_bits(other[c], dots[c]), std::string(simd->name) + ": dot_many");
      }
      other = all;
      simd->add_many(row, factors.data(), stride, other.data());
      for (std::size_t j = 0; j < all.size(); ++j) {
        require(same_bits(other[j], sums[j]), std::string(simd->name) + ": add_many");
      }
    }
  }
}

template <class Value>
void compare(Bytes bytes) {
  std::vector<double> w(1 + bytes.take<std::uint8_t>() % 64U);
  for (double& x : w) x = finite<double>(bytes);
  const double factor = finite<double>(bytes);
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;
  take_row(bytes, w.size(), columns, values);
  const SparseRow<Value> row = {columns.data(), values.data(), columns.size()};

  const Simd& scalar = *available_simd().front();
  const double dot = scalar.dot(row, w.data());
  std::vector<double> sum = w;
  scalar.add(row, factor, sum.data());
  for (const Simd* simd : available_simd().subspan(1)) {
    require(same_bits(simd->dot(row, w.data()), dot), std::string(simd->name) + ": dot");
    std::vector<double> other = w;
    simd->add(row, factor, other.data());
    for (std::size_t j = 0; j < w.size(); ++j) {
      require(same_bits(other[j], sum[j]), std::string(simd->name) + ": add");
    }
  }
  compare_many(row, w, factor);
}

// One visit of descent to the row, with w in floats.
void compare_floats(Bytes bytes) {
  std::vector<float> w(1 + bytes.take<std::uint8_t>() % 64U);
  for (float& x : w) x = finite<float>(bytes);
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  take_row(bytes, w.size(), columns, values);
  const auto visit = [&](const Simd& simd, std::vector<float>& to) {
    DescentRow row = {0, 0, static_cast<std::uint32_t>(columns.size()), 1, false, 0.5, 1};
    Descent<float, float> descent = {.columns = columns.data(),
                                     .values = values.data(),
                                     .full = false,
                                     .factor = nullptr,
                                     .cost = 1,
                                     .rest = 1e300,
                                     .w = to.data()};
    descent_loops(simd, LossKind::hinge).descend(descent, &row, 1, 1);
    return row.alpha;
  };
  std::vector<float> expected = w;
  const double alpha = visit(*available_simd().front(), expected);
  for (const Simd* simd : available_simd().subspan(1)) {
    std::vector<float> got = w;
    require(same_bits(visit(*simd, got), alpha), std::string(simd->name) + ": visit");
    for (std::size_t j = 0; j < w.size(); ++j) {
      const bool same =
          std::bit_cast<std::uint32_t>(got[j]) == std::bit_cast<std::uint32_t>(expected[j]);
      require(same || (std::isnan(got[j]) && std::isnan(expected[j])),
              std::string(simd->name) + ": w of a visit");
    }
  }
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  compare<float>({data, size});
  compare<double>({data, size});
  compare_floats({data, size});
  return 0;
}
