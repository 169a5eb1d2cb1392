#include "stream/hyperplanes.h"

#include <fmt/core.h>

#include <cassert>
#include <cmath>

#include "base/error.h"

namespace hinge {
namespace {

std::size_t round_up_to_4(std::size_t n) {
  return (n + 3) / 4 * 4;
}

// Sums of many hyperplanes that would take less than this, kept whole, are: not worth the trouble.
constexpr double kWholeBytes = 0x1p25;

// Saving takes, besides the sums as they are written, a header with the labels and lists of the
// columns. These are upper bounds.
constexpr std::size_t kSavingBytes = std::size_t{4} << 20, kHyperplaneBytes = 512,
                      kColumnBytes = 64;
// A block has four sums, each written with the number of its hyperplane. Sums are written so where
// it takes less than half of what they take whole.
constexpr std::size_t kSavedBlock = 2 * 4 * (sizeof(double) + sizeof(std::uint32_t));

std::size_t saving_header(std::size_t hyperplanes) {
  return kSavingBytes + hyperplanes * kHyperplaneBytes;
}

// Strides that inner loops have. They grow by a share, so that classes that come one by one do not
// move everything every time.
std::size_t stride_for(std::size_t hyperplanes, std::size_t stride) {
  if (hyperplanes <= stride) return stride;
  if (hyperplanes <= 2) return hyperplanes;
  return std::max(round_up_to_4(hyperplanes), round_up_to_4(stride + stride / 4));
}

// -x, but no -0: a sum that was never touched is +0 on either side.
double negative(double x) {
  return 0.0 - x;
}

}  // namespace

double StreamHyperplanes::limit() const {
  return limit_ > 0 ? static_cast<double>(limit_) : 0.9 * static_cast<double>(memory_in_reach());
}

bool StreamHyperplanes::worth_sharing(std::size_t places, std::size_t stride,
                                      std::size_t hyperplanes) const {
  if (shared_) return false;
  // Room to move them stays, and to save them.
  const double most = std::min(kWholeBytes, limit() / 8);
  const double bytes = static_cast<double>(places) * static_cast<double>(stride) * sizeof(double);
  if (hyperplanes > kFewHyperplanes && bytes > most) return true;
  // Few hyperplanes are shared only if they must be, and if those to come will be like the rest.
  return rest_ && count_ > 2 && whole_bytes(places, stride, hyperplanes) > limit();
}

std::size_t StreamHyperplanes::saving_bytes() const {
  const std::size_t columns = shared_ ? shared_->columns() : low_columns_ + table_.columns().size();
  const std::size_t whole = columns * count_ * sizeof(double);
  const std::size_t sums = shared_ ? std::min(whole, shared_->blocks() * kSavedBlock) : whole;
  return saving_header(count_) + columns * kColumnBytes + sums;
}

double StreamHyperplanes::whole_bytes(std::size_t places, std::size_t stride,
                                      std::size_t hyperplanes) const {
  const double each = sizeof(double) * static_cast<double>(stride + hyperplanes) + kColumnBytes;
  return static_cast<double>(places) * each + static_cast<double>(saving_header(hyperplanes));
}

void StreamHyperplanes::check_whole(std::size_t places, std::size_t stride,
                                    std::size_t hyperplanes) const {
  check_memory(whole_bytes(places, stride, hyperplanes), places, hyperplanes);
}

void StreamHyperplanes::check_shared(std::size_t columns, std::size_t blocks) const {
  constexpr std::size_t kColumn =
      sizeof(double) + sizeof(std::vector<int>) + 3 * sizeof(std::uint32_t) + kColumnBytes;
  check_memory(static_cast<double>(columns) * kColumn +
                   static_cast<double>(blocks) * (sizeof(SharedPlanes::Block) + kSavedBlock) +
                   static_cast<double>(saving_header(count_)),
               columns, count_);
}

void StreamHyperplanes::check_memory(double bytes, std::size_t columns,
                                     std::size_t hyperplanes) const {
  if (bytes <= limit()) return;
  constexpr double kTenth = 0x1p20 / 10;  // of a MiB
  fail(limit_ > 0 ? "memory.limit" : "memory.model",
       fmt::format("hyperplanes over {} columns ({} of them), and saving them, need {:.1f} MiB; {} "
                   "{:.1f} MiB",
                   columns, hyperplanes, std::ceil(bytes / kTenth) / 10,
                   limit_ > 0 ? "--memory allows" : "this process can have",
                   std::floor(limit() / kTenth) / 10),
       "fewer classes (--labels, --max-classes) or hashed features need less, --memory allows "
       "more");
}

void StreamHyperplanes::reserve(std::size_t hyperplanes) {
  const std::size_t stride = stride_for(hyperplanes, stride_);
  if (stride == stride_) return;
  // The old ones are there until they are moved.
  const std::size_t places_now = low_columns_ + table_.columns().size();
  if (worth_sharing(places_now, stride + stride_, hyperplanes)) share();
  constant_.reserve(stride);
  if (shared_) {
    shared_->set_planes(stride);
  } else {
    const std::size_t places = table_.columns().size();
    check_whole(places_now, stride + stride_, hyperplanes);
    Buffer<double> low(low_columns_ * stride), high(places * stride);
    const auto copy = [&](const Buffer<double>& from, Buffer<double>& to, std::size_t p) {
      std::copy_n(from.data() + p * stride_, count_, to.data() + p * stride);
    };
    each_low([&](std::size_t p) { copy(low_, low, p); });
    for (std::size_t p = 0; p < places; ++p) copy(high_, high, p);
    low_ = std::move(low);
    high_ = std::move(high);
  }
  constant_.resize(stride);
  stride_ = stride;
}

void StreamHyperplanes::add_hyperplane() {
  assert(count_ < stride_);
  ++count_;
}

void StreamHyperplanes::add_hyperplane(double sign, std::size_t like) {
  const std::size_t hyperplane = count_;
  add_hyperplane();
  const auto derive = [sign](double x) { return sign > 0 ? x : negative(x); };
  constant_[hyperplane] = derive(constant_[like]);
  assert(!shared_ || (sign > 0 && like == 0));
  if (shared_) return;  // hyperplanes to come are like hyperplane 0
  each_low(
      [&](std::size_t p) { low_[p * stride_ + hyperplane] = derive(low_[p * stride_ + like]); });
  for (std::size_t p = 0; p < table_.columns().size(); ++p) {
    high_[p * stride_ + hyperplane] = derive(high_[p * stride_ + like]);
  }
}

void StreamHyperplanes::share() {
  SharedPlanes shared(stride_);
  ColumnTable table;
  std::vector<std::uint32_t> hyperplanes;
  std::vector<double> sums;
  for (const Column& column : columns()) {
    const double* const all = whole(column);
    hyperplanes.clear();
    sums.clear();
    for (std::size_t c = 1; c < count_; ++c) {
      if (all[c] == all[0]) continue;
      hyperplanes.push_back(static_cast<std::uint32_t>(c));
      sums.push_back(all[c]);
    }
    shared.add_column(all[0], hyperplanes, sums);
    table.insert(column.number);
  }
  shared_.emplace(std::move(shared));
  table_ = std::move(table);
  low_ = Buffer<double>();
  high_ = Buffer<double>();
  low_columns_ = 0;
}

void StreamHyperplanes::grow_low(std::size_t columns) {
  // Half as much again, so that growing by one column at a time does not cost its square.
  constexpr std::size_t kFirst = 4096;
  const std::size_t roomy =
      std::min<std::size_t>(kDirect, std::max(kFirst, low_columns_ + low_columns_ / 2));
  const std::size_t wanted = std::max(columns, roomy), places = wanted + table_.columns().size();
  if (worth_sharing(places, stride_, count_)) return share();
  check_whole(places, stride_, count_);
  low_.resize(wanted * stride_);  // fresh memory is zero
  low_columns_ = wanted;
}

std::uint32_t StreamHyperplanes::place(std::uint32_t column) {
  if (const std::uint32_t found = table_.find(column); found != ColumnTable::kNone) return found;
  const std::size_t places = table_.columns().size() + 1;
  if (!shared_ && places * stride_ > high_.size()) {
    const std::size_t roomy = std::max<std::size_t>(1024, places + places / 2);
    if (worth_sharing(low_columns_ + roomy, stride_, count_)) {
      share();
      return 0;  // locate() begins again
    }
    check_whole(low_columns_ + roomy, stride_, count_);
    high_.resize(roomy * stride_);
  }
  // If the table then has no room for it, the column is there already when it comes again.
  if (shared_ && shared_->columns() < places) {
    check_shared(places, shared_->blocks());
    shared_->add_column(0, {}, {});
  }
  return table_.insert(column);
}

void StreamHyperplanes::prepare_shared(std::span<const std::uint32_t> places, const double* a,
                                       std::size_t hyperplanes) {
  const std::size_t blocks = shared_->plan(places, a, hyperplanes);
  if (blocks == 0) return;
  check_shared(shared_->columns(), shared_->blocks() + blocks + blocks / 2);
  shared_->make_blocks(places);
}

// As a row with a 1 there is added.
void StreamHyperplanes::set(std::uint32_t column, const double* sums) {
  const double one = 1;
  const Located<double> row = locate(SparseRow<double>{&column, &one, 1});
  prepare(row, sums, count_);
  add_features(row, sums);
}

std::vector<StreamHyperplanes::Column> StreamHyperplanes::columns() const {
  std::vector<Column> all;
  const std::span<const std::uint32_t> numbers = table_.columns();
  const auto used = [&](const Column& column) {
    const double* const sums = whole(column);
    return std::any_of(sums, sums + count_, [](double v) { return v != 0; });
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

void StreamHyperplanes::all_sums(const Column& column, double* out) const {
  if (!shared_) {
    std::copy_n(whole(column), count_, out);
    return;
  }
  std::fill_n(out, count_, shared_->common(column.place));
  for (const SharedPlanes::Block& block : shared_->own(column.place)) {
    const std::size_t from = block.number * SharedPlanes::kBlock;
    const std::size_t end = std::min(count_, from + SharedPlanes::kBlock);
    for (std::size_t c = from; c < end; ++c) out[c] = block.values[c - from];
  }
}

void StreamHyperplanes::own_sums(const Column& column, std::size_t first, OwnSums& out) const {
  out.hyperplanes.clear();
  out.sums.clear();
  const auto add = [&](std::size_t hyperplane, double sum) {
    if (hyperplane < first || hyperplane >= count_ || sum == out.common) return;
    out.hyperplanes.push_back(static_cast<std::uint32_t>(hyperplane));
    out.sums.push_back(sum);
  };
  const std::size_t all = count_ - first;
  const std::size_t kept =
      shared_ ? shared_->own(column.place).size() * SharedPlanes::kBlock + first : all;
  if (all > 2 * kept) {  // more than half are like hyperplane 0
    out.common = shared_->common(column.place);
    for (const SharedPlanes::Block& block : shared_->own(column.place)) {
      for (std::size_t i = 0; i < SharedPlanes::kBlock; ++i) {
        add(block.number * SharedPlanes::kBlock + i, block.values[i]);
      }
    }
    return;
  }
  std::vector<double> sums(count_);
  all_sums(column, sums.data());
  // The vote of Boyer and Moore: if a sum has the majority, it is the one that is left.
  std::size_t votes = 0;
  for (std::size_t c = first; c < count_; ++c) {
    if (votes == 0) out.common = sums[c];
    sums[c] == out.common ? ++votes : --votes;
  }
  const auto from = sums.begin() + static_cast<std::ptrdiff_t>(first);
  if (2 * static_cast<std::size_t>(std::count(from, sums.end(), out.common)) <= all) out.common = 0;
  for (std::size_t c = first; c < count_; ++c) add(c, sums[c]);
}

}  // namespace hinge
