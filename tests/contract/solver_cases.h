// What the tests of every solver share: the solvers, a noisy problem of several shapes, a run with
// its certificate.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "proof/certificate.h"
#include "rows/quantised_rows.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge::contract {

using SolveFunction = Solution (*)(const Problem&, const SolverOptions&, Monitor&, Pool&);

inline Solution dual(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                     Pool& pool) {
  return solve_dual(problem, {.common = options}, monitor, pool);
}

inline Solution pegasos(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                        Pool& pool) {
  return solve_pegasos(std::span(&problem, 1), {.common = options}, std::span(&monitor, 1),
                       pool)[0];
}

// It begins with w in floats, and if rows are of doubles with half of them in 16 bits.
inline Solution dual_in_floats(const Problem& problem, const SolverOptions& options,
                               Monitor& monitor, Pool& pool) {
  DualSetup floats = {.common = options, .float_weights = true};
  std::optional<QuantisedRows> quantised;
  if (const auto* const m = std::get_if<CsrView<double>>(&problem.data->view())) {
    Pool own(2);  // which nobody interrupts
    quantised.emplace(*m, m->nonzeros(), *options.simd, own);
    floats.quantised_rows = &*quantised;
  }
  return solve_dual(problem, floats, monitor, pool);
}

struct SolverCase {
  const char* name;
  SolveFunction solve;
  double finest = 0;  // the smallest gap it can be asked for in reasonable time; 0: any
  LossChoice loss = {};

  double gap(double wanted) const { return std::max(wanted, finest); }
};

template <Solver method>
Solution planes(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                Pool& pool) {
  return solve_planes(problem, {.common = options, .method = method}, monitor, pool);
}

inline std::vector<SolverCase> solvers() {
  return {{"dual", dual},
          {"dual_in_floats", dual_in_floats},
          {"newton", solve_newton},
          {"pegasos", pegasos, 1e-3},
          {"cpa", planes<Solver::cpa>, 1e-6},
          {"ocas", planes<Solver::ocas>},
          {"ocas3", planes<Solver::ocas3>},
          {"active", planes<Solver::active>, 1e-5},
          {"focus", planes<Solver::focus>},
          {"dual_squared", dual, 0, LossKind::squared_hinge},
          {"dual_in_floats_squared", dual_in_floats, 0, LossKind::squared_hinge},
          {"newton_squared", solve_newton, 0, LossKind::squared_hinge},
          {"dual_insensitive", dual, 0, {LossKind::epsilon_insensitive, 0.3}},
          {"dual_in_floats_insensitive", dual_in_floats, 0, {LossKind::epsilon_insensitive, 0.3}},
          {"newton_insensitive", solve_newton, 0, {LossKind::epsilon_insensitive, 0.3}},
          {"dual_squared_epsilon", dual, 0, {LossKind::squared_epsilon, 0.3}},
          {"dual_in_floats_squared_epsilon", dual_in_floats, 0, {LossKind::squared_epsilon, 0.3}},
          {"newton_squared_epsilon", solve_newton, 0, {LossKind::squared_epsilon, 0.3}},
          {"dual_logistic", dual, 0, LossKind::logistic},
          {"dual_in_floats_logistic", dual_in_floats, 0, LossKind::logistic},
          {"newton_logistic", solve_newton, 0, LossKind::logistic},
          {"pegasos_squared", pegasos, 1e-3, LossKind::squared_hinge},
          {"pegasos_logistic", pegasos, 1e-3, LossKind::logistic},
          {"pegasos_insensitive", pegasos, 1e-3, {LossKind::epsilon_insensitive, 0.3}},
          {"pegasos_squared_epsilon", pegasos, 1e-3, {LossKind::squared_epsilon, 0.3}}};
}
inline std::vector<SolverCase> exact_solvers() {
  std::vector<SolverCase> exact = solvers();
  std::erase_if(exact, [](const SolverCase& solver) { return solver.finest > 0; });
  return exact;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Outcome {
  Solution solution;
  Proof certificate;
  std::vector<Progress> trace;
  StopReason reason;
};

inline Outcome run(SolveFunction solve, const Problem& problem, Limits limits, int threads = 1,
                   const SolverOptions& options = {}) {
  Outcome out;
  const std::function<void(const Progress&)> observer = [&](const Progress& p) {
    if (p.primal > 0) out.trace.push_back(p);  // else a sign of life
  };
  const Stopwatch clock;
  Monitor monitor(limits, clock, 0, observer);
  Pool pool(threads);
  out.solution = solve(problem, options, monitor, pool);
  out.certificate = certify(problem, out.solution.w, out.solution.alpha, pool);
  out.reason = monitor.reason();
  return out;
}

inline void expect_feasible(const Problem& problem, const std::vector<double>& alpha) {
  ASSERT_EQ(alpha.size(), problem.data->rows());
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    ASSERT_GE(alpha[i], problem.lowest(i)) << i;
    ASSERT_LE(alpha[i], problem.highest(i)) << i;
    ASSERT_TRUE(std::isfinite(alpha[i])) << i;
  }
  if (!problem.free_bias) return;
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    sum += problem.y[i] * alpha[i];
    all += std::abs(alpha[i]);
  }
  ASSERT_NEAR(sum, 0, 1e-12 * all);
}

// A noisy problem with everything a solver meets: rows of no weight, row weights, a bias. Cutting
// planes keep planes in another way where rows are few beside the columns.
constexpr std::uint64_t kRows = 600, kFewRows = 250;
struct ProblemShape {
  std::uint64_t rows = kRows;
  bool free_bias = false;
  std::uint64_t features = 80;
};
constexpr ProblemShape kWide = {kFewRows, false, 1000};
constexpr ProblemShape kShapes[] = {{kRows}, {kFewRows}, {kRows, true}, {kFewRows, true}, kWide};

// In regression every y_i is 1; targets are about what labels are elsewhere.
class MaybeTargets {
 public:
  // The problem may be about less than this outlives.
  void give(Problem& problem) {
    if (!is_regression(problem.loss.kind)) return;
    Random random(11);
    targets_.clear();
    for (const std::int8_t label : problem.y) {
      targets_.push_back(0.3 + label + 2 * (random.uniform() - 0.5));
    }
    y_.assign(problem.y.size(), 1);
    problem.targets = targets_;
    problem.y = y_;
  }
  std::span<const double> targets() const { return targets_; }

 private:
  std::vector<double> targets_;
  std::vector<std::int8_t> y_;
};

struct NoisyProblem {
  explicit NoisyProblem(Precision precision, const ProblemShape& shape = {}, LossChoice loss = {})
      : data(testing::random_dataset({.rows = shape.rows,
                                      .features = shape.features,
                                      .nonzeros = 9,
                                      .noise = 0.1,
                                      .seed = 3,
                                      .precision = precision})),
        y(signs(data, 1)),
        costs(data.rows()) {
    Random random(5);
    for (double& c : costs) c = random.below(8) == 0 ? 0.0 : 0.25 + random.uniform();
    problem = {.data = &data,
               .y = y,
               .costs = costs,
               .cost = 2,
               .bias = shape.free_bias ? 1 : 0.5,
               .free_bias = shape.free_bias,
               .loss = loss};
    targets.give(problem);
  }
  Dataset data;
  std::vector<std::int8_t> y;
  std::vector<double> costs;
  MaybeTargets targets;
  Problem problem;
};

inline std::string name_of(const ::testing::TestParamInfo<SolverCase>& info) {
  return info.param.name;
}

}  // namespace hinge::contract
