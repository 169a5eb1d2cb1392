// Numbers the search for a cost was tuned to.
#pragma once

#include <cstddef>

namespace hinge {

// A cost is left out of further folds once it lost in every one of at least so many, by more than
// so many standard errors: of what it lost by, or of the best cost's figures where these are more.
constexpr int kFoldsBeforeDropping = 2;
constexpr double kErrorsToDrop = 3;

// Where no costs are given: so many are one path, each so many times the one before. A search ends
// where so many costs in a row are worse than the best.
constexpr std::size_t kCostsAtATime = 4;
constexpr double kCostStep = 4;
constexpr std::size_t kWorseInARow = 3;

}  // namespace hinge
