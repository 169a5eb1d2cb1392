// The rows of a problem as planes see them, y_i x_i with costs c_i, and their margins at two
// points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "rows/rows.h"
#include "simd/simd.h"
#include "solve/planes/tuning.h"

namespace hinge {

// The verbs of Rows with signs, and loops over what is as long as the rows. Everything here is of
// the own rows, but for all_rows(). Counts the rows that were looked at.
class SignedRows {
 public:
  // All must live as long.
  SignedRows(const Problem& problem, Rows& rows, const Simd& simd, Pool& pool)
      : problem_(problem), rows_(rows), shape_(rows.shape()), simd_(simd), pool_(pool) {}

  Rows& rows() const { return rows_; }  // without signs
  const Simd& simd() const { return simd_; }
  Pool& pool() const { return pool_; }

  std::uint64_t size() const { return shape_.rows; }
  std::uint64_t all_rows() const { return shape_.all_rows; }
  bool shared_out() const { return shape_.places > 1; }
  std::uint64_t places() const { return shape_.places; }
  std::size_t dimension() const { return shape_.dimension; }
  bool free_bias() const { return problem_.free_bias; }

  const RowList& all() const { return rows_.blocks(); }
  double cost(std::uint64_t i) const { return problem_.factor(i); }  // c_i
  std::span<const double> costs() const { return problem_.costs; }   // empty: all 1
  double sign(std::uint64_t i) const { return problem_.y[i]; }       // y_i
  std::span<const std::int8_t> signs() const { return problem_.y; }

  // f(block, first, last) for the blocks of a list, of which these are entries.
  template <class F>
  void for_blocks(const RowList& list, const F& f) const {
    pool_.run(list.blocks(), [&](std::size_t b) { f(b, list.cuts[b], list.cuts[b + 1]); });
  }
  // What f(first, last) returns of every block, added up in order.
  template <class F>
  double add_up(const RowList& list, const F& f) const {
    std::vector<double> parts(list.blocks());
    for_blocks(list, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      parts[block] = f(begin, end);
    });
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }
  // to[i] = from[i] of every row.
  void copy(const std::vector<double>& from, std::vector<double>& to) const {
    if (to.size() != size()) to = huge_vector(size());
    for_blocks(all(), [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      std::copy_n(from.data() + begin, end - begin, to.data() + begin);
    });
  }
  // The rows for which f(row) holds, ascending.
  template <class F>
  std::vector<std::uint64_t> rows_where(const F& f) const {
    // Every row is written down and the next one over it unless it stays: whether it does follows
    // no pattern that could be foreseen.
    const auto kept = std::make_unique_for_overwrite<std::uint64_t[]>(size());
    std::vector<std::span<const std::uint64_t>> parts(all().blocks());
    for_blocks(all(), [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      std::uint64_t* next = &kept[begin];
      for (std::uint64_t i = begin; i < end; ++i) {
        *next = i;
        next += f(i) ? 1 : 0;
      }
      parts[block] = {&kept[begin], next};
    });
    std::size_t found = 0;
    for (const auto part : parts) found += part.size();
    std::vector<std::uint64_t> list;
    reserve_huge(list, found);
    for (const auto part : parts) list.insert(list.end(), part.begin(), part.end());
    return list;
  }

  // Puts y_i <w, x_i> of the rows in the list where place(i) is.
  template <class Place>
  void margins_to(const RowList& list, std::span<const double> w, const Place& place) {
    rows_.scores(list, w, 1, [&](std::uint64_t first, std::span<const double> scores) {
      if (list.all) {
        for (std::size_t k = 0; k < scores.size(); ++k) {
          place(first + k) = sign(first + k) * scores[k];
        }
      } else {
        for (std::size_t k = 0; k < scores.size(); ++k) {
          const std::uint64_t i = list.list[first + k];
          place(i) = sign(i) * scores[k];
        }
      }
    });
    touched_ += list.size();
  }
  // margins[i] = y_i <w, x_i> of these rows
  void margins(const RowList& list, std::span<const double> w, std::vector<double>& margins) {
    double* const out = margins.data();
    margins_to(list, w, [out](std::uint64_t i) -> double& { return out[i]; });
  }

  // w += sum over entries k of weights[k] y x
  void combine(const RowList& list, std::span<const double> weights, std::vector<double>& w) {
    constexpr std::uint64_t kRows = PlanesTuning::kStatusesAtATime;
    const std::uint64_t size = weights.size();
    if (signed_.size() < size) signed_ = huge_vector(size);
    std::vector<std::uint64_t> touched((size + kRows - 1) / kRows);
    pool_.run(touched.size(), [&](std::size_t block) {
      std::uint64_t count = 0;
      for (std::uint64_t k = block * kRows; k < std::min(size, (block + 1) * kRows); ++k) {
        if (weights[k] != 0) ++count;
        signed_[k] = weights[k] * sign(list.row(k));
      }
      touched[block] = count;
    });
    for (const std::uint64_t count : touched) touched_ += count;
    rows_.combine(list, std::span<const double>(signed_).first(size), 1, w);
  }
  // The same of all rows, from nothing.
  std::vector<double> sum(std::span<const double> weights) {
    std::vector<double> w(dimension());
    combine(all(), weights, w);
    return w;
  }

  // How many rows were scored, or added to a vector.
  std::uint64_t touched() const { return touched_; }
  void archive(Archive& archive) { archive(touched_); }

 private:
  const Problem& problem_;
  Rows& rows_;
  const RowsShape shape_;
  const Simd& simd_;
  Pool& pool_;
  std::uint64_t touched_ = 0;
  std::vector<double> signed_;  // weights of the last sum, with signs
};

// Margins z_i = y_i (<w, x_i> + b) by row, at the points of a risk, and the rows that are active.
// Those of rows that are not are out of date, but for the mark's.
struct Margins {
  explicit Margins(const SignedRows& rows)
      : active(rows.all()), anchor(huge_vector(rows.size())), trial(huge_vector(rows.size())) {}

  // At anchor + t (trial - anchor).
  double at(std::uint64_t i, double t) const { return anchor[i] + t * (trial[i] - anchor[i]); }

  RowList active;
  std::vector<double> anchor, trial;
  std::vector<double> mark;  // empty: there is no mark
  struct {
    double anchor = 0, trial = 0, mark = 0;
  } bias;  // the b at these points, where it is free
};

// Rows that change their statuses, ascending, and how the newest plane changes with each: a +=
// weight y x.
struct Flips {
  RowList rows{.all = false, .list = {}, .cuts = {}};
  std::vector<double> weights;  // cost times (old status - new status)

  std::size_t size() const { return weights.size(); }
  void clear() {  // keeps its memory
    rows.list.clear();
    weights.clear();
  }
  void add(std::uint64_t row, double weight) {
    rows.list.push_back(row);
    weights.push_back(weight);
  }
  // More rows, that come after these.
  void append(const Flips& more) {
    rows.list.insert(rows.list.end(), more.rows.list.begin(), more.rows.list.end());
    weights.insert(weights.end(), more.weights.begin(), more.weights.end());
  }
  // The row changes by so much besides what it may do already.
  void add_to(std::uint64_t row, double weight) {
    const auto place = std::ranges::lower_bound(rows.list, row);
    const auto at = weights.begin() + (place - rows.list.begin());
    if (place != rows.list.end() && *place == row) {
      *at += weight;
    } else {
      rows.list.insert(place, row);
      weights.insert(at, weight);
    }
  }
};

}  // namespace hinge
