// Composition root: data set -> binary problems -> solver -> certificate -> model. Nothing else
// knows all of these.
#include "hinge/train.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/stopwatch.h"
#include "data/columns.h"
#include "data/problem.h"
#include "proof/certificate.h"
#include "proof/witness.h"
#include "risk/free_bias.h"
#include "solve/solver.h"
#include "train_checkpoint.h"
#include "train_checks.h"

namespace hinge {
namespace {

constexpr std::uint64_t kMaxWitnessBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kKernelVectors = 32;  // as long as there are columns, in the way of kernels

// A signal shall be obeyed within a second. Counted from it, preparations may go on for so many
// seconds, and the certificate, which is left out if it cannot be made.
constexpr double kPrepareGrace = 0.3, kCertifyGrace = 0.75;

// Memory for kernel values that are kept, where `need` is what training takes besides; how much
// there is changes the time only.
std::uint64_t kernel_memory(const TrainOptions& options, double need) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  if (options.memory == 0) return std::min(kMost, physical_memory() / 4);
  return static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(options.memory) - need));
}

// The state of one run of train().
class Trainer {
 public:
  Trainer(const Dataset& data, const TrainOptions& options, const TrainControl& control)
      : data_(data),
        options_(options),
        control_(control),
        solver_(chosen_solver(options)),
        gap_(options.gap.value_or(solver_ == Solver::pegasos ? 0 : kDefaultGap)),
        stop_(control.stop),
        pool_(options.threads, &stop_),
        witness_(options.witness) {
    if (control.observer) {
      observer_ = [this](Progress progress) {
        progress.cost = report_.model.origin.cost;
        const std::lock_guard lock(mutex_);
        control_.observer(progress);
      };
    }
  }

  // One report a cost; fewer where the run was stopped.
  std::vector<TrainReport> run(std::span<const double> costs) {
    if (!control_.checkpoint.path.empty()) book_.emplace(control_.checkpoint, report_.warnings);
    warm_starts_ = costs.size() > 1;
    {
      const Pool::Grace grace(pool_, kPrepareGrace);
      const TrainingMemory need =
          check_data(data_, options_, control_.start != nullptr || warm_starts_, report_.warnings);
      kernel_memory_ = kernel_memory(options_, need.all());
      check_scale(data_, pool_, report_.warnings);
      prepare();
    }
    check_pegasos();
    TrainReport shape = report_;  // what is the same for every cost
    shape.warnings.clear();
    std::vector<TrainReport> reports;
    cut_into_groups(costs.size());
    for (const double cost : costs) {
      if (!reports.empty() && (stopped() || clock_.seconds() >= options_.time_limit)) break;
      if (!reports.empty()) report_ = shape;
      begin(cost);
      try {
        solve_all(reports.size());
      } catch (Failure& failure) {
        if (failure.error.id == "checkpoint.content") failure.error.file = control_.resume;
        throw;
      }
      finish();
      warm_cost_ = report_.model.origin.cost;
      reports.push_back(std::move(report_));
      bound_witnesses(reports);
      if (control_.finished) control_.finished(reports.back());
    }
    if (reports.size() < costs.size() && !stopped()) {
      reports.back().warnings.push_back(
          make_warning("solver.limit",
                       fmt::format("the time was up after {} of {} costs: the others have no model",
                                   reports.size(), costs.size())));
    }
    if (book_) book_->end(reports.back().warnings);
    if (pool_.missing() > 0) {
      reports.back().warnings.push_back(make_warning(
          "system.threads",
          fmt::format("{} of {} threads could not be started", pool_.missing(), pool_.threads())));
    }
    return reports;
  }

 private:
  // Into how many sweeps Pegasos' classes are cut: one a thread, none of a single class (the bits
  // of a class are the same among any others, not alone), none so large that its counters outgrow
  // the rows.
  std::size_t sweeps(std::size_t problems) const {
    const std::size_t wanted = std::max(static_cast<std::size_t>(pool_.threads()),
                                        (problems + kSweepClasses - 1) / kSweepClasses);
    return std::min(wanted, problems / 2);
  }

  // Which problems are solved together; those of the next cost come after all of the last. A
  // checkpoint says how they were: with Pegasos that depends on the number of threads.
  void cut_into_groups(std::size_t costs) {
    const std::size_t problems = report_.model.problems.size();
    Terms terms = terms_of(options_, report_.model, control_.start);
    if (!control_.resume.empty()) {
      Checkpoint found = load_checkpoint(control_.resume, report_.warnings);
      check_terms(found, terms, control_.resume);
      groups_ = std::move(found.groups);
      const bool good = std::ranges::all_of(groups_, [&](const CheckpointGroup& g) {
        return solver_ == Solver::pegasos ? g.first / problems == (g.last - 1) / problems
                                          : g.last - g.first == 1;
      });
      if (groups_.back().last != problems * costs || !good) {
        fail_file("checkpoint.content", control_.resume, "it is about other classes");
      }
    } else if (!report_.model.kernel.linear()) {
      // A budget is one for all classes.
      const std::size_t together = options_.pegasos.budget > 0 ? problems : kSweepClasses;
      for (std::size_t first = 0; first < problems; first += together) {
        groups_.push_back({.first = first, .last = std::min(problems, first + together)});
      }
    } else {
      const bool swept = solver_ == Solver::pegasos && problems > 1;
      const std::size_t groups = swept ? sweeps(problems) : problems;
      for (std::size_t c = 0; c < costs; ++c) {
        for (std::size_t g = 0; g < groups; ++g) {
          groups_.push_back({.first = problems * c + problems * g / groups,
                             .last = problems * c + problems * (g + 1) / groups});
        }
      }
    }
    if (book_) book_->begin(std::move(terms), groups_);
  }

  // The groups of one cost.
  void solve_all(std::size_t cost) {
    const std::size_t problems = report_.model.problems.size();
    report_.problem_seconds.resize(problems);
    const auto group_of = [&](std::size_t problem) {
      const auto found = std::ranges::lower_bound(groups_, problem, {}, &CheckpointGroup::first);
      return static_cast<std::size_t>(found - groups_.begin());
    };
    const std::size_t first = group_of(problems * cost), last = group_of(problems * (cost + 1));
    problem_offset_ = problems * cost;
    if (!report_.model.kernel.linear()) {
      // One after the other, each with all threads: they share out kernel values.
      in_kernel_.resize(problems);
      for (std::size_t g = first; g < last; ++g) solve(g, pool_);
      keep_in_kernel();
    } else if (last - first == 1) {
      solve(first, pool_);
    } else {
      // Side by side; inside each, one thread.
      const Pool::Grace whole(pool_, Pool::Grace::kForever);  // each is asked to end by itself
      pool_.run(last - first, [&](std::size_t g) {
        Pool alone(1, &stop_);
        solve(first + g, alone);
      });
    }
  }

  void prepare() {
    Model& model = report_.model;
    for (const LabelCount& c : data_.classes()) model.labels.push_back(c.label);
    if (model.binary()) std::swap(model.labels[0], model.labels[1]);  // positive, the larger, first
    model.problems.resize(model.binary() ? 1 : model.labels.size());
    for (std::size_t k = 0; k < model.problems.size(); ++k)
      model.problems[k].label = model.labels[k];
    model.features = data_.features();
    model.kernel = options_.pegasos.kernel;
    const std::size_t vectors =
        model.problems.size() * std::max(std::size_t{1}, options_.path.size());
    if (are_sparse(data_.nonzeros(), data_.features(),
                   model.kernel.linear() ? vectors : kKernelVectors)) {
      std::vector<std::uint32_t> columns = occurring_columns(data_, pool_);
      if (columns.empty()) columns = {0};  // none would mean all
      compact_ = keep_columns(data_, columns, pool_);
      rows_ = &compact_;
      if (model.kernel.linear()) model.columns = std::move(columns);
    }
    model.index_base = data_.index_base();
    model.reject = options_.reject;
    if (model.kernel.linear()) {
      model.weights.resize(model.problems.size() * model.width());
    } else if (model.kernel.gamma == 0) {
      model.kernel.gamma = 1 / std::max(1.0, static_cast<double>(model.features));
    }

    Origin& origin = model.origin;
    origin.solver = options_.solver == Solver::automatic ? "auto:" : "";
    origin.solver += to_string(solver_);
    origin.class_weights = class_weights(data_, options_, report_.warnings);
    costs_ = row_costs(data_, origin.class_weights);
    check_costs(data_, costs_);
    total_ = costs_.empty() ? static_cast<double>(data_.rows())
                            : std::accumulate(costs_.begin(), costs_.end(), 0.0);
    origin.gap = gap_;
    origin.free_bias = options_.free_bias;
    origin.bias_feature = options_.free_bias ? 1.0 : std::max(0.0, options_.bias);
    origin.row_weights = !data_.weights().empty();
    origin.seed = options_.seed;
    origin.rows = data_.rows();
    origin.nonzeros = data_.nonzeros();
    origin.precision = data_.precision();
    origin.fingerprint = fingerprint(data_, pool_);
  }

  // The next model, of this cost unless a lambda says which.
  void begin(double cost) {
    Origin& origin = report_.model.origin;
    origin.cost = options_.lambda > 0 ? 1 / (options_.lambda * total_) : cost;
    if (!(origin.cost > 0) || !std::isfinite(origin.cost)) {
      fail("usage.value", "lambda and the weights give a cost that is not a finite number > 0");
    }
    initial_primal_ = origin.cost * total_;
    report_.lambda = 1 / (origin.cost * total_);
    interrupted_ = stalled_ = cut_short_ = false;
    warm_.resize(warm_starts_ ? report_.model.problems.size() : 0);
  }

  bool stopped() const { return stop_.up(); }

  // Whether problem k does not begin at 0.
  bool has_start(std::size_t k) const {
    return warm_cost_ > 0 ? !warm_[k].w.empty() : control_.start != nullptr;
  }

  // What can only be checked with the data at hand.
  void check_pegasos() const {
    if (options_.pegasos.batch > data_.rows()) {
      fail("usage.value", fmt::format("--batch: expected at most the {} rows of the data, got {}",
                                      data_.rows(), options_.pegasos.batch));
    }
    if (!report_.model.kernel.linear() && data_.rows() >= UINT32_MAX) {
      fail("usage.value", "--kernel: takes less than 2^32 - 1 rows");
    }
    if (solver_ == Solver::pegasos && warm_starts_ && options_.pegasos.t0 == 0) {
      fail("usage.value", "--t0: with several costs expected at least 1: step 1 forgets the last");
    }
    if (control_.start == nullptr) return;
    const Model& start = *control_.start;
    if (!report_.model.kernel.linear()) {
      fail("usage.value", "--start: training with a kernel begins at 0");
    }
    if (!start.kernel.linear()) fail("model.start", "the model to start from has a kernel");
    if (solver_ == Solver::pegasos && options_.pegasos.t0 == 0) {
      fail("usage.value", "--t0: with --start expected at least 1: step 1 forgets where it began");
    }
    if (start.index_base != data_.index_base()) {
      fail("model.start",
           fmt::format("the model to start from counts features from {}, the data from {}",
                       start.index_base, data_.index_base()));
    }
    std::vector<std::int64_t> labels = start.labels, ours = report_.model.labels;
    std::ranges::sort(labels);
    std::ranges::sort(ours);
    if (labels != ours)
      fail("model.start", "the model to start from has other labels than the data");
    for (const BinaryProblem& problem : start.problems) {
      if (problem.bias != 0 && report_.model.origin.bias_feature == 0) {
        fail("model.start", "the model to start from has a bias, and training has none",
             "give --bias a number, or free");
      }
    }
  }

  // Once a run is interrupted, classes not yet begun are not begun: w = 0 with its certificate.
  // Where there is a start, the solver returns that. The same when the time is up, where each class
  // takes whole passes to begin.
  bool skip(std::size_t first, std::size_t last) {
    const bool stop = stopped();
    const bool late = cutting_planes(solver_) && report_.model.problems.size() > 1 &&
                      clock_.seconds() >= options_.time_limit;
    if ((!stop && !late) || has_start(first)) return false;
    for (std::size_t k = first; k < last; ++k) {
      BinaryProblem& out = report_.model.problems[k];
      if (!report_.model.kernel.linear()) {  // judged with the others
        if (report_.model.kernel.positive_definite()) {
          in_kernel_[k].solution.alpha.assign(data_.rows(), 0.0);
        }
        continue;
      }
      out.certificate = {
          .primal = initial_primal_, .dual = 0, .relative_gap = 1, .bound = "witness"};
      if (witness_) out.witness.states.assign((data_.rows() + 3) / 4, 0);
    }
    const std::lock_guard lock(mutex_);
    interrupted_ = interrupted_ || stop;
    return true;
  }

  // Solves the problems of a group: one, or with Pegasos several in one sweep.
  void solve(std::size_t number, Pool& pool) {
    Model& model = report_.model;
    CheckpointGroup& group = groups_[number];
    const std::size_t first = group.first - problem_offset_, last = group.last - problem_offset_;
    if (!group.state && skip(first, last)) return;
    std::optional<CheckpointBook::Keeper> keeper;
    if (book_ && !group.done) keeper.emplace(*book_, number);
    std::vector<std::vector<std::int8_t>> y;
    std::vector<Problem> problems;
    std::vector<Monitor> monitors;
    std::vector<Start> starts;
    const Limits limits = {.gap = gap_,
                           .seconds = options_.time_limit,
                           .passes = options_.max_passes,
                           .stop = control_.stop};
    for (std::size_t k = first; k < last; ++k) {
      y.push_back(signs(data_, model.problems[k].label));
      problems.push_back({.data = rows_,
                          .y = y.back(),
                          .costs = costs_,
                          .cost = model.origin.cost,
                          .bias = model.origin.bias_feature,
                          .free_bias = model.origin.free_bias});
      monitors.emplace_back(limits, clock_, k, observer_,
                            k == first && keeper ? &*keeper : nullptr);
      if (has_start(k)) starts.push_back(start(k, problems.back()));
    }
    SolverOptions options = {.seed = options_.seed,
                             .kernels = &choose_kernels(options_.instruction_set),
                             .pegasos = options_.pegasos,
                             .planes = options_.planes,
                             .start = starts,
                             .kernel_memory = kernel_memory_};
    options.pegasos.kernel = model.kernel;
    if (group.state) options.resume = *group.state;
    const Stopwatch solve_clock;
    std::vector<Solution> solutions;
    std::vector<bool> reached;  // the gap, as the solver sees it
    if (group.done) {
      unpack_result(*group.state, problems, solutions, reached);
    } else if (solver_ == Solver::pegasos) {
      solutions = solve_pegasos(problems, options, monitors, pool);
    } else if (cutting_planes(solver_)) {
      solutions.push_back(solve_planes(problems[0], solver_, options, monitors[0], pool));
    } else {
      const auto one = solver_ == Solver::newton ? solve_newton : solve_dual;
      solutions.push_back(one(problems[0], options, monitors[0], pool));
    }
    const double share = solve_clock.seconds() / static_cast<double>(last - first);
    for (std::size_t k = first; !group.done && k < last; ++k) {
      reached.push_back(monitors[k - first].reason() == StopReason::converged);
    }
    // What a limit or a signal ended is not done.
    if (keeper && std::ranges::none_of(monitors, &Monitor::stopped)) {
      try {
        keeper->done(pack_result(problems, solutions, reached));
      } catch (const std::bad_alloc&) {
        keeper->lost();
      }
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
      keep(k, problems[k - first], solution, pool);
      note_end(k, interrupted);
      // The solver saw its gap reached, the certificate does not.
      if (reached[k - first] && !converged(model.problems[k])) {
        const std::lock_guard lock(mutex_);
        stalled_ = true;
      }
    }
  }

  // No checkpoint whatever may make us read what is not there.
  void check_size(const Problem& problem, const Solution& solution) const {
    const bool linear = report_.model.kernel.linear();
    const std::size_t size = linear ? problem.dimension() : data_.rows();
    const bool good = solution.w.size() == size || (!linear && solution.w.empty());
    if (good && (solution.alpha.empty() || solution.alpha.size() == data_.rows())) return;
    fail("checkpoint.content", "a result in the checkpoint is about other data");
  }

  void note_end(std::size_t k, bool interrupted) {
    const std::lock_guard lock(mutex_);
    const BinaryProblem& problem = report_.model.problems[k];
    interrupted_ =
        interrupted_ || !problem.certificate.known() || (interrupted && !converged(problem));
  }

  void count(std::size_t k, const Solution& solution, const Monitor& monitor,
             double solve_seconds) {
    report_.model.problems[k].iterations = solution.iterations;
    const std::lock_guard lock(mutex_);
    report_.problem_seconds[k] = solve_seconds;
    report_.solve_seconds += solve_seconds;
    report_.iterations += solution.iterations;
    // A sweep of Pegasos touches a row once for all its classes.
    report_.rows_touched = solver_ == Solver::pegasos
                               ? std::max(report_.rows_touched, solution.rows_touched)
                               : report_.rows_touched + solution.rows_touched;
    report_.objective_rows += solution.objective_rows;
    report_.search_rows += solution.search_rows;
    report_.objective_seconds += monitor.spent(Monitor::Stage::objective);
    report_.search_seconds += monitor.spent(Monitor::Stage::search);
    stalled_ = stalled_ || solution.stalled;
    cut_short_ = cut_short_ || solution.cut_short;
  }

  // Certifies a solution and moves it into the model.
  void keep(std::size_t k, const Problem& problem, Solution& solution, Pool& pool) {
    Model& model = report_.model;
    BinaryProblem& out = model.problems[k];
    const Stopwatch certify_clock;
    if (problem.free_bias) balance(problem, solution.alpha);
    try {
      const Pool::Grace grace(pool, kCertifyGrace);
      out.certificate = certify(problem, solution.w, solution.alpha, pool);
      // Where planes cancel each other, their rounding may leave points that are worse than 0;
      // dual variables that an interrupt left unmeasured may be so too.
      const bool lost = cutting_planes(solver_) && control_.start == nullptr &&
                        out.certificate.primal > initial_primal_;
      const bool no_bound = out.certificate.dual < 0;
      if (lost || no_bound) {
        if (lost) std::ranges::fill(solution.w, 0.0);
        if (no_bound) std::ranges::fill(solution.alpha, 0.0);
        out.certificate = certify(problem, solution.w, solution.alpha, pool);
      }
    } catch (const Interrupted&) {
      out.certificate = {.bound = "unknown"};
    }
    if (witness_) out.witness = compact(problem, solution.alpha);
    const double certify_seconds = certify_clock.seconds();

    if (problem.bias != 0) out.bias = problem.bias * solution.w.back();
    std::copy_n(solution.w.begin(), model.width(),
                model.weights.begin() + static_cast<std::ptrdiff_t>(k * model.width()));
    if (warm_starts_) warm_[k] = {.w = std::move(solution.w), .alpha = std::move(solution.alpha)};
    const std::lock_guard lock(mutex_);
    report_.certify_seconds += certify_seconds;
  }

  // The same for all problems of a model with a kernel: they share their support rows.
  void keep_in_kernel() {
    Model& model = report_.model;
    const Stopwatch certify_clock;
    std::vector<std::uint64_t> support;
    for (std::uint64_t i = 0; i < data_.rows(); ++i) {
      const auto uses = [i](const InKernel& k) {
        return !k.solution.w.empty() && k.solution.w[i] != 0;
      };
      if (std::ranges::any_of(in_kernel_, uses)) support.push_back(i);
    }
    model.support = keep_rows(data_, support);
    std::vector<std::vector<std::int8_t>> y;
    std::vector<Problem> problems;
    std::vector<std::vector<double>> alphas;
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      const double feature = model.origin.bias_feature;
      y.push_back(signs(data_, model.problems[k].label));
      problems.push_back({.data = rows_,
                          .y = y.back(),
                          .costs = costs_,
                          .cost = model.origin.cost,
                          .bias = feature});
      Solution& solution = in_kernel_[k].solution;
      double sum = 0;
      for (const std::uint64_t i : support) {
        model.weights.push_back(solution.w.empty() ? 0.0 : solution.w[i]);
        sum += model.weights.back();
      }
      model.problems[k].bias = feature * feature * sum;
      alphas.push_back(std::move(solution.alpha));
    }
    std::vector<Certificate> certificates(problems.size(), {.bound = "unknown"});
    try {
      const Pool::Grace grace(pool_, kCertifyGrace);
      certificates = certify(problems, model.kernel,
                             rows_ == &data_ ? model.support : keep_rows(*rows_, support),
                             model.weights, alphas, pool_);
    } catch (const Interrupted&) {
      // As they are: not known.
    }
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      if (certificates[k].dual < 0) {  // left unmeasured by an interrupt; 0 is a bound
        std::ranges::fill(alphas[k], 0.0);
        certificates[k].dual = 0;
        set_gap(certificates[k]);
      }
      model.problems[k].certificate = certificates[k];
      const bool keeps = witness_ && !alphas[k].empty();
      if (keeps) model.problems[k].witness = compact(problems[k], alphas[k]);
      note_end(k, in_kernel_[k].interrupted);
    }
    report_.certify_seconds += certify_clock.seconds();
  }

  // From the box of one problem into that of another with the same rows: each variable keeps its
  // share of its bound, so that with another C alpha is a multiple of what it was.
  static void fit(std::vector<double>& alpha, const Problem& before, const Problem& now) {
    for (std::uint64_t i = 0; i < alpha.size(); ++i) {
      const double upper = now.upper(i), had = before.upper(i);
      if (upper != had) alpha[i] = had > 0 ? std::min(alpha[i] * (upper / had), upper) : 0.0;
    }
  }

  Start start(std::size_t k, const Problem& problem) {
    if (warm_cost_ == 0) return start_from_model(k, problem);
    Problem before = problem;
    before.cost = warm_cost_;
    fit(warm_[k].alpha, before, problem);
    if (problem.free_bias) balance(problem, warm_[k].alpha);
    return std::move(warm_[k]);
  }

  // What the start model says of problem k, in the columns of the problem. Its labels may stand in
  // another order; the hyperplane of two classes the other way round is the negative one.
  Start start_from_model(std::size_t k, const Problem& problem) const {
    const Model& from = *control_.start;
    const Model& model = report_.model;
    const bool turned = model.binary() && from.labels[0] != model.labels[0];
    const auto at = static_cast<std::size_t>(
        std::ranges::find(from.labels, model.problems[k].label) - from.labels.begin());
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
    if (!witness.empty() && !turned && from.origin.fingerprint == model.origin.fingerprint) {
      Problem before = problem;
      const std::vector<double> costs = row_costs(data_, from.origin.class_weights);
      before.costs = costs;
      before.cost = from.origin.cost;
      start.alpha = expand(before, witness);
      fit(start.alpha, before, problem);
      if (problem.free_bias) balance(problem, start.alpha);
    } else if (solver_ == Solver::dual) {
      fail("model.start", "the model to start from has no proof for these rows",
           "--solver dual begins at a proof; --solver focus begins at any model");
    }
    return start;
  }

  bool converged(const BinaryProblem& problem) const {
    const Certificate& certificate = problem.certificate;
    return gap_ > 0 && certificate.known() && certificate.relative_gap <= gap_;
  }

  void finish() {
    Model& model = report_.model;
    const double seconds = clock_.seconds() - std::exchange(finished_, clock_.seconds());
    if (model.problems.size() > 1) {
      // Problems ran side by side: share out the wall time as their own clocks did.
      const double scale =
          seconds / std::max(1e-9, report_.solve_seconds + report_.certify_seconds);
      report_.solve_seconds *= scale;
      report_.certify_seconds *= scale;
    }
    const bool good = std::ranges::all_of(
        model.problems, [&](const BinaryProblem& problem) { return converged(problem); });
    report_.status = good           ? StopReason::converged
                     : interrupted_ ? StopReason::interrupted
                                    : StopReason::limit;
    model.origin.status = report_.status;
    if (report_.status == StopReason::limit && (gap_ > 0 || cut_short_)) {
      std::string message =
          fmt::format("{} at gap {:.3g}", stalled_ ? "progress ended" : "stopped by a limit",
                      model.certificate().relative_gap);
      if (!stalled_ && gap_ > 0) message += fmt::format("; {:.3g} was asked for", gap_);
      if (gap_ == 0) message += ", before all epochs were done";
      report_.warnings.push_back(
          make_warning(stalled_ ? "solver.stalled" : "solver.limit", std::move(message)));
    }
    if (!model.certificate().known()) {
      report_.warnings.push_back(
          make_warning("certificate.skipped",
                       "interrupted; there was no time to compute how good the model is: `hinge "
                       "verify MODEL DATA` does"));
    }
    report_.data_passes =
        static_cast<double>(report_.rows_touched) / static_cast<double>(data_.rows());
    report_.threads = pool_.threads() - pool_.missing();
  }

  // Proofs are kept as long as those of all models are not too large.
  void bound_witnesses(std::span<TrainReport> reports) {
    for (const BinaryProblem& problem : reports.back().model.problems) {
      witness_bytes_ += problem.witness.states.size() + 8 * problem.witness.free.size();
    }
    if (!witness_ || witness_bytes_ <= kMaxWitnessBytes) return;
    witness_ = false;
    for (TrainReport& report : reports) {
      for (BinaryProblem& problem : report.model.problems) problem.witness = {};
    }
    reports.back().warnings.push_back(make_warning(
        "witness.dropped",
        fmt::format("the proof takes {} MiB and is not kept in the model", witness_bytes_ >> 20)));
  }

  const Dataset& data_;
  Dataset compact_;               // the columns that occur, where these are few among many
  const Dataset* rows_ = &data_;  // what is worked on: data_, or compact_
  const TrainOptions& options_;
  const TrainControl& control_;
  const Solver solver_;
  const double gap_;  // asked for; 0 = none
  const StopToken stop_;
  Pool pool_;
  Stopwatch clock_;
  CheckpointGroups groups_;         // and the states to go on from
  std::size_t problem_offset_ = 0;  // where the problems of this cost begin among those of all
  std::vector<double> costs_;
  std::function<void(const Progress&)> observer_;
  std::mutex mutex_;  // guards what follows while problems run side by side
  TrainReport report_;
  struct InKernel {
    Solution solution;
    bool interrupted = false;
  };
  std::vector<InKernel> in_kernel_;  // of all problems, with a kernel
  std::uint64_t kernel_memory_ = 0;
  double total_ = 0;           // sum of c_i
  double initial_primal_ = 0;  // P(0)
  bool warm_starts_ = false;   // each model of several begins where the last one ended:
  std::vector<Start> warm_;    // there, by problem,
  double warm_cost_ = 0;       // with this C; 0: this is the first
  double finished_ = 0;        // when the last model was, on clock_
  bool witness_;               // to be kept
  std::uint64_t witness_bytes_ = 0;
  bool interrupted_ = false;
  bool stalled_ = false;
  bool cut_short_ = false;
  std::optional<CheckpointBook> book_;
};

std::vector<TrainReport> run(const Dataset& data, const TrainOptions& options,
                             const TrainControl& control, std::span<const double> costs) {
  try {
    return Trainer(data, options, control).run(costs);
  } catch (const Interrupted&) {
    fail("run.interrupted", "interrupted before there was a model");
  }
}

}  // namespace

Result<TrainReport> train(const Dataset& data, const TrainOptions& options,
                          const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    if (!options.path.empty()) fail("usage.value", "several costs: only train_path() takes them");
    return std::move(run(data, options, control, std::span(&options.cost, 1)).front());
  });
}

Result<std::vector<TrainReport>> train_path(const Dataset& data, const TrainOptions& options,
                                            const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    return run(data, options, control,
               options.path.empty() ? std::span(&options.cost, 1) : std::span(options.path));
  });
}

}  // namespace hinge
