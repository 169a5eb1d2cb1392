// The steps against the papers' formulas, written out plainly.
#include "solve/pegasos/pegasos_state.h"

#include <gtest/gtest.h>

#include "pegasos_reference.h"

namespace hinge {
namespace {

using testing::distance;
using testing::inner;
using testing::norm;
using testing::random_costs;
using testing::random_dataset;
using testing::reference_step;
using testing::Scaled;
using testing::SinglePlane;
using testing::Vector;

void expect_same(const Vector& a, const Vector& b, double tolerance) {
  EXPECT_LE(distance(a, b), tolerance * (norm(a) + norm(b)));
}

// [MIT] has two branches, [P07] one formula, [UML] an accumulator theta. The box of [UML] prints
// w_t = theta_t/(lambda t) where its own rule needs theta_t/(lambda (t-1)).
TEST(Pegasos, ThreeWrittenFormsAgree) {
  const Scaled s(random_dataset({.rows = 400, .features = 40, .nonzeros = 8, .seed = 2}), 0.003);
  SinglePlane ours(s, 1, false);
  Vector two_branch(40), one_formula(40), theta(40), printed_theta(40);
  Batches batches({.rows = s.rows(), .batch = 1});
  double t = 0;
  while (t < 4000) {
    const std::uint64_t i = batches.next(1)[0];
    t += 1;
    const double eta = 1 / (s.lambda() * t), y = s.y(i);
    if (y * inner(two_branch, s.x(i)) < 1) {
      for (std::size_t j = 0; j < 40; ++j) {
        two_branch[j] = (1 - eta * s.lambda()) * two_branch[j] + eta * y * s.x(i)[j];
      }
    } else {
      for (double& w : two_branch) w *= 1 - eta * s.lambda();
    }
    reference_step(s, one_formula, std::span(&i, 1), 1, t, false);
    const auto accumulate = [&](Vector& sum, double divisor) {
      const double score = divisor == 0 ? 0 : inner(sum, s.x(i)) / (s.lambda() * divisor);
      if (!(y * score < 1)) return;
      for (std::size_t j = 0; j < 40; ++j) sum[j] += y * s.x(i)[j];
    };
    accumulate(theta, t - 1);
    accumulate(printed_theta, t);
    ours.state.run(std::span(&i, 1));
  }
  const auto over = [&](Vector w, double divisor) {
    for (double& x : w) x /= divisor;
    return w;
  };
  const Vector w = ours.state.point();
  EXPECT_GT(norm(w), 0.1);
  expect_same(w, two_branch, 1e-12);
  expect_same(w, one_formula, 1e-12);
  expect_same(w, over(theta, s.lambda() * t), 1e-12);
  // As printed the box is another algorithm.
  EXPECT_GT(distance(w, over(printed_theta, s.lambda() * t)), 1e-6 * norm(w));
}

// Every combination of batch, projection, sampling, costs and bias; the norm and the means on the
// way.
TEST(Pegasos, StepsAndMeansAsPublished) {
  for (const bool weighted : {false, true}) {
    for (const double lambda : {0.3, 0.004}) {
      const Scaled s(random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4}),
                     lambda, weighted ? random_costs(150) : Vector(), weighted ? 0.7 : 0.0);
      for (const std::uint64_t batch : {1U, 2U, 40U, 150U}) {
        for (const bool projection : {false, true}) {
          for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
            SinglePlane ours(s, batch, projection);
            Batches batches({.rows = s.rows(), .batch = batch, .sampling = sampling, .seed = 7});
            Vector w(s.problem().dimension()), sum(w.size());
            double t = 0, averaged = 0;
            while (t < 400) {
              if (t == 100) {
                ours.state.begin_mean();
                std::ranges::fill(sum, 0.0);
                averaged = 0;
              }
              const auto set = batches.next(1);
              t += 1;
              averaged += 1;
              for (std::size_t j = 0; j < w.size(); ++j) sum[j] += w[j];
              reference_step(s, w, set, static_cast<double>(batch), t, projection);
              ours.state.run(set);
              if (projection) {
                ASSERT_LE(norm(ours.state.point()), s.radius() * (1 + 1e-12));
              }
            }
            expect_same(ours.state.point(), w, 1e-11);
            EXPECT_EQ(static_cast<double>(ours.state.averaged()), averaged);
            expect_same(ours.state.sum(), sum, 1e-11);
          }
        }
      }
    }
  }
}

// So many projections that their product would leave the range of double.
TEST(Pegasos, ManyProjections) {
  const Scaled s(random_dataset({.rows = 50, .features = 8, .nonzeros = 4, .noise = 1, .seed = 4}),
                 1e-9);
  SinglePlane ours(s, 1, true);
  Vector w(8), sum(8);
  Batches batches({.rows = 50, .batch = 1, .sampling = Sampling::replace});
  ours.state.begin_mean();
  for (double t = 1; t <= 3000; ++t) {
    const auto set = batches.next(1);
    for (std::size_t j = 0; j < 8; ++j) sum[j] += w[j];
    reference_step(s, w, set, 1, t, true);
    ours.state.run(set);
    ASSERT_LE(norm(ours.state.point()), s.radius() * (1 + 1e-12)) << t << " " << norm(w);
  }
  expect_same(ours.state.point(), w, 1e-9);
  expect_same(ours.state.sum(), sum, 1e-9);
}

TEST(Pegasos, BeginsWhereItIsTold) {
  const Scaled s(random_dataset({.rows = 60, .features = 10, .nonzeros = 4}), 0.05);
  const std::vector<Start> start = {{.w = Vector(10, 0.25), .alpha = {}}};
  for (const bool projection : {false, true}) {
    SinglePlane ours(s, 3, projection, 60, start);
    expect_same(ours.state.point(), start[0].w, 1e-15);
    Vector w = start[0].w;
    Batches batches({.rows = 60, .batch = 3});
    for (double t = 61; t <= 300; ++t) {
      const auto set = batches.next(1);
      reference_step(s, w, set, 3, t, projection);
      ours.state.run(set);
    }
    expect_same(ours.state.point(), w, 1e-12);
  }
}

TEST(Pegasos, CountsVisitsAndHits) {
  const Scaled s(random_dataset({.rows = 70, .features = 12, .nonzeros = 4}), 0.02);
  for (const std::uint64_t batch : {1U, 8U}) {
    SinglePlane ours(s, batch, false);
    Batches batches({.rows = 70, .batch = batch, .sampling = Sampling::replace});
    std::vector<std::uint32_t> counts(2 * 70);
    for (int t = 0; t < 200; ++t) {
      const Vector w = ours.state.point();
      const auto set = batches.next(1);
      for (const std::uint64_t i : set) {
        ++counts[2 * i];
        counts[2 * i + 1] += s.y(i) * inner(w, s.x(i)) < 1 ? 1U : 0U;
      }
      ours.state.run(set);
    }
    EXPECT_EQ(ours.state.counts(), counts);
  }
}

// Several hyperplanes in one sweep: each as if alone, and to the bit as in any other company.
TEST(Pegasos, SeveralClassesInOneSweep) {
  const Dataset data = random_dataset({.rows = 200, .features = 30, .nonzeros = 6, .classes = 7});
  const auto& m = std::get<CsrView<float>>(data.view());
  const Vector costs = random_costs(200);
  std::vector<std::vector<std::int8_t>> y;
  for (int k = 0; k < 7; ++k) y.push_back(signs(data, k));
  std::vector<Problem> problems;
  for (const auto& signs : y) {
    problems.push_back({.data = &data, .y = signs, .costs = costs, .cost = 0.5, .bias = 0.3});
  }
  Pool pool(1);
  const auto run = [&](std::size_t first, std::size_t count, std::uint64_t batch, bool projection,
                       const Simd& simd, bool mean) {
    Passes<float> passes(m, 0.3, count, simd, pool);
    PegasosState<Passes<float>> state({.problems = std::span(problems).subspan(first, count),
                                       .batch = batch,
                                       .projection = projection},
                                      passes);
    Batches batches({.rows = 200, .batch = batch});
    state.begin_mean();
    for (int k = 0; k < 900; ++k) state.run(batches.next(1));
    const Vector all = mean ? state.sum() : state.point();
    std::vector<Vector> planes(count);
    for (std::size_t c = 0; c < count; ++c) {
      for (std::size_t j = c; j < all.size(); j += passes.stride()) planes[c].push_back(all[j]);
    }
    return planes;
  };
  for (const bool mean : {false, true}) {
    for (const std::uint64_t batch : {1U, 9U}) {
      for (const bool projection : {false, true}) {
        const auto all = run(0, 7, batch, projection, best_simd(), mean);
        const auto some = run(3, 2, batch, projection, best_simd(), mean);
        EXPECT_EQ(all[3], some[0]);
        EXPECT_EQ(all[4], some[1]);
        for (std::size_t c = 0; c < 7; ++c) {
          expect_same(all[c], run(c, 1, batch, projection, best_simd(), mean)[0], 1e-11);
        }
        for (const Simd* simd : available_simd()) {
          EXPECT_EQ(all, run(0, 7, batch, projection, *simd, mean)) << simd->name;
        }
      }
    }
  }
}

// Large sets are shared out among threads.
TEST(Pegasos, SameBitsForAnyThreads) {
  const Scaled s(random_dataset({.rows = 9000, .features = 400, .nonzeros = 30}), 0.001, {}, 0.5);
  for (const std::uint64_t batch : {5000U, 9000U}) {
    std::vector<Vector> points;
    for (const int threads : {1, 2, 3, 8}) {
      SinglePlane ours(s, batch, true, 0, {}, threads);
      Batches batches({.rows = s.rows(), .batch = batch});
      ours.state.begin_mean();
      for (int k = 0; k < 12; ++k) ours.state.run(batches.next(1));
      points.push_back(ours.state.point());
      EXPECT_EQ(points.back(), points.front()) << threads;
      points.push_back(ours.state.sum());
      EXPECT_EQ(points.back(), points[1]) << threads;
      points.resize(2);
    }
  }
}

}  // namespace
}  // namespace hinge
