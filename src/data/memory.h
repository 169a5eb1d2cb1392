// About how much memory training takes, before it begins.
#pragma once

#include <cstdint>

#include "hinge/dataset.h"

namespace hinge {

// Hyperplanes that are worked on together (Pegasos), rather than each in its turn.
struct SweepShape {
  std::uint64_t planes = 0;   // 0: no sweep
  std::uint64_t batch = 1;    // rows of a step
  bool start = false;         // begins at a model
  bool kernel = false;        // points are coefficients of rows
  std::uint64_t threads = 1;  // that compute kernel values
};

// About how much memory training takes on these rows, in bytes; in double, since it may be absurd.
struct TrainingMemory {
  double rows = 0;     // the data as it is kept
  double work = 0;     // what a solver keeps for each row, and a copy if the columns are renumbered
  double weights = 0;  // of `planes` hyperplanes, and the vectors as long that are worked with
  double all() const { return rows + work + weights; }
};
TrainingMemory training_memory(const Dataset& data, std::uint64_t planes,
                               const SweepShape& sweep = {});

}  // namespace hinge
