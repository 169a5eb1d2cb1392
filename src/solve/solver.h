// Every solver is one function here. It works on a Problem until its Monitor says stop and returns
// the best point it found with feasible dual variables; whoever calls it has both certified
// (proof/). Where it can tell its whole state it asks the Monitor whether that is wanted. From such
// a state (SolverOptions::resume) it goes on, with the same problem, options and start, as if it
// had never stopped: to the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "hinge/options.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "simd/simd.h"
#include "solve/monitor.h"
#include "solve/tuning.h"

namespace hinge {

struct QuantisedRows;  // rows/quantised_rows.h

// Where a solver may begin, for one problem.
struct Start {
  std::vector<double> w;      // problem.dimension() numbers
  std::vector<double> alpha;  // a dual point inside the box, or empty
};

// What a solver on several ranks tells of its state instead of all of it: where another run, with
// any number of ranks, may begin. alpha is that of the rank's own rows.
struct PartState {
  std::vector<double> w, alpha;

  void archive(Archive& archive) { archive(w, alpha); }
};

struct Solution {
  // Best primal point: problem.dimension() numbers, or with a kernel one coefficient a row.
  std::vector<double> w;
  std::vector<double> alpha;  // best dual point, one number a row, inside its box; empty: no bound
  std::uint64_t iterations = 0;
  std::uint64_t rows_touched = 0;
  std::uint64_t objective_rows = 0, search_rows = 0;  // as in Progress
  bool stalled = false;    // ended because rounding allows no further progress, or it crawled:
  double passes_left = 0;  // then it would have taken about so many more; infinite: any number
  bool changed = false;    // another solver went on with it
  bool cut_short = false;  // a limit ended it before the steps asked for were done
};

// On several ranks (SolverOptions::comm) a problem has the rows of this rank alone, and so has
// alpha of a start or a solution; w is that of all rows, and the same to the bit on every rank.
// Ranks take the same steps, so limits and signals count once all know of them (monitor.h), and no
// pool may be one that throws Interrupted.

// The inner loops asked for. Throws Failure (system.cpu) if this CPU cannot run them.
const Simd& choose_simd(InstructionSet wanted);

// What any solver may be handed; the setup of a solver below has what is its own besides.
struct SolverOptions {
  std::uint64_t seed = 1;
  const Simd* simd = &best_simd();
  std::span<const Start> start = {};       // one a problem, or none: w = 0
  std::span<const std::byte> resume = {};  // a state that a StateSink got: go on from there
  Comm* comm = nullptr;                    // the ranks, if there are several
};

// ---- Dual descent.

struct DualSetup {
  SolverOptions common = {};
  // It may begin with w in floats: no value is so small or large that it could not.
  bool float_weights = false;
  const QuantisedRows* quantised_rows = nullptr;  // rows for that, if these are of doubles
  std::size_t lanes = 1;  // that descend side by side, at most (dual/side_by_side.h)
};

// Dual coordinate descent. Each step moves one dual variable to its optimum:
//   a_i <- clip(a_i - (y_i <w,x_i> - 1)/|x_i|^2, 0, U_i),  w = sum_i a_i y_i x_i kept up to date.
// Rows are visited in shuffled runs of neighbours (memory streams, epochs needed stay the same).
// Rows at a bound whose gradient points well outwards rest until the next exact pass, which
// computes P and D from all rows and chooses the rows to work on anew. Hard problems are found by
// leaps along the way that epochs take. Begins at alpha of a start; its w is one point to compare.
// On several ranks each is a lane (dual/lane.h): it descends on its own rows, then all steps are
// joined. A start must have alpha there, a state that is told is a PartState, and a free bias is
// not taken.
Solution solve_dual(const Problem& problem, const DualSetup& setup, Monitor& monitor, Pool& pool);

// About how many bytes one such run takes besides the rows; and those of them that it takes for
// each row.
double dual_memory(const Dataset& data, std::uint64_t dimension, double gap, bool free_bias);
double dual_bytes_a_row(bool free_bias);
// How many lanes, at most `most`, pay for rows of so many entries; and of how many entries each of
// them visits rows between two joins.
std::size_t lanes_worth(double entries, std::size_t dimension, std::size_t most);
double entries_a_round(std::size_t dimension);

// ---- Newton.

// Newton steps on a smoothed problem (newton/part.h) that comes ever closer to the given one: an
// augmented Lagrangian. Each step factors a matrix of all columns by all columns, and there are few
// steps: for many more rows than columns. It begins on samples of the rows and ends on those near
// the margin, between exact passes.
Solution solve_newton(const Problem& problem, const SolverOptions& options, Monitor& monitor,
                      Pool& pool);

// About how many bytes one such run takes besides the rows; and how much work (monitor.h), mostly.
double newton_memory(const Dataset& data, std::uint64_t dimension);
double newton_work(const Dataset& data, std::uint64_t dimension);

// ---- Cutting planes.

struct PlanesSetup {
  SolverOptions common = {};
  Solver method = Solver::focus;
  PlaneOptions planes = {};
};

// Cutting planes: R(w) = sum_i c_i h_i is replaced by the largest of some planes below it, whose
// minimum w_t is found by a small quadratic program and is the bound; a new plane is then laid
// where that helps most. `method` is one of
//   cpa     plane at w_t
//   ocas    exact line search from the best point w_b to w_t; plane a little way on
//   ocas3   as ocas, with a parabola through three points for the search
//   active  as ocas, on the rows that the step can carry across the margin, and no others
//   focus   as ocas, on the rows near the margin, until they are solved as far as it pays; then one
//           step on all rows, which is exact and goes back as far as it must
// Bound and best primal value are those of all rows at every report, but for the rounding of
// running sums; a gap counts as reached only when sums from scratch say so.
Solution solve_planes(const Problem& problem, const PlanesSetup& setup, Monitor& monitor,
                      Pool& pool);

// About how many bytes one such run takes besides the rows.
double planes_memory(const Dataset& data, std::uint64_t dimension, Solver method,
                     const PlaneOptions& options);

// ---- Pegasos.

// How scores come about with a kernel (kernel_passes.h).
enum class KernelWay : std::uint8_t { by_budget, scores, blocks };

struct PegasosSetup {
  SolverOptions common = {};
  PegasosOptions pegasos = {};
  KernelWay kernel_way = KernelWay::by_budget;
  std::uint64_t kernel_memory = std::uint64_t{1} << 30;  // for kernel values that are kept
  std::uint64_t bound_rows = 5000;  // with KernelWay::blocks: rows a bound may always rest on
};

// Pegasos: stochastic sub-gradient steps (pegasos_state.h) in all published variants. Problems that
// share rows, costs and bias are solved in one sweep: a row is read once and updates all of them.
// Two or more at once give each the same bits as any other two or more would. One monitor a
// problem; limits without a goal mean that none was asked for. With a kernel points are
// coefficients of rows (kernel_passes.h), and everything else is the same.
//
// On several ranks each has a share of every batch (batches.h), and a step is a sum. What is not
// done there, pegasos/traits.cc says.
std::vector<Solution> solve_pegasos(std::span<const Problem> problems, const PegasosSetup& setup,
                                    std::span<Monitor> monitors, Pool& pool);

}  // namespace hinge
