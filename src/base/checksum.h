// XXH3: detects damage, proves nothing against an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hinge {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// 16 lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);

}  // namespace hinge
