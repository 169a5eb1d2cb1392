// Asks for the memory of rows that will be read soon, where they come in an order that the hardware
// does not foresee.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace hinge {

// Rows: CsrView.
template <class Rows>
class RowsAhead {
 public:
  // At most so many lines of memory of a row are asked for, columns and values each. Not measured
  // apart.
  static constexpr std::size_t kMostLines = 16;

  RowsAhead() = default;
  explicit RowsAhead(const Rows& m)
      : m_(m),
        lines_(std::clamp<std::size_t>(
            m.nonzeros() / std::max<std::uint64_t>(1, m.rows) / kColumnsOfLine + 1, 1,
            kMostLines)) {}

  std::size_t lines() const { return lines_; }  // that the columns of a row take, about

  // Where row i begins, which must be there before row().
  __attribute__((always_inline)) void place(std::uint64_t i) const {
    __builtin_prefetch(m_.offsets + i);
  }
  // As many lines for every row, so that the loop is foreseen; asking for what is not there does no
  // harm. kLevel is that of __builtin_prefetch: 3 is the nearest cache, 2 one further away. It must
  // be inlined: GCC drops calls that do nothing else.
  template <int kLevel>
  __attribute__((always_inline)) void row(std::uint64_t i, std::size_t lines) const {
    const std::uint32_t* columns = m_.columns_of(i);
    const auto* values = m_.values_of(i);
    for (std::size_t k = 0; k < lines; ++k) {
      __builtin_prefetch(columns, 0, kLevel);
      __builtin_prefetch(values, 0, kLevel);
      if (sizeof *values > 4) __builtin_prefetch(values + kColumnsOfLine / 2, 0, kLevel);
      columns += kColumnsOfLine;
      values += kColumnsOfLine;
    }
  }

 private:
  static constexpr std::uint64_t kColumnsOfLine = 64 / sizeof(std::uint32_t);

  Rows m_ = {};
  std::size_t lines_ = 1;
};

}  // namespace hinge
