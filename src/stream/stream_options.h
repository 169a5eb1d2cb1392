// What a stream may be asked for, by its user or by the model that it goes on from.
#pragma once

#include <vector>

#include "hinge/model.h"
#include "hinge/stream.h"

namespace hinge {

// Of c/lambda and of c. Values are below 1.4e154, or the square of a row overflows; so |w_j|, at
// most c |x_j|/lambda, and sums of 2^53 rows are finite, and a model can always be written.
constexpr double kMaxFactor = 1e130;

// One factor a label, those that are not 1, ascending.
std::vector<ClassWeight> merged(std::vector<ClassWeight> weights);

// Throws Failure with this id if options are wrong: they may be the user's or a model's.
void check_options(const StreamOptions& options, const char* id);

// Those of a stream that goes on from a model; of `options` what the model does not say.
StreamOptions options_of(const Model& model, const StreamOptions& options);

}  // namespace hinge
