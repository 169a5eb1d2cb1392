// The option table: lines of "name value". What is accepted is inside the documented range and
// valid; what is refused changes nothing.
#include <cmath>

#include "fuzz.h"
#include "hinge/options.h"

namespace hinge::fuzz {
namespace {

bool same(const TrainOptions& a, const TrainOptions& b) {
  return a.cost == b.cost && a.path == b.path && a.lambda == b.lambda && a.gap == b.gap &&
         a.solver == b.solver && a.loss == b.loss && a.epsilon == b.epsilon && a.bias == b.bias &&
         a.class_weights.size() == b.class_weights.size() && a.balanced == b.balanced &&
         a.reject == b.reject && a.witness == b.witness && a.threads == b.threads &&
         a.time_limit == b.time_limit && a.max_passes == b.max_passes && a.seed == b.seed &&
         a.lanes == b.lanes && a.instruction_set == b.instruction_set && a.pegasos == b.pegasos &&
         a.planes == b.planes;
}

// As include/hinge/options.h and docs/cli.md say.
bool in_range(const TrainOptions& o) {
  bool good = o.cost > 0 && std::isfinite(o.cost) && o.lambda >= 0 && std::isfinite(o.lambda) &&
              o.gap.value_or(1) > 0 && o.gap.value_or(1) <= 1 && o.bias >= 0 &&
              std::isfinite(o.bias * o.bias) && o.threads >= 0 && o.threads <= 4096 &&
              o.lanes >= 0 && o.lanes <= kMaxLanes && o.time_limit >= 0 &&
              o.solver <= Solver::focus && o.loss <= LossKind::squared_epsilon && o.epsilon >= 0 &&
              std::isfinite(o.epsilon) && o.pegasos.sampling <= Sampling::order &&
              o.pegasos.iterate <= Iterate::best_of && o.pegasos.runs > 0 &&
              o.pegasos.runs <= 1000 && o.pegasos.update <= Update::mistake &&
              o.pegasos.kernel.kind <= KernelKind::sigmoid && o.pegasos.kernel.gamma >= 0 &&
              std::isfinite(o.pegasos.kernel.gamma) && std::isfinite(o.pegasos.kernel.coef0) &&
              o.pegasos.kernel.degree >= 1 && (o.planes.planes == 0 || o.planes.planes >= 2) &&
              o.planes.planes <= 10000 && o.planes.mu >= 0 && o.planes.mu <= 1 &&
              o.instruction_set <= InstructionSet::avx512;
  for (const ClassWeight& w : o.class_weights)
    good = good && w.factor > 0 && std::isfinite(w.factor);
  return good;
}

void require_valid(const TrainOptions& options) {
  const Result<void> valid = validate(options);
  require(valid.ok(), valid.ok() ? "" : to_string(valid.error()));
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  hinge::TrainOptions options;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, blank);
    const std::string_view value = line.substr(std::min(blank + 1, line.size()));
    const hinge::TrainOptions before = options;
    const hinge::Result<void> set = set_option(options, name, value);
    if (set.ok()) {
      require(std::ranges::find(hinge::train_option_table(), name, &hinge::OptionInfo::name) !=
                  hinge::train_option_table().end(),
              "an option that is not in the table");
      require(in_range(options), "a value outside its range");
      // Each value by itself is good; some do not go together.
      hinge::TrainOptions planes = options;
      planes.solver = hinge::Solver::focus;
      planes.pegasos = {};
      planes.lanes = 0;
      if (!planes.path.empty()) planes.lambda = 0;
      if (hinge::is_regression(planes.loss)) {  // which has no classes
        planes.class_weights = {};
        planes.balanced = false;
        planes.reject = false;
      } else {
        planes.epsilon = hinge::TrainOptions().epsilon;
      }
      require_valid(planes);
      hinge::TrainOptions together = options;
      together.solver = hinge::Solver::pegasos;
      together.planes = {};
      together.lanes = 0;
      together.path = {};
      together.loss = hinge::LossKind::hinge;  // the one with kernels
      together.epsilon = hinge::TrainOptions().epsilon;
      if (together.pegasos.epochs > 0) together.pegasos.steps = 0;
      hinge::KernelFunction& kernel = together.pegasos.kernel;
      kernel.kind = hinge::KernelKind::poly;  // which has all of them
      if (!kernel.positive_definite()) together.gap = {};
      if (together.pegasos.update == hinge::Update::mistake) together.gap = {};  // needs an end
      if (together.pegasos.budget > 0) together.pegasos.projection = false;
      require_valid(together);
    } else {
      require_error(set.error(), {64});
      require(same(options, before), "a refused value changed something");
    }
  }
  return 0;
}
