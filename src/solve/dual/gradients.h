// The gradients of the dual at a point, g_i = y_i <w, x_i> - 1 of every row, and what they make
// with the variables. Rows are cut into blocks, which threads share; sums have one order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "data/survey.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/dual/descent.h"
#include "solve/dual/working_rows.h"

namespace hinge {

template <class Value>
class Gradients {
 public:
  // At 0.
  Gradients(const Problem& problem, const CsrView<Value>& m, const Simd& simd, Pool& pool)
      : problem_(problem),
        m_(m),
        loops_(descent_loops(simd, problem.loss)),
        pool_(pool),
        cuts_(cut_rows(*problem.data)),
        all_(huge_vector(m.rows, -1.0)) {}

  std::vector<double>& all() { return all_; }
  const std::vector<std::uint64_t>& cuts() const { return cuts_; }

  // At w, where no w is 0. The bias is w's, unless it is free: then it is left out.
  void find(std::span<const double> w) {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) { find(w, begin, end); });
  }
  DualSums find_and_sum(std::span<const double> w, std::span<const double> alpha) {
    return sums(alpha, [&](std::uint64_t begin, std::uint64_t end) { find(w, begin, end); });
  }
  // With a free bias that was left out.
  DualSums shift_and_sum(double bias, std::span<const double> alpha) {
    return sums(alpha, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) all_[i] += problem_.y[i] * bias;
    });
  }

  // f(block, begin, end) for every block of rows.
  template <class F>
  void for_blocks(F&& f) {
    pool_.run(cuts_.size() - 1,
              [&](std::size_t block) { f(block, cuts_[block], cuts_[block + 1]); });
  }

 private:
  static constexpr std::uint64_t kRun = 512;  // rows whose numbers stay in the nearest cache

  void find(std::span<const double> w, std::uint64_t begin, std::uint64_t end) {
    double* const out = all_.data() + begin;
    if (w.empty()) {
      std::fill_n(out, end - begin, -1.0);
      return;
    }
    const bool shifted = problem_.bias != 0 && !problem_.free_bias;
    loops_.gradients(m_, begin, end, problem_.y.data(), w.data(),
                     shifted ? problem_.bias * w.back() : 0.0, out);
  }

  template <class F>
  DualSums sums(std::span<const double> alpha, F&& change) {
    const DualRows rows = dual_rows(problem_, all_, alpha);
    std::vector<DualSums> parts(cuts_.size() - 1);
    const auto add = [](DualSums& sum, const DualSums& part) {
      sum.loss += part.loss;
      sum.gain += part.gain;
      sum.squares += part.squares;
    };
    for_blocks([&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t from = begin; from < end; from += kRun) {
        const std::uint64_t to = std::min(from + kRun, end);
        change(from, to);
        add(parts[block], loops_.sums(rows.part(from, to - from)));
      }
    });
    DualSums sum;
    for (const DualSums& part : parts) add(sum, part);
    return sum;
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const DescentLoops& loops_;
  Pool& pool_;
  const std::vector<std::uint64_t> cuts_;
  std::vector<double> all_;
};

}  // namespace hinge
