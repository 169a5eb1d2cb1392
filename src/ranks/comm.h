// What ranks of one training do together, on any Transport (hinge/transport.h). A sum is taken in
// rank order in one place and then handed out: the same bits on every rank, and the same again in
// the next run with as many ranks.
//
// Trouble: a rank that is lost, late, or gave up makes every call here throw Failure. A rank that
// fails by itself says so with fail(), so that nobody waits for it.
//
// Wishes: any rank may wish that all stop (raise()). Wishes travel with the next small sum, and
// raised() tells those that have arrived: at the same place of the program it is the same on every
// rank. So decisions that depend on clocks, signals or local counts are taken by all or by none, at
// no price.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "hinge/transport.h"

namespace hinge {

enum class Wish : std::uint8_t { interrupt, limit, checkpoint };

// What went over the wire: messages that all waited for, and bytes this rank sent.
struct CommCounts {
  std::uint64_t rounds = 0;
  std::uint64_t bytes = 0;
};

class Comm {
 public:
  explicit Comm(Transport& transport) : transport_(transport) {}
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  bool first() const { return rank() == 0; }
  const CommCounts& counts() const { return counts_; }

  // values[k] <- its sum over the ranks.
  void sum(std::span<double> values);
  double sum(double value);
  std::uint64_t sum(std::uint64_t value);  // exact below 2^53
  // The same where most values are 0 on every rank: only the others travel, if that is cheaper.
  void sum_sparse(std::span<double> values);
  // Whether wishes travel with a sum of so many values.
  bool carries_wishes(std::size_t values) const;
  double max(double value);

  // Long vectors cut into slices, one a rank, in rank order: rank r has values begin .. end - 1.
  struct Slice {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  Slice slice(std::size_t size) const;
  // The two halves of a sum: this rank's slice becomes that of the sum (the rest says nothing then;
  // sparse where that is cheaper), and all ranks get the slices of all, with the sums of a few
  // numbers besides.
  void sum_slice(std::span<double> values);
  void share_slices(std::span<double> values, std::span<double> sums);

  // What every rank gave, in rank order.
  std::vector<std::vector<std::byte>> gather_all(std::span<const std::byte> mine);
  // The same for rank 0 alone, one after the other: use(rank, bytes).
  using Use = std::function<void(int, std::span<const std::byte>)>;
  void gather(std::span<const std::byte> mine, const Use& use);
  // What rank 0 has.
  void broadcast(std::vector<std::byte>& bytes);
  // From rank to rank, in order: f gets what the one before returned; rank 0 gets nothing.
  void relay(const std::function<std::vector<std::byte>(std::span<const std::byte>)>& f);

  // All must say the same, else every rank throws the same Failure (mpi.inconsistent).
  void agree(const std::string& name, const std::string& value);

  // Runs f, which talks to nobody, and ends with the others: if it failed on some rank, every rank
  // throws what the lowest of them threw, with its rank.
  void together(const std::function<void()>& f);
  // This rank cannot go on, which becomes known to the others, and in `error`. What came from
  // others is not told again.
  void fail(Error& error) noexcept;
  // Runs f, which talks to the others; whatever makes it fail here, they are told.
  template <class F>
  auto telling(const F& f) {
    try {
      return f();
    } catch (Failure& failure) {
      fail(failure.error);
      throw;
    } catch (const Interrupted&) {
      fail_with(interrupted_error());
    } catch (const std::bad_alloc&) {
      fail_with(out_of_memory_error());
    } catch (const std::exception& problem) {
      fail_with(internal_error(problem.what()));
    }
  }

  void raise(Wish wish) { wishes_[static_cast<std::size_t>(wish)] = 1; }
  bool raised(Wish wish) const { return arrived_[static_cast<std::size_t>(wish)] > 0; }
  // Forgets one that has been granted; to be called by all.
  void lower(Wish wish) {
    wishes_[static_cast<std::size_t>(wish)] = arrived_[static_cast<std::size_t>(wish)] = 0;
  }
  // Whether it is raised anywhere, now.
  bool ask(Wish wish);

 private:
  static constexpr std::size_t kWishes = 3;

  void check(Transport::Outcome outcome);
  [[noreturn]] void fail_with(Error error);
  void exchange(std::span<const std::byte> mine, std::span<std::byte> all);
  void sum_small(std::span<double> values);
  void sum_large(std::span<double> values);
  bool sum_entries(std::span<double> values, double bytes_in_full);
  std::uint64_t ranks() const { return static_cast<std::uint64_t>(size()); }

  Transport& transport_;
  CommCounts counts_;
  bool broken_ = false;
  std::vector<double> out_, in_;  // of slices: memory that is not asked for, and cleared, anew
  double wishes_[kWishes] = {}, arrived_[kWishes] = {};
};

// An error as bytes and back, for other ranks; what the bytes do not say is left out.
std::vector<std::byte> pack(const Error& error);
Error unpack_error(std::span<const std::byte> bytes);

}  // namespace hinge
