#include "metrics/ranking.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hinge {

std::vector<RankStep> rank_steps(std::span<const std::int64_t> labels, const ClassScores& scores,
                                 std::int64_t positive, const StopToken& stop) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t asked = 0;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (++asked % (1 << 20) == 0) stop.poll();
    return scores(a) > scores(b);
  });
  std::vector<RankStep> steps;
  RankStep so_far;
  for (std::size_t k = 0; k < order.size();) {
    so_far.score = scores(order[k]);
    for (; k < order.size() && scores(order[k]) == so_far.score; ++k) {
      (labels[order[k]] == positive ? so_far.positives : so_far.negatives) += 1;
    }
    steps.push_back(so_far);
  }
  return steps;
}

double auc_of(const std::vector<RankStep>& steps) {
  double pairs = 0;
  RankStep before;
  for (const RankStep& step : steps) {
    pairs += (step.negatives - before.negatives) * (step.positives + before.positives) / 2;
    before = step;
  }
  if (before.positives == 0 || before.negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pairs / (before.positives * before.negatives);
}

double average_precision_of(const std::vector<RankStep>& steps) {
  double sum = 0;
  RankStep before;
  for (const RankStep& step : steps) {
    const double up = step.positives - before.positives;
    sum += up * step.positives / (step.positives + step.negatives);
    before = step;
  }
  if (before.positives == 0) return std::numeric_limits<double>::quiet_NaN();
  return sum / before.positives;
}

std::size_t bin_of(double probability) {
  std::size_t bin = 0;
  while (bin + 1 < kBins &&
         probability > static_cast<double>(bin + 1) / static_cast<double>(kBins)) {
    ++bin;
  }
  return bin;
}

}  // namespace hinge
