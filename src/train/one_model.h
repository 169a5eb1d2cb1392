// Training at one cost: problems -> solver -> certificate -> model. Several costs may be worked on
// at the same time, each by a OneModel of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/pool.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "solve/solver.h"
#include "solve/traits.h"
#include "train/fallback.h"
#include "train/plan.h"
#include "train/report.h"
#include "train/starts.h"

namespace hinge {

class OneModel {
 public:
  // `number` says which of the costs. Throws Failure (usage.value) if lambda gives no cost.
  OneModel(const Plan& plan, Run& run, std::size_t number, Pool& pool);
  OneModel(const OneModel&) = delete;
  OneModel& operator=(const OneModel&) = delete;

  TrainReport run(WarmStarts from);

  // After that, where there are warm starts: where this cost ended. None if a problem has no
  // solution.
  WarmStarts take_end();

 private:
  struct Group;

  // These work on a group of problems: begin() prepares it, end() keeps what was found.
  bool begin(Group& group);
  bool skip(const Group& group);
  void begin_problem(Group& group, std::size_t k);
  SolverTask task_of(Group& group) const;
  bool takes_turns(const SolverTask& task) const;
  void take_result(Group& group);
  void note_reasons(Group& group);
  void end(Group& group, double seconds, Pool& pool);
  void keep_result(Group& group);
  void check_size(const Problem& problem, const Solution& solution) const;

  // These give a problem its certificate and its place in the model. `reached`: the solver
  // saw its goal.
  void keep(std::size_t k, const Problem& problem, Solution& solution, bool reached, Pool& pool);
  void prove(std::size_t k, const Problem& problem, Solution& solution, bool reached, Pool& pool,
             Witness& rounded);
  void note_stall(const Problem& problem, const Solution& solution, bool reached,
                  const Proof& proof);
  void keep_zero(std::size_t k);
  void finish_missing();
  void keep_in_kernel();

  Problem problem_of(std::span<const std::int8_t> y) const;
  // Whether problems do not begin at 0.
  bool has_start() const { return warm_.cost > 0 || plan_.start != nullptr; }
  bool linear() const { return report_.model().kernel.linear(); }
  // Whether a solution becomes the weights: they may be many, and are not kept twice.
  bool moves_weights() const { return plan_.problems() == 1 && !plan_.warm_starts; }
  void set_cut();

  const Plan& plan_;
  Run& run_;
  Pool& pool_;
  const std::size_t problem_offset_;  // where the problems of this cost begin among those of all
  ModelReport report_;
  Fallback fallback_;
  double primal_at_zero_ = 0;  // P(0), rounded up
  std::function<void(const Progress&)> observer_;
  WarmStarts warm_, end_;
  std::mutex mutex_;                   // guards end_.cut while problems run side by side
  std::vector<std::uint8_t> missing_;  // problems without a solution, a byte each

  struct InKernel {
    Solution solution = {};
    bool interrupted = false, reached = false;
  };
  std::vector<InKernel> in_kernel_;  // of all problems, with a kernel
};

}  // namespace hinge
