// Which of the points that a run passes is its result: the last, the mean of all, the mean of about
// the last half, or one drawn by lot. Under way it keeps what that takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/random.h"
#include "hinge/options.h"
#include "solve/pegasos/last_half.h"

namespace hinge {

class ResultPoint {
 public:
  // `halves` counts with Iterate::suffix alone. Under a budget a sum of points past may hold rows
  // that are gone, so that no two are joined.
  ResultPoint(Iterate iterate, bool budget, const LastHalf& halves, const Random& lot)
      : iterate_(iterate),
        joins_(iterate == Iterate::suffix && !budget),
        halves_(iterate == Iterate::suffix ? halves : LastHalf(0, 0)),
        lot_(lot),
        next_draw_(by_lot() ? 0 : kNever) {}

  // Before the first step.
  template <class State>
  void begin(State& state) {
    if (iterate_ == Iterate::average) state.begin_mean();
    if (by_lot()) draw(state, 0);
  }

  // The steps after which mark() has something to do.
  std::uint64_t next_mark() const { return std::min(halves_.next(), next_draw_); }
  // After so many steps, of which more follow or not.
  template <class State>
  void mark(State& state, std::uint64_t steps, bool more_follow) {
    if (steps == next_draw_ && more_follow) draw(state, steps);
    if (steps != halves_.next()) return;
    sum_before_ = state.averaging() ? state.sum() : std::vector<double>();
    averaged_before_ = state.averaged();
    state.begin_mean();
    halves_.mark();
  }

  // The result after so many steps.
  template <class State>
  std::vector<double> chosen(const State& state, std::uint64_t steps) const {
    if (by_lot()) return drawn_;
    if (!state.averaging() || iterate_ == Iterate::last) return state.point();
    std::vector<double> mean = state.sum();
    std::uint64_t count = state.averaged();
    if (joins_ && !sum_before_.empty() && halves_.both(steps, 1)) {
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += sum_before_[j];
      count += averaged_before_;
    }
    if (count == 0) return state.point();
    for (double& x : mean) x /= static_cast<double>(count);
    return mean;
  }

  // After so many steps, of a run that was begun in the same way; points have `size` numbers.
  void archive(Archive& archive, std::uint64_t steps, std::size_t size) {
    archive(averaged_before_, lot_, next_draw_);
    archive.require(next_draw_ > steps);
    halves_.archive(archive, steps);
    archive.require(halves_.next() > steps);
    archive.sized_or_empty(sum_before_, size);
    archive.sized(drawn_, by_lot() ? size : 0);
  }

 private:
  bool by_lot() const { return iterate_ == Iterate::random || iterate_ == Iterate::best_of; }

  // The point that meets step t replaces the one drawn before with probability 1/t, so that each of
  // w_1 .. w_t is as likely. Steps at which it does not are skipped at once.
  template <class State>
  void draw(const State& state, std::uint64_t steps) {
    drawn_ = state.point();
    const double next = static_cast<double>(steps + 1) / (1 - lot_.uniform());
    next_draw_ = next < 0x1p62 ? static_cast<std::uint64_t>(next) : kNever;
  }

  Iterate iterate_;
  bool joins_;
  LastHalf halves_;
  std::vector<double> sum_before_;  // of the points between the last two marks
  std::uint64_t averaged_before_ = 0;
  Random lot_;
  std::uint64_t next_draw_;
  std::vector<double> drawn_;  // the point drawn by lot
};

}  // namespace hinge
