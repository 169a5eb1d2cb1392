// Descent on a lane, and what lanes come to that are joined again and again.
#include "solve/dual/lane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <variant>
#include <vector>

#include "data/columns.h"
#include "objective/loss.h"
#include "ranks/comm.h"
#include "solve/dual/join.h"
#include "support.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::random_dataset;

constexpr double kCost = 0.7;

Pool& one_thread() {
  thread_local Pool pool(1);
  return pool;
}

template <class Value>
class LaneTest : public ::testing::Test {};
using Values = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LaneTest, Values);

template <class Value>
Dataset some_rows(std::uint64_t rows = 80) {
  constexpr bool kFloats = std::is_same_v<Value, float>;
  return random_dataset({.rows = rows,
                         .features = 25,
                         .nonzeros = 6,
                         .noise = 0.2,
                         .seed = 12,
                         .precision = kFloats ? Precision::f32 : Precision::f64});
}

// All rows, in their order.
template <class Value>
void visit_all(const Problem& problem, Lane<Hinge, Value>& lane) {
  Pool pool(1);
  lane.working.choose(lane.rows(), 1, pool, [&](std::size_t i) {
    return typename WorkingRows<Value>::Chosen{.row = i,
                                               .y = problem.y[i],
                                               .alpha = lane.alpha[i],
                                               .curvature = lane.squares[i],
                                               .moves = true};
  });
  lane.share_out();
  lane.working.lay_out(false, pool);
}

template <class Value>
EpochSums epoch(Lane<Hinge, Value>& lane, const EpochRules& rules) {
  EpochSums saw;
  std::uint64_t touched = 0;
  EXPECT_TRUE(lane.epoch(
      rules, touched, [] { return false; }, saw));
  EXPECT_EQ(touched, saw.visits);
  return saw;
}

double dual_of(const std::vector<double>& alpha, const std::vector<double>& w) {
  const double gain = std::accumulate(alpha.begin(), alpha.end(), 0.0);
  return gain - std::inner_product(w.begin(), w.end(), w.begin(), 0.0) / 2;
}

// To the bit what the formula says, one row after the other.
TYPED_TEST(LaneTest, OneLaneIsPlainDescent) {
  const Dataset data = some_rows<TypeParam>();
  const auto& m = std::get<CsrView<TypeParam>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  for (const double bias : {0.0, 0.5}) {
    const Problem problem = {.data = &data, .y = y, .cost = kCost, .bias = bias};
    const DualSetup options;
    Lane<Hinge, TypeParam> lane(problem, m, options, one_thread());
    std::vector<double> alpha(m.rows), w(problem.dimension());
    for (int round = 0; round < 3; ++round) {
      visit_all(problem, lane);
      const EpochSums saw = epoch(lane, {});
      lane.store();
      EXPECT_EQ(saw.visits, m.rows);
      double estimate = 0;
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        const SparseRow<TypeParam> x = row_of(m, i);
        const double score =
            options.common.simd->dot(x, w.data()) + (bias == 0 ? 0 : bias * w.back());
        const double g = y[i] * score - 1, square = square_in_lanes(x) + bias * bias;
        estimate += kCost * std::max(0.0, -g) + alpha[i] * g;
        const double to = std::clamp(alpha[i] - g / square, 0.0, kCost);
        options.common.simd->add(x, (to - alpha[i]) * y[i], w.data());
        if (bias != 0) w.back() += (to - alpha[i]) * y[i] * bias;
        alpha[i] = to;
      }
      EXPECT_EQ(lane.alpha, alpha);
      EXPECT_EQ(lane.iterate.w, w);
      EXPECT_NEAR(saw.estimate, estimate, 1e-10);
    }
  }
}

// Steps are shorter by the stiffness, and w goes as far as if so many lanes had taken them.
TYPED_TEST(LaneTest, AStiffLaneTakesShortStepsThatCountForMore) {
  const Dataset data = some_rows<TypeParam>();
  const auto& m = std::get<CsrView<TypeParam>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 1e6};  // no step meets its bound
  const DualSetup options;
  Lane<Hinge, TypeParam> lane(problem, m, options, one_thread());
  lane.working.choose(1, 1, one_thread(), [&](std::size_t) {
    return typename WorkingRows<TypeParam>::Chosen{
        .row = 3, .y = y[3], .alpha = 0, .curvature = lane.kUnknown, .moves = true};
  });
  Pool pool(1);
  lane.working.lay_out(false, pool);
  epoch(lane, {.stiffness = 4});
  const double square = square_in_lanes(row_of(m, 3));
  EXPECT_EQ(lane.gain().slope, 1 / square / 4);
  lane.store();
  EXPECT_EQ(lane.alpha[3], 1 / square / 4);
  EXPECT_EQ(lane.squares[3], square);
  std::vector<double> w(problem.dimension());
  options.common.simd->add(row_of(m, 3), y[3] / square, w.data());
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(lane.iterate.w[j], w[j], 1e-15);
}

TYPED_TEST(LaneTest, StoresAShareOfTheWay) {
  const Dataset data = some_rows<TypeParam>();
  const auto& m = std::get<CsrView<TypeParam>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = kCost};
  const DualSetup options;
  Lane<Hinge, TypeParam> all(problem, m, options, one_thread()),
      half(problem, m, options, one_thread());
  for (Lane<Hinge, TypeParam>* lane : {&all, &half}) {
    visit_all(problem, *lane);
    epoch(*lane, {});
  }
  all.store(1);
  half.store(0.5);
  EXPECT_GT(std::ranges::max(all.alpha), 0);
  for (std::uint64_t i = 0; i < m.rows; ++i) EXPECT_EQ(half.alpha[i], all.alpha[i] / 2);
  visit_all(problem, half);
  half.store(0.25);
  for (std::uint64_t i = 0; i < m.rows; ++i) EXPECT_EQ(half.alpha[i], all.alpha[i] / 2);
}

// w in floats and rows as they are: the same way but for rounding.
TYPED_TEST(LaneTest, FloatsGoTheSameWay) {
  const Dataset data = some_rows<TypeParam>();
  const auto& m = std::get<CsrView<TypeParam>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = kCost, .bias = 0.5};
  const DualSetup options = {.float_weights = true};
  Lane<Hinge, TypeParam> exact(problem, m, options, one_thread()),
      floats(problem, m, options, one_thread());
  floats.low_precision.take(floats.iterate.w);
  for (Lane<Hinge, TypeParam>* lane : {&exact, &floats}) {
    visit_all(problem, *lane);
    epoch(*lane, {});
    lane->store();
  }
  EXPECT_EQ(std::ranges::count(floats.iterate.w, 0.0), std::ssize(floats.iterate.w));
  for (std::size_t j = 0; j < problem.dimension(); ++j) {
    EXPECT_NEAR(floats.low_precision.float_weights()[j], exact.iterate.w[j], 1e-5);
  }
  for (std::uint64_t i = 0; i < m.rows; ++i) EXPECT_NEAR(floats.alpha[i], exact.alpha[i], 1e-5);
  floats.low_precision.drop();
  floats.recompute_weights();
  for (std::size_t j = 0; j < problem.dimension(); ++j) {
    EXPECT_NEAR(floats.iterate.w[j], exact.iterate.w[j], 1e-5);
  }
}

// D never falls at a join, every variable stays in its box, and w is that of all of them on every
// lane, to the same bit.
TYPED_TEST(LaneTest, LanesThatAreJoinedRaiseTheDual) {
  constexpr std::size_t kLanes = 4, kRounds = 30;
  const Dataset data = some_rows<TypeParam>(203);
  const auto& whole = std::get<CsrView<TypeParam>>(data.view());
  const std::vector<std::int8_t> y = signs(data, 1);
  for (const double cost : {0.1, 5.0}) {
    std::vector<std::vector<std::vector<double>>> alpha(kRounds), w(kRounds);  // by round and lane
    for (std::size_t round = 0; round < kRounds; ++round) {
      alpha[round].resize(kLanes);
      w[round].resize(kLanes);
    }
    testing::ThreadGroup(int{kLanes}).run([&](Transport& transport) {
      const auto k = static_cast<std::size_t>(transport.rank());
      std::vector<std::uint64_t> rows;
      for (std::uint64_t i = k; i < data.rows(); i += kLanes) rows.push_back(i);
      const Dataset part = keep_rows(data, rows);
      const std::vector<std::int8_t> own = signs(part, 1);
      const Problem problem = {.data = &part, .y = own, .cost = cost};
      const DualSetup options;
      Lane<Hinge, TypeParam> lane(problem, std::get<CsrView<TypeParam>>(part.view()), options,
                                  one_thread());
      Comm comm(transport);
      const auto sum = [&](std::span<double> values) { comm.sum_sparse(values); };
      Join join(kLanes, sum, *options.common.simd);
      for (std::size_t round = 0; round < kRounds; ++round) {
        visit_all(problem, lane);
        join.part(lane.iterate.w);
        epoch(lane, {.stiffness = join.stiffness()});
        const double share = join.meet(lane.iterate.w, lane.gain());
        EXPECT_GE(share, 0);
        EXPECT_LE(share, 1);
        EXPECT_GE(join.stiffness(), 1);
        EXPECT_LE(join.stiffness(), kLanes);
        lane.store(share);
        alpha[round][k] = lane.alpha;
        w[round][k] = lane.iterate.w;
      }
    });
    double before = 0;
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::vector<double> all(data.rows()), sum(data.features());
      for (std::uint64_t i = 0; i < data.rows(); ++i) {
        all[i] = alpha[round][i % kLanes][i / kLanes];
        ASSERT_GE(all[i], 0);
        ASSERT_LE(all[i], cost);
        best_simd().add(row_of(whole, i), all[i] * y[i], sum.data());
      }
      for (std::size_t k = 1; k < kLanes; ++k) ASSERT_EQ(w[round][k], w[round][0]);
      for (std::size_t j = 0; j < sum.size(); ++j) ASSERT_NEAR(w[round][0][j], sum[j], 1e-12);
      const double dual = dual_of(all, sum);
      ASSERT_GE(dual, before - 1e-12 * (1 + before)) << round;
      if (round == 0) {
        EXPECT_GT(dual, 0);
      }
      before = dual;
    }
  }
}

}  // namespace
}  // namespace hinge
