// What is newton's own: the rows as it keeps them, the system of a step, and data that is hard on
// Newton's method. What it shares with all solvers is in contract/.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "proof/certificate.h"
#include "solve/newton/conjugate_gradients.h"
#include "solve/newton/rows.h"
#include "solve/newton/system.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Rows by a function of row and column; zeros are left out.
Dataset rows_of(std::uint64_t rows, std::uint32_t features,
                const std::function<double(std::uint64_t, std::uint32_t)>& value) {
  auto all = std::make_shared<testing::detail::Rows<double>>();
  for (std::uint64_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < features; ++j) {
      const double x = value(i, j);
      if (x == 0) continue;
      all->columns.push_back(j);
      all->values.push_back(x);
    }
    all->offsets.push_back(all->columns.size());
    all->labels.push_back(i % 2 == 0 ? 1 : -1);
  }
  const CsrView<double> view = {rows, features, all->offsets.data(), all->columns.data(),
                                all->values.data()};
  return Dataset::wrap(view, all->labels, {}, all).value();
}

TEST(NewtonRows, FullAndSparseRowsAreTheSame) {
  Random random(3);
  const auto value = [&](std::uint64_t, std::uint32_t) {
    return random.below(4) == 0 ? 0.0 : random.uniform() - 0.5;
  };
  const Dataset full = rows_of(50, 21, value);
  const auto& m = std::get<CsrView<double>>(full.view());
  // The same rows among so many empty columns that they stay sparse.
  CsrView<double> wide = m;
  wide.features = 200;
  Pool pool(1);
  const NewtonRows<double> dense(m, best_simd(), pool), sparse(wide, best_simd(), pool);
  ASSERT_TRUE(dense.full());
  ASSERT_FALSE(sparse.full());
  const std::vector<std::uint64_t> some = {7, 3, 44, 3, 20};
  const NewtonRows<double> dense_some(dense, some, pool), sparse_some(sparse, some, pool);
  std::vector<double> w(200), a(some.size());
  for (double& x : w) x = random.uniform();
  for (double& x : a) x = random.uniform();
  const auto same = [](std::uint64_t k) { return k; };
  std::vector<double> one(some.size()), other(some.size());
  dense_some.scores(some.size(), same, w.data(), one.data());
  sparse_some.scores(some.size(), same, w.data(), other.data());
  std::vector<double> sum(200), other_sum(200), squares(200), other_squares(200);
  dense_some.add(some.size(), same, a.data(), sum.data());
  sparse_some.add(some.size(), same, a.data(), other_sum.data());
  for (std::size_t k = 0; k < some.size(); ++k) {
    double inner = 0;
    for (std::uint64_t e = m.offsets[some[k]]; e < m.offsets[some[k] + 1]; ++e) {
      inner += m.values[e] * w[m.column(e)];
    }
    EXPECT_NEAR(one[k], inner, 1e-12);
    EXPECT_NEAR(other[k], inner, 1e-12);
    dense_some.add_squares(k, a[k], squares.data());
    sparse_some.add_squares(k, a[k], other_squares.data());
  }
  for (std::size_t j = 0; j < 200; ++j) {
    EXPECT_NEAR(sum[j], other_sum[j], 1e-12);
    EXPECT_NEAR(squares[j], other_squares[j], 1e-12);
  }
  for (const NewtonRows<double>* rows : {&dense, &sparse}) {
    const std::vector<std::uint64_t> cuts = rows->cuts();
    EXPECT_EQ(cuts.front(), 0U);
    EXPECT_EQ(cuts.back(), 50U);
    for (std::size_t k = 1; k < cuts.size(); ++k) EXPECT_LT(cuts[k - 1], cuts[k]);
  }
}

// Full and sparse rows, with few and with many columns; a sum that rows joined and left again.
TEST(NewtonSystem, SolvesTheSystemItSays) {
  for (const std::uint32_t features : {5U, 23U, 140U, 700U}) {
    for (const bool full : {false, true}) {
      Random random(features);
      const std::uint64_t rows = 300;
      const Dataset data = rows_of(rows, features, [&](std::uint64_t, std::uint32_t) {
        return full || random.below(8) == 0 ? random.uniform() - 0.5 : 0.0;
      });
      const auto& m = std::get<CsrView<double>>(data.view());
      const std::vector<std::int8_t> y = signs(data, 1);
      const Problem problem = {.data = &data, .y = y, .bias = 0.7};
      std::vector<double> first;
      for (const int threads : {1, 3}) {
        Pool pool(threads);
        const NewtonRows<double> kept(m, best_simd(), pool);
        EXPECT_EQ(kept.full(), full && features >= 8);
        NewtonSystem system(problem, best_simd(), pool);
        std::vector<NewtonSystem::Term> join, leave;
        Random costs(99);
        for (std::uint64_t i = 0; i < rows; ++i) join.push_back({i, costs.uniform()});
        for (std::uint64_t i = 0; i < rows; i += 3) leave.push_back({i, -join[i].u});
        system.clear();
        system.add(kept, join);
        system.add(kept, leave);
        std::vector<double> x(system.size());
        for (std::size_t j = 0; j <= features; ++j) x[j] = std::sin(static_cast<double>(j));
        std::vector<double> right = x;
        constexpr double kSlope = 2;
        for (std::uint64_t i = 0; i < rows; ++i) {
          if (i % 3 == 0) continue;
          double inner = 0.7 * x[features];
          for (std::uint64_t e = m.offsets[i]; e < m.offsets[i + 1]; ++e) {
            inner += m.values[e] * x[m.column(e)];
          }
          for (std::uint64_t e = m.offsets[i]; e < m.offsets[i + 1]; ++e) {
            right[m.column(e)] += kSlope * join[i].u * inner * m.values[e];
          }
          right[features] += kSlope * join[i].u * inner * 0.7;
        }
        system.solve(kSlope, right.data());
        for (std::size_t j = 0; j <= features; ++j) EXPECT_NEAR(right[j], x[j], 1e-9) << j;
        if (first.empty()) first = right;
        EXPECT_TRUE(first == right) << features << full;
      }
    }
  }
}

TEST(ConjugateGradients, SolvesToTheResidual) {
  constexpr std::size_t kSize = 40;
  std::vector<double> diagonal(kSize), g(kSize), s;
  for (std::size_t j = 0; j < kSize; ++j) {
    diagonal[j] = 3 + std::pow(1.3, static_cast<double>(j));
    g[j] = std::cos(static_cast<double>(j));
  }
  const auto multiply = [&](const std::vector<double>& x, std::vector<double>& y) {
    for (std::size_t j = 0; j < kSize; ++j) {
      y[j] = diagonal[j] * x[j] + (j > 0 ? x[j - 1] : 0) + (j + 1 < kSize ? x[j + 1] : 0);
    }
  };
  const auto go = [] { return true; };
  EXPECT_LE(conjugate_gradients(multiply, diagonal, g, {.residual = 1e-9, .products = 60}, go, s),
            60U);
  std::vector<double> back(kSize);
  multiply(s, back);
  for (std::size_t j = 0; j < kSize; ++j) EXPECT_NEAR(back[j], g[j], 1e-6);
  // Too few: it says so, and what it has is still a way down.
  EXPECT_EQ(conjugate_gradients(multiply, diagonal, g, {.residual = 1e-9, .products = 1}, go, s),
            2U);
  const auto down = [&] {
    double sum = 0;
    for (std::size_t j = 0; j < kSize; ++j) sum += g[j] * s[j];
    return sum;
  };
  EXPECT_GT(down(), 0);
  // One that ends by what is gained gains most of what there is, in fewer products.
  const std::uint64_t all =
      conjugate_gradients(multiply, diagonal, g, {.residual = 1e-9, .products = 60}, go, s);
  const double best = down();  // twice the gain
  const std::uint64_t few = conjugate_gradients(
      multiply, diagonal, g, {.residual = 1e-9, .products = 60, .gain = 0.1}, go, s);
  EXPECT_LT(few, all);
  EXPECT_GT(down(), 0.9 * best);
}

Certificate solved(const Problem& problem, double gap, int threads = 1,
                   const Simd& simd = best_simd(), std::span<const Start> start = {}) {
  const std::function<void(const Progress&)> nobody;
  const Stopwatch clock;
  Monitor monitor({.gap = gap, .seconds = kNever}, clock, 0, nobody);
  Pool pool(threads);
  const Solution solution = solve_newton(problem, {.simd = &simd, .start = start}, monitor, pool);
  return certify(problem, solution.w, solution.alpha, pool);
}

TEST(Newton, HardData) {
  Random random(17);
  const auto noise = [&] { return random.uniform() - 0.5; };
  double scale = 0;
  const std::function<double(std::uint64_t, std::uint32_t)> values[] = {
      [&](std::uint64_t, std::uint32_t j) { return noise() * (j % 2 == 0 ? scale : 1 / scale); },
      [&](std::uint64_t i,
          std::uint32_t j) {  // columns twice, and one that is the same in all rows
        return j == 0 ? 1.0 : std::sin(static_cast<double>(i * (j % 5 + 1)));
      },
      [&](std::uint64_t i, std::uint32_t) { return i % 4 == 0 ? 0.0 : noise(); },   // rows of zeros
      [&](std::uint64_t i, std::uint32_t) { return static_cast<double>(i % 3); }};  // few different
  for (const auto& [rows, features] :
       {std::pair<std::uint64_t, std::uint32_t>{200, 10}, {30, 90}, {50, 1}, {2, 3}}) {
    // With more columns than rows nothing holds the dual variables of huge rows but rounding.
    scale = rows > features ? 1e6 : 1e2;
    for (const auto& value : values) {
      const Dataset data = rows_of(rows, features, value);
      const std::vector<std::int8_t> y = signs(data, 1);
      for (const double cost : {1e-6, 1.0, 1e4}) {
        for (const int bias : {0, 1, 2}) {
          const Problem problem = {.data = &data,
                                   .y = y,
                                   .cost = cost,
                                   .bias = bias == 0 ? 0.0 : 1.0,
                                   .free_bias = bias == 2};
          const Certificate found = solved(problem, 1e-5);
          EXPECT_LE(found.relative_gap, 1.0001e-5)
              << rows << " " << features << " " << cost << " " << bias;
        }
      }
    }
  }
}

// Samples, products with the Hessian, rows near the margin: all of it, in the same bits.
TEST(Newton, LargerDataInTheSameBits) {
  const struct {
    std::uint64_t rows, features, nonzeros;
  } shapes[] = {{40000, 12, 6}, {3000, 600, 20}, {1500, 300, 200}, {600, 5000, 30}};
  for (const auto& shape : shapes) {
    const Dataset data = testing::random_dataset({.rows = shape.rows,
                                                  .features = shape.features,
                                                  .nonzeros = shape.nonzeros,
                                                  .noise = 0.1,
                                                  .seed = 5});
    const std::vector<std::int8_t> y = signs(data, 1);
    const Problem problem = {.data = &data, .y = y, .cost = 1, .bias = 1, .free_bias = true};
    const Certificate one = solved(problem, 1e-7);
    EXPECT_LE(one.relative_gap, 1e-7);
    for (const Simd* simd : available_simd()) {
      const Certificate other = solved(problem, 1e-7, 3, *simd);
      EXPECT_EQ(one.primal, other.primal) << shape.features << simd->name;
      EXPECT_EQ(one.dual, other.dual) << shape.features << simd->name;
    }
  }
}

// Where there is no matrix and products end early: any cost, and columns of any scale.
TEST(Newton, SmoothLossesOfManyColumns) {
  for (const double scale : {1.0, 100.0}) {
    Random random(3);
    const Dataset data = rows_of(60, 4200, [&](std::uint64_t, std::uint32_t j) {
      return random.below(20) == 0 ? (random.uniform() - 0.4) * (j % 2 == 0 ? scale : 1 / scale)
                                   : 0.0;
    });
    const std::vector<std::int8_t> y = signs(data, 1);
    for (const double cost : {1e-3, 1.0, 1e3}) {
      for (const int bias : {0, 1, 2}) {
        const Problem problem = {.data = &data,
                                 .y = y,
                                 .cost = cost,
                                 .bias = bias == 0 ? 0.0 : 1.0,
                                 .free_bias = bias == 2,
                                 .loss = LossKind::squared_hinge};
        const Certificate one = solved(problem, 1e-7), other = solved(problem, 1e-7, 3);
        EXPECT_LE(one.relative_gap, 1.0001e-7) << scale << " " << cost << " " << bias;
        EXPECT_EQ(one.primal, other.primal);
      }
    }
  }
}

// Two rows that pull either way, and a start where both losses are straight: the whole step goes so
// far that P rises, with a slope at its end that is small beside the one at its beginning.
TEST(Newton, StepsThatGoTooFarAreCutShort) {
  const Dataset data = rows_of(2, 1, [](std::uint64_t, std::uint32_t) { return 100.0; });
  const std::vector<std::int8_t> y = signs(data, 1);
  const std::vector<double> costs = {300, 1000};
  const Problem problem = {
      .data = &data, .y = y, .costs = costs, .cost = 1, .loss = LossKind::logistic};
  const Start start = {{0.1}, {}};
  EXPECT_LE(solved(problem, 1e-7, 1, best_simd(), std::span(&start, 1)).relative_gap, 1e-7);
}

// A row that counts c times as much is as good as c of them.
TEST(Newton, CostsAreCopies) {
  const Dataset data =
      testing::random_dataset({.rows = 300, .features = 20, .nonzeros = 8, .noise = 0.1});
  const std::vector<std::int8_t> y = signs(data, 1);
  std::vector<double> costs(data.rows());
  std::vector<std::uint64_t> copies;
  for (std::uint64_t i = 0; i < data.rows(); ++i) {
    costs[i] = static_cast<double>(i % 3);
    for (std::uint64_t k = 0; k < i % 3; ++k) copies.push_back(i);
  }
  const Dataset copied = testing::pick_rows(data, copies);
  const std::vector<std::int8_t> copied_y = signs(copied, 1);
  const Certificate weighted = solved({.data = &data, .y = y, .costs = costs, .cost = 3}, 1e-9);
  const Certificate plain = solved({.data = &copied, .y = copied_y, .cost = 3}, 1e-9);
  EXPECT_NEAR(weighted.primal, plain.primal, 2e-9 * plain.primal);
}

// A start is not lost, and a solution is where it ends.
TEST(Newton, BeginsAtItsStart) {
  const Dataset data =
      testing::random_dataset({.rows = 400, .features = 20, .nonzeros = 8, .noise = 0.1});
  const std::vector<std::int8_t> y = signs(data, 1);
  const Problem problem = {.data = &data, .y = y, .cost = 2, .bias = 1, .free_bias = true};
  const std::function<void(const Progress&)> nobody;
  const Stopwatch clock;
  Pool pool(1);
  Monitor first({.gap = 1e-7, .seconds = kNever}, clock, 0, nobody);
  const Solution solution = solve_newton(problem, {}, first, pool);
  const Start start = {solution.w, solution.alpha};
  Monitor second({.gap = 1e-6, .seconds = kNever}, clock, 0, nobody);
  const Solution again = solve_newton(problem, {.start = std::span(&start, 1)}, second, pool);
  EXPECT_EQ(again.iterations, 0U);
  EXPECT_EQ(second.reason(), StopReason::converged);
  const Start no_proof = {solution.w, {}};
  Monitor third({.gap = 1e-6, .seconds = kNever}, clock, 0, nobody);
  const Solution other = solve_newton(problem, {.start = std::span(&no_proof, 1)}, third, pool);
  EXPECT_EQ(third.reason(), StopReason::converged);
  const Certificate found = certify(problem, other.w, other.alpha, pool);
  EXPECT_LE(found.relative_gap, 1e-6);
}

}  // namespace
}  // namespace hinge
