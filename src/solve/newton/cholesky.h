// A = L L^T for a symmetric positive definite matrix, in place, by blocks that fit the cache and
// with all threads of a pool. The same bits for any number of threads and any instruction set.
#pragma once

#include <cstddef>
#include <span>

#include "base/pool.h"
#include "simd/simd.h"
#include "solve/newton/tuning.h"

namespace hinge {

// What Simd::add_product multiplies: so many columns by so many rows.
constexpr std::size_t kPanel = 8, kHalf = 4;
constexpr std::size_t kTile = NewtonTuning::kTile;  // a piece of work

// a: the lower triangle of A by rows, `size` (a multiple of 8) apart; becomes L. What lies above
// the diagonal is neither read nor kept. Pivots that rounding leaves below their floor are raised
// to it: with floors > 0 there is always a result.
void factor_cholesky(double* a, std::size_t size, std::span<const double> floors, const Simd& simd,
                     Pool& pool);

// x <- A^-1 x
void solve_cholesky(const double* l, std::size_t size, double* x, const Simd& simd);

}  // namespace hinge
