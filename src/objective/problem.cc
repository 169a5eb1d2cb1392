#include "objective/problem.h"

#include <algorithm>

#include "base/error.h"

namespace hinge {

std::vector<double> row_costs(const Dataset& data, std::span<const ClassWeight> class_weights) {
  std::vector<double> costs(data.weights().begin(), data.weights().end());
  if (class_weights.empty()) return costs;
  std::vector<ClassWeight> sorted(class_weights.begin(), class_weights.end());
  std::ranges::sort(sorted, {}, &ClassWeight::label);
  if (costs.empty()) costs.assign(data.rows(), 1.0);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const auto found = std::ranges::lower_bound(sorted, data.labels()[i], {}, &ClassWeight::label);
    if (found != sorted.end() && found->label == data.labels()[i]) costs[i] *= found->factor;
  }
  return costs;
}

std::vector<std::int8_t> signs(const Dataset& data, std::int64_t positive) {
  std::vector<std::int8_t> y(data.rows());
  std::ranges::transform(data.labels(), y.begin(), [positive](std::int64_t label) {
    return static_cast<std::int8_t>(label == positive ? 1 : -1);
  });
  return y;
}

std::vector<double> targets_of(const Dataset& data) {
  const Labels& labels = data.row_labels();
  if (labels.kind() == LabelKind::targets) {
    return {labels.targets().begin(), labels.targets().end()};
  }
  if (labels.kind() == LabelKind::names) {
    fail("data.label.kind", "the labels are names; expected numbers, which are to be predicted",
         "without a --loss of regression hinge learns classes");
  }
  std::vector<double> targets(data.rows());
  std::ranges::transform(labels.numbers(), targets.begin(),
                         [](std::int64_t label) { return static_cast<double>(label); });
  return targets;
}

}  // namespace hinge
