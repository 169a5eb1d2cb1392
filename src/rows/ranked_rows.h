// Rows that are shared out among ranks: each has its own, of whatever kind, and what they add up to
// is summed over the ranks by a Comm.
//
// Messages, in the words of Comm: reduce() and largest() cost one; so does share_columns(); and
// sum_columns() one or, where it is worth to ask how sparse a vector is, two. A sum is taken in
// rank order in one place: the same bits on every rank, and again in the next run with as many.
#pragma once

#include <memory>
#include <utility>

#include "ranks/comm.h"
#include "rows/memory_rows.h"
#include "rows/rows.h"

namespace hinge {

class RankedRows final : public Rows {
 public:
  // All ranks make theirs at the same time: one message, which counts the rows. `comm` must live as
  // long.
  RankedRows(std::unique_ptr<Rows> own, Comm& comm)
      : own_(std::move(own)), comm_(comm), all_rows_(comm.sum(own_->shape().rows)) {}

  RowsShape shape() const override {
    RowsShape shape = own_->shape();
    shape.all_rows = all_rows_;
    shape.places = static_cast<std::uint64_t>(comm_.size());
    return shape;
  }
  const RowList& blocks() const override { return own_->blocks(); }
  RowList cut(std::vector<std::uint64_t> list) const override { return own_->cut(std::move(list)); }
  void with_block(std::size_t block, const std::function<void(const Dataset::View&)>& f) override {
    own_->with_block(block, f);
  }
  MemoryRows select(const std::vector<std::uint64_t>& list) const override {
    return own_->select(list);
  }
  void squares(std::span<double> out) override { own_->squares(out); }
  void scores(const RowList& list, std::span<const double> w, std::size_t stride,
              const TakeScores& take) override {
    own_->scores(list, w, stride, take);
  }
  void combine(const RowList& list, std::span<const double> a, std::size_t stride,
               std::span<double> w) override {
    own_->combine(list, a, stride, w);
  }
  void gram(const RowList& list, std::span<const double> a, std::span<double> h) override {
    own_->gram(list, a, h);
  }

  void reduce(std::span<double> numbers) override { comm_.sum(numbers); }
  double largest(double number) override { return comm_.max(number); }
  Slice slice() const override {
    const Comm::Slice slice = comm_.slice(own_->shape().dimension);
    return {slice.begin, slice.end};
  }
  void sum_columns(std::span<double> v) override { comm_.sum_slice(v); }
  void share_columns(std::span<double> v, std::span<double> numbers) override {
    comm_.share_slices(v, numbers);
  }

 private:
  const std::unique_ptr<Rows> own_;
  Comm& comm_;
  const std::uint64_t all_rows_;
};

}  // namespace hinge
