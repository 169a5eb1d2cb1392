// Map: DualDescent::work is the loop. Epochs (epochs.h) have a lane (lane.h) visit its rows, the
// exact pass (exact_pass.h) finds P and D from all of them; both count what they do in solution_.
//
// Where rows are on several ranks, each rank is a lane: its problem has its own rows, and w is that
// of all, the same on every rank once lanes were joined (join.h). Each descends for a round, all
// join, all measure. Sums over rows are sums over ranks, and whatever ranks decide together they
// decide by those.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/stop.h"
#include "objective/loss.h"
#include "solve/dual/centred_rows.h"
#include "solve/dual/epochs.h"
#include "solve/dual/exact_pass.h"
#include "solve/dual/lane.h"
#include "solve/dual/merged_columns.h"
#include "solve/dual/tuning.h"
#include "solve/solver.h"
#include "solve/stall_watch.h"

namespace hinge {
namespace {

template <class Loss, class Value>
class DualDescent {
 public:
  DualDescent(const Problem& problem, const CsrView<Value>& m, const DualSetup& setup,
              Monitor& monitor, Pool& pool)
      : problem_(problem),
        options_(setup.common),
        monitor_(monitor),
        pool_(pool),
        lane_(problem, m, setup, pool),
        iterate_(lane_.iterate),
        low_precision_(lane_.low_precision),
        epochs_(problem, options_, lane_, monitor, pool, solution_),
        exact_(problem, options_, lane_, epochs_, pool, solution_),
        bias_(exact_.bias()) {}

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
      measure_once_more();
    }
    solution_.w = unmeasured_ ? std::move(iterate_.w) : exact_.take_best();
    solution_.alpha = exact_.take_alpha();
    return std::move(solution_);
  }

  // The state after an exact pass, when rows are about to be chosen anew, and w was computed from
  // the variables if there were leaps.
  void archive(Archive& archive) {
    archive(monitor_, lane_);
    exact_.archive_rows(archive);
    archive(epochs_.leaps());
    exact_.archive_best(archive);
    archive(epochs_, stall_, iterate_.is_zero, bias_, solution_.iterations, solution_.rows_touched);
  }

 private:
  void work() {
    begin();
    while (!report()) {
      exact_.keep_best();
      offer_state();
      if (low_precision_.used() && low_precision_did_enough()) epochs_.promote_to_double();
      epochs_.choose_rows(exact_.gradients().all());
      const bool go_on = epochs_.run({.gap = exact_.gap(), .primal = exact_.primal()});
      measure();
      if (!go_on) break;
      if (stalled()) {
        solution_.stalled = true;
        break;
      }
    }
  }

  void begin() {
    exact_.begin();
    if (options_.resume.empty()) {
      find_squares();
      if (!options_.start.empty()) begin_at(options_.start[0]);
      if (low_precision_.allowed()) low_precision_.take(iterate_.w);
      measure();
      return;
    }
    const Pool::Grace grace(pool_, kLastLook);  // lest the state be lost
    find_squares();
    restore(*this, options_.resume);
    // From the very first state on squares are found as they would have been.
    for (std::uint64_t i = 0; squares_come_later() && i < lane_.rows(); ++i) {
      if (lane_.has_entries(i)) lane_.squares[i] = lane_.kUnknown;
    }
  }

  // From 0 on the first epoch visits all rows, and finds their squares: one pass over the values
  // less, which counts where a few passes are all it takes.
  bool squares_come_later() const { return epochs_.nothing_known() && !bias_.is_free(); }

  void find_squares() {
    const bool later = squares_come_later() && options_.resume.empty();
    const double constant = bias_.is_free() ? 0.0 : problem_.bias * problem_.bias;
    exact_.gradients().for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (!later || !lane_.has_entries(i)) lane_.find_square(i, constant);
      }
    });
    bias_.start();
  }

  void begin_at(const Start& start) {
    if (epochs_.on_ranks() || !start.alpha.empty()) begin_at_multiple(start);
    exact_.compare(start.w);
  }

  // At the best multiple up to 1 of the start's alpha: D is never below that of 0.
  void begin_at_multiple(const Start& start) {
    double gain = 0, bent = 0;  // slope and curvature of what they add to D, along multiples
    if constexpr (!Loss::kQuadraticGain) return begin_at_bent_multiple(start);
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
      if (lane_.curvature(i) == 0) continue;
      lane_.move(i, start.alpha[i]);
      const double upper = problem_.upper(i), alpha = lane_.alpha[i];
      const double curvature = alpha * alpha * loss_.dual_curvature(0, upper);
      if constexpr (Loss::kRegression) {
        gain += loss_.dual_gain(alpha, upper) + curvature / 2 + alpha * problem_.targets[i];
      } else {
        gain += alpha * gain_slope(loss_, 0, upper);
      }
      bent += curvature;
    }
    if (epochs_.on_ranks()) {
      options_.comm->sum(iterate_.w);
      gain = options_.comm->sum(gain);
      if constexpr (!Loss::kLinearGain) bent = options_.comm->sum(bent);
    }
    const double square = exact_.square(iterate_.w) + bent;
    scale_start(start, square > gain ? gain / square : 1);
  }

  // The same where D along multiples is no quadratic.
  void begin_at_bent_multiple(const Start& start) {
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
      if (lane_.curvature(i) > 0) lane_.move(i, start.alpha[i]);
    }
    if (epochs_.on_ranks()) options_.comm->sum(iterate_.w);
    const double square = exact_.square(iterate_.w);
    const ShareOfWay share = concave_maximum([&](double t) -> SlopeAndCurvature {
      double sums[2] = {};
      for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
        const double upper = problem_.upper(i), alpha = lane_.alpha[i];
        if (lane_.curvature(i) == 0 || alpha == 0) continue;
        sums[0] += alpha * gain_slope(loss_, t * alpha, upper);
        sums[1] += alpha * alpha * loss_.dual_curvature(t * alpha, upper);
      }
      if (epochs_.on_ranks()) options_.comm->sum(sums);
      return {sums[0] - t * square, sums[1] + square};
    });
    scale_start(start, share.best);
  }

  void scale_start(const Start& start, double factor) {
    for (double& x : iterate_.w) x *= factor;
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
      if (lane_.curvature(i) > 0) lane_.alpha[i] *= factor;
    }
    if (bias_.is_free()) bias_.begin_at(start.w.back(), factor);
    iterate_.is_zero = false;
    solution_.rows_touched += lane_.rows();
  }

  // On ranks a state is not told whole.
  void offer_state() {
    monitor_.offer_state([this] {
      if (!epochs_.on_ranks()) return state_of(*this);
      PartState part = {exact_.copy_best(), lane_.alpha};
      return state_of(part);
    });
  }

  // Whether w is near the optimum, or does not come nearer.
  bool low_precision_did_enough() const {
    return epochs_.is_hard() || exact_.relative_gap() < DualTuning::kLowPrecisionAbove ||
           (epochs_.measures() > 2 && exact_.gap() > DualTuning::kLeastFall * exact_.gap_before());
  }

  void measure() { exact_.run(monitor_.limits()); }

  // Is w better than the best before? Without the time to find out it is taken only in place of 0,
  // where all begins. The dual variables are feasible at any moment, but for a free bias, with
  // which the best of an exact pass are returned.
  void measure_once_more() {
    try {
      const Pool::Grace grace(pool_, kLastLook);
      measure();
    } catch (const Interrupted&) {
      if (epochs_.measures() <= 1 && options_.start.empty()) {
        if (low_precision_.used()) {
          std::ranges::copy(low_precision_.float_weights(), iterate_.w.begin());
        }
        if (bias_.is_free()) iterate_.w.back() = iterate_.bias();
        unmeasured_ = true;
      }
    }
    if (solution_.iterations == 0 && solution_.rows_touched > 0) solution_.iterations = 1;  // begun
  }

  bool report() {
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = epochs_.passes();
    progress.primal = exact_.primal();
    progress.dual = exact_.bound();
    progress.relative_gap = exact_.relative_gap();
    if (epochs_.on_ranks() && progress.relative_gap <= monitor_.limits().gap_at(progress.primal)) {
      progress.relative_gap = std::max(progress.relative_gap, exact_.relative_gap_from_scratch());
    }
    progress.active_rows = exact_.active_rows();
    progress.step = epochs_.share_joined();
    return monitor_.report(progress);
  }

  // A free bias and the sum of signed variables go round each other, and the best values wait.
  bool stalled() {
    const bool ended = stall_.stalled(exact_.relative_gap(), bias_.is_free());
    bias_.stiffen_after(stall_.idle());
    return ended;
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const SolverOptions& options_;
  Monitor& monitor_;
  Pool& pool_;
  Solution solution_;
  Lane<Loss, Value> lane_;
  DualPoint& iterate_;           // of the lane: where epochs have come to,
  LowPrecision& low_precision_;  // and w while that is enough
  Epochs<Loss, Value> epochs_;
  ExactPass<Loss, Value> exact_;
  DualBias<Loss, Value>& bias_;  // of the exact pass
  StallWatch stall_;
  bool unmeasured_ = false;  // there was no time to measure w
};

}  // namespace

Solution solve_dual(const Problem& problem, const DualSetup& setup, Monitor& monitor, Pool& pool) {
  const SolveRows descend = [&](const Problem& given, const DualSetup& how) {
    return visit_loss(given.loss, [&]<class Loss>(const Loss&) {
      return given.data->visit([&]<class Value>(const CsrView<Value>& m) {
        return DualDescent<Loss, Value>(given, m, how, monitor, pool).run();
      });
    });
  };
  if (setup.common.comm != nullptr) {
    // What lanes on ranks go without: low precision, merged columns and centred rows, as whether
    // these would pay is a matter of all rows; leaps, and a state of all there is (Epochs::is_hard,
    // DualDescent::offer_state); and a free bias, which traits.cc does not offer there.
    DualSetup plain = setup;
    plain.float_weights = false;
    plain.quantised_rows = nullptr;
    return descend(problem, plain);
  }
  // As check_memory() counts on it, without weights.
  const double gap =
      monitor.limits().likely_gap(problem.cost * static_cast<double>(problem.data->rows()));
  return solve_centred(problem, setup, [&](const Problem& given, const DualSetup& how) {
    return solve_merged(given, how.common, gap, pool,
                        [&](const Problem& merged) { return descend(merged, how); });
  });
}

}  // namespace hinge
