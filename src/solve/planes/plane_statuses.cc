#include "solve/planes/plane_statuses.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "solve/planes/tuning.h"

namespace hinge {

void RowBits::archive(Archive& archive, std::uint64_t rows) {
  archive.sized_or_empty(words_, (rows + 63) / 64);
  archive(between.row, between.more);
  archive.require(between.row < rows);
  // No bits of rows that do not exist.
  archive.require(words_.empty() || rows % 64 == 0 || words_.back() >> rows % 64 == 0);
}

void PlaneStatuses::archive(Archive& archive, const std::vector<bool>& taken) {
  for (std::size_t slot = 0; slot < planes_.size(); ++slot) {
    Plane& plane = planes_[slot];
    plane.bits.archive(archive, rows_);
    archive.sized_or_empty(plane.shares, rows_);
    archive.require(!taken[slot] || plane.bits.size() > 0 || !plane.shares.empty());
  }
}

void PlaneStatuses::merge(std::size_t into, std::size_t from, double u, double v, Pool& pool) {
  std::vector<double> coefficients(planes_.size()), shares(rows_);
  coefficients[into] = u;
  coefficients[from] = v;
  spread(coefficients, shares, pool);
  for (double& share : shares) share = std::min(share, 1.0);  // rounding
  planes_[into] = {.bits = {}, .shares = std::move(shares)};
  planes_[from] = {};
}

void PlaneStatuses::spread(std::span<const double> coefficients, std::span<double> out,
                           Pool& pool) const {
  constexpr std::uint64_t kBlock = PlanesTuning::kStatusesAtATime;
  // What is summed here is part of points and bounds, which must be whole after an interrupt.
  const Pool::Grace whole(pool, Pool::Grace::kForever);
  pool.run((rows_ + kBlock - 1) / kBlock, [&](std::size_t block) {
    const std::uint64_t begin = block * kBlock, end = std::min(rows_, begin + kBlock);
    for (std::size_t slot = 0; slot < coefficients.size(); ++slot) {
      const double c = coefficients[slot];
      if (c == 0) continue;
      const Plane& plane = planes_[slot];
      if (!plane.shares.empty()) {
        for (std::uint64_t i = begin; i < end; ++i) out[i] += c * plane.shares[i];
        continue;
      }
      for (std::uint64_t k = begin / 64; k < (end + 63) / 64; ++k) {
        for (std::uint64_t word = plane.bits.word(k); word != 0; word &= word - 1) {
          out[k * 64 + static_cast<std::uint64_t>(std::countr_zero(word))] += c;
        }
      }
      const auto& [row, more] = plane.bits.between;
      if (row >= begin && row < end) out[row] += c * more;
    }
  });
}

}  // namespace hinge
