// The data doctor: every row that cannot be read, and what may spoil a model though it can be read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/result.h"

namespace hinge {

struct CheckReport {
  std::uint64_t bad_rows = 0;
  std::uint64_t rows = 0;  // good ones; what follows is about them
  std::uint64_t features = 0;
  std::uint64_t nonzeros = 0;
  std::vector<LabelCount> classes;
  ClassNames class_names;
  std::uint64_t data_bytes = 0;   // of the rows in memory
  std::uint64_t train_bytes = 0;  // training in all
  double load_seconds = 0;        // measured
  // What training with the default options may take on one thread, by what it took elsewhere.
  double train_seconds_from = 0;
  double train_seconds_to = 0;
  // Warnings (check.*, data.*), one a kind: constant and wildly scaled columns, rare classes,
  // duplicate and contradicting rows, and what reading found odd.
  std::vector<Error> findings;
};

// Reads all of `source`; `on_bad_row` gets every bad row, in file order. Fails only where reading
// cannot go on (io.*, damaged streams, limits) or there is not one good row.
Result<CheckReport> check_dataset(const DataSource& source, const ReadOptions& options,
                                  const std::function<void(const Error&)>& on_bad_row);

// A warning (data.scale) that names two columns where the largest values of one are more than 100
// times those of another: the hyperplane hardly sees the small one. Looks at some rows spread
// through the data, and at columns that at least half of them has.
std::optional<Error> check_scale(const Dataset& data);

}  // namespace hinge
