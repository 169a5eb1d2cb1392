// Pegasos on several ranks, by batches that all ranks take a part of: each scores its rows of the
// batch at the same w, and what they add to w is summed. Every rank cuts its own rows into as many
// parts as an epoch has steps, so that a row is visited once an epoch whatever the ranks have.
//
// With S steps an epoch, v the sum of c_i y_i x_i over all visits so far that found row i inside
// the margin, and n_i how often that was, the steps of the method (docs/pegasos.md) come to
//   w_t+1 = C S/t v,   and after t steps, in epoch E:  alpha_i = U_i n_i/E is inside the box,
// so v and the counts are all there is to keep.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "objective/line_search.h"
#include "rows/passes.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr std::uint64_t kEpochs = 20;  // unless asked otherwise
constexpr double kFurther = 1.25;      // looks at the gap are so many times further apart
constexpr double kMostScale = 1e6;     // of the result
constexpr double kScaleDoubt = 1e-9;   // of what scaling gains

template <class Value>
class PegasosOnRanks {
 public:
  PegasosOnRanks(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
                 Monitor& monitor, Pool& pool)
      : problem_(problem),
        m_(m),
        options_(options),
        comm_(*options.comm),
        monitor_(monitor),
        passes_(m, problem.bias, 1, *options.simd, pool),
        rows_(comm_.sum(m.rows)),
        counts_(m.rows),
        order_(m.rows),
        v_(problem.dimension()),
        best_w_(problem.dimension()),
        best_alpha_(m.rows) {
    const std::uint64_t batch = options.pegasos.batch == 0 ? rows_ : options.pegasos.batch;
    steps_of_epoch_ = std::max<std::uint64_t>(1, (rows_ + batch - 1) / batch);
    std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  }

  Solution run() {
    const PegasosOptions& asked = options_.pegasos;
    const bool by_gap = monitor_.limits().gap > 0 && asked.epochs == 0 && asked.steps == 0;
    const std::uint64_t epochs = asked.epochs != 0 ? asked.epochs : kEpochs;
    const std::uint64_t last = by_gap             ? std::numeric_limits<std::uint64_t>::max()
                               : asked.steps != 0 ? asked.steps
                                                  : epochs * steps_of_epoch_;
    // The mean over the last half, where it is known when that begins; else one that begins anew at
    // every power of two.
    half_ = by_gap ? 0 : last / 2;
    std::uint64_t next_look = 1;  // epochs
    bool measured = false;
    while (!over_ && step_ < last) {
      step();
      measured = false;
      over_ = monitor_.poll(passes());
      if (step_ % steps_of_epoch_ != 0) continue;
      const std::uint64_t epoch = step_ / steps_of_epoch_;
      const bool look = asked.check_every != 0 ? epoch % asked.check_every == 0
                                               : monitor_.limits().gap > 0 && epoch >= next_look;
      if (!look || over_) continue;
      over_ = measure();
      measured = true;
      next_look = static_cast<std::uint64_t>(
          std::ceil(kFurther * static_cast<double>(std::max(epoch, next_look) + 1)));
    }
    if (!measured) static_cast<void>(measure());
    solution_.cut_short = monitor_.stopped();
    solution_.iterations = step_;
    solution_.w = std::move(best_w_);
    solution_.alpha = std::move(best_alpha_);
    return std::move(solution_);
  }

 private:
  double passes() const {
    return static_cast<double>(step_) / static_cast<double>(steps_of_epoch_);
  }

  void step() {
    const std::uint64_t in_epoch = step_ % steps_of_epoch_;
    if (in_epoch == 0 && options_.pegasos.sampling == Sampling::permute) shuffle();
    const bool suffix = options_.pegasos.iterate == Iterate::suffix;
    if (suffix && (half_ != 0 ? step_ == half_ : (step_ & (step_ - 1)) == 0)) restart_mean();
    if (in_epoch == 0) {
      const std::uint64_t epoch = step_ / steps_of_epoch_, middle = half_ / steps_of_epoch_;
      if (half_ != 0 ? epoch == middle : (epoch & (epoch - 1)) == 0) mark();
    }
    const auto cut = [&](std::uint64_t k) {
      return static_cast<std::uint64_t>(static_cast<double>(m_.rows) * static_cast<double>(k) /
                                        static_cast<double>(steps_of_epoch_));
    };
    const double scale = step_ == 0 ? 0.0 : scale_after(step_);
    std::vector<double> change(v_.size());
    const std::uint64_t end = in_epoch + 1 == steps_of_epoch_ ? m_.rows : cut(in_epoch + 1);
    double inside = 0;
    for (std::uint64_t k = cut(in_epoch); k < end; ++k) {
      const std::uint64_t i = order_[k];
      double score = 0;
      passes_.score(i, v_.data(), &score);
      ++solution_.rows_touched;
      if (!(problem_.y[i] * scale * score < 1)) continue;
      const double by = problem_.factor(i) * problem_.y[i];
      passes_.add(i, &by, change.data());
      ++counts_[i];
      inside += 1;
    }
    comm_.sum_sparse(change);
    inside_ = comm_.sum(inside);  // wishes travel with it
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += change[j];
    ++step_;
    if (options_.pegasos.iterate == Iterate::last) return;
    if (mean_.empty()) mean_.resize(v_.size());
    const double now = scale_after(step_);
    for (std::size_t j = 0; j < v_.size(); ++j) mean_[j] += now * v_[j];
    ++meant_;
  }

  // w after t steps is so many times v.
  double scale_after(std::uint64_t t) const {
    return problem_.cost * static_cast<double>(steps_of_epoch_) / static_cast<double>(t);
  }
  void restart_mean() {
    mean_.clear();
    meant_ = 0;
  }
  // The visits since then are a dual point as well, and a better one: without those of the first
  // steps, which found nearly all rows inside.
  void mark() {
    marked_counts_ = counts_;
    marked_v_ = v_;
    marked_epochs_ = step_ / steps_of_epoch_;
  }

  void shuffle() {
    Random random(options_.seed, step_ * static_cast<std::uint64_t>(comm_.size()) +
                                     static_cast<std::uint64_t>(comm_.rank()));
    for (std::size_t k = order_.size(); k > 1; --k) {
      std::swap(order_[k - 1], order_[random.below(k)]);
    }
  }

  // P of the point asked for and D, exactly; the best of each stay. True: stop.
  bool measure() {
    std::vector<double> w(v_.size());
    if (step_ > 0) {
      const double scale = meant_ > 0 ? 1 / static_cast<double>(meant_) : scale_after(step_);
      const std::vector<double>& from = meant_ > 0 ? mean_ : v_;
      for (std::size_t j = 0; j < w.size(); ++j) w[j] = scale * from[j];
    }
    std::vector<double> margins(m_.rows);
    passes_.scores(
        m_.rows, [](std::uint64_t i) { return i; }, w.data(), margins.data());
    solution_.rows_touched += m_.rows;
    for (std::uint64_t i = 0; i < m_.rows; ++i) margins[i] *= problem_.y[i];
    double square = dot(w, w), factor = 1;
    if (options_.pegasos.rescale && square > 0) {
      LineSearch own(0, 0, kMostScale);
      own.reserve(m_.rows);
      for (std::uint64_t i = 0; i < m_.rows; ++i) own.add(problem_.upper(i), 1, -margins[i]);
      factor =
          minimum_on_ranks({.a = square, .t_max = kMostScale, .doubt = kScaleDoubt}, own, comm_);
    }
    double loss = 0, sum = 0;
    const double epochs = std::ceil(std::max(1.0, passes()));
    std::vector<double> alpha(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      loss += problem_.upper(i) * std::max(0.0, 1 - factor * margins[i]);
      alpha[i] = std::min(problem_.upper(i),
                          problem_.upper(i) * (static_cast<double>(counts_[i]) / epochs));
      sum += alpha[i];
    }
    std::vector<double> later(marked_counts_.size());  // dual point
    const double since = std::max(1.0, epochs - static_cast<double>(marked_epochs_));
    double later_sum = 0;
    for (std::uint64_t i = 0; i < later.size(); ++i) {
      const auto visits = static_cast<double>(counts_[i] - marked_counts_[i]);
      later[i] = problem_.upper(i) * std::min(1.0, visits / since);
      later_sum += later[i];
    }
    double sums[] = {loss, sum, later_sum};
    comm_.sum(sums);
    const double primal = factor * factor * square / 2 + sums[0];
    const double size = problem_.cost / epochs;  // sum_i alpha_i y_i x_i = size v
    if (!std::isfinite(primal)) {
      fail("solver.nonfinite", fmt::format("the objective is not finite after {} steps", step_),
           "scale the data, or lower --cost");
    }
    if (primal < primal_) {
      primal_ = primal;
      for (double& x : w) x *= factor;
      best_w_ = std::move(w);
    }
    offer(alpha, sums[1], size * size * dot(v_, v_));
    if (!marked_v_.empty()) {
      std::vector<double> difference = v_;
      for (std::size_t j = 0; j < v_.size(); ++j) difference[j] -= marked_v_[j];
      const double factor_since = problem_.cost / since;
      offer(later, sums[2], factor_since * factor_since * dot(difference, difference));
    }
    Progress progress;
    progress.iteration = step_;
    progress.data_passes = passes();
    progress.primal = primal_;
    progress.dual = dual_;
    progress.relative_gap = primal_ > 0 ? std::max(0.0, primal_ - dual_) / primal_ : 0.0;
    progress.active_rows = static_cast<std::uint64_t>(inside_);
    return monitor_.report(progress);
  }
  // The best of a dual point and what is below it, towards 0: alpha has this sum, and sum_i alpha_i
  // y_i x_i this square.
  void offer(std::vector<double>& alpha, double sum, double square) {
    const double t = square > sum ? sum / square : 1.0;
    const double dual = t * sum - t * t * square / 2;
    if (!(dual > dual_)) return;
    dual_ = dual;
    for (double& a : alpha) a *= t;
    best_alpha_ = std::move(alpha);
  }
  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return options_.simd->dot_dense(x.data(), y.data(), x.size());
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  Comm& comm_;
  Monitor& monitor_;
  Passes<Value> passes_;
  const std::uint64_t rows_;                  // of all ranks
  std::uint64_t steps_of_epoch_ = 1;          // S
  std::vector<std::uint64_t> counts_;         // n_i
  std::vector<std::uint64_t> order_;          // of this rank's rows, in this epoch
  std::vector<double> v_, mean_;              // mean_: sum of w over the last `meant_` steps
  std::vector<std::uint64_t> marked_counts_;  // at the beginning of some epoch
  std::vector<double> marked_v_;
  std::uint64_t marked_epochs_ = 0;
  std::uint64_t step_ = 0, meant_ = 0;
  std::uint64_t half_ = 0;  // the step at which the last half begins, if that is known
  double inside_ = 0;       // rows of the last batch inside the margin
  double primal_ = std::numeric_limits<double>::infinity(), dual_ = 0;
  std::vector<double> best_w_, best_alpha_;
  bool over_ = false;
  Solution solution_;
};

}  // namespace

Solution solve_pegasos_on_ranks(const Problem& problem, const SolverOptions& options,
                                Monitor& monitor, Pool& pool) {
  return problem.data->visit([&]<class Value>(const CsrView<Value>& m) {
    return PegasosOnRanks<Value>(problem, m, options, monitor, pool).run();
  });
}

}  // namespace hinge
