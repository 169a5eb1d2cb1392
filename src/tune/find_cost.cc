#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "hinge/train.h"

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

// |y <w,x>| is at most |w| |x|, and w at most C times the rows, their length, and the slope of the
// loss at 0.
double first_cost(const Dataset& data, const TrainOptions& options) {
  const double slope = options.loss == LossKind::squared_hinge ? 2 : 1;
  const double most = slope * static_cast<double>(data.rows()) * largest_square(data, options);
  const double cost = most > 0 ? std::exp2(std::floor(-std::log2(most))) : 1;
  return std::clamp(cost, 0x1p-500, CostSearch::kLargest);
}

// Whether further costs are worth a try.
bool goes_on(const CostSearch& search) {
  const std::vector<CostTrial>& trials = search.trials;
  const auto since = static_cast<std::size_t>(std::ranges::count_if(
      trials, [&](const CostTrial& trial) { return trial.cost > search.best.cost; }));
  return since < kPatience || !(search.best.accuracy > trials.front().accuracy);
}

}  // namespace

Result<CostSearch> find_cost(const Dataset& data, int folds, double first,
                             const TrainOptions& options, const TrainControl& control,
                             const std::function<void(const CostTrial&)>& tell) {
  return guard([&] {
    if (!options.path.empty() || options.lambda > 0) {
      fail("usage.value", "the cost is what is looked for: several, or lambda, make no sense");
    }
    if (!(first >= 0) || first > CostSearch::kLargest) {
      fail("usage.value", fmt::format("costs are tried up to {}, from a number > 0, not from {}",
                                      CostSearch::kLargest, first));
    }
    double cost = first > 0 ? first : first_cost(data, options);
    CostSearch search;
    while (cost <= CostSearch::kLargest && (search.trials.empty() || goes_on(search))) {
      TrainOptions some = options;
      some.cost = cost;
      for (; some.path.size() < kPatience && cost <= CostSearch::kLargest; cost *= 2) {
        some.path.push_back(cost);
      }
      const std::vector<Metrics> found = take(cross_validate_path(data, folds, some, control));
      for (std::size_t k = 0; k < found.size(); ++k) {
        const CostTrial trial = {some.path[k], found[k].accuracy};
        if (search.trials.empty() || trial.accuracy > search.best.accuracy) search.best = trial;
        search.trials.push_back(trial);
        if (tell) tell(trial);
      }
    }
    return search;
  });
}

}  // namespace hinge
