// The inner loops of Newton steps: many rows of a smoothed loss along a ray (newton/part.h).
#pragma once

#include <cstddef>

#include "objective/loss.h"
#include "simd/simd.h"

namespace hinge {

// Rows whose statuses are status_i(t) = prox(centre_i, z_i + t d_i, steepness), the prox of the
// loss' conjugate (objective/loss.h): for the hinge clip(centre_i + steepness (1 - z_i - t d_i), 0,
// 1), half of whose corner is 1/2 steepness wide.
struct SmoothedRows {
  const double* z;
  const double* d;
  const double* centre;
  const double* cost;  // c_i; nullptr: all 1
  std::size_t size;
  double steepness;
  LossChoice loss = {};
};

struct SmoothedSums {
  double loss = 0;   // sum_i c_i l(z_i)
  double gain = 0;   // sum_i -c_i l*(-status_i)
  double bound = 0;  // sum_i c_i (-l*(-status_i) - status_i z_i), at most `loss`
};

struct SmoothedLoops {
  // sum_i c_i d_i status_i(t)
  double (*slope)(const SmoothedRows& rows, double t);
  // z_i + t d_i, the status there, and sums of both; may write to where it reads.
  SmoothedSums (*move)(const SmoothedRows& rows, double t, double* z, double* status);
};

const SmoothedLoops& smoothed_loops(const Simd& simd, LossKind kind);

}  // namespace hinge
