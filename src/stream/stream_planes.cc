#include "stream/stream_planes.h"

#include <fmt/core.h>

#include <bit>
#include <cassert>
#include <cmath>
#include <random>

#include "base/error.h"

namespace hinge {
namespace {

std::size_t round_up_to_4(std::size_t n) {
  return (n + 3) / 4 * 4;
}

// Sums of many planes that would take less than this, kept whole, are: not worth the trouble.
constexpr double kWholeBytes = 0x1p25;

// Saving takes, besides the sums as they are written, a header with the labels and lists of the
// columns. These are upper bounds.
constexpr std::size_t kSavingBytes = std::size_t{4} << 20, kPlaneBytes = 512, kColumnBytes = 64;
// A block has four sums, each written with the number of its plane. Sums are written so where it
// takes less than half of what they take whole.
constexpr std::size_t kSavedBlock = 2 * 4 * (sizeof(double) + sizeof(std::uint32_t));

std::size_t saving_header(std::size_t planes) {
  return kSavingBytes + planes * kPlaneBytes;
}

// Strides that inner loops have. They grow by a share, so that classes that come one by one do not
// move everything every time.
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

double StreamPlanes::limit() const {
  return limit_ > 0 ? static_cast<double>(limit_) : 0.9 * static_cast<double>(memory_in_reach());
}

bool StreamPlanes::worth_sharing(std::size_t places, std::size_t stride, std::size_t planes) const {
  if (shared_) return false;
  // Room to move them stays, and to save them.
  const double most = std::min(kWholeBytes, limit() / 8);
  const double bytes = static_cast<double>(places) * static_cast<double>(stride) * sizeof(double);
  if (planes > kFewPlanes && bytes > most) return true;
  // Few planes are shared only if they must be, and if those to come will be like the rest.
  return rest_ && planes_ > 2 && whole_bytes(places, stride, planes) > limit();
}

std::size_t StreamPlanes::saving_bytes() const {
  const std::size_t columns = shared_ ? shared_->columns() : low_columns_ + table_.columns().size();
  const std::size_t whole = columns * planes_ * sizeof(double);
  const std::size_t sums = shared_ ? std::min(whole, shared_->blocks() * kSavedBlock) : whole;
  return saving_header(planes_) + columns * kColumnBytes + sums;
}

double StreamPlanes::whole_bytes(std::size_t places, std::size_t stride, std::size_t planes) const {
  const double each = sizeof(double) * static_cast<double>(stride + planes) + kColumnBytes;
  return static_cast<double>(places) * each + static_cast<double>(saving_header(planes));
}

void StreamPlanes::check_whole(std::size_t places, std::size_t stride, std::size_t planes) const {
  check_memory(whole_bytes(places, stride, planes), places, planes);
}

void StreamPlanes::check_shared(std::size_t columns, std::size_t blocks) const {
  constexpr std::size_t kColumn =
      sizeof(double) + sizeof(std::vector<int>) + 3 * sizeof(std::uint32_t) + kColumnBytes;
  check_memory(static_cast<double>(columns) * kColumn +
                   static_cast<double>(blocks) * (sizeof(SharedPlanes::Block) + kSavedBlock) +
                   static_cast<double>(saving_header(planes_)),
               columns, planes_);
}

void StreamPlanes::check_memory(double bytes, std::size_t columns, std::size_t planes) const {
  if (bytes <= limit()) return;
  constexpr double kTenth = 0x1p20 / 10;  // of a MiB
  fail(limit_ > 0 ? "memory.limit" : "memory.model",
       fmt::format("hyperplanes over {} columns ({} of them), and saving them, need {:.1f} MiB; {} "
                   "{:.1f} MiB",
                   columns, planes, std::ceil(bytes / kTenth) / 10,
                   limit_ > 0 ? "--memory allows" : "this process can have",
                   std::floor(limit() / kTenth) / 10),
       "fewer classes (--labels, --max-classes) or hashed features need less, --memory allows "
       "more");
}

void StreamPlanes::reserve(std::size_t planes) {
  const std::size_t stride = stride_for(planes, stride_);
  if (stride == stride_) return;
  // The old ones are there until they are moved.
  const std::size_t places_now = low_columns_ + table_.columns().size();
  if (worth_sharing(places_now, stride + stride_, planes)) share();
  constant_.reserve(stride);
  if (shared_) {
    shared_->set_planes(stride);
  } else {
    const std::size_t places = table_.columns().size();
    check_whole(places_now, stride + stride_, planes);
    Buffer<double> low(low_columns_ * stride), high(places * stride);
    const auto copy = [&](const Buffer<double>& from, Buffer<double>& to, std::size_t p) {
      std::copy_n(from.data() + p * stride_, planes_, to.data() + p * stride);
    };
    each_low([&](std::size_t p) { copy(low_, low, p); });
    for (std::size_t p = 0; p < places; ++p) copy(high_, high, p);
    low_ = std::move(low);
    high_ = std::move(high);
  }
  constant_.resize(stride);
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
  constant_[plane] = derive(constant_[like]);
  assert(!shared_ || (sign > 0 && like == 0));
  if (shared_) return;  // planes to come are like plane 0
  each_low([&](std::size_t p) { low_[p * stride_ + plane] = derive(low_[p * stride_ + like]); });
  for (std::size_t p = 0; p < table_.columns().size(); ++p) {
    high_[p * stride_ + plane] = derive(high_[p * stride_ + like]);
  }
}

void StreamPlanes::share() {
  SharedPlanes shared(stride_);
  ColumnTable table;
  std::vector<std::uint32_t> planes;
  std::vector<double> sums;
  for (const Column& column : columns()) {
    const double* const all = whole(column);
    planes.clear();
    sums.clear();
    for (std::size_t c = 1; c < planes_; ++c) {
      if (all[c] == all[0]) continue;
      planes.push_back(static_cast<std::uint32_t>(c));
      sums.push_back(all[c]);
    }
    shared.add_column(all[0], planes, sums);
    table.insert(column.number);
  }
  shared_.emplace(std::move(shared));
  table_ = std::move(table);
  low_ = Buffer<double>();
  high_ = Buffer<double>();
  low_columns_ = 0;
}

void StreamPlanes::grow_low(std::size_t columns) {
  // Half as much again, so that growing by one column at a time does not cost its square.
  constexpr std::size_t kFirst = 4096;
  const std::size_t roomy =
      std::min<std::size_t>(kDirect, std::max(kFirst, low_columns_ + low_columns_ / 2));
  const std::size_t wanted = std::max(columns, roomy), places = wanted + table_.columns().size();
  if (worth_sharing(places, stride_, planes_)) return share();
  check_whole(places, stride_, planes_);
  low_.resize(wanted * stride_);  // fresh memory is zero
  low_columns_ = wanted;
}

std::uint32_t StreamPlanes::place(std::uint32_t column) {
  if (const std::uint32_t found = table_.find(column); found != ColumnTable::kNone) return found;
  const std::size_t places = table_.columns().size() + 1;
  if (!shared_ && places * stride_ > high_.size()) {
    const std::size_t roomy = std::max<std::size_t>(1024, places + places / 2);
    if (worth_sharing(low_columns_ + roomy, stride_, planes_)) {
      share();
      return 0;  // locate() begins again
    }
    check_whole(low_columns_ + roomy, stride_, planes_);
    high_.resize(roomy * stride_);
  }
  // If the table then has no room for it, the column is there already when it comes again.
  if (shared_ && shared_->columns() < places) {
    check_shared(places, shared_->blocks());
    shared_->add_column(0, {}, {});
  }
  return table_.insert(column);
}

void StreamPlanes::prepare_shared(std::span<const std::uint32_t> places, const double* a,
                                  std::size_t planes) {
  const std::size_t blocks = shared_->plan(places, a, planes);
  if (blocks == 0) return;
  check_shared(shared_->columns(), shared_->blocks() + blocks + blocks / 2);
  shared_->make_blocks(places);
}

// As a row with a 1 there is added.
void StreamPlanes::set(std::uint32_t column, const double* sums) {
  const double one = 1;
  const Located<double> row = locate(SparseRow<double>{&column, &one, 1});
  prepare(row, sums, planes_);
  add_features(row, sums);
}

std::vector<StreamPlanes::Column> StreamPlanes::columns() const {
  std::vector<Column> all;
  const std::span<const std::uint32_t> numbers = table_.columns();
  const auto used = [&](const Column& column) {
    const double* const sums = whole(column);
    return std::any_of(sums, sums + planes_, [](double v) { return v != 0; });
  };
  const auto each = [&](auto&& f) {
    if (!shared_) {
      each_low([&](std::size_t j) {
        f(Column{static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(j)});
      });
    }
    for (std::uint32_t p = 0; p < numbers.size(); ++p) f(Column{numbers[p], p});
  };
  std::size_t count = 0;
  each([&](const Column& column) { count += shared_ || used(column); });
  all.reserve(count);
  each([&](const Column& column) {
    if (shared_ || used(column)) all.push_back(column);
  });
  std::ranges::sort(all, {}, &Column::number);
  return all;
}

void StreamPlanes::all_sums(const Column& column, double* out) const {
  if (!shared_) {
    std::copy_n(whole(column), planes_, out);
    return;
  }
  std::fill_n(out, planes_, shared_->common(column.place));
  for (const SharedPlanes::Block& block : shared_->own(column.place)) {
    const std::size_t from = block.number * SharedPlanes::kBlock;
    const std::size_t end = std::min(planes_, from + SharedPlanes::kBlock);
    for (std::size_t c = from; c < end; ++c) out[c] = block.values[c - from];
  }
}

void StreamPlanes::own_sums(const Column& column, std::size_t first, OwnSums& out) const {
  out.planes.clear();
  out.sums.clear();
  const auto add = [&](std::size_t plane, double sum) {
    if (plane < first || plane >= planes_ || sum == out.common) return;
    out.planes.push_back(static_cast<std::uint32_t>(plane));
    out.sums.push_back(sum);
  };
  const std::size_t all = planes_ - first;
  const std::size_t kept =
      shared_ ? shared_->own(column.place).size() * SharedPlanes::kBlock + first : all;
  if (all > 2 * kept) {  // more than half are like plane 0
    out.common = shared_->common(column.place);
    for (const SharedPlanes::Block& block : shared_->own(column.place)) {
      for (std::size_t i = 0; i < SharedPlanes::kBlock; ++i) {
        add(block.number * SharedPlanes::kBlock + i, block.values[i]);
      }
    }
    return;
  }
  std::vector<double> sums(planes_);
  all_sums(column, sums.data());
  // The vote of Boyer and Moore: if a sum has the majority, it is the one that is left.
  std::size_t votes = 0;
  for (std::size_t c = first; c < planes_; ++c) {
    if (votes == 0) out.common = sums[c];
    sums[c] == out.common ? ++votes : --votes;
  }
  const auto from = sums.begin() + static_cast<std::ptrdiff_t>(first);
  if (2 * static_cast<std::size_t>(std::count(from, sums.end(), out.common)) <= all) out.common = 0;
  for (std::size_t c = first; c < planes_; ++c) add(c, sums[c]);
}

}  // namespace hinge
