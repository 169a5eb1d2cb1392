#include "choosing.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>

#include "hinge/hinge.h"
#include "run.h"

namespace hinge::python {
namespace {

nb::dict mean_of(const MeanMetrics& mean) {
  nb::dict d;
  d["precision"] = mean.precision;
  d["recall"] = mean.recall;
  d["f1"] = mean.f1;
  return d;
}

nb::dict figures_of(const ClassMetrics& one) {
  nb::dict d;
  d["label"] = one.label;
  d["rows"] = one.rows;
  d["said"] = one.said;
  d["rejected"] = one.rejected;
  d["precision"] = one.precision;
  d["recall"] = one.recall;
  d["f1"] = one.f1;
  d["auc"] = one.auc;
  d["average_precision"] = one.average_precision;
  return d;
}

nb::dict evaluate_model(const Model& model, const Dataset& data, int threads) {
  const Metrics m = run([&](const std::atomic<bool>& stop) -> Result<Metrics> {
    const Result<Predictions> found = predict(model, data, threads, &stop);
    if (!found.ok()) return found.error();
    return evaluate(model, data, *found, &stop);
  });
  nb::dict d;
  d["rows"] = m.rows;
  if (m.regression) {
    d["rmse"] = m.regression->rmse;
    d["mae"] = m.regression->mae;
    d["r2"] = m.regression->r2;
    d["correlation"] = m.regression->correlation;
    return d;
  }
  d["accuracy"] = m.accuracy;
  d["error"] = m.error;
  d["balanced_accuracy"] = m.balanced_accuracy;
  d["precision"] = m.precision;
  d["recall"] = m.recall;
  d["f1"] = m.f1;
  d["auc"] = m.auc;
  d["average_precision"] = m.average_precision;
  d["rejected"] = m.rejected;
  d["macro"] = mean_of(m.macro);
  d["weighted"] = mean_of(m.weighted);
  if (m.probabilities) {
    d["log_loss"] = m.probabilities->log_loss;
    d["brier"] = m.probabilities->brier;
    d["calibration_error"] = m.probabilities->calibration_error;
  }
  d["labels"] = m.labels;
  d["confusion"] = m.confusion;
  nb::list classes;
  for (const ClassMetrics& one : m.classes) classes.append(figures_of(one));
  d["classes"] = classes;
  return d;
}

nb::dict points_of(const std::vector<CurvePoint>& points) {
  std::vector<double> thresholds, x, y;
  std::vector<std::uint64_t> rows;
  for (const CurvePoint& p : points) {
    thresholds.push_back(p.threshold);
    x.push_back(p.x);
    y.push_back(p.y);
    rows.push_back(p.rows);
  }
  nb::dict d;
  d["threshold"] = to_array(std::move(thresholds));
  d["x"] = to_array(std::move(x));
  d["y"] = to_array(std::move(y));
  d["rows"] = to_array(std::move(rows));
  return d;
}

nb::list curves_of(const Model& model, const Dataset& data, int threads) {
  const auto all = run([&](const std::atomic<bool>& stop) -> Result<std::vector<ClassCurves>> {
    const Result<Predictions> found = predict(model, data, threads, &stop);
    if (!found.ok()) return found.error();
    return curves(model, data, *found, &stop);
  });
  nb::list list;
  for (const ClassCurves& one : all) {
    nb::dict d;
    d["label"] = one.label;
    d["roc"] = points_of(one.roc);
    d["precision_recall"] = points_of(one.recall);
    d["calibration"] = points_of(one.calibration);
    list.append(d);
  }
  return list;
}

// ---- The search for a cost.

struct GivenFolds {
  int folds = 5;
  std::vector<std::uint64_t> groups;
  bool time_order = false;
  std::optional<std::string> metric;
  bool drop_losers = true;
  bool one_standard_error = false;
};

// The search alone: estimators train by themselves. The costs, and the place of the one chosen.
std::pair<nb::list, std::size_t> search(const Dataset& data, const Options& given,
                                        const std::vector<double>& costs, const GivenFolds& how) {
  TrainOptions options = options_of(given);
  options.path = costs;
  TuneOptions asked = {.folds = {.folds = how.folds,
                                 .groups = how.groups,
                                 .time_order = how.time_order,
                                 .drop_losers = how.drop_losers},
                       .one_standard_error = how.one_standard_error,
                       .refit = false};
  if (how.metric) {
    const Result<Metric> metric = parse_metric(*how.metric);
    if (!metric.ok()) raise(metric.error());
    asked.folds.metric = *metric;
  }
  const TuneReport found = run(
      [&](const std::atomic<bool>& stop) { return tune(data, asked, options, {.stop = &stop}); });
  nb::list list;
  for (const FoldedCost& cost : found.costs) {
    nb::dict d;
    d["C"] = cost.cost;
    d["mean"] = cost.mean;
    d["spread"] = cost.spread;
    d["figures"] = cost.figures;
    d["dropped"] = cost.dropped;
    list.append(d);
  }
  return {list, found.chosen};
}

}  // namespace

TrainOptions options_of(const Options& given) {
  TrainOptions options;
  for (const auto& [name, text] : given) {
    const Result<void> set = set_option(options, name, text);
    if (!set.ok()) raise(set.error());
  }
  return options;
}

void add_choosing(nb::module_& m) {
  using nb::arg;
  m.def("evaluate", &evaluate_model, arg("model"), arg("data"), arg("threads"));
  m.def("curves", &curves_of, arg("model"), arg("data"), arg("threads"));
  m.def(
      "search",
      [](const Dataset& data, const Options& options, const std::vector<double>& costs, int folds,
         std::vector<std::uint64_t> groups, bool time_order, std::optional<std::string> metric,
         bool drop_losers, bool one_standard_error) {
        return search(data, options, costs,
                      {.folds = folds,
                       .groups = std::move(groups),
                       .time_order = time_order,
                       .metric = std::move(metric),
                       .drop_losers = drop_losers,
                       .one_standard_error = one_standard_error});
      },
      arg("data"), arg("options"), arg("costs"), arg("folds"), arg("groups"), arg("time_order"),
      arg("metric").none(), arg("drop_losers"), arg("one_standard_error"));
}

}  // namespace hinge::python
