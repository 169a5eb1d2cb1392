// What a run says of itself: the report of one model, and what several have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hinge/train.h"
#include "solve/monitor.h"
#include "solve/solver.h"
#include "train/plan.h"

namespace hinge {

// Collects what becomes of the problems of one model. Threads may add what is of different problems
// at the same time; each problem of model() belongs to whoever works on it.
class ModelReport {
 public:
  // Throws Failure (usage.value) if lambda gives no cost. `cost` counts where there is no lambda.
  ModelReport(const Plan& plan, double cost);

  Model& model() { return report_.model; }
  const Model& model() const { return report_.model; }
  double cost() const { return report_.model.origin.cost; }

  // A sweep of Pegasos over some of the problems (train/fallback.h) touched each row so often.
  void add_sweep(std::span<const std::size_t> problems, double seconds, std::uint64_t rows);
  // A solver ended with one of the problems, in its share of these seconds.
  void add_solution(std::size_t problem, const Solution& solution, const Monitor& monitor,
                    double seconds);
  void add_iterations(std::size_t problem, std::uint64_t iterations);
  void add_certify_seconds(double seconds);
  // The certificate of a problem is known, or known to be missing.
  void add_end(std::size_t problem, bool interrupted);
  void set_interrupted();
  // A problem ended by itself without its goal, and why; the first reason counts.
  void set_stalled(std::string why);

  bool converged(const BinaryProblem& problem) const;

  // Decides on the status, and adds reasons and warnings. All ranks must call it.
  TrainReport finish(Comm* comm);

 private:
  std::string goals(bool gap_is_named) const;
  std::string classes_done() const;
  void explain_limit();
  void explain_interrupt();

  const Plan& plan_;
  TrainReport report_;
  std::mutex mutex_;  // guards what follows, and the sums in report_
  bool interrupted_ = false, stalled_ = false, cut_short_ = false;
  std::string why_;
};

// Shares out the wall time among models that ran side by side, as their own clocks did.
void share_seconds(double seconds, std::span<TrainReport* const> reports);

// Keeps the proofs of all models as long as they are not too large together.
class WitnessBudget {
 public:
  // `all` are the reports there are, of which `last` is the newest. One thread at a time.
  void add(TrainReport& last, std::span<TrainReport* const> all);

 private:
  std::uint64_t bytes_ = 0;
  bool dropped_ = false;
};

// Adds what is said once for all models of a run, of which there must be one at least, and has the
// checkpoint written for the last time. `prepared` is the seconds that the plan took.
void finish_reports(const Plan& plan, Run& run, double prepared, std::vector<TrainReport>& reports);

}  // namespace hinge
