// Races solvers on the same data to the same gap, one after the other.
//
//   const hinge::Solver solvers[] = {hinge::Solver::dual, hinge::Solver::pegasos};
//   auto race = hinge::compare(*data, solvers, {.gap = 1e-3, .time_limit = 60});
//   std::string figure = hinge::to_svg(*race);
//
// Every run is one call of train() with the same options, so all minimise the same objective and
// each proves its gap. Gaps, passes and iterations are the same on every machine; seconds are not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/options.h"
#include "hinge/result.h"
#include "hinge/train.h"

namespace hinge {

// How one solver fared. Sums are over all binary problems, as in TrainReport.
struct SolverRun {
  Solver solver = Solver::automatic;  // as asked for
  std::string name;                   // and which one that was: "newton", or "auto:newton"
  StopReason status = StopReason::converged;
  double seconds = 0;        // wall time of training, less that of the final certificate
  double data_passes = 0;    // rows touched / rows
  Certificate certificate;   // as Model::certificate(): recomputed from the data
  std::size_t problems = 1;  // hyperplanes
  std::uint64_t iterations = 0;
  std::uint64_t rows_touched = 0;
  std::uint64_t objective_rows = 0;  // this and what follows: of cutting planes, else 0
  std::uint64_t search_rows = 0;
  double objective_seconds = 0;
  double search_seconds = 0;
  std::vector<Progress> trace;  // every record that has values, as the observer got them

  double mean_active() const;  // rows scored an iteration; 0 without iterations
  double mean_search() const;  // rows in the line search, an iteration
};

// The goals are what was asked of all.
struct Comparison : Goals {
  std::string data;  // what the figure calls the data; compare() leaves it empty
  std::uint64_t rows = 0;
  std::uint64_t features = 0;
  std::uint64_t nonzeros = 0;
  std::size_t classes = 0;
  double cost = 1;               // C, also where lambda was given
  int threads = 1;               // that there were
  std::vector<SolverRun> runs;   // in the order asked for
  std::vector<Error> warnings;   // each once; those about one solver name it
  std::optional<Error> failure;  // of the run that would come next; it ended the comparison
};

struct CompareControl {
  // Every record of train(), signs of life too; called from one thread at a time.
  std::function<void(Solver, const Progress&)> observer = {};
  const std::atomic<bool>* stop = nullptr;  // true: end the present run soon, begin no other
};

// Whether compare() would begin: usage.value if there is no solver, or one twice, or an option
// makes no sense for one of them. compare() calls it too.
Result<void> validate(std::span<const Solver> solvers, const TrainOptions& options);

// Runs the solvers in this order. `options.solver` does not count; options that only some solvers
// have count for these; time and pass limits hold for each run. Where no goal is named, kDefaultGap
// is asked, of Pegasos too; but on mistakes (Update), which promise none, that ends after
// kDefaultEpochs.
//
// A run that is stopped is kept with what it reached, runs not begun are missing; fails with
// run.interrupted if there is none at all. A run that fails ends the comparison: compare() fails
// with its error if it was the first, else `failure` has it.
Result<Comparison> compare(const Dataset& data, std::span<const Solver> solvers,
                           const TrainOptions& options = {}, const CompareControl& control = {});

// Indices of the runs, the best first: those that reached a goal by their seconds, then the others
// by their gap.
std::vector<std::size_t> ranking(const Comparison& comparison);

// A run beside another one, as Figure 2 of the active-set paper has them: ratios this/other, NaN
// where either has no such thing.
struct RunRatios {
  double seconds = 0;
  double iterations = 0;
  double mean_active = 0;
  double mean_search = 0;
  double objective_seconds = 0;
  double search_seconds = 0;
};
RunRatios relative_to(const SolverRun& run, const SolverRun& other);

// The worst gap of all problems after each record of the trace; 1 while a problem has none. Passes
// are those of all problems together.
struct GapPoint {
  double seconds = 0;
  double data_passes = 0;
  double relative_gap = 1;  // in [0, 1]
};
std::vector<GapPoint> gap_curve(const SolverRun& run);

// A figure as a whole SVG document in ASCII: the gap against seconds and against passes, one line a
// run in each (<polyline>), all axes logarithmic. A solver has the same colour, dashes and marker
// in every figure; the marker at the end of a line is hollow if no goal was reached.
std::string to_svg(const Comparison& comparison);

}  // namespace hinge
