#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Evaluate {
  Reporter reporter;
  DataArguments data;
  std::string model_path;
  std::optional<double> cost;
  bool all = false;
  bool json = false;
  int threads = 0;

  int run();
};

std::string as_text(const Metrics& m, bool binary) {
  std::string out = fmt::format("rows               {}\n", m.rows);
  const auto line = [&](const char* name, double value) {
    out += fmt::format("{:<18} {:.6f}\n", name, value);
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
  line("precision", m.precision);
  line("recall", m.recall);
  line("F1", m.f1);
  line("ROC AUC", m.auc);
  line("average precision", m.average_precision);
  if (!binary) out += "(precision to average precision: means over the classes)\n";
  if (m.rejected > 0) out += fmt::format("rejected           {}\n", m.rejected);
  constexpr std::size_t kMostClasses = 20;
  if (m.labels.size() > kMostClasses) {
    return out + "(the confusion matrix is in --json)\n";
  }
  const auto text = [&](std::int64_t label) { return escape(m.class_names.text(label)); };
  out += fmt::format("\n{:>12}", "true \\ said");
  for (const std::int64_t label : m.labels) out += fmt::format(" {:>9}", text(label));
  for (std::size_t i = 0; i < m.labels.size(); ++i) {
    out += fmt::format("\n{:>12}", text(m.labels[i]));
    for (const std::uint64_t count : m.confusion[i]) out += fmt::format(" {:>9}", count);
  }
  return out + "\n";
}

int Evaluate::run() {
  std::vector<Model> models;
  if (all) {
    Result<std::vector<Model>> loaded = load_models(model_path, &stop_flag());
    if (!loaded.ok()) return reporter.fail(loaded.error());
    models = *std::move(loaded);
  } else {
    Result<Model> loaded = load_model(model_path, cost, &stop_flag());
    if (!loaded.ok()) return reporter.fail(loaded.error());
    models.push_back(*std::move(loaded));
  }
  Result<Dataset> rows = load_for(models[0], data, true, threads, reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  std::vector<double> costs;
  std::vector<Metrics> found;
  for (const Model& model : models) {
    Result<Predictions> predictions = predict(model, *rows, threads, &stop_flag());
    if (!predictions.ok()) return reporter.fail(predictions.error());
    Result<Metrics> metrics = evaluate(model, *rows, *predictions, &stop_flag());
    if (!metrics.ok()) return reporter.fail(metrics.error());
    costs.push_back(model.origin.cost);
    found.push_back(*std::move(metrics));
  }
  const Result<void> printed = print(all    ? metrics_table(costs, found, models, json)
                                     : json ? metrics_json(found[0]).dump() + "\n"
                                            : as_text(found[0], models[0].binary()));
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

}  // namespace

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
  Json labels = Json::list(), confusion = Json::list();
  for (const std::int64_t label : m.labels) labels.push_back(m.class_names.text(label));
  for (const auto& row : m.confusion) confusion.push_back(Json::list_of(row));
  return {{"rows", m.rows},         {"accuracy", m.accuracy},
          {"error", m.error},       {"precision", m.precision},
          {"recall", m.recall},     {"f1", m.f1},
          {"auc", m.auc},           {"average_precision", m.average_precision},
          {"rejected", m.rejected}, {"labels", labels},
          {"confusion", confusion}};
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
      text += fmt::format(" {:>9.6f} {:>9.6f} {:>9.6f} {:>9.6f}", m.accuracy, m.error, m.f1, m.auc);
    }
    text += k == best ? "  best\n" : "\n";
  }
  const Json object = {{"best", costs[best]}, {"models", list}};
  return json ? object.dump() + "\n" : text;
}

void add_evaluate(CLI::App& app, Action& action) {
  auto evaluate = std::make_shared<Evaluate>();
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Accuracy, precision, recall, F1, ROC AUC, average precision and confusion; of regression "
      "RMSE, MAE, R^2 and correlation.");
  evaluate->data.add_source_to(*command, "DATA", kDataHelp);
  command->add_option("MODEL", evaluate->model_path, "as written by train, or by LIBLINEAR")
      ->required();
  CLI::Option* cost = add_cost(*command, evaluate->cost);
  command->add_flag("--all", evaluate->all, "of a file with several models, all of them as a table")
      ->excludes(cost);
  add_threads(*command, evaluate->threads);
  evaluate->data.add_to(*command, false);
  command->add_flag("--json", evaluate->json, "print one JSON object on stdout");
  evaluate->reporter.add_to(*command);
  command->footer(
      "Example: hinge evaluate test.svm news.model\n"
      "         hinge evaluate test.svm path.model --all");
  command->callback([evaluate, &action] { action = [evaluate] { return evaluate->run(); }; });
}

}  // namespace hinge::cli
