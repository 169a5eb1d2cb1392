#include "rows/quantised_rows.h"

#include <algorithm>
#include <cstring>

namespace hinge {
QuantisedRows::QuantisedRows(const CsrView<double>& m, std::uint64_t bytes, const Simd& simd,
                             Pool& pool) {
  constexpr std::uint64_t kBlock = 256, kBehind = 7;
  const auto end_of = [&](std::uint64_t row) {
    return m.offsets[row] + Quantisation::kPlaces * row + kBehind;
  };
  std::uint64_t most = m.rows;  // by bisection: they do not fit, `rows` do
  if (end_of(m.rows) * sizeof(std::int16_t) <= bytes) {
    rows = m.rows;
  } else {
    while (most - rows > 1) {
      const std::uint64_t middle = rows + (most - rows) / 2;
      (end_of(middle) * sizeof(std::int16_t) <= bytes ? rows : most) = middle;
    }
  }
  if (rows == 0) return;
  values.resize(end_of(rows));
  detail::advise_huge(values.data(), values.size() * sizeof(std::int16_t));
  pool.run((rows + kBlock - 1) / kBlock, [&](std::size_t block) {
    const std::uint64_t last = std::min(rows, (block + 1) * kBlock);
    for (std::uint64_t i = block * kBlock; i < last; ++i) {
      std::int16_t* const to = values.data() + m.offsets[i] + Quantisation::kPlaces * i;
      const Quantisation with =
          simd.quantise(m.values_of(i), m.size_of(i), to + Quantisation::kPlaces);
      std::memcpy(to, &with, sizeof with);
    }
  });
}

double QuantisedRows::square(const CsrView<double>& m, std::uint64_t i) const {
  Quantisation with = {};
  std::memcpy(&with, values.data() + m.offsets[i] + Quantisation::kPlaces * i, sizeof with);
  return static_cast<double>(with.square);
}

}  // namespace hinge
