// What is said of how well models predict: figures as text and as JSON.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli.h"

namespace hinge::cli {
namespace {

constexpr std::size_t kMostClasses = 20;     // shown one by one
constexpr std::size_t kMostConfusions = 10;  // listed where the matrix does not fit

std::string figure_text(double value) {
  return std::isnan(value) ? "n/a" : fmt::format("{:.6f}", value);
}

// Characters as a terminal counts them, of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string label_text(const Metrics& m, std::int64_t label) {
  return escape(m.class_names.text(label));
}

// The widest, in the class column of a table.
std::size_t widest(const Metrics& m, std::size_t least) {
  for (const std::int64_t label : m.labels) least = std::max(least, width_of(label_text(m, label)));
  return least;
}

std::string classes_text(const Metrics& m, std::size_t width) {
  constexpr std::size_t kFigures = 11;
  constexpr const char* kNames[] = {"precision", "recall", "F1", "ROC AUC", "avg prec"};
  std::size_t names = widest(m, 8);
  constexpr std::size_t kRest = (std::size(kNames) + 1) * kFigures;
  if (names + kRest > width) names = 8;  // a long name moves its own line only
  std::string out = fmt::format("\n{:>{}}", "class", names);
  for (const char* name : kNames) out += fmt::format("{:>{}}", name, kFigures);
  out += fmt::format("{:>{}}\n", "rows", kFigures);
  for (const ClassMetrics& one : m.classes) {
    out += fmt::format("{:>{}}", label_text(m, one.label), names);
    for (const double value : {one.precision, one.recall, one.f1, one.auc, one.average_precision}) {
      out += fmt::format("{:>{}}", figure_text(value), kFigures);
    }
    out += fmt::format("{:>{}}\n", one.rows, kFigures);
  }
  for (const auto& [name, mean] :
       {std::pair("mean", &m.macro), std::pair("weighted", &m.weighted)}) {
    out += fmt::format("{:>{}}", name, names);
    for (const double value : {mean->precision, mean->recall, mean->f1}) {
      out += fmt::format("{:>{}}", figure_text(value), kFigures);
    }
    out += '\n';
  }
  return out;
}

// The pairs of labels that are taken for each other most often.
std::string largest_confusions(const Metrics& m) {
  struct Pair {
    std::uint64_t rows;
    std::size_t is, said;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < m.confusion.size(); ++i) {
    for (std::size_t j = 0; j < m.confusion.size(); ++j) {
      if (i != j && m.confusion[i][j] > 0) pairs.push_back({m.confusion[i][j], i, j});
    }
  }
  std::ranges::stable_sort(pairs, std::greater<>(), &Pair::rows);
  std::string out = "\n(the confusion matrix is in --json; it is wider than the line)\n";
  pairs.resize(std::min(pairs.size(), kMostConfusions));
  for (const Pair& p : pairs) {
    out += fmt::format("{:>9} of {} taken for {}\n", p.rows, label_text(m, m.labels[p.is]),
                       label_text(m, m.labels[p.said]));
  }
  return out;
}

// Columns are as wide as what stands in them.
std::string confusion_text(const Metrics& m, std::size_t width) {
  if (m.confusion.empty()) return "(the confusion matrix is not kept: labels are too many)\n";
  const std::size_t count = m.labels.size();
  std::vector<std::size_t> columns(count + 1);
  std::size_t all = 0;
  const std::size_t names = widest(m, 11);
  for (std::size_t j = 0; j < count; ++j) {
    columns[j] = std::max<std::size_t>(3, width_of(label_text(m, m.labels[j])));
    for (std::size_t i = 0; i < count; ++i) {
      columns[j] = std::max(columns[j], std::to_string(m.confusion[i][j]).size());
    }
    all += columns[j] + 1;
  }
  columns[count] = std::max<std::size_t>(4, std::to_string(m.rejected).size());
  if (m.rejected > 0) all += columns[count] + 1;
  if (names + all > width) return largest_confusions(m);
  std::string out = fmt::format("\n{:>{}}", "true \\ said", names);
  for (std::size_t j = 0; j < count; ++j) {
    out += fmt::format(" {:>{}}", label_text(m, m.labels[j]), columns[j]);
  }
  if (m.rejected > 0) out += fmt::format(" {:>{}}", "none", columns[count]);
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format("\n{:>{}}", label_text(m, m.labels[i]), names);
    for (std::size_t j = 0; j < count; ++j) {
      out += fmt::format(" {:>{}}", m.confusion[i][j], columns[j]);
    }
    if (m.rejected > 0) out += fmt::format(" {:>{}}", m.classes[i].rejected, columns[count]);
  }
  return out + "\n";
}

Json mean_json(const MeanMetrics& mean) {
  return {{"precision", mean.precision}, {"recall", mean.recall}, {"f1", mean.f1}};
}

}  // namespace

std::string metrics_text(const Metrics& m, bool binary, std::size_t width) {
  std::string out = fmt::format("rows               {}\n", m.rows);
  const auto line = [&](const char* name, double value) {
    out += fmt::format("{:<18} {}\n", name, figure_text(value));
  };
  if (m.regression) {
    const auto miss = [&](const char* name, double value) {  // in the unit of the targets
      out += fmt::format("{:<18} {:.6g}\n", name, value);
    };
    miss("RMSE", m.regression->rmse);
    miss("MAE", m.regression->mae);
    line("R^2", m.regression->r2);
    line("correlation", m.regression->correlation);
    return out;
  }
  line("accuracy", m.accuracy);
  line("error", m.error);
  line("balanced accuracy", m.balanced_accuracy);
  line("precision", m.precision);
  line("recall", m.recall);
  line("F1", m.f1);
  line("ROC AUC", m.auc);
  line("average precision", m.average_precision);
  if (!binary) out += "(precision to average precision: means over the classes)\n";
  if (m.probabilities) {
    line("log-loss", m.probabilities->log_loss);
    line("Brier score", m.probabilities->brier);
    line("calibration error", m.probabilities->calibration_error);
  }
  if (m.rejected > 0) out += fmt::format("rejected           {}\n", m.rejected);
  if (m.labels.size() > kMostClasses) {
    out += fmt::format("(figures of {} classes are in --json)\n", m.labels.size());
  } else {
    out += classes_text(m, width);
  }
  return out + confusion_text(m, width);
}

std::string regression_text(const RegressionMetrics& m) {
  return fmt::format("RMSE {:.6g}, MAE {:.6g}, R^2 {:.4f}, correlation {:.4f}", m.rmse, m.mae, m.r2,
                     m.correlation);
}

Json metrics_json(const Metrics& m) {
  if (m.regression) {
    return {{"rows", m.rows},
            {"rmse", m.regression->rmse},
            {"mae", m.regression->mae},
            {"r2", m.regression->r2},
            {"correlation", m.regression->correlation}};
  }
  Json labels = Json::list(), confusion = Json::list(), classes = Json::list();
  for (const std::int64_t label : m.labels) labels.push_back(m.class_names.text(label));
  for (const auto& row : m.confusion) confusion.push_back(Json::list_of(row));
  for (const ClassMetrics& one : m.classes) {
    classes.push_back({{"label", m.class_names.text(one.label)},
                       {"rows", one.rows},
                       {"said", one.said},
                       {"rejected", one.rejected},
                       {"precision", one.precision},
                       {"recall", one.recall},
                       {"f1", one.f1},
                       {"auc", one.auc},
                       {"average_precision", one.average_precision}});
  }
  Json object = {{"rows", m.rows},
                 {"accuracy", m.accuracy},
                 {"error", m.error},
                 {"balanced_accuracy", m.balanced_accuracy},
                 {"precision", m.precision},
                 {"recall", m.recall},
                 {"f1", m.f1},
                 {"auc", m.auc},
                 {"average_precision", m.average_precision},
                 {"rejected", m.rejected},
                 {"macro", mean_json(m.macro)},
                 {"weighted", mean_json(m.weighted)}};
  if (m.probabilities) {
    object.add("log_loss", m.probabilities->log_loss);
    object.add("brier", m.probabilities->brier);
    object.add("calibration_error", m.probabilities->calibration_error);
  }
  object.add("labels", labels);
  object.add("confusion", confusion);
  object.add("classes", classes);
  return object;
}

std::string metrics_table(std::span<const double> costs, std::span<const Metrics> metrics,
                          std::span<const Model> models, bool json) {
  const bool regression = metrics[0].regression.has_value();
  const auto worth = [&](const Metrics& m) {
    return regression ? -m.regression->rmse : m.accuracy;
  };
  const auto best =
      static_cast<std::size_t>(std::ranges::max_element(metrics, {}, worth) - metrics.begin());
  Json list = Json::list();
  std::string text = fmt::format("{:>11}", "cost");
  if (!models.empty()) text += fmt::format(" {:>9} {:>10}", "gap", "|w|");
  text += regression
              ? fmt::format(" {:>10} {:>10} {:>9} {:>11}\n", "RMSE", "MAE", "R^2", "correlation")
              : fmt::format(" {:>9} {:>9} {:>9} {:>9}\n", "accuracy", "error", "F1", "ROC AUC");
  for (std::size_t k = 0; k < metrics.size(); ++k) {
    const Metrics& m = metrics[k];
    Json entry = {{"cost", costs[k]}};
    text += fmt::format("{:>11.6g}", costs[k]);
    if (!models.empty()) {
      const Certificate all = models[k].certificate();
      entry.add("relative_gap", or_null(all, all.relative_gap));
      entry.add("norm", models[k].norm());
      text += fmt::format(" {:>9} {:>10.5g}",
                          !all.bounded() ? "-" : fmt::format("{:.2g}", all.relative_gap),
                          models[k].norm());
    }
    entry.add("metrics", metrics_json(m));
    list.push_back(std::move(entry));
    if (regression) {
      const RegressionMetrics& r = *m.regression;
      text += fmt::format(" {:>10.5g} {:>10.5g} {:>9.6f} {:>11.6f}", r.rmse, r.mae, r.r2,
                          r.correlation);
    } else {
      text += fmt::format(" {:>9.6f} {:>9.6f} {:>9} {:>9}", m.accuracy, m.error, figure_text(m.f1),
                          figure_text(m.auc));
    }
    text += k == best ? "  best\n" : "\n";
  }
  const Json object = {{"best", costs[best]}, {"models", list}};
  return json ? object.dump() + "\n" : text;
}

}  // namespace hinge::cli
