#include "solve/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "data/columns.h"
#include "data/survey.h"
#include "objective/loss.h"
#include "solve/crawl.h"
#include "solve/monitor.h"
#include "solve/tuning.h"

namespace hinge {
namespace {

bool is_smooth(LossKind kind) {
  return visit_loss(kind, []<class Loss>(const Loss&) { return Loss::kSmooth; });
}

// Above this C |x|^2 newton is chosen for a smooth loss on many rows of at most kMoreColumns.
double hard_of_smooth(LossKind loss, double rows, double columns, double gap, bool full) {
  using Tuning = ChoiceTuning;
  if (columns <= Tuning::kFewColumns && rows >= Tuning::kVeryManyRows) return 0;
  const bool sampled = rows >= std::max(Tuning::kSampledRows, Tuning::kSampledByColumns * columns);
  const bool logistic = loss == LossKind::logistic;
  const Tuning::HardOfSmooth& hard =
      sampled ? (logistic ? Tuning::kHardOfLogistic : Tuning::kHardOfSquared)
              : (logistic ? Tuning::kHardOfLogisticUnsampled : Tuning::kHardOfSquaredUnsampled);
  const auto& by_gap = columns <= Tuning::kFewColumns ? hard.few
                       : full                         ? hard.more_full
                                                      : hard.more;
  return by_gap[gap <= Tuning::kSmallGap ? 0 : gap <= kDefaultGap ? 1 : 2];
}

// The largest, without weights.
double likely_cost(const TrainOptions& options, double rows) {
  if (options.lambda > 0) return 1 / (options.lambda * rows);
  return options.path.empty() ? options.cost : std::ranges::max(options.path);
}

// Focus takes the same steps however many ranks there are; descent takes more rounds the more ranks
// share columns. But every plane is as long as the columns. Rounds to a gap of 1e-3, on two (and
// four) ranks; on a9a descent does not come to 1e-5 in reasonable time:
//   columns    a9a 123    ccat 47,236    like real-sim 20,958    like news20 1,355,191
//   focus      57         75             67                      2e-3 after 10 s and 35 rounds
//   dual       320        35 (125)       57                      21 (32)
SolverChoice choose_on_ranks(const TrainOptions& options, const GlobalShape& shape, int ranks) {
  if (options.loss != LossKind::hinge) {
    return {Solver::dual,
            fmt::format("it is the one for {} ranks with the {}", ranks, to_string(options.loss))};
  }
  const std::uint64_t columns = std::min(shape.features, shape.nonzeros);
  if (columns > ChoiceTuning::kMaxColumnsOfFocusOnRanks) {
    return {Solver::dual, fmt::format("{} columns are many, for {} ranks", columns, ranks)};
  }
  return {Solver::focus, fmt::format("{} ranks share rows of {} columns", ranks, columns)};
}

// Dual descent visits rows, newton factors a matrix of columns x columns. What makes descent slow
// is C |x|^2, the number of times over that a row of mean length could be fitted by itself: above
// some tens the variables of many rows lie between their bounds and hang together. Newton's steps
// hardly depend on it. Measured on one thread (a9a, w8a, covtype, digits, and generated rows like
// covtype, real-sim and dense ones of 50 to 4000 columns, C = 0.01, 1 and 100, gaps 1e-2 to 1e-6):
//   columns    newton is ahead
//   <= 150     above C |x|^2 = 2, at gaps of 1e-5 and less above 0.4; with 200,000 rows or more
//              above 0.1, and at such gaps always: steps on subsamples leave few for all rows
//   <= 300     above 30; at gaps of 1e-4 and less from 1 on, if rows are full
//   <= 2500    above 30, where descent takes 3 to 10 times as long or does not arrive
//   more       never by much: a matrix is too large, and text, which has more, suits descent
// and only with 20 rows a column, or with 4 and C |x|^2 above 30 (1000 beyond 500 columns), where
// descent takes 2 to 1000 times as long (wine, breast cancer, 8 x 8 digits, generated rows of 30 to
// 1000 columns). Below 5,000 rows either takes milliseconds, unless C |x|^2 is large.
//
// Smooth losses have no corners to sharpen, so that newton takes fewer steps and is ahead of
// descent sooner, the more so the smaller the gap; docs/lab.md has the figures. On text, of
// thousands of columns, descent is ahead by 3 to 100 times with them, too (ccat, imdb and news20, C
// = 0.01, 1 and 100, gaps 1e-2 to 1e-6), though newton is faster there than LIBLINEAR's.
//
// What no such rule sees (rows far from the origin, columns of different scales) shows when descent
// crawls; then newton goes on from there (solve/crawl.h).
SolverChoice choose_alone(const TrainOptions& options, const Dataset& data) {
  SolverChoice choice = {Solver::dual};
  std::uint64_t occurring = data.features();
  if (occurring > ChoiceTuning::kMaxColumnsOfNewton) {
    choice.columns = count_columns(data, ChoiceTuning::kMaxColumnsOfNewton);
    occurring = choice.columns.value_or(occurring);
  }
  const auto rows = static_cast<double>(data.rows()),
             columns =
                 static_cast<double>(occurring + (options.free_bias || options.bias > 0 ? 1 : 0));
  choice.may_change = newton_may_follow(data, static_cast<std::uint64_t>(columns));
  if (columns == 0) {
    choice.because = "no row has a feature";
    return choice;
  }
  if (columns > static_cast<double>(ChoiceTuning::kMaxColumnsOfNewton)) {
    choice.because = fmt::format("{:.0f} columns are many", columns);
    return choice;
  }
  if (rows < ChoiceTuning::kLeastRowsPerColumn * columns) {
    choice.because = fmt::format("there are only {:.2g} rows a column", rows / columns);
    return choice;
  }
  const double hardness = likely_cost(options, rows) * mean_square(data);
  const double gap = likely_gap(options, data.rows());
  const bool full =
      static_cast<double>(data.nonzeros()) > ChoiceTuning::kFullShare * rows * columns;
  const bool tight = gap <= ChoiceTuning::kTightGap;
  const double easy =
      rows >= ChoiceTuning::kVeryManyRows
          ? (tight ? ChoiceTuning::kHardOfVeryManyRowsTight : ChoiceTuning::kHardOfVeryManyRows)
          : (tight ? ChoiceTuning::kHardOfFewColumnsTight : ChoiceTuning::kHardOfFewColumns);
  const double hard_of_few = columns <= ChoiceTuning::kColumnsOfFewRows
                                 ? ChoiceTuning::kHardOfFewRows
                                 : ChoiceTuning::kHardOfFewRowsAndManyColumns;
  const bool few = rows < ChoiceTuning::kManyRowsPerColumn * columns;
  const bool many = rows >= ChoiceTuning::kManyRows;
  const bool smooth = is_smooth(options.loss);
  const bool newton =
      few                              ? hardness > hard_of_few
      : hardness > ChoiceTuning::kHard ? true
      : smooth && many && columns <= ChoiceTuning::kMoreColumns
          ? hardness > hard_of_smooth(options.loss, rows, columns, gap, full)
      : columns <= ChoiceTuning::kFewColumns && many ? hardness > easy
      : columns <= ChoiceTuning::kMoreColumns && many
          ? full && gap <= ChoiceTuning::kSmallGap && hardness >= ChoiceTuning::kHardOfMoreColumns
          : false;
  if (newton) choice.solver = Solver::newton;
  choice.because =
      fmt::format("there are {:.2g} rows a column and C |x|^2 is {:.2g}", rows / columns, hardness);
  return choice;
}

}  // namespace

double likely_gap(const TrainOptions& options, std::uint64_t rows) {
  const auto count = static_cast<double>(rows);
  const double at_zero = likely_cost(options, count) * count;
  const Goals goals = goals_of(options, kDefaultGap);
  const Limits limits = {.gap = goals.gap,
                         .absolute = std::max(goals.gap_absolute, goals.gap_per_row * at_zero)};
  return limits.likely_gap(at_zero);
}

SolverChoice choose_solver(const TrainOptions& options, const Dataset& data,
                           const GlobalShape& shape, int ranks) {
  if (options.solver != Solver::automatic) return {options.solver};
  if (!options.pegasos.kernel.linear()) return {Solver::pegasos, "it is the one with kernels"};
  return ranks > 1 ? choose_on_ranks(options, shape, ranks) : choose_alone(options, data);
}

}  // namespace hinge
