// Vectors of four doubles or eight floats, in whatever registers an instruction set has for them,
// and the one order in which eight lanes become a sum. To be used in HINGE_INLINE code alone
// (simd/isa.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "simd/isa.h"

// How vectors would be handed over in calls does not matter: nothing here is called.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge {
namespace {

using Two = double __attribute__((vector_size(16)));
using Four = double __attribute__((vector_size(32)));
using EightFloats = float __attribute__((vector_size(32)));

HINGE_INLINE double sum_lanes(const double* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
HINGE_INLINE double sum_lanes(const Four* two) {
  double lanes[8];
  std::memcpy(lanes, two, sizeof lanes);
  return sum_lanes(lanes);
}
HINGE_INLINE float sum_lanes(const float* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

HINGE_INLINE Four load_four(const double* from) {
  Four x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
HINGE_INLINE Four load_four(const float* from) {
  float __attribute__((vector_size(16))) x;
  std::memcpy(&x, from, sizeof x);
  return __builtin_convertvector(x, Four);
}
HINGE_INLINE void store_four(double* to, Four x) {
  std::memcpy(to, &x, sizeof x);
}

HINGE_INLINE EightFloats load_eight(const float* from) {
  EightFloats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
HINGE_INLINE EightFloats load_eight(const double* from) {
  using FourFloats = float __attribute__((vector_size(16)));
  return __builtin_shufflevector(__builtin_convertvector(load_four(from), FourFloats),
                                 __builtin_convertvector(load_four(from + 4), FourFloats), 0, 1, 2,
                                 3, 4, 5, 6, 7);
}
HINGE_INLINE EightFloats load_eight(const std::int16_t* from) {
  std::int16_t __attribute__((vector_size(16))) x;
  std::memcpy(&x, from, sizeof x);
  using Wide = std::int32_t __attribute__((vector_size(32)));
  return __builtin_convertvector(__builtin_convertvector(x, Wide), EightFloats);
}

}  // namespace
}  // namespace hinge
