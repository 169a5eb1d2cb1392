// The empirical risk R(w) = sum_i c_i l(y_i <w,x_i>), l the hinge, and planes below it. Everything
// as long as the rows or the columns stays in here; the solver sees numbers, and names planes by
// their slots.
//
// A **plane** comes from statuses s_i in [0,1], one a row:
//   a = -sum_i s_i c_i y_i x_i,   b = sum_i s_i c_i,   <a,w> + b <= R(w) for every w.
// Any statuses give a valid plane; those of the rows inside the margin at w touch R there.
//
// A risk remembers two points, the anchor and the trial, and the margins of the rows there:
//   point(t) = anchor + t (trial - anchor).
// Rows that are not **active** are not looked at. They keep the status they have in the newest
// plane, so that R is replaced by R_active <= R, with equality wherever no such row would change
// sides. As every plane is one of R too, bounds stay true whatever is active. With s the statuses
// now, R_active is the newest plane and what active rows add to it:
//   R_active(w) = <a,w> + b + sum_active c_i max(0, s_i = 1 ? z_i - 1 : 1 - z_i),  z = margin at w,
// so that along a segment only rows that change sides break its slope.
//
// With a free bias (objective/free_bias.h) R(w) is the least over all b of sum_i c_i l(y_i (<w,x_i>
// + b)), and every point has its best b, of R_active. Planes have sum_i s_i c_i y_i = 0, so that
// they do not depend on b. Only search() goes along a straight line in b too.
//
// Where the Rows are shared out among ranks, each has the margins, the statuses and the active rows
// of its own; numbers are of all rows and the same to the bit on every rank. A plane costs one sum
// over the ranks as long as the columns, sparse if few rows changed sides, everything else a few
// numbers. Not with a free bias.
//
// What has a shape of its own stands apart: the planes (planes.h), the best bias (best_bias.h), the
// line search (segment_search.h), and which rows are to be active (wandering.h, focus.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "rows/rows.h"
#include "simd/simd.h"
#include "solve/planes/best_bias.h"
#include "solve/planes/planes.h"
#include "solve/planes/segment_search.h"
#include "solve/planes/signed_rows.h"
#include "solve/planes/tuning.h"

namespace hinge {

struct ExactValues {
  double risk = 0;           // R(anchor)
  double anchor_square = 0;  // |anchor|^2
  double b = 0;              // sum_k beta[k] b_k
  double square = 0;         // |sum_k beta[k] a_k|^2
};

// How much work was done on the own rows.
struct RiskCounts {
  std::uint64_t rows = 0;       // scored, or added to a vector
  std::uint64_t objective = 0;  // scored at a trial
  std::uint64_t search = 0;     // with a breakpoint in the range of a line search

  void archive(Archive& archive) { archive(rows, objective, search); }
};

// Which rows a solver will have active: all at all times; those near the margin for a round
// (focus.h); those that may cross it, which become active and cease to be at any step
// (wandering.h).
enum class ActiveUse : std::uint8_t { all, narrowed, wandering };

struct RiskOptions {
  std::size_t slots = 100;     // room for so many planes,
  std::size_t most_slots = 0;  // and for so many when it has grown; 0: it will not
  std::size_t most() const { return std::max(slots, most_slots); }
  ActiveUse use = ActiveUse::all;
  const Simd* simd = &best_simd();
  // Where rows are shared out, search() may return a t that gains so much less than it could, as a
  // share. A small one takes a few messages more.
  double search_doubt = PlanesTuning::kSearchDoubt;
};

// About how many bytes such a risk takes besides the rows, and the small problem over its planes.
double risk_memory(std::uint64_t rows, std::uint64_t dimension, const RiskOptions& options);

// Passes are shared out over the pool, with the same bits for any number of threads.
class Risk {
 public:
  // The rows are those of the problem, without a free bias; all must live as long.
  Risk(const Problem& problem, Rows& rows, const RiskOptions& options, Pool& pool);
  Risk(const Risk&) = delete;
  Risk& operator=(const Risk&) = delete;

  // ---- Points: w alone, but for begin() and anchor(), which have a free bias at the end.

  // All rows become active; anchor and trial are w. Returns R(w), from scratch.
  double begin(std::span<const double> w);
  // trial = -sum_k beta[k] a_k over the slots.
  void set_trial(std::span<const double> beta);
  Segment segment() const { return planes_.vectors().segment(); }
  // R_active(point(t)), t >= 0
  double value(double t);
  // The t in [0, t_max] that minimises a/2 t^2 + b t + R_active(point(t)), a >= 0.
  double search(double a, double b, double t_max);
  // anchor <- point(t)
  void advance(double t);
  // The anchor itself.
  std::vector<double> anchor();

  // ---- Planes.

  // Makes the plane of the statuses at point(t) that of `slot`, which is free; returns b.
  double plane(std::size_t slot, double t);
  // The plane of given statuses, one for each own row; the newest plane stays the one it was.
  // Anchor and mark must be where begin() put them.
  double plane_of(std::size_t slot, std::span<const double> statuses);
  // The sums behind planes and margins grow by small changes; this computes them from the rows.
  // Returns R_active(anchor).
  double rebuild();
  // Values of the anchor and of sum_k beta[k] a_k from the rows alone, all of them.
  ExactValues exact(std::span<const double> beta);
  // For merging and dropping them, their products and statuses.
  Planes& planes() { return planes_; }
  const Planes& planes() const { return planes_; }

  // ---- Which rows are active.

  // These are, `in_all` of them where rows are shared out. `entering`: those of them that were not.
  void activate(RowList list, std::uint64_t in_all, std::vector<std::uint64_t> entering = {});
  std::uint64_t active() const { return active_in_all_; }
  // Remembers the anchor and its margins; all rows must be active.
  void mark();
  // All rows are active again: the trial is where the anchor came to since mark(), the anchor what
  // it was there.
  void return_to_mark();

  const SignedRows& rows() const { return rows_; }
  const Margins& margins() const { return margins_; }
  RiskCounts counts() const;

  // All of it, for one of the same problem and options. `taken` says which slots have a plane.
  void archive(Archive& archive, const std::vector<bool>& taken);

 private:
  struct StatusAt;
  StatusAt statuses_at(double t);
  void add_bias(const RowList& rows, double b, std::vector<double>& margins) const;

  SignedRows rows_;
  const ActiveUse use_;
  Margins margins_;
  std::uint64_t active_in_all_;
  Planes planes_;
  BestBias best_bias_;
  SegmentSearch search_;
  std::uint64_t objective_ = 0;  // rows scored at a trial
  std::vector<Flips> flips_;     // of the blocks, and all: of the last plane, kept for their memory
  Flips all_flips_;
};

}  // namespace hinge
