// Map: run() is the loop. reduce() solves the small problem over the planes and goes to its minimum
// w_t; step() says how far to go from the best point w_b towards it and where the next plane is to
// lie; cut() lays it. A round of focus (solve_narrowed()) is the same loop on few rows, then a step
// on all.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/archive.h"
#include "base/error.h"
#include "base/random.h"
#include "data/columns.h"
#include "solve/planes/risk.h"
#include "solve/planes/simplex_qp.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kPlanes = 100, kPlanesActive = 20;
constexpr double kMu = 0.05;
constexpr double kMuByRows = 0.2;      // of focus, where rows are few: seen to need fewer planes
constexpr double kSearchDoubt = 1e-4;  // of what a search gains: ranks need not find the last bit
constexpr double kQpShare = 0.05;      // of the gap: how far the small problem may be off
constexpr double kRoundEnd = 0.2;      // a round of focus ends at this share of the exact gap
constexpr double kTargetShare = 0.7;   // or of the gap asked for
constexpr double kWidth = 3;  // rows within so many times the last movement are active, at first
constexpr double kLeastWidth = 2, kMostWidth = 20;
constexpr double kMostActive = 0.35;  // more rows than this share are not worth narrowing to
constexpr double kFirstShare = 0.25;  // of the rows, those nearest the margin: first after a start
constexpr std::uint64_t kLook = 3;    // steps on all rows between two thoughts of narrowing
constexpr double kSettled = 4;        // first narrowing: so many times the width of the most rows
// A round ends after so many steps, or when it cost as much as so many steps on all rows.
constexpr double kRoundSteps = 200, kRoundPasses = 6;
// How far searches of focus look: times the longest of the last steps; from a round's beginning,
// where 1 is its end.
constexpr double kRange = 2, kBeyondEnd = 1.25;
constexpr double kNoStep = -1;
constexpr double kLittle = 0.01;  // of the gap
constexpr double kBad = 0.3;      // a step on all rows that goes less far towards a round's end
constexpr std::uint64_t kPatience = 50;  // steps without progress that mean "stalled"
constexpr double kRounding = 1e-15;      // of the primal: less is no progress
constexpr double kDoubt = 1e-9;          // primal below bound by more: rounding has run away
constexpr double kUnsure = 0.1;  // of the gap: a bound that may be off by more is recomputed
// In multiples of w_t - w_b. A step of t multiplies what rounding did to the margins of w_b so far
// by |1 - t|: more than 2 would let it grow.
constexpr double kLongestStep = 2;
constexpr double kStepWork = 4000;  // nanoseconds of a step, also on a handful of rows: measured
constexpr double kLeastTry = 1e-3;  // of the three-point search, lest it take long to grow again

RiskOptions risk_options(Solver method, const PlaneOptions& options) {
  RiskOptions risk;
  const std::uint64_t planes = options.planes != 0        ? options.planes
                               : method == Solver::active ? kPlanesActive
                                                          : kPlanes;
  risk.most_slots = static_cast<std::size_t>(planes);
  risk.slots = static_cast<std::size_t>(std::min(planes, kPlanes));  // most runs need no more
  risk.use = method == Solver::active  ? ActiveUse::wandering
             : method == Solver::focus ? ActiveUse::narrowed
                                       : ActiveUse::all;
  return risk;
}

// Done on the way here.
struct Work {
  RiskCounts counts;
  std::uint64_t iterations = 0;

  void archive(Archive& archive) { archive(counts, iterations); }
};

class CuttingPlane {
 public:
  CuttingPlane(const Problem& problem, Solver method, const SolverOptions& options,
               Monitor& monitor, Pool& pool, const Work& before = {})
      : problem_(problem),
        method_(method),
        monitor_(monitor),
        before_(before),
        on_ranks_(options.comm != nullptr),
        slots_(risk_options(method, options.planes).slots),
        most_slots_(risk_options(method, options.planes).most()),
        start_(options.start),
        pool_(pool),
        resume_(options.resume),
        risk_(make_risk(problem, method, options, pool)),
        mu_(options.planes.mu > 0                         ? options.planes.mu
            : method == Solver::focus && risk_->by_rows() ? kMuByRows
                                                          : kMu),
        b_(slots_),
        beta_(slots_),
        taken_(slots_),
        target_(monitor.limits().gap) {}

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
    archive(monitor_);
    archive(b_);  // how many there are is believed once that many were read
    archive.sized(beta_, b_.size());
    archive.sized(taken_, b_.size());
    archive.require(b_.size() >= slots_ && b_.size() <= most_slots_);
    if (b_.size() > slots_) grow(b_.size());
    archive(age_);
    if (archive.reading()) check_slots(archive);
    archive(before_, segment_, primal_, dual_, target_, last_step_, first_try_, steps_, reach_,
            width_, stepped_back_, settled_, since_mark_, look_, pause_, progress_, idle_);
    archive(solution_.iterations);
    qp_.archive(archive, slots_);
    risk_->archive(archive, taken_);
  }

 private:
  void work() {
    if (resume_.empty()) {
      begin();
    } else {
      restore(*this, resume_);
      begun_ = true;
    }
    while (!done()) {
      if (method_ == Solver::focus && narrow()) {
        solve_narrowed();
        return_to_all();
        back_ = true;
        const Step back = step();
        judge(back.go);
        cut(back);
        back_ = false;
      } else {
        reduce();
        cut(step());
      }
      ++solution_.iterations;
    }
  }

  // Every slot that is taken has one age, and there is one; the others are planes of 0.
  void check_slots(const Archive& archive) const {
    std::vector<bool> seen(slots_);
    archive.require(!age_.empty());
    for (const std::size_t slot : age_) {
      archive.require(slot < slots_ && taken_[slot] && !seen[slot]);
      seen[slot] = true;
    }
    archive.require(seen == taken_);
    for (std::size_t k = 0; k < slots_; ++k) {
      archive.require(taken_[k] || (beta_[k] == 0 && b_[k] == 0));
    }
  }

  static std::unique_ptr<Risk> make_risk(const Problem& problem, Solver method,
                                         const SolverOptions& options, Pool& pool) {
    RiskOptions risk = risk_options(method, options.planes);
    risk.simd = options.simd;
    risk.search_doubt = kSearchDoubt;
    if (options.comm != nullptr) return make_all_reduce_risk(problem, risk, pool, *options.comm);
    return make_cpu_risk(problem, risk, pool);
  }

  // Where to go and where the next plane lies, as multiples of trial - anchor.
  struct Step {
    double go = 0;
    double plane = 0;
    double primal = 0;  // F at `go`
  };

  double gap() const { return std::max(0.0, primal_ - dual_); }
  double relative_gap() const { return primal_ > 0 ? gap() / primal_ : 0.0; }

  void begin() {
    const bool given = !start_.empty();
    std::vector<double> w = given ? start_[0].w : std::vector<double>(problem_.dimension());
    double square = 0;
    for (const double x : std::span(w).first(problem_.regularised())) square += x * x;
    best_ = w;
    primal_ = square / 2 + problem_.cost * risk_->begin(w);
    check_finite(primal_);
    lay(0);
    if (given && !start_[0].alpha.empty()) {
      std::vector<double> shares = start_[0].alpha;
      for (std::uint64_t i = 0; i < shares.size(); ++i) {
        const double upper = problem_.upper(i);
        shares[i] = upper > 0 ? std::clamp(shares[i] / upper, 0.0, 1.0) : 0.0;
      }
      const std::size_t slot = room();
      b_[slot] = risk_->plane_of(slot, shares);
      age_.insert(age_.begin(), slot);  // the plane at the start stays the newest
      beta_[slot] = problem_.cost;
    }
    if (method_ == Solver::focus) {
      risk_->mark();
      if (given) look_ = 0;
    }
    best_.clear();
    begun_ = true;
  }

  // ---- The reduced problem: max sum beta b - 1/2 |sum beta a|^2. Its minimum is the next trial.
  void reduce() {
    const double tolerance = kQpShare * std::max(gap(), target_ * primal_);
    const std::size_t used = *std::ranges::max_element(age_) + 1;
    const QpAnswer answer = qp_.solve(risk_->gram(), slots_, std::span(b_).first(used),
                                      problem_.cost, tolerance, std::span(beta_).first(used));
    monitor_.add_work(plane_work(answer));
    for (std::size_t k = 0; k < slots_; ++k) {
      if (!taken_[k]) beta_[k] = 0;  // free slots are planes of 0
    }
    {
      const auto timer = monitor_.stage(Monitor::Stage::objective);
      risk_->set_trial(beta_);
    }
    segment_ = risk_->segment();
    const double dual = bound();
    if (!(dual <= primal_ * (1 + kDoubt))) return;
    progress_ = progress_ || dual > dual_ + kRounding * primal_;
    dual_ = std::max(dual_, dual);
  }

  // In about nanoseconds: that of any step, of the small problem, and of a plane and a point made
  // of planes.
  double plane_work(const QpAnswer& answer) const {
    const auto planes = static_cast<double>(age_.size());
    const auto length =
        static_cast<double>(risk_->by_rows() ? problem_.data->rows() : problem_.dimension());
    return kStepWork + static_cast<double>(answer.steps) * planes * planes + planes * length;
  }

  double bound() {
    double b = 0;
    for (std::size_t k = 0; k < slots_; ++k) b += beta_[k] * b_[k];
    const double doubt = segment_.trial_doubt / 2;
    const double dual = b - segment_.trial_square / 2 - doubt;
    if (!(doubt > kUnsure * (primal_ - dual))) return dual;
    const ExactValues exact = risk_->exact(beta_);
    return exact.b - exact.square / 2;
  }

  // F(point(t)); the second form where the stage is timed already.
  double objective(double t) {
    const auto timer = monitor_.stage(Monitor::Stage::objective);
    return value(t);
  }
  double value(double t) {
    const double square = segment_.anchor_square +
                          2 * t * (segment_.product - segment_.anchor_square) +
                          t * t * segment_.square;
    return square / 2 + problem_.cost * risk_->value(t);
  }

  double search(double t_max) {
    const auto timer = monitor_.stage(Monitor::Stage::search);
    const double t =
        risk_->search(segment_.square / problem_.cost,
                      (segment_.product - segment_.anchor_square) / problem_.cost, t_max);
    return std::min(t, kLongestStep);
  }
  // Focus looks no further than a few times as far as it went lately, and from a round's beginning
  // hardly beyond its end.
  double range() const {
    if (method_ != Solver::focus || steps_[0] == kNoStep) return kInfinity;
    return back_ ? kBeyondEnd : kRange * (*std::ranges::max_element(steps_) + mu_);
  }
  void remember(double go) {
    for (std::size_t k = std::size(steps_) - 1; k > 0; --k) steps_[k] = steps_[k - 1];
    steps_[0] = go;
  }

  Step step() {
    switch (method_) {
      case Solver::cpa:
        return {.go = 1, .plane = 1, .primal = objective(1)};
      case Solver::active:
        return step_within_reach();
      default: {
        const double go = method_ == Solver::ocas3 ? three_points() : search(range());
        return beyond_minimum({go, (1 - mu_) * go + mu_, objective(go)});
      }
    }
  }

  // The minimum of a parabola through three points that enclose the minimum, four evaluations at
  // most besides F(0), which is known.
  double three_points() {
    const auto timer = monitor_.stage(Monitor::Stage::search);
    double left = 0, at_left = round_primal_;
    double middle = first_try_, at_middle = value(middle);
    double right = 2 * middle, at_right = value(right);
    for (int more = 0; more < 2; ++more) {
      if (at_middle > at_left) {  // too far: halve
        right = middle, at_right = at_middle;
        middle /= 2, at_middle = value(middle);
      } else if (at_right < at_middle) {  // not far enough: double
        left = middle, at_left = at_middle;
        middle = right, at_middle = at_right;
        right *= 2, at_right = value(right);
      } else {
        break;
      }
    }
    // Also where no step is taken: the next search goes on from here.
    first_try_ = std::clamp(middle, kLeastTry, kLongestStep);
    const double p = (middle - left) * (at_middle - at_right),
                 q = (middle - right) * (at_middle - at_left);
    double best = middle;
    if (at_left < at_middle) best = left;
    if (at_right < std::min(at_left, at_middle)) best = right;
    if (p - q == 0 || !std::isfinite(p - q)) return best;
    const double vertex = middle - ((middle - left) * p - (middle - right) * q) / (2 * (p - q));
    return std::clamp(vertex, left, right);
  }

  // [AS] Algorithm 1: a step of at most `reach_` / |w_t - w_b| carries no row across its margin
  // that is not active.
  Step step_within_reach() {
    const double distance = std::sqrt(segment_.square);
    const double most = distance > 0 && reach_ > 0 ? reach_ / distance : kInfinity;
    Step step;
    step.go = search(most);
    if (step.go >= most) {
      step.go = 0.9 * most;
      step.plane = most;
    } else {
      step.plane = std::min((1 - mu_) * step.go + mu_, most);
    }
    step.primal = objective(step.go);
    return beyond_minimum(step);
  }

  // A plane must lie where F rises, or it need not cut w_t off. search() goes along a straight line
  // in a free bias, while F has the best one of every point: it may still fall where that line does
  // not. So a step that gained little goes on while F falls.
  Step beyond_minimum(Step step) {
    if (!problem_.free_bias || method_ == Solver::ocas3) return step;
    if (round_primal_ - step.primal > kLittle * (round_primal_ - dual_)) return step;
    for (double ahead = step.plane - step.go; ahead > 0; ahead *= 2) {
      const double primal = objective(step.plane);
      if (!(primal < step.primal)) break;
      step = {step.plane, std::min(1.0, step.plane + 2 * ahead), primal};
      if (step.go >= 1) break;
    }
    return step;
  }
  void follow_active(double go, double plane) {
    const double distance = std::sqrt(segment_.square);
    remember(go);
    // Never less than the way to the plane: rows that are not active must be there on the side they
    // are on here.
    reach_ = std::max(*std::ranges::max_element(steps_) + mu_, std::abs(plane - go)) * distance;
    if (!(distance > 0) || problem_.free_bias) reach_ = kInfinity;
    risk_->keep_near(go * distance, reach_);
  }

  // Lays the next plane and goes.
  void cut(Step step) {
    check_finite(step.primal);
    const bool better =
        step.primal < round_primal_ && (narrowed_ || step.primal >= dual_ * (1 - kDoubt));
    if (!better) step.go = 0;
    lay(step.plane);
    risk_->advance(step.go);
    if (step.go > 0) last_step_ = step.go;
    if (better) {
      progress_ = progress_ || (!narrowed_ && step.primal < round_primal_ - kRounding * primal_);
      round_primal_ = step.primal;
      if (!narrowed_) primal_ = step.primal;
    }
    if (method_ == Solver::active) follow_active(step.go, step.plane);
    if (method_ == Solver::focus && !back_) remember(step.go);
  }

  void lay(double t) {
    const std::size_t slot = room();
    const auto timer = monitor_.stage(Monitor::Stage::objective);
    b_[slot] = risk_->plane(slot, t);
    age_.push_back(slot);
    beta_[slot] = 0;
  }

  void grow(std::size_t slots) {
    risk_->grow(slots);
    b_.resize(slots);
    beta_.resize(slots);
    taken_.resize(slots);
    slots_ = slots;
  }

  // A free slot. When there is none, and may not be more: planes without a part in the bound go,
  // but for the newest; else the two oldest become one, which keeps the bound.
  std::size_t room() {
    if (age_.size() == slots_ && slots_ < most_slots_) grow(std::min(2 * slots_, most_slots_));
    if (age_.size() == slots_) {
      for (std::size_t k = 0; k + 1 < age_.size();) {
        if (beta_[age_[k]] > 0) {
          ++k;
          continue;
        }
        risk_->drop(age_[k]);
        free(age_[k]);
        age_.erase(age_.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    if (age_.size() == slots_) {
      const std::size_t into = age_[0], from = age_[1];
      const double sum = beta_[into] + beta_[from];
      const double u = sum > 0 ? beta_[into] / sum : 0, v = 1 - u;
      risk_->merge(into, from, u, v);
      b_[into] = u * b_[into] + v * b_[from];
      beta_[into] = sum;
      free(from);
      age_.erase(age_.begin() + 1);
    }
    const auto slot = static_cast<std::size_t>(std::ranges::find(taken_, false) - taken_.begin());
    taken_[slot] = true;
    return slot;
  }
  void free(std::size_t slot) {
    b_[slot] = beta_[slot] = 0;
    taken_[slot] = false;
  }

  // ---- Focus: see solver.h. Rows whose margins are within a few times what margins moved lately
  // are active, but never more than a part of all.
  bool narrow() {
    if (!risk_->narrows_well() || ++since_mark_ <= look_) return false;
    // Where nothing has moved yet, at a start, a share of the rows must do.
    const double most = risk_->width_of(kMostActive);
    const double width = solution_.iterations == 0 ? risk_->width_of(kFirstShare)
                                                   : width_ * risk_->moved() / stepped_back_;
    risk_->mark();
    since_mark_ = 0;
    stepped_back_ = 1;
    settled_ = settled_ || width <= kSettled * most;
    if (!settled_) return false;
    look_ = 0;
    if (!(width > 0)) return false;  // nothing to go by: the last round came to nothing
    if (risk_->narrow(std::min(width, most)) == 0) return false;
    best_ = risk_->anchor();  // at a mark this takes no pass
    return true;
  }

  // Steps on few rows until their gap is as small as all rows' may be expected to be.
  void solve_narrowed() {
    narrowed_ = true;
    round_primal_ = primal_;
    std::ranges::fill(steps_, kNoStep);
    const double end = std::max(kRoundEnd * gap(), kTargetShare * target_ * primal_);
    const auto rows = static_cast<double>(risk_->rows());
    const double share = std::max(1.0, static_cast<double>(risk_->active())) / rows;
    const auto most = static_cast<std::uint64_t>(std::min(kRoundPasses / share, kRoundSteps));
    for (std::uint64_t count = 0; count < most; ++count) {
      if (monitor_.poll(passes())) break;
      reduce();
      if (count > 0 && round_primal_ - dual_ <= end) break;
      cut(step());
      ++solution_.iterations;
    }
    narrowed_ = false;
    round_primal_ = primal_;
  }

  void return_to_all() {
    const auto timer = monitor_.stage(Monitor::Stage::objective);
    risk_->widen();
    best_.clear();
    segment_ = risk_->segment();
  }

  // A round that must be taken back by much had too few rows, one that need not had enough. After a
  // bad one all rows are stepped on for a while, the longer the more often this happens; not where
  // all rows would first have to meet all planes.
  void judge(double go) {
    stepped_back_ = std::clamp(go, 0.1, 1.0);
    if (go < kBad && !risk_->by_rows()) {
      look_ = pause_;
      pause_ *= 2;
    }
    const double factor = go < 0.5 ? 1.5 : go > 0.8 ? 1 / 1.2 : 1.0;
    width_ = std::clamp(factor * width_, kLeastWidth, kMostWidth);
  }

  // ---- The end.
  RiskCounts counts() const {
    const RiskCounts now = risk_->counts();
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
      PartState part = {risk_->anchor(), alpha()};
      return state_of(part);
    });
    round_primal_ = primal_;
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = passes();
    progress.primal = primal_;
    progress.dual = dual_;
    progress.relative_gap = relative_gap();
    progress.active_rows = risk_->active();
    progress.planes = age_.size();
    progress.step = last_step_;
    progress.objective_rows = counts().objective;
    progress.search_rows = counts().search;
    // A gap that is small enough must be so in sums from scratch too.
    if (monitor_.limits().gap > 0 && relative_gap() <= monitor_.limits().gap) {
      const ExactValues exact = risk_->exact(beta_);
      const double primal = exact.anchor_square / 2 + problem_.cost * exact.risk,
                   dual = exact.b - exact.square / 2;
      if (primal - dual > monitor_.limits().gap * primal) {
        target_ /= 2;
        progress.relative_gap = std::max(progress.relative_gap, (primal - dual) / primal);
        risk_->rebuild();
      }
    }
    if (monitor_.report(progress)) return true;
    // Planes by rows: the point itself takes a last pass.
    if (risk_->by_rows() && monitor_.poll(passes() + 1)) return true;
    idle_ = progress_ ? 0 : idle_ + 1;
    progress_ = false;
    if (idle_ > kPatience) solution_.stalled = true;
    return solution_.stalled;
  }

  // An interrupt may come in the middle of any step. The anchor and the statuses behind the planes
  // change at once, never in part; a plane that is not complete has no part in the bound.
  Solution finish() {
    const Pool::Grace whole(pool_, Pool::Grace::kForever);
    solution_.w = best_.empty() ? risk_->anchor() : std::move(best_);
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
    std::vector<double> alpha = risk_->statuses(beta_);
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
  std::size_t slots_;
  const std::size_t most_slots_;
  const std::span<const Start> start_;
  Pool& pool_;
  const std::span<const std::byte> resume_;
  const std::unique_ptr<Risk> risk_;
  const double mu_;

  SimplexQp qp_;
  std::vector<double> b_, beta_;  // by slot; 0 where it is free
  std::vector<bool> taken_;       // by slot
  std::vector<std::size_t> age_;  // slots in use, oldest first
  Segment segment_;
  double primal_ = kInfinity;  // of the best point, w_b
  double dual_ = 0;
  std::vector<double> best_;  // w_b, while the anchor is elsewhere: at the beginning, in a round
  bool begun_ = false;
  double round_primal_ = kInfinity;  // of the anchor, by the active rows
  double target_;                    // gap to be reached in running sums
  double last_step_ = 0;
  double first_try_ = 1;                                    // of the three-point search
  double steps_[4] = {kNoStep, kNoStep, kNoStep, kNoStep};  // the last ones, newest first
  bool back_ = false;         // this step leads from a round's beginning to its end
  double reach_ = kInfinity;  // how far w may go before a row that is not active changes sides
  bool narrowed_ = false;
  double width_ = kWidth;
  double stepped_back_ = 1;
  bool settled_ = false;  // margins have ceased to move by more than what tells rows apart
  std::uint64_t since_mark_ = 0, look_ = kLook, pause_ = kLook;
  bool progress_ = false;
  std::uint64_t idle_ = 0;
  Solution solution_;
};

// Where rows are many more than columns, the optimum over one row in kEvery is a good place to
// begin.
constexpr std::uint64_t kEvery = 8;
constexpr std::uint64_t kLeastSample = 4000;  // rows, and so many times the columns:
constexpr std::uint64_t kLeastPerColumn = 20;
constexpr double kSampleGap = 0.01;

bool worth_sampling(const Dataset& data, std::uint64_t dimension) {
  const std::uint64_t rows = data.rows() / kEvery;
  return rows >= kLeastSample && rows / kLeastPerColumn >= dimension;
}

Solution solve_sample(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                      Pool& pool) {
  std::vector<std::uint64_t> rows;
  std::vector<std::int8_t> y;
  std::vector<double> costs;
  double all = 0, part = 0;
  Random random(options.seed, problem.data->rows());
  for (std::uint64_t from = 0; from + kEvery <= problem.data->rows(); from += kEvery) {
    const std::uint64_t i = from + random.below(kEvery);
    rows.push_back(i);
    y.push_back(problem.y[i]);
    if (!problem.costs.empty()) costs.push_back(problem.costs[i]);
  }
  if (problem.costs.empty()) {
    all = static_cast<double>(problem.data->rows());
    part = static_cast<double>(rows.size());
  } else {
    for (const double c : problem.costs) all += c;
    for (const double c : costs) part += c;
  }
  const Dataset data = keep_rows(*problem.data, rows);
  const Problem sample = {.data = &data,
                          .y = y,
                          .costs = costs,
                          .cost = part > 0 ? problem.cost * (all / part) : problem.cost,
                          .bias = problem.bias,
                          .free_bias = problem.free_bias};
  Monitor inner = monitor.for_part(kSampleGap, kEvery);
  Solution solution = solve_planes(sample, Solver::focus, options, inner, pool);
  monitor.add_spent(inner);
  if (inner.reason() == StopReason::interrupted) monitor.interrupt();
  return solution;
}

}  // namespace

double planes_memory(const Dataset& data, std::uint64_t dimension, Solver method,
                     const PlaneOptions& options) {
  const RiskOptions risk = risk_options(method, options);
  const double all = cpu_risk_memory(data.rows(), dimension, risk);
  if (method != Solver::focus || !worth_sampling(data, dimension)) return all;
  // The sample and its planes are gone when those of all rows come.
  return std::max(all, cpu_risk_memory(data.rows() / kEvery, dimension, risk) +
                           12.0 * static_cast<double>(data.nonzeros() / kEvery));
}

Solution solve_planes(const Problem& problem, Solver method, const SolverOptions& options,
                      Monitor& monitor, Pool& pool) {
  // Ranks do without a sample: each would have to know how those of the others weigh.
  if (method != Solver::focus || !options.start.empty() || !options.resume.empty() ||
      options.comm != nullptr || !worth_sampling(*problem.data, problem.dimension())) {
    return CuttingPlane(problem, method, options, monitor, pool).run();
  }
  Solution sample = solve_sample(problem, options, monitor, pool);
  if (monitor.reason() == StopReason::interrupted) {
    sample.alpha.assign(problem.data->rows(), 0.0);
    return sample;
  }
  const Start start = {.w = std::move(sample.w), .alpha = {}};
  SolverOptions from = options;
  from.start = std::span(&start, 1);
  const Work before = {.counts = {.rows = sample.rows_touched,
                                  .objective = sample.objective_rows,
                                  .search = sample.search_rows},
                       .iterations = sample.iterations};
  return CuttingPlane(problem, method, from, monitor, pool, before).run();
}

}  // namespace hinge
