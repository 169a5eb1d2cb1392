// The one table of training options. A row says what its option may be given: parsing, validate()
// and the words of --help and of complaints come from that. Map: names -> how a row reads its text
// -> options with a form of their own -> the table -> solvers -> describe().
#include "hinge/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/range.h"
#include "option_ranges.h"
#include "solve/traits.h"

namespace hinge {
namespace {

// ---- Names.

constexpr std::string_view kSwitch[] = {"off", "on"};
constexpr std::string_view kSamplings[] = {"permute", "replace", "order"};
constexpr std::string_view kIterates[] = {"last", "average", "suffix", "random"};
constexpr std::string_view kBestOf = "best-of:";
constexpr std::string_view kCpus[] = {"auto", "scalar", "avx2", "avx512"};

std::span<const std::string_view> loss_names() {
  static const std::string_view names[] = {
      to_string(LossKind::hinge), to_string(LossKind::squared_hinge), to_string(LossKind::logistic),
      to_string(LossKind::epsilon_insensitive), to_string(LossKind::squared_epsilon)};
  return names;
}

std::span<const std::string_view> kernel_names() {
  static const std::string_view names[] = {to_string(KernelKind::linear),
                                           to_string(KernelKind::rbf), to_string(KernelKind::poly),
                                           to_string(KernelKind::sigmoid)};
  return names;
}

std::span<const std::string_view> update_names() {
  static const std::string_view names[] = {to_string(Update::margin), to_string(Update::mistake)};
  return names;
}

// In the order of enum Solver.
std::span<const std::string_view> solver_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = names_where([](const SolverTraits&) { return true; });
    all.insert(all.begin(), "auto");
    return all;
  }();
  return names;
}

// "cpa, ocas, ocas3, active or focus"; none for options that all solvers have.
std::string_view solvers_with(OptionGroup group) {
  static const std::string pegasos = one_or_other(names_of(OptionGroup::pegasos)),
                           planes = one_or_other(names_of(OptionGroup::planes));
  switch (group) {
    case OptionGroup::pegasos:
      return pegasos;
    case OptionGroup::planes:
      return planes;
    case OptionGroup::common:
      break;
  }
  return {};
}

// ---- Reading the text of a value.

// What one option was given, and what it may be.
struct Given {
  std::string_view name;
  std::string_view expected;
  std::string_view text;

  [[noreturn]] void refuse(std::string_view hint = {}) const {
    fail("usage.value",
         fmt::format("--{}: expected {}, got \"{}\"{}", name, expected, escape(text), hint));
  }
  // `part` is all of the text, or a part of it; complaints show all.
  double number(const NumberRange& range, std::string_view part) const {
    const std::optional<double> value = parse_number(part);
    if (!value || !range.contains(*value)) refuse();
    return *value;
  }
  template <class Integer>
  Integer whole(const CountRange& range, std::string_view part) const {
    const std::optional<Integer> value = parse_whole<Integer>(part);
    if (!value || !range.contains(*value)) refuse();
    return *value;
  }
  std::size_t one_of(std::span<const std::string_view> names) const {
    const Choice choice = {names};
    const std::optional<std::size_t> place = choice.find(text);
    if (!place) refuse(choice.did_you_mean(text));
    return *place;
  }
};

struct Row {
  OptionInfo info;  // all but its range
  OptionGroup group = OptionGroup::common;
  std::string range = {};  // what is allowed, in words
  std::function<void(TrainOptions&, const Given&)> set = {};
};

template <class Set>
Row flag(const OptionInfo& info, Set set) {
  return {.info = info, .set = [set](TrainOptions& o, const Given&) { set(o); }};
}

template <class Set>
Row number(const OptionInfo& info, const NumberRange& range, Set set,
           OptionGroup group = OptionGroup::common) {
  return {.info = info,
          .group = group,
          .range = range.words(),
          .set = [range, set](TrainOptions& o, const Given& given) {
            set(o, given.number(range, given.text));
          }};
}

template <class Integer, class Set>
Row whole(const OptionInfo& info, const CountRange& range, Set set,
          OptionGroup group = OptionGroup::common) {
  return {.info = info,
          .group = group,
          .range = range.words(),
          .set = [range, set](TrainOptions& o, const Given& given) {
            set(o, given.whole<Integer>(range, given.text));
          }};
}

// `set` gets the place of the name that was given.
template <class Set>
Row choice(const OptionInfo& info, std::span<const std::string_view> names, Set set,
           OptionGroup group = OptionGroup::common) {
  return {
      .info = info,
      .group = group,
      .range = Choice{names}.words(),
      .set = [names, set](TrainOptions& o, const Given& given) { set(o, given.one_of(names)); }};
}

template <class Set>
Row on_or_off(const OptionInfo& info, Set set, OptionGroup group) {
  return {
      .info = info,
      .group = group,
      .range = "on or off",
      .set = [set](TrainOptions& o, const Given& given) { set(o, given.one_of(kSwitch) == 1); }};
}

// ---- Options with a form of their own.

// LIBLINEAR's solvers that minimise a loss of ours: how they go about it is left to auto.
std::optional<LossKind> loss_of_liblinear(std::string_view number) {
  if (number == "1" || number == "2") return LossKind::squared_hinge;
  if (number == "3") return LossKind::hinge;
  if (number == "0" || number == "7") return LossKind::logistic;
  if (number == "11" || number == "12") return LossKind::squared_epsilon;
  if (number == "13") return LossKind::epsilon_insensitive;
  return {};
}

// LIBLINEAR's other solvers, for those who come from there: what they minimise, and what hinge has
// that comes near it.
struct ForeignSolver {
  std::string_view number, loss, instead;
};
constexpr ForeignSolver kForeignSolvers[] = {
    {"4", "the multi-class SVM of Crammer and Singer",
     "of several classes hinge learns each against the rest: -s 3 with the hinge, -s 2 with its "
     "square"},
    {"5", "the squared hinge with |w| summed up (L1)",
     "hinge regularises by |w|^2: -s 2 is the same loss so"},
    {"6", "logistic regression with |w| summed up (L1)",
     "hinge regularises by |w|^2: -s 0 is the same loss so"},
    {"21", "the one-class SVM",
     "hinge learns from rows of at least two classes: label what is known to lie outside, and -s 3 "
     "tells it from the rest"}};

std::string solver_range() {
  return Choice{solver_names()}.words();
}

Solver solver(const Given& given) {
  const auto foreign = std::ranges::find(kForeignSolvers, given.text, &ForeignSolver::number);
  if (foreign != std::end(kForeignSolvers)) {
    fail("usage.value", fmt::format("--{}: LIBLINEAR's -s {} is {}; {}", given.name, given.text,
                                    foreign->loss, foreign->instead));
  }
  if (loss_of_liblinear(given.text)) return Solver::automatic;
  return static_cast<Solver>(given.one_of(solver_names()));
}

void set_solver(TrainOptions& o, const Given& given) {
  o.solver = solver(given);
  o.loss = loss_of_liblinear(given.text).value_or(o.loss);
}

void set_bias(TrainOptions& o, const Given& given) {
  if (given.text == "free") {
    o.free_bias = true;
  } else if (given.text == "none") {
    o.bias = 0;
  } else {
    o.bias = std::max(0.0, given.number(kBias, given.text));  // negative = none, as LIBLINEAR
  }
}

void set_class_weight(TrainOptions& o, const Given& given) {
  if (given.text == "balanced") {
    o.balanced = true;
    return;
  }
  const std::size_t equals = given.text.find('=');
  if (equals == std::string_view::npos) given.refuse();
  std::string_view label_text = given.text.substr(0, equals);
  if (label_text.starts_with('+')) label_text.remove_prefix(1);
  const std::optional<std::int64_t> label = parse_whole<std::int64_t>(label_text);
  if (!label) given.refuse();
  o.class_weights.push_back({*label, given.number(kFactor, given.text.substr(equals + 1))});
}

void set_tolerance(TrainOptions& o, const Given& given) {
  o.gap = given.number(kTolerance, given.text) / 100;
  if (!kGap.contains(*o.gap)) given.refuse();  // it was so small that nothing is left
}

void set_iterate(TrainOptions& o, const Given& given) {
  o.pegasos.runs = 1;
  if (!given.text.starts_with(kBestOf)) {
    o.pegasos.iterate = static_cast<Iterate>(given.one_of(kIterates));
    return;
  }
  o.pegasos.iterate = Iterate::best_of;
  o.pegasos.runs = given.whole<std::uint64_t>(kRuns, given.text.substr(kBestOf.size()));
}

// Of ceil(ln(1/delta)) points drawn by lot, each of which is bad with probability 1/e, all are with
// probability delta at most. Of the smallest double that is 745.
void set_delta(TrainOptions& o, double delta) {
  o.pegasos.iterate = Iterate::best_of;
  o.pegasos.runs =
      std::max(std::uint64_t{1}, static_cast<std::uint64_t>(std::ceil(-std::log(delta))));
}

// The upper end is known where the data is.
void set_batch(TrainOptions& o, const Given& given) {
  o.pegasos.batch = given.text == "all" ? 0 : given.whole<std::uint64_t>(kAtLeastOne, given.text);
}

std::uint64_t byte_count(const Given& given) {
  const std::optional<std::uint64_t> bytes = parse_byte_count(given.text);
  if (!bytes) given.refuse();
  return *bytes;
}

// One cost, or several with commas in between, in any order.
void set_cost(TrainOptions& o, const Given& given) {
  std::vector<double> costs;
  for (std::string_view rest = given.text; costs.size() <= kPath.most;) {
    const std::size_t comma = rest.find(',');
    costs.push_back(given.number(kPositive, rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(costs);
  if (costs.size() > kPath.most || std::ranges::adjacent_find(costs) != costs.end()) {
    fail("usage.value", fmt::format("--{}: expected different numbers, at most {}, got \"{}\"",
                                    given.name, kPath.most, escape(given.text.substr(0, 100))));
  }
  o.cost = costs.front();
  o.path = costs.size() > 1 ? std::move(costs) : std::vector<double>();
}

// LO:HI:N, evenly spaced in the logarithm. Cut to 6 digits: short enough to be typed.
void set_path(TrainOptions& o, const Given& given) {
  const std::string_view text = given.text;
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) given.refuse();
  const double low = given.number(kPositive, text.substr(0, first));
  const double high = given.number(kPositive, text.substr(first + 1, second - first - 1));
  const auto n = given.whole<std::uint64_t>(kPath, text.substr(second + 1));
  if (!(low < high)) given.refuse();
  std::vector<double> costs = {low};
  for (std::uint64_t k = 1; k + 1 < n; ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(n - 1);
    const double cost = std::exp(std::log(low) + share * (std::log(high) - std::log(low)));
    costs.push_back(given.number(kPositive, fmt::format("{:.6g}", cost)));
  }
  costs.push_back(high);
  if (std::ranges::adjacent_find(costs, std::greater_equal<>()) != costs.end()) given.refuse();
  o.path = std::move(costs);
}

// ---- The table.

using Options = TrainOptions;  // rows are short

std::vector<Row> make_rows() {
  constexpr OptionGroup kPegasosAlone = OptionGroup::pegasos, kPlanesAlone = OptionGroup::planes;
  return {
      {.info = {"cost", "c", "C", "", "1",
                "cost of a row inside the margin: minimise 1/2|w|^2 + C sum loss; several "
                "(0.1,1,10) give one model each, in one file"},
       .range = kPositive.words(),
       .set = set_cost},
      {.info = {"path", "", "LO:HI:N", "", "",
                "the same as --cost with N costs from LO to HI, evenly spaced in the logarithm"},
       .range = "two numbers, 0 < LO < HI, and " + kPath.words(),
       .set = set_path},
      number({"lambda", "", "L", "", "",
              "the same as --cost 1/(L * rows), or, with weights, 1/(L * their sum); give one of "
              "the two"},
             kPositive, [](Options& o, double value) { o.lambda = value; }),
      number({"gap", "", "G", "", "",
              "stop when (primal - bound)/primal <= G, which is proved, not guessed; default "
              "0.001, with pegasos none"},
             kGap, [](Options& o, double value) { o.gap = value; }),
      number({"gap-absolute", "", "X", "", "",
              "stop when primal - bound <= X; of several goals the first that is reached ends the "
              "run, and with another one no --gap is asked that is not given"},
             kPositive, [](Options& o, double value) { o.gap_absolute = value; }),
      number({"gap-per-row", "", "X", "", "",
              "stop when (primal - bound)/(C * rows) <= X, as the active-set paper does"},
             kPositive, [](Options& o, double value) { o.gap_per_row = value; }),
      number({"target", "", "P", "", "",
              "stop when primal <= P, however far the bound is; end, too, where there is no other "
              "goal and the bound shows that no point has such a value"},
             kPositive, [](Options& o, double value) { o.target = value; }),
      {.info = {"tolerance", "e", "E", "", "", "LIBLINEAR's tolerance, read as --gap E/100"},
       .range = kTolerance.words(),
       .set = set_tolerance},
      {.info = {"solver", "s", "NAME", "", "auto",
                "auto picks by the shape of the data; newton is for many more rows than columns; "
                "pegasos is good soon and exact late: its gap falls "
                "like 1/epochs, so 0.001 is the job of the others; cpa to focus are cutting "
                "planes, focus mostly the fastest of them; LIBLINEAR's -s 3 means auto, its -s 1 "
                "and 2 auto with --loss squared_hinge, its -s 0 and 7 with --loss logistic, its -s "
                "11 and 12 with --loss squared_epsilon, its -s 13 with --loss epsilon_insensitive"},
       .range = solver_range(),
       .set = set_solver},
      choice(
          {"loss", "", "NAME", "", "hinge",
           "max(0, 1 - z), z the margin of a row; its square, which LIBLINEAR and scikit-learn "
           "take unless told otherwise; log(1 + exp(-z)), of which probabilities are made; or of "
           "regression, where labels are numbers to be predicted, max(0, |z| - epsilon), z being "
           "by how much a score misses, and its square; all but the hinge: solvers auto, dual and "
           "newton, those of classes also pegasos, without kernels"},
          loss_names(), [](Options& o, std::size_t place) { o.loss = LossKind(place); }),
      number({"epsilon", "p", "P", "", "0.1",
              "of a loss of regression: scores may miss by so much at no cost"},
             kEpsilon, [](Options& o, double value) { o.epsilon = value; }),
      {.info = {"bias", "B", "S", "", "none",
                "free: an intercept that is not regularised; a number: append the constant "
                "feature S to every row, regularised; negative = none"},
       .range = "none, free or " + kBias.words(),
       .set = set_bias},
      flag({"free-bias", "R", "", "", "",
            "the same as --bias free, whatever -B says, as in LIBLINEAR"},
           [](Options& o) { o.free_bias = true; }),
      {.info = {"class-weight", "", "L=W", "", "",
                "multiply the cost of rows of class L by W (also: -wL W); may be repeated"},
       .range = "balanced, or LABEL=FACTOR with " + kFactor.words(),
       .set = set_class_weight},
      whole<int>({"threads", "n", "N", "", "0",
                  "0 = all cores; the model is the same for any number, but see --lanes"},
                 kThreads, [](Options& o, int value) { o.threads = value; }),
      whole<int>({"lanes", "", "N", "", "",
                  "dual: so many lanes descend side by side, and the model depends on how many; by "
                  "default 1 to 16, by the data and --threads"},
                 kLaneCount, [](Options& o, int value) { o.lanes = value; }),
      number({"time-limit", "", "S", "", "",
              "stop after S seconds of training and keep the best model so far"},
             kSeconds, [](Options& o, double value) { o.time_limit = value; }),
      whole<std::uint64_t>({"max-passes", "", "N", "", "",
                            "stop after N passes over the data and keep the best model so far"},
                           kAtLeastOne,
                           [](Options& o, std::uint64_t value) { o.max_passes = value; }),
      flag(
          {"reject", "", "", "", "", "several classes: rows without a positive score get no class"},
          [](Options& o) { o.reject = true; }),
      flag({"no-witness", "", "", "", "", "do not keep the proof in the model"},
           [](Options& o) { o.witness = false; }),
      whole<std::uint64_t>(
          {"max-classes", "", "N", "", "100000", "refuse data with more classes before training"},
          kClasses, [](Options& o, std::uint64_t value) { o.max_classes = value; }),
      {.info = {"memory", "", "SIZE", "", "", "most memory that rows and training may take"},
       .range = std::string(kByteCountWords),
       .set = [](Options& o, const Given& given) { o.memory = byte_count(given); }},
      whole<std::uint64_t>({"seed", "", "N", "", "1", "of the order rows are visited in"}, kAny,
                           [](Options& o, std::uint64_t value) { o.seed = value; }),
      whole<std::uint64_t>(
          {"epochs", "", "N", "", "",
           "stop after N epochs, each of which looks at as many rows as there "
           "are; 20 unless --epochs, --steps or a goal such as --gap is given"},
          kAtLeastOne, [](Options& o, std::uint64_t value) { o.pegasos.epochs = value; },
          kPegasosAlone),
      whole<std::uint64_t>(
          {"steps", "", "T", "", "", "stop after T steps"}, kAtLeastOne,
          [](Options& o, std::uint64_t value) { o.pegasos.steps = value; }, kPegasosAlone),
      {.info = {"batch", "", "K", "", "1", "rows a step looks at"},
       .group = kPegasosAlone,
       .range = "a whole number from 1 to the number of rows, or all",
       .set = set_batch},
      choice(
          {"sampling", "", "NAME", "", "permute",
           "every row once an epoch in random order; rows drawn at random; rows as they come"},
          kSamplings, [](Options& o, std::size_t place) { o.pegasos.sampling = Sampling(place); },
          kPegasosAlone),
      {.info = {"iterate", "", "NAME", "", "suffix",
                "which point is the result: the last, the mean of all, the mean over the last "
                "half of the steps, one drawn by lot, the best of S such draws from shorter runs"},
       .group = kPegasosAlone,
       .range = fmt::format("{} or {}S, S up to {}", Choice{kIterates}.list(), kBestOf, kRuns.most),
       .set = set_iterate},
      number({"delta", "", "D", "", "",
              "the same as --iterate best-of:S with the S = ln(1/D), rounded up, of the theorem "
              "that holds with probability 1 - D, given --sampling replace"},
             kDelta, set_delta, kPegasosAlone),
      choice(
          {"update", "", "NAME", "", "margin",
           "which rows a step learns from: those inside the margin, or only those predicted "
           "wrongly, a score of 0 among them: a perceptron that shrinks, which no theorem brings "
           "to the optimum"},
          update_names(), [](Options& o, std::size_t place) { o.pegasos.update = Update(place); },
          kPegasosAlone),
      on_or_off(
          {"projection", "", "on|off", "", "off", "keep |w| <= 1/sqrt(lambda)"},
          [](Options& o, bool on) { o.pegasos.projection = on; }, kPegasosAlone),
      on_or_off(
          {"rescale", "", "on|off", "", "on",
           "multiply the result by the number that minimises the primal"},
          [](Options& o, bool on) { o.pegasos.rescale = on; }, kPegasosAlone),
      whole<std::uint64_t>(
          {"t0", "", "N", "", "",
           "the first step has the size of step N + 1; 0, or with --start the "
           "number of rows"},
          kFirstStep, [](Options& o, std::uint64_t value) { o.pegasos.t0 = value; }, kPegasosAlone),
      whole<std::uint64_t>(
          {"check-every", "", "N", "", "",
           "compute primal and bound every N epochs (two or three passes over the "
           "data each); default: ever further apart if a goal is asked, else at "
           "the end"},
          kAtLeastOne, [](Options& o, std::uint64_t value) { o.pegasos.check_every = value; },
          kPegasosAlone),
      choice(
          {"kernel", "", "NAME", "", "linear",
           "exp(-g|x-z|^2), (g<x,z>+r)^d or tanh(g<x,z>+r) in the place of <x,z>, with --gamma "
           "g, --coef0 r, --degree d; --solver auto then means pegasos"},
          kernel_names(),
          [](Options& o, std::size_t place) { o.pegasos.kernel.kind = KernelKind(place); },
          kPegasosAlone),
      number(
          {"gamma", "g", "G", "", "", "of the kernel; default 1/features"}, kPositive,
          [](Options& o, double value) { o.pegasos.kernel.gamma = value; }, kPegasosAlone),
      number(
          {"coef0", "r", "R", "", "0", "of the kernels poly and sigmoid"}, kAnyNumber,
          [](Options& o, double value) { o.pegasos.kernel.coef0 = value; }, kPegasosAlone),
      whole<int>(
          {"degree", "d", "D", "", "3", "of the kernel poly"}, kDegree,
          [](Options& o, int value) { o.pegasos.kernel.degree = value; }, kPegasosAlone),
      whole<std::uint64_t>(
          {"budget", "", "N", "", "",
           "with a kernel: keep at most N support rows; the least goes, and the "
           "one most like it takes its part"},
          kAtLeastOne, [](Options& o, std::uint64_t value) { o.pegasos.budget = value; },
          kPegasosAlone),
      whole<std::uint64_t>(
          {"planes", "", "N", "", "",
           "planes kept; beyond it those without a part in the bound go, or the "
           "two oldest become one; default 100, with active from 20 to 100, fewer for more "
           "columns"},
          kPlanes, [](Options& o, std::uint64_t value) { o.planes.planes = value; }, kPlanesAlone),
      number(
          {"mu", "", "X", "", "",
           "where the next plane is laid: this share of the way from the best point to the "
           "minimum over the planes; default 0.05, with focus 0.2 where there are at most four "
           "rows a column"},
          kMu, [](Options& o, double value) { o.planes.mu = value; }, kPlanesAlone),
      choice({"cpu", "", "NAME", "", "auto",
              "instruction set of the inner loops; the model is the same for any"},
             kCpus,
             [](Options& o, std::size_t place) { o.instruction_set = InstructionSet(place); }),
  };
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> made = make_rows();
    for (Row& row : made) {
      row.info.range = row.range;
      row.info.solver = solvers_with(row.group);
    }
    return made;
  }();
  return all;
}

}  // namespace

std::span<const OptionInfo> train_option_table() {
  static const std::vector<OptionInfo> infos = [] {
    std::vector<OptionInfo> all;
    for (const Row& row : rows()) all.push_back(row.info);
    return all;
  }();
  return infos;
}

Result<void> set_option(TrainOptions& options, std::string_view name, std::string_view text) {
  return guard([&] {
    const auto row = std::ranges::find(rows(), name, [](const Row& r) { return r.info.name; });
    if (row == rows().end()) {
      fail("usage.option", fmt::format("there is no option --{}", escape(name)));
    }
    TrainOptions changed = options;
    row->set(changed, {.name = row->info.name, .expected = row->info.range, .text = text});
    options = std::move(changed);
  });
}

// ---- Solvers.

std::string_view to_string(Solver solver) {
  if (solver == Solver::automatic) return "auto";
  return solver <= Solver::focus ? traits_of(solver).name : "unknown";
}

Result<Solver> parse_solver(std::string_view name, std::string_view text) {
  return guard([&] {
    const LossKind loss = loss_of_liblinear(text).value_or(LossKind::hinge);
    if (loss != LossKind::hinge) {
      fail("usage.value", fmt::format("--{}: LIBLINEAR's -s {} is auto with --loss {}", name,
                                      escape(text), to_string(loss)));
    }
    return solver({.name = name, .expected = solver_range(), .text = text});
  });
}

std::string_view to_string(LossKind loss) {
  return visit_loss(loss, []<class Loss>(const Loss&) { return Loss::kName; });
}

bool uses_pegasos(const TrainOptions& options) {
  return options.solver == Solver::pegasos ||
         (options.solver == Solver::automatic && !options.pegasos.kernel.linear());
}

Goals goals_of(const TrainOptions& options, double usual_gap) {
  Goals goals = {.gap = options.gap.value_or(0),
                 .gap_absolute = options.gap_absolute,
                 .gap_per_row = options.gap_per_row,
                 .target = options.target};
  if (!options.gap && !goals.any()) goals.gap = usual_gap;
  return goals;
}

bool has_option(Solver solver, const OptionInfo& option) {
  return option.solver.empty() ||
         (solver != Solver::automatic && option.solver == solvers_with(traits_of(solver).options));
}

bool cutting_planes(Solver solver) {
  return solver != Solver::automatic && solver <= Solver::focus &&
         traits_of(solver).options == OptionGroup::planes;
}

TrainOptions with_solver(TrainOptions options, Solver solver) {
  options.solver = solver;
  if (!uses_pegasos(options)) {
    options.pegasos = {.kernel = options.pegasos.kernel};
  }
  if (!cutting_planes(solver)) options.planes = {};
  if (solver != Solver::dual && solver != Solver::automatic) options.lanes = 0;
  return options;
}

Result<std::uint64_t> parse_size(std::string_view name, std::string_view text) {
  return guard(
      [&] { return byte_count({.name = name, .expected = kByteCountWords, .text = text}); });
}

// ---- What was asked, as text.

std::vector<std::pair<std::string, std::string>> describe(const TrainOptions& o) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [&](bool there, std::string_view name, const auto& value) {
    if (there) all.emplace_back(name, fmt::format("{}", value));
  };
  add(o.loss != LossKind::hinge, "loss", to_string(o.loss));
  add(o.epsilon != TrainOptions{}.epsilon, "epsilon", o.epsilon);
  std::string costs;
  for (const double cost : o.path) costs += fmt::format("{}{}", costs.empty() ? "" : ",", cost);
  add(true, "cost", o.path.empty() ? fmt::format("{}", o.cost) : costs);
  add(o.lambda > 0, "lambda", o.lambda);
  add(o.gap.has_value(), "gap", o.gap.value_or(0));
  add(o.gap_absolute > 0, "gap-absolute", o.gap_absolute);
  add(o.gap_per_row > 0, "gap-per-row", o.gap_per_row);
  add(o.target > 0, "target", o.target);
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
  add(o.lanes > 0, "lanes", o.lanes);
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
  add(p.update != defaults.update, "update", to_string(p.update));
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

}  // namespace hinge
