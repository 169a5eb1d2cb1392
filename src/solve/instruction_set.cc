#include "base/error.h"
#include "solve/solver.h"

namespace hinge {

const Simd& choose_simd(InstructionSet wanted) {
  if (wanted == InstructionSet::automatic) return best_simd();
  const auto index = static_cast<std::size_t>(wanted) - 1;  // the enum lists them in the same order
  const auto available = available_simd();
  if (index >= available.size()) {
    fail("system.cpu", "this CPU does not have the instruction set asked for by --cpu");
  }
  return *available[index];
}

}  // namespace hinge
