// Asks for the memory of rows that steps will visit soon, since they come in random order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "solve/pegasos/tuning.h"

namespace hinge {

// Rows: CsrView.
template <class Rows>
class RowPrefetch {
 public:
  RowPrefetch() = default;
  // Of row i: the signs y begin at i hyperplanes, its counts at i (hyperplanes + 1); `costs` may be
  // missing.
  RowPrefetch(const Rows& m, const std::int8_t* y, const double* costs, const std::uint32_t* counts,
              std::size_t hyperplanes)
      : m_(m),
        y_(y),
        costs_(costs),
        counts_(counts),
        hyperplanes_(hyperplanes),
        lines_(std::clamp<std::size_t>(
            m.nonzeros() / std::max<std::uint64_t>(1, m.rows) / kColumnsOfLine + 1, 1,
            PegasosTuning::kMostLinesAhead)) {}

  // Before rows[j] is visited; rows[0 ..] and then, if these are not left out, ahead[0 ..] come
  // next. Must be inlined, and so must row(): GCC drops calls that do nothing else.
  __attribute__((always_inline)) void at(std::span<const std::uint64_t> rows,
                                         std::span<const std::uint64_t> ahead,
                                         std::size_t j) const {
    if (j + PegasosTuning::kPlaceAhead < ahead.size()) {
      __builtin_prefetch(m_.offsets + ahead[j + PegasosTuning::kPlaceAhead]);
    }
    if (j < ahead.size()) row<2>(ahead[j]);
    if (j + PegasosTuning::kRowAhead < rows.size()) row<3>(rows[j + PegasosTuning::kRowAhead]);
  }

 private:
  static constexpr std::uint64_t kColumnsOfLine = 64 / sizeof(std::uint32_t);

  // kLevel 2 asks for a row into a far cache, 3 for its beginning into the nearest, where the
  // hardware sees what follows. As many lines for every row, so that the loop is foreseen; asking
  // for what is not there does no harm.
  template <int kLevel>
  __attribute__((always_inline)) void row(std::uint64_t i) const {
    __builtin_prefetch(counts_ + i * (hyperplanes_ + 1), 1, kLevel);
    __builtin_prefetch(y_ + i * hyperplanes_, 0, kLevel);
    if (costs_ != nullptr) __builtin_prefetch(costs_ + i, 0, kLevel);
    const std::uint32_t* columns = m_.columns_of(i);
    const auto* values = m_.values_of(i);
    const std::size_t lines =
        kLevel == 3 ? std::min<std::size_t>(PegasosTuning::kNearLinesAhead, lines_) : lines_;
    for (std::size_t k = 0; k < lines; ++k) {
      __builtin_prefetch(columns, 0, kLevel);
      __builtin_prefetch(values, 0, kLevel);
      if (sizeof *values > 4) __builtin_prefetch(values + kColumnsOfLine / 2, 0, kLevel);
      columns += kColumnsOfLine;
      values += kColumnsOfLine;
    }
  }

  Rows m_ = {};
  const std::int8_t* y_ = nullptr;
  const double* costs_ = nullptr;
  const std::uint32_t* counts_ = nullptr;
  std::size_t hyperplanes_ = 1;
  std::size_t lines_ = 1;  // of memory that the columns of a row take, about
};

}  // namespace hinge
