#include <cstdint>
#include <cstring>

#include "objective/breakpoints.h"
#include "simd/lanes.h"

namespace hinge {
namespace {

// Without branches: which parts break is as good as random.
HINGE_INLINE double find_body(Breakpoints& run, double t_max) {
  using FourInts = std::int32_t __attribute__((vector_size(16)));
  constexpr double kScale = Breakpoints::kBuckets, kLast = Breakpoints::kBuckets - 1;
  const Four zero = {}, scale = zero + kScale, last = zero + kLast, one = zero + 1.0;
  Four slopes = {};
  for (std::size_t k = 0; k < Breakpoints::kRun; k += 4) {
    Four c, d, step;
    std::memcpy(&c, run.c + k, sizeof c);
    std::memcpy(&d, run.d + k, sizeof d);
    std::memcpy(&step, run.step + k, sizeof step);
    const Four length = d < zero ? -d : d, away = c < zero ? -c : c;
    slopes += ((c > zero) | ((c == zero) & (d > zero))) ? step * d : zero;
    step *= length;
    // t/(1+t) = |c|/(|c|+|d|)
    const auto ahead =
        (((c < zero) & (d > zero)) | ((c > zero) & (d < zero))) & (away < t_max * length);
    Four place = away / (ahead ? away + length : one) * kScale;
    place = place < last ? place : last;
    place = ahead ? place : scale;
    const FourInts bucket = __builtin_convertvector(place, FourInts);
    std::memcpy(run.step + k, &step, sizeof step);
    std::memcpy(run.bucket + k, &bucket, sizeof bucket);
  }
  double lanes[4];
  std::memcpy(lanes, &slopes, sizeof lanes);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

using Find = double (*)(Breakpoints& run, double t_max);

#define HINGE_FIND(isa, attributes)                              \
  attributes double find_##isa(Breakpoints& run, double t_max) { \
    return find_body(run, t_max);                                \
  }
#define HINGE_TABLE(isa, attributes) find_##isa,

HINGE_FOR_EACH_ISA(HINGE_FIND)
constexpr Find kFind[] = {HINGE_FOR_EACH_ISA(HINGE_TABLE)};

}  // namespace

double find_breakpoints(Breakpoints& run, double t_max, const Simd& simd) {
  return table_for(simd.isa, kFind)(run, t_max);
}

}  // namespace hinge
