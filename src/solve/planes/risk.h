// The empirical risk R(w) = sum_i c_i max(0, 1 - y_i <w,x_i>) wherever the rows live, for solvers
// that make whole passes (cutting planes). Everything as long as the rows or the columns stays
// behind this interface; a solver sees numbers, and names planes by their slots.
//
// A **plane** comes from statuses s_i in [0,1], one a row:
//   a = -sum_i s_i c_i y_i x_i,   b = sum_i s_i c_i,   <a,w> + b <= R(w) for every w.
// Any statuses give a valid plane; those of the rows inside the margin at w touch R there.
//
// A risk remembers two points, the anchor and the trial, and the margins of the rows there:
//   point(t) = anchor + t (trial - anchor).
// Rows that are not **active** are not looked at. They keep the status they have in the newest
// plane, so that R is replaced by R_active <= R, with equality wherever no such row would change
// sides. As every plane is one of R too, bounds stay true whatever is active.
//
// With a free bias (risk/free_bias.h) R(w) is the least over all b of sum_i c_i max(0, 1 - y_i
// (<w,x_i> + b)), and every point has its best b, of R_active. Planes have sum_i s_i c_i y_i = 0,
// so that they do not depend on b. Only search() goes along a straight line in b too.
//
// Sums, never means: risks over parts of the rows add up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/line_search.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "simd/simd.h"

namespace hinge {

struct Segment {
  double anchor_square = 0;  // |anchor|^2
  double product = 0;        // <anchor, trial>
  double trial_square = 0;   // |trial|^2
  double square = 0;         // |trial - anchor|^2, not below the truth (but for rounding of sums)
  double trial_doubt = 0;    // what rounding may have done to trial_square, about

  void archive(Archive& archive) {
    archive(anchor_square, product, trial_square, square, trial_doubt);
  }
};

struct ExactValues {
  double risk = 0;           // R(anchor)
  double anchor_square = 0;  // |anchor|^2
  double b = 0;              // sum_k beta[k] b_k
  double square = 0;         // |sum_k beta[k] a_k|^2
};

// How much work was done.
struct RiskCounts {
  std::uint64_t rows = 0;       // scored, or added to a vector
  std::uint64_t objective = 0;  // scored at a trial
  std::uint64_t search = 0;     // with a bend in the range of a line search

  void archive(Archive& archive) { archive(rows, objective, search); }
};

class Risk {
 public:
  virtual ~Risk() = default;

  // ---- Points: w alone, but for begin() and anchor(), which have a free bias at the end. All rows
  // become active; anchor and trial are w. Returns R(w), from scratch.
  virtual double begin(std::span<const double> w) = 0;
  // trial = -sum_k beta[k] a_k over the slots.
  virtual void set_trial(std::span<const double> beta) = 0;
  virtual Segment segment() const = 0;
  // R_active(point(t)), t >= 0
  virtual double value(double t) = 0;
  // The t in [0, t_max] that minimises a/2 t^2 + b t + R_active(point(t)), a >= 0, exactly.
  virtual double search(double a, double b, double t_max) = 0;
  // What a search looks at (line_search.h), where others have rows too: the slope of
  // R_active(point(t)) without bends at t_max and beyond, and the bends of a bucket after that.
  virtual SlopeSteps slope_steps(double t_max) = 0;
  virtual std::vector<Breakpoint> breakpoints_in(std::size_t bucket) = 0;
  // anchor <- point(t)
  virtual void advance(double t) = 0;
  // The anchor itself.
  virtual std::vector<double> anchor() = 0;

  // ---- Planes. Makes the plane of the statuses at point(t) that of `slot`, which is free; returns
  // b.
  virtual double plane(std::size_t slot, double t) = 0;
  // The plane of given statuses, one a row; the newest plane stays the one it was. All rows must be
  // active.
  virtual double plane_of(std::size_t slot, std::span<const double> statuses) = 0;
  // a_into <- u a_into + v a_from; `from` is free afterwards.
  virtual void merge(std::size_t into, std::size_t from, double u, double v) = 0;
  virtual void drop(std::size_t slot) = 0;
  // Room for so many planes, more than there is and at most RiskOptions::most().
  virtual void grow(std::size_t slots) = 0;
  // <a_j, a_k> at gram()[j * stride + k], 0 where a slot is free; the stride is the number of
  // slots.
  virtual std::span<const double> gram() const = 0;
  // sum_k beta[k] s_ik of every row.
  virtual std::vector<double> statuses(std::span<const double> beta) = 0;
  // The sums behind planes and margins grow by small changes; this computes them from the rows.
  // Returns R_active(anchor).
  virtual double rebuild() = 0;
  // Values of the anchor and of sum_k beta[k] a_k from the rows alone, all of them.
  virtual ExactValues exact(std::span<const double> beta) = 0;

  // ---- Which rows are active. Whether planes are kept by rows rather than by columns, and if so
  // whether rows that become active meet them at little cost.
  virtual bool by_rows() const = 0;
  virtual bool narrows_well() const = 0;
  // `moved` is how far the anchor went since the last call: rows that were not active are that much
  // nearer to their margin, at worst. Active are then those that points within `radius` of the
  // anchor may carry across it, by |<v,x>| <= |v||x|. With a free bias all rows stay active.
  virtual std::uint64_t keep_near(double moved, double radius) = 0;
  // Remembers the anchor and its margins (all rows must be active); moved() is the root mean square
  // by which margins of the anchor differ from there.
  virtual void mark() = 0;
  virtual double moved() = 0;
  // The distance from 1 within which lie the margins of about this share of the rows, at the anchor
  // (all rows must be active); judged by a sample where rows are many.
  virtual double width_of(double share) const = 0;
  // How many rows have their margins within each of these distances, judged likewise.
  virtual void near(std::span<const double> widths, std::span<double> counts) const = 0;
  // Active are the rows whose margin is within `width` of 1; how many. If there are none,
  // nothing changes. Needs mark() at this anchor.
  virtual std::uint64_t narrow(double width) = 0;
  // All rows again: the trial is where the anchor came to since mark(), the anchor what it was
  // there.
  virtual void widen() = 0;
  virtual std::uint64_t active() const = 0;
  virtual std::uint64_t rows() const = 0;  // all there are

  virtual RiskCounts counts() const = 0;

  // All of it, for one of the same problem and options. `taken` says which slots have a plane.
  virtual void archive(Archive& archive, const std::vector<bool>& taken) = 0;
};

// Which rows a solver will have active: all at all times; those of narrow(); those of keep_near(),
// which become active and cease to be at any step.
enum class ActiveUse : std::uint8_t { all, narrowed, wandering };

struct RiskOptions {
  std::size_t slots = 100;     // room for so many planes,
  std::size_t most_slots = 0;  // and for so many when it has grown; 0: it will not
  std::size_t most() const { return std::max(slots, most_slots); }
  ActiveUse use = ActiveUse::all;
  const Simd* simd = &best_simd();
  // On several ranks: search() may return a t that gains so much less than it could, as a share. A
  // small one takes a few messages more.
  double search_doubt = 1e-12;
  // Set where the rows are a part of all, each rank having one. Points and planes are then those of
  // all rows, kept by columns; every number that a call returns is that of the part alone, and
  // R_active may be negative. narrow() leaves a part without active rows if others have some. Not
  // with a free bias.
  Comm* comm = nullptr;
};

// About how many bytes such a risk takes besides the rows, and the small problem over its planes.
double cpu_risk_memory(std::uint64_t rows, std::uint64_t dimension, const RiskOptions& options);

// Rows in memory, passes shared out over the pool; the same bits for any number of threads. The
// problem and its data must live as long.
std::unique_ptr<Risk> make_cpu_risk(const Problem& problem, const RiskOptions& options, Pool& pool);

// Rows shared out among ranks, each of which has some of them and makes the same calls; whatever
// makes the risk of its own rows, this makes it that of all. Every number is the same to the bit on
// every rank, but for counts(), and statuses(), which are of the rank's own rows, as those given to
// plane_of(). A plane costs one sum over the ranks as long as the columns, sparse if few rows
// changed sides, everything else a few numbers.
using MakeRisk = std::unique_ptr<Risk> (*)(const Problem&, const RiskOptions&, Pool&);
std::unique_ptr<Risk> make_all_reduce_risk(const Problem& problem, RiskOptions options, Pool& pool,
                                           Comm& comm, MakeRisk local = make_cpu_risk);

}  // namespace hinge
