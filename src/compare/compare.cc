#include "hinge/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"

namespace hinge {
namespace {

// The options of every run, all checked before the first begins.
std::vector<TrainOptions> options_of_runs(std::span<const Solver> solvers,
                                          const TrainOptions& options) {
  if (solvers.empty()) fail("usage.value", "--solvers: expected at least one");
  const Goals goals = goals_of(options, kDefaultGap);
  const bool named = goals_of(options, 0).any();
  std::vector<TrainOptions> runs;
  for (const Solver solver : solvers) {
    TrainOptions run = with_solver(options, solver);
    if (goals.gap > 0) run.gap = goals.gap;
    PegasosOptions& pegasos = run.pegasos;
    if (!named && pegasos.update == Update::mistake && pegasos.epochs == 0 && pegasos.steps == 0) {
      pegasos.epochs = kDefaultEpochs;  // nothing promises that it reaches what nobody asked for
    }
    run.witness = false;  // models are not kept
    if (std::ranges::find(runs, run.solver, &TrainOptions::solver) != runs.end()) {
      fail("usage.value", fmt::format("--solvers: {} is there twice", to_string(run.solver)));
    }
    take(validate(run));
    if (!run.path.empty()) fail("usage.value", "--cost: compare takes one cost, not several");
    runs.push_back(std::move(run));
  }
  return runs;
}

bool stopped(const CompareControl& control) {
  return control.stop != nullptr && control.stop->load(std::memory_order_relaxed);
}

// What is said of the data is said by every run, but heard once.
void add_warnings(std::vector<Error>& all, const std::vector<Error>& some, Solver solver) {
  for (Error warning : some) {
    if (warning.id == "solver.limit" || warning.id == "solver.stalled") {
      warning.message = fmt::format("{}: {}", to_string(solver), warning.message);
    }
    const auto same = [&](const Error& other) {
      return other.id == warning.id && other.message == warning.message;
    };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(warning));
  }
}

// One run; false if it was stopped before it did anything.
bool race(const Dataset& data, const TrainOptions& options, const CompareControl& control,
          Comparison& all) {
  SolverRun run;
  run.solver = options.solver;
  TrainControl watch;
  watch.stop = control.stop;
  watch.observer = [&](const Progress& progress) {
    if (progress.primal > 0) run.trace.push_back(progress);  // else only a sign of life
    if (control.observer) control.observer(run.solver, progress);
  };
  const Stopwatch clock;
  const TrainReport report = take(train(data, options, watch));
  // Classes that run side by side are certified while others train: no less than the last record.
  run.seconds = std::max(clock.seconds() - report.certify_seconds,
                         run.trace.empty() ? 0.0 : gap_curve(run).back().seconds);
  run.name = report.model.origin.solver;
  run.status = report.status;
  run.data_passes = report.data_passes;
  run.certificate = report.model.certificate();
  run.problems = report.model.problems.size();
  run.iterations = report.iterations;
  run.rows_touched = report.rows_touched;
  run.objective_rows = report.objective_rows;
  run.search_rows = report.search_rows;
  run.objective_seconds = report.objective_seconds;
  run.search_seconds = report.search_seconds;
  add_warnings(all.warnings, report.warnings, run.solver);
  all.cost = report.model.origin.cost;
  all.threads = report.threads;
  if (run.status == StopReason::interrupted && run.iterations == 0) return false;
  all.runs.push_back(std::move(run));
  return true;
}

double per_iteration(std::uint64_t rows, std::uint64_t iterations) {
  return iterations == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(iterations);
}

}  // namespace

double SolverRun::mean_active() const {
  return per_iteration(objective_rows, iterations);
}
double SolverRun::mean_search() const {
  return per_iteration(search_rows, iterations);
}

Result<void> validate(std::span<const Solver> solvers, const TrainOptions& options) {
  return guard([&] { options_of_runs(solvers, options); });
}

Result<Comparison> compare(const Dataset& data, std::span<const Solver> solvers,
                           const TrainOptions& options, const CompareControl& control) {
  return guard([&] {
    const std::vector<TrainOptions> runs = options_of_runs(solvers, options);
    Comparison all;
    all.rows = data.rows();
    all.features = data.features();
    all.nonzeros = data.nonzeros();
    all.classes = data.classes().size();
    static_cast<Goals&>(all) = goals_of(options, kDefaultGap);
    for (const TrainOptions& run : runs) {
      try {
        if (stopped(control) || !race(data, run, control, all)) break;
      } catch (Failure& failure) {
        if (all.runs.empty()) throw;
        all.failure = std::move(failure.error);
        break;
      }
    }
    if (all.runs.empty()) fail("run.interrupted", "interrupted before any solver had a result");
    return all;
  });
}

std::vector<std::size_t> ranking(const Comparison& comparison) {
  std::vector<std::size_t> order(comparison.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t k) {
    const SolverRun& run = comparison.runs[k];
    const bool late = run.status != StopReason::converged;
    const double measure = late ? run.certificate.relative_gap : run.seconds;
    return std::pair(late, std::isnan(measure) ? std::numeric_limits<double>::infinity() : measure);
  });
  return order;
}

RunRatios relative_to(const SolverRun& run, const SolverRun& other) {
  const auto ratio = [](double a, double b) {
    return a > 0 && b > 0 ? a / b : std::numeric_limits<double>::quiet_NaN();
  };
  return {
      .seconds = ratio(run.seconds, other.seconds),
      .iterations =
          ratio(static_cast<double>(run.iterations), static_cast<double>(other.iterations)),
      .mean_active = ratio(run.mean_active(), other.mean_active()),
      .mean_search = ratio(run.mean_search(), other.mean_search()),
      .objective_seconds = ratio(run.objective_seconds, other.objective_seconds),
      .search_seconds = ratio(run.search_seconds, other.search_seconds),
  };
}

std::vector<GapPoint> gap_curve(const SolverRun& run) {
  std::size_t problems = std::max(std::size_t{1}, run.problems);
  for (const Progress& p : run.trace) problems = std::max(problems, p.problem + 1);
  std::vector<double> gaps(problems, 1.0), passes(problems);
  std::multiset<double> ordered(gaps.begin(), gaps.end());
  double seconds = 0, sum = 0;
  std::vector<GapPoint> curve;
  for (const Progress& p : run.trace) {
    const double gap = std::isfinite(p.relative_gap) ? std::clamp(p.relative_gap, 0.0, 1.0) : 1.0;
    ordered.erase(ordered.find(std::exchange(gaps[p.problem], gap)));
    ordered.insert(gap);
    if (std::isfinite(p.data_passes)) {
      sum += p.data_passes - std::exchange(passes[p.problem], p.data_passes);
    }
    // Problems that run side by side read the clock before it is their turn to report.
    if (std::isfinite(p.seconds)) seconds = std::max(seconds, p.seconds);
    curve.push_back({seconds, sum, *ordered.rbegin()});
  }
  // A solver that goes over the rows once for all classes counts the same pass in each of them.
  if (run.data_passes > 0 && sum > run.data_passes) {
    for (GapPoint& point : curve) point.data_passes *= run.data_passes / sum;
  }
  return curve;
}

}  // namespace hinge
