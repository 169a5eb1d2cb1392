// What training does differently where each rank has some of the rows (base/comm.h): what cannot be
// done there, and how what is known of parts becomes known of the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "base/comm.h"
#include "base/parallel.h"
#include "data/problem.h"
#include "hinge/train.h"

namespace hinge {

// Refuses what several ranks cannot do (mpi.unsupported). `solver` is the one that was chosen.
void check_supported(const TrainOptions& options, const TrainControl& control, Solver solver);

// Ranks must have been asked for the same (mpi.inconsistent).
void agree_on(const TrainOptions& options, const Dataset& data, Comm& comm);

// The columns that occur on any rank, ascending.
std::vector<std::uint32_t> occurring_columns(const Dataset& data, Pool& pool, Comm& comm);

// The proof of all rows from that of each rank's; on rank 0, and none elsewhere.
Witness join_witness(const Witness& mine, std::uint64_t rows, Comm& comm);

}  // namespace hinge
