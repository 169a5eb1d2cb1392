// Map: identity -> saving -> loading -> what a file says of its run -> results.
#include "train/checkpoint.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "base/archive.h"
#include "base/error.h"
#include "files/checksum.h"
#include "files/tensor_file.h"
#include "hinge/checkpoint.h"
#include "hinge/version.h"
#include "proof/witness.h"

namespace hinge {
namespace {

constexpr std::string_view kVersion = "2";
constexpr std::string_view kOption = "option.", kData = "trained_on.";
constexpr std::uint64_t kMaxProblems = 1000 * kMaxClasses;  // costs times classes

std::string this_version() {
  return fmt::format("hinge {}", version());
}

std::string previous_of(const std::string& path) {
  return path + ".previous";
}

// The file behind a symbolic link: what belongs to it lies beside it, not beside the link.
std::string real_name(std::filesystem::path path) {
  std::error_code none;
  for (int depth = 0; depth < 40 && std::filesystem::is_symlink(path, none); ++depth) {
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path.string();
}

// A person's name for a part of the identity.
std::string said(std::string_view name) {
  if (name.starts_with(kOption)) return fmt::format("--{}", name.substr(kOption.size()));
  if (name.starts_with(kData)) return fmt::format("{} of the data", name.substr(kData.size()));
  return std::string(name);
}
std::string said_value(const std::string* value) {
  return value == nullptr ? "not given" : value->empty() ? "given" : escape(*value);
}

// Of all that a training takes from a model it begins at.
std::string weights_checksum(const Model& model) {
  Checksum sum;
  const auto add = [&](const auto& numbers) { sum.add(std::as_bytes(std::span(numbers))); };
  add(model.labels);
  add(model.columns);
  add(model.weights);
  for (const BinaryProblem& problem : model.problems) {
    add(std::array{problem.bias});
    add(problem.witness.states);
    add(problem.witness.free);
  }
  return to_hex(sum.value());
}

const std::string* find(const RunIdentity& identity, std::string_view name) {
  const auto found = std::ranges::find(identity, name, &RunIdentity::value_type::first);
  return found == identity.end() ? nullptr : &found->second;
}

}  // namespace

RunIdentity identity_of(const TrainOptions& options, const Model& model, const Model* start) {
  RunIdentity identity;
  for (auto& [name, text] : describe(options)) {
    std::string key = fmt::format("{}{}", kOption, name);
    if (!identity.empty() && identity.back().first == key) {  // class weights
      identity.back().second += ' ' + text;
    } else {
      identity.emplace_back(std::move(key), std::move(text));
    }
  }
  const Origin& origin = model.origin;
  identity.emplace_back("solver", origin.solver);
  identity.emplace_back(kLanesOfRun, fmt::format("{}", origin.lanes));
  identity.emplace_back("trained_on.index_base", fmt::format("{}", model.index_base));
  identity.emplace_back("trained_on.rows", fmt::format("{}", origin.rows));
  identity.emplace_back("trained_on.features", fmt::format("{}", model.features));
  identity.emplace_back("trained_on.nonzeros", fmt::format("{}", origin.nonzeros));
  identity.emplace_back("trained_on.precision", origin.precision == Precision::f32 ? "f32" : "f64");
  identity.emplace_back("trained_on.weights", origin.row_weights ? "yes" : "no");
  identity.emplace_back("trained_on.fingerprint", origin.fingerprint);
  identity.emplace_back("start", start == nullptr ? "none" : weights_checksum(*start));
  return identity;
}

void check_identity(const Checkpoint& found, const RunIdentity& ours, const std::string& path) {
  const auto refuse = [&](std::string_view name, const std::string* before,
                          const std::string* now) {
    fail_file("checkpoint.mismatch", path,
              fmt::format("{}: {} in the checkpoint, {} now", said(name), said_value(before),
                          said_value(now)),
              "go on with the version, data and options it was written with, or begin anew "
              "without --resume");
  };
  const std::string here = this_version();
  if (found.written_by != here) refuse("version", &found.written_by, &here);
  for (const auto& [name, value] : ours) {
    const std::string* const before = find(found.identity, name);
    if (before == nullptr || *before != value) refuse(name, before, &value);
  }
  for (const auto& [name, value] : found.identity) {
    if (find(ours, name) == nullptr) refuse(name, &value, nullptr);
  }
}

void save_checkpoint(const std::string& path, const RunIdentity& identity,
                     const CheckpointGroups& groups) {
  Metadata metadata(identity.begin(), identity.end());
  metadata["format"] = kCheckpointFormat;
  metadata["version"] = kVersion;
  metadata["written_by"] = this_version();

  std::vector<std::uint64_t> cut = {0}, sizes;
  std::vector<std::uint8_t> done;
  std::vector<double> passes, gaps;
  std::vector<std::byte> joined;  // only of several
  std::span<const std::byte> states;
  for (const CheckpointGroup& group : groups) {
    cut.push_back(group.last);
    sizes.push_back(group.state ? group.state->size() : 0);
    done.push_back(group.done ? 1 : 0);
    passes.push_back(group.passes);
    gaps.push_back(group.gap);
    if (group.state) states = *group.state;
  }
  if (groups.size() > 1) {
    joined.reserve(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
    for (const CheckpointGroup& group : groups) {
      if (group.state) joined.insert(joined.end(), group.state->begin(), group.state->end());
    }
    states = joined;
  }
  const std::span<const std::uint8_t> bytes = {reinterpret_cast<const std::uint8_t*>(states.data()),
                                               states.size()};
  const std::vector<std::uint64_t> each = {groups.size()};
  std::vector<Tensor> tensors = {tensor<std::uint64_t>("cut", {cut.size()}, cut),
                                 tensor<std::uint64_t>("sizes", each, sizes),
                                 tensor<double>("gaps", each, gaps),
                                 tensor<double>("passes", each, passes),
                                 tensor<std::uint8_t>("done", each, done),
                                 tensor("states", {bytes.size()}, bytes)};
  // The old file gets a second name before the new one takes the first: there is always one.
  const auto keep_previous = [&] {
    const std::string previous = previous_of(path), link = previous + ".tmp";
    static_cast<void>(unlink(link.c_str()));
    if (linkat(AT_FDCWD, path.c_str(), AT_FDCWD, link.c_str(), 0) == 0) {
      static_cast<void>(std::rename(link.c_str(), previous.c_str()));
      static_cast<void>(unlink(link.c_str()));  // it stays if both were one file already
    } else {
      // No such file yet; or a file system without second names, where the reader may have to do
      // with the previous one.
      static_cast<void>(std::rename(path.c_str(), previous.c_str()));
    }
  };
  write_tensor_file(path, std::move(tensors), std::move(metadata), {.before = keep_previous});
}

namespace {

Checkpoint load_one(const std::string& path) {
  const TensorFile file = TensorFile::read(path, "checkpoint");
  if (file.field("format") != kCheckpointFormat)
    file.reject("magic", "this is not a hinge checkpoint");
  Checkpoint checkpoint;
  checkpoint.written_by = file.field("written_by");
  if (file.field("version") != kVersion) {
    fail_file("checkpoint.mismatch", path,
              fmt::format("version: format {}, by {}, in the checkpoint; format {}, {} now",
                          escape(file.field("version")), escape(checkpoint.written_by), kVersion,
                          this_version()),
              "go on with the hinge it was written with, or begin anew without --resume");
  }
  for (const auto& [name, text] : file.metadata()) {
    const bool identifies = name.starts_with(kOption) || name.starts_with(kData) ||
                            name == "solver" || name == kLanesOfRun || name == "start";
    if (identifies) checkpoint.identity.emplace_back(name, text);
  }
  file.allow_only({"cut", "sizes", "gaps", "passes", "done", "states"});
  const auto numbers = [&]<class T>(const char* name, std::uint64_t count, T) {
    return file.get<T>(name, std::vector<std::uint64_t>{count});
  };
  if (file.shape("sizes").size() != 1) file.reject("header", "sizes must be a list");
  const std::uint64_t count = file.shape("sizes")[0];
  if (count == 0 || count > kMaxProblems) file.reject("content", "no problems, or too many");
  const auto cut = numbers("cut", count + 1, std::uint64_t{});
  const auto sizes = numbers("sizes", count, std::uint64_t{});
  const auto gaps = numbers("gaps", count, double{});
  const auto passes = numbers("passes", count, double{});
  const auto done = numbers("done", count, std::uint8_t{});
  std::uint64_t at = 0;
  if (file.shape("states").size() != 1) file.reject("header", "states must be a list");
  const auto states = numbers("states", file.shape("states")[0], std::uint8_t{});
  bool good = cut[0] == 0 && cut[count] <= kMaxProblems;
  for (std::uint64_t k = 0; good && k < count; ++k) {
    good = cut[k] < cut[k + 1] && sizes[k] <= states.size() - at && done[k] <= 1 &&
           (done[k] == 0 || sizes[k] > 0) && std::isfinite(gaps[k]) && std::isfinite(passes[k]);
    if (!good) break;
    CheckpointGroup group = {.first = cut[k],
                             .last = cut[k + 1],
                             .done = done[k] == 1,
                             .passes = passes[k],
                             .gap = gaps[k],
                             .state = nullptr};
    if (sizes[k] > 0) {
      const auto bytes = std::as_bytes(states.subspan(at, sizes[k]));
      group.state = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    }
    checkpoint.groups.push_back(std::move(group));
    at += sizes[k];
  }
  if (!good || at != states.size()) {
    file.reject("content", "the list of what it holds makes no sense");
  }
  return checkpoint;
}

}  // namespace

Checkpoint load_checkpoint(const std::string& path, std::vector<Error>& warnings) {
  // It is read more than once, which a pipe is not.
  if (struct stat info{}; stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    fail("io.not-a-file", fmt::format("cannot read {}: a checkpoint is no pipe", escape(path)));
  }
  const std::string previous = previous_of(real_name(path));
  try {
    return load_one(path);
  } catch (Failure& newest) {
    const std::string& id = newest.error.id;
    const bool damaged = id.starts_with("checkpoint.") && id != "checkpoint.mismatch";
    const bool lost = id == "io.open" || id == "io.read" || id == "limit.header";
    if (!damaged && !lost) throw;
    Result<Checkpoint> older = guard([&] { return load_one(previous); });
    if (!older.ok()) {
      // Both are bad; what is wrong with the first is what counts, unless it is simply not there.
      if (id == "io.open" && older.error().id != "io.open") throw Failure{older.error()};
      throw;
    }
    warnings.push_back(make_warning("checkpoint.previous",
                                    fmt::format("{}; going on from {}, the checkpoint before it",
                                                newest.error.message, escape(previous))));
    warnings.back().file = path;
    return std::move(older).value();
  }
}

namespace {

template <class T>
T number(const Checkpoint& checkpoint, std::string_view name, const std::string& path) {
  const std::string* const text = find(checkpoint.identity, name);
  T value = 0;
  if (text != nullptr) {
    const char* const end = text->data() + text->size();
    const auto result = std::from_chars(text->data(), end, value);
    if (result.ec == std::errc() && result.ptr == end) return value;
  }
  fail_file("checkpoint.header", path, fmt::format("{} is missing or no number", name));
}

std::string text(const Checkpoint& checkpoint, std::string_view name) {
  const std::string* const found = find(checkpoint.identity, name);
  return found == nullptr ? "" : *found;
}

}  // namespace

int lanes_of(const Checkpoint& found, const std::string& path) {
  const int lanes = number<int>(found, kLanesOfRun, path);
  if (lanes < 1 || lanes > kMaxLanes)
    fail_file("checkpoint.header", path, "lanes are out of range");
  return lanes;
}

Result<CheckpointInfo> read_checkpoint(const std::string& path, std::vector<Error>& warnings) {
  return guard([&] {
    const Checkpoint checkpoint = load_checkpoint(path, warnings);
    CheckpointInfo info;
    info.written_by = checkpoint.written_by;
    info.solver = text(checkpoint, "solver");
    for (const auto& [name, value] : checkpoint.identity) {
      if (!name.starts_with(kOption)) continue;
      for (std::size_t from = 0; from <= value.size();) {
        const std::size_t end = std::min(value.find(' ', from), value.size());
        info.options.emplace_back(name.substr(kOption.size()), value.substr(from, end - from));
        from = end + 1;
      }
    }
    info.rows = number<std::uint64_t>(checkpoint, "trained_on.rows", path);
    info.features = number<std::uint64_t>(checkpoint, "trained_on.features", path);
    info.nonzeros = number<std::uint64_t>(checkpoint, "trained_on.nonzeros", path);
    info.index_base = number<int>(checkpoint, "trained_on.index_base", path);
    info.precision =
        text(checkpoint, "trained_on.precision") == "f64" ? Precision::f64 : Precision::f32;
    info.row_weights = text(checkpoint, "trained_on.weights") == "yes";
    info.start = text(checkpoint, "start") != "none";
    info.fingerprint = text(checkpoint, "trained_on.fingerprint");
    info.problems = checkpoint.groups.back().last;
    info.relative_gap = 0;
    for (const CheckpointGroup& group : checkpoint.groups) {
      const std::uint64_t size = group.last - group.first;
      if (group.done) info.done += size;
      if (group.done || !group.state) continue;
      info.begun += size;
      info.passes = std::max(info.passes, group.passes);
      info.relative_gap = std::max(info.relative_gap, group.gap);
    }
    if (info.begun == 0 && info.done < info.problems) info.relative_gap = 1;
    return info;
  });
}

bool looks_like_checkpoint(const std::string& path) {
  char bytes[4096];
  const Result<std::string_view> head = guard([&] { return first_bytes(path, bytes); });
  return head.ok() && looks_like_tensor_file(*head, kCheckpointFormat);
}

std::string checkpoint_file(const std::string& path) {
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (path == "-" || (exists && !S_ISREG(status.st_mode))) {
    fail("usage.value",
         fmt::format("--checkpoint: expected a regular file, got \"{}\"", escape(path)));
  }
  return real_name(path);
}

// ---- Results.

namespace {

void walk(Archive& archive, Solution& s, Witness& witness, bool& reached) {
  archive(s.w, witness.states, witness.free, s.iterations, s.rows_touched, s.objective_rows,
          s.search_rows, s.stalled, s.passes_left, s.changed, s.cut_short, reached);
}

// Of alpha: much smaller, and the same.
Witness packed(const Problem& problem, const std::vector<double>& alpha) {
  return alpha.empty() ? Witness{} : compact(problem, alpha);
}

std::vector<double> unpacked(const Problem& problem, const Witness& witness) {
  if (witness.empty()) return {};
  Result<std::vector<double>> alpha = guard([&] { return expand(problem, witness); });
  if (!alpha.ok()) fail("checkpoint.content", alpha.error().message);
  return std::move(alpha).value();
}

}  // namespace

std::vector<std::byte> pack_result(std::span<const Problem> problems, std::span<Solution> solutions,
                                   const std::vector<bool>& reached) {
  return Archive::written_by([&](Archive& archive) {
    for (std::size_t k = 0; k < problems.size(); ++k) {
      Witness witness = packed(problems[k], solutions[k].alpha);
      bool is_reached = reached[k];
      walk(archive, solutions[k], witness, is_reached);
    }
  });
}

void unpack_result(std::span<const std::byte> state, std::span<const Problem> problems,
                   std::vector<Solution>& solutions, std::vector<bool>& reached) {
  Archive archive(state);
  solutions.resize(problems.size());
  for (std::size_t k = 0; k < problems.size(); ++k) {
    Witness witness;
    bool is_reached = false;
    walk(archive, solutions[k], witness, is_reached);
    reached.push_back(is_reached);
    solutions[k].alpha = unpacked(problems[k], witness);
  }
  archive.end();
}

}  // namespace hinge
