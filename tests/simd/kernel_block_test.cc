#include "simd/kernel_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support.h"

namespace hinge {
namespace {

using testing::random_dataset;

const KernelFunction kKernels[] = {
    {.kind = KernelKind::linear},
    {.kind = KernelKind::rbf, .gamma = 0.3},
    {.kind = KernelKind::poly, .gamma = 0.5, .degree = 3, .coef0 = 1},
    {.kind = KernelKind::poly, .gamma = 2, .degree = 8, .coef0 = -1},
    {.kind = KernelKind::sigmoid, .gamma = 0.7, .coef0 = -0.2}};

// As the header of the public type says.
double definition(const KernelFunction& kernel, const std::vector<double>& x,
                  const std::vector<double>& z) {
  double dot = 0, distance = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    dot += x[j] * z[j];
    distance += (x[j] - z[j]) * (x[j] - z[j]);
  }
  switch (kernel.kind) {
    case KernelKind::linear:
      return dot;
    case KernelKind::rbf:
      return std::exp(-kernel.gamma * distance);
    case KernelKind::poly:
      return std::pow(kernel.gamma * dot + kernel.coef0, kernel.degree);
    case KernelKind::sigmoid:
      return std::tanh(kernel.gamma * dot + kernel.coef0);
  }
  return 0;
}

template <class Value>
std::vector<double> dense(const CsrView<Value>& m, std::uint64_t i) {
  std::vector<double> x(m.features);
  for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
    x[m.column(k)] = static_cast<double>(m.values[k]);
  }
  return x;
}

// All pairs, in blocks of `size` rows.
template <class Value>
std::vector<double> gram(const CsrView<Value>& m, const KernelFunction& kernel, std::size_t size,
                         const Simd& loops, bool differences = false) {
  KernelBlock block(kernel, m.features, differences, loops);
  std::vector<double> squares, out(m.rows * m.rows);
  for (std::uint64_t i = 0; i < m.rows; ++i) squares.push_back(square_of(row_of(m, i)));
  for (std::uint64_t i = 0; i < m.rows; i += size) {
    const std::size_t count = std::min<std::size_t>(size, m.rows - i);
    block.load(
        count, [&](std::size_t b) { return row_of(m, i + b); },
        [&](std::size_t b) { return differences ? 0.0 : squares[i + b]; });
    block.evaluate(
        0, m.rows, [&](std::size_t k) { return row_of(m, k); }, squares.data(), 0.0,
        out.data() + i * m.rows, m.rows);
  }
  return out;
}

template <class Value>
void check(Precision precision, std::uint64_t features) {
  const Dataset data = random_dataset(
      {.rows = 37, .features = features, .nonzeros = 8, .seed = 4, .precision = precision});
  const auto& m = std::get<CsrView<Value>>(data.view());
  for (const KernelFunction& kernel : kKernels) {
    const std::vector<double> all = gram(m, kernel, 4, *available_simd().front());
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      for (std::uint64_t j = 0; j < m.rows; ++j) {
        const double expected = definition(kernel, dense(m, i), dense(m, j));
        ASSERT_NEAR(all[i * m.rows + j], expected, 1e-13 * std::max(1.0, std::abs(expected)));
        ASSERT_EQ(all[i * m.rows + j], all[j * m.rows + i]);  // to the bit
      }
      if (kernel.kind == KernelKind::rbf) {
        ASSERT_EQ(all[i * m.rows + i], 1.0);
      }
    }
    for (const Simd* loops : available_simd()) {
      for (const std::size_t size : {1U, 3U, 4U}) {
        const std::vector<double> other = gram(m, kernel, size, *loops);
        ASSERT_EQ(std::memcmp(other.data(), all.data(), all.size() * sizeof(double)), 0);
      }
    }
  }
}

TEST(KernelBlock, IsTheDefinitionForAnyBlockAndInstructionSet) {
  for (const std::uint64_t features : {8U, 300U, 6000U, 20000U}) {  // blocks of 16, 16, 8 and 4
    if (testing::slow() && features > 300) continue;
    check<float>(Precision::f32, features);
    check<double>(Precision::f64, features);
  }
}

// A column that is large and nearly the same everywhere must not drown the others.
TEST(KernelBlock, DifferencesOfLargeNumbers) {
  const Dataset data =
      testing::random_dataset({.rows = 40, .features = 10, .nonzeros = 5, .seed = 4});
  const auto& small = std::get<CsrView<float>>(data.view());
  std::vector<double> values;
  std::vector<std::uint32_t> columns;
  std::vector<std::uint64_t> offsets = {0};
  for (std::uint64_t i = 0; i < small.rows; ++i) {
    columns.push_back(0);
    values.push_back(1e9);
    for (std::uint64_t k = small.offsets[i]; k < small.offsets[i + 1]; ++k) {
      columns.push_back(small.column(k) + 1);
      values.push_back(static_cast<double>(small.values[k]));
    }
    offsets.push_back(columns.size());
  }
  const CsrView<double> large = {small.rows, 11, offsets.data(), columns.data(), values.data()};
  const KernelFunction rbf = {.kind = KernelKind::rbf, .gamma = 0.7};
  EXPECT_FALSE(needs_differences(rbf, 1e3));
  EXPECT_TRUE(needs_differences(rbf, 1e18));
  EXPECT_TRUE(needs_differences({.kind = KernelKind::rbf, .gamma = 1e-300}, 1e305));
  const std::vector<double> expected = gram(small, rbf, 4, best_simd());
  const std::vector<double> shifted = gram(large, rbf, 3, best_simd(), true);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_NEAR(shifted[k], expected[k], 1e-13);
    ASSERT_EQ(shifted[k], shifted[k % 40 * 40 + k / 40]);
  }
}

// To a few units in the last place, however small the argument.
TEST(KernelBlock, SigmoidOfSmallArguments) {
  const KernelFunction sigmoid = {.kind = KernelKind::sigmoid, .gamma = 1};
  for (double x = 1e-300; x < 30; x *= 1.7) {
    std::vector<double> values = {x, -x};
    apply_kernel(sigmoid, best_simd(), 0, nullptr, values.data(), 2);
    ASSERT_NEAR(values[0] / std::tanh(x), 1, 1e-15) << x;
    ASSERT_EQ(values[1], -values[0]);
  }
}

TEST(KernelBlock, NumbersThatOverflowAreNotHidden) {
  const std::vector<double> far = {1e160, 1e170};
  const KernelFunction rbf = {.kind = KernelKind::rbf, .gamma = 1};
  std::vector<double> dots = {0.0, 0.0};
  const std::vector<double> squares = {1e300, std::numeric_limits<double>::infinity()};
  apply_kernel(rbf, best_simd(), 1.0, squares.data(), dots.data(), 2);
  EXPECT_EQ(dots[0], 0.0);
  EXPECT_EQ(dots[1], 0.0);
  const KernelFunction poly = {.kind = KernelKind::poly, .gamma = 1, .degree = 3};
  dots = far;
  apply_kernel(poly, best_simd(), 1.0, squares.data(), dots.data(), 2);
  EXPECT_TRUE(std::isinf(dots[0]));
}

}  // namespace
}  // namespace hinge
