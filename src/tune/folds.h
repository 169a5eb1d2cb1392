// Rows in folds: who is predicted when.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/stop.h"
#include "hinge/dataset.h"
#include "hinge/options.h"
#include "hinge/tune.h"

namespace hinge {

// The rows a model is trained on that predicts a fold, and those it predicts, as deal_folds() dealt
// them: copies.
struct FoldRows {
  Dataset trained, held;
};
FoldRows fold_rows(const Dataset& data, std::span<const int> part, int fold, bool time_order,
                   const StopToken& stop);

// cross_validate_folds() that also drops what loses to `rival`, a cost whose figures in the same
// folds are known; none if it is null.
Folded fold_costs(const Dataset& data, const FoldOptions& folds, const TrainOptions& options,
                  const TrainControl& control, const std::function<void(const Folded&)>& tell,
                  const FoldedCost* rival);

// With classes the largest power of two at which no row can leave the margin; in regression the one
// that LIBLINEAR begins with.
double least_cost(const Dataset& data, const TrainOptions& options);

}  // namespace hinge
