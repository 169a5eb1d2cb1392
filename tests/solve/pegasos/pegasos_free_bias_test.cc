// Pegasos with a bias that is not regularised: b has steps of its own, and is the best for every
// point that is looked at.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "hinge/train.h"
#include "objective/free_bias.h"
#include "pegasos_reference.h"

namespace hinge {
namespace {

using testing::distance;
using testing::inner;
using testing::norm;
using testing::random_costs;
using testing::random_dataset;
using testing::Scaled;
using testing::Vector;

// Rows about 0, of which few are beyond a plane: a hyperplane through 0 is no good.
Dataset unbalanced(std::uint64_t rows, double share, std::uint64_t seed) {
  Random random(seed);
  std::string text;
  for (std::uint64_t i = 0; i < rows; ++i) {
    double score = 0;
    std::string row;
    for (int j = 1; j <= 8; ++j) {
      const double x = random.uniform() - 0.5;
      score += j % 2 == 0 ? x : -x;
      row += " " + std::to_string(j) + ":" + std::to_string(x);
    }
    const double noise = random.uniform() - 0.5;
    // A sum of 8 uniform numbers: standard deviation 0.82.
    const bool positive = i == 0 || (i > 1 && score + noise > (share < 0.1 ? 1.4 : 0.5));
    text += (positive ? "+1" : "-1") + row + "\n";
  }
  return testing::dataset_from_text(text);
}

Solution dual(const Problem& problem, double gap) {
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  Monitor monitor({.gap = gap, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                  nobody);
  Pool pool(1);
  return solve_dual(problem, {}, monitor, pool);
}

// One problem with a free bias; Scaled has its rows with a last coordinate of 1.
struct Free {
  Free(Dataset data, double lambda, Vector costs = {})
      : scaled(std::move(data), lambda, std::move(costs), 1) {
    problem = scaled.problem();
    problem.free_bias = true;
  }
  Certificate certificate(const Solution& s) const {
    Vector alpha = s.alpha;
    balance(problem, alpha);  // as train() does: rounding is left
    Pool pool(1);
    return certify(problem, s.w, alpha, pool);
  }
  Solution optimum() const { return dual(problem, 1e-8); }
  Solution solve(const PegasosSetup& setup, double gap = 0,
                 const std::function<void(const Progress&)>& observer = {}) const {
    const Stopwatch clock;
    std::vector<Monitor> monitors;
    monitors.emplace_back(Limits{.gap = gap, .seconds = std::numeric_limits<double>::infinity()},
                          clock, 0, observer);
    Pool pool(1);
    return solve_pegasos(std::span(&problem, 1), setup, monitors, pool)[0];
  }
  Scaled scaled;
  Problem problem;
};

// Against the formulas, on dense vectors whose last coordinate is b.
TEST(PegasosFreeBias, Steps) {
  const Free p(random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4}), 0.01,
               random_costs(150));
  const Scaled& s = p.scaled;
  const std::vector<Start> start = {{.w = Vector(31, 0.2), .alpha = {}}};
  for (const std::uint64_t batch : {1U, 2U, 40U}) {
    for (const bool projection : {false, true}) {
      for (const double t0 : {0.0, 50.0}) {
        Pool pool(1);
        Passes<float> passes(s.matrix(), 0, 1, best_simd(), pool);
        PegasosState<Passes<float>> ours({.problems = std::span(&p.problem, 1),
                                          .batch = batch,
                                          .projection = projection,
                                          .t0 = t0,
                                          .start = t0 > 0 ? std::span(start) : std::span<Start>()},
                                         passes);
        Vector w = t0 > 0 ? start[0].w : Vector(31);
        Batches batches({.rows = 150, .batch = batch});
        const auto k = static_cast<double>(batch);
        for (double t = t0 + 1; t <= t0 + 400; ++t) {
          const auto set = batches.next(1);
          Vector next = w;
          for (std::size_t j = 0; j < 30; ++j) next[j] *= 1 - 1 / t;
          for (const std::uint64_t i : set) {
            if (!(s.y(i) * inner(w, s.x(i)) < 1)) continue;
            const double move = s.scale() * s.cost(i) * s.y(i) / k;
            for (std::size_t j = 0; j < 30; ++j) next[j] += move / (s.lambda() * t) * s.x(i)[j];
            next[30] += 2 * move / std::sqrt(t);
          }
          w = next;
          const double length = norm(Vector(w.begin(), w.end() - 1));
          for (std::size_t j = 0; j < 30 && projection && length > s.radius(); ++j) {
            w[j] *= s.radius() / length;
          }
          ours.run(set);
        }
        const Vector point = ours.point();
        ASSERT_EQ(point.size(), 30U);
        EXPECT_LE(distance(point, Vector(w.begin(), w.end() - 1)), 1e-11 * norm(point));
      }
    }
  }
}

// Whatever the variant: bound <= optimum <= primal at every look, b the best for w, and values that
// a full evaluation confirms.
TEST(PegasosFreeBias, EveryVariantIsTrue) {
  const Free p(unbalanced(230, 0.05, 3), 0.01, random_costs(230));
  const Solution best = p.optimum();
  const Certificate known = p.certificate(best);
  ASSERT_LE(known.relative_gap, 1e-7);
  const std::vector<Start> start = {{.w = Vector(9, 0.3), .alpha = best.alpha}};
  for (const std::uint64_t batch : {1U, 10U, 0U}) {
    for (const bool projection : {false, true}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
        for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix,
                                      Iterate::random, Iterate::best_of}) {
          for (const bool warm : {false, true}) {
            const PegasosSetup options = {
                .common = {.start = warm ? std::span(start) : std::span<const Start>()},
                .pegasos = {.batch = batch,
                            .projection = projection,
                            .sampling = sampling,
                            .iterate = iterate,
                            .runs = iterate == Iterate::best_of ? 3U : 1U,
                            .epochs = 5,
                            .check_every = 1,
                            .rescale = sampling != Sampling::order}};
            double primal = 0, dual = 0;
            const Solution found = p.solve(options, 0, [&](const Progress& now) {
              if (now.primal == 0) return;  // a sign of life
              primal = now.primal;
              dual = now.dual;
              ASSERT_LE(dual, known.primal * (1 + 1e-12));
              ASSERT_GE(primal, known.dual * (1 - 1e-12));
            });
            const Certificate c = p.certificate(found);
            ASSERT_NEAR(c.primal, primal, 1e-11 * primal);
            ASSERT_NEAR(c.dual, dual, 1e-9 * primal);
            ASSERT_TRUE(!warm || c.dual >= known.dual * (1 - 1e-9));
            for (const double step : {-1e-3, 1e-3}) {
              Solution moved = found;
              moved.w.back() += step;
              ASSERT_GE(p.certificate(moved).primal, c.primal * (1 - 1e-12));
            }
          }
        }
      }
    }
  }
}

// It comes near the optimum, which a hyperplane through 0 does not.
TEST(PegasosFreeBias, ComesNear) {
  for (const double share : {0.05, 0.25}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Free p(unbalanced(1000, share, seed), 1e-3);
      const double best = p.certificate(p.optimum()).dual;
      const Certificate c = p.certificate(p.solve({.pegasos = {.epochs = 50}}));
      EXPECT_LT(c.primal, 1.02 * best) << share << " " << seed;
      EXPECT_GT(c.dual, 0.9 * best) << share << " " << seed;
      Problem none = p.problem;
      none.free_bias = false;
      none.bias = 0;
      Pool pool(1);
      const Solution through = dual(none, 1e-3);
      EXPECT_GT(certify(none, through.w, through.alpha, pool).dual, 1.3 * best);
    }
  }
}

// The multiple of the point is the best there is, whatever the bias: better than the point itself,
// than 0, and than its neighbours.
TEST(PegasosFreeBias, Rescales) {
  for (const double share : {0.05, 0.25}) {
    const Free p(unbalanced(300, share, 5), 1e-4);
    for (const std::uint64_t batch : {1U, 50U, 0U}) {
      const auto run = [&](bool rescale) {
        return p.solve({.pegasos = {.batch = batch, .epochs = 3, .rescale = rescale}});
      };
      const Solution found = run(true);
      const double best = p.certificate(found).primal * (1 - 1e-5);
      EXPECT_LE(best, p.certificate(run(false)).primal);
      for (const double factor : {0.0, 0.5, 0.95, 1.05, 2.0}) {
        Solution other = found;
        for (std::size_t j = 0; j < 8; ++j) other.w[j] *= factor;
        for (int k = -40; k <= 40; ++k) {
          other.w.back() = factor * found.w.back() + k / 20.0;
          EXPECT_LE(best, p.certificate(other).primal) << factor;
        }
      }
    }
  }
}

TEST(PegasosFreeBias, StopsAtAGapThatIsCertified) {
  const Free p(unbalanced(500, 0.25, 1), 0.01);
  for (const double gap : {0.3, 0.05, 0.02}) {
    const Solution found = p.solve({}, gap);
    EXPECT_LE(p.certificate(found).relative_gap, gap * (1 + 1e-9));
  }
}

// b comes with the start: from the optimum, small steps stay there.
TEST(PegasosFreeBias, StartsAtItsBias) {
  const Free p(unbalanced(400, 0.05, 2), 1e-3);
  const Solution best = p.optimum();
  const double optimum = p.certificate(best).primal;
  const auto after_one = [&](double bias) {
    std::vector<Start> start = {{.w = best.w, .alpha = {}}};
    start[0].w.back() = bias;
    return p
        .certificate(p.solve(
            {.common = {.start = start},
             .pegasos = {.iterate = Iterate::last, .epochs = 1, .t0 = 100000, .rescale = false}}))
        .primal;
  };
  EXPECT_LT(after_one(best.w.back()), optimum * 1.001);
  EXPECT_GT(after_one(best.w.back() + 2), optimum * 1.002);
}

// Several classes in one sweep: each to the bit as in other company, near enough as if alone; and
// for any number of threads.
TEST(PegasosFreeBias, SeveralClassesAndThreads) {
  const Dataset data = random_dataset(
      {.rows = 6000, .features = 60, .nonzeros = 30, .noise = 0.2, .seed = 5, .classes = 5});
  const Vector costs = random_costs(6000);
  std::vector<std::vector<std::int8_t>> y;
  for (int k = 0; k < 5; ++k) y.push_back(signs(data, k));
  std::vector<Problem> problems;
  for (const auto& signs : y) {
    problems.push_back(
        {.data = &data, .y = signs, .costs = costs, .cost = 0.1, .bias = 1, .free_bias = true});
  }
  const auto run = [&](std::size_t first, std::size_t count, std::uint64_t batch, int threads) {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    std::vector<Monitor> monitors;
    for (std::size_t k = 0; k < count; ++k) {
      monitors.emplace_back(Limits{.gap = 0, .seconds = 1e9}, clock, k, nobody);
    }
    Pool pool(threads);
    return solve_pegasos(std::span(problems).subspan(first, count),
                         {.pegasos = {.batch = batch, .projection = batch > 1, .epochs = 3}},
                         monitors, pool);
  };
  for (const std::uint64_t batch : {1U, 3000U}) {
    const std::vector<Solution> all = run(0, 5, batch, 1), more = run(0, 5, batch, 3),
                                some = run(3, 2, batch, 2);
    for (std::size_t c = 0; c < 5; ++c) {
      EXPECT_EQ(all[c].w, more[c].w);
      EXPECT_EQ(all[c].alpha, more[c].alpha);
      const Solution alone = run(c, 1, batch, 1)[0];
      ASSERT_EQ(alone.w.size(), 61U);
      EXPECT_LE(distance(all[c].w, alone.w), 1e-9 * norm(alone.w));
    }
    EXPECT_EQ(all[3].w, some[0].w);
    EXPECT_EQ(all[4].alpha, some[1].alpha);
  }
}

// As a whole: the model's bias is b, and its certificate that of the solver's last look.
TEST(PegasosFreeBias, Trained) {
  const Dataset data = unbalanced(600, 0.05, 4);
  TrainOptions options;
  options.solver = Solver::pegasos;
  options.free_bias = true;
  options.cost = 1;
  options.gap = 0.2;
  Result<TrainReport> report = train(data, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().status, StopReason::converged);
  EXPECT_LE(report.value().model.certificate().relative_gap, 0.2);
  EXPECT_LT(report.value().model.problems[0].bias, 0);
}

}  // namespace
}  // namespace hinge
