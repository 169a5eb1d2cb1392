#include "solve/batches.h"
#include "data/survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace hinge {
namespace {

// The sets of `epochs` epochs, asked for in pieces of `piece` steps.
std::vector<std::vector<std::uint64_t>> sets_of(Batches batches, std::uint64_t rows,
                                                std::uint64_t batch, Sampling sampling,
                                                std::uint64_t epochs, std::uint64_t piece) {
  std::vector<std::vector<std::uint64_t>> sets;
  while (sets.size() < epochs * batches.steps_per_epoch()) {
    const std::uint64_t before = sets.size(), step = before % batches.steps_per_epoch();
    const std::span<const std::uint64_t> chunk = batches.next(piece);
    std::uint64_t used = 0;
    for (std::uint64_t k = step; used < chunk.size(); ++k) {
      const bool is_short = sampling != Sampling::replace && (k + 1) * batch > rows;
      const std::uint64_t size = is_short ? rows - k * batch : batch;
      EXPECT_LE(used + size, chunk.size());
      const auto from = chunk.begin() + static_cast<std::ptrdiff_t>(used);
      sets.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
      used += size;
    }
    // At most what was asked for, never beyond the end of an epoch.
    const std::uint64_t steps = sets.size() - before;
    EXPECT_EQ(batches.steps(), steps);
    EXPECT_EQ(batches.rows_of_steps(), chunk.size());
    EXPECT_GE(steps, 1U);
    EXPECT_LE(steps, std::min(piece, batches.steps_per_epoch() - step));
    EXPECT_LE(batches.ahead().size(), chunk.size());
    for (const std::uint64_t row : batches.ahead()) EXPECT_LT(row, rows);
  }
  return sets;
}

std::vector<std::vector<std::uint64_t>> sets_of(std::uint64_t rows, std::uint64_t batch,
                                                Sampling sampling, std::uint64_t epochs,
                                                std::uint64_t piece, std::uint64_t seed = 1,
                                                std::uint64_t stream = 0,
                                                const Neighbours& neighbours = {}) {
  return sets_of(Batches({.rows = rows,
                          .batch = batch,
                          .sampling = sampling,
                          .seed = seed,
                          .stream = stream,
                          .neighbours = neighbours}),
                 rows, batch, sampling, epochs, piece);
}

const std::vector<Neighbours> kNeighbours = {{},
                                             {.run = 4, .window = 64, .mix = true},
                                             {.run = 7, .window = 1000, .mix = true},
                                             {.run = 64, .window = 100, .mix = false}};

TEST(Batches, PermuteVisitsEveryRowOnceAnEpoch) {
  for (const std::uint64_t rows : {1U, 2U, 7U, 100U, 5000U, 70001U}) {
    for (const std::uint64_t batch : {1U, 3U, 64U}) {
      if (batch > rows) continue;
      const Neighbours& way = kNeighbours[(rows + batch) % kNeighbours.size()];
      const auto sets = sets_of(rows, batch, Sampling::permute, 3, 1000, 1, 0, way);
      const std::uint64_t steps = (rows + batch - 1) / batch;
      ASSERT_EQ(sets.size(), 3 * steps);
      std::vector<std::vector<std::uint64_t>> epochs(3);
      for (std::size_t k = 0; k < sets.size(); ++k) {
        epochs[k / steps].insert(epochs[k / steps].end(), sets[k].begin(), sets[k].end());
      }
      if (rows > 64) {
        EXPECT_NE(epochs[0], epochs[1]);
      }
      std::vector<std::uint64_t> all(rows);
      std::iota(all.begin(), all.end(), std::uint64_t{0});
      for (auto& epoch : epochs) {
        std::ranges::sort(epoch);
        EXPECT_EQ(epoch, all) << rows << " " << batch;
      }
    }
  }
}

// Every row is as likely at any place.
void check_fair(const Neighbours& way) {
  constexpr std::uint64_t kRows = 40, kDraws = 4000;
  std::vector<std::vector<double>> seen(kRows, std::vector<double>(kRows));
  Batches batches({.rows = kRows, .batch = 1, .seed = 3, .neighbours = way});
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    for (std::uint64_t at = 0; at < kRows;) {
      for (const std::uint64_t row : batches.next(kRows)) seen[at++][row] += 1;
    }
  }
  // Chi-square over the cells of one position has 39 degrees of freedom: above 90 once in 1e5.
  for (const auto& position : seen) {
    double chi = 0;
    const double expected = static_cast<double>(kDraws) / kRows;
    for (const double count : position) chi += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi, 90);
  }
}

TEST(Batches, PermuteIsFair) {
  check_fair({});
  check_fair({.run = 4, .window = 64, .mix = true});
}

TEST(Batches, OrderIsTheOrderOfTheRows) {
  const auto sets = sets_of(10, 4, Sampling::order, 2, 7);
  const std::vector<std::vector<std::uint64_t>> expected = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9},
                                                            {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}};
  EXPECT_EQ(sets, expected);
}

TEST(Batches, ReplaceDrawsSetsWithoutRepetitionInThem) {
  constexpr std::uint64_t kRows = 30;
  for (const std::uint64_t batch : {1U, 2U, 7U, 29U}) {
    std::vector<double> seen(kRows);
    double draws = 0;
    bool again = false;
    std::vector<std::uint64_t> last;
    for (auto& set : sets_of(kRows, batch, Sampling::replace, 3000, 5)) {
      ASSERT_EQ(set.size(), batch);
      const std::set<std::uint64_t> different(set.begin(), set.end());
      ASSERT_EQ(different.size(), batch);
      for (const std::uint64_t row : set) {
        ASSERT_LT(row, kRows);
        seen[row] += 1;
        draws += 1;
        again = again || std::ranges::find(last, row) != last.end();
      }
      last = set;
    }
    EXPECT_TRUE(again) << "sets must not know of one another";
    double chi = 0;
    for (const double count : seen) {
      chi += (count - draws / kRows) * (count - draws / kRows) / (draws / kRows);
    }
    EXPECT_LT(chi, 75) << batch;  // 29 degrees of freedom: above 75 less than once in 1e5
  }
}

// A set of all rows is the set of all rows.
TEST(Batches, WholeSets) {
  for (const Sampling sampling : {Sampling::permute, Sampling::replace, Sampling::order}) {
    for (auto& set : sets_of(9, 9, sampling, 3, 1)) {
      std::ranges::sort(set);
      EXPECT_EQ(set, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    }
  }
}

TEST(Batches, AFunctionOfSeedAndStreamNotOfTheAsking) {
  for (const Sampling sampling : {Sampling::permute, Sampling::replace}) {
    for (const std::uint64_t batch : {1U, 6U}) {
      const auto sets = sets_of(5000, batch, sampling, 2, 100000);
      const auto mixed = sets_of(5000, batch, sampling, 2, 100000, 1, 0, kNeighbours[1]);
      EXPECT_EQ(mixed, sets_of(5000, batch, sampling, 2, 13, 1, 0, kNeighbours[1]));
      EXPECT_EQ(sets, sets_of(5000, batch, sampling, 2, 1));
      EXPECT_EQ(sets, sets_of(5000, batch, sampling, 2, 17));
      EXPECT_NE(sets, sets_of(5000, batch, sampling, 2, 17, 2));
      EXPECT_NE(sets, sets_of(5000, batch, sampling, 2, 17, 1, 1));
    }
  }
}

// Ranks draw shares of the same sets: of every set each has as many of its rows as of any other, to
// a row; together an epoch visits every row once, and no two ranks see the same order.
TEST(Batches, RanksDrawSharesOfTheSameSets) {
  const std::vector<std::vector<std::uint64_t>> cuts = {
      {70, 30}, {1, 0, 499}, {0, 100}, {333, 333, 334, 7}};
  for (const std::vector<std::uint64_t>& rows : cuts) {
    const std::uint64_t all = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
    for (const std::uint64_t batch : {std::uint64_t{4}, all / 3, all - 1, all}) {
      for (const Sampling sampling : {Sampling::permute, Sampling::order}) {
        const std::uint64_t steps = (all + batch - 1) / batch;
        std::vector<std::uint64_t> of_all(3 * steps);
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
          Batches batches({.rows = rows[rank],
                           .batch = batch,
                           .sampling = sampling,
                           .stream = rank,
                           .neighbours = kNeighbours[rank % kNeighbours.size()],
                           .rows_of_all = all});
          ASSERT_EQ(batches.steps_per_epoch(), steps);
          std::vector<std::uint64_t> seen(rows[rank]);
          std::uint64_t told = 0;
          for (std::uint64_t step = 0; step < 3 * steps; ++step) {
            const auto set = batches.next(1);
            ASSERT_EQ(batches.steps(), 1U);
            told += batches.rows_of_steps();
            of_all[step] += set.size();
            EXPECT_NEAR(static_cast<double>(set.size()),
                        static_cast<double>(rows[rank]) / static_cast<double>(steps), 1);
            for (const std::uint64_t row : set) ++seen.at(row);
            if ((step + 1) % steps != 0) continue;
            const std::uint64_t epochs = (step + 1) / steps;
            EXPECT_EQ(seen, std::vector<std::uint64_t>(rows[rank], epochs));
            EXPECT_EQ(told, epochs * all) << "what all ranks visited is known to each";
          }
        }
        for (const std::uint64_t size : of_all) {
          EXPECT_LE(size, batch + rows.size());
        }
      }
    }
  }
  const auto first_epoch = [](std::uint64_t stream) {
    Batches batches({.rows = 100, .batch = 200, .stream = stream, .rows_of_all = 201});
    std::vector<std::uint64_t> order;
    while (order.size() < 100) {
      const auto set = batches.next(1);
      order.insert(order.end(), set.begin(), set.end());
    }
    return order;
  };
  EXPECT_EQ(first_epoch(0), first_epoch(0));
  EXPECT_NE(first_epoch(0), first_epoch(1));
}

}  // namespace
}  // namespace hinge
