// How well a model predicts labelled rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"
#include "hinge/result.h"

namespace hinge {

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
};

// `predictions` are of these rows by this model. Needs rows with labels, and fails with
// data.label.kind unless these are numbers where the classes of the model are, or names where they
// have names. When `stop` becomes true it soon fails with run.interrupted.
Result<Metrics> evaluate(const Model& model, const Dataset& data, const Predictions& predictions,
                         const std::atomic<bool>* stop = nullptr);

}  // namespace hinge
