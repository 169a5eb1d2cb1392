// numpy and scipy arrays as rows of the library, which count from 1 in text.
//
// What is in memory as the library wants it is borrowed: float32 or float64 values, int32 columns,
// int64 offsets, and arrays in C order whose rows have every column. int32 offsets (one a row) and
// int64 columns are copied once. Nothing that is borrowed is ever written to.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hinge/dataset.h"

namespace hinge::python {

namespace nb = nanobind;

template <class Value>
using Vector = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows that nobody has looked at yet, but for their offsets, which are safe to follow.
struct Rows {
  Dataset::View view;
  std::shared_ptr<const void> owner;

  std::uint64_t rows() const;
  std::uint64_t features() const;
  std::uint64_t nonzeros() const;
};

// scipy's data, indices and indptr. Throws (data.matrix) if offsets lead out of the arrays.
Rows csr_rows(const AnyVector& values, const AnyVector& columns, const AnyVector& offsets,
              std::uint64_t features);

// Every column of every row.
Rows dense_rows(const AnyMatrix& values);

struct GivenLabels {
  std::optional<Vector<std::int64_t>> labels;  // none: all 0
  std::optional<Vector<double>> weights;       // none: all 1
  std::vector<std::string> names;              // that labels are places among; empty: numbers
  std::optional<Vector<double>> targets;       // in place of labels
};

// Rows that have been checked, with labels. Rows that are not sorted are sorted, and entries of the
// same column added up, in a copy. Raises DataError where a value is not finite, or a column out of
// range, with row and column.
Dataset wrap(const Rows& rows, const GivenLabels& labels, int threads);

// The same rows sorted, or the error of the first that cannot be: for whoever found that something
// is wrong with them. Needs no lock.
Result<Rows> mend(const Rows& rows);

}  // namespace hinge::python
