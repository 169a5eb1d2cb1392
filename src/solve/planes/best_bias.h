// The best free bias of points between anchor and trial, and beyond (objective/free_bias.h): where
// the slope of R_active in b crosses 0. Margins have y b in them; a crossing is told as a shift of
// what the straight line in b has there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "objective/free_bias.h"
#include "objective/loss.h"
#include "solve/planes/plane_statuses.h"
#include "solve/planes/signed_rows.h"

namespace hinge {

class BestBias {
 public:
  // What it looks at. `now`: the statuses of the newest plane.
  BestBias(const SignedRows& rows, const Margins& margins, const RowBits& now)
      : rows_(rows), margins_(margins), now_(now) {}

  // Other rows are active, or their statuses now are others. Rows that are not keep their statuses,
  // and sum_i s_i c_i y_i = 0 over all; so the slope of R_active where b is small before all
  // its steps follows from the active ones.
  void follow_active() {
    const RowList& active = margins_.active;
    if (!active.all && !rows_.costs().empty()) {
      sizes_.clear();
      for (const std::uint64_t i : active.list) sizes_.push_back(rows_.cost(i));
    }
    slope_ = rows_.add_up(active, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active.row(k);
        const double status = active.all ? 0.0 : now_.status(i);
        part -= rows_.cost(i) * (rows_.sign(i) > 0 ? 1 - status : status);
      }
      return part;
    });
    forget_point();
  }
  // Margins at the two points are others.
  void forget_point() { known_.t = kNone; }

  // Of the trial, whose margins have no bias yet.
  double at_trial(double guess) { return crossing(searches_.trial, 1, guess).at; }
  // Of point(t). The last one that was asked for is remembered.
  double at_point(double t) {
    if (known_.t != t) known_ = {.t = t, .crossing = crossing(searches_.point, t, 0)};
    return known_.crossing.at;
  }

  // Statuses at point(t) that make a balanced plane: bit() of each active row, and the row whose
  // share lies between. They hold until the next crossing is found.
  struct Statuses {
    std::span<const double> places;
    Crossing crossing;
    RowBits::Between between;

    // Of entry k of the active rows, which has this sign.
    bool bit(std::uint64_t k, double sign) const {
      return (sign > 0) != crossing.passed(places[k], k);
    }
  };
  Statuses statuses(double t) {
    // Mostly near the point that was looked at last.
    const double guess = known_.t == kNone ? 0 : known_.crossing.at;
    const Crossing found = crossing(searches_.plane, t, guess);
    const std::uint64_t row = margins_.active.row(found.item);
    return {places_, found, {.row = row, .more = -rows_.sign(row) * found.share}};
  }

  void archive(Archive& archive) {
    archive(slope_, searches_.trial, searches_.point, searches_.plane, known_.t, known_.crossing);
    archive.require(known_.crossing.item < rows_.size() || rows_.size() == 0);
  }

 private:
  static constexpr double kNone = -1;

  // Of the slope at point(t); its item is an entry of the active rows.
  Crossing crossing(CrossingSearch& search, double t, double guess) {
    const RowList& active = margins_.active;
    places_.resize(active.size());
    const std::int8_t* const y = rows_.signs().data();
    const double *const from = margins_.anchor.data(), *const to = margins_.trial.data();
    double* const places = places_.data();
    rows_.for_blocks(active, [=, &active](std::size_t, std::uint64_t begin, std::uint64_t end) {
      const auto place = [=](std::uint64_t i) {
        return y[i] * Hinge::slack(from[i] + t * (to[i] - from[i]));
      };
      if (active.all) {  // without a look at the list, several at once
        for (std::uint64_t i = begin; i < end; ++i) places[i] = place(i);
      } else {
        for (std::uint64_t k = begin; k < end; ++k) places[k] = place(active.list[k]);
      }
    });
    const std::span<const double> sizes =
        rows_.costs().empty() || active.all ? rows_.costs() : std::span<const double>(sizes_);
    return search.find(places_, sizes, active.cuts, slope_, guess, rows_.pool());
  }

  const SignedRows& rows_;
  const Margins& margins_;
  const RowBits& now_;
  double slope_ = 0;
  std::vector<double> places_,
      sizes_;  // of the slope's steps in b, one an active row; sizes: costs, if any
  struct {
    CrossingSearch trial, point, plane;
  } searches_;
  struct {
    double t = kNone;
    Crossing crossing = {};
  } known_;  // at the last point(t) that was looked at
};

}  // namespace hinge
