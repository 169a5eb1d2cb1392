// Map: run() is the loop. reduce() solves the small problem over the planes and goes to its minimum
// w_t; StepSearch (step.h) says how far to go from the best point w_b towards it and where the next
// plane is to lie; cut() lays it. A round of focus (focus.h) is the same loop on few rows, then a
// step on all.
#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "rows/memory_rows.h"
#include "rows/ranked_rows.h"
#include "solve/planes/focus.h"
#include "solve/planes/plane_slots.h"
#include "solve/planes/risk.h"
#include "solve/planes/sample_start.h"
#include "solve/planes/simplex_qp.h"
#include "solve/planes/step.h"
#include "solve/planes/tuning.h"
#include "solve/planes/wandering.h"
#include "solve/solver.h"

namespace hinge {
namespace {

using Tuning = PlanesTuning;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// How many planes are kept unless the user says. Ranks keep as many, however their rows differ.
std::uint64_t default_planes(Solver method, const Dataset& data, std::uint64_t dimension,
                             bool on_ranks) {
  const std::uint64_t fewest = Tuning::kMinPlanesOfActive;
  if (method != Solver::active) return Tuning::kMaxPlanes;
  if (on_ranks) return fewest;
  if (fewest * dimension > Tuning::kMaxNumbersInVectors) return Tuning::kMaxPlanes;
  const double columns = static_cast<double>(std::max<std::uint64_t>(1, dimension));
  const double worth = Tuning::kPlanesOfActive * static_cast<double>(data.nonzeros()) / columns;
  return static_cast<std::uint64_t>(
      std::clamp(worth, static_cast<double>(fewest), static_cast<double>(Tuning::kMaxPlanes)));
}

RiskOptions risk_options(Solver method, std::uint64_t planes, const Simd& simd) {
  RiskOptions risk;
  risk.most_slots = static_cast<std::size_t>(planes);
  risk.slots = static_cast<std::size_t>(std::min(planes, Tuning::kMaxPlanes));  // mostly enough
  risk.use = method == Solver::active  ? ActiveUse::wandering
             : method == Solver::focus ? ActiveUse::narrowed
                                       : ActiveUse::all;
  risk.simd = &simd;
  return risk;
}

RiskOptions risk_options(const Problem& problem, const PlanesSetup& setup) {
  const std::uint64_t usual = default_planes(setup.method, *problem.data, problem.dimension(),
                                             setup.common.comm != nullptr);
  return risk_options(setup.method, setup.planes.planes != 0 ? setup.planes.planes : usual,
                      *setup.common.simd);
}

double mu_of(Solver method, const PlaneOptions& options, const Planes& planes) {
  if (options.mu > 0) return options.mu;
  return method == Solver::focus && planes.by_rows() ? Tuning::kMuOfFocusByRows : Tuning::kMu;
}

// A free bias is no feature of the rows.
std::unique_ptr<Rows> rows_of(const Problem& problem, const SolverOptions& options, Pool& pool) {
  auto own = std::make_unique<MemoryRows>(*problem.data, problem.free_bias ? 0.0 : problem.bias,
                                          *options.simd, pool);
  if (options.comm == nullptr) return own;
  return std::make_unique<RankedRows>(std::move(own), *options.comm);
}

// Done on the way here.
struct Work {
  RiskCounts counts;
  std::uint64_t iterations = 0;

  void archive(Archive& archive) { archive(counts, iterations); }
};

class CuttingPlane {
 public:
  CuttingPlane(const Problem& problem, Rows& rows, const PlanesSetup& setup, Monitor& monitor,
               Pool& pool, const Work& before = {})
      : CuttingPlane(problem, rows, setup, risk_options(problem, setup), monitor, pool, before) {}

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
    }
    return finish();
  }

  // Between two steps; no round of focus is under way.
  void archive(Archive& archive) {
    archive(monitor_, slots_, before_, steps_, focus_, primal_, dual_, goal_share_, last_step_,
            progress_, idle_, solution_.iterations);
    qp_.archive(archive, slots_.slots());
    risk_.archive(archive, slots_.taken());
    archive(wandering_);
  }

 private:
  CuttingPlane(const Problem& problem, Rows& rows, const PlanesSetup& setup,
               const RiskOptions& risk, Monitor& monitor, Pool& pool, const Work& before)
      : problem_(problem),
        method_(setup.method),
        monitor_(monitor),
        before_(before),
        on_ranks_(setup.common.comm != nullptr),
        start_(setup.common.start),
        pool_(pool),
        resume_(setup.common.resume),
        risk_(problem, rows, risk, pool),
        slots_(risk_.planes(), risk.slots, risk.most()),
        steps_(problem, setup.method, mu_of(setup.method, setup.planes, risk_.planes()), risk_,
               monitor),
        focus_(risk_),
        wandering_(risk_),
        goal_share_(1) {}

  void work() {
    if (resume_.empty()) {
      begin();
    } else {
      restore(*this, resume_);
      begun_ = true;
    }
    while (!done()) {
      if (method_ == Solver::focus && focus_.narrow(solution_.iterations == 0)) {
        best_ = risk_.anchor();  // at a mark this takes no pass
        solve_narrowed();
        return_to_all();
      } else {
        reduce();
        cut(find_step());
      }
      ++solution_.iterations;
    }
  }

  double gap() const { return std::max(0.0, primal_ - dual_); }
  double relative_gap() const { return primal_ > 0 ? gap() / primal_ : 0.0; }
  // (P - D)/P to come to in running sums.
  double goal_gap() const { return goal_share_ * monitor_.limits().gap_at(primal_); }

  void begin() {
    const bool given = !start_.empty();
    std::vector<double> w = given ? start_[0].w : std::vector<double>(problem_.dimension());
    double square = 0;
    for (const double x : std::span(w).first(problem_.regularised())) square += x * x;
    best_ = w;
    primal_ = square / 2 + problem_.cost * risk_.begin(w);
    check_finite(primal_);
    lay(0);
    if (given && is_proved(start_[0])) lay_witness(start_[0].alpha);
    if (method_ == Solver::focus) focus_.begin(given);
    best_.clear();
    begun_ = true;
  }

  // Whether the start has dual variables: of all rows, on whichever ranks these are.
  bool is_proved(const Start& start) const {
    const SignedRows& rows = risk_.rows();
    return rows.rows().total(start.alpha.size() == rows.size() ? 0.0 : 1.0) == 0;
  }

  // The plane of a dual point, which makes the bound begin where it was; the plane at the start
  // stays the newest.
  void lay_witness(std::vector<double> shares) {
    for (std::uint64_t i = 0; i < shares.size(); ++i) {
      const double upper = problem_.upper(i);
      shares[i] = upper > 0 ? std::clamp(shares[i] / upper, 0.0, 1.0) : 0.0;
    }
    const std::size_t slot = slots_.take();
    slots_.add_oldest(slot, risk_.plane_of(slot, shares), problem_.cost);
  }

  // ---- The reduced problem: max sum beta b - 1/2 |sum beta a|^2. Its minimum is the next trial.
  void reduce() {
    const double tolerance = Tuning::kQpGapShare * std::max(gap(), goal_gap() * primal_);
    const std::size_t used = slots_.used();
    const GramMatrix& gram = risk_.planes().gram();
    const QpAnswer answer = qp_.solve(gram.values(), gram.slots(), slots_.b().first(used),
                                      problem_.cost, tolerance, slots_.beta().first(used));
    monitor_.add_work(plane_work(answer));
    slots_.clear_free();
    {
      const auto timer = monitor_.stage(Monitor::Stage::objective);
      risk_.set_trial(slots_.beta());
    }
    steps_.follow(risk_.segment());
    const double dual = bound();
    if (!(dual <= primal_ * (1 + Tuning::kContradictionShare))) return;
    progress_ = progress_ || dual > dual_ + Tuning::kProgressShare * primal_;
    dual_ = std::max(dual_, dual);
  }

  // In about nanoseconds: that of any step, of the small problem, and of a plane and a point made
  // of planes.
  double plane_work(const QpAnswer& answer) const {
    const auto planes = static_cast<double>(slots_.count());
    const auto length = static_cast<double>(risk_.planes().by_rows() ? problem_.data->rows()
                                                                     : problem_.dimension());
    return Tuning::kStepWork + static_cast<double>(answer.steps) * planes * planes +
           planes * length;
  }

  double bound() {
    double b = 0;
    for (std::size_t k = 0; k < slots_.slots(); ++k) b += slots_.beta()[k] * slots_.b()[k];
    const Segment& segment = steps_.segment();
    const double doubt = segment.trial_doubt / 2;
    const double dual = b - segment.trial_square / 2 - doubt;
    if (!(doubt > Tuning::kMaxUnsureShare * (primal_ - dual))) return dual;
    const ExactValues exact = risk_.exact(slots_.beta());
    return exact.b - exact.square / 2;
  }

  // ---- Steps.
  Step find_step() { return steps_.find(round_primal_, dual_); }

  // Lays the next plane and goes.
  void cut(Step step) {
    check_finite(step.primal);
    const bool possible = narrowed_ || step.primal >= dual_ * (1 - Tuning::kContradictionShare);
    const bool better = step.primal < round_primal_ && possible;
    if (!better) step.go = 0;
    lay(step.plane);
    risk_.advance(step.go);
    if (step.go > 0) last_step_ = step.go;
    if (better) {
      progress_ = progress_ ||
                  (!narrowed_ && step.primal < round_primal_ - Tuning::kProgressShare * primal_);
      round_primal_ = step.primal;
      if (!narrowed_) primal_ = step.primal;
    }
    if (!back_) steps_.remember(step.go);
    if (method_ == Solver::active) {
      const double distance = std::sqrt(steps_.segment().square);
      wandering_.keep_near(step.go * distance, steps_.reach_after(step));
    }
  }

  void lay(double t) {
    const std::size_t slot = slots_.take();
    const auto timer = monitor_.stage(Monitor::Stage::objective);
    slots_.add_newest(slot, risk_.plane(slot, t));
  }

  // ---- Rounds of focus: steps on few rows until their gap is as small as all rows' may be
  // expected to be.
  void solve_narrowed() {
    narrowed_ = true;
    round_primal_ = primal_;
    steps_.forget();
    const double end =
        std::max(Tuning::kRoundGapShare * gap(), Tuning::kRoundGoalShare * goal_gap() * primal_);
    const auto rows = static_cast<double>(risk_.rows().all_rows());
    const double share = std::max(1.0, static_cast<double>(risk_.active())) / rows;
    const auto most = static_cast<std::uint64_t>(
        std::min(Tuning::kMaxRoundPasses / share, Tuning::kMaxRoundSteps));
    for (std::uint64_t count = 0; count < most; ++count) {
      if (monitor_.poll(passes())) break;
      reduce();
      if (count > 0 && round_primal_ - dual_ <= end) break;
      cut(find_step());
      ++solution_.iterations;
    }
    narrowed_ = false;
    round_primal_ = primal_;
  }

  // One step on all rows, from the round's beginning towards its end.
  void return_to_all() {
    {
      const auto timer = monitor_.stage(Monitor::Stage::objective);
      risk_.return_to_mark();
      best_.clear();
      steps_.follow(risk_.segment(), true);
    }
    back_ = true;
    const Step step = find_step();
    focus_.learn(step.go);
    cut(step);
    back_ = false;
  }

  // ---- The end.
  RiskCounts counts() const {
    const RiskCounts now = risk_.counts();
    return {.rows = before_.counts.rows + now.rows,
            .objective = before_.counts.objective + now.objective,
            .search = before_.counts.search + now.search};
  }
  double passes() const {
    const std::uint64_t rows = std::max<std::uint64_t>(1, problem_.data->rows());
    return static_cast<double>(counts().rows) / static_cast<double>(rows);
  }

  bool done() {
    monitor_.offer_state([this] {
      if (!on_ranks_) return state_of(*this);
      PartState part = {risk_.anchor(), alpha()};
      return state_of(part);
    });
    round_primal_ = primal_;
    if (monitor_.report(confirmed_progress())) return true;
    // Planes by rows: the point itself takes a last pass.
    if (risk_.planes().by_rows() && monitor_.poll(passes() + 1)) return true;
    idle_ = progress_ ? 0 : idle_ + 1;
    progress_ = false;
    if (idle_ > Tuning::kPatience) solution_.stalled = true;
    return solution_.stalled;
  }

  Progress confirmed_progress() {
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = passes();
    progress.primal = primal_;
    progress.dual = dual_;
    progress.relative_gap = relative_gap();
    progress.active_rows = risk_.active();
    progress.planes = slots_.count();
    progress.step = last_step_;
    progress.objective_rows = counts().objective;
    progress.search_rows = counts().search;
    // A gap that is small enough must be so in sums from scratch too.
    if (monitor_.limits().reached(primal_, relative_gap())) {
      progress.relative_gap = std::max(progress.relative_gap, confirmed_gap(progress.primal));
    }
    return progress;
  }
  // The relative gap by sums from scratch, if it is larger than will do; 0 if not. Where it is,
  // running sums are made anew, and must show half the gap from then on. A primal at the target
  // becomes that from scratch, and needs no gap if it is still there.
  double confirmed_gap(double& at_target) {
    const ExactValues exact = risk_.exact(slots_.beta());
    const double primal = exact.anchor_square / 2 + problem_.cost * exact.risk,
                 dual = exact.b - exact.square / 2;
    if (monitor_.limits().at_target(at_target)) {
      at_target = primal;
      if (monitor_.limits().at_target(primal)) return 0;
    }
    if (!(primal - dual > monitor_.limits().gap_at(primal) * primal)) return 0;
    goal_share_ /= 2;
    risk_.rebuild();
    return (primal - dual) / primal;
  }

  // An interrupt may come in the middle of any step. The anchor and the statuses behind the planes
  // change at once, never in part; a plane that is not complete has no part in the bound.
  Solution finish() {
    const Pool::Grace to_the_end(pool_, Pool::Grace::kForever);
    solution_.w = best_.empty() ? risk_.anchor() : std::move(best_);
    if (!begun_ && !start_.empty() && !start_[0].alpha.empty()) {
      solution_.alpha = start_[0].alpha;
    } else {
      solution_.alpha = alpha();
    }
    const RiskCounts all = counts();
    solution_.iterations += before_.iterations;
    solution_.rows_touched = all.rows;
    solution_.objective_rows = all.objective;
    solution_.search_rows = all.search;
    return std::move(solution_);
  }

  // The dual variables behind the bound.
  std::vector<double> alpha() {
    std::vector<double> alpha = risk_.planes().statuses(slots_.beta());
    for (std::uint64_t i = 0; i < alpha.size(); ++i) {
      alpha[i] = std::clamp(alpha[i] * problem_.factor(i), 0.0, problem_.upper(i));
    }
    return alpha;
  }

  void check_finite(double primal) const {
    if (std::isfinite(primal)) return;
    fail("solver.nonfinite",
         fmt::format("the objective is not finite after {:.0f} passes over the data", passes()),
         "scale the data, or lower --cost");
  }

  const Problem& problem_;
  const Solver method_;
  Monitor& monitor_;
  Work before_;
  const bool on_ranks_;
  const std::span<const Start> start_;
  Pool& pool_;
  const std::span<const std::byte> resume_;

  Risk risk_;
  PlaneSlots slots_;
  SimplexQp qp_;
  StepSearch steps_;
  Focus focus_;
  Wandering wandering_;
  double primal_ = kInfinity;  // of the best point, w_b
  double dual_ = 0;
  std::vector<double> best_;  // w_b, while the anchor is elsewhere: at the beginning, in a round
  bool begun_ = false;
  double round_primal_ = kInfinity;  // of the anchor, by the active rows
  double goal_share_;                // of the gap that will do, to be reached in running sums
  double last_step_ = 0;
  bool narrowed_ = false;  // a round is under way
  bool back_ = false;      // this step leads from a round's beginning to its end
  bool progress_ = false;
  std::uint64_t idle_ = 0;  // steps without progress
  Solution solution_;
};

}  // namespace

double planes_memory(const Dataset& data, std::uint64_t dimension, Solver method,
                     const PlaneOptions& options) {
  const std::uint64_t planes =
      options.planes != 0 ? options.planes : default_planes(method, data, dimension, false);
  const RiskOptions risk = risk_options(method, planes, best_simd());
  const double all = risk_memory(data.rows(), dimension, risk);
  const std::uint64_t sample = sample_rows(data.rows(), dimension);
  if (method != Solver::focus || sample == 0) return all;
  // The sample and its planes are gone when those of all rows come.
  return std::max(all, risk_memory(sample, dimension, risk) +
                           12.0 * static_cast<double>(data.nonzeros() / Tuning::kSampleEvery));
}

Solution solve_planes(const Problem& problem, const PlanesSetup& setup, Monitor& monitor,
                      Pool& pool) {
  assert(problem.loss == LossKind::hinge);  // traits.cc offers no other
  const SolverOptions& options = setup.common;
  const std::unique_ptr<Rows> rows = rows_of(problem, options, pool);
  // Ranks do without a sample: each would have to know how those of the others weigh.
  if (setup.method != Solver::focus || !options.start.empty() || !options.resume.empty() ||
      options.comm != nullptr || sample_rows(problem.data->rows(), problem.dimension()) == 0) {
    return CuttingPlane(problem, *rows, setup, monitor, pool).run();
  }
  Solution sample = solve_sample(problem, *rows, setup, monitor, pool);
  if (monitor.reason() == StopReason::interrupted) {
    sample.alpha.assign(problem.data->rows(), 0.0);
    return sample;
  }
  const Start start = {.w = std::move(sample.w), .alpha = {}};
  PlanesSetup from = setup;
  from.common.start = std::span(&start, 1);
  const Work before = {.counts = {.rows = sample.rows_touched,
                                  .objective = sample.objective_rows,
                                  .search = sample.search_rows},
                       .iterations = sample.iterations};
  return CuttingPlane(problem, *rows, from, monitor, pool, before).run();
}

}  // namespace hinge
