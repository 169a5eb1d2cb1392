// What training does differently where each rank has some of the rows (ranks/comm.h): what cannot
// be done there, and how what is known of parts becomes known of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "data/survey.h"
#include "hinge/train.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "solve/monitor.h"
#include "solve/solver.h"

namespace hinge {

// Ranks must have been asked for the same (mpi.inconsistent).
void agree_on(const TrainOptions& options, const Dataset& data, Comm& comm);

// The columns that occur on any rank, ascending.
std::vector<std::uint32_t> occurring_columns(const Dataset& data, Pool& pool, Comm& comm);

// Joins the states of all ranks (PartState) for the sink that rank 0 has. Such a state is of all
// rows, so that any number of ranks can go on from it, or one process.
class RankSink final : public StateSink {
 public:
  RankSink(Comm& comm, StateSink* first) : comm_(comm), first_(first) {}
  bool wanted() override;  // once all ranks know that rank 0 wants it
  void keep(std::vector<std::byte> state, const Progress& last) override;
  void lost() override;

 private:
  Comm& comm_;
  StateSink* const first_;  // on rank 0
};

// Whether a state is one of those; and what it says of the rows of this rank. Throws Failure
// (checkpoint.content) if it is not about `problem`.
bool is_joined(std::span<const std::byte> state);
Start part_of(std::span<const std::byte> state, const Problem& problem, const GlobalShape& shape);

// The proof of all rows from that of each rank's; on rank 0, and none elsewhere.
Witness join_witness(const Witness& mine, std::uint64_t rows, Comm& comm);

}  // namespace hinge
