#include "solve/sweep.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "data/memory.h"
#include "solve/monitor.h"
#include "solve/tuning.h"

namespace hinge {
SweepLimit first_sweep(const TrainOptions& options, double now, std::uint64_t rows,
                       const std::atomic<bool>* stop) {
  SweepLimit limit = {.seconds = now + SweepTuning::kShare * (options.time_limit - now),
                      .steps = SweepTuning::kEpochs * rows,
                      .stop = stop};
  if (options.max_passes > 0) {
    const double most =
        SweepTuning::kShare * static_cast<double>(options.max_passes) * static_cast<double>(rows);
    limit.steps = std::min(limit.steps, static_cast<std::uint64_t>(std::max(1.0, most)));
  }
  return limit;
}

SweepLimit last_sweep(double now, double ago, const Dataset& rows, std::size_t problems,
                      std::uint64_t memory, int threads) {
  const double bytes = training_memory(rows, problems, {.planes = problems}).work;
  if (bytes > (memory > 0 ? static_cast<double>(memory) / 4 : SweepTuning::kMaxBytes)) return {};
  const auto count = static_cast<double>(rows.rows());
  const double step = (static_cast<double>(rows.nonzeros()) / count + SweepTuning::kVisit) *
                      static_cast<double>(problems);
  return {.seconds = now + std::max(SweepTuning::kLeastSeconds, SweepTuning::kLastSeconds - ago),
          .steps = static_cast<std::uint64_t>(
              std::clamp(SweepTuning::kLastWork * threads / step, 1.0, count)),
          .grace = SweepTuning::kLastGrace};
}

std::vector<Solution> sweep(std::span<const Problem> problems, const TrainOptions& options,
                            const SweepLimit& limit, const Stopwatch& clock, const StopToken& stop,
                            Pool& pool) {
  // A group a thread, of two problems or more: the bits of one are the same among any others.
  const std::size_t groups = std::clamp<std::size_t>(
      problems.size() / 2, 1,
      std::max(static_cast<std::size_t>(pool.threads()),
               (problems.size() + SweepTuning::kClasses - 1) / SweepTuning::kClasses));
  const bool keeps_alpha = problems[0].data->rows() <= SweepTuning::kMaxAlpha / problems.size();
  const std::function<void(const Progress&)> nobody;
  const PegasosSetup how = {
      .common = {.seed = options.seed, .simd = &choose_simd(options.instruction_set)},
      .pegasos = {.steps = limit.steps}};
  std::vector<Solution> all(problems.size());
  const Pool::Grace whole(pool, Pool::Grace::kForever);  // each is asked to end by itself
  pool.run(groups, [&](std::size_t g) {
    const std::size_t from = problems.size() * g / groups, to = problems.size() * (g + 1) / groups;
    std::vector<Monitor> monitors;
    for (std::size_t k = from; k < to; ++k) {
      monitors.emplace_back(Limits{.gap = 0, .seconds = limit.seconds, .stop = limit.stop}, clock,
                            k, nobody);
    }
    Pool alone(1, &stop);
    const Pool::Grace grace(alone, limit.grace);
    std::vector<Solution> found =
        solve_pegasos(problems.subspan(from, to - from), how, monitors, alone);
    for (std::size_t k = from; k < to; ++k) {
      all[k] = std::move(found[k - from]);
      if (!keeps_alpha) all[k].alpha = {};
    }
  });
  return all;
}

}  // namespace hinge
