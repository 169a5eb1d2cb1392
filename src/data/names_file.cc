#include "data/names_file.h"

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "files/file_bytes.h"

namespace hinge {

NameArrays arrays_of(const ClassNames& names) {
  NameArrays out;
  for (const std::string& name : names.list()) {
    out.bytes.insert(out.bytes.end(), name.begin(), name.end());
    out.ends.push_back(out.bytes.size());
  }
  return out;
}

ClassNames read_names(const TensorFile& file, const std::string& name) {
  const std::string name_of_ends = name + ".ends";
  const auto length = [&](const std::string& array) {
    const auto shape = file.shape(array);
    if (shape.size() != 1) file.reject("header", "the names of classes are no list");
    return shape[0];
  };
  const auto bytes = file.get<std::uint8_t>(name, std::array{length(name)});
  const auto ends = file.get<std::uint64_t>(name_of_ends, std::array{length(name_of_ends)});
  for (const std::string& array : {name, name_of_ends}) file.check(array, [](std::uint64_t) {});
  std::uint64_t begin = 0;
  bool good = !ends.empty() && ends.back() == bytes.size();
  for (const std::uint64_t end : ends) {
    good = good && begin < end && end <= bytes.size();
    begin = end;
  }
  if (!good) file.reject("content", "the names of classes do not fill the bytes they have");
  const std::string_view text = as_text(std::as_bytes(bytes));
  std::vector<std::string> names;
  names.reserve(ends.size());
  begin = 0;
  for (const std::uint64_t end : ends) {
    names.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  Result<ClassNames> list = ClassNames::of(std::move(names));
  if (!list.ok()) file.reject("content", list.error().message);
  return *std::move(list);
}

}  // namespace hinge
