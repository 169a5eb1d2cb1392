// Where `focus` may begin when rows are many more than columns: at the optimum over a sample of
// them.
#pragma once

#include <cstdint>

#include "base/pool.h"
#include "objective/problem.h"
#include "rows/rows.h"
#include "solve/monitor.h"
#include "solve/solver.h"

namespace hinge {

// How many rows a sample has; 0: it is not worth it.
std::uint64_t sample_rows(std::uint64_t rows, std::uint64_t dimension);

// Solves the problem on a sample of its rows with `focus`, to a gap that is good enough for a
// start. Counts for the monitor, which may say stop. The w is a point of the whole problem, alpha
// is none.
Solution solve_sample(const Problem& problem, const Rows& rows, const PlanesSetup& setup,
                      Monitor& monitor, Pool& pool);

}  // namespace hinge
