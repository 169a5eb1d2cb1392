#include "hinge/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "hinge/json.h"
#include "tune/folds.h"
#include "tune/tuning.h"

namespace hinge {
namespace {

struct MetricName {
  Metric metric;
  std::string_view name;
};
constexpr std::array<MetricName, 7> kMetricNames = {{{Metric::accuracy, "accuracy"},
                                                     {Metric::balanced, "balanced"},
                                                     {Metric::f1, "f1"},
                                                     {Metric::auc, "auc"},
                                                     {Metric::average_precision, "ap"},
                                                     {Metric::log_loss, "logloss"},
                                                     {Metric::rmse, "rmse"}}};

constexpr double kFirstCostOfRegression = 0x1p-10, kLastCost = 0x1p10, kTiniestCost = 0x1p-500;

// The costs that were tried, in the order of their size, whatever order they were tried in.
class CostTable {
 public:
  explicit CostTable(bool larger_is_better) : sign_(larger_is_better ? 1 : -1) {}

  void add(Folded found) {
    for (FoldedCost& cost : found.costs) costs_.push_back(std::move(cost));
    std::ranges::stable_sort(costs_, {}, &FoldedCost::cost);
  }

  // The first of the best that were tried in as many folds as any.
  std::size_t best() const {
    std::size_t most = 0;
    for (const FoldedCost& cost : costs_) most = std::max(most, cost.figures.size());
    std::size_t best = costs_.size();
    for (std::size_t c = 0; c < costs_.size(); ++c) {
      if (costs_[c].figures.size() < most) continue;
      if (best == costs_.size() || worth(c) > worth(best)) best = c;
    }
    return best;
  }

  // The first that is no worse than the best by more than a standard error of that.
  std::size_t simplest() const {
    const FoldedCost& winner = costs_[best()];
    const double error = winner.spread / std::sqrt(static_cast<double>(winner.figures.size()));
    std::size_t c = 0;
    while (costs_[c].dropped || costs_[c].figures.size() < winner.figures.size() ||
           worth(c) < sign_ * winner.mean - error) {
      ++c;
    }
    return c;
  }

  // Whether larger costs are worth a try: not after some in a row that were worse than the best.
  bool goes_on() const {
    const std::size_t b = best();
    std::size_t worse = 0;
    for (std::size_t c = b + 1; c < costs_.size(); ++c) {
      worse += costs_[c].dropped || worth(c) < worth(b);
    }
    return worse < kWorseInARow || b == 0 || worth(b) == worth(0);
  }

  const std::vector<FoldedCost>& costs() const { return costs_; }
  std::vector<FoldedCost> taken() { return std::move(costs_); }

 private:
  double worth(std::size_t c) const { return sign_ * costs_[c].mean; }

  double sign_;
  std::vector<FoldedCost> costs_;
};

// Tries paths of costs until nothing is to be gained, or a signal comes.
class CostSearcher {
 public:
  CostSearcher(const Dataset& data, const TuneOptions& how, const TrainOptions& options,
               const TrainControl& control, const std::function<void(const Folded&)>& tell)
      : data_(data),
        how_(how),
        options_(options),
        control_(control),
        tell_(tell),
        table_(larger_is_better(how.folds.metric.value_or(
            is_regression(options.loss) ? Metric::rmse : Metric::accuracy))) {}

  // Whether it came to its end.
  bool run() {
    if (!options_.path.empty()) return attempt(options_.path);
    const double first = is_regression(options_.loss)
                             ? kFirstCostOfRegression
                             : std::clamp(least_cost(data_, options_), kTiniestCost, kLastCost);
    for (double cost = first; cost <= kLastCost && (cost == first || table_.goes_on());) {
      std::vector<double> path;
      for (; path.size() < kCostsAtATime && cost <= kLastCost; cost *= kCostStep) {
        path.push_back(cost);
      }
      if (!attempt(path)) return false;
    }
    const double best = table_.costs()[table_.best()].cost;
    std::vector<double> beside;
    for (const double cost : {best / 2, best * 2}) {
      if (cost >= first && cost <= kLastCost) beside.push_back(cost);
    }
    return beside.empty() || attempt(beside);
  }

  TuneReport report() {
    TuneReport out;
    out.metric = metric_;
    out.folds = how_.folds.folds;
    out.chosen = how_.one_standard_error ? table_.simplest() : table_.best();
    out.costs = table_.taken();
    return out;
  }

 private:
  // A path that is stopped before its first fold brings nothing; that is a failure if nothing is
  // known at all.
  bool attempt(const std::vector<double>& path) {
    TrainOptions options = options_;
    options.path = path;
    const FoldedCost* const rival =
        table_.costs().empty() ? nullptr : &table_.costs()[table_.best()];
    Result<Folded> found =
        guard([&] { return fold_costs(data_, how_.folds, options, control_, tell_, rival); });
    const bool stopped = !found.ok() && found.error().id == "run.interrupted";
    if (stopped && !table_.costs().empty()) return false;
    const bool whole = found.ok() && found->finished == found->folds;
    Folded known = take(std::move(found));
    metric_ = known.metric;
    table_.add(std::move(known));
    return whole;
  }

  const Dataset& data_;
  const TuneOptions& how_;
  const TrainOptions& options_;
  const TrainControl& control_;
  const std::function<void(const Folded&)>& tell_;
  CostTable table_;
  Metric metric_ = Metric::accuracy;
};

// What the model keeps of the search.
ModelSection section_of_search(const TuneReport& report, const TuneOptions& how,
                               const TrainOptions& options) {
  Json costs = Json::list();
  for (const FoldedCost& cost : report.costs) {
    costs.push_back({{"cost", cost.cost},
                     {"mean", cost.mean},
                     {"spread", cost.spread},
                     {"figures", Json::list_of(cost.figures)}});
  }
  const Json content = {
      {"metric", to_string(report.metric)},           {"folds", report.folds},
      {"groups", !how.folds.groups.empty()},          {"time_order", how.folds.time_order},
      {"one_standard_error", how.one_standard_error}, {"seed", options.seed},
      {"chosen", report.costs[report.chosen].cost},   {"costs", costs}};
  return {.name = "search", .content = content.dump(), .arrays = {}};
}

}  // namespace

std::string_view to_string(Metric metric) {
  return std::ranges::find(kMetricNames, metric, &MetricName::metric)->name;
}

Result<Metric> parse_metric(std::string_view text) {
  return guard([&] {
    const auto found = std::ranges::find(kMetricNames, text, &MetricName::name);
    if (found == kMetricNames.end()) {
      fail("usage.value",
           fmt::format("--metric: expected one of accuracy, balanced, f1, auc, ap, logloss, rmse, "
                       "got \"{}\"",
                       escape(text)));
    }
    return found->metric;
  });
}

bool larger_is_better(Metric metric) {
  return metric != Metric::log_loss && metric != Metric::rmse;
}

double figure_of(const Metrics& metrics, Metric metric) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  switch (metric) {
    case Metric::accuracy:
      return metrics.accuracy;
    case Metric::balanced:
      return metrics.balanced_accuracy;
    case Metric::f1:
      return metrics.f1;
    case Metric::auc:
      return metrics.auc;
    case Metric::average_precision:
      return metrics.average_precision;
    case Metric::log_loss:
      return metrics.probabilities ? metrics.probabilities->log_loss : kNone;
    case Metric::rmse:
      return metrics.regression ? metrics.regression->rmse : kNone;
  }
  return kNone;
}

Result<TuneReport> tune(const Dataset& data, const TuneOptions& how, const TrainOptions& options,
                        const TrainControl& control,
                        const std::function<void(const Folded&)>& tell) {
  return guard([&] {
    if (options.lambda > 0) {
      fail("usage.value", "the cost is what is looked for: lambda makes no sense");
    }
    CostSearcher searcher(data, how, options, control, tell);
    const bool whole = searcher.run();
    TuneReport out = searcher.report();
    out.whole = whole;
    if (!whole || !how.refit) return out;
    TrainOptions one = options;
    one.path.clear();
    one.cost = out.costs[out.chosen].cost;
    out.run = take(train(data, one, control));
    out.run->model.sections.push_back(section_of_search(out, how, options));
    return out;
  });
}

}  // namespace hinge
