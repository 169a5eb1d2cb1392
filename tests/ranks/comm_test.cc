#include "ranks/comm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "base/random.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::ThreadGroup;

// What rank r would add at place k; sizes far apart, so that the order of a sum shows in its bits.
double part(int rank, std::size_t k) {
  Random random(k + 1, static_cast<std::uint64_t>(rank));
  return (random.uniform() - 0.5) * std::pow(10.0, static_cast<double>(random.below(12)));
}

class CommRanks : public ::testing::TestWithParam<int> {};

TEST_P(CommRanks, SumsAreThoseInRankOrderOnEveryRank) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{512}, std::size_t{513}, std::size_t{10007}}) {
    std::vector<double> expected(size);
    for (std::size_t k = 0; k < size; ++k) {
      expected[k] = part(0, k);
      for (int r = 1; r < GetParam(); ++r) expected[k] += part(r, k);
    }
    ThreadGroup(GetParam()).run([&](Transport& transport) {
      Comm comm(transport);
      std::vector<double> mine(size);
      for (std::size_t k = 0; k < size; ++k) mine[k] = part(comm.rank(), k);
      comm.sum(mine);
      EXPECT_EQ(mine, expected);
    });
  }
}

TEST_P(CommRanks, SparseSumsAreTheSameAndCheaper) {
  constexpr std::size_t kSize = 20000;
  for (const std::size_t every : {std::size_t{1}, std::size_t{7}, std::size_t{3000}, 2 * kSize}) {
    ThreadGroup(GetParam()).run([&](Transport& transport) {
      std::vector<double> sparse(kSize), full;
      for (std::size_t k = every / 2 + static_cast<std::size_t>(transport.rank()); k < kSize;
           k += every) {
        sparse[k] = part(transport.rank(), k);
      }
      full = sparse;
      Comm one(transport), other(transport);
      one.sum_sparse(sparse);
      other.sum(full);
      EXPECT_EQ(sparse, full);
      if (every >= 3000 && transport.size() > 1) {
        EXPECT_LT(10 * one.counts().bytes, other.counts().bytes);
      }
    });
  }
}

TEST_P(CommRanks, WishesTravelWithTheSumsThatAreSaidToCarryThem) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{20000}}) {
    ThreadGroup(GetParam()).run([&](Transport& transport) {
      Comm comm(transport);
      if (comm.first()) comm.raise(Wish::limit);
      std::vector<double> values(size, 1.0);
      comm.sum_sparse(values);
      EXPECT_EQ(comm.raised(Wish::limit), comm.carries_wishes(size));
      comm.sum(0.0);
      EXPECT_TRUE(comm.raised(Wish::limit));
    });
  }
}

// The two halves of a sum, and numbers that travel with the second.
TEST_P(CommRanks, SlicesOfASumBecomeTheSum) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{700}}) {
    ThreadGroup(GetParam()).run([&](Transport& transport) {
      Comm comm(transport);
      std::vector<double> sliced(size), full;
      for (std::size_t k = 0; k < size; ++k) sliced[k] = part(comm.rank(), k);
      full = sliced;
      comm.sum(full);
      comm.sum_slice(sliced);
      double sums[] = {part(comm.rank(), 1), part(comm.rank(), 2)};
      comm.share_slices(sliced, sums);
      EXPECT_EQ(sliced, full);
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(sums[k], comm.sum(part(comm.rank(), k + 1)));
      }
    });
  }
}

TEST_P(CommRanks, GathersBroadcastsAndRelaysBytesOfAnySize) {
  const int ranks = GetParam();
  const auto bytes_of = [](int rank) {
    return std::vector<std::byte>(static_cast<std::size_t>(rank % 3 == 1 ? 0 : 10 * rank + 1),
                                  static_cast<std::byte>(rank));
  };
  ThreadGroup(ranks).run([&](Transport& transport) {
    Comm comm(transport);
    const auto all = comm.gather_all(bytes_of(comm.rank()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], bytes_of(r));
    int next = 0;
    comm.gather(bytes_of(comm.rank()), [&](int from, std::span<const std::byte> bytes) {
      EXPECT_TRUE(comm.first());
      EXPECT_EQ(from, next++);
      EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), bytes_of(from));
    });
    EXPECT_EQ(next, comm.first() ? ranks : 0);
    std::vector<std::byte> shared = bytes_of(comm.rank() + 5);
    comm.broadcast(shared);
    EXPECT_EQ(shared, bytes_of(5));
    comm.relay([&](std::span<const std::byte> before) {
      EXPECT_EQ(before.size(), static_cast<std::size_t>(comm.rank()));
      return std::vector<std::byte>(before.size() + 1);
    });
    EXPECT_EQ(comm.max(static_cast<double>(-comm.rank())), 0.0);
    EXPECT_EQ(comm.sum(std::uint64_t{3}), static_cast<std::uint64_t>(3 * ranks));
  });
}

// Wishes of any rank show on all of them after the same sum.
TEST_P(CommRanks, WishesArriveEverywhereAtTheSamePlace) {
  ThreadGroup(GetParam()).run([&](Transport& transport) {
    Comm comm(transport);
    comm.sum(1.0);
    EXPECT_FALSE(comm.raised(Wish::interrupt));
    if (comm.rank() == comm.size() - 1) comm.raise(Wish::interrupt);
    EXPECT_FALSE(comm.raised(Wish::interrupt));  // nobody knows yet, not even here
    comm.sum(1.0);
    EXPECT_TRUE(comm.raised(Wish::interrupt));
    EXPECT_FALSE(comm.raised(Wish::limit));
    comm.lower(Wish::interrupt);
    EXPECT_FALSE(comm.ask(Wish::interrupt));
  });
}

std::string id_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Failure& failure) {
    return failure.error.id + ": " + failure.error.message;
  }
  return "";
}

TEST(Comm, FailuresAndDisagreementsAreTheSameEverywhere) {
  ThreadGroup(3).run([](Transport& transport) {
    Comm comm(transport);
    comm.agree("colour", "red");
    comm.together([] {});
    EXPECT_EQ(id_of([&] {
                comm.together([&] {
                  if (comm.rank() > 0) fail("data.empty", "rank " + std::to_string(comm.rank()));
                });
              }),
              "data.empty: rank 1");
    Comm again(transport);
    EXPECT_EQ(id_of([&] { again.agree("cost", comm.rank() == 2 ? "2" : "1"); }),
              "mpi.inconsistent: cost: 1 on rank 0, 2 on rank 2");
  });
}

TEST(Comm, ARankThatGivesUpIsHeardByThoseWhoWait) {
  ThreadGroup(4).run([](Transport& transport) {
    Comm comm(transport);
    Error error = make_error("memory.alloc", "no more");
    error.line = 7;
    error.more.push_back(make_error("data.value", "and this"));
    if (comm.rank() == 2) {
      comm.fail(error);
      return;
    }
    error.rank = error.more[0].rank = 2;
    try {
      comm.sum(1.0);
      ADD_FAILURE() << "nobody told us";
    } catch (const Failure& failure) {
      EXPECT_EQ(to_string(failure.error), to_string(error));
    }
    Error other = make_error("data.empty", "other");
    comm.fail(other);  // there was an error from elsewhere: it is not told again
    EXPECT_EQ(to_string(unpack_error(transport.told())), to_string(error));
  });
}

TEST(Comm, ARankThatEndsIsLost) {
  ThreadGroup(3).run([](Transport& transport) {
    Comm comm(transport);
    if (comm.rank() == 1) return;
    EXPECT_TRUE(id_of([&] { comm.sum(1.0); }).starts_with("mpi.rank-lost"));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, CommRanks, ::testing::Values(1, 2, 3, 4, 7, 20));

}  // namespace
}  // namespace hinge
