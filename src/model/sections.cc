#include "model/sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "hinge/json.h"
#include "hinge/version.h"
#include "model/draft.h"

namespace hinge {
namespace {

constexpr std::size_t kMostNameLetters = 64;
constexpr std::size_t kMostExtents = 4;  // of an array, as the reader of the container has it

bool is_name(std::string_view name, std::string_view besides) {
  return !name.empty() && name.size() <= kMostNameLetters && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           besides.find(c) != std::string_view::npos;
  });
}

// The section that a field or an array belongs to; empty: it belongs to none.
std::string_view section_of(std::string_view key) {
  if (!key.starts_with(kSectionPrefix)) return {};
  key.remove_prefix(kSectionPrefix.size());
  return key.substr(0, key.find('.'));
}

void check_carried(const ModelSection& section) {
  const auto refuse = [&](std::string_view what) {
    fail("model.format",
         fmt::format("section \"{}\" cannot be written: {}", escape(section.name), what));
  };
  if (!is_section_name(section.name)) refuse("its name");
  if (section.name == kClassNames || section.name == kLoss) refuse("that name has a meaning");
  if (Json::parse(Json(section.content).dump())->get<std::string>() != section.content) {
    refuse("its content is not UTF-8");
  }
  std::vector<std::string_view> names;
  for (const ModelSection::Array& array : section.arrays) {
    const std::optional<DType> dtype = dtype_named(array.type);
    if (!is_section_array(array.name) || !dtype || array.shape.size() > kMostExtents) {
      refuse("the name, type or shape of an array");
    }
    std::uint64_t bytes = width_of(*dtype);
    for (const std::uint64_t extent : array.shape) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) refuse("the shape of an array");
    }
    if (bytes != array.bytes.size()) refuse("an array of another size than its shape");
    names.push_back(array.name);
  }
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) refuse("two arrays of one name");
}

}  // namespace

bool is_section_name(std::string_view name) {
  return is_name(name, "");
}
bool is_section_array(std::string_view name) {
  return is_name(name, ".");
}

void Draft::add_section(const std::string& name, bool affects_predictions, std::string content) {
  marks_.push_back({name, affects_predictions});
  metadata[std::string(kSectionPrefix) + name] = std::move(content);
}

std::string Draft::section_array(const std::string& section, const std::string& array) {
  return fmt::format("{}{}.{}", kSectionPrefix, section, array);
}

void Draft::add_carried(std::span<const ModelSection> sections) {
  for (const ModelSection& section : sections) {
    check_carried(section);
    add_section(section.name, false, section.content);
    for (const ModelSection::Array& array : section.arrays) {
      tensors_.push_back({section_array(section.name, array.name), *dtype_named(array.type),
                          array.shape, std::as_bytes(std::span(array.bytes))});
    }
  }
}

void Draft::finish(int version) {
  metadata["version"] = std::to_string(marks_.empty() ? version : kSectionsVersion);
  if (marks_.empty()) return;
  std::ranges::sort(marks_, {}, &Mark::name);
  const auto twice = std::ranges::adjacent_find(marks_, {}, &Mark::name);
  if (twice != marks_.end()) {
    fail("model.format", fmt::format("two sections of the name \"{}\"", escape(twice->name)));
  }
  Json list = Json::list();
  for (const Mark& mark : marks_) {
    list.push_back({{"name", mark.name}, {"affects_predictions", mark.affects_predictions}});
  }
  metadata[kSections] = list.dump();
}

void Draft::write(const std::string& path, int version) && {
  finish(version);
  write_tensor_file(path, std::move(tensors_), std::move(metadata));
}

std::string Draft::bytes(int version) && {
  finish(version);
  return tensor_file_bytes(std::move(tensors_), std::move(metadata));
}

Sections::Sections(const TensorFile& file) : file_(file) {
  if (!file.has_field(kSections)) return;
  const std::optional<Json> list = Json::parse(file.field(kSections));
  if (!list || !list->is_list()) file.reject("header", "the sections are no list");
  for (const Json& entry : list->values()) {
    const bool good = entry.is_object() && entry.names().size() == 2 &&
                      entry.names()[0] == "name" && entry.names()[1] == "affects_predictions" &&
                      entry.values()[0].is_string() && entry.values()[1].holds<bool>();
    if (!good) file.reject("header", "a section that is not named and marked");
    entries_.push_back({entry.values()[0].get<std::string>(), entry.values()[1].get<bool>()});
    const std::string& name = entries_.back().name;
    if (!is_section_name(name)) {
      file.reject("header", fmt::format("a section of the name \"{}\"", escape(name)));
    }
    if (!file.has_field(std::string(kSectionPrefix) + name)) {
      file.reject("header", fmt::format("section \"{}\" has no content", name));
    }
  }
  const auto out_of_order =
      std::ranges::adjacent_find(entries_, std::greater_equal<>(), &Entry::name);
  if (out_of_order != entries_.end()) {
    file.reject("header",
                fmt::format("sections twice or not in order: \"{}\"", out_of_order->name));
  }
  const auto check = [&](std::string_view key, std::string_view what) {
    const std::string_view section = section_of(key);
    if (section.data() == nullptr) return;
    if (std::ranges::binary_search(entries_, section, {}, &Entry::name)) return;
    file.reject("header", fmt::format("{} \"{}\" of a section that is not there", what,
                                      escape(key.substr(0, 2 * kMostNameLetters))));
  };
  for (const auto& [key, value] : file.metadata()) {
    check(key, "field");
    const std::string_view name = section_of(key);
    if (!name.empty() && key.size() != kSectionPrefix.size() + name.size()) {
      file.reject("header", fmt::format("section \"{}\" has more than one content", name));
    }
  }
  for (const Tensor& t : file.tensors()) {
    check(t.name, "array");
    const std::string_view section = section_of(t.name);
    if (section.data() == nullptr) continue;
    const std::size_t before = kSectionPrefix.size() + section.size() + 1;  // with the dot
    if (t.name.size() <= before || !is_section_array(std::string_view(t.name).substr(before))) {
      file.reject("header", fmt::format("section \"{}\" has an array that cannot be", section));
    }
  }
}

bool Sections::take(std::string_view name, bool affects_predictions,
                    std::initializer_list<std::string_view> arrays) {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  if (found == entries_.end()) return false;
  if (found->affects_predictions != affects_predictions) {
    file_.reject("header", fmt::format("section \"{}\" is marked wrongly", name));
  }
  for (const Tensor& t : file_.tensors()) {
    if (section_of(t.name) != name) continue;
    const std::string_view array =
        std::string_view(t.name).substr(kSectionPrefix.size() + name.size() + 1);
    if (std::ranges::find(arrays, array) != arrays.end()) continue;
    file_.reject("header", fmt::format("array \"{}\" does not belong here", escape(t.name)));
  }
  found->taken = true;
  return true;
}

std::vector<ModelSection> Sections::rest() const {
  std::vector<ModelSection> all;
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    if (entry.affects_predictions) {
      file_.reject("section",
                   fmt::format("written by {}: section \"{}\" changes predictions, and hinge {} "
                               "does not know it",
                               escape(file_.field("written_by")), entry.name, version()));
    }
    ModelSection section;
    section.name = entry.name;
    section.content = file_.field(std::string(kSectionPrefix) + entry.name);
    for (const Tensor& t : file_.tensors()) {
      if (section_of(t.name) != entry.name) continue;
      section.arrays.push_back({t.name.substr(kSectionPrefix.size() + entry.name.size() + 1),
                                std::string(name_of(t.dtype)), t.shape,
                                std::string(as_text(t.bytes))});
    }
    std::ranges::sort(section.arrays, {}, &ModelSection::Array::name);
    all.push_back(std::move(section));
  }
  return all;
}

}  // namespace hinge
