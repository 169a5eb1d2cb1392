#include "base/error.h"
#include "solve/solver.h"

namespace hinge {

const Kernels& choose_kernels(InstructionSet wanted) {
  if (wanted == InstructionSet::automatic) return best_kernels();
  const auto index = static_cast<std::size_t>(wanted) - 1;  // the enum lists them in the same order
  const auto available = available_kernels();
  if (index >= available.size()) {
    fail("system.cpu", "this CPU does not have the instruction set asked for by --cpu");
  }
  return *available[index];
}

}  // namespace hinge
