// The one table of training options. Each row knows how to read its value from text; ranges are
// checked here and nowhere else.
#include "hinge/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace hinge {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int kMaxDegree = 100;
constexpr std::uint64_t kMaxPlanes = 10000;
constexpr double kLeastMu = 1e-3;                         // with less, planes lie where others are
constexpr std::uint64_t kMaxT0 = std::uint64_t{1} << 53;  // steps are counted in double
constexpr std::uint64_t kMaxRuns = 1000;  // of best-of; each ends with passes over all rows
constexpr double kMaxCost = 1e300;        // beyond it the objective overflows
constexpr std::uint64_t kMaxPath = 1000;  // costs; each takes a hyperplane's memory, or several

[[noreturn]] void bad_value(const OptionInfo& info, std::string_view text) {
  fail("usage.value",
       fmt::format("--{}: expected {}, got \"{}\"", info.name, info.range, escape(text)));
}

// Complaints show `shown`, the whole value, where `text` is a part of it.
double number(const OptionInfo& info, std::string_view text, std::string_view shown) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    bad_value(info, shown);
  }
  return value;
}

double number(const OptionInfo& info, std::string_view text) {
  return number(info, text, text);
}

template <class Integer>
Integer whole(const OptionInfo& info, std::string_view text, std::string_view shown) {
  Integer value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) bad_value(info, shown);
  return value;
}
template <class Integer>
Integer whole(const OptionInfo& info, std::string_view text) {
  return whole<Integer>(info, text, text);
}

std::uint64_t count(const OptionInfo& info, std::string_view text) {
  const auto value = whole<std::uint64_t>(info, text);
  if (value == 0) bad_value(info, text);
  return value;
}

using Setter = void (*)(TrainOptions&, const OptionInfo&, std::string_view);

struct Row {
  OptionInfo info;
  Setter set;
};

// The allowed word nearest to what was typed, as a question, or nothing.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> words) {
  std::string_view best;
  std::size_t distance = 3;  // more edits than this are no slip of the finger
  for (const std::string_view word : words) {
    std::vector<std::size_t> row(word.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < word.size(); ++j) {
        const std::size_t changed = diagonal + (text[i] == word[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < distance) {
      distance = row.back();
      best = word;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

constexpr std::string_view kSolvers[] = {"auto", "dual",  "newton", "pegasos", "cpa",
                                         "ocas", "ocas3", "active", "focus"};
constexpr auto kSolverList = [] {  // "one of auto, dual, ..." and its length
  std::pair<std::array<char, 256>, std::size_t> text{};
  const auto append = [&](std::string_view part) {
    for (const char c : part) text.first[text.second++] = c;
  };
  append("one of ");
  for (const std::string_view name : kSolvers) {
    if (name != kSolvers[0]) append(", ");
    append(name);
  }
  return text;
}();
constexpr std::string_view kSolverRange(kSolverList.first.data(), kSolverList.second);
constexpr std::string_view kPegasos = "pegasos";
constexpr std::string_view kCuttingPlanes = "cpa, ocas, ocas3, active or focus";
constexpr std::string_view kSwitch[] = {"off", "on"};
constexpr std::string_view kSamplings[] = {"permute", "replace", "order"};
constexpr std::string_view kIterates[] = {"last", "average", "suffix", "random"};
constexpr std::string_view kBestOf = "best-of:";
constexpr std::string_view kCpus[] = {"auto", "scalar", "avx2", "avx512"};

// Index of the word among those allowed; what is none of them is refused.
std::size_t one_of(std::string_view name, std::string_view range, std::string_view text,
                   std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) {
    fail("usage.value", fmt::format("--{}: expected {}, got \"{}\"{}", name, range, escape(text),
                                    did_you_mean(text, words)));
  }
  return static_cast<std::size_t>(found - words.begin());
}

std::size_t one_of(const OptionInfo& info, std::string_view text,
                   std::span<const std::string_view> words) {
  return one_of(info.name, info.range, text, words);
}

// What LIBLINEAR's other solvers minimise, for those who come from there.
std::string_view liblinear_loss(std::string_view number) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"0", "L2-regularised logistic regression (primal)"},
      {"1", "the squared hinge loss (dual)"},
      {"2", "the squared hinge loss (primal)"},
      {"4", "multi-class SVM by Crammer and Singer"},
      {"5", "the squared hinge loss, L1-regularised"},
      {"6", "L1-regularised logistic regression"},
      {"7", "L2-regularised logistic regression (dual)"},
      {"11", "support vector regression"},
      {"12", "support vector regression"},
      {"13", "support vector regression"},
      {"21", "the one-class SVM"}};
  const auto found = std::ranges::find(kNames, number, [](const auto& pair) { return pair.first; });
  return found == std::end(kNames) ? std::string_view{} : found->second;
}

Solver solver(std::string_view name, std::string_view text) {
  if (const std::string_view loss = liblinear_loss(text); !loss.empty()) {
    fail("usage.value", fmt::format("--{}: LIBLINEAR's -s {} is {}; hinge minimises the hinge "
                                    "loss, LIBLINEAR's -s 3",
                                    name, text, loss));
  }
  if (text == "3") return Solver::automatic;
  return static_cast<Solver>(one_of(name, kSolverRange, text, kSolvers));
}

void set_solver(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.solver = solver(info.name, text);
}

void set_bias(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  if (text == "free") {
    o.free_bias = true;
    return;
  }
  o.bias =
      text == "none" ? 0.0 : std::max(0.0, number(info, text));  // negative = none, as LIBLINEAR
  if (o.bias > kMaxBias) bad_value(info, text);
}

void set_class_weight(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  if (text == "balanced") {
    o.balanced = true;
    return;
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) bad_value(info, text);
  std::string_view label_text = text.substr(0, equals);
  if (label_text.starts_with('+')) label_text.remove_prefix(1);
  const auto label = whole<std::int64_t>(info, label_text, text);
  const double factor = number(info, text.substr(equals + 1), text);
  if (!(factor > 0)) bad_value(info, text);
  o.class_weights.push_back({label, factor});
}

template <std::uint64_t PegasosOptions::*kMember>
void set_count(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.pegasos.*kMember = count(info, text);
}

template <bool PegasosOptions::*kMember>
void set_switch(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.pegasos.*kMember = one_of(info, text, kSwitch) == 1;
}

void set_iterate(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.pegasos.runs = 1;
  if (text.starts_with(kBestOf)) {
    o.pegasos.iterate = Iterate::best_of;
    o.pegasos.runs = whole<std::uint64_t>(info, text.substr(kBestOf.size()), text);
    if (o.pegasos.runs == 0 || o.pegasos.runs > kMaxRuns) bad_value(info, text);
    return;
  }
  o.pegasos.iterate = static_cast<Iterate>(one_of(info, text, kIterates));
}

void set_batch(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.pegasos.batch = 0;
  if (text == "all") return;
  o.pegasos.batch = count(info, text);
}

void set_kernel(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  const std::string_view names[] = {to_string(KernelKind::linear), to_string(KernelKind::rbf),
                                    to_string(KernelKind::poly), to_string(KernelKind::sigmoid)};
  o.pegasos.kernel.kind = static_cast<KernelKind>(one_of(info, text, names));
}

void set_cpu(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.instruction_set = static_cast<InstructionSet>(one_of(info, text, kCpus));
}

constexpr std::string_view kSizeRange = "a size such as 500M or 2G";

std::uint64_t size(std::string_view name, std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(result.ptr - text.data()));
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;
  if (result.ec != std::errc() || value == 0 || unit.size() > 1 || (!unit.empty() && power == 0) ||
      __builtin_mul_overflow(value, std::uint64_t{1} << (10 * power), &value)) {
    fail("usage.value",
         fmt::format("--{}: expected {}, got \"{}\"", name, kSizeRange, escape(text)));
  }
  return value;
}

double positive(const OptionInfo& info, std::string_view text) {
  const double value = number(info, text);
  if (!(value > 0) || value > kMaxCost) bad_value(info, text);
  return value;
}

// One cost, or several with commas in between, in any order.
void set_cost(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  std::vector<double> costs;
  for (std::string_view rest = text; costs.size() <= kMaxPath;) {
    const std::size_t comma = rest.find(',');
    costs.push_back(number(info, rest.substr(0, comma), text));
    if (!(costs.back() > 0) || costs.back() > kMaxCost) bad_value(info, text);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(costs);
  if (costs.size() > kMaxPath || std::ranges::adjacent_find(costs) != costs.end()) {
    fail("usage.value", fmt::format("--{}: expected different numbers, at most {}, got \"{}\"",
                                    info.name, kMaxPath, escape(text.substr(0, 100))));
  }
  o.cost = costs.front();
  o.path = costs.size() > 1 ? std::move(costs) : std::vector<double>();
}

// LO:HI:N, evenly spaced in the logarithm. Cut to 6 digits: short enough to be typed.
void set_path(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) bad_value(info, text);
  const double low = number(info, text.substr(0, first), text);
  const double high = number(info, text.substr(first + 1, second - first - 1), text);
  const auto n = whole<std::uint64_t>(info, text.substr(second + 1), text);
  if (!(low > 0 && low < high && high <= kMaxCost) || n < 2 || n > kMaxPath) bad_value(info, text);
  std::vector<double> costs = {low};
  for (std::uint64_t k = 1; k + 1 < n; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(n - 1);
    const double cost = std::exp(std::log(low) + share * (std::log(high) - std::log(low)));
    costs.push_back(number(info, fmt::format("{:.6g}", cost), text));
  }
  costs.push_back(high);
  if (std::ranges::adjacent_find(costs, std::greater_equal<>()) != costs.end()) {
    bad_value(info, text);
  }
  o.path = std::move(costs);
}

constexpr auto kRows = std::to_array<Row>({
    {{"cost", "c", "C", "a finite number > 0", "1",
      "cost of a row inside the margin: minimise 1/2|w|^2 + C sum hinge; several (0.1,1,10) give "
      "one model each, in one file"},
     set_cost},
    {{"path", "", "LO:HI:N", "two numbers, 0 < LO < HI, and a whole number from 2 to 1000", "",
      "the same as --cost with N costs from LO to HI, evenly spaced in the logarithm"},
     set_path},
    {{"lambda", "", "L", "a finite number > 0", "",
      "the same as --cost 1/(L * rows), or, with weights, 1/(L * their sum); give one of the two"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) { o.lambda = positive(i, t); }},
    {{"gap", "", "G", "a number in (0, 1]", "",
      "stop when (primal - bound)/primal <= G, which is proved, not guessed; default 0.001, with "
      "pegasos none"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.gap = number(i, t);
       if (!(*o.gap > 0 && *o.gap <= 1)) bad_value(i, t);
     }},
    {{"tolerance", "e", "E", "a number in (0, 100]", "",
      "LIBLINEAR's tolerance, read as --gap E/100"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.gap = number(i, t) / 100;
       if (!(*o.gap > 0 && *o.gap <= 1)) bad_value(i, t);
     }},
    {{"solver", "s", "NAME", kSolverRange, "auto",
      "auto picks by the shape of the data; newton is for many more rows than columns; pegasos is "
      "good soon and exact late: its gap falls "
      "like 1/epochs, so 0.001 is the job of the others; cpa to focus are cutting planes, focus "
      "mostly the fastest of them; LIBLINEAR's -s 3 means auto"},
     set_solver},
    {{"bias", "B", "S", "none, free or a number up to 1e150", "none",
      "free: an intercept that is not regularised; a number: append the constant feature S to "
      "every row, regularised; negative = none"},
     set_bias},
    {{"free-bias", "R", "", "", "", "the same as --bias free, whatever -B says, as in LIBLINEAR"},
     [](TrainOptions& o, const OptionInfo&, std::string_view) { o.free_bias = true; }},
    {{"class-weight", "", "L=W", "balanced, or LABEL=FACTOR with a factor > 0", "",
      "multiply the cost of rows of class L by W (also: -wL W); may be repeated"},
     set_class_weight},
    {{"threads", "n", "N", "a whole number from 0 to 4096", "0",
      "0 = all cores; the model is the same for any number"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.threads = whole<int>(i, t);
       if (o.threads < 0 || o.threads > kMaxThreads) bad_value(i, t);
     }},
    {{"time-limit", "", "S", "a number of seconds >= 0", "",
      "stop after S seconds of training and keep the best model so far"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.time_limit = number(i, t);
       if (!(o.time_limit >= 0)) bad_value(i, t);
     }},
    {{"max-passes", "", "N", "a whole number > 0", "",
      "stop after N passes over the data and keep the best model so far"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) { o.max_passes = count(i, t); }},
    {{"reject", "", "", "", "", "several classes: rows without a positive score get no class"},
     [](TrainOptions& o, const OptionInfo&, std::string_view) { o.reject = true; }},
    {{"no-witness", "", "", "", "", "do not keep the proof in the model"},
     [](TrainOptions& o, const OptionInfo&, std::string_view) { o.witness = false; }},
    {{"max-classes", "", "N", "a whole number > 1", "100000",
      "refuse data with more classes before training"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.max_classes = whole<std::uint64_t>(i, t);
       if (o.max_classes < 2) bad_value(i, t);
     }},
    {{"memory", "", "SIZE", kSizeRange, "", "most memory that rows and training may take"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) { o.memory = size(i.name, t); }},
    {{"seed", "", "N", "a whole number from 0 to 2^64 - 1", "1",
      "of the order rows are visited in"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.seed = whole<std::uint64_t>(i, t);
     }},
    {{"epochs", "", "N", "a whole number > 0", "",
      "stop after N epochs, each of which looks at as many rows as there are; 20 unless "
      "--epochs, --steps or --gap is given",
      kPegasos},
     set_count<&PegasosOptions::epochs>},
    {{"steps", "", "T", "a whole number > 0", "", "stop after T steps", kPegasos},
     set_count<&PegasosOptions::steps>},
    {{"batch", "", "K", "a whole number from 1 to the number of rows, or all", "1",
      "rows a step looks at", kPegasos},
     set_batch},
    {{"sampling", "", "NAME", "one of permute, replace, order", "permute",
      "every row once an epoch in random order; rows drawn at random; rows as they come", kPegasos},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.pegasos.sampling = static_cast<Sampling>(one_of(i, t, kSamplings));
     }},
    {{"iterate", "", "NAME", "last, average, suffix, random or best-of:S, S up to 1000", "suffix",
      "which point is the result: the last, the mean of all, the mean over the last half "
      "of the steps, one drawn by lot, the best of S such draws from shorter runs",
      kPegasos},
     set_iterate},
    {{"projection", "", "on|off", "on or off", "off", "keep |w| <= 1/sqrt(lambda)", kPegasos},
     set_switch<&PegasosOptions::projection>},
    {{"rescale", "", "on|off", "on or off", "on",
      "multiply the result by the number that minimises the primal", kPegasos},
     set_switch<&PegasosOptions::rescale>},
    {{"t0", "", "N", "a whole number from 0 to 2^53", "",
      "the first step has the size of step N + 1; 0, or with --start the number of rows", kPegasos},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.pegasos.t0 = whole<std::uint64_t>(i, t);
       if (*o.pegasos.t0 > kMaxT0) bad_value(i, t);
     }},
    {{"check-every", "", "N", "a whole number > 0", "",
      "compute primal and bound every N epochs (two or three passes over the data each); default: "
      "ever further apart if a gap is asked, else at the end",
      kPegasos},
     set_count<&PegasosOptions::check_every>},
    {{"kernel", "", "NAME", "one of linear, rbf, poly, sigmoid", "linear",
      "exp(-g|x-z|^2), (g<x,z>+r)^d or tanh(g<x,z>+r) in the place of <x,z>, with --gamma g, "
      "--coef0 r, --degree d; --solver auto then means pegasos",
      kPegasos},
     set_kernel},
    {{"gamma", "g", "G", "a finite number > 0", "", "of the kernel; default 1/features", kPegasos},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.pegasos.kernel.gamma = positive(i, t);
     }},
    {{"coef0", "r", "R", "a finite number", "0", "of the kernels poly and sigmoid", kPegasos},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.pegasos.kernel.coef0 = number(i, t);
     }},
    {{"degree", "d", "D", "a whole number from 1 to 100", "3", "of the kernel poly", kPegasos},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.pegasos.kernel.degree = whole<int>(i, t);
       if (o.pegasos.kernel.degree < 1 || o.pegasos.kernel.degree > kMaxDegree) bad_value(i, t);
     }},
    {{"budget", "", "N", "a whole number > 0", "",
      "with a kernel: keep at most N support rows; the least goes, and the one most like it takes "
      "its part",
      kPegasos},
     set_count<&PegasosOptions::budget>},
    {{"planes", "", "N", "a whole number from 2 to 10000", "",
      "planes kept; beyond it those without a part in the bound go, or the two oldest become one; "
      "default 100, with active 20",
      kCuttingPlanes},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.planes.planes = whole<std::uint64_t>(i, t);
       if (o.planes.planes < 2 || o.planes.planes > kMaxPlanes) bad_value(i, t);
     }},
    {{"mu", "", "X", "a number from 0.001 to 1", "",
      "where the next plane is laid: this share of the way from the best point to the minimum over "
      "the planes; default 0.05, with focus 0.2 where there are at most four rows a column",
      kCuttingPlanes},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.planes.mu = number(i, t);
       if (!(o.planes.mu >= kLeastMu && o.planes.mu <= 1)) bad_value(i, t);
     }},
    {{"cpu", "", "NAME", "one of auto, scalar, avx2, avx512", "auto",
      "instruction set of the inner loops; the model is the same for any"},
     set_cpu},
});

constexpr auto kInfos = [] {
  std::array<OptionInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

}  // namespace

std::span<const OptionInfo> train_option_table() {
  return kInfos;
}

Result<void> set_option(TrainOptions& options, std::string_view name, std::string_view text) {
  return guard([&] {
    const auto row = std::ranges::find(kRows, name, [](const Row& r) { return r.info.name; });
    if (row == kRows.end()) {
      fail("usage.option", fmt::format("there is no option --{}", escape(name)));
    }
    TrainOptions changed = options;
    row->set(changed, row->info, text);
    options = std::move(changed);
  });
}

std::vector<std::pair<std::string, std::string>> describe(const TrainOptions& o) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](bool there, std::string_view name, const auto& value) {
    if (there) all.emplace_back(name, fmt::format("{}", value));
  };
  std::string costs;
  for (const double cost : o.path) costs += fmt::format("{}{}", costs.empty() ? "" : ",", cost);
  add(true, "cost", o.path.empty() ? fmt::format("{}", o.cost) : costs);
  add(o.lambda > 0, "lambda", o.lambda);
  add(o.gap.has_value(), "gap", o.gap.value_or(0));
  add(true, "solver", to_string(o.solver));
  add(o.bias > 0 && !o.free_bias, "bias", o.bias);
  add(o.free_bias, "bias", "free");
  add(o.balanced, "class-weight", "balanced");
  for (const ClassWeight& w : o.class_weights) {
    add(true, "class-weight", fmt::format("{}={}", w.label, w.factor));
  }
  add(o.reject, "reject", "");
  add(!o.witness, "no-witness", "");
  add(true, "seed", o.seed);
  const PegasosOptions &p = o.pegasos, defaults = {};
  add(p.epochs > 0, "epochs", p.epochs);
  add(p.steps > 0, "steps", p.steps);
  add(p.batch == 0, "batch", "all");
  add(p.batch > 1, "batch", p.batch);
  add(p.sampling != defaults.sampling, "sampling",
      kSamplings[static_cast<std::size_t>(p.sampling)]);
  if (p.iterate == Iterate::best_of) {
    add(true, "iterate", fmt::format("{}{}", kBestOf, p.runs));
  } else {
    add(p.iterate != defaults.iterate, "iterate", kIterates[static_cast<std::size_t>(p.iterate)]);
  }
  add(p.projection, "projection", "on");
  add(!p.rescale, "rescale", "off");
  add(p.t0.has_value(), "t0", p.t0.value_or(0));
  add(p.check_every > 0, "check-every", p.check_every);
  add(!p.kernel.linear(), "kernel", to_string(p.kernel.kind));
  add(p.kernel.gamma > 0, "gamma", p.kernel.gamma);
  add(p.kernel.coef0 != 0, "coef0", p.kernel.coef0);
  add(p.kernel.degree != defaults.kernel.degree, "degree", p.kernel.degree);
  add(p.budget > 0, "budget", p.budget);
  add(o.planes.planes > 0, "planes", o.planes.planes);
  add(o.planes.mu > 0, "mu", o.planes.mu);
  return all;
}

std::string_view to_string(Solver solver) {
  const auto place = static_cast<std::size_t>(solver);
  return place < std::size(kSolvers) ? kSolvers[place] : "unknown";
}

Result<Solver> parse_solver(std::string_view name, std::string_view text) {
  return guard([&] { return solver(name, text); });
}

bool uses_pegasos(const TrainOptions& options) {
  return options.solver == Solver::pegasos ||
         (options.solver == Solver::automatic && !options.pegasos.kernel.linear());
}

bool has_option(Solver solver, const OptionInfo& option) {
  const std::string_view name = cutting_planes(solver) ? kCuttingPlanes : to_string(solver);
  return option.solver.empty() || option.solver == name;
}

bool cutting_planes(Solver solver) {
  return solver >= Solver::cpa;
}

TrainOptions with_solver(TrainOptions options, Solver solver) {
  options.solver = solver;
  if (!uses_pegasos(options)) {
    options.pegasos = {.kernel = options.pegasos.kernel};
  }
  if (!cutting_planes(solver)) options.planes = {};
  return options;
}

Result<std::uint64_t> parse_size(std::string_view name, std::string_view text) {
  return guard([&] { return size(name, text); });
}

Result<void> validate(const TrainOptions& o) {
  return guard([&] {
    const auto check = [](bool good, std::string_view message) {
      if (!good) fail("usage.value", std::string(message));
    };
    check(o.cost > 0 && o.cost <= kMaxCost, "cost: expected a finite number > 0");
    check(o.lambda >= 0 && o.lambda <= kMaxCost, "lambda: expected a finite number > 0");
    check(o.path.size() <= kMaxPath &&
              std::ranges::all_of(o.path, [](double c) { return c > 0 && c <= kMaxCost; }) &&
              std::ranges::adjacent_find(o.path, std::greater_equal<>()) == o.path.end(),
          "path: expected up to 1000 finite numbers > 0, ascending");
    check(o.path.empty() || o.lambda == 0, "give several costs or --lambda, not both");
    check(o.path.empty() || o.pegasos.kernel.linear(), "--kernel: takes one cost, not several");
    check(!o.gap || (*o.gap > 0 && *o.gap <= 1), "gap: expected a number in (0, 1]");
    check(std::abs(o.bias) <= kMaxBias, "bias: expected a number up to 1e150");
    check(o.threads >= 0 && o.threads <= kMaxThreads, "threads: expected 0 to 4096");
    check(o.time_limit >= 0, "time_limit: expected seconds >= 0");
    for (const ClassWeight& w : o.class_weights) {
      check(std::isfinite(w.factor) && w.factor > 0, "class weight: expected a factor > 0");
    }
    const PegasosOptions& p = o.pegasos;
    const KernelFunction& kernel = p.kernel;
    const bool pegasos = uses_pegasos(o);
    if (!pegasos && !kernel.linear()) {
      fail("usage.value",
           fmt::format("--solver {} takes no kernels; --solver pegasos does", to_string(o.solver)));
    }
    const auto only = [](std::string_view solvers) {
      std::string names;
      for (const Row& row : kRows) {
        if (row.info.solver == solvers)
          names += fmt::format("{}--{}", names.empty() ? "" : ", ", row.info.name);
      }
      fail("usage.value", fmt::format("only --solver {} has {}", solvers, names));
    };
    if (!pegasos && p != PegasosOptions{}) only(kPegasos);
    if (!cutting_planes(o.solver) && o.planes != PlaneOptions{}) only(kCuttingPlanes);
    check(o.planes.planes == 0 || (o.planes.planes >= 2 && o.planes.planes <= kMaxPlanes),
          "planes: expected 2 to 10000");
    check(o.planes.mu == 0 || (o.planes.mu >= kLeastMu && o.planes.mu <= 1),
          "mu: expected a number from 0.001 to 1");
    check(p.epochs == 0 || p.steps == 0, "give --epochs or --steps, not both");
    check(p.runs > 0 && p.runs <= (p.iterate == Iterate::best_of ? kMaxRuns : 1),
          "runs: expected 1 to 1000, and 1 unless the iterate is best_of");
    check(kernel.gamma >= 0 && kernel.gamma <= kMaxCost, "gamma: expected a finite number > 0");
    check(std::isfinite(kernel.coef0), "coef0: expected a finite number");
    check(kernel.degree >= 1 && kernel.degree <= kMaxDegree, "degree: expected 1 to 100");
    if (kernel.linear()) {
      check(kernel == KernelFunction{} && p.budget == 0,
            "--gamma, --coef0, --degree and --budget need --kernel rbf, poly or sigmoid");
    } else {
      check(!o.gap || kernel.positive_definite(),
            "--gap: this kernel is no inner product (sigmoid, or poly with coef0 < 0), and no "
            "bound can be proved");
      check(kernel.kind != KernelKind::rbf || kernel.coef0 == 0,
            "--coef0: the kernel rbf has none; poly and sigmoid have");
      check(kernel.kind == KernelKind::poly || kernel.degree == KernelFunction{}.degree,
            "--degree: only the kernel poly has one");
      check(p.budget == 0 || !p.projection, "give --budget or --projection, not both");
      check(!o.free_bias, "--bias: with a kernel expected none or a number, got free");
    }
    check(p.t0.value_or(0) <= kMaxT0, "t0: expected a whole number from 0 to 2^53");
  });
}

}  // namespace hinge
