#include "solve/traits.h"

namespace hinge {
namespace {

template <Solver method>
double memory_of_planes(const MemoryShape& shape) {
  return planes_memory(shape.data, shape.dimension, method, shape.options.planes);
}

std::vector<Solution> solve_by_planes(const SolverTask& task, Pool& pool) {
  const PlanesSetup setup = {
      .common = task.common, .method = task.solver, .planes = task.asked.planes};
  return only(solve_planes(task.problems[0], setup, task.monitors[0], pool));
}

template <Solver method>
constexpr SolverTraits traits(std::string_view name) {
  return {.solver = method,
          .name = name,
          .options = OptionGroup::planes,
          .losses = kHingeAlone,
          .alone = {.offered = true,
                    .free_bias = true,
                    .starts = Starts::anywhere,
                    .checkpoints = true},
          .on_ranks = {.offered = true, .starts = Starts::anywhere, .checkpoints = true},
          .begins_with_passes = true,
          .may_end_above_zero = true,
          .memory = memory_of_planes<method>,
          .memory_is_for = "the planes",
          .less_memory = "lower --planes",
          .solve = solve_by_planes};
}

}  // namespace

constexpr std::array<SolverTraits, 5> kPlanesTraits = {
    traits<Solver::cpa>("cpa"), traits<Solver::ocas>("ocas"), traits<Solver::ocas3>("ocas3"),
    traits<Solver::active>("active"), traits<Solver::focus>("focus")};

}  // namespace hinge
