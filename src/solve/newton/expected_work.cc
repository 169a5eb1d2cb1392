// What a run of newton is expected to take.
#include <algorithm>

#include "solve/newton/system.h"
#include "solve/newton/tuning.h"
#include "solve/solver.h"

namespace hinge {

double newton_memory(const Dataset& data, std::uint64_t dimension) {
  const auto rows = static_cast<double>(data.rows()), columns = static_cast<double>(dimension);
  const double value = data.precision() == Precision::f32 ? 4 : 8;
  // Rows without holes if they are so, and of all of them samples and those near the margin.
  const double copies =
      1.5 * std::min((value + 4) * static_cast<double>(data.nonzeros()), value * rows * columns);
  const double blocks = std::clamp(static_cast<double>(data.nonzeros()) / (2 * columns), 1.0, 64.0);
  return NewtonSystem::memory(dimension) + 8 * 4 * blocks * columns + 8 * 10 * rows + copies;
}

double newton_work(const Dataset& data, std::uint64_t dimension) {
  using Tuning = NewtonTuning;
  const auto rows = static_cast<double>(data.rows()), columns = static_cast<double>(dimension),
             nonzeros = static_cast<double>(data.nonzeros());
  const bool full = nonzeros > 0.5 * rows * columns;
  const double near = Tuning::kNearRows * rows;
  const double exact = NewtonSystem::sum_work(near, nonzeros / rows, columns, full) +
                       NewtonSystem::factor_work(columns);
  // Or by products, as many as there may be different numbers among those that matter.
  const double products = std::min(rows, columns) * (nonzeros + columns);
  return Tuning::kSteps * (Tuning::kPasses * nonzeros + std::min(exact, products));
}

}  // namespace hinge
