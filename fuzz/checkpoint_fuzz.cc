// The checkpoint: any bytes are refused, or a training goes on from them, or says why it cannot;
// the model it then gives holds together. The first byte says which solver the training has.
#include "hinge/checkpoint.h"

#include <cmath>

#include "container_input.h"
#include "fuzz.h"
#include "hinge/train.h"
#include "train/checkpoint.h"

namespace hinge::fuzz {
namespace {

// Rows of three classes, the first two of them enough for a pair.
Dataset rows(std::uint64_t count) {
  static constexpr std::uint64_t kOffsets[] = {0, 2, 4, 5, 7, 8, 10, 12};
  static constexpr std::uint32_t kColumns[] = {0, 1, 1, 2, 0, 0, 2, 1, 0, 1, 1, 2};
  static constexpr double kValues[] = {1, -2, 0.5, 1, -1, 2, 1, 1, -0.5, 1, 1, -1};
  static constexpr std::int64_t kLabels[] = {1, 2, 1, 2, 1, 3, 3};
  const CsrView<double> view{count, 3, kOffsets, kColumns, kValues};
  Result<Dataset> wrapped =
      Dataset::wrap(view, std::span(kLabels).first(static_cast<std::size_t>(count)), {}, nullptr);
  require(wrapped.ok(), "the rows to be trained on");
  return std::move(wrapped).value();
}

TrainOptions options_of(std::uint8_t choice) {
  TrainOptions options;
  options.threads = 1;
  options.time_limit = 0.05;
  constexpr Solver kSolvers[] = {Solver::dual,  Solver::pegasos, Solver::cpa,   Solver::ocas,
                                 Solver::ocas3, Solver::active,  Solver::focus, Solver::pegasos};
  options.solver = kSolvers[choice % 8];
  if (options.solver == Solver::pegasos) options.pegasos.epochs = 3;
  if (choice % 8 == 7) options.pegasos.kernel = {.kind = KernelKind::rbf, .gamma = 0.5};
  if (choice % 8 == 7) options.pegasos.budget = 3;
  if (cutting_planes(options.solver)) options.planes.planes = 4;
  return options;
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge;
  using namespace hinge::fuzz;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const MemoryFile file(bytes);
  std::vector<Error> warnings;
  const Result<CheckpointInfo> info = read_checkpoint(file.path(), warnings);
  if (!info.ok()) {
    require_error(info.error(), {80, 81});
    return 0;
  }
  require(info->done + info->begun <= info->problems, "more problems than there are");
  // Whatever it says of itself, its states are tried on rows that are there.
  const bool many = (data[0] & 8) != 0;
  const Dataset training = rows(many ? 7 : 5);
  const TrainOptions options = options_of(data[0]);
  Checkpoint checkpoint = load_checkpoint(file.path(), warnings);
  const Result<TrainReport> plain = train(training, options);
  require(plain.ok(), "the training itself");
  const std::string forged = written([&](const std::string& path) {
    Model model = plain->model;
    save_checkpoint(path, identity_of(options, model, nullptr), checkpoint.groups);
  });
  const MemoryFile fitting(forged);
  const Result<TrainReport> resumed = train(training, options, {.resume = fitting.path()});
  if (!resumed.ok()) {
    require_error(resumed.error(), {80, 81, 82});
    return 0;
  }
  require(resumed->model.weights.size() == resumed->model.problems.size() * resumed->model.width(),
          "weights are missing");
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  if (size < 2 || max_size < 2 || seed % 16 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  return 1 + hinge::fuzz::mutate_container(data + 1, size - 1, max_size - 1, seed);
}
