// Names of classes as two arrays of our container: their bytes one after the other, and where each
// ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/labels.h"

namespace hinge {

struct NameArrays {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> ends;
};
NameArrays arrays_of(const ClassNames& names);

// Reads the arrays `name` and `name`.ends, of which there must be both; checksums are compared
// where the file was mapped. Fails with KIND.header and KIND.content; one name at least.
ClassNames read_names(const TensorFile& file, const std::string& name);

}  // namespace hinge
