// Dual variables in and out of the compact form a model keeps (hinge/model.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hinge/model.h"
#include "objective/problem.h"

namespace hinge {

// alpha must be within the box of the problem.
Witness compact(const Problem& problem, std::span<const double> alpha);

// The same with the values in between rounded to shares of 16 or 32 bits below 2^exponent, which is
// share_exponent() or, where several ranks have a part of the rows each, the largest of theirs.
// With a free bias sum_i alpha_i y_i stays what it was, but for about the smallest step that a
// share can make. `rounded` becomes what expand() makes of it.
Witness compact(const Problem& problem, std::span<const double> alpha, int bits, int exponent,
                std::vector<double>& rounded);

// The least exponent that all shares are below; kNoShares where there is none that a code can have.
constexpr int kNoShares = 1 << 20;
int share_exponent(const Problem& problem, std::span<const double> alpha);

// Throws Failure (model.content) unless the witness fits the problem: one state a row, every state
// known, as many values as rows in between, every value finite and inside its box, strictly where
// it is not rounded.
std::vector<double> expand(const Problem& problem, const Witness& witness);

}  // namespace hinge
