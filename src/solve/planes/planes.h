// The planes of a risk, by their slots: statuses, vectors, and what follows from them. Knows the
// statuses of the newest plane, which the next one begins from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/archive.h"
#include "solve/planes/plane_statuses.h"
#include "solve/planes/plane_vectors.h"
#include "solve/planes/signed_rows.h"

namespace hinge {

// See plane_vectors.h. Planes by rows may be kept as vectors as well.
enum class PlaneLayout : std::uint8_t { columns, rows, rows_and_vectors };

class Planes {
 public:
  Planes(SignedRows& rows, std::size_t slots, PlaneLayout layout);

  PlaneLayout layout() const { return layout_; }
  bool by_rows() const { return layout_ != PlaneLayout::columns; }

  // The statuses of the newest plane; whoever sets them calls begin() next.
  RowBits& now() { return now_; }
  const RowBits& now() const { return now_; }
  // b of the newest plane: that of the own rows.
  double b() const { return b_; }

  // The anchor becomes w. There are no planes yet.
  void begin(std::span<const double> w);
  // The sums behind the newest plane once more, from the rows.
  void rebuild();

  // Makes a plane of the newest one, which it then is: rows flip from 0 to 1 or back, and `between`
  // is the row whose status is not its bit. Returns b of the own rows.
  double lay(std::size_t slot, Flips& flips, const RowBits::Between& between,
             const Margins& margins);
  // A plane of given statuses, one a row; the newest stays the one it was.
  double lay_other(std::size_t slot, std::span<const double> statuses);
  // a_into <- u a_into + v a_from; `from` is free afterwards.
  void merge(std::size_t into, std::size_t from, double u, double v);
  void drop(std::size_t slot);
  // Room for so many planes, more than there is.
  void grow(std::size_t slots);

  const GramMatrix& gram() const { return vectors_->gram(); }
  // sum_k beta[k] s_ik of every row.
  std::vector<double> statuses(std::span<const double> beta) const;

  PlaneVectors& vectors() { return *vectors_; }
  const PlaneVectors& vectors() const { return *vectors_; }

  // `taken` says which slots have a plane.
  void archive(Archive& archive, const std::vector<bool>& taken);

 private:
  std::vector<double> weights();
  void change(Flips& flips, const RowBits::Between& between, double sign) const;

  SignedRows& rows_;
  const PlaneLayout layout_;
  RowBits now_;
  double b_ = 0;
  PlaneStatuses statuses_;
  std::unique_ptr<PlaneVectors> vectors_;
};

}  // namespace hinge
