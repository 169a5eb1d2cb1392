#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/columns.h"
#include "hinge/tune.h"
#include "tune/folds.h"
#include "tune/tuning.h"

namespace hinge {
namespace {

// What was predicted for the rows of one part, to their places among all.
void put(const Predictions& some, std::span<const int> part, int fold, Predictions& all) {
  const std::size_t rows = part.size();
  const auto held = static_cast<std::size_t>(std::ranges::count(part, fold));
  const std::size_t width = some.scores.size() / held;
  all.labels.resize(some.labels.empty() ? 0 : rows);
  all.scores.resize(rows * width);
  all.rejected.resize(some.rejected.empty() ? 0 : rows);
  for (std::uint64_t i = 0, k = 0; i < rows; ++i) {
    if (part[i] != fold) continue;
    if (!some.labels.empty()) all.labels[i] = some.labels[k];
    if (!some.rejected.empty()) all.rejected[i] = some.rejected[k];
    std::copy_n(some.scores.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                all.scores.begin() + static_cast<std::ptrdiff_t>(i * width));
    ++k;
  }
}

// Those of these rows, in their order.
Predictions keep(const Predictions& all, std::span<const std::uint64_t> rows) {
  Predictions some;
  const std::size_t count = std::max(all.labels.size(), all.rejected.size());
  const std::size_t width = count > 0 ? all.scores.size() / count : 1;
  for (const std::uint64_t i : rows) {
    if (!all.labels.empty()) some.labels.push_back(all.labels[i]);
    if (!all.rejected.empty()) some.rejected.push_back(all.rejected[i]);
    for (std::size_t k = 0; k < width; ++k) some.scores.push_back(all.scores[i * width + k]);
  }
  return some;
}

double standard_deviation(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double mean_of_values(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The folds of one training: what is known of each cost, and the predictions it rests on.
class FoldRun {
 public:
  FoldRun(const Dataset& data, const FoldOptions& how, const TrainOptions& options,
          const TrainControl& control, const FoldedCost* rival)
      : data_(data),
        how_(how),
        options_(options),
        control_(control),
        rival_(rival),
        stop_(control.stop) {
    if (control.start != nullptr) {
      fail("usage.value",
           "cross-validation trains on parts of the rows: a start may have seen all");
    }
    if (!control.checkpoint.path.empty() || !control.resume.empty()) {
      fail("usage.value", "cross-validation trains several times: it takes no checkpoints");
    }
    const bool regression = is_regression(options.loss);
    out_.metric = how.metric.value_or(regression ? Metric::rmse : Metric::accuracy);
    check_metric();
    out_.folds = how.folds;
    part_ = take(deal_folds(data, how, !regression, options.seed));
    for (const double cost : options.path) out_.costs.push_back({.cost = cost});
    if (options.path.empty()) out_.costs.push_back({.cost = options.cost});
    predictions_.resize(out_.costs.size());
  }

  Folded run(const std::function<void(const Folded&)>& tell) {
    if (tell) tell(out_);
    while (out_.finished < out_.folds) {
      const Result<bool> whole = guard([&] { return fold(); });
      if (!whole.ok() && whole.error().id != "run.interrupted") throw Failure{whole.error()};
      if (!whole.ok() || !*whole) break;
      ++out_.finished;
      if (how_.drop_losers) drop();
      if (alive().empty()) out_.finished = out_.folds;  // nobody is left for the others
      if (tell) tell(out_);
    }
    if (out_.finished == 0) {
      fail("run.interrupted", fmt::format("interrupted in fold 1 of {}", out_.folds));
    }
    for (std::size_t c = 0; c < out_.costs.size(); ++c) sum_up(c);
    return std::move(out_);
  }

 private:
  void check_metric() const {
    const bool regression = is_regression(options_.loss);
    if (regression != (out_.metric == Metric::rmse)) {
      fail("usage.value", fmt::format("the metric {} is not one of {}", to_string(out_.metric),
                                      regression ? "regression: expected rmse" : "classes"));
    }
    if (out_.metric == Metric::log_loss && options_.loss != LossKind::logistic) {
      fail("usage.value", "the metric logloss needs probabilities: expected the loss logistic");
    }
  }

  // The costs that are still tried.
  std::vector<std::size_t> alive() const {
    std::vector<std::size_t> all;
    for (std::size_t c = 0; c < out_.costs.size(); ++c) {
      if (!out_.costs[c].dropped) all.push_back(c);
    }
    return all;
  }

  // Whether the next fold was finished; only then are its figures kept.
  bool fold() {
    const FoldRows rows = fold_rows(data_, part_, out_.finished, how_.time_order, stop_);
    const std::vector<std::size_t> tried = alive();
    TrainOptions options = options_;
    if (!options.path.empty()) {
      options.path.clear();
      for (const std::size_t c : tried) options.path.push_back(out_.costs[c].cost);
    }
    const std::vector<TrainReport> runs = take(train_path(rows.trained, options, control_));
    const bool stopped = control_.stop != nullptr && control_.stop->load();
    const bool interrupted = std::ranges::any_of(
        runs, [](const TrainReport& run) { return run.status == StopReason::interrupted; });
    if (interrupted || (runs.size() < tried.size() && stopped)) return false;
    if (runs.size() < tried.size()) {
      fail("usage.value", fmt::format("--time-limit: in fold {} it was up after {} of {} costs",
                                      out_.finished + 1, runs.size(), tried.size()));
    }
    std::vector<Predictions> found;
    std::vector<double> figures;
    for (const TrainReport& run : runs) {
      found.push_back(take(predict(run.model, rows.held, options.threads, control_.stop)));
      const Metrics metrics = take(evaluate(run.model, rows.held, found.back(), control_.stop));
      figures.push_back(figure_of(metrics, out_.metric));
      if (std::isnan(figures.back())) {
        fail("data.folds", fmt::format("the metric {} is not defined in fold {}",
                                       to_string(out_.metric), out_.finished + 1));
      }
    }
    for (std::size_t k = 0; k < tried.size(); ++k) {
      FoldedCost& cost = out_.costs[tried[k]];
      put(found[k], part_, out_.finished, predictions_[tried[k]]);
      cost.figures.push_back(figures[k]);
      cost.mean = mean_of_values(cost.figures);
      cost.spread = standard_deviation(cost.figures, cost.mean);
    }
    shape_ = runs.back().model;
    return true;
  }

  // Costs that lose in every fold so far, and by more than chance explains.
  void drop() {
    if (out_.finished < kFoldsBeforeDropping || out_.finished == out_.folds) return;
    const double sign = larger_is_better(out_.metric) ? 1 : -1;
    const std::vector<double> winner = best_figures(sign);
    const double spread = standard_deviation(winner, mean_of_values(winner));
    const double root = std::sqrt(static_cast<double>(out_.finished));
    for (const std::size_t c : alive()) {
      std::vector<double> behind;
      for (std::size_t f = 0; f < winner.size(); ++f) {
        behind.push_back(sign * (winner[f] - out_.costs[c].figures[f]));
      }
      const double mean = mean_of_values(behind);
      const double chance = std::max(standard_deviation(behind, mean), spread) / root;
      out_.costs[c].dropped = std::ranges::min(behind) > 0 && mean > kErrorsToDrop * chance;
    }
  }

  // Of the best cost so far, or of the rival, in the folds that are finished.
  std::vector<double> best_figures(double sign) const {
    const std::vector<std::size_t> tried = alive();
    const FoldedCost& best = out_.costs[*std::ranges::max_element(
        tried, {}, [&](std::size_t c) { return sign * out_.costs[c].mean; })];
    if (rival_ == nullptr) return best.figures;
    const std::vector<double> others(rival_->figures.begin(),
                                     rival_->figures.begin() + out_.finished);
    return sign * mean_of_values(others) > sign * best.mean ? others : best.figures;
  }

  // The metrics over all rows that were predicted.
  void sum_up(std::size_t c) {
    const auto known = static_cast<int>(out_.costs[c].figures.size());
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = 0; i < part_.size(); ++i) {
      if (part_[i] >= 0 && part_[i] < known) rows.push_back(i);
    }
    const bool all = rows.size() == data_.rows();
    out_.costs[c].metrics =
        all ? take(evaluate(shape_, data_, predictions_[c]))
            : take(evaluate(shape_, keep_rows(data_, rows), keep(predictions_[c], rows)));
  }

  const Dataset& data_;
  const FoldOptions& how_;
  const TrainOptions& options_;
  const TrainControl& control_;
  const FoldedCost* const rival_;
  const StopToken stop_;
  std::vector<int> part_;
  std::vector<Predictions> predictions_;  // of each cost
  Model shape_;                           // labels and classes are the same in every fold
  Folded out_;
};

}  // namespace

Folded fold_costs(const Dataset& data, const FoldOptions& folds, const TrainOptions& options,
                  const TrainControl& control, const std::function<void(const Folded&)>& tell,
                  const FoldedCost* rival) {
  return FoldRun(data, folds, options, control, rival).run(tell);
}

Result<Folded> cross_validate_folds(const Dataset& data, const FoldOptions& folds,
                                    const TrainOptions& options, const TrainControl& control,
                                    const std::function<void(const Folded&)>& tell) {
  return guard([&] { return fold_costs(data, folds, options, control, tell, nullptr); });
}

Result<std::vector<Metrics>> cross_validate_path(const Dataset& data, int folds,
                                                 const TrainOptions& options,
                                                 const TrainControl& control) {
  return guard([&] {
    Folded found = take(cross_validate_folds(data, {.folds = folds}, options, control));
    if (found.finished < folds) {
      fail("run.interrupted",
           fmt::format("interrupted in fold {} of {}", found.finished + 1, folds));
    }
    std::vector<Metrics> metrics;
    for (FoldedCost& cost : found.costs) metrics.push_back(std::move(cost.metrics));
    return metrics;
  });
}

Result<Metrics> cross_validate(const Dataset& data, int folds, const TrainOptions& options,
                               const TrainControl& control) {
  return guard([&] {
    if (!options.path.empty()) {
      fail("usage.value", "several costs: only cross_validate_path() takes them");
    }
    return std::move(take(cross_validate_path(data, folds, options, control)).front());
  });
}

}  // namespace hinge
