// Map: DualDescent::work is the loop; descend() has a lane visit its rows (lane.h), leaps (leaps.h)
// go on where epochs led, measure() finds P and D from all rows, choose_rows() picks what the next
// epochs visit.
//
// Where rows are on several ranks, each rank is a lane: its problem has its own rows, w is that of
// all, and the same on every rank once lanes were joined (join.h). Each descends for a round, all
// join, all measure; sums over rows are sums over ranks, and whatever ranks decide together they
// decide by those.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/random.h"
#include "objective/loss.h"
#include "solve/batches.h"
#include "solve/dual/best_point.h"
#include "solve/dual/centred_rows.h"
#include "solve/dual/dual_bias.h"
#include "solve/dual/gap_forecast.h"
#include "solve/dual/gradients.h"
#include "solve/dual/join.h"
#include "solve/dual/lane.h"
#include "solve/dual/leaps.h"
#include "solve/dual/merged_columns.h"
#include "solve/dual/tuning.h"
#include "solve/solver.h"
#include "solve/stall_watch.h"

namespace hinge {
namespace {

using dual::kTuning;

template <class Loss, class Value>
class DualDescent {
 public:
  DualDescent(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
              Monitor& monitor, Pool& pool)
      : problem_(problem),
        options_(options),
        simd_(*options.simd),
        comm_(options.comm),
        monitor_(monitor),
        pool_(pool),
        regularised_(problem.regularised()),
        neighbours_(neighbours_in(*problem.data, m.rows)),
        lane_(problem, m, options),
        iterate_(lane_.iterate),
        rows_(lane_.working),
        low_precision_(lane_.low_precision),
        gradients_(problem, m, simd_, pool),
        bias_(problem, lane_, gradients_, pool),
        best_point_(problem, simd_, options.comm),
        leaps_(problem, m, simd_, rows_, iterate_) {
    if (comm_ == nullptr) return;
    join_.emplace(
        static_cast<std::size_t>(comm_->size()),
        [this](std::span<double> values) { comm_->sum_sparse(values); }, simd_);
  }

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
      measure_once_more();
    }
    solution_.w = unmeasured_          ? std::move(iterate_.w)
                  : unkept_ != nullptr ? std::move(*unkept_)
                                       : best_point_.take();
    solution_.alpha = std::move(best_alpha_.empty() ? lane_.alpha : best_alpha_);
    return std::move(solution_);
  }

  // The state after measure(), when rows are about to be chosen anew, and w was computed from the
  // variables if there were leaps.
  void archive(Archive& archive) {
    archive(monitor_);
    archive.sized(iterate_.w, problem_.dimension());
    low_precision_.archive(archive, problem_.dimension());
    archive.sized(lane_.alpha, lane_.rows());
    archive.sized(best_alpha_, bias_.is_free() ? lane_.rows() : 0);
    archive.sized(gradients_.all(), lane_.rows());
    archive(leaps_, best_point_, dual_, exact_gap_, gap_before_, forecast_, rest_beyond_, measures_,
            stall_);
    archive(at_zero_, bias_, solution_.iterations, solution_.rows_touched);
  }

 private:
  void work() {
    begin();
    while (!report()) {
      keep_best();
      offer_state();
      if (low_precision_.used() && low_precision_did_enough()) promote_to_double();
      choose_rows();
      const bool go_on = descend();
      measure();
      if (!go_on) break;
      if (stalled()) {
        solution_.stalled = true;
        break;
      }
    }
  }

  // ---- The beginning.

  void begin() {
    if (on_ranks()) all_rows_ = comm_->sum(lane_.rows());
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
  bool squares_come_later() const { return nothing_known() && !bias_.is_free(); }
  bool nothing_known() const { return solution_.iterations == 0 && options_.start.empty(); }

  void find_squares() {
    const bool later = squares_come_later() && options_.resume.empty();
    const double constant = bias_.is_free() ? 0.0 : problem_.bias * problem_.bias;
    gradients_.for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (!later || !lane_.has_entries(i)) lane_.find_square(i, constant);
      }
    });
    bias_.start();
  }

  void begin_at(const Start& start) {
    if (on_ranks() || !start.alpha.empty()) begin_at_multiple(start);
    compare(start.w);
  }

  // At the best multiple up to 1 of the start's alpha: D is never below that of 0.
  void begin_at_multiple(const Start& start) {
    double sum = 0;
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
      if (lane_.curvature(i) == 0) continue;
      lane_.move(i, start.alpha[i]);
      sum += lane_.alpha[i];
    }
    if (on_ranks()) {
      comm_->sum(iterate_.w);
      sum = comm_->sum(sum);
    }
    const double square = square_of_weights(iterate_.w);
    const double factor = square > sum ? sum / square : 1;
    for (double& x : iterate_.w) x *= factor;
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) {
      if (lane_.curvature(i) > 0) lane_.alpha[i] *= factor;
    }
    bias_.begin_at(start.w.back(), factor);
    at_zero_ = false;
    solution_.rows_touched += lane_.rows();
  }

  // Offers a primal point from elsewhere.
  void compare(const std::vector<double>& w) {
    BoxedSums sums = gradients_.find_and_sum(w, lane_.alpha);
    if (bias_.is_free()) sums = gradients_.shift_and_sum(w.back(), lane_.alpha);
    sums = over_ranks(sums);
    const double square = square_of_weights(w);
    if (!std::isfinite(square / 2 + sums.loss)) return;
    const Point point = {w, gradients_.all(), square, square / 2 + sums.loss};
    if (best_point_.offer(point, 0, false)) best_point_.keep(point);
    solution_.rows_touched += lane_.rows();
  }

  // ---- Ranks. What several ranks cannot do is said by solve_dual() below, but for this: leaps are
  // not made, as they take what the variables of others are; and a state is not told whole.

  bool on_ranks() const { return comm_ != nullptr; }

  BoxedSums over_ranks(const BoxedSums& own) {
    if (!on_ranks()) return own;
    double sums[] = {own.loss, own.alpha, own.squares, static_cast<double>(rows_.items().size())};
    comm_->sum(sums);
    active_on_ranks_ = static_cast<std::uint64_t>(sums[3]);
    return {sums[0], sums[1], sums[2]};
  }

  void offer_state() {
    monitor_.offer_state([this] {
      if (!on_ranks()) return state_of(*this);
      PartState part = {best_point_.copy(), lane_.alpha};
      return state_of(part);
    });
  }

  // ---- The exact pass.

  // What is found at a point: w, or the mean of leaps.
  struct Measured {
    std::vector<double>& point;
    bool is_mean = false;
    BoxedSums sums = {};
    double square = 0;       // of the point
    double dual_square = 0;  // |v|^2, v = sum_i a_i y_i x_i
    bool by_rows = false;  // whether that was found by rows, of which there are fewer than columns

    double primal() const { return square / 2 + sums.loss; }
  };

  // P and gradients at w from all rows, and D; remembers the best point.
  void measure() {
    keep_best();
    const Measured found = measure_point();
    if (!std::isfinite(found.primal())) {
      fail("solver.nonfinite",
           fmt::format("the objective is not finite after {:.0f} passes over the data", passes()),
           "scale the data, or lower --cost");
    }
    const double dual = raise_bound(found);
    offer_point(found);
    gap_before_ = exact_gap_;
    exact_gap_ = best_point_.primal() - dual;
    forecast_.see_exact(exact_gap_);
    rest_beyond_ =
        kTuning.rest_factor * std::sqrt(found.sums.squares / static_cast<double>(all_rows()));
    if (!at_zero_) solution_.rows_touched += lane_.rows();
    at_zero_ = false;
    ++measures_;
  }

  // Leaps go to and fro about the optimum: where w is far worse than the best point, their mean
  // takes its place.
  Measured measure_point() {
    if (leaps_.changed_w()) recompute_weights();
    double square =
        low_precision_.used() ? low_precision_.give(iterate_.w, regularised_, simd_, pool_) : 0;
    if (!std::isfinite(square)) promote_to_double();
    const bool at_mean =
        leaps_.count() > 0 && forecast_.estimate() > kTuning.mean_above * exact_gap_;
    if (bias_.is_free()) {
      bias_.settle();
      if (low_precision_.used()) {
        low_precision_.take(iterate_.w);
        square = square_of_weights(iterate_.w);
      }
    }
    std::vector<double>& mean = leaps_.take_mean(at_mean);
    Measured found = {.point = at_mean ? mean : iterate_.w, .is_mean = at_mean, .square = square};
    found.sums = sums_at(found.point);
    if (!find_dual_square_in_low_precision(found)) find_squares_of(found);
    if (bias_.is_free()) found.point.back() = bias_.at_w();
    return found;
  }

  // The sums of all rows at a point, with a free bias at the best one for it.
  BoxedSums sums_at(std::span<const double> point) {
    if (at_zero_) point = {};
    if (!bias_.is_free()) return over_ranks(gradients_.find_and_sum(point, lane_.alpha));
    gradients_.find(point);
    bias_.find_best();
    if (at_zero_) bias_.centre_at_best();
    return gradients_.shift_and_sum(bias_.at_w(), lane_.alpha);
  }

  // True: w is in floats, and |v|^2 was found beside |w|^2. Where that is too coarse, rows are
  // others than they are, taken in low precision: w becomes double, and is measured again.
  bool find_dual_square_in_low_precision(Measured& found) {
    if (!low_precision_.used()) return false;
    if (at_zero_) {
      found.dual_square = found.square;
      return true;
    }
    const std::optional<double> beside = square_beside(
        found.square, product_by_rows(), regularised_,
        [&](double dual_square) { return found.primal() - (found.sums.alpha - dual_square / 2); });
    if (beside) {
      found.dual_square = *beside;
      return true;
    }
    promote_to_double();
    found.sums = sums_at(iterate_.w);
    return false;
  }

  // By rows only before leaps: w and the variables drift apart.
  void find_squares_of(Measured& found) {
    found.by_rows =
        !bias_.is_free() && !on_ranks() && lane_.rows() < iterate_.w.size() && !is_hard();
    found.dual_square = found.by_rows ? product_by_rows() : square_of_weights(iterate_.w);
    found.square = found.is_mean ? square_of_weights(found.point) : found.dual_square;
  }

  // <w, v> by the gradients at w.
  double product_by_rows() {
    return inner_by_rows<Loss>(lane_.alpha, gradients_.all()) - iterate_.label_sum * bias_.at_w();
  }
  double square_of_weights(const std::vector<double>& w) const {
    return simd_.dot_dense(w.data(), w.data(), regularised_);
  }

  // D at the variables, which is returned. With a free bias it may fall again, as their sum is
  // brought back to 0, and those of the best bound are kept.
  double raise_bound(const Measured& found) {
    const double dual = found.sums.alpha - found.dual_square / 2 - bias_.charge();
    if (bias_.is_free() && (dual > dual_ || best_alpha_.empty())) best_alpha_ = lane_.alpha;
    dual_ = std::max(dual_, dual);
    return dual;
  }

  void offer_point(const Measured& found) {
    if (at_zero_ && !bias_.is_free()) {
      best_point_.offer_zero(found.sums.loss);
      return;
    }
    Point offered = {found.point, gradients_.all(), found.square, found.primal()};
    if (found.by_rows) offered.alpha = lane_.alpha;
    const double wanted = dual_ / (1 - std::min(0.5, monitor_.limits().gap));
    // Midway the next point will be better anyway.
    const double left = offered.primal - dual_;
    const bool midway = !is_hard() && left > kTuning.search_within * (wanted - dual_) &&
                        left < kTuning.search_beyond * offered.primal;
    if (best_point_.offer(offered, midway ? offered.primal : wanted, is_hard())) {
      unkept_ = &found.point;
    }
  }

  // Before w, the mean or the gradients change.
  void keep_best() {
    if (unkept_ != nullptr) best_point_.keep({.w = *unkept_, .gradient = gradients_.all()});
    unkept_ = nullptr;
  }

  // Is w better than the best before? Without the time to find out it is taken only in place of 0,
  // where all begins. The dual variables are feasible at any moment, but for a free bias, with
  // which the best of an exact pass are returned.
  void measure_once_more() {
    try {
      const Pool::Grace grace(pool_, kLastLook);
      measure();
    } catch (const Interrupted&) {
      if (measures_ <= 1 && options_.start.empty()) {
        if (low_precision_.used()) {
          std::ranges::copy(low_precision_.float_weights(), iterate_.w.begin());
        }
        if (bias_.is_free()) iterate_.w.back() = iterate_.bias();
        unmeasured_ = true;
      }
    }
    if (solution_.iterations == 0 && solution_.rows_touched > 0) solution_.iterations = 1;  // begun
  }

  // ---- What becomes known of it.

  bool report() {
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = passes();
    progress.primal = best_point_.primal();
    progress.dual = dual_;
    progress.relative_gap = relative_gap();
    progress.active_rows = on_ranks() ? active_on_ranks_ : rows_.items().size();
    progress.step = share_joined_;
    return monitor_.report(progress);
  }

  double relative_gap() const {
    const double primal = best_point_.primal();
    return primal > 0 ? std::max(0.0, (primal - dual_) / primal) + best_point_.noise() : 0.0;
  }
  // Over this rank's own rows.
  double passes() const {
    const std::uint64_t rows = std::max<std::uint64_t>(1, lane_.rows());
    return static_cast<double>(solution_.rows_touched) / static_cast<double>(rows);
  }
  std::uint64_t all_rows() const { return on_ranks() ? all_rows_ : lane_.rows(); }

  // A free bias and the sum go round each other, and the best values wait.
  bool stalled() {
    const bool ended = stall_.stalled(relative_gap(), bias_.is_free());
    bias_.stiffen_after(stall_.idle());
    return ended;
  }

  // ---- The rows that are visited.

  // Chooses all rows that do not rest.
  void choose_rows() {
    const double least = kTuning.least_chosen * static_cast<double>(lane_.rows());
    const bool all = nothing_known();
    if (!all) {
      choose_near(simd_, boxed(problem_, gradients_.all(), lane_.alpha), rest_beyond_,
                  static_cast<std::uint64_t>(std::ceil(least)), kTuning.most_doublings, chosen_);
    }
    const std::uint64_t count = all ? lane_.rows() : chosen_.size();
    rows_.begin(count,
                std::clamp<std::uint64_t>(count / kTuning.runs_to_shuffle, 1, neighbours_.run));
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t i = all ? k : chosen_[k];
      const bool unknown = lane_.squares[i] == lane_.kUnknown;
      const double curvature = unknown ? lane_.kUnknown : lane_.curvature(i);
      if (curvature == 0 || problem_.upper(i) == 0) continue;  // its variable cannot move
      rows_.add(i, problem_.y[i], lane_.alpha[i], curvature);
    }
    shuffle(0);
    rows_.lay_out(is_hard(), pool_);
    leaps_.choose();
  }

  // Their order in an epoch. The same one again and again is much slower: what a row's step leaves
  // undone is then always left to the same rows.
  void shuffle(std::uint64_t epoch) {
    rows_.shuffle(Random(options_.seed, measures_, epoch), neighbours_);
  }

  // Whether the problem is none of the easy ones: then leaps are made. They take passes over w,
  // which wide data must be worth.
  bool is_hard() const {
    if (on_ranks()) return false;
    const double width = static_cast<double>(iterate_.w.size()) /
                         std::max(1.0, static_cast<double>(problem_.data->nonzeros()));
    return static_cast<double>(solution_.iterations) >=
           kTuning.leap_after * (1 + kTuning.leap_width * width);
  }

  // ---- Descent: epochs until an exact pass is worth its price. False: the monitor said stop.

  bool descend() {
    if (on_ranks()) {
      descend_and_join();
      return true;
    }
    const bool done = is_hard() ? descend_by_leaps() : descend_by_epochs();
    store();
    return done;
  }

  bool descend_by_epochs() {
    const double begun = passes();
    const bool first = measures_ == 1;
    for (std::uint64_t count = 1;
         count <= kTuning.max_epochs || passes() - begun < kTuning.least_epoch_work; ++count) {
      if (count > 1) shuffle(count);
      // Long steps bring D up faster; but P is lower where the last steps were short.
      const bool evenly =
          !low_precision_.used() || first || forecast_.decay() <= kTuning.fast_decay;
      const bool last =
          !evenly && passes() - begun >= kTuning.least_epoch_work &&
          is_near_enough(kTuning.short_stride_gain * (count == 1 ? exact_gap_ : forecast_.gap()) *
                         forecast_.decay());
      const double stride = evenly ? 1 : last ? kTuning.short_stride : kTuning.long_stride;
      if (!epoch({.stride = stride})) return false;
      if (last || seen_.awake == 0 || is_near_target()) break;
      if (is_near_enough(forecast_.gap()) && passes() - begun >= kTuning.least_epoch_work) break;
      if (first && is_few(seen_.inside, kTuning.few_inside, lane_.rows())) break;
      if (first && count > 1 &&
          forecast_.estimate() < kTuning.first_measure * best_point_.primal()) {
        break;
      }
      if (is_few(seen_.awake, kTuning.least_awake, rows_.items().size())) {
        store();
        rows_.leave_sleepers();
      }
    }
    return true;
  }
  static bool is_few(std::uint64_t count, double share, std::uint64_t of) {
    return static_cast<double>(count) < share * static_cast<double>(of);
  }

  bool descend_by_leaps() {
    leaps_.mark();
    const double begun = passes();
    for (std::uint64_t count = 2; count <= kTuning.max_epochs; count += 2) {
      if (!epoch({}) || !epoch({.backward = true})) return false;
      solution_.rows_touched += leaps_.leap();
      if (seen_.awake == 0 || is_near_target()) break;
      if (is_near_enough(forecast_.gap()) && passes() - begun >= kTuning.least_epoch_work) break;
      if (leaps_.count() >= kTuning.least_leaps && passes() - begun >= kTuning.least_leap_work) {
        break;
      }
    }
    return true;
  }

  // A round of lanes. Each descends by itself for as long as that moves it.
  void descend_and_join() {
    join_->part(iterate_.w);
    double first = 0;
    for (std::uint64_t count = 1; count <= kTuning.epochs_a_round; ++count) {
      if (count > 1) shuffle(count);
      epoch({.stiffness = join_->stiffness()});
      if (count == 1) first = seen_.squares;
      if (!(seen_.squares >= kTuning.round_ends_at * first) || seen_.awake == 0) break;
    }
    share_joined_ = join_->meet(iterate_.w, lane_.gain());
    lane_.store_share(share_joined_);
    ++solution_.iterations;
  }

  double target() const { return monitor_.limits().gap * best_point_.primal(); }
  bool is_near_target() const { return forecast_.gap() < target(); }
  bool is_near_enough(double gap) const {
    const double share = is_hard() ? kTuning.next_measure_of_leaps : kTuning.next_measure;
    return gap < std::max(target(), share * exact_gap_);
  }

  // One visit to every row chosen.
  bool epoch(EpochRules rules) {
    if (!nothing_known()) rules.rest = rest_beyond_;
    // Ranks are told to stop where they have met.
    const auto stop = [this] { return !on_ranks() && monitor_.poll(passes()); };
    if (!lane_.epoch(rules, solution_.rows_touched, stop, seen_)) return false;
    if (!on_ranks()) ++solution_.iterations;
    // How far beyond the bound counts as rest follows the gradients down.
    if (seen_.visits > 0) {
      rest_beyond_ =
          kTuning.rest_factor * std::sqrt(seen_.squares / static_cast<double>(seen_.visits));
    }
    forecast_.see_epoch(seen_.estimate);
    return true;
  }

  // What the epochs made of the variables.
  void store() {
    lane_.store();
    leaps_.store();
  }

  // ---- Precision.

  // Near the optimum, or where there is no progress.
  bool low_precision_did_enough() const {
    return is_hard() || relative_gap() < kTuning.low_precision_above ||
           (measures_ > 2 && exact_gap_ > kTuning.least_fall * gap_before_);
  }
  void promote_to_double() {
    low_precision_.drop();
    recompute_weights();
    forecast_.forget_short_steps();
  }
  // Leaps let rounding grow.
  void recompute_weights() {
    lane_.recompute_weights();
    leaps_.w_is_computed();
  }

  using Point = typename BestPoint<Loss>::Point;

  const Problem& problem_;
  const SolverOptions& options_;
  const Simd& simd_;
  Comm* const comm_;  // the ranks, if there are several
  Monitor& monitor_;
  Pool& pool_;
  const std::size_t regularised_;  // columns
  const Neighbours neighbours_;    // runs are no longer than these

  Lane<Loss, Value> lane_;
  DualPoint& iterate_;           // where epochs have come to,
  WorkingRows<Value>& rows_;     // the rows they visit
  LowPrecision& low_precision_;  // and what w is while that is enough: all three are the lane's
  std::optional<Join> join_;     // on ranks
  double share_joined_ = 0;      // of the way that lanes went, by the last join
  std::uint64_t all_rows_ = 0;   // of all ranks
  std::uint64_t active_on_ranks_ = 0;
  std::vector<std::uint64_t> chosen_;  // rows, ascending
  EpochSums seen_;                     // in the last epoch

  Gradients<Loss, Value> gradients_;
  DualBias<Loss, Value> bias_;
  std::vector<double> best_alpha_;  // free bias only
  BestPoint<Loss> best_point_;
  std::vector<double>* unkept_ = nullptr;  // the best point is this one, and as yet only this one
  bool unmeasured_ = false;                // there was no time to offer it w
  Leaps<Loss, Value> leaps_;

  double dual_ = 0;        // the best bound; alpha = 0 is feasible
  double exact_gap_ = 0;   // best primal value less D, at the last exact pass
  double gap_before_ = 0;  // and at the one before
  GapForecast forecast_;
  double rest_beyond_ = 0;
  bool at_zero_ = true;  // w = 0: no exact pass was needed yet
  std::uint64_t measures_ = 0;
  StallWatch stall_;
  Solution solution_;
};

}  // namespace

Solution solve_dual(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                    Pool& pool) {
  const SolveRows descend = [&](const Problem& given, const SolverOptions& how) {
    return given.data->visit([&]<class Value>(const CsrView<Value>& m) {
      return DualDescent<Hinge, Value>(given, m, how, monitor, pool).run();
    });
  };
  if (options.comm != nullptr) {
    // On ranks w is in doubles, and rows are worked on as they are: whether other columns or rows
    // would pay is a matter of all of them. A free bias is refused before (train/ranked.h).
    SolverOptions exact = options;
    exact.floats = false;
    exact.shorts = nullptr;
    return descend(problem, exact);
  }
  return solve_centred(problem, options, [&](const Problem& given, const SolverOptions& how) {
    return solve_merged(given, how, monitor.limits().gap, pool,
                        [&](const Problem& merged) { return descend(merged, how); });
  });
}

}  // namespace hinge
