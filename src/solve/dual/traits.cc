#include "solve/traits.h"

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

namespace {

void check_dual_ranks(const AskedOfRanks& asked) {
  if (asked.options.lanes > 1) {
    fail_on_ranks("--lanes: several in a process were asked for", "there each rank is a lane");
  }
  if (asked.start) {
    fail_on_ranks("--start: descent from a proof was asked for",
                  "--solver focus begins at any model");
  }
}

double memory_of_dual(const MemoryShape& shape) {
  return dual_memory(shape.data, shape.dimension, shape.gap, shape.options.free_bias);
}

std::vector<Solution> solve_by_dual(const SolverTask& task, Pool& pool) {
  const DualSetup setup = {.common = task.common,
                           .float_weights = task.float_weights,
                           .quantised_rows = task.quantised_rows,
                           .lanes = task.lanes};
  return only(solve_dual(task.problems[0], setup, task.monitors[0], pool));
}

}  // namespace

constexpr SolverTraits kDualTraits = {
    .solver = Solver::dual,
    .name = "dual",
    .losses = kAllLosses,
    .alone = {.offered = true, .free_bias = true, .starts = Starts::at_proof, .checkpoints = true},
    .on_ranks = {.offered = true, .checkpoints = true},
    .check_ranks = check_dual_ranks,
    .takes_turns = true,
    .takes_lanes = true,
    .takes_low_precision = true,
    .abreast = 4,
    .memory = memory_of_dual,
    .memory_is_for = "the variables",
    .less_memory = "lower --threads",
    .solve = solve_by_dual};

}  // namespace hinge
