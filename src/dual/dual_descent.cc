// Map: DualDescent::run is the loop; epoch() descends, leap() goes on where epochs led, refresh()
// measures exactly, choose_rows() picks what the next epochs visit. g_i = y_i <w,x_i> - 1 is the
// gradient of the (minimised) dual.
//
// A free bias b is the multiplier of sum_i a_i y_i = 0 in the dual. Epochs let that sum deviate
// from 0 and have b follow it, b = c + r sum_i a_i y_i (an augmented Lagrangian: as if there were a
// constant feature of square r, and a centre c). Before an exact pass c becomes that b, and the sum
// is brought back to 0. (Were c the bias that is best for w instead, small r would not converge.)
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/random.h"
#include "risk/free_bias.h"
#include "solve/batches.h"
#include "dual/best_point.h"
#include "dual/gradients.h"
#include "dual/merged_columns.h"
#include "solve/solver.h"
#include "solve/stall_watch.h"
#include "dual/working_rows.h"

namespace hinge {
namespace {

constexpr std::uint64_t kRuns = 1500;     // of neighbouring rows, at least, to shuffle
constexpr double kRestFactor = 1.5;       // a row rests beyond this many rms gradients
constexpr std::uint64_t kMaxEpochs = 40;  // between two exact passes
constexpr std::uint64_t kLeaps = 10;      // the same, at least,
constexpr double kExactShare = 4;         // and until they took so many passes themselves
constexpr double kFirstLook = 0.06;       // first exact pass: estimated gap below this share of P
constexpr double kNextLook = 0.05;        // later ones: below this share of the last exact gap,
constexpr double kNextOfLeaps = 0.2;      // or this one
constexpr double kFewInside = 0.001;      // of the rows; with fewer between bounds one epoch may do
constexpr double kMostDoubt = 5;          // of an estimate, which leaves out rows: so many times it
constexpr double kFastest = 0.2;          // decay of estimates that is believed
constexpr double kLeastWork = 0.3;     // passes between two exact ones; few rows take many epochs
constexpr double kLeastChosen = 0.05;  // of the rows: with fewer others are soon missed,
constexpr int kWiden = 4;              // so more are chosen, this many times twice as far away
constexpr std::uint64_t kPollRows = 256;  // rows between two questions to the monitor
constexpr std::uint64_t kIdle = 20;       // exact passes without progress: a free bias is stiffened
constexpr double kStiffness = 0.03;       // r of a free bias, times the mean square of a row
constexpr double kLeastPull = 1;          // r of a free bias, times all costs, is no less
constexpr double kSearchWithin = 4;       // times the gap wanted: lines are searched closer to it,
constexpr double kSearchBeyond = 0.2;     // and where the gap is above this share of P
constexpr double kLeapAfter = 20;         // epochs: the problem is not one of the easy ones
constexpr double kLeapWidth = 8;          // later by so much for each column a nonzero
constexpr double kMeanAbove = 1;      // times the best gap, above which the mean is better than w
constexpr double kLeapNoise = 2e-15;  // of |w|^2, times its length: a gain below is rounding
constexpr double kLeastAwake = 0.6;   // of the rows chosen; below, the others are left out

template <class Value>
class DualDescent {
  using Item = typename WorkingRows<Value>::Item;

 public:
  DualDescent(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
              Monitor& monitor, Pool& pool)
      : problem_(problem),
        m_(m),
        options_(options),
        kernels_(*options.kernels),
        monitor_(monitor),
        pool_(pool),
        regularised_(problem.regularised()),
        neighbours_(neighbours_in(*problem.data, m.rows)),
        w_(huge_vector(problem.dimension())),
        alpha_(huge_vector(m.rows)),
        square_(huge_vector(m.rows, kUnknown)),
        gradients_(problem, m, kernels_, pool),
        best_point_(problem, kernels_),
        rows_(m) {
    for (std::uint64_t i = 0; problem.free_bias && i < m.rows; ++i) {
      if (problem.y[i] > 0) slope_ -= problem.factor(i);
    }
  }

  Solution run() {
    try {
      work();
    } catch (const Interrupted&) {
      monitor_.interrupt();
      look_once_more();
    }
    solution_.w = unmeasured_          ? std::move(w_)
                  : unkept_ != nullptr ? std::move(*unkept_)
                                       : best_point_.take();
    solution_.alpha = std::move(best_alpha_.empty() ? alpha_ : best_alpha_);
    return std::move(solution_);
  }

  // The state after a refresh, when rows are about to be chosen anew, and w was computed from the
  // variables if there were leaps.
  void archive(Archive& archive) {
    archive.sized(w_, problem_.dimension());
    archive.sized(alpha_, m_.rows);
    archive.sized(best_alpha_, problem_.free_bias ? m_.rows : 0);
    archive.sized(gradients_.all(), m_.rows);
    archive.sized_or_empty(step_by_row_, m_.rows);
    archive.sized(step_w_, step_by_row_.empty() ? 0 : problem_.dimension());
    archive(step_sum_, best_point_, dual_, exact_gap_, estimate_, decay_, trust_, rest_beyond_,
            refreshes_, stall_);
    archive(at_zero_, best_, centre_, sum_, stiffness_, search_, solution_.iterations,
            solution_.rows_touched);
  }

 private:
  void work() {
    if (options_.resume.empty()) {
      start();
      refresh();
    } else {
      const Pool::Grace grace(pool_, kLastLook);  // lest the state be lost
      start();
      restore(*this, options_.resume);
      // From the very first state on squares are found as they would have been.
      for (std::uint64_t i = 0; squares_come_later() && i < m_.rows; ++i) {
        if (m_.size_of(i) > 0) square_[i] = kUnknown;
      }
    }
    while (!report()) {
      keep_best();
      monitor_.offer_state([this] { return state_of(*this); });
      choose_rows();
      if (!descend()) {
        refresh();
        break;
      }
      refresh();
      if (stalled()) {
        solution_.stalled = true;
        break;
      }
    }
  }

  // Is w better than the best before? Without the time to find out it is taken only in place of 0,
  // where all begins. The dual variables are feasible at any moment, but for a free bias, with
  // which the best of an exact pass are returned.
  void look_once_more() {
    try {
      const Pool::Grace grace(pool_, kLastLook);
      refresh();
    } catch (const Interrupted&) {
      if (refreshes_ <= 1 && options_.start.empty()) {
        if (problem_.free_bias) w_.back() = bias();
        unmeasured_ = true;
      }
    }
    if (solution_.iterations == 0 && solution_.rows_touched > 0) solution_.iterations = 1;  // begun
  }

  void start() {
    // From 0 on the first epoch visits all rows, and finds their squares: one pass over the values
    // less, which counts where a few passes are all it takes.
    const bool later = squares_come_later() && options_.resume.empty();
    const double constant = problem_.free_bias ? 0.0 : problem_.bias * problem_.bias;
    gradients_.for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if (later && m_.size_of(i) > 0) continue;
        square_[i] = square_in_lanes(row_of(m_, i)) + constant;
        // A row of zeros loses its full cost whatever w is: its variable belongs at the bound.
        if (square_[i] == 0 && !problem_.free_bias) alpha_[i] = problem_.upper(i);
      }
    });
    if (problem_.free_bias) {
      double mean = 0, upper = 0;
      for (const double square : square_) mean += square;
      mean /= static_cast<double>(m_.rows);
      for (std::uint64_t i = 0; i < m_.rows; ++i) upper += problem_.upper(i);
      // Beside short rows or small costs, enough that the variables can carry b where it belongs.
      stiffness_ = std::max(kStiffness * mean, upper > 0 ? kLeastPull / upper : 1.0);
    }
    if (options_.start.empty() || !options_.resume.empty()) return;
    if (!options_.start[0].alpha.empty()) begin_at(options_.start[0]);
    compare(options_.start[0].w);
  }

  // A primal point from elsewhere.
  void compare(const std::vector<double>& w) {
    BoxedSums sums = gradients_.find_and_weigh(w, alpha_);
    if (problem_.free_bias) sums = gradients_.shift_and_weigh(w.back(), alpha_);
    const double square = square_of_weights(w);
    if (!std::isfinite(square / 2 + sums.loss)) return;
    const BestPoint::Point point = {w, gradients_.all(), square, square / 2 + sums.loss};
    if (best_point_.offer(point, 0, false)) best_point_.keep(point);
    solution_.rows_touched += m_.rows;
  }

  // At the best multiple up to 1 of the start's alpha: D is never below that of 0.
  void begin_at(const Start& start) {
    double sum = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (curvature(i) == 0) continue;
      move(i, start.alpha[i]);
      sum += alpha_[i];
    }
    const double norm = square_of_weights(w_);
    const double factor = norm > sum ? sum / norm : 1;
    for (double& x : w_) x *= factor;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (curvature(i) > 0) alpha_[i] *= factor;
    }
    if (problem_.free_bias) {
      sum_ *= factor;
      best_ = start.w.back();
      centre_ = best_ - stiffness_ * sum_;
    }
    at_zero_ = false;
    solution_.rows_touched += m_.rows;
  }

  // |w|^2
  double square_of_weights(const std::vector<double>& w) const {
    return kernels_.dot_dense(w.data(), w.data(), regularised_);
  }

  // Of the dual along a variable.
  double curvature(std::uint64_t i) const { return square_[i] + stiffness_; }

  // ---- The free bias.
  double bias() const { return centre_ + stiffness_ * sum_; }

  // Brings sum_i a_i y_i back to 0 by rows between their bounds: some of them, lest it cost an
  // epoch, each by as much as the others as far as it can; then others. Where that does not do, all
  // rows of the heavier side give in proportion.
  void settle_sum() {
    constexpr std::size_t kRounds = 8, kEnough = 2000;
    constexpr double kLeft = 1e-13;
    double scale = 0;
    std::vector<std::uint64_t> between;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      scale += alpha_[i];
      if (alpha_[i] > 0 && alpha_[i] < problem_.upper(i)) between.push_back(i);
    }
    const std::size_t step = std::max<std::size_t>(1, between.size() / kEnough);
    for (std::size_t round = 0; round < kRounds && std::abs(sum_) > kLeft * scale; ++round) {
      const std::size_t from = round % step;
      if (from >= between.size()) break;
      const double each = sum_ / static_cast<double>((between.size() - from + step - 1) / step);
      for (std::size_t k = from; k < between.size(); k += step) {
        const std::uint64_t i = between[k];
        move(i, std::clamp(alpha_[i] - problem_.y[i] * each, 0.0, problem_.upper(i)));
      }
    }
    if (std::abs(sum_) > kLeft * scale) {
      std::vector<double> balanced = alpha_;
      balance(problem_, balanced);
      for (std::uint64_t i = 0; i < m_.rows; ++i) move(i, balanced[i]);
    }
    sum_ = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) sum_ += alpha_[i] * problem_.y[i];
  }

  // The bias that is best at a point.
  double best_bias_at(std::span<const double> point) {
    gradients_.find(point);
    std::vector<double> places(m_.rows);  // of the bias, where losses bend
    gradients_.for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) places[i] = -problem_.y[i] * gradients_.all()[i];
    });
    return search_.find(places, problem_.costs, gradients_.cuts(), slope_, best_, pool_).at;
  }

  // Before w, the mean or the gradients change.
  void keep_best() {
    if (unkept_ != nullptr) best_point_.keep({.w = *unkept_, .gradient = gradients_.all()});
    unkept_ = nullptr;
  }

  // Exact D, and P and gradients at w from all rows; remembers the best point. Leaps go to and fro
  // about the optimum: where w is far worse than the best point, their mean takes its place.
  void refresh() {
    keep_best();
    if (leapt_) rebuild();
    const bool at_mean = leaps_ > 0 && estimate_ > kMeanAbove * exact_gap_;
    if (problem_.free_bias) {
      centre_ = bias();
      settle_sum();
    }
    if (at_mean) {
      for (double& x : mean_) x /= static_cast<double>(leaps_);
    }
    leaps_ = 0;
    std::vector<double>& point = at_mean ? mean_ : w_;
    const std::span<const double> nonzero = at_zero_ ? std::span<const double>() : point;
    BoxedSums sum;
    if (problem_.free_bias) {
      best_ = best_bias_at(nonzero);
      if (at_zero_) centre_ = best_;
      sum = gradients_.shift_and_weigh(best_, alpha_);
    } else {
      sum = gradients_.find_and_weigh(nonzero, alpha_);
    }
    // Where columns are more than rows. Before leaps only: w and the variables drift apart.
    const bool by_rows = !problem_.free_bias && m_.rows < w_.size() && !slow();
    const double norm = by_rows ? inner_by_rows(alpha_, gradients_.all()) : square_of_weights(w_);
    const double square = at_mean ? square_of_weights(point) : norm;
    if (problem_.free_bias) point.back() = best_;
    if (!std::isfinite(square / 2 + sum.loss)) {
      fail("solver.nonfinite",
           fmt::format("the objective is not finite after {:.0f} passes over the data", passes()),
           "scale the data, or lower --cost");
    }
    // With a free bias what is left of the sum is charged for (certificate.cc); and the bound may
    // fall again, as the sum is brought back to 0.
    const double dual = sum.alpha - norm / 2 - std::abs(sum_ * best_);
    if (problem_.free_bias && (dual > dual_ || best_alpha_.empty())) best_alpha_ = alpha_;
    dual_ = std::max(dual_, dual);
    if (at_zero_ && !problem_.free_bias) {
      best_point_.offer_zero(sum.loss);
    } else {
      BestPoint::Point offered = {point, gradients_.all(), square, square / 2 + sum.loss};
      if (by_rows) offered.alpha = alpha_;
      const double wanted = dual_ / (1 - std::min(0.5, monitor_.limits().gap));
      // Midway the next point will be better anyway.
      const double left = offered.primal - dual_;
      const bool midway = !slow() && left > kSearchWithin * (wanted - dual_) &&
                          left < kSearchBeyond * offered.primal;
      if (best_point_.offer(offered, midway ? offered.primal : wanted, slow())) unkept_ = &point;
    }
    exact_gap_ = best_point_.primal() - dual;
    if (estimate_ > 0) {
      trust_ = std::clamp(exact_gap_ / (estimate_ * decay_), 1 / kMostDoubt, kMostDoubt);
    }
    rest_beyond_ = kRestFactor * std::sqrt(sum.squares / static_cast<double>(m_.rows));
    if (!at_zero_) solution_.rows_touched += m_.rows;
    at_zero_ = false;
    ++refreshes_;
  }

  bool report() {
    Progress progress;
    progress.iteration = solution_.iterations;
    progress.data_passes = passes();
    progress.primal = best_point_.primal();
    progress.dual = dual_;
    progress.relative_gap = relative_gap();
    progress.active_rows = rows_.items().size();
    return monitor_.report(progress);
  }

  double relative_gap() const {
    const double primal = best_point_.primal();
    return primal > 0 ? std::max(0.0, (primal - dual_) / primal) + best_point_.noise() : 0.0;
  }
  double passes() const {
    return static_cast<double>(solution_.rows_touched) / static_cast<double>(m_.rows);
  }

  // A free bias and the sum go round each other, and the best values wait.
  bool stalled() {
    const bool ended = stall_.stalled(relative_gap(), problem_.free_bias);
    // Rounds that come back to where they were: a stiffer bias ends that.
    const std::uint64_t idle = stall_.idle();
    if (problem_.free_bias && idle > 0 && idle % kIdle == 0) stiffness_ *= 4;
    return ended;
  }

  // All rows that do not rest.
  void choose_rows() {
    const double least = kLeastChosen * static_cast<double>(m_.rows);
    const bool all = nothing_known();
    if (!all) {
      choose_near(kernels_, boxed(problem_, gradients_.all(), alpha_), rest_beyond_,
                  static_cast<std::uint64_t>(std::ceil(least)), kWiden, chosen_);
    }
    const std::uint64_t count = all ? m_.rows : chosen_.size();
    rows_.begin(count, std::clamp<std::uint64_t>(count / kRuns, 1, neighbours_.run));
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t i = all ? k : chosen_[k];
      const double along = square_[i] == kUnknown ? kUnknown : curvature(i);
      if (along == 0 || problem_.upper(i) == 0) continue;  // its variable cannot move
      rows_.add(i, problem_.y[i], alpha_[i], along);
    }
    shuffle(0);
    rows_.lay_out(slow(), pool_);
    take_step();
  }

  // Their order in an epoch. The same one again and again is much slower: what a row's step leaves
  // undone is then always left to the same rows.
  void shuffle(std::uint64_t epoch) {
    rows_.shuffle(Random(options_.seed, refreshes_, epoch), neighbours_);
  }

  bool squares_come_later() const { return nothing_known() && !problem_.free_bias; }
  bool nothing_known() const { return solution_.iterations == 0 && options_.start.empty(); }

  // Leaps take passes over w, which wide data must be worth.
  bool slow() const {
    const double width = static_cast<double>(w_.size()) /
                         std::max(1.0, static_cast<double>(problem_.data->nonzeros()));
    return static_cast<double>(solution_.iterations) >= kLeapAfter * (1 + kLeapWidth * width);
  }

  // Epochs until an exact pass is worth its price. False: the monitor said stop.
  bool descend() {
    const bool done = slow() ? descend_by_leaps() : descend_by_epochs();
    store();
    return done;
  }

  bool descend_by_epochs() {
    const double begun = passes();
    for (std::uint64_t count = 1; count <= kMaxEpochs || passes() - begun < kLeastWork; ++count) {
      if (count > 1) shuffle(count);
      if (!epoch(false)) return false;
      if (awake_ == 0 || near_target()) break;
      if (near_enough() && passes() - begun >= kLeastWork) break;
      if (refreshes_ == 1 &&
          static_cast<double>(inside_) < kFewInside * static_cast<double>(m_.rows))
        break;
      if (refreshes_ == 1 && count > 1 && estimate_ < kFirstLook * best_point_.primal()) break;
      if (static_cast<double>(awake_) < kLeastAwake * static_cast<double>(rows_.items().size())) {
        store();
        rows_.leave_sleepers();
      }
    }
    return true;
  }

  bool descend_by_leaps() {
    mark();
    const double begun = passes();
    for (std::uint64_t count = 2; count <= kMaxEpochs; count += 2) {
      if (!epoch(false) || !epoch(true)) return false;
      leap();
      if (leaps_++ == 0) mean_.assign(w_.size(), 0.0);
      for (std::size_t j = 0; j < w_.size(); ++j) mean_[j] += w_[j];
      if (awake_ == 0 || near_target()) break;
      if (near_enough() && passes() - begun >= kLeastWork) break;
      if (leaps_ >= kLeaps && passes() - begun >= kExactShare) break;
    }
    return true;
  }

  // P - D after the last epoch. An estimate is of the points on the way of an epoch: where the next
  // one would bring it is where it ended.
  double expected_gap() const { return estimate_ * decay_ * trust_; }
  bool near_target() const { return expected_gap() < monitor_.limits().gap * best_point_.primal(); }
  bool near_enough() const {
    return near_target() || expected_gap() < (slow() ? kNextOfLeaps : kNextLook) * exact_gap_;
  }

  // One visit to every row chosen, in their order or from last to first.
  bool epoch(bool backward) {
    const std::span<Item> items = rows_.items();
    Descent<Value> descent = rows_.descent();
    descent.factor = problem_.costs.empty() ? nullptr : problem_.costs.data();
    descent.cost = problem_.cost;
    descent.rest = nothing_known() ? std::numeric_limits<double>::infinity() : rest_beyond_;
    descent.w = w_.data();
    double* const v = problem_.free_bias ? &sum_ : problem_.bias != 0 ? &w_.back() : nullptr;
    if (problem_.free_bias) {
      descent.shift = centre_;
      descent.gain = stiffness_;
      descent.unit = 1;
    } else {
      descent.gain = descent.unit = problem_.bias;
    }
    if (v != nullptr) descent.v = *v;
    for (std::size_t from = 0; from < items.size(); from += kPollRows) {
      if (monitor_.poll(passes())) return false;
      const std::uint64_t before = descent.visits;
      kernels_.descend(descent, &items[backward ? items.size() - 1 - from : from],
                       std::min(kPollRows, items.size() - from), backward ? -1 : 1);
      if (v != nullptr) *v = descent.v;
      solution_.rows_touched += descent.visits - before;
    }
    awake_ = descent.awake;
    inside_ = descent.inside;
    ++solution_.iterations;
    // How far beyond the bound counts as rest follows the gradients down.
    if (descent.visits > 0) {
      rest_beyond_ = kRestFactor * std::sqrt(descent.squares / static_cast<double>(descent.visits));
    }
    const double before = estimate_;
    estimate_ = descent.estimate - (problem_.free_bias ? bias() * sum_ : 0.0);
    decay_ = before > 0 ? std::clamp(estimate_ / before, kFastest, 1.0) : 1.0;
    return true;
  }

  // Where progress is slow, epochs go the same way again and again. From here to the best point of
  //   alpha + s r + t p,   r: the way since the last leap, p: that leap with the way to it,
  // cut off at the bounds. Were there none, that would be conjugate gradients, with an epoch there
  // and back (which is a symmetric matrix) to condition them.
  void leap() {
    const std::span<Item> items = rows_.items();
    const bool first = step_.empty();
    double ww = 0, rr = 0, rp = 0, pp = 0, slope_r = 0, slope_p = 0;  // slopes: of the dual
    for (std::size_t j = 0; j < regularised_; ++j) {
      const double r = w_[j] - before_w_[j], p = first ? 0 : step_w_[j];
      ww += w_[j] * w_[j];
      rr += r * r;
      rp += r * p;
      pp += p * p;
      slope_r -= w_[j] * r;
      slope_p -= w_[j] * p;
    }
    if (problem_.free_bias) {
      const double r = sum_ - before_sum_, p = first ? 0 : step_sum_;
      rr += stiffness_ * r * r;
      rp += stiffness_ * r * p;
      pp += stiffness_ * p * p;
      slope_r -= bias() * r;
      slope_p -= bias() * p;
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
      slope_r += items[k].alpha - before_[k];
      if (!first) slope_p += step_[k];
    }
    const double determinant = rr * pp - rp * rp;
    double s = rr > 0 ? slope_r / rr : 0, t = 0;
    if (determinant > 1e-12 * rr * pp) {
      s = (slope_r * pp - slope_p * rp) / determinant;
      t = (slope_p * rr - slope_r * rp) / determinant;
    }
    constexpr int kTries = 3;
    for (int n = 0; n < kTries; ++n, s /= 2, t /= 2) {
      if (leap_to(s, t, kLeapNoise * ww * (1 + std::abs(s) + std::abs(t)))) return;
    }
    mark();
    step_.clear();
    step_w_.clear();
  }

  // False: the bounds leave no more gain than that, and nothing has changed.
  bool leap_to(double s, double t, double least) {
    const std::span<Item> items = rows_.items();
    const bool first = step_.empty();
    const double sum_before = sum_;
    if (leap_w_.empty()) leap_w_ = huge_vector(w_.size());
    leap_.resize(items.size());
    for (std::size_t j = 0; j < w_.size(); ++j) {
      leap_w_[j] = w_[j] + s * (w_[j] - before_w_[j]) + (first ? 0 : t * step_w_[j]);
    }
    sum_ += s * (sum_ - before_sum_) + (first ? 0 : t * step_sum_);
    double gain = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
      const Item& item = items[k];
      const double wanted = item.alpha + s * (item.alpha - before_[k]) + (first ? 0 : t * step_[k]);
      leap_[k] = std::clamp(wanted, 0.0, problem_.upper(item.row));
      gain += leap_[k] - item.alpha;
      if (leap_[k] == wanted) continue;
      add(rows_.entries(item), (leap_[k] - wanted) * item.y, leap_w_, sum_);
      ++solution_.rows_touched;
    }
    for (std::size_t j = 0; j < regularised_; ++j) {
      const double way = leap_w_[j] - w_[j];
      gain -= way * (w_[j] + way / 2);
    }
    if (problem_.free_bias) {
      const double way = sum_ - sum_before;
      gain -= way * (centre_ + stiffness_ * (sum_before + way / 2));
    }
    if (!(gain > least)) {
      sum_ = sum_before;
      return false;
    }
    step_.resize(items.size());
    step_w_.resize(w_.size());
    for (std::size_t k = 0; k < items.size(); ++k) {
      step_[k] = leap_[k] - before_[k];
      if (leap_[k] != items[k].alpha) items[k].asleep = false;
      items[k].alpha = leap_[k];
    }
    for (std::size_t j = 0; j < w_.size(); ++j) step_w_[j] = leap_w_[j] - before_w_[j];
    step_sum_ = sum_ - before_sum_;
    w_.swap(leap_w_);
    leapt_ = true;
    mark();
    return true;
  }

  // The last step goes on, but for the rows that are not among those chosen now.
  void take_step() {
    step_.clear();
    if (step_by_row_.empty()) return;
    for (const Item& item : rows_.items()) {
      step_.push_back(std::exchange(step_by_row_[item.row], 0.0));
    }
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      add(row_of(m_, i), -step_by_row_[i] * problem_.y[i], step_w_, step_sum_);
    }
  }

  // The next leap begins here.
  void mark() {
    before_.clear();
    for (const Item& item : rows_.items()) before_.push_back(item.alpha);
    before_w_ = w_;
    before_sum_ = sum_;
  }

  // w from the variables: leaps let rounding grow.
  void rebuild() {
    std::ranges::fill(w_, 0.0);
    sum_ = 0;
    leapt_ = false;
    for (std::uint64_t i = 0; i < m_.rows; ++i)
      add(row_of(m_, i), alpha_[i] * problem_.y[i], w_, sum_);
  }

  // What the epochs made of the variables, and the last step, whichever rows are chosen next.
  void store() {
    for (const Item& item : rows_.items()) {
      alpha_[item.row] = item.alpha;
      if (square_[item.row] == kUnknown) square_[item.row] = item.curvature;
    }
    step_by_row_.assign(step_.empty() ? 0 : m_.rows, 0.0);
    for (std::size_t k = 0; k < step_.size(); ++k) step_by_row_[rows_.items()[k].row] = step_[k];
  }

  void move(std::uint64_t i, double alpha) {
    add(row_of(m_, i), (alpha - alpha_[i]) * problem_.y[i], w_, sum_);
    alpha_[i] = alpha;
  }

  // w += a x, and what goes with it.
  void add(const SparseRow<Value>& x, double a, std::vector<double>& w, double& sum) {
    if (a == 0) return;
    kernels_.add(x, a, w.data());
    if (problem_.free_bias) {
      sum += a;
    } else if (problem_.bias != 0) {
      w.back() += a * problem_.bias;
    }
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  const Kernels& kernels_;
  Monitor& monitor_;
  Pool& pool_;
  const std::size_t regularised_;  // columns
  const Neighbours neighbours_;    // runs are no longer than these

  std::vector<double> w_;
  static constexpr double kUnknown = DescentRow::kUnknown;
  std::vector<double> alpha_, square_;  // square_[i] = |x_i|^2 + S^2
  Gradients<Value> gradients_;
  std::vector<double> best_alpha_;  // free bias only
  BestPoint best_point_;
  std::vector<double>* unkept_ = nullptr;  // the best point is this one, and as yet only this one
  bool unmeasured_ = false;                // there was no time to offer it w
  std::vector<std::uint64_t> chosen_;      // rows, ascending
  WorkingRows<Value> rows_;                // them, as the next epoch visits them
  std::size_t awake_ = 0;                  // among them
  std::size_t inside_ = 0;                 // between their bounds after a step of the last epoch
  // Leaps: where the last one ended (before), and how it and the way to it went (step).
  std::vector<double> before_, before_w_, step_, step_w_, leap_, leap_w_;
  std::vector<double> step_by_row_;
  double before_sum_ = 0, step_sum_ = 0;
  std::vector<double> mean_;  // sum of w after each of them, since the last refresh
  std::uint64_t leaps_ = 0;
  bool leapt_ = false;  // since w was computed from the variables
  double dual_ = 0;     // alpha = 0 is feasible
  double exact_gap_ = 0;
  double estimate_ = 0;  // of P - D, from the rows visited in the last epoch
  double decay_ = 1;     // of the estimate, from one epoch to the next
  double trust_ = 1;     // exact gap / what was expected, as seen at the last refresh
  double rest_beyond_ = 0;
  bool at_zero_ = true;  // w = 0: no exact pass was needed yet
  std::uint64_t refreshes_ = 0;
  StallWatch stall_;
  double best_ = 0;                              // free bias at w
  double centre_ = 0, sum_ = 0, stiffness_ = 0;  // c, sum_i a_i y_i, r
  double slope_ = 0;                             // of the loss in a bias beyond all bends
  CrossingSearch search_;
  Solution solution_;
};

}  // namespace

double dual_memory(const Dataset& data, std::uint64_t dimension, double gap) {
  // Variables, gradients, items and what leaps and line searches keep of each row; copies of rows;
  // w, the best one, and those of leaps.
  const double entry = data.precision() == Precision::f32 ? 8 : 12;
  return 136 * static_cast<double>(data.rows()) +
         kCopyBelow * entry * static_cast<double>(data.nonzeros()) +
         8 * 6 * static_cast<double>(dimension) + merging_memory(data, dimension, gap);
}

Solution solve_dual(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                    Pool& pool) {
  return solve_merged(problem, options, monitor.limits().gap, pool, [&](const Problem& given) {
    return given.data->visit(
        [&](const auto& m) { return DualDescent(given, m, options, monitor, pool).run(); });
  });
}

}  // namespace hinge
