// How processes that train one model together talk to each other: a few calls that move bytes,
// which MPI offers (libhinge-mpi) and others may. Everything above that, sums and agreements, is
// the library's.
//
// Each process is a **rank**, 0 to size() - 1. exchange() and transpose() are collective: every
// rank makes the same calls in the same order, with the same sizes, from one thread at a time.
// Nothing throws, and nothing here is needed by a run of one process.
//
// A rank that cannot go on tells the others why (tell()); whoever waits for it then, or later, gets
// Outcome::told and finds the words in told(). After any outcome but `done` the transport is good
// for tell(), told() and reports() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hinge/result.h"

namespace hinge {

class Transport {
 public:
  enum class Outcome : std::uint8_t {
    done,
    lost,  // a rank is gone
    late,  // a rank has not answered in time
    told   // a rank gave up, and said why
  };
  // Of this interface; a transport of another one is refused.
  static constexpr int kVersion = 2;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `mine` of every rank, in rank order, into `all`, which is size() times as long.
  virtual Outcome exchange(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Both are size() pieces of the same length: piece k of `mine` goes to rank k, and piece k of
  // `all` comes from there.
  virtual Outcome transpose(std::span<const double> mine, std::span<double> all) = 0;
  // From one rank to another; both know the size. Messages arrive in order.
  virtual Outcome send(int to, std::span<const std::byte> bytes) = 0;
  virtual Outcome receive(int from, std::span<std::byte> bytes) = 0;

  // This rank gives up: these bytes to all others, of whom none need listen. Returns once rank 0
  // has them, or a moment has passed.
  virtual void tell(std::span<const std::byte> bytes) noexcept = 0;
  // What was told; empty if nothing was.
  virtual std::span<const std::byte> told() const = 0;
  // Whether this rank is the one to say what went wrong: rank 0; or one that told, but not rank 0,
  // which did not listen.
  virtual bool reports() const = 0;
};

// The end of what each rank did by itself, which all must come to: if it failed on some, every rank
// gets the error of the lowest of them, with its rank.
Result<void> agree(Transport& transport, const Result<void>& mine);

}  // namespace hinge
