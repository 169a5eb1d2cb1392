#include "hinge/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

#include "base/error.h"
#include "objective/problem.h"

namespace hinge {
namespace {

constexpr std::size_t kMaxConfusion = 2000;  // labels; the matrix has their square

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

struct Ranking {
  double auc = 0.5;
  double average_precision = 0;
};

// One pass over the rows by descending score. AUC counts pairs (positive above negative, a tie
// half); average precision sums precision over the steps in recall. Rows of equal score are one
// step.
Ranking rank(const Dataset& data, const Predictions& predictions, std::size_t problem,
             std::size_t problems, std::int64_t positive, const StopToken& stop) {
  const auto score = [&](std::size_t i) { return predictions.scores[i * problems + problem]; };
  std::vector<std::size_t> order(data.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::uint64_t asked = 0;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (++asked % (1 << 20) == 0) stop.poll();
    return score(a) > score(b);
  });
  double positives = 0, negatives = 0, pairs = 0, precision_sum = 0;
  for (std::size_t k = 0; k < order.size();) {
    double up = 0, down = 0;
    const double value = score(order[k]);
    for (; k < order.size() && score(order[k]) == value; ++k) {
      (data.labels()[order[k]] == positive ? up : down) += 1;
    }
    pairs += down * positives + up * down / 2;
    positives += up;
    negatives += down;
    precision_sum += up * positives / (positives + negatives);
  }
  Ranking result;
  if (positives > 0 && negatives > 0) result.auc = pairs / (positives * negatives);
  result.average_precision = ratio(precision_sum, positives);
  return result;
}

RegressionMetrics misses(std::span<const double> targets, std::span<const double> scores) {
  const auto rows = static_cast<double>(targets.size());
  double mean_target = 0, mean_score = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    mean_target += targets[i] / rows;
    mean_score += scores[i] / rows;
  }
  double squares = 0, sizes = 0, of_targets = 0, of_scores = 0, of_both = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double off = scores[i] - targets[i];
    const double target = targets[i] - mean_target, score = scores[i] - mean_score;
    squares += off * off;
    sizes += std::abs(off);
    of_targets += target * target;
    of_scores += score * score;
    of_both += target * score;
  }
  RegressionMetrics out;
  if (rows == 0) return out;
  out.rmse = std::sqrt(squares / rows);
  out.mae = sizes / rows;
  out.r2 = of_targets > 0 ? 1 - squares / of_targets : squares == 0 ? 1.0 : 0.0;
  out.correlation = ratio(of_both, std::sqrt(of_targets) * std::sqrt(of_scores));
  return out;
}

}  // namespace

Result<Metrics> evaluate(const Model& model, const Dataset& rows, const Predictions& predictions,
                         const std::atomic<bool>* flag) {
  return guard([&] {
    const StopToken stop(flag);
    if (model.regression()) {
      if (predictions.scores.size() != rows.rows()) {
        fail("usage.value", "the predictions are not of these rows");
      }
      Metrics out;
      out.rows = rows.rows();
      out.regression = misses(targets_of(rows), predictions.scores);
      return out;
    }
    const Dataset data = take(rows.with_class_names(model.class_names));
    const std::size_t problems = model.problems.size();
    if (predictions.labels.size() != data.rows() ||
        predictions.scores.size() != data.rows() * problems) {
      fail("usage.value", "the predictions are not of these rows");
    }
    Metrics out;
    out.class_names = data.class_names();
    out.rows = data.rows();
    std::set<std::int64_t> labels(model.labels.begin(), model.labels.end());
    const std::set<std::int64_t> known = labels;
    for (const LabelCount& c : data.classes()) {
      labels.insert(c.label);
      if (!known.contains(c.label)) out.unseen_labels += c.rows;
    }
    out.labels.assign(labels.begin(), labels.end());
    const bool small = labels.size() <= kMaxConfusion;
    if (small) out.confusion.assign(labels.size(), std::vector<std::uint64_t>(labels.size()));
    std::vector<double> hits(labels.size()), said(labels.size());  // of each label
    const auto place = [&](std::int64_t label) {
      return static_cast<std::size_t>(std::ranges::lower_bound(out.labels, label) -
                                      out.labels.begin());
    };
    double right = 0;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      if (!predictions.rejected.empty() && predictions.rejected[i] != 0) {
        ++out.rejected;
        continue;
      }
      const std::size_t truth = place(data.labels()[i]), guess = place(predictions.labels[i]);
      if (small) ++out.confusion[truth][guess];
      said[guess] += 1;
      hits[guess] += truth == guess;
      right += truth == guess;
    }
    out.accuracy = ratio(right, static_cast<double>(out.rows));
    out.error = 1 - out.accuracy;

    double classes = 0;
    for (std::size_t k = 0; k < problems; ++k) {
      const std::int64_t label = model.problems[k].label;
      const auto found = std::ranges::find(data.classes(), label, &LabelCount::label);
      if (found == data.classes().end() && !model.binary()) continue;
      const std::size_t row = place(label);
      const double actual = found == data.classes().end() ? 0.0 : static_cast<double>(found->rows);
      const double precision = ratio(hits[row], said[row]), recall = ratio(hits[row], actual);
      const Ranking ranking = rank(data, predictions, k, problems, label, stop);
      out.precision += precision;
      out.recall += recall;
      out.f1 += ratio(2 * precision * recall, precision + recall);
      out.auc += ranking.auc;
      out.average_precision += ranking.average_precision;
      classes += 1;
    }
    for (double* mean : {&out.precision, &out.recall, &out.f1, &out.auc, &out.average_precision}) {
      *mean = ratio(*mean, classes);
    }
    return out;
  });
}

}  // namespace hinge
