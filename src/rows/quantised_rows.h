// The first rows of a data set of doubles in 16 bits a value, for descent to work on while it is
// far from the optimum, with w in floats: a quarter of what epochs read of values. A row is
// scale q, q whole numbers up to 32767, so that no entry is off by more than 1/65534 of the largest
// of its row; the square of a row is that of the row as it is, in a float.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/pool.h"
#include "hinge/dataset.h"
#include "simd/simd.h"

namespace hinge {

struct QuantisedRows {
  std::uint64_t rows = 0;
  Buffer<std::int16_t> values;  // as Descent::quantised has them

  // |x|^2 of row i < rows, as the first visit finds it, too.
  double square(const CsrView<double>& m, std::uint64_t i) const;

  // As many as so many bytes hold; values are between 1e-15 and 1e15, or 0. Throws Interrupted.
  QuantisedRows(const CsrView<double>& m, std::uint64_t bytes, const Simd& simd, Pool& pool);
};

}  // namespace hinge
