// Map: DualDescent::run is the loop; epoch() descends, leaps (leaps.h) go on where epochs led,
// refresh() measures exactly, choose_rows() picks what the next epochs visit. g_i = y_i <w,x_i> - 1
// is the gradient of the (minimised) dual.
//
// Far from the optimum w is in floats, and rows of doubles may be in 16 bits (quantised_rows.h):
// "rough" below. What refresh() finds is exact all the same; sharpen() ends that.
//
// A free bias b is the multiplier of sum_i a_i y_i = 0 in the dual. Epochs let that sum deviate
// from 0 and have b follow it, b = c + r sum_i a_i y_i (an augmented Lagrangian: as if there were a
// constant feature of square r, and a centre c). Before an exact pass c becomes that b, and the sum
// is brought back to 0. (Were c the bias that is best for w instead, small r would not converge.)
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/random.h"
#include "objective/free_bias.h"
#include "rows/quantised_rows.h"
#include "solve/batches.h"
#include "solve/dual/best_point.h"
#include "solve/dual/centred_rows.h"
#include "solve/dual/float_weights.h"
#include "solve/dual/gradients.h"
#include "solve/dual/leaps.h"
#include "solve/dual/merged_columns.h"
#include "solve/dual/working_rows.h"
#include "solve/solver.h"
#include "solve/stall_watch.h"

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
constexpr double kLongStride = 1.25;      // of steps, before the last epoch,
constexpr double kShortStride = 0.75;     // and in it; but none of both
constexpr double kFastDecay = 0.4;        // where an epoch brings the gap down to this and less
constexpr double kShortGain = 0.8;        // what short steps make of the gap expected of others
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
constexpr double kMeanAbove = 1;     // times the best gap, above which the mean is better than w
constexpr double kRoughGap = 1e-3;   // below it w is in doubles
constexpr double kMostDrift = 0.01;  // of the gap, that roughness may make out
constexpr double kLeastFall = 0.7;   // of the gap, from one look to the next
constexpr double kLeastAwake = 0.6;  // of the rows chosen; below, the others are left out

template <class Value>
class DualDescent {
  using Item = typename WorkingRows<Value>::Item;

 public:
  DualDescent(const Problem& problem, const CsrView<Value>& m, const SolverOptions& options,
              Monitor& monitor, Pool& pool)
      : problem_(problem),
        m_(m),
        options_(options),
        simd_(*options.simd),
        monitor_(monitor),
        pool_(pool),
        regularised_(problem.regularised()),
        neighbours_(neighbours_in(*problem.data, m.rows)),
        here_{.w = huge_vector(problem.dimension())},
        alpha_(huge_vector(m.rows)),
        square_(huge_vector(m.rows, kUnknown)),
        gradients_(problem, m, simd_, pool),
        best_point_(problem, simd_),
        rows_(m),
        leaps_(problem, m, simd_, rows_, here_) {
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
    solution_.w = unmeasured_          ? std::move(here_.w)
                  : unkept_ != nullptr ? std::move(*unkept_)
                                       : best_point_.take();
    solution_.alpha = std::move(best_alpha_.empty() ? alpha_ : best_alpha_);
    return std::move(solution_);
  }

  // The state after a refresh, when rows are about to be chosen anew, and w was computed from the
  // variables if there were leaps.
  void archive(Archive& archive) {
    archive(monitor_);
    archive.sized(here_.w, problem_.dimension());
    floats_.archive(archive, problem_.dimension());
    archive.require(!rough() || options_.floats);
    archive.sized(alpha_, m_.rows);
    archive.sized(best_alpha_, problem_.free_bias ? m_.rows : 0);
    archive.sized(gradients_.all(), m_.rows);
    archive(leaps_, best_point_, dual_, exact_gap_, gap_before_, estimate_, decay_, trust_,
            rest_beyond_, refreshes_, stall_);
    archive(at_zero_, best_, here_.centre, here_.sum, here_.stiffness, search_,
            solution_.iterations, solution_.rows_touched);
  }

 private:
  void work() {
    if (options_.resume.empty()) {
      start();
      if (options_.floats) floats_.take(here_.w);
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
      if (rough() && enough_of_rough()) sharpen();
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
        if (rough()) std::ranges::copy(floats_.w(), here_.w.begin());
        if (problem_.free_bias) here_.w.back() = here_.bias();
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
        square_[i] = square_of_row(i) + constant;
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
      here_.stiffness = std::max(kStiffness * mean, upper > 0 ? kLeastPull / upper : 1.0);
    }
    if (options_.start.empty() || !options_.resume.empty()) return;
    if (!options_.start[0].alpha.empty()) begin_at(options_.start[0]);
    compare(options_.start[0].w);
  }

  // |x_i|^2 as descent finds it, too.
  double square_of_row(std::uint64_t i) const {
    if constexpr (std::is_same_v<Value, double>) {
      if (options_.quantised_rows != nullptr && i < options_.quantised_rows->rows) {
        return options_.quantised_rows->square(m_, i);
      }
    }
    return square_in_lanes(row_of(m_, i));
  }

  // A primal point from elsewhere.
  void compare(const std::vector<double>& w) {
    DualSums sums = gradients_.find_and_sum(w, alpha_);
    if (problem_.free_bias) sums = gradients_.shift_and_sum(w.back(), alpha_);
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
    const double norm = square_of_weights(here_.w);
    const double factor = norm > sum ? sum / norm : 1;
    for (double& x : here_.w) x *= factor;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (curvature(i) > 0) alpha_[i] *= factor;
    }
    if (problem_.free_bias) {
      here_.sum *= factor;
      best_ = start.w.back();
      here_.centre = best_ - here_.stiffness * here_.sum;
    }
    at_zero_ = false;
    solution_.rows_touched += m_.rows;
  }

  // |w|^2
  double square_of_weights(const std::vector<double>& w) const {
    return simd_.dot_dense(w.data(), w.data(), regularised_);
  }

  // Of the dual along a variable.
  double curvature(std::uint64_t i) const { return square_[i] + here_.stiffness; }

  // ---- The free bias.

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
    for (std::size_t round = 0; round < kRounds && std::abs(here_.sum) > kLeft * scale; ++round) {
      const std::size_t from = round % step;
      if (from >= between.size()) break;
      const double each =
          here_.sum / static_cast<double>((between.size() - from + step - 1) / step);
      for (std::size_t k = from; k < between.size(); k += step) {
        const std::uint64_t i = between[k];
        move(i, std::clamp(alpha_[i] - problem_.y[i] * each, 0.0, problem_.upper(i)));
      }
    }
    if (std::abs(here_.sum) > kLeft * scale) {
      std::vector<double> balanced = alpha_;
      balance(problem_, balanced);
      for (std::uint64_t i = 0; i < m_.rows; ++i) move(i, balanced[i]);
    }
    here_.sum = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) here_.sum += alpha_[i] * problem_.y[i];
  }

  // At a point, with a free bias the best for it.
  DualSums sums_at(std::span<const double> point) {
    if (at_zero_) point = {};
    if (!problem_.free_bias) return gradients_.find_and_sum(point, alpha_);
    best_ = best_bias_at(point);
    if (at_zero_) here_.centre = best_;
    return gradients_.shift_and_sum(best_, alpha_);
  }
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

  // <w, v>, v = sum_i a_i y_i x_i, by the gradients at w.
  double inner() { return inner_by_rows(alpha_, gradients_.all()) - here_.sum * best_; }

  // |v|^2, where w in floats is v but for its rounding and that of the rows:
  //   |v|^2 = |w|^2 + 2 <w, v - w> + |v - w|^2
  // of which the last is small: that of as many roundings as there are columns, independent of each
  // other. None where these would make out too much of the gap.
  std::optional<double> norm_beside(double square, const DualSums& sum) {
    if (at_zero_) return square;
    const double drift = inner() - square;
    double norm = square + 2 * drift;
    if (square > 0) norm += static_cast<double>(regularised_) * drift * drift / square;
    const double gap = square / 2 + sum.loss - (sum.gain - norm / 2);
    if (std::abs(drift) > kMostDrift * gap) return {};
    return norm;
  }

  // D (see norm_beside), and P and gradients at w from all rows; remembers the best point. Leaps go
  // to and fro about the optimum: where w is far worse than the best point, their mean takes its
  // place.
  void refresh() {
    keep_best();
    if (leaps_.changed_w()) rebuild();
    double square = rough() ? floats_.give(here_.w, regularised_, simd_, pool_) : 0;
    if (!std::isfinite(square)) sharpen();
    const bool at_mean = leaps_.count() > 0 && estimate_ > kMeanAbove * exact_gap_;
    if (problem_.free_bias) {
      here_.centre = here_.bias();
      settle_sum();
      if (rough()) {
        floats_.take(here_.w);
        square = square_of_weights(here_.w);
      }
    }
    std::vector<double>& mean = leaps_.take_mean(at_mean);
    std::vector<double>& point = at_mean ? mean : here_.w;
    DualSums sum = sums_at(point);
    std::optional<double> norm;
    if (rough()) {
      norm = norm_beside(square, sum);
      if (!norm) {
        sharpen();  // rows are others than they are, taken roughly
        sum = sums_at(here_.w);
      }
    }
    // Where columns are more than rows. Before leaps only: w and the variables drift apart.
    const bool by_rows = !problem_.free_bias && m_.rows < here_.w.size() && !slow() && !norm;
    if (!norm) {
      norm = by_rows ? inner() : square_of_weights(here_.w);
      square = at_mean ? square_of_weights(point) : *norm;
    }
    if (problem_.free_bias) point.back() = best_;
    if (!std::isfinite(square / 2 + sum.loss)) {
      fail("solver.nonfinite",
           fmt::format("the objective is not finite after {:.0f} passes over the data", passes()),
           "scale the data, or lower --cost");
    }
    // With a free bias what is left of the sum is charged for (certificate.cc); and the bound may
    // fall again, as the sum is brought back to 0.
    const double dual = sum.gain - *norm / 2 - std::abs(here_.sum * best_);
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
    gap_before_ = exact_gap_;
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
    if (problem_.free_bias && idle > 0 && idle % kIdle == 0) here_.stiffness *= 4;
    return ended;
  }

  // All rows that do not rest.
  void choose_rows() {
    const double least = kLeastChosen * static_cast<double>(m_.rows);
    const bool all = nothing_known();
    if (!all) {
      choose_near(descent_loops(simd_, problem_.loss),
                  dual_rows(problem_, gradients_.all(), alpha_), rest_beyond_,
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
    leaps_.choose();
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
    const double width = static_cast<double>(here_.w.size()) /
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
    const bool first = refreshes_ == 1;
    for (std::uint64_t count = 1; count <= kMaxEpochs || passes() - begun < kLeastWork; ++count) {
      if (count > 1) shuffle(count);
      // Long steps bring D up faster; but P is lower where the last steps were short.
      const bool evenly = !rough() || first || decay_ <= kFastDecay;
      const bool last =
          !evenly && passes() - begun >= kLeastWork &&
          near_enough(kShortGain * (count == 1 ? exact_gap_ : expected_gap()) * decay_);
      if (!epoch(false, evenly ? 1 : last ? kShortStride : kLongStride)) return false;
      if (last || awake_ == 0 || near_target()) break;
      if (near_enough(expected_gap()) && passes() - begun >= kLeastWork) break;
      if (first && static_cast<double>(inside_) < kFewInside * static_cast<double>(m_.rows)) break;
      if (first && count > 1 && estimate_ < kFirstLook * best_point_.primal()) break;
      if (static_cast<double>(awake_) < kLeastAwake * static_cast<double>(rows_.items().size())) {
        store();
        rows_.leave_sleepers();
      }
    }
    return true;
  }

  bool descend_by_leaps() {
    leaps_.mark();
    const double begun = passes();
    for (std::uint64_t count = 2; count <= kMaxEpochs; count += 2) {
      if (!epoch(false, 1) || !epoch(true, 1)) return false;
      solution_.rows_touched += leaps_.leap();
      if (awake_ == 0 || near_target()) break;
      if (near_enough(expected_gap()) && passes() - begun >= kLeastWork) break;
      if (leaps_.count() >= kLeaps && passes() - begun >= kExactShare) break;
    }
    return true;
  }

  // P - D after the last epoch. An estimate is of the points on the way of an epoch: where the next
  // one would bring it is where it ended.
  double expected_gap() const { return estimate_ * decay_ * trust_; }
  double target() const { return monitor_.limits().gap * best_point_.primal(); }
  bool near_target() const { return expected_gap() < target(); }
  bool near_enough(double gap) const {
    return gap < std::max(target(), (slow() ? kNextOfLeaps : kNextLook) * exact_gap_);
  }

  // ---- w in floats.
  bool rough() const { return floats_.used(); }
  // Near the optimum, or where there is no progress.
  bool enough_of_rough() const {
    return slow() || relative_gap() < kRoughGap ||
           (refreshes_ > 2 && exact_gap_ > kLeastFall * gap_before_);
  }
  void sharpen() {
    floats_.drop();
    rebuild();
    trust_ = std::max(trust_, 1.0);  // it was that of short steps
  }

  // One visit to every row chosen, in their order or from last to first.
  bool epoch(bool backward, double stride) {
    if (!rough()) return epoch(rows_.template descent<double>(), here_.w, backward, stride);
    Descent<Value, float> descent = rows_.template descent<float>();
    if (options_.quantised_rows != nullptr) {
      descent.quantised = options_.quantised_rows->values.data();
      descent.quantised_rows = options_.quantised_rows->rows;
    }
    return epoch(descent, floats_.w(), backward, stride);
  }
  template <class Weight>
  bool epoch(Descent<Value, Weight> descent, std::vector<Weight>& w, bool backward, double stride) {
    const std::span<Item> items = rows_.items();
    descent.w = w.data();
    descent.stride = stride;
    descent.factor = problem_.costs.empty() ? nullptr : problem_.costs.data();
    descent.cost = problem_.cost;
    descent.rest = nothing_known() ? std::numeric_limits<double>::infinity() : rest_beyond_;
    const bool with_bias = problem_.bias != 0 && !problem_.free_bias;
    if (problem_.free_bias) {
      descent.shift = here_.centre;
      descent.gain = here_.stiffness;
      descent.unit = 1;
      descent.v = here_.sum;
    } else if (with_bias) {
      descent.gain = descent.unit = problem_.bias;
      descent.v = static_cast<double>(w.back());
    }
    for (std::size_t from = 0; from < items.size(); from += kPollRows) {
      if (monitor_.poll(passes())) return false;
      const std::uint64_t before = descent.visits;
      descent_loops(simd_, problem_.loss)
          .descend(descent, &items[backward ? items.size() - 1 - from : from],
                   std::min(kPollRows, items.size() - from), backward ? -1 : 1);
      if (problem_.free_bias) here_.sum = descent.v;
      if (with_bias) w.back() = static_cast<Weight>(descent.v);
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
    estimate_ = descent.estimate - (problem_.free_bias ? here_.bias() * here_.sum : 0.0);
    decay_ = before > 0 ? std::clamp(estimate_ / before, kFastest, 1.0) : 1.0;
    return true;
  }

  // w from the variables: leaps let rounding grow.
  void rebuild() {
    std::ranges::fill(here_.w, 0.0);
    here_.sum = 0;
    leaps_.w_is_computed();
    for (std::uint64_t i = 0; i < m_.rows; ++i) add(row_of(m_, i), alpha_[i] * problem_.y[i]);
  }

  // What the epochs made of the variables.
  void store() {
    for (const Item& item : rows_.items()) {
      alpha_[item.row] = item.alpha;
      if (square_[item.row] == kUnknown) square_[item.row] = item.curvature;
    }
    leaps_.store();
  }

  void move(std::uint64_t i, double alpha) {
    add(row_of(m_, i), (alpha - alpha_[i]) * problem_.y[i]);
    alpha_[i] = alpha;
  }

  void add(const SparseRow<Value>& x, double a) {
    add_row(problem_, simd_, x, a, here_.w, here_.sum);
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const SolverOptions& options_;
  const Simd& simd_;
  Monitor& monitor_;
  Pool& pool_;
  const std::size_t regularised_;  // columns
  const Neighbours neighbours_;    // runs are no longer than these

  DualPoint here_;         // where epochs have come to
  FloatWeights floats_;    // in the place of w while that is enough
  double gap_before_ = 0;  // exact_gap_ of the last refresh but one
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
  Leaps<Value> leaps_;
  double dual_ = 0;  // alpha = 0 is feasible
  double exact_gap_ = 0;
  double estimate_ = 0;  // of P - D, from the rows visited in the last epoch
  double decay_ = 1;     // of the estimate, from one epoch to the next
  double trust_ = 1;     // exact gap / what was expected, as seen at the last refresh
  double rest_beyond_ = 0;
  bool at_zero_ = true;  // w = 0: no exact pass was needed yet
  std::uint64_t refreshes_ = 0;
  StallWatch stall_;
  double best_ = 0;   // free bias at w
  double slope_ = 0;  // of the loss in a bias beyond all bends
  CrossingSearch search_;
  Solution solution_;
};

}  // namespace

Solution solve_dual(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                    Pool& pool) {
  const SolveRows descend = [&](const Problem& given, const SolverOptions& how) {
    return given.data->visit(
        [&](const auto& m) { return DualDescent(given, m, how, monitor, pool).run(); });
  };
  return solve_centred(problem, options, [&](const Problem& given, const SolverOptions& how) {
    return solve_merged(given, how, monitor.limits().gap, pool,
                        [&](const Problem& merged) { return descend(merged, how); });
  });
}

}  // namespace hinge
