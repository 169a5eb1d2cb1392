// Checkpoints of a training (hinge/checkpoint.h): the file, and the book that is kept of what goes
// into the next one. docs/formats.md has the bytes.
//
// Problems are solved in groups: one by one, or with Pegasos some in one sweep. Each group has a
// state: none, that of its solver, or, once it is done, its result. The book keeps the latest of
// each and writes all of them every so many seconds. The bytes of a state are the solver's affair,
// or the trainer's; and states are always kept with what they belong to (Terms).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "files/file_lock.h"
#include "hinge/train.h"
#include "solve/monitor.h"
#include "solve/solver.h"

namespace hinge {

constexpr std::string_view kCheckpointFormat = "hinge.checkpoint";

// Names and values that two runs must agree on, in the order in which they are compared:
// "option.cost" and "1".
using Terms = std::vector<std::pair<std::string, std::string>>;

// Those of a training: its options (describe()), and what `model`, whose origin is known already,
// says of the data; `start` may be none.
Terms terms_of(const TrainOptions& options, const Model& model, const Model* start);

struct CheckpointGroup {
  std::uint64_t first = 0, last = 0;  // problems first .. last - 1
  bool done = false;
  double passes = 0, gap = 1;                                // as last reported
  std::shared_ptr<const std::vector<std::byte>> state = {};  // none: not begun
};
using CheckpointGroups = std::vector<CheckpointGroup>;

struct Checkpoint {
  std::string written_by;
  Terms terms;              // in no order
  CheckpointGroups groups;  // ascending, none missing
};

// Throws Failure (checkpoint.*, io.*). Falls back as hinge/checkpoint.h says.
Checkpoint load_checkpoint(const std::string& path, std::vector<Error>& warnings);

// Refuses a checkpoint of another version or with other terms: checkpoint.mismatch with the name.
void check_terms(const Checkpoint& found, const Terms& ours, const std::string& path);

// Written atomically; what was there becomes PATH.previous. Throws Failure (io.*).
void save_checkpoint(const std::string& path, const Terms& terms, const CheckpointGroups& groups);

// The solutions of a group that is done as its last state, one a problem; `reached` says whether
// its solver saw the gap reached. They are certified again when they come back. unpack_result()
// throws Failure (checkpoint.content); points may have any size.
std::vector<std::byte> pack_result(std::span<const Problem> problems, std::span<Solution> solutions,
                                   const std::vector<bool>& reached);
void unpack_result(std::span<const std::byte> state, std::span<const Problem> problems,
                   std::vector<Solution>& solutions, std::vector<bool>& reached);

// Threads may keep states of different groups at the same time.
class CheckpointBook {
 public:
  // Takes the lock (lock.held, lock.stale). Nothing is written before begin().
  CheckpointBook(const CheckpointControl& control, std::vector<Error>& warnings);

  void begin(Terms terms, CheckpointGroups groups);

  // For the solver of one group, on one thread at a time.
  class Keeper final : public StateKeeper {
   public:
    Keeper(CheckpointBook& book, std::size_t group);
    bool wanted() override;
    void keep(std::vector<std::byte> state, const Progress& last) override;
    void lost() override;
    void done(std::vector<std::byte> result);  // its last state

   private:
    bool answer();

    CheckpointBook& book_;
    std::size_t group_;
    double kept_;             // when
    std::uint64_t answered_;  // requests
  };

  // The run ends. What is newer than the file is written, unless all is done; troubles on the way
  // become one warning.
  void end(std::vector<Error>& warnings);

 private:
  std::uint64_t requests() const;
  void set(std::size_t group, std::vector<std::byte> state, const Progress* last, bool now);
  void write(std::unique_lock<std::mutex>& lock);
  void note(const Error& trouble);

  std::string path_;
  const double seconds_;
  const std::atomic<std::uint64_t>* const requests_;
  FileLock file_lock_;
  const Stopwatch clock_;
  std::mutex mutex_;  // guards what follows
  Terms terms_;
  CheckpointGroups groups_;
  double written_ = 0;    // when
  bool fresh_ = false;    // something is newer than the file
  bool writing_ = false;  // by some thread, which has its own copy of the groups
  std::uint64_t troubles_ = 0;
  std::optional<Error> trouble_;  // the last
};

}  // namespace hinge
