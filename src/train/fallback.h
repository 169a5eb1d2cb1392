// What problems fall back on that a limit or a signal leaves without a solution, or with a poor
// one: that of Pegasos, which goes over the rows once for all of them (solve/sweep.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/pool.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "solve/solver.h"
#include "solve/sweep.h"
#include "train/plan.h"
#include "train/report.h"

namespace hinge {

// A fallback serves the problems of one model. Threads may ask about different ones at the same
// time.
class Fallback {
 public:
  Fallback(const Plan& plan, Run& run, ModelReport& report, Pool& pool);

  // Sweeps over all problems before any other solver begins with the first, where some of them
  // might remain without a solution and have no start either.
  void sweep_first(bool has_start);
  // Sweeps, after a signal, over those that nothing was found of, if there is the time.
  void sweep_last(std::span<const std::size_t> missing);
  // How many passes over the rows sweeps took.
  double passes() const { return passes_; }

  // has() tells whether there is a solution of that problem; take() hands it over, once.
  bool has(std::size_t problem) const { return found_[problem].has_value(); }
  std::optional<Solution> take(std::size_t problem);
  void drop(std::size_t problem) { found_[problem].reset(); }  // its memory

  // Where a solver was stopped, what a sweep found may be better: the better of two points, and of
  // two bounds. Returns whether one was.
  bool improve(std::size_t k, const Problem& problem, Solution& solution, Proof& proof, Pool& pool);

 private:
  void sweep(std::span<const std::size_t> problems, const SweepLimit& limit);

  const Plan& plan_;
  Run& run_;
  ModelReport& report_;
  Pool& pool_;
  std::vector<std::optional<Solution>> found_;
  double passes_ = 0;
};

}  // namespace hinge
