#include "simd/kernel_block.h"

#include <cmath>

namespace hinge {
namespace {

double power(double x, int n) {
  double result = 1;
  for (; n > 0; n /= 2, x *= x) {
    if (n % 2 == 1) result *= x;
  }
  return result;
}

// tanh(x) = t/(2 - t) with t = 1 - e^(-2x), of x >= 0. Where e^(-2x) is near 1, t comes from its
// series.
double tanh_from(double x, double power) {
  double t = 1 - power;
  if (const double y = 2 * x; y < 0.3) {
    t = 0;
    for (int n = 13; n > 0; --n) t = y / n * (1 - t);
  }
  return t / (2 - t);
}

}  // namespace

bool needs_differences(const KernelFunction& kernel, double largest) {
  constexpr double kRounding = 0x1p-50, kTolerance = 1e-10, kNearOverflow = 1e300;
  return kernel.kind == KernelKind::rbf &&
         (kernel.gamma * largest * kRounding > kTolerance || largest > kNearOverflow);
}

void apply_kernel(const KernelFunction& kernel, const Simd& loops, double square,
                  const double* squares, double* dots, std::size_t size) {
  const double gamma = kernel.gamma, coef0 = kernel.coef0;
  switch (kernel.kind) {
    case KernelKind::linear:
      break;
    case KernelKind::rbf:
      for (std::size_t k = 0; k < size; ++k) {
        dots[k] = -gamma * std::max(0.0, (square + squares[k]) - 2 * dots[k]);
      }
      loops.exp_all(dots, size);
      break;
    case KernelKind::poly:
      for (std::size_t k = 0; k < size; ++k) {
        dots[k] = power(gamma * dots[k] + coef0, kernel.degree);
      }
      break;
    case KernelKind::sigmoid:
      // A piece at a time, whose arguments are remembered.
      for (std::size_t k = 0; k < size; k += 64) {
        const std::size_t count = std::min<std::size_t>(64, size - k);
        double x[64];
        for (std::size_t j = 0; j < count; ++j) {
          x[j] = gamma * dots[k + j] + coef0;
          dots[k + j] = -2 * std::abs(x[j]);
        }
        loops.exp_all(dots + k, count);
        for (std::size_t j = 0; j < count; ++j) {
          dots[k + j] = std::copysign(tanh_from(std::abs(x[j]), dots[k + j]), x[j]);
        }
      }
      break;
  }
}

}  // namespace hinge
