// What losses have in common (loss.h says what every member is): margins as they are kept, and of
// losses of classes the range of a share.
#pragma once

#include "simd/anywhere.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hinge {

// Margins are kept by what they differ from kCorner = kAt.
template <int kAt>
struct MarginsAbout {
  static constexpr double kCorner = kAt;

  // kCorner - z
  template <class T>
  HINGE_ANYWHERE static inline T slack(T z) {
    return kCorner - z;
  }
  // z - kCorner: the slope of the (minimised) dual along alpha, but for what l* is bent
  // (full_gradient()).
  template <class T>
  HINGE_ANYWHERE static inline T dual_gradient(T z) {
    return z - kCorner;
  }
  // z again
  template <class T>
  HINGE_ANYWHERE static inline T margin_of(T gradient) {
    return gradient + kCorner;
  }
};

// No loss of classes rises: no share is below 0.
template <int kAt>
struct FallingLoss : MarginsAbout<kAt> {
  static constexpr double kLowest = 0;
  static constexpr bool kRegression = false, kKinked = false;

  template <class T>
  HINGE_ANYWHERE static inline T lowest(T /*upper*/) {
    return T{};
  }

 protected:
  template <class T>
  HINGE_ANYWHERE static inline T positive(T x) {
    const T zero = {};
    return x > zero ? x : zero;
  }
};

}  // namespace hinge

#pragma GCC diagnostic pop
