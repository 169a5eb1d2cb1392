// What is decided before work begins.
#include "train/plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <type_traits>

#include "base/error.h"
#include "data/survey.h"
#include "support.h"
#include "train/checks.h"
#include "train/report.h"
#include "train/starts.h"

namespace hinge {
namespace {

// A plan with the run that belongs to it.
class Planned {
 public:
  Planned(const Dataset& data, const TrainOptions& options, const TrainControl& control = {})
      : options_(options),
        control_(control),
        run_(control_, options_, nullptr),
        plan_(make_plan(data, options_,
                        options_.path.empty() ? std::span(&options_.cost, 1)
                                              : std::span<const double>(options_.path),
                        run_)) {}
  const Plan* operator->() const { return &plan_; }
  const Plan& operator*() const { return plan_; }
  const Run& run() const { return run_; }

 private:
  const TrainOptions options_;
  const TrainControl control_;
  Run run_;
  const Plan plan_;
};

std::string refused(const Dataset& data, const TrainOptions& options,
                    const TrainControl& control = {}) {
  const Result<void> made = guard([&] { Planned(data, options, control); });
  return made.ok() ? "" : made.error().id;
}

const std::vector<double> kPath = {0.1, 1, 10, 100};

// Another goal takes the place of the usual gap, beside one that was given, and where auto asks how
// close a run shall come.
TEST(Plan, OtherGoals) {
  const Dataset data = testing::random_dataset({.rows = 6000, .features = 20, .nonzeros = 20});
  const double cost = 1 / mean_square(data);  // where newton is for small gaps only
  const Planned per_row(data, {.cost = cost, .gap_per_row = 0.1});
  EXPECT_EQ(per_row->goals.gap, 0);
  EXPECT_EQ(per_row->limits.gap, 0);
  EXPECT_TRUE(per_row->goals.any());
  EXPECT_EQ(per_row->report_template.model.origin.gap_per_row, 0.1);
  EXPECT_EQ(per_row->choice.solver, Solver::dual);
  const Planned small(data, {.cost = cost, .gap_per_row = 1e-7});
  EXPECT_EQ(small->choice.solver, Solver::newton);
  const Planned absolute(data, {.cost = cost, .gap_absolute = 1e-7 * cost * 6000});
  EXPECT_EQ(absolute->choice.solver, Solver::newton);
  const Planned first(data, {.cost = cost, .gap_absolute = 1e-7, .gap_per_row = 0.1});
  EXPECT_EQ(first->choice.solver, Solver::dual);
  const Planned both(data, {.gap = 0.01, .target = 50});
  EXPECT_EQ(both->goals.gap, 0.01);
  EXPECT_LT(both->limits.target, 50);
  EXPECT_GT(both->limits.target, 50 * (1 - 1e-9));
  const Planned none(data, {.solver = Solver::pegasos});
  EXPECT_FALSE(none->goals.any());
}

// What a run needs is a matter of how close it will come, whatever form its goal has.
TEST(Plan, GoalsThatAreAlikeNeedTheSameMemory) {
  const Dataset data = testing::random_dataset({.rows = 400, .features = 150'000, .nonzeros = 20});
  const double cost = 2, unit = cost * 400;
  const auto need = [&](TrainOptions options) {
    options.cost = cost;
    options.solver = Solver::dual;
    SolverChoice choice = {Solver::dual};
    return check_memory(data, global_shape(data), options, choice, false).all();
  };
  const double near = need({.gap = 1e-3}), far = need({.gap = 1e-2});
  EXPECT_LT(far, near);
  EXPECT_EQ(need({}), near);
  EXPECT_EQ(need({.gap_per_row = 1e-2}), far);
  EXPECT_EQ(need({.gap_per_row = 1e-3}), near);
  EXPECT_EQ(need({.gap_absolute = 1e-2 * unit}), far);
  EXPECT_EQ(need({.gap_absolute = 1e-6 * unit}), near);
  EXPECT_EQ(need({.gap = 1e-6, .gap_per_row = 1e-2}), far);  // the first that is reached ends it
  EXPECT_EQ(need({.target = 1}), near);                      // as where nothing is asked for
}

TEST(Plan, SolverAndGap) {
  const Dataset data = testing::random_dataset({});
  const Planned usual(data, {});
  EXPECT_EQ(usual->choice.solver, Solver::dual);
  EXPECT_FALSE(usual->choice.because.empty());
  EXPECT_EQ(usual->goals.gap, kDefaultGap);
  EXPECT_LE(usual->limits.gap, usual->goals.gap);
  EXPECT_GT(usual->limits.pace.most, 0);  // it is watched lest it crawl
  EXPECT_EQ(usual->report_template.model.origin.solver, "auto:dual");
  const Planned named(data, {.gap = 0.1, .solver = Solver::focus});
  EXPECT_EQ(named->choice.solver, Solver::focus);
  EXPECT_EQ(named->goals.gap, 0.1);
  EXPECT_EQ(named->report_template.model.origin.solver, "focus");
  const Planned pegasos(data, {.solver = Solver::pegasos});
  EXPECT_EQ(pegasos->goals.gap, 0);
  EXPECT_EQ(pegasos->limits.pace.most, 0);
}

TEST(Plan, RowsAreThoseOfTheColumnsThatOccur) {
  const Dataset few = testing::dataset_from_text("+1 1:1 4000000:2\n-1 7:1\n");
  const Planned compact(few, {});
  ASSERT_TRUE(compact->compact.has_value());
  EXPECT_EQ(compact->rows().features(), 3U);
  EXPECT_EQ(compact->report_template.model.columns, (std::vector<std::uint32_t>{0, 6, 3999999}));
  EXPECT_EQ(compact->report_template.model.features, 4000000U);
  const Dataset usual = testing::random_dataset({});
  const Planned whole(usual, {});
  EXPECT_FALSE(whole->compact.has_value());
  EXPECT_EQ(&whole->rows(), &usual);
}

TEST(Plan, RowWeights) {
  const Dataset data = testing::dataset_from_text("+1 1:1\n-1 2:1\n-1 2:2\n");
  const Planned plain(data, {});
  EXPECT_TRUE(plain->row_weights.empty());
  EXPECT_EQ(plain->total, 3);
  EXPECT_EQ(plain->total_rounding, 0);
  const Planned weighted(data, {.bias = 2, .class_weights = {{-1, 0.5}, {7, 3}}});
  EXPECT_EQ(weighted->row_weights, (std::vector<double>{1, 0.5, 0.5}));
  EXPECT_EQ(weighted->total, 2);
  EXPECT_GT(weighted->total_rounding, 0);
  ASSERT_EQ(weighted->warnings.size(), 1U);
  EXPECT_EQ(weighted->warnings[0].id, "usage.class-weight");
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = weighted->problem(y, 3);
  EXPECT_EQ(problem.upper(1), 1.5);
  EXPECT_EQ(problem.bias, 2);
  EXPECT_EQ(problem.data, &data);
}

// Every problem of every cost is in one group, in their order.
void expect_cover(const Planned& plan) {
  std::size_t next = 0;
  for (const ProblemGroup& group : plan->groups) {
    EXPECT_EQ(group.first, next);
    EXPECT_LT(group.first, group.last);
    EXPECT_EQ(group.first / plan->problems(), (group.last - 1) / plan->problems());
    next = group.last;
  }
  EXPECT_EQ(next, plan->problems() * plan->cost_path.size());
  EXPECT_EQ(plan.run().resumed.size(), plan->groups.size());
}

TEST(Plan, Groups) {
  const Dataset two = testing::random_dataset({}), many = testing::random_dataset({.classes = 7});
  TrainOptions options = {.path = kPath, .gap = 0.1, .solver = Solver::dual, .threads = 2};
  const Planned alone(many, options);
  expect_cover(alone);
  EXPECT_EQ(alone->groups.size(), 7 * kPath.size());
  options.solver = Solver::pegasos;
  const Planned swept(many, options);
  expect_cover(swept);
  EXPECT_EQ(swept->groups.size(), 2 * kPath.size());  // a sweep a thread
  options.path = {};
  options.pegasos.kernel = {.kind = KernelKind::rbf};
  const Planned kernel(many, options);
  expect_cover(kernel);
  EXPECT_EQ(kernel->groups.size(), 1U);
  EXPECT_GT(kernel->report_template.model.kernel.gamma, 0);  // decided, too
  expect_cover(Planned(two, {}));
}

TEST(Plan, CostsAbreast) {
  const Dataset two = testing::random_dataset({}), many = testing::random_dataset({.classes = 3});
  TrainOptions options = {.solver = Solver::dual};
  EXPECT_EQ(Planned(two, options)->abreast, 1U);
  EXPECT_FALSE(Planned(two, options)->warm_starts);
  options.path = kPath;
  EXPECT_EQ(Planned(two, options)->abreast, 4U);
  EXPECT_TRUE(Planned(two, options)->warm_starts);
  EXPECT_EQ(Planned(many, options)->abreast, 1U);
  options.path = {1, 2};
  EXPECT_EQ(Planned(two, options)->abreast, 2U);
  options.solver = Solver::focus;
  EXPECT_EQ(Planned(two, options)->abreast, 1U);
}

TEST(Plan, RefusesBeforeAnyWork) {
  const Dataset data = testing::random_dataset({});
  EXPECT_EQ(refused(testing::dataset_from_text("+1 1:1\n+1 2:1\n"), {}), "data.one-class");
  EXPECT_EQ(refused(testing::random_dataset({.classes = 4}), {.max_classes = 3}), "limit.classes");
  EXPECT_EQ(refused(data, {.memory = 1000}), "memory.limit");
  EXPECT_EQ(refused(data, {.solver = Solver::pegasos, .pegasos = {.batch = 61}}), "usage.value");
  const Model other = train(testing::dataset_from_text("1 1:1\n2 2:1\n"), {}).value().model;
  EXPECT_EQ(refused(data, {}, {.start = &other}), "model.start");
  const testing::TempFolder folder;
  EXPECT_EQ(refused(data, {}, {.resume = folder / "nothing"}), "io.open");
}

// The lock is there from the plan on; nothing is written before there is something.
TEST(Plan, ChecksTheCheckpointFile) {
  const Dataset data = testing::random_dataset({});
  const testing::TempFolder folder;
  TrainControl control;
  control.checkpoint.path = folder / "c";
  const Planned plan(data, {}, control);
  EXPECT_TRUE(plan->keeps_states);
  EXPECT_TRUE(plan.run().checkpoints.has_value());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c.lock"});
  EXPECT_EQ(refused(data, {}, control), "lock.held");
}

TEST(Starts, BetweenTwoCosts) {
  const WarmStarts below = {.cost = 1, .start = {{.w = {0, 2}, .alpha = {1}}}};
  const WarmStarts above = {.cost = 3, .cut = true, .start = {{.w = {4, 2}, .alpha = {3}}}};
  const WarmStarts mid = between(below, above, 1.5);
  EXPECT_EQ(mid.cost, 1.5);
  EXPECT_TRUE(mid.cut);
  ASSERT_EQ(mid.start.size(), 1U);
  EXPECT_EQ(mid.start[0].w, (std::vector<double>{1, 2}));
  EXPECT_EQ(mid.start[0].alpha, std::vector<double>{1.5});
}

// Dual variables keep their share of their bounds.
TEST(Starts, AfterAnotherCost) {
  const Dataset data = testing::dataset_from_text("+1 1:1\n-1 2:1\n");
  const std::vector<std::int8_t> y = signs(data, 1);
  const std::vector<double> weights = {1, 0};
  const Problem problem = {.data = &data, .y = y, .costs = weights, .cost = 4};
  const Start start = start_after({.w = {1, 1}, .alpha = {0.5, 0}}, 2, problem);
  EXPECT_EQ(start.alpha, (std::vector<double>{1, 0}));
  EXPECT_EQ(start.w, (std::vector<double>{1, 1}));
}

TEST(Reports, SharesOfTheSeconds) {
  TrainReport a, b;
  a.solve_seconds = 3;
  b.solve_seconds = 0.5;
  b.certify_seconds = 0.5;
  TrainReport* const both[] = {&a, &b};
  share_seconds(2, both);
  EXPECT_DOUBLE_EQ(a.solve_seconds, 1.5);
  EXPECT_DOUBLE_EQ(b.solve_seconds + b.certify_seconds, 0.5);
}

TEST(Reports, ProofsAreKeptWhileTheyAreNotTooLarge) {
  constexpr std::size_t kLarge = std::size_t{100} << 20;
  std::vector<TrainReport> reports(4);
  std::vector<TrainReport*> so_far;
  WitnessBudget budget;
  for (TrainReport& report : reports) {
    report.model.problems.resize(1);
    report.model.problems[0].witness.states.resize(kLarge);
    so_far.push_back(&report);
    budget.add(report, so_far);
    const bool fits = so_far.size() < 3;
    EXPECT_EQ(report.model.problems[0].witness.empty(), !fits);
    EXPECT_EQ(reports[0].model.problems[0].witness.empty(), !fits);
  }
  EXPECT_EQ(reports[2].warnings.size(), 1U);
  EXPECT_TRUE(reports[3].warnings.empty()) << "it was said once";
}

}  // namespace
}  // namespace hinge
