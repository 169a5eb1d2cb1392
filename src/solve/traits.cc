#include "solve/traits.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace hinge {
namespace {

constexpr std::array<const SolverTraits*, 8> kSolvers = {
    &kDualTraits,      &kNewtonTraits,    &kPegasosTraits,   &kPlanesTraits[0],
    &kPlanesTraits[1], &kPlanesTraits[2], &kPlanesTraits[3], &kPlanesTraits[4]};

}  // namespace

std::span<const SolverTraits* const> all_solvers() {
  return kSolvers;
}

const SolverTraits& traits_of(Solver solver) {
  return *kSolvers.at(static_cast<std::size_t>(solver) - 1);  // after Solver::automatic
}

std::vector<std::string_view> names_of(OptionGroup options) {
  return names_where([&](const SolverTraits& traits) { return traits.options == options; });
}

void fail_on_ranks(const std::string& what, std::string help) {
  fail("mpi.unsupported", what + ", which several ranks cannot do", std::move(help));
}

}  // namespace hinge
