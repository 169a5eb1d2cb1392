#include "hinge/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hinge/train.h"
#include "support.h"

namespace hinge {
namespace {

using testing::kInfinity;

TrainOptions with(std::string_view name, std::string_view text) {
  TrainOptions options;
  const Result<void> set = set_option(options, name, text);
  EXPECT_TRUE(set.ok()) << to_string(set.error());
  EXPECT_TRUE(validate(options).ok()) << name << " " << text;
  return options;
}

void expect_refused(std::string_view name, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    TrainOptions options;
    const Result<void> set = set_option(options, name, text);
    ASSERT_FALSE(set.ok()) << name << " \"" << text << "\"";
    EXPECT_EQ(set.error().id, "usage.value") << name << " " << text;
    EXPECT_EQ(exit_code(set.error()), 64);
    const std::string& message = set.error().message;
    EXPECT_TRUE(message.starts_with("--" + std::string(name) + ": ")) << message;
  }
}

// Things that are numbers to nobody.
const std::vector<std::string> kNoNumbers = {"",    "abc", "1x",  "x1",   "nan", "-nan",
                                             "inf", "1,5", "1 ",  " 1",   "--1", "1e",
                                             "0x1", ".",   "1\n", "1e999"};

// A checkpoint says with it which options it belongs to.
TEST(Options, DescribedOptionsComeBack) {
  const std::map<std::string_view, std::vector<std::string_view>> examples = {
      {"cost", {"0.1", "1e-300", "2,0.3,7"}},
      {"path", {"0.01:100:5"}},
      {"lambda", {"3e-5"}},
      {"gap", {"0.25"}},
      {"gap-absolute", {"12.5"}},
      {"gap-per-row", {"1e-4"}},
      {"target", {"345.6"}},
      {"tolerance", {"0.1"}},
      {"solver", {"dual", "focus"}},
      {"bias", {"2.5", "free"}},
      {"free-bias", {""}},
      {"class-weight", {"balanced", "-3=0.7"}},
      {"loss", {"squared_hinge", "epsilon_insensitive"}},
      {"epsilon", {"0.25", "0"}},
      {"reject", {""}},
      {"no-witness", {""}},
      {"seed", {"18446744073709551615"}},
      {"lanes", {"1", "64"}},
      {"epochs", {"7"}},
      {"steps", {"9"}},
      {"batch", {"4", "all"}},
      {"sampling", {"replace", "order"}},
      {"iterate", {"last", "best-of:5"}},
      {"delta", {"0.05"}},
      {"update", {"mistake"}},
      {"projection", {"on"}},
      {"rescale", {"off"}},
      {"t0", {"0", "12"}},
      {"check-every", {"2"}},
      {"kernel", {"rbf", "poly"}},
      {"gamma", {"0.3"}},
      {"coef0", {"-1.5"}},
      {"degree", {"5"}},
      {"budget", {"11"}},
      {"planes", {"12"}},
      {"mu", {"0.3"}}};
  const std::set<std::string_view> without_effect = {"threads",     "time-limit", "max-passes",
                                                     "max-classes", "memory",     "cpu"};
  for (const OptionInfo& info : train_option_table()) {
    if (without_effect.contains(info.name)) continue;
    ASSERT_TRUE(examples.contains(info.name)) << info.name << ": does it change the result?";
    for (const std::string_view text : examples.at(info.name)) {
      TrainOptions options, back;
      ASSERT_TRUE(set_option(options, info.name, text).ok()) << info.name;
      EXPECT_NE(describe(options), describe({})) << info.name << " " << text;
      for (const auto& [name, value] : describe(options)) {
        EXPECT_TRUE(set_option(back, name, value).ok()) << name << " " << value;
      }
      EXPECT_EQ(describe(back), describe(options)) << info.name << " " << text;
    }
  }
}

TEST(Options, TableIsComplete) {
  std::set<std::string_view> names, letters;
  ASSERT_FALSE(train_option_table().empty());
  for (const OptionInfo& info : train_option_table()) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_EQ(info.help.find('\n'), std::string_view::npos) << info.name;
    EXPECT_LE(info.letter.size(), 1U) << info.name;
    if (!info.letter.empty()) {
      EXPECT_TRUE(letters.insert(info.letter).second) << info.letter;
    }
    EXPECT_EQ(info.argument.empty(), info.range.empty()) << info.name;
    EXPECT_TRUE(std::ranges::all_of(info.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    })) << info.name;
  }
}

TEST(Options, Sizes) {
  EXPECT_EQ(with("memory", "1").memory, 1U);
  EXPECT_EQ(with("memory", "512K").memory, 512U << 10);
  EXPECT_EQ(with("memory", "3M").memory, 3U << 20);
  EXPECT_EQ(with("memory", "2G").memory, std::uint64_t{2} << 30);
  EXPECT_EQ(with("memory", "1T").memory, std::uint64_t{1} << 40);
  expect_refused("memory", {"", "0", "-1", "1.5G", "G", "1GB", "1g", "1 G", "x", "1e9", "17000000T",
                            "99999999999999999999"});
}

TEST(Options, SeveralCosts) {
  using Costs = std::vector<double>;
  EXPECT_EQ(with("cost", "10,0.1,1").path, (Costs{0.1, 1, 10}));
  EXPECT_EQ(with("cost", "2").path, Costs{});
  EXPECT_EQ(with("path", "0.001:1000:7").path, (Costs{0.001, 0.01, 0.1, 1, 10, 100, 1000}));
  EXPECT_EQ(with("path", "0.3:0.7:2").path, (Costs{0.3, 0.7}));
  EXPECT_EQ(with("path", "1e-300:1e300:1000").path.size(), 1000U);
  std::string many = "1";
  for (int k = 2; k <= 1001; ++k) many += "," + std::to_string(k);
  expect_refused("cost", {"1,", ",1", "1,,2", "1,1", "1,1.0", "1,-1", "1,0", "1,nan", "1;2", many});
  expect_refused("path",
                 {"", "1", "1:2", "1:2:", "1:2:1", "1:2:1001", "2:1:3", "1:1:3", "0:1:3", "-1:1:3",
                  "1:inf:3", "1:2:3:4", "a:b:3", "1:2:2.5", "1:1.000000000000001:9"});
  TrainOptions options = with("cost", "1,2");
  EXPECT_TRUE(validate(options).ok());
  options.lambda = 1;
  EXPECT_FALSE(validate(options).ok());
  options = with("path", "1:2:3");
  options.pegasos.kernel.kind = KernelKind::rbf;
  EXPECT_FALSE(validate(options).ok());
  for (const Costs& bad : {Costs{2, 1}, Costs{1, 1}, Costs{0, 1}, Costs(1001, 1.0)}) {
    options = {};
    options.path = bad;
    EXPECT_FALSE(validate(options).ok());
  }
}

TEST(Options, Goals) {
  EXPECT_EQ(with("gap-absolute", "1e-8").gap_absolute, 1e-8);
  EXPECT_EQ(with("gap-per-row", "2").gap_per_row, 2);
  EXPECT_EQ(with("target", "1e300").target, 1e300);
  for (const char* name : {"gap-absolute", "gap-per-row", "target"}) {
    expect_refused(name, kNoNumbers);
    expect_refused(name, {"0", "-1", "1e301"});
    EXPECT_TRUE(goals_of(with(name, "5"), 0).any_other()) << name;
    EXPECT_FALSE(with(name, "5").gap) << name;
    EXPECT_EQ(goals_of(with(name, "5"), 0.1).gap, 0) << name;
  }
  EXPECT_FALSE(goals_of({.gap = 0.5}, 0).any_other());
  EXPECT_FALSE(goals_of({}, 0).any());
  EXPECT_EQ(goals_of({}, 0.1).gap, 0.1);
  EXPECT_EQ(goals_of({.gap = 0.5}, 0.1).gap, 0.5);
  EXPECT_EQ(goals_of({.gap = 0.5, .target = 3}, 0.1).gap, 0.5);
  // Where nothing can be proved, a primal value can be reached all the same.
  for (const char* name : {"gap", "gap-absolute", "gap-per-row", "target"}) {
    TrainOptions options = with(name, "0.5");
    options.pegasos.kernel = {.kind = KernelKind::sigmoid, .gamma = 0.1};
    EXPECT_EQ(validate(options).ok(), std::string_view(name) == "target") << name;
  }
}

TEST(Options, EveryOptionCanBeSet) {
  const std::map<std::string_view, std::string_view> samples = {
      {"lambda", "0.5"},       {"tolerance", "0.1"},
      {"class-weight", "1=2"}, {"time-limit", "5"},
      {"max-passes", "3"},     {"memory", "2G"},
      {"gap", "0.01"},         {"epochs", "3"},
      {"steps", "100"},        {"t0", "7"},
      {"check-every", "2"},    {"gamma", "0.5"},
      {"budget", "10"},        {"planes", "30"},
      {"mu", "0.1"},           {"path", "1e-3:1e3:20"},
      {"gap-absolute", "3"},   {"gap-per-row", "0.01"},
      {"target", "70"},        {"delta", "0.1"},
      {"lanes", "4"}};
  for (const OptionInfo& info : train_option_table()) {
    const auto sample = samples.find(info.name);
    const std::string_view text = sample != samples.end() ? sample->second : info.fallback;
    EXPECT_EQ(text.empty(), info.argument.empty()) << "no sample for --" << info.name;
    TrainOptions options;
    // Pegasos takes all but those of cutting planes.
    options.solver = has_option(Solver::pegasos, info) ? Solver::pegasos : Solver::focus;
    if (info.name == "lanes") options.solver = Solver::dual;
    if (info.name == "gamma" || info.name == "budget") {
      ASSERT_TRUE(set_option(options, "kernel", "rbf").ok());
    }
    EXPECT_TRUE(set_option(options, info.name, text).ok()) << info.name;
    EXPECT_TRUE(validate(options).ok()) << info.name;
  }
}

TEST(Options, FallbacksAreTheDefaults) {
  TrainOptions set;
  for (const OptionInfo& info : train_option_table()) {
    if (!info.fallback.empty()) {
      ASSERT_TRUE(set_option(set, info.name, info.fallback).ok()) << info.name;
    }
  }
  const TrainOptions fresh;
  EXPECT_EQ(set.cost, fresh.cost);
  EXPECT_EQ(set.lambda, fresh.lambda);
  EXPECT_EQ(set.gap, fresh.gap);
  EXPECT_EQ(set.solver, fresh.solver);
  EXPECT_EQ(set.bias, fresh.bias);
  EXPECT_EQ(set.class_weights.size(), fresh.class_weights.size());
  EXPECT_EQ(set.balanced, fresh.balanced);
  EXPECT_EQ(set.reject, fresh.reject);
  EXPECT_EQ(set.witness, fresh.witness);
  EXPECT_EQ(set.threads, fresh.threads);
  EXPECT_EQ(set.time_limit, fresh.time_limit);
  EXPECT_EQ(set.max_passes, fresh.max_passes);
  EXPECT_EQ(set.seed, fresh.seed);
  EXPECT_EQ(set.instruction_set, fresh.instruction_set);
  EXPECT_EQ(set.pegasos, fresh.pegasos);
  EXPECT_TRUE(validate(fresh).ok());
}

TEST(Options, UnknownOption) {
  TrainOptions options;
  for (const char* name : {"", "cots", "Cost", "--cost", "c", "a\x1b[31m"}) {
    const Result<void> set = set_option(options, name, "1");
    ASSERT_FALSE(set.ok()) << name;
    EXPECT_EQ(set.error().id, "usage.option") << name;
    EXPECT_EQ(set.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(Options, Cost) {
  EXPECT_EQ(with("cost", "0.25").cost, 0.25);
  EXPECT_EQ(with("cost", "1e-9").cost, 1e-9);
  EXPECT_EQ(with("cost", "1e9").cost, 1e9);
  for (const std::string& text : kNoNumbers) {
    if (text != "1,5") expect_refused("cost", {text});  // two costs
  }
  expect_refused("cost", {"0", "-0", "-1", "1e308"});
  EXPECT_EQ(with("lambda", "0.5").lambda, 0.5);
  expect_refused("lambda", kNoNumbers);
  expect_refused("lambda", {"0", "-1", "1e308"});
}

TEST(Options, MessageSaysWhatIsExpected) {
  TrainOptions options;
  EXPECT_EQ(set_option(options, "cost", "nan").error().message,
            "--cost: expected a finite number > 0, got \"nan\"");
  EXPECT_EQ(set_option(options, "cost", "\x1b[2J").error().message,
            "--cost: expected a finite number > 0, got \"\\x1b[2J\"");
}

TEST(Options, MessageShowsTheWholeValue) {
  TrainOptions options;
  for (const char* text : {"1=nan", "1=", "x=1", "1=2=3", "++1=2"}) {
    const std::string message = set_option(options, "class-weight", text).error().message;
    EXPECT_TRUE(message.ends_with(std::string("got \"") + text + '"')) << message;
  }
}

TEST(Options, Gap) {
  EXPECT_EQ(with("gap", "1e-8").gap, 1e-8);
  EXPECT_EQ(with("gap", "1").gap, 1);
  expect_refused("gap", kNoNumbers);
  expect_refused("gap", {"0", "-0.1", "1.0000001", "2"});
  EXPECT_DOUBLE_EQ(*with("tolerance", "0.1").gap, 0.001);
  EXPECT_EQ(with("tolerance", "100").gap, 1);
  expect_refused("tolerance", kNoNumbers);
  expect_refused("tolerance", {"0", "-1", "101"});
}

TEST(Options, Solver) {
  EXPECT_EQ(with("solver", "auto").solver, Solver::automatic);
  EXPECT_EQ(with("solver", "3").solver, Solver::automatic);
  EXPECT_EQ(with("solver", "dual").solver, Solver::dual);
  expect_refused("solver", {"", "abc", "99", "-1", "Dual", "dual ", "duall"});
  TrainOptions options;
  for (const OptionInfo& info : train_option_table()) {
    if (info.name != "solver") continue;
    const Result<void> set = set_option(options, "solver", "abc");
    EXPECT_NE(set.error().message.find(info.range), std::string::npos) << set.error().message;
  }
}

TEST(Options, NamesOfSolvers) {
  for (const Solver solver : {Solver::automatic, Solver::dual, Solver::pegasos}) {
    EXPECT_EQ(parse_solver("solver", to_string(solver)).value(), solver);
  }
  EXPECT_EQ(to_string(static_cast<Solver>(255)), "unknown");
  const Error error = parse_solver("solvers", "pegassos").error();
  EXPECT_TRUE(error.message.starts_with("--solvers: expected one of auto, ")) << error.message;
  EXPECT_TRUE(error.message.ends_with("did you mean pegasos?")) << error.message;
}

TEST(Options, AnotherSolverHasTheSameProblem) {
  TrainOptions options = {.cost = 3, .gap = 0.1, .pegasos = {.batch = 7}};
  EXPECT_EQ(with_solver(options, Solver::pegasos).pegasos.batch, 7U);
  const TrainOptions other = with_solver(options, Solver::dual);
  EXPECT_TRUE(validate(other).ok());
  EXPECT_EQ(other.solver, Solver::dual);
  EXPECT_EQ(other.cost, 3);
  EXPECT_EQ(other.gap, 0.1);
  options.pegasos.kernel.kind = KernelKind::rbf;
  EXPECT_FALSE(validate(with_solver(options, Solver::dual)).ok());
}

TEST(Options, SolversOfLiblinearAreNamed) {
  TrainOptions options;
  for (const char* number : {"4", "5", "6", "21"}) {
    const Result<void> set = set_option(options, "solver", number);
    ASSERT_FALSE(set.ok()) << number;
    EXPECT_EQ(set.error().id, "usage.value");
    EXPECT_NE(set.error().message.find("LIBLINEAR"), std::string::npos);
  }
  for (const char* number : {"0", "1", "2", "3", "7"}) {
    options.solver = Solver::dual;
    ASSERT_TRUE(set_option(options, "solver", number).ok()) << number;
    EXPECT_EQ(options.solver, Solver::automatic);
    EXPECT_EQ(options.loss == LossKind::hinge, std::string_view(number) == "3") << number;
  }
  for (const auto& [number, loss] : {std::pair("11", LossKind::squared_epsilon),
                                     {"12", LossKind::squared_epsilon},
                                     {"13", LossKind::epsilon_insensitive}}) {
    ASSERT_TRUE(set_option(options, "solver", number).ok()) << number;
    EXPECT_EQ(options.loss, loss) << number;
  }
  EXPECT_EQ(parse_solver("solvers", "3").value(), Solver::automatic);
  for (const char* number : {"0", "1", "2", "7", "11", "13"}) {  // which say more than a solver
    EXPECT_NE(parse_solver("solvers", number).error().message.find("--loss"), std::string::npos);
  }
}

TEST(Options, Losses) {
  EXPECT_EQ(TrainOptions().loss, LossKind::hinge);
  EXPECT_EQ(with("loss", "hinge").loss, LossKind::hinge);
  EXPECT_EQ(with("loss", "squared_hinge").loss, LossKind::squared_hinge);
  EXPECT_EQ(with("loss", "logistic").loss, LossKind::logistic);
  expect_refused("loss", {"", "squared-hinge", "log", "0", "Hinge"});
  EXPECT_EQ(with("loss", "squared_epsilon").loss, LossKind::squared_epsilon);
  expect_refused("epsilon", {"", "-0.1", "nan", "inf", "x"});
  TrainOptions options;
  ASSERT_TRUE(set_option(options, "epsilon", "0").ok());  // of a loss of regression
  EXPECT_EQ(options.epsilon, 0);
  EXPECT_EQ(validate(options).error().id, "usage.value");
  options.loss = LossKind::epsilon_insensitive;
  EXPECT_TRUE(validate(options).ok());
  options.reject = true;
  EXPECT_EQ(validate(options).error().id, "usage.value");
  options.reject = false;
  options.balanced = true;
  EXPECT_EQ(validate(options).error().id, "usage.value");
  options = {};
  options.loss = static_cast<LossKind>(7);
  EXPECT_EQ(validate(options).error().id, "usage.value");
}

TEST(Options, Bias) {
  EXPECT_EQ(with("bias", "none").bias, 0);
  EXPECT_EQ(with("bias", "2.5").bias, 2.5);
  EXPECT_EQ(with("bias", "-1").bias, 0);  // as LIBLINEAR
  expect_refused("bias", kNoNumbers);
}

TEST(Options, ClassWeights) {
  TrainOptions options;
  for (const char* text : {"1=2", "-1=0.5", "+7=1e3", "9223372036854775807=3"}) {
    ASSERT_TRUE(set_option(options, "class-weight", text).ok()) << text;
  }
  ASSERT_EQ(options.class_weights.size(), 4U);
  EXPECT_EQ(options.class_weights[1].label, -1);
  EXPECT_EQ(options.class_weights[1].factor, 0.5);
  EXPECT_EQ(options.class_weights[2].label, 7);
  EXPECT_EQ(options.class_weights[3].label, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(with("class-weight", "balanced").balanced);
  expect_refused("class-weight", {"", "1", "=", "1=", "=2", "1=nan", "1=inf", "1=-2", "1=0", "1=x",
                                  "x=1", "1.5=1", "1=2=3", "++1=2", "9223372036854775808=1"});
}

TEST(Options, WeightOfAnAbsentLabelIsAWarning) {
  TrainOptions options;
  ASSERT_TRUE(set_option(options, "class-weight", "7=2").ok());
  const Dataset data = testing::dataset_from_text("+1 1:1\n-1 2:1\n");
  const Result<TrainReport> report = train(data, options);
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(std::ranges::count(report->warnings, "usage.class-weight", &Error::id), 1);
}

TEST(Options, Threads) {
  EXPECT_EQ(with("lanes", "1").lanes, 1);
  EXPECT_EQ(with("lanes", "64").lanes, 64);
  expect_refused("lanes", kNoNumbers);
  expect_refused("lanes", {"0", "65", "-1", "1.5"});
  EXPECT_EQ(with("threads", "0").threads, 0);
  EXPECT_EQ(with("threads", "1").threads, 1);
  EXPECT_EQ(with("threads", "4096").threads, 4096);
  expect_refused("threads", kNoNumbers);
  expect_refused("threads", {"-1", "4097", "1000000", "4294967296", "1.5", "99999999999999999999"});
}

TEST(Options, Limits) {
  EXPECT_EQ(with("time-limit", "0").time_limit, 0);
  EXPECT_EQ(with("time-limit", "1.5").time_limit, 1.5);
  expect_refused("time-limit", kNoNumbers);
  expect_refused("time-limit", {"-1"});
  EXPECT_EQ(with("max-passes", "10").max_passes, 10U);
  expect_refused("max-passes", kNoNumbers);
  expect_refused("max-passes", {"0", "-1", "1.5"});
}

TEST(Options, Seed) {
  EXPECT_EQ(with("seed", "0").seed, 0U);
  EXPECT_EQ(with("seed", "18446744073709551615").seed, std::numeric_limits<std::uint64_t>::max());
  expect_refused("seed", kNoNumbers);
  expect_refused("seed", {"18446744073709551616", "-1", "1.5"});
}

TEST(Options, SwitchesAndNames) {
  EXPECT_TRUE(with("reject", "").reject);
  EXPECT_FALSE(with("no-witness", "").witness);
  EXPECT_EQ(with("cpu", "scalar").instruction_set, InstructionSet::scalar);
  EXPECT_EQ(with("cpu", "avx2").instruction_set, InstructionSet::avx2);
  EXPECT_EQ(with("cpu", "avx512").instruction_set, InstructionSet::avx512);
  expect_refused("cpu", {"", "sse", "AVX2"});
}

TEST(Options, Pegasos) {
  const auto set = [](std::string_view name, std::string_view text) {
    TrainOptions options;
    options.solver = Solver::pegasos;
    EXPECT_TRUE(set_option(options, name, text).ok()) << name << " " << text;
    EXPECT_TRUE(validate(options).ok()) << name << " " << text;
    return options.pegasos;
  };
  EXPECT_EQ(with("solver", "pegasos").solver, Solver::pegasos);
  EXPECT_EQ(set("epochs", "7").epochs, 7U);
  EXPECT_EQ(set("steps", "12345678901").steps, 12345678901U);
  EXPECT_EQ(set("batch", "16").batch, 16U);
  EXPECT_EQ(set("batch", "all").batch, 0U);
  EXPECT_EQ(set("sampling", "replace").sampling, Sampling::replace);
  EXPECT_EQ(set("sampling", "order").sampling, Sampling::order);
  EXPECT_EQ(set("iterate", "last").iterate, Iterate::last);
  EXPECT_EQ(set("iterate", "average").iterate, Iterate::average);
  EXPECT_EQ(set("iterate", "suffix").iterate, Iterate::suffix);
  EXPECT_EQ(set("iterate", "random").iterate, Iterate::random);
  EXPECT_EQ(set("iterate", "best-of:5").iterate, Iterate::best_of);
  EXPECT_EQ(set("iterate", "best-of:5").runs, 5U);
  EXPECT_EQ(set("delta", "0.05").iterate, Iterate::best_of);
  EXPECT_EQ(set("delta", "0.05").runs, 3U);  // ln 20 = 2.996
  EXPECT_EQ(set("delta", "0.04").runs, 4U);
  EXPECT_EQ(set("delta", "1").runs, 1U);
  EXPECT_EQ(set("delta", "5e-324").runs, 745U);
  EXPECT_EQ(set("update", "mistake").update, Update::mistake);
  EXPECT_EQ(set("update", "margin").update, Update::margin);
  EXPECT_TRUE(set("projection", "on").projection);
  EXPECT_FALSE(set("rescale", "off").rescale);
  EXPECT_EQ(set("t0", "0").t0, 0U);
  EXPECT_EQ(set("t0", "9007199254740992").t0, std::uint64_t{1} << 53);
  EXPECT_EQ(set("check-every", "3").check_every, 3U);
  for (const char* name : {"epochs", "steps", "batch", "check-every"}) {
    expect_refused(name, kNoNumbers);
    expect_refused(name, {"0", "-1", "1.5", "18446744073709551616"});
  }
  expect_refused("t0", kNoNumbers);
  expect_refused("t0", {"-1", "1.5", "9007199254740993"});
  expect_refused("sampling", {"", "Permute", "shuffle"});
  expect_refused("iterate", {"", "best", "best-of", "best-of:", "best-of:0", "best-of:-1",
                             "best-of:2x", "mean"});
  expect_refused("delta", kNoNumbers);
  expect_refused("delta", {"0", "-0.1", "1.1"});
  expect_refused("update", {"", "mistakes", "Margin", "0"});
  expect_refused("projection", {"", "yes", "1"});
  expect_refused("rescale", {"", "no", "0"});

  expect_refused("kernel", {"", "RBF", "gauss", "2"});
  expect_refused("degree", {"", "0", "-1", "101", "1.5"});
  for (const char* name : {"gamma", "coef0", "budget"}) expect_refused(name, kNoNumbers);
  expect_refused("gamma", {"0", "-1"});
  expect_refused("budget", {"0", "-1", "1.5"});

  // Mistakes promise no gap, so a gap alone is no end.
  for (const auto& [name, text, good] : {std::tuple{"seed", "1", false},
                                         {"epochs", "9", true},
                                         {"steps", "9", true},
                                         {"time-limit", "9", true},
                                         {"max-passes", "9", true},
                                         {"delta", "0.1", true},
                                         {"update", "margin", true}}) {
    TrainOptions asked;
    asked.solver = Solver::pegasos;
    asked.gap = 0.01;
    asked.pegasos.update = Update::mistake;
    ASSERT_TRUE(set_option(asked, name, text).ok()) << name;
    EXPECT_EQ(validate(asked).ok(), good) << name;
  }

  // The last word on --iterate counts.
  TrainOptions options;
  ASSERT_TRUE(set_option(options, "iterate", "best-of:5").ok());
  ASSERT_TRUE(set_option(options, "iterate", "suffix").ok());
  EXPECT_EQ(options.pegasos, PegasosOptions{});
  // They are Pegasos' own.
  ASSERT_TRUE(set_option(options, "epochs", "5").ok());
  EXPECT_EQ(validate(options).error().id, "usage.value");
  options.solver = Solver::dual;
  EXPECT_EQ(validate(options).error().id, "usage.value");
  options.solver = Solver::pegasos;
  EXPECT_TRUE(validate(options).ok());
  ASSERT_TRUE(set_option(options, "steps", "5").ok());
  EXPECT_EQ(validate(options).error().id, "usage.value");
}

TEST(Options, Simd) {
  const auto valid = [](Solver solver, std::vector<std::pair<const char*, const char*>> given) {
    TrainOptions options;
    options.solver = solver;
    for (const auto& [name, text] : given) EXPECT_TRUE(set_option(options, name, text).ok());
    const Result<void> result = validate(options);
    return result.ok() ? "" : result.error().message;
  };
  for (const Solver solver : {Solver::pegasos, Solver::automatic}) {
    EXPECT_EQ(valid(solver, {{"kernel", "rbf"}, {"gamma", "0.5"}, {"gap", "0.1"}}), "");
    EXPECT_EQ(valid(solver, {{"kernel", "poly"}, {"degree", "2"}, {"coef0", "1"}}), "");
    EXPECT_EQ(valid(solver, {{"kernel", "sigmoid"}, {"coef0", "-1"}, {"budget", "9"}}), "");
    EXPECT_EQ(valid(solver, {{"kernel", "rbf"}, {"epochs", "3"}}), "");
    // There is nothing to prove where the kernel is no inner product.
    EXPECT_NE(valid(solver, {{"kernel", "sigmoid"}, {"gap", "0.1"}}), "");
    EXPECT_NE(valid(solver, {{"kernel", "poly"}, {"coef0", "-1"}, {"gap", "0.1"}}), "");
    EXPECT_EQ(valid(solver, {{"kernel", "poly"}, {"coef0", "-1"}}), "");
    EXPECT_NE(valid(solver, {{"kernel", "rbf"}, {"budget", "9"}, {"projection", "on"}}), "");
    EXPECT_NE(valid(solver, {{"kernel", "rbf"}, {"coef0", "1"}}), "");
    EXPECT_NE(valid(solver, {{"kernel", "sigmoid"}, {"degree", "2"}}), "");
    EXPECT_NE(valid(solver, {{"gamma", "0.5"}}), "");
    EXPECT_NE(valid(solver, {{"budget", "5"}}), "");
  }
  EXPECT_NE(valid(Solver::dual, {{"kernel", "rbf"}}).find("takes no kernels"), std::string::npos);
  TrainOptions options;
  EXPECT_FALSE(uses_pegasos(options));
  options.pegasos.kernel.kind = KernelKind::rbf;
  EXPECT_TRUE(uses_pegasos(options));
  options.pegasos.kernel.gamma = -1;
  EXPECT_FALSE(validate(options).ok());
}

// What set_option() refuses, a caller who fills in the struct cannot have either.
TEST(Options, ValidateKnowsTheSameRanges) {
  const auto refused = [](auto change) {
    TrainOptions options;
    change(options);
    const Result<void> valid = validate(options);
    return !valid.ok() && valid.error().id == "usage.value";
  };
  for (const double bad : {0.0, -1.0, std::nan(""), kInfinity, 1e308}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.cost = bad; })) << bad;
  }
  for (const double bad : {-1.0, std::nan(""), kInfinity, 1e308}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.lambda = bad; })) << bad;
  }
  for (const double bad : {0.0, -1.0, 1.5, std::nan("")}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.gap = bad; })) << bad;
  }
  for (const double bad : {-1.0, std::nan(""), kInfinity}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.gap_absolute = bad; })) << bad;
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.gap_per_row = bad; })) << bad;
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.target = bad; })) << bad;
  }
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.bias = bad; })) << bad;
  }
  for (const int bad : {-1, 4097}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.threads = bad; })) << bad;
  }
  for (const double bad : {-1.0, std::nan("")}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.time_limit = bad; })) << bad;
  }
  for (const double bad : {0.0, -1.0, std::nan(""), kInfinity}) {
    EXPECT_TRUE(refused([&](TrainOptions& o) { o.class_weights = {{1, bad}}; })) << bad;
  }
  EXPECT_FALSE(refused([](TrainOptions& o) { o.time_limit = kInfinity; }));
}

TEST(Options, TrainRefusesWhatValidateRefuses) {
  const Dataset data = testing::dataset_from_text("+1 1:1\n-1 2:1\n");
  const Result<TrainReport> report = train(data, {.gap = 0});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().id, "usage.value");
}

}  // namespace
}  // namespace hinge
