// Whether ranks that read parts of the same files read them from copies that are the same. Each
// part is read by one rank, so that a copy that is older, or damaged, would not be noticed: a part
// of it would be trained on as if it were of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ranks/comm.h"

namespace hinge {

// What a rank reads of one file: bytes begin .. end - 1 of all files together, and their checksum.
struct Mark {
  std::uint64_t file = 0, begin = 0, end = 0, sum = 0;
  bool operator==(const Mark&) const = default;
};

// `marks_of`: what the share of a rank is in the files as seen from here; the shares of all ranks,
// one after the other, are the files. Where all ranks see the same files of one machine nothing is
// read. Elsewhere a rank goes through its own share, and then through one that belongs to a rank
// with another copy, so that whatever is trained on is the same in two copies. Throws Failure
// (mpi.inconsistent) on every rank, and what marks_of() throws.
void check_copies(const std::vector<std::string>& files,
                  const std::function<std::vector<Mark>(int share)>& marks_of, Comm& comm);

}  // namespace hinge
