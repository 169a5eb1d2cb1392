#include "solve/planes/simplex_qp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Planes with room for more: what a cutting-plane method keeps.
struct Problem {
  std::size_t stride = 0;
  std::vector<double> gram, b, beta;
  double total = 1;
  std::vector<std::vector<double>> planes;

  Problem(std::size_t capacity, double sum) : stride(capacity), gram(stride * stride), total(sum) {}

  void add(std::vector<double> a, double offset) {
    const std::size_t n = b.size();
    planes.push_back(a);
    b.push_back(offset);
    beta.push_back(0);
    for (std::size_t j = 0; j <= n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.size(); ++k) sum += planes[j][k] * a[k];
      gram[j * stride + n] = gram[n * stride + j] = sum;
    }
  }

  void take_out(std::size_t plane) {
    Problem rest(stride, total);
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (j == plane) continue;
      rest.add(planes[j], b[j]);
      rest.beta.back() = beta[j];
    }
    *this = rest;
  }

  long double value(const std::vector<double>& x) const {
    long double sum = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      long double product = 0;
      for (std::size_t k = 0; k < b.size(); ++k) {
        product += static_cast<long double>(gram[j * stride + k]) * x[k];
      }
      sum += x[j] * (b[j] - product / 2);
    }
    return sum;
  }

  // What rounding may do to q and to the gap, times 1e14: their terms, as if nothing cancelled.
  double magnitude(const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      double row = std::abs(b[j]);
      for (std::size_t k = 0; k < b.size(); ++k) row += std::abs(gram[j * stride + k]) * x[k];
      sum = std::max(sum, total * row);
    }
    return sum;
  }
};

// Solves, and checks everything that is promised whatever the problem is.
QpAnswer solve(SimplexQp& qp, Problem& p, double tolerance) {
  const std::vector<double> begin = p.beta;
  const QpAnswer answer = qp.solve(p.gram, p.stride, p.b, p.total, tolerance, p.beta);
  double sum = 0, product = 0, largest = 0;
  for (std::size_t j = 0; j < p.b.size(); ++j) {
    EXPECT_GE(p.beta[j], 0);
    sum += p.beta[j];
    double g = p.b[j];
    for (std::size_t k = 0; k < p.b.size(); ++k) g -= p.gram[j * p.stride + k] * p.beta[k];
    product += p.beta[j] * g;
    largest = std::max(largest, g);
  }
  EXPECT_LE(sum, p.total * (1 + 1e-12));
  const double noise = 1e-14 * p.magnitude(p.beta);
  EXPECT_NEAR(answer.value, static_cast<double>(p.value(p.beta)), noise);
  EXPECT_NEAR(answer.gap, std::max(0.0, p.total * largest - product), noise);
  EXPECT_EQ(answer.stalled, answer.gap > tolerance);
  const auto before = static_cast<double>(p.value(begin));
  if (std::isfinite(before)) {
    EXPECT_GE(answer.value, before - noise - 1e-14 * p.magnitude(begin));
  }
  return answer;
}

// Solves the symmetric system rows = (H, h) in place; false if it has no single solution.
bool solve_system(std::vector<std::vector<long double>>& rows) {
  const std::size_t size = rows.size();
  std::vector<long double> unit(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (!(rows[i][i] > 0)) return false;
    unit[i] = 1 / std::sqrt(rows[i][i]);
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < size; ++k) rows[i][k] *= unit[i] * unit[k];
    rows[i][size] *= unit[i];
  }
  for (std::size_t c = 0; c < size; ++c) {
    if (rows[c][c] < 1e-11L) return false;
    for (std::size_t i = 0; i < size; ++i) {
      if (i == c) continue;
      const long double factor = rows[i][c] / rows[c][c];
      for (std::size_t k = c; k <= size; ++k) rows[i][k] -= factor * rows[c][k];
    }
  }
  for (std::size_t i = 0; i < size; ++i) rows[i][size] *= unit[i] / rows[i][i];
  return true;
}

// The largest q over all supports whose optimality conditions have one solution; one of them is the
// answer, since a support with more can lose a plane without loss.
long double brute_force(const Problem& p) {
  using Real = long double;
  const std::size_t n = p.b.size();
  const auto gram = [&](std::size_t j, std::size_t k) -> Real { return p.gram[j * p.stride + k]; };
  Real best = 0;
  for (unsigned mask = 1; mask < 1U << n; ++mask) {
    std::vector<std::size_t> support;
    for (std::size_t j = 0; j < n; ++j) {
      if ((mask >> j & 1U) != 0) support.push_back(j);
    }
    for (const bool full : {false, true}) {
      // Without slack, the first plane has what the others leave.
      const std::size_t first = support[0], skip = full ? 1 : 0, size = support.size() - skip;
      std::vector<std::vector<Real>> rows(size, std::vector<Real>(size + 1));
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t j = support[i + skip];
        rows[i][size] = p.b[j];
        if (full) {
          rows[i][size] -= p.b[first] + p.total * (gram(j, first) - gram(first, first));
        }
        for (std::size_t k = 0; k < size; ++k) {
          const std::size_t other = support[k + skip];
          rows[i][k] = gram(j, other);
          if (full) rows[i][k] += gram(first, first) - gram(j, first) - gram(first, other);
        }
      }
      if (!solve_system(rows)) continue;
      std::vector<Real> x(n);
      Real rest = p.total;
      bool feasible = true;
      for (std::size_t i = 0; i < size; ++i) {
        const Real weight = rows[i][size];
        feasible &= weight >= 0;
        rest -= weight;
        x[support[i + skip]] = weight;
      }
      if (!feasible || rest < 0) continue;
      if (full) x[first] = rest;
      Real value = 0;
      for (std::size_t j = 0; j < n; ++j) {
        Real product = 0;
        for (std::size_t k = 0; k < n; ++k) product += gram(j, k) * x[k];
        value += x[j] * (p.b[j] - product / 2);
      }
      best = std::max(best, value);
    }
  }
  return best;
}

double normal(Random& random) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += random.uniform();
  return sum;
}

std::vector<double> normals(Random& random, std::size_t size, double scale) {
  std::vector<double> a(size);
  for (double& x : a) x = scale * normal(random);
  return a;
}

TEST(SimplexQp, ByHand) {
  SimplexQp qp;
  Problem one(4, 1);
  one.add({2}, 3);  // 3x - 2x^2: x = 3/4
  EXPECT_DOUBLE_EQ(solve(qp, one, 1e-12).value, 9.0 / 8);
  EXPECT_DOUBLE_EQ(one.beta[0], 0.75);
  one.total = 0.5;  // held by the constraint
  one.beta[0] = 0;
  EXPECT_DOUBLE_EQ(solve(qp, one, 1e-12).value, 1);
  one.add({-2}, 3);  // half and half, and nothing is left of the quadratic part
  EXPECT_DOUBLE_EQ(solve(qp, one, 1e-12).value, 1.5);
  EXPECT_NEAR(one.beta[0], 0.25, 1e-12);
}

TEST(SimplexQp, Edges) {
  SimplexQp qp;
  Problem none(1, 1);
  EXPECT_EQ(solve(qp, none, 0).value, 0);
  Problem p(8, 1);
  p.add({0, 0}, -1);
  p.add({1, 2}, 0);
  p.add({-1, -2}, 0);
  EXPECT_EQ(solve(qp, p, 0).value, 0);  // nothing to gain
  EXPECT_EQ(p.beta, (std::vector<double>{0, 0, 0}));
  p.add({0, 0}, 2);  // all of it on a plane without slope
  EXPECT_EQ(solve(qp, p, 0).value, 2);
  p.total = 0;
  p.beta[3] = 0;
  EXPECT_EQ(solve(qp, p, 0).value, 0);
  p.total = 3;
  p.beta = {-1, std::numeric_limits<double>::quiet_NaN(), kInfinity, 1e300};  // no start at all
  const QpAnswer answer = qp.solve(p.gram, p.stride, p.b, p.total, 1e-12, p.beta);
  EXPECT_NEAR(answer.value, 6, 1e-12);
  EXPECT_FALSE(answer.stalled);
}

TEST(SimplexQp, AsBruteForce) {
  Random random(5);
  SimplexQp qp;
  for (int round = 0; round < 1500; ++round) {
    const std::size_t n = 1 + random.below(6), dimension = 1 + random.below(6);
    const double total = std::pow(10.0, 4 * random.uniform() - 2);
    const double spread = random.below(3) == 0 ? 1e-3 : 1.0;
    Problem p(8, total);
    const std::vector<double> common = normals(random, dimension, 1);
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> a = normals(random, dimension, spread);
      if (spread < 1) {
        for (std::size_t k = 0; k < dimension; ++k) a[k] += common[k];
      }
      double b = 2 * normal(random) + (spread < 1 ? 5 : 0);
      const std::uint64_t kind = random.below(8);
      if (kind == 0) std::fill(a.begin(), a.end(), 0.0);
      if (kind == 1 && j > 0) a = p.planes[j - 1];
      if (kind == 2 && j > 0) a = p.planes[j - 1], b = p.b[j - 1];
      p.add(a, b);
    }
    const auto best = static_cast<double>(brute_force(p));
    if (random.below(2) == 0) {
      for (double& x : p.beta) x = random.below(2) == 0 ? 0.0 : total * random.uniform() / 6;
    }
    const double tolerance = 1e-9 * (1 + best);
    const QpAnswer answer = solve(qp, p, tolerance);
    EXPECT_FALSE(answer.stalled) << round << ' ' << answer.gap;
    EXPECT_NEAR(answer.value, best, 2 * tolerance) << round;
  }
}

TEST(SimplexQp, AnyMagnitude) {
  Random random(6);
  SimplexQp qp;
  for (int round = 0; round < 1500; ++round) {
    // Planes that do not depend on each other: else G, rounded, may be a little negative, and if
    // total G exceeds b by many orders, q with it.
    const std::size_t n = 1 + random.below(6), dimension = n + 3;
    const double total = std::pow(10.0, 24 * random.uniform() - 12);
    const double scale = std::pow(10.0, 298 * random.uniform() - 149);
    const double offset = std::pow(10.0, 24 * random.uniform() - 15);
    Problem p(8, total);
    // Norms of planes within some orders of magnitude, or anywhere; then rounding may eat a plane
    // that counts, and the gap has to say so.
    const bool anywhere = random.below(4) == 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double own = anywhere ? std::pow(10.0, 298 * random.uniform() - 149)
                                  : scale * std::pow(10.0, 6 * random.uniform() - 3);
      p.add(normals(random, dimension, std::clamp(own, 1e-149, 1e149)), offset * normal(random));
    }
    if (random.below(2) == 0) {
      for (double& x : p.beta) x = total * random.uniform() / 6;
    }
    const auto best = static_cast<double>(brute_force(p));
    const QpAnswer answer = solve(qp, p, 1e-9 * best);
    ASSERT_TRUE(std::isfinite(answer.value) && std::isfinite(answer.gap)) << round;
    // total times the rounding of g is all that a gap can show.
    const double reach = 1e-9 * best + 1e-13 * p.magnitude(p.beta);
    EXPECT_GE(answer.value + answer.gap, best - reach) << round;
    if (anywhere || best < 1e-290) continue;  // steps gain less than there are numbers for
    EXPECT_LE(answer.gap, reach) << round;
    EXPECT_NEAR(answer.value, best, 2 * reach) << round;
  }
}

struct Shape {
  double common, spread, offset, total;
  std::size_t dimension;
};

// A method's life: one plane after another, a loose tolerance, now and then planes go.
TEST(SimplexQp, WarmStarts) {
  for (const Shape& shape :
       {Shape{1, 1, 1, 1, 60}, Shape{1, 1e-2, 1, 1, 300}, Shape{1e5, 10, 1e3, 1e-6, 300},
        Shape{10, 1e-7, 1, 100, 50}, Shape{1e3, 1, 10, 1e3, 250}}) {
    Random random(static_cast<std::uint64_t>(shape.dimension));
    SimplexQp warm;
    Problem p(200, shape.total);
    const std::vector<double> common = normals(random, shape.dimension, shape.common);
    double last = 0;
    for (int round = 0; round < 230; ++round) {
      if (p.b.size() == p.stride || random.below(40) == 0) {
        for (std::size_t j = p.b.size(); j-- > 0;) {
          if (p.beta[j] == 0 && p.b.size() > 1) p.take_out(j);
        }
        if (p.b.size() == p.stride) p.take_out(3), last = 0;
      }
      std::vector<double> a = normals(random, shape.dimension, shape.spread);
      for (std::size_t k = 0; k < a.size(); ++k) a[k] += common[k];
      p.add(a, shape.offset * (5 + normal(random)));
      const QpAnswer loose = solve(warm, p, 1e-2 * (std::abs(last) + 1e-6));
      EXPECT_LE(loose.steps, 1000U);
      EXPECT_FALSE(loose.stalled) << round << ' ' << loose.gap;
      EXPECT_GE(loose.value, last * (1 - 1e-13));
      last = loose.value;
      if (round % 23 != 22) continue;

      // The gap is honest, and a solver that knows nothing of the past finds the same.
      Problem cold = p;
      std::fill(cold.beta.begin(), cold.beta.end(), 0.0);
      SimplexQp fresh;
      const double tight = 1e-7 * loose.value;
      const QpAnswer from_zero = solve(fresh, cold, tight);
      EXPECT_FALSE(from_zero.stalled) << round << ' ' << from_zero.gap / loose.value;
      EXPECT_LE(from_zero.value, loose.value + loose.gap + tight);
      Problem again = p;
      const QpAnswer from_here = solve(warm, again, tight);
      EXPECT_FALSE(from_here.stalled) << round << ' ' << from_here.gap / loose.value;
      EXPECT_NEAR(from_here.value, from_zero.value, 2 * tight);
    }
  }
}

TEST(SimplexQp, Dependent) {
  // Many copies, and more planes than dimensions: G is singular whatever the support.
  Random random(9);
  SimplexQp qp;
  Problem p(160, 2);
  for (int round = 0; round < 150; ++round) {
    if (round % 3 == 2) {
      const std::size_t like = random.below(p.b.size());
      p.add(p.planes[like], p.b[like]);
    } else {
      p.add(normals(random, 7, 1), 1 + random.uniform());
    }
    const QpAnswer answer = solve(qp, p, 1e-10);
    EXPECT_FALSE(answer.stalled) << round << ' ' << answer.gap;
    EXPECT_LE(answer.steps, 1000U);
  }
}

TEST(SimplexQp, OtherPlanesThatLookTheSame) {
  // Norms, neighbours' products and b are those of the planes before: the factor is kept, and
  // wrong.
  SimplexQp qp;
  Problem apart(12, 9), close(12, 9);
  for (std::size_t j = 0; j < 12; ++j) {
    std::vector<double> a(14);
    a[j] = 5;
    apart.add(a, 1);
    a[j] = 0;
    a[j % 2] = 4;
    a[j + 2] = 3;
    close.add(a, 1);
  }
  EXPECT_FALSE(solve(qp, apart, 1e-12).stalled);
  EXPECT_FALSE(solve(qp, close, 1e-12).stalled);
  // By symmetry all weights are the same, x: 12 x - 1/2 12 (25 + 5 * 16) x^2.
  EXPECT_NEAR(close.beta[7], 1.0 / 105, 1e-12);
}

TEST(SimplexQp, ToleranceOutOfReach) {
  // Ends by itself where rounding does not allow more; the gap says how far that is.
  Random random(10);
  SimplexQp qp;
  Problem p(100, 1);
  for (int round = 0; round < 80; ++round) {
    std::vector<double> a = normals(random, 40, 1e-3);
    for (double& x : a) x += 1e4;
    p.add(a, 1e8 + normal(random));
    const QpAnswer answer = solve(qp, p, 0);
    EXPECT_LE(answer.gap, 1e-6 * 1e8) << round;
  }
}

TEST(SimplexQp, SameBits) {
  Random random(12);
  SimplexQp first, second;
  Problem p(64, 1);
  for (int round = 0; round < 60; ++round) {
    p.add(normals(random, 30, 1), 1 + normal(random) / 4);
    Problem q = p;
    const QpAnswer x = solve(first, p, 1e-3), y = solve(second, q, 1e-3);
    EXPECT_EQ(x.steps, y.steps);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(x.value), std::bit_cast<std::uint64_t>(y.value));
    EXPECT_EQ(p.beta, q.beta);
  }
}

}  // namespace
}  // namespace hinge
