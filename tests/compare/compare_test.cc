// compare() and its figure as a user of the library sees them.
#include "hinge/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>

#include "support.h"

namespace hinge {
namespace {

using testing::kInfinity;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Solver kBoth[] = {Solver::dual, Solver::pegasos};

Dataset small(std::uint64_t classes = 2) {
  return testing::random_dataset({.rows = 300, .features = 20, .classes = classes});
}

Progress record(double seconds, double passes, double gap, std::size_t problem = 0) {
  Progress p;
  p.problem = problem;
  p.seconds = seconds;
  p.data_passes = passes;
  p.primal = 1;
  p.relative_gap = gap;
  return p;
}

SolverRun run_of(std::vector<Progress> trace, Solver solver = Solver::dual) {
  SolverRun run;
  run.solver = solver;
  run.trace = std::move(trace);
  return run;
}

Comparison comparison_of(std::vector<SolverRun> runs) {
  Comparison all;
  all.gap = 1e-3;
  all.runs = std::move(runs);
  return all;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

// The figure is a document of its own with as many lines, and no coordinate is beyond the picture.
std::string figure(const Comparison& all, std::size_t lines) {
  std::string svg = to_svg(all);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
  EXPECT_EQ(count(svg, "<polyline "), lines) << svg;
  for (const char* word : {"nan", "inf", "e+"}) EXPECT_EQ(count(svg, word), 0U) << word << svg;
  for (const char c : svg) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  const std::string_view key = "points=\"";
  for (std::size_t at = svg.find(key); at != std::string::npos; at = svg.find(key, at + 1)) {
    std::string points = svg.substr(at + key.size(), svg.find('"', at + key.size()) - at);
    std::ranges::replace(points, ',', ' ');
    std::istringstream numbers(points);
    for (double x = 0, y = 0; numbers >> x >> y;) {
      EXPECT_GE(x, 0);
      EXPECT_LE(x, 960);
      EXPECT_GE(y, 0);
      EXPECT_LE(y, 440);
    }
  }
  return svg;
}

TEST(Compare, RunsReachTheSameGap) {
  const Dataset data = small();
  const Comparison all = compare(data, kBoth, {.cost = 0.1, .gap = 1e-2}).value();
  ASSERT_EQ(all.runs.size(), 2U);
  EXPECT_EQ(all.rows, 300U);
  EXPECT_EQ(all.cost, 0.1);
  EXPECT_EQ(all.gap, 1e-2);
  EXPECT_FALSE(all.failure);
  for (std::size_t k = 0; k < 2; ++k) {
    const SolverRun& run = all.runs[k];
    EXPECT_EQ(run.solver, kBoth[k]);
    EXPECT_EQ(run.status, StopReason::converged);
    EXPECT_LE(run.certificate.relative_gap, 1e-2);
    EXPECT_GT(run.iterations, 0U);
    EXPECT_GT(run.seconds, 0);
    ASSERT_FALSE(run.trace.empty());
    EXPECT_LE(run.trace.back().relative_gap, 1e-2);
    for (const Progress& p : run.trace) EXPECT_GT(p.primal, 0);
    EXPECT_NEAR(gap_curve(run).back().data_passes, run.data_passes, 1);
  }
  EXPECT_NEAR(all.runs[0].certificate.primal, all.runs[1].certificate.primal,
              0.02 * all.runs[0].certificate.primal);
  figure(all, 4);
}

TEST(Compare, IsWhatTrainDoes) {
  const Dataset data = small();
  const TrainOptions options = {.gap = 1e-4, .bias = 1, .seed = 5};
  const Comparison all = compare(data, std::vector{Solver::automatic}, options).value();
  const TrainReport alone = train(data, options).value();
  EXPECT_EQ(all.runs[0].solver, Solver::automatic);
  EXPECT_EQ(all.runs[0].name, alone.model.origin.solver);
  EXPECT_EQ(all.runs[0].certificate.primal, alone.model.certificate().primal);
  EXPECT_EQ(all.runs[0].iterations, alone.iterations);
  EXPECT_EQ(all.runs[0].rows_touched, alone.rows_touched);
}

// What auto means depends on the data: many rows, few columns and a large cost are for newton.
TEST(Compare, AutoIsWhatTrainMeansByIt) {
  const Dataset data = testing::random_dataset(
      {.rows = 6000, .features = 10, .nonzeros = 10, .noise = 0.2, .seed = 4});
  const TrainOptions options = {.cost = 100};
  const std::string meant = train(data, options).value().model.origin.solver;
  EXPECT_EQ(meant, "auto:newton");
  const Comparison all =
      compare(data, std::vector{Solver::newton, Solver::automatic}, options).value();
  EXPECT_EQ(all.runs[0].name, "newton");
  EXPECT_EQ(all.runs[1].name, meant);
  EXPECT_EQ(all.runs[1].certificate.primal, all.runs[0].certificate.primal);
}

TEST(Compare, AsksEverySolverForTheDefaultGap) {
  const Comparison all =
      compare(small(), std::vector{Solver::pegasos}, {.cost = 0.01, .max_passes = 2}).value();
  EXPECT_EQ(all.gap, kDefaultGap);
  EXPECT_EQ(all.runs[0].status, StopReason::limit);
  ASSERT_EQ(all.warnings.size(), 1U);
  EXPECT_TRUE(all.warnings[0].message.starts_with("pegasos: stopped by a limit"));
}

// Nothing promises that mistakes alone lead to a gap; one that nobody named is no reason to refuse.
TEST(Compare, MistakesEndAfterTheDefaultEpochs) {
  TrainOptions options = {.cost = 0.01, .pegasos = {.update = Update::mistake}};
  const std::vector solvers = {Solver::pegasos, Solver::dual};
  const Comparison all = compare(small(), solvers, options).value();
  EXPECT_EQ(all.gap, kDefaultGap);
  EXPECT_EQ(all.runs[0].status, StopReason::limit);
  EXPECT_EQ(all.runs[0].iterations, kDefaultEpochs * small().rows());
  EXPECT_EQ(all.runs[1].status, StopReason::converged);
  options.pegasos.steps = 7;
  EXPECT_EQ(compare(small(), solvers, options).value().runs[0].iterations, 7U);
  options.pegasos.steps = 0;
  options.gap = 0.1;
  EXPECT_EQ(validate(solvers, options).error().id, "usage.value");
}

TEST(Compare, SeveralClasses) {
  const Comparison all = compare(small(4), kBoth, {.cost = 0.01, .gap = 0.05}).value();
  for (const SolverRun& run : all.runs) {
    EXPECT_EQ(run.problems, 4U);
    const std::vector<GapPoint> curve = gap_curve(run);
    EXPECT_LE(curve.back().relative_gap, 0.05);
    EXPECT_LE(curve.back().data_passes, run.data_passes * (1 + 1e-9));
    EXPECT_GE(curve.back().data_passes, run.data_passes * 0.5);
    for (std::size_t k = 1; k < curve.size(); ++k) {
      EXPECT_LE(curve[k - 1].seconds, curve[k].seconds);
      EXPECT_LE(curve[k - 1].data_passes, curve[k].data_passes);
      EXPECT_GE(curve[k - 1].relative_gap, curve[k].relative_gap);
    }
  }
  figure(all, 4);
}

TEST(Compare, OptionsOfOneSolverAreForIt) {
  TrainOptions options = {.gap = 0.1, .pegasos = {.batch = 10}};
  EXPECT_TRUE(compare(small(), kBoth, options).ok());
  options.pegasos = {.kernel = {.kind = KernelKind::rbf}};
  EXPECT_EQ(compare(small(), kBoth, options).error().id, "usage.value");  // another problem
}

TEST(Compare, RefusesListsThatMakeNoSense) {
  const Dataset data = small();
  for (const std::vector<Solver>& solvers : {std::vector<Solver>{},
                                             {Solver::dual, Solver::dual},
                                             {Solver::automatic, Solver::automatic}}) {
    EXPECT_EQ(compare(data, solvers).error().id, "usage.value");
    EXPECT_EQ(validate(solvers, {}).error().id, "usage.value");
  }
  EXPECT_EQ(compare(data, kBoth, {.cost = -1}).error().id, "usage.value");
}

TEST(Compare, StopsAndKeepsWhatThereIs) {
  const Dataset data = small();
  std::atomic<bool> stop = true;
  EXPECT_EQ(compare(data, kBoth, {}, {.stop = &stop}).error().id, "run.interrupted");
  stop = false;
  CompareControl control = {
      .observer = [&](Solver solver,
                      const Progress& p) { stop = solver == Solver::pegasos && p.iteration > 0; },
      .stop = &stop};
  const Comparison all = compare(data, kBoth, {.cost = 100, .gap = 1e-9}, control).value();
  ASSERT_EQ(all.runs.size(), 2U);
  EXPECT_EQ(all.runs[0].status, StopReason::converged);
  EXPECT_EQ(all.runs[1].status, StopReason::interrupted);
  EXPECT_EQ(ranking(all), (std::vector<std::size_t>{0, 1}));
}

TEST(Compare, AFailureKeepsTheRunsBeforeIt) {
  TrainOptions options = {.gap = 0.1, .pegasos = {.batch = 1000}};  // of 300 rows
  const Comparison all = compare(small(), kBoth, options).value();
  EXPECT_EQ(all.runs.size(), 1U);
  ASSERT_TRUE(all.failure);
  EXPECT_EQ(all.failure->id, "usage.value");
  EXPECT_FALSE(compare(small(), std::vector{Solver::pegasos, Solver::dual}, options).ok());
}

TEST(Compare, RankingPutsTheGapReachedFirst) {
  Comparison all = comparison_of(std::vector<SolverRun>(4));
  const double seconds[] = {1, 5, 2, 3}, gaps[] = {0.5, 1e-4, 0.1, 9e-4};
  for (std::size_t k = 0; k < 4; ++k) {
    all.runs[k].seconds = seconds[k];
    all.runs[k].certificate.relative_gap = gaps[k];
    all.runs[k].status = gaps[k] < 1e-3 ? StopReason::converged : StopReason::limit;
  }
  EXPECT_EQ(ranking(all), (std::vector<std::size_t>{3, 1, 2, 0}));
}

TEST(Compare, Ratios) {
  SolverRun a, b;
  a.iterations = 10, a.objective_rows = 500, a.seconds = 3;
  b.iterations = 20, b.objective_rows = 4000, b.seconds = 2, b.search_rows = 5;
  const RunRatios ratios = relative_to(a, b);
  EXPECT_EQ(ratios.seconds, 1.5);
  EXPECT_EQ(ratios.iterations, 0.5);
  EXPECT_EQ(ratios.mean_active, 0.25);
  EXPECT_TRUE(std::isnan(ratios.mean_search));
  EXPECT_TRUE(std::isnan(ratios.search_seconds));
  EXPECT_EQ(SolverRun().mean_active(), 0);
}

TEST(GapCurve, IsTheWorstOfTheProblems) {
  SolverRun run = run_of({record(1, 2, 0.5, 0), record(2, 1, 0.4, 1), record(1.9, 3, 0.3, 0),
                          record(4, 3, 0.1, 1), record(5, 4, 0.05, 0)});
  run.problems = 2;
  run.data_passes = 7;
  const double gaps[] = {1, 0.5, 0.4, 0.3, 0.1}, passes[] = {2, 3, 4, 6, 7},
               seconds[] = {1, 2, 2, 4, 5};
  std::vector<GapPoint> curve = gap_curve(run);
  ASSERT_EQ(curve.size(), 5U);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(curve[k].relative_gap, gaps[k]);
    EXPECT_EQ(curve[k].data_passes, passes[k]);
    EXPECT_EQ(curve[k].seconds, seconds[k]);
  }
  run.data_passes = 3.5;  // both problems looked at the same rows
  EXPECT_EQ(gap_curve(run).back().data_passes, 3.5);
  EXPECT_TRUE(gap_curve(SolverRun()).empty());
}

TEST(CompareSvg, NothingToShow) {
  figure({}, 0);
  figure(comparison_of({run_of({})}), 0);
  figure(comparison_of({run_of({record(0, 0, 1)})}), 0);  // no place on a logarithmic axis
}

TEST(CompareSvg, OnePoint) {
  figure(comparison_of({run_of({record(1, 1, 0.5)})}), 2);
  figure(comparison_of({run_of({record(1, 1, 1)})}), 2);
  figure(comparison_of({run_of({record(1, 1, 0)})}), 2);
  figure(comparison_of({run_of({record(1, 0, 0.5)})}), 1);  // no passes: only in one panel
}

TEST(CompareSvg, OddValues) {
  figure(comparison_of({run_of({record(1, 1, 0.5), record(2, 2, 0)})}), 2);
  figure(comparison_of({run_of({record(1, 1, 0.5), record(2, 2, 1e-300), record(3, 3, 0)})}), 2);
  figure(comparison_of({run_of({record(1, 1, kNan), record(kInfinity, kNan, kInfinity),
                                record(2, kInfinity, -kInfinity), record(kNan, 3, 1e-4)})}),
         2);
  figure(comparison_of({run_of({record(1e-300, 1e-300, 0.5), record(1e300, 1e300, 1e-2)})}), 2);
  figure(comparison_of({run_of({record(5e-324, 5e-324, 0.5), record(1.7e308, 1.7e308, 0.1)})}), 2);
  for (const double gap : {0.0, 1.0, 1e-300, 0.3}) {
    Comparison all = comparison_of({run_of({record(1, 1, 0.5), record(2, 2, 1e-3)})});
    all.gap = gap;
    figure(all, 2);
  }
  Comparison all = comparison_of({run_of({record(1, 1, 0.5)})});
  all.runs[0].seconds = kNan;
  all.runs[0].status = StopReason::limit;
  all.runs[0].certificate.relative_gap = kInfinity;
  all.cost = kInfinity;
  EXPECT_EQ(count(to_svg(all), "<polyline "), 2U);
}

TEST(CompareSvg, AnyNumberOfLinesInAnyOrder) {
  std::vector<SolverRun> runs;
  for (int k = 0; k < 40; ++k) {
    runs.push_back(run_of({record(1 + k, 1, 0.5), record(2 + k, 4, 1e-3)},
                          static_cast<Solver>(k)));  // also those that are not there yet
  }
  figure(comparison_of(runs), 80);
}

TEST(CompareSvg, SaysWhatElseWasAskedFor) {
  Comparison all = comparison_of({run_of({record(1, 1, 0.5), record(2, 2, 0.1)})});
  EXPECT_EQ(figure(all, 2).find("a gap of"), std::string::npos);  // the line says it
  all.gap = 0;
  all.gap_absolute = 3;
  all.target = 7;
  EXPECT_NE(figure(all, 2).find("; to a primal within 3 of the bound, or a primal of 7<"),
            std::string::npos);
}

TEST(CompareSvg, NamesCannotBreakTheDocument) {
  Comparison all = comparison_of({run_of({record(1, 1, 0.5), record(2, 2, 0.1)})});
  all.data = "a/b/<&\"'>\x1b[31m\xff.svm";
  const std::string svg = figure(all, 2);
  EXPECT_NE(svg.find("&lt;&amp;&quot;'&gt;\\x1b[31m\\xff.svm"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("a/b"), std::string::npos);
  all.data = std::string(10000, '&');
  figure(all, 2);
}

}  // namespace
}  // namespace hinge
