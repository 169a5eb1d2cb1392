#include "base/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <latch>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define HINGE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HINGE_TSAN 1
#endif
#endif
#ifndef HINGE_TSAN
#define HINGE_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define HINGE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HINGE_ASAN 1
#endif
#endif
#ifndef HINGE_ASAN
#define HINGE_ASAN 0
#endif

namespace hinge {
namespace {

// How often each block ran; plain counters, so that a race between blocks shows under TSan.
std::vector<int> run_counts(Pool& pool, std::size_t blocks) {
  std::vector<int> counts(blocks);
  pool.run(blocks, [&](std::size_t block) { ++counts.at(block); });
  return counts;
}

std::uint64_t run_sum(Pool& pool, std::size_t blocks) {
  std::vector<std::uint64_t> parts(blocks);
  pool.run(blocks, [&](std::size_t block) { parts[block] = block + 1; });
  return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
}

// Returns when all threads of the pool are at work. A fork beside a thread that is just starting
// would leave locks of ASan taken in the child for ever.
void start_all(Pool& pool) {
  std::latch all(pool.threads());
  pool.run(static_cast<std::size_t>(pool.threads()), [&](std::size_t) { all.arrive_and_wait(); });
}

// The exit status of a child that runs f; a child that hangs is ended by its alarm.
template <class F>
int in_child(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int status = 99;
    try {
      status = f();
    } catch (...) {
    }
    _exit(status);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Pool, RunsEveryBlockOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t blocks : {0U, 1U, 2U, 3U, 7U, 8U, 9U, 1000U}) {
      EXPECT_EQ(run_counts(pool, blocks), std::vector<int>(blocks, 1)) << threads << " " << blocks;
    }
  }
}

// Threads that are all awake and hurry: so many blocks that two of them would take the same one.
TEST(Pool, RunsEveryBlockOnceInAHurry) {
  constexpr std::size_t kBlocks = 300'000;
  for (const int threads : {2, 4}) {
    Pool pool(threads);
    std::vector<std::atomic<int>> counts(kBlocks);
    std::atomic<int> awake{0};
    pool.run(kBlocks, [&](std::size_t block) {
      counts[block].fetch_add(1, std::memory_order_relaxed);
      if (block >= static_cast<std::size_t>(threads)) return;
      ++awake;
      for (int k = 0; k < 1000 && awake < threads; ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    std::size_t wrong = 0;
    for (const std::atomic<int>& count : counts) wrong += count != 1;
    EXPECT_EQ(wrong, 0U) << threads;
  }
}

TEST(Pool, ZeroThreadsMeansAllCores) {
  EXPECT_GE(available_cores(), 1);
  Pool pool(0);
  EXPECT_EQ(pool.threads(), available_cores());
  EXPECT_EQ(run_counts(pool, 50), std::vector<int>(50, 1));
}

TEST(Pool, UnusedPoolStartsAndJoinsNothing) {
  const Pool pool(4096);
  EXPECT_EQ(pool.missing(), 0);
}

TEST(Pool, UsesAllItsThreads) {
  Pool pool(4);
  static_cast<void>(run_sum(pool, 2));
  if (pool.missing() > 0) GTEST_SKIP() << "threads could not be started";
  std::latch all(4);  // nobody goes on before four threads are inside
  std::vector<std::thread::id> ids(4);
  pool.run(4, [&](std::size_t block) {
    all.arrive_and_wait();
    ids[block] = std::this_thread::get_id();
  });
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 4U);
}

TEST(Pool, WorkersKeepAwayFromTheCallersCore) {
  if (available_cores() < 2) GTEST_SKIP() << "there is one core";
  Pool pool(2);
  static_cast<void>(run_sum(pool, 2));
  if (pool.missing() > 0) GTEST_SKIP() << "threads could not be started";
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 200; ++round) {
    const int before = sched_getcpu();
    std::latch both(2);
    std::vector<int> cores(2, -1);
    pool.run(2, [&](std::size_t block) {
      both.arrive_and_wait();
      if (std::this_thread::get_id() != caller) cores[block] = sched_getcpu();
    });
    if (sched_getcpu() != before) continue;  // moved by the system, just now
    EXPECT_NE(std::max(cores[0], cores[1]), before);
  }
}

// A core for each there is not: then all go anywhere.
TEST(Pool, WorkersBeyondTheCoresGoAnywhere) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  const int cores = CPU_COUNT(&all);
  Pool pool(cores + 1);
  static_cast<void>(run_sum(pool, 2));
  if (pool.missing() > 0) GTEST_SKIP() << "threads could not be started";
  std::vector<int> counts(static_cast<std::size_t>(pool.threads()));
  std::latch together(pool.threads());
  pool.run(counts.size(), [&](std::size_t block) {
    together.arrive_and_wait();
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) == 0) counts[block] = CPU_COUNT(&own);
  });
  EXPECT_EQ(counts, std::vector<int>(counts.size(), cores));
}

TEST(Pool, ResultsAreVisibleAfterRun) {
  Pool pool(4);
  std::uint64_t expected = 0, sum = 0;
  for (std::size_t blocks = 0; blocks < 3000; ++blocks) {  // many tiny runs
    sum += run_sum(pool, blocks % 7);
    expected += (blocks % 7) * (blocks % 7 + 1) / 2;
  }
  EXPECT_EQ(sum, expected);
}

// So short that some workers wake up when all is done: the next run must not be theirs by mistake,
// nor may what the last one worked on be touched once it is gone.
TEST(Pool, ShortRunsFollowEachOther) {
  Pool pool(4);
  for (std::size_t round = 0; round < 20000; ++round) {
    std::vector<std::size_t> out(2 + round % 5);
    pool.run(out.size(), [&, round](std::size_t block) { out[block] += round + block; });
    for (std::size_t block = 0; block < out.size(); ++block) {
      ASSERT_EQ(out[block], round + block);
    }
  }
}

TEST(Pool, ExceptionReachesTheCaller) {
  for (const int threads : {1, 2, 4}) {
    Pool pool(threads);
    for (const std::size_t blocks : {1U, 2U, 100U}) {
      try {
        pool.run(blocks, [&](std::size_t block) {
          if (block == blocks - 1) throw std::runtime_error("last");
        });
        ADD_FAILURE() << "nothing was thrown by " << threads << " threads";
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "last");
      }
    }
  }
}

TEST(Pool, LowestBlockThatThrewWins) {
  Pool pool(4);
  static_cast<void>(run_sum(pool, 2));
  if (pool.missing() > 0) GTEST_SKIP() << "threads could not be started";
  for (int round = 0; round < 200; ++round) {
    std::latch all(4);  // all four blocks have begun, so all four throw
    try {
      pool.run(4, [&](std::size_t block) {
        all.arrive_and_wait();
        throw block;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::size_t block) {
      ASSERT_EQ(block, 0U);
    }
  }
}

// Also where a higher one threw long before it began.
TEST(Pool, LowestBlockThatThrowsWinsWheneverItBegins) {
  Pool pool(4);
  for (int round = 0; round < 200; ++round) {
    try {
      pool.run(1000, [&](std::size_t block) {
        if (block == 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (block == 101 || block >= 700) throw block;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::size_t block) {
      ASSERT_EQ(block, 101U);
    }
  }
}

TEST(Pool, BlocksNotBegunAreSkipped) {
  for (const int threads : {1, 4}) {
    Pool pool(threads);
    std::atomic<int> begun{0};
    EXPECT_THROW(pool.run(100000,
                          [&](std::size_t block) {
                            ++begun;
                            if (block == 3) throw std::runtime_error("stop");
                            std::this_thread::sleep_for(std::chrono::microseconds(20));
                          }),
                 std::runtime_error);
    EXPECT_LT(begun.load(), 50000) << threads;
    if (threads == 1) {
      EXPECT_EQ(begun.load(), 4);
    }
  }
}

TEST(Pool, WorksAgainAfterAnException) {
  Pool pool(4);
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(pool.run(20, [](std::size_t) { throw 1; }), int);
    ASSERT_EQ(run_counts(pool, 20), std::vector<int>(20, 1));
  }
}

TEST(Pool, PoolsNest) {
  Pool outer(3);
  std::vector<std::uint64_t> sums(12);
  outer.run(sums.size(), [&](std::size_t block) {
    Pool inner(3);
    sums[block] = run_sum(inner, 40);
  });
  EXPECT_EQ(sums, std::vector<std::uint64_t>(12, 820));
}

TEST(Pool, ExceptionPassesThroughNestedPools) {
  Pool outer(2);
  EXPECT_THROW(outer.run(4,
                         [](std::size_t) {
                           Pool inner(2);
                           inner.run(4, [](std::size_t) { throw std::length_error("deep"); });
                         }),
               std::length_error);
}

TEST(Pool, WorksInAForkedChild) {
  if (HINGE_TSAN) GTEST_SKIP() << "TSan does not follow threads into a forked child";
  auto pool = std::make_unique<Pool>(4);
  start_all(*pool);
  ASSERT_EQ(run_sum(*pool, 100), 5050U);
  EXPECT_EQ(in_child([&] {
              const bool good = run_sum(*pool, 100) == 5050 && run_sum(*pool, 10) == 55;
              pool.reset();
              return good ? 0 : 1;
            }),
            0);
  EXPECT_EQ(run_sum(*pool, 100), 5050U);  // and goes on in the parent
}

TEST(Pool, ForkedChildMayLeaveItUnused) {
  if (HINGE_TSAN) GTEST_SKIP() << "TSan does not follow threads into a forked child";
  auto pool = std::make_unique<Pool>(4);
  start_all(*pool);
  ASSERT_EQ(run_sum(*pool, 100), 5050U);
  EXPECT_EQ(in_child([&] {
              pool.reset();
              return 0;
            }),
            0);
}

TEST(Pool, WorksWithFewerThreadsWhereTheyCannotStart) {
  if (HINGE_TSAN || HINGE_ASAN) GTEST_SKIP() << "sanitizers need the address space";
  EXPECT_EQ(in_child([] {
              std::uint64_t pages = 0;
              std::ifstream("/proc/self/statm") >> pages;
              const auto now = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
              // Room for the heap, none for a hundred stacks.
              const rlimit limit{now + (std::uint64_t{8} << 20), RLIM_INFINITY};
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              Pool pool(100);
              if (run_sum(pool, 1000) != 500500) return 3;
              return pool.missing() > 0 ? 0 : 4;
            }),
            0);
}

class StoppedPool : public ::testing::TestWithParam<int> {};

TEST_P(StoppedPool, EndsBetweenBlocks) {
  std::atomic<bool> flag{false};
  const StopToken stop(&flag);
  Pool pool(GetParam(), &stop);
  std::atomic<std::uint64_t> done{0};
  const auto work = [&](std::size_t) {
    if (++done == 50) flag = true;
  };
  EXPECT_THROW(pool.run(1000, work), Interrupted);
  EXPECT_GE(done, 50U);
  EXPECT_LT(done, 1000U);
  EXPECT_THROW(pool.poll(), Interrupted);
  EXPECT_THROW(pool.run(1, work), Interrupted);
  pool.run(0, work);  // nothing to interrupt
  flag = false;
  EXPECT_EQ(run_sum(pool, 100), 5050U);
}

TEST_P(StoppedPool, WorkThatMustNotBeLeftHalfDoneIsNot) {
  const std::atomic<bool> flag{true};
  const StopToken stop(&flag);
  Pool pool(GetParam(), &stop);
  EXPECT_THROW(pool.poll(), Interrupted);
  {
    const Pool::Grace whole(pool, Pool::Grace::kForever);
    const Pool::Grace shorter(pool, 0);  // the longest counts
    EXPECT_EQ(run_sum(pool, 100), 5050U);
  }
  EXPECT_THROW(run_sum(pool, 100), Interrupted);
}

TEST_P(StoppedPool, GraceEnds) {
  const std::atomic<bool> flag{true};
  const StopToken stop(&flag);
  Pool pool(GetParam(), &stop);
  const Pool::Grace grace(pool, 0.2);
  EXPECT_NO_THROW(pool.poll());  // time runs from now on
  const auto start = std::chrono::steady_clock::now();
  const auto nap = [](std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  EXPECT_THROW(pool.run(100'000, nap), Interrupted);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(190));
}

INSTANTIATE_TEST_SUITE_P(Threads, StoppedPool, ::testing::Values(1, 4));

}  // namespace
}  // namespace hinge
