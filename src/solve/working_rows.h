// The rows that descent visits, in the order of its visits. Where these are few among all, they are
// copied next to each other, so that they stay in the cache; more are visited where they lie, which
// takes no longer than copying them and no memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"
#include "data/problem.h"
#include "kernels/kernels.h"

namespace hinge {

template <class Value>
class WorkingRows {
 public:
  struct Item {
    std::uint64_t row;     // its number in the data
    std::uint64_t offset;  // where its entries begin, here
    std::uint32_t size;    // of them
    std::int8_t y;
    bool asleep;  // at rest until rows are chosen anew
    double alpha;
  };

  explicit WorkingRows(const CsrView<Value>& m) : m_(m) {}

  // These rows, in this order.
  void choose(std::span<const std::uint64_t> rows, const Problem& problem,
              std::span<const double> alpha, Pool& pool) {
    items_.resize(rows.size());
    std::uint64_t size = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::uint64_t i = rows[k], begin = m_.offsets[i];
      const auto length = static_cast<std::uint32_t>(m_.offsets[i + 1] - begin);
      items_[k] = {i, begin, length, problem.y[i], false, alpha[i]};
      size += length;
    }
    lay_out(size, pool);
  }

  // Without those that are asleep.
  void leave_sleepers(Pool& pool) {
    std::erase_if(items_, [](const Item& item) { return item.asleep; });
    std::uint64_t size = 0;
    for (Item& item : items_) {
      item.offset = m_.offsets[item.row];
      size += item.size;
    }
    lay_out(size, pool);
  }

  std::span<Item> items() { return items_; }
  std::span<const Item> items() const { return items_; }
  SparseRow<Value> entries(const Item& item) const {
    return {columns_ + item.offset, values_ + item.offset, item.size};
  }

 private:
  static constexpr double kCopyBelow = 0.2;  // of the entries of all rows
  static constexpr std::size_t kBlock = 1024;

  // Items say where their rows lie in the data.
  void lay_out(std::uint64_t size, Pool& pool) {
    columns_ = m_.columns;
    values_ = m_.values;
    if (static_cast<double>(size) >= kCopyBelow * static_cast<double>(m_.offsets[m_.rows])) return;
    std::vector<std::uint64_t> from(items_.size());
    std::uint64_t to = 0;
    for (std::size_t k = 0; k < items_.size(); ++k) {
      from[k] = std::exchange(items_[k].offset, to);
      to += items_[k].size;
    }
    copied_columns_.resize(size);
    copied_values_.resize(size);
    pool.run((items_.size() + kBlock - 1) / kBlock, [&](std::size_t block) {
      const std::size_t end = std::min(items_.size(), (block + 1) * kBlock);
      for (std::size_t k = block * kBlock; k < end; ++k) {
        const Item& item = items_[k];
        std::copy_n(m_.columns + from[k], item.size, copied_columns_.data() + item.offset);
        std::copy_n(m_.values + from[k], item.size, copied_values_.data() + item.offset);
      }
    });
    columns_ = copied_columns_.data();
    values_ = copied_values_.data();
  }

  const CsrView<Value>& m_;
  std::vector<Item> items_;
  Buffer<std::uint32_t> copied_columns_;
  Buffer<Value> copied_values_;
  const std::uint32_t* columns_ = nullptr;
  const Value* values_ = nullptr;
};

}  // namespace hinge
