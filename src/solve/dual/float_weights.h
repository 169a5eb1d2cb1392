// w in floats, in the place of one in doubles: half the memory, which counts where it is read and
// written here and there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "simd/simd.h"

namespace hinge {

class FloatWeights {
 public:
  bool used() const { return !w_.empty(); }
  std::vector<float>& w() { return w_; }

  void take(const std::vector<double>& w) {
    reserve_huge(w_, w.size());
    w_.resize(w.size());
    for (std::size_t j = 0; j < w.size(); ++j) w_[j] = static_cast<float>(w[j]);
  }
  void drop() { w_ = {}; }

  // Copies it to w, and returns the sum of squares of the first `counted`. Throws Interrupted.
  double give(std::vector<double>& w, std::size_t counted, const Simd& simd, Pool& pool) const {
    constexpr std::size_t kBlock = 1 << 15;
    const std::size_t blocks = (w_.size() + kBlock - 1) / kBlock;
    std::vector<double> squares(blocks);
    pool.run(blocks, [&](std::size_t block) {
      const std::size_t begin = block * kBlock, end = std::min(begin + kBlock, w_.size());
      std::copy(w_.data() + begin, w_.data() + end, w.data() + begin);
      const double* const from = w.data() + begin;
      squares[block] = simd.dot_dense(from, from, std::clamp(counted, begin, end) - begin);
    });
    double sum = 0;
    for (const double square : squares) sum += square;
    return sum;
  }

  void archive(Archive& archive, std::size_t size) { archive.sized_or_empty(w_, size); }

 private:
  std::vector<float> w_;
};

}  // namespace hinge
