#include "dual/rough_rows.h"

#include "data/problem.h"

namespace hinge {
RoughRows::RoughRows(const CsrView<double>& rows, const Kernels& kernels, Pool& pool)
    : scale(rows.rows), square(rows.rows) {
  constexpr std::size_t kHugePage = 1 << 20;  // values
  const std::size_t size = rows.offsets[rows.rows] + 7;
  values_.reserve((size + kHugePage - 1) / kHugePage * kHugePage);
  values_.resize(size);
  m = {rows.rows, rows.features, rows.offsets, rows.columns, values_.data(), rows.full};
  const std::vector<std::uint64_t> cuts = cut_rows(Dataset::View(rows));
  pool.run(cuts.size() - 1, [&](std::size_t block) {
    for (std::uint64_t i = cuts[block]; i < cuts[block + 1]; ++i) {
      const Shortened row =
          kernels.shorten(rows.values_of(i), rows.size_of(i), values_.data() + rows.offsets[i]);
      scale[i] = row.scale;
      square[i] = row.square;
    }
  });
}

double rough_memory(const Dataset& data) {
  if (data.precision() == Precision::f32) return 0;
  return 2 * static_cast<double>(data.nonzeros()) + 12 * static_cast<double>(data.rows());
}

}  // namespace hinge
