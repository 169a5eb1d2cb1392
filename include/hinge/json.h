// A small JSON value: what headers, metadata and reports are written from and read into.
//
// Members keep their order. Taking a value down needs no memory, which is not so of other such
// trees: where memory runs out in the middle of a report, this one goes away quietly.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hinge {

class Json {
 public:
  struct Member;

  Json() = default;  // null
  Json(bool value) : scalar_(value) {}
  Json(double value) : scalar_(value) {}
  Json(std::signed_integral auto value) : scalar_(std::int64_t{value}) {}
  Json(std::unsigned_integral auto value) : scalar_(std::uint64_t{value}) {}
  Json(std::string value) : kind_(Kind::text), text_(std::move(value)) {}
  Json(std::string_view value) : kind_(Kind::text), text_(value) {}
  Json(const char* value) : kind_(Kind::text), text_(value) {}
  Json(std::initializer_list<Member> members);  // an object

  static Json list() { return Json(Kind::list); }
  static Json object() { return Json(Kind::object); }
  template <class Range>
  static Json list_of(const Range& values) {
    Json all = list();
    for (const auto& value : values) all.push_back(value);
    return all;
  }

  void push_back(Json value);                   // to a list
  void add(std::string_view name, Json value);  // to an object; the name must be new
  std::string dump() const;                     // one line; bytes beyond ASCII as \uXXXX

  // nullopt: not JSON, or nested too deeply.
  static std::optional<Json> parse(std::string_view text);

  bool is_list() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_string() const { return kind_ == Kind::text; }
  template <class T>
  bool holds() const {  // bool, double, std::string; std::uint64_t, or std::int64_t if negative
    if constexpr (std::is_same_v<T, std::string>) {
      return is_string();
    } else {
      return kind_ == Kind::scalar && std::holds_alternative<T>(scalar_);
    }
  }

  // Throw std::out_of_range when there is no such thing.
  template <class T>
  const T& get() const {
    require(holds<T>());
    if constexpr (std::is_same_v<T, std::string>) {
      return text_;
    } else {
      return std::get<T>(scalar_);
    }
  }
  const Json& at(std::string_view name) const;
  const Json& at(std::size_t place) const;

  std::span<const std::string> names() const { return names_; }  // of an object
  std::span<const Json> values() const { return values_; }       // of an object or a list

 private:
  enum class Kind : std::uint8_t { scalar, text, list, object };
  friend class JsonBuilder;
  explicit Json(Kind kind) : kind_(kind) {}
  static void require(bool there);
  void append_to(std::string& out) const;

  Kind kind_ = Kind::scalar;
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double> scalar_;
  std::string text_;  // a variant that holds it cannot be copied by GCC 12 where memory runs out
  std::vector<std::string> names_;
  std::vector<Json> values_;
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace hinge
