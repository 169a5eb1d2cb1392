// The contract of descent's inner loops: the bits of the written-out definition.
#include "solve/dual/descent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "simd_reference.h"

namespace hinge {
namespace {

using DescentContract = testing::ForEveryIsa;

// Any number of rows, with and without costs, variables at their bounds and between them.
TEST_P(DescentContract, SumsMatchTheDefinition) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kCost = 0.6, kStep = 0.3;
  const DescentLoops& loops = descent_loops(simd(), LossKind::hinge);
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
      const DualSums sums = loops.sums(rows);
      EXPECT_EQ(sums.loss, testing::sum_of_lanes(loss)) << size;
      EXPECT_EQ(sums.gain, testing::sum_of_lanes(sum)) << size;
      EXPECT_EQ(sums.squares, testing::sum_of_lanes(squares)) << size;
      loops.slacks(rows, slack.data());
      EXPECT_EQ(slack, expected) << size;
      EXPECT_EQ(loops.loss_along(LossKind::hinge, g.data(), to.data(), c, size, kStep),
                testing::sum_of_lanes(along))
          << size;
      EXPECT_EQ(loops.loss_along(LossKind::hinge, g.data(), nullptr, c, size, kStep),
                testing::sum_of_lanes(to_zero))
          << size;
    }
  }
}

TEST_P(DescentContract, GradientsAreThoseOfEachRow) {
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
  descent_loops(simd(), LossKind::hinge)
      .gradients(m, 1, 4, y.data(), nullptr, w.data(), 0.25, out.data());
  for (std::uint64_t i = 1; i < 4; ++i) {
    const double score = testing::reference_dot(row_of(m, i), w.data()) + 0.25;
    EXPECT_TRUE(testing::same_bits(out[i - 1], y[i] * score - 1)) << i;
  }
}

// A row as descent sees it: as it is, or in 16 bits and to be multiplied.
template <class Weight>
struct SeenRow {
  std::vector<Weight> x;
  double scale = 1, square = 0;
};

struct DescentCase {
  bool costs, constant, full, quantised;
};

// Visits written out one by one, forward and back, with and without row costs, a constant column,
// a stride, a stiffness and sleep; rows that have all columns and others; the first of them in 16
// bits.
template <class Value, class Weight>
void check_descent(const Simd& simd, const DescentCase& with) {
  constexpr std::size_t kRows = 40, kColumns = 30, kQuantised = 25, kWith = Quantisation::kPlaces;
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
  std::vector<std::int16_t> quantised(values.size() + kWith * kRows + 7);
  for (const DescentRow& row : rows) {
    SeenRow<Weight>& to = seen[row.row];
    const SparseRow<Value> x = {nullptr, values.data() + row.offset, row.size};
    for (std::size_t k = 0; k < x.size; ++k) to.x.push_back(static_cast<Weight>(x.values[k]));
    to.square = square_in_lanes(x);
    if constexpr (std::is_same_v<Value, double>) {
      if (!with.quantised || row.row >= kQuantised) continue;
      std::int16_t* const at = quantised.data() + row.offset + kWith * row.row;
      const Quantisation quantisation = simd.quantise(x.values, x.size, at + kWith);
      std::memcpy(at, &quantisation, sizeof quantisation);
      for (std::size_t k = 0; k < x.size; ++k) to.x[k] = static_cast<Weight>(at[kWith + k]);
      to.scale = static_cast<double>(quantisation.scale);
      to.square = static_cast<double>(quantisation.square);
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
  if (with.quantised) {
    descent.quantised = quantised.data();
    descent.quantised_rows = kQuantised;
  }
  if (with.constant) descent.gain = descent.unit = 0.5;
  double v = 0, estimate = 0, squares = 0;
  std::uint64_t visits = 0, awake = 0, inside = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const bool backward = epoch == 2;
    descent.stride = epoch == 1 ? 1.25 : epoch == 2 ? 0.5 : 1;
    descent.stiffness = epoch == 2 ? 2.5 : 1;
    if (epoch == 3) descent.rest = 0.1;
    descent_loops(simd, LossKind::hinge)
        .descend(descent, backward ? &rows.back() : rows.data(), kRows, backward ? -1 : 1);
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
      const double inner =
          static_cast<double>(testing::reference_dot(entries, expected_w.data())) * x.scale;
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
      const double a = (next - row.alpha) * row.y * descent.stiffness;
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

TEST_P(DescentContract, DescentMatchesTheDefinition) {
  for (int bits = 0; bits < 8; ++bits) {
    DescentCase with = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, false};
    check_descent<float, double>(simd(), with);
    check_descent<double, double>(simd(), with);
    check_descent<float, float>(simd(), with);
    check_descent<double, float>(simd(), with);
    with.quantised = true;
    check_descent<double, float>(simd(), with);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, DescentContract, testing::every_isa(),
                         testing::name_of_isa);

}  // namespace
}  // namespace hinge
