// Ranks that are threads of one process, so that what ranks do together can be tested without a
// launcher.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "hinge/transport.h"

namespace hinge::testing {

class ThreadGroup {
 public:
  explicit ThreadGroup(int ranks) : ranks_(ranks), posted_(static_cast<std::size_t>(ranks)) {}

  class Rank final : public Transport {
   public:
    Rank(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_.ranks_; }
    Outcome exchange(std::span<const std::byte> mine, std::span<std::byte> all) override {
      return group_.meet(rank_, mine, [&](const auto& posted) {
        for (std::size_t k = 0; k < posted.size(); ++k) {
          EXPECT_EQ(posted[k].size(), mine.size()) << "ranks disagree on what they exchange";
          std::copy(posted[k].begin(), posted[k].end(), all.data() + k * mine.size());
        }
      });
    }
    Outcome transpose(std::span<const double> mine, std::span<double> all) override {
      return group_.meet(rank_, std::as_bytes(mine), [&](const auto& posted) {
        const std::size_t piece = mine.size_bytes() / posted.size();
        const std::span<std::byte> out = std::as_writable_bytes(all);
        for (std::size_t k = 0; k < posted.size(); ++k) {
          EXPECT_EQ(posted[k].size(), mine.size_bytes());
          std::memcpy(out.data() + k * piece,
                      posted[k].data() + static_cast<std::size_t>(rank_) * piece, piece);
        }
      });
    }
    Outcome send(int to, std::span<const std::byte> bytes) override {
      return group_.send(rank_, to, bytes);
    }
    Outcome receive(int from, std::span<std::byte> bytes) override {
      return group_.receive(from, rank_, bytes);
    }
    void tell(std::span<const std::byte> bytes) noexcept override { group_.tell(bytes); }
    std::span<const std::byte> told() const override { return group_.words_; }
    bool reports() const override { return rank_ == 0; }

   private:
    ThreadGroup& group_;
    int rank_;
  };

  // f(transport) on a thread a rank. What a rank throws is thrown on here, that of the lowest
  // first.
  void run(const std::function<void(Transport&)>& f) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks_));
    for (int k = 0; k < ranks_; ++k) {
      threads.emplace_back([this, k, &f, &thrown] {
        Rank rank(*this, k);
        try {
          f(rank);
        } catch (...) {
          thrown[static_cast<std::size_t>(k)] = std::current_exception();
        }
        leave(k);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : thrown) {
      if (error) std::rethrow_exception(error);
    }
  }

 private:
  using Posted = std::vector<std::span<const std::byte>>;

  // Whoever leaves is missed by those who wait for it, as a process that ended would be.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    gone_.insert(rank);
    changed_.notify_all();
  }
  Transport::Outcome trouble() const {
    return told_ ? Transport::Outcome::told : Transport::Outcome::lost;
  }

  template <class Read>
  Transport::Outcome meet(int rank, std::span<const std::byte> mine, const Read& read) {
    std::unique_lock lock(mutex_);
    if (told_) return trouble();
    posted_[static_cast<std::size_t>(rank)] = mine;
    if (!wait_for_all(lock, arrived_, generation_)) return trouble();
    read(posted_);
    if (!wait_for_all(lock, done_, done_generation_)) return trouble();
    return Transport::Outcome::done;
  }
  bool wait_for_all(std::unique_lock<std::mutex>& lock, int& count, std::uint64_t& generation) {
    const std::uint64_t mine = generation;
    if (++count == ranks_) {
      count = 0;
      ++generation;
      changed_.notify_all();
      return true;
    }
    changed_.wait(lock, [&] { return generation != mine || told_ || !gone_.empty(); });
    return generation != mine;
  }

  Transport::Outcome send(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    if (told_) return trouble();
    mail_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
    return Transport::Outcome::done;
  }
  Transport::Outcome receive(int from, int to, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{from, to}];
    changed_.wait(lock, [&] { return !box.empty() || told_ || gone_.contains(from); });
    if (box.empty()) return trouble();
    EXPECT_EQ(box.front().size(), bytes.size()) << "ranks disagree on a message";
    std::copy_n(box.front().begin(), std::min(bytes.size(), box.front().size()), bytes.begin());
    box.pop_front();
    return Transport::Outcome::done;
  }
  void tell(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    if (!told_) words_.assign(bytes.begin(), bytes.end());
    told_ = true;
    changed_.notify_all();
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Posted posted_;
  int arrived_ = 0, done_ = 0;
  std::set<int> gone_;
  std::uint64_t generation_ = 0, done_generation_ = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
  std::vector<std::byte> words_;
  bool told_ = false;
};

}  // namespace hinge::testing
