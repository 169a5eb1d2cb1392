#include "solve/traits.h"

#include <fmt/core.h>

namespace hinge {
namespace {

void check_pegasos_ranks(const AskedOfRanks& asked) {
  const PegasosOptions& options = asked.options.pegasos;
  if (options.batch != 0 && options.batch < static_cast<std::uint64_t>(asked.ranks)) {
    fail_on_ranks(
        fmt::format("--batch {}: a step with less than a row a rank was asked for", options.batch),
        "a step is a message to all: give --batch a thousand or so");
  }
  if (options.sampling == Sampling::replace) fail_on_ranks("--sampling replace was asked for");
  if (options.iterate == Iterate::random || options.iterate == Iterate::best_of) {
    fail_on_ranks("--iterate: a point drawn by lot was asked for");
  }
  if (options.projection) fail_on_ranks("--projection on was asked for");
  if (asked.start || options.t0) fail_on_ranks("--start or --t0 was asked for, with Pegasos");
  if (asked.checkpoint) fail_on_ranks("--checkpoint was asked for, with Pegasos");
}

std::vector<Solution> solve_by_pegasos(const SolverTask& task, Pool& pool) {
  PegasosSetup setup = {
      .common = task.common, .pegasos = task.asked.pegasos, .kernel_memory = task.kernel_memory};
  setup.pegasos.kernel = task.kernel;
  // On ranks each would count the steps behind a start by its own rows.
  if (task.common.comm != nullptr) setup.common.start = {};
  return solve_pegasos(task.problems, setup, task.monitors, pool);
}

}  // namespace

constexpr SolverTraits kPegasosTraits = {
    .solver = Solver::pegasos,
    .name = "pegasos",
    .options = OptionGroup::pegasos,
    .losses = kAllLosses,
    .losses_with_kernel = kHingeAlone,
    .alone = {.offered = true, .free_bias = true, .starts = Starts::anywhere, .checkpoints = true},
    .on_ranks = {.offered = true},
    .with_kernel = {.offered = true, .checkpoints = true},
    .check_ranks = check_pegasos_ranks,
    .default_gap = 0,
    .sweeps = true,
    .solve = solve_by_pegasos};

}  // namespace hinge
