// Errors as values. Every public function that can fail because of the outside world returns
// Result<T>: the value, or one Error that says where, what, and what to do about it. The library
// never prints, exits or aborts; the command line prints exactly what to_string() returns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hinge {

enum class Severity : std::uint8_t { error, warning, note };

// One located problem. Lines and columns count from 1 (columns count bytes); 0 means "no place".
struct Error {
  std::string id;  // stable, dotted, lower case: "data.value.nonfinite"; see error_catalogue()
  Severity severity = Severity::error;
  std::string file;          // as the caller named it; empty when no file is involved
  std::uint64_t line = 0;    // in `file`
  std::uint64_t column = 0;  // first offending byte of the line
  std::uint64_t offset = 0;  // of the offending byte from the start of the file, when known
  std::string message;       // what was found and what was expected, one line
  std::string help;          // what to do, one line; may be empty
  int rank = -1;             // of several that train together, the one that failed; else -1

  // The bytes of the line around the column, raw: to_string() escapes and underlines them.
  std::string excerpt;
  std::uint32_t caret = 0;         // position of the column within `excerpt`
  std::uint32_t caret_length = 0;  // how many bytes are wrong

  // Further errors found by the same call, in file order; a reader stops after ten.
  std::vector<Error> more;
};

// An error or a warning without a place.
Error make_error(std::string id, std::string message, std::string help = {});
Error make_warning(std::string id, std::string message);

// The text a person sees: "file:line:col: error: message [id]", with "rank N: " before the message
// where a rank is known, the excerpt with a caret, and the help line. Lines are joined by '\n';
// there is no final newline. `more` is included.
std::string to_string(const Error& error);

// One JSON object {severity,id,file,line,column,offset,message,help} on one line, with `rank` where
// that is known; not `more`.
std::string to_json(const Error& error);

// Every byte outside printable ASCII as \xNN, so that no terminal escape gets through.
std::string escape(std::string_view bytes);

// What an id means. `exit_code` follows <sysexits.h>; docs/cli.md has the table.
struct ErrorInfo {
  std::string_view id;
  int exit_code;
  std::string_view meaning;
  std::string_view remedy;
};
std::span<const ErrorInfo> error_catalogue();
const ErrorInfo* find_error(std::string_view id);  // nullptr when there is no such id
int exit_code(const Error& error);                 // 70 for an id that is not in the catalogue

// A value or an Error. Asking for the one that is not there is a bug of the caller.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const Error& error() const { return std::get<1>(state_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}
  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace hinge
