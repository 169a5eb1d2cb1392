// Map: the model and its groups -> a group: begin, solve, end -> a problem: keep -> problems that
// have no solution -> problems of a model with a kernel.
#include "train/one_model.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/columns.h"
#include "objective/free_bias.h"
#include "proof/outward.h"
#include "proof/stored_proof.h"
#include "proof/witness.h"
#include "solve/crawl.h"
#include "solve/tuning.h"
#include "train/checkpoint_writer.h"
#include "train/last_digits.h"
#include "train/ranked.h"

namespace hinge {
namespace {

// Counted from a signal, the certificate may take so many seconds; else it is left out.
constexpr double kCertifyGrace = 0.75;

// A model whose certificate is no number could not be read.
void require_finite(double primal) {
  if (std::isfinite(primal)) return;
  fail("solver.nonfinite", "the objective is not finite", "scale the data, or take a smaller cost");
}

// P(0) = C sum of c_i l(z_i), rounded up.
double primal_at_zero(const Plan& plan, double cost) {
  const PlainArithmetic plain;
  double primal = product_up(cost, plan.loss_at_zero);
  visit_loss(plan.loss, [&]<class Loss>(const Loss& loss) {
    if constexpr (Loss::kRegression) return;  // each row has its own
    const double lost = loss.enclose(loss.slack(0.0), 0).most;
    if (lost != 1) primal = up(up(primal * lost) * up(1 + gamma(Loss::kRoundings)));
  });
  if (plan.total_rounding == 0) return primal;
  const double lost = static_cast<double>(plan.shape.rows) * kTiny;  // where U_i underflow
  return up(up(primal * up(1 + plan.total_rounding)) + lost);
}

}  // namespace

// Problems that are solved together, and all that the solver works with.
struct OneModel::Group {
  std::size_t number = 0;           // among those of the plan
  std::size_t first = 0, last = 0;  // problems of this model
  std::vector<std::vector<std::int8_t>> y = {};
  std::vector<Problem> problems = {};
  std::vector<Monitor> monitors = {};
  std::vector<Start> starts = {};
  bool joined = false;                              // it goes on from what ranks left
  std::optional<CheckpointWriter::Sink> sink = {};  // where its states go, on rank 0
  std::optional<RankSink> sink_of_ranks = {};       // and by way of this one, on every rank
  std::vector<Solution> solutions = {};
  std::vector<bool> reached = {};  // a goal, as the solver sees it

  StateSink* states() {
    if (sink_of_ranks) return &*sink_of_ranks;
    return sink ? &*sink : nullptr;
  }
};

OneModel::OneModel(const Plan& plan, Run& run, std::size_t number, Pool& pool)
    : plan_(plan),
      run_(run),
      pool_(pool),
      problem_offset_(plan.problems() * number),
      report_(plan, plan.cost_path[number]),
      fallback_(plan, run, report_, pool),
      primal_at_zero_(primal_at_zero(plan, report_.cost())),
      missing_(plan.problems()) {
  end_.cost = report_.cost();
  end_.start.resize(plan.problems());
  Model& model = report_.model();
  if (linear() && !moves_weights()) model.weights.resize(plan.problems() * model.width());
  if (run.control.observer && run.first()) {
    observer_ = [this](Progress progress) {
      progress.cost = report_.cost();
      const std::lock_guard lock(run_.observing);
      run_.control.observer(progress);
    };
  }
}

TrainReport OneModel::run(WarmStarts from) try {
  warm_ = std::move(from);
  end_.cut = warm_.cut;
  const auto group_of = [&](std::size_t problem) {
    const auto found = std::ranges::lower_bound(plan_.groups, problem, {}, &ProblemGroup::first);
    return static_cast<std::size_t>(found - plan_.groups.begin());
  };
  const std::size_t first = group_of(problem_offset_),
                    last = group_of(problem_offset_ + plan_.problems());
  fallback_.sweep_first(has_start());
  if (!linear()) in_kernel_.resize(plan_.problems());
  const auto work_on = [&](std::size_t number, Pool& pool) {
    Group group = {.number = number,
                   .first = plan_.groups[number].first - problem_offset_,
                   .last = plan_.groups[number].last - problem_offset_};
    if (!begin(group)) return;
    const Stopwatch clock;
    if (run_.resumed[number].done) {
      take_result(group);
    } else {
      const SolverTask task = task_of(group);
      group.solutions =
          takes_turns(task) ? solve_in_turns(task, pool) : plan_.traits().solve(task, pool);
      note_reasons(group);
    }
    end(group, clock.seconds(), pool);
  };
  if (linear() && last - first > 1 && run_.comm == nullptr) {
    // Groups run side by side, each on one thread.
    const Pool::Grace unhurried(pool_, Pool::Grace::kForever);  // each is asked to end by itself
    pool_.run(last - first, [&](std::size_t g) {
      Pool alone(1, &run_.stop);
      work_on(first + g, alone);
    });
  } else {
    // Ranks do one thing at a time, all the same; with a kernel problems share out kernel values.
    for (std::size_t g = first; g < last; ++g) work_on(g, pool_);
  }
  if (!linear()) keep_in_kernel();
  finish_missing();
  Model& model = report_.model();
  if (linear()) model.weights.resize(model.problems.size() * model.width());
  return report_.finish(run_.comm);
} catch (Failure& failure) {
  if (failure.error.id == "checkpoint.content") failure.error.file = run_.control.resume;
  throw;
}

WarmStarts OneModel::take_end() {
  const bool complete = std::ranges::find(missing_, 1) == missing_.end();
  return complete ? std::move(end_) : WarmStarts{};
}

void OneModel::set_cut() {
  const std::lock_guard lock(mutex_);
  end_.cut = true;
}

Problem OneModel::problem_of(std::span<const std::int8_t> y) const {
  return plan_.problem(y, report_.cost());
}

// ---- A group.

// Once a run is interrupted, classes not yet begun are not begun (finish_missing()). Where there is
// a start, the solver returns that. The same when the time is up, where there is something to fall
// back on, or each class takes whole passes to begin.
bool OneModel::skip(const Group& group) {
  const bool stop = run_.interrupted();
  const bool may_skip = plan_.traits().begins_with_passes || fallback_.has(group.first);
  const bool late = may_skip && plan_.problems() > 1 && run_.late();
  if ((!stop && !late) || has_start()) return false;
  for (std::size_t k = group.first; k < group.last; ++k) {
    missing_[k] = 1;
    if (!linear() && report_.model().kernel.positive_definite()) {
      in_kernel_[k].solution.alpha.assign(plan_.data.rows(), 0.0);
    }
  }
  if (stop) report_.set_interrupted();
  return true;
}

// Prepares all that the solver works with. It returns false where the group is left out.
bool OneModel::begin(Group& group) {
  const Run::Resumed& resumed = run_.resumed[group.number];
  if (!resumed.state && skip(group)) return false;
  if (run_.comm != nullptr) run_.comm->lower(Wish::limit);  // passes are those of each problem
  if (run_.checkpoints && !resumed.done && !warm_.cut) {
    group.sink.emplace(*run_.checkpoints, group.number);
  }
  if (run_.comm != nullptr && plan_.keeps_states && !warm_.cut) {
    group.sink_of_ranks.emplace(*run_.comm, group.sink ? &*group.sink : nullptr);
  }
  // What ranks left is where to begin, rather than all of a state.
  group.joined = resumed.state && is_joined(*resumed.state);
  if (run_.comm != nullptr && resumed.state && !group.joined) {
    fail_file("checkpoint.mismatch", run_.control.resume,
              "one process wrote it, and several ranks cannot go on from there",
              "start hinge without mpirun");
  }
  for (std::size_t k = group.first; k < group.last; ++k) begin_problem(group, k);
  return true;
}

void OneModel::begin_problem(Group& group, std::size_t k) {
  const Model& model = report_.model();
  group.y.push_back(plan_.signs_of(k));
  const Problem& problem = group.problems.emplace_back(problem_of(group.y.back()));
  Limits limits = plan_.limits;
  limits.absolute = absolute_goal(model.origin);
  if (limits.passes > 0)
    limits.passes -= std::min(fallback_.passes(), SweepTuning::kShare * limits.passes);
  group.monitors.emplace_back(limits, run_.clock, k, observer_,
                              k == group.first ? group.states() : nullptr);
  if (group.joined) {
    group.starts.push_back(part_of(*run_.resumed[group.number].state, problem, plan_.shape));
  } else if (warm_.cost > 0) {
    group.starts.push_back(start_after(std::move(warm_.start[k]), warm_.cost, problem));
  } else if (plan_.start != nullptr) {
    group.starts.push_back(start_at_model(plan_, run_.ranks(), model, problem, k));
  }
}

SolverTask OneModel::task_of(Group& group) const {
  const Run::Resumed& resumed = run_.resumed[group.number];
  SolverTask task = {.problems = group.problems,
                     .monitors = group.monitors,
                     .solver = plan_.choice.solver,
                     .asked = plan_.options,
                     .common = plan_.common,
                     .kernel = report_.model().kernel,
                     .kernel_memory = plan_.kernel_memory,
                     .float_weights = plan_.float_weights,
                     .quantised_rows = plan_.quantised_rows ? &*plan_.quantised_rows : nullptr,
                     .lanes = static_cast<std::size_t>(report_.model().origin.lanes)};
  task.common.start = group.starts;
  if (resumed.state && !group.joined) task.common.resume = *resumed.state;
  return task;
}

// Another solver may go on where this one crawls; or one did before the checkpoint was written.
bool OneModel::takes_turns(const SolverTask& task) const {
  return plan_.choice.may_change || (plan_.traits().takes_turns && has_changed(task.common.resume));
}

// Takes the result of a group that was done before this run.
void OneModel::take_result(Group& group) {
  unpack_result(*run_.resumed[group.number].state, group.problems, group.solutions, group.reached);
  for (std::size_t k = 0; k < group.problems.size(); ++k) {
    check_size(group.problems[k], group.solutions[k]);
  }
}

// Takes down why the solver ended.
void OneModel::note_reasons(Group& group) {
  const Monitor& monitor = group.monitors[0];
  if (monitor.crawls()) {
    group.solutions[0].stalled = true;
    group.solutions[0].passes_left = monitor.passes_left();
  }
  for (std::size_t k = 0; k < group.monitors.size(); ++k) {
    if (group.monitors[k].hopeless()) group.solutions[k].stalled = true;
  }
  for (const Monitor& each : group.monitors) {
    group.reached.push_back(each.reason() == StopReason::converged);
  }
}

// The result becomes the last state of the group, unless a limit or a signal ended it: then it is
// not done. Ranks leave where they are, as a place to begin.
void OneModel::keep_result(Group& group) {
  if (group.sink && run_.comm == nullptr &&
      std::ranges::none_of(group.monitors, &Monitor::stopped)) {
    try {
      group.sink->done(pack_result(group.problems, group.solutions, group.reached));
    } catch (const std::bad_alloc&) {
      group.sink->lost();
    }
  }
  if (group.sink_of_ranks) {
    PartState part = {group.solutions[0].w, group.solutions[0].alpha};
    group.sink_of_ranks->keep(
        state_of(part),
        {.problem = group.first, .relative_gap = group.monitors[0].last().relative_gap});
  }
  run_.resumed[group.number].state = nullptr;
}

void OneModel::end(Group& group, double seconds, Pool& pool) {
  keep_result(group);
  const double share = seconds / static_cast<double>(group.last - group.first);
  for (std::size_t k = group.first; k < group.last; ++k) {
    const Problem& problem = group.problems[k - group.first];
    const Monitor& monitor = group.monitors[k - group.first];
    Solution& solution = group.solutions[k - group.first];
    const bool reached = group.reached[k - group.first];
    check_size(problem, solution);
    report_.add_solution(k, solution, monitor, share);
    const bool interrupted = monitor.reason() == StopReason::interrupted;
    if (!linear()) {  // judged when all classes are there
      in_kernel_[k] = {std::move(solution), interrupted, reached};
      continue;
    }
    if (monitor.stopped()) set_cut();
    // A problem that had no time to learn anything is as good as not begun.
    if (interrupted && plan_.problems() > 1 && run_.comm == nullptr && !fallback_.has(k) &&
        !has_start() && std::ranges::all_of(solution.w, [](double x) { return x == 0; })) {
      missing_[k] = 1;
      report_.set_interrupted();
      continue;
    }
    keep(k, problem, solution, reached, pool);
    report_.add_end(k, interrupted);
  }
}

// A checkpoint may say anything: it must not make the program read what is not there.
void OneModel::check_size(const Problem& problem, const Solution& solution) const {
  const std::size_t rows = plan_.data.rows(), size = linear() ? problem.dimension() : rows;
  const bool good = solution.w.size() == size || (!linear() && solution.w.empty());
  if (good && (solution.alpha.empty() || solution.alpha.size() == rows)) return;
  fail("checkpoint.content", "a result in the checkpoint is about other data");
}

// ---- A problem.

void OneModel::keep(std::size_t k, const Problem& problem, Solution& solution, bool reached,
                    Pool& pool) {
  Model& model = report_.model();
  BinaryProblem& out = model.problems[k];
  const Stopwatch clock;
  const PlainArithmetic plain;
  if (problem.free_bias) balance(problem, solution.alpha);
  round_as_stored(problem, solution.w);
  Witness rounded;
  prove(k, problem, solution, reached, pool, rounded);
  if (plan_.keeps_witness) {
    out.witness = rounded.empty() ? compact(problem, solution.alpha) : std::move(rounded);
  }
  if (plan_.keeps_witness && run_.comm != nullptr) {
    out.witness = join_witness(out.witness, plan_.data.rows(), *run_.comm);
  }
  report_.add_certify_seconds(clock.seconds());
  if (problem.bias != 0) out.bias = problem.bias * solution.w.back();
  if (moves_weights()) {
    model.weights = std::move(solution.w);
  } else {
    std::copy_n(solution.w.begin(), model.width(),
                model.weights.begin() + static_cast<std::ptrdiff_t>(k * model.width()));
  }
  if (plan_.warm_starts) end_.start[k] = {std::move(solution.w), std::move(solution.alpha)};
}

// Computes the certificate, and makes it better: by another point or bound, or by last digits.
// Where the model keeps dual variables that are not those of the solution it is of these.
void OneModel::prove(std::size_t k, const Problem& problem, Solution& solution, bool reached,
                     Pool& pool, Witness& rounded) {
  const bool ended = reached || solution.stalled;
  Certificate& out = report_.model().problems[k].certificate;
  const Origin& origin = report_.model().origin;
  const double asked = gap_to_certify(origin, primal_at_zero_);
  try {
    const Pool::Grace grace(pool, kCertifyGrace);
    const auto certified = [&] {
      return plan_.keeps_witness
                 ? certify_as_stored(problem, solution.w, solution.alpha, origin, pool, run_.comm,
                                     asked, rounded)
                 : certify(problem, solution.w, solution.alpha, pool, run_.comm, asked);
    };
    Proof proof = certified();
    // Where planes cancel each other, their rounding may leave points that are worse than 0.
    if (plan_.traits().may_end_above_zero && plan_.start == nullptr &&
        proof.primal > primal_at_zero_) {
      std::ranges::fill(solution.w, 0.0);
      proof = certified();
    }
    require_finite(proof.primal);
    // Where it ended by itself no clock may change what it found.
    if (!ended && fallback_.improve(k, problem, solution, proof, pool) && !rounded.empty()) {
      proof = certified();
    }
    fallback_.drop(k);
    const double goal = relative_goal(origin, proof.primal, proof.dual);
    if (ended && goal > 0 && !reaches(proof, origin) && run_.comm == nullptr) {
      const double before = proof.relative_gap;
      try {
        mend_last_digits(problem, goal, solution, proof, pool);
      } catch (const Interrupted&) {
        // What was mended until then is proved, and so is what was not.
      }
      if (proof.relative_gap < before) rounded = {};
    }
    if (proof.dual == 0) {
      std::ranges::fill(solution.alpha, 0.0);  // which proves as much
      rounded = {};
    }
    note_stall(problem, solution, reached, proof);
    out = proof;
  } catch (const Interrupted&) {
    out = {.bound = "unknown"};
    rounded = {};
  }
}

// Takes down why a problem that ended by itself has none of what was asked for.
void OneModel::note_stall(const Problem& problem, const Solution& solution, bool reached,
                          const Proof& proof) {
  const Origin& origin = report_.model().origin;
  if (!plan_.goals.any() || !(reached || solution.stalled) || reaches(proof, origin)) return;
  report_.set_stalled(why_stalled(problem, origin, solution, proof));
}

// ---- Problems without a solution.

// What was not begun gets what a sweep found: one from before, or one in the time that is left
// after a signal. Of what is missing even then w is 0, and nothing will be predicted by it.
void OneModel::finish_missing() {
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < missing_.size(); ++k) {
    if (missing_[k] != 0) missing.push_back(k);
  }
  if (missing.empty() || !linear()) return;
  fallback_.sweep_last(missing);
  end_.cut = true;
  const Pool::Grace unhurried(pool_, Pool::Grace::kForever);
  pool_.run(missing.size(), [&](std::size_t n) {
    const std::size_t k = missing[n];
    std::optional<Solution> solution = fallback_.take(k);
    if (!solution) {
      keep_zero(k);
      return;
    }
    Pool alone(1, &run_.stop);
    const std::vector<std::int8_t> y = plan_.signs_of(k);
    report_.add_iterations(k, solution->iterations);
    keep(k, problem_of(y), *solution, false, alone);
    report_.add_end(k, false);
    missing_[k] = 0;
  });
}

void OneModel::keep_zero(std::size_t k) {
  require_finite(primal_at_zero_);
  BinaryProblem& out = report_.model().problems[k];
  out.certificate = {.primal = primal_at_zero_, .dual = 0, .relative_gap = 1, .bound = "witness"};
  if (plan_.keeps_witness) out.witness.states.assign((plan_.shape.rows + 3) / 4, 0);
}

// ---- A kernel.

// Problems of a model with a kernel share their support rows, so that all are kept at once.
void OneModel::keep_in_kernel() {
  Model& model = report_.model();
  const Stopwatch clock;
  std::vector<std::uint64_t> support;
  for (std::uint64_t i = 0; i < plan_.data.rows(); ++i) {
    const auto uses = [i](const InKernel& k) {
      return !k.solution.w.empty() && k.solution.w[i] != 0;
    };
    if (std::ranges::any_of(in_kernel_, uses)) support.push_back(i);
  }
  model.support = keep_rows(plan_.data, support);
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  std::vector<std::vector<double>> alphas;
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    const double feature = model.origin.bias_feature;
    y.push_back(plan_.signs_of(k));
    problems.push_back(problem_of(y.back()));
    Solution& solution = in_kernel_[k].solution;
    double sum = 0;
    for (const std::uint64_t i : support) {
      model.weights.push_back(solution.w.empty() ? 0.0 : solution.w[i]);
      sum += model.weights.back();
    }
    model.problems[k].bias = feature * feature * sum;
    alphas.push_back(std::move(solution.alpha));
  }
  std::vector<Proof> proofs(problems.size());
  for (Proof& proof : proofs) proof.bound = "unknown";
  try {
    const Pool::Grace grace(pool_, kCertifyGrace);
    proofs = certify(problems, model.kernel,
                     plan_.compact ? keep_rows(plan_.rows(), support) : model.support,
                     model.weights, alphas, pool_);
  } catch (const Interrupted&) {
    // There was no time for proofs: they stay unknown.
  }
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    if (proofs[k].bounded() && proofs[k].dual == 0) {
      std::ranges::fill(alphas[k], 0.0);  // which proves as much
    }
    if (proofs[k].known()) {
      require_finite(proofs[k].primal);
      note_stall(problems[k], in_kernel_[k].solution, in_kernel_[k].reached, proofs[k]);
    }
    model.problems[k].certificate = proofs[k];
    const bool keeps = plan_.keeps_witness && !alphas[k].empty();
    if (keeps) model.problems[k].witness = compact(problems[k], alphas[k]);
    report_.add_end(k, in_kernel_[k].interrupted);
  }
  report_.add_certify_seconds(clock.seconds());
}

}  // namespace hinge
