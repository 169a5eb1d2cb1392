#include "proof/witness.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace hinge {
namespace {
enum State : unsigned { kZero = 0, kBound = 1, kFree = 2 };
}  // namespace

Witness compact(const Problem& problem, std::span<const double> alpha) {
  Witness witness;
  witness.states.resize((alpha.size() + 3) / 4);
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const unsigned state = alpha[i] <= 0 ? kZero : alpha[i] >= problem.highest(i) ? kBound : kFree;
    if (state == kFree) witness.free.push_back(alpha[i]);
    witness.states[i / 4] = static_cast<std::uint8_t>(witness.states[i / 4] | state << 2 * (i % 4));
  }
  return witness;
}

std::vector<double> expand(const Problem& problem, const Witness& witness) {
  const std::size_t rows = problem.y.size();
  if (witness.states.size() != (rows + 3) / 4) {
    fail("model.content", "the witness has another number of rows than the data");
  }
  std::vector<double> alpha(rows);
  std::size_t next = 0;
  for (std::size_t i = 0; i < 4 * witness.states.size(); ++i) {
    const unsigned state = unsigned{witness.states[i / 4]} >> 2 * (i % 4) & 3U;
    if (state > kFree || (i >= rows && state != kZero)) {
      fail("model.content", fmt::format("the witness of row {} makes no sense", i));
    }
    if (i >= rows) break;
    if (state == kBound) alpha[i] = problem.highest(i);
    if (!std::isfinite(alpha[i])) {
      fail("model.content", fmt::format("the dual variable of row {} has no upper bound", i));
    }
    if (state == kFree) {
      if (next == witness.free.size() || !(witness.free[next] > 0) ||
          !(witness.free[next] < problem.highest(i))) {
        fail("model.content", fmt::format("the dual variable of row {} is outside its box", i));
      }
      alpha[i] = witness.free[next++];
    }
  }
  if (next != witness.free.size()) fail("model.content", "the witness has values left over");
  return alpha;
}

}  // namespace hinge
