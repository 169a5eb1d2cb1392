// Work of the library, called from Python: without the interpreter's lock, and so that Ctrl-C ends
// it within a second.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "hinge/result.h"

namespace hinge::python {

namespace nb = nanobind;

// Sets the exception of hinge.errors that stands for `error`, and throws it. Needs the lock.
[[noreturn]] void raise(const Error& error);

// How long work takes, at most: what ends within a tenth of a second need not look for signals.
enum class Length : bool { brief, open };

// Calls work(stop) on a thread of its own with the lock released. Meanwhile the calling thread lets
// Python handle signals, which it can on its main thread only, and calls `meanwhile` (if given)
// with the lock held, at least 10 times a second and once at the end. If either raises, `stop` goes
// up, and the exception is thrown once the work has ended. Threads live as long as the call, so a
// process may fork between any two. Brief work is done on the calling thread, which has what it
// needs in its caches.
void run_released(const std::function<void(const std::atomic<bool>& stop)>& work,
                  const std::function<void()>& meanwhile, Length length);

// The same for work that returns a Result: its value, or its error raised.
template <class Work>
auto run(Work&& work, const std::function<void()>& meanwhile = {}, Length length = Length::open) {
  using Returned = std::invoke_result_t<Work, const std::atomic<bool>&>;
  std::optional<Returned> result;
  run_released([&](const std::atomic<bool>& stop) { result.emplace(work(stop)); }, meanwhile,
               length);
  if (!result->ok()) raise(result->error());
  if constexpr (!std::is_same_v<Returned, Result<void>>) return std::move(**result);
}

}  // namespace hinge::python
