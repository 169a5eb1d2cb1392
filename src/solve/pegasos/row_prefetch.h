// Asks for the memory of rows that steps will visit soon, since they come in random order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rows/rows_ahead.h"
#include "solve/pegasos/tuning.h"

namespace hinge {

// Rows: CsrView; Count: a number of the counts of a row.
template <class Rows, class Count>
class RowPrefetch {
 public:
  RowPrefetch() = default;
  // Of row i: the signs y begin at i hyperplanes, its counts at i (hyperplanes + 1); `costs` may be
  // missing.
  RowPrefetch(const Rows& m, const std::int8_t* y, const double* costs, const Count* counts,
              std::size_t hyperplanes)
      : y_(y), costs_(costs), counts_(counts), hyperplanes_(hyperplanes), ahead_(m) {}

  // Before rows[j] is visited; rows[0 ..] and then, if these are not left out, ahead[0 ..] come
  // next. Must be inlined, and so must row(): GCC drops calls that do nothing else.
  __attribute__((always_inline)) void at(std::span<const std::uint64_t> rows,
                                         std::span<const std::uint64_t> ahead,
                                         std::size_t j) const {
    if (j + PegasosTuning::kPlaceAhead < ahead.size()) {
      ahead_.place(ahead[j + PegasosTuning::kPlaceAhead]);
    }
    if (j < ahead.size()) row<2>(ahead[j]);
    if (j + PegasosTuning::kRowAhead < rows.size()) row<3>(rows[j + PegasosTuning::kRowAhead]);
  }

 private:
  // kLevel 2 asks for a row into a far cache, 3 for its beginning into the nearest, where the
  // hardware sees what follows.
  template <int kLevel>
  __attribute__((always_inline)) void row(std::uint64_t i) const {
    __builtin_prefetch(counts_ + i * (hyperplanes_ + 1), 1, kLevel);
    __builtin_prefetch(y_ + i * hyperplanes_, 0, kLevel);
    if (costs_ != nullptr) __builtin_prefetch(costs_ + i, 0, kLevel);
    const std::size_t lines =
        kLevel == 3 ? std::min<std::size_t>(PegasosTuning::kNearLinesAhead, ahead_.lines())
                    : ahead_.lines();
    ahead_.template row<kLevel>(i, lines);
  }

  const std::int8_t* y_ = nullptr;
  const double* costs_ = nullptr;
  const Count* counts_ = nullptr;
  std::size_t hyperplanes_ = 1;
  RowsAhead<Rows> ahead_;
};

}  // namespace hinge
