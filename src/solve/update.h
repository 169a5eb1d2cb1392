// Which rows a step of Pegasos learns from, by their margins z = y (<w, x> + b): one comparison, so
// that loops need not know which rule it is.
//
//   margin    z < 1    the rows inside the margin, where the loss has a slope: a sub-gradient step
//   mistake   z <= 0   the rows predicted wrongly: a perceptron that shrinks (docs/pegasos.md). A
//                      score of 0 speaks for no class, so it is a mistake; w = 0 could not begin
//                      otherwise.
#pragma once

#include <limits>

#include "hinge/options.h"

namespace hinge {

// A row is learned from if z is below this. No number lies between 0 and the one of `mistake`.
template <class Loss>
constexpr double learns_below(Update update) {
  return update == Update::mistake ? std::numeric_limits<double>::denorm_min()
                                   : Loss::breakpoints()[0];
}

}  // namespace hinge
