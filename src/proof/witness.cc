// Map: states -> as they are -> rounded: codes of shares, a free bias repaired -> back.
#include "proof/witness.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "proof/outward.h"
#include "proof/share_code.h"
#include "proof/tuning.h"

namespace hinge {
namespace {

enum State : unsigned { kZero = 0, kBound = 1, kFree = 2, kLower = 3 };

template <class Loss>
State state_of(const Loss& loss, double alpha, double upper) {
  if (alpha == 0) return kZero;
  if (alpha >= loss.highest(upper)) return kBound;
  return alpha <= loss.lowest(upper) ? kLower : kFree;
}

void set_state(Witness& witness, std::size_t i, State state) {
  witness.states[i / 4] = static_cast<std::uint8_t>(witness.states[i / 4] | state << 2 * (i % 4));
}

State state_at(const Witness& witness, std::size_t i) {
  return static_cast<State>(unsigned{witness.states[i / 4]} >> 2 * (i % 4) & 3U);
}

}  // namespace

// ---- As they are.

Witness compact(const Problem& problem, std::span<const double> alpha) {
  Witness witness;
  witness.states.resize((alpha.size() + 3) / 4);
  visit_loss(problem.loss, [&](const auto& loss) {
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      const State state = state_of(loss, alpha[i], problem.upper(i));
      if (state == kFree) witness.free.push_back(alpha[i]);
      set_state(witness, i, state);
    }
  });
  return witness;
}

// ---- Rounded.

namespace {

// What a code of a row says, as every reader of the model computes it.
double alpha_of(const ShareCode& shares, std::uint32_t code, double upper) {
  return upper * shares.share(code);
}

// A row in between and its code.
struct CodedRow {
  std::uint64_t row;
  std::uint32_t code;
};

// Makes sum_i alpha_i y_i less by `excess`, as far as steps of one code a row can.
void repair(const Problem& problem, const ShareCode& shares, std::span<CodedRow> coded,
            double excess, std::span<double> rounded) {
  for (int round = 0; round < StoredProofTuning::kRepairs && excess != 0; ++round) {
    const double before = excess;
    for (CodedRow& at : coded) {
      const double y = problem.y[at.row], upper = problem.upper(at.row);
      if (!(upper * shares.least_step(at.code) < 2 * std::abs(excess))) continue;
      const std::uint32_t to = shares.next(at.code, y * excess < 0);
      const double alpha = alpha_of(shares, to, upper), step = y * (alpha - rounded[at.row]);
      if (!(std::abs(excess + step) < std::abs(excess))) continue;
      at.code = to;
      rounded[at.row] = alpha;
      excess += step;
    }
    if (excess == before) break;
  }
}

template <class Loss>
void round_shares(const Loss& loss, const Problem& problem, std::span<const double> alpha,
                  Witness& witness, std::vector<double>& rounded) {
  const ShareCode shares(witness.bits, Loss::kLowest < 0, witness.exponent);
  std::vector<CodedRow> coded;
  coded.reserve(alpha.size());
  rounded.assign(alpha.begin(), alpha.end());
  ExactSum excess = {0, 0};  // of sum_i alpha_i y_i
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const double upper = problem.upper(i);
    State state = state_of(loss, alpha[i], upper);
    if (state == kFree) {
      std::uint32_t code = shares.code(alpha[i] / upper);
      rounded[i] = alpha_of(shares, code, upper);
      if (code == 0 || !std::isfinite(rounded[i])) {
        rounded[i] = 0;
        state = kZero;
      } else {
        coded.push_back({i, code});
      }
      if (problem.free_bias) {
        const ExactSum next = two_sum(excess.sum, problem.y[i] * (rounded[i] - alpha[i]));
        excess = {next.sum, excess.error + next.error};
      }
    }
    set_state(witness, i, state);
  }
  if (problem.free_bias) repair(problem, shares, coded, excess.sum + excess.error, rounded);
  const std::size_t width = static_cast<std::size_t>(witness.bits) / 8;
  witness.packed.resize(coded.size() * width);
  for (std::size_t k = 0; k < coded.size(); ++k) {
    for (std::size_t byte = 0; byte < width; ++byte) {
      witness.packed[k * width + byte] = static_cast<std::uint8_t>(coded[k].code >> 8 * byte);
    }
  }
}

}  // namespace

Witness compact(const Problem& problem, std::span<const double> alpha, int bits, int exponent,
                std::vector<double>& rounded) {
  Witness witness;
  witness.bits = bits;
  witness.exponent = exponent;
  witness.states.resize((alpha.size() + 3) / 4);
  visit_loss(problem.loss,
             [&](const auto& loss) { round_shares(loss, problem, alpha, witness, rounded); });
  return witness;
}

int share_exponent(const Problem& problem, std::span<const double> alpha) {
  double most = 0;
  visit_loss(problem.loss, [&](const auto& loss) {
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      const double upper = problem.upper(i);
      if (state_of(loss, alpha[i], upper) != kFree) continue;
      const double share = std::abs(alpha[i] / upper);
      most = share > most ? share : most;
    }
  });
  if (most == 0) return ShareCode::kLeastExponent;
  if (!std::isfinite(most)) return kNoShares;
  const int exponent = std::ilogb(most) + 1;
  return exponent <= ShareCode::kMostExponent ? std::max(exponent, ShareCode::kLeastExponent)
                                              : kNoShares;
}

// ---- Back.

namespace {

// The values in between, one after the other.
class FreeValues {
 public:
  FreeValues(const Witness& witness, bool is_signed)
      : witness_(witness),
        width_(static_cast<std::size_t>(witness.bits) / 8),
        shares_(is_packed() ? witness.bits : 32, is_signed, witness.exponent) {}

  bool is_packed() const { return width_ != sizeof(double); }
  bool at_end() const {
    return next_ == (is_packed() ? witness_.packed.size() : witness_.free.size());
  }

  // What is no number stands for one that is not there.
  double take(double upper) {
    if (!is_packed()) {
      return next_ < witness_.free.size() ? witness_.free[next_++] : std::nan("");
    }
    if (witness_.packed.size() - next_ < width_) return std::nan("");
    std::uint32_t code = 0;
    for (std::size_t byte = 0; byte < width_; ++byte) {
      code |= std::uint32_t{witness_.packed[next_++]} << 8 * byte;
    }
    return alpha_of(shares_, code, upper);
  }

 private:
  const Witness& witness_;
  std::size_t width_;  // bytes of a value
  ShareCode shares_;
  std::size_t next_ = 0;
};

template <class Loss>
std::vector<double> expand_as(const Loss& loss, const Problem& problem, const Witness& witness) {
  const std::size_t rows = problem.y.size();
  std::vector<double> alpha(rows);
  FreeValues values(witness, Loss::kLowest < 0);
  for (std::size_t i = 0; i < 4 * witness.states.size(); ++i) {
    const State state = state_at(witness, i);
    if (state == kZero) continue;
    if (i >= rows || (state == kLower && !(Loss::kLowest < 0))) {
      fail("model.content", fmt::format("the witness of row {} makes no sense", i));
    }
    const double upper = problem.upper(i), lowest = loss.lowest(upper),
                 highest = loss.highest(upper);
    if (state != kFree) {
      alpha[i] = state == kBound ? highest : lowest;
      if (std::isfinite(alpha[i])) continue;
      fail("model.content", fmt::format("the dual variable of row {} has no such bound", i));
    }
    const double value = values.take(upper);
    // Rounding may have brought a share to its bound.
    const bool inside = values.is_packed() ? value >= lowest && value <= highest
                                           : value > lowest && value < highest;
    if (!inside || !std::isfinite(value)) {
      fail("model.content", fmt::format("the dual variable of row {} is outside its box", i));
    }
    alpha[i] = value;
  }
  if (!values.at_end()) fail("model.content", "the witness has values left over");
  return alpha;
}

}  // namespace

std::vector<double> expand(const Problem& problem, const Witness& witness) {
  if (witness.states.size() != (problem.y.size() + 3) / 4) {
    fail("model.content", "the witness has another number of rows than the data");
  }
  const bool known = witness.bits == 16 || witness.bits == 32 || witness.bits == 64;
  if (!known || witness.exponent < ShareCode::kLeastExponent ||
      witness.exponent > ShareCode::kMostExponent) {
    fail("model.content", "the witness has values of an unknown form");
  }
  return visit_loss(problem.loss,
                    [&](const auto& loss) { return expand_as(loss, problem, witness); });
}

}  // namespace hinge
