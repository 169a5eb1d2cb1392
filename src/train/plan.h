// A plan holds everything that is decided before work begins. make_plan() looks at data and
// options, refuses what cannot be done, and decides: which solver, on which rows, in what memory,
// which problems together, from where. From then on a plan is const, and nothing is asked twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/pool.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "data/survey.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "rows/quantised_rows.h"
#include "solve/choose.h"
#include "solve/monitor.h"
#include "solve/solver.h"
#include "solve/traits.h"
#include "train/checkpoint.h"
#include "train/checkpoint_writer.h"

namespace hinge {

// Problems first .. last - 1 are solved together; those of the next cost come after all of the last
// one.
struct ProblemGroup {
  std::size_t first = 0, last = 0;
};

struct Plan {
  // What was asked.
  const Dataset& data;
  const TrainOptions& options;
  const Model* start = nullptr;       // where models begin; none: at 0
  std::span<const double> cost_path;  // of a model each, ascending
  std::vector<Error> warnings = {};   // about all of this

  // The solver, and how it is told to work.
  SolverChoice choice = {};
  const SolverTraits& traits() const { return traits_of(choice.solver); }
  Goals goals = {};
  Limits limits = {};               // of every problem, but for a gap that depends on the cost
  SolverOptions common = {};        // of every problem, but for where it begins
  std::uint64_t kernel_memory = 0;  // for kernel values that are kept
  bool float_weights = false;       // solvers may begin with them
  std::size_t abreast = 1;          // costs at the same time, at most
  bool warm_starts = false;         // models of several begin at others
  bool keeps_states = false;        // for checkpoints
  bool keeps_witness = false;       // in the models
  std::vector<ProblemGroup> groups = {};

  // The rows.
  GlobalShape shape = {};               // of rows on all ranks
  std::optional<Dataset> compact = {};  // those columns that occur, where these are few
  std::optional<QuantisedRows> quantised_rows = {};  // rows that solvers may begin with
  const Dataset& rows() const { return compact ? *compact : data; }

  // The objective.
  std::vector<double> row_weights = {};  // c_i; empty: all 1
  double total = 0;                      // sum of c_i
  double total_rounding = 0;             // of that sum and of U_i, as a share
  LossChoice loss = {};
  std::vector<double> targets = {};  // t_i, of a loss of regression
  double loss_at_zero = 0;           // sum of c_i l(z_i) where w = 0, computed like `total`
  bool regression() const { return is_regression(loss.kind); }
  std::vector<std::int8_t> signs_of(std::size_t problem) const;  // y_i
  Problem problem(std::span<const std::int8_t> y, double cost) const;

  // What the reports of all models have in common: labels, columns, origin.
  TrainReport report_template = {};
  std::size_t problems() const { return report_template.model.problems.size(); }  // of one model
};

// A run holds what changes while a plan is carried out: clock, threads, ranks, checkpoints.
struct Run {
  // `ranks` is none where one process trains alone. Work on several ranks goes on until all know
  // that it shall stop: their pools do not ask the flag.
  Run(const TrainControl& given, const TrainOptions& options, Comm* ranks)
      : control(given),
        comm(ranks),
        seconds(options.time_limit),
        pool(options.threads, ranks == nullptr ? &stop : nullptr) {}

  const TrainControl& control;
  Comm* const comm;
  const double seconds;  // that the run may take
  const StopToken stop{control.stop};
  const Stopwatch clock = {};
  Pool pool;
  std::optional<CheckpointWriter> checkpoints = {};  // where states are kept, on rank 0

  // The states that groups of the plan go on from. Each belongs to whoever works on that group.
  struct Resumed {
    bool done = false;
    StateBytes state = {};  // none: it begins
  };
  std::vector<Resumed> resumed = {};

  std::mutex observing = {};  // held while the caller is told something: one thread at a time

  int ranks() const { return comm == nullptr ? 1 : comm->size(); }
  bool first() const { return comm == nullptr || comm->first(); }

  // These tell whether somebody wants the run to end, and whether its time is up; on several ranks,
  // whether any of them says so. All ranks must ask.
  bool interrupted() const { return agreed(Wish::interrupt, stop.up()); }
  bool late() const { return agreed(Wish::limit, clock.seconds() >= seconds); }

 private:
  bool agreed(Wish wish, bool here) const {
    if (comm == nullptr) return here;
    if (here) comm->raise(wish);
    return comm->ask(wish);
  }
};

// `run` gets its checkpoint writer, and where groups go on from. Throws Failure (usage.*, data.*,
// limit.*, memory.*, model.start, mpi.unsupported, checkpoint.*) where something cannot be done,
// and Interrupted.
Plan make_plan(const Dataset& data, const TrainOptions& options, std::span<const double> cost_path,
               Run& run);

}  // namespace hinge
