// What every solver must do when it is cut short: from any state it ever offered it goes on to the
// same bits, and offering one changes nothing.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "contract/solver_cases.h"
#include "data/dataset_builder.h"
#include "rows/quantised_rows.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge {
namespace {

class KeepAll final : public StateSink {
 public:
  bool wanted() override { return true; }
  void keep(std::vector<std::byte> state, const Progress&) override {
    states.push_back(std::move(state));
  }
  void lost() override { FAIL(); }
  std::vector<std::vector<std::byte>> states;
};

struct Case {
  std::string name;
  Solver solver;
  PegasosOptions pegasos = {};
  double gap = 1e-3;
  int classes = 1;  // of Pegasos, in one sweep
  KernelWay way = KernelWay::by_budget;
  std::uint64_t rows = 150, features = 40;
  bool free_bias = false;
  std::size_t most = 40;  // states to go on from
  bool floats = false;    // descent begins with w in floats
  Precision precision = Precision::f32;
  double cost = 2;
  LossChoice loss = {};
};

Case squared(Case one) {
  one.loss = LossKind::squared_hinge;
  return one;
}

Case logistic(Case one) {
  one.loss = LossKind::logistic;
  return one;
}

Case regression(Case one, LossKind loss) {
  one.loss = {loss, 0.2};
  return one;
}

PegasosOptions kernel(std::uint64_t budget, Iterate iterate = Iterate::suffix) {
  return {.batch = 3,
          .iterate = iterate,
          .epochs = 4,
          .kernel = {.kind = KernelKind::rbf, .gamma = 0.5},
          .budget = budget};
}

std::vector<Case> cases() {
  return {
      {"dual", Solver::dual, {}, 1e-6},
      {"dual_merged_columns", Solver::dual, {}, 1e-9, 1, {}, 150, 120'000, false, 3},
      {"dual_free_bias", Solver::dual, {}, 1e-6, 1, {}, 150, 40, true},
      {"dual_in_floats", Solver::dual, {}, 1e-6, 1, {}, 150, 40, false, 40, true},
      // So easy that estimates fall fast, and steps are as long as the optimum.
      {"dual_in_floats_easy",
       Solver::dual,
       {},
       1e-6,
       1,
       {},
       600,
       40,
       false,
       40,
       true,
       Precision::f32,
       0.2},
      {"dual_on_quantised_rows",
       Solver::dual,
       {},
       1e-6,
       1,
       {},
       150,
       40,
       false,
       40,
       true,
       Precision::f64},
      {"dual_on_quantised_rows_free_bias",
       Solver::dual,
       {},
       1e-4,
       1,
       {},
       300,
       400,
       true,
       40,
       true,
       Precision::f64},
      {"newton", Solver::newton, {}, 1e-6},
      {"newton_free_bias", Solver::newton, {}, 1e-6, 1, {}, 400, 12, true},
      {"newton_after_sample", Solver::newton, {}, 1e-8, 1, {}, 33000, 10, false, 3},
      squared({"dual_squared", Solver::dual, {}, 1e-8}),
      squared({"dual_squared_free_bias", Solver::dual, {}, 1e-8, 1, {}, 150, 40, true}),
      squared({"dual_squared_in_floats", Solver::dual, {}, 1e-8, 1, {}, 150, 40, false, 40, true}),
      squared({"newton_squared", Solver::newton, {}, 1e-13, 1, {}, 3000, 30}),
      squared({"newton_squared_free_bias", Solver::newton, {}, 1e-13, 1, {}, 400, 12, true}),
      squared(
          {"newton_squared_after_sample", Solver::newton, {}, 1e-15, 1, {}, 33000, 10, false, 3}),
      logistic({"dual_logistic", Solver::dual, {}, 1e-8}),
      logistic({"dual_logistic_free_bias", Solver::dual, {}, 1e-8, 1, {}, 150, 40, true}),
      logistic(
          {"dual_logistic_in_floats", Solver::dual, {}, 1e-8, 1, {}, 150, 40, false, 40, true}),
      logistic({"newton_logistic", Solver::newton, {}, 1e-13, 1, {}, 3000, 30}),
      logistic({"newton_logistic_wide", Solver::newton, {}, 1e-13, 1, {}, 150, 6000, false, 9}),
      logistic({"newton_logistic_free_bias", Solver::newton, {}, 1e-13, 1, {}, 400, 12, true}),
      logistic(
          {"newton_logistic_after_sample", Solver::newton, {}, 1e-14, 1, {}, 33000, 10, false, 3}),
      regression({"dual_insensitive", Solver::dual, {}, 1e-6}, LossKind::epsilon_insensitive),
      regression({"dual_insensitive_free_bias", Solver::dual, {}, 1e-6, 1, {}, 150, 40, true},
                 LossKind::epsilon_insensitive),
      regression(
          {"dual_squared_epsilon_floats", Solver::dual, {}, 1e-8, 1, {}, 150, 40, false, 40, true},
          LossKind::squared_epsilon),
      regression({"newton_insensitive", Solver::newton, {}, 1e-8, 1, {}, 400, 12, true},
                 LossKind::epsilon_insensitive),
      regression({"newton_squared_epsilon", Solver::newton, {}, 1e-15, 1, {}, 3000, 30},
                 LossKind::squared_epsilon),
      {"cpa", Solver::cpa, {}, 1e-2},
      {"ocas", Solver::ocas},
      {"ocas_by_rows", Solver::ocas, {}, 1e-3, 1, {}, 60, 150},
      {"ocas3", Solver::ocas3},
      {"active", Solver::active},
      {"focus", Solver::focus, {}, 1e-5},
      {"focus_by_columns", Solver::focus, {}, 1e-5, 1, {}, 400, 12},
      {"focus_after_sample", Solver::focus, {}, 1e-4, 1, {}, 33000, 10, false, 3},
      {"ocas_free_bias", Solver::ocas, {}, 1e-4, 1, {}, 150, 40, true},
      {"focus_free_bias", Solver::focus, {}, 1e-5, 1, {}, 400, 12, true},
      {"focus_free_bias_by_rows", Solver::focus, {}, 1e-5, 1, {}, 150, 60, true},
      {"pegasos", Solver::pegasos, {.epochs = 6}, 0},
      {"pegasos_gap", Solver::pegasos, {}, 0.05},
      {"pegasos_average",
       Solver::pegasos,
       {.batch = 7, .iterate = Iterate::average, .epochs = 3},
       0},
      {"pegasos_last",
       Solver::pegasos,
       {.sampling = Sampling::order, .iterate = Iterate::last, .epochs = 3},
       0},
      {"pegasos_random",
       Solver::pegasos,
       {.sampling = Sampling::replace, .iterate = Iterate::random, .epochs = 3},
       0},
      {"pegasos_best_of",
       Solver::pegasos,
       {.batch = 5,
        .sampling = Sampling::replace,
        .iterate = Iterate::best_of,
        .runs = 3,
        .epochs = 6},
       0},
      {"pegasos_projection", Solver::pegasos, {.projection = true, .epochs = 5}, 0.01},
      {"pegasos_batch_projection",
       Solver::pegasos,
       {.batch = 10, .projection = true, .iterate = Iterate::average, .epochs = 8},
       0},
      {"pegasos_mistakes", Solver::pegasos, {.update = Update::mistake, .epochs = 5}, 0},
      {"pegasos_long", Solver::pegasos, {.epochs = 60, .check_every = 9}, 0},
      {"pegasos_classes", Solver::pegasos, {.epochs = 4}, 0.2, 3},
      {"pegasos_classes_projection", Solver::pegasos, {.projection = true, .epochs = 4}, 0, 3},
      squared({"pegasos_squared", Solver::pegasos, {.epochs = 6}, 0}),
      squared({"pegasos_squared_batch", Solver::pegasos, {.batch = 7}, 0.05}),
      squared(
          {"pegasos_squared_classes", Solver::pegasos, {.projection = true, .epochs = 4}, 0, 3}),
      regression({"pegasos_insensitive", Solver::pegasos, {.epochs = 6}, 0},
                 LossKind::epsilon_insensitive),
      regression({"pegasos_insensitive_free_bias",
                  Solver::pegasos,
                  {.batch = 7},
                  0.05,
                  1,
                  {},
                  150,
                  40,
                  true},
                 LossKind::epsilon_insensitive),
      regression({"pegasos_squared_epsilon",
                  Solver::pegasos,
                  {.batch = 5, .projection = true, .iterate = Iterate::average, .epochs = 6},
                  0},
                 LossKind::squared_epsilon),
      {"kernel_scores", Solver::pegasos, kernel(0), 0, 1, KernelWay::scores},
      {"kernel_blocks", Solver::pegasos, kernel(0), 0, 1, KernelWay::blocks},
      {"kernel_budget_scores", Solver::pegasos, kernel(20), 0, 1, KernelWay::scores},
      {"kernel_budget_blocks", Solver::pegasos, kernel(20), 0, 3, KernelWay::blocks},
      {"kernel_random_blocks", Solver::pegasos, kernel(30, Iterate::random), 0, 2,
       KernelWay::blocks},
  };
}

class SolverCheckpoints : public ::testing::TestWithParam<Case> {
 protected:
  SolverCheckpoints()
      : data_(testing::random_dataset({.rows = GetParam().rows,
                                       .features = GetParam().features,
                                       .nonzeros = 6,
                                       .noise = 0.1,
                                       .seed = 7,
                                       .precision = GetParam().precision})) {
    if (const auto* const m = std::get_if<CsrView<double>>(&data_.view());
        m != nullptr && GetParam().floats) {
      Pool pool(1);
      quantised_.emplace(*m, m->nonzeros(), best_simd(), pool);  // about half of them
    }
    Random random(3);
    for (double& c : costs_) c = 0.25 + random.uniform();
    for (int c = 0; c < GetParam().classes; ++c) {
      signs_.push_back(signs(data_, 1));
      for (std::size_t i = 0; c > 0 && i < signs_[0].size(); ++i) {
        signs_.back()[i] = static_cast<std::int8_t>(random.below(2) == 0 ? 1 : -1);
      }
    }
    for (const auto& y : signs_) {
      const bool free = GetParam().free_bias;
      problems_.push_back({.data = &data_,
                           .y = y,
                           .costs = costs_,
                           .cost = GetParam().cost,
                           .bias = free ? 1 : 0.5,
                           .free_bias = free,
                           .loss = GetParam().loss});
      targets_.emplace_back().give(problems_.back());
    }
  }

  std::vector<Solution> solve(StateSink* keeper, std::span<const std::byte> resume, int threads,
                              double seconds = std::numeric_limits<double>::infinity()) {
    const Case& c = GetParam();
    const Limits limits = {.gap = c.gap, .seconds = seconds};
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    std::vector<Monitor> monitors;
    for (std::size_t k = 0; k < problems_.size(); ++k) {
      monitors.emplace_back(limits, clock, k, nobody, k == 0 ? keeper : nullptr);
    }
    Pool pool(threads);
    const SolverOptions common = {.resume = resume};
    if (c.solver == Solver::pegasos) {
      return solve_pegasos(problems_, {.common = common, .pegasos = c.pegasos, .kernel_way = c.way},
                           monitors, pool);
    }
    const DualSetup dual = {.common = common,
                            .float_weights = c.floats,
                            .quantised_rows = quantised_ ? &*quantised_ : nullptr};
    if (c.solver == Solver::dual) return {solve_dual(problems_[0], dual, monitors[0], pool)};
    if (c.solver == Solver::newton) return {solve_newton(problems_[0], common, monitors[0], pool)};
    return {solve_planes(problems_[0], {.common = common, .method = c.solver}, monitors[0], pool)};
  }

  static void expect_same(const std::vector<Solution>& a, const std::vector<Solution>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      EXPECT_TRUE(a[k].w == b[k].w);
      EXPECT_TRUE(a[k].alpha == b[k].alpha);
      EXPECT_EQ(a[k].iterations, b[k].iterations);
      EXPECT_EQ(a[k].rows_touched, b[k].rows_touched);
      EXPECT_EQ(a[k].objective_rows, b[k].objective_rows);
      EXPECT_EQ(a[k].search_rows, b[k].search_rows);
      EXPECT_EQ(a[k].stalled, b[k].stalled);
      EXPECT_EQ(a[k].cut_short, b[k].cut_short);
    }
  }

  Dataset data_;
  std::optional<QuantisedRows> quantised_;
  std::vector<double> costs_ = std::vector<double>(GetParam().rows);
  std::vector<std::vector<std::int8_t>> signs_;
  std::vector<contract::MaybeTargets> targets_;
  std::vector<Problem> problems_;
};

TEST_P(SolverCheckpoints, EveryStateLeadsToTheSameResult) {
  const std::vector<Solution> undisturbed = solve(nullptr, {}, 1);
  KeepAll keeper;
  expect_same(solve(&keeper, {}, 2), undisturbed);
  // Of a smooth loss a few steps on all rows may be all.
  const bool few = GetParam().name.starts_with("newton_squared") ||
                   (GetParam().loss.kind == LossKind::logistic && GetParam().rows > 10'000);
  ASSERT_GT(keeper.states.size(), few ? 1U : 2U);
  if (GetParam().name == "dual_merged_columns") {
    EXPECT_LT(keeper.states[0].size(), GetParam().features);  // as long as w it would be 8 times it
  }
  const std::size_t step = (keeper.states.size() - 1) / GetParam().most + 1;
  for (std::size_t k = 0; k < keeper.states.size(); k += step) {
    SCOPED_TRACE(k);
    KeepAll after;
    expect_same(solve(&after, keeper.states[k], 1 + static_cast<int>(k % 2)), undisturbed);
    // What is offered first is the state it came from, and so is what follows.
    ASSERT_EQ(after.states.size(), keeper.states.size() - k);
    EXPECT_TRUE(after.states.front() == keeper.states[k]);
    EXPECT_TRUE(after.states.back() == keeper.states.back());
    if (HasFailure()) return;
  }
}

// The first visit to a row finds its square, and puts a row of zeros where it belongs: also after
// the first state, which is offered before any visit.
TEST(DualCheckpoints, RowsOfZeros) {
  constexpr std::uint64_t kRows = 60, kColumns = 5;
  Random random(4);
  DatasetArrays<float> arrays;
  std::uint64_t end = 0;
  arrays.offsets.append(&end, 1);
  for (std::uint64_t i = 0; i < kRows; ++i) {
    for (std::uint32_t j = 0; j < kColumns; ++j) {
      const float value = i % 20 == 3 ? 0.0F : static_cast<float>(random.uniform()) - 0.5F;
      arrays.columns.append(&j, 1);
      arrays.values.append(&value, 1);
      ++end;
    }
    arrays.offsets.append(&end, 1);
    const std::int64_t label = i % 2 == 0 ? 1 : -1;
    arrays.labels.append(&label, 1);
  }
  const Dataset data = DatasetBuilder::build(std::move(arrays), kColumns, 1);
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 1};
  const auto solve = [&](StateSink* keeper, std::span<const std::byte> resume) {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = 1e-6, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                    nobody, keeper);
    Pool pool(1);
    const Solution solution = solve_dual(problem, {.common = {.resume = resume}}, monitor, pool);
    EXPECT_EQ(monitor.reason(), StopReason::converged);
    return solution;
  };
  KeepAll keeper;
  const Solution undisturbed = solve(&keeper, {});
  const Solution resumed = solve(nullptr, keeper.states.front());
  EXPECT_EQ(resumed.w, undisturbed.w);
  EXPECT_EQ(resumed.alpha, undisturbed.alpha);
}

// Checksums keep such bytes away, unless somebody means it.
TEST_P(SolverCheckpoints, ForgedStatesDoNoHarm) {
  KeepAll keeper;
  static_cast<void>(solve(&keeper, {}, 1));
  const std::vector<std::byte>& good = keeper.states[keeper.states.size() / 2];
  Random random(11);
  for (int k = 0; k < (GetParam().most == 40 ? 60 : 2); ++k) {
    std::vector<std::byte> state = good;
    if (k % 3 == 0) {
      state.resize(random.below(state.size()));
      if (state.empty()) continue;
    }
    for (int more = 0; more < 3; ++more) {
      // Among the first bytes are lengths and counters.
      const std::uint64_t at =
          random.below(k % 2 == 0 ? std::min<std::size_t>(400, state.size()) : state.size());
      state[at] = static_cast<std::byte>(random.below(256));
    }
    try {
      static_cast<void>(solve(nullptr, state, 1, 0.01));
    } catch (const Failure& failure) {
      EXPECT_TRUE(failure.error.id == "checkpoint.content" ||
                  failure.error.id == "solver.nonfinite")
          << to_string(failure.error);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SolverCheckpoints, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace hinge
