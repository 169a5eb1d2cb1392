// Seconds since construction, by the monotonic clock: a clock that is set back changes nothing.
#pragma once

#include <chrono>

namespace hinge {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace hinge
