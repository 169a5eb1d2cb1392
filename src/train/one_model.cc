#include "train/one_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/columns.h"
#include "objective/free_bias.h"
#include "proof/certificate.h"
#include "proof/outward.h"
#include "proof/witness.h"
#include "solve/crawl.h"
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

// From the box of one problem into that of another with the same rows: each variable keeps its
// share of its bound, so that with another C alpha is a multiple of what it was. Rounding may have
// put it beyond its bound.
void fit(std::vector<double>& alpha, const Problem& before, const Problem& now) {
  for (std::uint64_t i = 0; i < alpha.size(); ++i) {
    const double upper = now.upper(i), had = before.upper(i);
    alpha[i] = had > 0 ? std::min(alpha[i] * (upper / had), upper) : 0.0;
  }
}

}  // namespace

WarmStarts between(const WarmStarts& below, const WarmStarts& above, double cost) {
  const double share = (cost - below.cost) / (above.cost - below.cost);
  const auto mix = [share](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> mixed(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) mixed[k] = (1 - share) * a[k] + share * b[k];
    return mixed;
  };
  WarmStarts all = {.cost = cost, .cut = below.cut || above.cut, .start = {}};
  for (std::size_t k = 0; k < below.start.size(); ++k) {
    const Start &a = below.start[k], &b = above.start[k];
    all.start.push_back({.w = mix(a.w, b.w), .alpha = mix(a.alpha, b.alpha)});
  }
  return all;
}

CostTraining::CostTraining(Training& training, const TrainReport& shape, std::size_t number,
                           double cost, Pool& pool)
    : t_(training),
      pool_(pool),
      problem_offset_(shape.model.problems.size() * number),
      report_(shape) {
  // A lambda says which cost it is.
  Origin& origin = report_.model.origin;
  origin.cost = t_.options.lambda > 0 ? 1 / (t_.options.lambda * t_.total) : cost;
  if (!(origin.cost > 0) || !std::isfinite(origin.cost)) {
    fail("usage.value", "lambda and the weights give a cost that is not a finite number > 0");
  }
  const PlainArithmetic plain;
  initial_primal_ = product_up(origin.cost, t_.total);
  if (t_.total_off > 0) {
    const double lost = static_cast<double>(t_.whole.rows) * kTiny;  // where U_i underflow
    initial_primal_ = up(up(initial_primal_ * up(1 + t_.total_off)) + lost);
  }
  report_.lambda = 1 / (origin.cost * t_.total);
  end_.cost = origin.cost;
  end_.start.resize(report_.model.problems.size());
  if (report_.model.kernel.linear() && !moves_weights()) {
    report_.model.weights.resize(report_.model.problems.size() * report_.model.width());
  }
  if (t_.control.observer && t_.first()) {
    observer_ = [this](Progress progress) {
      progress.cost = report_.model.origin.cost;
      const std::lock_guard lock(t_.observing);
      t_.control.observer(progress);
    };
  }
}

TrainReport CostTraining::run(WarmStarts from) {
  warm_ = std::move(from);
  end_.cut = warm_.cut;
  try {
    solve_all();
  } catch (Failure& failure) {
    if (failure.error.id == "checkpoint.content") failure.error.file = t_.control.resume;
    throw;
  }
  finish();
  return std::move(report_);
}

// The groups of one cost.
void CostTraining::solve_all() {
  const std::size_t problems = report_.model.problems.size();
  report_.problem_seconds.resize(problems);
  const auto group_of = [&](std::size_t problem) {
    const auto found = std::ranges::lower_bound(t_.groups, problem, {}, &CheckpointGroup::first);
    return static_cast<std::size_t>(found - t_.groups.begin());
  };
  const std::size_t first = group_of(problem_offset_), last = group_of(problem_offset_ + problems);
  missing_.assign(problems, 0);
  swept_.resize(problems);
  if (sweeps_first()) {
    std::vector<std::size_t> all(problems);
    std::iota(all.begin(), all.end(), std::size_t{0});
    sweep(all, first_sweep(t_.options, t_.clock.seconds(), t_.data.rows(), t_.control.stop));
  }
  if (!report_.model.kernel.linear()) {
    // One after the other, each with all threads: they share out kernel values.
    in_kernel_.resize(problems);
    for (std::size_t g = first; g < last; ++g) solve(g, pool_);
    keep_in_kernel();
  } else if (last - first == 1 || t_.comm != nullptr) {
    // Ranks do one thing at a time, all the same.
    for (std::size_t g = first; g < last; ++g) solve(g, pool_);
  } else {
    // Side by side; inside each, one thread.
    const Pool::Grace whole(pool_, Pool::Grace::kForever);  // each is asked to end by itself
    pool_.run(last - first, [&](std::size_t g) {
      Pool alone(1, &t_.stop);
      solve(first + g, alone);
    });
  }
  finish_missing();
}

WarmStarts CostTraining::take_end() {
  const bool complete = std::ranges::find(missing_, 1) == missing_.end();
  return complete ? std::move(end_) : WarmStarts{};
}

// Whether problems do not begin at 0.
bool CostTraining::has_start() const {
  return warm_.cost > 0 || t_.control.start != nullptr;
}

// Once a run is interrupted, classes not yet begun are not begun (finish_missing()). Where there is
// a start, the solver returns that. The same when the time is up, where there is something to fall
// back on, or each class takes whole passes to begin.
bool CostTraining::skip(std::size_t first, std::size_t last) {
  const bool stop = t_.interrupted();
  const bool may_skip = cutting_planes(t_.choice.solver) || swept_[first].has_value();
  const bool late = may_skip && report_.model.problems.size() > 1 && t_.late();
  if ((!stop && !late) || has_start()) return false;
  for (std::size_t k = first; k < last; ++k) {
    missing_[k] = 1;
    if (!report_.model.kernel.linear() && report_.model.kernel.positive_definite()) {
      in_kernel_[k].solution.alpha.assign(t_.data.rows(), 0.0);
    }
  }
  const std::lock_guard lock(mutex_);
  interrupted_ = interrupted_ || stop;
  return true;
}

// ---- Several problems, of which a limit or a signal may leave some without a solution.

// Whether Pegasos goes over all problems before any other solver begins with the first.
bool CostTraining::sweeps_first() const {
  const bool limited = std::isfinite(t_.options.time_limit) || t_.options.max_passes > 0;
  return limited && report_.model.problems.size() > 1 && t_.comm == nullptr && !has_start() &&
         t_.choice.solver != Solver::pegasos && !t_.interrupted() && !t_.late();
}

// Pegasos on some of the problems. It is there for want of something better: no trouble of its own
// may end the run.
void CostTraining::sweep(std::span<const std::size_t> which, const SweepLimit& limit) try {
  const Stopwatch sweep_clock;
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  for (const std::size_t k : which) {
    y.push_back(signs(t_.data, report_.model.problems[k].label));
    problems.push_back(problem_of(y.back()));
  }
  std::vector<Solution> found = hinge::sweep(problems, t_.options, limit, t_.clock, t_.stop, pool_);
  const double seconds = sweep_clock.seconds();
  std::uint64_t rows = 0;
  for (std::size_t n = 0; n < which.size(); ++n) {
    report_.problem_seconds[which[n]] += seconds / static_cast<double>(which.size());
    rows = std::max(rows, found[n].rows_touched);
    swept_[which[n]] = std::move(found[n]);
  }
  report_.solve_seconds += seconds;
  report_.rows_touched += rows;
  passes_swept_ = static_cast<double>(rows) / static_cast<double>(t_.data.rows());
} catch (const Failure&) {
} catch (const Interrupted&) {
} catch (const std::bad_alloc&) {
}

// What was not begun gets what a sweep found: one from before, or one in the time that is left
// after a signal. Of what is missing even then w is 0, and nothing will be predicted by it.
void CostTraining::finish_missing() {
  Model& model = report_.model;
  std::vector<std::size_t> missing;
  for (std::size_t k = 0; k < missing_.size(); ++k) {
    if (missing_[k] != 0) missing.push_back(k);
  }
  if (missing.empty() || !model.kernel.linear()) return;
  if (t_.comm == nullptr && t_.stop.up() && !swept_[missing.front()]) {
    const SweepLimit limit = last_sweep(t_.clock.seconds(), t_.stop.up_for(), *t_.rows,
                                        missing.size(), t_.options.memory, pool_.threads());
    if (limit.steps > 0) sweep(missing, limit);
  }
  end_.cut = true;
  const Pool::Grace whole(pool_, Pool::Grace::kForever);
  const auto finish_one = [&](std::size_t k, Pool& pool) {
    if (swept_[k] && !swept_[k]->w.empty()) {
      const std::vector<std::int8_t> y = signs(t_.data, model.problems[k].label);
      Solution solution = std::move(*swept_[k]);
      swept_[k].reset();
      solution.alpha.resize(y.size());  // they may have been too many
      model.problems[k].iterations = solution.iterations;
      {
        const std::lock_guard lock(mutex_);
        report_.iterations += solution.iterations;
      }
      keep(k, problem_of(y), solution, false, pool);
      note_end(k, false);
      missing_[k] = 0;
    } else {
      require_finite(initial_primal_);
      model.problems[k].certificate = {
          .primal = initial_primal_, .dual = 0, .relative_gap = 1, .bound = "witness"};
      if (t_.witness) model.problems[k].witness.states.assign((t_.whole.rows + 3) / 4, 0);
    }
  };
  pool_.run(missing.size(), [&](std::size_t n) {
    Pool alone(1, &t_.stop);
    finish_one(missing[n], alone);
  });
}

// Where a solver was stopped, what the sweep found may be better: the better of two points, and of
// two bounds.
void CostTraining::fall_back(const Problem& problem, Solution& other, Solution& solution,
                             Proof& proof, Pool& pool) const {
  if (other.w.empty()) return;
  other.alpha.resize(problem.y.size());  // they may have been too many
  try {
    if (problem.free_bias) balance(problem, other.alpha);
    round_as_stored(problem, other.w);
    const Proof found = certify(problem, other.w, other.alpha, pool);
    const bool point = found.primal < proof.primal;
    const bool bound = found.dual > proof.dual;
    if (!point && !bound) return;
    proof = point && bound ? found
                           : certify(problem, point ? other.w : solution.w,
                                     bound ? other.alpha : solution.alpha, pool);
    if (point) solution.w.swap(other.w);
    if (bound) solution.alpha.swap(other.alpha);
  } catch (const Interrupted&) {
    // What the solver found is proved, and will do.
  }
}

// ---- One problem.

Problem CostTraining::problem_of(std::span<const std::int8_t> y) const {
  const Origin& origin = report_.model.origin;
  return {.data = t_.rows,
          .y = y,
          .costs = t_.costs,
          .cost = origin.cost,
          .bias = origin.bias_feature,
          .free_bias = origin.free_bias};
}

// Solves the problems of a group: one, or with Pegasos several in one sweep.
void CostTraining::solve(std::size_t number, Pool& pool) {
  Model& model = report_.model;
  CheckpointGroup& group = t_.groups[number];
  const std::size_t first = group.first - problem_offset_, last = group.last - problem_offset_;
  if (!group.state && skip(first, last)) return;
  if (t_.comm != nullptr) t_.comm->lower(Wish::limit);  // passes are those of each problem
  std::optional<CheckpointBook::Keeper> keeper;
  if (t_.book && !group.done && !warm_.cut) keeper.emplace(*t_.book, number);
  std::optional<RankKeeper> all_ranks;
  if (t_.comm != nullptr && t_.keeps_states && !warm_.cut) {
    all_ranks.emplace(*t_.comm, keeper ? &*keeper : nullptr);
  }
  // What ranks left is where to begin, rather than all of a state.
  const bool joined = group.state && is_joined(*group.state);
  if (t_.comm != nullptr && group.state && !joined) {
    fail_file("checkpoint.mismatch", t_.control.resume,
              "one process wrote it, and several ranks cannot go on from there",
              "start hinge without mpirun");
  }
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  std::vector<Monitor> monitors;
  std::vector<Start> starts;
  Limits limits = {.gap = t_.gap - most_rounding(t_.gap),
                   .seconds = t_.options.time_limit,
                   .passes = static_cast<double>(t_.options.max_passes),
                   .stop = t_.control.stop,
                   .comm = t_.comm};
  if (limits.passes > 0) limits.passes -= std::min(passes_swept_, kSweepShare * limits.passes);
  if (t_.choice.solver != Solver::pegasos) {
    limits = watched(limits, *t_.rows, t_.groups.back().last, t_.choice.solver);
  }
  for (std::size_t k = first; k < last; ++k) {
    y.push_back(signs(t_.data, model.problems[k].label));
    problems.push_back(problem_of(y.back()));
    StateKeeper* const states = all_ranks ? static_cast<StateKeeper*>(&*all_ranks)
                                : keeper  ? &*keeper
                                          : nullptr;
    monitors.emplace_back(limits, t_.clock, k, observer_, k == first ? states : nullptr);
    if (joined) {
      starts.push_back(part_of(*group.state, problems.back(), t_.whole));
    } else if (has_start()) {
      starts.push_back(start(k, problems.back()));
    }
  }
  SolverOptions options = {.seed = t_.options.seed,
                           .simd = &choose_simd(t_.options.instruction_set),
                           .pegasos = t_.options.pegasos,
                           .planes = t_.options.planes,
                           .start = starts,
                           .kernel_memory = t_.kernel_memory,
                           .comm = t_.comm,
                           .floats = t_.floats,
                           .quantised_rows = t_.quantised_rows ? &*t_.quantised_rows : nullptr};
  options.pegasos.kernel = model.kernel;
  if (group.state && !joined) options.resume = *group.state;
  const Stopwatch solve_clock;
  std::vector<Solution> solutions;
  std::vector<bool> reached;  // the gap, as the solver sees it
  if (group.done) {
    unpack_result(*group.state, problems, solutions, reached);
    for (std::size_t k = first; k < last; ++k) {
      check_size(problems[k - first], solutions[k - first]);
    }
  } else if (t_.choice.solver == Solver::pegasos) {
    solutions = solve_pegasos(problems, options, monitors, pool);
  } else if (cutting_planes(t_.choice.solver)) {
    solutions.push_back(solve_planes(problems[0], t_.choice.solver, options, monitors[0], pool));
  } else {
    const bool changed = !options.resume.empty() && Monitor::changes_in(options.resume) > 0;
    if (t_.choice.may_change || changed) {
      solutions.push_back(
          solve_in_turns(problems[0], t_.choice.solver, options, monitors[0], pool));
    } else {
      const auto one = t_.choice.solver == Solver::newton ? solve_newton : solve_dual;
      solutions.push_back(one(problems[0], options, monitors[0], pool));
    }
  }
  if (!group.done && monitors[0].crawls()) {
    solutions[0].stalled = true;
    solutions[0].passes_left = monitors[0].passes_left();
  }
  const double share = solve_clock.seconds() / static_cast<double>(last - first);
  for (std::size_t k = first; !group.done && k < last; ++k) {
    reached.push_back(monitors[k - first].reason() == StopReason::converged);
  }
  // What a limit or a signal ended is not done.
  if (keeper && t_.comm == nullptr && std::ranges::none_of(monitors, &Monitor::stopped)) {
    try {
      keeper->done(pack_result(problems, solutions, reached));
    } catch (const std::bad_alloc&) {
      keeper->lost();
    }
  }
  if (all_ranks) {
    PartState part = {solutions[0].w, solutions[0].alpha};
    all_ranks->keep(state_of(part),
                    {.problem = first, .relative_gap = monitors[0].last().relative_gap});
  }
  group.state = nullptr;
  for (std::size_t k = first; k < last; ++k) {
    Solution& solution = solutions[k - first];
    check_size(problems[k - first], solution);
    count(k, solution, monitors[k - first], share);
    const bool interrupted = monitors[k - first].reason() == StopReason::interrupted;
    if (!model.kernel.linear()) {  // judged when all classes are there
      in_kernel_[k] = {std::move(solution), interrupted};
      continue;
    }
    if (monitors[k - first].stopped()) {
      const std::lock_guard lock(mutex_);
      end_.cut = true;
    }
    // It had no time to learn anything: as good as not begun.
    if (interrupted && missing_.size() > 1 && t_.comm == nullptr && !swept_[k] && !has_start() &&
        std::ranges::all_of(solution.w, [](double x) { return x == 0; })) {
      missing_[k] = 1;
      const std::lock_guard lock(mutex_);
      interrupted_ = true;
      continue;
    }
    keep(k, problems[k - first], solution, reached[k - first] || solution.stalled, pool);
    note_end(k, interrupted);
    // The solver saw its gap reached, the certificate does not.
    if (reached[k - first] && !converged(model.problems[k])) {
      const std::lock_guard lock(mutex_);
      stalled_ = true;
    }
  }
}

// No checkpoint whatever may make us read what is not there.
void CostTraining::check_size(const Problem& problem, const Solution& solution) const {
  const bool linear = report_.model.kernel.linear();
  const std::size_t size = linear ? problem.dimension() : t_.data.rows();
  const bool good = solution.w.size() == size || (!linear && solution.w.empty());
  if (good && (solution.alpha.empty() || solution.alpha.size() == t_.data.rows())) {
    return;
  }
  fail("checkpoint.content", "a result in the checkpoint is about other data");
}

void CostTraining::note_end(std::size_t k, bool interrupted) {
  const std::lock_guard lock(mutex_);
  const BinaryProblem& problem = report_.model.problems[k];
  interrupted_ =
      interrupted_ || !problem.certificate.known() || (interrupted && !converged(problem));
}

void CostTraining::count(std::size_t k, const Solution& solution, const Monitor& monitor,
                         double solve_seconds) {
  report_.model.problems[k].iterations = solution.iterations;
  const std::lock_guard lock(mutex_);
  report_.problem_seconds[k] += solve_seconds;
  report_.solve_seconds += solve_seconds;
  report_.iterations += solution.iterations;
  // A sweep of Pegasos touches a row once for all its classes.
  report_.rows_touched = t_.choice.solver == Solver::pegasos
                             ? std::max(report_.rows_touched, solution.rows_touched)
                             : report_.rows_touched + solution.rows_touched;
  report_.objective_rows += solution.objective_rows;
  report_.search_rows += solution.search_rows;
  report_.objective_seconds += monitor.spent(Monitor::Stage::objective);
  report_.search_seconds += monitor.spent(Monitor::Stage::search);
  stalled_ = stalled_ || solution.stalled;
  if (solution.changed) ++report_.changed;
  cut_short_ = cut_short_ || solution.cut_short;
}

// Certifies a solution and moves it into the model.
void CostTraining::keep(std::size_t k, const Problem& problem, Solution& solution, bool ended,
                        Pool& pool) {
  Model& model = report_.model;
  BinaryProblem& out = model.problems[k];
  const Stopwatch certify_clock;
  const PlainArithmetic plain;
  if (problem.free_bias) balance(problem, solution.alpha);
  round_as_stored(problem, solution.w);
  const double asked = t_.gap > 0 ? t_.gap : 1;
  try {
    const Pool::Grace grace(pool, kCertifyGrace);
    Proof proof = certify(problem, solution.w, solution.alpha, pool, t_.comm, asked);
    // Where planes cancel each other, their rounding may leave points that are worse than 0.
    if (cutting_planes(t_.choice.solver) && t_.control.start == nullptr &&
        proof.primal > initial_primal_) {
      std::ranges::fill(solution.w, 0.0);
      proof = certify(problem, solution.w, solution.alpha, pool, t_.comm, asked);
    }
    require_finite(proof.primal);
    // Where it ended by itself no clock may change what it found.
    if (swept_[k] && !ended) {
      fall_back(problem, *swept_[k], solution, proof, pool);
    }
    swept_[k].reset();  // memory
    if (ended && t_.gap > 0 && t_.comm == nullptr) {
      try {
        mend_last_digits(problem, t_.gap, solution, proof, pool);
      } catch (const Interrupted&) {
        // What was mended until then is proved, and so is what was not.
      }
    }
    if (proof.dual == 0) std::ranges::fill(solution.alpha, 0.0);  // which proves as much
    if (ended && t_.gap > 0) {
      const std::string why = why_stalled(problem, t_.gap, solution, proof);
      const std::lock_guard lock(mutex_);
      if (why_.empty()) why_ = why;
    }
    out.certificate = proof;
  } catch (const Interrupted&) {
    out.certificate = {.bound = "unknown"};
  }
  if (t_.witness) out.witness = compact(problem, solution.alpha);
  if (t_.witness && t_.comm != nullptr) {
    out.witness = join_witness(out.witness, t_.data.rows(), *t_.comm);
  }
  const double certify_seconds = certify_clock.seconds();

  if (problem.bias != 0) out.bias = problem.bias * solution.w.back();
  if (moves_weights()) {
    model.weights = std::move(solution.w);
  } else {
    std::copy_n(solution.w.begin(), model.width(),
                model.weights.begin() + static_cast<std::ptrdiff_t>(k * model.width()));
  }
  if (t_.warm_starts) end_.start[k] = {std::move(solution.w), std::move(solution.alpha)};
  const std::lock_guard lock(mutex_);
  report_.certify_seconds += certify_seconds;
}

// The same for all problems of a model with a kernel: they share their support rows.
void CostTraining::keep_in_kernel() {
  Model& model = report_.model;
  const Stopwatch certify_clock;
  std::vector<std::uint64_t> support;
  for (std::uint64_t i = 0; i < t_.data.rows(); ++i) {
    const auto uses = [i](const InKernel& k) {
      return !k.solution.w.empty() && k.solution.w[i] != 0;
    };
    if (std::ranges::any_of(in_kernel_, uses)) support.push_back(i);
  }
  model.support = keep_rows(t_.data, support);
  std::vector<std::vector<std::int8_t>> y;
  std::vector<Problem> problems;
  std::vector<std::vector<double>> alphas;
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    const double feature = model.origin.bias_feature;
    y.push_back(signs(t_.data, model.problems[k].label));
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
                     t_.rows == &t_.data ? model.support : keep_rows(*t_.rows, support),
                     model.weights, alphas, pool_);
  } catch (const Interrupted&) {
    // As they are: not known.
  }
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    if (proofs[k].bounded() && proofs[k].dual == 0)
      std::ranges::fill(alphas[k], 0.0);  // which proves as much
    if (proofs[k].known()) require_finite(proofs[k].primal);
    model.problems[k].certificate = proofs[k];
    const bool keeps = t_.witness && !alphas[k].empty();
    if (keeps) model.problems[k].witness = compact(problems[k], alphas[k]);
    note_end(k, in_kernel_[k].interrupted);
  }
  report_.certify_seconds += certify_clock.seconds();
}

Start CostTraining::start(std::size_t k, const Problem& problem) {
  if (warm_.cost == 0) return start_from_model(k, problem);
  Problem before = problem;
  before.cost = warm_.cost;
  fit(warm_.start[k].alpha, before, problem);
  if (problem.free_bias) balance(problem, warm_.start[k].alpha);
  return std::move(warm_.start[k]);
}

// What the start model says of problem k, in the columns of the problem. Its labels may stand in
// another order; the hyperplane of two classes the other way round is the negative one.
Start CostTraining::start_from_model(std::size_t k, const Problem& problem) const {
  const Model& from = *t_.control.start;
  const Model& model = report_.model;
  const bool turned = model.binary() && from.labels[0] != model.labels[0];
  const auto at = static_cast<std::size_t>(std::ranges::find(from.labels, model.problems[k].label) -
                                           from.labels.begin());
  const std::size_t plane = model.binary() ? 0 : at;
  const double sign = turned ? -1 : 1;
  Start start;
  start.w.resize(problem.dimension());
  const std::span<const double> weights = from.weights_of(plane);
  for (std::size_t j = 0; j < model.width(); ++j) {
    std::uint64_t column = model.columns.empty() ? j : model.columns[j];
    if (!from.columns.empty()) {
      const auto found = std::ranges::lower_bound(from.columns, column);
      if (found == from.columns.end() || *found != column) continue;
      column = static_cast<std::uint64_t>(found - from.columns.begin());
    }
    if (column < weights.size()) start.w[j] = sign * weights[column];
  }
  if (problem.bias != 0) start.w.back() = sign * from.problems[plane].bias / problem.bias;
  const Witness& witness = from.problems[plane].witness;
  // Ranks would each have to find theirs in the proof of all rows.
  if (t_.comm == nullptr && !witness.empty() && !turned &&
      from.origin.fingerprint == model.origin.fingerprint) {
    Problem before = problem;
    const std::vector<double> costs = row_costs(t_.data, from.origin.class_weights);
    before.costs = costs;
    before.cost = from.origin.cost;
    start.alpha = expand(before, witness);
    fit(start.alpha, before, problem);
    if (problem.free_bias) balance(problem, start.alpha);
  } else if (t_.choice.solver == Solver::dual) {
    fail("model.start", "the model to start from has no proof for these rows",
         "--solver dual begins at a proof; --solver focus begins at any model");
  }
  return start;
}

bool CostTraining::converged(const BinaryProblem& problem) const {
  const Certificate& certificate = problem.certificate;
  return t_.gap > 0 && certificate.known() && certificate.relative_gap <= t_.gap;
}

// ", which 3 of 10 classes reached"
std::string CostTraining::classes_done() const {
  const std::vector<BinaryProblem>& problems = report_.model.problems;
  const auto done =
      std::ranges::count_if(problems, [&](const BinaryProblem& p) { return converged(p); });
  return fmt::format(", which {} of {} classes reached", done, problems.size());
}

void CostTraining::finish() {
  Model& model = report_.model;
  const bool good = std::ranges::all_of(
      model.problems, [&](const BinaryProblem& problem) { return converged(problem); });
  report_.status = good           ? StopReason::converged
                   : interrupted_ ? StopReason::interrupted
                                  : StopReason::limit;
  model.origin.status = report_.status;
  if (model.kernel.linear()) model.weights.resize(model.problems.size() * model.width());
  if (report_.status == StopReason::limit && (t_.gap > 0 || cut_short_)) {
    std::string message =
        fmt::format("{} at gap {:.3g}", stalled_ ? "progress ended" : "stopped by a limit",
                    model.certificate().relative_gap);
    const bool several = model.problems.size() > 1;
    if ((!stalled_ || several) && t_.gap > 0) {
      message += fmt::format("; {:.3g} was asked for", t_.gap);
      if (several) message += classes_done();
    }
    if (t_.gap == 0) message += ", before all epochs were done";
    if (stalled_ && !why_.empty()) message += ": " + why_;
    report_.why = stalled_ && !why_.empty() ? why_ : message;
    report_.warnings.push_back(
        make_warning(stalled_ ? "solver.stalled" : "solver.limit", std::move(message)));
  }
  if (report_.status == StopReason::interrupted) {
    report_.why = "interrupted";
    if (t_.gap > 0) report_.why += fmt::format("; a gap of {:.3g} was asked for", t_.gap);
    if (t_.gap > 0 && model.problems.size() > 1) {
      report_.why += classes_done();
      report_.warnings.push_back(make_warning("solver.limit", report_.why));
    }
  }
  if (!model.certificate().known()) {
    report_.warnings.push_back(
        make_warning("certificate.skipped",
                     "interrupted; there was no time to compute how good the model is: `hinge "
                     "verify MODEL DATA` does"));
  }
  if (t_.comm != nullptr) {
    double sums[] = {static_cast<double>(report_.rows_touched),
                     static_cast<double>(report_.objective_rows),
                     static_cast<double>(report_.search_rows)};
    t_.comm->sum(sums);
    report_.rows_touched = static_cast<std::uint64_t>(sums[0]);
    report_.objective_rows = static_cast<std::uint64_t>(sums[1]);
    report_.search_rows = static_cast<std::uint64_t>(sums[2]);
  }
  report_.data_passes =
      static_cast<double>(report_.rows_touched) / static_cast<double>(t_.whole.rows);
}

}  // namespace hinge
