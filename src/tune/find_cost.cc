#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "tune/folds.h"

namespace hinge {
namespace {

// So many costs in a row that bring nothing are enough, as with LIBLINEAR. They are one path.
constexpr std::size_t kPatience = 5;

// The largest |x|^2, the constant feature included.
double largest_square(const Dataset& data, const TrainOptions& options) {
  const double feature = options.free_bias ? 1 : options.bias;
  double largest = 0;
  data.visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      double square = feature * feature;
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        const auto x = static_cast<double>(m.values_of(i)[k]);
        square += x * x;
      }
      largest = std::max(largest, square);
    }
  });
  return largest;
}

double power_of_two_below(double cost) {
  return std::exp2(std::floor(std::log2(cost)));
}

// |y <w,x>| is at most |w| |x|, and w at most C times the rows, their length, and the slope of the
// loss at 0.
double first_cost(const Dataset& data, const TrainOptions& options) {
  const double slope = options.loss == LossKind::squared_hinge ? 2 : 1;
  const double most = slope * static_cast<double>(data.rows()) * largest_square(data, options);
  return most > 0 ? power_of_two_below(1 / most) : 1;
}

// As LIBLINEAR has it for its -s 11: where w = 0 is within a part of 0.1 of the optimum.
double first_cost_of_regression(const Dataset& data, const TrainOptions& options) {
  constexpr double kPart = 0.1;
  double targets = 0, loss = 0;
  for (const double target : targets_of(data)) {
    const double missed = std::max(0.0, std::abs(target) - options.epsilon);
    targets += std::abs(target);
    loss += missed * missed;
  }
  const double most = 8 * targets * targets * largest_square(data, options);
  return loss > 0 && most > 0 ? power_of_two_below(kPart * kPart * loss / most) : 1;
}

bool is_better(const CostTrial& trial, const CostTrial& than) {
  return trial.accuracy > than.accuracy || trial.squared_error < than.squared_error;
}

// Whether further costs are worth a try.
bool goes_on(const CostSearch& search) {
  const std::vector<CostTrial>& trials = search.trials;
  const auto since = static_cast<std::size_t>(std::ranges::count_if(
      trials, [&](const CostTrial& trial) { return trial.cost > search.best.cost; }));
  return since < kPatience || !is_better(search.best, trials.front());
}

}  // namespace

double least_cost(const Dataset& data, const TrainOptions& options) {
  return is_regression(options.loss) ? first_cost_of_regression(data, options)
                                     : first_cost(data, options);
}

Result<CostSearch> find_cost(const Dataset& data, int folds, double first,
                             const TrainOptions& options, const TrainControl& control,
                             const std::function<void(const CostTrial&)>& tell) {
  return guard([&] {
    if (!options.path.empty() || options.lambda > 0) {
      fail("usage.value", "the cost is what is looked for: several, or lambda, make no sense");
    }
    const bool regression = is_regression(options.loss);
    const double largest = regression ? CostSearch::kLargestOfRegression : CostSearch::kLargest;
    if (!(first >= 0) || first > largest) {
      fail("usage.value",
           fmt::format("costs are tried up to {}, from a number > 0, not from {}", largest, first));
    }
    double cost = first;
    if (cost == 0) {
      cost = std::clamp(least_cost(data, options), 0x1p-500, largest);
    }
    CostSearch search;
    while (cost <= largest && (search.trials.empty() || goes_on(search))) {
      TrainOptions some = options;
      some.cost = cost;
      for (; some.path.size() < kPatience && cost <= largest; cost *= 2) {
        some.path.push_back(cost);
      }
      const std::vector<Metrics> found = take(cross_validate_path(data, folds, some, control));
      for (std::size_t k = 0; k < found.size(); ++k) {
        CostTrial trial = {.cost = some.path[k], .accuracy = found[k].accuracy};
        if (const auto& numbers = found[k].regression) {
          trial.squared_error = numbers->rmse * numbers->rmse;
        }
        if (search.trials.empty() || is_better(trial, search.best)) search.best = trial;
        search.trials.push_back(trial);
        if (tell) tell(trial);
      }
    }
    return search;
  });
}

}  // namespace hinge
