#include "rows/check_copies.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>

#include "base/error.h"
#include "files/checksum.h"
#include "files/file_bytes.h"

namespace hinge {
namespace {

// Machine and inodes: ranks with the same place read the same copy.
std::uint64_t place_of(const std::vector<std::string>& files) {
  std::array<char, 256> host{};
  static_cast<void>(gethostname(host.data(), host.size() - 1));
  // Containers of one machine have names of their own, and machines may have the same.
  std::array<char, 64> boot{};
  std::string place =
      fmt::format("{} {}", host.data(), first_bytes("/proc/sys/kernel/random/boot_id", boot));
  for (const std::string& file : files) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) fail_errno("io.open", file, "open", errno);
    place += fmt::format(" {} {}", status.st_dev, status.st_ino);
  }
  return checksum(std::as_bytes(std::span(place)));
}

// For each share the rank that reads it too: one of the next copy, whose ranks divide the work.
// Empty if there is but one copy.
std::vector<std::size_t> second_readers(const std::vector<std::vector<std::byte>>& places) {
  std::map<std::uint64_t, std::vector<std::size_t>> copies;
  for (std::size_t k = 0; k < places.size(); ++k) {
    std::uint64_t place = 0;
    std::memcpy(&place, places[k].data(), sizeof place);
    copies[place].push_back(k);
  }
  if (copies.size() == 1) return {};
  std::vector<std::size_t> readers(places.size());
  for (auto copy = copies.begin(); copy != copies.end(); ++copy) {
    const auto next = std::next(copy) == copies.end() ? copies.begin() : std::next(copy);
    for (std::size_t k = 0; k < copy->second.size(); ++k) {
      readers[copy->second[k]] = next->second[k % next->second.size()];
    }
  }
  return readers;
}

std::vector<Mark> unpack(std::span<const std::byte> bytes) {
  std::vector<Mark> marks(bytes.size() / sizeof(Mark));
  if (!bytes.empty()) std::memcpy(marks.data(), bytes.data(), bytes.size());
  return marks;
}

[[noreturn]] void differ(const std::string& file, const std::string& from_what) {
  fail_file(
      "mpi.inconsistent", file,
      fmt::format("the content differs from {}, though names and sizes are the same", from_what),
      "give all ranks the same copy of the data");
}

// Copies that differ may be cut at other lines, even where no share does.
void check_that_shares_meet(const std::vector<std::string>& files,
                            const std::vector<std::vector<std::byte>>& all) {
  std::uint64_t at = 0;
  for (std::size_t share = 0; share < all.size(); ++share) {
    for (const Mark& mark : unpack(all[share])) {
      if (mark.begin != at) differ(files[mark.file], fmt::format("that of rank {}", share));
      at = mark.end;
    }
  }
}

}  // namespace

void check_copies(const std::vector<std::string>& files,
                  const std::function<std::vector<Mark>(int share)>& marks_of, Comm& comm) {
  std::uint64_t place = 0;
  comm.together([&] { place = place_of(files); });
  const std::vector<std::size_t> readers =
      second_readers(comm.gather_all(std::as_bytes(std::span(&place, 1))));
  if (readers.empty()) return;
  std::vector<Mark> mine;
  comm.together([&] { mine = marks_of(comm.rank()); });
  const std::vector<std::vector<std::byte>> all = comm.gather_all(std::as_bytes(std::span(mine)));
  comm.together([&] {
    for (std::size_t share = 0; share < readers.size(); ++share) {
      if (readers[share] != static_cast<std::size_t>(comm.rank())) continue;
      const std::vector<Mark> theirs = unpack(all[share]);
      const std::vector<Mark> here = marks_of(static_cast<int>(share));
      const auto [mark, own] = std::ranges::mismatch(theirs, here);
      if (mark == theirs.end() && own == here.end()) continue;
      const std::uint64_t file = mark != theirs.end() ? mark->file : own->file;
      differ(files[file], fmt::format("what rank {} reads", share));
    }
    check_that_shares_meet(files, all);
  });
}

}  // namespace hinge
