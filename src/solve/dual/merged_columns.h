// Columns met in one row only, merged. Those of a row are replaced by one whose value is the root
// of the sum of their squares (by two: floats are too short for it): inner products of rows stay
// the same, and so do the problem and its dual variables. Text has many such columns (two thirds of
// those of word pairs), and vectors as long as w are the shorter for it. Columns that do not occur
// at all go as well.
//
// It takes a pass over the columns, and a copy of the rows, which must be worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "solve/solver.h"

namespace hinge {

// Whether it may be worth looking: of rows of floats (they and their copy take no more memory than
// rows of doubles would) with many columns, where many passes will be made: at small gaps, or
// large costs. Measured on word pairs of 20 newsgroups: half as fast again at C = 1 and 1e-6, and
// at C = 100 and 1e-3; no faster at 1e-2. One copy is not too many, one for each of several classes
// would be.
bool may_merge_columns(const Problem& problem, double gap);

// About how many bytes that takes, of rows with so many columns; 0 where it is never done.
double merging_memory(const Dataset& data, std::uint64_t columns, double gap);

// solve(problem), or that of the problem with merged columns, where that pays; either way its
// solution is of the columns there are. With a start it is not done: that may be any point.
Solution solve_merged(const Problem& problem, const SolverOptions& options, double gap, Pool& pool,
                      const std::function<Solution(const Problem&)>& solve);

class MergedColumns {
 public:
  // Looks which columns could go. Throws Interrupted.
  MergedColumns(const Dataset& data, const Pool& pool);

  bool worth_it() const;

  // The rows, with what is left of the columns; the merged ones come last. None where a root is too
  // large for a float. Throws Interrupted.
  std::optional<Dataset> merge(const Pool& pool);

  // w of these rows (and whatever bias comes behind it), as one of the rows there were.
  std::vector<double> expand(std::span<const double> w) const;

 private:
  // The root of a sum of squares in two floats: one would change the problem by its rounding.
  static constexpr std::uint64_t kParts = 2;
  struct Root {
    float parts[kParts];
  };
  static Root root_of(double sum);

  static constexpr std::uint32_t kAlone = UINT32_MAX;  // or not there at all

  const CsrView<float>& m_;
  const Dataset& data_;
  Buffer<std::uint32_t> number_;  // of a column, among those that stay
  std::uint64_t kept_ = 0;
  std::vector<Root> roots_;  // of what was merged, of each row
};

}  // namespace hinge
