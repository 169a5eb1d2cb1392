// How well a model predicts labelled rows.
//
// A figure that is not defined is NaN: the precision of a class that was never said, the recall of
// one that no row has, the AUC where one side has no row.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/result.h"

namespace hinge {

// How well a model of regression does, by the scores s_i and the targets t_i of the rows:
//   rmse          root of the mean of (s_i - t_i)^2
//   mae           mean of |s_i - t_i|
//   r2            1 - sum (s_i - t_i)^2 / sum (t_i - mean t)^2; where all t_i are the same 1 if
//                 nothing is missed, else 0
//   correlation   of s and t; 0 where one of them does not vary
struct RegressionMetrics {
  double rmse = 0;
  double mae = 0;
  double r2 = 0;
  double correlation = 0;
};

// One class against the rest. AUC and average precision are of its scores, and NaN where the model
// has none of it; ties in the score share their rank.
struct ClassMetrics {
  std::int64_t label = 0;
  std::uint64_t rows = 0;      // that have this label
  std::uint64_t said = 0;      // that were given it
  std::uint64_t rejected = 0;  // that have it, and were given no class
  double precision = 0;        // of the rows that were given it, the part that has it
  double recall = 0;           // of the rows that have it, the part that was given it
  double f1 = 0;               // 2 hits/(rows + said)
  double auc = 0;
  double average_precision = 0;
};

// Over the classes that occur in the data; where a class has no precision its precision counts as
// 0. NaN without rows.
struct MeanMetrics {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

// How good the probabilities are (hinge/model.h), of p_i, which the label of row i was given:
//   log_loss           mean of -log max(p_i, 2^-52)
//   brier              of two labels the mean of (1 - p_i)^2, of several that of the sum over the
//                      labels of the squares of what they are off
//   calibration_error  rows lie in 10 bins of equal width by the probability of the first label, of
//                      several labels by that of the most likely one; the mean over the rows of
//                      |part that has the label - mean probability|, both of the row's bin
// All are NaN where a row has a label the model does not know.
struct ProbabilityMetrics {
  double log_loss = 0;
  double brier = 0;
  double calibration_error = 0;
};

// Binary: precision, recall, F1, AUC and average precision are those of the positive class. Several
// classes: they are plain means over the classes that occur in the data, of AUC and average
// precision over those that have them.
struct Metrics {
  std::uint64_t rows = 0;
  double accuracy = 0;
  double error = 0;  // 1 - accuracy
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  double auc = 0;
  double average_precision = 0;
  double balanced_accuracy = 0;       // the mean of the recalls of the classes that occur
  MeanMetrics macro;                  // plain means
  MeanMetrics weighted;               // weighted by the rows of the classes
  std::uint64_t rejected = 0;         // rows given no class; they count as errors
  std::uint64_t unseen_labels = 0;    // rows whose label the model does not know
  std::vector<std::int64_t> labels;   // of the model and the data, ascending
  std::vector<ClassMetrics> classes;  // one a label
  ClassNames class_names;             // of the model, then those that only the data has
  std::vector<std::vector<std::uint64_t>>
      confusion;  // [true label][predicted]; empty beyond 2,000 labels
  std::optional<ProbabilityMetrics> probabilities;  // where the model has them
  std::optional<RegressionMetrics> regression;  // of a model of regression, which has rows besides
};

// `predictions` are of these rows by this model. Needs rows with labels, and fails with
// data.label.kind unless these are numbers where the classes of the model are, or names where they
// have names; in regression numbers of either kind. Fails with data.label.mismatch as
// check_same_labels() does. When `stop` becomes true it soon fails with run.interrupted.
Result<Metrics> evaluate(const Model& model, const Dataset& data, const Predictions& predictions,
                         const std::atomic<bool>* stop = nullptr);

// Whether the labels of the rows can be those of the model: fails with data.label.mismatch where
// the model knows none of them, or where model and rows have two each, which are not the same, as
// with 0 and 1 beside -1 and 1. Of regression, and of rows without labels, there is nothing to ask.
Result<void> check_same_labels(const Model& model, const Dataset& data);

// ---- Curves.

// ROC: x is the part of the other rows, y the part of the rows of the class, whose score is at
// least `threshold`. Precision and recall: x is the recall, y the precision there. Calibration: x
// is the mean probability of the rows in a bin of equal width that begins at `threshold`, y the
// part of them that has the class.
struct CurvePoint {
  double threshold = 0;  // descending, and infinite at the beginning of ROC; of bins ascending
  double x = 0;
  double y = 0;
  std::uint64_t rows = 0;  // with such a score; in the bin
};

struct ClassCurves {
  std::int64_t label = 0;
  std::string name;                     // what people call it
  std::vector<CurvePoint> roc;          // empty where one side has no row
  std::vector<CurvePoint> recall;       // precision over recall; empty where no row has the class
  std::vector<CurvePoint> calibration;  // bins that have rows; empty without probabilities
};

// The most points of a curve by thresholds: of more they are taken evenly, both ends among them.
constexpr std::size_t kMostCurvePoints = 2000;

// Of a binary model those of the positive class, else one a class. Fails as evaluate() does, and
// with usage.value where the model is of regression.
Result<std::vector<ClassCurves>> curves(const Model& model, const Dataset& data,
                                        const Predictions& predictions,
                                        const std::atomic<bool>* stop = nullptr);

// A line a point below "curve,class,threshold,x,y,rows", the curve being roc, precision_recall or
// calibration.
std::string to_csv(const std::vector<ClassCurves>& all);

// All in one figure, a whole SVG document in ASCII: three panels, a line a class in each.
std::string to_svg(const std::vector<ClassCurves>& all);

}  // namespace hinge
