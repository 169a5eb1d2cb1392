// What each training option may be, once: the table (options.cc) reads, explains and refuses by it,
// and validate() (options_check.cc) holds options to it that no text was read for.
#pragma once

#include <cstdint>
#include <limits>

#include "base/range.h"
#include "hinge/options.h"

namespace hinge {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr NumberRange kPositive = {
    .least = 0, .most = 1e300, .open = true};  // costs, lambda, gamma
constexpr NumberRange kGap = {.least = 0, .most = 1, .open = true};
constexpr NumberRange kDelta = {.least = 0, .most = 1, .open = true};
constexpr NumberRange kTolerance = {.least = 0, .most = 100, .open = true};
constexpr NumberRange kBias = {.most = kMaxBias};
constexpr NumberRange kFactor = {.least = 0, .open = true, .what = "factor"};
constexpr NumberRange kSeconds = {.least = 0, .what = "number of seconds"};
constexpr NumberRange kEpsilon = {.least = 0, .most = 1e300};
constexpr NumberRange kAnyNumber = {};
constexpr NumberRange kMu = {.least = 1e-3, .most = 1};  // with less, planes lie where others are
constexpr CountRange kAny = {};
constexpr CountRange kAtLeastOne = {.least = 1};
constexpr CountRange kThreads = {.most = 4096};
constexpr CountRange kLaneCount = {.least = 1, .most = kMaxLanes};
constexpr CountRange kClasses = {.least = 2};
constexpr CountRange kFirstStep = {.most = std::uint64_t{1} << 53};  // counted in double
constexpr CountRange kDegree = {.least = 1, .most = 100};
constexpr CountRange kPlanes = {.least = 2, .most = 10000};
constexpr CountRange kRuns = {.least = 1, .most = 1000};  // each ends with passes over all rows
constexpr CountRange kPath = {.least = 2, .most = 1000};  // each cost takes a hyperplane or several

}  // namespace hinge
