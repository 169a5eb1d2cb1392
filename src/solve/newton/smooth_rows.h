// The inner loops of Newton steps on a smooth loss whose slope bends (smooth_part.h): many rows
// along a ray.
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
};

struct SumsOfRows {
  double loss = 0;  // sum_i c_i l(z_i)
  double gain = 0;  // sum_i -c_i l*(-a_i), a_i = -l'(z_i)
};

struct SlopeOfRows {
  double slope = 0;      // of sum_i c_i l(z_i + t d_i) in t,
  double curvature = 0;  // and how much that rises
};

// Where results go; each may be where the margins are.
struct RowsThere {
  double* z;          // z_i + t d_i
  double* share;      // -l'(z_i)
  double* curvature;  // l''(z_i)
};

struct SmoothLoops {
  SumsOfRows (*move)(const RowsAlongRay& rows, double t, const RowsThere& there);
  SlopeOfRows (*slope)(const RowsAlongRay& rows, double t);
};

const SmoothLoops& smooth_loops(const Simd& simd, LossKind loss);

}  // namespace hinge
