// How the model of a stream follows from its sums (hinge/stream.h).
#pragma once

#include <cstdint>

#include "hinge/model.h"

namespace hinge {

// Steps are counted in double: t0 lies below this, and t0 and the rows together are at most this.
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 53;

// How many hyperplanes a stream keeps: one for two labels, else one a label; where labels come as
// they come one more, the rest, y = -1 on every row. Of a single label it is the only one: that
// label's is its negative.
inline std::size_t stream_planes(std::size_t labels, bool rest) {
  if (!rest) return labels == 2 ? 1 : labels;
  return labels <= 2 ? labels : labels + 1;
}

// Sets problems, biases and weights from labels, origin.bias_feature and stream. Whatever saves,
// loads or resumes a stream does this, so none of it can differ. Returns whether all are finite.
bool derive_weights(Model& model);

}  // namespace hinge
