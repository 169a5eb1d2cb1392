#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hinge {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

// One job at a time: `generation` announces it, `next` hands out its blocks, `busy` counts the
// workers that have not yet left it.
struct Pool::Shared {
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable done;
  std::vector<std::thread> workers;
  int missing = 0;
  std::uint64_t generation = 0;
  bool quit = false;
  bool open = false;       // there may be blocks left of the job
  std::size_t inside = 0;  // workers at it
  int shunned = -1;        // the core where no worker runs

  std::size_t blocks = 0;
  const std::function<void(std::size_t)>* job = nullptr;
  const Pool* pool = nullptr;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::size_t failed_block = 0;
  std::exception_ptr failure;

  void take_blocks() {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t block = next.fetch_add(1, std::memory_order_relaxed);
      if (block >= blocks) return;
      try {
        pool->poll();
        (*job)(block);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure || block < failed_block) {
          failure = std::current_exception();
          failed_block = block;
        }
        failed.store(true, std::memory_order_relaxed);
      }
    }
  }

  // Workers run anywhere but on the core of the thread that calls, where there is a core for each.
  // Left alone they often wake up just there, and it or they wait while other cores are idle.
  void make_way() {
    const int core = sched_getcpu();
    if (core < 0 || core == shunned) return;
    cpu_set_t others;
    CPU_ZERO(&others);
    if (sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(static_cast<std::size_t>(core), &others);
    if (static_cast<std::size_t>(CPU_COUNT(&others)) < workers.size()) return;
    for (std::thread& worker : workers) {
      pthread_setaffinity_np(worker.native_handle(), sizeof others, &others);
    }
    shunned = core;
  }

  void worker_loop() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      work.wait(lock, [&] { return quit || generation != seen; });
      if (quit) return;
      seen = generation;
      if (!open) continue;
      ++inside;
      lock.unlock();
      take_blocks();
      lock.lock();
      if (--inside == 0) done.notify_one();
    }
  }
};

Pool::Pool(int threads, const StopToken* stop)
    : threads_(std::min(threads > 0 ? threads : available_cores(), 4096)), stop_(stop) {}

Pool::~Pool() {
  if (!shared_) return;
  if (owner_ != getpid()) {
    // A forked child has no worker threads; their handles must neither be joined nor destroyed.
    static_cast<void>(shared_.release());
    return;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->quit = true;
  }
  shared_->work.notify_all();
  for (std::thread& worker : shared_->workers) worker.join();
}

int Pool::missing() const {
  return shared_ ? shared_->missing : 0;
}

void Pool::start() {
  if (shared_ && owner_ == getpid()) return;
  static_cast<void>(shared_.release());  // null, or the parent's: see ~Pool
  shared_ = std::make_unique<Shared>();
  owner_ = getpid();
  const auto wanted = static_cast<std::size_t>(threads_ - 1);
  shared_->workers.reserve(wanted);
  try {
    while (shared_->workers.size() < wanted) {
      shared_->workers.emplace_back([shared = shared_.get()] { shared->worker_loop(); });
    }
  } catch (const std::system_error&) {
    shared_->missing = static_cast<int>(wanted - shared_->workers.size());
  }
}

void Pool::run(std::size_t blocks, const std::function<void(std::size_t)>& f) {
  if (threads_ == 1 || blocks <= 1) {
    for (std::size_t block = 0; block < blocks; ++block) {
      poll();
      f(block);
    }
    return;
  }
  start();
  Shared& shared = *shared_;
  {
    const std::lock_guard lock(shared.mutex);
    shared.blocks = blocks;
    shared.job = &f;
    shared.pool = this;
    shared.next.store(0, std::memory_order_relaxed);
    shared.failed.store(false, std::memory_order_relaxed);
    shared.failure = nullptr;
    shared.open = true;
    ++shared.generation;
  }
  shared.make_way();
  shared.work.notify_all();
  shared.take_blocks();
  std::unique_lock lock(shared.mutex);
  // Who has not yet woken up by now finds nothing to do, and is not waited for.
  shared.open = false;
  shared.done.wait(lock, [&] { return shared.inside == 0; });
  if (shared.failure) {
    const std::exception_ptr failure = std::exchange(shared.failure, nullptr);
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

}  // namespace hinge
