// What train() looks at before it begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "data/problem.h"
#include "hinge/dataset.h"
#include "hinge/options.h"
#include "hinge/result.h"

namespace hinge {

constexpr std::uint64_t kSweepClasses = 32;  // most classes of a sweep of Pegasos over the rows

// Refuses data that cannot be trained on, or not in the memory there is (data.*, limit.*,
// memory.*); returns how much training takes. `start`: it begins at a model.
TrainingMemory check_data(const Dataset& data, const TrainOptions& options, bool start,
                          std::vector<Error>& warnings);

// Warns of values too far apart. A pass over the bare values: cheap, since nothing is looked up.
void check_scale(const Dataset& data, Pool& pool, std::vector<Error>& warnings);

// Class factors that apply to this data; a weight for a label that does not occur is only a
// warning.
std::vector<ClassWeight> class_weights(const Dataset& data, const TrainOptions& options,
                                       std::vector<Error>& warnings);

// Every class needs a row that counts.
void check_costs(const Dataset& data, std::span<const double> costs);

}  // namespace hinge
