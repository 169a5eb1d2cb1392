#include <fmt/core.h>

#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Evaluate {
  Reporter reporter;
  DataArguments data;
  std::string model_path;
  bool json = false;
  int threads = 0;

  int run();
};

std::string as_text(const Metrics& m, bool binary) {
  std::string out = fmt::format("rows               {}\n", m.rows);
  const auto line = [&](const char* name, double value) {
    out += fmt::format("{:<18} {:.6f}\n", name, value);
  };
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
  out += fmt::format("\n{:>12}", "true \\ said");
  for (const std::int64_t label : m.labels) out += fmt::format(" {:>9}", label);
  for (std::size_t i = 0; i < m.labels.size(); ++i) {
    out += fmt::format("\n{:>12}", m.labels[i]);
    for (const std::uint64_t count : m.confusion[i]) out += fmt::format(" {:>9}", count);
  }
  return out + "\n";
}

int Evaluate::run() {
  Result<Model> model = load_model(model_path, &stop_flag());
  if (!model.ok()) return reporter.fail(model.error());
  Result<Dataset> rows = load_for(*model, data, true, threads, reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  Result<Predictions> predictions = predict(*model, *rows, threads, &stop_flag());
  if (!predictions.ok()) return reporter.fail(predictions.error());
  Result<Metrics> metrics = evaluate(*model, *rows, *predictions, &stop_flag());
  if (!metrics.ok()) return reporter.fail(metrics.error());
  const Result<void> printed =
      print(json ? metrics_json(*metrics) : as_text(*metrics, model->binary()));
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

}  // namespace

std::string metrics_json(const Metrics& m) {
  Json labels = Json::list(), confusion = Json::list();
  for (const std::int64_t label : m.labels) labels.push_back(std::to_string(label));
  for (const auto& row : m.confusion) confusion.push_back(Json::list_of(row));
  return Json({{"rows", m.rows},
               {"accuracy", m.accuracy},
               {"error", m.error},
               {"precision", m.precision},
               {"recall", m.recall},
               {"f1", m.f1},
               {"auc", m.auc},
               {"average_precision", m.average_precision},
               {"rejected", m.rejected},
               {"labels", labels},
               {"confusion", confusion}})
             .dump() +
         "\n";
}

void add_evaluate(CLI::App& app, Action& action) {
  auto evaluate = std::make_shared<Evaluate>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Accuracy, precision, recall, F1, ROC AUC, average precision and confusion.");
  command->add_option("DATA", evaluate->data.source, kDataHelp)->required();
  command->add_option("MODEL", evaluate->model_path, "as written by train, or by LIBLINEAR")
      ->required();
  add_threads(*command, evaluate->threads);
  evaluate->data.add_to(*command, false);
  command->add_flag("--json", evaluate->json, "print one JSON object on stdout");
  evaluate->reporter.add_to(*command);
  command->footer("Example: hinge evaluate test.svm news.model");
  command->callback([evaluate, &action] { action = [evaluate] { return evaluate->run(); }; });
}

}  // namespace hinge::cli
