#include "proof/witness.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"

namespace hinge {
namespace {
enum State : unsigned { kZero = 0, kBound = 1, kFree = 2, kLower = 3 };
}  // namespace

Witness compact(const Problem& problem, std::span<const double> alpha) {
  Witness witness;
  witness.states.resize((alpha.size() + 3) / 4);
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const double lowest = problem.lowest(i), highest = problem.highest(i);
    const unsigned state = alpha[i] == 0 || (alpha[i] < 0 && lowest == 0) ? kZero
                           : alpha[i] >= highest                          ? kBound
                           : alpha[i] <= lowest                           ? kLower
                                                                          : kFree;
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
    const bool lower = i < rows && problem.lowest(i) < 0;
    if ((state == kLower && !lower) || (i >= rows && state != kZero)) {
      fail("model.content", fmt::format("the witness of row {} makes no sense", i));
    }
    if (i >= rows) break;
    if (state == kBound) alpha[i] = problem.highest(i);
    if (state == kLower) alpha[i] = problem.lowest(i);
    if (!std::isfinite(alpha[i])) {
      fail("model.content", fmt::format("the dual variable of row {} has no such bound", i));
    }
    if (state == kFree) {
      if (next == witness.free.size() || witness.free[next] == 0 ||
          !(witness.free[next] > problem.lowest(i)) || !(witness.free[next] < problem.highest(i))) {
        fail("model.content", fmt::format("the dual variable of row {} is outside its box", i));
      }
      alpha[i] = witness.free[next++];
    }
  }
  if (next != witness.free.size()) fail("model.content", "the witness has values left over");
  return alpha;
}

}  // namespace hinge
