#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hinge/train.h"
#include "objective/problem.h"

namespace hinge {

Result<CostSearch> find_cost_and_epsilon(const Dataset& data, int folds, double first,
                                         double first_epsilon, const TrainOptions& options,
                                         const TrainControl& control,
                                         const std::function<void(const CostTrial&)>& tell) {
  return guard([&] {
    if (!is_regression(options.loss)) {
      fail("usage.value", "an epsilon is looked for: expected a loss of regression");
    }
    if (!(first_epsilon >= 0 && std::isfinite(first_epsilon))) {
      fail("usage.value", "the largest epsilon to try: expected a finite number >= 0");
    }
    double largest = 0;
    for (const double target : targets_of(data)) largest = std::max(largest, std::abs(target));
    const double part = largest / CostSearch::kEpsilons;
    int steps = largest > 0 ? CostSearch::kEpsilons - 1 : 0;
    if (first_epsilon > 0 && part > 0) {
      steps = static_cast<int>(std::min<double>(steps, std::floor(first_epsilon / part)));
    }
    CostSearch search;
    for (int step = steps; step >= 0; --step) {
      TrainOptions some = options;
      some.epsilon = step * part;
      const auto told = [&](CostTrial trial) {
        trial.epsilon = some.epsilon;
        search.trials.push_back(trial);
        if (tell) tell(trial);
      };
      CostTrial best = take(find_cost(data, folds, first, some, control, told)).best;
      best.epsilon = some.epsilon;
      if (step == steps || best.squared_error < search.best.squared_error) search.best = best;
    }
    return search;
  });
}

}  // namespace hinge
