// The rows that descent visits, in the order of its visits. Where these are few among all and are
// visited often, they are copied next to each other, so that they stay in the cache; more are
// visited where they lie, which takes no longer than copying them and no memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "base/random.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/batches.h"
#include "solve/dual/descent.h"
#include "solve/dual/tuning.h"

namespace hinge {

inline DualRows dual_rows(const Problem& problem, std::span<const double> gradient,
                          std::span<const double> alpha) {
  return {gradient.data(),
          alpha.data(),
          problem.costs.empty() ? nullptr : problem.costs.data(),
          alpha.size(),
          problem.cost,
          problem.loss,
          problem.targets.empty() ? nullptr : problem.targets.data()};
}

// The rows whose slack is at most `beyond`, ascending. While these are fewer than `least`, `beyond`
// is doubled, `times` at most.
template <class Loss>
void choose_near(const Simd& simd, const DualRows& rows, double& beyond, std::uint64_t least,
                 int times, std::vector<std::uint64_t>& chosen) {
  constexpr std::size_t kRun = 256;
  const DescentLoops& loops = descent_loops(simd, Loss::kKind);
  const auto loss = make_loss<Loss>(rows.loss);
  double slack[kRun];
  const double farthest = std::ldexp(beyond, times);
  std::uint64_t count = 0, near = 0;
  reserve_huge(chosen, rows.size);
  chosen.resize(rows.size);
  for (std::size_t from = 0; from < rows.size; from += kRun) {
    const std::size_t size = std::min(kRun, rows.size - from);
    loops.slacks(rows.part(from, size), slack);
    for (std::size_t k = 0; k < size; ++k) {  // which rows are near is as good as random: no branch
      chosen[count] = from + k;
      count += slack[k] <= farthest ? 1 : 0;
      near += slack[k] <= beyond ? 1 : 0;
    }
  }
  chosen.resize(count);
  const auto within = [&](std::uint64_t i) {
    const double upper = rows.cost * (rows.factor == nullptr ? 1 : rows.factor[i]);
    const double g = loss.full_gradient(rows.gradient[i], rows.alpha[i], upper);
    if constexpr (Loss::kKinked) {
      const double left = loss.left_gradient(rows.gradient[i], rows.alpha[i], upper);
      if (rows.alpha[i] <= loss.lowest(upper)) return g <= beyond;
      if (rows.alpha[i] >= loss.highest(upper)) return -left <= beyond;
      return rows.alpha[i] != 0 || std::min(g, -left) <= beyond;
    }
    if (rows.alpha[i] <= loss.lowest(upper)) return g <= beyond;
    return rows.alpha[i] < loss.highest(upper) || -g <= beyond;
  };
  for (int k = 0; k < times && near < least; ++k) {
    beyond *= 2;
    near = 0;
    for (const std::uint64_t i : chosen) near += within(i) ? 1U : 0U;
  }
  if (near == count) return;
  std::uint64_t kept = 0;
  for (const std::uint64_t i : chosen) {
    chosen[kept] = i;
    kept += within(i) ? 1U : 0U;
  }
  chosen.resize(kept);
}

template <class Value>
class WorkingRows {
 public:
  using Item = DescentRow;

  explicit WorkingRows(const CsrView<Value>& m) : m_(m) {}

  // Rows are chosen anew, ascending, so many. Each `run` of them, which are neighbours and read
  // faster together, stays together when all are shuffled. After lay_out() they can be visited:
  // `often`, or a few times.
  void begin(std::size_t count, std::size_t run) {
    run_ = run;
    items_.clear();
    reserve_huge(items_, count);
  }
  void add(std::uint64_t row, std::int8_t y, double alpha, double curvature) {
    const std::uint64_t begin = m_.offsets[row];
    items_.push_back({row, begin, static_cast<std::uint32_t>(m_.offsets[row + 1] - begin), y, false,
                      alpha, curvature});
  }
  void lay_out(bool often, Pool& pool) {
    columns_ = m_.columns;
    values_ = m_.values;
    if (!often) return;
    std::uint64_t size = 0;
    for (const Item& item : items_) size += item.size;
    if (static_cast<double>(size) <
        DualTuning::kCopyBelow * static_cast<double>(m_.offsets[m_.rows])) {
      copy(size, pool);
    }
  }

  void shuffle(Random random, const Neighbours& neighbours) {
    const auto run = [&](std::size_t n) { return items().subspan(n * run_, run_); };
    for (std::size_t n = items_.size() / run_; n > 1; --n) {
      const std::size_t other = random.below(n);
      if (other != n - 1) std::ranges::swap_ranges(run(n - 1), run(other));
    }
    for (std::size_t k = 0; neighbours.mix && k < items_.size(); k += neighbours.window) {
      random.shuffle(
          items().subspan(k, std::min<std::size_t>(neighbours.window, items_.size() - k)));
    }
  }

  // Without those that are asleep.
  void leave_sleepers() {
    std::erase_if(items_, [](const Item& item) { return item.asleep; });
  }

  std::span<Item> items() { return items_; }
  std::span<const Item> items() const { return items_; }
  SparseRow<Value> entries(const Item& item) const {
    return {m_.full ? columns_ : columns_ + item.offset, values_ + item.offset, item.size, m_.full};
  }
  // Without what is of the problem.
  template <class Weight>
  Descent<Value, Weight> descent() const {
    return {.columns = columns_,
            .values = values_,
            .full = m_.full,
            .factor = nullptr,
            .cost = 0,
            .rest = 0,
            .w = nullptr};
  }

 private:
  void copy(std::uint64_t size, Pool& pool) {
    std::uint64_t to = 0;
    for (Item& item : items_) {
      item.offset = to;
      to += item.size;
    }
    if (!m_.full) copied_columns_.resize(size);
    copied_values_.resize(size);
    const std::size_t some = DualTuning::kCopyBlock;
    pool.run((items_.size() + some - 1) / some, [&](std::size_t block) {
      const std::size_t end = std::min(items_.size(), (block + 1) * some);
      for (std::size_t k = block * some; k < end; ++k) {
        const Item& item = items_[k];
        const SparseRow<Value> row = row_of(m_, item.row);
        std::copy_n(row.values, row.size, copied_values_.data() + item.offset);
        if (m_.full) continue;
        std::copy_n(row.columns, row.size, copied_columns_.data() + item.offset);
      }
    });
    if (!m_.full) columns_ = copied_columns_.data();
    values_ = copied_values_.data();
  }

  const CsrView<Value>& m_;
  std::vector<Item> items_;
  std::size_t run_ = 1;
  Buffer<std::uint32_t> copied_columns_;
  Buffer<Value> copied_values_;
  const std::uint32_t* columns_ = nullptr;
  const Value* values_ = nullptr;
};

}  // namespace hinge
