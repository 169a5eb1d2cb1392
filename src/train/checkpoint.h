// The checkpoint file of a training (hinge/checkpoint.h); docs/formats.md has the bytes, and
// checkpoint_writer.h writes it from time to time.
//
// Problems are solved in groups: one by one, or with Pegasos some in one sweep. A file has a state
// of each group: none, that of its solver, or, once it is done, its result. The bytes of a state
// are the affair of the solver or of train/, and states lie beside what they belong to
// (RunIdentity).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hinge/train.h"
#include "solve/solver.h"

namespace hinge {

constexpr std::string_view kCheckpointFormat = "hinge.checkpoint";

// Names and values that two runs must agree on for one to go on from the other's states, in the
// order in which they are compared: "option.cost" and "1".
using RunIdentity = std::vector<std::pair<std::string, std::string>>;

// The identity of a training: its options (describe()), and what `model`, whose origin is known
// already, says of the data; `start` may be none.
RunIdentity identity_of(const TrainOptions& options, const Model& model, const Model* start);

using StateBytes = std::shared_ptr<const std::vector<std::byte>>;

struct CheckpointGroup {
  std::uint64_t first = 0, last = 0;  // problems first .. last - 1
  bool done = false;
  double passes = 0, gap = 1;  // as last reported
  StateBytes state = {};       // none: not begun
};
using CheckpointGroups = std::vector<CheckpointGroup>;

// In it, how many lanes the run had.
constexpr std::string_view kLanesOfRun = "lanes";

struct Checkpoint {
  std::string written_by;
  RunIdentity identity;     // in no order
  CheckpointGroups groups;  // ascending, none missing
};

// Throws Failure (checkpoint.*, io.*). Falls back as hinge/checkpoint.h says.
Checkpoint load_checkpoint(const std::string& path, std::vector<Error>& warnings);

// How many lanes its run had. Throws Failure (checkpoint.header).
int lanes_of(const Checkpoint& found, const std::string& path);

// Refuses a checkpoint of another version or another identity: checkpoint.mismatch with the name.
void check_identity(const Checkpoint& found, const RunIdentity& ours, const std::string& path);

// Written atomically; what was there becomes PATH.previous. Throws Failure (io.*).
void save_checkpoint(const std::string& path, const RunIdentity& identity,
                     const CheckpointGroups& groups);

// The file that a checkpoint at `path` is written to: behind a symbolic link, since PATH.previous
// and PATH.lock lie beside that file, not beside the link. Refuses what is no regular file
// (usage.value).
std::string checkpoint_file(const std::string& path);

// The solutions of a group that is done as its last state, one a problem; `reached` says whether
// its solver saw the gap reached. They are certified again when they come back. unpack_result()
// throws Failure (checkpoint.content); points may have any size.
std::vector<std::byte> pack_result(std::span<const Problem> problems, std::span<Solution> solutions,
                                   const std::vector<bool>& reached);
void unpack_result(std::span<const std::byte> state, std::span<const Problem> problems,
                   std::vector<Solution>& solutions, std::vector<bool>& reached);

}  // namespace hinge
