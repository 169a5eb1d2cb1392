#include "solve/dual/join.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace hinge {
namespace {

// As many lanes as these have gone the same way as the one that is looked at.
SumOverLanes all_alike(double lanes) {
  return [lanes](std::span<double> values) {
    for (double& value : values) value *= lanes;
  };
}

// D(t) = t gain - |t v|^2 / 2 from w = 0: t = gain / |v|^2.
TEST(Join, GoesToTheBestOfTheWay) {
  Join join(1, all_alike(1), best_simd());
  EXPECT_EQ(join.stiffness(), 1);
  std::vector<double> w = {0, 0};
  join.part(w);
  w = {2, 4};
  EXPECT_EQ(join.meet(w, {.slope = 5}), 0.25);
  EXPECT_EQ(w, (std::vector<double>{0.5, 1}));
}

// From another w: t = (gain - <w, v>) / |v|^2.
TEST(Join, KnowsWhereLanesParted) {
  Join join(1, all_alike(1), best_simd());
  std::vector<double> w = {1, -1};
  join.part(w);
  w = {3, -1};
  EXPECT_EQ(join.meet(w, {.slope = 4}), 0.5);
  EXPECT_EQ(w, (std::vector<double>{2, -1}));
}

TEST(Join, GoesNoFartherThanVariablesWentNorBack) {
  Join join(1, all_alike(1), best_simd());
  std::vector<double> w = {0};
  join.part(w);
  w = {1};
  EXPECT_EQ(join.meet(w, {.slope = 100}), 1);
  EXPECT_EQ(w, std::vector<double>{1});
  join.part(w);
  w = {2};
  EXPECT_EQ(join.meet(w, {.slope = -100}), 0);
  EXPECT_EQ(w, std::vector<double>{1});
}

// Nobody has moved: there is no way.
TEST(Join, MayHaveNowhereToGo) {
  Join join(3, all_alike(3), best_simd());
  std::vector<double> w = {1, 2};
  join.part(w);
  EXPECT_EQ(join.meet(w, {.slope = 0}), 1);
  EXPECT_EQ(w, (std::vector<double>{1, 2}));
}

// w as a lane sees it went `stiffness` times as far as its variables say; the steps of all count.
TEST(Join, AddsUpTheStepsOfAllLanes) {
  Join join(4, all_alike(4), best_simd());
  EXPECT_EQ(join.stiffness(), 2.5);  // midway between 1 and 4
  std::vector<double> w = {0};
  join.part(w);
  w = {2.5};                                   // a step of 1, of each of 4 lanes
  EXPECT_EQ(join.meet(w, {.slope = 2}), 0.5);  // (4 * 2) / 4^2
  EXPECT_EQ(w, std::vector<double>{2});
}

// Where lanes went too far together they are stiffer next time, where not far enough less so; at
// least 1, at most as many as they are.
TEST(Join, StiffnessFollowsWhatWouldHaveBeenBest) {
  Join join(4, all_alike(4), best_simd());
  const auto meet = [&](double best) {  // a way of 1 for each lane, whose best share this is
    std::vector<double> w = {0};
    join.part(w);
    w = {join.stiffness()};
    return join.meet(w, {.slope = 4 * best});
  };
  EXPECT_EQ(meet(0.8), 0.8);
  EXPECT_EQ(join.stiffness(), 2.5 / 0.8);
  EXPECT_EQ(meet(0.1), 0.1);
  EXPECT_EQ(join.stiffness(), 4);
  EXPECT_EQ(meet(1.25), 1);
  EXPECT_EQ(join.stiffness(), 4 / 1.25);
  for (int k = 0; k < 10; ++k) meet(3);
  EXPECT_EQ(join.stiffness(), 1);
}

}  // namespace
}  // namespace hinge
