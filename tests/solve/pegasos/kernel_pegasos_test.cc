// Pegasos in the space of a kernel: the same algorithm, checked against the linear one, against the
// papers' formula, and against the plain recomputation of its proof.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "data/columns.h"
#include "pegasos_reference.h"
#include "solve/pegasos/kernel_passes.h"

namespace hinge {
namespace {

using testing::distance;
using testing::inner;
using testing::norm;
using testing::random_costs;
using testing::random_dataset;
using testing::Scaled;
using testing::solve;
using testing::Vector;

const KernelFunction kAsLinear = {.kind = KernelKind::poly, .gamma = 1, .degree = 1, .coef0 = 0};
const KernelFunction kRbf = {.kind = KernelKind::rbf, .gamma = 0.4};
const KernelFunction kCubic = {.kind = KernelKind::poly, .gamma = 0.5, .degree = 3, .coef0 = 1};
const KernelFunction kSigmoid = {.kind = KernelKind::sigmoid, .gamma = 0.3, .coef0 = 0.1};

// The ways kernel values are gone about (kernel_passes.h).
struct Way {
  KernelWay way;
  std::uint64_t memory;
};
const Way kKept = {KernelWay::scores, std::uint64_t{1} << 30};
const Way kWays[] = {
    {KernelWay::blocks, 0}, {KernelWay::scores, 0}, {KernelWay::scores, 40000}, kKept};

// K(x_i, x_j) and the constant feature, in plain code.
Vector gram_of(const Scaled& s, const KernelFunction& kernel) {
  const double bias = s.problem().bias;
  Vector gram(s.rows() * s.rows());
  for (std::uint64_t i = 0; i < s.rows(); ++i) {
    for (std::uint64_t j = 0; j < s.rows(); ++j) {
      const double dot = inner(s.x(i), s.x(j)) - bias * bias, d = distance(s.x(i), s.x(j));
      gram[i * s.rows() + j] =
          bias * bias + (kernel.kind == KernelKind::rbf ? std::exp(-kernel.gamma * d * d)
                         : kernel.kind == KernelKind::poly
                             ? std::pow(kernel.gamma * dot + kernel.coef0, kernel.degree)
                             : std::tanh(kernel.gamma * dot + kernel.coef0));
    }
  }
  return gram;
}

Vector times(const Vector& gram, const Vector& w) {
  Vector out(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    for (std::size_t j = 0; j < w.size(); ++j) out[i] += gram[i * w.size() + j] * w[j];
  }
  return out;
}

Certificate certificate(const Scaled& s, const KernelFunction& kernel, const Solution& found,
                        Pool& pool) {
  return certify(std::span(&s.problem(), 1), kernel, *s.problem().data, found.w,
                 std::span(&found.alpha, 1), pool)[0];
}

// The point of the space of rows behind coefficients.
Vector point_of(const Scaled& s, const Vector& coefficients) {
  Vector w(s.problem().dimension());
  for (std::uint64_t i = 0; i < s.rows(); ++i) {
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += coefficients[i] * s.x(i)[j];
  }
  return w;
}

// With <x, z> for its kernel it is the linear solver, whatever the variant, whether kernel values
// are kept or not.
TEST(KernelPegasos, LinearFormulaIsLinearPegasos) {
  const Scaled s(
      random_dataset({.rows = 130, .features = 30, .nonzeros = 7, .noise = 0.2, .seed = 6}), 0.01,
      random_costs(130), 0.5);
  int variants = 0;
  for (const std::uint64_t batch : {1U, 9U, 0U}) {
    for (const bool projection : {false, true}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
        for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix,
                                      Iterate::random, Iterate::best_of}) {
          for (const bool rescale : {false, true}) {
            if (testing::slow() && rescale != projection) continue;
            for (const double gap : {0.0, 0.1}) {
              PegasosSetup options = {.pegasos = {.batch = batch,
                                                  .projection = projection,
                                                  .sampling = sampling,
                                                  .iterate = iterate,
                                                  .runs = iterate == Iterate::best_of ? 3U : 1U,
                                                  .steps = batch == 1 ? 400U : 60U,
                                                  .rescale = rescale}};
              const Solution linear = solve(s, options, gap)[0];
              options.pegasos.kernel = kAsLinear;
              for (const Way& way : {kWays[0], kWays[2]}) {
                options.kernel_way = way.way;
                options.kernel_memory = way.memory;
                const Solution found = solve(s, options, gap)[0];
                ASSERT_EQ(found.w.size(), s.rows());
                ASSERT_LE(distance(point_of(s, found.w), linear.w), 1e-9 * norm(linear.w));
                // Rows never drawn are judged by their score, which rescaling puts at 1 for one.
                if (sampling != Sampling::replace || !rescale) {
                  ASSERT_LE(distance(found.alpha, linear.alpha), 1e-9 * norm(linear.alpha));
                }
                ASSERT_EQ(found.iterations, linear.iterations);
                ++variants;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(variants, testing::slow() ? 360 : 720);
}

// w_t = 1/(lambda (t - 1)) sum_i n_i y_i phi(x_i), n_i the times row i was inside the margin.
TEST(KernelPegasos, CountsOfHitsAreTheWholeState) {
  const Scaled s(
      random_dataset({.rows = 60, .features = 12, .nonzeros = 5, .noise = 0.2, .seed = 2}), 0.02);
  for (const KernelFunction& kernel : {kRbf, kCubic, kSigmoid}) {
    const Vector gram = gram_of(s, kernel);
    Vector n(s.rows());
    constexpr int kSteps = 300;
    for (int t = 1; t <= kSteps; ++t) {
      const auto i = static_cast<std::uint64_t>(t - 1) % s.rows();
      double score = 0;
      for (std::uint64_t j = 0; j < s.rows() && t > 1; ++j) {
        score += n[j] * s.y(j) * gram[i * s.rows() + j] / (s.lambda() * (t - 1));
      }
      if (s.y(i) * score < 1) n[i] += 1;
    }
    Vector expected(s.rows());
    for (std::uint64_t i = 0; i < s.rows(); ++i) {
      expected[i] = n[i] * s.y(i) / (s.lambda() * kSteps);
    }
    for (const Way& way : kWays) {
      const PegasosSetup options = {.pegasos = {.sampling = Sampling::order,
                                                .iterate = Iterate::last,
                                                .steps = kSteps,
                                                .rescale = false,
                                                .kernel = kernel},
                                    .kernel_way = way.way,
                                    .kernel_memory = way.memory};
      EXPECT_LE(distance(solve(s, options)[0].w, expected), 1e-11 * norm(expected));
    }
  }
}

// Every variant: alpha in its box, and no bound above any primal value.
TEST(KernelPegasos, EveryVariantProvesItsGap) {
  const Scaled s(
      random_dataset({.rows = 90, .features = 15, .nonzeros = 6, .noise = 0.2, .seed = 9}), 0.1,
      random_costs(90), 0.7);
  Pool pool(2);
  for (const KernelFunction& kernel : {kRbf, kCubic}) {
    double highest_bound = 0, lowest_primal = std::numeric_limits<double>::infinity();
    for (const std::uint64_t batch : {1U, 10U, 0U}) {
      for (const bool projection : {false, true}) {
        for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
          for (const std::uint64_t steps : {1U, 50U, batch == 1 ? 3000U : 200U}) {
            const bool plain = !projection && sampling == Sampling::permute;
            if (testing::slow() && steps > 50 && !plain) continue;
            for (const std::uint64_t budget : {0U, 1U, 20U}) {
              if (budget > 0 && projection) continue;
              for (const Way& way : {kWays[0], kKept}) {
                const PegasosSetup options = {.pegasos = {.batch = batch,
                                                          .projection = projection,
                                                          .sampling = sampling,
                                                          .steps = steps,
                                                          .rescale = !projection,
                                                          .kernel = kernel,
                                                          .budget = budget},
                                              .kernel_way = way.way,
                                              .kernel_memory = way.memory};
                const Solution found = solve(s, options)[0];
                ASSERT_EQ(found.alpha.size(), s.rows());
                for (std::uint64_t i = 0; i < s.rows(); ++i) {
                  ASSERT_GE(found.alpha[i], 0.0);
                  ASSERT_LE(found.alpha[i], s.problem().upper(i));
                }
                const auto support = static_cast<std::uint64_t>(
                    std::ranges::count_if(found.w, [](double x) { return x != 0; }));
                if (budget > 0) {
                  ASSERT_LE(support, budget);
                }
                const Certificate c = certificate(s, kernel, found, pool);
                highest_bound = std::max(highest_bound, c.dual);
                lowest_primal = std::min(lowest_primal, c.primal);
                ASSERT_EQ(c.bound, "witness");
              }
            }
          }
        }
      }
    }
    EXPECT_LE(highest_bound, lowest_primal * (1 + 1e-9));
    EXPECT_GE(highest_bound, 0.97 * lowest_primal);  // and close: the bounds say something
  }
}

TEST(KernelPegasos, ReachesTheGapAskedFor) {
  const Scaled s(
      random_dataset({.rows = 150, .features = 10, .nonzeros = 6, .noise = 0.1, .seed = 3}), 0.01);
  Pool pool(1);
  for (const KernelFunction& kernel : {kRbf, kCubic}) {
    const PegasosSetup options = {.pegasos = {.kernel = kernel}};
    const Solution found = solve(s, options, 0.02)[0];
    EXPECT_LE(certificate(s, kernel, found, pool).relative_gap, 0.02 * (1 + 1e-9));
  }
}

// A kernel that is no inner product has a primal value, and nothing to prove.
TEST(KernelPegasos, SigmoidHasNoBound) {
  const Scaled s(random_dataset({.rows = 80, .features = 10, .nonzeros = 6, .seed = 3}), 0.01);
  Pool pool(1);
  const Solution found = solve(s, {.pegasos = {.kernel = kSigmoid}})[0];
  EXPECT_TRUE(found.alpha.empty());
  const Certificate c = certificate(s, kSigmoid, found, pool);
  EXPECT_EQ(c.bound, "none");
  EXPECT_EQ(c.dual, 0);
  EXPECT_EQ(c.relative_gap, 1);
}

// The proof is plain code; here it is even plainer.
TEST(KernelPegasos, CertificateIsTheFormula) {
  const Scaled s(
      random_dataset({.rows = 70, .features = 9, .nonzeros = 4, .noise = 0.3, .seed = 8}), 0.03,
      random_costs(70), 1.5);
  Pool pool(2);
  Random random(4);
  for (const KernelFunction& kernel : {kRbf, kCubic, kSigmoid}) {
    const Vector gram = gram_of(s, kernel);
    Solution point;
    for (std::uint64_t i = 0; i < s.rows(); ++i) {
      point.w.push_back(random.below(3) == 0 ? 0.0 : random.uniform() - 0.5);
      point.alpha.push_back(random.below(3) == 0 ? 0.0 : random.uniform() * s.problem().upper(i));
    }
    const Vector scores = times(gram, point.w);
    double primal = inner(point.w, scores) / 2, sum = 0;
    Vector v(s.rows());
    for (std::uint64_t i = 0; i < s.rows(); ++i) {
      primal += s.problem().upper(i) * std::max(0.0, 1 - s.y(i) * scores[i]);
      sum += point.alpha[i];
      v[i] = point.alpha[i] * s.y(i);
    }
    const double dual = sum - inner(v, times(gram, v)) / 2;
    const Certificate c = certificate(s, kernel, point, pool);
    EXPECT_NEAR(c.primal, primal, 1e-12 * std::abs(primal));
    if (kernel.positive_definite()) {
      EXPECT_NEAR(c.dual, std::max(0.0, dual),
                  1e-12 * std::max(std::abs(dual), sum));  // no bound is below 0
    } else {
      EXPECT_EQ(c.bound, "none");
    }
  }
}

// The rule of the budget: after a step the row with the smallest coefficient^2 K(x, x) goes, the
// new one rather than another, and the row most like it gets its share.
TEST(KernelPegasos, BudgetMergesTheLeastIntoTheNearest) {
  const Scaled s(
      random_dataset({.rows = 50, .features = 10, .nonzeros = 5, .noise = 0.3, .seed = 12}), 0.01);
  constexpr std::uint64_t kBudget = 12, kSteps = 170;
  const Vector gram = gram_of(s, kCubic);
  const auto k = [&](std::uint64_t i, std::uint64_t j) { return gram[i * s.rows() + j]; };
  Vector v(s.rows());
  std::vector<std::uint64_t> members;
  int others = 0;  // times an old row was the one to go
  for (std::uint64_t t = 1; t <= kSteps; ++t) {
    const std::uint64_t i = (t - 1) % s.rows();
    const double scale = t == 1 ? 0.0 : 1 / (s.lambda() * static_cast<double>(t - 1));
    double score = 0;
    for (std::uint64_t j = 0; j < s.rows(); ++j) score += v[j] * k(i, j);
    if (!(s.y(i) * scale * score < 1)) continue;
    v[i] += s.y(i);
    if (std::ranges::find(members, i) == members.end()) members.push_back(i);
    if (members.size() <= kBudget) continue;
    std::size_t least = 0;
    for (std::size_t p = 1; p < members.size(); ++p) {
      const auto part = [&](std::size_t q) {
        return std::pow(v[members[q]], 2) * k(members[q], members[q]);
      };
      if (part(p) <= part(least)) least = p;
    }
    const std::uint64_t gone = members[least];
    others += gone != i ? 1 : 0;
    members[least] = members.back();
    members.pop_back();
    const std::uint64_t nearest = *std::ranges::max_element(
        members, {}, [&](std::uint64_t j) { return k(gone, j) * k(gone, j) / k(j, j); });
    v[nearest] += v[gone] * k(gone, nearest) / k(nearest, nearest);
    v[gone] = 0;
  }
  EXPECT_GT(others, 5);
  for (double& x : v) x /= s.lambda() * kSteps;
  for (const Way& way : kWays) {
    const PegasosSetup options = {.pegasos = {.sampling = Sampling::order,
                                              .iterate = Iterate::last,
                                              .steps = kSteps,
                                              .rescale = false,
                                              .kernel = kCubic,
                                              .budget = kBudget},
                                  .kernel_way = way.way,
                                  .kernel_memory = way.memory};
    EXPECT_LE(distance(solve(s, options)[0].w, v), 1e-11 * norm(v));
  }
}

// Where pairs of rows are too many for the bound, it rests on fewer rows, and is a bound still.
TEST(KernelPegasos, ABoundMayRestOnFewRows) {
  const Scaled s(
      random_dataset({.rows = 400, .features = 10, .nonzeros = 5, .noise = 0.2, .seed = 5}), 0.1);
  Pool pool(1);
  PegasosSetup options = {.pegasos = {.steps = 400, .kernel = kRbf, .budget = 2},
                          .kernel_memory = 0};
  const Certificate whole = certificate(s, kRbf, solve(s, options)[0], pool);
  options.bound_rows = 50;
  const Solution found = solve(s, options)[0];
  const auto used = std::ranges::count_if(found.alpha, [](double a) { return a > 0; });
  EXPECT_GE(used, 45);
  EXPECT_LE(used, 100);  // the root of the kernel values computed: 400 rows, blocks of 16 and 2
  const Certificate part = certificate(s, kRbf, found, pool);
  EXPECT_EQ(part.primal, whole.primal);
  EXPECT_GT(part.dual, 0);
  EXPECT_LT(part.dual, whole.dual);
}

TEST(KernelPegasos, ABudgetThatIsNeverReachedChangesNothing) {
  const Scaled s(random_dataset({.rows = 80, .features = 10, .nonzeros = 5, .seed = 5}), 0.01);
  for (const Iterate iterate : {Iterate::last, Iterate::suffix, Iterate::average}) {
    PegasosSetup options = {.pegasos = {.iterate = iterate, .kernel = kRbf}};
    const Solution free = solve(s, options)[0];
    options.pegasos.budget = 80;
    EXPECT_EQ(solve(s, options)[0].w, free.w);
  }
}

TEST(KernelPegasos, SameBitsForAnyThreads) {
  const Scaled s(
      random_dataset({.rows = 700, .features = 40, .nonzeros = 20, .noise = 0.2, .seed = 7}),
      0.001);
  for (const Way& way : kWays) {
    for (const std::uint64_t batch : {1U, 50U}) {
      const PegasosSetup options = {.pegasos = {.batch = batch, .epochs = 3, .kernel = kRbf},
                                    .kernel_way = way.way,
                                    .kernel_memory = way.memory};
      const Solution one = solve(s, options)[0];
      for (const int threads : {2, 5}) {
        const Solution more = solve(s, options, 0, threads)[0];
        EXPECT_EQ(more.w, one.w);
        EXPECT_EQ(more.alpha, one.alpha);
      }
    }
  }
}

// How much memory there is for kernel values changes no bit.
TEST(KernelPegasos, SameBitsForAnyMemory) {
  const Scaled s(
      random_dataset({.rows = 150, .features = 20, .nonzeros = 10, .noise = 0.2, .seed = 7}), 0.01);
  for (const std::uint64_t budget : {0U, 60U}) {
    for (const Sampling sampling : {Sampling::permute, Sampling::replace}) {
      PegasosSetup options = {.pegasos = {.sampling = sampling, .kernel = kRbf, .budget = budget},
                              .kernel_way = KernelWay::scores,
                              .kernel_memory = std::uint64_t{1} << 30};
      const Solution all = solve(s, options)[0];
      for (const std::uint64_t rows : {0U, 1U, 15U, 16U, 40U, 149U}) {
        options.kernel_memory = rows * 150 * 8;
        const Solution some = solve(s, options)[0];
        EXPECT_EQ(some.w, all.w) << rows;
        EXPECT_EQ(some.alpha, all.alpha) << rows;
      }
    }
  }
}

// Classes in one sweep: each as it would be among any others.
TEST(KernelPegasos, ClassesDoNotDependOnEachOther) {
  const Dataset data =
      random_dataset({.rows = 120, .features = 12, .nonzeros = 6, .seed = 11, .classes = 4});
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  for (int k = 0; k < 4; ++k) y.push_back(signs(data, k));
  for (int k = 0; k < 4; ++k) {
    problems.push_back(
        {.data = &data, .y = y[static_cast<std::size_t>(k)], .cost = 0.5, .bias = 1});
  }
  const auto solve_some = [&](std::span<const Problem> some, const Way& way) {
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    std::vector<Monitor> monitors;
    for (std::size_t k = 0; k < some.size(); ++k) {
      monitors.emplace_back(Limits{.gap = 0, .seconds = std::numeric_limits<double>::infinity()},
                            clock, k, nobody);
    }
    Pool pool(2);
    const PegasosSetup options = {.pegasos = {.epochs = 7, .kernel = kRbf},
                                  .kernel_way = way.way,
                                  .kernel_memory = way.memory};
    return solve_pegasos(some, options, monitors, pool);
  };
  const std::vector<Solution> all = solve_some(problems, kKept);
  const std::vector<Solution> two = solve_some(std::span(problems).subspan(1, 2), kKept);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(two[k].w, all[k + 1].w);
    EXPECT_EQ(two[k].alpha, all[k + 1].alpha);
  }
  // Alone, or in blocks: sums in another order.
  const Solution alone = solve_some(std::span(problems).subspan(2, 1), kWays[0])[0];
  EXPECT_LE(distance(alone.w, all[2].w), 1e-9 * norm(all[2].w));
}

}  // namespace
}  // namespace hinge
