#include "solve/stream_planes.h"

#include <fmt/core.h>

#include <bit>
#include <cassert>
#include <random>

#include "base/error.h"

namespace hinge {
namespace {

std::size_t round_up_to_4(std::size_t n) {
  return (n + 3) / 4 * 4;
}

// Strides the kernels have. They grow by a share, so that classes that come one by one do not move
// everything every time.
std::size_t stride_for(std::size_t planes, std::size_t stride) {
  if (planes <= stride) return stride;
  if (planes <= 2) return planes;
  return std::max(round_up_to_4(planes), round_up_to_4(stride + stride / 4));
}

// -x, but no -0: a sum that was never touched is +0 on either side.
double negative(double x) {
  return 0.0 - x;
}

}  // namespace

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

void StreamPlanes::check_memory(std::size_t places, std::size_t stride) const {
  const double bytes = static_cast<double>(places) * static_cast<double>(stride) * sizeof(double);
  if (bytes <= 0.9 * static_cast<double>(physical_memory())) return;
  fail("memory.model", fmt::format("{} columns and {} hyperplanes need {:.1f} GiB of sums", places,
                                   planes_, bytes / 0x1p30));
}

void StreamPlanes::reserve(std::size_t planes) {
  const std::size_t stride = stride_for(planes, stride_), places = table_.columns().size();
  if (stride == stride_) return;
  check_memory(low_columns_ + places, stride + stride_);
  Buffer<double> low(low_columns_ * stride), high(places * stride);
  const auto copy = [&](const Buffer<double>& from, Buffer<double>& to, std::size_t p) {
    std::copy_n(from.data() + p * stride_, planes_, to.data() + p * stride);
  };
  each_low([&](std::size_t p) { copy(low_, low, p); });
  for (std::size_t p = 0; p < places; ++p) copy(high_, high, p);
  constant_.resize(stride);
  low_ = std::move(low);
  high_ = std::move(high);
  stride_ = stride;
}

void StreamPlanes::add_plane() {
  assert(planes_ < stride_);
  ++planes_;
}

void StreamPlanes::add_plane(double sign, std::size_t like) {
  const std::size_t plane = planes_;
  add_plane();
  const auto derive = [sign](double x) { return sign > 0 ? x : negative(x); };
  each_low([&](std::size_t p) { low_[p * stride_ + plane] = derive(low_[p * stride_ + like]); });
  for (std::size_t p = 0; p < table_.columns().size(); ++p) {
    high_[p * stride_ + plane] = derive(high_[p * stride_ + like]);
  }
  constant_[plane] = derive(constant_[like]);
}

void StreamPlanes::grow_low(std::size_t columns) {
  // Half as much again, so that growing by one column at a time does not cost its square.
  constexpr std::size_t kFirst = 4096;
  const std::size_t roomy =
      std::min<std::size_t>(kDirect, std::max(kFirst, low_columns_ + low_columns_ / 2));
  const std::size_t wanted = std::max(columns, roomy);
  check_memory(wanted + table_.columns().size(), stride_);
  low_.resize(wanted * stride_);  // fresh memory is zero
  low_columns_ = wanted;
}

std::uint32_t StreamPlanes::place(std::uint32_t column) {
  if (const std::uint32_t found = table_.find(column); found != ColumnTable::kNone) return found;
  const std::size_t places = table_.columns().size() + 1;
  if (places * stride_ > high_.size()) {
    const std::size_t roomy = std::max<std::size_t>(1024, places + places / 2);
    check_memory(low_columns_ + roomy, stride_);
    high_.resize(roomy * stride_);
  }
  return table_.insert(column);
}

void StreamPlanes::set(std::uint32_t column, std::size_t plane, double sum) {
  if (column < kDirect) {
    reserve_low(column + std::size_t{1});
    written_[column / kRun] = 1;
    low_[column * stride_ + plane] = sum;
  } else {
    high_[place(column) * stride_ + plane] = sum;
  }
}

}  // namespace hinge
