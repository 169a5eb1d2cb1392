// XXH3: detects damage, proves nothing against an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace hinge {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// The same of bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

}  // namespace hinge
