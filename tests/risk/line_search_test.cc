#include "risk/line_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

struct Hinge {
  double u, c, d;
};

double value(double a, double b, const std::vector<Hinge>& hinges, double t) {
  double sum = a / 2 * t * t + b * t;
  for (const Hinge& h : hinges) sum += h.u * std::max(0.0, h.c + t * h.d);
  return sum;
}

double minimum(double a, double b, const std::vector<Hinge>& hinges) {
  LineSearch search(a, b);
  search.reserve(hinges.size());
  for (const Hinge& h : hinges) search.add(h.u, h.c, h.d);
  return search.minimum();
}

TEST(LineSearch, ByHand) {
  // 1/2 t^2 + max(0, 1 - t): slope t - 1 until t = 1.
  EXPECT_DOUBLE_EQ(minimum(1, 0, {{1, 1, -1}}), 1);
  // Half the curvature: the bend at 1 is reached first.
  EXPECT_DOUBLE_EQ(minimum(0.5, 0, {{1, 1, -1}}), 1);
  // Twice: the parabola's own minimum, before the bend.
  EXPECT_DOUBLE_EQ(minimum(2, 0, {{1, 1, -1}}), 0.5);
  // Only linear pieces.
  EXPECT_DOUBLE_EQ(minimum(0, 0, {{1, 1, -1}, {0.5, -1, 0.5}}), 1);
  EXPECT_DOUBLE_EQ(minimum(0, -1, {{3, -2, 1}}), 2);
}

TEST(LineSearch, Edges) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(minimum(0, 0, {}), 0);
  EXPECT_EQ(minimum(1, 0, {}), 0);
  EXPECT_EQ(minimum(1, 3, {}), 0);
  EXPECT_EQ(minimum(0, -1, {}), kInfinity);
  EXPECT_DOUBLE_EQ(minimum(2, -1, {}), 0.5);
  EXPECT_EQ(minimum(1, 0, {{1, 1, 1}}), 0);              // rises at once
  EXPECT_EQ(minimum(1, 0, {{0, 1, -1}, {1, 1, 0}}), 0);  // hinges that do not count
  EXPECT_EQ(minimum(1, -1e-300, {{1, 0, 1}}), 0);        // at the bend, going up
  EXPECT_DOUBLE_EQ(minimum(1, -2, {{5, 0, -1}}), 2);     // at the bend, going away
  EXPECT_DOUBLE_EQ(minimum(1e-300, -1, {{1, 1e-300, -1}, {2, -1, 1}}), 1);
}

TEST(LineSearch, NoPointIsBetter) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    const double a = random.below(4) == 0 ? 0.0 : random.uniform() * 10;
    const double b = 20 * random.uniform() - 10;
    std::vector<Hinge> hinges(random.below(200));
    for (Hinge& h : hinges) {
      h.u = random.below(5) == 0 ? 0.0 : random.uniform();
      h.c = random.below(9) == 0 ? 0.0 : 4 * random.uniform() - 2;
      h.d = random.below(9) == 0 ? 0.0 : 2 * random.uniform() - 1;
      if (random.below(3) == 0 && &h != hinges.data()) h = *(&h - 1);  // equal bends
    }
    const double t = minimum(a, b, hinges);
    if (t == std::numeric_limits<double>::infinity()) {
      EXPECT_LT(value(a, b, hinges, 1e9), value(a, b, hinges, 1e8));
      continue;
    }
    const double best = value(a, b, hinges, t);
    const double slack = 1e-12 * (1 + std::abs(best));
    for (double step = 1e-6; step < 1e3; step *= 4) {
      EXPECT_GE(value(a, b, hinges, t + step), best - slack);
      if (t >= step) {
        EXPECT_GE(value(a, b, hinges, t - step), best - slack);
      }
    }
    EXPECT_GE(value(a, b, hinges, 0), best - slack);
  }
}

}  // namespace
}  // namespace hinge
