// Primal and bound of the points of a run, exactly, and the best of both that were seen.
//
// The primal is that of the point, or of the best multiple of it; the bound is D at dual variables
// made from what was learned (hit_shares.h), at the best multiple that fits their ranges. On
// several ranks each looks at its own rows, and sums make the figures those of all.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/error.h"
#include "base/pool.h"
#include "objective/free_bias.h"
#include "objective/line_search.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "solve/pegasos/free_bias_point.h"
#include "solve/pegasos/hit_shares.h"
#include "solve/pegasos/rank_sums.h"
#include "solve/pegasos/tuning.h"
#include "solve/solver.h"

namespace hinge {

// Of one problem: the best point and the best bound so far.
struct BestSoFar {
  double primal = std::numeric_limits<double>::infinity();
  double dual = -1;  // any bound is better
  std::vector<double> w, alpha;
  double start_dual = -1, start_factor = 0;  // the bound that came with the start
  // Once a goal is reached, a problem is left alone: what becomes of it must not depend
  // on how long the others take.
  bool done = false;
  std::uint64_t steps = 0, rows_touched = 0;

  // Not the bound that came with the start: that is found again.
  void archive(Archive& archive) { archive(primal, dual, w, alpha, done, steps, rows_touched); }
  double bound() const { return std::max(dual, start_dual); }
  bool open() const { return !done; }
  bool poor() const { return !done && primal - bound() > PegasosTuning::kPoorGap * primal; }
  void forget() {
    primal = std::numeric_limits<double>::infinity();
    dual = -1;
  }
};

struct MeasuringOptions {
  bool rescales = true;   // the point is multiplied by the number that is best for the primal
  bool proves = true;     // there is a bound to prove
  bool together = false;  // all problems have their points from the same measuring
};

template <class Space, class Loss>
class Measuring {
 public:
  Measuring(std::span<const Problem> problems, Space& passes, const MeasuringOptions& options,
            const RankSums& ranks, Pool& pool)
      : problems_(problems),
        passes_(passes),
        rows_(passes.rows().rows),
        options_(options),
        ranks_(ranks),
        pool_(pool),
        best_(problems.size()) {
    for (const double target : problems[0].targets) {
      largest_target_ = std::max(largest_target_, std::abs(target));
    }
  }

  std::size_t problems() const { return best_.size(); }
  BestSoFar& best(std::size_t c) { return best_[c]; }

  // A point of all hyperplanes, and what was counted until it was reached.
  struct Reached {
    std::vector<double> w;  // interleaved
    ShareCounts<Loss> counts;
    const HitShares<Loss>& shares;
    std::uint64_t steps;  // done
    std::uint64_t epoch;  // steps
  };

  // Measures the point for every open problem, in two or three passes. Throws Interrupted.
  void measure(const Reached& at) {
    std::vector<double> rows(rows_ * passes_.stride());  // scores, then y alpha
    passes_.scores(rows_, std::identity(), at.w.data(), rows.data());
    std::vector<double> squares(passes_.stride());
    passes_.squares(at.w.data(), rows.data(), squares.data());
    std::vector<MeasuredPoint> points(problems());
    for (std::size_t c = 0; c < problems(); ++c) {
      if (best_[c].open()) points[c] = primal_of(c, squares[c], numbers(rows, c));
    }
    add_up(points);
    for (const MeasuredPoint& point : points) check_finite(point, at.steps);
    keep_better(points, at.w);
    if (!options_.proves) return;
    for (std::size_t c = 0; c < problems(); ++c) {
      if (!best_[c].open()) continue;
      at.shares.of_last_half(problems_[c], at.counts, at.steps, at.epoch, points[c],
                             numbers(rows, c));
    }
    bound(rows, &BestSoFar::open);
    if (!at.shares.marked() || std::ranges::none_of(best_, &BestSoFar::poor)) return;
    for (std::size_t c = 0; c < problems(); ++c) {
      HitShares<Loss>::of_all_steps(problems_[c], at.counts, numbers(rows, c));
    }
    bound(rows, &BestSoFar::poor);
  }

  // Where there is no time to measure: the point is taken unseen if no other was seen, and so are
  // its dual variables. bias(c) is the free bias of the steps.
  template <class Bias>
  void take_unseen(const Reached& at, const Bias& bias) {
    const std::size_t stride = passes_.stride();
    std::vector<double> rows(options_.proves ? rows_ * stride : 0);
    for (std::size_t c = 0; c < problems(); ++c) {
      BestSoFar& best = best_[c];
      if (!std::isfinite(best.primal)) take_point(c, at.w, {.bias = bias(c)});
      if (!options_.proves || best.dual >= 0) continue;
      if (at.shares.marked()) {
        at.shares.of_last_half(problems_[c], at.counts, at.steps, at.epoch, {.bias = bias(c)},
                               numbers(rows, c));
      } else {
        HitShares<Loss>::of_all_steps(problems_[c], at.counts, numbers(rows, c));
      }
      best.dual = 0;  // nobody knows
      take_alpha(c, numbers(rows, c), 1);
    }
  }

  // A bound that came with the start is a bound already; balanced, where the bias is free. Whether
  // there is one.
  bool measure_start(std::span<const Start> start) {
    const auto has_bound = [](const Start& one) { return !one.alpha.empty(); };
    if (start.empty() || !std::ranges::all_of(start, has_bound)) return false;
    std::vector<double> rows(rows_ * passes_.stride());
    for (std::size_t c = 0; c < problems(); ++c) {
      for (std::uint64_t i = 0; i < rows_; ++i) {
        numbers(rows, c)[i] = problems_[c].y[i] * start[c].alpha[i];
      }
    }
    const std::vector<AlphaSums> sums = sums_of(rows, &BestSoFar::open);
    const std::vector<double> squares = combined_squares(rows);
    for (std::size_t c = 0; c < problems(); ++c) {
      std::tie(best_[c].start_factor, best_[c].start_dual) =
          best_multiple(c, sums[c], squares[c], numbers(rows, c));
    }
    return true;
  }

  // The best point and dual variables of a problem, as they were found; it is not asked again.
  std::vector<double> take_best_w(std::size_t c) { return std::move(best_[c].w); }
  std::vector<double> take_best_alpha(std::size_t c, std::span<const Start> start) {
    if (!(best_[c].start_dual > best_[c].dual)) return std::move(best_[c].alpha);
    std::vector<double> alpha = start[c].alpha;
    for (std::uint64_t i = 0; i < rows_; ++i) {
      alpha[i] = within(best_[c].start_factor * alpha[i], problems_[c].upper(i));
    }
    return alpha;
  }

  void forget() {
    for (BestSoFar& best : best_) best.forget();
  }

  // With the same problems.
  void archive(Archive& archive) {
    archive.sized(best_, problems());
    for (const BestSoFar& best : best_) {
      archive.require(best.w.empty() ||
                      best.w.size() == passes_.dimension() + (problems_[0].free_bias ? 1 : 0));
      archive.require(best.alpha.empty() || best.alpha.size() == rows_);
    }
  }

 private:
  using Wanted = bool (BestSoFar::*)() const;
  struct AlphaSums {
    double sum = 0;      // of |alpha|
    double fullest = 0;  // the largest share of alpha_i in the end of its range that it is towards
  };

  RowNumbers numbers(std::vector<double>& rows, std::size_t c) const {
    return {rows.data(), passes_.stride(), c};
  }

  // alpha of y alpha
  double variable(const Problem& problem, RowNumbers rows, std::uint64_t i) const {
    return Loss::kLowest < 0 ? problem.y[i] * rows[i] : std::abs(rows[i]);
  }
  double within(double alpha, double upper) const {
    const double most = std::min(alpha, loss_.highest(upper));
    return Loss::kLowest < 0 ? std::max(most, loss_.lowest(upper)) : most;
  }

  // P at the point, or at the best multiple of it, of the rows here; with the best free bias.
  MeasuredPoint primal_of(std::size_t c, double square, RowNumbers scores) {
    const Problem& problem = problems_[c];
    const bool rescales = options_.rescales && square >= 0;
    if (problem.free_bias) {
      const FreeBiasPoint<Loss> point(problem, square, scores);
      return rescales ? point.best_multiple(pool_) : point.multiple(1);
    }
    MeasuredPoint found;
    if (rescales) found.factor = best_factor(problem, square, scores);
    found.primal = ranks_.first() ? found.factor * found.factor * square / 2 : 0.0;
    for (std::uint64_t i = 0; i < rows_; ++i) {
      const double score = found.factor * problem.y[i] * scores[i];
      found.primal += problem.upper(i) * loss_.value(problem.margin<Loss>(i, score));
    }
    return found;
  }

  // The multiple of a point that has the least P.
  double best_factor(const Problem& problem, double square, RowNumbers scores) const {
    if constexpr (Loss::kSmooth) {
      const auto at = [&](double factor) -> SlopeAndCurvature {
        double sums[] = {0, 0};
        for (std::uint64_t i = 0; i < rows_; ++i) {
          const double score = problem.y[i] * scores[i], upper = problem.upper(i);
          const double margin = problem.margin<Loss>(i, factor * score);
          sums[0] += upper * score * loss_.slope(margin);
          sums[1] += upper * score * score * loss_.curvature(margin);
        }
        ranks_.sum(sums);
        return {factor * square + sums[0], square + sums[1]};
      };
      const SlopeAndCurvature here = at(0);
      if (!(here.slope < 0)) return 0;
      return smooth_minimum(here, std::numeric_limits<double>::infinity(), at);
    } else {
      LineSearch search = ranks_.search(square);
      search.reserve(rows_);
      for (std::uint64_t i = 0; i < rows_; ++i) {
        const double at_zero = problem.margin<Loss>(i, 0);
        search.add_loss(loss_, problem.upper(i), at_zero, problem.y[i] * scores[i]);
      }
      return ranks_.minimum(square, search);
    }
  }

  void add_up(std::vector<MeasuredPoint>& points) const {
    if (!ranks_.several()) return;
    std::vector<double> primals;
    for (const MeasuredPoint& point : points) primals.push_back(point.primal);
    ranks_.sum(primals);
    for (std::size_t c = 0; c < points.size(); ++c) points[c].primal = primals[c];
  }

  static void check_finite(const MeasuredPoint& point, std::uint64_t steps) {
    if (std::isfinite(point.primal)) return;
    fail("solver.nonfinite", fmt::format("the objective is not finite after {} steps", steps),
         "scale the data, or lower --cost");
  }

  // Takes what is better than the best so far. Each problem may have its point from another
  // measuring; not so under a budget of rows for all of them.
  void keep_better(const std::vector<MeasuredPoint>& points, const std::vector<double>& w) {
    double now = 0, before = 0;
    for (std::size_t c = 0; c < problems(); ++c) {
      now += points[c].primal;
      before += best_[c].primal;
    }
    for (std::size_t c = 0; c < problems(); ++c) {
      BestSoFar& best = best_[c];
      if (options_.together ? now >= before : best.done || points[c].primal >= best.primal) {
        continue;
      }
      best.primal = points[c].primal;
      take_point(c, w, points[c]);
    }
  }

  void take_point(std::size_t c, const std::vector<double>& w, const MeasuredPoint& at) {
    std::vector<double>& to = best_[c].w;
    to.resize(passes_.dimension());
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = at.factor * w[j * passes_.stride() + c];
    if (problems_[c].free_bias) to.push_back(at.bias);
  }

  void take_alpha(std::size_t c, RowNumbers rows, double factor) {
    std::vector<double>& alpha = best_[c].alpha;
    alpha.resize(rows_);
    for (std::uint64_t i = 0; i < rows_; ++i) {
      alpha[i] = within(factor * variable(problems_[c], rows, i), problems_[c].upper(i));
    }
  }

  // D at the best multiple of alpha that fits its range, of the problems for which `wanted` holds:
  // whether it does must not depend on the other problems.
  void bound(std::vector<double>& rows, Wanted wanted) {
    thin(rows);
    for (std::size_t c = 0; c < problems(); ++c) {
      if (problems_[c].free_bias && (best_[c].*wanted)()) balance_rows(c, numbers(rows, c));
    }
    const std::vector<AlphaSums> sums = sums_of(rows, wanted);
    const std::vector<double> squares = combined_squares(rows);
    for (std::size_t c = 0; c < problems(); ++c) {
      if (!(best_[c].*wanted)()) continue;
      const auto [factor, dual] = best_multiple(c, sums[c], squares[c], numbers(rows, c));
      if (!(dual > best_[c].dual)) continue;
      best_[c].dual = dual;
      take_alpha(c, numbers(rows, c), factor);
    }
  }

  // Leaves no more rows with a dual variable than the bound has time for, evenly spaced.
  void thin(std::vector<double>& rows) const {
    const std::uint64_t most = passes_.most_in_bound();
    if (most >= rows_) return;
    const std::size_t stride = passes_.stride();
    const auto used = [&](std::uint64_t i) {
      const double* const row = rows.data() + i * stride;
      return std::any_of(row, row + stride, [](double x) { return x != 0; });
    };
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < rows_; ++i) count += used(i) ? 1U : 0U;
    if (count <= most) return;
    std::uint64_t credit = 0;
    for (std::uint64_t i = 0; i < rows_; ++i) {
      if (!used(i)) continue;
      credit += most;
      if (credit < count) std::fill_n(rows.data() + i * stride, stride, 0.0);
      if (credit >= count) credit -= count;
    }
  }

  // Makes the sum of y alpha 0, as a free bias asks; so it is for every multiple.
  void balance_rows(std::size_t c, RowNumbers rows) const {
    const Problem& problem = problems_[c];
    std::vector<double> alpha(rows_);
    for (std::uint64_t i = 0; i < rows_; ++i) alpha[i] = variable(problem, rows, i);
    balance(problem, alpha);
    for (std::uint64_t i = 0; i < rows_; ++i) rows[i] = problem.y[i] * alpha[i];
  }

  // Over the rows of all ranks, of the problems that are wanted.
  std::vector<AlphaSums> sums_of(std::vector<double>& rows, Wanted wanted) const {
    std::vector<double> sums(problems()), fullest(problems());
    for (std::size_t c = 0; c < problems(); ++c) {
      if (!(best_[c].*wanted)()) continue;
      const RowNumbers own = numbers(rows, c);
      for (std::uint64_t i = 0; i < rows_; ++i) {
        const double alpha = std::abs(own[i]);
        sums[c] += alpha;
        if (alpha > 0) fullest[c] = std::max(fullest[c], alpha / end_of_range(c, own, i));
      }
    }
    ranks_.sum_and_max(sums, fullest);
    std::vector<AlphaSums> all;
    for (std::size_t c = 0; c < problems(); ++c) all.push_back({sums[c], fullest[c]});
    return all;
  }

  // How long alpha may be, in its direction.
  double end_of_range(std::size_t c, RowNumbers rows, std::uint64_t i) const {
    const double upper = problems_[c].upper(i);
    if constexpr (Loss::kLowest < 0) {
      if (problems_[c].y[i] * rows[i] < 0) return -loss_.lowest(upper);
    }
    return loss_.highest(upper);
  }

  // |sum_i y_i alpha_i x_i|^2 for each problem.
  std::vector<double> combined_squares(const std::vector<double>& rows) {
    std::vector<double> v(passes_.size()), squares(passes_.stride());
    passes_.combine(rows_, std::identity(), rows.data(), v.data());
    ranks_.sum_columns(v);
    passes_.squares(v.data(), squares.data());
    return squares;
  }

  // The factor r >= 0 for which r alpha fits its range and D(r alpha) is largest, and that D.
  std::pair<double, double> best_multiple(std::size_t c, const AlphaSums& of, double square,
                                          RowNumbers rows) const {
    if (!(of.sum > 0) || !std::isfinite(square)) return {0, 0};
    const double widest = 1 / of.fullest;
    double factor = 0, gain = 0;
    if constexpr (Loss::kLinearGain) {
      factor = std::min(square > 0 ? of.sum / square : widest, widest);
      gain = factor * of.sum;
    } else {
      factor = factor_of_bent_gain(problems_[c], square, widest, rows);
      gain = gain_at(problems_[c], factor, rows);
    }
    const double dual = gain - factor * factor * square / 2;
    if (!problems_[c].free_bias) return {factor, dual};
    return {factor, dual - PegasosTuning::kUnbalanced * factor * of.sum * largest_target_};
  }

  // D is concave in the factor; the search goes from 1 to the side where it rises.
  double factor_of_bent_gain(const Problem& problem, double square, double widest,
                             RowNumbers rows) const {
    const auto at = [&](double factor) -> SlopeAndCurvature {
      double sums[] = {0, 0};
      for (std::uint64_t i = 0; i < rows_; ++i) {
        const double alpha = variable(problem, rows, i), upper = problem.upper(i);
        if (alpha == 0) continue;
        sums[0] += alpha * gain_slope(loss_, factor * alpha, upper);
        if constexpr (Loss::kRegression) sums[0] += alpha * problem.targets[i];
        sums[1] += alpha * alpha * loss_.dual_curvature(factor * alpha, upper);
      }
      ranks_.sum(sums);
      return {factor * square - sums[0], square + sums[1]};
    };
    const double from = std::min(1.0, widest);
    const SlopeAndCurvature here = at(from);
    if (!std::isfinite(here.slope)) return from;
    if (here.slope < 0) {
      return std::min(widest, from + smooth_minimum(here, widest - from,
                                                    [&](double t) { return at(from + t); }));
    }
    return std::max(0.0, from - smooth_minimum({-here.slope, here.curvature}, from,
                                               [&](double t) -> SlopeAndCurvature {
                                                 const SlopeAndCurvature there = at(from - t);
                                                 return {-there.slope, there.curvature};
                                               }));
  }
  double gain_at(const Problem& problem, double factor, RowNumbers rows) const {
    double sum[] = {0};
    for (std::uint64_t i = 0; i < rows_; ++i) {
      const double upper = problem.upper(i);
      const double alpha = within(factor * variable(problem, rows, i), upper);
      sum[0] += loss_.dual_gain(alpha, upper);
      if constexpr (Loss::kRegression) sum[0] += alpha * problem.targets[i];
    }
    ranks_.sum(sum);
    return sum[0];
  }

  std::span<const Problem> problems_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problems_[0].loss);
  Space& passes_;
  std::uint64_t rows_;  // of this rank
  MeasuringOptions options_;
  RankSums ranks_;
  Pool& pool_;
  std::vector<BestSoFar> best_;
  double largest_target_ = 1;  // or 1: a free bias is about as large
};

}  // namespace hinge
