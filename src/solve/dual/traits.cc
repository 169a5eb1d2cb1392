#include "solve/traits.h"

namespace hinge {
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
