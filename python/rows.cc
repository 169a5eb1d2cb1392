#include "rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "run.h"

namespace hinge::python {
namespace {

// What rows need to live: arrays of Python's, or copies of ours.
template <class Value>
struct Owned {
  std::vector<nb::object> borrowed;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;

  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  // The last to let go may be a thread that does not have the lock.
  ~Owned() {
    if (borrowed.empty() || Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquired;
    borrowed.clear();
  }
};

[[noreturn]] void refuse(const std::string& message) {
  raise(make_error("data.matrix", message));
}

// The offsets as the library has them.
template <class Owner>
const std::uint64_t* take_offsets(const AnyVector& array, Owner& owner) {
  if (array.dtype() == nb::dtype<std::int64_t>()) {
    owner.borrowed.push_back(nb::cast(array));
    return static_cast<const std::uint64_t*>(array.data());
  }
  if (array.dtype() != nb::dtype<std::int32_t>()) {
    throw nb::type_error("indptr: expected int32 or int64");
  }
  // A negative number becomes one too large.
  const auto* const from = static_cast<const std::int32_t*>(array.data());
  owner.offsets.assign(from, from + array.shape(0));
  return owner.offsets.data();
}

template <class Owner>
const std::uint32_t* take_columns(const AnyVector& array, std::uint64_t used,
                                  std::uint64_t features, Owner& owner) {
  if (array.dtype() == nb::dtype<std::int32_t>()) {
    // As unsigned numbers negative ones are beyond every column there can be.
    if (features > std::uint64_t{1} << 31) refuse("more than 2^31 columns need int64 indices");
    owner.borrowed.push_back(nb::cast(array));
    return static_cast<const std::uint32_t*>(array.data());
  }
  if (array.dtype() != nb::dtype<std::int64_t>()) {
    throw nb::type_error("indices: expected int32 or int64");
  }
  const auto* const from = static_cast<const std::int64_t*>(array.data());
  const nb::gil_scoped_release released;
  owner.columns.resize(used);
  std::int64_t wrong = 0;
  for (std::uint64_t k = 0; k < used; ++k) {
    wrong |= from[k] | (std::int64_t{UINT32_MAX} - 1 - from[k]);
    owner.columns[k] = static_cast<std::uint32_t>(from[k]);
  }
  if (wrong >= 0) return owner.columns.data();
  const nb::gil_scoped_acquire acquired;
  refuse("an index is negative, or beyond 2^32 - 2");
}

template <class Value>
Rows csr_rows_of(const AnyVector& values, const AnyVector& columns, const AnyVector& offsets,
                 std::uint64_t features) {
  if (offsets.shape(0) == 0) refuse("indptr is empty; expected one number a row, and one more");
  const auto owned = std::make_shared<Owned<Value>>();
  CsrView<Value> view;
  view.rows = offsets.shape(0) - 1;
  view.features = features;
  view.offsets = take_offsets(offsets, *owned);
  const std::uint64_t used = view.offsets[view.rows];
  if (view.offsets[0] != 0 || !std::is_sorted(view.offsets, view.offsets + view.rows + 1)) {
    refuse("indptr does not ascend from 0");
  }
  if (used > values.shape(0) || used > columns.shape(0)) {
    refuse("indptr ends at " + std::to_string(used) + ", but there are " +
           std::to_string(values.shape(0)) + " values and " + std::to_string(columns.shape(0)) +
           " indices");
  }
  view.columns = take_columns(columns, used, features, *owned);
  owned->borrowed.push_back(nb::cast(values));
  view.values = static_cast<const Value*>(values.data());
  return {view, owned};
}

template <class Value>
Rows dense_rows_of(const AnyMatrix& array) {
  const auto owned = std::make_shared<Owned<Value>>();
  const std::uint64_t rows = array.shape(0), features = array.shape(1);
  if (features > UINT32_MAX) refuse("more than 2^32 - 1 columns");
  owned->borrowed.push_back(nb::cast(array));
  owned->offsets.resize(rows + 1);
  for (std::uint64_t i = 0; i <= rows; ++i) owned->offsets[i] = i * features;
  owned->columns.resize(features);
  std::iota(owned->columns.begin(), owned->columns.end(), 0U);
  return {CsrView<Value>{.rows = rows,
                         .features = features,
                         .offsets = owned->offsets.data(),
                         .columns = owned->columns.data(),
                         .values = static_cast<const Value*>(array.data()),
                         .full = true},
          owned};
}

std::string place(std::uint64_t row, std::uint32_t column) {
  return "row " + std::to_string(row) + ", column " + std::to_string(column) + " (from 0)";
}

// The first entry that cannot be used.
template <class Value>
std::optional<Error> first_fault(const CsrView<Value>& m) {
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    double squares = 0;
    for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
      const auto value = static_cast<double>(m.values[k]);
      const std::uint32_t column = m.column(k);
      if (column >= m.features) {
        return make_error("data.matrix", "row " + std::to_string(i) + " (from 0) has an index " +
                                             std::to_string(static_cast<std::int32_t>(column)) +
                                             "; X has " + std::to_string(m.features) + " columns");
      }
      if (!std::isfinite(value)) {
        return make_error("data.value.nonfinite",
                          std::string("Input X contains ") +
                              (std::isnan(value) ? "NaN" : "infinity") + ": " + place(i, column),
                          "remove the row, or fill the value in");
      }
      squares += value * value;
    }
    if (!std::isfinite(squares)) {
      return make_error("data.row.norm",
                        "the squared norm of row " + std::to_string(i) + " (from 0) overflows",
                        "scale the data");
    }
  }
  return {};
}

// Sorted by column, entries of the same column added up, as scipy's sum_duplicates() does.
template <class Value>
Rows sorted(const CsrView<Value>& m) {
  const auto owned = std::make_shared<Owned<Value>>();
  owned->offsets.reserve(m.rows + 1);
  owned->columns.reserve(m.nonzeros());
  owned->values.reserve(m.nonzeros());
  owned->offsets.push_back(0);
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    order.resize(m.offsets[i + 1] - m.offsets[i]);
    std::iota(order.begin(), order.end(), m.offsets[i]);
    std::ranges::stable_sort(order, {}, [&](std::uint64_t k) { return m.columns[k]; });
    const std::size_t begin = owned->columns.size();
    for (const std::uint64_t k : order) {
      if (owned->columns.size() > begin && owned->columns.back() == m.columns[k]) {
        owned->values.back() += m.values[k];
      } else {
        owned->columns.push_back(m.columns[k]);
        owned->values.push_back(m.values[k]);
      }
    }
    owned->offsets.push_back(owned->columns.size());
  }
  CsrView<Value> view = m;
  view.offsets = owned->offsets.data();
  view.columns = owned->columns.data();
  view.values = owned->values.data();
  return {view, owned};
}

}  // namespace

std::uint64_t Rows::rows() const {
  return std::visit([](const auto& m) { return m.rows; }, view);
}
std::uint64_t Rows::features() const {
  return std::visit([](const auto& m) { return m.features; }, view);
}

std::uint64_t Rows::nonzeros() const {
  return std::visit([](const auto& m) { return m.nonzeros(); }, view);
}

Rows csr_rows(const AnyVector& values, const AnyVector& columns, const AnyVector& offsets,
              std::uint64_t features) {
  if (values.dtype() == nb::dtype<float>()) {
    return csr_rows_of<float>(values, columns, offsets, features);
  }
  if (values.dtype() != nb::dtype<double>()) {
    throw nb::type_error("data: expected float32 or float64");
  }
  return csr_rows_of<double>(values, columns, offsets, features);
}

Rows dense_rows(const AnyMatrix& values) {
  if (values.dtype() == nb::dtype<float>()) return dense_rows_of<float>(values);
  if (values.dtype() != nb::dtype<double>()) {
    throw nb::type_error("expected float32 or float64");
  }
  return dense_rows_of<double>(values);
}

Result<Rows> mend(const Rows& rows) {
  return std::visit(
      [&](const auto& m) -> Result<Rows> {
        if (std::optional<Error> error = first_fault(m)) return *error;
        return m.full ? rows : sorted(m);
      },
      rows.view);
}

Dataset wrap(const Rows& rows, const GivenLabels& given, int threads) {
  struct Held {
    std::shared_ptr<const void> rows;
    std::shared_ptr<Owned<double>> arrays = std::make_shared<Owned<double>>();
    std::vector<std::int64_t> zeros;
  };
  const auto held = std::make_shared<Held>();
  held->rows = rows.owner;
  Labels labels;
  if (given.targets) {
    held->arrays->borrowed.push_back(nb::cast(*given.targets));
    labels = std::span(given.targets->data(), given.targets->shape(0));
  } else if (given.labels) {
    held->arrays->borrowed.push_back(nb::cast(*given.labels));
    const Result<ClassNames> names = ClassNames::of(given.names);
    if (!names.ok()) raise(names.error());
    labels = Labels(std::span(given.labels->data(), given.labels->shape(0)), names.value());
  } else {
    held->zeros.resize(rows.rows());
    labels = held->zeros;
  }
  std::span<const double> weights;
  if (given.weights) {
    held->arrays->borrowed.push_back(nb::cast(*given.weights));
    weights = {given.weights->data(), given.weights->shape(0)};
  }
  // Text that the model may be used on later counts from 1, as most does.
  const WrapOptions options = {.threads = threads, .index_base = 1};
  return run([&](const std::atomic<bool>&) -> Result<Dataset> {
    Result<Dataset> data = Dataset::wrap(rows.view, labels, weights, held, options);
    if (data.ok() || data.error().id != "data.matrix") return data;
    const Result<Rows> again = mend(rows);
    if (!again.ok()) return again.error();
    held->rows = again->owner;
    return Dataset::wrap(again->view, labels, weights, held, options);
  });
}

}  // namespace hinge::python
