// What goes together: whether training options fit each other, and their ranges where they were set
// in code.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/error.h"
#include "hinge/options.h"
#include "option_ranges.h"
#include "solve/traits.h"

namespace hinge {
namespace {

void check(bool good, std::string_view message) {
  if (!good) fail("usage.value", std::string(message));
}

template <class Range, class Value>
void check_in(const Range& range, Value value, std::string_view member) {
  if (!range.contains(value)) {
    fail("usage.value", fmt::format("{}: expected {}", member, range.words()));
  }
}

// check_in() where a complaint says no more of the range than its ends.
template <class Range, class Value>
void check_ends(const Range& range, Value value, std::string_view member) {
  if (!range.contains(value)) {
    fail("usage.value", fmt::format("{}: expected {}", member, range.ends()));
  }
}

[[noreturn]] void fail_only(OptionGroup group) {
  const std::string solvers = one_or_other(names_of(group));
  std::string names;
  for (const OptionInfo& info : train_option_table()) {
    if (info.solver != solvers) continue;
    names += fmt::format("{}--{}", names.empty() ? "" : ", ", info.name);
  }
  fail("usage.value", fmt::format("only --solver {} has {}", solvers, names));
}

void check_pegasos(const TrainOptions& o) {
  const PegasosOptions& p = o.pegasos;
  check(p.epochs == 0 || p.steps == 0, "give --epochs or --steps, not both");
  if (!kRuns.contains(p.runs) || (p.iterate != Iterate::best_of && p.runs != 1)) {
    fail("usage.value",
         fmt::format("runs: expected {}, and 1 unless the iterate is best_of", kRuns.ends()));
  }
  const KernelFunction& kernel = p.kernel;
  if (kernel.gamma != 0) check_in(kPositive, kernel.gamma, "gamma");
  check_in(kAnyNumber, kernel.coef0, "coef0");
  check_ends(kDegree, kernel.degree, "degree");
  if (kernel.linear()) {
    check(kernel == KernelFunction{} && p.budget == 0,
          "--gamma, --coef0, --degree and --budget need --kernel rbf, poly or sigmoid");
  } else {
    const std::string_view gap = o.gap                ? "--gap"
                                 : o.gap_absolute > 0 ? "--gap-absolute"
                                 : o.gap_per_row > 0  ? "--gap-per-row"
                                                      : "";
    if (!gap.empty() && !kernel.positive_definite()) {
      fail("usage.value",
           fmt::format("{}: this kernel is no inner product (sigmoid, or poly with coef0 < 0), and "
                       "no bound can be proved",
                       gap));
    }
    check(kernel.kind != KernelKind::rbf || kernel.coef0 == 0,
          "--coef0: the kernel rbf has none; poly and sigmoid have");
    check(kernel.kind == KernelKind::poly || kernel.degree == KernelFunction{}.degree,
          "--degree: only the kernel poly has one");
    check(p.budget == 0 || !p.projection, "give --budget or --projection, not both");
    check(!o.free_bias || traits_of(Solver::pegasos).with_kernel.free_bias,
          "--bias: with a kernel expected none or a number, got free");
  }
  check_in(kFirstStep, p.t0.value_or(0), "t0");
  // Such a run may come no nearer to the optimum, ever.
  const bool goal = goals_of(o, 0).any();
  check(
      p.update == Update::margin || !goal || p.epochs > 0 || p.steps > 0 || o.max_passes > 0 ||
          o.time_limit < kInfinity || p.iterate == Iterate::best_of,
      "nothing promises that --update mistake reaches a gap or a target; give --epochs or another "
      "end, too");
}

// Kernels, and options that only some solvers have.
void check_solver(const TrainOptions& o) {
  const bool pegasos = uses_pegasos(o);
  if (!pegasos && !o.pegasos.kernel.linear()) {
    const std::vector<std::string_view> others =
        names_where([](const SolverTraits& traits) { return traits.with_kernel.offered; });
    fail("usage.value", fmt::format("--solver {} takes no kernels; --solver {} does",
                                    to_string(o.solver), one_or_other(others)));
  }
  if (!pegasos && o.pegasos != PegasosOptions{}) fail_only(OptionGroup::pegasos);
  if (!cutting_planes(o.solver) && o.planes != PlaneOptions{}) fail_only(OptionGroup::planes);
  check(o.lanes == 0 || o.solver == Solver::dual || o.solver == Solver::automatic,
        "--lanes: only --solver auto or dual has lanes");
  if (o.planes.planes != 0) check_ends(kPlanes, o.planes.planes, "planes");
  if (o.planes.mu != 0) check_in(kMu, o.planes.mu, "mu");
}

// Where rows have numbers to be predicted there are no classes.
void check_regression(const TrainOptions& o) {
  check_in(kEpsilon, o.epsilon, "epsilon");
  if (!is_regression(o.loss)) {
    check(o.epsilon == TrainOptions{}.epsilon,
          "--epsilon: only losses of regression have one: --loss epsilon_insensitive or "
          "squared_epsilon");
    return;
  }
  check(!o.balanced && o.class_weights.empty(),
        "--class-weight: with a loss of regression rows have no classes; --weights gives each its "
        "own");
  check(!o.reject, "--reject: with a loss of regression there is no class to refuse");
  check(o.pegasos.kernel.linear(), "--kernel: a loss of regression is trained without kernels");
  check(o.pegasos.update == Update::margin,
        "--update mistake: with a loss of regression no row is predicted wrongly, only missed");
}

}  // namespace

Result<void> validate(const TrainOptions& o) {
  return guard([&] {
    check(o.loss <= LossKind::squared_epsilon,
          "loss: expected hinge, squared_hinge, logistic, epsilon_insensitive or squared_epsilon");
    check_regression(o);
    check_in(kPositive, o.cost, "cost");
    if (o.lambda != 0) check_in(kPositive, o.lambda, "lambda");
    if (o.path.size() > kPath.most ||
        !std::ranges::all_of(o.path, [](double c) { return kPositive.contains(c); }) ||
        std::ranges::adjacent_find(o.path, std::greater_equal<>()) != o.path.end()) {
      fail("usage.value", fmt::format("path: expected up to {} finite numbers {}, ascending",
                                      kPath.most, kPositive.ends()));
    }
    check(o.path.empty() || o.lambda == 0, "give several costs or --lambda, not both");
    check(o.path.empty() || o.pegasos.kernel.linear(), "--kernel: takes one cost, not several");
    if (o.gap) check_in(kGap, *o.gap, "gap");
    if (o.gap_absolute != 0) check_in(kPositive, o.gap_absolute, "gap_absolute");
    if (o.gap_per_row != 0) check_in(kPositive, o.gap_per_row, "gap_per_row");
    if (o.target != 0) check_in(kPositive, o.target, "target");
    check_in(kBias, std::abs(o.bias), "bias");
    check_ends(kThreads, o.threads, "threads");
    if (o.lanes != 0) check_ends(kLaneCount, o.lanes, "lanes");
    if (o.time_limit != kInfinity && !kSeconds.contains(o.time_limit)) {
      fail("usage.value", fmt::format("time_limit: expected seconds {}", kSeconds.ends()));
    }
    for (const ClassWeight& w : o.class_weights) check_in(kFactor, w.factor, "class weight");
    check_solver(o);
    check_pegasos(o);
  });
}

}  // namespace hinge
