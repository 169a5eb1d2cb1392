#include "hinge/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hinge {
namespace {

constexpr std::size_t kMaxDepth = 16;

// Numbers and text are written by the library that reads them; of these it builds no tree.
template <class T>
std::string scalar_text(const T& value) {
  return nlohmann::json(value).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(std::initializer_list<Member> members) : kind_(Kind::object) {
  for (const Member& member : members) add(member.name, member.value);
}

void Json::push_back(Json value) {
  values_.push_back(std::move(value));
}

void Json::add(std::string_view name, Json value) {
  names_.emplace_back(name);
  values_.push_back(std::move(value));
}

std::string Json::dump() const {
  std::string out;
  append_to(out);
  return out;
}

void Json::append_to(std::string& out) const {
  if (kind_ == Kind::text) {
    out += scalar_text(text_);
    return;
  }
  if (kind_ == Kind::scalar) {
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, std::monostate>) {
            out += "null";
          } else {
            out += scalar_text(value);
          }
        },
        scalar_);
    return;
  }
  out += is_object() ? '{' : '[';
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (k > 0) out += ',';
    if (is_object()) {
      out += scalar_text(names_[k]);
      out += ':';
    }
    values_[k].append_to(out);
  }
  out += is_object() ? '}' : ']';
}

void Json::require(bool there) {
  if (!there) throw std::out_of_range("no such JSON value");
}

const Json& Json::at(std::string_view name) const {
  const auto place = static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
  require(place < names_.size());
  return values_[place];
}

const Json& Json::at(std::size_t place) const {
  require(is_list() && place < values_.size());
  return values_[place];
}

// Receives the events of the parser. The innermost open list or object is the last value of the
// last value ... of the whole, and does not move while it is open.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Json whole;

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool add(Json value) {
    if (open_.empty()) {
      whole = std::move(value);
    } else {
      if (open_.back()->is_object()) open_.back()->names_.push_back(std::move(name_));
      open_.back()->values_.push_back(std::move(value));
    }
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMaxDepth) return false;
    add(std::move(value));
    open_.push_back(open_.empty() ? &whole : &open_.back()->values_.back());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  std::string name_;
};

std::optional<Json> Json::parse(std::string_view text) {
  JsonBuilder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) return std::nullopt;
  return std::move(builder.whole);
}

}  // namespace hinge
