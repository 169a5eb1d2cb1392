// Runs that crawl (solve/pace.h): how much work one may take before it is ended, and solvers that
// hand over to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "solve/monitor.h"
#include "solve/solver.h"
#include "solve/traits.h"

namespace hinge {

// The same limits, and work is counted: a run on these rows, of one of so many problems, ends when
// it is lost.
Limits watched(Limits limits, const Dataset& rows, std::size_t problems, Solver solver);

// Whether newton may take the place of descent on so many columns of these rows: it is a matter of
// matrices that must not be large, and never of the machine.
bool newton_may_follow(const Dataset& rows, std::uint64_t columns);

// Whether solvers had changed when this was the state of one; none: no.
inline bool has_changed(std::span<const std::byte> state) {
  return !state.empty() && Monitor::changes_in(state) > 0;
}

// Dual descent; from where it crawls, newton; and from where that ends far from the gap, descent to
// the end. The task is one of dual or newton, which begins. The monitor's limits are watched()
// ones; states are those of either solver.
std::vector<Solution> solve_in_turns(const SolverTask& task, Pool& pool);

}  // namespace hinge
