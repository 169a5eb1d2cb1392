// --update mistake: which rows a step learns from, what that makes of Pegasos, and what stays true.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "pegasos_reference.h"
#include "solve/update.h"

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
using testing::solve;
using testing::Vector;

TEST(PegasosUpdate, OneComparisonForBothRules) {
  const double margin = learns_below<Hinge>(Update::margin);
  const double mistake = learns_below<Hinge>(Update::mistake);
  for (const double z : {-1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.5, 1.0 - 0x1p-53, 1.0, 2.0}) {
    EXPECT_EQ(z < margin, Hinge::inside(z)) << z;
    EXPECT_EQ(z < mistake, z <= 0) << z;
  }
  EXPECT_FALSE(std::nan("") < mistake);
}

// Any batch, costs and bias, with projection and without.
TEST(PegasosUpdate, StepsOnMistakes) {
  for (const bool weighted : {false, true}) {
    const Scaled s(random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4}), 0.02,
                   weighted ? random_costs(150) : Vector(), weighted ? 0.7 : 0.0);
    for (const std::uint64_t batch : {1U, 7U, 150U}) {
      for (const bool projection : {false, true}) {
        SinglePlane ours(s, batch, projection, 0, {}, 1, Update::mistake);
        Batches batches({.rows = s.rows(), .batch = batch, .seed = 7});
        Vector w(s.problem().dimension()), inside_margin(w.size());
        for (double t = 1; t <= 400; ++t) {
          const auto set = batches.next(1);
          const auto k = static_cast<double>(batch);
          reference_step(s, w, set, k, t, projection, Update::mistake);
          reference_step(s, inside_margin, set, k, t, projection);
          ours.state.run(set);
        }
        EXPECT_LE(distance(ours.state.point(), w), 1e-11 * norm(w));
        EXPECT_GT(distance(w, inside_margin), 0.01 * norm(w)) << "the rules must differ here";
      }
    }
  }
}

// Several hyperplanes at once learn each from its own mistakes.
TEST(PegasosUpdate, EveryClassItsOwnMistakes) {
  const Scaled s(random_dataset({.rows = 120, .features = 20, .nonzeros = 5, .seed = 9}), 0.02);
  std::vector<std::int8_t> other(s.problem().y.begin(), s.problem().y.end());
  for (std::size_t i = 0; i < other.size(); i += 3) other[i] = static_cast<std::int8_t>(-other[i]);
  Problem second = s.problem();
  second.y = other;
  const std::vector<Problem> both = {s.problem(), second};
  Pool pool(1);
  for (const std::uint64_t batch : {1U, 10U}) {
    Passes<float> together(s.matrix(), 0, 2, best_simd(), pool);
    PegasosState<Passes<float>> state({.problems = both, .batch = batch, .update = Update::mistake},
                                      together);
    Passes<float> alone(s.matrix(), 0, 1, best_simd(), pool);
    PegasosState<Passes<float>> single(
        {.problems = std::span(&second, 1), .batch = batch, .update = Update::mistake}, alone);
    Batches batches({.rows = 120, .batch = batch});
    for (int t = 0; t < 300; ++t) {
      const auto set = batches.next(1);
      state.run(set);
      single.run(set);
    }
    const Vector found = state.point(), expected = single.point();
    const std::size_t stride = together.stride();
    Vector of_second(expected.size());
    for (std::size_t j = 0; j < of_second.size(); ++j) of_second[j] = found[j * stride + 1];
    EXPECT_LE(distance(of_second, expected), 1e-12 * norm(expected));
    for (std::uint64_t i = 0; i < 120; ++i) {
      EXPECT_EQ(state.counts()[3 * i + 2], single.counts()[2 * i + 1]) << i;
    }
  }
}

// Rows with a component of their own that tells the classes apart by `gap`, within a length of 1.
Dataset separable_rows(std::uint64_t rows, double gap) {
  Random random(12);
  std::string text;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const int y = random.below(2) == 0 ? 1 : -1;
    text += std::to_string(y) + " 1:" + std::to_string(y * gap * (1 + random.uniform()));
    for (int j = 2; j <= 12; ++j) {
      text += " " + std::to_string(j) + ":" + std::to_string(0.5 * (random.uniform() - 0.5));
    }
    text += "\n";
  }
  return testing::dataset_from_text(text);
}

// Without projection w_t is the perceptron's point divided by lambda (t - 1): scores have its signs
// whatever lambda is, and where the classes can be separated it makes (R/gamma)^2 mistakes at most,
// in any order of the rows (Novikoff).
TEST(PegasosUpdate, IsAPerceptron) {
  const Dataset data = separable_rows(300, 0.05);
  const Scaled strong(data, 10), weak(data, 1e-4);
  double longest = 0, closest = 1e300;
  for (std::uint64_t i = 0; i < 300; ++i) {
    longest = std::max(longest, norm(strong.x(i)));
    closest = std::min(closest, strong.y(i) * strong.x(i)[0]);
  }
  ASSERT_GT(closest, 0);
  const double most = std::pow(longest / closest, 2);
  for (const Sampling sampling : {Sampling::permute, Sampling::order, Sampling::replace}) {
    SinglePlane a(strong, 1, false, 0, {}, 1, Update::mistake);
    SinglePlane b(weak, 1, false, 0, {}, 1, Update::mistake);
    Batches batches({.rows = 300, .batch = 1, .sampling = sampling});
    Vector perceptron(strong.problem().dimension());
    std::uint64_t mistakes = 0;
    constexpr double kSteps = 60000;
    for (double t = 1; t <= kSteps; ++t) {
      const auto set = batches.next(1);
      const std::uint64_t i = set[0];
      if (strong.y(i) * inner(perceptron, strong.x(i)) <= 0) {
        ++mistakes;
        for (std::size_t j = 0; j < perceptron.size(); ++j) {
          perceptron[j] += strong.y(i) * strong.x(i)[j];
        }
      }
      a.state.run(set);
      b.state.run(set);
    }
    EXPECT_GT(mistakes, 3U);
    EXPECT_LE(static_cast<double>(mistakes), most);
    EXPECT_EQ(a.state.counts(), b.state.counts());
    std::uint64_t hits = 0;
    for (std::size_t k = 1; k < a.state.counts().size(); k += 2) hits += a.state.counts()[k];
    EXPECT_EQ(hits, mistakes);
    Vector scaled = perceptron;
    for (double& x : scaled) x /= strong.lambda() * kSteps;
    EXPECT_LE(distance(a.state.point(), scaled), 1e-10 * norm(scaled));
  }
}

// What is lost: one row, learned from once. w_t = 1/(lambda (t - 1)) goes to 0, and the mean of
// f(w_t) from 1 below the optimum to 1, far above what Theorem 1 promises of Pegasos.
TEST(PegasosUpdate, HasNoRegretBound) {
  const Scaled s(testing::dataset_from_text("1 1:1\n-1\n"), 0.01);  // the second row has no part
  constexpr std::uint64_t kSteps = 100000;
  const auto regret = [&](Update update) {
    SinglePlane run(s, 1, false, 0, {}, 1, update);
    const std::uint64_t first = 0;
    double sum = 0;
    for (std::uint64_t t = 1; t <= kSteps; ++t) {
      sum += s.f(run.state.point(), std::span(&first, 1), 1);
      run.state.run(std::span(&first, 1));
    }
    return sum / static_cast<double>(kSteps) - s.lambda() / 2;  // the best, at w = 1, has lambda/2
  };
  const double bound = 2 * (1 + std::log(kSteps)) / (s.lambda() * static_cast<double>(kSteps));
  ASSERT_LE(bound, 0.05);
  EXPECT_LE(regret(Update::margin), bound);
  EXPECT_GT(regret(Update::mistake), 0.9);
}

// What stays: alpha is in its box, and the bound below the optimum.
TEST(PegasosUpdate, CertificatesStayTrue) {
  const Scaled s(
      random_dataset({.rows = 230, .features = 40, .nonzeros = 7, .noise = 0.2, .seed = 6}), 0.01,
      random_costs(230), 0.5);
  const double best = testing::optimum(s).f / s.lambda();
  Pool pool(1);
  for (const std::uint64_t batch : {1U, 10U, 0U}) {
    for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix}) {
      for (const bool rescale : {false, true}) {
        const Solution found = solve(s, {.pegasos = {.batch = batch,
                                                     .update = Update::mistake,
                                                     .iterate = iterate,
                                                     .epochs = 30,
                                                     .rescale = rescale}})[0];
        ASSERT_EQ(found.alpha.size(), 230U);
        for (std::uint64_t i = 0; i < 230; ++i) {
          ASSERT_GE(found.alpha[i], 0.0);
          ASSERT_LE(found.alpha[i], s.problem().upper(i));
        }
        const Certificate c = certify(s.problem(), found.w, found.alpha, pool);
        EXPECT_LE(c.dual, best * (1 + 1e-8));
        EXPECT_GE(c.primal, best * (1 - 1e-8));
        EXPECT_GT(c.dual, 0);
      }
    }
  }
}

}  // namespace
}  // namespace hinge
