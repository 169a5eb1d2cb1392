// What the table of solvers says is what happens to those who ask.
#include "solve/traits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hinge/train.h"
#include "support.h"
#include "thread_transport.h"

namespace hinge {
namespace {

class EverySolver : public ::testing::TestWithParam<const SolverTraits*> {
 protected:
  const SolverTraits& traits() const { return *GetParam(); }

  TrainOptions options() const {
    TrainOptions asked = {.gap = 0.1, .solver = traits().solver, .threads = 1};
    if (traits().sweeps) asked.gap = {};
    return asked;
  }

  // The id of the error, or empty.
  static std::string trouble(const Result<TrainReport>& report) {
    return report.ok() ? "" : report.error().id;
  }
  std::string asked_of(const Dataset& data, const TrainOptions& asked,
                       const TrainControl& control = {}) const {
    return trouble(train(data, asked, control));
  }
  // The same of two ranks with all rows each.
  std::string asked_of_ranks(const TrainOptions& asked, const TrainControl& control = {}) const {
    std::vector<std::string> said(2);
    testing::ThreadGroup(2).run([&](Transport& transport) {
      TrainControl own = control;
      own.ranks = &transport;
      TrainOptions same = asked;
      if (traits().sweeps) same.pegasos.batch = 0;
      said[static_cast<std::size_t>(transport.rank())] = trouble(train(data_, same, own));
    });
    EXPECT_EQ(said[0], said[1]);
    return said[0];
  }
  Model start() const { return train(data_, {.cost = 0.1, .gap = 0.1}).value().model; }

  Dataset data_ = testing::random_dataset({.rows = 40, .features = 6, .nonzeros = 3});
  Dataset other_ = testing::random_dataset({.rows = 41, .features = 6, .nonzeros = 3, .seed = 2});
};
INSTANTIATE_TEST_SUITE_P(Table, EverySolver,
                         ::testing::ValuesIn(all_solvers().begin(), all_solvers().end()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST_P(EverySolver, IsInItsPlace) {
  EXPECT_EQ(&traits_of(traits().solver), &traits());
  EXPECT_EQ(to_string(traits().solver), traits().name);
  EXPECT_EQ(parse_solver("solver", traits().name).value(), traits().solver);
  EXPECT_EQ(std::ranges::count(traits().losses, Hinge::kName), 1);
  EXPECT_NE(traits().solve, nullptr);
  EXPECT_EQ(traits().memory == nullptr, traits().sweeps);
  EXPECT_EQ(traits().memory == nullptr, traits().memory_is_for.empty());
  EXPECT_EQ(cutting_planes(traits().solver), traits().options == OptionGroup::planes);
}

TEST_P(EverySolver, TakesWhatItSaysAlone) {
  ASSERT_TRUE(traits().alone.offered);
  EXPECT_EQ(asked_of(data_, options()), "");
  TrainOptions free = options();
  free.free_bias = true;
  EXPECT_EQ(asked_of(data_, free) == "", traits().alone.free_bias);
  const Model model = start();
  EXPECT_EQ(asked_of(other_, options(), {.start = &model}) == "",
            traits().alone.starts == Starts::anywhere);
  EXPECT_EQ(asked_of(data_, options(), {.start = &model}) == "",
            traits().alone.starts != Starts::at_zero);
}

TEST_P(EverySolver, TakesTheLossesItSays) {
  for (const LossKind loss : {LossKind::hinge, LossKind::squared_hinge, LossKind::logistic,
                              LossKind::epsilon_insensitive, LossKind::squared_epsilon}) {
    const bool takes = std::ranges::count(traits().losses, to_string(loss)) == 1;
    TrainOptions asked = options();
    asked.loss = loss;
    EXPECT_EQ(asked_of(data_, asked), takes ? "" : "usage.value") << to_string(loss);
    if (!traits().on_ranks.offered) continue;
    EXPECT_EQ(asked_of_ranks(asked), takes ? "" : "usage.value") << to_string(loss);
  }
}

// A refusal names the solvers that would do.
TEST_P(EverySolver, OfOtherLossesNamesThoseThatTakeThem) {
  TrainOptions asked = options();
  asked.loss = LossKind::squared_hinge;
  const Result<TrainReport> report = train(data_, asked);
  if (report.ok()) {
    EXPECT_EQ(report->model.origin.loss, LossKind::squared_hinge);
    return;
  }
  for (const SolverTraits* const other : all_solvers()) {
    if (std::ranges::count(other->losses, SquaredHinge::kName) == 0) continue;
    EXPECT_NE(report.error().message.find(other->name), std::string::npos);
  }
}

TEST_P(EverySolver, TellsStatesIfItSaysSo) {
  class CountStates final : public StateSink {
   public:
    bool wanted() override { return true; }
    void keep(std::vector<std::byte>, const Progress&) override { ++states; }
    void lost() override {}
    int states = 0;
  } sink;
  const std::vector<std::int8_t> y = signs(data_, 1);
  const Problem problem = {.data = &data_, .y = y};
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  Monitor monitor({.gap = 1e-2, .seconds = testing::kInfinity}, clock, 0, nobody, &sink);
  Pool pool(1);
  const TrainOptions asked = options();
  const std::vector<Solution> found = traits().solve({.problems = {&problem, 1},
                                                      .monitors = {&monitor, 1},
                                                      .solver = traits().solver,
                                                      .asked = asked},
                                                     pool);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(sink.states > 0, traits().alone.checkpoints);
}

TEST_P(EverySolver, TakesWhatItSaysWithAKernel) {
  TrainOptions asked = options();
  asked.pegasos.kernel = {.kind = KernelKind::rbf, .gamma = 0.5};
  EXPECT_EQ(asked_of(data_, asked) == "", traits().with_kernel.offered);
  if (!traits().with_kernel.offered) return;
  const Model model = start();
  EXPECT_EQ(asked_of(data_, asked, {.start = &model}) == "",
            traits().with_kernel.starts != Starts::at_zero);
  asked.free_bias = true;
  EXPECT_EQ(asked_of(data_, asked) == "", traits().with_kernel.free_bias);
}

TEST_P(EverySolver, TakesWhatItSaysOnRanks) {
  const auto expect = [](const std::string& said, bool taken) {
    EXPECT_EQ(said, taken ? "" : "mpi.unsupported");
  };
  const Abilities& can = traits().on_ranks;
  expect(asked_of_ranks(options()), can.offered);
  TrainOptions free = options();
  free.free_bias = true;
  expect(asked_of_ranks(free), can.offered && can.free_bias);
  const Model model = start();
  expect(asked_of_ranks(options(), {.start = &model}),
         can.offered && can.starts == Starts::anywhere);
  const testing::TempFolder folder;
  TrainControl control;
  control.checkpoint.path = folder / "c";
  expect(asked_of_ranks(options(), control), can.offered && can.checkpoints);
}

TEST(SolverTable, NamesByGroup) {
  EXPECT_EQ(all_solvers().size(), 8U);
  EXPECT_EQ(names_of(OptionGroup::pegasos), std::vector<std::string_view>{"pegasos"});
  EXPECT_EQ(names_of(OptionGroup::planes),
            (std::vector<std::string_view>{"cpa", "ocas", "ocas3", "active", "focus"}));
  for (const OptionInfo& info : train_option_table()) {
    for (const SolverTraits* const traits : all_solvers()) {
      const bool has = info.solver.empty() ||
                       (info.solver == "pegasos" && traits->options == OptionGroup::pegasos) ||
                       (info.solver != "pegasos" && traits->options == OptionGroup::planes);
      EXPECT_EQ(has_option(traits->solver, info), has) << info.name << " " << traits->name;
    }
  }
}

}  // namespace
}  // namespace hinge
