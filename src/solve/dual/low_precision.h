// Far from the optimum w may be in floats, in the place of one in doubles: half the memory, which
// counts where it is read and written here and there. Rows of doubles may be read in 16 bits a
// value then (rows/quantised_rows.h). Exact passes are exact all the same: they are made on the
// rows as they are, at w as it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "rows/quantised_rows.h"
#include "simd/simd.h"
#include "solve/dual/descent.h"
#include "solve/dual/tuning.h"
#include "solve/solver.h"

namespace hinge {

class LowPrecision {
 public:
  explicit LowPrecision(const DualSetup& setup)
      : allowed_(setup.float_weights), quantised_rows_(setup.quantised_rows) {}

  bool allowed() const { return allowed_; }
  bool used() const { return !float_weights_.empty(); }
  std::vector<float>& float_weights() { return float_weights_; }

  // The floats become those nearest to w, and are what epochs work on; until they are dropped.
  void take(const std::vector<double>& w) {
    reserve_huge(float_weights_, w.size());
    float_weights_.resize(w.size());
    for (std::size_t j = 0; j < w.size(); ++j) float_weights_[j] = static_cast<float>(w[j]);
  }
  void drop() { float_weights_ = {}; }

  // Copies them to w, and returns the sum of squares of the first `counted`. Throws Interrupted.
  double give(std::vector<double>& w, std::size_t counted, const Simd& simd, Pool& pool) const {
    const std::size_t block_size = DualTuning::kWeightsBlock;
    const std::size_t blocks = (float_weights_.size() + block_size - 1) / block_size;
    std::vector<double> squares(blocks);
    pool.run(blocks, [&](std::size_t block) {
      const std::size_t begin = block * block_size;
      const std::size_t end = std::min(begin + block_size, float_weights_.size());
      std::copy(float_weights_.data() + begin, float_weights_.data() + end, w.data() + begin);
      const double* const from = w.data() + begin;
      squares[block] = simd.dot_dense(from, from, std::clamp(counted, begin, end) - begin);
    });
    double sum = 0;
    for (const double square : squares) sum += square;
    return sum;
  }

  // Has epochs read rows in 16 bits, those that there are.
  template <class Value>
  void point_at_rows(Descent<Value, float>& descent) const {
    if (quantised_rows_ == nullptr) return;
    descent.quantised = quantised_rows_->values.data();
    descent.quantised_rows = quantised_rows_->rows;
  }

  // |x_i|^2 as epochs find it when they visit the row first.
  template <class Value>
  double square_of_row(const CsrView<Value>& m, std::uint64_t i) const {
    if constexpr (std::is_same_v<Value, double>) {
      if (quantised_rows_ != nullptr && i < quantised_rows_->rows) {
        return quantised_rows_->square(m, i);
      }
    }
    return square_in_lanes(row_of(m, i));
  }

  void archive(Archive& archive, std::size_t size) {
    archive.sized_or_empty(float_weights_, size);
    archive.require(!used() || allowed_);
  }

 private:
  const bool allowed_;
  const QuantisedRows* const quantised_rows_;  // or none
  std::vector<float> float_weights_;           // empty: not used
};

// |v|^2, v = sum_i a_i y_i x_i, where w is v but for its rounding and that of the rows:
//   |v|^2 = |w|^2 + 2 <w, v - w> + |v - w|^2
// of which the last is small: that of as many roundings as there are columns, independent of each
// other. `square` is |w|^2, `product` <w, v>. None where these would make out too much of the gap
// that `gap_at(|v|^2)` tells.
template <class GapAt>
std::optional<double> square_beside(double square, double product, std::size_t columns,
                                    const GapAt& gap_at) {
  const double drift = product - square;
  double norm = square + 2 * drift;
  if (square > 0) norm += static_cast<double>(columns) * drift * drift / square;
  if (std::abs(drift) > DualTuning::kMostDrift * gap_at(norm)) return {};
  return norm;
}

}  // namespace hinge
