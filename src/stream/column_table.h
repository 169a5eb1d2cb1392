// Places for columns that nobody knows beforehand, found by a hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hinge {

// Places for columns, counted from 0 in the order in which they come.
class ColumnTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  ColumnTable();
  std::uint32_t find(std::uint32_t column) const;                      // kNone if it is not there
  std::uint32_t insert(std::uint32_t column);                          // or finds it
  std::span<const std::uint32_t> columns() const { return columns_; }  // by place

 private:
  std::size_t slot(std::uint32_t column) const;
  void grow();

  std::uint64_t multiplier_;
  int shift_ = 0;
  std::vector<std::uint32_t> slots_;  // place + 1; 0 where nothing is
  std::vector<std::uint32_t> columns_;
};

}  // namespace hinge
