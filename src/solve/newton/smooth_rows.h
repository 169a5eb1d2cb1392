// The inner loops of Newton steps on a smooth loss (smooth_part.h): many rows along a ray.
#pragma once

#include <cstddef>

#include "objective/loss.h"
#include "simd/simd.h"

namespace hinge {

// Rows with margins z_i + t d_i.
struct RowsAlongRay {
  const double* z;
  const double* d;
  const double* cost;  // c_i; nullptr: all 1
  std::size_t size;
  LossChoice loss = {};
};

struct SumsOfRows {
  double loss = 0;  // sum_i c_i l(z_i)
  double gain = 0;  // sum_i -c_i l*(-a_i), a_i = -l'(z_i)
};

struct SlopeOfRows {
  double slope = 0;      // of sum_i c_i l(z_i + t d_i) in t,
  double curvature = 0;  // and how much that rises
};

// Shares as far on as their slopes say that margins move by d_i: a_i - l''(z_i) d_i. Where that
// would be near a bound, beyond or not, it is `instead_i`. For losses whose slope bends.
struct SharesAlongRay {
  const double* share;
  const double* d;
  const double* instead;
  const double* cost;  // as above
  std::size_t size;
  LossChoice loss = {};
};

struct SumsOfShares {
  double gain = 0;      // sum_i -c_i l*(-a_i)
  double replaced = 0;  // rows
};

struct SmoothLoops {
  // Writes z_i + t d_i, which may be where the margins are, and the shares there.
  SumsOfRows (*move)(const RowsAlongRay& rows, double t, double* z, double* share);
  SlopeOfRows (*slope)(const RowsAlongRay& rows, double t);
  SumsOfShares (*follow)(const SharesAlongRay& rows, double* share);
};

const SmoothLoops& smooth_loops(const Simd& simd, LossKind loss);

}  // namespace hinge
