#include "solve/traits.h"

#include "solve/crawl.h"

namespace hinge {
namespace {

double memory_of_newton(const MemoryShape& shape) {
  return newton_memory(shape.data, shape.dimension);
}

std::vector<Solution> solve_by_newton(const SolverTask& task, Pool& pool) {
  const Problem& problem = task.problems[0];
  Monitor& monitor = task.monitors[0];
  if (!task.may_change && !has_changed(task.common.resume))
    return only(solve_newton(problem, task.common, monitor, pool));
  const DualSetup setup = {.common = task.common};
  return only(solve_in_turns(problem, Solver::newton, setup, monitor, pool));
}

}  // namespace

constexpr SolverTraits kNewtonTraits = {
    .solver = Solver::newton,
    .name = "newton",
    .losses = kHingeAlone,
    .alone = {.offered = true, .free_bias = true, .starts = Starts::anywhere, .checkpoints = true},
    .memory = memory_of_newton,
    .memory_is_for = "the matrices",
    .less_memory = "--solver dual needs less",
    .solve = solve_by_newton};

}  // namespace hinge
