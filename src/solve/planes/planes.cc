#include "solve/planes/planes.h"

#include <utility>

namespace hinge {

Planes::Planes(SignedRows& rows, std::size_t slots, PlaneLayout layout)
    : rows_(rows), layout_(layout), now_(rows.size()), statuses_(rows.size(), slots) {
  vectors_ =
      layout == PlaneLayout::columns
          ? make_column_planes(rows, slots)
          : make_row_planes(rows, slots, layout == PlaneLayout::rows_and_vectors, statuses_, now_);
}

// -s_i c_i of the statuses now; b as well.
std::vector<double> Planes::weights() {
  std::vector<double> weights = huge_vector(rows_.size());
  b_ = rows_.add_up(rows_.all(), [&](std::uint64_t begin, std::uint64_t end) {
    double part = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      const double status = now_.status(i);
      if (status == 0) continue;
      weights[i] = -rows_.cost(i) * status;
      part -= weights[i];
    }
    return part;
  });
  return weights;
}

void Planes::begin(std::span<const double> w) {
  vectors_->begin(w, weights());
}

void Planes::rebuild() {
  vectors_->rebuild(weights());
}

// The status of a row between becomes its bit, or the other way round.
void Planes::change(Flips& flips, const RowBits::Between& between, double sign) const {
  if (between.more == 0) return;
  flips.add_to(between.row, sign * between.more * rows_.cost(between.row));
}

double Planes::lay(std::size_t slot, Flips& flips, const RowBits::Between& between,
                   const Margins& margins) {
  std::vector<std::uint64_t> flipped;  // by their bits; rows between change besides
  const bool any_between = now_.between.more != 0 || between.more != 0;
  if (any_between) {
    flipped = flips.rows.list;
    change(flips, now_.between, 1);
    change(flips, between, -1);
  }
  vectors_->flip(flips, margins);
  for (const std::uint64_t i : any_between ? flipped : flips.rows.list) now_.flip(i);
  for (const double weight : flips.weights) b_ -= weight;
  now_.between = between;
  statuses_.set(slot, now_);
  vectors_->take(slot);
  return b_;
}

double Planes::lay_other(std::size_t slot, std::span<const double> statuses) {
  std::vector<double> weights(statuses.begin(), statuses.end());
  double b = 0;
  for (std::uint64_t i = 0; i < weights.size(); ++i) {
    b += rows_.cost(i) * weights[i];
    weights[i] *= -rows_.cost(i);
  }
  statuses_.set(slot, statuses);
  vectors_->take(slot, weights);
  return b;
}

void Planes::merge(std::size_t into, std::size_t from, double u, double v) {
  vectors_->merge(into, from, u, v);
  statuses_.merge(into, from, u, v, rows_.pool());
}

void Planes::drop(std::size_t slot) {
  vectors_->drop(slot);
  statuses_.drop(slot);
}

void Planes::grow(std::size_t slots) {
  vectors_->grow(slots);
  statuses_.grow(slots);
}

std::vector<double> Planes::statuses(std::span<const double> beta) const {
  std::vector<double> out = huge_vector(rows_.size());
  statuses_.spread(beta, out, rows_.pool());
  return out;
}

void Planes::archive(Archive& archive, const std::vector<bool>& taken) {
  now_.archive(archive, rows_.size());
  archive.require(now_.size() > 0 || rows_.size() == 0);
  statuses_.archive(archive, taken);
  vectors_->archive(archive, taken);
  archive(b_);
}

}  // namespace hinge
