// How work is ended before its time: somebody raises a flag, whoever works looks at it now and
// then.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hinge {

// Thrown by work that gave way to the flag. Solvers catch it and return the best they have; where
// there is nothing to return, guard() makes it the error run.interrupted.
struct Interrupted {};

// A flag, which may be missing, and for how long it has been up. Thread-safe.
class StopToken {
 public:
  explicit StopToken(const std::atomic<bool>* flag = nullptr) : flag_(flag) {}
  StopToken(const StopToken&) = delete;
  StopToken& operator=(const StopToken&) = delete;

  // Whether the flag has been up for so many seconds, counted from when somebody first asked.
  bool up(double seconds = 0) const {
    if (flag_ == nullptr || !flag_->load(std::memory_order_relaxed)) return false;
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::int64_t since = kNotYet;
    if (seen_.compare_exchange_strong(since, now)) since = now;
    const std::chrono::steady_clock::duration passed(now - since);
    return std::chrono::duration<double>(passed).count() >= seconds;
  }

  void poll() const {
    if (up()) throw Interrupted{};
  }

  // For how many seconds it has been up, so counted; 0 if it is not.
  double up_for() const {
    if (!up()) return 0;
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    const std::chrono::steady_clock::duration passed(now - seen_.load());
    return std::chrono::duration<double>(passed).count();
  }

 private:
  static constexpr std::int64_t kNotYet = 0;
  const std::atomic<bool>* flag_;
  mutable std::atomic<std::int64_t> seen_{kNotYet};  // by the steady clock
};

}  // namespace hinge
