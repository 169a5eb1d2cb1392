// Pegasos with losses whose slopes have no bound: the implicit step against its definition, what is
// proved of it, and that primal, bound and certificate stay what they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "pegasos_reference.h"
#include "ranks/comm.h"
#include "solve/pegasos/free_bias_point.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::distance;
using testing::inner;
using testing::norm;
using testing::random_costs;
using testing::random_dataset;
using testing::Scaled;
using testing::ThreadGroup;
using testing::Vector;

using State = PegasosState<Passes<float>, SquaredHinge>;

double loss(double z) {
  return std::pow(std::max(0.0, 1 - z), 2);
}
double share_at(double z) {
  return 2 * std::max(0.0, 1 - z);
}

// The same rows with the squared hinge.
struct Squared {
  explicit Squared(const Scaled& of) : s(of), problem(of.problem()) {
    problem.loss = LossKind::squared_hinge;
  }
  double f(const Vector& w, std::span<const std::uint64_t> set, double k) const {
    double sum = 0;
    for (const std::uint64_t i : set) sum += s.cost(i) * loss(s.y(i) * inner(w, s.x(i)));
    return s.lambda() / 2 * inner(w, w) + s.scale() / k * sum;
  }
  double f(const Vector& w) const {
    std::vector<std::uint64_t> all(s.rows());
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return f(w, all, static_cast<double>(s.rows()));
  }
  Vector gradient(const Vector& w, std::span<const std::uint64_t> set, double k) const {
    Vector g = w;
    for (double& x : g) x *= s.lambda();
    for (const std::uint64_t i : set) {
      const double a = s.scale() / k * s.cost(i) * share_at(s.y(i) * inner(w, s.x(i)));
      for (std::size_t j = 0; j < g.size(); ++j) g[j] -= a * s.y(i) * s.x(i)[j];
    }
    return g;
  }
  Solution dual(double gap) const {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = gap, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                    nobody);
    Pool pool(1);
    return solve_dual(problem, {}, monitor, pool);
  }
  std::vector<Solution> solve(const PegasosSetup& setup, double gap = 0, int threads = 1) const {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    std::vector<Monitor> monitors;
    monitors.emplace_back(Limits{.gap = gap, .seconds = std::numeric_limits<double>::infinity()},
                          clock, 0, nobody);
    Pool pool(threads);
    return solve_pegasos(std::span(&problem, 1), setup, monitors, pool);
  }
  Certificate certified(Solution solution) const {
    Pool pool(1);
    if (problem.free_bias) balance(problem, solution.alpha);
    return certify(problem, solution.w, solution.alpha, pool);
  }
  const Scaled& s;
  Problem problem;
};

// Where g, which rises, is 0 in [0, most].
double root(double most, const std::function<double(double)>& g) {
  double low = 0, high = most;
  for (int k = 0; k < 200; ++k) ((g((low + high) / 2) < 0) ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

// The step as it is defined: on one row to where the slope is what was stepped by; on several as
// far along their slopes as the dual of the problem of the step says.
void step_by_definition(const Scaled& s, Vector& w, std::span<const std::uint64_t> set, double k,
                        double t, Update update) {
  const double eta = 1 / (s.lambda() * t);
  Vector next = w;
  for (double& x : next) x *= 1 - eta * s.lambda();
  Vector shares;
  const auto learns = [&](double z) { return update == Update::margin || z <= 0; };
  if (k == 1) {
    const std::uint64_t i = set[0];
    const double rise = eta * s.scale() * s.cost(i) * inner(s.x(i), s.x(i));
    const double z = s.y(i) * inner(next, s.x(i));
    double a = 0;
    if (learns(s.y(i) * inner(w, s.x(i))) && z < 1) {
      a = root(share_at(z), [&](double b) { return b - share_at(z + rise * b); });
    }
    shares.push_back(a);
  } else {
    Vector sum(w.size());
    for (const std::uint64_t i : set) {
      const double z = s.y(i) * inner(w, s.x(i));
      shares.push_back(learns(z) ? share_at(z) : 0.0);
      for (std::size_t j = 0; j < w.size(); ++j) {
        sum[j] += shares.back() * s.cost(i) * s.y(i) * s.x(i)[j];
      }
    }
    const auto falls = [&](double r) {  // the slope of the dual, turned round
      double slope = eta * s.scale() / k * r * inner(sum, sum);
      for (std::size_t n = 0; n < set.size(); ++n) {
        const double a = shares[n], z = s.y(set[n]) * inner(next, s.x(set[n]));
        slope -= s.cost(set[n]) * a * (1 - r * a / 2 - z);
      }
      return slope;
    };
    const double r = root(10, falls);
    for (double& a : shares) a *= r;
  }
  for (std::size_t n = 0; n < set.size(); ++n) {
    const double a = eta / k * s.scale() * s.cost(set[n]) * shares[n] * s.y(set[n]);
    for (std::size_t j = 0; j < w.size(); ++j) next[j] += a * s.x(set[n])[j];
  }
  w = next;
}

TEST(PegasosLosses, StepsAsDefined) {
  const Dataset data = random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4});
  for (const bool weighted : {false, true}) {
    const Scaled s(data, 0.002, weighted ? random_costs(150) : Vector(), weighted ? 0.7 : 0.0);
    const Squared squared(s);
    for (const std::uint64_t batch : {1U, 7U, 150U}) {
      for (const Update update : {Update::margin, Update::mistake}) {
        for (const bool projection : {false, true}) {
          Pool pool(1);
          Passes<float> passes(s.matrix(), s.problem().bias, 1, best_simd(), pool);
          State ours({.problems = std::span(&squared.problem, 1),
                      .batch = batch,
                      .update = update,
                      .projection = projection},
                     passes);
          Batches batches({.rows = s.rows(), .batch = batch, .seed = 7});
          Vector w(s.problem().dimension());
          for (double t = 1; t <= 400; ++t) {
            const auto set = batches.next(1);
            step_by_definition(s, w, set, static_cast<double>(batch), t, update);
            const double radius = std::sqrt(2 / s.lambda());
            for (double& x : w) x *= projection ? std::min(1.0, radius / norm(w)) : 1.0;
            ours.run(set);
          }
          EXPECT_LE(distance(ours.point(), w), 1e-9 * norm(w)) << batch << " " << projection;
        }
      }
    }
  }
}

// (**) of docs/math.md, summed: whatever rows are drawn, and however steep the loss is in the
// first steps. So are the points within the ball.
TEST(PegasosLosses, RegretIsBoundedForAnySequence) {
  for (const double lambda : {1.0, 1e-2, 1e-6}) {
    const Scaled s(random_dataset({.rows = 100, .features = 25, .nonzeros = 8, .seed = 6}), lambda,
                   random_costs(100));
    const Squared squared(s);
    const Vector best = squared.dual(1e-9).w, zero(best.size());
    double dearest = 0;
    for (std::uint64_t i = 0; i < s.rows(); ++i) dearest = std::max(dearest, s.cost(i) * s.scale());
    for (const std::uint64_t batch : {1U, 9U, 100U}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
        const auto k = static_cast<double>(batch);
        Pool pool(1);
        Passes<float> passes(s.matrix(), 0, 1, best_simd(), pool);
        State state({.problems = std::span(&squared.problem, 1), .batch = batch}, passes);
        Batches batches({.rows = 100, .batch = batch, .sampling = sampling, .seed = 3});
        double ours = 0, of_best = 0, of_zero = 0, allowed = 0;
        for (double t = 1; t <= 500; ++t) {
          const Vector w = state.point();
          const auto set = batches.next(1);
          const Vector g = squared.gradient(w, set, k);
          ours += squared.f(w, set, k);
          of_best += squared.f(best, set, k);
          of_zero += squared.f(zero, set, k);
          allowed += inner(g, g) / (2 * lambda * t);
          EXPECT_LE(inner(w, w), 2 * dearest / lambda * (1 + 1e-12));
          state.run(set);
          EXPECT_LE(ours - of_best, allowed * (1 + 1e-12));
          EXPECT_LE(ours - of_zero, allowed * (1 + 1e-12));
        }
      }
    }
  }
}

// Slopes of the logistic loss have a bound, but a step of their size goes far beyond the optimum as
// well: on a row alone it is implicit, and has the same regret and ball.
TEST(PegasosLosses, LogisticStepsAreImplicit) {
  for (const double lambda : {1.0, 1e-2, 1e-6}) {
    const Scaled s(random_dataset({.rows = 100, .features = 25, .nonzeros = 8, .seed = 6}), lambda,
                   random_costs(100));
    Problem problem = s.problem();
    problem.loss = LossKind::logistic;
    const auto f = [&](const Vector& w, std::uint64_t i) {
      const double z = s.y(i) * inner(w, s.x(i));
      return lambda / 2 * inner(w, w) + s.scale() * s.cost(i) * std::log1p(std::exp(-z));
    };
    double dearest = 0;
    for (std::uint64_t i = 0; i < s.rows(); ++i) dearest = std::max(dearest, s.cost(i) * s.scale());
    Pool pool(1);
    Passes<float> passes(s.matrix(), 0, 1, best_simd(), pool);
    PegasosState<Passes<float>, Logistic> state({.problems = std::span(&problem, 1)}, passes);
    Batches batches({.rows = 100, .batch = 1, .seed = 3});
    const Vector zero(25);
    double ours = 0, of_zero = 0, allowed = 0;
    for (double t = 1; t <= 500; ++t) {
      const Vector w = state.point();
      const auto set = batches.next(1);
      const std::uint64_t i = set[0];
      const double eta = 1 / (lambda * t), cost = s.scale() * s.cost(i);
      Vector next = w, g = w;
      for (double& x : next) x *= 1 - eta * lambda;
      const double z = s.y(i) * inner(next, s.x(i)), at = s.y(i) * inner(w, s.x(i));
      const double rise = eta * cost * inner(s.x(i), s.x(i));
      const double a = root(1, [&](double b) { return b - 1 / (1 + std::exp(z + rise * b)); });
      for (std::size_t j = 0; j < w.size(); ++j) {
        next[j] += eta * cost * a * s.y(i) * s.x(i)[j];
        g[j] = lambda * w[j] - cost * s.y(i) * s.x(i)[j] / (1 + std::exp(at));
      }
      ours += f(w, i);
      of_zero += f(zero, i);
      allowed += inner(g, g) / (2 * lambda * t);
      state.run(set);
      EXPECT_LE(distance(state.point(), next), 1e-5 * norm(next)) << t;
      EXPECT_LE(inner(next, next), 2 * std::log(2.0) * dearest / lambda * (1 + 1e-5));
      EXPECT_LE(ours - of_zero, allowed * (1 + 1e-5));
    }
  }
}

TEST(PegasosLosses, EveryVariantProvesItsGap) {
  const Scaled s(random_dataset({.rows = 200, .features = 30, .nonzeros = 6, .seed = 8}), 0.005,
                 random_costs(200), 0.5);
  const Squared squared(s);
  const double least = squared.certified(squared.dual(1e-9)).dual;
  for (const Iterate iterate :
       {Iterate::last, Iterate::average, Iterate::suffix, Iterate::random, Iterate::best_of}) {
    for (const std::uint64_t batch : {1U, 10U, 0U}) {
      for (const Update update : {Update::margin, Update::mistake}) {
        const PegasosOptions options = {.batch = batch,
                                        .update = update,
                                        .iterate = iterate,
                                        .runs = 3,
                                        .epochs = batch == 0 ? 400U : 40U};
        const Certificate found = squared.certified(squared.solve({.pegasos = options})[0]);
        EXPECT_GE(found.primal, least);
        EXPECT_LE(found.dual, least * (1 + 1e-8));
        EXPECT_GT(found.dual, 0);
        if (update == Update::margin && batch == 1 && iterate == Iterate::suffix) {
          EXPECT_LE(found.relative_gap, 0.03);
        }
      }
    }
  }
}

TEST(PegasosLosses, ReachesTheGapAskedFor) {
  for (const bool free : {false, true}) {
    const Scaled s(random_dataset({.rows = 150, .features = 10, .nonzeros = 4, .seed = 3}), 0.05);
    Squared squared(s);
    squared.problem.free_bias = free;
    squared.problem.bias = free ? 1 : 0;
    const Certificate found = squared.certified(squared.solve({}, 2e-3)[0]);
    EXPECT_LE(found.relative_gap, 2e-3 * (1 + 1e-6)) << free;
    EXPECT_NEAR(found.primal, squared.certified(squared.dual(1e-9)).primal, 3e-3 * found.primal);
  }
}

// The best multiple of a point, with and without a free bias, against a look at many.
TEST(PegasosLosses, RescalesToTheBestMultiple) {
  const Scaled s(random_dataset({.rows = 80, .features = 10, .nonzeros = 4, .seed = 5}), 0.1);
  Squared squared(s);
  squared.problem.free_bias = true;
  squared.problem.bias = 1;
  Vector w(10), scores(80);
  for (std::uint64_t i = 0; i < 80; i += 3) {
    for (std::size_t j = 0; j < 10; ++j) w[j] += s.y(i) * s.x(i)[j];
  }
  for (std::uint64_t i = 0; i < 80; ++i) {
    for (std::size_t j = 0; j < 10; ++j) scores[i] += w[j] * s.x(i)[j];
  }
  const FreeBiasPoint<SquaredHinge> point(squared.problem, inner(w, w), {scores.data(), 1, 0});
  const auto primal = [&](double factor, double bias) {
    double sum = factor * factor * inner(w, w) / 2;
    for (std::uint64_t i = 0; i < 80; ++i) {
      sum += squared.problem.upper(i) * loss(s.y(i) * (factor * scores[i] + bias));
    }
    return sum;
  };
  Pool pool(1);
  const MeasuredPoint best = point.best_multiple(pool);
  EXPECT_NEAR(best.primal, primal(best.factor, best.bias), 1e-12 * best.primal);
  for (const double away : {-0.1, -0.01, 0.01, 0.1}) {
    EXPECT_LE(best.primal, primal(best.factor + away, best.bias) * (1 + 2e-6));
    EXPECT_LE(best.primal, primal(best.factor, best.bias + away) * (1 + 2e-6));
    const MeasuredPoint other = point.multiple(best.factor + away);
    EXPECT_LE(other.primal, primal(best.factor + away, best.bias) * (1 + 1e-12));
    const double slope = (point.multiple(best.factor + away + 1e-5).primal -
                          point.multiple(best.factor + away - 1e-5).primal) /
                         2e-5;
    EXPECT_NEAR(other.slope, slope, 1e-4 * best.primal);
  }
}

TEST(PegasosLosses, SeveralClassesInOneSweepOnAnyThreads) {
  const Scaled s(random_dataset({.rows = 120, .features = 20, .nonzeros = 5, .seed = 9}), 0.02);
  const Squared squared(s);
  std::vector<std::int8_t> other(s.problem().y.begin(), s.problem().y.end());
  for (std::size_t i = 0; i < other.size(); i += 3) other[i] = static_cast<std::int8_t>(-other[i]);
  Problem second = squared.problem;
  second.y = other;
  const std::vector<Problem> both = {squared.problem, second};
  for (const std::uint64_t batch : {1U, 10U}) {
    Pool one(1), three(3);
    Passes<float> together(s.matrix(), 0, 2, best_simd(), one);
    State state({.problems = both, .batch = batch}, together);
    Passes<float> shared(s.matrix(), 0, 2, best_simd(), three);
    State threads({.problems = both, .batch = batch}, shared);
    Passes<float> alone(s.matrix(), 0, 1, best_simd(), one);
    State single({.problems = std::span(&second, 1), .batch = batch}, alone);
    Batches batches({.rows = 120, .batch = batch});
    for (int t = 0; t < 300; ++t) {
      const auto set = batches.next(1);
      state.run(set);
      threads.run(set);
      single.run(set);
    }
    EXPECT_EQ(state.point(), threads.point());
    EXPECT_EQ(state.counts(), threads.counts());
    const Vector found = state.point(), expected = single.point();
    Vector of_second(expected.size());
    for (std::size_t j = 0; j < of_second.size(); ++j) {
      of_second[j] = found[j * together.stride() + 1];
    }
    EXPECT_LE(distance(of_second, expected), 1e-11 * norm(expected));
    for (std::uint64_t i = 0; i < 120; ++i) {
      EXPECT_NEAR(state.counts()[3 * i + 2], single.counts()[2 * i + 1], 1e-9) << i;
    }
  }
}

// Each rank has some of the rows of a step, which is the same as one process takes.
TEST(PegasosLosses, StepsOnRanks) {
  const Dataset data = random_dataset({.rows = 120, .features = 20, .nonzeros = 5, .seed = 2});
  const Scaled s(data, 0.01, random_costs(120));
  const Squared squared(s);
  const std::vector<std::uint64_t> cuts = {0, 50, 120};
  constexpr std::uint64_t kBatch = 24, kSteps = 60;
  std::vector<Vector> points(2), counts(2);
  ThreadGroup(2).run([&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    std::vector<std::uint64_t> own(cuts[rank + 1] - cuts[rank]);
    std::iota(own.begin(), own.end(), cuts[rank]);
    const Dataset part = testing::pick_rows(data, own);
    Problem problem = squared.problem;
    problem.data = &part;
    problem.y = squared.problem.y.subspan(cuts[rank], own.size());
    problem.costs = squared.problem.costs.subspan(cuts[rank], own.size());
    Comm comm(transport);
    Pool pool(1);
    Passes<float> passes(std::get<CsrView<float>>(part.view()), 0, 1, best_simd(), pool);
    State state({.problems = std::span(&problem, 1),
                 .batch = kBatch,
                 .ranks = RankSums(&comm),
                 .epoch = 120.0 / kBatch},
                passes);
    for (std::uint64_t t = 0; t < kSteps; ++t) {
      std::vector<std::uint64_t> set;
      for (std::uint64_t k = 0; k < kBatch; ++k) {
        const std::uint64_t i = (t * kBatch + k) % 120;
        if (i >= cuts[rank] && i < cuts[rank + 1]) set.push_back(i - cuts[rank]);
      }
      state.run(set);
    }
    points[rank] = state.point();
    counts[rank] = state.counts();
  });
  EXPECT_EQ(points[0], points[1]);
  Vector w(20);
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    std::vector<std::uint64_t> set;
    for (std::uint64_t k = 0; k < kBatch; ++k) set.push_back((t * kBatch + k) % 120);
    step_by_definition(s, w, set, kBatch, static_cast<double>(t + 1), Update::margin);
  }
  EXPECT_LE(distance(points[0], w), 1e-9 * norm(w));
  for (const Vector& of_rank : counts) {
    for (std::size_t k = 0; k < of_rank.size(); k += 2)
      EXPECT_EQ(of_rank[k], kSteps * kBatch / 120);
  }
}

}  // namespace
}  // namespace hinge
