// P and D as a problem writes them, against their definition row by row.
#include "objective/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "proof/certificate.h"
#include "support.h"

namespace hinge {
namespace {

TEST(Problem, PrimalAndDualAreTheirFormulas) {
  const Dataset data = testing::random_dataset({.rows = 40, .features = 6});
  const std::vector<std::int8_t> y = signs(data, 1);
  std::vector<double> costs(data.rows());
  Random random(6);
  for (double& c : costs) c = random.uniform();
  for (const bool free_bias : {false, true}) {
    const Problem problem = {.data = &data,
                             .y = y,
                             .costs = costs,
                             .cost = 0.7,
                             .bias = free_bias ? 1.0 : 0.5,
                             .free_bias = free_bias};
    ASSERT_EQ(problem.dimension(), 7U);
    ASSERT_EQ(problem.regularised(), free_bias ? 6U : 7U);
    std::vector<double> w(7), v(7), alpha(data.rows());
    for (double& x : w) x = random.uniform() - 0.5;
    double loss = 0, gain = 0, most = 0, unbalanced = 0;
    data.visit([&](const auto& m) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        double score = problem.bias * w[6];
        alpha[i] = random.uniform() * problem.highest(i);
        for (std::size_t k = 0; k < m.size_of(i); ++k) {
          const auto x = static_cast<double>(m.values_of(i)[k]);
          score += x * w[m.columns_of(i)[k]];
          v[m.columns_of(i)[k]] += alpha[i] * y[i] * x;
        }
        v[6] += alpha[i] * y[i] * problem.bias;
        EXPECT_EQ(problem.lowest(i), 0);
        EXPECT_EQ(problem.highest(i), 0.7 * costs[i]);
        loss += problem.upper(i) * Hinge::value(y[i] * score);
        gain += Hinge::dual_gain(alpha[i], problem.upper(i));
        most += problem.upper(i);
        unbalanced += alpha[i] * y[i];
      }
    });
    if (free_bias) v[6] = 0;
    const double primal = Problem::primal(problem.square(w), loss);
    const double dual = Problem::dual(problem.square(v), gain, free_bias ? unbalanced : 0, 3);
    EXPECT_LE(dual, primal);
    EXPECT_DOUBLE_EQ(Problem::primal(0, most), most);
    EXPECT_DOUBLE_EQ(Problem::dual(4, 7, -2, 3), 7 - 2 - 6);
    Pool pool(1);
    const Proof proof = certify(problem, w, free_bias ? std::vector<double>() : alpha, pool);
    EXPECT_NEAR(proof.primal, primal, 1e-12 * primal);
    if (!free_bias) {
      EXPECT_NEAR(proof.dual, std::max(0.0, dual), 1e-12 * primal);
    }
  }
}

}  // namespace
}  // namespace hinge
