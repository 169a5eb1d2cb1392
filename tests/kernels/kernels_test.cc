// The contract of every instruction set: the bits of the written-out definition.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

// Eight lanes, element k in lane k mod 8, summed in the documented order.
template <class Value>
double reference_dot(SparseRow<Value> row, const double* w) {
  double l[8] = {};
  for (std::size_t k = 0; k < row.size; ++k) {
    l[k % 8] += static_cast<double>(row.values[k]) * w[row.columns[k]];
  }
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class KernelContract : public ::testing::TestWithParam<const Kernels*> {
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
      EXPECT_TRUE(same_bits(GetParam()->dot(row, w.data()), reference_dot(row, w.data()))) << size;

      std::vector<double> expected = w;
      for (std::size_t k = 0; k < size; ++k) {
        expected[columns[k]] += 0.37 * static_cast<double>(values[k]);
      }
      GetParam()->add(row, 0.37, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), kFeatures * sizeof(double)), 0) << size;
      check_many(row, kFeatures, random);
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
      GetParam()->dot_many(row, w.data(), stride, out.data());
      EXPECT_EQ(std::memcmp(out.data(), sums.data(), stride * sizeof(double)), 0) << stride;
      GetParam()->add_many(row, a.data(), stride, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), w.size() * sizeof(double)), 0) << stride;
    }
  }
};

TEST_P(KernelContract, FloatRowsMatchTheDefinition) {
  check_against_definition<float>();
}
TEST_P(KernelContract, DoubleRowsMatchTheDefinition) {
  check_against_definition<double>();
}

TEST_P(KernelContract, KeepsNegativeZeroAndExtremes) {
  const std::vector<std::uint32_t> columns = {0, 1, 2};
  const std::vector<double> values = {-1, 1e300, 4.9e-324};
  const std::vector<double> w = {0.0, 1e-300, 1.0};
  for (std::size_t size = 0; size <= 3; ++size) {
    const SparseRow<double> row = {columns.data(), values.data(), size};
    EXPECT_TRUE(same_bits(GetParam()->dot(row, w.data()), reference_dot(row, w.data()))) << size;
  }
}

// Columns at and above 2^31 need care where gather instructions take signed indices. The weights
// begin far below the array, so that only its last columns lie in memory.
TEST_P(KernelContract, ColumnsUpTo32Bits) {
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
  EXPECT_EQ(GetParam()->dot(row, weights), 1.5 * (14 * 15 / 2));
}

// To 1e-15 of the library's, and the bits of the scalar loop, wherever a number stands in the
// array.
TEST_P(KernelContract, ExponentialsOfNumbersBelowZero) {
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
  GetParam()->exp_all(all.data(), all.size());
  available_kernels().front()->exp_all(scalar.data(), scalar.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = x[k] < -708 ? 0.0 : std::exp(x[k]);
    ASSERT_LE(std::abs(all[k] - expected), 1e-15 * expected) << x[k];
    ASSERT_TRUE(same_bits(all[k], scalar[k])) << x[k];
  }
  EXPECT_EQ(all[0], 1.0);
  for (std::size_t size = 0; size < 10; ++size) {
    std::vector<double> part(x.begin() + 100, x.begin() + 110);
    GetParam()->exp_all(part.data(), size);
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_TRUE(same_bits(part[k], k < size ? all[100 + k] : x[100 + k])) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, KernelContract,
                         ::testing::ValuesIn(available_kernels().begin(),
                                             available_kernels().end()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace hinge
