// Training at one cost: problems -> solver -> certificate -> model. Several costs may be worked on
// at the same time, each in a CostTraining of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/pool.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "data/survey.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "ranks/comm.h"
#include "rows/quantised_rows.h"
#include "solve/choose.h"
#include "solve/solver.h"
#include "solve/sweep.h"
#include "train/checkpoint.h"

namespace hinge {

// What all costs of a run share. Nothing changes while they are worked on, but for the groups, each
// of which belongs to one cost, and the book, which can be used by several.
struct Training {
  const Dataset& data;
  const TrainOptions& options;
  const TrainControl& control;
  SolverChoice choice;
  const double gap;  // asked for; 0 = none
  const StopToken stop{control.stop};
  const Stopwatch clock = {};
  Comm* const comm = nullptr;   // the ranks, if there are several; rows are this one's
  GlobalShape whole = {};       // all rows
  Dataset compact = {};         // the columns that occur, where these are few among many
  const Dataset* rows = &data;  // what is worked on: data, or compact
  bool floats = false;          // descent may begin with w in floats
  std::optional<QuantisedRows> quantised_rows = {};  // and on these
  std::vector<double> costs = {};                    // c_i
  double total = 0;                                  // sum of c_i
  double total_off = 0;                              // its rounding and that of U_i, as a share
  std::uint64_t kernel_memory = 0;                   // for kernel values that are kept
  bool warm_starts = false;                          // models of several begin at others
  bool witness = options.witness;                    // to be kept
  CheckpointGroups groups = {};  // problems solved together, and the states to go on from
  bool keeps_states = false;
  std::optional<CheckpointBook> book = {};  // if states are kept, on rank 0
  std::mutex observing = {};                // one thread at a time

  bool first() const { return comm == nullptr || comm->first(); }

  // Whether somebody wants this to end, or the time is up; on several ranks, whether any of them
  // says so. All must ask.
  bool interrupted() const { return agreed(Wish::interrupt, stop.up()); }
  bool late() const { return agreed(Wish::limit, clock.seconds() >= options.time_limit); }

 private:
  bool agreed(Wish wish, bool here) const {
    if (comm == nullptr) return here;
    if (here) comm->raise(wish);
    return comm->ask(wish);
  }
};

// Where the models of another cost may begin.
struct WarmStarts {
  double cost = 0;           // 0: none
  bool cut = false;          // a limit decided where: another run would not begin there
  std::vector<Start> start;  // one a problem
};

// Between two of them. Were no row to change sides, dual variables would be linear in the cost.
WarmStarts between(const WarmStarts& below, const WarmStarts& above, double cost);

class CostTraining {
 public:
  // `shape` says what is the same for every cost, `number` which of them this is. Throws Failure
  // (usage.value) if lambda gives no cost.
  CostTraining(Training& training, const TrainReport& shape, std::size_t number, double cost,
               Pool& pool);

  TrainReport run(WarmStarts from);

  // After that, where there are warm starts: where this cost ended. None if a problem has no
  // solution.
  WarmStarts take_end();

 private:
  void solve_all();
  bool skip(std::size_t first, std::size_t last);
  void solve(std::size_t number, Pool& pool);
  Problem problem_of(std::span<const std::int8_t> y) const;
  bool sweeps_first() const;
  void sweep(std::span<const std::size_t> problems, const SweepLimit& limit);
  void finish_missing();
  void fall_back(const Problem& problem, Solution& other, Solution& solution, Proof& proof,
                 Pool& pool) const;
  void check_size(const Problem& problem, const Solution& solution) const;
  void note_end(std::size_t k, bool interrupted);
  void count(std::size_t k, const Solution& solution, const Monitor& monitor, double solve_seconds);
  // `ended`: the solver would not go on.
  void keep(std::size_t k, const Problem& problem, Solution& solution, bool ended, Pool& pool);
  void keep_in_kernel();
  bool has_start() const;
  Start start(std::size_t k, const Problem& problem);
  Start start_from_model(std::size_t k, const Problem& problem) const;
  bool converged(const BinaryProblem& problem) const;
  std::string classes_done() const;
  // Whether a solution becomes the weights: they may be many, and are not kept twice.
  bool moves_weights() const { return report_.model.problems.size() == 1 && !t_.warm_starts; }
  void finish();

  Training& t_;
  Pool& pool_;
  WarmStarts warm_;
  std::size_t problem_offset_;  // where the problems of this cost begin among those of all
  double initial_primal_ = 0;   // P(0)
  std::string why_;             // rounding is in the way, in words
  std::function<void(const Progress&)> observer_;
  struct InKernel {
    Solution solution;
    bool interrupted = false;
  };
  std::vector<InKernel> in_kernel_;  // of all problems, with a kernel
  // What a sweep found of each problem; none where there was no sweep, or it was not of that.
  std::vector<std::optional<Solution>> swept_;
  double passes_swept_ = 0;
  std::vector<std::uint8_t> missing_;  // problems without a solution, a byte each
  std::mutex mutex_;                   // guards what follows while problems run side by side
  TrainReport report_;
  bool interrupted_ = false, stalled_ = false, cut_short_ = false;
  WarmStarts end_;
};

}  // namespace hinge
