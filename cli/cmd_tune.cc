#include <fmt/core.h>

#include <chrono>
#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Tune {
  Reporter reporter;
  DataArguments data;
  Replacing replacing;
  TrainOptions options;
  FoldArguments folds;
  CLI::App* command = nullptr;
  std::string model_path;
  std::string metric;
  int count = 5;
  bool one_standard_error = false;
  bool all_folds = false;
  bool json = false;

  int run();
  Result<void> prepare();
  Result<TuneReport> search(const Dataset& rows);
  Json to_json(const TuneReport& found, double seconds) const;
};

Result<void> Tune::prepare() {
  if (options.path.empty() && command->count("--cost") > 0) options.path = {options.cost};
  if (model_format("", model_path) == ModelFormat::liblinear) {
    usage("MODEL: tune writes hinge's format; `hinge convert` makes LIBLINEAR's of it");
  }
  if (json && model_path == "-") {
    usage("--json needs standard output for itself: give MODEL another name");
  }
  if (Result<void> r = validate(options); !r.ok()) throw UsageError{r.error()};
  return replacing.check({{model_path, FileKind::model}}, data.inputs());
}

Result<TuneReport> Tune::search(const Dataset& rows) {
  Result<FoldOptions> how = folds.options(count, rows);
  if (!how.ok()) return how.error();
  TuneOptions asked = {.folds = *std::move(how), .one_standard_error = one_standard_error};
  asked.folds.drop_losers = !all_folds;
  if (!metric.empty()) {
    const Result<Metric> named = parse_metric(metric);
    if (!named.ok()) throw UsageError{named.error()};
    asked.folds.metric = *named;
  }
  FoldProgress progress(reporter);
  const TrainControl control = {.observer = [&](const Progress& p) { progress.show(p); },
                                .stop = &stop_flag()};
  return tune(rows, asked, options, control, [&](const Folded& found) { progress.tell(found); });
}

Json Tune::to_json(const TuneReport& found, double seconds) const {
  Json costs = Json::list();
  for (const FoldedCost& cost : found.costs) costs.push_back(folded_json(cost));
  Json object = {
      {"metric", to_string(found.metric)},      {"folds", found.folds}, {"whole", found.whole},
      {"cost", found.costs[found.chosen].cost}, {"costs", costs},       {"seconds", seconds}};
  if (!found.run) return object;
  const Certificate all = found.run->model.certificate();
  object.add("status", to_string(found.run->status));
  object.add("primal", primal_json(all));
  object.add("dual", or_null(all, all.dual));
  object.add("relative_gap", or_null(all, all.relative_gap));
  object.add("model", escape(model_path));
  return object;
}

int Tune::run() {
  const std::string outcome = "no model written";
  const auto start = std::chrono::steady_clock::now();
  if (Result<void> r = prepare(); !r.ok()) return reporter.fail(r.error(), outcome);
  data.read.threads = options.threads;
  data.read.memory = options.memory;
  data.read.real_labels = is_regression(options.loss);
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error(), outcome);
  const Result<void> labels =
      is_regression(options.loss) ? data.check_targets(*rows) : data.check_classes(*rows);
  if (!labels.ok()) return reporter.fail(labels.error(), outcome);
  warn_of_scale(*rows, reporter);
  const Result<TuneReport> found = search(*rows);
  if (!found.ok()) return reporter.fail(found.error(), outcome);
  if (found->run) reporter.warn(found->run->warnings);
  const bool begun =
      found->run && (found->run->status != StopReason::interrupted || found->run->iterations > 0);
  if (begun) {
    const Result<void> saved = save_model(found->run->model, model_path);
    if (!saved.ok()) return reporter.fail(saved.error(), outcome);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string text =
      json ? to_json(*found, seconds).dump() + "\n"
           : folded_text(found->costs, found->metric, found->folds, found->chosen);
  // The table must not stand in the model.
  if (model_path == "-") {
    to_stderr(text);
  } else if (Result<void> r = print(text); !r.ok()) {
    return reporter.fail(r.error());
  }
  const double cost = found->costs[found->chosen].cost;
  if (begun) {
    reporter.log(
        fmt::format("cost {:.6g}: {} after {:.2g} s", cost, reached(found->run->model), seconds));
  }
  if (found->whole && begun && found->run->status != StopReason::interrupted) return 0;
  reporter.log(
      begun ? fmt::format("hinge: interrupted; {} holds the best model so far", escape(model_path))
            : fmt::format("hinge: interrupted; no model written; --cost {:.6g} was the "
                          "best so far",
                          cost));
  return signal_exit_code();
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto tune = std::make_shared<Tune>();
  CLI::App* command = app.add_subcommand(
      "tune",
      "Find the cost that predicts best by cross-validation, and learn from all rows with it.");
  tune->command = command;
  tune->data.add_source_to(*command, "DATA", kDataHelp);
  command->add_option("MODEL", tune->model_path, "where to write")->required();
  std::vector<std::string> names;
  for (const OptionInfo& info : train_option_table()) {
    if (info.name != "lambda") names.emplace_back(info.name);
  }
  add_table_options(*command, tune->options, names);
  command->get_option("--cost")->description(
      "the costs to try, or one; default: ever larger ones until the figure falls");
  command->get_option("--path")->description("the costs to try: N from LO to HI");
  command->get_option("--cost")->excludes("--path");
  command->get_option("--gap")->excludes("--tolerance");
  command->get_option("--iterate")->excludes("--delta");
  command->add_option("-v,--folds", tune->count, "how many parts (N >= 2; default 5)")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  tune->folds.add_to(*command);
  command
      ->add_option("--metric", tune->metric,
                   "what the best cost is best at: accuracy (default), balanced, f1, auc, ap, "
                   "logloss (with --loss logistic), rmse (default of regression)")
      ->type_name("NAME");
  command->add_flag("--one-standard-error", tune->one_standard_error,
                    "the least cost that is no worse than the best by more than a standard error");
  command->add_flag("--all-folds", tune->all_folds,
                    "try every cost in all folds, also one that clearly loses");
  tune->data.add_to(*command, true);
  command
      ->add_option("--weights", tune->data.read.weights_file, "one cost factor a row, a line each")
      ->type_name("FILE");
  command->add_flag("--json", tune->json, "print one JSON object on stdout");
  tune->replacing.add_to(*command);
  tune->reporter.add_to(*command);
  command->footer(
      "Example: hinge tune news.svm news.model\n"
      "         hinge tune clicks.svm clicks.model --metric auc --path 1e-3:10:9 -v 10\n"
      "Ctrl-C shows what is known of the costs.");
  command->callback([tune, &action] { action = [tune] { return tune->run(); }; });
}

}  // namespace hinge::cli
