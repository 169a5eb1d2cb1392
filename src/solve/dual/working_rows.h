// The rows that descent visits, in the order of its visits. Where these are few among all and are
// visited often, they are copied next to each other, so that they stay in the cache; more are
// visited where they lie, which takes no longer than copying them and no memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

inline std::size_t blocks_of(std::size_t count) {
  return (count + DualTuning::kRowsABlock - 1) / DualTuning::kRowsABlock;
}
// Runs f(block, begin, end) on blocks of `count` things.
template <class F>
void in_blocks(Pool& pool, std::size_t count, const F& f) {
  pool.run(blocks_of(count), [&](std::size_t block) {
    const std::size_t begin = block * DualTuning::kRowsABlock;
    f(block, begin, std::min(count, begin + DualTuning::kRowsABlock));
  });
}

// The rows whose slack is at most `beyond`, ascending. While these are fewer than `least`, `beyond`
// is doubled, kMostDoublings times at most.
template <class Loss>
void choose_near(const Simd& simd, const DualRows& rows, double& beyond, std::uint64_t least,
                 Pool& pool, Buffer<std::uint64_t>& chosen) {
  constexpr std::size_t kRun = 256, kTimes = DualTuning::kMostDoublings + 1;
  static_assert(DualTuning::kRowsABlock % kRun == 0);
  using Counts = std::array<std::uint64_t, kTimes>;  // within beyond, 2 beyond, ...
  const DescentLoops& loops = descent_loops(simd, Loss::kKind);
  const auto for_runs = [&](std::size_t begin, std::size_t end, const auto& f) {
    double slack[kRun];
    for (std::size_t from = begin; from < end; from += kRun) {
      const std::size_t size = std::min(kRun, end - from);
      loops.slacks(rows.part(from, size), slack);
      f(from, std::span<const double>(slack, size));
    }
  };
  std::vector<Counts> counts(blocks_of(rows.size));
  in_blocks(pool, rows.size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    Counts near = {};
    for_runs(begin, end, [&](std::size_t, std::span<const double> slacks) {
      for (std::size_t k = 0; k < kTimes; ++k) {
        const double within = std::ldexp(beyond, static_cast<int>(k));
        for (const double slack : slacks) near[k] += slack <= within ? 1U : 0U;
      }
    });
    counts[block] = near;
  });
  Counts all = {};
  for (const Counts& near : counts) {
    for (std::size_t k = 0; k < kTimes; ++k) all[k] += near[k];
  }
  std::size_t times = 0;
  while (times + 1 < kTimes && all[times] < least) ++times;
  beyond = std::ldexp(beyond, static_cast<int>(times));
  std::vector<std::uint64_t> places(1);
  for (const Counts& near : counts) places.push_back(places.back() + near[times]);
  chosen.resize(all[times]);
  in_blocks(pool, rows.size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::uint64_t* to = chosen.data() + places[block];
    for_runs(begin, end, [&](std::size_t from, std::span<const double> slacks) {
      std::uint64_t run[kRun];
      std::size_t count = 0;
      for (std::size_t k = 0; k < slacks.size(); ++k) {  // as good as random: no branch
        run[count] = from + k;
        count += slacks[k] <= beyond ? 1U : 0U;
      }
      to = std::copy_n(run, count, to);
    });
  });
}

template <class Value>
class WorkingRows {
 public:
  using Item = DescentRow;
  struct Chosen {
    std::uint64_t row;
    std::int8_t y;
    double alpha, curvature;
    bool moves;  // whether it is visited at all
  };

  explicit WorkingRows(const CsrView<Value>& m) : m_(m) {}

  // Rows are chosen anew: so many, ascending, of which row_at(k) is the k-th, or none where it
  // cannot move. Each `run` of them, which are neighbours and read faster together, stays together
  // when all are shuffled. After lay_out() they can be visited: `often`, or a few times.
  template <class RowAt>
  void choose(std::size_t count, std::size_t run, Pool& pool, const RowAt& row_at) {
    run_ = run;
    items_.resize(count);
    std::vector<std::size_t> counts(blocks_of(count));
    std::vector<std::uint64_t> entries(blocks_of(count));
    in_blocks(pool, count, [&](std::size_t block, std::size_t begin, std::size_t end) {
      Item* to = items_.data() + begin;
      std::uint64_t seen = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const Chosen one = row_at(k);
        if (!one.moves) continue;
        const std::uint64_t from = m_.offsets[one.row];
        *to++ = {one.row,      from,  static_cast<std::uint32_t>(m_.offsets[one.row + 1] - from),
                 one.y,        false, one.alpha,
                 one.curvature};
        seen += m_.offsets[one.row + 1] - from;
      }
      entries[block] = seen;
      counts[block] = static_cast<std::size_t>(to - items_.data()) - begin;
    });
    close_up(counts);
    entries_ = std::reduce(entries.begin(), entries.end());
    cuts_ = {0, items_.size()};
  }

  // Cuts them into as many parts as there are lanes, neighbours together, of about as many entries
  // each.
  void share_out(std::size_t lanes, Pool& pool) {
    std::vector<std::uint64_t> sums(blocks_of(items_.size()));
    in_blocks(pool, items_.size(), [&](std::size_t block, std::size_t begin, std::size_t end) {
      for (const Item& item : items().subspan(begin, end - begin)) sums[block] += item.size;
    });
    cuts_.assign(1, 0);
    std::uint64_t before = 0;  // entries of the blocks up to this one
    for (std::size_t block = 0; block < sums.size() && cuts_.size() < lanes; ++block) {
      const auto wanted = [&] { return entries_ / lanes * cuts_.size(); };
      std::uint64_t sum = before;
      before += sums[block];
      if (before <= wanted()) continue;
      const std::size_t end = std::min(items_.size(), (block + 1) * DualTuning::kRowsABlock);
      for (std::size_t k = block * DualTuning::kRowsABlock; k < end && cuts_.size() < lanes; ++k) {
        if (sum >= wanted()) cuts_.push_back(k);
        sum += items_[k].size;
      }
    }
    cuts_.resize(lanes + 1, items_.size());
  }
  std::size_t lanes() const { return cuts_.size() - 1; }
  std::span<Item> of_lane(std::size_t k) {
    return items().subspan(cuts_[k], cuts_[k + 1] - cuts_[k]);
  }
  std::uint64_t entries() const { return entries_; }  // of all of them

  void lay_out(bool often, Pool& pool) {
    columns_ = m_.columns;
    values_ = m_.values;
    if (!often) return;
    if (static_cast<double>(entries_) <
        DualTuning::kCopyBelow * static_cast<double>(m_.offsets[m_.rows])) {
      copy(pool);
    }
  }

  // Those of a lane.
  void shuffle(std::size_t lane, Random random, const Neighbours& neighbours) {
    const std::span<Item> own = of_lane(lane);
    const auto run = [&](std::size_t n) { return own.subspan(n * run_, run_); };
    for (std::size_t n = own.size() / run_; n > 1; --n) {
      const std::size_t other = random.below(n);
      if (other != n - 1) std::ranges::swap_ranges(run(n - 1), run(other));
    }
    for (std::size_t k = 0; neighbours.mix && k < own.size(); k += neighbours.window) {
      random.shuffle(own.subspan(k, std::min<std::size_t>(neighbours.window, own.size() - k)));
    }
  }

  // Without those that are asleep. They have been stored (Lane::store).
  void leave_sleepers(Pool& pool) {
    const Pool::Grace whole(pool, Pool::Grace::kForever);
    std::vector<std::size_t> counts(blocks_of(items_.size()));
    std::vector<std::uint64_t> entries(blocks_of(items_.size()));
    in_blocks(pool, items_.size(), [&](std::size_t block, std::size_t begin, std::size_t end) {
      std::size_t to = begin;
      for (std::size_t k = begin; k < end; ++k) {
        if (items_[k].asleep) continue;
        entries[block] += items_[k].size;
        items_[to++] = items_[k];
      }
      counts[block] = to - begin;
    });
    close_up(counts);
    entries_ = std::reduce(entries.begin(), entries.end());
    cuts_ = {0, items_.size()};
  }

  std::span<Item> items() { return items_.span(); }
  std::span<const Item> items() const { return items_.span(); }
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
  // Blocks of rows with holes behind them, so many in each, are moved together.
  void close_up(std::span<const std::size_t> counts) {
    std::size_t to = 0;
    for (std::size_t block = 0; block < counts.size(); ++block) {
      const Item* const from = items_.data() + block * DualTuning::kRowsABlock;
      if (from != items_.data() + to) std::copy_n(from, counts[block], items_.data() + to);
      to += counts[block];
    }
    items_.resize(to);
  }

  void copy(Pool& pool) {
    const std::uint64_t size = entries_;
    std::uint64_t to = 0;
    for (Item& item : items()) {
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
  Buffer<Item> items_;
  std::uint64_t entries_ = 0;
  std::vector<std::size_t> cuts_ = {0, 0};  // where the rows of each lane begin and end
  std::size_t run_ = 1;
  Buffer<std::uint32_t> copied_columns_;
  Buffer<Value> copied_values_;
  const std::uint32_t* columns_ = nullptr;
  const Value* values_ = nullptr;
};

}  // namespace hinge
