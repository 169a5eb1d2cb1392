// Who is predicted when: folds are disjoint by being one number a row; here they are of the right
// sizes, and keep together what belongs together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hinge/tune.h"
#include "labelled_rows.h"
#include "support.h"

namespace hinge {
namespace {

using Groups = std::vector<std::uint64_t>;

std::vector<int> dealt(const Dataset& data, const FoldOptions& how, std::uint64_t seed = 1) {
  return deal_folds(data, how, data.label_kind() != LabelKind::targets, seed).value();
}

std::string refused(const Dataset& data, const FoldOptions& how) {
  const Result<std::vector<int>> part = deal_folds(data, how, true, 1);
  return part.ok() ? "" : part.error().id;
}

// Rows of each class in each fold.
std::map<std::int64_t, std::vector<int>> counts(const Dataset& data, const std::vector<int>& part,
                                                int folds) {
  std::map<std::int64_t, std::vector<int>> all;
  for (std::size_t i = 0; i < part.size(); ++i) {
    std::vector<int>& of_class = all[data.labels()[i]];
    of_class.resize(static_cast<std::size_t>(folds));
    if (part[i] >= 0) ++of_class[static_cast<std::size_t>(part[i])];
  }
  return all;
}

TEST(Folds, HaveTheSameShareOfEveryClassAndAreAFunctionOfTheSeed) {
  const Dataset data = testing::random_dataset({.rows = 403, .classes = 3});
  const std::vector<int> part = dealt(data, {.folds = 4});
  ASSERT_EQ(part.size(), 403U);
  for (const auto& [label, rows] : counts(data, part, 4)) {
    const auto [least, most] = std::ranges::minmax(rows);
    EXPECT_LE(most - least, 1) << label;
  }
  EXPECT_EQ(dealt(data, {.folds = 4}), part);
  EXPECT_NE(dealt(data, {.folds = 4}, 2), part);
}

TEST(Folds, KeepGroupsTogether) {
  const Dataset data = testing::random_dataset({.rows = 600, .classes = 2});
  Groups groups;
  for (std::uint64_t i = 0; i < 600; ++i) groups.push_back(1000 + (i * i + i / 7) % 60);
  const FoldOptions how = {.folds = 5, .groups = groups};
  const std::vector<int> part = dealt(data, how);
  std::map<std::uint64_t, std::set<int>> folds_of;
  for (std::size_t i = 0; i < 600; ++i) folds_of[groups[i]].insert(part[i]);
  for (const auto& [group, folds] : folds_of) EXPECT_EQ(folds.size(), 1U) << group;
  for (const auto& [label, rows] : counts(data, part, 5)) {
    const auto all = static_cast<int>(std::ranges::count(data.labels(), label));
    for (const int some : rows) EXPECT_LE(std::abs(some - all / 5), all / 20) << label;
  }
  EXPECT_EQ(dealt(data, how), part);
}

TEST(Folds, InTheOrderOfTimeLookBackOnly) {
  const Dataset data = testing::random_dataset({.rows = 100, .classes = 2});
  const std::vector<int> part = dealt(data, {.folds = 4, .time_order = true});
  EXPECT_TRUE(std::ranges::is_sorted(part));
  EXPECT_EQ(part.front(), -1);
  EXPECT_EQ(part.back(), 3);
  for (int fold = -1; fold < 4; ++fold) EXPECT_EQ(std::ranges::count(part, fold), 20) << fold;
}

TEST(Folds, Refused) {
  const Dataset data = testing::labelled(std::vector<std::int64_t>{1, 1, 1, 1, 2, 2, 2});
  EXPECT_EQ(refused(data, {.folds = 1}), "usage.value");
  EXPECT_EQ(refused(data, {.folds = 4}), "data.folds");
  EXPECT_EQ(refused(data, {.folds = 2, .groups = {1, 2}}), "data.groups");
  EXPECT_EQ(refused(data, {.folds = 2, .groups = {1, 1, 1, 1, 1, 1, 1}}), "data.folds");
  // All of class 2 is in one group: whoever predicts that has not seen the class.
  EXPECT_EQ(refused(data, {.folds = 2, .groups = {1, 2, 3, 4, 5, 5, 5}}), "data.folds");
  EXPECT_EQ(refused(data, {.folds = 2, .groups = {1, 2, 3, 4, 5, 6, 7}, .time_order = true}),
            "usage.value");
  EXPECT_EQ(refused(data, {.folds = 2, .time_order = true}), "data.folds");  // 1 comes first
  EXPECT_EQ(refused(data, {.folds = 2, .groups = {1, 2, 3, 4, 5, 6, 7}}), "");
}

TEST(Folds, GroupsAreLinesOfAnything) {
  const testing::TempFolder folder(testing::memory_folder());
  testing::write_file(folder / "g", "anna\r\nbob\n\nanna\nbob");
  EXPECT_EQ(read_groups(folder / "g", 5).value(), (Groups{0, 1, 2, 0, 1}));
  EXPECT_EQ(read_groups(folder / "g", 4).error().id, "data.groups");
  EXPECT_EQ(read_groups(folder / "g", 6).error().id, "data.groups");
  testing::write_file(folder / "long", std::string(100000, 'x'));
  EXPECT_EQ(read_groups(folder / "long", 1).error().id, "limit.line-bytes");
  EXPECT_EQ(read_groups(folder / "none", 4).error().id, "io.open");
  std::string many;
  for (int i = 0; i < 40000; ++i) many += "group number " + std::to_string(i % 7) + "\n";
  testing::write_file(folder / "many", many);
  const Groups groups = read_groups(folder / "many", 40000).value();
  for (std::size_t i = 0; i < groups.size(); ++i) ASSERT_EQ(groups[i], i % 7);
}

}  // namespace
}  // namespace hinge
