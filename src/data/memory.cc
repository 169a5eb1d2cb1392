#include "data/memory.h"

#include "data/columns.h"

namespace hinge {

TrainingMemory training_memory(const Dataset& data, std::uint64_t planes, const SweepShape& sweep) {
  const auto rows = static_cast<double>(data.rows()),
             nonzeros = static_cast<double>(data.nonzeros());
  const bool sparse = are_sparse(data.nonzeros(), data.features(), planes);
  const double columns = sparse ? nonzeros : static_cast<double>(data.features());  // at most
  TrainingMemory memory;
  const bool full = data.visit([](const auto& m) { return m.full; });
  memory.rows =
      16 * rows + ((data.precision() == Precision::f32 ? 4 : 8) + (full ? 0 : 4)) * nonzeros;
  memory.work = 16 * rows + (sparse ? memory.rows + 4 * nonzeros : 0.0);
  memory.weights = 8 * columns * (static_cast<double>(planes) + 2);
  if (sweep.planes > 0) {
    // For each row and hyperplane: signs, counts (now, and at two marks), score, dual variable; for
    // each row: visits, bends of a line search, lengths. For each row of a step: scores and
    // factors.
    const auto together = static_cast<double>(sweep.planes);
    const double start = sweep.start ? 8 * together : 0;
    memory.work += rows * (24 + 34 * together + start) +
                   static_cast<double>(sweep.batch) * (24 + 24 * together);
    if (sweep.kernel) {
      // Coefficients for rows, and rows in the model; blocks of rows made dense, here and in the
      // proof, where each thread has one. Kernel values that are kept take what is left.
      memory.work += rows * 64 * together + 2 * memory.rows;
      memory.weights += columns * (128 + 96 * static_cast<double>(sweep.threads));
    } else {
      memory.weights += columns * (64 * together + start);
    }
  }
  return memory;
}

}  // namespace hinge
