// How the model of a stream follows from its sums (hinge/stream.h).
#pragma once

#include <cstdint>
#include <vector>

#include "hinge/model.h"

namespace hinge {

// Steps are counted in double: t0 lies below this, and t0 and the rows together are at most this.
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 53;

// How many hyperplanes a stream keeps: one for two labels or in regression, else one a label; where
// labels come as they come one more, the rest, y = -1 on every row. Of a single label it is the
// only one: that label's is its negative.
inline std::size_t stream_planes(std::size_t labels, bool rest) {
  if (!rest) return labels == 2 || labels == 0 ? 1 : labels;
  return labels <= 2 ? labels : labels + 1;
}

// Sets problems, biases and weights from labels, origin.bias_feature and stream; no weights where
// the sums are shared. Whatever saves, loads or resumes a stream does this, so none of it can
// differ. Returns whether all are finite.
bool derive_weights(Model& model);

// w is so much times the sums; less than 0 where the only sums are those of the rest.
double stream_scale(const Model& model);

// Whether sums are kept as SharedRows: where those of many planes would take much more whole.
bool are_shared(std::uint64_t planes, std::uint64_t width, std::uint64_t entries);

// Of a model that is shared(): which problems have a weight that is not 0.
std::vector<bool> have_weights(const Model& model);

}  // namespace hinge
