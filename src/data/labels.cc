#include "hinge/labels.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace hinge {
namespace {

constexpr std::size_t kMostNameBytes = 4096;

// How many bytes the character at the front takes; 0: this is no UTF-8, or a control character.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first < 0xc2   ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool control = first == 0xc2 && second < 0xa0;
  const bool longer_than_needed =
      (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return control || longer_than_needed || surrogate || beyond ? 0 : size;
}

void check_name(std::string_view name) {
  if (name.empty() || name.size() > kMostNameBytes) {
    fail("data.label.name", fmt::format("the name of a class has {} bytes, expected 1 to {}",
                                        name.size(), kMostNameBytes));
  }
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t size = character_bytes(rest);
    if (size == 0) {
      fail("data.label.name",
           fmt::format("the name of a class is not UTF-8 without control characters: \"{}\"",
                       escape(name.substr(0, 60))));
    }
    rest.remove_prefix(size);
  }
}

}  // namespace

std::string_view to_string(LabelKind kind) {
  constexpr std::string_view kKindNames[] = {"whole numbers", "names", "real targets"};
  return kKindNames[static_cast<std::size_t>(kind)];
}

struct ClassNames::List {
  std::vector<std::string> names;
  std::vector<std::uint32_t> ascending;  // places, by name
};

Result<ClassNames> ClassNames::of(std::vector<std::string> names) {
  return guard([&] {
    ClassNames out;
    if (names.empty()) return out;
    if (names.size() > UINT32_MAX) fail("data.label.name", "more than 2^32 - 1 names of classes");
    for (const std::string& name : names) check_name(name);
    auto list = std::make_shared<List>();
    list->names = std::move(names);
    list->ascending.resize(list->names.size());
    std::iota(list->ascending.begin(), list->ascending.end(), 0U);
    const auto name_of = [&](std::uint32_t place) -> const std::string& {
      return list->names[place];
    };
    std::ranges::sort(list->ascending, {}, name_of);
    const auto twice = std::ranges::adjacent_find(list->ascending, {}, name_of);
    if (twice != list->ascending.end()) {
      fail("data.label.name",
           fmt::format("two classes have the name \"{}\"", escape(name_of(*twice).substr(0, 60))));
    }
    out.list_ = std::move(list);
    return out;
  });
}

std::span<const std::string> ClassNames::list() const {
  return list_ == nullptr ? std::span<const std::string>{} : list_->names;
}

std::optional<std::int64_t> ClassNames::find(std::string_view name) const {
  if (list_ == nullptr) return {};
  const auto name_of = [&](std::uint32_t place) -> std::string_view { return list_->names[place]; };
  const auto found = std::ranges::lower_bound(list_->ascending, name, {}, name_of);
  if (found == list_->ascending.end() || name_of(*found) != name) return {};
  return *found;
}

std::string ClassNames::text(std::int64_t label) const {
  const std::span<const std::string> names = list();
  if (label < 0 || static_cast<std::uint64_t>(label) >= names.size()) return std::to_string(label);
  return names[static_cast<std::size_t>(label)];
}

bool operator==(const ClassNames& a, const ClassNames& b) {
  return a.list_ == b.list_ || std::ranges::equal(a.list(), b.list());
}

Result<Labels> Labels::of_names(std::span<const std::string> rows) {
  return guard([&] {
    std::vector<std::string> names(rows.begin(), rows.end());
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    Labels out;
    if (rows.empty()) return out;
    out.kind_ = LabelKind::names;
    out.names_ = take(ClassNames::of(std::move(names)));
    auto places = std::make_shared<std::vector<std::int64_t>>();
    places->reserve(rows.size());
    for (const std::string& name : rows) places->push_back(*out.names_.find(name));
    out.numbers_ = *places;
    out.owner_ = std::move(places);
    return out;
  });
}

Labels Labels::part(std::size_t first, std::size_t count) const {
  Labels out = *this;
  if (kind_ == LabelKind::targets) {
    out.targets_ = targets_.subspan(first, count);
  } else {
    out.numbers_ = numbers_.subspan(first, count);
  }
  return out;
}

Result<Labels> Labels::counted_by(const ClassNames& names) const {
  return guard([&] {
    const std::span<const std::string> ours = names_.list(), theirs = names.list();
    if (kind_ == LabelKind::targets || ours.empty() != theirs.empty()) {
      fail("data.label.kind",
           fmt::format("the labels are {}, expected {}", to_string(kind_),
                       to_string(theirs.empty() ? LabelKind::numbers : LabelKind::names)));
    }
    if (ours.size() >= theirs.size() && std::ranges::equal(ours.first(theirs.size()), theirs)) {
      return *this;
    }
    std::vector<std::string> all(theirs.begin(), theirs.end());
    std::vector<std::int64_t> place_of;  // in `all`, of each of ours
    for (const std::string& name : ours) {
      const std::optional<std::int64_t> known = names.find(name);
      place_of.push_back(known.value_or(static_cast<std::int64_t>(all.size())));
      if (!known) all.push_back(name);
    }
    auto places = std::make_shared<std::vector<std::int64_t>>();
    places->reserve(numbers_.size());
    for (const std::int64_t label : numbers_) {
      places->push_back(place_of[static_cast<std::size_t>(label)]);
    }
    Labels out(*places, take(ClassNames::of(std::move(all))));
    out.owner_ = std::move(places);
    return out;
  });
}

std::span<const std::byte> Labels::bytes() const {
  return kind_ == LabelKind::targets ? std::as_bytes(targets_) : std::as_bytes(numbers_);
}

}  // namespace hinge
