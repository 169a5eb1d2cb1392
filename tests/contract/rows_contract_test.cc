// What every Rows must do, against plain sums over dense rows. A new kind of Rows joins with one
// line in rows_kinds().
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "rows/memory_rows.h"
#include "rows/ranked_rows.h"
#include "support.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using Numbers = std::vector<double>;
using RowNumbers = std::vector<std::uint64_t>;

// What one place does with its rows, of which the first is row `first` of all.
using AtPlace = std::function<void(Rows& rows, std::uint64_t first)>;

struct Machine {
  int threads = 2;
  const Simd* simd = &best_simd();
};

// Calls f once a place with that place's part of the rows.
using MakeRows =
    std::function<void(const Dataset& data, double bias, const Machine& machine, const AtPlace& f)>;

void in_memory(const Dataset& data, double bias, const Machine& machine, const AtPlace& f) {
  Pool pool(machine.threads);
  MemoryRows rows(data, bias, *machine.simd, pool);
  f(rows, 0);
}

// Each rank is a thread. Shares are uneven, and with more ranks than rows some have none.
MakeRows on_ranks(std::uint64_t ranks) {
  return [ranks](const Dataset& data, double bias, const Machine& machine, const AtPlace& f) {
    testing::ThreadGroup group(static_cast<int>(ranks));
    group.run([&](Transport& transport) {
      const auto r = static_cast<std::uint64_t>(transport.rank());
      const auto cut = [&](std::uint64_t k) { return data.rows() * k * k / (ranks * ranks); };
      RowNumbers own(cut(r + 1) - cut(r));
      std::iota(own.begin(), own.end(), cut(r));
      Comm comm(transport);
      Pool pool(machine.threads);
      const MemoryRows all(data, bias, *machine.simd, pool);
      RankedRows rows(std::make_unique<MemoryRows>(all.select(own)), comm);
      f(rows, cut(r));
    });
  };
}

struct RowsKind {
  const char* name;
  MakeRows make;
  std::uint64_t places;
};
std::vector<RowsKind> rows_kinds() {
  return {{"memory", in_memory, 1}, {"one_rank", on_ranks(1), 1}, {"three_ranks", on_ranks(3), 3}};
}

struct RowsCase {
  const char* name;
  testing::RandomData data;
  double bias = 0;
};
std::vector<RowsCase> rows_cases() {
  const auto data = [](std::uint64_t rows, std::uint64_t features, std::uint64_t nonzeros,
                       Precision precision) {
    return testing::RandomData{
        .rows = rows, .features = features, .nonzeros = nonzeros, .precision = precision};
  };
  return {{"sparse", data(90, 40, 6, Precision::f32)},
          {"sparse_f64_bias", data(90, 40, 6, Precision::f64), 0.7},
          {"full", data(70, 11, 11, Precision::f32)},
          {"full_bias", data(70, 16, 16, Precision::f32), -2},
          {"full_f64_bias", data(70, 9, 9, Precision::f64), 0.5},
          {"rows_of_zeros", data(5, 4, 0, Precision::f32), 0.5},
          {"two_rows", data(2, 3, 2, Precision::f32)},
          {"several_blocks", data(17000, 3, 2, Precision::f32), 1}};
}

// The rows as a table.
struct DenseRows {
  DenseRows(const Dataset& data, double bias) : columns(data.features() + (bias != 0 ? 1 : 0)) {
    data.visit([&](const auto& m) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        Numbers row(columns);
        for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
          row[m.column(k)] = static_cast<double>(m.values[k]);
        }
        if (bias != 0) row.back() = bias;
        x.push_back(std::move(row));
      }
    });
  }
  double score(std::uint64_t i, const Numbers& w, std::size_t stride, std::size_t c) const {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += x[i][j] * w[j * stride + c];
    return sum;
  }

  std::size_t columns;
  std::vector<Numbers> x;
};

Numbers random_numbers(std::size_t size, Random& random) {
  Numbers numbers(size);
  for (double& number : numbers) number = 2 * random.uniform() - 1;
  return numbers;
}

void expect_close(const Numbers& found, const Numbers& wanted, const char* what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_NEAR(found[k], wanted[k], 1e-12 * (1 + std::abs(wanted[k]))) << what << " " << k;
  }
}

struct RowsParam {
  RowsKind kind;
  RowsCase rows;
};
std::vector<RowsParam> rows_params() {
  std::vector<RowsParam> all;
  for (const RowsKind& kind : rows_kinds()) {
    for (const RowsCase& rows : rows_cases()) all.push_back({kind, rows});
  }
  return all;
}

class RowsContract : public ::testing::TestWithParam<RowsParam> {
 protected:
  void at_places(const AtPlace& f) const {
    GetParam().kind.make(data_, GetParam().rows.bias, {}, f);
  }
  // Lists of own rows: all; all in reverse; some, one of them twice; none.
  static std::vector<RowList> lists(const Rows& rows) {
    const std::uint64_t count = rows.shape().rows;
    RowNumbers reverse, some;
    for (std::uint64_t i = 0; i < count; ++i) {
      reverse.push_back(count - 1 - i);
      if (i % 3 != 1) some.push_back(i);
      if (i == 3) some.push_back(i);
    }
    return {rows.blocks(),
            rows.cut(reverse),
            rows.cut(some),
            rows.cut({}),
            {.all = false, .list = some, .cuts = {}}};
  }

  const Dataset data_ = testing::random_dataset(GetParam().rows.data);
  const DenseRows table_{data_, GetParam().rows.bias};
};

TEST_P(RowsContract, ShapeAndSlices) {
  std::mutex mutex;
  std::uint64_t rows_in_all = 0;
  std::vector<int> owners(table_.columns);
  at_places([&](Rows& rows, std::uint64_t) {
    const RowsShape shape = rows.shape();
    const std::lock_guard lock(mutex);
    rows_in_all += shape.rows;
    EXPECT_EQ(shape.all_rows, data_.rows());
    EXPECT_EQ(shape.places, GetParam().kind.places);
    EXPECT_EQ(shape.dimension, table_.columns);
    const Rows::Slice slice = rows.slice();
    for (std::size_t j = slice.begin; j < slice.end; ++j) ++owners.at(j);
  });
  EXPECT_EQ(rows_in_all, data_.rows());
  EXPECT_EQ(owners, std::vector<int>(table_.columns, 1));
}

TEST_P(RowsContract, BlocksHaveEveryRowOnce) {
  at_places([&](Rows& rows, std::uint64_t first) {
    const RowList& all = rows.blocks();
    EXPECT_TRUE(all.all);
    EXPECT_EQ(all.size(), rows.shape().rows);
    std::uint64_t next = 0;
    for (std::size_t block = 0; block < all.blocks(); ++block) {
      EXPECT_EQ(all.cuts[block], next);
      rows.with_block(block, [&](const Dataset::View& any) {
        std::visit(
            [&](const auto& m) {
              EXPECT_EQ(m.rows, all.cuts[block + 1] - next);
              for (std::uint64_t i = 0; i < m.rows; ++i, ++next) {
                Numbers row(m.features);
                for (std::size_t k = 0; k < m.size_of(i); ++k) {
                  row[m.columns_of(i)[k]] = static_cast<double>(m.values_of(i)[k]);
                }
                row.resize(table_.columns, GetParam().rows.bias);
                EXPECT_EQ(row, table_.x[first + next]);
              }
            },
            any);
      });
    }
    EXPECT_EQ(next, rows.shape().rows);
    for (const RowList& list : lists(rows)) {
      if (list.all || list.cuts.empty()) continue;
      EXPECT_EQ(list.cuts.front(), 0U);
      EXPECT_EQ(list.cuts.back(), list.size());
      EXPECT_TRUE(std::ranges::is_sorted(list.cuts));
    }
  });
}

TEST_P(RowsContract, SelectCopiesRows) {
  at_places([&](Rows& rows, std::uint64_t first) {
    for (const RowList& list : lists(rows)) {
      RowNumbers wanted;
      for (std::uint64_t k = 0; k < list.size(); ++k) wanted.push_back(list.row(k));
      MemoryRows copy = rows.select(wanted);
      ASSERT_EQ(copy.shape().rows, wanted.size());
      EXPECT_EQ(copy.shape().dimension, table_.columns);
      const DenseRows found(copy.data(), GetParam().rows.bias);
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(found.x[k], table_.x[first + wanted[k]]);
        EXPECT_EQ(copy.data().labels()[k], data_.labels()[first + wanted[k]]);
      }
      const MemoryRows moved = std::move(copy);  // goes on working
      EXPECT_EQ(moved.blocks().size(), wanted.size());
    }
  });
}

TEST_P(RowsContract, Squares) {
  at_places([&](Rows& rows, std::uint64_t first) {
    Numbers found(rows.shape().rows), wanted;
    rows.squares(found);
    for (std::uint64_t i = 0; i < found.size(); ++i) {
      wanted.push_back(std::inner_product(table_.x[first + i].begin(), table_.x[first + i].end(),
                                          table_.x[first + i].begin(), 0.0));
    }
    expect_close(found, wanted, "squares");
  });
}

TEST_P(RowsContract, Scores) {
  at_places([&](Rows& rows, std::uint64_t first) {
    Random random(2);
    for (const std::size_t stride : {1U, 4U, 600U}) {
      const Numbers w = random_numbers(table_.columns * stride, random);
      for (const RowList& list : lists(rows)) {
        Numbers found(list.size() * stride), wanted;
        std::vector<int> times(list.size());
        rows.scores(list, w, stride, [&](std::uint64_t from, std::span<const double> scores) {
          ASSERT_EQ(scores.size() % stride, 0U);
          std::ranges::copy(scores, found.begin() + static_cast<std::ptrdiff_t>(from * stride));
          for (std::size_t k = 0; k < scores.size() / stride; ++k) ++times.at(from + k);
        });
        EXPECT_EQ(times, std::vector<int>(list.size(), 1));
        for (std::uint64_t k = 0; k < list.size(); ++k) {
          for (std::size_t c = 0; c < stride; ++c) {
            wanted.push_back(table_.score(first + list.row(k), w, stride, c));
          }
        }
        expect_close(found, wanted, "scores");
      }
    }
  });
}

// What lists of own rows add up to here, and what that is in all after reduce().
TEST_P(RowsContract, Combine) {
  for (const std::size_t stride : {1U, 4U}) {
    for (std::size_t which = 0; which < 5; ++which) {
      std::mutex mutex;
      const auto places = static_cast<double>(GetParam().kind.places);
      Numbers in_all(table_.columns * stride, places);  // combine() adds to what is there
      std::vector<Numbers> found;
      at_places([&](Rows& rows, std::uint64_t first) {
        Random random(3 + first);
        const RowList list = lists(rows)[which];
        Numbers a = random_numbers(list.size() * stride, random);
        for (std::size_t k = 0; k < a.size(); k += 5) a[k] = 0;
        for (std::size_t c = 0; c < stride && !a.empty(); ++c) a[c] = 0;
        Numbers w(table_.columns * stride, 1.0);
        rows.combine(list, a, stride, w);
        rows.reduce(w);
        const std::lock_guard lock(mutex);
        found.push_back(w);
        for (std::uint64_t k = 0; k < list.size(); ++k) {
          for (std::size_t j = 0; j < table_.columns; ++j) {
            for (std::size_t c = 0; c < stride; ++c) {
              in_all[j * stride + c] += a[k * stride + c] * table_.x[first + list.row(k)][j];
            }
          }
        }
      });
      for (const Numbers& w : found) {
        EXPECT_EQ(w, found[0]) << "ranks disagree";
        expect_close(w, in_all, "combine");
      }
    }
  }
}

TEST_P(RowsContract, Gram) {
  for (std::size_t which = 0; which < 5; ++which) {
    std::mutex mutex;
    const std::size_t n = table_.columns;
    Numbers wanted(n * n);
    std::vector<Numbers> found;
    at_places([&](Rows& rows, std::uint64_t first) {
      Random random(4 + first);
      const RowList list = lists(rows)[which];
      Numbers a = random_numbers(list.size(), random), h(n * n);
      if (!a.empty()) a[0] = 0;
      rows.gram(list, a, h);
      rows.reduce(h);
      const std::lock_guard lock(mutex);
      found.push_back(h);
      for (std::uint64_t k = 0; k < list.size(); ++k) {
        const Numbers& x = table_.x[first + list.row(k)];
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j <= i; ++j) wanted[i * n + j] += a[k] * x[i] * x[j];
        }
      }
    });
    for (Numbers& h : found) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) h[i * n + j] = 0;  // says nothing
      }
      expect_close(h, wanted, "gram");
    }
  }
}

TEST_P(RowsContract, PlacesAreOneInTheEnd) {
  std::mutex mutex;
  Numbers sums(3), largest, slices(table_.columns);
  std::vector<Numbers> reduced, shared, shared_sums;
  at_places([&](Rows& rows, std::uint64_t first) {
    Random random(5 + 100 * first);
    const Numbers mine = random_numbers(3, random);
    Numbers numbers = mine;
    rows.reduce(numbers);
    const double most = rows.largest(mine[0]), total = rows.total(mine[1]);
    const Numbers vector = random_numbers(table_.columns, random);
    Numbers v = vector, with = mine;
    rows.sum_columns(v);
    const Rows::Slice own = rows.slice();  // the rest says nothing
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = j >= own.begin && j < own.end ? v[j] : 77;
    rows.share_columns(v, with);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(total, numbers[1]);
    reduced.push_back(numbers);
    shared.push_back(v);
    shared_sums.push_back(with);
    largest.push_back(mine[0]);
    for (std::size_t k = 0; k < 3; ++k) sums[k] += mine[k];
    for (std::size_t j = 0; j < v.size(); ++j) slices[j] += vector[j];
    EXPECT_GE(most, mine[0]);
  });
  for (std::size_t place = 0; place < reduced.size(); ++place) {
    EXPECT_EQ(reduced[place], reduced[0]);
    EXPECT_EQ(shared[place], shared[0]);
    expect_close(reduced[place], sums, "reduce");
    expect_close(shared[place], slices, "columns");
    expect_close(shared_sums[place], sums, "numbers beside columns");
  }
}

// Everything that verbs say, one after the other, on enough rows that threads are woken.
Numbers all_that_rows_say(const RowsKind& kind, const Dataset& data, double bias,
                          const Machine& machine) {
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, Numbers>> by_place;
  kind.make(data, bias, machine, [&](Rows& rows, std::uint64_t first) {
    Random random(6);
    const std::size_t dimension = rows.shape().dimension;
    Numbers said(rows.shape().rows);
    rows.squares(said);
    RowNumbers most;
    for (std::uint64_t i = 0; i < rows.shape().rows; ++i) {
      if (i % 7 != 2) most.push_back(i);
    }
    for (const std::size_t stride : {1U, 4U}) {
      for (const RowList& list : {rows.blocks(), rows.cut(most)}) {
        Numbers w = random_numbers(dimension * stride, random), found(list.size() * stride);
        rows.scores(list, w, stride, [&](std::uint64_t from, std::span<const double> scores) {
          std::ranges::copy(scores, found.begin() + static_cast<std::ptrdiff_t>(from * stride));
        });
        rows.combine(list, found, stride, w);
        rows.reduce(w);
        said.insert(said.end(), found.begin(), found.end());
        said.insert(said.end(), w.begin(), w.end());
      }
    }
    if (dimension < 100) {
      Numbers h(dimension * dimension);
      rows.gram(rows.blocks(), random_numbers(rows.shape().rows, random), h);
      said.insert(said.end(), h.begin(), h.end());
    }
    const std::lock_guard lock(mutex);
    by_place.emplace_back(2 * first + (rows.shape().rows > 0 ? 1 : 0), std::move(said));
  });
  std::ranges::stable_sort(by_place, {}, [](const auto& place) { return place.first; });
  Numbers all;
  for (const auto& [place, said] : by_place) all.insert(all.end(), said.begin(), said.end());
  return all;
}

TEST(RowsBits, SameForAnyThreadsAndInstructionSet) {
  const RowsCase large[] = {
      {"sparse", {.rows = 20000, .features = 60, .nonzeros = 9}, 0.5},
      {"wide", {.rows = 3000, .features = 2500, .nonzeros = 30, .precision = Precision::f64}},
      {"full", {.rows = 8000, .features = 24, .nonzeros = 24}, 1},
      {"so wide that threads own columns", {.rows = 3000, .features = 140000, .nonzeros = 40}}};
  for (const RowsKind& kind : rows_kinds()) {
    for (const RowsCase& rows : large) {
      const Dataset data = testing::random_dataset(rows.data);
      const Numbers one = all_that_rows_say(kind, data, rows.bias, {.threads = 1});
      for (const int threads : {2, 8}) {
        if (testing::slow() && threads > 2) continue;
        EXPECT_EQ(all_that_rows_say(kind, data, rows.bias, {.threads = threads}), one)
            << kind.name << " " << rows.name << " " << threads;
      }
      for (const Simd* simd : available_simd()) {
        EXPECT_EQ(all_that_rows_say(kind, data, rows.bias, {.threads = 1, .simd = simd}), one)
            << kind.name << " " << rows.name << " " << simd->name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRows, RowsContract, ::testing::ValuesIn(rows_params()),
                         [](const ::testing::TestParamInfo<RowsParam>& instance) {
                           return std::string(instance.param.kind.name) + "_" +
                                  instance.param.rows.name;
                         });

}  // namespace
}  // namespace hinge
