// hinge COMMAND [OPTIONS] ARGS. Results go to stdout, everything else to stderr.
#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "cli.h"

namespace hinge::cli {
namespace {

constexpr const char* kIntroduction =
    "hinge: linear support vector machines, with a proof of how good the answer is.\n\n"
    "  hinge train data.svm data.model        learn\n"
    "  hinge verify data.model data.svm       check the proof\n"
    "  hinge predict new.svm data.model       use";

constexpr const char* kNoMemory = "hinge: error: memory ran out [memory.alloc]";

// A closed descriptor 0, 1 or 2 would be reused by the next file opened, and messages end up in it.
void open_standard_descriptors() {
  // Opened the wrong way round, so that reading a closed input or writing results nowhere still
  // fails.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) static_cast<void>(open("/dev/null", kModes[fd]));
  }
}

// Arrays of a few hundred kilobytes, of which a run on small data has dozens, come from one heap
// in huge pages, where each would have its own mapping of many small ones: making those took a
// sixth of such a run. Only advice, which the C library of GNU takes.
void lay_out_heap() {
#if defined(__GLIBC__)
  constexpr int kLargest = 2 << 20;  // larger arrays have mappings, and give them back
  constexpr int kHeap = 8 << 20;
  constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;
  mallopt(M_MMAP_THRESHOLD, 2 * kHeap);
  mallopt(M_TRIM_THRESHOLD, 2 * kHeap);
  if (void* const heap = std::malloc(kHeap)) {  // taken, but not touched
    const std::uintptr_t after = reinterpret_cast<std::uintptr_t>(heap) % kHugePage;
    char* const huge = static_cast<char*>(heap) + (kHugePage - after);
    static_cast<void>(madvise(huge, kHeap - kHugePage, MADV_HUGEPAGE));
    std::free(heap);
  }
  mallopt(M_MMAP_THRESHOLD, kLargest);
#endif
}

// LIBLINEAR writes class weights as -wLABEL FACTOR; we read them as --class-weight LABEL=FACTOR.
std::vector<std::string> rewrite_class_weights(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::vector<std::string> out;
  bool operands = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    operands = operands || a == "--";
    const bool weight =
        !operands && a.size() > 2 && a.starts_with("-w") && i + 1 < arguments.size() &&
        (std::isdigit(static_cast<unsigned char>(a[2])) != 0 || a[2] == '-' || a[2] == '+');
    if (weight) {
      out.push_back("--class-weight=" + a.substr(2) + "=" + arguments[++i]);
    } else {
      out.push_back(a);
    }
  }
  return out;
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, Action& action);
};
constexpr Command kCommands[] = {
    {"train", add_train},       {"tune", add_tune},       {"compare", add_compare},
    {"stream", add_stream},     {"predict", add_predict}, {"evaluate", add_evaluate},
    {"verify", add_verify},     {"convert", add_convert}, {"check", add_check},
    {"generate", add_generate}, {"split", add_split},     {"info", add_info},
    {"explain", add_explain}};

// The command asked for; all of them if it is none, for help and for what may have been meant.
void add_commands(std::string_view asked, CLI::App& app, Action& action) {
  if (asked == "--version") return;  // it takes as long to list them all as to start a program
  const auto found = std::ranges::find(kCommands, asked, &Command::name);
  if (found != std::end(kCommands)) return found->add(app, action);
  for (const Command& command : kCommands) command.add(app, action);
}

std::string command_name(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? "hinge" : "hinge " + chosen.front()->get_name();
}

// The arguments may not have been understood, so the form asked for is looked up in them as they
// are.
bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--diagnostics=json") return true;
    if (arguments[i] == "json" && i > 0 && arguments[i - 1] == "--diagnostics") return true;
  }
  return false;
}

// Of ranks that train together one says it, whether all are wrong or some; the others wait for this
// agreement once their arguments are in order.
Error agree_with_ranks(const std::vector<std::string>& arguments, Error error) {
  if (arguments.empty() || arguments[0] != "train") return error;
  const Result<void> opened = ranks().open(Ranks::kTimeout);
  if (!opened.ok()) error.rank = opened.error().rank;  // each says it for itself
  return ranks().agree(Result<void>(std::move(error))).error();
}

int report_usage(const CLI::App& app, const std::vector<std::string>& arguments, Error error) {
  error = agree_with_ranks(arguments, std::move(error));
  if (!ranks().reports()) return exit_code(error);
  if (wants_json(arguments)) {
    to_stderr(to_json(error));
    return exit_code(error);
  }
  const std::string name = command_name(app);
  const std::string rank = error.rank < 0 ? "" : fmt::format("rank {}: ", error.rank);
  to_stderr(fmt::format("{}: error: {}{} [{}]\ntry: {} --help", name, rank, error.message, error.id,
                        name));
  return exit_code(error);
}

int run(int argc, char** argv) {
  CLI::App app{kIntroduction, "hinge"};
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "show this and exit");
  app.set_version_flag("--version", fmt::format("hinge {}", version()),
                       "show the version and exit");
  set_help_format(app);
  app.footer("`hinge COMMAND --help` explains a command; `hinge explain ID` an error.");
  Action action;
  add_commands(argc > 1 ? argv[1] : "", app, action);
  const std::vector<std::string> arguments = rewrite_class_weights(argc, argv);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last one first
    return action();
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    Error error;
    error.id = dynamic_cast<const CLI::ValidationError*>(&problem) != nullptr ||
                       dynamic_cast<const CLI::ConversionError*>(&problem) != nullptr
                   ? "usage.value"
                   : "usage.option";
    error.message = escape(problem.what());
    return report_usage(app, arguments, error);
  } catch (const UsageError& problem) {
    return report_usage(app, arguments, problem.error);
  }
}

bool g_started = false;

// Some functions of the parser of arguments promise not to throw, but take memory. Before main()
// only its constants are made, and there may not even be memory for the exception that says so.
[[noreturn]] void end_without_memory() {
  if (!g_started) {
    static_cast<void>(!write(STDERR_FILENO, kNoMemory, std::strlen(kNoMemory)));
    static_cast<void>(!write(STDERR_FILENO, "\n", 1));
    _exit(81);
  }
  try {
    if (const std::exception_ptr reason = std::current_exception()) std::rethrow_exception(reason);
  } catch (const std::bad_alloc&) {
    to_stderr(kNoMemory);
    _exit(81);
  } catch (...) {
  }
  std::abort();
}

__attribute__((constructor(101))) void set_last_resort() {
  std::set_terminate(end_without_memory);
}

int run_reporting_bugs(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    ranks().close();
    return code;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    to_stderr(
        fmt::format("hinge: error: internal error: {} [run.internal]\n"
                    "hinge: help: this is a bug in hinge {}: please report it",
                    escape(problem.what()), version()));
    return 70;
  }
}

}  // namespace
}  // namespace hinge::cli

int main(int argc, char** argv) {
  hinge::cli::open_standard_descriptors();
  hinge::cli::lay_out_heap();
  hinge::cli::install_signal_handlers();
  hinge::cli::g_started = true;
  try {
    return hinge::cli::run_reporting_bugs(argc, argv);
  } catch (const std::bad_alloc&) {
    hinge::cli::to_stderr(hinge::cli::kNoMemory);
    return 81;
  }
}
