// What `train -v` and `tune` have in common: which rows are predicted when, how far the work is,
// and how costs did.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cli.h"

namespace hinge::cli {
namespace {

// A figure as people read it: of what is a part of one with six digits behind the point.
std::string number_text(double value, Metric metric) {
  return metric == Metric::rmse ? fmt::format("{:.6g}", value) : fmt::format("{:.6f}", value);
}

// A mean and its spread on a line from `low` to `high`: "    --o--   ".
std::string bar(const FoldedCost& cost, double low, double high) {
  constexpr int kWide = 30;
  const auto place = [&](double value) {
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    return static_cast<std::size_t>(std::lround(share * (kWide - 1)));
  };
  std::string text(kWide, ' ');
  const std::size_t from = place(std::max(low, cost.mean - cost.spread));
  const std::size_t to = place(std::min(high, cost.mean + cost.spread));
  for (std::size_t k = from; k <= to; ++k) text[k] = '-';
  text[place(std::clamp(cost.mean, low, high))] = 'o';
  return text;
}

}  // namespace

void FoldArguments::add_to(CLI::App& command) {
  command
      .add_option("--groups", groups_path,
                  "folds keep the rows of a group together: one group a row, a line each")
      ->type_name("FILE");
  command
      .add_flag("--time-order", time_order,
                "rows are in the order of time: each fold is predicted by a model of the rows "
                "before it")
      ->excludes("--groups");
}

Result<FoldOptions> FoldArguments::options(int folds, const Dataset& rows) const {
  FoldOptions how = {.folds = folds, .time_order = time_order};
  if (groups_path.empty()) return how;
  Result<std::vector<std::uint64_t>> groups = read_groups(groups_path, rows.rows(), &stop_flag());
  if (!groups.ok()) return groups.error();
  how.groups = *std::move(groups);
  return how;
}

FoldProgress::FoldProgress(const Reporter& reporter) : line_(!reporter.quiet) {}

void FoldProgress::tell(const Folded& found) {
  folds_ = found.folds;
  fold_ = found.finished + 1;
  tried_ = static_cast<std::size_t>(std::ranges::count(found.costs, false, &FoldedCost::dropped));
}

void FoldProgress::show(const Progress& p) {
  std::string text = fmt::format("fold {} of {}", fold_, folds_);
  if (tried_ > 1) text += fmt::format(", {} costs", tried_);
  text += fmt::format(": cost {:.4g}, {:.1f} s", p.cost, p.seconds);
  if (p.primal > 0) text += fmt::format(", gap {:.2g}", p.relative_gap);
  line_.show(text);
}

std::string folded_text(const std::vector<FoldedCost>& costs, Metric metric, int folds,
                        std::optional<std::size_t> chosen) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const FoldedCost& cost : costs) {
    low = std::min(low, cost.mean - cost.spread);
    high = std::max(high, cost.mean + cost.spread);
  }
  std::string text = fmt::format("{:>12} {:>12} {:>12}\n", "cost", to_string(metric), "spread");
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const FoldedCost& cost = costs[k];
    std::string line =
        fmt::format("{:>12.6g} {:>12} {:>12}  {}", cost.cost, number_text(cost.mean, metric),
                    number_text(cost.spread, metric), bar(cost, low, high));
    if (k == chosen) line += "  chosen";
    const auto known = static_cast<int>(cost.figures.size());
    if (known < folds) line += fmt::format("  {} of {} folds", known, folds);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

Json folded_json(const FoldedCost& cost) {
  return {{"cost", cost.cost},
          {"mean", cost.mean},
          {"spread", cost.spread},
          {"figures", Json::list_of(cost.figures)},
          {"dropped", cost.dropped}};
}

std::string cross_validation_text(const Folded& found, bool json) {
  std::vector<double> costs;
  std::vector<Metrics> metrics;
  for (const FoldedCost& cost : found.costs) {
    costs.push_back(cost.cost);
    metrics.push_back(cost.metrics);
  }
  const FoldedCost& one = found.costs.front();
  const auto add_folds = [&](Json& object, const FoldedCost& cost) {
    object.add("folds", found.folds);
    object.add("figures", Json::list_of(cost.figures));
    object.add("spread", cost.spread);
  };
  if (costs.size() > 1) {
    if (!json) {
      return metrics_table(costs, metrics, {}, false) + "\n" +
             folded_text(found.costs, found.metric, found.folds, {});
    }
    Json folds = Json::list();
    for (const FoldedCost& cost : found.costs) folds.push_back(folded_json(cost));
    Json object = *Json::parse(metrics_table(costs, metrics, {}, true));
    object.add("folds", found.folds);
    object.add("costs", folds);
    return object.dump() + "\n";
  }
  if (json) {
    Json object = metrics_json(one.metrics);
    add_folds(object, one);
    return object.dump() + "\n";
  }
  const std::string folds = found.finished == found.folds
                                ? fmt::format("{} folds", found.folds)
                                : fmt::format("{} of {} folds", found.finished, found.folds);
  if (const auto& regression = one.metrics.regression) {
    return fmt::format("cross-validation {} ({}, {} rows; spread of RMSE over the folds {:.4g})\n",
                       regression_text(*regression), folds, one.metrics.rows, one.spread);
  }
  return fmt::format(
      "cross-validation accuracy {:.4f} % ({}, {} rows; spread over the folds {:.2f} "
      "%)\n",
      100 * one.metrics.accuracy, folds, one.metrics.rows, 100 * one.spread);
}

}  // namespace hinge::cli
