// How planes are kept, their inner products, and the margins of points made of them. Two ways:
//
//   ColumnPlanes  each plane is a vector as long as the columns; a trial is added up from them and
//                 the rows are scored at it. A step costs planes x columns, and a pass.
//   RowPlanes     a plane is its statuses alone; of each row the score at each plane is kept. A
//                 trial's margins are small sums, an inner product follows from the rows that
//                 changed sides. A step costs planes x rows, and a pass over the active rows;
//                 nothing grows with the columns but the one vector a pass is made with.
//
// The **running** vector a = -sum_i s_i c_i y_i x_i belongs to the statuses as they are now, those
// of the newest plane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rows/passes.h"
#include "solve/planes/plane_statuses.h"
#include "solve/planes/risk.h"

namespace hinge {

// The rows that are looked at: all, or a list in ascending order; cut into blocks of about as many
// nonzeros, a function of the rows alone.
struct ActiveRows {
  bool all = true;
  std::vector<std::uint64_t> list;
  std::vector<std::uint64_t> cuts;  // block b has the entries cuts[b] .. cuts[b+1] - 1
  std::uint64_t size() const { return cuts.empty() ? 0 : cuts.back(); }
  std::size_t blocks() const { return cuts.empty() ? 0 : cuts.size() - 1; }
  std::uint64_t row(std::uint64_t k) const { return all ? k : list[k]; }
};

struct Flip {
  std::uint64_t row;
  double weight;  // a += weight y x: cost times (old status - new status)
};

// What passes need of a problem.
template <class Value>
struct RiskRows {
  RiskRows(const Problem& p, const CsrView<Value>& view, const Simd& k, Pool& threads)
      : problem(p),
        m(view),
        simd(k),
        pool(threads),
        passes(m, p.free_bias ? 0.0 : p.bias, 1, k, threads) {}

  double cost(std::uint64_t i) const { return problem.factor(i); }
  double sign(std::uint64_t i) const { return problem.y[i]; }
  double margin(std::uint64_t i, const double* w) const {
    double score = 0;
    passes.score(i, w, &score);
    return sign(i) * score;
  }
  // f(block, first, last) for blocks of entries of the active rows
  template <class F>
  void for_blocks(const ActiveRows& rows, const F& f) {
    pool.run(rows.blocks(), [&](std::size_t b) { f(b, rows.cuts[b], rows.cuts[b + 1]); });
  }
  // margins[i] = y_i <w, x_i> of the active rows
  void margins(const ActiveRows& rows, const std::vector<double>& w, double* margins) {
    for_blocks(rows, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = rows.row(k);
        margins[i] = margin(i, w.data());
      }
    });
    touched += rows.size();
  }
  // w += sum_k weights[k] y x over rows row(k)
  template <class RowOf>
  void combine(std::uint64_t count, const RowOf& row, std::vector<double>& weights, double* w) {
    for (std::uint64_t k = 0; k < count; ++k) {
      if (weights[k] != 0) ++touched;
      weights[k] *= sign(row(k));
    }
    passes.combine(count, row, weights.data(), w);
  }
  ActiveRows cut(std::vector<std::uint64_t> list) const;

  const Problem& problem;
  const CsrView<Value>& m;
  const Simd& simd;
  Pool& pool;
  Passes<Value> passes;
  std::uint64_t touched = 0;  // rows scored or added
};

template <class Value>
ActiveRows RiskRows<Value>::cut(std::vector<std::uint64_t> list) const {
  constexpr std::uint64_t kNonzeros = std::uint64_t{1} << 16;
  constexpr std::uint64_t kRows = std::uint64_t{1} << 13;
  ActiveRows rows{.all = false, .list = std::move(list), .cuts = {0}};
  std::uint64_t work = 0;
  for (std::uint64_t k = 0; k < rows.list.size(); ++k) {
    work += m.offsets[rows.list[k] + 1] - m.offsets[rows.list[k]];
    if (work >= kNonzeros || k + 1 - rows.cuts.back() >= kRows) {
      rows.cuts.push_back(k + 1);
      work = 0;
    }
  }
  if (rows.cuts.back() != rows.list.size()) rows.cuts.push_back(rows.list.size());
  return rows;
}

// Whether planes by rows are kept as vectors too, where these are short: rows that become active
// meet them sooner.
inline bool keeps_vectors(std::size_t most_slots, std::uint64_t dimension) {
  constexpr std::size_t kVectors = std::size_t{1} << 23;  // numbers
  return most_slots * dimension <= kVectors;
}

class PlaneVectors {
 public:
  explicit PlaneVectors(std::size_t slots) : slots_(slots), gram_(slots * slots) {}
  virtual ~PlaneVectors() = default;

  // The anchor; weights[i] = -s_i c_i of the statuses now. No planes yet.
  virtual void begin(std::span<const double> w, std::vector<double> weights) = 0;
  // The running vector once more, from the rows.
  virtual void rebuild(std::vector<double> weights) = 0;
  // Rows changed sides; and margins by row, at the mark only if there is one.
  virtual void flip(std::span<const Flip> flips, const double* at_anchor, const double* at_trial,
                    const double* at_mark) = 0;
  // The running vector becomes a plane.
  virtual void take(std::size_t slot) = 0;
  // So does another; anchor and mark are where begin() put them, and all rows active.
  virtual void take(std::size_t slot, std::vector<double> weights, const ActiveRows& rows) = 0;
  virtual void merge(std::size_t into, std::size_t from, double u, double v) = 0;
  virtual void drop(std::size_t slot) = 0;

  // trial = -sum_k beta[k] a_k; its margins on the active rows, by row.
  virtual void trial(std::span<const double> beta, const ActiveRows& rows, double* margins) = 0;
  virtual Segment segment() const = 0;
  virtual double running_at_anchor() const = 0;
  virtual double running_at_trial() const = 0;
  virtual void advance(double t) = 0;
  virtual std::vector<double> anchor() = 0;
  // Margins at the anchor of some rows.
  virtual void at_anchor(const ActiveRows& rows, double* margins) = 0;

  virtual void mark() = 0;
  // trial <- anchor, anchor <- mark; margins of the trial on all rows.
  virtual void widen(const ActiveRows& all, double* margins) = 0;

  // Room for so many planes, more than now.
  virtual void grow(std::size_t slots) {
    std::vector<double> gram(slots * slots);
    for (std::size_t j = 0; j < slots_; ++j) {
      std::copy_n(gram_.begin() + static_cast<std::ptrdiff_t>(j * slots_), slots_,
                  gram.begin() + static_cast<std::ptrdiff_t>(j * slots));
    }
    gram_ = std::move(gram);
    slots_ = slots;
  }

  // `taken` says which slots have a plane.
  virtual void archive(Archive& archive, const std::vector<bool>& taken) = 0;

  // Whether rows may become active at little cost.
  virtual bool narrows_well() const { return true; }

  std::span<const double> gram() const { return gram_; }

 protected:
  double& gram(std::size_t j, std::size_t k) { return gram_[j * slots_ + k]; }
  double gram(std::size_t j, std::size_t k) const { return gram_[j * slots_ + k]; }
  void clear_gram(std::size_t slot) {
    for (std::size_t k = 0; k < slots_; ++k) gram(slot, k) = gram(k, slot) = 0;
  }
  // Row and column of a_into <- u a_into + v a_from.
  void merge_gram(std::size_t into, std::size_t from, double u, double v) {
    const double square =
        u * u * gram(into, into) + 2 * u * v * gram(into, from) + v * v * gram(from, from);
    for (std::size_t k = 0; k < slots_; ++k) {
      gram(into, k) = gram(k, into) = u * gram(into, k) + v * gram(from, k);
    }
    gram(into, into) = square;
    clear_gram(from);
  }

  // What rounding does to sums over planes or rows, of the sum of their sizes; generously.
  static constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon();

  std::size_t slots_;
  std::vector<double> gram_;
};

// Slots and `comm` as in RiskOptions.
template <class Value>
std::unique_ptr<PlaneVectors> make_column_planes(RiskRows<Value>& rows, const RiskOptions& options);
// `statuses` and `now` are read when they are needed.
template <class Value>
std::unique_ptr<PlaneVectors> make_row_planes(RiskRows<Value>& rows, const RiskOptions& options,
                                              const PlaneStatuses& statuses, const RowBits& now);

}  // namespace hinge
