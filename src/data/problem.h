// The mathematics of one binary problem on borrowed memory:
//
//   P(w) = 1/2 |w|^2 + sum_i U_i max(0, 1 - y_i <w, x_i>),   U_i = C c_i
//   D(a) = sum_i a_i - 1/2 |sum_i a_i y_i x_i|^2,            0 <= a_i <= U_i
//
// with y_i in {-1, +1} and c_i = class factor times row weight. A bias S != 0 appends the constant
// feature S to every row; its weight is the last coordinate of w. A free bias b is such a weight
// with S = 1 that has no part in |w|^2, and the dual has the constraint sum_i a_i y_i = 0 instead
// (risk/free_bias.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/model.h"

namespace hinge {

struct Problem {
  const Dataset* data = nullptr;
  std::span<const std::int8_t> y = {};
  std::span<const double> costs = {};  // c_i; empty: all 1
  double cost = 1;                     // C
  double bias = 0;                     // S; 0 = none
  bool free_bias = false;              // not regularised; then S = 1

  double factor(std::uint64_t i) const { return costs.empty() ? 1 : costs[i]; }  // c_i
  double upper(std::uint64_t i) const { return costs.empty() ? cost : cost * costs[i]; }
  std::size_t dimension() const { return data->features() + (bias != 0 ? 1 : 0); }
  // The coordinates of w that count in |w|^2, which are the first.
  std::size_t regularised() const { return dimension() - (free_bias ? 1 : 0); }
};

// c_i of every row: the factor of its class times its weight. Empty when all are 1.
std::vector<double> row_costs(const Dataset& data, std::span<const ClassWeight> class_weights);

// +1 where the label is `positive`, else -1.
std::vector<std::int8_t> signs(const Dataset& data, std::int64_t positive);

// Cuts rows into runs of about the same number of nonzeros; a function of the data alone. Run b is
// rows result[b] .. result[b+1] - 1.
std::vector<std::uint64_t> cut_rows(const Dataset& data);
std::vector<std::uint64_t> cut_rows(const Dataset::View& view);

// The mean of |x|^2 over rows spread evenly through the data.
double mean_square(const Dataset& data);

// Whether neighbouring rows have the same label hardly more often than any two rows; by a sample.
// If not (files are often sorted by label), solvers that visit neighbours together must mix them.
bool labels_lie_mixed(const Dataset& data);

// Hyperplanes that are worked on together (Pegasos), rather than each in its turn.
struct SweepShape {
  std::uint64_t planes = 0;   // 0: no sweep
  std::uint64_t batch = 1;    // rows of a step
  bool start = false;         // begins at a model
  bool kernel = false;        // points are coefficients of rows
  std::uint64_t threads = 1;  // that compute kernel values
};

// About how much memory training takes on these rows, in bytes; in double, since it may be absurd.
struct TrainingMemory {
  double rows = 0;     // the data as it is kept
  double work = 0;     // what a solver keeps for each row, and a copy if the columns are renumbered
  double weights = 0;  // of `planes` hyperplanes, and the vectors as long that are worked with
  double all() const { return rows + work + weights; }
};
TrainingMemory training_memory(const Dataset& data, std::uint64_t planes,
                               const SweepShape& sweep = {});

// What one pass over all of the data tells.
struct Survey {
  std::string fingerprint;  // of rows, labels and weights, in order: 16 hex digits
  // Of |value|, zeros aside; 0: no value, or all are within 1e-10 .. 1e5.
  double smallest = 0, largest = 0;
};
class Pool;
// `first` is called for the rows from .. to - 1 of every block, on any thread, before more than
// their values is looked at; `tame`: these are finite, and none beyond 1e5. Where Dataset::wrap()
// did all this, its result is taken.
using LookAtRows = std::function<void(std::uint64_t from, std::uint64_t to, bool tame)>;
Survey survey(const Dataset& data, Pool& pool, const LookAtRows& first = {});

// What is known of all rows where each rank has some of them, in their order; without ranks, of the
// data itself.
class Comm;
struct Whole {
  std::uint64_t rows = 0, nonzeros = 0, features = 0;
  std::uint64_t first_row = 0, first_nonzero = 0;  // that come on ranks before this one
  std::vector<LabelCount> classes;                 // ascending by label
  bool weighted = false;
};
Whole whole_of(const Dataset& data);
Whole whole_of(const Dataset& data, Comm& comm);

// The same to the byte as of all rows in one data set.
Survey survey(const Dataset& data, const Whole& whole, Pool& pool, Comm& comm);
inline std::string fingerprint(const Dataset& data, Pool& pool) {
  return survey(data, pool).fingerprint;
}

}  // namespace hinge
