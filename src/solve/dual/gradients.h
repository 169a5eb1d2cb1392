// The gradients of the dual at a point, g_i = y_i <w, x_i> - 1 of every row for the hinge, and what
// they make with the variables. Rows are cut into blocks, which threads share; sums have one order.
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
#include "solve/dual/tuning.h"
#include "solve/dual/working_rows.h"

namespace hinge {

template <class Loss, class Value>
class Gradients {
 public:
  // At w = 0.
  Gradients(const Problem& problem, const CsrView<Value>& m, const Simd& simd, Pool& pool)
      : problem_(problem),
        m_(m),
        loops_(descent_loops(simd, Loss::kKind)),
        pool_(pool),
        cuts_(cut_rows(*problem.data)),
        all_(huge_vector(m.rows)) {
    fill_at_zero(0, m.rows);
  }

  std::vector<double>& all() { return all_; }
  const std::vector<std::uint64_t>& cuts() const { return cuts_; }

  // Computes them at w, or at 0 if w is empty. The bias is w's, unless it is free: then it is left
  // out.
  void find(std::span<const double> w) {
    for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) { find(w, begin, end); });
  }
  DualSums find_and_sum(std::span<const double> w, std::span<const double> alpha) {
    return sums(alpha, [&](std::uint64_t begin, std::uint64_t end) { find(w, begin, end); });
  }
  // Adds a free bias that was left out.
  DualSums shift_and_sum(double bias, std::span<const double> alpha) {
    return sums(alpha, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) all_[i] += problem_.y[i] * bias;
    });
  }

  // Runs f(block, begin, end) for every block of rows.
  template <class F>
  void for_blocks(F&& f) {
    pool_.run(cuts_.size() - 1,
              [&](std::size_t block) { f(block, cuts_[block], cuts_[block + 1]); });
  }

 private:
  void fill_at_zero(std::uint64_t begin, std::uint64_t end) {
    if constexpr (Loss::kRegression) {
      for (std::uint64_t i = begin; i < end; ++i) all_[i] = -problem_.targets[i];
    } else {
      std::fill(all_.begin() + static_cast<std::ptrdiff_t>(begin),
                all_.begin() + static_cast<std::ptrdiff_t>(end), Loss::dual_gradient(0.0));
    }
  }

  void find(std::span<const double> w, std::uint64_t begin, std::uint64_t end) {
    double* const out = all_.data() + begin;
    if (w.empty()) {
      fill_at_zero(begin, end);
      return;
    }
    const bool shifted = problem_.bias != 0 && !problem_.free_bias;
    loops_.gradients(m_, begin, end, problem_.y.data(), problem_.targets.data(), w.data(),
                     shifted ? problem_.bias * w.back() : 0.0, out);
  }

  template <class F>
  DualSums sums(std::span<const double> alpha, F&& change) {
    const DualRows rows = dual_rows(problem_, all_, alpha);
    std::vector<DualSums> parts(cuts_.size() - 1);
    const auto add = [](DualSums& all, const DualSums& part) {
      all.loss += part.loss;
      all.gain += part.gain;
      all.squares += part.squares;
    };
    const std::uint64_t some = DualTuning::kMeasureBlock;
    for_blocks([&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t from = begin; from < end; from += some) {
        const std::uint64_t to = std::min(from + some, end);
        change(from, to);
        add(parts[block], loops_.sums(rows.part(from, to - from)));
      }
    });
    DualSums all;
    for (const DualSums& part : parts) add(all, part);
    return all;
  }

  const Problem& problem_;
  const CsrView<Value>& m_;
  const DescentLoops& loops_;
  Pool& pool_;
  const std::vector<std::uint64_t> cuts_;
  std::vector<double> all_;
};

}  // namespace hinge
