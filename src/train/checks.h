// What train() looks at before it begins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "data/memory.h"
#include "data/survey.h"
#include "hinge/dataset.h"
#include "hinge/options.h"
#include "hinge/result.h"
#include "ranks/comm.h"
#include "solve/choose.h"

namespace hinge {

// How many costs of a path are worked on at the same time, at most. Other solvers share out the
// work on one among the threads, and so do several classes.
constexpr std::size_t costs_abreast(Solver solver, std::size_t problems) {
  return solver == Solver::dual && problems == 1 ? 4 : 1;
}

// Refuses data that cannot be trained on, or not in the memory there is (data.*, limit.*,
// memory.*); returns how much training takes. `start`: it begins at a model. Another solver may not
// follow the one chosen where --memory does not allow for it.
TrainingMemory check_data(const Dataset& data, const GlobalShape& whole,
                          const TrainOptions& options, SolverChoice& choice, bool start,
                          std::vector<Error>& warnings);

// Memory for kernel values that are kept, where `need` is what training takes besides; how much
// there is changes the time only.
std::uint64_t kernel_memory(const TrainOptions& options, double need);

// Warns of values too far apart.
void check_scale(const Survey& seen, std::vector<Error>& warnings);

// Class factors that apply to this data; a weight for a label that does not occur is only a
// warning.
std::vector<ClassWeight> class_weights(const GlobalShape& whole, const TrainOptions& options,
                                       std::vector<Error>& warnings);

// Every class needs a row that counts, on some rank.
void check_costs(const Dataset& data, const GlobalShape& whole, std::span<const double> costs,
                 Comm* comm);

}  // namespace hinge
