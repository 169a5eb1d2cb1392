// Which solver --solver auto takes, and why. The one place that says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/survey.h"
#include "hinge/dataset.h"
#include "hinge/options.h"

namespace hinge {

struct SolverChoice {
  Solver solver = Solver::automatic;
  std::string because = {};  // in words; empty where the solver was named
  // The columns that occur, where numbers are many and these are few: worth working on alone.
  std::optional<std::uint64_t> columns = {};
  // Newton may go on where dual descent crawls, and descent where newton stalls (solve/crawl.h).
  bool may_change = false;
};

// A function of rows, columns that occur, lengths of rows, costs, gap and, since what is sent
// counts too, the number of ranks; never of threads, so that the bits of a model are the same for
// any number of them. `data` are the rows of this rank, `shape` is that of the rows on all.
SolverChoice choose_solver(const TrainOptions& options, const Dataset& data,
                           const GlobalShape& shape, int ranks);

// The gap such a run will end at, about (Limits::likely_gap), before there are limits: of the
// largest of several costs.
double likely_gap(const TrainOptions& options, std::uint64_t rows);

}  // namespace hinge
