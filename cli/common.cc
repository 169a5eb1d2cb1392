#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <utility>

#include "cli.h"

namespace hinge::cli {
namespace {

std::atomic<bool> g_stop{false};
std::atomic<std::uint64_t> g_requests{0};
volatile sig_atomic_t g_signal = 0;
timespec g_signalled = {};  // when

// The first signal asks for an orderly end, the second for one at once. The same one again within
// 0.1 s is still the first: timeout(1) signals a process and then its group.
void on_signal(int number) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (g_signal == 0) {
    g_signalled = now;
    g_signal = number;
    g_stop.store(true, std::memory_order_relaxed);
    alarm(1);
    return;
  }
  const auto nanoseconds =
      (now.tv_sec - g_signalled.tv_sec) * 1'000'000'000LL + (now.tv_nsec - g_signalled.tv_nsec);
  if (number != g_signal || nanoseconds > 100'000'000) _exit(128 + number);
}

// Once there was a signal every second interrupts a wait for whoever should read a named pipe: the
// wait may have begun after the signal.
void on_alarm(int) {
  alarm(1);
}

void on_request(int) {
  g_requests.fetch_add(1, std::memory_order_relaxed);
}

// Another process cut a mapped file short. Nothing can be unwound from here; a temporary file that
// is open (convert) stays behind, as after a kill.
void on_bus_error(int) {
  constexpr std::string_view kMessage =
      "hinge: error: a mapped file was cut short while it was used [io.changed]\n"
      "hinge: 1 error; nothing written\n";
  static_cast<void>(!write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  _exit(74);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void to_stderr(std::string_view line) {
  // Where messages cannot be written there is nobody to tell.
  static_cast<void>(std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()));
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGXCPU}) sigaction(number, &action, nullptr);
  // Who was started by nohup does not care whether the terminal is there.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_request;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = 0;
  action.sa_handler = on_bus_error;
  sigaction(SIGBUS, &action, nullptr);
  // A file that grows too large shall be an error of write(), not the end of the program.
  static_cast<void>(signal(SIGXFSZ, SIG_IGN));
}

const std::atomic<bool>& stop_flag() {
  return g_stop;
}
const std::atomic<std::uint64_t>& checkpoint_requests() {
  return g_requests;
}
int signal_exit_code() {
  return g_signal == 0 ? 0 : 128 + static_cast<int>(g_signal);
}

void usage_value(std::string message) {
  throw UsageError{make_error("usage.value", std::move(message))};
}

void usage(std::string message) {
  throw UsageError{make_error("usage.option", std::move(message))};
}

Error overwrites(const std::string& path) {
  return make_error("usage.same-file", fmt::format("{} would be overwritten", escape(path)),
                    "choose another name for the output");
}

void Replacing::add_to(CLI::App& command) {
  command.add_flag("--force", force, "replace whatever file is there");
}

Result<void> Replacing::check(const std::vector<Output>& outputs,
                              const std::vector<std::string>& inputs) const {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string& path = outputs[k].path;
    if (path.empty()) continue;
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < k; ++i) taken.push_back(outputs[i].path);
    for (const std::string& input : inputs) {
      if (input == "-") continue;  // standard input; an output of that name is standard output
      const Result<std::vector<std::string>> files = source_files(input);
      if (!files.ok()) return files.error();  // or an input not listed could be overwritten
      taken.insert(taken.end(), files->begin(), files->end());
    }
    for (const std::string& other : taken) {
      if (same_file(path, other)) return overwrites(other);
    }
    if (Result<void> checked = check_output(path); !checked.ok()) return checked;
    if (force || !outputs[k].kind) continue;
    if (Result<void> r = check_replaces(path, *outputs[k].kind, outputs[k].names); !r.ok())
      return r;
    if (!outputs[k].fresh) continue;
    const Result<FileKind> there = file_kind(path);
    if (!there.ok()) return there.error();
    if (*there == *outputs[k].kind) {
      return make_error(
          "io.replace",
          fmt::format("cannot write {}: it is {} already", escape(path), to_string(*there)),
          "choose another name for the output, or give --force to replace the file");
    }
  }
  return {};
}

ModelFormat model_format(const std::string& asked, const std::string& path) {
  const bool text = asked.empty() ? path.ends_with(".liblinear") : asked == "liblinear";
  return text ? ModelFormat::liblinear : ModelFormat::native;
}

CLI::Option* add_count(CLI::App& command, const std::string& flags, std::uint64_t& target,
                       const std::string& help) {
  const auto parse = [&target, flags](const std::string& text) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), target);
    if (result.ec == std::errc() && result.ptr == text.data() + text.size()) return;
    usage_value(fmt::format("{}: expected a whole number from 0 to 2^64 - 1, got \"{}\"", flags,
                            escape(text)));
  };
  return command.add_option_function<std::string>(flags, parse, help)->type_name("N");
}

CLI::Option* add_size(CLI::App& command, const std::string& name, std::uint64_t& target,
                      const std::string& help) {
  const auto parse = [&target, name](const std::string& text) {
    const Result<std::uint64_t> size = parse_size(name, text);
    if (!size.ok()) throw UsageError{size.error()};
    target = *size;
  };
  return command.add_option_function<std::string>("--" + name, parse, help)->type_name("SIZE");
}

CLI::Option* add_threads(CLI::App& command, int& threads) {
  return command.add_option("-n,--threads", threads, "0 = all cores (default 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096));
}

CLI::Option* add_cost(CLI::App& command, std::optional<double>& cost) {
  const auto parse = [&cost](const std::string& text) {
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size() || !(value > 0)) {
      usage_value(fmt::format("--cost: expected a number > 0, got \"{}\"", escape(text)));
    }
    cost = value;
  };
  return command
      .add_option_function<std::string>("-c,--cost", parse,
                                        "of a file with several models, the one of this cost")
      ->type_name("C");
}

void add_table_options(CLI::App& command, TrainOptions& options,
                       const std::vector<std::string>& names) {
  for (const OptionInfo& info : train_option_table()) {
    const std::string name(info.name);
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    const std::string flags =
        (info.letter.empty() ? "" : fmt::format("-{},", info.letter)) + "--" + name;
    std::string help(info.help);
    if (!info.range.empty()) {
      help += fmt::format(" ({}{})", info.range,
                          info.fallback.empty() ? "" : fmt::format("; default {}", info.fallback));
    }
    const auto set = [&options, name](const std::string& text) {
      if (Result<void> r = set_option(options, name, text); !r.ok()) throw UsageError{r.error()};
    };
    if (info.argument.empty()) {
      command.add_flag_callback(
          flags, [set] { set(""); }, help);
      continue;
    }
    CLI::Option* option = command.add_option_function<std::vector<std::string>>(
        flags,
        [set](const std::vector<std::string>& texts) {
          for (const std::string& text : texts) set(text);
        },
        help);
    option->type_name(std::string(info.argument));
    if (!info.solver.empty() && names.empty())
      option->group(fmt::format("Options of --solver {}", info.solver));
    option->expected(1);
    if (name == "class-weight") {
      // CLI11 heeds allow_extra_args(false) of no smaller maximum.
      option->expected(1, CLI::detail::expected_max_vector_size)->take_all();
    }
    option->allow_extra_args(false);  // what follows the value is no other value, but DATA
  }
}

void Reporter::add_to(CLI::App& command) {
  command.add_flag("-q,--quiet", quiet, "no log and no warnings; errors are always shown");
  command.add_option("--diagnostics", diagnostics, "form of errors and warnings: text or json")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json"}));
}

void Reporter::warn(const std::vector<Error>& warnings) const {
  if (quiet || !ranks().first()) return;
  for (const Error& warning : warnings) {
    to_stderr(diagnostics == "json" ? to_json(warning) : to_string(warning));
  }
}

int Reporter::fail(const Error& error, const std::string& outcome) const {
  if (ranks().reports()) print(error, outcome);
  const int code = error.id == "run.interrupted" ? ranks().agree(signal_exit_code()) : 0;
  return code != 0 ? code : exit_code(error);
}

void Reporter::print(const Error& error, const std::string& outcome) const {
  const std::size_t count = 1 + error.more.size();
  if (diagnostics == "json") {
    to_stderr(to_json(error));
    for (const Error& next : error.more) to_stderr(to_json(next));
  } else {
    to_stderr(to_string(error));
    if (count >= 10) {
      to_stderr(fmt::format("hinge: ... and more; use `hinge check {}` for all",
                            error.file.empty() ? "FILE" : escape(error.file)));
    }
    // After io.sync the file is in place, and what was to be said of its absence is not so.
    const bool mute = outcome.empty() || error.id == "io.sync";
    to_stderr(fmt::format("hinge: {} error{}{}{}", count, count == 1 ? "" : "s", mute ? "" : "; ",
                          mute ? "" : outcome));
  }
}

void Reporter::log(const std::string& line) const {
  if (!quiet && ranks().first()) to_stderr(line);
}

const char* const kDataHelp =
    "libsvm text, plain or compressed: a file, a 'pattern*', or -; or a binary data set";
const char* const kShardsHelp =
    "libsvm text, plain or compressed: a file, a 'pattern*', or -; several are one data set in "
    "this order; or a binary data set";

void DataArguments::add_source_to(CLI::App& command, const std::string& name,
                                  const std::string& help) {
  const auto set = [this](const std::string& text) { sources = {text}; };
  command.add_option_function<std::string>(name, set, help)->required();
}

void DataArguments::add_shards_to(CLI::App& command, const std::string& help) {
  command.add_option("DATA", sources, help)->required();
}

void DataArguments::add_reading_to(CLI::App& command) {
  command.add_flag("--strict", read.strict, "refuse rows whose indices do not ascend");
  command.add_flag("--real-labels", read.real_labels,
                   "labels of text may be real numbers, as targets of regression are");
  command
      .add_flag(
          "--cache{on}", cache,
          "keep the rows as a binary data set beside DATA (DATA.cache) and map that the next time; "
          "--cache=strict compares all of the text and refuses a cache of another, or of others")
      ->each([this](const std::string& text) {
        if (text != "on" && text != "strict") {
          usage_value(
              fmt::format("--cache: expected no value or strict, got \"{}\"", escape(text)));
        }
        read.cache = text == "on" ? Cache::on : Cache::strict;
      });
  add_size(command, "max-bytes", read.max_bytes, "refuse more text than this, decompressed");
  add_size(command, "max-line-bytes", read.max_line_bytes, "refuse longer lines (default 1G)");
}

void DataArguments::add_index_base_to(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--index-base",
          [this](const std::string& text) {
            read.index_base = text == "0"   ? IndexBase::zero
                              : text == "1" ? IndexBase::one
                                            : IndexBase::automatic;
          },
          "number of the first feature; auto: an index 0 anywhere means 0 (default auto)")
      ->type_name("auto|0|1")
      ->check(CLI::IsMember({"auto", "0", "1"}));
}

void DataArguments::add_to(CLI::App& command, bool precision) {
  add_index_base_to(command);
  add_reading_to(command);
  if (precision) add_precision_to(command);
}

void DataArguments::add_precision_to(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--precision",
          [this](const std::string& text) {
            read.precision = text == "f64" ? Precision::f64 : Precision::f32;
            precision_given = true;
          },
          "how values are kept; sums are always double (default f32); a binary data set keeps its "
          "own")
      ->type_name("f32|f64")
      ->check(CLI::IsMember({"f32", "f64"}));
}

std::vector<std::string> DataArguments::inputs() const {
  std::vector<std::string> all = sources;
  all.push_back(read.weights_file);
  const Result<std::vector<std::string>> files = source_files(sources);
  if (read.cache != Cache::off && files.ok()) all.push_back(cache_path(files->front()));
  return all;
}

void DataArguments::watch(ProgressLine& line) {
  read.stop = &stop_flag();
  read.progress = [&line](std::uint64_t bytes, std::uint64_t total) {
    const double megabytes = static_cast<double>(bytes) / 1e6;
    line.show(total == 0 ? fmt::format("reading: {:.0f} MB", megabytes)
                         : fmt::format("reading: {:.0f} of {:.0f} MB", megabytes,
                                       static_cast<double>(total) / 1e6));
  };
}

Result<Dataset> DataArguments::load(const Reporter& reporter, Transport* ranks) {
  ProgressLine line(!reporter.quiet);
  watch(line);
  std::vector<Error> warnings;
  Result<Dataset> data = ranks == nullptr ? read_dataset(sources, read, warnings)
                                          : read_share(sources, read, *ranks, warnings);
  reporter.warn(warnings);
  return data;
}

Result<void> DataArguments::check_classes(const Dataset& rows) const {
  const Result<void> checked = rows.check_classes();
  if (checked.ok()) return {};
  Error error = checked.error();
  error.file = name();
  return error;
}

Result<void> DataArguments::check_targets(const Dataset& rows) const {
  if (rows.label_kind() != LabelKind::names) return {};
  Error error = make_error("data.label.kind",
                           "the labels are names; expected numbers, which are to be predicted");
  error.help = "without a --loss of regression hinge learns classes";
  error.file = name();
  return error;
}

void warn_of_scale(const Dataset& rows, const Reporter& reporter) {
  if (ranks().several()) return;
  if (const std::optional<Error> found = check_scale(rows)) reporter.warn({*found});
}

std::string loss_formula(const TrainOptions& options) {
  switch (options.loss) {
    case LossKind::squared_hinge:
      return "max(0, 1 - y <w,x>)^2";
    case LossKind::logistic:
      return "log(1 + exp(-y <w,x>))";
    case LossKind::epsilon_insensitive:
      return fmt::format("max(0, |<w,x> - t| - {})", options.epsilon);
    case LossKind::squared_epsilon:
      return fmt::format("max(0, |<w,x> - t| - {})^2", options.epsilon);
    case LossKind::hinge:
      break;
  }
  return "max(0, 1 - y <w,x>)";
}

std::string reached(const Model& model) {
  const Certificate all = model.certificate();
  if (!all.known()) return "gap not known";
  return !all.bounded() ? fmt::format("primal {:.8g}, without a bound", all.primal)
                        : fmt::format("gap {:.2g} (primal {:.8g}, bound {:.8g})", all.relative_gap,
                                      all.primal, all.dual);
}

Json goals_json(const Goals& asked) {
  Json goals = Json::object();
  if (asked.gap > 0) goals.add("gap", asked.gap);
  if (asked.gap_absolute > 0) goals.add("gap_absolute", asked.gap_absolute);
  if (asked.gap_per_row > 0) goals.add("gap_per_row", asked.gap_per_row);
  if (asked.target > 0) goals.add("target", asked.target);
  return goals;
}

void add_goals(Json& object, const Goals& asked) {
  if (asked.any_other()) object.add("goals", goals_json(asked));
}

Json trace_json(const Progress& p) {
  return {{"seconds", p.seconds},
          {"problem", p.problem},
          {"iteration", p.iteration},
          {"data_passes", p.data_passes},
          {"primal", p.primal},
          {"dual", p.dual},
          {"relative_gap", p.relative_gap},
          {"active_rows", p.active_rows},
          {"planes", p.planes},
          {"step", p.step},
          {"objective_rows", p.objective_rows},
          {"search_rows", p.search_rows},
          {"objective_seconds", p.objective_seconds},
          {"search_seconds", p.search_seconds}};
}

Json primal_json(const Certificate& certificate) {
  return certificate.known() ? Json(certificate.primal) : Json();
}
Json or_null(const Certificate& certificate, double value) {
  return certificate.bounded() ? Json(value) : Json();
}

Result<void> print(const std::string& text) {
  Result<OutputFile> out = OutputFile::create("-");
  if (!out.ok()) return out.error();
  if (Result<void> written = out->write(text); !written.ok()) return written;
  return out->commit();
}

std::size_t line_width() {
  constexpr std::size_t kUsual = 80;
  winsize size = {};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > 0 ? size.ws_col : kUsual;
}

ProgressLine::ProgressLine(bool enabled)
    : enabled_(enabled && ranks().first() && isatty(STDERR_FILENO) == 1), started_(now()) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::clear() {
  if (std::exchange(visible_, false)) static_cast<void>(std::fputs("\r\x1b[K", stderr));
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) return;
  const double time = now();
  if (time - started_ < 2 || time - shown_ < 0.2) return;
  shown_ = time;
  visible_ = true;
  static_cast<void>(std::fputs(("\r\x1b[K" + text).c_str(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace hinge::cli
