// Map: SmoothNewton::work is the way from samples of the rows (climb) to all of them;
// newton/smooth_part.h says what a step is.
#include "solve/newton/smooth_newton.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/archive.h"
#include "base/error.h"
#include "base/random.h"
#include "objective/free_bias.h"
#include "solve/newton/newton_run.h"
#include "solve/newton/sample.h"
#include "solve/newton/smooth_part.h"

namespace hinge {
namespace {

template <class Value, class Loss>
class SmoothNewton : NewtonRun {
  using Tuning = NewtonTuning;

 public:
  using Part = SmoothPart<Value, Loss>;

  SmoothNewton(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
               Monitor& monitor, Pool& pool)
      : NewtonRun(problem, m.rows, monitor, pool),
        problem_(problem),
        m_(m),
        options_(options),
        simd_(*options.simd) {}

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
      if (whole_) {
        look_once_more(*whole_, [this] {
          whole_->measure();
          take_values();
        });
      }
    }
    if (!seen_start_ && !options_.start.empty() && options_.resume.empty()) {
      // Stopped before it was compared with anything.
      best_w_ = options_.start[0].w;
      best_alpha_ = options_.start[0].alpha;
    }
    solution_.w = std::move(best_w_);
    if (best_alpha_.empty() && whole_) {
      Buffer<double> multiple;
      // At first shares may be too large for a bound; a multiple of them has one.
      const bool none = Loss::kQuadraticGain && !(dual_ > 0);
      if (none) multiple = whole_->best_multiple();
      const Buffer<double>& best = none ? multiple : whole_->best();
      best_alpha_.resize(m_.rows);
      for (std::uint64_t i = 0; i < m_.rows; ++i) best_alpha_[i] = problem_.upper(i) * best[i];
    }
    best_alpha_.resize(m_.rows);
    if (problem_.free_bias) balance(problem_, best_alpha_);
    solution_.alpha = std::move(best_alpha_);
    return std::move(solution_);
  }

  // The state between two steps.
  void archive(Archive& archive) {
    archive(monitor_);
    whole_->archive(archive);
    archive.sized(best_w_, problem_.dimension());
    archive.sized_or_empty(best_alpha_, m_.rows);
    archive(primal_, dual_, idle_, least_, solution_.iterations, solution_.rows_touched);
  }

 private:
  void work() {
    if (!std::isfinite(primal_)) {
      fail("solver.nonfinite", "the objective is not finite at w = 0",
           "scale the data, or lower --cost");
    }
    if (options_.resume.empty() && report()) return;  // at w = 0
    system_.emplace(problem_, simd_, pool_);
    NewtonSignedRows<Value> rows(NewtonRows<Value>(m_, simd_, pool_),
                                 {problem_.y.begin(), problem_.y.end()},
                                 {problem_.costs.begin(), problem_.costs.end()},
                                 {problem_.targets.begin(), problem_.targets.end()}, problem_);
    whole_.emplace(std::move(rows), problem_.cost, problem_, *system_, simd_, pool_,
                   solution_.rows_touched);
    whole_->best();
    if (options_.resume.empty()) {
      begin();
    } else {
      restore(*this, options_.resume);
      const std::uint64_t touched = solution_.rows_touched;
      whole_->settle();
      solution_.rows_touched = touched;
    }
    while (!stopped_ && !report()) {
      if (whole_->anew()) monitor_.offer_state([this] { return state_of(*this); });
      if (stalled()) {
        solution_.stalled = true;
        return;
      }
      const auto step = take_step(*whole_, *system_, true);
      if (step == Part::Step::stopped) return;
      if (step == Part::Step::none) idle_ += Tuning::kIdleOfNoWay;
      take_values();
      take_followed();
    }
  }

  // At a start, or by way of samples.
  void begin() {
    Part& part = *whole_;
    if (!options_.start.empty()) {
      const Start& start = options_.start[0];
      std::ranges::copy(start.w, part.w.begin());
      if (!start.alpha.empty()) {
        const double dual = part.dual_of(start.alpha);
        if (dual > dual_) {
          dual_ = dual;
          best_alpha_ = start.alpha;
        }
      }
    } else {
      climb();
      if (stopped_) return;
    }
    part.measure();
    take_values();
    seen_start_ = true;
  }

  // Solves for ever larger samples: one row of each run of neighbours.
  void climb() {
    const std::vector<std::uint64_t> sizes = sample_sizes(m_.rows, problem_.dimension());
    for (std::size_t level = sizes.size(); level-- > 0 && !stopped_;) {
      const std::uint64_t size = sizes[level];
      const std::vector<std::uint64_t> rows =
          sample_of_rows(m_.rows, size, Random(options_.seed, level));
      const double share = static_cast<double>(m_.rows) / static_cast<double>(size);
      Part part(whole_->rows().part(rows, problem_, pool_), problem_.cost * share, problem_,
                *system_, simd_, pool_, solution_.rows_touched);
      part.w = whole_->w;
      part.measure();
      while (take_step(part, *system_, false) == Part::Step::taken) {
        const double asked = monitor_.limits().gap_at(part.primal());
        if (part.decrement() <=
            smooth_sample_gap(size, problem_.dimension(), asked) * part.primal())
          break;
      }
      whole_->w = part.w;
    }
  }

  // P and D where all rows are.
  void take_values() {
    Part& part = *whole_;
    if (part.primal() < primal_) {  // not if it is not finite
      primal_ = part.primal();
      std::copy_n(part.w.begin(), best_w_.size(), best_w_.begin());
    }
    if (part.dual() > dual_) {
      dual_ = part.dual();
      part.mark_best();
      best_alpha_.clear();
    }
    watch();
  }

  // Shares that follow the step end the run where they prove enough: by the rows, lest rounding of
  // the matrix be believed.
  void take_followed() {
    Part& part = *whole_;
    const auto reaches = [&](double dual) {
      return dual > dual_ && monitor_.limits().reached(primal_, (primal_ - dual) / primal_);
    };
    if (monitor_.limits().reached(primal_, relative_gap()) || !reaches(part.dual_of_followed())) {
      return;
    }
    const double dual = part.measure_followed();
    if (!reaches(dual)) return;
    dual_ = dual;
    best_alpha_.resize(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      best_alpha_[i] = problem_.upper(i) * part.followed()[i];
    }
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  const Simd& simd_;

  std::optional<NewtonSystem> system_;
  std::optional<Part> whole_;
  std::vector<double> best_alpha_;
};

}  // namespace

template <class Loss>
Solution solve_smoothly(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                        Pool& pool) {
  return problem.data->visit([&]<class Value>(const CsrView<Value>& m) {
    return SmoothNewton<Value, Loss>(problem, m, options, monitor, pool).run();
  });
}

template Solution solve_smoothly<SquaredHinge>(const Problem&, const SolverOptions&, Monitor&,
                                               Pool&);
template Solution solve_smoothly<Logistic>(const Problem&, const SolverOptions&, Monitor&, Pool&);
template Solution solve_smoothly<SquaredEpsilon>(const Problem&, const SolverOptions&, Monitor&,
                                                 Pool&);

}  // namespace hinge
