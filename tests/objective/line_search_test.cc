#include "objective/line_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "thread_transport.h"

namespace hinge {
namespace {

struct Part {
  double u, c, d;
};

double value(double a, double b, const std::vector<Part>& parts, double t) {
  double sum = a / 2 * t * t + b * t;
  for (const Part& h : parts) sum += h.u * std::max(0.0, h.c + t * h.d);
  return sum;
}

double minimum(double a, double b, const std::vector<Part>& parts) {
  LineSearch search(a, b);
  search.reserve(parts.size());
  for (const Part& h : parts) search.add(h.u, h.c, h.d);
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
  EXPECT_EQ(minimum(1, 0, {{0, 1, -1}, {1, 1, 0}}), 0);  // parts that do not count
  EXPECT_EQ(minimum(1, -1e-300, {{1, 0, 1}}), 0);        // at the bend, going up
  EXPECT_DOUBLE_EQ(minimum(1, -2, {{5, 0, -1}}), 2);     // at the bend, going away
  EXPECT_DOUBLE_EQ(minimum(1e-300, -1, {{1, 1e-300, -1}, {2, -1, 1}}), 1);
}

// The same with parts dealt out to some ranks.
double minimum_of_ranks(const Ray& ray, const std::vector<Part>& parts, std::size_t ranks) {
  std::vector<double> found(ranks);
  testing::ThreadGroup(static_cast<int>(ranks)).run([&](Transport& transport) {
    Comm comm(transport);
    const auto rank = static_cast<std::size_t>(comm.rank());
    LineSearch own(0, 0, ray.t_max);
    for (std::size_t k = rank; k < parts.size(); k += ranks) {
      own.add(parts[k].u, parts[k].c, parts[k].d);
    }
    found[rank] = minimum_on_ranks(ray, own, comm);
    EXPECT_LE(comm.counts().rounds, 25U);
  });
  EXPECT_EQ(found, std::vector<double>(ranks, found[0]));
  return found[0];
}

TEST(LineSearch, RanksFindTheSameMinimum) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    // Breakpoints near t = 1, far beyond or long before.
    const double scale = std::pow(10.0, static_cast<double>(random.below(19)) - 9);
    std::vector<Part> parts(random.below(100));
    for (Part& h : parts) {
      h.u = random.below(5) == 0 ? 0.0 : random.uniform();
      h.c = (random.below(9) == 0 ? 0.0 : 4 * random.uniform() - 2) * scale;
      h.d = random.below(9) == 0 ? 0.0 : 2 * random.uniform() - 1;
      if (random.below(3) == 0 && &h != parts.data()) h = *(&h - 1);  // equal bends
    }
    Ray ray = {.a = random.below(4) == 0 ? 0.0 : random.uniform() * 10 / scale,
               .b = 20 * random.uniform() - 10};
    if (random.below(3) == 0) ray.t_max = 2 * random.uniform() * scale;
    LineSearch alone(ray.a, ray.b, ray.t_max);
    for (const Part& h : parts) alone.add(h.u, h.c, h.d);
    const double best = alone.minimum();
    for (const double doubt : {1e-12, 1e-3}) {
      ray.doubt = doubt;
      const double t = minimum_of_ranks(ray, parts, 1 + random.below(4));
      EXPECT_LE(t, ray.t_max);
      if (std::isinf(best)) {
        EXPECT_EQ(t, best);
        continue;
      }
      const double least = value(ray.a, ray.b, parts, best), most = value(0, 0, parts, 0);
      EXPECT_LE(value(ray.a, ray.b, parts, t),
                least + 2 * doubt * (most - least) + 1e-12 * (std::abs(least) + most));
    }
  }
}

TEST(LineSearch, NoPointIsBetter) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    const double a = random.below(4) == 0 ? 0.0 : random.uniform() * 10;
    const double b = 20 * random.uniform() - 10;
    std::vector<Part> parts(random.below(200));
    for (Part& h : parts) {
      h.u = random.below(5) == 0 ? 0.0 : random.uniform();
      h.c = random.below(9) == 0 ? 0.0 : 4 * random.uniform() - 2;
      h.d = random.below(9) == 0 ? 0.0 : 2 * random.uniform() - 1;
      if (random.below(3) == 0 && &h != parts.data()) h = *(&h - 1);  // equal bends
    }
    const double t = minimum(a, b, parts);
    if (t == std::numeric_limits<double>::infinity()) {
      EXPECT_LT(value(a, b, parts, 1e9), value(a, b, parts, 1e8));
      continue;
    }
    const double best = value(a, b, parts, t);
    const double slack = 1e-12 * (1 + std::abs(best));
    for (double step = 1e-6; step < 1e3; step *= 4) {
      EXPECT_GE(value(a, b, parts, t + step), best - slack);
      if (t >= step) {
        EXPECT_GE(value(a, b, parts, t - step), best - slack);
      }
    }
    EXPECT_GE(value(a, b, parts, 0), best - slack);
  }
}

}  // namespace
}  // namespace hinge
