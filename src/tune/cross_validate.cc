#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/columns.h"
#include "hinge/train.h"

namespace hinge {
namespace {

constexpr std::uint64_t kFoldStream = 0x666f6c64;

// The part of every row: rows are shuffled, brought together by class if there are `classes`, and
// dealt out in turn.
std::vector<int> deal(const Dataset& data, bool classes, int folds, std::uint64_t seed) {
  std::vector<std::uint64_t> rows(data.rows());
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  Random random(seed, kFoldStream);
  random.shuffle(std::span(rows));
  if (classes)
    std::ranges::stable_sort(rows, {}, [&](std::uint64_t i) { return data.labels()[i]; });
  std::vector<int> part(data.rows());
  int next = 0;
  for (const std::uint64_t i : rows) part[i] = std::exchange(next, (next + 1) % folds);
  return part;
}

// The rows in this part, or those in all others.
Dataset fold_of(const Dataset& data, std::span<const int> part, int fold, bool inside,
                const StopToken& stop) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < data.rows(); ++i) {
    if ((part[i] == fold) == inside) rows.push_back(i);
  }
  return keep_rows(data, rows, stop);
}

// What was predicted for the rows of one part, to their places among all.
void put(const Predictions& some, std::span<const int> part, int fold, Predictions& all) {
  const std::size_t rows = part.size();
  const auto held = static_cast<std::size_t>(std::ranges::count(part, fold));
  const std::size_t width = some.scores.size() / held;
  all.labels.resize(some.labels.empty() ? 0 : rows);
  all.scores.resize(rows * width);
  all.rejected.resize(some.rejected.empty() ? 0 : rows);
  for (std::uint64_t i = 0, k = 0; i < rows; ++i) {
    if (part[i] != fold) continue;
    if (!some.labels.empty()) all.labels[i] = some.labels[k];
    if (!some.rejected.empty()) all.rejected[i] = some.rejected[k];
    std::copy_n(some.scores.begin() + static_cast<std::ptrdiff_t>(k * width), width,
                all.scores.begin() + static_cast<std::ptrdiff_t>(i * width));
    ++k;
  }
}

}  // namespace

Result<std::vector<Metrics>> cross_validate_path(const Dataset& data, int folds,
                                                 const TrainOptions& options,
                                                 const TrainControl& control) {
  return guard([&] {
    if (control.start != nullptr) {
      fail("usage.value",
           "cross-validation trains on parts of the rows: a start may have seen all");
    }
    if (!control.checkpoint.path.empty() || !control.resume.empty()) {
      fail("usage.value", "cross-validation trains several times: it takes no checkpoints");
    }
    if (folds < 2) fail("usage.value", fmt::format("folds: expected at least 2, got {}", folds));
    const bool classes = !is_regression(options.loss);
    if (classes) take(data.check_classes());
    if (!classes && data.rows() < static_cast<std::uint64_t>(folds)) {
      fail("data.folds", fmt::format("{} rows are too few for {} folds", data.rows(), folds));
    }
    for (const LabelCount& c : data.classes()) {
      if (classes && c.rows < static_cast<std::uint64_t>(folds)) {
        fail("data.folds", fmt::format("class {} has {} rows, too few for {} folds",
                                       escape(data.class_names().text(c.label)), c.rows, folds));
      }
    }
    const std::vector<int> part = deal(data, classes, folds, options.seed);
    const std::size_t costs = std::max(std::size_t{1}, options.path.size());
    std::vector<Predictions> all(costs);
    Model shape;  // labels and classes are the same in every fold
    const StopToken stop(control.stop);
    for (int fold = 0; fold < folds; ++fold) {
      const std::vector<TrainReport> runs =
          take(train_path(fold_of(data, part, fold, false, stop), options, control));
      const bool cut = runs.size() < costs && control.stop != nullptr && control.stop->load();
      const bool interrupted = std::ranges::any_of(
          runs, [](const TrainReport& run) { return run.status == StopReason::interrupted; });
      if (cut || interrupted) {
        fail("run.interrupted", fmt::format("interrupted in fold {} of {}", fold + 1, folds));
      }
      if (runs.size() < costs) {
        fail("usage.value", fmt::format("--time-limit: in fold {} it was up after {} of {} costs",
                                        fold + 1, runs.size(), costs));
      }
      const Dataset held = fold_of(data, part, fold, true, stop);
      for (std::size_t c = 0; c < costs; ++c) {
        put(take(predict(runs[c].model, held, options.threads, control.stop)), part, fold, all[c]);
      }
      shape = runs.back().model;
    }
    std::vector<Metrics> metrics;
    for (const Predictions& some : all)
      metrics.push_back(take(evaluate(shape, data, some, control.stop)));
    return metrics;
  });
}

Result<Metrics> cross_validate(const Dataset& data, int folds, const TrainOptions& options,
                               const TrainControl& control) {
  return guard([&] {
    if (!options.path.empty()) {
      fail("usage.value", "several costs: only cross_validate_path() takes them");
    }
    return std::move(take(cross_validate_path(data, folds, options, control)).front());
  });
}

}  // namespace hinge
