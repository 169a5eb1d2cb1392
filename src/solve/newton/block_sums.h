// Adds up vectors as long as the columns, one of each block of rows, in the order of the blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/pool.h"
#include "simd/simd.h"
#include "solve/newton/tuning.h"

namespace hinge {

// to += factor times the vector of each block for which vector_of(block) is not null. Threads share
// the columns out where there are many, which changes no bit.
template <class Blocks, class VectorOf>
void add_vectors(const Blocks& blocks, const VectorOf& vector_of, double factor,
                 std::span<double> to, const Simd& simd, Pool& pool) {
  constexpr std::size_t kColumns = NewtonTuning::kColumnsAtATime;
  const Pool::Grace whole(pool, Pool::Grace::kForever);  // half a sum is none
  pool.run((to.size() + kColumns - 1) / kColumns, [&](std::size_t part) {
    const std::size_t from = part * kColumns, size = std::min(kColumns, to.size() - from);
    for (const auto& block : blocks) {
      const double* const vector = vector_of(block);
      if (vector != nullptr) simd.add_dense(factor, vector + from, to.data() + from, size);
    }
  });
}

}  // namespace hinge
