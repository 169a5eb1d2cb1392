// The contract of every instruction set: the bits of the written-out definition.
#include "simd/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"

namespace hinge {
namespace {

// Eight lanes, element k in lane k mod 8, summed in the documented order.
template <class Value, class Weight>
Weight reference_dot(SparseRow<Value> row, const Weight* w) {
  Weight l[8] = {};
  for (std::size_t k = 0; k < row.size; ++k) {
    l[k % 8] += static_cast<Weight>(row.values[k]) * w[row.columns[k]];
  }
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class KernelContract : public ::testing::TestWithParam<const Simd*> {
 protected:
  template <class Value>
  void check_against_definition() {
    constexpr std::size_t kFeatures = 1000;
    Random random(7);
    for (std::size_t size = 0; size < 70; ++size) {
      std::vector<std::uint32_t> columns;
      std::vector<Value> values;
      for (std::size_t k = 0; k < size; ++k) {
        columns.push_back(static_cast<std::uint32_t>(k * 14 + random.below(14)));
        values.push_back(static_cast<Value>(random.uniform() - 0.5));
      }
      std::vector<double> w(kFeatures);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      const SparseRow<Value> row = {columns.data(), values.data(), size};
      EXPECT_TRUE(same_bits(GetParam()->dot(row, w.data()), reference_dot(row, w.data()))) << size;

      std::vector<double> expected = w;
      for (std::size_t k = 0; k < size; ++k) {
        expected[columns[k]] += 0.37 * static_cast<double>(values[k]);
      }
      GetParam()->add(row, 0.37, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), kFeatures * sizeof(double)), 0) << size;
      check_many(row, kFeatures, random);
    }
  }

  // Columns side by side, told or not, give the same bits.
  template <class Value>
  void check_runs() {
    Random random(8);
    for (std::size_t size = 0; size < 70; ++size) {
      std::vector<std::uint32_t> columns(size);
      std::iota(columns.begin(), columns.end(), std::uint32_t{5});
      std::vector<Value> values(size);
      for (Value& value : values) value = static_cast<Value>(random.uniform() - 0.5);
      std::vector<double> w(size + 9);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      const SparseRow<Value> row = {columns.data(), values.data(), size};
      const SparseRow<Value> run = {columns.data(), values.data(), size, true};
      EXPECT_TRUE(same_bits(GetParam()->dot(run, w.data()), reference_dot(row, w.data()))) << size;
      std::vector<double> expected = w;
      GetParam()->add(row, -0.37, expected.data());
      GetParam()->add(run, -0.37, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), w.size() * sizeof(double)), 0) << size;
    }
  }

  // Several vectors at once: each summed in the order of the columns.
  template <class Value>
  void check_many(SparseRow<Value> row, std::size_t features, Random& random) {
    for (const std::size_t stride : {1U, 2U, 4U, 8U, 12U, 16U, 20U, 36U}) {
      std::vector<double> w(features * stride), a(stride), out(stride), sums(stride);
      for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
      for (double& x : a) x = random.below(3) == 0 ? 0.0 : random.uniform() - 0.5;
      std::vector<double> expected = w;
      for (std::size_t k = 0; k < row.size; ++k) {
        for (std::size_t c = 0; c < stride; ++c) {
          const auto value = static_cast<double>(row.values[k]);
          sums[c] += value * w[row.columns[k] * stride + c];
          expected[row.columns[k] * stride + c] += a[c] * value;
        }
      }
      GetParam()->dot_many(row, w.data(), stride, out.data());
      EXPECT_EQ(std::memcmp(out.data(), sums.data(), stride * sizeof(double)), 0) << stride;
      GetParam()->add_many(row, a.data(), stride, w.data());
      EXPECT_EQ(std::memcmp(w.data(), expected.data(), w.size() * sizeof(double)), 0) << stride;
    }
  }
};

TEST_P(KernelContract, FloatRowsMatchTheDefinition) {
  check_against_definition<float>();
  check_runs<float>();
}
TEST_P(KernelContract, DoubleRowsMatchTheDefinition) {
  check_against_definition<double>();
  check_runs<double>();
}

TEST_P(KernelContract, KeepsNegativeZeroAndExtremes) {
  const std::vector<std::uint32_t> columns = {0, 1, 2};
  const std::vector<double> values = {-1, 1e300, 4.9e-324};
  const std::vector<double> w = {0.0, 1e-300, 1.0};
  for (std::size_t size = 0; size <= 3; ++size) {
    const SparseRow<double> row = {columns.data(), values.data(), size};
    EXPECT_TRUE(same_bits(GetParam()->dot(row, w.data()), reference_dot(row, w.data()))) << size;
  }
}

// Columns at and above 2^31 need care where gather instructions take signed indices. The weights
// begin far below the array, so that only its last columns lie in memory.
TEST_P(KernelContract, ColumnsUpTo32Bits) {
  constexpr std::uint32_t kFirst = 0xfffffff0U;
  std::vector<double> block(15);
  std::vector<std::uint32_t> columns;
  for (std::uint32_t k = 0; k < 15; ++k) {
    block[k] = k;
    columns.push_back(kFirst + k);
  }
  const std::vector<float> values(columns.size(), 1.5F);
  const auto* weights = reinterpret_cast<const double*>(
      reinterpret_cast<std::uintptr_t>(block.data()) - std::uintptr_t{kFirst} * sizeof(double));
  const SparseRow<float> row = {columns.data(), values.data(), columns.size()};
  EXPECT_EQ(GetParam()->dot(row, weights), 1.5 * (14 * 15 / 2));
}

// Rows of all lengths, one behind the other: the bits of dot(), whatever order columns are in;
// those without a weight count as zero.
TEST_P(KernelContract, RunsOfRows) {
  constexpr std::uint64_t kFeatures = 600, kRows = 70;
  Random random(9);
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    for (std::uint64_t k = 0; k < i; ++k) {
      columns.push_back(static_cast<std::uint32_t>(random.below(kFeatures)));
      values.push_back(random.uniform() - 0.5);
    }
    offsets.push_back(columns.size());
  }
  std::vector<double> w(kFeatures);
  for (double& x : w) x = (random.uniform() - 0.5) * 1e3;
  const CsrView<double> m = {kRows, kFeatures, offsets.data(), columns.data(), values.data()};
  for (const std::size_t known : {0U, 1U, 250U, 599U, 600U}) {
    std::vector<double> out(2 * kRows, 7.0), cut = w;
    std::fill(cut.begin() + static_cast<std::ptrdiff_t>(known), cut.end(), 0.0);
    EXPECT_TRUE(GetParam()->dot_rows({m, 3, kRows}, std::span(w).first(known), out.data(), 2));
    for (std::uint64_t i = 3; i < kRows; ++i) {
      EXPECT_EQ(out[2 * (i - 3)], reference_dot(row_of(m, i), cut.data())) << known << " " << i;
      EXPECT_EQ(out[2 * (i - 3) + 1], 7.0);
    }
  }
  std::vector<double> out(kRows);
  for (const std::uint32_t wrong : {600U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    for (const std::uint64_t i : {1U, 8U, 9U, 40U, 69U}) {
      for (const std::uint64_t k :
           {offsets[i], (offsets[i] + offsets[i + 1]) / 2, offsets[i + 1] - 1}) {
        const std::uint32_t good = std::exchange(columns[k], wrong);
        EXPECT_FALSE(GetParam()->dot_rows({m, 0, kRows}, w, out.data(), 1)) << i << " " << k;
        columns[k] = good;
      }
    }
  }
}

TEST_P(KernelContract, RunsOfFullRows) {
  constexpr std::uint64_t kFeatures = 21, kRows = 3;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i <= kRows; ++i) offsets.push_back(i * kFeatures);
  std::vector<std::uint32_t> columns(kFeatures);
  std::iota(columns.begin(), columns.end(), 0U);
  std::vector<float> values(kRows * kFeatures);
  std::iota(values.begin(), values.end(), -20.25F);
  std::vector<double> w(kFeatures);
  std::iota(w.begin(), w.end(), 0.1);
  const CsrView<float> m = {kRows, kFeatures, offsets.data(), columns.data(), values.data(), true};
  for (const std::size_t known : {0U, 13U, 21U}) {
    std::vector<double> out(kRows);
    EXPECT_TRUE(GetParam()->dot_rows({m, 0, kRows}, std::span(w).first(known), out.data(), 1));
    for (std::uint64_t i = 0; i < kRows; ++i) {
      SparseRow<float> row = row_of(m, i);
      row.size = known;
      EXPECT_TRUE(same_bits(out[i], reference_dot(row, w.data()))) << known << " " << i;
    }
  }
}

// To 1e-15 of the library's, and the bits of the scalar loop, wherever a number stands in the
// array.
TEST_P(KernelContract, ExponentialsOfNumbersBelowZero) {
  std::vector<double> x = {0.0,
                           -0.0,
                           -5e-324,
                           -1e-300,
                           -1e-17,
                           -0.34657359027997264,
                           -1.0,
                           -707.99,
                           -708.0,
                           -708.1,
                           -745.0,
                           -1e300,
                           -std::numeric_limits<double>::infinity()};
  Random random(3);
  for (int k = 0; k < 20000; ++k) x.push_back(-720 * random.uniform() * random.uniform());
  std::vector<double> all = x, scalar = x;
  GetParam()->exp_all(all.data(), all.size());
  available_simd().front()->exp_all(scalar.data(), scalar.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = x[k] < -708 ? 0.0 : std::exp(x[k]);
    ASSERT_LE(std::abs(all[k] - expected), 1e-15 * expected) << x[k];
    ASSERT_TRUE(same_bits(all[k], scalar[k])) << x[k];
  }
  EXPECT_EQ(all[0], 1.0);
  for (std::size_t size = 0; size < 10; ++size) {
    std::vector<double> part(x.begin() + 100, x.begin() + 110);
    GetParam()->exp_all(part.data(), size);
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_TRUE(same_bits(part[k], k < size ? all[100 + k] : x[100 + k])) << size;
    }
  }
}

// What is written out here for one element, for any number of them: the same bits.
TEST_P(KernelContract, CornersMatchTheDefinition) {
  Random random(5);
  for (const bool costs : {false, true}) {
    for (std::size_t size = 0; size < 40; ++size) {
      std::vector<double> z(size), d(size), centre(size), cost(size), moved(size), status(size);
      for (std::size_t k = 0; k < size; ++k) {
        z[k] = 4 * random.uniform() - 1;
        d[k] = random.uniform() - 0.5;
        centre[k] = random.uniform();
        cost[k] = costs ? random.uniform() : 1.0;
      }
      const Corners corners = {z.data(), d.data(), centre.data(), costs ? cost.data() : nullptr,
                               size,     0.7};
      constexpr double kStep = 0.3;
      double slope[8] = {}, loss[8] = {}, sum[8] = {}, product[8] = {};
      const CornerSums sums = GetParam()->corner_move(corners, kStep, moved.data(), status.data());
      for (std::size_t k = 0; k < size; ++k) {
        const double slack = 1 - (z[k] + kStep * d[k]);
        const double s = std::min(1.0, std::max(0.0, centre[k] + 0.7 * slack));
        ASSERT_TRUE(same_bits(moved[k], z[k] + kStep * d[k]));
        ASSERT_TRUE(same_bits(status[k], s));
        slope[k % 8] += d[k] * s * cost[k];
        loss[k % 8] += cost[k] * std::max(0.0, slack);
        sum[k % 8] += cost[k] * s;
        product[k % 8] += cost[k] * s * slack;
      }
      const auto total = [](const double* l) {
        return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
      };
      EXPECT_EQ(GetParam()->corner_slope(corners, kStep), total(slope)) << size;
      EXPECT_EQ(sums.loss, total(loss)) << size;
      EXPECT_EQ(sums.status, total(sum)) << size;
      EXPECT_EQ(sums.product, total(product)) << size;
    }
  }
}

// Any number of rows, with and without costs, variables at their bounds and between them.
TEST_P(KernelContract, BoxedRowsMatchTheDefinition) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kCost = 0.6, kStep = 0.3;
  Random random(6);
  for (const bool costs : {false, true}) {
    for (std::size_t size = 0; size < 40; ++size) {
      std::vector<double> g(size), to(size), alpha(size), factor(size), slack(size), expected(size);
      double loss[8] = {}, sum[8] = {}, squares[8] = {}, along[8] = {}, to_zero[8] = {};
      for (std::size_t k = 0; k < size; ++k) {
        factor[k] = costs ? static_cast<double>(random.below(3)) : 1.0;
        const double upper = kCost * factor[k];
        const double shares[] = {0.0, random.uniform(), 1.0};
        alpha[k] = upper * shares[random.below(3)];
        g[k] = 2 * random.uniform() - 1;
        to[k] = 2 * random.uniform() - 1;
        expected[k] = alpha[k] <= 0 ? g[k] : alpha[k] >= upper ? -g[k] : -kInfinity;
        loss[k % 8] += upper * std::max(0.0, -g[k]);
        sum[k % 8] += alpha[k];
        const bool down = g[k] < 0 && alpha[k]<upper, up = g[k]> 0 && alpha[k] > 0;
        squares[k % 8] += down || up ? g[k] * g[k] : 0;
        along[k % 8] += factor[k] * std::max(0.0, -(g[k] + kStep * (to[k] - g[k])));
        to_zero[k % 8] += factor[k] * std::max(0.0, -(g[k] + kStep * (-1 - g[k])));
      }
      const double* const c = costs ? factor.data() : nullptr;
      const DualRows rows = {g.data(), alpha.data(), c, size, kCost};
      const DualSums sums = GetParam()->weigh(rows);
      const auto total = [](const double* l) {
        return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
      };
      EXPECT_EQ(sums.loss, total(loss)) << size;
      EXPECT_EQ(sums.alpha, total(sum)) << size;
      EXPECT_EQ(sums.squares, total(squares)) << size;
      GetParam()->slacks(rows, slack.data());
      EXPECT_EQ(slack, expected) << size;
      EXPECT_EQ(GetParam()->loss_along(g.data(), to.data(), c, size, kStep), total(along)) << size;
      EXPECT_EQ(GetParam()->loss_along(g.data(), nullptr, c, size, kStep), total(to_zero)) << size;
    }
  }
}

TEST_P(KernelContract, GradientsAreThoseOfEachRow) {
  const std::vector<std::uint64_t> offsets = {0, 3, 3, 20, 28};
  std::vector<std::uint32_t> columns;
  std::vector<float> values;
  Random random(9);
  for (const std::uint32_t size : {3U, 0U, 17U, 8U}) {
    for (std::uint32_t k = 0; k < size; ++k) {
      columns.push_back(2 * k + static_cast<std::uint32_t>(random.below(2)));
      values.push_back(static_cast<float>(random.uniform()) - 0.5F);
    }
  }
  std::vector<double> w(40), out(3);
  for (double& x : w) x = random.uniform() - 0.5;
  const std::vector<std::int8_t> y = {1, -1, -1, 1};
  const CsrView<float> m = {.rows = 4,
                            .features = w.size(),
                            .offsets = offsets.data(),
                            .columns = columns.data(),
                            .values = values.data()};
  GetParam()->gradients(m, 1, 4, y.data(), w.data(), 0.25, out.data());
  for (std::uint64_t i = 1; i < 4; ++i) {
    const double score = reference_dot(row_of(m, i), w.data()) + 0.25;
    EXPECT_TRUE(same_bits(out[i - 1], y[i] * score - 1)) << i;
  }
}

// A row as descent sees it: as it is, or in 16 bits and to be multiplied.
template <class Weight>
struct SeenRow {
  std::vector<Weight> x;
  double scale = 1, square = 0;
};

struct DescentCase {
  bool costs, constant, full, shorts;
};

// Visits written out one by one, forward and back, with and without row costs, a constant column,
// a stride and sleep; rows that have all columns and others; the first of them in 16 bits.
template <class Value, class Weight>
void check_descent(const Simd& simd, const DescentCase& with) {
  constexpr std::size_t kRows = 40, kColumns = 30, kShort = 25, kWith = Quantisation::kPlaces;
  Random random(11);
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;
  std::vector<double> factor;
  std::vector<Weight> w(kColumns);
  std::vector<DescentRow> rows;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const std::uint64_t offset = values.size();
    for (std::uint32_t j = 0; j < kColumns && (i % 9 != 0 || with.full); ++j) {  // some are empty
      if (!with.full && random.below(3) == 0) continue;
      if (!with.full || i == 0) columns.push_back(j);
      values.push_back(static_cast<Value>(random.uniform() - 0.5));
    }
    factor.push_back(1 + static_cast<double>(random.below(2)));
    const auto size = static_cast<std::uint32_t>(values.size() - offset);
    const bool asleep = i % 7 == 3;
    rows.push_back({i, offset, size, static_cast<std::int8_t>(i % 2 == 0 ? 1 : -1), asleep, 0.0,
                    DescentRow::kUnknown});
  }
  std::vector<SeenRow<Weight>> seen(kRows);
  std::vector<std::int16_t> shorts(values.size() + kWith * kRows + 7);
  for (const DescentRow& row : rows) {
    SeenRow<Weight>& to = seen[row.row];
    const SparseRow<Value> x = {nullptr, values.data() + row.offset, row.size};
    for (std::size_t k = 0; k < x.size; ++k) to.x.push_back(static_cast<Weight>(x.values[k]));
    to.square = square_in_lanes(x);
    if constexpr (std::is_same_v<Value, double>) {
      if (!with.shorts || row.row >= kShort) continue;
      std::int16_t* const at = shorts.data() + row.offset + kWith * row.row;
      const Quantisation short_row = simd.quantise(x.values, x.size, at + kWith);
      std::memcpy(at, &short_row, sizeof short_row);
      for (std::size_t k = 0; k < x.size; ++k) to.x[k] = static_cast<Weight>(at[kWith + k]);
      to.scale = static_cast<double>(short_row.scale);
      to.square = static_cast<double>(short_row.square);
    }
  }
  std::vector<DescentRow> expected = rows;
  std::vector<Weight> expected_w = w;
  Descent<Value, Weight> descent = {.columns = columns.data(),
                                    .values = values.data(),
                                    .full = with.full,
                                    .factor = with.costs ? factor.data() : nullptr,
                                    .cost = 0.7,
                                    .rest = std::numeric_limits<double>::infinity(),
                                    .w = w.data()};
  if (with.shorts) {
    descent.shorts = shorts.data();
    descent.short_rows = kShort;
  }
  if (with.constant) descent.gain = descent.unit = 0.5;
  double v = 0, estimate = 0, squares = 0;
  std::uint64_t visits = 0, awake = 0, inside = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const bool backward = epoch == 2;
    descent.stride = epoch == 1 ? 1.25 : 1;
    if (epoch == 3) descent.rest = 0.1;
    simd.descend(descent, backward ? &rows.back() : rows.data(), kRows, backward ? -1 : 1);
    for (std::size_t k = 0; k < kRows; ++k) {
      DescentRow& row = expected[backward ? kRows - 1 - k : k];
      if (row.asleep) continue;
      ++visits;
      const SeenRow<Weight>& x = seen[row.row];
      const std::uint32_t* const c = columns.data() + (with.full ? 0 : row.offset);
      const double upper = with.costs ? 0.7 * factor[row.row] : 0.7;
      row.curvature = x.square + (with.constant ? 0.25 : 0.0);
      if (row.curvature == 0) {
        row.alpha = upper;
        if (epoch == 0) continue;
      }
      const SparseRow<Weight> entries = {c, x.x.data(), x.x.size()};
      const double inner = static_cast<double>(reference_dot(entries, expected_w.data())) * x.scale;
      const double g = row.y * (inner + (with.constant ? 0.5 * v : 0.0)) - 1;
      estimate += upper * std::max(0.0, -g) + row.alpha * g;
      const double to = row.alpha <= 0       ? std::min(g, 0.0)
                        : row.alpha >= upper ? std::max(g, 0.0)
                                             : g;
      squares += to * to;
      row.asleep =
          (row.alpha <= 0 && g > descent.rest) || (row.alpha >= upper && g < -descent.rest);
      if (row.asleep) continue;
      ++awake;
      if (to == 0) continue;
      const double next = std::clamp(row.alpha - descent.stride * g / row.curvature, 0.0, upper);
      const double a = (next - row.alpha) * row.y;
      for (std::size_t e = 0; e < x.x.size(); ++e) {
        expected_w[c[e]] += static_cast<Weight>(a * x.scale) * x.x[e];
      }
      if (with.constant) v += a * 0.5;
      inside += next > 0 && next < upper ? 1 : 0;
      row.alpha = next;
    }
  }
  EXPECT_EQ(w, expected_w);
  EXPECT_EQ(descent.v, v);
  EXPECT_EQ(descent.estimate, estimate);
  EXPECT_EQ(descent.squares, squares);
  EXPECT_EQ(descent.visits, visits);
  EXPECT_EQ(descent.awake, awake);
  EXPECT_EQ(descent.inside, inside);
  bool slept = false;
  for (std::size_t k = 0; k < kRows; ++k) {
    EXPECT_EQ(rows[k].alpha, expected[k].alpha) << k;
    EXPECT_EQ(rows[k].asleep, expected[k].asleep) << k;
    slept = slept || (rows[k].asleep && k % 7 != 3);
  }
  EXPECT_TRUE(slept);
}

TEST_P(KernelContract, DescentMatchesTheDefinition) {
  for (int bits = 0; bits < 8; ++bits) {
    DescentCase with = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, false};
    check_descent<float, double>(*GetParam(), with);
    check_descent<double, double>(*GetParam(), with);
    check_descent<float, float>(*GetParam(), with);
    check_descent<double, float>(*GetParam(), with);
    with.shorts = true;
    check_descent<double, float>(*GetParam(), with);
  }
}

TEST_P(KernelContract, ShortensToNearestWholeNumbers) {
  Random random(14);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<double> x(size);
    for (double& value : x) value = 8 * random.uniform() - 4;
    if (size % 5 == 0) std::ranges::fill(x, 0.0);
    std::vector<std::int16_t> out(size), same(size);
    const Quantisation got = GetParam()->quantise(x.data(), size, out.data()),
                       scalar = available_simd()[0]->quantise(x.data(), size, same.data());
    EXPECT_EQ(got.square, scalar.square);
    EXPECT_EQ(out, same);
    double most = 0, square = 0;
    for (const double value : x) {
      most = std::max(most, std::abs(value));
      square += value * value;
    }
    EXPECT_EQ(got.scale, static_cast<float>(most / 32767));
    EXPECT_FLOAT_EQ(got.square, static_cast<float>(square));
    for (std::size_t k = 0; k < size; ++k) {
      const auto scale = static_cast<double>(got.scale);
      EXPECT_LE(std::abs(x[k] - scale * out[k]), 0.5 * scale * (1 + 1e-9)) << k;
    }
  }
}

TEST_P(KernelContract, BlendsOfVectors) {
  Random random(12);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<double> x(size), y(size), expected(size);
    double lanes[8] = {};
    for (std::size_t k = 0; k < size; ++k) {
      x[k] = random.uniform() - 0.5;
      y[k] = random.uniform() - 0.5;
      expected[k] = y[k] + 0.3 * (x[k] - y[k]);
      lanes[k % 8] += expected[k] * expected[k];
    }
    const double square = GetParam()->blend_dense(0.3, x.data(), y.data(), size);
    EXPECT_EQ(y, expected) << size;
    EXPECT_EQ(square, ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                          ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7])))
        << size;
  }
}

TEST_P(KernelContract, FullRowsMatchTheDefinition) {
  Random random(9);
  for (const std::size_t size : {8U, 24U, 64U}) {
    for (std::size_t count = 0; count < 10; ++count) {
      std::vector<std::vector<float>> values(count, std::vector<float>(size));
      std::vector<const float*> rows;
      std::vector<double> w(size), a(count), out(count);
      for (auto& row : values) {
        for (float& x : row) x = static_cast<float>(random.uniform() - 0.5);
        rows.push_back(row.data());
      }
      for (double& x : w) x = random.uniform() - 0.5;
      for (double& x : a) x = random.uniform() - 0.5;
      std::vector<std::uint32_t> columns(size);
      for (std::uint32_t j = 0; j < size; ++j) columns[j] = j;
      GetParam()->dot_full(rows.data(), count, w.data(), size, out.data());
      std::vector<double> expected = w;
      for (std::size_t r = 0; r < count; ++r) {
        const SparseRow<float> row = {columns.data(), values[r].data(), size};
        EXPECT_TRUE(same_bits(out[r], reference_dot(row, w.data())));
        for (std::size_t j = 0; j < size; ++j) expected[j] += a[r] * values[r][j];
      }
      GetParam()->add_full(rows.data(), a.data(), count, w.data(), size);
      EXPECT_EQ(w, expected);
    }
  }
}

TEST_P(KernelContract, ProductsMatchTheDefinition) {
  constexpr std::size_t kDepth = 21, kStride = 16;
  Random random(11);
  std::vector<double> a(4 * kDepth), b(8 * kDepth), c(4 * kStride);
  for (auto* v : {&a, &b, &c}) {
    for (double& x : *v) x = random.uniform() - 0.5;
  }
  std::vector<double> expected = c;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kDepth; ++k) sum += a[4 * k + i] * b[8 * k + j];
      expected[i * kStride + j] += sum;
    }
  }
  GetParam()->add_product(a.data(), b.data(), kDepth, c.data(), kStride);
  EXPECT_EQ(c, expected);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, KernelContract,
                         ::testing::ValuesIn(available_simd().begin(), available_simd().end()),
                         [](const auto& instance) { return std::string(instance.param->name); });

}  // namespace
}  // namespace hinge
