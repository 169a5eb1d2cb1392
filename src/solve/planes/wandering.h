// Which rows `active` looks at ([AS] Algorithm 1): those that points within some radius of the
// anchor may carry across their margin, by |<v,x>| <= |v||x|. How far a row is from its margin is
// measured while it is looked at; when it is not, every movement of the anchor brings it that much
// nearer, at worst. Where planes are kept by rows all rows stay active: one that returned would
// have to meet every plane it missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "objective/loss.h"
#include "solve/planes/risk.h"
#include "solve/planes/tuning.h"

namespace hinge {

class Wandering {
 public:
  explicit Wandering(Risk& risk) : risk_(risk) {}

  // `moved` is how far the anchor went since the last call. Active are then the rows within
  // `radius`, and all where these are most of them; returns how many of all. With a free bias, and
  // where planes are kept by rows, all stay active.
  std::uint64_t keep_near(double moved, double radius) {
    const SignedRows& rows = risk_.rows();
    if (rows.free_bias() || risk_.planes().by_rows()) return risk_.active();
    if (reach_.empty()) {
      reach_.resize(rows.size());
      measure_lengths();
    }
    gone_ += moved;
    std::vector<std::uint64_t> entering;
    RowList list = rows_within(radius, entering);
    const auto in_all =
        static_cast<std::uint64_t>(rows.rows().total(static_cast<double>(list.size())));
    risk_.activate(std::move(list), in_all, std::move(entering));
    return in_all;
  }

  void archive(Archive& archive) {
    archive.sized_or_empty(reach_, risk_.rows().size());
    archive(gone_);
    if (archive.reading() && !reach_.empty()) measure_lengths();
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void measure_lengths() {
    lengths_.resize(risk_.rows().size());
    risk_.rows().rows().squares(lengths_);
    for (double& length : lengths_) length = std::sqrt(length);
  }
  // By how much the margin of an active row would have to change.
  double away(std::uint64_t i) const {
    const double slack = std::abs(Hinge::slack(risk_.margins().anchor[i]));
    return std::max(0.0, slack - PlanesTuning::kReachSlack);
  }
  void measure_reach() {
    const RowList& active = risk_.margins().active;
    risk_.rows().for_blocks(active, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active.row(k);
        reach_[i] = lengths_[i] > 0 ? gone_ + away(i) / lengths_[i] : kInfinity;
      }
    });
  }
  // Where all rows are active, as a part of them tells.
  bool most_are_within(double radius) const {
    const std::uint64_t every =
        std::max<std::uint64_t>(1, lengths_.size() / PlanesTuning::kReachSample);
    std::uint64_t seen = 0, within = 0;
    for (std::uint64_t i = 0; i < lengths_.size(); i += every) {
      ++seen;
      within += away(i) < radius * lengths_[i] ? 1U : 0U;
    }
    return static_cast<double>(within) > PlanesTuning::kMaxShareOfList * static_cast<double>(seen);
  }

  RowList rows_within(double radius, std::vector<std::uint64_t>& entering) {
    const SignedRows& rows = risk_.rows();
    const RowList& active = risk_.margins().active;
    if (active.all && most_are_within(radius)) return rows.all();
    measure_reach();
    const double wanted = gone_ + radius * (1 + PlanesTuning::kReachSlack);
    std::vector<std::uint64_t> list =
        rows.rows_where([&](std::uint64_t i) { return reach_[i] < wanted; });
    const auto most = PlanesTuning::kMaxShareOfList * static_cast<double>(rows.size());
    const bool all = static_cast<double>(list.size()) > most;
    if (!active.all) {
      auto before = active.list.begin();
      const auto add = [&](std::uint64_t i) {
        while (before != active.list.end() && *before < i) ++before;
        if (before == active.list.end() || *before != i) entering.push_back(i);
      };
      if (all) {
        for (std::uint64_t i = 0; i < rows.size(); ++i) add(i);
      } else {
        std::ranges::for_each(list, add);
      }
    }
    return all ? rows.all() : rows.rows().cut(std::move(list));
  }

  Risk& risk_;
  std::vector<double> lengths_;  // |x_i|
  // By row: how far it was from its margin, plus how far the anchor had gone when it was measured.
  std::vector<double> reach_;
  double gone_ = 0;
};

}  // namespace hinge
