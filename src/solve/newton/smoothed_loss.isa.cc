#include "solve/newton/smoothed_loss.h"

#include <cstring>
#include <stdexcept>

#include "simd/lanes.h"

namespace hinge {
namespace {

// The last rows, fewer than eight, with others of no cost behind them.
struct LastRows {
  double z[8] = {}, d[8] = {}, centre[8] = {}, cost[8] = {};
  HINGE_INLINE LastRows(const SmoothedRows& all, std::size_t from) {
    for (std::size_t k = 0; from + k < all.size; ++k) {
      z[k] = all.z[from + k];
      d[k] = all.d[from + k];
      centre[k] = all.centre[from + k];
      cost[k] = all.cost == nullptr ? 1.0 : all.cost[from + k];
    }
  }
  HINGE_INLINE SmoothedRows view(const SmoothedRows& all) const {
    return {z, d, centre, cost, 8, all.steepness, all.loss};
  }
};

template <class Loss, bool kCosts>
HINGE_INLINE void slope_of_eight(const SmoothedRows& rows, std::size_t k, double t, Four* sums) {
  const auto loss = make_loss<Loss>(rows.loss);
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four d = load_four(rows.d + k);
    const Four z = load_four(rows.z + k) + t * d;
    Four term = d * loss.prox(load_four(rows.centre + k), z, rows.steepness);
    if (kCosts) term *= load_four(rows.cost + k);
    sums[f] += term;
  }
}

template <class Loss>
HINGE_INLINE double slope_body(const SmoothedRows& rows, double t) {
  Four sums[2] = {};
  std::size_t k = 0;
  if (rows.cost == nullptr) {
    for (; k + 8 <= rows.size; k += 8) slope_of_eight<Loss, false>(rows, k, t, sums);
  } else {
    for (; k + 8 <= rows.size; k += 8) slope_of_eight<Loss, true>(rows, k, t, sums);
  }
  if (k < rows.size) {
    const LastRows last(rows, k);
    slope_of_eight<Loss, true>(last.view(rows), 0, t, sums);
  }
  return sum_lanes(sums);
}

struct SumsOfEight {
  Four loss[2] = {}, gain[2] = {}, bound[2] = {};
};

template <class Loss, bool kCosts>
HINGE_INLINE void move_eight(const SmoothedRows& rows, std::size_t k, double t, double* z,
                             double* status, SumsOfEight& sums) {
  const auto loss = make_loss<Loss>(rows.loss);
  const Four zero = {};
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four moved = load_four(rows.z + k) + t * load_four(rows.d + k);
    const Four now = loss.prox(load_four(rows.centre + k), moved, rows.steepness);
    store_four(z + k, moved);
    store_four(status + k, now);
    const Four cost = kCosts ? load_four(rows.cost + k) : zero + 1.0;
    const Four lost = loss.value(moved), weighted = kCosts ? cost * now : now;
    sums.loss[f] += kCosts ? cost * lost : lost;
    sums.gain[f] += loss.dual_gain(weighted, cost);
    sums.bound[f] += loss.lower_bound(weighted, cost, moved);
  }
}

template <class Loss>
HINGE_INLINE SmoothedSums move_body(const SmoothedRows& rows, double t, double* z, double* status) {
  SumsOfEight sums;
  std::size_t k = 0;
  if (rows.cost == nullptr) {
    for (; k + 8 <= rows.size; k += 8) {
      move_eight<Loss, false>(rows, k, t, z, status, sums);
    }
  } else {
    for (; k + 8 <= rows.size; k += 8) move_eight<Loss, true>(rows, k, t, z, status, sums);
  }
  if (k < rows.size) {
    const LastRows last(rows, k);
    double moved[8], now[8];
    move_eight<Loss, true>(last.view(rows), 0, t, moved, now, sums);
    std::memcpy(z + k, moved, (rows.size - k) * sizeof *z);
    std::memcpy(status + k, now, (rows.size - k) * sizeof *status);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.gain), sum_lanes(sums.bound)};
}

#define HINGE_SMOOTHED(isa, attributes)                                             \
  template <class Loss>                                                             \
  attributes double slope_##isa(const SmoothedRows& rows, double t) {               \
    return slope_body<Loss>(rows, t);                                               \
  }                                                                                 \
  template <class Loss>                                                             \
  attributes SmoothedSums move_##isa(const SmoothedRows& rows, double t, double* z, \
                                     double* status) {                              \
    return move_body<Loss>(rows, t, z, status);                                     \
  }
#define HINGE_TABLE(isa, attributes) {.slope = slope_##isa<Loss>, .move = move_##isa<Loss>},

HINGE_FOR_EACH_ISA(HINGE_SMOOTHED)
template <class Loss>
constexpr SmoothedLoops kLoops[] = {HINGE_FOR_EACH_ISA(HINGE_TABLE)};

}  // namespace

const SmoothedLoops& smoothed_loops(const Simd& simd, LossKind kind) {
  return visit_loss(kind, [&]<class Loss>(const Loss&) -> const SmoothedLoops& {
    if constexpr (Loss::kSmooth) {
      throw std::logic_error("there is nothing to smooth");
    } else {
      return table_for(simd.isa, kLoops<Loss>);
    }
  });
}

}  // namespace hinge
