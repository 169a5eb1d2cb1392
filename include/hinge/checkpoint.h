// Checkpoints: a long training that is killed goes on where it was, to the same model, bit for bit
// (docs/checkpoints.md). train() writes and reads them (TrainControl, hinge/train.h).
//
// Beside FILE lie FILE.previous, the checkpoint before it, and while training runs FILE.lock. A
// checkpoint is for the same version of hinge, the same data and the same options; those that do
// not change the result (threads, limits, instruction set) may differ.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hinge/dataset.h"
#include "hinge/result.h"

namespace hinge {

// What a checkpoint says of the run that wrote it.
struct CheckpointInfo {
  std::string written_by;                                    // "hinge 1.2.3"
  std::string solver;                                        // as in a model: "auto:dual"
  std::vector<std::pair<std::string, std::string>> options;  // as set_option() takes them
  std::uint64_t rows = 0;
  std::uint64_t features = 0;
  std::uint64_t nonzeros = 0;
  Precision precision = Precision::f32;
  int index_base = 1;
  bool row_weights = false;
  bool start = false;  // it began at a model
  std::string fingerprint;
  std::uint64_t problems = 0;  // hyperplanes to be found
  std::uint64_t done = 0;      // and found
  std::uint64_t begun = 0;     // besides
  double passes = 0;           // over the data, of those being worked on: the most
  double relative_gap = 1;     // of them: the worst
};

// Reads and checks the whole file; if it is damaged or missing, the one before it, with a warning
// (checkpoint.previous). Fails with checkpoint.* or io.*.
Result<CheckpointInfo> read_checkpoint(const std::string& path, std::vector<Error>& warnings);

// Whether the file at `path` begins like one.
bool looks_like_checkpoint(const std::string& path);

}  // namespace hinge
