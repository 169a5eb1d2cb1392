// Whether this process is one of several that a launcher of MPI started, and how to talk to the
// others. MPI is not linked: a library beside the program knows it and is loaded here.
#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "cli.h"
#include "hinge/transport.h"

namespace hinge::cli {
namespace {

// What launchers tell the processes they start: Open MPI's; those of MPICH, Intel MPI and Slurm's
// PMI-2; PMIx, which has no variable for how many there are.
constexpr const char* kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
constexpr const char* kNumbers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

// -1: nobody said.
template <std::size_t N>
int number_in(const char* const (&names)[N]) {
  for (const char* const name : names) {
    const char* const text = std::getenv(name);
    int number = 0;
    if (text == nullptr) continue;
    const char* const end = text + std::strlen(text);
    const auto result = std::from_chars(text, end, number);
    if (result.ec == std::errc() && result.ptr == end && number >= 0) return number;
  }
  return -1;
}

constexpr const char* kLibrary = "libhinge-mpi.so";

// Beside the program, where it is installed, or wherever libraries are found.
void* load(std::string& why) {
  std::vector<std::string> places;
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program);
  if (size > 0) {
    std::string folder(program, static_cast<std::size_t>(size));
    folder.resize(folder.rfind('/') + 1);
    places.push_back(folder + kLibrary);
    places.push_back(folder + HINGE_LIBRARIES_FROM_PROGRAM "/" + kLibrary);
  }
  places.emplace_back(kLibrary);
  for (const std::string& place : places) {
    if (place.find('/') != std::string::npos && access(place.c_str(), F_OK) != 0) continue;
    // Global: MPI loads parts of itself, which look for it.
    if (void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
    why = dlerror();
  }
  return nullptr;
}

}  // namespace

int launched_rank() {
  return std::max(0, number_in(kNumbers));
}

Result<void> Ranks::open(double timeout) {
  const int size = number_in(kSizes);
  if (size == 1 || (size < 0 && number_in(kNumbers) < 0)) return {};
  std::string why;
  void* const library = load(why);
  if (library == nullptr) {
    return make_error("mpi.unavailable", fmt::format("cannot load {}: {}", kLibrary, escape(why)));
  }
  using Open = Transport* (*)(int, double);
  const auto open = reinterpret_cast<Open>(dlsym(library, "hinge_mpi_open"));
  transport_.reset(open == nullptr ? nullptr : open(Transport::kVersion, timeout));
  if (transport_ == nullptr) {
    return make_error("mpi.unavailable",
                      fmt::format("{} is of another version, or MPI cannot start", kLibrary));
  }
  return {};
}

bool Ranks::several() const {
  return transport_ != nullptr && transport_->size() > 1;
}

bool Ranks::first() const {
  return transport_ == nullptr || transport_->rank() == 0;
}

int Ranks::agree(int code) {
  if (!several() || over_) return code;
  std::vector<int> all(static_cast<std::size_t>(transport_->size()));
  const Transport::Outcome outcome = transport_->exchange(std::as_bytes(std::span(&code, 1)),
                                                          std::as_writable_bytes(std::span(all)));
  if (outcome != Transport::Outcome::done) return code != 0 ? code : 75;
  for (const int one : all) {
    if (one != 0) return one;
  }
  return 0;
}

int Ranks::lost(int code) {
  over_ = true;
  return code;
}

}  // namespace hinge::cli
