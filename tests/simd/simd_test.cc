// The contract of every instruction set: the bits of the written-out definition.
#include "simd/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "simd_reference.h"

namespace hinge {
namespace {

using testing::reference_dot;
using testing::same_bits;

class SimdContract : public testing::ForEveryIsa {
 protected:
  template <class Value>
  void check_against_definition() {
    constexpr std::size_t kFeatures = 1000;
    Random random(7);
    for (std::size_t size = 0; size < 70; ++size) {
      std::vector<std::uint32_t> columns;
      std::vector<Value> values;
      for (std::size_t k = 0; k < size; ++k) {
        columns.push_back(static_cast<std::uint32_t>(k * 14 + random.below(14)));
        values.push_back(static_cast<Value>(random.uniform() - 0.5));
      }
      std::vector<double> w(kFeatures);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      const SparseRow<Value> row = {columns.data(), values.data(), size};
      EXPECT_TRUE(same_bits(simd().dot(row, w.data()), reference_dot(row, w.data()))) << size;

      std::vector<double> expected = w;
      for (std::size_t k = 0; k < size; ++k) {
        expected[columns[k]] += 0.37 * static_cast<double>(values[k]);
      }
      simd().add(row, 0.37, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), kFeatures * sizeof(double)), 0) << size;
      check_many(row, kFeatures, random);
    }
  }

  // Columns side by side, told or not, give the same bits.
  template <class Value>
  void check_runs() {
    Random random(8);
    for (std::size_t size = 0; size < 70; ++size) {
      std::vector<std::uint32_t> columns(size);
      std::iota(columns.begin(), columns.end(), std::uint32_t{5});
      std::vector<Value> values(size);
      for (Value& value : values) value = static_cast<Value>(random.uniform() - 0.5);
      std::vector<double> w(size + 9);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      const SparseRow<Value> row = {columns.data(), values.data(), size};
      const SparseRow<Value> run = {columns.data(), values.data(), size, true};
      EXPECT_TRUE(same_bits(simd().dot(run, w.data()), reference_dot(row, w.data()))) << size;
      std::vector<double> expected = w;
      simd().add(row, -0.37, expected.data());
      simd().add(run, -0.37, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), w.size() * sizeof(double)), 0) << size;
    }
  }

  // Several vectors at once: each summed in the order of the columns.
  template <class Value>
  void check_many(SparseRow<Value> row, std::size_t features, Random& random) {
    for (const std::size_t stride : {1U, 2U, 4U, 8U, 12U, 16U, 20U, 36U}) {
      std::vector<double> w(features * stride), a(stride), out(stride), sums(stride);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      for (double& x : a) x = random.below(3) == 0 ? 0.0 : random.uniform() - 0.5;
      std::vector<double> expected = w;
      for (std::size_t k = 0; k < row.size; ++k) {
        for (std::size_t c = 0; c < stride; ++c) {
          const auto value = static_cast<double>(row.values[k]);
          sums[c] += value * w[row.columns[k] * stride + c];
          expected[row.columns[k] * stride + c] += a[c] * value;
        }
      }
      simd().dot_many(row, w.data(), stride, out.data());
      EXPECT_EQ(std::memcmp(out.data(), sums.data(), stride * sizeof(double)), 0) << stride;
      simd().add_many(row, a.data(), stride, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), w.size() * sizeof(double)), 0) << stride;
    }
  }
};

TEST_P(SimdContract, FloatRowsMatchTheDefinition) {
  check_against_definition<float>();
  check_runs<float>();
}
TEST_P(SimdContract, DoubleRowsMatchTheDefinition) {
  check_against_definition<double>();
  check_runs<double>();
}

TEST_P(SimdContract, KeepsNegativeZeroAndExtremes) {
  const std::vector<std::uint32_t> columns = {0, 1, 2};
  const std::vector<double> values = {-1, 1e300, 4.9e-324};
  const std::vector<double> w = {0.0, 1e-300, 1.0};
  for (std::size_t size = 0; size <= 3; ++size) {
    const SparseRow<double> row = {columns.data(), values.data(), size};
    EXPECT_TRUE(same_bits(simd().dot(row, w.data()), reference_dot(row, w.data()))) << size;
  }
}

// Columns at and above 2^31 need care where gather instructions take signed indices. The weights
// begin far below the array, so that only its last columns lie in memory.
TEST_P(SimdContract, ColumnsUpTo32Bits) {
  constexpr std::uint32_t kFirst = 0xfffffff0U;
  std::vector<double> block(15);
  std::vector<std::uint32_t> columns;
  for (std::uint32_t k = 0; k < 15; ++k) {
    block[k] = k;
    columns.push_back(kFirst + k);
  }
  const std::vector<float> values(columns.size(), 1.5F);
  const auto* weights = reinterpret_cast<const double*>(
      reinterpret_cast<std::uintptr_t>(block.data()) - std::uintptr_t{kFirst} * sizeof(double));
  const SparseRow<float> row = {columns.data(), values.data(), columns.size()};
  EXPECT_EQ(simd().dot(row, weights), 1.5 * (14 * 15 / 2));
}

// Rows of all lengths, one behind the other: the bits of dot(), whatever order columns are in;
// those without a weight count as zero.
TEST_P(SimdContract, RunsOfRows) {
  constexpr std::uint64_t kFeatures = 600, kRows = 70;
  Random random(9);
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    for (std::uint64_t k = 0; k < i; ++k) {
      columns.push_back(static_cast<std::uint32_t>(random.below(kFeatures)));
      values.push_back(random.uniform() - 0.5);
    }
    offsets.push_back(columns.size());
  }
  std::vector<double> w(kFeatures);
  for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
  const CsrView<double> m = {kRows, kFeatures, offsets.data(), columns.data(), values.data()};
  for (const std::size_t known : {0U, 1U, 250U, 599U, 600U}) {
    std::vector<double> out(2 * kRows, 7.0), cut = w;
    std::fill(cut.begin() + static_cast<std::ptrdiff_t>(known), cut.end(), 0.0);
    EXPECT_TRUE(
        simd().dot_rows(RowRun<double>{m, 3, kRows}, std::span(w).first(known), out.data(), 2));
    for (std::uint64_t i = 3; i < kRows; ++i) {
      EXPECT_EQ(out[2 * (i - 3)], reference_dot(row_of(m, i), cut.data())) << known << " " << i;
      EXPECT_EQ(out[2 * (i - 3) + 1], 7.0);
    }
  }
  std::vector<double> out(kRows);
  for (const std::uint32_t wrong : {600U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    for (const std::uint64_t i : {1U, 8U, 9U, 40U, 69U}) {
      for (const std::uint64_t k :
           {offsets[i], (offsets[i] + offsets[i + 1]) / 2, offsets[i + 1] - 1}) {
        const std::uint32_t good = std::exchange(columns[k], wrong);
        EXPECT_FALSE(simd().dot_rows(RowRun<double>{m, 0, kRows}, w, out.data(), 1))
            << i << " " << k;
        columns[k] = good;
      }
    }
  }
}

TEST_P(SimdContract, RunsOfFullRows) {
  constexpr std::uint64_t kFeatures = 21, kRows = 3;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i <= kRows; ++i) offsets.push_back(i * kFeatures);
  std::vector<std::uint32_t> columns(kFeatures);
  std::iota(columns.begin(), columns.end(), 0U);
  std::vector<float> values(kRows * kFeatures);
  std::iota(values.begin(), values.end(), -20.25F);
  std::vector<double> w(kFeatures);
  std::iota(w.begin(), w.end(), 0.1);
  const CsrView<float> m = {kRows, kFeatures, offsets.data(), columns.data(), values.data(), true};
  for (const std::size_t known : {0U, 13U, 21U}) {
    std::vector<double> out(kRows);
    EXPECT_TRUE(
        simd().dot_rows(RowRun<float>{m, 0, kRows}, std::span(w).first(known), out.data(), 1));
    for (std::uint64_t i = 0; i < kRows; ++i) {
      SparseRow<float> row = row_of(m, i);
      row.size = known;
      EXPECT_TRUE(same_bits(out[i], reference_dot(row, w.data()))) << known << " " << i;
    }
  }
}

// To 1e-15 of the library's, and the bits of the scalar loop, wherever a number stands in the
// array.
TEST_P(SimdContract, ExponentialsOfNumbersBelowZero) {
  std::vector<double> x = {0.0,
                           -0.0,
                           -5e-324,
                           -1e-300,
                           -1e-17,
                           -0.34657359027997264,
                           -1.0,
                           -707.99,
                           -708.0,
                           -708.1,
                           -745.0,
                           -1e300,
                           -std::numeric_limits<double>::infinity()};
  Random random(3);
  for (int k = 0; k < 20000; ++k) x.push_back(-720 * random.uniform() * random.uniform());
  std::vector<double> all = x, scalar = x;
  simd().exp_all(all.data(), all.size());
  available_simd().front()->exp_all(scalar.data(), scalar.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = x[k] < -708 ? 0.0 : std::exp(x[k]);
    ASSERT_LE(std::abs(all[k] - expected), 1e-15 * expected) << x[k];
    ASSERT_TRUE(same_bits(all[k], scalar[k])) << x[k];
  }
  EXPECT_EQ(all[0], 1.0);
  for (std::size_t size = 0; size < 10; ++size) {
    std::vector<double> part(x.begin() + 100, x.begin() + 110);
    simd().exp_all(part.data(), size);
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_TRUE(same_bits(part[k], k < size ? all[100 + k] : x[100 + k])) << size;
    }
  }
}

TEST_P(SimdContract, QuantisesToNearestWholeNumbers) {
  Random random(14);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<double> x(size);
    for (double& value : x) value = 8 * random.uniform() - 4;
    if (size % 5 == 0) std::ranges::fill(x, 0.0);
    std::vector<std::int16_t> out(size), same(size);
    const Quantisation got = simd().quantise(x.data(), size, out.data()),
                       scalar = available_simd()[0]->quantise(x.data(), size, same.data());
    EXPECT_EQ(got.square, scalar.square);
    EXPECT_EQ(out, same);
    double most = 0, square = 0;
    for (const double value : x) {
      most = std::max(most, std::abs(value));
      square += value * value;
    }
    EXPECT_EQ(got.scale, static_cast<float>(most / 32767));
    EXPECT_FLOAT_EQ(got.square, static_cast<float>(square));
    for (std::size_t k = 0; k < size; ++k) {
      const auto scale = static_cast<double>(got.scale);
      EXPECT_LE(std::abs(x[k] - scale * out[k]), 0.5 * scale * (1 + 1e-9)) << k;
    }
  }
}

TEST_P(SimdContract, BlendsOfVectors) {
  Random random(12);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<double> x(size), y(size), expected(size);
    double lanes[8] = {};
    for (std::size_t k = 0; k < size; ++k) {
      x[k] = random.uniform() - 0.5;
      y[k] = random.uniform() - 0.5;
      expected[k] = y[k] + 0.3 * (x[k] - y[k]);
      lanes[k % 8] += expected[k] * expected[k];
    }
    const double square = simd().blend_dense(0.3, x.data(), y.data(), size);
    EXPECT_EQ(y, expected) << size;
    EXPECT_EQ(square, ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                          ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7])))
        << size;
  }
}

TEST_P(SimdContract, FullRowsMatchTheDefinition) {
  Random random(9);
  for (const std::size_t size : {8U, 24U, 64U}) {
    for (std::size_t count = 0; count < 10; ++count) {
      std::vector<std::vector<float>> values(count, std::vector<float>(size));
      std::vector<const float*> rows;
      std::vector<double> w(size), a(count), out(count);
      for (auto& row : values) {
        for (float& x : row) x = static_cast<float>(random.uniform() - 0.5);
        rows.push_back(row.data());
      }
      for (double& x : w) x = random.uniform() - 0.5;
      for (double& x : a) x = random.uniform() - 0.5;
      std::vector<std::uint32_t> columns(size);
      for (std::uint32_t j = 0; j < size; ++j) columns[j] = j;
      simd().dot_full(rows.data(), count, w.data(), size, out.data());
      std::vector<double> expected = w;
      for (std::size_t r = 0; r < count; ++r) {
        const SparseRow<float> row = {columns.data(), values[r].data(), size};
        EXPECT_TRUE(same_bits(out[r], reference_dot(row, w.data())));
        for (std::size_t j = 0; j < size; ++j) expected[j] += a[r] * values[r][j];
      }
      simd().add_full(rows.data(), a.data(), count, w.data(), size);
      EXPECT_EQ(w, expected);
    }
  }
}

TEST_P(SimdContract, ProductsMatchTheDefinition) {
  constexpr std::size_t kDepth = 21, kStride = 16;
  Random random(11);
  std::vector<double> a(4 * kDepth), b(8 * kDepth), c(4 * kStride);
  for (auto* v : {&a, &b, &c}) {
    for (double& x : *v) x = random.uniform() - 0.5;
  }
  std::vector<double> expected = c;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kDepth; ++k) sum += a[4 * k + i] * b[8 * k + j];
      expected[i * kStride + j] += sum;
    }
  }
  simd().add_product(a.data(), b.data(), kDepth, c.data(), kStride);
  EXPECT_EQ(c, expected);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, SimdContract, testing::every_isa(),
                         testing::name_of_isa);

}  // namespace
}  // namespace hinge
