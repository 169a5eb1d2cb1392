// A small thread pool for work cut into numbered blocks.
//
// run(n, f) calls f(block) once for every block 0 .. n-1 and returns when all are done. Which
// thread takes which block is left open, so a result may depend on the block number only, never on
// the thread: cut work by data size, give every block its own output, combine outputs in block
// order.
//
// The first exception (of the lowest block that threw) is thrown on by run(); blocks not yet begun
// are skipped. Where threads cannot be started, the pool works with fewer, down to the calling
// thread. In a forked child the pool starts new threads on first use. Only one run() at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace hinge {

class Pool {
 public:
  // threads: 0 = as many as this process may use. Threads start on the first run() that needs them.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }  // including the calling one
  int missing() const;                      // threads that could not be started

  void run(std::size_t blocks, const std::function<void(std::size_t)>& f);

 private:
  struct Shared;
  void start();

  int threads_;
  std::int64_t owner_ = 0;  // process that started the workers
  std::unique_ptr<Shared> shared_;
};

// Cores this process may run on (its affinity mask), at least 1.
int available_cores();

}  // namespace hinge
