// Mutator of the targets that read our container (files/tensor_file.h): edits the header as JSON,
// the metadata values as the JSON they hold, the arrays as numbers, and then mends lengths and
// checksums, so that what is behind them is reached. Sometimes it leaves them broken.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hinge::fuzz {

std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t max_size,
                             unsigned seed);

}  // namespace hinge::fuzz
