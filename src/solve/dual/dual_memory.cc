#include <algorithm>

#include "solve/dual/centred_rows.h"
#include "solve/dual/merged_columns.h"
#include "solve/dual/tuning.h"
#include "solve/solver.h"

namespace hinge {

// Variables, gradients, items and what leaps and line searches keep; with a free bias also the best
// variables, and where losses bend.
double dual_bytes_a_row(bool free_bias) {
  return free_bias ? 210 : 125;
}

double entries_a_round(std::size_t dimension) {
  return std::max(DualTuning::kEntriesARound,
                  DualTuning::kEntriesAColumn * static_cast<double>(dimension));
}

std::size_t lanes_worth(double entries, std::size_t dimension, std::size_t most) {
  const double worth = entries / (DualTuning::kLeastRounds * entries_a_round(dimension));
  return static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(most)));
}

double dual_memory(const Dataset& data, std::uint64_t dimension, double gap, bool free_bias) {
  // What there is for each row; copies of rows; w, the best one, and those of leaps.
  const bool doubles = data.precision() == Precision::f64;
  const double entry = doubles ? 12 : 8, quantised = doubles ? 2 : 0;
  return dual_bytes_a_row(free_bias) * static_cast<double>(data.rows()) +
         DualTuning::kCopyBelow * entry * static_cast<double>(data.nonzeros()) +
         (8 * 6 + 4) * static_cast<double>(dimension) +
         quantised * static_cast<double>(data.nonzeros()) +
         std::max(merging_memory(data, dimension, gap), free_bias ? centring_memory(data) : 0.0);
}

}  // namespace hinge
