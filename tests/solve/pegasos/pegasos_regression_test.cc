// Pegasos with the losses of regression, where a margin is by how much a score misses its target:
// steps against their definition, what is proved of them, free biases, ranks.
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

constexpr double kEpsilon = 0.3;
constexpr double kNoEnd = std::numeric_limits<double>::infinity();

Vector random_targets(std::uint64_t rows, double middle = 0.4) {
  Random random(17);
  Vector targets(rows);
  for (double& target : targets) target = middle + 6 * (random.uniform() - 0.5);
  return targets;
}

double missed_by(double z) {
  return std::max(0.0, std::abs(z) - kEpsilon);
}

// The same rows with targets. A value of the loss and its share, -l'(z), are written out here.
template <class Loss>
struct Targeted {
  static constexpr bool kSquare = Loss::kSmooth;
  using State = PegasosState<Passes<float>, Loss>;

  explicit Targeted(const Scaled& of, Vector numbers)
      : s(of), targets(std::move(numbers)), y(of.rows(), 1), problem(of.problem()) {
    problem.loss = {Loss::kKind, kEpsilon};
    problem.targets = targets;
    problem.y = y;
  }
  Targeted(const Targeted&) = delete;
  Targeted& operator=(const Targeted&) = delete;

  static double value(double z) { return kSquare ? std::pow(missed_by(z), 2) : missed_by(z); }
  static double share(double z) {
    if (kSquare) return z > 0 ? -2 * missed_by(z) : 2 * missed_by(z);
    return z >= kEpsilon ? -1.0 : z < -kEpsilon ? 1.0 : 0.0;
  }
  double margin(const Vector& w, std::uint64_t i) const { return inner(w, s.x(i)) - targets[i]; }
  double f(const Vector& w, std::span<const std::uint64_t> set, double k) const {
    double sum = 0;
    for (const std::uint64_t i : set) sum += s.cost(i) * value(margin(w, i));
    return s.lambda() / 2 * inner(w, w) + s.scale() / k * sum;
  }
  Vector gradient(const Vector& w, std::span<const std::uint64_t> set, double k) const {
    Vector g = w;
    for (double& x : g) x *= s.lambda();
    for (const std::uint64_t i : set) {
      const double a = s.scale() / k * s.cost(i) * share(margin(w, i));
      for (std::size_t j = 0; j < g.size(); ++j) g[j] -= a * s.x(i)[j];
    }
    return g;
  }
  // The largest c_i l(-t_i), and the most that |w| is by it.
  double radius_of_rows() const {
    double most = 0;
    for (std::uint64_t i = 0; i < s.rows(); ++i) {
      most = std::max(most, s.scale() * s.cost(i) * value(-targets[i]));
    }
    return std::sqrt(2 * most / s.lambda());
  }
  Solution dual(double gap) const {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = gap, .seconds = kNoEnd}, clock, 0, nobody);
    Pool pool(1);
    return solve_dual(problem, {}, monitor, pool);
  }
  Solution solve(const PegasosSetup& setup, double gap = 0, int threads = 1) const {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    Monitor monitor({.gap = gap, .seconds = kNoEnd}, clock, 0, nobody);
    Pool pool(threads);
    return std::move(solve_pegasos(std::span(&problem, 1), setup, std::span(&monitor, 1), pool)[0]);
  }
  Certificate certified(Solution solution) const {
    Pool pool(1);
    if (problem.free_bias) balance(problem, solution.alpha);
    return certify(problem, solution.w, solution.alpha, pool);
  }

  // To where the slope is what was stepped by; on several rows along their slopes, and where these
  // have no bound as far as the dual of the problem of the step says.
  void step(Vector& w, std::span<const std::uint64_t> set, double k, double t) const {
    const double eta = 1 / (s.lambda() * t);
    Vector next = w, shares;
    for (double& x : next) x *= 1 - eta * s.lambda();
    if (k == 1) {
      const std::uint64_t i = set[0];
      const double rise = eta * s.scale() * s.cost(i) * inner(s.x(i), s.x(i));
      const double z = margin(next, i), sign = z > 0 ? -1 : 1;
      double low = 0, high = std::abs(share(z));
      for (int n = 0; n < 200; ++n) {
        const double size = (low + high) / 2;
        ((size < sign * share(z + sign * rise * size)) ? low : high) = size;
      }
      shares.push_back(sign * low);
    } else {
      for (const std::uint64_t i : set) shares.push_back(share(margin(w, i)));
      if (kSquare) lengthen(next, set, eta / k, shares);
    }
    for (std::size_t n = 0; n < set.size(); ++n) {
      const double a = eta / k * s.scale() * s.cost(set[n]) * shares[n];
      for (std::size_t j = 0; j < w.size(); ++j) next[j] += a * s.x(set[n])[j];
    }
    w = next;
  }

  const Scaled& s;
  Vector targets;
  std::vector<std::int8_t> y;
  Problem problem;

 private:
  void lengthen(const Vector& next, std::span<const std::uint64_t> set, double eta,
                Vector& shares) const {
    Vector sum(next.size());
    for (std::size_t n = 0; n < set.size(); ++n) {
      for (std::size_t j = 0; j < sum.size(); ++j) {
        sum[j] += shares[n] * s.cost(set[n]) * s.x(set[n])[j];
      }
    }
    const auto slope = [&](double r) {
      double total = -eta * s.scale() * r * inner(sum, sum);
      for (std::size_t n = 0; n < set.size(); ++n) {
        const double a = shares[n];
        total +=
            s.cost(set[n]) * (-kEpsilon * std::abs(a) - r * a * a / 2 - a * margin(next, set[n]));
      }
      return total;
    };
    double low = 0, high = 10;
    for (int n = 0; n < 200; ++n) ((slope((low + high) / 2) > 0) ? low : high) = (low + high) / 2;
    for (double& a : shares) a *= low;
  }
};

template <class Loss>
class PegasosRegression : public ::testing::Test {};
using TargetLosses = ::testing::Types<EpsilonInsensitive, SquaredEpsilon>;
TYPED_TEST_SUITE(PegasosRegression, TargetLosses);

TYPED_TEST(PegasosRegression, StepsAsDefined) {
  using Given = Targeted<TypeParam>;
  const Dataset data = random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4});
  for (const bool weighted : {false, true}) {
    const Scaled s(data, 0.002, weighted ? random_costs(150) : Vector(), weighted ? 0.7 : 0.0);
    const Given given(s, random_targets(150));
    double at_zero = 0;  // f(0)
    for (std::uint64_t i = 0; i < 150; ++i) {
      at_zero += s.scale() / 150 * s.cost(i) * Given::value(-given.targets[i]);
    }
    for (const std::uint64_t batch : {1U, 7U, 150U}) {
      for (const bool projection : {false, true}) {
        Pool pool(1);
        Passes<float> passes(s.matrix(), s.problem().bias, 1, best_simd(), pool);
        typename Given::State ours(
            {.problems = std::span(&given.problem, 1), .batch = batch, .projection = projection},
            passes);
        Batches batches({.rows = s.rows(), .batch = batch, .seed = 7});
        Vector w(s.problem().dimension());
        for (double t = 1; t <= 400; ++t) {
          const auto set = batches.next(1);
          given.step(w, set, static_cast<double>(batch), t);
          const double radius = std::sqrt(2 * at_zero / s.lambda());
          const double factor = projection ? std::min(1.0, radius / norm(w)) : 1.0;
          for (double& x : w) x *= factor;
          ours.run(set);
        }
        EXPECT_LE(distance(ours.point(), w), 1e-9 * norm(w)) << batch << " " << projection;
      }
    }
  }
}

// (**) of docs/math.md, summed, whatever rows are drawn. Where steps are implicit points stay
// within the ball, however far targets are away.
TYPED_TEST(PegasosRegression, RegretIsBoundedForAnySequence) {
  using Given = Targeted<TypeParam>;
  for (const double lambda : {1.0, 1e-2, 1e-6}) {
    const Scaled s(random_dataset({.rows = 100, .features = 25, .nonzeros = 8, .seed = 6}), lambda,
                   random_costs(100));
    const Given given(s, random_targets(100, 100));
    const Vector best = given.dual(1e-9).w, zero(best.size());
    for (const std::uint64_t batch : {1U, 9U, 100U}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
        const auto k = static_cast<double>(batch);
        Pool pool(1);
        Passes<float> passes(s.matrix(), 0, 1, best_simd(), pool);
        typename Given::State state({.problems = std::span(&given.problem, 1), .batch = batch},
                                    passes);
        Batches batches({.rows = 100, .batch = batch, .sampling = sampling, .seed = 3});
        double ours = 0, of_best = 0, of_zero = 0, allowed = 0;
        for (double t = 1; t <= 500; ++t) {
          const Vector w = state.point();
          const auto set = batches.next(1);
          const Vector g = given.gradient(w, set, k);
          ours += given.f(w, set, k);
          of_best += given.f(best, set, k);
          of_zero += given.f(zero, set, k);
          allowed += inner(g, g) / (2 * lambda * t);
          if (Given::kSquare || batch == 1) {
            EXPECT_LE(norm(w), given.radius_of_rows() * (1 + 1e-12));
          }
          state.run(set);
          EXPECT_LE(ours - of_best, allowed + 1e-12 * ours);
          EXPECT_LE(ours - of_zero, allowed + 1e-12 * ours);
        }
      }
    }
  }
}

TYPED_TEST(PegasosRegression, EveryVariantProvesItsGap) {
  using Given = Targeted<TypeParam>;
  for (const bool free : {false, true}) {
    const Scaled s(random_dataset({.rows = 200, .features = 30, .nonzeros = 6, .seed = 8}), 0.005,
                   random_costs(200), 0.5);
    Given given(s, random_targets(200));
    given.problem.free_bias = free;
    if (free) given.problem.bias = 1;
    const double least = given.certified(given.dual(1e-9)).dual;
    for (const Iterate iterate :
         {Iterate::last, Iterate::average, Iterate::suffix, Iterate::random, Iterate::best_of}) {
      for (const std::uint64_t batch : {1U, 10U, 0U}) {
        for (const bool rescale : {false, true}) {
          const PegasosOptions options = {.batch = batch,
                                          .iterate = iterate,
                                          .runs = 3,
                                          .epochs = batch == 0 ? 400U : 40U,
                                          .rescale = rescale};
          const Certificate found = given.certified(given.solve({.pegasos = options}));
          EXPECT_GE(found.primal, least);
          EXPECT_LE(found.dual, least * (1 + 1e-8));
          EXPECT_GT(found.dual, 0);
          if (batch == 1 && iterate == Iterate::suffix) {
            EXPECT_LE(found.relative_gap, 0.05) << free;
          }
        }
      }
    }
  }
}

// Targets far from 0, which a free bias begins at.
TYPED_TEST(PegasosRegression, ReachesTheGapAskedForFarFromZero) {
  using Given = Targeted<TypeParam>;
  for (const double middle : {0.0, 1e5}) {
    const Scaled s(random_dataset({.rows = 150, .features = 10, .nonzeros = 4, .seed = 3}), 0.05);
    Given given(s, random_targets(150, middle));
    given.problem.free_bias = true;
    given.problem.bias = 1;
    const Certificate found = given.certified(given.solve({}, 5e-3));
    EXPECT_LE(found.relative_gap, 5e-3 * (1 + 1e-6)) << middle;
    EXPECT_NEAR(found.primal, given.certified(given.dual(1e-9)).primal, 6e-3 * found.primal);
  }
}

// The best multiple of a point, with and without a free bias, against a look at many.
TYPED_TEST(PegasosRegression, RescalesToTheBestMultiple) {
  using Given = Targeted<TypeParam>;
  const Scaled s(random_dataset({.rows = 80, .features = 10, .nonzeros = 4, .seed = 5}), 0.1);
  Given given(s, random_targets(80, 3));
  given.problem.free_bias = true;
  given.problem.bias = 1;
  Vector w(10), scores(80);
  for (std::uint64_t i = 0; i < 80; i += 3) {
    for (std::size_t j = 0; j < 10; ++j) w[j] += (given.targets[i] - 3) * s.x(i)[j] / 20;
  }
  for (std::uint64_t i = 0; i < 80; ++i) scores[i] = inner(w, s.x(i));
  const FreeBiasPoint<TypeParam> point(given.problem, inner(w, w), {scores.data(), 1, 0});
  const auto primal = [&](double factor, double bias) {
    double sum = factor * factor * inner(w, w) / 2;
    for (std::uint64_t i = 0; i < 80; ++i) {
      sum += given.problem.upper(i) * Given::value(factor * scores[i] + bias - given.targets[i]);
    }
    return sum;
  };
  Pool pool(1);
  const MeasuredPoint best = point.best_multiple(pool);
  EXPECT_NEAR(best.primal, primal(best.factor, best.bias), 1e-12 * best.primal);
  for (const double away : {-0.3, -0.1, -0.01, 0.01, 0.1, 0.3}) {
    EXPECT_LE(best.primal, primal(best.factor + away, best.bias) * (1 + 2e-6));
    EXPECT_LE(best.primal, primal(best.factor, best.bias + away) * (1 + 2e-6));
    const double factor = std::abs(away) * 10;
    const MeasuredPoint other = point.multiple(factor);
    EXPECT_NEAR(other.primal, primal(factor, other.bias), 1e-12 * other.primal);
    for (const double aside : {-0.1, -1e-3, 1e-3, 0.1}) {
      EXPECT_LE(other.primal, primal(factor, other.bias + aside) * (1 + 1e-12));
    }
    const double slope =
        (point.multiple(factor + 1e-5).primal - point.multiple(factor - 1e-5).primal) / 2e-5;
    EXPECT_NEAR(other.slope, slope, 1e-4 * best.primal);
  }
}

// Each rank has some of the rows of a step, which is the same as one process takes.
TYPED_TEST(PegasosRegression, StepsOnRanks) {
  using Given = Targeted<TypeParam>;
  const Dataset data = random_dataset({.rows = 120, .features = 20, .nonzeros = 5, .seed = 2});
  const Scaled s(data, 0.01, random_costs(120));
  const Given given(s, random_targets(120));
  const std::vector<std::uint64_t> cuts = {0, 50, 120};
  constexpr std::uint64_t kBatch = 24, kSteps = 60;
  std::vector<Vector> points(2);
  ThreadGroup(2).run([&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    std::vector<std::uint64_t> own(cuts[rank + 1] - cuts[rank]);
    std::iota(own.begin(), own.end(), cuts[rank]);
    const Dataset part = testing::pick_rows(data, own);
    Problem problem = given.problem;
    problem.data = &part;
    problem.y = given.problem.y.subspan(cuts[rank], own.size());
    problem.costs = given.problem.costs.subspan(cuts[rank], own.size());
    problem.targets = given.problem.targets.subspan(cuts[rank], own.size());
    Comm comm(transport);
    Pool pool(1);
    Passes<float> passes(std::get<CsrView<float>>(part.view()), 0, 1, best_simd(), pool);
    typename Given::State state({.problems = std::span(&problem, 1),
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
  });
  EXPECT_EQ(points[0], points[1]);
  Vector w(20);
  for (std::uint64_t t = 0; t < kSteps; ++t) {
    std::vector<std::uint64_t> set;
    for (std::uint64_t k = 0; k < kBatch; ++k) set.push_back((t * kBatch + k) % 120);
    given.step(w, set, kBatch, static_cast<double>(t + 1));
  }
  EXPECT_LE(distance(points[0], w), 1e-9 * norm(w));
}

}  // namespace
}  // namespace hinge
