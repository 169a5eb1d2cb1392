// What each solver is and what it takes. "May I?" and "how?" are answered from this table alone:
// plans, --help and messages read it. A solver's row stands beside the solver, in its traits.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "hinge/options.h"
#include "objective/loss.h"
#include "objective/problem.h"
#include "solve/monitor.h"
#include "solve/solver.h"

namespace hinge {

// Options that belong to some solvers alone: PegasosOptions, PlaneOptions.
enum class OptionGroup : std::uint8_t { common, pegasos, planes };

enum class Starts : std::uint8_t { at_zero, at_proof, anywhere };

// What a solver takes in one of the ways there are to train.
struct Abilities {
  bool offered = false;    // at all
  bool free_bias = false;  // an intercept that is not regularised
  Starts starts = Starts::at_zero;
  bool checkpoints = false;  // it tells states from which a later run goes on
};

// What several ranks are asked for.
struct AskedOfRanks {
  const TrainOptions& options;
  bool start, checkpoint;
  int ranks;
};

// The rows that memory is needed for: `dimension` numbers describe a hyperplane.
struct MemoryShape {
  const Dataset& data;
  std::uint64_t dimension;
  double gap;
  const TrainOptions& options;
};

// Problems that are solved together, and all that may serve it; a solver takes what is its own.
struct SolverTask {
  std::span<const Problem> problems;  // one, unless the solver sweeps
  std::span<Monitor> monitors;        // one a problem
  Solver solver;                      // which of those that have the function in common
  const TrainOptions& asked;
  SolverOptions common = {};
  // The plan decided on these: with a kernel its gamma, and the memory for its values that are
  // kept; and what a solver that takes low precision may begin with.
  KernelFunction kernel = {};
  std::uint64_t kernel_memory = 0;
  bool float_weights = false;
  const QuantisedRows* quantised_rows = nullptr;
  std::size_t lanes = 1;  // and of how many lanes
};

struct SolverTraits {
  Solver solver;
  std::string_view name;
  OptionGroup options = OptionGroup::common;                  // that it has besides those of all
  std::span<const std::string_view> losses = {};              // their names,
  std::span<const std::string_view> losses_with_kernel = {};  // and with a kernel
  Abilities alone = {}, on_ranks = {}, with_kernel = {};
  // Refuses what only this solver can be asked for and several ranks cannot do. It may be none.
  void (*check_ranks)(const AskedOfRanks& asked) = nullptr;

  double default_gap = kDefaultGap;  // asked for where none is given; 0: none
  bool sweeps = false;               // it takes problems that share rows in one sweep over them
  bool begins_with_passes = false;   // over all rows, in each problem anew
  bool may_end_above_zero = false;   // rounding may leave a point that is worse than w = 0
  bool takes_turns = false;          // another may go on where it crawls (solve/crawl.h)
  bool takes_lanes = false;          // several, side by side in one process
  bool takes_low_precision = false;  // weights in floats and rows in 16 bits, to begin with
  std::size_t abreast = 1;           // costs of a path that are worked on at a time, at most

  // About how many bytes one run takes besides the rows, for what, and how to need less. Solvers
  // that sweep have none: data/memory.h knows what a sweep takes.
  double (*memory)(const MemoryShape& shape) = nullptr;
  std::string_view memory_is_for = {}, less_memory = {};

  std::vector<Solution> (*solve)(const SolverTask& task, Pool& pool);
};

// Solvers that take no other loss, and those that take all there are.
constexpr std::string_view kHingeAlone[] = {Hinge::kName};
constexpr std::string_view kAllLosses[] = {Hinge::kName, SquaredHinge::kName, Logistic::kName,
                                           EpsilonInsensitive::kName, SquaredEpsilon::kName};

// The rows of the table: a name each, and five methods of cutting planes.
extern const SolverTraits kDualTraits, kNewtonTraits, kPegasosTraits;
extern const std::array<SolverTraits, 5> kPlanesTraits;

// All solvers, in the order of enum Solver; and one of them, which is not Solver::automatic.
std::span<const SolverTraits* const> all_solvers();
const SolverTraits& traits_of(Solver solver);

// The names of those that have these options, and of those that a condition holds for.
std::vector<std::string_view> names_of(OptionGroup options);
template <class Condition>
std::vector<std::string_view> names_where(const Condition& condition) {
  std::vector<std::string_view> names;
  for (const SolverTraits* const traits : all_solvers()) {
    if (condition(*traits)) names.push_back(traits->name);
  }
  return names;
}

// The solution of a solver that takes one problem at a time.
inline std::vector<Solution> only(Solution solution) {
  std::vector<Solution> solutions;
  solutions.push_back(std::move(solution));
  return solutions;
}

// Refuses what several ranks cannot do (mpi.unsupported).
[[noreturn]] void fail_on_ranks(const std::string& what, std::string help = {});

}  // namespace hinge
