// `hinge stream`: learns from rows on standard input, predicting each before it is learned.
#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "cli.h"

namespace hinge::cli {
namespace {

constexpr std::uint64_t kShown = 3;  // bad rows that are shown when they are skipped

struct StreamCommand {
  Reporter reporter;
  Replacing replacing;
  DataArguments data;
  TrainOptions table;  // those of its options that a stream has
  CLI::App* command = nullptr;
  std::string model_path;
  std::string predictions_path;
  std::string labels;
  std::string on_bad_row = "stop";
  std::uint64_t save_every = 0;
  bool resume = false;
  bool skip_seen = false;
  bool scores = false;
  bool json = false;

  int run();

 private:
  bool given(const char* option) const { return command->get_option(option)->count() > 0; }
  bool skips() const { return on_bad_row == "skip"; }
  void check_usage() const;
  std::vector<std::int64_t> parse_labels() const;
  StreamOptions stream_options() const;
  void check_agreement(const Model& model) const;
  Result<Stream> begin();
  int learn();
  std::optional<Error> learn_all();
  std::optional<Error> learn_block(const RowBlock& block);
  std::optional<Error> write_predictions();
  std::optional<Error> mark();
  Result<void> show_figures();
  std::optional<Error> save();
  void skip(Error error);
  int finish(std::optional<Error> error);
  void warn_at_end() const;

  std::optional<Stream> stream_;
  bool regression_ = false;  // rows have targets
  std::optional<RowReader> reader_;
  std::optional<OutputFile> predictions_file_;
  std::vector<StreamPrediction> predictions_;
  StreamFigures shown_;  // at the last line of the table
  bool any_shown_ = false;
  std::uint64_t next_shown_ = 1;
  std::uint64_t lines_before_ = 0;  // of inputs that earlier runs learned from
  std::uint64_t saved_ = 0;         // rows in the model that was last written
  std::uint64_t skipped_ = 0;
  std::string first_skipped_;
};

void StreamCommand::check_usage() const {
  if (!resume && !given("--lambda")) {
    usage("give --lambda: a stream cannot derive it, for it does not know how many rows will come");
  }
  if (resume && model_path.empty()) usage("--resume: give the MODEL to go on from");
  if (skip_seen && !resume) usage("--skip-seen: only --resume knows which lines were seen");
  if (given("--save-every") && model_path.empty()) usage("--save-every: give MODEL");
  if (given("--save-every") && save_every == 0) {
    usage_value("--save-every: expected a whole number > 0, got \"0\"");
  }
  if (scores && predictions_path.empty()) usage("--scores: give --predictions");
  if (given("--labels") && labels.empty()) {
    usage_value("--labels: expected whole numbers between commas, got \"\"");
  }
  std::error_code ignored;
  if (resume && std::filesystem::is_regular_file(predictions_path, ignored) &&
      std::filesystem::file_size(predictions_path, ignored) > 0) {
    usage(fmt::format("--predictions: {} may hold those of the rows before; give another name",
                      escape(predictions_path)));
  }
  if (table.balanced) {
    usage_value(
        "--class-weight: expected LABEL=FACTOR, got \"balanced\": a stream does not know how many "
        "rows of each class will come");
  }
  if (given("--epsilon") && !resume && !is_regression(table.loss)) {
    usage_value(
        "--epsilon: only losses of regression have one: --loss epsilon_insensitive or "
        "squared_epsilon");
  }
  if (model_path == "-") usage("give MODEL a name: standard output is for the figures");
  if (model_format("", model_path) != ModelFormat::native) {
    usage("a stream writes native models, which can be resumed: `hinge convert` makes LIBLINEAR's");
  }
}

std::vector<std::int64_t> StreamCommand::parse_labels() const {
  std::vector<std::int64_t> all;
  for (std::size_t from = 0; !labels.empty() && from <= labels.size();) {
    const std::size_t comma = std::min(labels.find(',', from), labels.size());
    std::string_view text = std::string_view(labels).substr(from, comma - from);
    if (text.starts_with('+')) text.remove_prefix(1);
    std::int64_t label = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), label);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
      usage_value(fmt::format("--labels: expected whole numbers between commas, got \"{}\"",
                              escape(labels)));
    }
    all.push_back(label);
    from = comma + 1;
  }
  std::ranges::sort(all);
  return all;
}

StreamOptions StreamCommand::stream_options() const {
  if (table.free_bias) usage_value("--bias: a stream takes none or a number, not free");
  return {.lambda = table.lambda,
          .bias = std::max(0.0, table.bias),
          .t0 = table.pegasos.t0.value_or(0),
          .loss = table.loss,
          .epsilon = table.epsilon,
          .update = table.pegasos.update,
          .class_weights = table.class_weights,
          .labels = parse_labels(),
          .reject = table.reject,
          .index_base = data.read.index_base,
          .precision = data.read.precision,
          .max_classes = table.max_classes,
          .memory = table.memory,
          .instruction_set = table.instruction_set};
}

std::string list_text(std::vector<std::int64_t> labels) {
  std::ranges::sort(labels);
  std::string text;
  for (const std::int64_t label : labels) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", label);
  }
  return text.empty() ? "none" : text;
}

std::string list_text(std::vector<ClassWeight> weights) {
  std::ranges::sort(weights, {}, &ClassWeight::label);
  std::string text;
  for (const ClassWeight& w : weights) {
    if (w.factor != 1) text += fmt::format("{}{}={}", text.empty() ? "" : ",", w.label, w.factor);
  }
  return text.empty() ? "none" : text;
}

std::string base_text(IndexBase base) {
  return base == IndexBase::zero ? "0" : base == IndexBase::one ? "1" : "auto";
}

// The model says how the stream goes on; an option may only say the same.
void StreamCommand::check_agreement(const Model& model) const {
  const StreamOptions asked = stream_options();
  const StreamState& s = *model.stream;
  const auto check = [&](const char* option, const auto& ours, const auto& theirs) {
    if (!given(option) || ours == theirs) return;
    usage_value(fmt::format("{}: {} is what MODEL was begun with, got {}", option, theirs, ours));
  };
  check("--lambda", asked.lambda, s.lambda);
  check("--t0", asked.t0, s.t0);
  check("--loss", to_string(asked.loss), to_string(model.origin.loss));
  check("--epsilon", asked.epsilon, model.origin.epsilon);
  check("--update", to_string(asked.update), to_string(model.origin.update));
  check("--bias", asked.bias, model.origin.bias_feature);
  check("--labels", list_text(asked.labels),
        s.rest ? std::string("none") : list_text(model.labels));
  check("--class-weight", list_text(asked.class_weights), list_text(model.origin.class_weights));
  check("--reject", std::string("on"), std::string(model.reject ? "on" : "off"));
  check("--index-base", base_text(asked.index_base), base_text(s.index_base));
  const auto precision = [](Precision p) {
    return std::string(p == Precision::f32 ? "f32" : "f64");
  };
  check("--precision", precision(asked.precision), precision(model.origin.precision));
}

// Creates the stream, or takes it from the model.
Result<Stream> StreamCommand::begin() {
  const StreamOptions options = stream_options();
  regression_ = is_regression(options.loss);
  if (!resume) return Stream::create(options);
  Result<Model> model = load_model(model_path, {}, &stop_flag());
  if (!model.ok()) return model.error();
  if (model->stream) {
    check_agreement(*model);
    data.read.index_base = model->stream->index_base;
    data.read.precision = model->origin.precision;
    regression_ = model->regression();
    saved_ = model->stream->rows;
    if (!skip_seen) lines_before_ = model->stream->lines;
  }
  Result<Stream> resumed = Stream::resume(*model, options);
  if (resumed.ok() || !resumed.error().id.starts_with("model.")) return resumed;
  Error error = resumed.error();
  error.file = model_path;
  return error;
}

int StreamCommand::run() {
  check_usage();
  // Where nobody reads the figures any more, what was learned is still to be saved.
  static_cast<void>(signal(SIGPIPE, SIG_IGN));
  // Whoever resumes reads MODEL, and says what is wrong with it.
  const auto model_kind = resume ? std::nullopt : std::optional(FileKind::model);
  const Result<void> checked =
      replacing.check({{model_path, model_kind}, {predictions_path, FileKind::predictions}}, {});
  if (!checked.ok()) {
    Error error = checked.error();
    const Result<FileKind> there = file_kind(model_path);
    if (error.id == "io.replace" && there.ok() && *there == FileKind::rows) {
      error.help = fmt::format("rows are read from standard input: < {}", escape(model_path));
    }
    return reporter.fail(error, "nothing learned");
  }
  Result<Stream> stream = begin();
  if (!stream.ok()) {
    if (stream.error().id.starts_with("usage.")) throw UsageError{stream.error()};
    return reporter.fail(stream.error(), "nothing learned");
  }
  stream_.emplace(std::move(stream).value());
  shown_ = stream_->figures();
  while (next_shown_ <= shown_.rows) next_shown_ *= 2;
  data.read.stop = &stop_flag();
  data.read.real_labels = regression_;
  if (skips()) data.read.on_bad_row = [this](const Error& error) { skip(error); };
  Result<RowReader> reader = RowReader::open("-", data.read, skip_seen ? shown_.lines : 0);
  if (!reader.ok()) return reporter.fail(reader.error(), "nothing learned");
  reader_.emplace(std::move(reader).value());
  if (!predictions_path.empty()) {
    Result<OutputFile> out = OutputFile::create(predictions_path);
    if (!out.ok()) return reporter.fail(out.error(), "nothing learned");
    predictions_file_.emplace(std::move(out).value());
  }
  return learn();
}

// Up to the end of the rows, or what ended it.
std::optional<Error> StreamCommand::learn_all() {
  RowBlock block;
  while (true) {
    const Result<bool> more = reader_->next(block);
    if (!more.ok()) return more.error();
    if (!*more) return {};
    if (std::optional<Error> error = learn_block(block)) return error;
    if (predictions_file_) {  // whoever reads them shall not wait for rows to come
      if (Result<void> r = predictions_file_->flush(); !r.ok()) return r.error();
    }
    if (stop_flag().load()) return make_error("run.interrupted", "interrupted");
  }
}

int StreamCommand::learn() {
  std::optional<Error> error;
  try {
    error = learn_all();
  } catch (const std::bad_alloc&) {  // whatever it was for, what was learned is saved
    error = make_error("memory.alloc", "memory ran out");
  }
  if (error) return finish(std::move(error));
  stream_->set_lines(lines_before_ + reader_->lines());
  if (stream_->figures().rows > 0) return finish({});
  Error empty = make_error("data.empty", reader_->lines() == 0
                                             ? "no rows"
                                             : fmt::format("0 rows in {} lines", reader_->lines()));
  empty.file = "<stdin>";
  return finish(std::move(empty));
}

std::optional<Error> StreamCommand::learn_block(const RowBlock& block) {
  std::uint64_t i = 0;
  while (i < block.rows.rows() && !stop_flag().load()) {
    const std::uint64_t rows = stream_->figures().rows;
    std::uint64_t count = next_shown_ - rows;
    if (save_every > 0) count = std::min(count, save_every - rows % save_every);
    predictions_.clear();
    const Result<void> learned = stream_->learn_batch(
        block.rows, predictions_, {.first = i, .count = count, .stop = &stop_flag()});
    i += predictions_.size();
    if (!predictions_.empty()) {
      stream_->set_lines(lines_before_ + block.lines[i - 1]);
      if (std::optional<Error> error = write_predictions()) return error;
      if (std::optional<Error> error = mark()) return error;
    }
    if (learned.ok()) continue;
    Error error = learned.error();
    error.file = "<stdin>";
    error.line = block.lines[i];
    error.column = 1;
    if (!skips() || error.id != "data.label.unknown") return error;
    skip(std::move(error));
    ++i;
  }
  return {};
}

std::optional<Error> StreamCommand::write_predictions() {
  if (!predictions_file_) return {};
  std::string text;
  const auto append = [&](auto number) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  };
  for (const StreamPrediction& prediction : predictions_) {
    if (prediction.none) {
      text += "none";
    } else if (regression_) {
      append(prediction.score);
    } else {
      append(prediction.label);
    }
    if (scores && !regression_) {
      text += ' ';
      append(prediction.score);
    }
    text += '\n';
  }
  const Result<void> written = predictions_file_->write(text);
  if (written.ok()) return {};
  return written.error();
}

// What is due at this number of rows.
std::optional<Error> StreamCommand::mark() {
  const std::uint64_t rows = stream_->figures().rows;
  if (save_every > 0 && rows % save_every == 0) {
    if (std::optional<Error> error = save()) return error;
  }
  if (rows == next_shown_) {
    next_shown_ *= 2;
    if (Result<void> r = show_figures(); !r.ok()) return r.error();
  }
  return {};
}

// One line of the table: over all rows, and since the last line.
Result<void> StreamCommand::show_figures() {
  const StreamFigures now = stream_->figures();
  const auto ratio = [](double sum, std::uint64_t rows) {
    return rows == 0 ? 0.0 : sum / static_cast<double>(rows);
  };
  const double loss = ratio(now.loss, now.rows);
  const double loss_since = ratio(now.loss - shown_.loss, now.rows - shown_.rows);
  // A loss has no bound; as a fraction 1e300 would have as many digits.
  const auto number = [](double x) {
    return x < 1e6 ? fmt::format("{:.6f}", x) : fmt::format("{:.6g}", x);
  };
  std::string text;
  if (regression_) {
    const double rmse = std::sqrt(ratio(now.squares, now.rows));
    const double rmse_since =
        std::sqrt(ratio(std::max(0.0, now.squares - shown_.squares), now.rows - shown_.rows));
    if (json) {
      text = Json({{"rows", now.rows},
                   {"loss", loss},
                   {"rmse", rmse},
                   {"loss_since", loss_since},
                   {"rmse_since", rmse_since}})
                 .dump();
    } else {
      if (!any_shown_) {
        text = fmt::format("{:>12} {:>12} {:>12}   since the last line: {:>12} {:>12}\n", "rows",
                           "loss", "RMSE", "loss", "RMSE");
      }
      text += fmt::format("{:>12} {:>12} {:>12} {:>35} {:>12}", now.rows, number(loss),
                          number(rmse), number(loss_since), number(rmse_since));
    }
  } else {
    const double error = ratio(static_cast<double>(now.errors), now.rows);
    const double error_since =
        ratio(static_cast<double>(now.errors - shown_.errors), now.rows - shown_.rows);
    if (json) {
      text = Json({{"rows", now.rows},
                   {"loss", loss},
                   {"error", error},
                   {"accuracy", 1 - error},
                   {"loss_since", loss_since},
                   {"error_since", error_since}})
                 .dump();
    } else {
      if (!any_shown_) {
        text = fmt::format("{:>12} {:>10} {:>9} {:>9}   since the last line: {:>10} {:>9}\n",
                           "rows", "loss", "error", "accuracy", "loss", "error");
      }
      text += fmt::format("{:>12} {:>10} {:>9.6f} {:>9.6f} {:>33} {:>9.6f}", now.rows, number(loss),
                          error, 1 - error, number(loss_since), error_since);
    }
  }
  shown_ = now;
  any_shown_ = true;
  if (predictions_path != "-") return print(text + "\n");
  reporter.log(text);
  return {};
}

std::optional<Error> StreamCommand::save() {
  if (const Result<void> saved = stream_->save(model_path); !saved.ok()) return saved.error();
  saved_ = stream_->figures().rows;
  return {};
}

void StreamCommand::skip(Error error) {
  error.severity = Severity::warning;
  if (skipped_++ == 0) {
    first_skipped_ = fmt::format("{}:{}:{}", escape(error.file), error.line, error.column);
  }
  if (skipped_ <= kShown) reporter.warn({error});
}

void StreamCommand::warn_at_end() const {
  std::vector<Error> warnings = reader_->warnings();
  if (skipped_ > 0) {
    warnings.push_back(make_warning(
        "data.row.skipped",
        fmt::format("{} bad rows were skipped (first: {})", skipped_, first_skipped_)));
  }
  const std::vector<std::int64_t> known = stream_->labels();
  for (const ClassWeight& w : table.class_weights) {
    if (std::ranges::find(known, w.label) != known.end()) continue;
    warnings.push_back(
        make_warning("usage.class-weight",
                     fmt::format("no row has had label {} so far; its weight is unused", w.label)));
  }
  reporter.warn(warnings);
}

// Saves what was learned, whatever ended the stream: the input, a signal, or an error.
int StreamCommand::finish(std::optional<Error> error) {
  const std::uint64_t rows = stream_->figures().rows;
  const bool interrupted = error && error->id == "run.interrupted";
  std::optional<Error> lost;  // why something that was learned is not where it was to be
  if (!model_path.empty() && rows > 0) lost = save();
  if (predictions_file_) {
    if (Result<void> r = predictions_file_->commit(); !r.ok() && !lost) lost = r.error();
  }
  if (rows > shown_.rows || (rows > 0 && !any_shown_)) {
    if (Result<void> r = show_figures(); !r.ok() && !lost) lost = r.error();
  }
  warn_at_end();
  std::string outcome = fmt::format("{} rows were learned", rows);
  if (!model_path.empty()) {
    std::error_code ignored;  // its folder may be gone since the last save
    const bool there = saved_ > 0 && std::filesystem::exists(model_path, ignored);
    outcome = !there           ? "no model written"
              : saved_ == rows ? fmt::format("{} holds {} rows", escape(model_path), rows)
                               : fmt::format("{} holds the first {} of {} rows", escape(model_path),
                                             saved_, rows);
  }
  int code = 0;
  if (interrupted && rows > 0) {
    reporter.log(fmt::format("hinge: interrupted; {}", outcome));
    code = signal_exit_code();
  } else if (error) {
    code = reporter.fail(*error, outcome);
  }
  // The same trouble is not told twice.
  if (lost && !(error && lost->id == error->id)) code = reporter.fail(*lost, outcome);
  return code;
}

}  // namespace

void add_stream(CLI::App& app, Action& action) {
  auto stream = std::make_shared<StreamCommand>();
  CLI::App* command = app.add_subcommand(
      "stream", "Learn online from rows on standard input, each predicted before it is learned.");
  stream->command = command;
  command->add_option("MODEL", stream->model_path,
                      "where to save at the end, on a signal, and before an error ends the run; "
                      "without it only the figures are printed");
  add_table_options(*command, stream->table,
                    {"lambda", "t0", "loss", "epsilon", "update", "bias", "class-weight", "reject",
                     "max-classes", "memory", "cpu"});
  command->get_option("--loss")->description(
      "what a row costs: max(0, 1 - z), z its margin, the square of that, or log(1 + exp(-z)) "
      "(hinge, squared_hinge, logistic; default hinge); or in regression, where labels are numbers "
      "to be predicted, max(0, |z| - epsilon), z being by how much a score misses its label, or "
      "its "
      "square (epsilon_insensitive, squared_epsilon)");
  command->get_option("--lambda")
      ->description("regularisation; step t has size 1/(L t) (a finite number > 0); must be given");
  command->get_option("--t0")->description(
      "the first step has the size of step N + 1 (a whole number below 2^53; default 0)");
  command->get_option("--class-weight")
      ->description(
          "multiply the steps of rows of class L by W > 0 (also: -wL W); may be repeated");
  command->get_option("--memory")
      ->description(
          "most memory that the sums, and saving them, may take: a row that needs more ends the "
          "run (default: nine tenths of the machine's)");
  command
      ->add_option("--labels", stream->labels,
                   "the only labels there are: rows with others are bad, and memory is saved "
                   "(default: labels as they come)")
      ->type_name("L,L,...");
  command->add_flag("--resume", stream->resume, "go on from MODEL, and save there");
  command->add_flag("--skip-seen", stream->skip_seen,
                    "with --resume: the input begins again at its first line; pass over what MODEL "
                    "has learned from");
  add_count(*command, "--save-every", stream->save_every, "save every N rows, too (N > 0)");
  command
      ->add_option("--predictions", stream->predictions_path,
                   "write the prediction of each row before it was learned, as predict does; -: "
                   "to stdout, and the figures to stderr")
      ->type_name("FILE");
  command->add_flag("--scores", stream->scores, "with --predictions: add the score");
  command
      ->add_option("--on-bad-row", stream->on_bad_row,
                   "stop: save, and end with the error; skip: leave the row out and count it "
                   "(default stop)")
      ->type_name("stop|skip")
      ->check(CLI::IsMember({"stop", "skip"}));
  stream->data.add_index_base_to(*command);
  stream->data.add_precision_to(*command);
  command->get_option("--precision")
      ->description("how values are read; sums are always double (default f32)");
  command->add_flag("--strict", stream->data.read.strict,
                    "refuse rows whose indices do not ascend");
  add_size(*command, "max-line-bytes", stream->data.read.max_line_bytes,
           "refuse longer lines (default 1G)");
  stream->replacing.add_to(*command);
  command->add_flag("--json", stream->json, "print JSON lines instead of the table");
  stream->reporter.add_to(*command);
  command->footer(
      "Example: tail -f clicks.svm | hinge stream --lambda 1e-5 clicks.model --save-every 100000\n"
      "         hinge stream --resume --skip-seen clicks.model < clicks.svm\n"
      "The table has progressive loss and error (of regression the root of the mean square of what "
      "is missed), at rows 1, 2, 4, 8, ... and at the end.");
  command->callback([stream, &action] { action = [stream] { return stream->run(); }; });
}

}  // namespace hinge::cli
