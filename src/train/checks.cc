// Map: ranks -> classes -> memory -> options that need the data, row weights -> warnings.
#include "train/checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/buffer.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/range.h"
#include "data/columns.h"
#include "solve/sweep.h"
#include "solve/tuning.h"

namespace hinge {
namespace {

constexpr std::uint64_t kRareRows = 10;  // a class with fewer rows, in data a thousand times larger

}  // namespace

void check_loss(const Plan& plan) {
  const std::string_view loss = to_string(plan.loss.kind);
  const bool kernel = !plan.options.pegasos.kernel.linear();
  const auto takes = [&](const SolverTraits& traits) {
    return std::ranges::find(traits.losses, loss) != traits.losses.end();
  };
  if (kernel && std::ranges::find(plan.traits().losses_with_kernel, loss) ==
                    plan.traits().losses_with_kernel.end()) {
    fail("usage.value", fmt::format("--loss {}: with a kernel the loss is the hinge", loss),
         "leave one of --loss and --kernel out");
  }
  if (takes(plan.traits())) return;
  fail("usage.value", fmt::format("--loss {}: --solver {} does not take it; {} do", loss,
                                  plan.traits().name, Choice{names_where(takes)}.list()));
}

void check_ranks(const Plan& plan, int ranks) {
  const TrainOptions& options = plan.options;
  const SolverTraits& traits = plan.traits();
  if (!options.pegasos.kernel.linear()) {
    fail_on_ranks("--kernel: training with a kernel was asked for");
  }
  if (options.free_bias && !traits.on_ranks.free_bias) {
    fail_on_ranks("--bias free: an intercept that is not regularised was asked for",
                  "--bias 1 has one that is");
  }
  if (!traits.on_ranks.offered) {
    const auto can = [](const SolverTraits& other) { return other.on_ranks.offered; };
    const std::vector<std::string_view> others = names_where([&](const SolverTraits& other) {
      return can(other) && other.options != OptionGroup::planes;
    });
    const std::vector<std::string_view> planes = names_where([&](const SolverTraits& other) {
      return can(other) && other.options == OptionGroup::planes;
    });
    fail_on_ranks(fmt::format("--solver {} was asked for", traits.name),
                  fmt::format("auto, {} and the cutting planes can: {}", Choice{others}.list(),
                              Choice{planes}.list()));
  }
  if (traits.check_ranks != nullptr) {
    traits.check_ranks({.options = options,
                        .start = plan.start != nullptr,
                        .checkpoint = plan.keeps_states,
                        .ranks = ranks});
  }
  // Some refusals have no words of a solver of its own.
  if (plan.start != nullptr && traits.on_ranks.starts == Starts::at_zero) {
    fail_on_ranks("--start was asked for");
  }
  if (plan.keeps_states && !traits.on_ranks.checkpoints) {
    fail_on_ranks("--checkpoint was asked for");
  }
}

// A label as people know it.
std::string label_text(const Plan& plan, std::int64_t label) {
  return escape(plan.data.class_names().text(label));
}

void check_classes(const Plan& plan) {
  const GlobalShape& shape = plan.shape;
  const std::size_t classes = shape.classes.size();
  take(plan.data.check_classes());
  if (shape.rows == 0) fail("data.empty", "no rows");
  if (classes < 2) {
    fail("data.one-class",
         fmt::format("all {} rows have label {}", shape.rows,
                     label_text(plan, shape.classes[0].label)),
         "a classifier needs rows of at least two classes");
  }
  if (classes > plan.options.max_classes) {
    fail("limit.classes",
         fmt::format("{} different labels would need {:.1f} GiB of weights; at most {} classes are "
                     "trained",
                     classes, static_cast<double>(classes * plan.data.features()) * 8 / 0x1p30,
                     plan.options.max_classes),
         "are these labels, or numbers to be predicted?");
  }
}

void check_targets(const Plan& plan) {
  if (plan.shape.rows == 0) fail("data.empty", "no rows");
}

std::size_t hyperplanes_of(const GlobalShape& shape, const TrainOptions& options) {
  const std::size_t classes = shape.classes.size();
  return is_regression(options.loss) || classes == 2 ? 1 : classes;
}

// ---- Memory.

TrainingMemory check_memory(const Dataset& data, const GlobalShape& shape,
                            const TrainOptions& options, SolverChoice& choice, bool start) {
  const SolverTraits& traits = traits_of(choice.solver);
  const std::uint64_t planes = hyperplanes_of(shape, options);
  const auto threads =
      static_cast<std::uint64_t>(options.threads > 0 ? options.threads : available_cores());
  SweepShape sweep;
  if (traits.sweeps) {
    sweep.kernel = !options.pegasos.kernel.linear();
    sweep.planes = std::min(planes, SweepTuning::kClasses * (sweep.kernel ? 1 : threads));
    if (options.pegasos.budget > 0) sweep.planes = planes;
    sweep.threads = threads;
    sweep.batch = options.pegasos.batch == 0 ? data.rows() : options.pegasos.batch;
    sweep.start = start;
  } else if (planes > 1 && (std::isfinite(options.time_limit) || options.max_passes > 0)) {
    sweep.planes = std::min(planes, SweepTuning::kClasses * threads);  // the one that comes first
  }
  TrainingMemory need = training_memory(data, planes, sweep);
  const std::size_t abreast = costs_abreast(traits, planes);
  if (!options.path.empty()) {  // the models, and where others begin
    const std::size_t ends = abreast > 1 ? options.path.size() / 2 + 1 : 1;
    need.weights *= static_cast<double>(options.path.size() + ends);
    need.work += 8 * static_cast<double>(planes * ends) * static_cast<double>(data.rows());
  }
  if (traits.memory != nullptr) {
    const bool sparse = are_sparse(data.nonzeros(), data.features(), planes);
    const std::uint64_t dimension =
        choice.columns.value_or(sparse ? std::min(data.nonzeros(), data.features())
                                       : data.features()) +
        1;
    const MemoryShape rows = {.data = data,
                              .dimension = dimension,
                              .gap = likely_gap(options, shape.rows),
                              .options = options};
    const double one = traits.memory(rows);
    // Solved side by side.
    const std::uint64_t problems =
        planes * std::clamp<std::uint64_t>(options.path.size(), 1, abreast);
    const auto together = static_cast<double>(std::min(problems, threads));
    const double all = one * together;
    if (all > 0.9 * static_cast<double>(physical_memory())) {
      fail("memory.model",
           fmt::format("{} of --solver {} would need {:.1f} GiB", traits.memory_is_for, traits.name,
                       all / 0x1p30),
           std::string(traits.less_memory));
    }
    need.work += all;
    if (choice.may_change && options.memory > 0) {
      const double both =
          std::max(traits_of(Solver::dual).memory(rows), traits_of(Solver::newton).memory(rows));
      const double more = (both - one) * together;
      choice.may_change = need.all() + more <= static_cast<double>(options.memory);
    }
  }
  if (need.weights > 0.9 * static_cast<double>(physical_memory())) {
    fail("memory.model", fmt::format("{} features and {} hyperplanes need {:.1f} GiB of weights",
                                     data.features(), planes, need.weights / 0x1p30));
  }
  if (options.memory > 0 && need.all() > static_cast<double>(options.memory)) {
    fail("memory.limit",
         fmt::format("training needs about {:.3g} MiB, --memory allows {:.3g} MiB",
                     need.all() / 0x1p20, static_cast<double>(options.memory) / 0x1p20));
  }
  return need;
}

std::uint64_t kernel_memory(const TrainOptions& options, double need) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  if (options.memory == 0) return std::min(kMost, physical_memory() / 4);
  return static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(options.memory) - need));
}

// ---- Options that need the data, and row weights.

void check_options(const Plan& plan) {
  const PegasosOptions& pegasos = plan.options.pegasos;
  const Model& model = plan.report_template.model;
  if (pegasos.batch > plan.shape.rows) {
    fail("usage.value", fmt::format("--batch: expected at most the {} rows of the data, got {}",
                                    plan.shape.rows, pegasos.batch));
  }
  if (!model.kernel.linear() && plan.data.rows() >= UINT32_MAX) {
    fail("usage.value", "--kernel: takes less than 2^32 - 1 rows");
  }
  if (plan.warm_starts && pegasos.t0 == 0) {
    fail("usage.value", "--t0: with several costs expected at least 1: step 1 forgets the last");
  }
  if (plan.start == nullptr) return;
  const Model& start = *plan.start;
  if (!model.kernel.linear() && plan.traits().with_kernel.starts == Starts::at_zero) {
    fail("usage.value", "--start: training with a kernel begins at 0");
  }
  if (!start.kernel.linear()) fail("model.start", "the model to start from has a kernel");
  if (pegasos.t0 == 0) {
    fail("usage.value", "--t0: with --start expected at least 1: step 1 forgets where it began");
  }
  if (start.index_base != plan.data.index_base()) {
    fail("model.start",
         fmt::format("the model to start from counts features from {}, the data from {}",
                     start.index_base, plan.data.index_base()));
  }
  std::vector<std::int64_t> labels = start.labels, ours = model.labels;
  std::ranges::sort(labels);
  std::ranges::sort(ours);
  if (labels != ours || start.class_names != model.class_names) {
    fail("model.start", "the model to start from has other labels than the data");
  }
  if (start.regression() != plan.regression()) {
    fail("model.start", plan.regression() ? "the model to start from is one of classes"
                                          : "the model to start from is one of regression");
  }
  for (const BinaryProblem& problem : start.problems) {
    if (problem.bias != 0 && model.origin.bias_feature == 0) {
      fail("model.start", "the model to start from has a bias, and training has none",
           "give --bias a number, or free");
    }
  }
}

void check_row_weights(const Plan& plan, Comm* comm) {
  if (plan.regression()) {
    double sum = 0;
    for (const double weight : plan.row_weights) sum += weight;
    if (comm != nullptr) sum = comm->sum(sum);
    if (!(sum > 0)) fail("data.weights.zero", "all rows have weight 0");
    if (!std::isfinite(sum)) fail("data.weight", "the sum of the row weights overflows");
    return;
  }
  const std::vector<LabelCount>& classes = plan.shape.classes;
  std::vector<double> sums(classes.size());
  for (std::size_t i = 0; i < plan.row_weights.size(); ++i) {
    const auto found =
        std::ranges::lower_bound(classes, plan.data.labels()[i], {}, &LabelCount::label);
    sums[static_cast<std::size_t>(found - classes.begin())] += plan.row_weights[i];
  }
  if (comm != nullptr) comm->sum(sums);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (!(sums[k] > 0)) {
      fail("data.weights.zero",
           fmt::format("all rows of class {} have weight 0", label_text(plan, classes[k].label)));
    }
    if (!std::isfinite(sums[k])) fail("data.weight", "the sum of the row weights overflows");
  }
}

// ---- Warnings.

void warn_of_rows(const Plan& plan, std::vector<Error>& warnings) {
  const GlobalShape& shape = plan.shape;
  if (shape.nonzeros == 0) {
    warnings.push_back(make_warning("data.all-zero", "no row has a feature that is not zero"));
  }
  if (plan.regression()) return;
  const auto rare = [&](const LabelCount& c) {
    return c.rows < kRareRows && c.rows * 1000 < shape.rows;
  };
  const auto first = std::ranges::find_if(shape.classes, rare);
  if (first != shape.classes.end()) {
    warnings.push_back(make_warning(
        "data.rare-class",
        fmt::format("few rows in {} of the classes (first: class {} has {} of {} rows)",
                    std::ranges::count_if(shape.classes, rare), label_text(plan, first->label),
                    first->rows, shape.rows)));
  }
}

void warn_of_scale(const Survey& seen, std::vector<Error>& warnings) {
  constexpr double kSpan = 15;  // decades
  if (seen.largest == 0) return;
  // In decades: the ratio itself may overflow.
  const double decades = std::log10(seen.largest) - std::log10(seen.smallest);
  if (decades > kSpan) {
    warnings.push_back(make_warning("solver.ill-scaled",
                                    fmt::format("values from {:.3g} to {:.3g}, a ratio of 1e{:.0f}",
                                                seen.smallest, seen.largest, decades)));
  }
}

std::vector<ClassWeight> class_weights(const GlobalShape& shape, const TrainOptions& options,
                                       std::vector<Error>& warnings) {
  std::vector<ClassWeight> factors;
  if (is_regression(options.loss)) return factors;
  for (const LabelCount& c : shape.classes) {
    double factor = 1;
    if (options.balanced) {
      factor = static_cast<double>(shape.rows) /
               (static_cast<double>(shape.classes.size()) * static_cast<double>(c.rows));
    }
    for (const ClassWeight& w : options.class_weights) {
      if (w.label == c.label) factor *= w.factor;
    }
    if (factor != 1) factors.push_back({c.label, factor});
  }
  for (const ClassWeight& w : options.class_weights) {
    if (std::ranges::find(shape.classes, w.label, &LabelCount::label) == shape.classes.end()) {
      warnings.push_back(make_warning(
          "usage.class-weight", fmt::format("no row has label {}; its weight is unused", w.label)));
    }
  }
  return factors;
}

}  // namespace hinge
