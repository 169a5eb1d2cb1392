// Map: Pegasos::run is the whole, one_run() the loop over steps. What interrupts the steps (looks
// at primal and bound, marks, points to remember) happens at known steps. look() measures exactly;
// where a gap is asked, the best point and the best bound of each problem are kept.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "objective/free_bias.h"
#include "objective/line_search.h"
#include "solve/batches.h"
#include "solve/pegasos/kernel_passes.h"
#include "solve/pegasos/last_half.h"
#include "solve/pegasos/pegasos_state.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr std::uint64_t kDefaultEpochs = 20;
constexpr std::uint64_t kLookShare = 8;   // looks are 1 + epoch/8 epochs apart
constexpr std::uint64_t kLongRun = 50;    // epochs
constexpr std::uint64_t kRuns = 1024;     // of neighbouring rows, at least, to draw from
constexpr double kPoorGap = 0.05;         // beyond it a second bound is tried
constexpr int kMostSecants = 40;          // for the best multiple of a point with a free bias
constexpr double kSecantGain = 1e-6;      // a smaller part of the primal is not worth one more
constexpr double kUnbalanced = 1e-10;     // of a bound, for what rounding leaves of sum alpha y
constexpr std::uint64_t kLot = 0x6c6f74;  // random stream of the point drawn by lot

// Space: Passes, or KernelPasses, where points are coefficients of rows.
template <class Space>
class Pegasos {
 public:
  Pegasos(std::span<const Problem> problems, Space& space, const SolverOptions& options,
          std::span<Monitor> monitors, Pool& pool)
      : problems_(problems),
        planes_(problems.size()),
        m_(space.rows()),
        asked_(options.pegasos),
        seed_(options.seed),
        start_(options.start),
        resume_(options.resume),
        monitors_(monitors),
        pool_(pool),
        passes_(space),
        batch_(asked_.batch == 0 ? m_.rows : asked_.batch),
        epoch_((m_.rows + batch_ - 1) / batch_),
        best_(problems.size()) {
    const Limits& limits = monitors[0].limits();
    const bool gap_asked = limits.gap > 0;
    const bool best_of = asked_.iterate == Iterate::best_of;
    proves_ = asked_.kernel.positive_definite();
    looks_ = (gap_asked || asked_.check_every > 0) && !best_of;
    keeps_ = gap_asked || best_of;
    if (asked_.steps > 0) {
      total_ = asked_.steps;
    } else if (asked_.epochs > 0 || !gap_asked || best_of) {
      const std::uint64_t epochs = asked_.epochs > 0 ? asked_.epochs : kDefaultEpochs;
      total_ = epochs > kNever / epoch_ ? kNever : epochs * epoch_;
    } else {
      ends_ = false;
    }
    // Long runs are likely to be interrupted, the others are soon over.
    open_end_ = gap_asked || std::isfinite(limits.seconds) || limits.passes > 0 ||
                total_ / epoch_ > kLongRun;
  }

  std::vector<Solution> run() {
    {
      const Pool::Grace whole(pool_, Pool::Grace::kForever);
      judge_start();
    }
    const std::uint64_t runs =
        asked_.iterate == Iterate::best_of ? std::min(asked_.runs, total_) : 1;
    Archive before(resume_);
    std::uint64_t first = 0;
    if (!resume_.empty()) {
      before(first);
      before.require(first < runs);
    }
    for (std::uint64_t k = first; k < runs && !stopped_; ++k) {
      one_run(k, total_ / runs + (k < total_ % runs ? 1 : 0),
              k == first && !resume_.empty() ? &before : nullptr);
    }
    std::vector<Solution> solutions;
    for (std::size_t c = 0; c < planes_; ++c) {
      Best& best = best_[c];
      if (!best.done) {
        best.steps = steps_;
        best.rows_touched = rows_touched_;
      }
      solutions.push_back(
          {.w = std::move(best.w),
           .alpha = best.start_dual > best.dual ? start_alpha(c) : std::move(best.alpha),
           .iterations = best.steps,
           .rows_touched = best.rows_touched,
           .cut_short = ends_ && !best.done && steps_ < total_});
    }
    return solutions;
  }

 private:
  struct Best {
    double primal = std::numeric_limits<double>::infinity();
    double dual = -1;  // any bound is better
    std::vector<double> w, alpha;
    double start_dual = -1, start_factor = 0;  // the bound that came with the start
    // Once the gap asked for is reached, a problem is left alone: what becomes of it must not
    // depend on how long the others take.
    bool done = false;
    std::uint64_t steps = 0, rows_touched = 0;

    // Not the bound that came with the start: that is found again.
    void archive(Archive& archive) { archive(primal, dual, w, alpha, done, steps, rows_touched); }
    double bound() const { return std::max(dual, start_dual); }
    bool open() const { return !done; }
    bool poor() const { return !done && primal - bound() > kPoorGap * primal; }
  };

  struct Run {
    PegasosState<Space> state;
    std::uint64_t total;      // steps to do
    std::uint64_t steps = 0;  // done
    std::uint64_t next_look;
    LastHalf points, counts;
    std::vector<double> points_before = {};  // sum of the points between the last two marks
    std::uint64_t averaged_before = 0;
    std::vector<std::uint32_t> counts_before = {}, counts_mark = {};  // at the last two marks
    Random lot;
    std::uint64_t next_draw;
    std::vector<double> drawn = {};  // the point drawn by lot
  };

  struct Candidate {
    double primal = 0;
    double factor = 1;  // by which the point is multiplied
    double bias = 0;    // the best free bias for that
    double slope = 0;   // of the primal by the factor, with a free bias
  };

  bool together() const { return asked_.budget > 0; }
  // Steps without a look at the clock; with a kernel one may take as long as a pass over the rows.
  std::uint64_t steps_at_once() const {
    constexpr std::uint64_t kNonzeros = std::uint64_t{1} << 24;
    if (Space::kLinear) return kNever;
    return std::clamp<std::uint64_t>(kNonzeros / (m_.nonzeros() + 1), 16, 256);
  }

  bool suffix() const { return asked_.iterate == Iterate::suffix; }
  bool by_lot() const {
    return asked_.iterate == Iterate::random || asked_.iterate == Iterate::best_of;
  }

  Run begin(std::uint64_t number, std::uint64_t total) {
    const double t0 = asked_.t0        ? static_cast<double>(*asked_.t0)
                      : start_.empty() ? 0.0
                                       : static_cast<double>(m_.rows);
    const std::uint64_t half_epoch = std::max<std::uint64_t>(1, epoch_ / 2);
    const std::uint64_t half = total == kNever ? 0 : total / 2;
    return {.state = PegasosState<Space>({.problems = problems_,
                                          .batch = batch_,
                                          .projection = asked_.projection,
                                          .budget = asked_.budget,
                                          .t0 = t0,
                                          .start = start_},
                                         passes_),
            .total = total,
            .next_look = looks_ ? look_after(0) : total,
            .points = LastHalf(suffix() ? half : 0, suffix() && open_end_ ? half_epoch : 0),
            .counts = LastHalf(half / epoch_ * epoch_, epoch_),
            .lot = Random(seed_, kLot, number),
            .next_draw = by_lot() ? 0 : kNever};
  }

  // `before`: the state to go on from, or none.
  void one_run(std::uint64_t number, std::uint64_t total, Archive* before) {
    Batches batches(m_.rows, batch_, asked_.sampling, seed_, number,
                    neighbours_in(*problems_[0].data, m_.rows / kRuns));
    if (before != nullptr) (*before)(open_end_);
    Run run = begin(number, total);
    if (before != nullptr) {
      archive(*before, run, batches);
      before->end();
    } else {
      if (asked_.iterate == Iterate::average) run.state.begin_mean();
      if (by_lot()) draw(run);
    }
    stopped_ = poll();
    bool looked = false;
    while (run.steps < run.total && !stopped_) {
      monitors_[0].offer_state([&] {
        return Archive::written_by([&](Archive& state) {
          state(number, open_end_);
          archive(state, run, batches);
        });
      });
      const std::uint64_t until =
          std::min({run.next_look, run.points.next(), run.counts.next(), run.next_draw, run.total});
      const std::span<const std::uint64_t> rows =
          batches.next(std::min(until - run.steps, steps_at_once()));
      {
        const Pool::Grace whole(pool_, Pool::Grace::kForever);  // half a step is none
        run.state.run(rows, batches.ahead());
      }
      const std::uint64_t steps = (rows.size() + batch_ - 1) / batch_;
      run.steps += steps;
      steps_ += steps;
      rows_touched_ += rows.size();
      looked = run.steps == run.next_look;
      if (looked) {
        stopped_ = look(run);
        run.next_look = look_after(run.steps);
      } else if (run.steps % epoch_ == 0) {
        monitors_[0].mark(progress());
      }
      mark(run);
      stopped_ = stopped_ || poll();
    }
    if (!looked) stopped_ = look(run) || stopped_;
  }

  // Between two chunks of steps, of a run that was begun with the same number and end.
  void archive(Archive& archive, Run& run, Batches& batches) {
    archive(steps_, rows_touched_);
    archive.sized(best_, planes_);
    for (const Best& best : best_) {
      archive.require(best.w.empty() ||
                      best.w.size() == passes_.dimension() + (problems_[0].free_bias ? 1 : 0));
      archive.require(best.alpha.empty() || best.alpha.size() == m_.rows);
    }
    archive(run.steps, run.next_look, run.averaged_before, run.lot, run.next_draw);
    archive.require(run.steps < std::min(run.total, kMostSteps) && run.next_look > run.steps &&
                    run.next_draw > run.steps);
    run.points.archive(archive, run.steps);
    run.counts.archive(archive, run.steps);
    archive.require(run.points.next() > run.steps && run.counts.next() > run.steps);
    archive.sized_or_empty(run.points_before, passes_.size());
    archive.sized_or_empty(run.counts_before, m_.rows * (planes_ + 1));
    archive.sized_or_empty(run.counts_mark, m_.rows * (planes_ + 1));
    archive.sized(run.drawn, by_lot() ? passes_.size() : 0);
    run.state.archive(archive);
    batches.archive(archive);
  }

  std::uint64_t look_after(std::uint64_t steps) const {
    const std::uint64_t epochs = steps / epoch_;
    const std::uint64_t more =
        asked_.check_every > 0 ? asked_.check_every : 1 + epochs / kLookShare;
    return more > kNever / epoch_ - epochs ? kNever : (epochs + more) * epoch_;
  }

  // What is due between two steps.
  void mark(Run& run) {
    if (run.steps == run.next_draw && run.steps < run.total) draw(run);
    if (run.steps == run.points.next()) {
      run.points_before = run.state.averaging() ? run.state.sum() : std::vector<double>();
      run.averaged_before = run.state.averaged();
      run.state.begin_mean();
      run.points.mark();
    }
    if (run.steps == run.counts.next()) {
      run.counts_before.swap(run.counts_mark);
      run.counts_mark = run.state.counts();
      run.counts.mark();
    }
  }

  // The point that meets step t replaces the one drawn before with probability 1/t, so that each of
  // w_1 .. w_t is as likely. Steps at which it does not are skipped at once.
  void draw(Run& run) {
    run.drawn = run.state.point();
    const double next = static_cast<double>(run.steps + 1) / (1 - run.lot.uniform());
    run.next_draw = next < 0x1p62 ? static_cast<std::uint64_t>(next) : kNever;
  }

  bool poll() {
    bool stop = false;
    for (Monitor& monitor : monitors_) stop = monitor.poll(passes_done()) || stop;
    return stop;
  }

  double passes_done() const {
    return static_cast<double>(rows_touched_) / static_cast<double>(m_.rows);
  }
  Progress progress() const {
    Progress progress;
    progress.iteration = steps_;
    progress.data_passes = passes_done();
    return progress;
  }

  // The point of the run that is to be its result.
  std::vector<double> chosen(const Run& run) const {
    if (by_lot()) return run.drawn;
    if (!run.state.averaging() || asked_.iterate == Iterate::last) return run.state.point();
    std::vector<double> mean = run.state.sum();
    std::uint64_t count = run.state.averaged();
    // Under a budget a sum of points past may hold rows that are gone.
    if (suffix() && asked_.budget == 0 && !run.points_before.empty() &&
        run.points.both(run.steps, 1)) {
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += run.points_before[j];
      count += run.averaged_before;
    }
    if (count == 0) return run.state.point();
    for (double& x : mean) x /= static_cast<double>(count);
    return mean;
  }

  // Exact primal and bound at the chosen point. True: stop. An interrupt in the middle: again while
  // there is time for it, else the point is taken unseen if no other was seen.
  bool look(Run& run) {
    try {
      return measure(run);
    } catch (const Interrupted&) {
      for (std::size_t c = 0; c < planes_; ++c) {
        if (best_[c].open()) monitors_[c].interrupt();
      }
    }
    try {
      const Pool::Grace grace(pool_, kLastLook);
      measure(run);
    } catch (const Interrupted&) {
      take_unseen(run);
    }
    return true;
  }

  void take_unseen(Run& run) {
    const std::vector<double> w = chosen(run);
    std::vector<double> rows(proves_ ? m_.rows * passes_.stride() : 0);
    for (std::size_t c = 0; c < planes_; ++c) {
      Best& best = best_[c];
      if (!std::isfinite(best.primal)) {
        best.w.resize(passes_.dimension());
        for (std::size_t j = 0; j < best.w.size(); ++j) best.w[j] = w[j * passes_.stride() + c];
        if (problems_[c].free_bias) best.w.push_back(run.state.free_bias(c));
      }
      if (!proves_ || best.dual >= 0) continue;
      if (run.counts_mark.empty()) {
        guess_alpha_from_all(run, c, rows);
      } else {
        guess_alpha(run, c, {.bias = run.state.free_bias(c)}, rows);
      }
      best.dual = 0;  // nobody knows
      best.alpha.resize(m_.rows);
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        best.alpha[i] = std::min(std::abs(rows[i * passes_.stride() + c]), problems_[c].upper(i));
      }
    }
  }

  bool measure(Run& run) {
    if (!keeps_) {  // no gap is asked: the result is the point at the end, looked at or not before
      for (Best& best : best_) {
        best.primal = std::numeric_limits<double>::infinity();
        best.dual = -1;
      }
    }
    const std::vector<double> w = chosen(run);
    std::vector<double> rows(m_.rows * passes_.stride());  // scores, then y alpha
    passes_.scores(m_.rows, std::identity(), w.data(), rows.data());
    std::vector<double> squares(passes_.stride());
    passes_.squares(w.data(), rows.data(), squares.data());
    std::vector<Candidate> candidates(planes_);
    for (std::size_t c = 0; c < planes_; ++c) {
      if (best_[c].open()) candidates[c] = judge(c, squares[c], rows);
    }
    keep_better(candidates, w);
    for (std::size_t c = 0; c < planes_; ++c) {
      if (best_[c].open()) guess_alpha(run, c, candidates[c], rows);
    }
    bound(rows);
    if (proves_ && !run.counts_mark.empty() && std::ranges::any_of(best_, &Best::poor)) {
      for (std::size_t c = 0; c < planes_; ++c) guess_alpha_from_all(run, c, rows);
      bound(rows, &Best::poor);
    }
    rows_touched_ += 2 * m_.rows;
    bool stop = true;
    for (std::size_t c = 0; c < planes_; ++c) stop = (best_[c].done || report(c)) && stop;
    return stop;
  }

  // P at the point, or at the best multiple of it; with the best free bias for that.
  Candidate judge(std::size_t c, double square, const std::vector<double>& scores) const {
    const Problem& problem = problems_[c];
    const std::size_t stride = passes_.stride();
    const bool rescale = asked_.rescale && square >= 0;
    Candidate found;
    if (problem.free_bias) {
      found = rescale ? best_along(c, square, scores) : multiple(c, 1, square, scores);
    } else {
      if (rescale) {
        LineSearch search(square, 0);
        search.reserve(m_.rows);
        for (std::uint64_t i = 0; i < m_.rows; ++i) {
          search.add(problem.upper(i), 1, -problem.y[i] * scores[i * stride + c]);
        }
        found.factor = search.minimum();
      }
      found.primal = found.factor * found.factor * square / 2;
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        const double margin = found.factor * problem.y[i] * scores[i * stride + c];
        found.primal += problem.upper(i) * std::max(0.0, 1 - margin);
      }
    }
    if (!std::isfinite(found.primal)) {
      fail("solver.nonfinite", fmt::format("the objective is not finite after {} steps", steps_),
           "scale the data, or lower --cost");
    }
    return found;
  }

  // With a free bias: P at the point times factor with the best bias, and how it changes with the
  // factor. The statuses s_i that make sum_i s_i U_i y_i = 0 hide the bias from that slope.
  Candidate multiple(std::size_t c, double factor, double square,
                     const std::vector<double>& scores) const {
    const Problem& problem = problems_[c];
    const auto score = [&](std::uint64_t i) { return scores[i * passes_.stride() + c]; };
    const auto place = [&](std::uint64_t i) { return problem.y[i] - factor * score(i); };
    Candidate at = {.primal = std::nan(""), .factor = factor};
    double before = 0;
    std::vector<SlopeStep> bends(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      bends[i] = {.place = place(i), .size = problem.upper(i), .item = i};
      if (!std::isfinite(bends[i].place)) return at;
      if (problem.y[i] > 0) before -= problem.upper(i);
    }
    const Crossing crossing = find_crossing(before, bends);
    at.bias = crossing.at;
    at.primal = factor * factor * square / 2;
    at.slope = factor * square;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      const double y = problem.y[i], upper = problem.upper(i);
      at.primal += upper * std::max(0.0, 1 - y * (factor * score(i) + at.bias));
      const double passed = i == crossing.item             ? crossing.share
                            : crossing.passed(place(i), i) ? 1.0
                                                           : 0.0;
      at.slope -= (y > 0 ? 1 - passed : passed) * upper * y * score(i);
    }
    return at;
  }

  // The best of those. P is convex in the factor, so its slope is brought to 0 by secants; of an
  // end that stays the slope is halved, lest the other come too slowly (Illinois). Two tangents say
  // what more could be gained.
  Candidate best_along(std::size_t c, double square, const std::vector<double>& scores) const {
    Candidate low = multiple(c, 0, square, scores), high = multiple(c, 1, square, scores);
    Candidate best = low.primal < high.primal ? low : high;
    double left = low.slope, right = high.slope;
    for (int k = 0; k < kMostSecants && low.slope < 0 && high.slope != 0; ++k) {
      const bool inside = high.slope > 0;
      if (inside) {
        const double at =
            (high.primal - low.primal + low.slope * low.factor - high.slope * high.factor) /
            (low.slope - high.slope);
        const double least = low.primal + low.slope * (at - low.factor);
        if (!(best.primal - least > kSecantGain * best.primal)) break;
      }
      const double factor =
          inside ? (low.factor * right - high.factor * left) / (right - left) : 2 * high.factor;
      pool_.poll();  // each of them selects among all rows
      const Candidate next = multiple(c, factor, square, scores);
      if (!std::isfinite(next.primal)) break;
      if (next.primal < best.primal) best = next;
      if (!inside) {
        low = std::exchange(high, next);
        left = low.slope;
        right = high.slope;
      } else if (next.slope < 0) {
        low = next;
        left = low.slope;
        right /= 2;
      } else {
        high = next;
        right = high.slope;
        left /= 2;
      }
    }
    return std::isfinite(high.primal) ? best : high;
  }

  // Takes what is better than the best so far. Each problem may have its point from another look;
  // not so under a budget of rows for all of them.
  void keep_better(const std::vector<Candidate>& candidates, const std::vector<double>& w) {
    double now = 0, before = 0;
    for (std::size_t c = 0; c < planes_; ++c) {
      now += candidates[c].primal;
      before += best_[c].primal;
    }
    for (std::size_t c = 0; c < planes_; ++c) {
      Best& best = best_[c];
      if (together() ? now >= before : best.done || candidates[c].primal >= best.primal) continue;
      best.primal = candidates[c].primal;
      best.w.resize(passes_.dimension());
      for (std::size_t j = 0; j < best.w.size(); ++j) {
        best.w[j] = candidates[c].factor * w[j * passes_.stride() + c];
      }
      if (problems_[c].free_bias) best.w.push_back(candidates[c].bias);
    }
  }

  // Replaces scores by y alpha, alpha = U times the share of its visits, in about the last half of
  // the steps, that found a row inside the margin. A row without a visit in that time has its share
  // of all steps; one never visited is judged by its score.
  void guess_alpha(Run& run, std::size_t c, const Candidate& at, std::vector<double>& rows) {
    const Problem& problem = problems_[c];
    const std::size_t stride = passes_.stride(), width = planes_ + 1;
    const std::vector<std::uint32_t>& now = run.state.counts();
    const std::vector<std::uint32_t>& mark =
        run.counts.both(run.steps, epoch_) ? run.counts_before : run.counts_mark;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      double& row = rows[i * stride + c];
      std::uint32_t visits = now[i * width], hits = now[i * width + 1 + c];
      if (!mark.empty() && visits > mark[i * width]) {
        visits -= mark[i * width];
        hits -= mark[i * width + 1 + c];
      }
      if (visits == 0) hits = visits = problem.y[i] * (at.factor * row + at.bias) < 1 ? 1 : 0;
      row = visits == 0 ? 0.0 : problem.y[i] * (hits * problem.upper(i) / visits);
    }
  }

  // The same from all steps, which is better where rows are hardly hit any more.
  void guess_alpha_from_all(Run& run, std::size_t c, std::vector<double>& rows) {
    const Problem& problem = problems_[c];
    const std::size_t stride = passes_.stride(), width = planes_ + 1;
    const std::vector<std::uint32_t>& now = run.state.counts();
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      const std::uint32_t visits = now[i * width], hits = now[i * width + 1 + c];
      if (visits > 0) {
        rows[i * stride + c] = problem.y[i] * (hits * problem.upper(i) / visits);
      }
    }
  }

  // D at the best multiple of alpha that fits its box, of the problems for which `wanted` holds:
  // whether it does must not depend on the other problems.
  void bound(std::vector<double>& rows, bool (Best::*wanted)() const = &Best::open) {
    const std::size_t stride = passes_.stride();
    if (!proves_) return;
    thin(rows);
    for (std::size_t c = 0; c < planes_; ++c) {
      if (problems_[c].free_bias && (best_[c].*wanted)()) balance_rows(c, rows);
    }
    const std::vector<double> squares = combined_squares(rows);
    for (std::size_t c = 0; c < planes_; ++c) {
      if (!(best_[c].*wanted)()) continue;
      const auto [factor, dual] = best_multiple(c, rows, squares[c]);
      Best& best = best_[c];
      if (!(dual > best.dual)) continue;
      best.dual = dual;
      best.alpha.resize(m_.rows);
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        const double alpha = factor * std::abs(rows[i * stride + c]);
        best.alpha[i] = std::min(alpha, problems_[c].upper(i));
      }
    }
  }

  // Leaves no more rows with a dual variable than the bound has time for, evenly spaced.
  void thin(std::vector<double>& rows) const {
    const std::uint64_t most = passes_.most_in_bound();
    if (most >= m_.rows) return;
    const std::size_t stride = passes_.stride();
    const auto used = [&](std::uint64_t i) {
      const double* const row = rows.data() + i * stride;
      return std::any_of(row, row + stride, [](double x) { return x != 0; });
    };
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) count += used(i) ? 1U : 0U;
    if (count <= most) return;
    std::uint64_t credit = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      if (!used(i)) continue;
      credit += most;
      if (credit < count) std::fill_n(rows.data() + i * stride, stride, 0.0);
      if (credit >= count) credit -= count;
    }
  }

  // Makes the sum of y alpha 0, as a free bias asks; so it is for every multiple.
  void balance_rows(std::size_t c, std::vector<double>& rows) const {
    const Problem& problem = problems_[c];
    const std::size_t stride = passes_.stride();
    std::vector<double> alpha(m_.rows);
    for (std::uint64_t i = 0; i < m_.rows; ++i) alpha[i] = std::abs(rows[i * stride + c]);
    balance(problem, alpha);
    for (std::uint64_t i = 0; i < m_.rows; ++i) rows[i * stride + c] = problem.y[i] * alpha[i];
  }

  // |sum_i y_i alpha_i x_i|^2 for each problem.
  std::vector<double> combined_squares(const std::vector<double>& rows) {
    std::vector<double> v(passes_.size()), squares(passes_.stride());
    passes_.combine(m_.rows, std::identity(), rows.data(), v.data());
    passes_.squares(v.data(), squares.data());
    return squares;
  }

  // The factor r >= 0 for which r alpha fits the box and D(r alpha) is largest, and that D.
  std::pair<double, double> best_multiple(std::size_t c, const std::vector<double>& rows,
                                          double square) const {
    const std::size_t stride = passes_.stride();
    double sum = 0, fullest = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      const double alpha = std::abs(rows[i * stride + c]);
      sum += alpha;
      if (alpha > 0) fullest = std::max(fullest, alpha / problems_[c].upper(i));
    }
    if (!(sum > 0) || !std::isfinite(square)) return {0, 0};
    const double factor = std::min(square > 0 ? sum / square : 1 / fullest, 1 / fullest);
    const double dual = factor * sum - factor * factor * square / 2;
    return {factor, problems_[c].free_bias ? dual - kUnbalanced * factor * sum : dual};
  }

  bool report(std::size_t c) {
    Best& best = best_[c];
    Progress now = progress();
    now.primal = best.primal;
    now.dual = proves_ ? best.bound() : 0.0;
    now.relative_gap =
        best.primal > 0 ? std::max(0.0, (best.primal - now.dual) / best.primal) : 0.0;
    const bool stop = monitors_[c].report(now);
    best.done = stop && monitors_[c].reason() == StopReason::converged && !together();
    if (best.done) {
      best.steps = steps_;
      best.rows_touched = rows_touched_;
    }
    return stop;
  }

  // A bound that came with the start is a bound already; balanced, where the bias is free.
  void judge_start() {
    const auto has_bound = [](const Start& start) { return !start.alpha.empty(); };
    if (start_.empty() || !std::ranges::all_of(start_, has_bound)) return;
    const std::size_t stride = passes_.stride();
    std::vector<double> rows(m_.rows * stride);
    for (std::size_t c = 0; c < planes_; ++c) {
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        rows[i * stride + c] = problems_[c].y[i] * start_[c].alpha[i];
      }
    }
    const std::vector<double> squares = combined_squares(rows);
    for (std::size_t c = 0; c < planes_; ++c) {
      std::tie(best_[c].start_factor, best_[c].start_dual) = best_multiple(c, rows, squares[c]);
    }
    rows_touched_ += m_.rows;
  }

  std::vector<double> start_alpha(std::size_t c) const {
    std::vector<double> alpha = start_[c].alpha;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      alpha[i] = std::min(best_[c].start_factor * alpha[i], problems_[c].upper(i));
    }
    return alpha;
  }

  std::span<const Problem> problems_;
  std::size_t planes_;
  const typename Space::Rows& m_;
  const PegasosOptions& asked_;
  std::uint64_t seed_;
  std::span<const Start> start_;
  std::span<const std::byte> resume_;
  std::span<Monitor> monitors_;
  Pool& pool_;
  Space& passes_;
  std::uint64_t batch_, epoch_;   // rows a step, steps an epoch
  std::uint64_t total_ = kNever;  // steps to do, in all runs
  bool ends_ = true;              // a number of steps was asked for
  bool open_end_ = false;         // something else than the number of steps may end the run
  bool looks_ = false;            // at primal and bound between the steps, not only at the end
  bool proves_ = true;            // there is a bound to prove
  bool keeps_ = false;            // the best point and bound of all looks, not those of the last
  std::vector<Best> best_;
  std::uint64_t steps_ = 0, rows_touched_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::vector<Solution> solve_pegasos(std::span<const Problem> problems, const SolverOptions& options,
                                    std::span<Monitor> monitors, Pool& pool) {
  const double bias = problems[0].free_bias ? 0.0 : problems[0].bias;  // a feature of the rows
  const KernelFunction& kernel = options.pegasos.kernel;
  return problems[0].data->visit([&](const auto& m) {
    if (kernel.linear()) {
      Passes space(m, bias, problems.size(), *options.simd, pool);
      return Pegasos(problems, space, options, monitors, pool).run();
    }
    KernelPasses space(m, kernel, bias, problems.size(), options, pool);
    return Pegasos(problems, space, options, monitors, pool).run();
  });
}

}  // namespace hinge
