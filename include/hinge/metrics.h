// How well a model predicts labelled rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
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

// Binary: precision, recall, F1, AUC and average precision of the positive class. Several classes:
// their plain means over the classes that occur in the data (one against the rest). A ratio 0/0 is
// 0; AUC is 0.5 where a side has no row. Ties in the score share their rank.
struct Metrics {
  std::uint64_t rows = 0;
  double accuracy = 0;
  double error = 0;  // 1 - accuracy
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  double auc = 0;
  double average_precision = 0;
  std::uint64_t rejected = 0;        // rows given no class; they count as errors
  std::uint64_t unseen_labels = 0;   // rows whose label the model does not know
  std::vector<std::int64_t> labels;  // of the model and the data, ascending
  ClassNames class_names;            // of the model, then those that only the data has
  std::vector<std::vector<std::uint64_t>>
      confusion;  // [true label][predicted]; empty beyond 2,000 labels
  std::optional<RegressionMetrics> regression;  // of a model of regression, which has rows besides
};

// `predictions` are of these rows by this model. Needs rows with labels, and fails with
// data.label.kind unless these are numbers where the classes of the model are, or names where they
// have names; in regression numbers of either kind. When `stop` becomes true it soon fails with
// run.interrupted.
Result<Metrics> evaluate(const Model& model, const Dataset& data, const Predictions& predictions,
                         const std::atomic<bool>* stop = nullptr);

}  // namespace hinge
