#include "container_input.h"

#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "files/checksum.h"
#include "fuzz.h"

namespace hinge::fuzz {
namespace {

using Json = nlohmann::ordered_json;

struct Container {
  std::string header;
  std::string arrays;
};

// Where the length makes no sense the header ends with the last brace.
Container take_apart(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > bytes.size()) length = bytes.rfind('}') + 1;
  const auto size = static_cast<std::size_t>(length);
  return {std::string(bytes.substr(0, size)), std::string(bytes.substr(size))};
}

std::string put_together(const Container& file) {
  const std::uint64_t length = file.header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + file.header + file.arrays;
}

std::string sum_of(std::string_view text) {
  return to_hex(checksum(std::as_bytes(std::span(text.data(), text.size()))));
}

void set_sum(std::string& header, const std::string& name, const std::string& sum) {
  const std::string key = "\"checksum." + name + "\":\"";
  const std::size_t at = header.find(key);
  if (at != std::string::npos && at + key.size() + sum.size() <= header.size()) {
    header.replace(at + key.size(), sum.size(), sum);
  }
}

std::uint64_t number(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>()
                                    : std::numeric_limits<std::uint64_t>::max();
}

// In place, so that a header that is odd but for its sums stays as it is.
void mend(Container& file) {
  while (!file.header.empty() && file.header.back() == ' ') file.header.pop_back();
  file.header.append((8 - file.header.size() % 8) % 8, ' ');
  const Json json = Json::parse(file.header, nullptr, false);
  if (json.is_object()) {
    for (const auto& [name, entry] : json.items()) {
      if (!entry.is_object() || !entry.contains("data_offsets")) continue;
      const Json& offsets = entry["data_offsets"];
      if (!offsets.is_array() || offsets.size() != 2) continue;
      const std::uint64_t begin = number(offsets[0]), end = number(offsets[1]);
      if (begin > end || end > file.arrays.size()) continue;
      set_sum(file.header, name, sum_of(std::string_view(file.arrays).substr(begin, end - begin)));
    }
  }
  set_sum(file.header, "header", "0000000000000000");
  set_sum(file.header, "header", sum_of(file.header));
}

// Lays the arrays out as their shapes say and gives the file as many bytes as they need.
void lay_out(Container& file, std::size_t max_size) {
  Json json = Json::parse(file.header, nullptr, false);
  if (!json.is_object()) return;
  Json& metadata = json["__metadata__"];  // there from now on: adding it moves the others
  if (!metadata.is_object()) metadata = Json::object();
  std::uint64_t at = 0;
  for (auto& [name, entry] : json.items()) {
    if (name == "__metadata__" || !entry.is_object()) continue;
    std::uint64_t size = 1;
    const std::string dtype = entry.value("dtype", Json("")).dump();
    if (dtype.find("64") != std::string::npos) size = 8;
    if (dtype.find("32") != std::string::npos) size = 4;
    const Json shape = entry.value("shape", Json::array());
    for (const Json& extent : shape) {
      if (__builtin_mul_overflow(size, number(extent), &size)) return;
    }
    if (size > max_size || at + size > max_size) return;
    entry["data_offsets"] = {at, at + size};
    metadata.emplace("checksum." + name, "0000000000000000");
    at += size;
  }
  file.header = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  file.arrays.resize(at);
}

constexpr auto kOdd = std::to_array<std::string_view>({"0",
                                                       "1",
                                                       "2",
                                                       "3",
                                                       "-1",
                                                       "-0",
                                                       "1.5",
                                                       "1e0",
                                                       "1e308",
                                                       "1e400",
                                                       "4294967295",
                                                       "4294967296",
                                                       "9223372036854775807",
                                                       "9223372036854775808",
                                                       "18446744073709551615",
                                                       "18446744073709551616",
                                                       "2305843009213693952",
                                                       "null",
                                                       "true",
                                                       "false",
                                                       "\"\"",
                                                       "\"F64\"",
                                                       "\"F32\"",
                                                       "\"U8\"",
                                                       "\"U32\"",
                                                       "\"U64\"",
                                                       "\"I64\"",
                                                       "\"f32\"",
                                                       "\"f64\"",
                                                       "\"x\"",
                                                       "\"\\u0000\"",
                                                       "\"\\ud800\"",
                                                       "\"\\u001b[31m\"",
                                                       "\"\xc3\xa9\"",
                                                       "\"\xff\"",
                                                       "[]",
                                                       "{}",
                                                       "[1,2]",
                                                       "{\"a\":1}",
                                                       "[",
                                                       "]",
                                                       "{",
                                                       "}",
                                                       ",",
                                                       ":",
                                                       "\"",
                                                       "[[[[[[[[",
                                                       "\"converged\"",
                                                       "\"columns\"",
                                                       "\"witness.states\"",
                                                       "\"none\"",
                                                       "\"sections\"",
                                                       "\"affects_predictions\"",
                                                       "\"class_names\"",
                                                       "\"__metadata__\"",
                                                       "\"checksum.header\"",
                                                       " "});

// Numbers, words, strings and single characters of JSON that may be broken.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2U : 1U;
      end = std::min(end + 1, text.size());
    } else if (std::string_view("{}[],: ").find(text[i]) == std::string_view::npos) {
      end = std::min(text.find_first_of("{}[],: \"", i), text.size());
    }
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

void edit_json(std::string& text, Random& random) {
  std::vector<std::string> tokens = tokens_of(text);
  if (tokens.empty()) {
    text = kOdd[random.below(kOdd.size())];
    return;
  }
  const std::size_t at = random.below(tokens.size());
  const std::size_t other = random.below(tokens.size());
  const auto place = tokens.begin() + static_cast<std::ptrdiff_t>(at);
  const std::string odd(kOdd[random.below(kOdd.size())]);
  switch (random.below(6)) {
    case 0:
      std::swap(tokens[at], tokens[other]);
      break;
    case 1:
      tokens.erase(place);
      break;
    case 2:
      tokens.insert(place, odd);
      break;
    case 3: {  // a few tokens again, elsewhere
      const std::size_t count = std::min<std::size_t>(1 + random.below(12), tokens.size() - other);
      const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(other);
      const std::vector<std::string> copy(from, from + static_cast<std::ptrdiff_t>(count));
      tokens.insert(place, copy.begin(), copy.end());
      break;
    }
    default:
      tokens[at] = odd;
  }
  text.clear();
  for (const std::string& token : tokens) text += token;
}

void edit_metadata(Container& file, Random& random) {
  Json json = Json::parse(file.header, nullptr, false);
  if (!json.is_object() || !json.contains("__metadata__")) return;
  Json& metadata = json["__metadata__"];
  if (!metadata.is_object() || metadata.empty()) return;
  auto entry = metadata.begin();
  std::advance(entry, static_cast<std::ptrdiff_t>(random.below(metadata.size())));
  if (!entry.value().is_string()) return;
  std::string text = entry.value().get<std::string>();
  for (std::uint64_t n = 1 + random.below(2); n > 0; --n) edit_json(text, random);
  entry.value() = text;
  file.header = json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class T>
void put(std::string& bytes, T value, Random& random) {
  if (bytes.size() < sizeof value) return;
  std::memcpy(bytes.data() + random.below(bytes.size() / sizeof value) * sizeof value, &value,
              sizeof value);
}

void edit_arrays(std::string& arrays, Random& random) {
  constexpr double kDoubles[] = {0.0,    -0.0,
                                 1.0,    std::numeric_limits<double>::quiet_NaN(),
                                 1e308,  -std::numeric_limits<double>::infinity(),
                                 5e-324, -1e-300,
                                 1e-8,   std::numeric_limits<double>::max()};
  constexpr std::uint64_t kWholes[] = {
      0, 1, 2, 3, 9, 0xffffffffU, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  switch (random.below(4)) {
    case 0:
      return put(arrays, kDoubles[random.below(std::size(kDoubles))], random);
    case 1:
      return put(arrays, kWholes[random.below(std::size(kWholes))], random);
    case 2:
      return put(arrays, static_cast<std::uint32_t>(random.below(12)), random);
    default:
      return put(arrays, static_cast<std::uint8_t>(random.next()), random);
  }
}

}  // namespace

std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max_size,
                             unsigned seed) {
  Random random(seed);
  Container file = take_apart({reinterpret_cast<const char*>(data), size});
  if (file.header.empty() || random.below(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  switch (random.below(8)) {
    case 0:
    case 1:
      edit_json(file.header, random);
      break;
    case 2:
    case 3:
    case 4:
      edit_metadata(file, random);
      break;
    case 5:
      edit_arrays(file.arrays, random);
      break;
    case 6:
      mutate(file.arrays, max_size);
      break;
    default:
      mutate(file.header, max_size);
  }
  if (random.below(3) == 0) lay_out(file, max_size);
  if (random.below(16) != 0) mend(file);
  return give(put_together(file), data, max_size);
}

}  // namespace hinge::fuzz
