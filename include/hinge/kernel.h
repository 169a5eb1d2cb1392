// Kernels: inner products of rows in a space where they are easier to part. A model with a kernel
// keeps rows ("support rows") instead of one weight a feature; docs/kernels.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace hinge {

enum class KernelKind : std::uint8_t {
  linear,   // <x, z>: no kernel at all
  rbf,      // exp(-gamma |x - z|^2)
  poly,     // (gamma <x, z> + coef0)^degree
  sigmoid,  // tanh(gamma <x, z> + coef0)
};

std::string_view to_string(KernelKind kind);  // "rbf"

struct KernelFunction {
  KernelKind kind = KernelKind::linear;
  double gamma = 0;  // > 0; when training, 0 stands for 1/features
  int degree = 3;    // >= 1
  double coef0 = 0;

  bool linear() const { return kind == KernelKind::linear; }

  // Whether this is an inner product for any rows whatever. Only then does the dual bound the
  // primal, so only then is there a certificate.
  bool positive_definite() const {
    return kind != KernelKind::sigmoid && (kind != KernelKind::poly || coef0 >= 0);
  }
  bool operator==(const KernelFunction&) const = default;
};

}  // namespace hinge
