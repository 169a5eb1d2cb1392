// The line search of losses without jumps in their slope, against a search by thirds.
#include "objective/smooth_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "objective/loss.h"

namespace hinge {
namespace {

constexpr double kAnywhere = std::numeric_limits<double>::infinity();

// a/2 t^2 + b t + sum_i u_i max(0, 1 - z_i - t d_i)^2
struct Sum {
  double a, b;
  std::vector<double> u, z, d;

  double value(double t) const {
    double sum = a / 2 * t * t + b * t;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * SquaredHinge::value(z[i] + t * d[i]);
    return sum;
  }
  SlopeAndCurvature at(double t) const {
    SlopeAndCurvature sum = {a * t + b, a};
    for (std::size_t i = 0; i < u.size(); ++i) {
      sum.slope += u[i] * d[i] * SquaredHinge::slope(z[i] + t * d[i]);
      sum.curvature += u[i] * d[i] * d[i] * SquaredHinge::curvature(z[i] + t * d[i]);
    }
    return sum;
  }
  double minimum(double t_max) const {
    return smooth_minimum(at(0), t_max, [this](double t) { return at(t); });
  }
};

Sum random_sum(Random& random, double scale) {
  Sum sum = {.a = random.uniform(), .b = -2 * random.uniform(), .u = {}, .z = {}, .d = {}};
  for (int i = 0; i < 30; ++i) {
    sum.u.push_back(scale * random.uniform());
    sum.z.push_back(4 * random.uniform() - 2);
    sum.d.push_back(2 * random.uniform() - 1);
  }
  return sum;
}

TEST(SmoothSearch, FindsTheMinimum) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const Sum sum = random_sum(random, std::pow(10.0, 8 * random.uniform() - 4));
    if (!(sum.at(0).slope < 0)) continue;
    for (const double most : {0.1, 8.0, kAnywhere}) {
      double low = 0, high = std::min(most, 1e4);
      for (int k = 0; k < 300; ++k) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        (sum.value(a) < sum.value(b) ? high : low) = sum.value(a) < sum.value(b) ? b : a;
      }
      const double t = sum.minimum(most);
      EXPECT_LE(t, most);
      EXPECT_LE(sum.value(t), sum.value(low) + 1e-9 * std::abs(sum.value(low))) << round;
    }
  }
}

TEST(SmoothSearch, GoesAsFarAsItMayWhereTheFunctionFallsForEver) {
  const Sum falls = {.a = 0, .b = -1, .u = {}, .z = {}, .d = {}};
  EXPECT_EQ(falls.minimum(8), 8);
  EXPECT_EQ(falls.minimum(kAnywhere), 0);  // nothing says how far
}

// From a flat stretch Newton's step goes far beyond the rows that stop it.
TEST(SmoothSearch, ComesBackFromTooFar) {
  const Sum far = {.a = 1e-12, .b = -1e-3, .u = {1e6}, .z = {1 + 1e3}, .d = {-1}};
  const double t = far.minimum(kAnywhere);
  EXPECT_NEAR(t, 1e3 + 1e-3 / 2e6, 1e-9);
}

}  // namespace
}  // namespace hinge
