#include "solve/newton/smooth_rows.h"

#include <cstring>
#include <stdexcept>

#include "simd/lanes.h"

namespace hinge {
namespace {

// The last rows, fewer than eight, with others of no cost behind them.
struct LastSmoothRows {
  double z[8] = {}, d[8] = {}, cost[8] = {};
  HINGE_INLINE LastSmoothRows(const RowsAlongRay& all, std::size_t from) {
    for (std::size_t k = 0; from + k < all.size; ++k) {
      z[k] = all.z[from + k];
      d[k] = all.d[from + k];
      cost[k] = all.cost == nullptr ? 1.0 : all.cost[from + k];
    }
  }
  HINGE_INLINE RowsAlongRay view(const LossChoice& loss) const { return {z, d, cost, 8, loss}; }
};

HINGE_INLINE Four margins_of_four(const RowsAlongRay& rows, std::size_t k, double t) {
  return load_four(rows.z + k) + t * load_four(rows.d + k);
}

struct SumsOfEightRows {
  Four loss[2] = {}, gain[2] = {};
};

template <class Loss>
HINGE_INLINE void smooth_move_eight(const RowsAlongRay& rows, std::size_t k, double t,
                                    double* z_there, double* share_there, SumsOfEightRows& sums) {
  const auto loss = make_loss<Loss>(rows.loss);
  const Four one = Four{} + 1.0;
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four z = margins_of_four(rows, k, t);
    const Four value = loss.value(z), share = loss.share(z);
    store_four(z_there + k, z);
    store_four(share_there + k, share);
    const Four cost = rows.cost == nullptr ? one : load_four(rows.cost + k);
    sums.loss[f] += cost * value;
    sums.gain[f] += cost * (value + share * z);
  }
}

template <class Loss>
HINGE_INLINE SumsOfRows smooth_move_body(const RowsAlongRay& rows, double t, double* z,
                                         double* share) {
  SumsOfEightRows sums;
  std::size_t k = 0;
  for (; k + 8 <= rows.size; k += 8) smooth_move_eight<Loss>(rows, k, t, z, share, sums);
  if (k < rows.size) {
    const LastSmoothRows last(rows, k);
    double last_z[8], last_share[8];
    smooth_move_eight<Loss>(last.view(rows.loss), 0, t, last_z, last_share, sums);
    std::memcpy(z + k, last_z, (rows.size - k) * sizeof *z);
    std::memcpy(share + k, last_share, (rows.size - k) * sizeof *share);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.gain)};
}

template <class Loss>
HINGE_INLINE void smooth_slope_of_eight(const RowsAlongRay& rows, std::size_t k, double t,
                                        Four* slopes, Four* curvatures) {
  const auto loss = make_loss<Loss>(rows.loss);
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four z = margins_of_four(rows, k, t), d = load_four(rows.d + k);
    const Four by = rows.cost == nullptr ? d : load_four(rows.cost + k) * d;
    slopes[f] -= by * loss.share(z);
    curvatures[f] += by * d * loss.curvature(z);
  }
}

template <class Loss>
HINGE_INLINE SlopeOfRows smooth_slope_body(const RowsAlongRay& rows, double t) {
  Four slopes[2] = {}, curvatures[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= rows.size; k += 8) smooth_slope_of_eight<Loss>(rows, k, t, slopes, curvatures);
  if (k < rows.size) {
    const LastSmoothRows last(rows, k);
    smooth_slope_of_eight<Loss>(last.view(rows.loss), 0, t, slopes, curvatures);
  }
  return {sum_lanes(slopes), sum_lanes(curvatures)};
}

template <class Loss>
HINGE_INLINE void follow_four(const SharesAlongRay& rows, std::size_t k, double* out, Four& gain,
                              Four& replaced) {
  constexpr double kNear = 0.1;  // of the way to a bound that must be left
  const auto loss = make_loss<Loss>(rows.loss);
  const Four zero = {}, one = zero + 1.0;
  const Four share = load_four(rows.share + k), d = load_four(rows.d + k);
  const Four linear = share - loss.curvature_of_share(share) * d;
  const Four low = kNear * share, high = one - kNear * (one - share);
  const Four below = linear < low ? one : zero, outside = linear > high ? one : below;
  const Four there = outside > zero ? load_four(rows.instead + k) : linear;
  store_four(out + k, there);
  const Four cost = rows.cost == nullptr ? one : load_four(rows.cost + k);
  gain += cost * loss.dual_gain(there, one);
  replaced += outside;
}

template <class Loss>
HINGE_INLINE SumsOfShares follow_body(const SharesAlongRay& rows, double* out) {
  Four gain[2] = {}, replaced[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= rows.size; k += 8) {
    follow_four<Loss>(rows, k, out, gain[0], replaced[0]);
    follow_four<Loss>(rows, k + 4, out, gain[1], replaced[1]);
  }
  if (k < rows.size) {
    double share[8], d[8] = {}, instead[8] = {}, cost[8] = {}, there[8];
    for (double& a : share) a = 0.5;
    for (std::size_t j = 0; k + j < rows.size; ++j) {
      share[j] = rows.share[k + j];
      d[j] = rows.d[k + j];
      instead[j] = rows.instead[k + j];
      cost[j] = rows.cost == nullptr ? 1.0 : rows.cost[k + j];
    }
    const SharesAlongRay last = {share, d, instead, cost, 8, rows.loss};
    follow_four<Loss>(last, 0, there, gain[0], replaced[0]);
    follow_four<Loss>(last, 4, there, gain[1], replaced[1]);
    std::memcpy(out + k, there, (rows.size - k) * sizeof *out);
  }
  return {sum_lanes(gain), sum_lanes(replaced)};
}

#define HINGE_SMOOTH(isa, attributes)                                                    \
  template <class Loss>                                                                  \
  attributes SumsOfRows smooth_move_##isa(const RowsAlongRay& rows, double t, double* z, \
                                          double* share) {                               \
    return smooth_move_body<Loss>(rows, t, z, share);                                    \
  }                                                                                      \
  template <class Loss>                                                                  \
  attributes SlopeOfRows smooth_slope_##isa(const RowsAlongRay& rows, double t) {        \
    return smooth_slope_body<Loss>(rows, t);                                             \
  }                                                                                      \
  template <class Loss>                                                                  \
  attributes SumsOfShares follow_##isa(const SharesAlongRay& rows, double* share) {      \
    return follow_body<Loss>(rows, share);                                               \
  }
#define HINGE_SMOOTH_TABLE(isa, attributes) \
  {.move = smooth_move_##isa<Loss>,         \
   .slope = smooth_slope_##isa<Loss>,       \
   .follow = follow_##isa<Loss>},

HINGE_FOR_EACH_ISA(HINGE_SMOOTH)
template <class Loss>
constexpr SmoothLoops kSmoothLoops[] = {HINGE_FOR_EACH_ISA(HINGE_SMOOTH_TABLE)};

}  // namespace

const SmoothLoops& smooth_loops(const Simd& simd, LossKind kind) {
  return visit_loss(kind, [&]<class Loss>(Loss) -> const SmoothLoops& {
    if constexpr (Loss::kSmooth) {
      return table_for(simd.isa, kSmoothLoops<Loss>);
    } else {
      throw std::logic_error("it is not smooth");
    }
  });
}

}  // namespace hinge
