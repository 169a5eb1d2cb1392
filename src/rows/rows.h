// The data as solvers see them that make whole passes, wherever the rows lie: in memory, on disk,
// on a device, on other machines. A row x_i has one entry a column; a constant feature, where there
// is one, is the last column.
//
// The verbs are few, and each works on many rows at once: a call may cost a message or a launch, so
// none is made for one row. What is as long as the rows (scores, margins, statuses, dual variables)
// belongs to whoever computes on it, and so do signs and costs: rows know no labels, no loss and no
// solver. Whether values are float or double is decided once in a verb.
//
//   shape, blocks, cut    what there is, and how work on it is shared out
//   with_block, select    views and copies, for loops over single rows
//   squares               |x_i|^2
//   scores                <w, x_i>
//   combine, gram         sum_i a_i x_i,  sum_i a_i x_i x_i^T
//   reduce and its kin    what parts of the rows in several places have found, put together
//
// **Several places.** Where ranks each have a part of the rows (ranked_rows.h) every verb works on
// the rows of this rank, its *own*, and only reduce(), largest(), sum_columns() and share_columns()
// make one of what all ranks have. Nothing else sends a message, and every rank must call these at
// the same place. Where all rows are in one place they change nothing, so that a solver is written
// once.
//
// **Same bits.** A score belongs to one row, and sums over rows are taken column by column in the
// order of the list, of long lists in groups whose number follows from the list and the rows:
// results are the same to the bit for any number of threads and any instruction set. What reduce()
// returns is the same to the bit on every rank.
//
// One call at a time. Verbs throw Interrupted where their pool does; what they were writing is then
// undefined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hinge/dataset.h"

namespace hinge {

class MemoryRows;

struct RowsShape {
  std::uint64_t rows = 0;      // own rows
  std::uint64_t all_rows = 0;  // those of all places
  std::uint64_t places = 1;    // among which all rows are shared out
  std::size_t dimension = 0;   // columns, the constant feature included
};

// The rows that a verb works on, in the order in which it takes them: all of them, or those of a
// list. Cuts part them into blocks; a list that has none is one block.
struct RowList {
  bool all = true;
  std::vector<std::uint64_t> list;  // of row numbers, where these are not all
  std::vector<std::uint64_t> cuts;  // block b has the entries cuts[b] .. cuts[b+1] - 1

  std::uint64_t size() const {
    if (!all) return list.size();
    return cuts.empty() ? 0 : cuts.back();
  }
  std::size_t blocks() const { return cuts.empty() ? 0 : cuts.size() - 1; }
  std::uint64_t row(std::uint64_t k) const { return all ? k : list[k]; }
};

// Gets the scores of entries first, first + 1, ... of a list, for each entry those of all
// hyperplanes; on any thread, each entry once.
using TakeScores = std::function<void(std::uint64_t first, std::span<const double> scores)>;

class Rows {
 public:
  virtual ~Rows() = default;

  virtual RowsShape shape() const = 0;

  // All rows, cut into blocks of about as many nonzeros. The cuts are a function of the rows alone.
  virtual const RowList& blocks() const = 0;
  // These rows as a list in such blocks, but smaller ones.
  virtual RowList cut(std::vector<std::uint64_t> list) const = 0;

  // Calls f with the rows of one block of blocks(), which it may look at until it returns. Row k of
  // the view is the block's k-th. Views have no constant feature.
  virtual void with_block(std::size_t block,
                          const std::function<void(const Dataset::View&)>& f) = 0;
  // Copies of these rows, labels and weights included, in memory.
  virtual MemoryRows select(const std::vector<std::uint64_t>& list) const = 0;

  // out[i] = |x_i|^2 of every row.
  virtual void squares(std::span<double> out) = 0;
  // Hands the scores <w_c, x_i> of the rows in the list, which are looked at in blocks, to `take`.
  // Entry j of hyperplane c is w[j * stride + c], c < stride; stride is 1 or a multiple of 4.
  virtual void scores(const RowList& list, std::span<const double> w, std::size_t stride,
                      const TakeScores& take) = 0;
  // w_c += sum over entries k of the list of a[k * stride + c] x_row(k). A row whose a are all 0
  // costs nothing.
  virtual void combine(const RowList& list, std::span<const double> a, std::size_t stride,
                       std::span<double> w) = 0;
  // The lower triangle of sum over k of a[k] x_row(k) x_row(k)^T is added to h, a matrix of
  // dimension x dimension numbers by rows. Meant for few columns.
  virtual void gram(const RowList& list, std::span<const double> a, std::span<double> h) = 0;

  // Each number becomes its sum over all places, in the order of the places.
  virtual void reduce(std::span<double> /*numbers*/) {}
  // The largest of all places' numbers.
  virtual double largest(double number) { return number; }

  // A vector as long as the columns need not be known everywhere in full: each place has a slice of
  // the columns, begin .. end - 1, and all of them together have every column once.
  struct Slice {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  virtual Slice slice() const { return {0, shape().dimension}; }
  // This place's slice of v becomes that of the sum over all places; the rest of v says nothing
  // then. It costs less where most numbers are 0.
  virtual void sum_columns(std::span<double> /*v*/) {}
  // Each place knows its slice of v; then all of them know all of it. The numbers are reduced in
  // the same message.
  virtual void share_columns(std::span<double> /*v*/, std::span<double> /*numbers*/) {}

  // For one number.
  double total(double number) {
    reduce(std::span(&number, 1));
    return number;
  }
};

}  // namespace hinge
