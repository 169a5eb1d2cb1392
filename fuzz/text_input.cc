#include "text_input.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "fuzz.h"

namespace hinge::fuzz {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kOdd = std::to_array<std::string_view>({"nan"sv,
                                                       "-inf"sv,
                                                       "1e400"sv,
                                                       "-1e-400"sv,
                                                       "1e39"sv,
                                                       "1e-40"sv,
                                                       "1e-46"sv,
                                                       "1e154"sv,
                                                       "1.4e154"sv,
                                                       "4.9e-324"sv,
                                                       "2.2250738585072011e-308"sv,
                                                       "3.4028236e38"sv,
                                                       "16777217"sv,
                                                       "9007199254740993"sv,
                                                       "0.1000000014901161193847656"sv,
                                                       "4294967294"sv,
                                                       "4294967295"sv,
                                                       "4294967296"sv,
                                                       "18446744073709551616"sv,
                                                       "9223372036854775807"sv,
                                                       "-9223372036854775808"sv,
                                                       "9223372036854775808"sv,
                                                       "123456789"sv,
                                                       "00000000001"sv,
                                                       "0.12345678"sv,
                                                       "0.123456789012345"sv,
                                                       "0x1p3"sv,
                                                       "1e"sv,
                                                       "1e+"sv,
                                                       "."sv,
                                                       ".5"sv,
                                                       "5."sv,
                                                       "-0"sv,
                                                       "+1"sv,
                                                       "1.0"sv,
                                                       "10e-1"sv,
                                                       "1e99999999999999999999"sv,
                                                       "0e99999999999999999999"sv,
                                                       "1.5"sv,
                                                       "1,2"sv,
                                                       "qid:1"sv,
                                                       "qid:"sv,
                                                       "0:1"sv,
                                                       "0:0"sv,
                                                       "1:1"sv,
                                                       "+3:1"sv,
                                                       "003:1"sv,
                                                       "-1:1"sv,
                                                       ":1"sv,
                                                       "1:"sv,
                                                       "1:1:1"sv,
                                                       "4294967294:1"sv,
                                                       "4294967295:1"sv,
                                                       "1:1e-3"sv,
                                                       "99999999:1"sv,
                                                       "100000000:1"sv,
                                                       "# note"sv,
                                                       "#"sv,
                                                       "\t"sv,
                                                       "  "sv,
                                                       "\n"sv,
                                                       "\r\n"sv,
                                                       "\r"sv,
                                                       "\n\n"sv,
                                                       "\0"sv,
                                                       "\xef\xbb\xbf"sv,
                                                       "\xc2\xa0"sv,
                                                       "\xe2\x88\x92"sv,
                                                       "\x1f\x8b"sv,
                                                       "\xff"sv,
                                                       "\x7f"sv,
                                                       "\x1b[31m"sv});

// A decimal beside the middle between two floats, where rounding twice goes wrong.
std::string halfway(Random& random) {
  const auto low = static_cast<float>(0.05 + random.uniform());
  const double middle =
      (static_cast<double>(low) + static_cast<double>(std::nextafter(low, 9.0F))) / 2;
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(14 + random.below(12)), middle);
  return text;
}

std::string odd(Random& random) {
  switch (random.below(12)) {
    case 0:
      return std::string(1 + random.below(800), static_cast<char>('0' + random.below(10)));
    case 1:
      return "0." + std::string(1 + random.below(800), static_cast<char>('0' + random.below(10)));
    case 2: {
      std::string digits = std::to_string(random.next());
      digits.insert(random.below(digits.size()), ".");
      return digits;
    }
    case 3:
      return std::to_string(1 + random.below(20)) + ":" + std::to_string(random.below(1000));
    case 4:
      return halfway(random);
    default:
      return std::string(kOdd[random.below(kOdd.size())]);
  }
}

struct Piece {
  std::size_t begin;
  std::size_t size;
};

// Where the runs of bytes without blank, colon or line end lie.
std::vector<Piece> pieces_of(std::string_view text, std::string_view borders) {
  std::vector<Piece> pieces;
  for (std::size_t i = text.find_first_not_of(borders); i < text.size();
       i = text.find_first_not_of(borders, i)) {
    const std::size_t end = std::min(text.find_first_of(borders, i), text.size());
    pieces.push_back({i, end - i});
    i = end;
  }
  return pieces;
}

void edit(std::string& text, Random& random) {
  constexpr std::string_view kBorders[] = {" \t\r\n", " \t\r\n:", "\n"};
  const std::string_view borders = kBorders[random.below(3)];
  const std::vector<Piece> pieces = pieces_of(text, borders);
  if (pieces.empty()) {
    text += odd(random);
    return;
  }
  const Piece one = pieces[random.below(pieces.size())];
  const Piece two = pieces[random.below(pieces.size())];
  const std::string first = text.substr(one.begin, one.size);
  const std::string second = text.substr(two.begin, two.size);
  switch (random.below(7)) {
    case 0:  // again
      text.insert(one.begin, first + borders[random.below(borders.size())]);
      break;
    case 1:  // another digit
      if (const std::size_t at = text.find_first_of("0123456789", one.begin); at < text.size()) {
        text[at] = static_cast<char>('0' + random.below(10));
      }
      break;
    case 2:  // swapped, the later one first so that places stay right
      if (one.begin < two.begin) {
        text.replace(two.begin, two.size, first);
        text.replace(one.begin, one.size, second);
      }
      break;
    case 3:
      text.replace(one.begin, one.size, odd(random));
      break;
    case 4:
      text.insert(one.begin, odd(random) + " ");
      break;
    case 5:
      text.insert(one.begin + random.below(one.size + 1), odd(random));
      break;
    default:
      text.erase(one.begin, one.size);
  }
}

}  // namespace

TextInput text_input(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const auto mode = bytes.take<std::uint8_t>();
  TextInput input;
  input.options.precision = (mode & 1U) != 0 ? Precision::f64 : Precision::f32;
  constexpr IndexBase kBases[] = {IndexBase::automatic, IndexBase::zero, IndexBase::one,
                                  IndexBase::automatic};
  input.options.index_base = kBases[mode >> 1U & 3U];
  input.options.strict = (mode & 8U) != 0;
  input.options.labels = (mode & 16U) == 0;
  input.cut = mode >> 5U == 7;
  input.text = bytes.rest();
  return input;
}

std::size_t mutate_text(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  Random random(seed);
  if (size < 2 || random.below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (std::uint64_t n = 1 + random.below(3); n > 0; --n) edit(text, random);
  return 1 + give(text, data + 1, max_size - 1);
}

}  // namespace hinge::fuzz
