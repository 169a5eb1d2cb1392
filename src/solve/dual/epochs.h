// Visits to rows between two exact passes: which rows, in which order, and until when. Epochs go on
// until an exact pass is worth its price, which their estimates foretell (gap_forecast.h); where
// that takes long, leaps go on where they led (leaps.h); and on several ranks, each of which is a
// lane, they go on as long as that moves the lane, and then all lanes are joined (join.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "solve/batches.h"
#include "solve/dual/gap_forecast.h"
#include "solve/dual/join.h"
#include "solve/dual/lane.h"
#include "solve/dual/leaps.h"
#include "solve/dual/tuning.h"
#include "solve/solver.h"

namespace hinge {

template <class Loss, class Value>
class Epochs {
 public:
  // Counts iterations and rows in `work`.
  Epochs(const Problem& problem, const SolverOptions& options, Lane<Loss, Value>& lane,
         Monitor& monitor, Pool& pool, Solution& work)
      : problem_(problem),
        options_(options),
        lane_(lane),
        rows_(lane.working),
        monitor_(monitor),
        pool_(pool),
        work_(work),
        neighbours_(neighbours_in(*problem.data, lane.rows())),
        leaps_(problem, lane.data(), *options.simd, lane.working, lane.iterate) {
    if (!on_ranks()) return;
    const auto sum = [&comm = *options.comm](std::span<double> values) { comm.sum_sparse(values); };
    join_.emplace(static_cast<std::size_t>(options.comm->size()), sum, *options.simd);
  }

  // What an exact pass found: how far D is below the best primal value, and that.
  struct Found {
    double gap = 0, primal = 0;
  };

  // Whether no row was visited yet and no start told of any.
  bool nothing_known() const { return work_.iterations == 0 && options_.start.empty(); }
  bool on_ranks() const { return options_.comm != nullptr; }
  // Whether the problem is none of the easy ones: then leaps are made. They take passes over w,
  // which wide data must be worth. On ranks none are: they take what others know.
  bool is_hard() const {
    if (on_ranks()) return false;
    const double width = static_cast<double>(lane_.iterate.w.size()) /
                         std::max(1.0, static_cast<double>(problem_.data->nonzeros()));
    return epochs_worth_ >= DualTuning::kLeapAfter * (1 + DualTuning::kLeapWidth * width);
  }
  // How often this rank's own rows were touched.
  double passes() const {
    const std::uint64_t rows = std::max<std::uint64_t>(1, lane_.rows());
    return static_cast<double>(work_.rows_touched) / static_cast<double>(rows);
  }
  // What the last join left of the way that lanes went.
  double share_joined() const { return share_joined_; }
  std::uint64_t measures() const { return measures_; }  // exact passes that were told
  const GapForecast& forecast() const { return forecast_; }
  Leaps<Loss, Value>& leaps() { return leaps_; }

  // After an exact pass: the gap, and the mean square of the projected gradients of all rows.
  void see_exact(double gap, double mean_square) {
    forecast_.see_exact(gap);
    rest_beyond_ = DualTuning::kRestFactor * std::sqrt(mean_square);
    ++measures_;
  }

  // Chooses all rows that do not rest, for the next epochs.
  void choose_rows(std::span<const double> gradients) {
    const double least = DualTuning::kLeastChosen * static_cast<double>(lane_.rows());
    const bool all = nothing_known();
    if (!all) {
      choose_near<Loss>(*options_.simd, dual_rows(problem_, gradients, lane_.alpha), rest_beyond_,
                        static_cast<std::uint64_t>(std::ceil(least)), pool_, chosen_);
    }
    const std::uint64_t count = all ? lane_.rows() : chosen_.size();
    const std::uint64_t run =
        std::clamp<std::uint64_t>(count / DualTuning::kRunsToShuffle, 1, neighbours_.run);
    const std::span<const double> alpha = lane_.alpha, squares = lane_.squares;
    const double bias_curvature = lane_.iterate.bias_curvature;
    rows_.choose(count, run, pool_, [&](std::size_t k) {
      const std::uint64_t i = all ? k : chosen_[k];
      const bool unknown = squares[i] == lane_.kUnknown;
      const double curvature = unknown ? lane_.kUnknown : squares[i] + bias_curvature;
      return typename WorkingRows<Value>::Chosen{.row = i,
                                                 .y = problem_.y[i],
                                                 .alpha = alpha[i],
                                                 .curvature = curvature,
                                                 .moves = curvature != 0 && problem_.upper(i) != 0};
    });
    lane_.share_out();
    shuffle(0);
    rows_.lay_out(is_hard(), pool_);
    leaps_.choose();
  }

  // Visits them until the next exact pass. False: the monitor said stop.
  bool run(const Found& found) {
    if (on_ranks()) {
      run_round();
      return true;
    }
    const bool done = is_hard() ? run_leaps(found) : run_epochs(found);
    store();
    return done;
  }

  void promote_to_double() {
    lane_.low_precision.drop();
    recompute_weights();
    forecast_.forget_short_steps();
  }
  // Computes w from the variables: leaps let rounding grow.
  void recompute_weights() {
    lane_.recompute_weights();
    leaps_.w_is_computed();
  }

  void archive(Archive& archive) { archive(forecast_, rest_beyond_, measures_, epochs_worth_); }

 private:
  bool run_epochs(const Found& found) {
    const double begun = passes();
    const bool first = measures_ == 1;
    for (std::uint64_t count = 1; count <= DualTuning::kMaxEpochs || !worked_enough(begun);
         ++count) {
      if (count > 1) shuffle(count);
      // Long steps bring D up faster; but P is lower where the last steps were short.
      const bool evenly =
          !lane_.low_precision.used() || first || forecast_.decay() <= DualTuning::kFastDecay;
      const bool last = !evenly && worked_enough(begun) &&
                        is_near(DualTuning::kShortStrideGain *
                                    (count == 1 ? found.gap : forecast_.gap()) * forecast_.decay(),
                                found);
      const double stride = last ? DualTuning::kShortStride : DualTuning::kLongStride;
      if (!epoch({.stride = evenly ? 1 : stride})) return false;
      if (last || seen_.awake == 0 || forecast_.gap() < goal_gap(found)) break;
      if (is_near(forecast_.gap(), found) && worked_enough(begun)) break;
      if (first && is_few(seen_.inside, DualTuning::kFewInside, lane_.rows())) break;
      if (first && count > 1 && forecast_.estimate() < DualTuning::kFirstMeasure * found.primal) {
        break;
      }
      if (is_few(seen_.awake, DualTuning::kLeastAwake, rows_.items().size())) {
        store();
        rows_.leave_sleepers(pool_);
        lane_.share_out();
      }
    }
    return true;
  }

  bool run_leaps(const Found& found) {
    leaps_.mark();
    const double begun = passes();
    for (std::uint64_t count = 2; count <= DualTuning::kMaxEpochs; count += 2) {
      if (!epoch({}) || !epoch({.backward = true})) return false;
      work_.rows_touched += leaps_.leap();
      if (seen_.awake == 0 || forecast_.gap() < goal_gap(found)) break;
      if (is_near(forecast_.gap(), found) && worked_enough(begun)) break;
      if (leaps_.count() >= DualTuning::kLeastLeaps &&
          passes() - begun >= DualTuning::kLeastLeapWork) {
        break;
      }
    }
    return true;
  }

  void run_round() {
    join_->part(lane_.iterate.w);
    double first = 0;
    for (std::uint64_t count = 1; count <= DualTuning::kEpochsARound; ++count) {
      if (count > 1) shuffle(count);
      epoch({.stiffness = join_->stiffness()});
      if (count == 1) first = seen_.squares;
      if (!(seen_.squares >= DualTuning::kRoundEndsAt * first) || seen_.awake == 0) break;
    }
    if constexpr (Loss::kQuadraticGain) {
      share_joined_ = join_->meet(lane_.iterate.w, lane_.gain());
    } else {
      share_joined_ = join_->meet(lane_.iterate.w, [this](double t) { return lane_.gain_at(t); });
    }
    lane_.store(share_joined_);
    ++work_.iterations;
  }

  // Whether the epochs since then took what an exact pass should wait for.
  bool worked_enough(double begun) const { return passes() - begun >= DualTuning::kLeastEpochWork; }
  // P - D to come to.
  double goal_gap(const Found& found) const {
    return monitor_.limits().aim(found.primal, found.primal - found.gap) * found.primal;
  }
  // Whether such a gap is worth an exact pass.
  bool is_near(double gap, const Found& found) const {
    const double share = is_hard() ? DualTuning::kNextMeasureOfLeaps : DualTuning::kNextMeasure;
    return gap < std::max(goal_gap(found), share * found.gap);
  }
  static bool is_few(std::uint64_t count, double share, std::uint64_t of) {
    return static_cast<double>(count) < share * static_cast<double>(of);
  }

  // Visits every row chosen once. False: the monitor said stop.
  bool epoch(EpochRules rules) {
    if (!nothing_known()) rules.rest = rest_beyond_;
    // Ranks are told to stop where they have met.
    const auto stop = [this] { return !on_ranks() && monitor_.poll(passes()); };
    if (!lane_.epoch(rules, work_.rows_touched, stop, seen_)) return false;
    if (!on_ranks()) ++work_.iterations;
    epochs_worth_ += 2 / (1 + static_cast<double>(lane_.lanes()));
    // How far beyond the bound counts as rest follows the gradients down.
    if (seen_.visits > 0) {
      rest_beyond_ =
          DualTuning::kRestFactor * std::sqrt(seen_.squares / static_cast<double>(seen_.visits));
    }
    forecast_.see_epoch(seen_.estimate);
    return true;
  }

  // Draws the order of the next epoch. The same one again and again is much slower: what a row's
  // step leaves undone is then always left to the same rows.
  void shuffle(std::uint64_t epoch) { lane_.shuffle(options_.seed, measures_, epoch, neighbours_); }

  // Takes what the epochs made of the variables.
  void store() {
    lane_.store();
    leaps_.store();
  }

  const Problem& problem_;
  const SolverOptions& options_;
  Lane<Loss, Value>& lane_;
  WorkingRows<Value>& rows_;  // of the lane
  Monitor& monitor_;
  Pool& pool_;
  Solution& work_;
  const Neighbours neighbours_;  // runs are no longer than these

  Buffer<std::uint64_t> chosen_;  // rows, ascending
  EpochSums seen_;                // in the last epoch
  GapForecast forecast_;
  double rest_beyond_ = 0;      // see EpochRules
  std::uint64_t measures_ = 0;  // exact passes
  double epochs_worth_ = 0;     // so many of one lane: several get less far in one
  Leaps<Loss, Value> leaps_;
  std::optional<Join> join_;  // on ranks
  double share_joined_ = 0;
};

}  // namespace hinge
