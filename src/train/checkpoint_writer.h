// Collects the latest state of every group of problems while training runs, and writes all of them
// to the checkpoint file every so many seconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "files/file_lock.h"
#include "hinge/train.h"
#include "solve/monitor.h"
#include "train/checkpoint.h"

namespace hinge {

// Threads may bring states of different groups at the same time.
class CheckpointWriter {
 public:
  // Takes the lock (lock.held, lock.stale). Nothing is written before begin().
  CheckpointWriter(const CheckpointControl& control, std::vector<Error>& warnings);

  void begin(RunIdentity identity, CheckpointGroups groups);

  // Takes the states of one group from its solver, on one thread at a time.
  class Sink final : public StateSink {
   public:
    Sink(CheckpointWriter& writer, std::size_t group);
    bool wanted() override;
    void keep(std::vector<std::byte> state, const Progress& last) override;
    void lost() override;
    void done(std::vector<std::byte> result);  // its last state

   private:
    bool answer();

    CheckpointWriter& writer_;
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
  RunIdentity identity_;
  CheckpointGroups groups_;
  double written_ = 0;    // when
  bool fresh_ = false;    // something is newer than the file
  bool writing_ = false;  // by some thread, which has its own copy of the groups
  std::uint64_t troubles_ = 0;
  std::optional<Error> trouble_;  // the last
};

}  // namespace hinge
