#include "solve/pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/archive.h"

namespace hinge {
namespace {

constexpr double kTarget = 1e-3;

// The work after which a run with this gap is said to crawl; infinite: it is never.
template <class Gap>
double crawls_at(Pace pace, const Gap& gap) {
  for (double work = 1; work < 1e7; work += 1 + work / 100) {
    if (gap(work) <= kTarget) break;
    if (pace.crawls(work, gap(work), kTarget)) return work;
  }
  return std::numeric_limits<double>::infinity();
}

TEST(Pace, ARunThatArrivesInTimeIsLeftAlone) {
  // Which takes 69,000.
  const auto gap = [](double work) { return std::exp(-work / 10'000); };
  EXPECT_TRUE(std::isinf(crawls_at(Pace({.least = 100, .most = 80'000}), gap)));
  EXPECT_LE(crawls_at(Pace({.least = 100, .most = 50'000}), gap), 200);
}

TEST(Pace, ARunThatSlowsDownIsFoundOut) {
  // It takes a million; but at any moment it looks as if it took some ten times as long as yet.
  const double at = crawls_at(Pace({.least = 10, .most = 10'000}),
                              [](double work) { return 1 / std::sqrt(work); });
  EXPECT_GT(at, 10'000.0 / 30);
  EXPECT_LT(at, 10'000);
}

TEST(Pace, NoProgressIsFoundOutAtOnceButNotBeforeItIsLookedFor) {
  Pace pace({.least = 500, .most = 1000});
  const double at = crawls_at(pace, [](double) { return 0.5; });
  EXPECT_GE(at, 500);
  EXPECT_LT(at, 510);
}

TEST(Pace, WhatIsLostBeyondDoubtIsFoundOutSooner) {
  const PaceLimit limit = {.least = 1000, .most = 10'000, .soonest = 50};
  const double at = crawls_at(Pace(limit), [](double work) { return std::exp(-work / 1e7); });
  EXPECT_GE(at, 50);
  EXPECT_LT(at, 60);
  // Which takes 20,000: twice too slow is believed from half the work on.
  const auto slow = [](double work) { return std::exp(work / 20'000 * std::log(kTarget)); };
  EXPECT_GT(crawls_at(Pace(limit), slow), 450);
}

// Best values wait, then fall: half a run without progress is too much, less is not.
TEST(Pace, WavesAreAllowed) {
  const auto waves = [](double work) { return std::pow(0.5, std::floor(std::log(work) / 0.3)); };
  EXPECT_TRUE(std::isinf(crawls_at(Pace({.least = 10, .most = 1e4}), waves)));
}

TEST(Pace, NothingIsJudgedWithoutALimitOrATarget) {
  Pace none({});
  EXPECT_FALSE(none.crawls(1e300, 1, kTarget));
  Pace pace({.least = 1, .most = 2});
  EXPECT_FALSE(pace.crawls(1e300, 1, 0));
}

TEST(Pace, TheSameRecordTwiceChangesNothingAndAStateGoesOn) {
  const auto gap = [](double work) { return 1 / std::sqrt(work); };
  const PaceLimit limit = {.least = 1, .most = 1e4};
  Pace once(limit), twice(limit);
  for (double work = 1; work < 1e5; work *= 1.3) {
    const bool crawls = once.crawls(work, gap(work), kTarget);
    EXPECT_EQ(twice.crawls(work, gap(work), kTarget), crawls);
    EXPECT_EQ(twice.crawls(work, gap(work), kTarget), crawls);
    Pace resumed(limit);
    restore(resumed, state_of(once));
    EXPECT_EQ(resumed.crawls(work, gap(work), kTarget), crawls);
    EXPECT_EQ(resumed.left(), once.left());
  }
}

}  // namespace
}  // namespace hinge
