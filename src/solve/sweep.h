// Pegasos on several problems of a training, each row read once for all of them: rough, but nothing
// else learns something of every class as soon. What a limit or a signal would leave without a
// solution falls back on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "hinge/options.h"
#include "objective/problem.h"
#include "solve/solver.h"

namespace hinge {

struct SweepLimit {
  double seconds = 0;                       // by the clock of the training
  std::uint64_t steps = 0;                  // rows
  const std::atomic<bool>* stop = nullptr;  // ends it, unless it begins after that
  double grace = 0;                         // seconds that it may take after a signal
};

// Before several problems are worked on one by one: a share of the time, or of the passes, that all
// may take, and a few epochs at most.
SweepLimit first_sweep(const TrainOptions& options, double now, std::uint64_t rows,
                       const std::atomic<bool>* stop);

// After a signal, which came so many seconds ago: what can be done before anybody minds, with time
// left to prove it. By the clock, but also by counts: a step of many classes on long rows takes its
// time. No steps: it would take too much memory, of which there is `memory` (0: any).
SweepLimit last_sweep(double now, double ago, const Dataset& rows, std::size_t problems,
                      std::uint64_t memory, int threads);

// One solution a problem, in their order. Dual variables are left out where they would take too
// much memory.
std::vector<Solution> sweep(std::span<const Problem> problems, const TrainOptions& options,
                            const SweepLimit& limit, const Stopwatch& clock, const StopToken& stop,
                            Pool& pool);

}  // namespace hinge
