// What Pegasos adds up over the rows of all ranks, where several ranks have some of them each.
// Without ranks, the rows here are all, and every sum is what it was.
//
// Results are the same to the bit on every rank, so whatever is decided by them is decided by all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "objective/line_search.h"
#include "ranks/comm.h"
#include "solve/pegasos/tuning.h"

namespace hinge {

class RankSums {
 public:
  explicit RankSums(Comm* comm = nullptr) : comm_(comm) {}

  bool several() const { return comm_ != nullptr; }
  // Of one rank alone: it brings what does not belong to any row.
  bool first() const { return comm_ == nullptr || comm_->first(); }
  std::uint64_t number() const { return several() ? static_cast<std::uint64_t>(comm_->rank()) : 0; }
  std::uint64_t count() const { return several() ? static_cast<std::uint64_t>(comm_->size()) : 1; }

  std::uint64_t sum(std::uint64_t value) const { return several() ? comm_->sum(value) : value; }
  void sum(std::span<double> values) const {
    if (several()) comm_->sum(values);
  }
  // Of a vector of all columns, most of which may be 0 on every rank.
  void sum_columns(std::span<double> values) const {
    if (several()) comm_->sum_sparse(values);
  }
  // Wishes to stop become known to all with such a sum, if it is of few columns; else they need a
  // sum of their own.
  bool columns_carry_wishes(std::size_t columns) const {
    return !several() || comm_->carries_wishes(columns);
  }
  void pass_wishes() const {
    if (several()) static_cast<void>(comm_->sum(0.0));
  }

  // A search along t -> f(t) = square/2 t^2 + losses of rows, to which the rows here are added; and
  // its minimum for those of all ranks.
  LineSearch search(double square) const {
    if (!several()) return {square, 0};
    return {0, 0, PegasosTuning::kMostMultiple};
  }
  double minimum(double square, LineSearch& search) const {
    if (!several()) return search.minimum();
    return minimum_on_ranks({.a = square,
                             .t_max = PegasosTuning::kMostMultiple,
                             .doubt = PegasosTuning::kMultipleDoubt},
                            search, *comm_);
  }

  // Sums and maxima of numbers of every rank, with one message for all: each rank puts its maxima
  // into places of its own, and the others leave 0 there. No maximum is below 0.
  void sum_and_max(std::span<double> sums, std::span<double> maxima) const {
    if (!several()) return;
    std::vector<double> all(sums.begin(), sums.end());
    all.resize(sums.size() + count() * maxima.size());
    std::ranges::copy(
        maxima, all.begin() + static_cast<std::ptrdiff_t>(sums.size() + number() * maxima.size()));
    comm_->sum(all);
    std::copy_n(all.begin(), sums.size(), sums.begin());
    for (std::size_t k = 0; k < maxima.size(); ++k) {
      for (std::uint64_t r = 0; r < count(); ++r) {
        maxima[k] = std::max(maxima[k], all[sums.size() + r * maxima.size() + k]);
      }
    }
  }

 private:
  Comm* comm_;
};

}  // namespace hinge
