// What training can be asked for. One table declares every option: its names, range, default and
// help. The command line is made from it; a test holds the docs to it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/kernel.h"
#include "hinge/loss.h"
#include "hinge/model.h"
#include "hinge/result.h"

namespace hinge {

// docs/math.md says what each does; cpa to focus are cutting planes (docs/cutting-planes.md).
enum class Solver : std::uint8_t {
  automatic,
  dual,
  newton,
  pegasos,
  cpa,
  ocas,
  ocas3,
  active,
  focus
};
constexpr double kMaxBias = 1e150;  // the square of a bias must be finite

enum class InstructionSet : std::uint8_t { automatic, scalar, avx2, avx512 };

// Which rows a step of Pegasos looks at: every row once an epoch in an order drawn anew (permute),
// rows drawn from all of them (replace), or rows as they come (order).
enum class Sampling : std::uint8_t { permute, replace, order };

// Which of the points w_1, w_2, ... Pegasos passed is the result: the last; the mean of all; the
// mean over the last half of the steps; one of them drawn by lot; or the best of several such
// draws, each from a run of its own.
enum class Iterate : std::uint8_t { last, average, suffix, random, best_of };

constexpr std::uint64_t kDefaultEpochs = 20;  // of Pegasos; solve/pegasos/tuning.h says why

// How `--solver pegasos` works; docs/pegasos.md says what each is for. An epoch is ceil(rows/batch)
// steps.
struct PegasosOptions {
  std::uint64_t batch = 1;  // rows a step looks at, at most all; 0 = all
  Update update = Update::margin;
  bool projection = false;  // keep |w| <= 1/sqrt(lambda)
  Sampling sampling = Sampling::permute;
  Iterate iterate = Iterate::suffix;
  std::uint64_t runs = 1;    // with Iterate::best_of: how many runs share the steps, at most 1000
  std::uint64_t epochs = 0;  // 0: kDefaultEpochs, unless `steps` or a goal says when to stop
  std::uint64_t steps = 0;   // 0: as many as the epochs have; not with `epochs`
  std::optional<std::uint64_t> t0 = {};  // steps t0 + 1, t0 + 2, ...; none: 0, or rows with a start
  std::uint64_t check_every = 0;  // epochs between exact looks at primal and bound; 0: at the end,
                                  // or, when a goal is asked, ever more apart
  bool rescale = true;            // multiply the result by the factor that minimises the primal
  KernelFunction kernel = {};     // rbf, poly or sigmoid instead of <x, z>; docs/kernels.md
  std::uint64_t budget = 0;       // with a kernel: most support rows, for all classes together;
                                  // 0 = any number
  bool operator==(const PegasosOptions&) const = default;
};

// How the cutting-plane solvers work; docs/cutting-planes.md.
struct PlaneOptions {
  std::uint64_t planes =
      0;          // kept at most, 2 to 10000; 0: 100, with Solver::active 20 as published
  double mu = 0;  // the next plane is laid at w_b + mu (w_t - w_b); 0.001 to 1; 0: 0.05, with
                  // Solver::focus 0.2 where there are at most four rows a column
  bool operator==(const PlaneOptions&) const = default;
};

// The gap that is asked where none is given.
constexpr double kDefaultGap = 1e-3;

struct TrainOptions {
  // What is minimised: 1/2|w|^2 + C sum c_i l_i, l being the loss, of which only some solvers take
  // others than the hinge. One of regression takes real targets, or whole numbers as such, and
  // neither class weights nor `reject`.
  LossKind loss = LossKind::hinge;
  double epsilon = 0.1;  // of a loss of regression: by so much scores may miss at no cost; >= 0
  double cost = 1;       // C; finite, > 0
  double lambda = 0;     // > 0: cost = 1/(lambda sum c_i) instead of `cost`
  // One model for each of these costs, instead of `cost`: ascending, at most 1000. train_path() and
  // cross_validate_path() only.
  std::vector<double> path = {};
  // Stop when (primal - bound)/primal <= gap; in (0, 1]. None: kDefaultGap, but no gap with
  // Pegasos, nor where another goal is given.
  std::optional<double> gap = {};
  // Other goals; each problem of several classes has its own, and ends at the first that it
  // reaches. Finite; 0 = not asked. A target alone also ends it where the bound is above the
  // target.
  double gap_absolute = 0;  // stop when primal - bound <= this
  double gap_per_row = 0;   // stop when (primal - bound)/(C rows) <= this
  double target = 0;        // stop when primal <= this
  Solver solver = Solver::automatic;
  double bias = 0;  // value of a constant, regularised feature, up to kMaxBias; 0 = none
  // An intercept that is not regularised, as statistics has it; `bias` does not matter then. Not
  // with a kernel.
  bool free_bias = false;
  std::vector<ClassWeight> class_weights = {};  // factor > 0 on the cost of a row of that class
  bool balanced = false;                        // class factors rows/(classes * rows of the class)
  bool reject = false;                          // several classes: keep "no class" in the model
  bool witness = true;                          // keep the proof in the model
  // 0 = all cores; at most 4096. Changes the result only in that `lanes` follows it.
  int threads = 0;
  // So many lanes of dual descent run side by side in one process, at most 64, each of which works
  // on rows of its own. The result depends on it. 0: one where the data are few or several models
  // share the threads, else 2, 4, 8 or 16, as `threads` are asked for.
  int lanes = 0;
  double time_limit = std::numeric_limits<double>::infinity();  // seconds of training; >= 0
  std::uint64_t max_passes = 0;             // passes over the data; 0 = no limit
  std::uint64_t max_classes = kMaxClasses;  // more are refused (limit.classes)
  std::uint64_t memory = 0;  // bytes rows and training may take; 0 = no limit; memory.limit beyond
  std::uint64_t seed = 1;
  InstructionSet instruction_set = InstructionSet::automatic;  // never changes the result
  PegasosOptions pegasos = {};                                 // Solver::pegasos only
  PlaneOptions planes = {};                                    // cutting planes only
};

struct OptionInfo {
  std::string_view name;         // "cost": the long option without dashes
  std::string_view letter;       // "c", or empty
  std::string_view argument;     // placeholder ("C"); empty for a switch
  std::string_view range;        // what is allowed, in words
  std::string_view fallback;     // the default, as text
  std::string_view help;         // one sentence
  std::string_view solver = {};  // the only solvers that have it, or empty: all
};
std::span<const OptionInfo> train_option_table();
bool has_option(Solver solver, const OptionInfo& option);

// The name of a solver in options, models and reports: "dual"; "auto" for automatic.
std::string_view to_string(Solver solver);

// The solver of that name; LIBLINEAR's 3 is automatic. 1 and 2 say a loss as well, which only
// set_option() can take. Fails with usage.value, the names there are
// and the one that may have been meant; `name` is the option's.
Result<Solver> parse_solver(std::string_view name, std::string_view text);

// Whether Pegasos will train: it was named, or there is a kernel. (What else automatic stands for
// depends on the data.)
bool uses_pegasos(const TrainOptions& options);

// What the run is to reach; `usual_gap` where the options name no goal (0: nothing).
Goals goals_of(const TrainOptions& options, double usual_gap);

// Whether it is one of cpa, ocas, ocas3, active and focus.
bool cutting_planes(Solver solver);

// The same problem given to another solver: what only other solvers can be asked for goes back to
// its default. A kernel stays, as it is part of the problem.
TrainOptions with_solver(TrainOptions options, Solver solver);

// Sets one option from text (a switch takes ""). Fails with usage.value or usage.option
// and then leaves the options as they were.
Result<void> set_option(TrainOptions& options, std::string_view name, std::string_view text);

// What set_option() would have to be told, name by name, to get options with the same result from
// the defaults: those that cannot change it (threads, limits, memory, instruction set) are left
// out, and most that have their default.
std::vector<std::pair<std::string, std::string>> describe(const TrainOptions& options);

// A number of bytes: digits and, if need be, K, M, G or T (powers of 1024). Fails with usage.value;
// `name` is the option's.
Result<std::uint64_t> parse_size(std::string_view name, std::string_view text);

// Whether the options make sense together. train() calls it too.
Result<void> validate(const TrainOptions& options);

}  // namespace hinge
