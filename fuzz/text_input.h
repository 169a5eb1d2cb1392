// Input of the targets that read libsvm text: one byte that says how to read, then the text.
//
//   bits 0-4   precision f64, index base (2 bits; 3 is automatic too), strict, no labels
//   bits 5-7   all set: behind a comment so long that the reader cuts the text into two chunks
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hinge/dataset.h"

namespace hinge::fuzz {

struct TextInput {
  ReadOptions options;
  bool cut = false;
  std::string text;
};

TextInput text_input(const std::uint8_t* data, std::size_t size);

// A custom mutator that knows lines, tokens and odd numbers.
std::size_t mutate_text(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed);

}  // namespace hinge::fuzz
