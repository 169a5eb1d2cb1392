// Rows by descending score of one class: what AUC, average precision and curves are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/stop.h"
#include "hinge/dataset.h"
#include "hinge/model.h"

namespace hinge {

// The scores of one class, in the order of the rows: those of a problem, or their negatives.
struct ClassScores {
  std::span<const double> all;
  std::size_t problem = 0, problems = 1;
  double sign = 1;

  double operator()(std::size_t row) const { return sign * all[row * problems + problem]; }
};

// Rows of one score, with all above it: a step of every curve.
struct RankStep {
  double score = 0;
  double positives = 0, negatives = 0;  // rows with this score or a higher one
};

// The steps by descending score. `labels` are those of the rows.
std::vector<RankStep> rank_steps(std::span<const std::int64_t> labels, const ClassScores& scores,
                                 std::int64_t positive, const StopToken& stop);

// AUC counts pairs, positive above negative, a tie half; NaN where one side has no row.
double auc_of(const std::vector<RankStep>& steps);

// The sum of precision over the steps in recall; NaN without positive rows.
double average_precision_of(const std::vector<RankStep>& steps);

// Ten bins of probabilities: bin k has those above k/10, up to (k + 1)/10, and the first also 0.
constexpr std::size_t kBins = 10;
struct Bin {
  double rows = 0, probabilities = 0, hits = 0;  // sums over its rows
};
std::size_t bin_of(double probability);

}  // namespace hinge
