// Proofs that are kept in few bits: what is certified is what is stored, and a goal is not missed
// for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "objective/free_bias.h"
#include "proof/stored_proof.h"
#include "proof/witness.h"
#include "support.h"

namespace hinge {
namespace {

using testing::random_dataset;
using testing::read_file;
using testing::TempFolder;

TrainOptions squared(double gap, double bias = 0, bool free_bias = false) {
  return {.loss = LossKind::squared_hinge, .gap = gap, .bias = bias, .free_bias = free_bias};
}

TEST(RoundedWitness, IsWhatTheCertificateIsOf) {
  const Dataset data = random_dataset({.rows = 700, .features = 20, .noise = 0.2});
  for (const TrainOptions& options :
       {squared(1e-2), squared(1e-5, 2), squared(1e-4, 0, true), squared(1e-12)}) {
    const TrainReport report = train(data, options).value();
    EXPECT_EQ(report.status, StopReason::converged);
    const Witness& witness = report.model.problems[0].witness;
    EXPECT_EQ(witness.bits, *options.gap > 1e-10 ? 16 : 32);
    EXPECT_TRUE(witness.free.empty());
    const VerifyReport found = verify(report.model, data).value();
    EXPECT_TRUE(found.proved) << found.why;
    EXPECT_EQ(found.recomputed.primal, found.stored.primal);
    EXPECT_EQ(found.recomputed.dual, found.stored.dual);
    EXPECT_LE(found.recomputed.relative_gap, *options.gap);
  }
}

TEST(RoundedWitness, LeavesTheHingeAsItIs) {
  const Dataset data = random_dataset({.rows = 300, .noise = 0.2});
  const Model model = train(data, {.gap = 1e-3}).value().model;
  EXPECT_EQ(model.problems[0].witness.bits, 64);
  EXPECT_TRUE(model.problems[0].witness.packed.empty());
}

// The solver may be right while 16 bits are too few; where a limit ended the run, they are not what
// the gap is made of.
TEST(RoundedWitness, TakesMoreBitsWhereAGoalAsksForThem) {
  const Dataset data = random_dataset({.rows = 400, .features = 10, .noise = 0.3});
  TrainOptions options = squared(1e-9);
  options.cost = 1000;
  const TrainReport report = train(data, options).value();
  EXPECT_EQ(report.status, StopReason::converged);
  EXPECT_EQ(report.model.problems[0].witness.bits, 32);
  options.solver = Solver::dual;
  options.gap = 1e-8;
  options.max_passes = 3;
  const TrainReport cut = train(data, options).value();
  EXPECT_EQ(cut.status, StopReason::limit);
  EXPECT_EQ(cut.model.problems[0].witness.bits, 16);
}

// With a free bias sum_i alpha_i y_i = 0 is what rounding must leave as it is.
TEST(RoundedWitness, KeepsAFreeBiasBalanced) {
  const Dataset data = random_dataset({.rows = 5000, .features = 8, .noise = 0.2});
  const std::vector<std::int8_t> y = signs(data, 1);
  for (const bool weighted : {false, true}) {
    std::vector<double> costs;
    Random random(2);
    for (std::size_t i = 0; weighted && i < y.size(); ++i) costs.push_back(3 * random.uniform());
    const Problem problem = {.data = &data,
                             .y = y,
                             .costs = costs,
                             .cost = 0.3,
                             .bias = 1,
                             .free_bias = true,
                             .loss = LossKind::squared_hinge};
    std::vector<double> alpha;
    for (std::size_t i = 0; i < y.size(); ++i) alpha.push_back(problem.upper(i) * random.uniform());
    balance(problem, alpha);
    const auto unbalanced = [&](std::span<const double> of) {
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * of[i];
      return std::abs(sum);
    };
    ASSERT_LE(unbalanced(alpha), 1e-12);
    std::vector<double> rounded;
    const Witness witness = compact(problem, alpha, 16, share_exponent(problem, alpha), rounded);
    EXPECT_EQ(expand(problem, witness), rounded);
    EXPECT_LE(unbalanced(rounded), weighted ? 1e-8 : 1e-12);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(rounded[i], alpha[i], 0x1p-13 * problem.upper(i)) << i;
    }
  }
}

TEST(RoundedWitness, IsSmallAndComesBackFromItsFile) {
  const TempFolder folder(testing::memory_folder());
  for (const std::uint64_t classes : {std::uint64_t{2}, std::uint64_t{4}}) {
    const Dataset data =
        random_dataset({.rows = 2000, .features = 5, .noise = 0.3, .classes = classes});
    const Model model = train(data, squared(1e-3)).value().model;
    ASSERT_TRUE(save_model(model, folder / "m").ok());
    const Model loaded = load_model(folder / "m").value();
    std::size_t most = 4000;  // the header
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      EXPECT_EQ(loaded.problems[k].witness, model.problems[k].witness);
      most += 2000 * 9 / 4;
    }
    EXPECT_LT(read_file(folder / "m").size(), most);
    EXPECT_TRUE(verify(loaded, data).value().proved);
    ASSERT_TRUE(save_model(loaded, folder / "again").ok());
    EXPECT_EQ(read_file(folder / "again"), read_file(folder / "m"));
  }
}

TEST(RoundedWitness, IsThatOfEachModelOfAPath) {
  const TempFolder folder(testing::memory_folder());
  const Dataset data = random_dataset({.rows = 500, .noise = 0.2});
  TrainOptions options = squared(1e-3);
  options.path = {0.1, 1, 10};
  std::vector<Model> models;
  const std::vector<TrainReport> reports = train_path(data, options).value();
  for (const TrainReport& report : reports) models.push_back(report.model);
  ASSERT_TRUE(save_models(models, folder / "m").ok());
  const std::vector<Model> loaded = load_models(folder / "m").value();
  ASSERT_EQ(loaded.size(), 3U);
  for (std::size_t k = 0; k < loaded.size(); ++k) {
    EXPECT_EQ(loaded[k].problems[0].witness, models[k].problems[0].witness);
    EXPECT_TRUE(verify(loaded[k], data).value().proved);
  }
}

// As models of the squared hinge were written before.
TEST(RoundedWitness, MayHaveAllDigits) {
  const TempFolder folder(testing::memory_folder());
  const Dataset data = random_dataset({.rows = 200, .noise = 0.2});
  Model model = train(data, squared(1e-3)).value().model;
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .loss = LossKind::squared_hinge};
  Witness& witness = model.problems[0].witness;
  witness = compact(problem, expand(problem, witness));
  EXPECT_EQ(witness.bits, 64);
  EXPECT_FALSE(witness.free.empty());
  ASSERT_TRUE(save_model(model, folder / "m").ok());
  EXPECT_EQ(read_file(folder / "m").find("section.witness"), std::string::npos);
  const Model loaded = load_model(folder / "m").value();
  EXPECT_EQ(loaded.problems[0].witness, witness);
  const VerifyReport found = verify(loaded, data).value();
  EXPECT_TRUE(found.proved) << found.why;
  EXPECT_EQ(found.recomputed.dual, found.stored.dual);
}

TEST(RoundedWitness, IsAStart) {
  const Dataset data = random_dataset({.rows = 500, .noise = 0.2});
  TrainOptions options = squared(1e-5);
  options.solver = Solver::dual;
  const Model model = train(data, options).value().model;
  TrainControl control;
  control.start = &model;
  const TrainReport again = train(data, options, control).value();
  EXPECT_EQ(again.status, StopReason::converged);
  EXPECT_LE(again.iterations, 3U);
}

TEST(RoundedWitness, ForgeriesAreNoticed) {
  const Dataset data = random_dataset({.rows = 300, .noise = 0.2});
  const Model model = train(data, squared(1e-4)).value().model;
  const auto proved = [&](const auto& change) {
    Model other = model;
    change(other.problems[0].witness);
    const Result<VerifyReport> found = verify(other, data);
    if (found.ok()) return found->agrees ? std::string("agrees") : std::string("differs");
    EXPECT_EQ(found.error().id, "model.content");
    return found.error().message;
  };
  EXPECT_EQ(proved([](Witness&) {}), "agrees");
  EXPECT_EQ(proved([](Witness& w) { w.packed[1] ^= 0x20; }), "differs");
  EXPECT_EQ(proved([](Witness& w) { --w.exponent; }), "differs");
  const auto starts = [&](const auto& change, const char* words) {
    const std::string found = proved(change);
    EXPECT_TRUE(found.starts_with(words)) << found;
  };
  starts([](Witness& w) { w.packed.pop_back(); }, "the dual variable of row ");
  starts([](Witness& w) { w.packed.push_back(0); }, "the witness has values left over");
  starts([](Witness& w) { w.states[0] |= 3; }, "the witness of row 0 makes no sense");
  starts([](Witness& w) { w.bits = 8; }, "the witness has values of an unknown form");
  starts([](Witness& w) { w.exponent = 5000; }, "the witness has values of an unknown form");
}

}  // namespace
}  // namespace hinge
