// Inside the library a failure of the outside world is thrown as one exception type and turned into
// a Result at the public border by guard(). Code in between stays readable and loses nothing.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "base/stop.h"
#include "hinge/result.h"

namespace hinge {

struct Failure {
  Error error;
};

// Throws Failure. The id must be in the catalogue (error.cc).
[[noreturn]] void fail(std::string id, std::string message, std::string help = {});
[[noreturn]] void fail_file(std::string id, std::string file, std::string message,
                            std::string help = {});

// The id and text for a system call on `file` that set `errno_value`, e.g. "cannot open x: No such
// file or directory". EACCES and EPERM become io.permission, everything else `id`.
[[noreturn]] void fail_errno(std::string id, const std::string& file, std::string_view doing,
                             int errno_value);

// io.read: a read() that set `errno_value` after `offset` bytes.
[[noreturn]] void fail_read(const std::string& file, int errno_value, std::uint64_t offset);

// strerror without its buffer shared between threads.
std::string errno_text(int errno_value);

// The value, or the error thrown on as a Failure.
template <class T>
T take(Result<T> result) {
  if (!result.ok()) throw Failure{result.error()};
  return std::move(result).value();
}
inline void take(Result<void> result) {
  if (!result.ok()) throw Failure{result.error()};
}

// These take no memory they cannot do without: guard() needs them when there is none.
Error out_of_memory_error() noexcept;
Error interrupted_error() noexcept;
Error internal_error(std::string_view what) noexcept;

// Runs f and returns what it returned, or what it threw, as a Result.
template <class F>
auto guard(F&& f) noexcept -> Result<std::invoke_result_t<F>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      return {};
    } else {
      return f();
    }
  } catch (Failure& failure) {
    return std::move(failure.error);
  } catch (const Interrupted&) {
    return interrupted_error();
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  } catch (const std::exception& e) {
    return internal_error(e.what());
  } catch (...) {
    return internal_error("an exception of unknown type");
  }
}

}  // namespace hinge
