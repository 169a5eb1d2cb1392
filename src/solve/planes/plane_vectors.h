// How planes are kept, their inner products, and the margins of points made of them. Two ways:
//
//   ColumnPlanes  each plane is a vector as long as the columns; a trial is added up from them and
//                 the rows are scored at it. A step costs planes x columns, and a pass.
//   RowPlanes     a plane is its statuses alone; of each row the score at each plane is kept. A
//                 trial's margins are small sums, an inner product follows from the rows that
//                 changed sides. A step costs planes x rows, and a pass over the active rows;
//                 nothing grows with the columns but the one vector a pass is made with.
//
// The **running** vector a = -sum_i s_i c_i y_i x_i belongs to the statuses as they are now, those
// of the newest plane. Where rows are shared out, it and its products are of the own rows; points
// and planes are of all rows, so that products of these are the same everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/archive.h"
#include "solve/planes/plane_statuses.h"
#include "solve/planes/signed_rows.h"

namespace hinge {

// What a step needs to know of its two points.
struct Segment {
  double anchor_square = 0;  // |anchor|^2
  double product = 0;        // <anchor, trial>
  double trial_square = 0;   // |trial|^2
  double square = 0;         // |trial - anchor|^2, not below the truth (but for rounding of sums)
  double trial_doubt = 0;    // what rounding may have done to trial_square, about

  void archive(Archive& archive) {
    archive(anchor_square, product, trial_square, square, trial_doubt);
  }
};

// The products <a_j, a_k> of the planes, 0 where a slot is free.
class GramMatrix {
 public:
  explicit GramMatrix(std::size_t slots) : slots_(slots), values_(slots * slots) {}

  std::size_t slots() const { return slots_; }
  std::span<const double> values() const { return values_; }  // <a_j, a_k> at j slots() + k
  double operator()(std::size_t j, std::size_t k) const { return values_[j * slots_ + k]; }
  const double* row(std::size_t j) const { return values_.data() + j * slots_; }
  void set(std::size_t j, std::size_t k, double product) { at(j, k) = at(k, j) = product; }

  // The plane is gone.
  void clear(std::size_t slot) {
    for (std::size_t k = 0; k < slots_; ++k) set(slot, k, 0);
  }
  // a_into <- u a_into + v a_from; `from` is gone.
  void merge(std::size_t into, std::size_t from, double u, double v) {
    const double square =
        u * u * at(into, into) + 2 * u * v * at(into, from) + v * v * at(from, from);
    for (std::size_t k = 0; k < slots_; ++k) set(into, k, u * at(into, k) + v * at(from, k));
    at(into, into) = square;
    clear(from);
  }
  // Room for so many planes, more than now.
  void grow(std::size_t slots) {
    std::vector<double> wider(slots * slots);
    for (std::size_t j = 0; j < slots_; ++j) {
      std::copy_n(row(j), slots_, wider.begin() + static_cast<std::ptrdiff_t>(j * slots));
    }
    values_ = std::move(wider);
    slots_ = slots;
  }
  void archive(Archive& archive) { archive.sized(values_, slots_ * slots_); }

 private:
  double& at(std::size_t j, std::size_t k) { return values_[j * slots_ + k]; }

  std::size_t slots_;
  std::vector<double> values_;
};

class PlaneVectors {
 public:
  explicit PlaneVectors(std::size_t slots) : gram_(slots) {}
  virtual ~PlaneVectors() = default;

  // The anchor; weights[i] = -s_i c_i of the statuses now. There are no planes yet.
  virtual void begin(std::span<const double> w, std::span<const double> weights) = 0;
  // The running vector once more, from the rows.
  virtual void rebuild(std::span<const double> weights) = 0;
  // Rows change sides. The statuses now are still those from before.
  virtual void flip(const Flips& flips, const Margins& margins) = 0;
  // The running vector becomes a plane.
  virtual void take(std::size_t slot) = 0;
  // So does another; anchor and mark are where begin() put them, and all rows active.
  virtual void take(std::size_t slot, std::span<const double> weights) = 0;
  // a_into <- u a_into + v a_from; `from` is free afterwards.
  virtual void merge(std::size_t into, std::size_t from, double u, double v) = 0;
  virtual void drop(std::size_t slot) = 0;
  // Room for so many planes, more than now.
  virtual void grow(std::size_t slots) = 0;

  // trial = -sum_k beta[k] a_k; its margins on the active rows.
  virtual void trial(std::span<const double> beta, Margins& margins) = 0;
  virtual Segment segment() const = 0;
  virtual void advance(double t) = 0;
  virtual std::vector<double> anchor() = 0;
  // margins[i] = those at the anchor, of some rows.
  virtual void at_anchor(const RowList& rows, std::vector<double>& margins) = 0;

  virtual void mark() = 0;
  // trial <- anchor, anchor <- mark; margins of the trial on all rows.
  virtual void return_to_mark(std::vector<double>& margins) = 0;

  // `taken` says which slots have a plane.
  virtual void archive(Archive& archive, const std::vector<bool>& taken) = 0;

  const GramMatrix& gram() const { return gram_; }
  double running_at_anchor() const { return running_at_anchor_; }  // <a, anchor>
  double running_at_trial() const { return running_at_trial_; }    // <a, trial>

 protected:
  GramMatrix gram_;
  double running_at_anchor_ = 0, running_at_trial_ = 0;
};

std::unique_ptr<PlaneVectors> make_column_planes(SignedRows& rows, std::size_t slots);
// `keeps_vectors`: planes are kept as vectors as well. `statuses` and `now`, the statuses of the
// newest plane, are read when they are needed.
std::unique_ptr<PlaneVectors> make_row_planes(SignedRows& rows, std::size_t slots,
                                              bool keeps_vectors, const PlaneStatuses& statuses,
                                              const RowBits& now);

}  // namespace hinge
