// Rows of doubles in 16 bits a value, for descent to work on while it is far from the optimum: a
// row is scale q, q whole numbers up to 32767, so that no entry is off by more than 1/65534 of the
// largest of its row. Epochs read a quarter of the bytes of the values. What they come to is no
// worse for it than 1e-5 or so, and is measured on the rows as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"
#include "hinge/dataset.h"
#include "kernels/kernels.h"

namespace hinge {

struct RoughRows {
  CsrView<std::int16_t> m;     // q, in the columns of the rows there are
  std::vector<float> scale;    // of each row
  std::vector<double> square;  // |x|^2 of each row as it is

  // Of rows that are tame (data/problem.h). Throws Interrupted.
  RoughRows(const CsrView<double>& rows, const Kernels& kernels, Pool& pool);

 private:
  Buffer<std::int16_t> values_;  // behind the last, seven that mean nothing
};

// About how many bytes they take; none are made of rows of floats.
double rough_memory(const Dataset& data);

}  // namespace hinge
