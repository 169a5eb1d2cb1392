#include "train/fallback.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/stopwatch.h"
#include "objective/free_bias.h"
#include "train/last_digits.h"

namespace hinge {

Fallback::Fallback(const Plan& plan, Run& run, ModelReport& report, Pool& pool)
    : plan_(plan), run_(run), report_(report), pool_(pool), found_(plan.problems()) {}

void Fallback::sweep_first(bool has_start) {
  const TrainOptions& options = plan_.options;
  const bool limited = std::isfinite(options.time_limit) || options.max_passes > 0;
  const bool wanted = limited && found_.size() > 1 && run_.comm == nullptr && !has_start &&
                      !plan_.traits().sweeps && !run_.interrupted() && !run_.late();
  if (!wanted) return;
  std::vector<std::size_t> all(found_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  sweep(all, first_sweep(options, run_.clock.seconds(), plan_.data.rows(), run_.control.stop));
}

void Fallback::sweep_last(std::span<const std::size_t> missing) {
  if (run_.comm != nullptr || !run_.stop.up() || has(missing.front())) return;
  const SweepLimit limit = last_sweep(run_.clock.seconds(), run_.stop.up_for(), plan_.rows(),
                                      missing.size(), plan_.options.memory, pool_.threads());
  if (limit.steps > 0) sweep(missing, limit);
}

// A sweep is there for want of something better: no trouble of its own may end the run.
void Fallback::sweep(std::span<const std::size_t> which, const SweepLimit& limit) try {
  const Stopwatch clock;
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  for (const std::size_t k : which) {
    y.push_back(plan_.signs_of(k));
    problems.push_back(plan_.problem(y.back(), report_.cost()));
  }
  std::vector<Solution> found =
      hinge::sweep(problems, plan_.options, limit, run_.clock, run_.stop, pool_);
  std::uint64_t rows = 0;
  for (std::size_t n = 0; n < which.size(); ++n) {
    rows = std::max(rows, found[n].rows_touched);
    found_[which[n]] = std::move(found[n]);
  }
  report_.add_sweep(which, clock.seconds(), rows);
  passes_ = static_cast<double>(rows) / static_cast<double>(plan_.data.rows());
} catch (const Failure&) {
} catch (const Interrupted&) {
} catch (const std::bad_alloc&) {
}

std::optional<Solution> Fallback::take(std::size_t problem) {
  std::optional<Solution> solution = std::exchange(found_[problem], std::nullopt);
  if (!solution || solution->w.empty()) return std::nullopt;
  solution->alpha.resize(plan_.data.rows());  // they may have been too many
  return solution;
}

bool Fallback::improve(std::size_t k, const Problem& problem, Solution& solution, Proof& proof,
                       Pool& pool) {
  std::optional<Solution> other = take(k);
  if (!other) return false;
  try {
    if (problem.free_bias) balance(problem, other->alpha);
    round_as_stored(problem, other->w);
    const Proof found = certify(problem, other->w, other->alpha, pool);
    const bool point = found.primal < proof.primal;
    const bool bound = found.dual > proof.dual;
    if (!point && !bound) return false;
    proof = point && bound ? found
                           : certify(problem, point ? other->w : solution.w,
                                     bound ? other->alpha : solution.alpha, pool);
    if (point) solution.w.swap(other->w);
    if (bound) solution.alpha.swap(other->alpha);
    return true;
  } catch (const Interrupted&) {
    return false;  // what the solver found is proved, and will do
  }
}

}  // namespace hinge
