// The books of the planes: their products, their slots, and rows that change sides.
#include "solve/planes/planes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "rows/memory_rows.h"
#include "solve/planes/plane_slots.h"
#include "support.h"

namespace hinge {
namespace {

double product_of(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

TEST(GramMatrix, IsThatOfTheVectors) {
  Random random(3);
  std::vector<std::vector<double>> a(4, std::vector<double>(5));
  for (auto& vector : a) {
    for (double& x : vector) x = 2 * random.uniform() - 1;
  }
  GramMatrix gram(a.size());
  const auto fill = [&] {
    for (std::size_t j = 0; j < a.size(); ++j) {
      for (std::size_t k = 0; k <= j; ++k) gram.set(j, k, product_of(a[j], a[k]));
    }
  };
  const auto check = [&](const char* what) {
    ASSERT_EQ(gram.values().size(), a.size() * a.size());
    for (std::size_t j = 0; j < a.size(); ++j) {
      for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_NEAR(gram(j, k), product_of(a[j], a[k]), 1e-14) << what;
        EXPECT_EQ(gram(j, k), gram.row(k)[j]) << what;
        EXPECT_EQ(gram(j, k), gram.values()[j * gram.slots() + k]) << what;
      }
    }
  };
  fill();
  check("as set");
  for (std::size_t j = 0; j < 5; ++j) a[1][j] = 0.25 * a[1][j] + 0.75 * a[3][j];
  a[3].assign(5, 0.0);
  gram.merge(1, 3, 0.25, 0.75);
  check("merged");
  a.resize(7, std::vector<double>(5));
  gram.grow(7);
  check("grown");
  a[0].assign(5, 0.0);
  gram.clear(0);
  check("cleared");
}

TEST(Flips, StayInOrder) {
  Flips flips, more;
  flips.add(2, 1.0);
  flips.add(5, -2.0);
  more.add(9, 4.0);
  flips.append(more);
  flips.add_to(5, 0.5);   // there already
  flips.add_to(0, 7.0);   // before all
  flips.add_to(11, 8.0);  // behind all
  EXPECT_FALSE(flips.rows.all);
  EXPECT_EQ(flips.rows.list, (std::vector<std::uint64_t>{0, 2, 5, 9, 11}));
  EXPECT_EQ(flips.weights, (std::vector<double>{7.0, 1.0, -1.5, 4.0, 8.0}));
  EXPECT_EQ(flips.size(), 5U);
}

// Planes of random statuses, and the slots they are in.
class PlaneSlotsTest : public ::testing::TestWithParam<PlaneLayout> {
 protected:
  static constexpr std::size_t kSlots = 3;

  PlaneSlotsTest() {
    std::vector<double> w(rows_.shape().dimension);
    planes_.begin(w);
  }
  void lay() {
    std::vector<double> statuses(data_.rows());
    for (double& s : statuses) s = random_.uniform();
    const std::size_t slot = slots_.take();
    slots_.add_newest(slot, planes_.lay_other(slot, statuses));
    newest_ = slot;
  }
  // The bound of these weights.
  double bound() const {
    double linear = 0, square = 0;
    for (std::size_t j = 0; j < slots_.slots(); ++j) {
      linear += slots_.beta()[j] * slots_.b()[j];
      for (std::size_t k = 0; k < slots_.slots(); ++k) {
        square += slots_.beta()[j] * slots_.beta()[k] * planes_.gram()(j, k);
      }
    }
    return linear - square / 2;
  }

  const Dataset data_ = testing::random_dataset({.rows = 30, .features = 8, .nonzeros = 4});
  const std::vector<std::int8_t> y_ = signs(data_, 1);
  const Problem problem_ = {.data = &data_, .y = y_};
  Pool pool_{1};
  MemoryRows rows_{data_, 0, best_simd(), pool_};
  SignedRows signed_rows_{problem_, rows_, best_simd(), pool_};
  Planes planes_{signed_rows_, kSlots, GetParam()};
  PlaneSlots slots_{planes_, kSlots, 2 * kSlots - 1};
  Random random_{5};
  std::size_t newest_ = 0;
};

TEST_P(PlaneSlotsTest, GrowThenDropThenMerge) {
  for (std::size_t k = 0; k < kSlots; ++k) lay();
  EXPECT_EQ(slots_.slots(), kSlots);
  lay();  // one more than there is room for
  EXPECT_EQ(slots_.slots(), 2 * kSlots - 1);
  EXPECT_EQ(planes_.gram().slots(), 2 * kSlots - 1);
  lay();
  EXPECT_EQ(slots_.count(), slots_.slots());
  EXPECT_EQ(slots_.used(), slots_.slots());

  // Two have a part in the bound; the newest is never dropped, though it has none.
  slots_.beta()[0] = 0.01;
  slots_.beta()[2] = 0.02;
  const std::size_t kept = newest_;
  const double bound_before = bound();
  lay();
  EXPECT_EQ(slots_.count(), 4U);
  EXPECT_TRUE(slots_.taken()[0] && slots_.taken()[2] && slots_.taken()[kept]);
  EXPECT_GT(planes_.gram()(kept, kept), 0);
  EXPECT_EQ(bound(), bound_before);

  // All have a part: the two oldest become one, and the bound stays.
  lay();
  for (std::size_t k = 0; k < slots_.slots(); ++k) {
    slots_.beta()[k] = 0.001 * static_cast<double>(k + 1);
  }
  const double full = bound();
  const std::vector<double> before = planes_.statuses(slots_.beta());
  const std::size_t freed = slots_.take();
  EXPECT_EQ(slots_.count(), slots_.slots() - 1);
  EXPECT_EQ(slots_.beta()[freed], 0.0);
  EXPECT_EQ(slots_.b()[freed], 0.0);
  EXPECT_NEAR(bound(), full, 1e-13 * std::abs(full));
  const std::vector<double> after = planes_.statuses(slots_.beta());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-15);
  double sum = 0;
  for (const double beta : slots_.beta()) sum += beta;
  EXPECT_NEAR(sum, 0.001 * 15, 1e-17);
}

TEST_P(PlaneSlotsTest, FreeSlotsHaveNoWeight) {
  lay();
  lay();
  for (double& beta : slots_.beta()) beta = 1;
  slots_.clear_free();
  EXPECT_EQ(std::vector<double>(slots_.beta().begin(), slots_.beta().end()),
            (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(slots_.used(), 2U);
}

TEST_P(PlaneSlotsTest, TheOldestIsMergedFirst) {
  lay();
  std::vector<double> statuses(data_.rows(), 1.0);
  const std::size_t slot = slots_.take();
  slots_.add_oldest(slot, planes_.lay_other(slot, statuses), 0.5);
  EXPECT_EQ(slots_.beta()[slot], 0.5);
  for (std::size_t k = 2; k < 2 * kSlots - 1; ++k) lay();
  for (double& beta : slots_.beta()) beta = 0.1;
  EXPECT_EQ(slots_.take(), 0U);  // it became a part of the older one
  EXPECT_NEAR(slots_.beta()[slot], 0.2, 1e-17);
}

// What a damaged checkpoint may hold.
TEST_P(PlaneSlotsTest, ArchiveRefusesWhatDoesNotHoldTogether) {
  lay();
  lay();
  const std::vector<std::byte> good = state_of(slots_);
  restore(slots_, good);
  EXPECT_EQ(slots_.count(), 2U);
  const std::size_t ages = good.size() - 2 * sizeof(std::size_t);
  std::vector<std::byte> bad = good;
  bad[ages] = std::byte{9};  // no such slot
  EXPECT_THROW(restore(slots_, bad), Failure);
  bad = good;
  bad[ages] = bad[ages + sizeof(std::size_t)];  // one slot twice
  EXPECT_THROW(restore(slots_, bad), Failure);
}

INSTANTIATE_TEST_SUITE_P(EveryLayout, PlaneSlotsTest,
                         ::testing::Values(PlaneLayout::columns, PlaneLayout::rows,
                                           PlaneLayout::rows_and_vectors),
                         [](const auto& instance) {
                           return std::string(instance.param == PlaneLayout::columns ? "columns"
                                              : instance.param == PlaneLayout::rows
                                                  ? "rows"
                                                  : "rows_and_vectors");
                         });

}  // namespace
}  // namespace hinge
