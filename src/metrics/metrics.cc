#include "hinge/metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "base/error.h"
#include "metrics/ranking.h"
#include "objective/problem.h"

namespace hinge {
namespace {

constexpr std::size_t kMaxConfusion = 2000;  // labels; the matrix has their square

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastProbability = std::numeric_limits<double>::epsilon();  // of a logarithm

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

// NaN where there is nothing to be a part of.
double part_of(double part, double whole) {
  return whole > 0 ? part / whole : kUndefined;
}

double or_zero(double figure) {
  return std::isnan(figure) ? 0.0 : figure;
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

// Fills what is said of each class but its rows, which are there, from counts of rows.
void judge(ClassMetrics& one, double hits) {
  const auto rows = static_cast<double>(one.rows), said = static_cast<double>(one.said);
  one.precision = part_of(hits, said);
  one.recall = part_of(hits, rows);
  one.f1 = part_of(2 * hits, rows + said);
  one.auc = one.average_precision = kUndefined;
}

MeanMetrics mean_of(const std::vector<ClassMetrics>& classes, bool weighted) {
  MeanMetrics mean;
  double whole = 0;
  for (const ClassMetrics& one : classes) {
    if (one.rows == 0) continue;
    const double weight = weighted ? static_cast<double>(one.rows) : 1.0;
    mean.precision += weight * or_zero(one.precision);
    mean.recall += weight * one.recall;
    mean.f1 += weight * one.f1;
    whole += weight;
  }
  for (double* figure : {&mean.precision, &mean.recall, &mean.f1}) {
    *figure = part_of(*figure, whole);
  }
  return mean;
}

// AUC and average precision of the classes the model has scores of.
void rank_classes(const Model& model, const Dataset& data, const Predictions& predictions,
                  const StopToken& stop, Metrics& out) {
  const std::size_t problems = model.problems.size();
  for (ClassMetrics& one : out.classes) {
    ClassScores scores = {.all = predictions.scores, .problems = problems};
    if (model.binary()) {
      if (one.label != model.labels[0] && one.label != model.labels[1]) continue;
      scores.sign = one.label == model.problems[0].label ? 1 : -1;
    } else {
      const auto found = std::ranges::find(model.problems, one.label, &BinaryProblem::label);
      if (found == model.problems.end() || one.rows == 0) continue;
      scores.problem = static_cast<std::size_t>(found - model.problems.begin());
    }
    const std::vector<RankStep> steps = rank_steps(data.labels(), scores, one.label, stop);
    one.auc = auc_of(steps);
    one.average_precision = average_precision_of(steps);
  }
}

double mean_defined(const std::vector<ClassMetrics>& classes, double ClassMetrics::*figure) {
  double sum = 0, count = 0;
  for (const ClassMetrics& one : classes) {
    if (one.rows == 0 || std::isnan(one.*figure)) continue;
    sum += one.*figure;
    count += 1;
  }
  return part_of(sum, count);
}

ProbabilityMetrics judge_probabilities(const Model& model, const Dataset& data,
                                       const Predictions& predictions) {
  const std::vector<double> all = take(probabilities(model, predictions));
  const std::size_t width = model.labels.size();
  ProbabilityMetrics out;
  std::array<Bin, kBins> bins;
  const auto rows = static_cast<double>(data.rows());
  for (std::size_t i = 0; i < data.rows(); ++i) {
    const std::span<const double> row = std::span(all).subspan(i * width, width);
    const auto truth = static_cast<std::size_t>(std::ranges::find(model.labels, data.labels()[i]) -
                                                model.labels.begin());
    out.log_loss -= std::log(std::max(row[truth], kLeastProbability)) / rows;
    for (std::size_t k = 0; k < width; ++k) {
      const double off = row[k] - (k == truth ? 1 : 0);
      out.brier += off * off / (model.binary() ? 2 * rows : rows);
    }
    const auto most = static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
    const std::size_t asked = model.binary() ? 0 : most;
    Bin& bin = bins[bin_of(row[asked])];
    bin.rows += 1;
    bin.probabilities += row[asked];
    bin.hits += asked == truth;
  }
  for (const Bin& bin : bins)
    out.calibration_error += std::abs(bin.hits - bin.probabilities) / rows;
  return out;
}

// The first of them, as people call them.
std::string listed(const std::vector<std::int64_t>& labels, const ClassNames& names) {
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMost, labels.size()); ++k) {
    text += (k == 0 ? "" : ", ") + escape(names.text(labels[k]));
  }
  return labels.size() > kMost ? text + ", ..." : text;
}

// `data` counts its classes as the model does.
void require_same_labels(const Model& model, const Dataset& data) {
  std::vector<std::int64_t> labels, strange;
  for (const LabelCount& c : data.classes()) {
    labels.push_back(c.label);
    if (std::ranges::find(model.labels, c.label) == model.labels.end()) strange.push_back(c.label);
  }
  const bool other_two = model.binary() && labels.size() == 2 && !strange.empty();
  if (strange.empty() || (strange.size() < labels.size() && !other_two)) return;
  std::vector<std::int64_t> known = model.labels;
  std::ranges::sort(known);
  std::string help = "give the rows the labels the model was trained on";
  const auto missing = std::ranges::find_if(
      known, [&](std::int64_t label) { return std::ranges::find(labels, label) == labels.end(); });
  if (model.class_names.empty() && missing != known.end()) {
    help +=
        fmt::format("; in text, if {0} means {1}: sed 's/^{0} /{1} /' DATA", strange[0], *missing);
  }
  fail("data.label.mismatch",
       fmt::format("the rows have the labels {}, the model {}", listed(labels, data.class_names()),
                   listed(known, data.class_names())),
       help);
}

}  // namespace

Result<void> check_same_labels(const Model& model, const Dataset& data) {
  return guard([&] {
    if (model.regression() || data.label_kind() == LabelKind::targets) return;
    require_same_labels(model, take(data.with_class_names(model.class_names)));
  });
}

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
    require_same_labels(model, data);
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
    out.classes.resize(labels.size());
    for (std::size_t k = 0; k < labels.size(); ++k) out.classes[k].label = out.labels[k];
    std::vector<double> hits(labels.size());  // of each label
    const auto place = [&](std::int64_t label) {
      return static_cast<std::size_t>(std::ranges::lower_bound(out.labels, label) -
                                      out.labels.begin());
    };
    double right = 0;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      const std::size_t truth = place(data.labels()[i]);
      ++out.classes[truth].rows;
      if (!predictions.rejected.empty() && predictions.rejected[i] != 0) {
        ++out.rejected;
        ++out.classes[truth].rejected;
        continue;
      }
      const std::size_t guess = place(predictions.labels[i]);
      if (small) ++out.confusion[truth][guess];
      ++out.classes[guess].said;
      hits[guess] += truth == guess;
      right += truth == guess;
    }
    out.accuracy = ratio(right, static_cast<double>(out.rows));
    out.error = 1 - out.accuracy;
    for (std::size_t k = 0; k < labels.size(); ++k) judge(out.classes[k], hits[k]);
    rank_classes(model, data, predictions, stop, out);
    out.macro = mean_of(out.classes, false);
    out.weighted = mean_of(out.classes, true);
    out.balanced_accuracy = out.macro.recall;
    if (model.binary()) {
      const ClassMetrics& positive = out.classes[place(model.problems[0].label)];
      out.precision = positive.precision;
      out.recall = positive.recall;
      out.f1 = positive.f1;
      out.auc = positive.auc;
      out.average_precision = positive.average_precision;
    } else {
      out.precision = out.macro.precision;
      out.recall = out.macro.recall;
      out.f1 = out.macro.f1;
      out.auc = mean_defined(out.classes, &ClassMetrics::auc);
      out.average_precision = mean_defined(out.classes, &ClassMetrics::average_precision);
    }
    if (has_probabilities(model)) {
      constexpr ProbabilityMetrics kNone = {kUndefined, kUndefined, kUndefined};
      const bool defined = out.unseen_labels == 0 && out.rows > 0;
      out.probabilities = defined ? judge_probabilities(model, data, predictions) : kNone;
    }
    return out;
  });
}

}  // namespace hinge
