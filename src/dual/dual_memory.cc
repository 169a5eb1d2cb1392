#include "dual/merged_columns.h"
#include "dual/working_rows.h"
#include "solve/solver.h"

namespace hinge {

double dual_memory(const Dataset& data, std::uint64_t dimension, double gap) {
  // Variables, gradients, items and what leaps and line searches keep of each row; copies of rows;
  // w, the best one, and those of leaps.
  const bool doubles = data.precision() == Precision::f64;
  const double entry = doubles ? 12 : 8, shorts = doubles ? 2 : 0;
  return 136 * static_cast<double>(data.rows()) +
         kCopyBelow * entry * static_cast<double>(data.nonzeros()) +
         (8 * 6 + 4) * static_cast<double>(dimension) +
         shorts * static_cast<double>(data.nonzeros()) + merging_memory(data, dimension, gap);
}

}  // namespace hinge
