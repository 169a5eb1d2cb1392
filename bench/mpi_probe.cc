// What a message costs: how long ranks take for an exchange of a few numbers, and for the two
// halves of a sum of many.
//
//   c++ -std=c++20 -O2 -Iinclude bench/mpi_probe.cc -o mpi_probe -ldl
//   mpirun -n 4 mpi_probe LIBHINGE_MPI NUMBERS
//
// Rank 0 prints one JSON object: the seconds of an exchange of 8 numbers a rank, and of handing out
// slices of NUMBERS (exchange) and collecting them (transpose), each the best of some rounds.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "hinge/transport.h"

namespace {

using hinge::Transport;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Ranks must make the same calls: how many follows from nothing that is measured.
double best(int rounds, int calls, const std::function<Transport::Outcome()>& call) {
  double least = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now();
    for (int k = 0; k < calls; ++k) {
      if (call() != Transport::Outcome::done) std::exit(75);
    }
    least = std::min(least, (now() - begin) / calls);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 69;
  }
  using Open = Transport* (*)(int, double);
  const auto open = reinterpret_cast<Open>(dlsym(library, "hinge_mpi_open"));
  const std::unique_ptr<Transport> ranks(open == nullptr ? nullptr
                                                         : open(Transport::kVersion, 60));
  if (ranks == nullptr) return 69;
  const auto size = static_cast<std::size_t>(ranks->size());
  std::vector<double> few(8), of_all(8 * size);
  const double small = best(10, 100, [&] {
    return ranks->exchange(std::as_bytes(std::span(few)),
                           std::as_writable_bytes(std::span(of_all)));
  });
  const std::size_t piece = (std::strtoull(argv[2], nullptr, 10) + size - 1) / size;
  std::vector<double> mine(piece), all(piece * size), pieces(piece * size);
  const double share = best(10, 10, [&] {
    return ranks->exchange(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  });
  const double collect = best(10, 10, [&] { return ranks->transpose(pieces, all); });
  if (ranks->rank() == 0) {
    std::printf("{\"ranks\": %d, \"small\": %.3e, \"share\": %.3e, \"collect\": %.3e}\n",
                ranks->size(), small, share, collect);
  }
  return 0;
}
