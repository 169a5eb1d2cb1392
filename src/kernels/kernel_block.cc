#include "kernels/kernel_block.h"

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

}  // namespace

void apply_kernel(const KernelFunction& kernel, const Kernels& loops, double square,
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
      // tanh(x) = sign(x) (1 - q)/(1 + q) with q = exp(-2|x|). A piece at a time, whose signs are
      // remembered.
      for (std::size_t k = 0; k < size; k += 64) {
        const std::size_t count = std::min<std::size_t>(64, size - k);
        double signs[64];
        for (std::size_t j = 0; j < count; ++j) {
          const double x = gamma * dots[k + j] + coef0;
          signs[j] = std::copysign(1.0, x);
          dots[k + j] = -2 * std::abs(x);
        }
        loops.exp_all(dots + k, count);
        for (std::size_t j = 0; j < count; ++j) {
          dots[k + j] = signs[j] * ((1 - dots[k + j]) / (1 + dots[k + j]));
        }
      }
      break;
  }
}

}  // namespace hinge
