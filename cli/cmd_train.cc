#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Train {
  Reporter reporter;
  DataArguments data;  // its sources: all operands, until take_model_name()
  Replacing replacing;
  TrainOptions options;
  std::string model_path;
  std::string trace_path;
  std::string start_path;
  CheckpointControl checkpoint;
  std::string resume_path;
  CLI::App* command = nullptr;
  std::string format;  // of the model; empty: by its name
  bool json = false;
  bool require_converged = false;
  int folds = 0;
  FoldArguments fold_arguments;
  bool find_cost = false;
  double mpi_timeout = Ranks::kTimeout;

  int run();
  int run_folds();
  int run_search();
  Result<void> take_model_name();
  Result<void> prepare();
  Result<void> check_outputs_before();
  Result<void> save(std::vector<TrainReport>& reports);
  Result<void> report(const Dataset& rows, const std::vector<TrainReport>& reports,
                      const TrainReport& all);
  bool given(const std::string& option) const { return command->count("--" + option) > 0; }
  Result<void> take_from_checkpoint();
  bool loss_by_number() const;
  Result<void> check_labels(const Dataset& rows) const;
  Result<void> check_format(const Dataset& rows) const;
  Result<void> save_trace() const;
  void say_loss();
  Result<Model> load_start() const;
  Result<std::vector<TrainReport>> learn(const Dataset& rows, TrainControl control);
  Json to_json(const Dataset& rows, const std::vector<TrainReport>& reports,
               const TrainReport& all) const;

  double load_seconds = 0, save_seconds = 0, total_seconds = 0;
  std::string trace;
  std::optional<Model> start_model;
  bool said_loss = false;
  std::string outcome = "no model written";  // what an error says of the outputs
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string default_model_path(const std::vector<std::string>& sources) {
  const std::string& name = sources.front();
  if (name == "-") usage("give MODEL: standard input has no name to derive one from");
  if (sources.size() > 1) {
    usage(fmt::format("give -o MODEL: {} is no model, and was taken for DATA",
                      escape(sources.back())));
  }
  const Result<std::vector<std::string>> files = source_files(name);
  if (files.ok() && files->front() != name) {
    usage("give MODEL: a pattern has no name to derive one from");
  }
  const std::size_t slash = name.rfind('/');
  return (slash == std::string::npos ? name : name.substr(slash + 1)) + ".model";
}

// Whether the last of several operands of train is MODEL: it is no file yet, a model, a pipe or a
// device. Anything else was meant as DATA, such as the last file of a shell's pattern; so was an
// empty file, which some part of a data set may be.
Result<bool> names_model(const std::string& operand) {
  const Result<std::vector<std::string>> files = source_files(operand);
  if (files.ok() && files->front() != operand) return false;  // a pattern
  const Result<FileKind> kind = file_kind(operand);
  if (!kind.ok()) return kind.error();
  return *kind == FileKind::absent || *kind == FileKind::model || *kind == FileKind::stream;
}

// {"1", "-1"}: the label of each hyperplane first, so the positive one leads in a binary model.
std::vector<std::string> class_names(const Model& model) {
  std::vector<std::string> names;
  for (const std::int64_t label : model.labels) names.push_back(model.class_names.text(label));
  return names;
}

// Counts and times of all models together.
TrainReport totals(const std::vector<TrainReport>& reports) {
  TrainReport all;
  for (const TrainReport& report : reports) {
    all.status = std::max(all.status, report.status);  // interrupted, limit, converged
    all.iterations += report.iterations;
    all.rows_touched += report.rows_touched;
    all.objective_rows += report.objective_rows;
    all.search_rows += report.search_rows;
    all.objective_seconds += report.objective_seconds;
    all.search_seconds += report.search_seconds;
    all.data_passes += report.data_passes;
    all.threads = report.threads;
    all.ranks = report.ranks;
    all.messages += report.messages;
    all.bytes_sent += report.bytes_sent;
    all.prepare_seconds += report.prepare_seconds;
    all.solve_seconds += report.solve_seconds;
    all.certify_seconds += report.certify_seconds;
  }
  return all;
}

Json problems_json(const TrainReport& report) {
  Json problems = Json::list();
  for (std::size_t k = 0; k < report.model.problems.size(); ++k) {
    const BinaryProblem& p = report.model.problems[k];
    Json problem = Json::object();
    if (!report.model.regression()) {
      problem.add("class", report.model.class_names.text(p.label));
    }
    problem.add("primal", primal_json(p.certificate));
    problem.add("dual", or_null(p.certificate, p.certificate.dual));
    problem.add("relative_gap", or_null(p.certificate, p.certificate.relative_gap));
    problem.add("iterations", p.iterations);
    problem.add("seconds", report.problem_seconds[k]);
    problems.push_back(std::move(problem));
  }
  return problems;
}

void add_certificate(Json& object, const TrainReport& report) {
  const Certificate all = report.model.certificate();
  object.add("cost", report.model.origin.cost);
  object.add("lambda", report.lambda);
  object.add("primal", primal_json(all));
  object.add("dual", or_null(all, all.dual));
  object.add("relative_gap", or_null(all, all.relative_gap));
}

void add_counts(Json& object, const TrainReport& report) {
  object.add("iterations", report.iterations);
  object.add("data_passes", report.data_passes);
  object.add("rows_touched", report.rows_touched);
  object.add("objective_rows", report.objective_rows);
  object.add("search_rows", report.search_rows);
  object.add("objective_seconds", report.objective_seconds);
  object.add("search_seconds", report.search_seconds);
}

Json Train::to_json(const Dataset& rows, const std::vector<TrainReport>& reports,
                    const TrainReport& all) const {
  const Model& model = reports[0].model;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  Json object = {{"status", to_string(all.status)},
                 {"solver", model.origin.solver},
                 {"loss", to_string(options.loss)},
                 {"rows", model.origin.rows},
                 {"features", rows.features()},
                 {"nonzeros", model.origin.nonzeros},
                 {"classes", Json::list_of(class_names(model))}};
  if (model.regression()) object.add("epsilon", model.origin.epsilon);
  if (!model.origin.because.empty()) object.add("because", model.origin.because);
  add_goals(object, model.origin);
  if (options.path.empty() && !reports[0].why.empty()) object.add("why", reports[0].why);
  if (options.path.empty()) add_certificate(object, reports[0]);
  add_counts(object, all);
  object.add("seconds", {{"load", load_seconds},
                         {"prepare", all.prepare_seconds},
                         {"solve", all.solve_seconds},
                         {"certify", all.certify_seconds},
                         {"save", save_seconds},
                         {"total", total_seconds}});
  object.add("peak_memory_bytes", std::uint64_t{1024} * static_cast<std::uint64_t>(used.ru_maxrss));
  object.add("threads", all.threads);
  object.add("lanes", model.origin.lanes);
  if (all.ranks > 1) {
    object.add("ranks", all.ranks);
    object.add("messages", all.messages);
    object.add("bytes_sent", all.bytes_sent);
  }
  object.add("model", escape(model_path));
  if (options.path.empty()) {
    object.add("problems", problems_json(reports[0]));
    return object;
  }
  Json path = Json::list();
  for (const TrainReport& report : reports) {
    Json entry = {{"status", to_string(report.status)}};
    if (!report.why.empty()) entry.add("why", report.why);
    add_certificate(entry, report);
    add_counts(entry, report);
    entry.add("seconds", {{"solve", report.solve_seconds}, {"certify", report.certify_seconds}});
    entry.add("problems", problems_json(report));
    path.push_back(std::move(entry));
  }
  object.add("path", path);
  return object;
}

// Whether these labels can be learned, with these options.
Result<void> Train::check_labels(const Dataset& rows) const {
  if (is_regression(options.loss)) return data.check_targets(rows);
  if (Result<void> r = data.check_classes(rows); !r.ok()) return r;
  if (rows.class_names().empty() || options.class_weights.empty()) return {};
  return make_error("usage.value",
                    fmt::format("--class-weight: takes whole numbers, and the classes of {} have "
                                "names; expected balanced",
                                escape(data.name())));
}

// Whether the format can hold the model these rows will give: better known before training. Of
// several ranks none knows all labels.
Result<void> Train::check_format(const Dataset& rows) const {
  if (ranks().several()) return {};
  Model model;
  model.origin.loss = options.loss;
  if (!model.regression()) {
    for (const LabelCount& c : rows.classes()) model.labels.push_back(c.label);
    model.class_names = rows.class_names();
  }
  model.features = rows.features();
  model.index_base = rows.index_base();
  model.reject = options.reject;
  model.kernel = options.pegasos.kernel;
  return hinge::check_format(model, model_format(format, model_path));
}

Result<void> Train::save_trace() const {
  if (trace_path.empty()) return {};
  Result<OutputFile> out = OutputFile::create(trace_path);
  if (!out.ok()) return out.error();
  if (Result<void> r = out->write(trace); !r.ok()) return r;
  return out->commit();
}

// As LIBLINEAR's -v: estimates how well a model would predict, and writes none.
int Train::run_folds() {
  data.read.threads = options.threads;
  data.read.memory = options.memory;
  data.read.real_labels = is_regression(options.loss);
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  if (Result<void> r = check_labels(*rows); !r.ok()) return reporter.fail(r.error());
  warn_of_scale(*rows, reporter);
  const Result<FoldOptions> how = fold_arguments.options(folds, *rows);
  if (!how.ok()) return reporter.fail(how.error());
  FoldProgress progress(reporter);
  const TrainControl control = {.observer = [&](const Progress& p) { progress.show(p); },
                                .stop = &stop_flag()};
  const Result<Folded> found = cross_validate_folds(
      *rows, *how, options, control, [&](const Folded& so_far) { progress.tell(so_far); });
  if (!found.ok()) return reporter.fail(found.error());
  say_loss();
  const Result<void> printed = print(cross_validation_text(*found, json));
  if (!printed.ok()) return reporter.fail(printed.error());
  if (found->finished == found->folds) return 0;
  reporter.log(
      fmt::format("hinge: interrupted; {} of {} folds are known", found->finished, found->folds));
  return signal_exit_code();
}

// This finds the cost that predicts best, prints what LIBLINEAR's -C prints, and writes no model.
int Train::run_search() {
  data.read.threads = options.threads;
  data.read.memory = options.memory;
  data.read.real_labels = is_regression(options.loss);
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  if (Result<void> r = check_labels(*rows); !r.ok()) return reporter.fail(r.error());
  warn_of_scale(*rows, reporter);
  const auto tell = [&](const CostTrial& trial) {
    say_loss();
    if (!json) static_cast<void>(print(trial_text(trial, options)));
  };
  const double first = given("cost") ? options.cost : 0;
  const TrainControl control = {.observer = {}, .stop = &stop_flag()};
  const Result<CostSearch> search =
      is_regression(options.loss)
          ? find_cost_and_epsilon(*rows, folds, first, given("epsilon") ? options.epsilon : 0,
                                  options, control, tell)
          : hinge::find_cost(*rows, folds, first, options, control, tell);
  if (!search.ok()) return reporter.fail(search.error());
  const Result<void> printed = print(json ? search_json(*search, options, folds).dump() + "\n"
                                          : search_text(*search, options));
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

// Whether LIBLINEAR's number of a solver says the loss as well.
bool Train::loss_by_number() const {
  if (!given("solver")) return false;
  const std::string solver = command->get_option("--solver")->results().back();
  constexpr std::string_view kNumbers[] = {"0", "1", "2", "3", "7", "11", "12", "13"};
  return std::ranges::find(kNumbers, solver) != std::end(kNumbers);
}

// The log begins with it; errors before there is one stand alone.
void Train::say_loss() {
  if (std::exchange(said_loss, true)) return;
  reporter.log(fmt::format("loss {}: 1/2|w|^2 + C sum {} is minimised", to_string(options.loss),
                           loss_formula(options)));
}

// Options that are not given again are those of the run that is to go on; train() compares the
// others.
Result<void> Train::take_from_checkpoint() {
  std::vector<Error> warnings;  // train() will say them too
  const Result<CheckpointInfo> info = read_checkpoint(resume_path, warnings);
  if (!info.ok()) return info.error();
  for (const auto& [name, text] : info->options) {
    if (std::ranges::find(train_option_table(), name, &OptionInfo::name) ==
        train_option_table().end()) {
      Error error = make_error("checkpoint.mismatch",
                               fmt::format("{} wrote it, with the option --{}; this is hinge {}",
                                           escape(info->written_by), escape(name), version()));
      error.file = resume_path;
      return error;
    }
    const bool meant = given(name) || (name == "gap" && given("tolerance")) ||
                       (name == "bias" && given("free-bias")) ||
                       (name == "cost" && given("path")) || (name == "loss" && loss_by_number());
    if (meant) continue;
    if (Result<void> r = set_option(options, name, text); !r.ok()) {
      Error error = make_error("checkpoint.content", r.error().message);
      error.file = resume_path;
      return error;
    }
  }
  if (!data.precision_given) data.read.precision = info->precision;
  if (data.read.index_base == IndexBase::automatic) {
    data.read.index_base = info->index_base == 0 ? IndexBase::zero : IndexBase::one;
  }
  return {};
}

// Of a file with several models the one whose cost is nearest, as a ratio, to the first here.
Result<Model> Train::load_start() const {
  Result<std::vector<Model>> models = load_models(start_path, &stop_flag());
  if (!models.ok()) return models.error();
  const double cost = options.path.empty() ? options.cost : options.path.front();
  return std::move(*std::ranges::min_element(*models, {}, [cost](const Model& model) {
    return std::abs(std::log(model.origin.cost / cost));
  }));
}

Result<std::vector<TrainReport>> Train::learn(const Dataset& rows, TrainControl control) {
  const bool several = !options.path.empty();
  ProgressLine line(!reporter.quiet);
  control.observer = [&](const Progress& p) {
    std::string text = fmt::format("training: {:.1f} s, {:.0f} passes", p.seconds, p.data_passes);
    if (several) text += fmt::format(", cost {:.4g}", p.cost);
    if (p.primal > 0) {  // else only a sign of life
      if (!trace_path.empty()) {
        Json record = trace_json(p);
        if (several) record.add("cost", p.cost);
        trace += record.dump() + "\n";
      }
      text += fmt::format(", gap {:.2g}", p.relative_gap);
    }
    line.show(text);
  };
  control.finished = [&](const TrainReport& report) {
    if (!several) return;
    line.clear();
    say_loss();
    reporter.log(fmt::format("cost {:.6g}: {}, {:.3g} passes, {:.2g} s", report.model.origin.cost,
                             reached(report.model), report.data_passes,
                             report.solve_seconds + report.certify_seconds));
  };
  return train_path(rows, options, control);
}

// What would be a pity to find out after hours of work; of several ranks, by the one that writes.
Result<void> Train::check_outputs_before() {
  const std::string previous = checkpoint.path.empty() ? "" : checkpoint.path + ".previous";
  const std::string lock = checkpoint.path.empty() ? "" : checkpoint.path + ".lock";
  // The model may be written in place of the one it began at, a trace may not.
  for (const std::string& path : {trace_path, checkpoint.path, previous, lock}) {
    if (!start_path.empty() && !path.empty() && same_file(path, start_path)) {
      return overwrites(path);
    }
  }
  // A checkpoint that training goes on from has been read as one, or the one before it has.
  const auto kept =
      resume_path == checkpoint.path ? std::nullopt : std::optional(FileKind::checkpoint);
  // After a kill at a bad moment the two may be names of one file.
  const Output model = {model_path, FileKind::model}, traced = {trace_path, FileKind::trace};
  for (const Output& other :
       {Output{checkpoint.path, kept}, Output{previous, kept}, Output{lock, {}}}) {
    Result<void> checked = replacing.check({model, traced, other}, data.inputs());
    if (!checked.ok()) return checked;
  }
  if (resume_path.empty() && looks_like_checkpoint(checkpoint.path)) {
    reporter.warn({make_warning(
        "checkpoint.exists", fmt::format("{0} will be replaced; --resume {0} would go on from it",
                                         escape(checkpoint.path)))});
  }
  return {};
}

// Without -o the last operand may be MODEL.
Result<void> Train::take_model_name() {
  std::vector<std::string>& names = data.sources;
  if (!model_path.empty() || names.size() < 2) return {};
  const Result<bool> last = names_model(names.back());
  if (!last.ok()) return last.error();
  if (*last) {
    model_path = names.back();
    names.pop_back();
  }
  return {};
}

// All that can be refused before rows are read. A rank talks to no other here.
Result<void> Train::prepare() {
  if (Result<void> r = take_model_name(); !r.ok()) return r;
  checkpoint.requests = &checkpoint_requests();
  if (checkpoint.path.empty()) checkpoint.path = resume_path;
  if (checkpoint.path.empty() && given("every")) usage("--every needs --checkpoint or --resume");
  if (!resume_path.empty()) {
    if (Result<void> r = take_from_checkpoint(); !r.ok()) return r;
  }
  if (given("loss") && loss_by_number()) {
    usage("give --loss or one of LIBLINEAR's numbers of a solver, which says the loss");
  }
  if (Result<void> r = validate(options); !r.ok()) throw UsageError{r.error()};
  if ((given("groups") || given("time-order")) && (folds == 0 || find_cost)) {
    usage("--groups and --time-order say how --folds deals rows out: give that");
  }
  if (find_cost) {
    constexpr int kUsualFolds = 5;  // as LIBLINEAR
    if (folds == 0) folds = kUsualFolds;
    if (!options.path.empty()) usage("--find-cost: give one cost, where it shall begin, or none");
  }
  if (folds != 0) {
    const std::string_view name = find_cost ? "--find-cost" : "--folds";
    if (!checkpoint.path.empty()) {
      usage(fmt::format("{} trains several times: it takes no checkpoints", name));
    }
    if (!start_path.empty()) {
      usage(fmt::format("{} trains on parts of the rows: --start may have seen all", name));
    }
    if (!ranks().several()) return {};
    return make_error("mpi.unsupported", fmt::format("{}: several ranks train one model", name));
  }
  if (model_path.empty()) {
    model_path = default_model_path(data.sources);
  }
  if (uses_pegasos(options)) {
    const bool goal = goals_of(options, 0).any();
    if (require_converged && !goal) {
      usage("--require-converged needs --gap, or another goal: Pegasos asks for none of its own");
    }
    if (!start_path.empty() && !options.pegasos.kernel.linear()) {
      usage_value("--start: training with a kernel begins at 0");
    }
    // Who wants a trace wants values in it.
    const bool sparse = !goal && options.pegasos.check_every == 0 && resume_path.empty();
    if (!trace_path.empty() && sparse) {
      options.pegasos.check_every = 1;
    }
  }
  std::error_code none;
  if (std::filesystem::is_regular_file(model_path, none))
    outcome += "; " + escape(model_path) + " unchanged";
  if (json && (model_path == "-" || trace_path == "-")) {
    usage("--json needs standard output for itself: give MODEL and --trace other names");
  }
  if (!options.path.empty() && model_format(format, model_path) == ModelFormat::liblinear) {
    return make_error("model.format", "a file of LIBLINEAR's holds one model, not one a cost",
                      "train without --model-format; `hinge convert --cost C` takes one out");
  }
  if (ranks().first()) {
    if (Result<void> r = check_outputs_before(); !r.ok()) return r;
  }
  if (start_path.empty()) return {};
  Result<Model> start = load_start();
  if (!start.ok()) return start.error();
  start_model = std::move(*start);
  if (data.read.index_base == IndexBase::automatic) {
    data.read.index_base = start_model->index_base == 0 ? IndexBase::zero : IndexBase::one;
  }
  return {};
}

int Train::run() {
  Result<void> ready = ranks().open(mpi_timeout);
  const auto start = std::chrono::steady_clock::now();
  ready = ranks().agree(ready.ok() ? prepare() : ready);
  if (!ready.ok()) return reporter.fail(ready.error(), outcome);
  if (folds != 0) return find_cost ? run_search() : run_folds();
  data.read.threads = options.threads;
  data.read.memory = options.memory;
  data.read.real_labels = is_regression(options.loss);
  Result<Dataset> rows = data.load(reporter, ranks().transport());
  if (!rows.ok()) return reporter.fail(rows.error(), outcome);
  load_seconds = seconds_since(start);
  if (Result<void> r = check_labels(*rows); !r.ok()) return reporter.fail(r.error(), outcome);
  if (Result<void> r = check_format(*rows); !r.ok()) return reporter.fail(r.error(), outcome);
  warn_of_scale(*rows, reporter);

  TrainControl control;
  control.stop = &stop_flag();
  if (start_model) control.start = &*start_model;
  control.checkpoint = checkpoint;
  control.resume = resume_path;
  control.ranks = ranks().transport();
  Result<std::vector<TrainReport>> reports = learn(*rows, control);
  if (!reports.ok()) return reporter.fail(reports.error(), outcome);
  for (const TrainReport& report : *reports) reporter.warn(report.warnings);
  const std::size_t costs = std::max(std::size_t{1}, options.path.size());
  TrainReport all = totals(*reports);
  const int signal = ranks().agree(signal_exit_code());
  if (reports->size() < costs) {  // ended between two models
    all.status = std::max(all.status, signal != 0 ? StopReason::interrupted : StopReason::limit);
  }
  const StopReason status = all.status;
  if (status == StopReason::interrupted && all.iterations == 0) {
    return reporter.fail(make_error("run.interrupted", "interrupted before there was a model"),
                         outcome);
  }

  Result<void> done = ranks().agree(ranks().first() ? save(*reports) : Result<void>());
  if (!done.ok()) return reporter.fail(done.error(), outcome);
  total_seconds = seconds_since(start);
  done = ranks().agree(ranks().first() ? report(*rows, *reports, all) : Result<void>());
  if (!done.ok()) return reporter.fail(done.error());
  if (status == StopReason::interrupted) return signal;
  if (status == StopReason::limit && require_converged) return 3;
  return 0;
}

Result<void> Train::save(std::vector<TrainReport>& reports) {
  const auto save_start = std::chrono::steady_clock::now();
  std::vector<Model> models;
  for (TrainReport& report : reports) models.push_back(std::move(report.model));
  const auto save_to = [&](const std::string& path) {
    return models.size() > 1 ? save_models(models, path)
                             : save_model(models[0], path, model_format(format, model_path));
  };
  Result<void> saved = save_to(model_path);
  if (!saved.ok()) {
    // Nobody reads on in a named pipe: the work of hours is not lost to that.
    const std::string beside = model_path + ".model";
    std::error_code none;
    if (std::filesystem::is_fifo(model_path, none) &&
        check_replaces(beside, FileKind::model).ok() && save_to(beside).ok()) {
      outcome = fmt::format("the model is in {} instead", escape(beside));
    }
    return saved;
  }
  for (std::size_t k = 0; k < models.size(); ++k) reports[k].model = std::move(models[k]);
  // The model first: it must not be lost to a trace that cannot be written.
  outcome = "the model was written, the trace was not";
  saved = save_trace();
  save_seconds = seconds_since(save_start);
  return saved;
}

Result<void> Train::report(const Dataset& rows, const std::vector<TrainReport>& reports,
                           const TrainReport& all) {
  const std::size_t costs = std::max(std::size_t{1}, options.path.size());
  if (json) {
    if (Result<void> r = print(to_json(rows, reports, all).dump() + "\n"); !r.ok()) return r;
  }
  say_loss();
  if (all.status == StopReason::interrupted) {
    reporter.log(
        costs == 1
            ? fmt::format("hinge: interrupted; {} holds the best model so far", escape(model_path))
            : fmt::format("hinge: interrupted; {} holds the models of {} of {} costs",
                          escape(model_path), reports.size(), costs));
  }
  if (const Origin& origin = reports[0].model.origin; !origin.because.empty()) {
    reporter.log(fmt::format("solver {}, because {}", origin.solver, origin.because));
  }
  reporter.log(fmt::format(
      "{} after {:.2g} s: load {:.2g}, solve {:.2g}, check {:.2g}",
      costs == 1 ? reached(reports[0].model)
                 : fmt::format("{} model{}", reports.size(), reports.size() == 1 ? "" : "s"),
      total_seconds, load_seconds, all.solve_seconds, all.certify_seconds));
  return {};
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto train = std::make_shared<Train>();
  CLI::App* command =
      app.add_subcommand("train", "Learn a linear SVM and prove how close it is to the optimum.");
  train->data.add_shards_to(*command, kShardsHelp + std::string("; the last may be MODEL, see -o"));
  command
      ->add_option("-o,--output", train->model_path,
                   "where to write; without it the last of several arguments, if it is no file yet "
                   "or a model; default: DATA's name + .model")
      ->type_name("MODEL");
  command
      ->add_option("--model-format", train->format,
                   "native, or liblinear: text for LIBLINEAR, without the proof (default: "
                   "liblinear if MODEL ends in .liblinear, else native)")
      ->type_name("FORM")
      ->check(CLI::IsMember({"native", "liblinear"}));
  add_table_options(*command, train->options);
  command->get_option("--cost")->excludes("--lambda")->excludes("--path");
  command->get_option("--path")->excludes("--lambda");
  command->get_option("--gap")->excludes("--tolerance");
  command->get_option("--iterate")->excludes("--delta");
  train->command = command;
  train->data.add_to(*command, true);
  command
      ->add_option("--weights", train->data.read.weights_file, "one cost factor a row, a line each")
      ->type_name("FILE");
  command
      ->add_option("-i,--start", train->start_path,
                   "begin at this model, of the same classes: pegasos, with the step sizes that "
                   "--t0 says, and cutting planes; dual, at its proof, if it has one of these rows")
      ->type_name("MODEL");
  command
      ->add_option("--checkpoint", train->checkpoint.path,
                   "keep the state of training in this file, so that a run that is killed can go "
                   "on; kill -USR1 asks for one at once")
      ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--every",
          [train](const std::string& text) {
            double& seconds = train->checkpoint.seconds;
            const char* const end = text.data() + text.size();
            const auto result = std::from_chars(text.data(), end, seconds);
            if (result.ec == std::errc() && result.ptr == end && seconds > 0) return;
            usage_value(
                fmt::format("--every: expected a number of seconds > 0, got \"{}\"", escape(text)));
          },
          "seconds between two checkpoints, at least (default 60)")
      ->type_name("S");
  command
      ->add_option("--resume", train->resume_path,
                   "go on from this checkpoint, to the model of a run that was not cut short; "
                   "options that are not given again are those of that run, and further "
                   "checkpoints go to the same file unless --checkpoint names another")
      ->type_name("FILE");
  command->add_option("--trace", train->trace_path, "write one JSON line per progress record")
      ->type_name("FILE");
  command
      ->add_option("-v,--folds", train->folds,
                   "cross-validate in N parts and write no model (N >= 2)")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  train->fold_arguments.add_to(*command);
  command
      ->add_flag("-C,--find-cost", train->find_cost,
                 "cross-validate (in 5 parts, or those of -v) at ever larger costs, each twice the "
                 "one before, up to 1024, from --cost or one so small that no row reaches the "
                 "margin; print the best, and write no model")
      ->excludes("--lambda")
      ->excludes("--path");
  command
      ->add_option("--mpi-timeout", train->mpi_timeout,
                   "started by mpirun or the like: seconds to wait for another rank before giving "
                   "up (default 300)")
      ->type_name("S")
      ->check(CLI::Range(1.0, 1e9));
  command->add_flag("--require-converged", train->require_converged,
                    "exit with 3 if no goal was reached");
  command->add_flag("--json", train->json, "print one JSON object on stdout");
  train->replacing.add_to(*command);
  train->reporter.add_to(*command);
  command->footer(
      "Example: hinge train news.svm news.model --cost 0.5 --gap 1e-4\n"
      "         hinge train news.svm path.model --path 1e-3:1e3:20\n"
      "         hinge train clicks.svm clicks.model --solver pegasos --lambda 1e-5 --epochs 3\n"
      "Ctrl-C ends training early and keeps the best model so far, with its true gap.");
  command->callback([train, &action] { action = [train] { return train->run(); }; });
}

}  // namespace hinge::cli
