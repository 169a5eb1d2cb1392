#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
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

// A thread that waits looks again and again for so long before it goes to sleep: waking one takes
// several times as long as the pieces of work that solvers cut.
constexpr auto kAlert = std::chrono::microseconds(50);
constexpr int kLooks = 32;  // between two looks at the clock
constexpr std::size_t kLine = 64;

void breathe() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks until it is done() or kAlert has passed; returns whether it is.
template <class Done>
bool watch(const Done& done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + kAlert;
  do {
    for (int look = 0; look < kLooks; ++look) {
      breathe();
      if (done()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

// One job at a time. Each thread that is to work at it has a share of its blocks, neighbours, and
// takes those of others when it is through with them: so a thread mostly gets the same blocks of
// one job after another, and finds in its cache what it left there.
struct Pool::Shared {
  struct alignas(kLine) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };
  struct alignas(kLine) Seat {  // where a worker sleeps
    std::mutex mutex;
    std::condition_variable wake;
    std::atomic<bool> asleep{false};
  };
  // What `state` is made of: the number of the job, whether workers may still come, and how many
  // are at it.
  static constexpr std::uint64_t kJob = 1 << 17, kOpen = 1 << 16, kInside = kOpen - 1;

  explicit Shared(std::size_t wanted) : seats(wanted + 1), shares(wanted + 1) {}

  std::vector<std::thread> workers;  // that of seat 1 comes first; seat 0 is the caller's
  std::vector<Seat> seats;
  int missing = 0;
  bool alert = false;  // who waits looks for a while before it sleeps: there is a core for each
  int shunned = -1;    // the core where no worker runs

  alignas(kLine) std::atomic<std::uint64_t> state{0};
  alignas(kLine) std::atomic<bool> quit{false};
  std::atomic<bool> caller_sleeps{false};
  std::mutex mutex;
  std::condition_variable done;

  std::atomic<std::size_t> width{0};  // so many threads are to work at the job
  std::vector<Share> shares;
  const std::function<void(std::size_t)>* job = nullptr;
  const Pool* pool = nullptr;
  std::atomic<std::size_t> failed_block{kNone};  // the lowest that has
  std::exception_ptr failure;

  static constexpr std::size_t kNone = SIZE_MAX;

  void take_blocks(std::size_t seat) {
    const std::size_t count = width.load(std::memory_order_relaxed);
    for (std::size_t n = 0; n < count; ++n) take_share(shares[(seat + n) % count]);
  }

  void take_share(Share& share) {
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const std::size_t block = share.next.fetch_add(1, std::memory_order_relaxed);
      // Those below one that failed are done all the same: the first to fail is told.
      if (block >= share.end || block > failed_block.load(std::memory_order_relaxed)) return;
      try {
        pool->poll();
        (*job)(block);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (block < failed_block.load(std::memory_order_relaxed)) {
          failure = std::current_exception();
          failed_block.store(block, std::memory_order_relaxed);
        }
      }
    }
  }

  void begin(std::size_t blocks, const std::function<void(std::size_t)>& f, const Pool& of) {
    const std::size_t count = std::min(blocks, workers.size() + 1);
    for (std::size_t k = 0; k < count; ++k) {
      shares[k].next.store(blocks * k / count, std::memory_order_relaxed);
      shares[k].end = blocks * (k + 1) / count;
    }
    width.store(count, std::memory_order_relaxed);
    job = &f;
    pool = &of;
    failed_block.store(kNone, std::memory_order_relaxed);
    failure = nullptr;
    state.store((state.load() / kJob + 1) * kJob + kOpen);
    for (std::size_t seat = 1; seat < count; ++seat) wake(seats[seat]);
  }

  static void wake(Seat& seat) {
    if (!seat.asleep.load()) return;
    const std::lock_guard lock(seat.mutex);
    seat.wake.notify_one();
  }

  // Who has not yet come by now finds nothing to do, and is not waited for.
  void end() {
    state.fetch_and(~kOpen);
    const auto over = [&] { return (state.load() & kInside) == 0; };
    if (alert ? watch(over) : over()) return;
    std::unique_lock lock(mutex);
    caller_sleeps.store(true);
    done.wait(lock, over);
    caller_sleeps.store(false);
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

  void worker_loop(std::size_t own_seat) {
    Seat& seat = seats[own_seat];
    std::uint64_t seen = 0;  // the number of the last job
    const auto called = [&] { return state.load() / kJob != seen || quit.load(); };
    while (true) {
      if (!(alert && watch(called))) {
        std::unique_lock lock(seat.mutex);
        seat.asleep.store(true);
        seat.wake.wait(lock, called);
        seat.asleep.store(false);
      }
      if (quit.load()) return;
      std::uint64_t now = state.load();
      seen = now / kJob;
      if (own_seat >= width.load(std::memory_order_relaxed)) continue;
      while ((now & kOpen) != 0 && now / kJob == seen) {
        if (!state.compare_exchange_weak(now, now + 1)) continue;
        take_blocks(own_seat);
        const bool last = (state.fetch_sub(1) & kInside) == 1;
        if (last && caller_sleeps.load()) {
          const std::lock_guard lock(mutex);
          done.notify_one();
        }
        break;
      }
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
  shared_->quit.store(true);
  for (Shared::Seat& seat : shared_->seats) Shared::wake(seat);
  for (std::thread& worker : shared_->workers) worker.join();
}

int Pool::missing() const {
  return shared_ ? shared_->missing : 0;
}

void Pool::start() {
  if (shared_ && owner_ == getpid()) return;
  static_cast<void>(shared_.release());  // null, or the parent's: see ~Pool
  const auto wanted = static_cast<std::size_t>(threads_ - 1);
  shared_ = std::make_unique<Shared>(wanted);
  shared_->alert = threads_ <= available_cores();
  owner_ = getpid();
  shared_->workers.reserve(wanted);
  try {
    while (shared_->workers.size() < wanted) {
      const std::size_t seat = shared_->workers.size() + 1;
      shared_->workers.emplace_back([shared = shared_.get(), seat] { shared->worker_loop(seat); });
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
  shared.make_way();
  shared.begin(blocks, f, *this);
  shared.take_blocks(0);
  shared.end();
  if (shared.failure) std::rethrow_exception(std::exchange(shared.failure, nullptr));
}

}  // namespace hinge
