// Rows less their mean. A free bias takes up any shift of the rows: P of w and b on rows x_i is
// that of w and b + <w, m> on rows x_i - m, and the dual variables are the same, as they add up to
// 0 with their signs. Descent, whose steps are as short as rows are long, needs far fewer of them
// where rows are long and nearly the same: far from the origin.
#pragma once

#include <cstdint>
#include <functional>

#include "objective/problem.h"
#include "solve/solver.h"

namespace hinge {

// About how many bytes the copy takes; 0 where it is never made: it must not be large, and most
// values must be there.
double centring_memory(const Dataset& data);

// solve(problem, setup), or that on rows less their mean, where the bias is free and the mean is
// most of every row; either way its solution is of the rows there are.
using SolveRows = std::function<Solution(const Problem&, const DualSetup&)>;
Solution solve_centred(const Problem& problem, const DualSetup& setup, const SolveRows& solve);

}  // namespace hinge
