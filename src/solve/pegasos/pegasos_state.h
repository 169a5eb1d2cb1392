// The steps of Pegasos on one hyperplane or several (one against the rest), and nothing else: which
// rows a step sees, when to stop and what to return is decided elsewhere (pegasos.cc, batches.h).
//
//   step t on the rows A (k of them, tau = t0 + t, lambda = 1/(C sum c_i), U_i = C c_i):
//
//     a = what is learned from each row of A, solve/update.h: with the hinge 1 where y <w, x> < 1,
//         else 0; in regression, where y = 1, of the margin <w, x> - t
//     w <- (1 - 1/tau) w + (m/(k tau)) sum_A a U y x
//     w <- min(1, radius/|w|) w                           with projection
//
// which is the published step of size 1/(lambda tau). How w is kept, scaled_point.h says: v gains
// a U y x / pi for each row of A.
//
// A free bias b (objective/problem.h) is no part of w, nor of |w|: margins are y (<w, x> + b), and
// with cb the mean of c
//
//     b <- b + (2/(k sqrt(tau))) sum_A a (c/cb) y
//
// Nothing pulls b towards 0, so steps of 1/tau would be too short. It only guides the steps: who
// takes a point finds the best b for it. In regression it begins at the mean of the targets, and
// where |a| has a bound its steps are so much longer as |t - mean| is on the average.
//
// Every step is counted: visits of a row, and its shares. Their mean, times U, is always a feasible
// dual variable, whatever was drawn and projected (docs/pegasos.md).
//
// On several ranks each scores its rows of A at the same w, and what these add to v is summed: all
// ranks have the same point, and each has the counts of its own rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "objective/loss.h"
#include "objective/problem.h"
#include "rows/passes.h"
#include "solve/pegasos/budget.h"
#include "solve/pegasos/hit_shares.h"
#include "solve/pegasos/rank_sums.h"
#include "solve/pegasos/row_prefetch.h"
#include "solve/pegasos/scaled_point.h"
#include "solve/pegasos/step_length.h"
#include "solve/pegasos/tuning.h"
#include "solve/solver.h"
#include "solve/update.h"

namespace hinge {

struct PegasosSteps {
  std::span<const Problem> problems;  // the same rows, costs and bias; each its own y
  std::uint64_t batch = 1;            // k: 1 .. rows of all ranks
  Update update = Update::margin;
  bool projection = false;            // not with a budget
  std::uint64_t budget = 0;           // most rows with a coefficient, with a kernel; 0: any number
  double t0 = 0;                      // > 0 where there is a start
  std::span<const Start> start = {};  // w_1 of each problem; none: 0
  // Of several ranks: no kernel, no projection, no free bias, no start.
  RankSums ranks = RankSums();
  // m/k, where the rows here are not all: the steps of an epoch, since ranks' sets are of one size.
  double epoch = 0;
};

// Space: Passes, or KernelPasses, where v and u are coefficients of rows.
template <class Space, class Loss = Hinge>
class PegasosState {
  static constexpr bool kByHits = kLearnsByHits<Loss>;
  static constexpr bool kHasLength = kSteep<Loss>;
  static_assert(kByHits || Space::kLinear, "with a kernel rows are hit or not");

 public:
  using Count = typename ShareCounts<Loss>::Number;

  PegasosState(const PegasosSteps& steps, Space& passes)
      : passes_(passes),
        m_(passes.rows()),
        problems_(steps.problems),
        hyperplanes_(steps.problems.size()),
        stride_(passes.stride()),
        batch_(steps.batch),
        update_(steps.update),
        projection_(steps.projection),
        ranks_(steps.ranks),
        point_(passes, hyperplanes_,
               ranks_.several() ? steps.epoch
                                : static_cast<double>(m_.rows) / static_cast<double>(steps.batch),
               steps.t0),
        squares_(passes),
        budget_(passes, steps.budget),
        counts_(m_.rows * (hyperplanes_ + 1)) {
    const Problem& first = problems_[0];
    double weight = first.costs.empty() ? static_cast<double>(m_.rows) : 0;
    for (const double c : first.costs) weight += c;
    if constexpr (kByHits) {
      learns_below_ = learns_below<Loss>(steps.update);
      radius_ = std::sqrt(first.cost * weight);  // 1/sqrt(lambda)
    } else {
      radius_ = std::sqrt(2 * value_at_zero(first, weight));
    }
    if (first.free_bias) {
      bias_step_ = Tuning::kFreeBiasStep * point_.base() / (first.cost * weight);
      if constexpr (Loss::kRegression) begin_bias(first, weight);
    }
    if (hyperplanes_ > 1) {
      y_.resize(m_.rows * hyperplanes_);
      for (std::size_t c = 0; c < hyperplanes_; ++c) {
        for (std::uint64_t i = 0; i < m_.rows; ++i) y_[i * hyperplanes_ + c] = problems_[c].y[i];
      }
    }
    prefetch_ = {m_, hyperplanes_ > 1 ? y_.data() : first.y.data(),
                 first.costs.empty() ? nullptr : first.costs.data(), counts_.data(), hyperplanes_};
    if constexpr (!Space::kLinear) passes_.begin();
    point_.begin_at(steps.start, first.free_bias);
    if (projection_) {
      point_.compute_squares();
      point_.project(radius_);
    }
  }

  // One step on each set of `batch` rows; the last set may be short. `ahead` are rows that will be
  // seen soon after.
  void run(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead = {}) {
    if constexpr (Space::kLinear) {
      if (batch_ == 1 && hyperplanes_ == 1 && !projection_ && !ranks_.several()) {
        const bool averaging = point_.averaging();
        if (ahead.empty()) {
          averaging ? visit_one<true, false>(rows, ahead) : visit_one<false, false>(rows, ahead);
        } else {
          averaging ? visit_one<true, true>(rows, ahead) : visit_one<false, true>(rows, ahead);
        }
        return;
      }
    } else {
      passes_.expect(rows, [this](std::uint64_t i) { return will_learn(i); });
    }
    if (batch_ == 1 && !ranks_.several()) {
      visit(rows, ahead);
      return;
    }
    // Of several ranks one may have no row of a set, and takes the step with the others all the
    // same.
    const std::size_t size = ranks_.several() ? rows.size() : batch_;
    std::size_t from = 0;
    do {
      step(rows.subspan(from, std::min(size, rows.size() - from)));
      from += size;
    } while (from < rows.size());
  }

  // The point reached, for all hyperplanes (interleaved, Passes::size() numbers).
  std::vector<double> point() const { return point_.point(); }
  double free_bias(std::size_t c) const { return point_.scale(c).b; }

  // Means over points: see ScaledPoint.
  void begin_mean() { point_.begin_mean(); }
  bool averaging() const { return point_.averaging(); }
  std::uint64_t averaged() const { return point_.averaged(); }
  std::vector<double> sum() const { return point_.sum(); }

  // visits, then the shares of each hyperplane, row by row; 1 + hyperplanes numbers each.
  const std::vector<Count>& counts() const { return counts_; }

  // Between two calls of run().
  void archive(Archive& archive) {
    point_.archive(archive);
    archive.sized(counts_, m_.rows * (hyperplanes_ + 1));
    if constexpr (!Space::kLinear) passes_.archive(archive);
  }

 private:
  using Tuning = PegasosTuning;
  using Scale = typename ScaledPoint<Space>::Scale;

  std::int8_t sign(std::uint64_t i, std::size_t c) const {
    return hyperplanes_ == 1 ? problems_[0].y[i] : y_[i * hyperplanes_ + c];
  }

  // How far b goes in step tau; sum: of a y U.
  double bias_move(double sum, double tau) const { return bias_step_ * sum / std::sqrt(tau); }

  // P(0), of all weights of rows together.
  double value_at_zero(const Problem& problem, double weight) const {
    if constexpr (Loss::kRegression) {
      double sum = 0;
      for (std::uint64_t i = 0; i < m_.rows; ++i) {
        sum += problem.upper(i) * loss_.value(-problem.targets[i]);
      }
      return sum;
    } else {
      return problem.cost * weight * loss_.value(0.0);
    }
  }
  // In regression a free bias begins at the mean of the targets, which may be far from 0, and its
  // steps are as long as those are apart.
  void begin_bias(const Problem& problem, double weight) {
    if (!(weight > 0)) return;
    double mean = 0, apart = 0;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      mean += problem.factor(i) / weight * problem.targets[i];
    }
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      apart += problem.factor(i) / weight * std::abs(problem.targets[i] - mean);
    }
    point_.scale(0).b = mean;
    if constexpr (!kHasLength) bias_step_ *= apart;
  }

  // Of row i, whose sign is y and whose score without the bias is `score`.
  double margin(std::uint64_t i, double y, double score, double b) const {
    return problems_[0].template margin<Loss>(i, y * (score + b));
  }

  // What step tau on row i alone learns, whose label is y and whose score at w is `score`.
  Count share_of(std::uint64_t i, double y, double score, double b, double tau) {
    if constexpr (kByHits) {
      return y * (score + b) < learns_below_ ? 1 : 0;
    } else {
      return learned_share(loss_, update_,
                           {.margin = margin(i, y, score, b),
                            .shrunk = margin(i, y, (1 - 1 / tau) * score, b),
                            .rise = point_.base() / tau * problems_[0].upper(i) * squares_.of(i)});
    }
  }
  // U a, of a share that is not 0.
  static double learned(double upper, Count share) { return kByHits ? upper : upper * share; }

  // One step for each row: what every run of one problem does all the time, so everything that does
  // not change is out of the loop.
  template <bool kAveraging, bool kScattered>
  void visit_one(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead) {
    const auto m = m_;
    const Problem problem = problems_[0];
    const Simd& simd = passes_.simd();
    Scale& scale = point_.scale(0);
    const double bias = problem.free_bias ? 0.0 : problem.bias, base = point_.base();
    double* const v = point_.v();
    double* const u = point_.u();
    Count* const counts = counts_.data();
    double tau = point_.tau(), s = scale.s, sum = scale.sum, b = scale.b;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (kScattered) prefetch_.at(rows, ahead, j);
      const std::uint64_t i = rows[j];
      const auto row = row_of(m, i);
      double score = simd.dot(row, v);
      if (bias != 0) score += bias * v[m.features];
      tau += 1;
      if (kAveraging) sum += s;
      const double y = problem.y[i];
      const Count share = share_of(i, y, s * score, b, tau);
      ++counts[2 * i];
      s = base / tau;
      if (share == 0) continue;
      counts[2 * i + 1] += share;
      const double factor = y * learned(problem.upper(i), share);
      simd.add(row, factor, v);
      if (problem.free_bias) b += bias_move(factor, tau);
      if (bias != 0) v[m.features] += factor * bias;
      if (kAveraging) {
        simd.add(row, factor * sum, u);
        if (bias != 0) u[m.features] += factor * sum * bias;
      }
    }
    point_.go_to(tau);
    scale.s = s;
    scale.sum = sum;
    scale.b = b;
    if (kAveraging) point_.count_in_mean(rows.size());
  }

  // One step for each row, whatever was asked for.
  void visit(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead) {
    scores_.resize(stride_);
    factors_.assign(stride_, 0.0);
    more_.assign(stride_, 0.0);
    const bool averaging = point_.averaging();
    const std::span<Scale> scales = point_.scales();
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if constexpr (Space::kLinear) prefetch_.at(rows, ahead, j);
      const std::uint64_t i = rows[j];
      passes_.score(i, point_.v(), scores_.data());
      Count* const counts = counts_.data() + i * (hyperplanes_ + 1);
      ++counts[0];
      point_.next_step();
      bool any_hit = false;
      for (std::size_t c = 0; c < hyperplanes_; ++c) {
        Scale& scale = scales[c];
        if (averaging) scale.sum += scale.s;
        const double y = sign(i, c);
        const Count share = share_of(i, y, scale.s * scores_[c], scale.b, point_.tau());
        const bool hit = share != 0;
        counts[1 + c] += share;
        const double gained = y * learned(problems_[0].upper(i), share);
        if (hit && bias_step_ > 0) scale.b += bias_move(gained, point_.tau());
        any_hit = any_hit || hit;
        factors_[c] = hit ? gained / scale.pi : 0;
        point_.set_scale(scale);
      }
      if (averaging) point_.count_in_mean(1);
      if (projection_) point_.keep_squares(passes_.work(i));
      if (!any_hit) continue;
      follow(i, factors_.data());
      passes_.add(i, factors_.data(), point_.v());
      if (averaging) {
        for (std::size_t c = 0; c < hyperplanes_; ++c) {
          more_[c] = factors_[c] * scales[c].sum;
        }
        passes_.add(i, more_.data(), point_.u());
      }
      if (projection_) {
        point_.lengthen(squares_.of(i), scores_.data(), factors_.data());
        point_.project(radius_);
      }
      keep_budget();
    }
  }

  // One step on a set of rows; on several ranks, on a share of it.
  void step(std::span<const std::uint64_t> rows) {
    score(rows);
    point_.next_step();
    find_hits(rows);
    if constexpr (kHasLength) {
      if (!ranks_.several()) find_length();
    }
    for (std::size_t c = 0; c < hyperplanes_ && bias_step_ > 0; ++c) {
      point_.scale(c).b += bias_move(moves_[c], point_.tau());
    }
    if (!ranks_.several()) count_point();
    point_.set_scales();
    if (ranks_.several()) {
      add_hits_of_all();
      count_point();
    } else {
      add_hits(rows);
    }
    if (projection_) point_.project(radius_);
    keep_budget();
  }

  void score(std::span<const std::uint64_t> rows) {
    scores_.resize(rows.size() * stride_);
    if constexpr (Space::kLinear) {
      passes_.scores(
          rows.size(), [rows](std::uint64_t k) { return rows[k]; }, point_.v(), scores_.data());
    } else {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        passes_.score(rows[k], point_.v(), scores_.data() + k * stride_);
      }
    }
  }

  // A mean is one of points as steps meet them; on several ranks, of points as steps leave them.
  // Steps are few there, and the later points lie lower: after 40 steps on all rows the primal of
  // the mean was 0.6 % lower on w8a, 0.8 % on ccat and 1.0 % on a tenth of covtype.
  void count_point() {
    if (!point_.averaging()) return;
    for (Scale& scale : point_.scales()) scale.sum += scale.s;
    point_.count_in_mean(1);
  }

  // hits_: the rows that some hyperplane learns from; factors_: what they add to v. Where steps
  // have a length what they would add, with the shares_ that are to be counted, if r were 1.
  void find_hits(std::span<const std::uint64_t> rows) {
    hits_.clear();
    if constexpr (kHasLength) {
      lengths_.assign(hyperplanes_, {});
      shares_.assign(rows.size() * stride_, 0.0);
    }
    factors_.assign(rows.size() * stride_, 0.0);
    moves_.assign(hyperplanes_, 0.0);
    double* factors = factors_.data();  // of the next hit
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::uint64_t i = rows[k];
      Count* const counts = counts_.data() + i * (hyperplanes_ + 1);
      ++counts[0];
      bool any_hit = false;
      for (std::size_t c = 0; c < hyperplanes_; ++c) {
        const Scale& scale = point_.scale(c);
        const double y = sign(i, c), score = scale.s * scores_[k * stride_ + c];
        const Count share = share_in_set(i, y, score, scale.b);
        if (share == 0) continue;
        any_hit = true;
        const double upper = problems_[0].upper(i), gained = y * learned(upper, share);
        if constexpr (kHasLength) {
          shares_[hits_.size() * stride_ + c] = share;
          const double shrunk = margin(i, y, (1 - 1 / point_.tau()) * score, scale.b);
          lengths_[c].add(loss_, upper * share, upper, shrunk);
        } else {
          counts[1 + c] += share;
        }
        moves_[c] += gained;
        factors[c] = gained / scale.pi;
      }
      if (!any_hit) continue;
      hits_.push_back(i);
      factors += stride_;
    }
    factors_.resize(hits_.size() * stride_);
  }
  Count share_in_set(std::uint64_t i, double y, double score, double b) {
    if constexpr (kByHits) {
      return share_of(i, y, score, b, point_.tau());
    } else {
      return sloping_share(loss_, update_, margin(i, y, score, b));
    }
  }

  // r of each hyperplane, by which factors and moves are multiplied then.
  void find_length() {
    const auto row = [this](std::uint64_t k) { return hits_[k]; };
    change_.resize(passes_.size());  // of zeros, but in between
    passes_.combine(hits_.size(), row, factors_.data(), change_.data());
    scores_.resize(hits_.size() * stride_);
    passes_.scores(hits_.size(), row, change_.data(), scores_.data());
    clear_change();
    lengths_of_step_.assign(hyperplanes_, 0.0);
    for (std::size_t k = 0; k < hits_.size() * stride_; ++k) {
      if (k % stride_ < hyperplanes_) lengths_of_step_[k % stride_] += factors_[k] * scores_[k];
    }
    for (std::size_t c = 0; c < hyperplanes_; ++c) {
      const Scale& scale = point_.scale(c);
      const double square = std::max(0.0, lengths_of_step_[c]) * scale.pi * scale.pi;
      lengths_of_step_[c] = lengths_[c].best(point_.base() / point_.tau() * square);
      moves_[c] *= lengths_of_step_[c];
    }
    for (std::size_t k = 0; k < hits_.size() * stride_; ++k) {
      if (k % stride_ < hyperplanes_) factors_[k] *= lengths_of_step_[k % stride_];
    }
    count_shares();
  }
  void clear_change() {
    std::uint64_t work = 0;
    for (const std::uint64_t i : hits_) work += passes_.work(i);
    if (work >= passes_.measuring_work()) {
      std::ranges::fill(change_, 0.0);
      return;
    }
    const auto clear = [this](std::size_t column) {
      std::fill_n(change_.begin() + static_cast<std::ptrdiff_t>(column * stride_), stride_, 0.0);
    };
    for (const std::uint64_t i : hits_) {
      const auto row = row_of(m_, i);
      for (std::size_t k = 0; k < row.size; ++k) clear(row.columns[k]);
    }
    if (passes_.dimension() > m_.features) clear(m_.features);
  }
  void count_shares() {
    for (std::size_t k = 0; k < hits_.size(); ++k) {
      Count* const counts = counts_.data() + hits_[k] * (hyperplanes_ + 1);
      for (std::size_t c = 0; c < hyperplanes_; ++c) {
        counts[1 + c] += lengths_of_step_[c] * shares_[k * stride_ + c];
      }
    }
  }

  void add_hits(std::span<const std::uint64_t> rows) {
    const auto row = [this](std::uint64_t k) { return hits_[k]; };
    std::uint64_t work = 0;
    for (const std::uint64_t i : rows) work += passes_.work(i);
    if (projection_ && work < passes_.measuring_work()) {
      point_.keep_squares(work);
      scores_.resize(stride_);
      for (std::size_t k = 0; k < hits_.size(); ++k) {
        const double* const factors = factors_.data() + k * stride_;
        passes_.score(hits_[k], point_.v(), scores_.data());
        follow(hits_[k], factors);
        passes_.add(hits_[k], factors, point_.v());
        point_.lengthen(squares_.of(hits_[k]), scores_.data(), factors);
      }
    } else {
      for (std::size_t k = 0; k < hits_.size(); ++k) {
        follow(hits_[k], factors_.data() + k * stride_);
      }
      passes_.combine(hits_.size(), row, factors_.data(), point_.v());
      if (projection_) point_.compute_squares();
    }
    if (point_.averaging()) {
      more_ = factors_;
      for (std::size_t k = 0; k < hits_.size(); ++k) {
        for (std::size_t c = 0; c < hyperplanes_; ++c) {
          more_[k * stride_ + c] *= point_.scale(c).sum;
        }
      }
      passes_.combine(hits_.size(), row, more_.data(), point_.u());
    }
  }

  // What the hits of all ranks add to v is the same vector on every rank, and so is v.
  void add_hits_of_all() {
    change_.assign(passes_.size(), 0.0);
    passes_.combine(
        hits_.size(), [this](std::uint64_t k) { return hits_[k]; }, factors_.data(),
        change_.data());
    if constexpr (kHasLength) {
      sum_with_lengths();
    } else {
      ranks_.sum_columns(change_);
    }
    for (std::size_t c = 0; c < hyperplanes_; ++c) {
      const double sum = point_.scale(c).sum;
      for (std::size_t j = c; j < change_.size(); j += stride_) {
        point_.v()[j] += change_[j];
        if (point_.averaging()) point_.u()[j] += sum * change_[j];
      }
    }
  }

  // Where steps have a length, what r follows from travels with the sum, as if it were columns.
  void sum_with_lengths() {
    for (const StepLength& length : lengths_) {
      change_.push_back(length.slope());
      change_.push_back(length.bent());
    }
    ranks_.sum_columns(change_);
    lengths_of_step_.assign(hyperplanes_, 0.0);
    for (std::size_t c = 0; c < hyperplanes_; ++c) {
      double square = 0;
      for (std::size_t j = c; j < passes_.size(); j += stride_) square += change_[j] * change_[j];
      const double* const sums = change_.data() + passes_.size() + 2 * c;
      lengths_[c].set(sums[0], sums[1]);
      lengths_of_step_[c] = lengths_[c].best(point_.base() / point_.tau() * square);
      for (std::size_t j = c; j < passes_.size(); j += stride_) change_[j] *= lengths_of_step_[c];
    }
    change_.resize(passes_.size());
    count_shares();
  }

  // Whether in a step on row i some hyperplane would learn from it now.
  bool will_learn(std::uint64_t i) {
    likely_.resize(stride_);
    passes_.score(i, point_.v(), likely_.data());
    for (std::size_t c = 0; c < hyperplanes_; ++c) {
      if (sign(i, c) * (point_.scale(c).s * likely_[c]) < learns_below_) return true;
    }
    return false;
  }

  void follow(std::uint64_t i, const double* factors) {
    if constexpr (!Space::kLinear) passes_.follow(i, factors);
  }
  void keep_budget() {
    if constexpr (!Space::kLinear) budget_.keep(point_, squares_);
  }

  Space& passes_;
  const typename Space::Rows& m_;
  std::span<const Problem> problems_;
  std::size_t hyperplanes_, stride_;
  std::uint64_t batch_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problems_[0].loss);
  Update update_;
  double learns_below_ = 0;  // of the margin of a row that is hit
  bool projection_;
  RankSums ranks_;
  ScaledPoint<Space> point_;
  RowSquares<Space> squares_;
  Budget<Space> budget_;
  double radius_ = 0;     // of the ball that steps are projected into
  double bias_step_ = 0;  // 2 m/(k sum_i U_i), with a free bias
  // Of several hyperplanes: of row i and hyperplane c at i hyperplanes + c.
  std::vector<std::int8_t> y_;
  std::vector<Count> counts_;
  RowPrefetch<typename Space::Rows, Count> prefetch_;
  std::vector<std::uint64_t> hits_;  // of the present step
  std::vector<double> scores_, factors_, more_, likely_, moves_, change_;
  // Of steps that have a length.
  std::vector<StepLength> lengths_;
  std::vector<double> shares_, lengths_of_step_;
};

}  // namespace hinge
