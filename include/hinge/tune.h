// Choosing a model: how well a cost predicts rows it has not seen, and which cost does so best.
//
//   auto found = hinge::tune(*data, {}, {.loss = hinge::LossKind::squared_hinge});
//   auto saved = hinge::save_model(found->run->model, "tuned.model");
//
// Rows are dealt out to folds; a model trained on all but one of them predicts that one. Costs are
// a path in each fold: each begins where another ended, and all are certified.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/metrics.h"
#include "hinge/result.h"
#include "hinge/train.h"

namespace hinge {

// What says how well a model predicts (hinge/metrics.h). Log-loss needs a model with probabilities,
// rmse regression, and all others classes.
enum class Metric : std::uint8_t { accuracy, balanced, f1, auc, average_precision, log_loss, rmse };
std::string_view to_string(Metric metric);  // "accuracy", .., "auc", "ap", "logloss", "rmse"
Result<Metric> parse_metric(std::string_view text);  // usage.value
bool larger_is_better(Metric metric);
double figure_of(const Metrics& metrics, Metric metric);  // NaN where it is not defined

// How rows are dealt out, and how costs are compared.
struct FoldOptions {
  int folds = 5;  // >= 2
  // One a row: rows of one group are in one fold. Empty: every row is its own.
  std::vector<std::uint64_t> groups = {};
  // Rows are in the order of time: they are cut into folds + 1 blocks, and each but the first is
  // predicted by a model of those before it. Not with groups.
  bool time_order = false;
  // None: accuracy, in regression rmse.
  std::optional<Metric> metric = {};
  // Leave costs out of further folds that are clearly worse than the best in all folds so far.
  bool drop_losers = false;
};

// The fold in which each row is predicted, 0 .. folds - 1, or -1 for never. Folds have the same
// share of every class, as nearly as groups allow, but with time_order; where a row goes is a
// function of the labels, the groups and the seed. `classes` is false in regression. Fails with
// usage.value, and with data.folds where a class has too few rows or groups for so many folds.
Result<std::vector<int>> deal_folds(const Dataset& data, const FoldOptions& options, bool classes,
                                    std::uint64_t seed);

// The groups of the rows from a file, one a line, whatever they are called. Fails with data.groups
// where these are not so many lines.
Result<std::vector<std::uint64_t>> read_groups(const std::string& path, std::uint64_t rows,
                                               const std::atomic<bool>* stop = nullptr);

// How one cost did.
struct FoldedCost {
  double cost = 0;
  std::vector<double> figures = {};  // the metric in each fold it was tried in, from the first on
  double mean = 0;                   // of these
  double spread = 0;                 // their standard deviation; 0 of one
  bool dropped = false;              // it was not tried in all folds
  Metrics metrics = {};              // over all rows it predicted
};

struct Folded {
  Metric metric = Metric::accuracy;
  int folds = 0;
  int finished = 0;               // fewer where a signal or the time limit came
  std::vector<FoldedCost> costs;  // ascending
};

// Trains options.path (or options.cost alone) once for each fold. A run that is stopped returns the
// folds that were finished, and fails with run.interrupted if there is none. `tell` is called
// before the first fold and after each, on the caller's thread.
Result<Folded> cross_validate_folds(const Dataset& data, const FoldOptions& folds,
                                    const TrainOptions& options, const TrainControl& control = {},
                                    const std::function<void(const Folded&)>& tell = {});

struct TuneOptions {
  FoldOptions folds = {.drop_losers = true};
  // The least cost that is no worse than the best by more than a standard error, which is the
  // spread over the root of the folds, instead of the best.
  bool one_standard_error = false;
  bool refit = true;  // train on all rows with the cost that was chosen
};

struct TuneReport {
  Metric metric = Metric::accuracy;
  int folds = 0;
  std::vector<FoldedCost> costs;  // ascending
  std::size_t chosen = 0;         // of these; of equal ones the least
  bool whole = true;              // the search was not stopped
  std::optional<TrainReport>
      run;  // of all rows with that cost; none without `refit`, or if the search was stopped
};

// Tries costs in folds and trains on all rows with the one that predicts best. The costs are those
// of options.path; where that is empty, ever larger ones, each four times the one before, until the
// figure falls, then half and twice the best of them. They begin, with classes, at one so small
// that no row reaches the margin, in regression at 2^-10, and end at 2^10. options.cost does not
// count. The model has the search in its section "search" (docs/formats.md). A search that is
// stopped returns the costs of which at least one fold is known. `tell` is called as by
// cross_validate_folds(), for each of the paths that are tried.
Result<TuneReport> tune(const Dataset& data, const TuneOptions& how = {},
                        const TrainOptions& options = {}, const TrainControl& control = {},
                        const std::function<void(const Folded&)>& tell = {});

}  // namespace hinge
