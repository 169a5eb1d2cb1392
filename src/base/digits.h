// Numbers as text such that reading them back gives the same bits.
#pragma once

#include <charconv>
#include <string>

namespace hinge {

template <class Number>
void append_number(std::string& text, Number number) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace hinge
