#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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

namespace {

// How long a thread looks out for what it waits for before it sleeps. To wake it takes the kernel
// some 50 microseconds on 16 cores, and runs of a solver follow each other at such distances.
constexpr std::chrono::microseconds kLookOut{60};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Until done(), or until that took long: false.
template <class Done>
bool look_out(const Done& done) {
  constexpr int kLooks = 32;  // between two looks at the clock
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int k = 0; k < kLooks; ++k) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() - start < kLookOut);
  return false;
}

}  // namespace

// One job at a time. `state` says all that threads must agree on: which job it is, whether it is
// open, which it is while there may be blocks left, and how many workers are at it. What the job is
// changes only while it is not open and nobody is at it. `next` hands out its blocks. Sleeping is
// under the mutex: who is about to sleep looks at `state` once more, and who has changed it looks
// for sleepers.
struct Pool::Shared {
  static constexpr std::uint64_t kInside = (std::uint64_t{1} << 16) - 1, kOpen = kInside + 1,
                                 kJob = kOpen << 1;

  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable done;
  std::vector<std::thread> workers;
  int missing = 0;
  bool looks_out = false;               // there is a core for every thread
  std::atomic<std::uint64_t> state{0};  // job * kJob + open * kOpen + workers at it
  std::atomic<bool> quit{false};
  std::atomic<bool> caller_sleeps{false};
  std::size_t sleepers = 0;  // workers
  int shunned = -1;          // the core where no worker runs

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

  static std::uint64_t job_of(std::uint64_t state) { return state / kJob; }

  void open_job() {
    state.store((job_of(state.load(std::memory_order_relaxed)) + 1) * kJob + kOpen);
    std::size_t wake = 0, asleep = 0;
    {
      const std::lock_guard lock(mutex);
      // Who does not sleep will see it; `blocks - 1` are left for workers.
      asleep = sleepers;
      const std::size_t awake = workers.size() - asleep;
      wake = std::min(asleep, blocks - 1 - std::min(awake, blocks - 1));
    }
    if (wake == 0) return;
    if (wake == asleep) {
      work.notify_all();
    } else {
      for (std::size_t k = 0; k < wake; ++k) work.notify_one();
    }
  }

  // Who has not come by now finds nothing to do, and is not waited for.
  void close_job() {
    state.fetch_and(~kOpen);
    const auto alone = [this] { return (state.load() & kInside) == 0; };
    if (alone() || (looks_out && look_out(alone))) return;
    std::unique_lock lock(mutex);
    caller_sleeps = true;
    done.wait(lock, alone);
    caller_sleeps = false;
  }

  bool enter(std::uint64_t job_number) {
    std::uint64_t now = state.load();
    while (job_of(now) == job_number && (now & kOpen) != 0) {
      if (state.compare_exchange_weak(now, now + 1)) return true;
    }
    return false;
  }
  void leave() {
    if ((state.fetch_sub(1) & kInside) != 1 || !caller_sleeps) return;
    const std::lock_guard lock(mutex);
    done.notify_one();
  }

  void worker_loop() {
    std::uint64_t seen = 0;
    const auto called = [&] { return quit || job_of(state.load()) != seen; };
    while (true) {
      if (!looks_out || !look_out(called)) {
        std::unique_lock lock(mutex);
        ++sleepers;
        work.wait(lock, called);
        --sleepers;
      }
      if (quit) return;
      seen = job_of(state.load());
      if (!enter(seen)) continue;
      take_blocks();
      leave();
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
    shared_->quit = true;  // seen by who is about to sleep, too
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
  shared_->looks_out = threads_ <= available_cores();
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
  shared.blocks = blocks;
  shared.job = &f;
  shared.pool = this;
  shared.next.store(0, std::memory_order_relaxed);
  shared.failed.store(false, std::memory_order_relaxed);
  shared.failure = nullptr;
  shared.make_way();
  shared.open_job();
  shared.take_blocks();
  shared.close_job();
  if (shared.failure) {
    std::rethrow_exception(std::exchange(shared.failure, nullptr));
  }
}

}  // namespace hinge
