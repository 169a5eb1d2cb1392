#include "stream/column_table.h"

#include <bit>
#include <random>
#include <utility>

namespace hinge {

// Nobody can foresee which columns collide; which ones do changes nothing but the time.
ColumnTable::ColumnTable() {
  std::random_device random;
  multiplier_ = (std::uint64_t{random()} << 32 | random()) | 1;
}

std::size_t ColumnTable::slot(std::uint32_t column) const {
  return static_cast<std::size_t>((column + std::uint64_t{1}) * multiplier_ >> shift_);
}

std::uint32_t ColumnTable::find(std::uint32_t column) const {
  if (slots_.empty()) return kNone;
  for (std::size_t at = slot(column);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at] == 0) return kNone;
    if (columns_[slots_[at] - 1] == column) return slots_[at] - 1;
  }
}

std::uint32_t ColumnTable::insert(std::uint32_t column) {
  if (const std::uint32_t found = find(column); found != kNone) return found;
  if (2 * (columns_.size() + 1) > slots_.size()) grow();
  columns_.push_back(column);
  std::size_t at = slot(column);
  while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = static_cast<std::uint32_t>(columns_.size());
  return static_cast<std::uint32_t>(columns_.size() - 1);
}

void ColumnTable::grow() {
  std::vector<std::uint32_t> slots(slots_.empty() ? 1024 : 2 * slots_.size());
  shift_ = 64 - std::countr_zero(slots.size());
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    std::size_t at = slot(columns_[place]);
    while (slots[at] != 0) at = (at + 1) & (slots.size() - 1);
    slots[at] = static_cast<std::uint32_t>(place + 1);
  }
  slots_ = std::move(slots);
}

}  // namespace hinge
