#include "kernels/kernel_block.h"

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
    x[m.columns[k]] = static_cast<double>(m.values[k]);
  }
  return x;
}

// All pairs, in blocks of `size` rows.
template <class Value>
std::vector<double> gram(const CsrView<Value>& m, const KernelFunction& kernel, std::size_t size,
                         const Kernels& loops) {
  KernelBlock block(kernel, m.features, loops);
  std::vector<double> squares, out(m.rows * m.rows);
  for (std::uint64_t i = 0; i < m.rows; ++i) squares.push_back(square_of(row_of(m, i)));
  for (std::uint64_t i = 0; i < m.rows; i += size) {
    const std::size_t count = std::min<std::size_t>(size, m.rows - i);
    block.load(
        count, [&](std::size_t b) { return row_of(m, i + b); },
        [&](std::size_t b) { return squares[i + b]; });
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
    const std::vector<double> all = gram(m, kernel, 4, *available_kernels().front());
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
    for (const Kernels* loops : available_kernels()) {
      for (const std::size_t size : {1U, 3U, 4U}) {
        const std::vector<double> other = gram(m, kernel, size, *loops);
        ASSERT_EQ(std::memcmp(other.data(), all.data(), all.size() * sizeof(double)), 0);
      }
    }
  }
}

TEST(KernelBlock, IsTheDefinitionForAnyBlockAndInstructionSet) {
  for (const std::uint64_t features : {8U, 300U, 6000U, 20000U}) {  // blocks of 16, 16, 8 and 4
    check<float>(Precision::f32, features);
    check<double>(Precision::f64, features);
  }
}

TEST(KernelBlock, NumbersThatOverflowAreNotHidden) {
  const std::vector<double> far = {1e160, 1e170};
  const KernelFunction rbf = {.kind = KernelKind::rbf, .gamma = 1};
  std::vector<double> dots = {0.0, 0.0};
  const std::vector<double> squares = {1e300, std::numeric_limits<double>::infinity()};
  apply_kernel(rbf, best_kernels(), 1.0, squares.data(), dots.data(), 2);
  EXPECT_EQ(dots[0], 0.0);
  EXPECT_EQ(dots[1], 0.0);
  const KernelFunction poly = {.kind = KernelKind::poly, .gamma = 1, .degree = 3};
  dots = far;
  apply_kernel(poly, best_kernels(), 1.0, squares.data(), dots.data(), 2);
  EXPECT_TRUE(std::isinf(dots[0]));
}

}  // namespace
}  // namespace hinge
