#include "solve/traits.h"

namespace hinge {
namespace {

double memory_of_newton(const MemoryShape& shape) {
  return newton_memory(shape.data, shape.dimension);
}

std::vector<Solution> solve_by_newton(const SolverTask& task, Pool& pool) {
  return only(solve_newton(task.problems[0], task.common, task.monitors[0], pool));
}

}  // namespace

constexpr SolverTraits kNewtonTraits = {
    .solver = Solver::newton,
    .name = "newton",
    .losses = kAllLosses,
    .alone = {.offered = true, .free_bias = true, .starts = Starts::anywhere, .checkpoints = true},
    .takes_turns = true,
    .memory = memory_of_newton,
    .memory_is_for = "the matrices",
    .less_memory = "--solver dual needs less",
    .solve = solve_by_newton};

}  // namespace hinge
