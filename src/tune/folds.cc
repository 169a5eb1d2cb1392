#include "tune/folds.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/columns.h"
#include "files/source.h"
#include "hinge/tune.h"

namespace hinge {
namespace {

constexpr std::uint64_t kFoldStream = 0x666f6c64;

std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  Random random(seed, kFoldStream);
  random.shuffle(std::span(all));
  return all;
}

// The part of every row: rows are shuffled, brought together by class if there are `classes`, and
// dealt out in turn.
std::vector<int> deal(const Dataset& data, bool classes, int folds, std::uint64_t seed) {
  std::vector<std::uint64_t> rows = shuffled(data.rows(), seed);
  if (classes)
    std::ranges::stable_sort(rows, {}, [&](std::uint64_t i) { return data.labels()[i]; });
  std::vector<int> part(data.rows());
  int next = 0;
  for (const std::uint64_t i : rows) part[i] = std::exchange(next, (next + 1) % folds);
  return part;
}

// Successive blocks of equal size; nobody predicts the first.
std::vector<int> deal_in_order(std::uint64_t rows, int folds) {
  std::vector<int> part(rows);
  const auto blocks = static_cast<std::uint64_t>(folds) + 1;
  for (std::uint64_t i = 0; i < rows; ++i) part[i] = static_cast<int>(i * blocks / rows) - 1;
  return part;
}

// Groups, the largest first, each to the fold that has least of what it brings: with n of a fold, g
// of the group and N of all rows of class c, sum_c ((n_c + g_c)/N_c)^2 over the folds grows least
// where sum_c n_c g_c/N_c^2 is least.
class GroupDealer {
 public:
  GroupDealer(const Dataset& data, std::span<const std::uint64_t> groups, bool classes, int folds)
      : folds_(folds) {
    std::unordered_map<std::uint64_t, std::size_t> places;
    std::map<std::int64_t, std::size_t> of_class;
    for (std::uint64_t i = 0; i < data.rows(); ++i) {
      const std::size_t group = places.try_emplace(groups[i], counts_.size()).first->second;
      if (group == counts_.size()) counts_.emplace_back();
      group_of_.push_back(group);
      const std::int64_t label = classes ? data.labels()[i] : 0;
      ++counts_[group][of_class.try_emplace(label, of_class.size()).first->second];
    }
    totals_.resize(of_class.size());
    for (const Counts& counts : counts_) {
      for (const auto& [c, rows] : counts) totals_[c] += static_cast<double>(rows);
    }
  }

  std::size_t groups() const { return counts_.size(); }

  std::vector<int> deal(std::uint64_t seed) {
    std::vector<std::uint64_t> order = shuffled(counts_.size(), seed);
    const auto size = [&](std::uint64_t group) {
      std::uint64_t rows = 0;
      for (const auto& [c, count] : counts_[group]) rows += count;
      return rows;
    };
    std::ranges::stable_sort(order, std::greater<>(), size);
    std::vector<std::vector<double>> have(static_cast<std::size_t>(folds_),
                                          std::vector<double>(totals_.size()));
    std::vector<int> fold_of(counts_.size());
    for (const std::uint64_t group : order) {
      std::size_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t f = 0; f < have.size(); ++f) {
        double grows = 0;
        for (const auto& [c, rows] : counts_[group]) {
          grows += have[f][c] * static_cast<double>(rows) / (totals_[c] * totals_[c]);
        }
        if (grows < least) {
          least = grows;
          best = f;
        }
      }
      for (const auto& [c, rows] : counts_[group]) have[best][c] += static_cast<double>(rows);
      fold_of[group] = static_cast<int>(best);
    }
    std::vector<int> part;
    for (const std::size_t group : group_of_) part.push_back(fold_of[group]);
    return part;
  }

 private:
  using Counts = std::map<std::size_t, std::uint64_t>;  // rows by class
  int folds_;
  std::vector<std::size_t> group_of_;  // of each row
  std::vector<Counts> counts_;         // of each group
  std::vector<double> totals_;         // of each class
};

// Every fold predicts something, by a model that has seen every class.
void check_folds(const Dataset& data, std::span<const int> part, const FoldOptions& options,
                 bool classes) {
  for (int fold = 0; fold < options.folds; ++fold) {
    if (std::ranges::find(part, fold) == part.end()) {
      fail("data.folds", fmt::format("fold {} of {} has no row: groups are too few, or too unlike",
                                     fold + 1, options.folds));
    }
    for (const LabelCount& c : data.classes()) {
      bool seen = !classes;
      for (std::uint64_t i = 0; i < data.rows() && !seen; ++i) {
        const bool trained = options.time_order ? part[i] < fold : part[i] != fold;
        seen = trained && data.labels()[i] == c.label;
      }
      if (seen) continue;
      fail("data.folds",
           fmt::format("no row that fold {} of {} learns from has class {}", fold + 1,
                       options.folds, escape(data.class_names().text(c.label))),
           options.time_order ? "give fewer --folds, or rows that are mixed from the beginning on"
                              : "its rows are in too few groups");
    }
  }
}

}  // namespace

Result<std::vector<int>> deal_folds(const Dataset& data, const FoldOptions& options, bool classes,
                                    std::uint64_t seed) {
  return guard([&] {
    const int folds = options.folds;
    const auto needed = static_cast<std::uint64_t>(std::max(folds, 0));
    if (folds < 2) fail("usage.value", fmt::format("folds: expected at least 2, got {}", folds));
    if (options.time_order && !options.groups.empty()) {
      fail("usage.value", "groups and an order of time cannot both say where rows go");
    }
    if (classes) take(data.check_classes());
    if (!classes && data.rows() < needed) {
      fail("data.folds", fmt::format("{} rows are too few for {} folds", data.rows(), folds));
    }
    for (const LabelCount& c : data.classes()) {
      if (classes && c.rows < needed) {
        fail("data.folds", fmt::format("class {} has {} rows, too few for {} folds",
                                       escape(data.class_names().text(c.label)), c.rows, folds));
      }
    }
    if (!options.groups.empty()) {
      if (options.groups.size() != data.rows()) {
        fail("data.groups",
             fmt::format("{} groups for {} rows", options.groups.size(), data.rows()));
      }
      GroupDealer dealer(data, options.groups, classes, folds);
      if (dealer.groups() < needed) {
        fail("data.folds",
             fmt::format("{} groups are too few for {} folds", dealer.groups(), folds));
      }
      std::vector<int> part = dealer.deal(seed);
      check_folds(data, part, options, classes);
      return part;
    }
    if (options.time_order) {
      if (data.rows() <= needed) {
        fail("data.folds", fmt::format("{} rows are too few for {} folds", data.rows(), folds));
      }
      std::vector<int> part = deal_in_order(data.rows(), folds);
      check_folds(data, part, options, classes);
      return part;
    }
    return deal(data, classes, folds, seed);
  });
}

Result<std::vector<std::uint64_t>> read_groups(const std::string& path, std::uint64_t rows,
                                               const std::atomic<bool>* stop) {
  return guard([&] {
    constexpr std::size_t kGroupBytes = std::size_t{1} << 16, kLongestGroup = 1000;
    ByteSource source(path, stop);
    std::unordered_map<std::string, std::uint64_t> names;
    std::vector<std::uint64_t> groups;
    const auto add = [&](std::string name) {
      if (name.ends_with('\r')) name.pop_back();
      if (name.size() > kLongestGroup) {
        fail_file("limit.line-bytes", path,
                  fmt::format("line {} is longer than {} bytes", groups.size() + 1, kLongestGroup),
                  "groups are one a line");
      }
      if (groups.size() == rows) {
        fail_file("data.groups", path, fmt::format("more lines than the {} rows", rows));
      }
      groups.push_back(names.try_emplace(std::move(name), names.size()).first->second);
    };
    std::string text;  // a line begun, then the next chunk
    for (bool ended = false; !ended;) {
      const std::size_t begun = text.size();
      text.resize(begun + kGroupBytes);
      const std::size_t count = source.read({text.data() + begun, kGroupBytes});
      text.resize(begun + count);
      ended = count == 0;
      std::size_t at = 0;
      for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        add(text.substr(at, end - at));
      }
      text.erase(0, at);
      if (!text.empty() && (ended || text.size() > kLongestGroup + 1)) add(std::exchange(text, {}));
    }
    if (groups.size() != rows) {
      fail_file("data.groups", path, fmt::format("{} lines for {} rows", groups.size(), rows));
    }
    return groups;
  });
}

FoldRows fold_rows(const Dataset& data, std::span<const int> part, int fold, bool time_order,
                   const StopToken& stop) {
  std::vector<std::uint64_t> trained, held;
  for (std::uint64_t i = 0; i < data.rows(); ++i) {
    if (part[i] == fold) {
      held.push_back(i);
    } else if (!time_order || part[i] < fold) {
      trained.push_back(i);
    }
  }
  return {keep_rows(data, trained, stop), keep_rows(data, held, stop)};
}

}  // namespace hinge
