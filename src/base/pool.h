// A small thread pool for work cut into numbered blocks.
//
// run(n, f) calls f(block) once for every block 0 .. n-1 and returns when all are done. Which
// thread takes which block is left open, so a result may depend on the block number only, never on
// the thread: cut work by data size, give every block its own output, combine outputs in block
// order. Blocks begin in any order: none may wait for one that may not have begun.
//
// The first exception (of the lowest block that threw) is thrown on by run(); blocks not yet begun
// are skipped. Where threads cannot be started, the pool works with fewer, down to the calling
// thread. In a forked child the pool starts new threads on first use. Only one run() at a time.
// Where every thread can have a core, workers are kept off the one that the calling thread is on.
//
// A pool may know a stop token. Before each block it is asked, and run() ends with Interrupted, so
// that all work cut into blocks can be stopped without a word about it where the work is described.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/stop.h"

namespace hinge {

class Pool {
 public:
  // threads: 0 = as many as this process may use. Threads start on the first run() that needs them.
  // `stop` must outlive the pool.
  explicit Pool(int threads, const StopToken* stop = nullptr);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }  // including the calling one
  int missing() const;                      // threads that could not be started

  void run(std::size_t blocks, const std::function<void(std::size_t)>& f);

  // For work that is not cut into blocks: throws Interrupted if run() would. Thread-safe.
  void poll() const {
    if (stop_ != nullptr && stop_->up(grace_)) throw Interrupted{};
  }

  // While it lives, work goes on until the flag has been up for so many seconds; kForever: work
  // that must not be left half done. The longest of nested ones counts.
  class Grace {
   public:
    static constexpr double kForever = std::numeric_limits<double>::infinity();
    Grace(Pool& pool, double seconds) : pool_(pool), before_(pool.grace_) {
      pool_.grace_ = std::max(before_, seconds);
    }
    ~Grace() { pool_.grace_ = before_; }
    Grace(const Grace&) = delete;
    Grace& operator=(const Grace&) = delete;

   private:
    Pool& pool_;
    double before_;
  };

 private:
  struct Shared;
  void start();

  int threads_;
  const StopToken* stop_;
  double grace_ = 0;        // seconds
  std::int64_t owner_ = 0;  // process that started the workers
  std::unique_ptr<Shared> shared_;
};

// Cores this process may run on (its affinity mask), at least 1.
int available_cores();

}  // namespace hinge
