// What the commands share: how they are registered, read data, report trouble, and end.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hinge/hinge.h"
#include "hinge/transport.h"

namespace hinge::cli {

// What a command does once its arguments are parsed; returns the exit code.
using Action = std::function<int()>;

// One per command, each in its cmd_*.cc: adds the subcommand and sets `action` when it is chosen.
void add_train(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_stream(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_split(CLI::App& app, Action& action);
void add_info(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);

void to_stderr(std::string_view line);  // with a newline; never fails, takes no memory

void set_help_format(CLI::App& app);  // before commands are added; they inherit it

// Prints errors and warnings on stderr in the form asked for, and counts them.
class Reporter {
 public:
  bool quiet = false;                // drops warnings and logs, never errors
  std::string diagnostics = "text";  // or "json"

  void add_to(CLI::App& command);  // --quiet, --diagnostics
  void warn(const std::vector<Error>& warnings) const;
  // Prints the error and `outcome` ("no model written"), returns the exit code. Of several ranks,
  // which all call it with the error they agreed on, one prints it.
  int fail(const Error& error, const std::string& outcome = {}) const;
  void log(const std::string& line) const;  // stderr, unless quiet

 private:
  void print(const Error& error, const std::string& outcome) const;
};

// A wrong use that only shows after parsing. Throw it from an action or a callback.
struct UsageError {
  Error error;
};
[[noreturn]] void usage(std::string message);
[[noreturn]] void usage_value(std::string message);

// Options several commands have.
CLI::Option* add_count(CLI::App& command, const std::string& flags, std::uint64_t& target,
                       const std::string& help);
CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& target,
                      const std::string& help);
CLI::Option* add_threads(CLI::App& command, int& threads);
// --cost C: which model of a file with several.
CLI::Option* add_cost(CLI::App& command, std::optional<double>& cost);

// Options of the one table (hinge/options.h), so that the command line cannot differ from the
// library: all of them, or those named.
void add_table_options(CLI::App& command, TrainOptions& options,
                       const std::vector<std::string>& names = {});

// A file that a command writes; without a name it does not.
struct Output {
  std::string path;
  std::optional<FileKind> kind;  // none: its writer looks at what is there
  bool fresh = false;            // not even a file of this kind is replaced, unless it is empty
  ClassNames names = {};         // of the classes, if it is of predictions of such
};

Error overwrites(const std::string& path);  // usage.same-file

// Whether files of another kind may be replaced: --force.
struct Replacing {
  bool force = false;
  void add_to(CLI::App& command);

  // Before any work: every output can be created, is neither an input nor another output, and
  // replaces no file of another kind unless that is forced. Inputs may be patterns.
  Result<void> check(const std::vector<Output>& outputs,
                     const std::vector<std::string>& inputs) const;
};

// The format of a model to be written: as asked for ("native", "liblinear"), or, if `asked` is
// empty, by the name of the file: LIBLINEAR's if it ends in .liblinear.
ModelFormat model_format(const std::string& asked, const std::string& path);

// A line on the terminal that is rewritten in place; nothing when stderr is no terminal. Shown once
// the work has taken two seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);
  void clear();  // for a line of the log

 private:
  bool enabled_;
  double started_;
  double shown_ = 0;
  bool visible_ = false;
};

// Options of all commands that read data.
struct DataArguments {
  std::vector<std::string> sources;  // files, patterns, or -
  ReadOptions read;
  std::string cache;  // as written; read.cache is what it means

  // The positional argument: one data set, or shards of one (DATA...).
  void add_source_to(CLI::App& command, const std::string& name, const std::string& help);
  void add_shards_to(CLI::App& command, const std::string& help);
  const std::string& name() const { return sources.front(); }  // as given; of shards the first

  void add_to(CLI::App& command, bool precision);
  void add_reading_to(CLI::App& command);  // those of add_to() that say nothing of numbers
  void add_index_base_to(CLI::App& command);
  void add_precision_to(CLI::App& command);
  // Every file that is read, for Replacing::check().
  std::vector<std::string> inputs() const;
  bool precision_given = false;
  // Whether training takes the labels of the rows that were loaded.
  Result<void> check_classes(const Dataset& rows) const;
  // This is the same of regression.
  Result<void> check_targets(const Dataset& rows) const;
  // With ranks, this one's share.
  Result<Dataset> load(const Reporter& reporter, Transport* ranks = nullptr);
  void watch(ProgressLine& line);  // reading is shown on `line` and stopped by signals
};

// The processes that train together, if a launcher of MPI (mpirun, srun) started this one.
class Ranks {
 public:
  static constexpr double kTimeout = 300;  // the default of --mpi-timeout

  // Fails with mpi.unavailable, and with mpi.launcher if MPI and the launcher do not agree on how
  // many there are. `timeout`: seconds to wait for another rank. Does nothing the second time.
  Result<void> open(double timeout);
  // The orderly end, which all ranks come to.
  void close();

  bool several() const;
  bool first() const;    // rank 0, which has the log, warnings and results; so has who is alone
  bool reports() const;  // whether it falls to this process to print an error that all know of
  Transport* transport() { return several() ? transport_.get() : nullptr; }

  // The error of the lowest rank that has one, with its rank, for all of them; all must call it.
  Result<void> agree(const Result<void>& mine);
  // The same of exit codes that are not 0.
  int agree(int code);

 private:
  Result<void> load_transport(double timeout);

  std::unique_ptr<Transport> transport_;
};

Ranks& ranks();  // of this process

// What DATA may be, for --help.
extern const char* const kDataHelp;
extern const char* const kShardsHelp;

// Reads DATA the way a model wants it: numbered like its features, values as double. Warns of
// features and labels the model does not know.
Result<Dataset> load_for(const Model& model, DataArguments& data, bool labels, int threads,
                         const Reporter& reporter);

// SIGINT, SIGTERM, SIGXCPU and SIGHUP (unless it is ignored) set a flag once; the second one ends
// the program at once. SIGUSR1 is counted.
void install_signal_handlers();
const std::atomic<bool>& stop_flag();
int signal_exit_code();  // 128 + the signal that was caught; 0 if none
const std::atomic<std::uint64_t>& checkpoint_requests();  // how often SIGUSR1 came

// Says it where columns differ in scale (data.scale); of several ranks none knows all rows.
void warn_of_scale(const Dataset& rows, const Reporter& reporter);

// What rows cost that are trained on so: "max(0, 1 - y <w,x>)".
std::string loss_formula(const TrainOptions& options);

// "gap 0.00071 (primal 4.1, bound 4.09)"
std::string reached(const Model& model);

// One record of `train --trace` and of the traces of `compare --json`.
Json trace_json(const Progress& progress);

// What a run was asked to reach, by the names it has in TrainOptions; only what was asked.
Json goals_json(const Goals& asked);
// Adds that where there is more to say than the usual gap.
void add_goals(Json& object, const Goals& asked);

// The primal where it is known, and a number that has a meaning only where a bound is known.
Json primal_json(const Certificate& certificate);
Json or_null(const Certificate& certificate, double value);

// How many characters fit into a line of standard output: those of the terminal, else 80.
std::size_t line_width();

// The object `evaluate --json` prints (metrics.cc, as all about metrics).
Json metrics_json(const Metrics& metrics);
// What `evaluate` prints: every line is at most `width` characters wide where that is 60 or more.
std::string metrics_text(const Metrics& metrics, bool binary, std::size_t width);
// "RMSE 0.31, MAE 0.2, R^2 0.9124, correlation 0.9561"
std::string regression_text(const RegressionMetrics& metrics);

// How well each of several models predicts, as a table or as one JSON object, with a newline. The
// most accurate is marked, the first of equals. `models` may be empty: then only costs are known.
std::string metrics_table(std::span<const double> costs, std::span<const Metrics> metrics,
                          std::span<const Model> models, bool json);

// Text on stdout, checked: a full disk behind a redirection is an error.
Result<void> print(const std::string& text);

// Options of commands that cross-validate (folds.cc, as what follows).
struct FoldArguments {
  std::string groups_path;
  bool time_order = false;

  void add_to(CLI::App& command);
  Result<FoldOptions> options(int folds, const Dataset& rows) const;  // reads the groups
};

// How far a cross-validation is, on a line of the terminal.
class FoldProgress {
 public:
  explicit FoldProgress(const Reporter& reporter);
  void tell(const Folded& found);
  void show(const Progress& progress);

 private:
  ProgressLine line_;
  int fold_ = 1, folds_ = 1;
  std::size_t tried_ = 1;
};

// A line a cost: the mean of the metric, its spread, and both drawn; the chosen one, if any, is
// marked.
std::string folded_text(const std::vector<FoldedCost>& costs, Metric metric, int folds,
                        std::optional<std::size_t> chosen);
Json folded_json(const FoldedCost& cost);
// What `train -v` prints, as text or as one JSON object, with a newline.
std::string cross_validation_text(const Folded& found, bool json);

// What `train -C` prints of each cost, and of the best (cost_search.cc).
std::string trial_text(const CostTrial& trial, const TrainOptions& options);
std::string search_text(const CostSearch& search, const TrainOptions& options);
Json search_json(const CostSearch& search, const TrainOptions& options, int folds);

}  // namespace hinge::cli
