// Rows in folds: who is predicted when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/stop.h"
#include "hinge/dataset.h"
#include "hinge/options.h"

namespace hinge {

// The rows a model is trained on that predicts a fold, and those it predicts, as deal_folds() dealt
// them: copies.
struct FoldRows {
  Dataset trained, held;
};
FoldRows fold_rows(const Dataset& data, std::span<const int> part, int fold, bool time_order,
                   const StopToken& stop);

// With classes the largest power of two at which no row can leave the margin; in regression the one
// that LIBLINEAR begins with.
double least_cost(const Dataset& data, const TrainOptions& options);

}  // namespace hinge
