// Curves of one class against the rest, and how they are written as CSV.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "hinge/metrics.h"
#include "metrics/ranking.h"

namespace hinge {
namespace {

// Returns the numbers 0 .. count - 1, or `most` of them, evenly, with both ends.
std::vector<std::size_t> evenly(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places(std::min(count, most));
  for (std::size_t k = 0; k < places.size(); ++k) {
    places[k] = count <= most ? k : k * (count - 1) / (most - 1);
  }
  return places;
}

void add_rankings(const std::vector<RankStep>& steps, ClassCurves& out) {
  const double positives = steps.empty() ? 0.0 : steps.back().positives;
  const double negatives = steps.empty() ? 0.0 : steps.back().negatives;
  const bool both = positives > 0 && negatives > 0;
  if (both) out.roc.push_back({.threshold = std::numeric_limits<double>::infinity()});
  for (const std::size_t k : evenly(steps.size(), kMostCurvePoints)) {
    const RankStep& step = steps[k];
    const double above = step.positives + step.negatives;
    const auto rows = static_cast<std::uint64_t>(above);
    if (both) {
      out.roc.push_back({step.score, step.negatives / negatives, step.positives / positives, rows});
    }
    if (positives > 0) {
      out.recall.push_back({step.score, step.positives / positives, step.positives / above, rows});
    }
  }
}

void add_calibration(std::span<const std::int64_t> labels, std::span<const double> likely,
                     std::size_t label, std::size_t width, ClassCurves& out) {
  std::array<Bin, kBins> bins;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double probability = likely[i * width + label];
    Bin& bin = bins[bin_of(probability)];
    bin.rows += 1;
    bin.probabilities += probability;
    bin.hits += labels[i] == out.label;
  }
  for (std::size_t k = 0; k < kBins; ++k) {
    const Bin& bin = bins[k];
    if (bin.rows == 0) continue;
    out.calibration.push_back({static_cast<double>(k) / static_cast<double>(kBins),
                               bin.probabilities / bin.rows, bin.hits / bin.rows,
                               static_cast<std::uint64_t>(bin.rows)});
  }
}

// Returns a field of CSV: the text, in quotes where a comma, a quote or a line end is in it.
std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

Result<std::vector<ClassCurves>> curves(const Model& model, const Dataset& rows,
                                        const Predictions& predictions,
                                        const std::atomic<bool>* flag) {
  return guard([&] {
    if (model.regression()) fail("usage.value", "curves are of classes, and this is regression");
    take(check_same_labels(model, rows));
    const Dataset data = take(rows.with_class_names(model.class_names));
    const std::size_t problems = model.problems.size(), width = model.labels.size();
    if (predictions.scores.size() != data.rows() * problems) {
      fail("usage.value", "the predictions are not of these rows");
    }
    const StopToken stop(flag);
    std::vector<double> likely;
    if (has_probabilities(model)) likely = take(probabilities(model, predictions));
    std::vector<ClassCurves> all;
    for (std::size_t k = 0; k < problems; ++k) {
      ClassCurves& one = all.emplace_back();
      one.label = model.problems[k].label;
      one.name = data.class_names().text(one.label);
      const ClassScores scores = {.all = predictions.scores, .problem = k, .problems = problems};
      add_rankings(rank_steps(data.labels(), scores, one.label, stop), one);
      if (!likely.empty()) add_calibration(data.labels(), likely, k, width, one);
    }
    return all;
  });
}

std::string to_csv(const std::vector<ClassCurves>& all) {
  std::string out = "curve,class,threshold,x,y,rows\n";
  for (const ClassCurves& one : all) {
    const std::string name = csv_text(one.name);
    const auto add = [&](std::string_view curve, const std::vector<CurvePoint>& points) {
      for (const CurvePoint& p : points) {
        out += fmt::format("{},{},{},{},{},{}\n", curve, name, p.threshold, p.x, p.y, p.rows);
      }
    };
    add("roc", one.roc);
    add("precision_recall", one.recall);
    add("calibration", one.calibration);
  }
  return out;
}

}  // namespace hinge
