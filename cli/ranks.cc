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

  bool said() const { return size >= 0 || rank >= 0; }
  bool alone() const { return size == 1 || !said(); }
};

// The names of those variables: Open MPI's; those of MPICH, Intel MPI and Slurm's PMI-2; PMIx,
// which has none for how many there are; a step of Slurm without any of these, where the script of
// a job has a number too. The first that is there counts: launchers start each other, and the
// variables of the outer one are inherited.
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

Launch launch() {
  for (Launch launch : kLaunchers) {
    launch.size = number_in(launch.size_name);
    launch.rank = number_in(launch.rank_name);
    if (launch.size >= 0 || (launch.rank >= 0 && !launch.needs_size)) return launch;
  }
  return {};
}

// Processes that each believe to be alone would all train on all rows, and write one model.
Result<void> compare(const Launch& launch, int size) {
  const bool other = launch.size >= 0 ? launch.size != size : launch.rank >= size;
  if (!other) return {};
  const bool counted = launch.size >= 0;
  const char* const name = counted ? launch.size_name : launch.rank_name;
  const std::string both =
      counted && launch.rank >= 0 ? fmt::format("{} and {}", name, launch.rank_name) : name;
  return make_error(
      "mpi.launcher",
      fmt::format("the launcher says {}={}, but MPI has brought {} process{} together", name,
                  counted ? launch.size : launch.rank, size, size == 1 ? "" : "es"),
      fmt::format("start hinge by the launcher of the MPI that {} was built with; to train alone, "
                  "unset {}",
                  kLibrary, both));
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
  const Launch said = launch();
  if (transport_ != nullptr || said.alone()) return {};
  Result<void> opened = load_transport(timeout);
  if (opened.ok()) opened = compare(said, transport_->size());
  if (opened.ok()) return {};
  Error error = opened.error();
  error.rank = said.rank;
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
