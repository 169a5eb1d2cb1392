// What inner loops are held to: the definition of their sums, written out, and its bits; and tests
// that run for every instruction set of this CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "simd/simd.h"

namespace hinge::testing {

inline bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The one order in which eight lanes become a sum.
template <class Number>
Number sum_of_lanes(const Number* l) {
  return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

// Eight lanes, element k in lane k mod 8.
template <class Value, class Weight>
Weight reference_dot(SparseRow<Value> row, const Weight* w) {
  Weight lanes[8] = {};
  for (std::size_t k = 0; k < row.size; ++k) {
    lanes[k % 8] += static_cast<Weight>(row.values[k]) * w[row.columns[k]];
  }
  return sum_of_lanes(lanes);
}

class ForEveryIsa : public ::testing::TestWithParam<const Simd*> {
 protected:
  const Simd& simd() const { return *GetParam(); }
};

inline auto every_isa() {
  return ::testing::ValuesIn(available_simd().begin(), available_simd().end());
}
inline std::string name_of_isa(const ::testing::TestParamInfo<const Simd*>& instance) {
  return std::string(instance.param->name);
}

}  // namespace hinge::testing
