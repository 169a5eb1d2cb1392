// Whether this process is one of several that a launcher of MPI started, and how to talk to the
// others. MPI is not linked: a library beside the program knows it and is loaded here.
#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "cli.h"
#include "hinge/transport.h"

namespace hinge::cli {
namespace {

constexpr const char* kLibrary = "libhinge-mpi.so";

// What a launcher told this process; -1: nothing.
struct Launch {
  const char* size_name = "";
  const char* rank_name = "";
  bool needs_size = false;  // a number alone says nothing
  int size = -1, rank = -1;
};

// The names of those variables: Open MPI's; those of MPICH, Intel MPI and Slurm's PMI-2; PMIx,
// which has none for how many there are; a step of Slurm without any of these, where the script of
// a job has a number too. Launchers start each other, and the variables of the outer one are
// inherited: there may be several.
constexpr Launch kLaunchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                 {"PMI_SIZE", "PMI_RANK"},
                                 {"", "PMIX_RANK"},
                                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", true}};

int number_in(const char* name) {
  const char* const text = *name == '\0' ? nullptr : std::getenv(name);
  if (text == nullptr) return -1;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, number);
  return result.ec == std::errc() && result.ptr == end && number >= 0 ? number : -1;
}

// Everything launchers said. Who knows only a rank does not count beside who knows a size.
std::vector<Launch> launches() {
  std::vector<Launch> all;
  for (Launch launch : kLaunchers) {
    launch.size = number_in(launch.size_name);
    launch.rank = number_in(launch.rank_name);
    if (launch.size >= 0 || (launch.rank >= 0 && !launch.needs_size)) all.push_back(launch);
  }
  const auto sized = [](const Launch& launch) { return launch.size >= 0; };
  if (std::ranges::any_of(all, sized)) std::erase_if(all, [&](const auto& l) { return !sized(l); });
  return all;
}

// Processes that each believe to be alone would all train on all rows, and write one model. So one
// of the launchers that speak of several must be the one that MPI knows.
Result<void> compare(const std::vector<Launch>& several, int size) {
  const auto known = [size](const Launch& launch) {
    return launch.size >= 0 ? launch.size == size : launch.rank < size;
  };
  if (std::ranges::any_of(several, known)) return {};
  const Launch& first = several.front();
  const bool counted = first.size >= 0;
  std::string names;
  for (const Launch& launch : several) {
    for (const char* const name : {launch.size_name, launch.rank_name}) {
      if (number_in(name) >= 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
  }
  return make_error(
      "mpi.launcher",
      fmt::format("the launcher says {}={}, but MPI has brought {} process{} together",
                  counted ? first.size_name : first.rank_name, counted ? first.size : first.rank,
                  size, size == 1 ? "" : "es"),
      fmt::format("start hinge by the launcher of the MPI that {} was built with; to train alone, "
                  "unset {}",
                  kLibrary, names));
}

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

Ranks& ranks() {
  // Never destroyed: MPI is to be ended by an orderly end only, else it would wait for the others.
  static Ranks& all = *new Ranks;
  return all;
}

Result<void> Ranks::open(double timeout) {
  std::vector<Launch> several = launches();
  std::erase_if(several, [](const Launch& launch) { return launch.size == 1; });
  if (transport_ != nullptr || several.empty()) return {};
  Result<void> opened = load_transport(timeout);
  if (opened.ok()) opened = compare(several, transport_->size());
  if (opened.ok()) return {};
  Error error = opened.error();
  error.rank = several.front().rank;
  return error;
}

Result<void> Ranks::load_transport(double timeout) {
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

void Ranks::close() {
  transport_.reset();
}

bool Ranks::several() const {
  return transport_ != nullptr && transport_->size() > 1;
}

bool Ranks::first() const {
  return transport_ == nullptr || transport_->rank() == 0;
}

bool Ranks::reports() const {
  return transport_ == nullptr || transport_->reports();
}

Result<void> Ranks::agree(const Result<void>& mine) {
  return several() ? hinge::agree(*transport_, mine) : mine;
}

int Ranks::agree(int code) {
  if (!several()) return code;
  std::vector<int> all(static_cast<std::size_t>(transport_->size()));
  const Transport::Outcome outcome = transport_->exchange(std::as_bytes(std::span(&code, 1)),
                                                          std::as_writable_bytes(std::span(all)));
  if (outcome != Transport::Outcome::done) return code;
  const auto first = std::ranges::find_if(all, [](int one) { return one != 0; });
  return first == all.end() ? 0 : *first;
}

}  // namespace hinge::cli
