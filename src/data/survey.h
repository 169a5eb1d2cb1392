// What is known of rows before anybody works on them: how they are cut into blocks, their shape on
// all ranks, their fingerprint, and figures of a sample.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hinge/dataset.h"

namespace hinge {

// Cuts rows into runs of about the same number of nonzeros; a function of the data alone. Run b is
// rows result[b] .. result[b+1] - 1.
std::vector<std::uint64_t> cut_rows(const Dataset& data);
std::vector<std::uint64_t> cut_rows(const Dataset::View& view);

// The mean of |x|^2 over rows spread evenly through the data.
double mean_square(const Dataset& data);

// Whether neighbouring rows have the same label hardly more often than any two rows; by a sample.
// If not (files are often sorted by label), solvers that visit neighbours together must mix them.
bool labels_lie_mixed(const Dataset& data);

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
struct GlobalShape {
  std::uint64_t rows = 0, nonzeros = 0, features = 0;
  std::uint64_t first_row = 0, first_nonzero = 0;  // that come on ranks before this one
  std::vector<LabelCount> classes;                 // ascending by label
  bool weighted = false;
};
GlobalShape global_shape(const Dataset& data);
GlobalShape global_shape(const Dataset& data, Comm& comm);

// The same to the byte as of all rows in one data set.
Survey survey(const Dataset& data, const GlobalShape& shape, Pool& pool, Comm& comm);
inline std::string fingerprint(const Dataset& data, Pool& pool) {
  return survey(data, pool).fingerprint;
}

}  // namespace hinge
