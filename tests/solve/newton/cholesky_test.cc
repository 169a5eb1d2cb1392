#include "solve/newton/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

// B B^T + shift I, all of it.
std::vector<double> matrix(std::size_t size, std::size_t rank, double shift, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> b(size * rank), a(size * size);
  for (double& x : b) x = random.uniform() - 0.5;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < rank; ++k) a[i * size + j] += b[i * rank + k] * b[j * rank + k];
    }
    a[i * size + i] += shift;
  }
  return a;
}

// Sizes below, at and above what blocks, tiles and threads begin with.
constexpr std::size_t kSizes[] = {8, 32, 40, 72, 136, 264, 520, 584};

TEST(Cholesky, SolvesWhatItFactors) {
  for (const std::size_t size : kSizes) {
    const std::vector<double> a = matrix(size, size / 2 + 1, 1, size);
    const std::vector<double> floors(size, 1.0);
    std::vector<double> l = a, x(size), right(size);
    Random random(3);
    for (double& value : x) value = random.uniform() - 0.5;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) right[i] += a[i * size + j] * x[j];
    }
    Pool pool(2);
    factor_cholesky(l.data(), size, floors, best_simd(), pool);
    for (std::size_t i = 0; i < size; i += 7) {
      for (std::size_t j = 0; j <= i; j += 5) {
        double sum = 0;
        for (std::size_t k = 0; k <= j; ++k) sum += l[i * size + k] * l[j * size + k];
        EXPECT_NEAR(sum, a[i * size + j], 1e-10) << size;
      }
    }
    solve_cholesky(l.data(), size, right.data(), best_simd());
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(right[i], x[i], 1e-9) << size;
  }
}

TEST(Cholesky, SameBitsForAnyThreadsAndInstructionSet) {
  for (const std::size_t size : kSizes) {
    const std::vector<double> a = matrix(size, 20, 1, 5);
    const std::vector<double> floors(size, 1.0);
    std::vector<double> first;
    for (const Simd* simd : available_simd()) {
      for (const int threads : {1, 3}) {
        std::vector<double> l = a;
        Pool pool(threads);
        factor_cholesky(l.data(), size, floors, *simd, pool);
        std::vector<double> lower;
        for (std::size_t i = 0; i < size; ++i) {
          for (std::size_t j = 0; j <= i; ++j) lower.push_back(l[i * size + j]);
        }
        if (first.empty()) first = lower;
        EXPECT_TRUE(lower == first) << size << " " << simd->name << " " << threads;
      }
    }
  }
}

// A matrix that is singular but for its floors: pivots that would be rounding are not.
TEST(Cholesky, FloorsHoldWhatRoundingWouldDrop) {
  constexpr std::size_t kSize = 72;
  std::vector<double> a(kSize * kSize, 1e20);
  for (std::size_t i = 0; i < kSize; ++i) a[i * kSize + i] += 1;  // which is lost
  const std::vector<double> floors(kSize, 1.0);
  Pool pool(1);
  factor_cholesky(a.data(), kSize, floors, best_simd(), pool);
  for (std::size_t i = 0; i < kSize; ++i) {
    EXPECT_TRUE(std::isfinite(a[i * kSize + i]));
    EXPECT_GE(a[i * kSize + i], 1.0);
  }
}

}  // namespace
}  // namespace hinge
