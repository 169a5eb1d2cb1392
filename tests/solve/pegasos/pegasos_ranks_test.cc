// Pegasos on several ranks, which are threads here: the steps of one process on the union of what
// the ranks draw, and figures of all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/columns.h"
#include "pegasos_reference.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::distance;
using testing::norm;
using testing::random_costs;
using testing::random_dataset;
using testing::reference_step;
using testing::Scaled;
using testing::ThreadGroup;
using testing::Vector;

// Rows cuts[r] .. cuts[r + 1] - 1 of a problem, which rank r has.
class RowsOfRank {
 public:
  RowsOfRank(const Scaled& all, const Dataset& data, std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = from; i < to; ++i) rows.push_back(i);
    data_ = keep_rows(data, rows);
    problem_ = all.problem();
    problem_.data = &data_;
    problem_.y = problem_.y.subspan(from, to - from);
    if (!problem_.costs.empty()) problem_.costs = problem_.costs.subspan(from, to - from);
  }
  RowsOfRank(const RowsOfRank&) = delete;
  RowsOfRank& operator=(const RowsOfRank&) = delete;
  const Problem& problem() const { return problem_; }
  const CsrView<float>& matrix() const { return std::get<CsrView<float>>(data_.view()); }

 private:
  Dataset data_;
  Problem problem_;
};

struct FoundByRank {
  Solution solution;           // of one rank
  std::vector<Progress> seen;  // what its monitor was told
  CommCounts counts;
};

// What every rank finds, with rows cuts[r] .. cuts[r + 1] - 1.
std::vector<FoundByRank> solve_parts(const Scaled& all, const Dataset& data,
                                     const std::vector<std::uint64_t>& cuts,
                                     const PegasosOptions& options,
                                     const Limits& limits = {.gap = 0}) {
  std::vector<FoundByRank> found(cuts.size() - 1);
  ThreadGroup(static_cast<int>(found.size())).run([&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    const RowsOfRank part(all, data, cuts[rank], cuts[rank + 1]);
    Comm comm(transport);
    const Stopwatch clock;
    const std::function<void(const Progress&)> observer = [&](const Progress& now) {
      found[rank].seen.push_back(now);
    };
    Limits own = limits;
    own.comm = &comm;
    if (own.seconds == 0) own.seconds = std::numeric_limits<double>::infinity();
    std::vector<Monitor> monitors;
    monitors.emplace_back(own, clock, 0, observer);
    Pool pool(1);
    found[rank].solution = std::move(solve_pegasos(std::span(&part.problem(), 1),
                                                   {.common = {.comm = &comm}, .pegasos = options},
                                                   monitors, pool)[0]);
    found[rank].counts = comm.counts();
  });
  return found;
}

Vector joined_alpha(const std::vector<FoundByRank>& found) {
  Vector all;
  for (const FoundByRank& rank : found) {
    all.insert(all.end(), rank.solution.alpha.begin(), rank.solution.alpha.end());
  }
  return all;
}

// A step on what each rank draws is the published step on all of it, and counts are each rank's
// own.
TEST(PegasosOnRanks, StepsAsPublished) {
  const Dataset data = random_dataset({.rows = 150, .features = 30, .nonzeros = 6, .seed = 4});
  const Scaled s(data, 0.02, random_costs(150), 0.7);
  const std::vector<std::uint64_t> cuts = {0, 60, 60, 150};
  for (const auto& [batch, update] : {std::pair<std::uint64_t, Update>{7, Update::margin},
                                      {50, Update::margin},
                                      {50, Update::mistake},
                                      {150, Update::margin}}) {
    const std::uint64_t batch_size = batch;
    const Update rule = update;
    const std::uint64_t steps = (150 + batch - 1) / batch;
    std::vector<Vector> points(3), sums(3);
    std::vector<std::vector<std::vector<std::uint64_t>>> sets(3);
    std::vector<std::uint64_t> visits(3);
    ThreadGroup(3).run([&](Transport& transport) {
      const auto rank = static_cast<std::size_t>(transport.rank());
      const RowsOfRank part(s, data, cuts[rank], cuts[rank + 1]);
      Comm comm(transport);
      Pool pool(1);
      Passes<float> passes(part.matrix(), part.problem().bias, 1, best_simd(), pool);
      PegasosState<Passes<float>> state({.problems = std::span(&part.problem(), 1),
                                         .batch = batch_size,
                                         .update = rule,
                                         .ranks = RankSums(&comm),
                                         .epoch = static_cast<double>(steps)},
                                        passes);
      Batches batches({.rows = part.matrix().rows,
                       .batch = batch_size,
                       .seed = 5,
                       .stream = rank,
                       .rows_of_all = 150});
      for (std::uint64_t t = 0; t < 4 * steps; ++t) {
        if (t == 2 * steps) state.begin_mean();
        std::vector<std::uint64_t> set;
        for (const std::uint64_t i : batches.next(1)) set.push_back(i);
        state.run(set);
        for (std::uint64_t& i : set) i += cuts[rank];
        sets[rank].push_back(std::move(set));
      }
      points[rank] = state.point();
      sums[rank] = state.sum();
      const std::vector<std::uint32_t>& counts = state.counts();
      for (std::size_t k = 0; k < counts.size(); k += 2) visits[rank] += counts[k];
    });
    Vector w(s.problem().dimension()), sum(w.size());
    for (std::uint64_t t = 0; t < 4 * steps; ++t) {
      std::vector<std::uint64_t> set;
      for (const auto& of_rank : sets) set.insert(set.end(), of_rank[t].begin(), of_rank[t].end());
      // The step is 1/(lambda t) of the mean over rows/steps rows: sets are of one size.
      reference_step(s, w, set, 150.0 / static_cast<double>(steps), static_cast<double>(t + 1),
                     false, rule);
      for (std::size_t j = 0; j < w.size() && t >= 2 * steps; ++j) sum[j] += w[j];
    }
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(points[rank], points[0]) << "the same bits on every rank";
      EXPECT_EQ(sums[rank], sums[0]);
      EXPECT_EQ(visits[rank], 4 * (cuts[rank + 1] - cuts[rank]));
    }
    EXPECT_LE(distance(points[0], w), 1e-11 * norm(w));
    EXPECT_LE(distance(sums[0], sum), 1e-11 * norm(sum));
  }
}

// With steps on all rows ranks make the steps of one process, so points and figures are its own.
TEST(PegasosOnRanks, MeasuresAsOneProcess) {
  const Dataset data =
      random_dataset({.rows = 230, .features = 40, .nonzeros = 7, .noise = 0.2, .seed = 6});
  const Scaled s(data, 0.01, random_costs(230), 0.5);
  for (const bool rescale : {false, true}) {
    const PegasosOptions options = {
        .batch = 0, .iterate = Iterate::last, .epochs = 60, .rescale = rescale};
    const Solution alone = testing::solve(s, {.pegasos = options})[0];
    for (const std::vector<std::uint64_t>& cuts : {std::vector<std::uint64_t>{0, 230},
                                                   {0, 100, 230},
                                                   {0, 0, 230, 230},
                                                   {0, 1, 90, 91, 230}}) {
      const std::vector<FoundByRank> found = solve_parts(s, data, cuts, options);
      for (const FoundByRank& rank : found) {
        EXPECT_EQ(rank.solution.w, found[0].solution.w);
        EXPECT_EQ(rank.solution.iterations, 60U);
        EXPECT_FALSE(rank.solution.cut_short);
        ASSERT_FALSE(rank.seen.empty());
        EXPECT_EQ(rank.seen.back().primal, found[0].seen.back().primal);
        EXPECT_EQ(rank.seen.back().dual, found[0].seen.back().dual);
        EXPECT_EQ(rank.seen.back().data_passes, found[0].seen.back().data_passes);
      }
      const Solution& first = found[0].solution;
      EXPECT_LE(distance(first.w, alone.w), 1e-7 * norm(alone.w));
      const Vector alpha = joined_alpha(found);
      EXPECT_LE(distance(alpha, alone.alpha), 1e-7 * norm(alone.alpha));
      // What the monitor was told is what the recomputation from all rows finds.
      Pool pool(1);
      const Certificate c = certify(s.problem(), first.w, alpha, pool);
      EXPECT_NEAR(c.primal, found[0].seen.back().primal, 1e-9 * c.primal);
      EXPECT_NEAR(c.dual, found[0].seen.back().dual, 1e-9 * c.primal);
    }
  }
}

TEST(PegasosOnRanks, EveryVariantProvesItsGap) {
  const Dataset data =
      random_dataset({.rows = 230, .features = 40, .nonzeros = 7, .noise = 0.2, .seed = 6});
  const Scaled s(data, 0.01, random_costs(230), 0.5);
  const double best = testing::optimum(s).f / s.lambda();
  Pool pool(1);
  for (const std::uint64_t batch : {3U, 40U, 0U}) {
    for (const Sampling sampling : {Sampling::permute, Sampling::order}) {
      for (const Iterate iterate : {Iterate::last, Iterate::average, Iterate::suffix}) {
        for (const double gap : {0.0, 0.2}) {
          const std::vector<FoundByRank> found =
              solve_parts(s, data, {0, 100, 100, 230},
                          {.batch = batch, .sampling = sampling, .iterate = iterate, .epochs = 30},
                          {.gap = gap});
          const Vector alpha = joined_alpha(found);
          for (std::uint64_t i = 0; i < 230; ++i) {
            ASSERT_GE(alpha[i], 0.0);
            ASSERT_LE(alpha[i], s.problem().upper(i));
          }
          const Certificate c = certify(s.problem(), found[0].solution.w, alpha, pool);
          EXPECT_LE(c.dual, best * (1 + 1e-8));
          EXPECT_GE(c.primal, best * (1 - 1e-8));
          EXPECT_NEAR(c.relative_gap, found[0].seen.back().relative_gap, 1e-9);
          const std::uint64_t epoch = batch == 0 ? 1 : (230 + batch - 1) / batch;
          EXPECT_TRUE(found[0].solution.iterations == 30 * epoch || c.relative_gap <= gap);
        }
      }
    }
  }
}

// A step is one sum over the ranks, and wishes to stop cost little besides: nothing with few
// columns, a sixteenth of a message with many, whose sums take two.
TEST(PegasosOnRanks, AStepIsASum) {
  const auto messages = [](std::uint64_t features, std::uint64_t steps) {
    const Dataset data =
        random_dataset({.rows = 600, .features = features, .nonzeros = 7, .seed = 6});
    const Scaled s(data, 0.01);
    return solve_parts(s, data, {0, 300, 600}, {.batch = 10, .steps = steps, .rescale = false})[0]
        .counts.rounds;
  };
  EXPECT_EQ(messages(40, 960) - messages(40, 320), 640U);
  const std::uint64_t many = messages(2000, 960) - messages(2000, 320);
  EXPECT_GE(many, 640U + 40U);  // steps that hit no row send no list
  EXPECT_LE(many, 2 * 640U + 40U);
}

// A wish of one rank stops all after the same step, and a limit of passes counts those of all rows.
TEST(PegasosOnRanks, EndTogether) {
  for (const std::uint64_t features : {40U, 2000U}) {
    const Dataset data =
        random_dataset({.rows = 600, .features = features, .nonzeros = 7, .seed = 6});
    const Scaled s(data, 0.01);
    const std::vector<FoundByRank> found =
        solve_parts(s, data, {0, 10, 600}, {.batch = 10, .epochs = 500}, {.gap = 0, .passes = 20});
    for (const FoundByRank& rank : found) {
      EXPECT_TRUE(rank.solution.cut_short);
      EXPECT_EQ(rank.solution.iterations, found[0].solution.iterations);
      EXPECT_NEAR(static_cast<double>(rank.solution.iterations), 20 * 60, 2 * 16);
    }
  }
}

}  // namespace
}  // namespace hinge
