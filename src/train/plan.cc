// Map: labels and columns -> row weights -> origin -> low precision -> groups -> the plan.
#include "train/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "data/columns.h"
#include "proof/certificate.h"
#include "proof/outward.h"
#include "solve/crawl.h"
#include "solve/sweep.h"
#include "solve/tuning.h"
#include "train/checks.h"
#include "train/ranked.h"

namespace hinge {
namespace {

// With kernels it is worth working on the columns that occur where fewer do than so many vectors
// over all columns would have numbers.
constexpr std::uint64_t kKernelVectors = 32;

// A signal shall be obeyed within a second. Counted from it, preparations may go on for so many
// seconds.
constexpr double kPrepareGrace = 0.3;

// Names the labels of the models, and the label of each problem.
void describe_model(Plan& plan) {
  Model& model = plan.report_template.model;
  model.problems.resize(hyperplanes_of(plan.shape, plan.options));
  if (!plan.regression()) {
    for (const LabelCount& c : plan.shape.classes) model.labels.push_back(c.label);
    if (model.binary()) std::swap(model.labels[0], model.labels[1]);  // the larger, positive, first
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      model.problems[k].label = model.labels[k];
    }
    model.class_names = plan.data.class_names();
  }
  model.features = plan.data.features();
  model.index_base = plan.data.index_base();
  model.reject = plan.options.reject;
  model.kernel = plan.options.pegasos.kernel;
  if (!model.kernel.linear() && model.kernel.gamma == 0) {
    model.kernel.gamma = 1 / std::max(1.0, static_cast<double>(model.features));
  }
}

// Where few among many columns occur, those are worked on.
void choose_columns(Plan& plan, Run& run) {
  Model& model = plan.report_template.model;
  const std::size_t vectors = plan.problems() * std::max(std::size_t{1}, plan.options.path.size());
  if (!plan.choice.columns && !are_sparse(plan.shape.nonzeros, plan.shape.features,
                                          model.kernel.linear() ? vectors : kKernelVectors)) {
    return;
  }
  std::vector<std::uint32_t> columns = run.comm == nullptr
                                           ? occurring_columns(plan.data, run.pool)
                                           : occurring_columns(plan.data, run.pool, *run.comm);
  if (columns.empty()) columns = {0};  // none would mean all
  plan.compact = keep_columns(plan.data, columns, run.pool);
  if (model.kernel.linear()) model.columns = std::move(columns);
}

// Scores are 0 there, and miss by the targets.
void find_loss_at_zero(Plan& plan, Comm* comm) {
  visit_loss(plan.loss, [&](const auto& loss) {
    std::vector<double> losses(plan.targets.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const double weight = plan.row_weights.empty() ? 1 : plan.row_weights[i];
      losses[i] = weight > 0 ? weight * loss.enclose(plan.targets[i], 0).most : 0.0;
    }
    plan.loss_at_zero = sum_of(losses, [](double lost) { return lost; });
    if (comm != nullptr) plan.loss_at_zero = comm->sum(plan.loss_at_zero);
    plan.total_rounding = gamma(sum_depth(plan.shape.rows) + loss.kRoundings + 4 +
                                (comm != nullptr ? comm->size() : 0));
  });
}

void weigh_rows(Plan& plan, Comm* comm) {
  Origin& origin = plan.report_template.model.origin;
  origin.class_weights = class_weights(plan.shape, plan.options, plan.warnings);
  plan.row_weights = row_costs(plan.data, origin.class_weights);
  plan.total = static_cast<double>(plan.shape.rows);
  if (plan.shape.weighted || !origin.class_weights.empty()) {
    check_row_weights(plan, comm);
    plan.total = sum_of(plan.row_weights, [](double weight) { return weight; });
    if (comm != nullptr) plan.total = comm->sum(plan.total);
    plan.total_rounding =
        gamma(sum_depth(plan.shape.rows) + 3 + (comm != nullptr ? comm->size() : 0));
  }
  plan.loss_at_zero = plan.total;
  if (plan.regression()) find_loss_at_zero(plan, comm);
}

// Writes down what all models say of how they came about; their costs differ.
void describe_origin(Plan& plan, const Survey& seen) {
  const TrainOptions& options = plan.options;
  Origin& origin = plan.report_template.model.origin;
  origin.solver = options.solver == Solver::automatic ? "auto:" : "";
  origin.solver += to_string(plan.choice.solver);
  origin.because = plan.choice.because;
  origin.loss = plan.loss.kind;
  origin.epsilon = plan.loss.epsilon;
  static_cast<Goals&>(origin) = plan.goals;
  origin.free_bias = options.free_bias;
  origin.bias_feature = options.free_bias ? 1.0 : std::max(0.0, options.bias);
  origin.row_weights = plan.shape.weighted;
  origin.update = options.pegasos.update;
  origin.seed = options.seed;
  origin.rows = plan.shape.rows;
  origin.nonzeros = plan.shape.nonzeros;
  origin.precision = plan.data.precision();
  origin.fingerprint = seen.fingerprint;
}

// Whether solvers may begin with weights in floats, and on which rows in 16 bits. Training on rows
// of doubles shall take less than a quarter of their memory: what it takes for each row leaves some
// of that for values in 16 bits.
void choose_precision(Plan& plan, const Survey& seen, Run& run) {
  constexpr std::uint64_t kWorth = 100'000;  // values; fewer take no time anyway
  constexpr double kShare = 0.25;
  const bool tame = seen.largest == 0;
  plan.float_weights = plan.traits().takes_low_precision && run.comm == nullptr && tame &&
                       plan.rows().nonzeros() >= kWorth;
  const auto* const m = std::get_if<CsrView<double>>(&plan.rows().view());
  if (!plan.float_weights || m == nullptr) return;
  const double entry = m->full ? 8 : 12, row = dual_bytes_a_row(plan.options.free_bias);
  const auto problems = static_cast<double>(plan.cost_path.size() * plan.problems());
  const double spare = kShare * entry * static_cast<double>(m->nonzeros()) -
                       row * problems * static_cast<double>(m->rows);
  if (spare <= 0) return;
  plan.quantised_rows.emplace(*m, static_cast<std::uint64_t>(spare),
                              choose_simd(plan.options.instruction_set), run.pool);
}

// Into how many sweeps Pegasos' classes are cut: one a thread, none of a single class (the bits of
// a class are the same among any others, not alone), none so large that its counters outgrow the
// rows.
std::size_t sweeps_of(std::size_t problems, int threads) {
  const std::size_t wanted =
      std::max(static_cast<std::size_t>(threads),
               (problems + SweepTuning::kClasses - 1) / SweepTuning::kClasses);
  return std::min(wanted, problems / 2);
}

CheckpointGroups new_groups(const Plan& plan, const Run& run) {
  const std::size_t problems = plan.problems();
  CheckpointGroups groups;
  if (!plan.report_template.model.kernel.linear()) {
    // Classes share one budget of support rows, so that they must be solved together.
    const std::size_t together = plan.options.pegasos.budget > 0 ? problems : SweepTuning::kClasses;
    for (std::size_t first = 0; first < problems; first += together) {
      groups.push_back({.first = first, .last = std::min(problems, first + together)});
    }
    return groups;
  }
  const bool swept = plan.traits().sweeps && problems > 1 && run.comm == nullptr;
  const std::size_t count = swept ? sweeps_of(problems, run.pool.threads()) : problems;
  for (std::size_t c = 0; c < plan.cost_path.size(); ++c) {
    for (std::size_t g = 0; g < count; ++g) {
      groups.push_back({.first = problems * c + problems * g / count,
                        .last = problems * c + problems * (g + 1) / count});
    }
  }
  return groups;
}

// How many lanes one model gets: as many as asked for; else as many as threads were asked for and
// a part of the rows would be worth, and one where several models have the threads.
int choose_lanes(const Plan& plan, const Run& run) {
  if (!plan.traits().takes_lanes || run.comm != nullptr) return 1;
  if (plan.options.lanes > 0) return plan.options.lanes;
  if (plan.problems() > 1 || plan.abreast > 1) return 1;
  const std::size_t most = std::min(kMostLanes, static_cast<std::size_t>(run.pool.threads()));
  const double entries = kLanesWorth * static_cast<double>(plan.rows().nonzeros());
  return static_cast<int>(std::bit_floor(lanes_worth(entries, plan.rows().features(), most)));
}

// A checkpoint says how problems were grouped, which with Pegasos depends on the number of threads,
// and how many lanes there were, which may depend on them, too.
CheckpointGroups groups_in_checkpoint(Plan& plan, const std::string& path) {
  Checkpoint found = load_checkpoint(path, plan.warnings);
  int& lanes = plan.report_template.model.origin.lanes;
  if (plan.options.lanes == 0) lanes = lanes_of(found, path);
  check_identity(found, identity_of(plan.options, plan.report_template.model, plan.start), path);
  const std::size_t problems = plan.problems();
  const bool good = std::ranges::all_of(found.groups, [&](const CheckpointGroup& g) {
    return plan.traits().sweeps ? g.first / problems == (g.last - 1) / problems
                                : g.last - g.first == 1;
  });
  if (found.groups.back().last != problems * plan.cost_path.size() || !good) {
    fail_file("checkpoint.content", path, "it is about other classes");
  }
  return std::move(found.groups);
}

void group_problems(Plan& plan, Run& run) {
  CheckpointGroups groups = run.control.resume.empty()
                                ? new_groups(plan, run)
                                : groups_in_checkpoint(plan, run.control.resume);
  if (run.checkpoints) {
    run.checkpoints->begin(identity_of(plan.options, plan.report_template.model, plan.start),
                           groups);
  }
  for (CheckpointGroup& group : groups) {
    plan.groups.push_back({.first = group.first, .last = group.last});
    run.resumed.push_back({.done = group.done, .state = std::move(group.state)});
  }
}

void tell_solver(Plan& plan, const Run& run) {
  const TrainOptions& options = plan.options;
  plan.limits = {.gap = plan.goals.gap - most_rounding(plan.goals.gap),
                 .target = plan.goals.target * (1 - most_rounding(1)),
                 .seconds = options.time_limit,
                 .passes = static_cast<double>(options.max_passes),
                 .stop = run.control.stop,
                 .comm = run.comm};
  if (!plan.traits().sweeps) {
    plan.limits = watched(plan.limits, plan.rows(), plan.groups.back().last, plan.choice.solver);
  }
  plan.common = {
      .seed = options.seed, .simd = &choose_simd(options.instruction_set), .comm = run.comm};
}

}  // namespace

Problem Plan::problem(std::span<const std::int8_t> y, double cost) const {
  const Origin& origin = report_template.model.origin;
  return {.data = &rows(),
          .y = y,
          .costs = row_weights,
          .cost = cost,
          .bias = origin.bias_feature,
          .free_bias = origin.free_bias,
          .loss = loss,
          .targets = targets};
}

std::vector<std::int8_t> Plan::signs_of(std::size_t problem) const {
  return regression() ? signs_of_targets(data)
                      : signs(data, report_template.model.problems[problem].label);
}

Plan make_plan(const Dataset& data, const TrainOptions& options, std::span<const double> cost_path,
               Run& run) {
  Comm* const comm = run.comm;
  Plan plan = {.data = data,
               .options = options,
               .start = run.control.start,
               .cost_path = cost_path,
               .warm_starts = cost_path.size() > 1,
               .keeps_states = !run.control.checkpoint.path.empty(),
               .keeps_witness = options.witness,
               .shape = comm == nullptr ? global_shape(data) : global_shape(data, *comm),
               .loss = {options.loss, is_regression(options.loss) ? options.epsilon : 0}};
  plan.choice = choose_solver(options, data, plan.shape, run.ranks());
  plan.goals = goals_of(options, plan.traits().default_gap);
  check_loss(plan);
  if (comm != nullptr) check_ranks(plan, comm->size());
  if (plan.keeps_states && run.first()) {
    run.checkpoints.emplace(run.control.checkpoint, plan.warnings);
  }
  {
    const Pool::Grace grace(run.pool, kPrepareGrace);
    if (plan.regression()) {
      check_targets(plan);
      plan.targets = targets_of(data);
    } else {
      check_classes(plan);
    }
    const TrainingMemory need = check_memory(data, plan.shape, options, plan.choice,
                                             plan.start != nullptr || plan.warm_starts);
    plan.kernel_memory = kernel_memory(options, need.all());
    warn_of_rows(plan, plan.warnings);
    const Survey seen =
        comm == nullptr ? survey(data, run.pool) : survey(data, plan.shape, run.pool, *comm);
    warn_of_scale(seen, plan.warnings);
    describe_model(plan);
    choose_columns(plan, run);
    weigh_rows(plan, comm);
    describe_origin(plan, seen);
    choose_precision(plan, seen, run);
  }
  check_options(plan);
  plan.abreast = comm != nullptr  // ranks do one thing at a time, all the same
                     ? 1
                     : std::min(cost_path.size(), costs_abreast(plan.traits(), plan.problems()));
  plan.report_template.model.origin.lanes = choose_lanes(plan, run);
  group_problems(plan, run);
  tell_solver(plan, run);
  return plan;
}

}  // namespace hinge
