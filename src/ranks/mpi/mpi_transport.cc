// libhinge-mpi: the only place that knows MPI, a library of its own, which the program loads when a
// launcher started it.
//
// Nothing waits inside MPI: every call is a request that is asked for again and again, with a look
// in between at whether some rank gave up, and at the clock. So a rank that hangs does not make the
// others hang, and ranks that share a core let each other run.
#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "hinge/transport.h"

namespace hinge {
namespace {

constexpr int kWords = 1, kHeard = 2;  // tags of the second communicator
constexpr double kHearing = 2;         // seconds to wait for rank 0 to have heard
constexpr int kSpins = 2000;           // questions before a rank lets others run

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(double timeout) : timeout_(timeout) {}

  // False: MPI cannot be used.
  bool open() {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (initialised == 0) {
      int provided = 0;
      // Only one thread at a time talks.
      if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
          provided < MPI_THREAD_SERIALIZED) {
        return false;
      }
    }
    if (MPI_Comm_dup(MPI_COMM_WORLD, &data_) != MPI_SUCCESS ||
        MPI_Comm_dup(MPI_COMM_WORLD, &news_) != MPI_SUCCESS) {
      return false;
    }
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(news_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    return true;
  }

  ~MpiTransport() override {
    // After trouble others may never come to this: MPI would wait for them.
    if (outcome_ != Outcome::done) return;
    MPI_Comm_free(&data_);
    MPI_Comm_free(&news_);
    MPI_Finalize();
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Outcome exchange(std::span<const std::byte> mine, std::span<std::byte> all) override {
    const int count = static_cast<int>(mine.size());
    return wait([&](MPI_Request& request) {
      return MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, data_,
                            &request);
    });
  }
  Outcome transpose(std::span<const double> mine, std::span<double> all) override {
    const int count = static_cast<int>(mine.size()) / size_;
    return wait([&](MPI_Request& request) {
      return MPI_Ialltoall(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, data_,
                           &request);
    });
  }
  Outcome send(int to, std::span<const std::byte> bytes) override {
    return wait([&](MPI_Request& request) {
      return MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, 0, data_,
                       &request);
    });
  }
  Outcome receive(int from, std::span<std::byte> bytes) override {
    return wait([&](MPI_Request& request) {
      return MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, 0, data_,
                       &request);
    });
  }

  void tell(std::span<const std::byte> bytes) noexcept override {
    if (outcome_ == Outcome::told) return;
    outcome_ = Outcome::told;
    reports_ = true;
    // What is being sent must stay: nobody waits for it to arrive everywhere.
    static std::vector<std::byte> words;
    static std::vector<MPI_Request> requests;
    try {
      words.assign(bytes.begin(), bytes.end());
      requests.resize(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    } catch (...) {
      return;
    }
    for (int k = 0; k < size_; ++k) {
      if (k == rank_) continue;
      MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_BYTE, k, kWords, news_,
                &requests[static_cast<std::size_t>(k)]);
    }
    // Rank 0 speaks for all, and a launcher ends everybody when one ends: it must have heard. If it
    // is rank 0 that tells, the others shall hear before they are ended. If rank 0 hears nothing,
    // the lowest of those that tell speaks.
    const double until = now() + kHearing;
    while (now() < until) {
      int done = 0;
      if (rank_ == 0) {
        MPI_Testall(size_, requests.data(), &done, MPI_STATUSES_IGNORE);
      } else {
        done = waits(0, kHeard) ? 1 : 0;
        for (int k = 0; k < rank_ && done == 0; ++k) done = waits(k, kWords) ? 1 : 0;
        if (done != 0) reports_ = false;
      }
      if (done != 0) return;
      rest();
    }
  }
  std::span<const std::byte> told() const override { return words_; }
  bool reports() const override { return rank_ == 0 || reports_; }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static void rest() {
    const timespec moment = {0, 50'000};
    nanosleep(&moment, nullptr);
  }

  template <class Begin>
  Outcome wait(const Begin& begin) {
    if (outcome_ != Outcome::done) return outcome_;
    MPI_Request request = MPI_REQUEST_NULL;
    if (begin(request) != MPI_SUCCESS) return outcome_ = Outcome::lost;
    double began = 0;
    for (std::uint64_t asked = 0;; ++asked) {
      int done = 0;
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return outcome_ = Outcome::lost;
      }
      if (done != 0) return Outcome::done;
      if (asked % 64 == 0 && hear()) return outcome_ = Outcome::told;
      if (asked < kSpins) {
        if (asked % 16 == 15) sched_yield();
        continue;
      }
      if (began == 0) began = now();
      if (now() - began > timeout_) return outcome_ = Outcome::late;
      rest();
    }
  }

  // Whether there is a message from that rank.
  bool waits(int from, int tag) const {
    int there = 0;
    MPI_Status status;
    return MPI_Iprobe(from, tag, news_, &there, &status) == MPI_SUCCESS && there != 0;
  }

  // Whether somebody gave up.
  bool hear() {
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kWords, news_, &there, &status) != MPI_SUCCESS || there == 0) {
      return false;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    words_.resize(static_cast<std::size_t>(size));
    MPI_Recv(words_.data(), size, MPI_BYTE, status.MPI_SOURCE, kWords, news_, MPI_STATUS_IGNORE);
    // To all: others may have given up at the same time.
    for (int k = 1; rank_ == 0 && k < size_; ++k) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPI_Isend(nullptr, 0, MPI_BYTE, k, kHeard, news_, &request) == MPI_SUCCESS) {
        MPI_Request_free(&request);
      }
    }
    return true;
  }

  const double timeout_;  // seconds
  MPI_Comm data_ = MPI_COMM_NULL, news_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  Outcome outcome_ = Outcome::done;
  bool reports_ = false;
  std::vector<std::byte> words_;
};

}  // namespace
}  // namespace hinge

// What the program looks for: a transport, or nothing if there can be none. The caller deletes it.
extern "C" __attribute__((visibility("default"))) hinge::Transport* hinge_mpi_open(
    int version, double timeout_seconds) {
  if (version != hinge::Transport::kVersion) return nullptr;
  auto* const transport = new hinge::MpiTransport(timeout_seconds);
  if (transport->open()) return transport;
  delete transport;
  return nullptr;
}
