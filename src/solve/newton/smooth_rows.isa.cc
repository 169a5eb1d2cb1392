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
  HINGE_INLINE RowsAlongRay view() const { return {z, d, cost, 8}; }
};

HINGE_INLINE Four margins_of_four(const RowsAlongRay& rows, std::size_t k, double t) {
  return load_four(rows.z + k) + t * load_four(rows.d + k);
}

struct SumsOfEightRows {
  Four loss[2] = {}, gain[2] = {};
};

template <class Loss>
HINGE_INLINE void smooth_move_eight(const RowsAlongRay& rows, std::size_t k, double t,
                                    const RowsThere& there, SumsOfEightRows& sums) {
  const Four one = Four{} + 1.0;
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four z = margins_of_four(rows, k, t);
    const Four loss = Loss::value(z), share = Loss::share(z);
    store_four(there.z + k, z);
    store_four(there.share + k, share);
    store_four(there.curvature + k, Loss::curvature(z));
    const Four cost = rows.cost == nullptr ? one : load_four(rows.cost + k);
    sums.loss[f] += cost * loss;
    sums.gain[f] += cost * (loss + share * z);
  }
}

template <class Loss>
HINGE_INLINE SumsOfRows smooth_move_body(const RowsAlongRay& rows, double t,
                                         const RowsThere& there) {
  SumsOfEightRows sums;
  std::size_t k = 0;
  for (; k + 8 <= rows.size; k += 8) smooth_move_eight<Loss>(rows, k, t, there, sums);
  if (k < rows.size) {
    const LastSmoothRows last(rows, k);
    double z[8], share[8], curvature[8];
    smooth_move_eight<Loss>(last.view(), 0, t, {z, share, curvature}, sums);
    const std::size_t bytes = (rows.size - k) * sizeof *z;
    std::memcpy(there.z + k, z, bytes);
    std::memcpy(there.share + k, share, bytes);
    std::memcpy(there.curvature + k, curvature, bytes);
  }
  return {sum_lanes(sums.loss), sum_lanes(sums.gain)};
}

template <class Loss>
HINGE_INLINE void smooth_slope_of_eight(const RowsAlongRay& rows, std::size_t k, double t,
                                        Four* slopes, Four* curvatures) {
  for (std::size_t f = 0; f < 2; ++f, k += 4) {
    const Four z = margins_of_four(rows, k, t), d = load_four(rows.d + k);
    const Four by = rows.cost == nullptr ? d : load_four(rows.cost + k) * d;
    slopes[f] -= by * Loss::share(z);
    curvatures[f] += by * d * Loss::curvature(z);
  }
}

template <class Loss>
HINGE_INLINE SlopeOfRows smooth_slope_body(const RowsAlongRay& rows, double t) {
  Four slopes[2] = {}, curvatures[2] = {};
  std::size_t k = 0;
  for (; k + 8 <= rows.size; k += 8) smooth_slope_of_eight<Loss>(rows, k, t, slopes, curvatures);
  if (k < rows.size) {
    const LastSmoothRows last(rows, k);
    smooth_slope_of_eight<Loss>(last.view(), 0, t, slopes, curvatures);
  }
  return {sum_lanes(slopes), sum_lanes(curvatures)};
}

#define HINGE_SMOOTH(isa, attributes)                                             \
  template <class Loss>                                                           \
  attributes SumsOfRows smooth_move_##isa(const RowsAlongRay& rows, double t,     \
                                          const RowsThere& there) {               \
    return smooth_move_body<Loss>(rows, t, there);                                \
  }                                                                               \
  template <class Loss>                                                           \
  attributes SlopeOfRows smooth_slope_##isa(const RowsAlongRay& rows, double t) { \
    return smooth_slope_body<Loss>(rows, t);                                      \
  }
#define HINGE_SMOOTH_TABLE(isa, attributes) \
  {.move = smooth_move_##isa<Loss>, .slope = smooth_slope_##isa<Loss>},

HINGE_FOR_EACH_ISA(HINGE_SMOOTH)
template <class Loss>
constexpr SmoothLoops kSmoothLoops[] = {HINGE_FOR_EACH_ISA(HINGE_SMOOTH_TABLE)};

}  // namespace

const SmoothLoops& smooth_loops(const Simd& simd, LossKind kind) {
  return visit_loss(kind, [&]<class Loss>(Loss) -> const SmoothLoops& {
    if constexpr (Loss::kSmooth && !Loss::kQuadraticGain) {
      return table_for(simd.isa, kSmoothLoops<Loss>);
    } else {
      throw std::logic_error("its slope does not bend");
    }
  });
}

}  // namespace hinge
