#include "dual/merged_columns.h"
#include "dual/rough_rows.h"
#include "dual/working_rows.h"
#include "solve/solver.h"

namespace hinge {

double dual_memory(const Dataset& data, std::uint64_t dimension, double gap) {
  // Variables, gradients, items and what leaps and line searches keep of each row; copies of rows;
  // w, the best one, and those of leaps.
  const double entry = data.precision() == Precision::f32 ? 8 : 12;
  return 136 * static_cast<double>(data.rows()) +
         kCopyBelow * entry * static_cast<double>(data.nonzeros()) +
         (8 * 6 + 4) * static_cast<double>(dimension) + rough_memory(data) +
         merging_memory(data, dimension, gap);
}

}  // namespace hinge
