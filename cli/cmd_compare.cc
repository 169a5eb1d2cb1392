#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "cli.h"

namespace hinge::cli {
namespace {

constexpr const char* kDefaultSolvers = "ocas,active,focus,dual";
constexpr std::string_view kReference = "ocas";  // what its successors are measured against

// Options of training that say nothing about how fast it is.
const std::set<std::string_view> kNotOurs = {"solver", "reject", "no-witness", "path"};

struct Compare {
  const CLI::App* command = nullptr;
  Reporter reporter;
  DataArguments data;
  TrainOptions options;
  std::string solvers = kDefaultSolvers;
  std::string svg_path;
  Replacing replacing;
  bool json = false;

  int run();
  std::vector<Solver> parse_solvers() const;
  void check_options(const std::vector<Solver>& chosen) const;
  Result<Comparison> race(const Dataset& rows, const std::vector<Solver>& chosen) const;
  Result<void> save_svg(const Comparison& all) const;
};

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<Solver> Compare::parse_solvers() const {
  if (solvers.empty()) usage_value("--solvers: expected names with commas between, got none");
  std::vector<Solver> chosen;
  for (const std::string& name : split_list(solvers)) {
    const Result<Solver> solver = parse_solver("solvers", name);
    if (!solver.ok()) throw UsageError{solver.error()};
    chosen.push_back(*solver);
  }
  return chosen;
}

// An option that none of the solvers has would change nothing, and nobody would notice.
void Compare::check_options(const std::vector<Solver>& chosen) const {
  for (const OptionInfo& info : train_option_table()) {
    if (info.solver.empty() || kNotOurs.contains(info.name)) continue;
    if (command->count("--" + std::string(info.name)) == 0) continue;
    const auto has = [&](Solver solver) {
      const bool pegasos = uses_pegasos(with_solver(options, solver));
      return has_option(pegasos ? Solver::pegasos : solver, info);
    };
    if (std::ranges::none_of(chosen, has)) {
      usage_value(
          fmt::format("--{}: it belongs to {}, not among --solvers", info.name, info.solver));
    }
  }
  if (Result<void> r = validate(chosen, options); !r.ok()) throw UsageError{r.error()};
}

Result<Comparison> Compare::race(const Dataset& rows, const std::vector<Solver>& chosen) const {
  ProgressLine line(!reporter.quiet);
  CompareControl control;
  control.stop = &stop_flag();
  control.observer = [&](Solver solver, const Progress& p) {
    std::string text =
        fmt::format("{}: {:.1f} s, {:.0f} passes", to_string(solver), p.seconds, p.data_passes);
    if (p.primal > 0) text += fmt::format(", gap {:.2g}", p.relative_gap);
    line.show(text);
  };
  return compare(rows, chosen, options, control);
}

// ---- As text.

// Columns as wide as their widest cell; the first two to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& table) {
  std::vector<std::size_t> widths(table[0].size());
  for (const std::vector<std::string>& row : table) {
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  std::string out;
  for (const std::vector<std::string>& row : table) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      out += k == 0  ? fmt::format("{:<{}}", row[k], widths[k])
             : k < 2 ? fmt::format("  {:<{}}", row[k], widths[k])
                     : fmt::format("  {:>{}}", row[k], widths[k]);
    }
    out += '\n';
  }
  return out;
}

// Three or four digits that mean something, without an exponent if it can be helped.
std::string figure(double x) {
  if (!std::isfinite(x)) return "-";
  if (x == 0) return "0";
  if (x < 1e-4 || x >= 1e7) return fmt::format("{:.3e}", x);
  const int magnitude = static_cast<int>(std::floor(std::log10(x)));
  return fmt::format("{:.{}f}", x, std::max(0, magnitude < 0 ? 2 - magnitude : 3 - magnitude));
}

std::string or_dash(const Certificate& certificate, const std::string& text) {
  return certificate.bounded() ? text : "-";
}

// How much longer than the fastest that reached the gap; at least so much if this one did not.
std::string slower(const SolverRun& run, const SolverRun& first) {
  if (first.status != StopReason::converged || !(first.seconds > 0)) return "-";
  const double ratio = run.seconds / first.seconds;
  if (run.status == StopReason::converged) return fmt::format("{:.2f}", ratio);
  return ratio > 1 ? fmt::format(">{:.2f}", ratio) : "-";
}

// "gap 0.001", "a gap of 0.001, or a primal of 7"
std::string goals(const Comparison& all) {
  return all.any_other() ? to_string(static_cast<const Goals&>(all))
                         : fmt::format("gap {:g}", all.gap);
}

std::string verdict(const Comparison& all) {
  const std::vector<std::size_t> order = ranking(all);
  const SolverRun& first = all.runs[order[0]];
  const std::string& name = first.name;
  if (first.status != StopReason::converged) {
    return fmt::format("none reached {}; {} came closest: {}{:.2g} after {} s", goals(all), name,
                       all.any_other() ? "gap " : "", first.certificate.relative_gap,
                       figure(first.seconds));
  }
  std::string text = fmt::format("{} {} {}: {} s, {} passes", name,
                                 all.runs.size() == 1 ? "reached" : "was first to", goals(all),
                                 figure(first.seconds), figure(first.data_passes));
  const SolverRun* fewest = &first;
  for (const SolverRun& run : all.runs) {
    const bool fewer = run.data_passes < fewest->data_passes;
    if (run.status == StopReason::converged && fewer) fewest = &run;
  }
  if (fewest != &first) {
    text +=
        fmt::format("; {} took the fewest passes: {}", fewest->name, figure(fewest->data_passes));
  }
  return text;
}

const SolverRun* find_reference(const Comparison& all) {
  const auto found = std::ranges::find(all.runs, kReference,
                                       [](const SolverRun& run) { return to_string(run.solver); });
  return found == all.runs.end() ? nullptr : &*found;
}

std::string to_text(const Comparison& all) {
  std::vector<std::vector<std::string>> table = {{"solver", "status", "seconds", "slower", "passes",
                                                  "iterations", "gap", "primal", "active %",
                                                  "search %"}};
  const SolverRun& first = all.runs[ranking(all)[0]];
  const auto share = [&](double rows) {
    return rows == 0 ? "-" : fmt::format("{:.2f}", 100 * rows / static_cast<double>(all.rows));
  };
  for (const SolverRun& run : all.runs) {
    table.push_back({run.name, std::string(to_string(run.status)), figure(run.seconds),
                     slower(run, first), figure(run.data_passes), std::to_string(run.iterations),
                     or_dash(run.certificate, fmt::format("{:.2e}", run.certificate.relative_gap)),
                     run.certificate.known() ? fmt::format("{:.8g}", run.certificate.primal) : "-",
                     share(run.mean_active()), share(run.mean_search())});
  }
  std::string out = aligned(table);
  if (const SolverRun* reference = find_reference(all); reference && all.runs.size() > 1) {
    table = {{fmt::format("relative to {}", kReference), "", "seconds", "iterations", "active set",
              "search set", "objective time", "search time"}};
    for (const SolverRun& run : all.runs) {
      if (&run == reference) continue;
      const RunRatios r = relative_to(run, *reference);
      table.push_back({run.name, "", figure(r.seconds), figure(r.iterations), figure(r.mean_active),
                       figure(r.mean_search), figure(r.objective_seconds),
                       figure(r.search_seconds)});
    }
    out += "\n" + aligned(table) + "\n";
  }
  return out + verdict(all);  // without a newline
}

// ---- As JSON.

Json to_json(const RunRatios& r) {
  return {{"seconds", r.seconds},
          {"iterations", r.iterations},
          {"mean_active", r.mean_active},
          {"mean_search", r.mean_search},
          {"objective_seconds", r.objective_seconds},
          {"search_seconds", r.search_seconds}};
}

Json to_json(const Comparison& all) {
  const SolverRun* reference = find_reference(all);
  Json runs = Json::list();
  for (const SolverRun& run : all.runs) {
    Json trace = Json::list();
    for (const Progress& p : run.trace) trace.push_back(trace_json(p));
    const Certificate& c = run.certificate;
    const bool planes = run.objective_rows > 0 || run.search_rows > 0;
    runs.push_back(
        {{"solver", run.name},
         {"status", to_string(run.status)},
         {"seconds", run.seconds},
         {"data_passes", run.data_passes},
         {"rows_touched", run.rows_touched},
         {"iterations", run.iterations},
         {"primal", primal_json(c)},
         {"dual", or_null(c, c.dual)},
         {"relative_gap", or_null(c, c.relative_gap)},
         {"objective_rows", run.objective_rows},
         {"search_rows", run.search_rows},
         {"objective_seconds", run.objective_seconds},
         {"search_seconds", run.search_seconds},
         {"mean_active", planes ? Json(run.mean_active()) : Json()},
         {"mean_search", planes ? Json(run.mean_search()) : Json()},
         {"relative_to_ocas", reference ? to_json(relative_to(run, *reference)) : Json()},
         {"trace", trace}});
  }
  Json object = {{"data", escape(all.data)}, {"rows", all.rows},       {"features", all.features},
                 {"nonzeros", all.nonzeros}, {"classes", all.classes}, {"cost", all.cost},
                 {"gap", all.gap},           {"threads", all.threads}};
  add_goals(object, all);
  object.add("runs", runs);
  return object;
}

Result<void> Compare::save_svg(const Comparison& all) const {
  if (svg_path.empty()) return {};
  Result<OutputFile> out = OutputFile::create(svg_path);
  if (!out.ok()) return out.error();
  if (Result<void> r = out->write(to_svg(all)); !r.ok()) return r;
  return out->commit();
}

int Compare::run() {
  const std::vector<Solver> chosen = parse_solvers();
  check_options(chosen);
  if (json && svg_path == "-") {
    usage("--json needs standard output for itself: give --svg another name");
  }
  if (Result<void> r = replacing.check({{svg_path, FileKind::figure}}, data.inputs()); !r.ok()) {
    return reporter.fail(r.error(), "nothing compared");
  }
  data.read.threads = options.threads;
  data.read.memory = options.memory;
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error(), "nothing compared");
  if (Result<void> r = data.check_classes(*rows); !r.ok()) {
    return reporter.fail(r.error(), "nothing compared");
  }
  Result<Comparison> all = race(*rows, chosen);
  if (!all.ok()) return reporter.fail(all.error(), "nothing compared");
  all->data = data.name();
  reporter.warn(all->warnings);

  const Result<void> saved = save_svg(*all);
  // The table must not be lost to a figure that cannot be written.
  if (svg_path == "-") {
    if (saved.ok()) to_stderr(to_text(*all));
  } else if (Result<void> r = print((json ? to_json(*all).dump() : to_text(*all)) + "\n");
             !r.ok()) {
    return reporter.fail(r.error());
  }
  if (!saved.ok()) return reporter.fail(saved.error(), "the figure was not written");
  const std::string outcome =
      fmt::format("{} of {} solvers have a result", all->runs.size(), chosen.size());
  if (all->failure) return reporter.fail(*all->failure, outcome);
  const bool interrupted =
      all->runs.size() < chosen.size() || all->runs.back().status == StopReason::interrupted;
  if (!interrupted) return 0;
  reporter.log(fmt::format("hinge: interrupted; {}", outcome));
  return signal_exit_code();
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto compare = std::make_shared<Compare>();
  CLI::App* command = app.add_subcommand(
      "compare", "Race solvers on the same data to the same goals: seconds, passes, and a figure.");
  compare->command = command;
  compare->data.add_shards_to(*command, kShardsHelp);
  command
      ->add_option("--solvers", compare->solvers,
                   fmt::format("which, in which order: names that --solver of train takes "
                               "(default {})",
                               kDefaultSolvers))
      ->type_name("A,B,...");
  std::vector<std::string> names;
  for (const OptionInfo& info : train_option_table()) {
    if (!kNotOurs.contains(info.name)) names.emplace_back(info.name);
  }
  add_table_options(*command, compare->options, names);
  for (const OptionInfo& info : train_option_table()) {
    if (info.solver.empty() || kNotOurs.contains(info.name)) continue;
    command->get_option("--" + std::string(info.name))
        ->group(fmt::format("Options of the solver {}", info.solver));
  }
  command->get_option("--gap")->description(
      "every solver stops when (primal - bound)/primal <= G (a number in (0, 1]; default 0.001, or "
      "none where another goal is given)");
  command->get_option("--time-limit")->description("stop each solver after S seconds (>= 0)");
  command->get_option("--max-passes")
      ->description("stop each solver after N passes over the data (a whole number > 0)");
  command->get_option("--cost")->excludes("--lambda");
  command->get_option("--gap")->excludes("--tolerance");
  command->get_option("--iterate")->excludes("--delta");
  compare->data.add_to(*command, true);
  command
      ->add_option("--weights", compare->data.read.weights_file,
                   "one cost factor a row, a line each")
      ->type_name("FILE");
  command
      ->add_option("--svg", compare->svg_path,
                   "draw the gap against seconds and passes; -: to stdout, and the table to stderr")
      ->type_name("FILE");
  command->add_flag("--json", compare->json, "print one JSON object on stdout, with all traces");
  compare->replacing.add_to(*command);
  compare->reporter.add_to(*command);
  command->footer(
      "Example: hinge compare news.svm --solvers dual,pegasos --gap 1e-4 --svg race.svg\n"
      "         hinge compare news.svm --time-limit 30 --json\n"
      "Solvers run one after the other. Ctrl-C ends the race and shows what there is.");
  command->callback([compare, &action] { action = [compare] { return compare->run(); }; });
}

}  // namespace hinge::cli
