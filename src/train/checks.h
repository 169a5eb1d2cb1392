// What a plan refuses, and what it warns of. The order in which make_plan() asks is that in which
// troubles are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/memory.h"
#include "data/survey.h"
#include "hinge/train.h"
#include "ranks/comm.h"
#include "solve/choose.h"
#include "solve/traits.h"
#include "train/plan.h"

namespace hinge {

// Refuses a loss that the solver does not take (usage.value).
void check_loss(const Plan& plan);

// Refuses what several ranks cannot do (mpi.unsupported).
void check_ranks(const Plan& plan, int ranks);

// Refuses data without rows, of one class or of too many (data.*, limit.classes).
void check_classes(const Plan& plan);
// The same in regression, where every row has a number: without rows (data.empty).
void check_targets(const Plan& plan);

// One for two classes or in regression, else one a class.
std::size_t hyperplanes_of(const GlobalShape& shape, const TrainOptions& options);

// How many costs of a path are worked on at the same time, at most. Other solvers share out the
// work on one among the threads, and so do several classes.
constexpr std::size_t costs_abreast(const SolverTraits& traits, std::size_t problems) {
  return problems == 1 ? traits.abreast : 1;
}

// Returns how much memory training takes, and refuses what is not there (memory.model) or not
// allowed (memory.limit). `start` says that it begins at a model. Where --memory does not allow for
// another solver, `choice` loses the right to change to it.
TrainingMemory check_memory(const Dataset& data, const GlobalShape& shape,
                            const TrainOptions& options, SolverChoice& choice, bool start);

// Returns the memory for kernel values that are kept, where `need` is what training takes besides;
// how much there is changes the time only.
std::uint64_t kernel_memory(const TrainOptions& options, double need);

// Refuses options that do not suit the rows, or the model to start from (usage.value, model.start).
void check_options(const Plan& plan);

// Every class needs a row that counts, on some rank (data.weights.zero, data.weight).
void check_row_weights(const Plan& plan, Comm* comm);

// Warns of data without features, and of rare classes.
void warn_of_rows(const Plan& plan, std::vector<Error>& warnings);

// Warns of values too far apart.
void warn_of_scale(const Survey& seen, std::vector<Error>& warnings);

// Returns the class factors that apply to this data; a weight for a label that does not occur is
// only a warning.
std::vector<ClassWeight> class_weights(const GlobalShape& shape, const TrainOptions& options,
                                       std::vector<Error>& warnings);

}  // namespace hinge
