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
  std::string curve_path;
  Replacing replacing;
  int threads = 0;

  int run();
  Result<void> check_curve() const;
  Result<void> save_curve(const Model& model, const Dataset& rows, const Predictions& predictions);
};

Result<void> Evaluate::check_curve() const {
  std::vector<std::string> inputs = data.inputs();
  inputs.push_back(model_path);
  const bool figure = curve_path.ends_with(".svg");
  return replacing.check({{curve_path, figure ? FileKind::figure : FileKind::curves}}, inputs);
}

Result<void> Evaluate::save_curve(const Model& model, const Dataset& rows,
                                  const Predictions& predictions) {
  const Result<std::vector<ClassCurves>> found = curves(model, rows, predictions, &stop_flag());
  if (!found.ok()) return found.error();
  Result<OutputFile> out = OutputFile::create(curve_path);
  if (!out.ok()) return out.error();
  const std::string text = curve_path.ends_with(".svg") ? to_svg(*found) : to_csv(*found);
  if (Result<void> r = out->write(text); !r.ok()) return r;
  return out->commit();
}

int Evaluate::run() {
  if (!curve_path.empty()) {
    if (Result<void> r = check_curve(); !r.ok()) return reporter.fail(r.error());
    if (json && curve_path == "-") usage("--json needs standard output for itself: name a file");
  }
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
  if (Result<void> same = check_same_labels(models[0], *rows); !same.ok()) {
    Error error = same.error();
    error.file = data.name();
    return reporter.fail(error);
  }
  std::vector<double> costs;
  std::vector<Metrics> found;
  for (const Model& model : models) {
    Result<Predictions> predictions = predict(model, *rows, threads, &stop_flag());
    if (!predictions.ok()) return reporter.fail(predictions.error());
    Result<Metrics> metrics = evaluate(model, *rows, *predictions, &stop_flag());
    if (!metrics.ok()) return reporter.fail(metrics.error());
    if (!curve_path.empty()) {
      const Result<void> saved = save_curve(model, *rows, *predictions);
      if (!saved.ok()) return reporter.fail(saved.error());
    }
    costs.push_back(model.origin.cost);
    found.push_back(*std::move(metrics));
  }
  const Result<void> printed =
      print(all    ? metrics_table(costs, found, models, json)
            : json ? metrics_json(found[0]).dump() + "\n"
                   : metrics_text(found[0], models[0].binary(), line_width()));
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

}  // namespace

void add_evaluate(CLI::App& app, Action& action) {
  auto evaluate = std::make_shared<Evaluate>();
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "Accuracy, precision, recall, F1, ROC AUC, average precision, of each class and all, and "
      "confusion; of probabilities log-loss, Brier score and calibration error; of regression "
      "RMSE, MAE, R^2 and correlation.");
  evaluate->data.add_source_to(*command, "DATA", kDataHelp);
  command->add_option("MODEL", evaluate->model_path, "as written by train, or by LIBLINEAR")
      ->required();
  CLI::Option* cost = add_cost(*command, evaluate->cost);
  CLI::Option* all = command
                         ->add_flag("--all", evaluate->all,
                                    "of a file with several models, all of them as a table")
                         ->excludes(cost);
  command
      ->add_option("--curve", evaluate->curve_path,
                   "write ROC, precision over recall and calibration, as a figure if FILE ends in "
                   ".svg, else as CSV: a point a line")
      ->type_name("FILE")
      ->excludes(all);
  add_threads(*command, evaluate->threads);
  evaluate->data.add_to(*command, false);
  command->add_flag("--json", evaluate->json, "print one JSON object on stdout");
  evaluate->replacing.add_to(*command);
  evaluate->reporter.add_to(*command);
  command->footer(
      "Example: hinge evaluate test.svm news.model\n"
      "         hinge evaluate test.svm path.model --all\n"
      "         hinge evaluate test.svm news.model --curve roc.svg");
  command->callback([evaluate, &action] { action = [evaluate] { return evaluate->run(); }; });
}

}  // namespace hinge::cli
