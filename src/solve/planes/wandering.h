// Which rows `active` looks at ([AS] Algorithm 1): those that points within some radius of the
// anchor may carry across their margin, by |<v,x>| <= |v||x|. How far a row is from its margin is
// measured while it is looked at; when it is not, every movement of the anchor brings it that much
// nearer, at worst.
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
  // `radius`; returns how many of all. With a free bias all rows stay active.
  std::uint64_t keep_near(double moved, double radius) {
    const SignedRows& rows = risk_.rows();
    if (rows.free_bias()) return risk_.active();
    if (reach_.empty()) {
      reach_.resize(rows.size());
      measure_lengths();
    }
    gone_ += moved;
    measure_reach();
    const RowList& active = risk_.margins().active;
    std::vector<std::uint64_t> list, entering;
    auto before = active.list.begin();
    for (std::uint64_t i = 0; i < rows.size(); ++i) {
      bool was = active.all;
      if (!was && before != active.list.end() && *before == i) {
        was = true;
        ++before;
      }
      if (!(reach_[i] - gone_ < radius * (1 + PlanesTuning::kReachSlack))) continue;
      list.push_back(i);
      if (!was) entering.push_back(i);
    }
    Rows& places = rows.rows();
    const auto in_all = static_cast<std::uint64_t>(places.total(static_cast<double>(list.size())));
    risk_.activate(list.size() == rows.size() ? rows.all() : places.cut(std::move(list)), in_all,
                   std::move(entering));
    return in_all;
  }

  void archive(Archive& archive) {
    archive.sized_or_empty(reach_, risk_.rows().size());
    archive(gone_);
    if (archive.reading() && !reach_.empty()) measure_lengths();
  }

 private:
  void measure_lengths() {
    lengths_.resize(risk_.rows().size());
    risk_.rows().rows().squares(lengths_);
    for (double& length : lengths_) length = std::sqrt(length);
  }
  void measure_reach() {
    const Margins& margins = risk_.margins();
    for (std::uint64_t k = 0; k < margins.active.size(); ++k) {
      const std::uint64_t i = margins.active.row(k);
      const double away =
          std::max(0.0, std::abs(Hinge::slack(margins.anchor[i])) - PlanesTuning::kReachSlack);
      reach_[i] =
          lengths_[i] > 0 ? gone_ + away / lengths_[i] : std::numeric_limits<double>::infinity();
    }
  }

  Risk& risk_;
  std::vector<double> lengths_;  // |x_i|
  // By row: how far it was from its margin, plus how far the anchor had gone when it was measured.
  std::vector<double> reach_;
  double gone_ = 0;
};

}  // namespace hinge
