// Parts of a data set: some of its rows, some of its columns. Data whose columns are few among very
// many numbers (hashed features, say) is worked on without the numbers that do not occur. And
// columns of which float32 keeps too little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/pool.h"
#include "hinge/dataset.h"
#include "hinge/result.h"

namespace hinge {

// The columns that occur, ascending.
std::vector<std::uint32_t> occurring_columns(const Dataset& data, Pool& pool);

// How many columns occur, where these are no more than `most`; none where they are more, which is
// soon known.
std::optional<std::uint64_t> count_columns(const Dataset& data, std::uint64_t most);

// The same rows with only these columns (ascending), numbered by their place in the list.
Dataset keep_columns(const Dataset& data, std::span<const std::uint32_t> columns, Pool& pool);

// These rows, copied, with their labels and weights.
Dataset keep_rows(const Dataset& data, std::span<const std::uint64_t> rows,
                  const StopToken& stop = StopToken());

// Whether so few of the columns occur that `vectors` vectors over all of them would be a waste.
bool are_sparse(std::uint64_t occurring, std::uint64_t columns, std::uint64_t vectors);

// A warning (data.value.f32) where the rounding of a column's values to float32 may exceed a
// thousandth of their standard deviation, as it does where they are large and nearly the same; of
// the first such column. Looks at some rows spread through the data.
std::optional<Error> look_for_lost_digits(const Dataset& data);

}  // namespace hinge
