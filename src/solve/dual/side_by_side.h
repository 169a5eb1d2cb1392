// Lanes side by side in one process (lane.h says what a lane is). They share out the rows that
// epochs visit, neighbours together; each descends from the same w on rows of its own, with a copy
// of w of its own, and after a few rows they are joined (join.h says how, and why stiffly). So an
// epoch is a number of rounds, in each of which every lane visits its next rows.
//
// What comes out depends on the number of lanes, never on the threads that they run on.
//
// Far from the optimum all rows are visited, and many lanes have much to do between two joins.
// Later few are, and there are fewer lanes: so many that an epoch still has some rounds, since what
// lanes do at the same time they do without knowing of each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/dual/descent.h"
#include "solve/dual/join.h"
#include "solve/dual/tuning.h"
#include "solve/dual/working_rows.h"
#include "solve/solver.h"

namespace hinge {

template <class Loss, class Value>
class SideBySide {
 public:
  // At most so many lanes.
  SideBySide(const Problem& problem, const Simd& simd, std::size_t most, Pool& pool)
      : problem_(problem),
        simd_(simd),
        loops_(descent_loops(simd, Loss::kKind)),
        pool_(pool),
        most_(most),
        lanes_(most),
        stiffness_(first_stiffness()) {}

  std::size_t lanes() const { return lanes_; }  // that visit the present rows

  // Shares the rows out, after they were chosen or some of them have left.
  void share_out(WorkingRows<Value>& rows) {
    if (most_ == 1) return;
    const std::size_t before = lanes_;
    lanes_ = lanes_worth(static_cast<double>(rows.entries()), problem_.dimension(), most_);
    if (before == 1) {
      stiffness_ = first_stiffness();
    } else if (lanes_ != before) {
      stiffness_ =
          1 + (stiffness_ - 1) * static_cast<double>(lanes_ - 1) / static_cast<double>(before - 1);
    }
    rows.share_out(lanes_, pool_);
  }

  // Every lane visits its rows once, from `w` on and as `descent` says, but for the stiffness.
  // Leaves in w and in descent.v where they have come to, and in descent what they saw. Asks
  // stop() now and then; false: it said so.
  template <class Weight, class Stop>
  bool epoch(Descent<Value, Weight>& descent, std::vector<Weight>& w, WorkingRows<Value>& rows,
             bool backward, const Stop& stop) {
    Lanes<Weight>& own = std::get<Lanes<Weight>>(kept_);
    own.lanes.resize(lanes_);
    own.joined.resize(w.size());
    for (OneLane<Weight>& lane : own.lanes) lane.descent = descent;
    const double entries = static_cast<double>(rows.entries()) / static_cast<double>(lanes_);
    const auto rounds = static_cast<std::size_t>(
        std::ceil(std::max(1.0, entries / entries_a_round(problem_.dimension()))));
    const Pool::Grace whole(pool_, Pool::Grace::kForever);  // a round: w goes with variables
    for (std::size_t n = 0; n < rounds; ++n) {
      if (stop()) return false;
      const std::size_t round = backward ? rounds - 1 - n : n;
      pool_.run(lanes_, [&](std::size_t k) {
        const std::span<Row> all = rows.of_lane(k);
        const std::size_t from = all.size() * round / rounds,
                          to = all.size() * (round + 1) / rounds;
        descend(own.lanes[k], w, all.subspan(from, to - from), descent, backward);
      });
      join(own, w, descent);
    }
    for (const OneLane<Weight>& lane : own.lanes) {
      descent.estimate += lane.descent.estimate;
      descent.squares += lane.descent.squares;
      descent.visits += lane.descent.visits;
      descent.awake += lane.descent.awake;
      descent.inside += lane.descent.inside;
    }
    return true;
  }

  void archive(Archive& archive) {
    archive(lanes_, stiffness_);
    archive.require(lanes_ >= 1 && lanes_ <= most_);
    archive.require(stiffness_ >= 1 && stiffness_ <= static_cast<double>(lanes_));
  }

 private:
  using Row = DescentRow;

  template <class Weight>
  struct alignas(64) OneLane {
    std::vector<Weight> w;            // as this lane sees it
    std::span<Row> rows = {};         // of this round,
    std::vector<double> before = {};  // where their variables were when it began
    Descent<Value, Weight> descent = {};
    double slope = 0, curvature = 0;  // see StepGain
    JoinedWay way = {};               // of the columns that it joins
  };
  template <class Weight>
  struct Lanes {
    std::vector<OneLane<Weight>> lanes;
    std::vector<Weight> joined;  // what w becomes
  };

  double first_stiffness() const { return (1 + static_cast<double>(lanes_)) / 2; }

  template <class Weight>
  void descend(OneLane<Weight>& lane, const std::vector<Weight>& w, std::span<Row> rows,
               const Descent<Value, Weight>& all, bool backward) {
    lane.w.assign(w.begin(), w.end());
    lane.rows = rows;
    lane.before.clear();
    for (const Row& row : rows) lane.before.push_back(row.alpha);
    lane.descent.w = lane.w.data();
    lane.descent.v = all.v;
    lane.descent.stride = all.stride / stiffness_;
    lane.descent.stiffness = stiffness_;
    if (!rows.empty()) {
      loops_.descend(lane.descent, backward ? &rows.back() : &rows.front(), rows.size(),
                     backward ? -1 : 1);
    }
    find_gain(lane);
  }

  template <class Weight>
  void find_gain(OneLane<Weight>& lane) const {
    lane.slope = lane.curvature = 0;
    for (std::size_t k = 0; k < lane.rows.size(); ++k) {
      const Row& row = lane.rows[k];
      const double from = lane.before[k], way = row.alpha - from;
      if (way == 0 || row.curvature == 0) continue;
      if constexpr (Loss::kLinearGain) {
        lane.slope += way;
      } else {
        const StepGain gain = step_gain(problem_, loss_, row.row, from, row.alpha);
        lane.slope += gain.slope;
        lane.curvature += gain.curvature;
      }
    }
  }

  template <class Weight>
  void join(Lanes<Weight>& own, std::vector<Weight>& w, Descent<Value, Weight>& all) {
    const bool constant = problem_.bias != 0 && !problem_.free_bias;  // its weight is v
    const std::size_t columns = w.size() - (constant || problem_.free_bias ? 1 : 0);
    std::vector<const Weight*> ends;
    for (const OneLane<Weight>& lane : own.lanes) ends.push_back(lane.w.data());
    const auto for_columns = [&](const auto& f) {
      const auto cut = [&](std::size_t k) { return columns * k / lanes_ / kTogether * kTogether; };
      pool_.run(lanes_,
                [&](std::size_t k) { f(k, cut(k), k + 1 == lanes_ ? columns : cut(k + 1)); });
    };
    for_columns([&](std::size_t k, std::size_t begin, std::size_t end) {
      own.lanes[k].way = simd_.join(ends.data(), lanes_, begin, w.data(), 1 / stiffness_,
                                    own.joined.data(), end - begin);
    });
    double slope = 0, curvature = 0, way = 0;
    for (const OneLane<Weight>& lane : own.lanes) {
      slope += lane.slope - lane.way.product;
      curvature += lane.curvature + lane.way.square;
      way += (lane.descent.v - all.v) / stiffness_;
    }
    if (constant) {
      slope -= all.v * way;
      curvature += way * way;
    } else if (problem_.free_bias) {
      slope -= (all.shift + all.gain * all.v) * way;
      curvature += all.gain * way * way;
    }
    const double best = curvature > 0 ? slope / curvature : 1;
    const double share = best < DualTuning::kGoAllTheWay ? std::max(0.0, best) : 1;
    if (share < 1) {
      for_columns([&](std::size_t k, std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j) {
          own.joined[j] = w[j] + static_cast<Weight>(share) * (own.joined[j] - w[j]);
        }
        go_back(own.lanes[k], share);
      });
    }
    all.v += share * way;
    if (columns < w.size()) own.joined.back() = constant ? static_cast<Weight>(all.v) : w.back();
    w.swap(own.joined);
    stiffness_ = std::clamp(
        stiffness_ / std::clamp(best, DualTuning::kLeastSoftening, DualTuning::kMostSoftening), 1.0,
        static_cast<double>(lanes_));
  }

  // Variables go `share` of the way that they went, but for rows of zeros (lane.h).
  template <class Weight>
  void go_back(OneLane<Weight>& lane, double share) const {
    for (std::size_t k = 0; k < lane.rows.size(); ++k) {
      Row& row = lane.rows[k];
      if (row.curvature == 0) continue;
      const double upper = problem_.upper(row.row), from = lane.before[k];
      row.alpha =
          std::clamp(from + share * (row.alpha - from), loss_.lowest(upper), loss_.highest(upper));
    }
  }

  static constexpr std::size_t kTogether = 16;  // columns of one thread; fewer would share a line

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const Simd& simd_;
  const DescentLoops& loops_;
  Pool& pool_;
  const std::size_t most_;
  std::size_t lanes_;
  double stiffness_;
  std::tuple<Lanes<float>, Lanes<double>> kept_;
};

}  // namespace hinge
