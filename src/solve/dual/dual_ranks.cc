// Dual descent on several ranks. In each round every rank descends on its own variables, as if the
// others stood still, and then all steps are added up:
//
//   rank k:  max over d of  sum_i d_i - <w, v_k> - s/2 |v_k|^2,   v_k = sum_i d_i y_i x_i,
//   then     a <- a + t d,   w <- w + t sum_k v_k.
//
// With s = 1 ranks whose rows share columns would all do the same work, and together go too far;
// with s = ranks the sum cannot lower D whatever the rows (CoCoA+), but where they share little it
// goes much less far than it could. So s is tried: the best t in D costs two inner products, and
// t = 1 is inside the box. Where t < 1 would have been best, s was too small, and t is that; where
// more would have been, s was too large.
//
// The primal side is the best point on the lines between the best point so far and each new w.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "objective/line_search.h"
#include "rows/passes.h"
#include "solve/dual/working_rows.h"
#include "solve/solver.h"
#include "solve/stall_watch.h"

namespace hinge {
namespace {

constexpr std::uint64_t kRun = 64;   // neighbouring rows that are visited together
constexpr double kRestFactor = 1.5;  // a row rests beyond this many rms gradients
constexpr int kEpochs = 20;          // of a rank's own, a round, at most
constexpr double kEnough = 0.1;      // of the first epoch's movement: less is not worth another
constexpr double kDoubt = 1e-4;      // of what a line search gains: how much less will do
constexpr double kFarthest = 8;      // along a line between two points, in its lengths

template <class Value>
class DualOnRanks {
 public:
  DualOnRanks(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
              Monitor& monitor, Pool& pool)
      : problem_(problem),
        m_(m),
        options_(options),
        comm_(*options.comm),
        monitor_(monitor),
        passes_(m, problem.bias, 1, *options.simd, pool),
        alpha_(m.rows),
        delta_(m.rows),
        gradient_(m.rows),
        w_(problem.dimension()),
        stiffness_(0.5 * (1 + comm_.size())) {}

  Solution run() {
    if (!options_.start.empty() && options_.start[0].alpha.size() == m_.rows) {
      alpha_ = options_.start[0].alpha;
    }
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      squares_.push_back(passes_.square(i));
      // No part in w: at its best at a bound, and at once.
      if (!(squares_[i] > 0)) alpha_[i] = problem_.upper(i);
    }
    rebuild();
    measure();
    while (!report()) {
      monitor_.offer_state([this] {
        PartState part = {best_w_, alpha_};
        return state_of(part);
      });
      choose_rows();
      descend();
      join();
      measure();
      ++solution_.iterations;
      if (watch_.stalled(gap(), false)) {
        solution_.stalled = true;
        break;
      }
    }
    solution_.w = std::move(best_w_);
    solution_.alpha = std::move(alpha_);
    return std::move(solution_);
  }

 private:
  double gap() const { return primal_ > 0 ? std::max(0.0, primal_ - dual_) / primal_ : 0.0; }

  // w = sum_i a_i y_i x_i, from all rows.
  void rebuild() {
    std::vector<double> weights(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) weights[i] = alpha_[i] * problem_.y[i];
    std::ranges::fill(w_, 0.0);
    passes_.combine(
        m_.rows, [](std::uint64_t i) { return i; }, weights.data(), w_.data());
    solution_.rows_touched += m_.rows;
    comm_.sum(w_);
  }

  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return options_.simd->dot_dense(x.data(), y.data(), x.size());
  }

  // gradients[i] = y_i <w, x_i> - 1; returns sum_i U_i max(0, -gradient) of these rows.
  double look(const std::vector<double>& w, std::vector<double>& gradients) {
    passes_.scores(
        m_.rows, [](std::uint64_t i) { return i; }, w.data(), gradients.data());
    solution_.rows_touched += m_.rows;
    double loss = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      gradients[i] = problem_.y[i] * gradients[i] - 1;
      loss += problem_.upper(i) * std::max(0.0, -gradients[i]);
    }
    return loss;
  }

  // P and D at w, and the best point from there.
  void measure() {
    double sums[] = {look(w_, gradient_), std::accumulate(alpha_.begin(), alpha_.end(), 0.0)};
    comm_.sum(sums);
    square_ = dot(w_, w_);
    dual_ = sums[1] - square_ / 2;
    const double primal = square_ / 2 + sums[0];
    if (!std::isfinite(primal)) {
      fail("solver.nonfinite",
           fmt::format("the objective is not finite after {} rounds", solution_.iterations),
           "scale the data, or lower --cost");
    }
    if (best_w_.empty()) {
      best_w_ = w_;
      best_gradient_ = gradient_;
      primal_ = primal;
      return;
    }
    // P along the line.
    const double from = dot(best_w_, best_w_), product = dot(best_w_, w_);
    LineSearch own(0, 0, kFarthest);
    own.reserve(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      own.add(problem_.upper(i), -best_gradient_[i], best_gradient_[i] - gradient_[i]);
    }
    const Ray ray = {.a = from - 2 * product + square_,
                     .b = product - from,
                     .t_max = kFarthest,
                     .doubt = kDoubt};
    const double t = minimum_on_ranks(ray, own, comm_);
    if (t == 0) return;
    double loss = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      const double g = best_gradient_[i] + t * (gradient_[i] - best_gradient_[i]);
      loss += problem_.upper(i) * std::max(0.0, -g);
    }
    const double there =
        (from + 2 * t * (product - from) + t * t * (from - 2 * product + square_)) / 2 +
        comm_.sum(loss);
    if (!(there < primal_)) return;
    primal_ = there;
    for (std::size_t j = 0; j < w_.size(); ++j) best_w_[j] += t * (w_[j] - best_w_[j]);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      best_gradient_[i] += t * (gradient_[i] - best_gradient_[i]);
    }
  }

  bool report() {
    // A gap that is small enough must be so in sums from scratch too.
    if (monitor_.limits().gap > 0 && gap() <= monitor_.limits().gap) {
      rebuild();
      double sums[] = {look(best_w_, best_gradient_),
                       std::accumulate(alpha_.begin(), alpha_.end(), 0.0)};
      look(w_, gradient_);
      comm_.sum(sums);
      square_ = dot(w_, w_);
      dual_ = sums[1] - square_ / 2;
      primal_ = dot(best_w_, best_w_) / 2 + sums[0];
    }
    Progress progress;
    progress.iteration = solution_.iterations;
    const std::uint64_t rows = std::max<std::uint64_t>(1, m_.rows);
    progress.data_passes = static_cast<double>(solution_.rows_touched) / static_cast<double>(rows);
    progress.primal = primal_;
    progress.dual = dual_;
    progress.relative_gap = gap();
    progress.active_rows = active_;
    progress.step = step_;
    return monitor_.report(progress);
  }

  // Rows at a bound whose gradient points well outwards rest for a round.
  void choose_rows() {
    double sums[2] = {};  // of squares of gradients that matter, and how many
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (const double g = projected(i, alpha_[i], gradient_[i]); g != 0) {
        sums[0] += g * g;
        sums[1] += 1;
      }
    }
    comm_.sum(sums);
    double beyond = kRestFactor * std::sqrt(sums[0] / std::max(1.0, sums[1]));
    choose_near(descent_loops(*options_.simd, problem_.loss),
                dual_rows(problem_, gradient_, alpha_), beyond, 0, 0, chosen_);
    // Rows that have no part in w never move.
    std::erase_if(chosen_,
                  [&](std::uint64_t i) { return !(squares_[i] > 0 && problem_.upper(i) > 0); });
  }
  double projected(std::uint64_t i, double a, double g) const {
    if (a <= 0) return std::min(0.0, g);
    if (a >= problem_.upper(i)) return std::max(0.0, g);
    return g;
  }

  // Epochs over this rank's rows; runs of neighbours in an order drawn anew, so that memory
  // streams.
  void descend() {
    const Simd& simd = *options_.simd;
    local_ = w_;
    std::ranges::fill(delta_, 0.0);
    std::vector<std::uint64_t> runs((chosen_.size() + kRun - 1) / kRun);
    std::iota(runs.begin(), runs.end(), std::uint64_t{0});
    double first = 0;
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      Random random(options_.seed,
                    (solution_.iterations * kEpochs + static_cast<std::uint64_t>(epoch)) *
                            static_cast<std::uint64_t>(comm_.size()) +
                        static_cast<std::uint64_t>(comm_.rank()));
      for (std::size_t k = runs.size(); k > 1; --k) std::swap(runs[k - 1], runs[random.below(k)]);
      double moved = 0;
      for (const std::uint64_t run : runs) {
        const std::size_t end = std::min<std::size_t>(chosen_.size(), (run + 1) * kRun);
        for (std::size_t k = run * kRun; k < end; ++k) {
          const std::uint64_t i = chosen_[k];
          const SparseRow<Value> row = row_of(m_, i);
          double score = simd.dot(row, local_.data());
          if (problem_.bias != 0) score += problem_.bias * local_.back();
          const double a = alpha_[i] + delta_[i], y = problem_.y[i];
          const double g = y * score - 1;
          const double to = std::clamp(a - g / (stiffness_ * squares_[i]), 0.0, problem_.upper(i));
          if (to == a) continue;
          const double by = stiffness_ * (to - a) * y;
          simd.add(row, by, local_.data());
          if (problem_.bias != 0) local_.back() += by * problem_.bias;
          delta_[i] += to - a;
          moved += std::abs(g * (to - a));
        }
      }
      solution_.rows_touched += chosen_.size();
      if (epoch == 0) first = moved;
      if (moved < kEnough * first) break;
    }
    for (std::size_t j = 0; j < w_.size(); ++j) local_[j] = (local_[j] - w_[j]) / stiffness_;
  }

  // The steps of all ranks, as far as they are worth.
  void join() {
    comm_.sum_sparse(local_);
    double sums[] = {std::accumulate(delta_.begin(), delta_.end(), 0.0),
                     static_cast<double>(chosen_.size())};
    comm_.sum(sums);
    active_ = static_cast<std::uint64_t>(sums[1]);
    const double square = dot(local_, local_);
    const double best = square > 0 ? (sums[0] - dot(w_, local_)) / square : 1.0;
    step_ = std::clamp(best, 0.0, 1.0);
    const auto ranks = static_cast<double>(comm_.size());
    stiffness_ = std::clamp(stiffness_ / std::clamp(best, 0.5, 1.5), 1.0, ranks);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (delta_[i] == 0) continue;
      alpha_[i] = std::clamp(alpha_[i] + step_ * delta_[i], 0.0, problem_.upper(i));
    }
    for (std::size_t j = 0; j < w_.size(); ++j) w_[j] += step_ * local_[j];
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  Comm& comm_;
  Monitor& monitor_;
  Passes<Value> passes_;
  std::vector<double> alpha_, delta_, gradient_, squares_;  // by row
  std::vector<double> w_;                                   // of all ranks
  std::vector<double> local_;  // w of this rank's own epochs, then steps
  std::vector<std::uint64_t> chosen_;
  double stiffness_;  // s
  double step_ = 0;   // t
  double square_ = 0, dual_ = 0, primal_ = std::numeric_limits<double>::infinity();
  std::vector<double> best_w_, best_gradient_;
  std::uint64_t active_ = 0;
  StallWatch watch_;
  Solution solution_;
};

}  // namespace

Solution solve_dual_on_ranks(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                             Pool& pool) {
  return problem.data->visit([&]<class Value>(const CsrView<Value>& m) {
    return DualOnRanks<Value>(problem, m, options, monitor, pool).run();
  });
}

}  // namespace hinge
