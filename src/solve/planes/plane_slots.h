// The slots of the planes in the small problem over them: b_k and beta_k of each, which are free,
// and which planes go when there is no room for the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/archive.h"
#include "solve/planes/planes.h"

namespace hinge {

class PlaneSlots {
 public:
  // Room for so many planes, and for `most` when it has grown. `planes` has the same slots, and all
  // are free.
  PlaneSlots(Planes& planes, std::size_t slots, std::size_t most)
      : planes_(planes), most_(most), b_(slots), beta_(slots), taken_(slots) {}

  std::size_t slots() const { return b_.size(); }  // free ones, too
  std::size_t count() const { return age_.size(); }
  // By slot; 0 where it is free. Slots from used() on are free.
  std::span<const double> b() const { return b_; }
  std::span<const double> beta() const { return beta_; }
  std::span<double> beta() { return beta_; }
  std::size_t used() const { return *std::ranges::max_element(age_) + 1; }

  // A free slot, which is taken then. When there is none, and may not be more: planes without a
  // part in the bound go, but for the newest; else the two oldest become one, which keeps the
  // bound.
  std::size_t take() {
    if (full() && slots() < most_) grow(std::min(2 * slots(), most_));
    if (full()) drop_idle();
    if (full()) merge_oldest();
    const auto slot = static_cast<std::size_t>(std::ranges::find(taken_, false) - taken_.begin());
    taken_[slot] = true;
    return slot;
  }
  // The small problem may have put weight on planes that are not there: they are planes of 0.
  void clear_free() {
    for (std::size_t k = 0; k < slots(); ++k) {
      if (!taken_[k]) beta_[k] = 0;
    }
  }
  // The slot has a plane: the newest, with no part in the bound yet; or one that counts as the
  // oldest, with a part.
  void add_newest(std::size_t slot, double b) {
    b_[slot] = b;
    age_.push_back(slot);
    beta_[slot] = 0;
  }
  void add_oldest(std::size_t slot, double b, double beta) {
    b_[slot] = b;
    age_.insert(age_.begin(), slot);
    beta_[slot] = beta;
  }

  // All of it; there is a plane. Planes are archived by themselves.
  void archive(Archive& archive) {
    const std::size_t now = slots();
    archive(b_);  // how many there are is believed once that many were read
    archive.sized(beta_, b_.size());
    archive.sized(taken_, b_.size());
    archive.require(b_.size() >= now && b_.size() <= most_);
    if (b_.size() > now) planes_.grow(b_.size());
    archive(age_);
    if (archive.reading()) check(archive);
  }
  const std::vector<bool>& taken() const { return taken_; }

 private:
  bool full() const { return age_.size() == slots(); }

  void grow(std::size_t slots) {
    planes_.grow(slots);
    b_.resize(slots);
    beta_.resize(slots);
    taken_.resize(slots);
  }
  void drop_idle() {
    for (std::size_t k = 0; k + 1 < age_.size();) {
      if (beta_[age_[k]] > 0) {
        ++k;
        continue;
      }
      planes_.drop(age_[k]);
      free(age_[k]);
      age_.erase(age_.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  void merge_oldest() {
    const std::size_t into = age_[0], from = age_[1];
    const double sum = beta_[into] + beta_[from];
    const double u = sum > 0 ? beta_[into] / sum : 0, v = 1 - u;
    planes_.merge(into, from, u, v);
    b_[into] = u * b_[into] + v * b_[from];
    beta_[into] = sum;
    free(from);
    age_.erase(age_.begin() + 1);
  }
  void free(std::size_t slot) {
    b_[slot] = beta_[slot] = 0;
    taken_[slot] = false;
  }

  // Every slot that is taken has one age, and there is one; the others are planes of 0.
  void check(const Archive& archive) const {
    std::vector<bool> seen(slots());
    archive.require(!age_.empty());
    for (const std::size_t slot : age_) {
      archive.require(slot < slots() && taken_[slot] && !seen[slot]);
      seen[slot] = true;
    }
    archive.require(seen == taken_);
    for (std::size_t k = 0; k < slots(); ++k) {
      archive.require(taken_[k] || (beta_[k] == 0 && b_[k] == 0));
    }
  }

  Planes& planes_;
  const std::size_t most_;
  std::vector<double> b_, beta_;
  std::vector<bool> taken_;       // by slot
  std::vector<std::size_t> age_;  // slots in use, oldest first
};

}  // namespace hinge
