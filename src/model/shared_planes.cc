#include "model/shared_planes.h"

namespace hinge {
namespace {

// So that the next push_back() does not fail.
template <class T>
void make_room_for_one(std::vector<T>& v) {
  if (v.size() == v.capacity()) v.reserve(v.size() + v.size() / 2 + 64);
}

}  // namespace

void SharedPlanes::add_column(double common, std::span<const std::uint32_t> planes,
                              std::span<const double> values) {
  std::vector<Block> own;
  const auto number = [&](std::size_t k) { return static_cast<std::uint32_t>(planes[k] / kBlock); };
  std::size_t count = 0;
  for (std::size_t k = 0; k < planes.size(); ++k) count += k == 0 || number(k) != number(k - 1);
  own.reserve(count);
  for (std::size_t k = 0; k < planes.size(); ++k) {
    if (own.empty() || own.back().number != number(k)) {
      own.push_back({number(k), {common, common, common, common}});
    }
    own.back().values[planes[k] % kBlock] = values[k];
  }
  make_room_for_one(common_);
  make_room_for_one(own_);
  common_.push_back(common);
  own_.push_back(std::move(own));
  blocks_ += count;
}

std::vector<std::uint32_t> SharedPlanes::blocks_of(std::span<const std::uint32_t> columns) const {
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint8_t> seen(block_count(planes_));
  std::size_t count = 0;
  for (const std::uint32_t column : columns) {
    for (const Block& block : own_[column]) {
      count += seen[block.number] == 0;
      seen[block.number] = 1;
    }
  }
  if (count == 0) return numbers;
  numbers.reserve(count);
  for (std::size_t number = 0; number < seen.size(); ++number) {
    if (seen[number] != 0) numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

std::size_t SharedPlanes::plan(std::span<const std::uint32_t> columns, const double* a,
                               std::size_t count) {
  factors_.assign(block_count(planes_) * kBlock, a[0]);
  std::copy_n(a, count, factors_.begin());
  needed_.clear();
  for (std::size_t c = 1; c < count; ++c) {
    const auto number = static_cast<std::uint32_t>(c / kBlock);
    if (a[c] != a[0] && (needed_.empty() || needed_.back() != number)) needed_.push_back(number);
  }
  std::size_t missing = 0;
  for (const std::uint32_t column : columns) missing += missing_in(column);
  return missing;
}

std::size_t SharedPlanes::missing_in(std::uint32_t column) const {
  const std::vector<Block>& own = own_[column];
  std::size_t missing = 0, at = 0;
  for (const std::uint32_t number : needed_) {
    while (at < own.size() && own[at].number < number) ++at;
    missing += at == own.size() || own[at].number != number;
  }
  return missing;
}

void SharedPlanes::make_blocks(std::span<const std::uint32_t> columns) {
  for (const std::uint32_t column : columns) {
    std::vector<Block>& own = own_[column];
    const std::size_t missing = missing_in(column);
    if (missing == 0) continue;
    const std::size_t before = own.size(), capacity = own.capacity();
    if (before + missing > capacity) own.reserve(std::max(before + missing, before + before / 2));
    blocks_ += own.capacity() - capacity;
    const double common = common_[column];
    for (const std::uint32_t number : needed_) {
      const auto end = own.begin() + static_cast<std::ptrdiff_t>(before);
      if (std::ranges::binary_search(own.begin(), end, number, {}, &Block::number)) continue;
      own.push_back({number, {common, common, common, common}});
    }
    std::ranges::inplace_merge(own, own.begin() + static_cast<std::ptrdiff_t>(before), {},
                               &Block::number);
  }
}

}  // namespace hinge
