// Start here: read_dataset() -> train() -> save_model().
//
//   std::vector<hinge::Error> warnings;
//   auto data = hinge::read_dataset("train.svm", {}, warnings);
//   auto run = hinge::train(*data, {.cost = 1, .gap = 1e-3});
//   auto saved = hinge::save_model(run->model, "train.model");
//
// examples/ has whole programs to copy from.
//
// train() minimises P(w) = 1/2|w|^2 + C sum_i c_i max(0, 1 - y_i <w,x_i>) for two classes, or once
// per class against the rest, and proves how close it came. With the same TrainOptions::lanes the
// model is the same to the bit for any number of threads and any instruction set, unless a time
// limit or a signal cut the run short.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/metrics.h"
#include "hinge/model.h"
#include "hinge/options.h"
#include "hinge/result.h"

namespace hinge {

// One record for log, trace, stop rule and result. Values the solver has no notion of are 0.
struct Progress {
  double cost = 0;          // C of the model that is trained
  std::size_t problem = 0;  // which binary problem, 0 .. problems - 1
  double seconds = 0;       // since training began
  std::uint64_t iteration = 0;
  double data_passes = 0;  // rows touched / rows
  double primal = 0;       // best so far; 0: not computed, this is a sign of life
  double dual = 0;         // best bound so far
  double relative_gap = 1;
  std::uint64_t active_rows = 0;
  std::uint64_t planes = 0;
  double step = 0;
  // Of cutting planes, since the problem was begun: the two stages that grow with the rows.
  std::uint64_t objective_rows = 0;  // rows scored at trial points
  std::uint64_t search_rows = 0;     // rows that took part in line searches
  double objective_seconds = 0;
  double search_seconds = 0;
};

// Where training leaves its state from time to time (hinge/checkpoint.h).
struct CheckpointControl {
  std::string path = {};  // a regular file, or empty: nowhere
  double seconds = 60;    // between two of them, at least; >= 0
  // Each increase asks for one as soon as there can be one.
  const std::atomic<std::uint64_t>* requests = nullptr;
};

struct TrainReport;
class Transport;

// How the caller follows and steers a run. The observer is called from one thread at a time, not
// always the same one.
struct TrainControl {
  std::function<void(const Progress&)> observer = {};
  const std::atomic<bool>* stop = nullptr;  // true: end soon and return the best model so far
  // Where to begin: a model with the labels and the index base of the data, and without a bias
  // unless training has one. Features it does not know start at 0; those that the data does not
  // have are dropped. If it was trained on the same data, its proof counts too; Solver::dual begins
  // at that alone, and with the hinge needs it: of a smooth loss it takes what goes with the
  // scores.
  const Model* start = nullptr;
  // A checkpoint that cannot be written is a warning (checkpoint.write). While training runs nobody
  // else may write to the same path (lock.held). None of it changes the model.
  CheckpointControl checkpoint = {};
  // Where to go on from, if not empty; the model is then that of the run that was cut short, had it
  // not been. Its data, options and start must be given again (checkpoint.mismatch), but for those
  // that do not change the result.
  std::string resume = {};
  // train_path(): told of every model as it is finished, with the seconds it took itself; as the
  // observer, from one thread at a time, and never while that is called.
  std::function<void(const TrainReport&)> finished = {};
  // Ranks that train one model together (hinge/transport.h): each calls train() with the same
  // options and its own share of the rows (read_share()). All get the same model, but for its
  // proof, which rank 0 alone has; the observer is called on rank 0. A flag raised on one rank
  // stops all. If one rank fails, all do, with its error. Not everything can be done so:
  // mpi.unsupported.
  Transport* ranks = nullptr;
};

struct TrainReport {
  Model model;
  StopReason status = StopReason::converged;  // "converged" only if the recomputed values say so
  std::string why;                            // it was not converged, in words; else empty
  std::vector<Error> warnings;
  std::size_t changed = 0;  // problems in which Solver::automatic went on with another solver
  std::uint64_t iterations = 0;
  std::uint64_t rows_touched = 0;
  std::uint64_t objective_rows = 0;  // as in Progress, over all problems
  std::uint64_t search_rows = 0;
  double objective_seconds = 0;
  double search_seconds = 0;
  double data_passes = 0;
  int threads = 1;
  int ranks = 1;
  std::uint64_t messages = 0;    // on several ranks: that all waited for
  std::uint64_t bytes_sent = 0;  // by this rank
  double lambda = 0;             // 1/(C sum c_i): the cost as the Pegasos papers write it
  double prepare_seconds = 0;    // once: looking over the data, before the first model
  double solve_seconds = 0;
  double certify_seconds = 0;
  std::vector<double> problem_seconds;  // one a binary problem
};

// Needs at least two labels (data.one-class). A run that is stopped early is not a failure: its
// model carries the gap it reached.
Result<TrainReport> train(const Dataset& data, const TrainOptions& options = {},
                          const TrainControl& control = {});

// One model for each cost of options.path (or of options.cost alone), ascending. They begin where
// others ended, and what does not depend on the cost is done once; the values are those of models
// trained one by one, within their gaps. The time limit is one for all, a limit of passes is for
// each. Several costs may be worked on at a time: a run that is stopped returns the models begun so
// far, those that were not finished with the gap they reached, and at least one.
// Warnings about the data are in the first report.
Result<std::vector<TrainReport>> train_path(const Dataset& data, const TrainOptions& options,
                                            const TrainControl& control = {});

// Trains `folds` times on all parts but one and predicts the part left out; returns how well that
// went over all rows. Parts have the same share of every class; which row goes where is a function
// of options.seed. Needs 2 <= folds <= rows of the smallest class (usage.value, data.folds).
Result<Metrics> cross_validate(const Dataset& data, int folds, const TrainOptions& options = {},
                               const TrainControl& control = {});

// The same for every cost of options.path (or for options.cost alone), one path a fold.
Result<std::vector<Metrics>> cross_validate_path(const Dataset& data, int folds,
                                                 const TrainOptions& options,
                                                 const TrainControl& control = {});

// One cost that find_cost() tried.
struct CostTrial {
  double cost = 0;
  // Of the cross-validation: what is right; in regression the mean of the squares of what is
  // missed.
  double accuracy = 0, squared_error = 0;
  double epsilon = 0;  // of find_cost_and_epsilon()
};
struct CostSearch {
  std::vector<CostTrial> trials;  // costs ascending, for one epsilon after the other
  CostTrial best;                 // of equal ones the one that was tried first

  static constexpr double kLargest = 1024;
  static constexpr double kLargestOfRegression = 1048576;
  static constexpr int kEpsilons = 20;
};

// The cost that predicts best, by cross-validation, as LIBLINEAR's -C finds it: `first` and its
// doubles up to 1024, in regression 2^20. Where `first` is 0 it is a power of two so small that no
// row reaches the margin, and w is but a multiple of what a smaller cost would give; in regression
// the one that LIBLINEAR begins with. It ends early where some cost
// was better than the first and five in a row were no better than the best. options.cost does not
// count; options with several costs or a lambda fail with usage.value, and so does a `first` above
// the largest. `tell` is called for each trial, on the caller's thread.
Result<CostSearch> find_cost(const Dataset& data, int folds, double first,
                             const TrainOptions& options, const TrainControl& control = {},
                             const std::function<void(const CostTrial&)>& tell = {});

// The same in regression for an epsilon as well, as LIBLINEAR's -C has it: that search for each
// epsilon that is a whole number of twentieths of the largest |target|, from 19 of them, or from
// `first_epsilon` rounded down to one if that is above 0, to none. options.epsilon does not count.
Result<CostSearch> find_cost_and_epsilon(const Dataset& data, int folds, double first,
                                         double first_epsilon, const TrainOptions& options,
                                         const TrainControl& control = {},
                                         const std::function<void(const CostTrial&)>& tell = {});

}  // namespace hinge
