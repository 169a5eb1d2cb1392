// Composition root: data set -> binary problems -> solver -> certificate -> model. Nothing else
// knows all of these.
#include "hinge/train.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/pool.h"
#include "data/columns.h"
#include "data/memory.h"
#include "data/survey.h"
#include "files/checksum.h"
#include "hinge/transport.h"
#include "proof/outward.h"
#include "solve/sweep.h"
#include "train/checks.h"
#include "train/one_model.h"
#include "train/ranked.h"

namespace hinge {
namespace {

constexpr std::uint64_t kMaxWitnessBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kKernelVectors = 32;  // as long as there are columns, in the way of kernels

// A signal shall be obeyed within a second. Counted from it, preparations may go on for so many
// seconds.
constexpr double kPrepareGrace = 0.3;

template <class F>
struct Finally {
  F f;
  ~Finally() { f(); }
};
template <class F>
Finally(F) -> Finally<F>;

// The state of one run of train().
class Trainer {
 public:
  // Work on several ranks goes on until all know that it shall stop: their pools do not.
  Trainer(const Dataset& data, const TrainOptions& options, const TrainControl& control, Comm* comm,
          GlobalShape whole)
      : t_{.data = data,
           .options = options,
           .control = control,
           .choice = comm == nullptr ? choose_solver(options, data)
                                     : choose_solver(options, whole, comm->size()),
           .gap = options.gap.value_or(uses_pegasos(options) ? 0 : kDefaultGap),
           .comm = comm,
           .whole = std::move(whole)},
        pool_(options.threads, comm == nullptr ? &t_.stop : nullptr) {}

  // One report a cost; fewer where the run was stopped.
  std::vector<TrainReport> run(std::span<const double> costs) {
    std::vector<Error> warnings;
    if (t_.comm != nullptr)
      check_supported(t_.options, t_.control, t_.choice.solver, t_.comm->size());
    t_.keeps_states = !t_.control.checkpoint.path.empty();
    if (t_.keeps_states && t_.first()) t_.book.emplace(t_.control.checkpoint, warnings);
    t_.warm_starts = costs.size() > 1;
    {
      const Pool::Grace grace(pool_, kPrepareGrace);
      const TrainingMemory need =
          check_data(t_.data, t_.whole, t_.options, t_.choice,
                     t_.control.start != nullptr || t_.warm_starts, warnings);
      t_.kernel_memory = kernel_memory(t_.options, need.all());
      const Survey seen =
          t_.comm == nullptr ? survey(t_.data, pool_) : survey(t_.data, t_.whole, pool_, *t_.comm);
      check_scale(seen, warnings);
      prepare(warnings);
      shape_.model.origin.fingerprint = seen.fingerprint;
      begin_in_floats(seen, costs.size());
    }
    check_pegasos();
    cut_into_groups(costs.size(), warnings);
    const double prepared = t_.clock.seconds();
    work(costs);
    std::vector<TrainReport> reports;
    for (Done& one : done_) {
      if (one.report) reports.push_back(std::move(*one.report));
    }
    reports.front().prepare_seconds = prepared;
    say_what_changed(reports);
    std::vector<Error>& first = reports.front().warnings;
    first.insert(first.begin(), warnings.begin(), warnings.end());
    std::vector<Error>& last = reports.back().warnings;
    if (reports.size() < costs.size() && !t_.interrupted()) {
      last.push_back(
          make_warning("solver.limit",
                       fmt::format("the time was up after {} of {} costs: the others have no model",
                                   reports.size(), costs.size())));
    }
    if (t_.book) t_.book->end(last);
    if (t_.comm != nullptr) {
      for (TrainReport& report : reports) report.ranks = t_.comm->size();
      reports.back().messages = t_.comm->counts().rounds;
      reports.back().bytes_sent = t_.comm->counts().bytes;
    }
    if (pool_.missing() > 0) {
      last.push_back(make_warning(
          "system.threads",
          fmt::format("{} of {} threads could not be started", pool_.missing(), pool_.threads())));
    }
    return reports;
  }

 private:
  // What happened. Models of one run have the same origin, but for the cost.
  static void say_what_changed(std::span<TrainReport> reports) {
    std::size_t changed = 0, problems = 0;
    for (const TrainReport& report : reports) {
      changed += report.changed;
      problems += report.model.problems.size();
    }
    if (changed == 0) return;
    std::string how = "; it crawled, and newton went on from there";
    if (problems > 1) how += fmt::format(", in {} of {} problems", changed, problems);
    for (TrainReport& report : reports) report.model.origin.because += how;
  }

  struct Done {
    std::optional<TrainReport> report;
    WarmStarts end;        // where neighbours may begin
    std::size_t used = 0;  // by so many of them
    bool running = false, ended = false;
  };

  void work(std::span<const double> costs) {
    done_.resize(costs.size());
    abreast_ =
        std::min(costs.size(), costs_abreast(t_.choice.solver, shape_.model.problems.size()));
    if (t_.comm != nullptr) abreast_ = 1;  // ranks do one thing at a time, all the same
    if (abreast_ > 1) {
      work_abreast(costs);
    } else {
      work_upwards(costs);
    }
  }

  // Whether descent may. Training on rows of doubles shall take less than a quarter of their
  // memory: what it takes for each row leaves some of that for values in 16 bits.
  void begin_in_floats(const Survey& seen, std::size_t costs) {
    constexpr std::uint64_t kWorth = 100'000;  // values; fewer take no time anyway
    constexpr double kShare = 0.25;
    const bool tame = seen.largest == 0;
    t_.floats = t_.choice.solver == Solver::dual && t_.comm == nullptr && tame &&
                t_.rows->nonzeros() >= kWorth;
    const auto* const m = std::get_if<CsrView<double>>(&t_.rows->view());
    if (!t_.floats || m == nullptr) return;
    const double entry = m->full ? 8 : 12, row = dual_bytes_a_row(t_.options.free_bias);
    const auto problems = static_cast<double>(costs * shape_.model.problems.size());
    const double spare = kShare * entry * static_cast<double>(m->nonzeros()) -
                         row * problems * static_cast<double>(m->rows);
    if (spare <= 0) return;
    t_.quantised_rows.emplace(*m, static_cast<std::uint64_t>(spare),
                              choose_simd(t_.options.instruction_set), pool_);
  }

  // From the smallest cost up, each from where the last one ended.
  void work_upwards(std::span<const double> costs) {
    double last = t_.clock.seconds();
    for (std::size_t k = 0; k < costs.size(); ++k) {
      if (k > 0 && (late() || done_[k - 1].end.cost == 0)) return;
      work_on(k, costs[k], k == 0 ? WarmStarts{} : std::exchange(done_[k - 1].end, {}), pool_);
      TrainReport& report = *done_[k].report;
      const double seconds = t_.clock.seconds() - std::exchange(last, t_.clock.seconds());
      if (costs.size() > 1 || report.model.problems.size() > 1) share_out(seconds, {&done_[k], 1});
      tell(report);
    }
  }

  // Every second cost from 0, then those between, each from between its neighbours; so several may
  // run at the same time, and what they find does not depend on whether they do. (From the last one
  // alone they would hardly be done sooner than from 0: most of the work is done near the end.)
  void work_abreast(std::span<const double> costs) {
    const std::size_t size = costs.size();
    const auto is_between = [&](std::size_t k) { return k > 0 && (size - 1 - k) % 2 == 1; };
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    // The longest first, unless time might end before it does.
    if (!std::isfinite(t_.options.time_limit)) std::ranges::reverse(order);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t k) { return !is_between(k); });
    const auto sharing = static_cast<int>(abreast_);
    const double begun = t_.clock.seconds();
    {
      const Pool::Grace whole(pool_, Pool::Grace::kForever);  // each is asked to end by itself
      pool_.run(size, [&](std::size_t number) {
        const std::size_t k = order[number];
        const bool between_two = is_between(k);
        const Finally finally{[&] { end(k); }};  // come what may, others wait for it
        if (!may_begin(k, between_two) || (number > 0 && late())) return;
        WarmStarts from;
        if (between_two) {
          from = between(done_[k - 1].end, done_[k + 1].end, costs[k]);
          drop_end(k - 1);
          drop_end(k + 1);
        }
        Pool alone((pool_.threads() + sharing - 1) / sharing, &t_.stop);
        work_on(k, costs[k], std::move(from), alone);
        tell(*done_[k].report);
      });
    }
    share_out(t_.clock.seconds() - begun, done_);
  }

  bool late() const {
    const bool interrupted = t_.interrupted();
    return t_.late() || interrupted;
  }

  void work_on(std::size_t k, double cost, WarmStarts from, Pool& pool) {
    CostTraining training(t_, shape_, k, cost, pool);
    TrainReport report = training.run(std::move(from));
    report.threads = pool_.threads() - pool_.missing();
    const std::lock_guard lock(mutex_);
    done_[k].end = training.take_end();
    done_[k].report = std::move(report);
  }

  // Waits for a place, and for the neighbours; false: there will be no model.
  bool may_begin(std::size_t k, bool between_two) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return running_ < abreast_ && (!between_two || (done_[k - 1].ended && done_[k + 1].ended));
    });
    ++running_;
    done_[k].running = true;
    return !between_two || (done_[k - 1].end.cost > 0 && done_[k + 1].end.cost > 0);
  }

  void end(std::size_t k) {
    const std::lock_guard lock(mutex_);
    if (done_[k].running) --running_;
    done_[k].ended = true;
    changed_.notify_all();
  }

  // One cost that began there does not need it any more.
  void drop_end(std::size_t k) {
    const std::lock_guard lock(mutex_);
    const std::size_t needed_by = k > 0 && k + 1 < done_.size() ? 2 : 1;
    if (++done_[k].used == needed_by) done_[k].end = {};
  }

  // Problems, or costs, ran side by side: shares out the wall time as their own clocks did.
  static void share_out(double seconds, std::span<Done> done) {
    double own = 0;
    for (const Done& one : done) {
      if (one.report) own += one.report->solve_seconds + one.report->certify_seconds;
    }
    for (Done& one : done) {
      if (!one.report) continue;
      one.report->solve_seconds *= seconds / std::max(1e-9, own);
      one.report->certify_seconds *= seconds / std::max(1e-9, own);
    }
  }

  void tell(TrainReport& report) {
    const std::lock_guard watching(t_.observing);
    bound_witnesses(report);
    if (t_.control.finished) t_.control.finished(report);
  }

  // Into how many sweeps Pegasos' classes are cut: one a thread, none of a single class (the bits
  // of a class are the same among any others, not alone), none so large that its counters outgrow
  // the rows.
  std::size_t sweeps(std::size_t problems) const {
    const std::size_t wanted = std::max(static_cast<std::size_t>(pool_.threads()),
                                        (problems + kSweepClasses - 1) / kSweepClasses);
    return std::min(wanted, problems / 2);
  }

  // Which problems are solved together; those of the next cost come after all of the last. A
  // checkpoint says how they were: with Pegasos that depends on the number of threads.
  void cut_into_groups(std::size_t costs, std::vector<Error>& warnings) {
    const std::size_t problems = shape_.model.problems.size();
    Terms terms = terms_of(t_.options, shape_.model, t_.control.start);
    if (!t_.control.resume.empty()) {
      Checkpoint found = load_checkpoint(t_.control.resume, warnings);
      check_terms(found, terms, t_.control.resume);
      t_.groups = std::move(found.groups);
      const bool good = std::ranges::all_of(t_.groups, [&](const CheckpointGroup& g) {
        return t_.choice.solver == Solver::pegasos ? g.first / problems == (g.last - 1) / problems
                                                   : g.last - g.first == 1;
      });
      if (t_.groups.back().last != problems * costs || !good) {
        fail_file("checkpoint.content", t_.control.resume, "it is about other classes");
      }
    } else if (!shape_.model.kernel.linear()) {
      // A budget is one for all classes.
      const std::size_t together = t_.options.pegasos.budget > 0 ? problems : kSweepClasses;
      for (std::size_t first = 0; first < problems; first += together) {
        t_.groups.push_back({.first = first, .last = std::min(problems, first + together)});
      }
    } else {
      const bool swept = t_.choice.solver == Solver::pegasos && problems > 1 && t_.comm == nullptr;
      const std::size_t groups = swept ? sweeps(problems) : problems;
      for (std::size_t c = 0; c < costs; ++c) {
        for (std::size_t g = 0; g < groups; ++g) {
          t_.groups.push_back({.first = problems * c + problems * g / groups,
                               .last = problems * c + problems * (g + 1) / groups});
        }
      }
    }
    if (t_.book) t_.book->begin(std::move(terms), t_.groups);
  }

  void prepare(std::vector<Error>& warnings) {
    Model& model = shape_.model;
    for (const LabelCount& c : t_.whole.classes) model.labels.push_back(c.label);
    model.class_names = t_.data.class_names();
    if (model.binary()) std::swap(model.labels[0], model.labels[1]);  // positive, the larger, first
    model.problems.resize(model.binary() ? 1 : model.labels.size());
    for (std::size_t k = 0; k < model.problems.size(); ++k)
      model.problems[k].label = model.labels[k];
    model.features = t_.data.features();
    model.kernel = t_.options.pegasos.kernel;
    const std::size_t vectors =
        model.problems.size() * std::max(std::size_t{1}, t_.options.path.size());
    if (t_.choice.columns || are_sparse(t_.whole.nonzeros, t_.whole.features,
                                        model.kernel.linear() ? vectors : kKernelVectors)) {
      std::vector<std::uint32_t> columns = t_.comm == nullptr
                                               ? occurring_columns(t_.data, pool_)
                                               : occurring_columns(t_.data, pool_, *t_.comm);
      if (columns.empty()) columns = {0};  // none would mean all
      t_.compact = keep_columns(t_.data, columns, pool_);
      t_.rows = &t_.compact;
      if (model.kernel.linear()) model.columns = std::move(columns);
    }
    model.index_base = t_.data.index_base();
    model.reject = t_.options.reject;
    if (!model.kernel.linear() && model.kernel.gamma == 0) {
      model.kernel.gamma = 1 / std::max(1.0, static_cast<double>(model.features));
    }

    Origin& origin = model.origin;
    origin.solver = t_.options.solver == Solver::automatic ? "auto:" : "";
    origin.solver += to_string(t_.choice.solver);
    origin.because = t_.choice.because;
    origin.class_weights = class_weights(t_.whole, t_.options, warnings);
    t_.costs = row_costs(t_.data, origin.class_weights);
    t_.total = static_cast<double>(t_.whole.rows);
    if (t_.whole.weighted || !origin.class_weights.empty()) {
      check_costs(t_.data, t_.whole, t_.costs, t_.comm);
      t_.total = sum_of(t_.costs, [](double cost) { return cost; });
      if (t_.comm != nullptr) t_.total = t_.comm->sum(t_.total);
      t_.total_off =
          gamma(sum_depth(t_.whole.rows) + 3 + (t_.comm != nullptr ? t_.comm->size() : 0));
    }
    origin.gap = t_.gap;
    origin.free_bias = t_.options.free_bias;
    origin.bias_feature = t_.options.free_bias ? 1.0 : std::max(0.0, t_.options.bias);
    origin.row_weights = t_.whole.weighted;
    origin.seed = t_.options.seed;
    origin.rows = t_.whole.rows;
    origin.nonzeros = t_.whole.nonzeros;
    origin.precision = t_.data.precision();
  }

  // What can only be checked with the data at hand.
  void check_pegasos() const {
    if (t_.options.pegasos.batch > t_.whole.rows) {
      fail("usage.value", fmt::format("--batch: expected at most the {} rows of the data, got {}",
                                      t_.whole.rows, t_.options.pegasos.batch));
    }
    if (!shape_.model.kernel.linear() && t_.data.rows() >= UINT32_MAX) {
      fail("usage.value", "--kernel: takes less than 2^32 - 1 rows");
    }
    if (t_.choice.solver == Solver::pegasos && t_.warm_starts && t_.options.pegasos.t0 == 0) {
      fail("usage.value", "--t0: with several costs expected at least 1: step 1 forgets the last");
    }
    if (t_.control.start == nullptr) return;
    const Model& start = *t_.control.start;
    if (!shape_.model.kernel.linear()) {
      fail("usage.value", "--start: training with a kernel begins at 0");
    }
    if (!start.kernel.linear()) fail("model.start", "the model to start from has a kernel");
    if (t_.choice.solver == Solver::pegasos && t_.options.pegasos.t0 == 0) {
      fail("usage.value", "--t0: with --start expected at least 1: step 1 forgets where it began");
    }
    if (start.index_base != t_.data.index_base()) {
      fail("model.start",
           fmt::format("the model to start from counts features from {}, the data from {}",
                       start.index_base, t_.data.index_base()));
    }
    std::vector<std::int64_t> labels = start.labels, ours = shape_.model.labels;
    std::ranges::sort(labels);
    std::ranges::sort(ours);
    if (labels != ours || start.class_names != shape_.model.class_names)
      fail("model.start", "the model to start from has other labels than the data");
    for (const BinaryProblem& problem : start.problems) {
      if (problem.bias != 0 && shape_.model.origin.bias_feature == 0) {
        fail("model.start", "the model to start from has a bias, and training has none",
             "give --bias a number, or free");
      }
    }
  }

  // Proofs are kept as long as those of all models are not too large.
  void bound_witnesses(TrainReport& last) {
    for (const BinaryProblem& problem : last.model.problems) {
      witness_bytes_ += problem.witness.states.size() + 8 * problem.witness.free.size();
    }
    if (witness_bytes_ <= kMaxWitnessBytes) return;
    const std::lock_guard lock(mutex_);
    for (Done& one : done_) {
      if (!one.report) continue;
      for (BinaryProblem& problem : one.report->model.problems) problem.witness = {};
    }
    if (std::exchange(witnesses_dropped_, true)) return;
    last.warnings.push_back(make_warning(
        "witness.dropped",
        fmt::format("the proof takes {} MiB and is not kept in the model", witness_bytes_ >> 20)));
  }

  Training t_;
  Pool pool_;
  TrainReport shape_;  // what is the same for every cost
  std::mutex mutex_;   // guards what follows while costs run side by side
  std::condition_variable changed_;
  std::vector<Done> done_;   // by cost
  std::size_t abreast_ = 1;  // costs at the same time, at most
  std::size_t running_ = 0;
  std::uint64_t witness_bytes_ = 0;
  bool witnesses_dropped_ = false;
};

std::vector<TrainReport> run_alone(const Dataset& data, const TrainOptions& options,
                                   const TrainControl& control, std::span<const double> costs) {
  try {
    return Trainer(data, options, control, nullptr, global_shape(data)).run(costs);
  } catch (const Interrupted&) {
    fail("run.interrupted", "interrupted before there was a model");
  }
}

std::vector<TrainReport> run_with_others(const Dataset& data, const TrainOptions& options,
                                         const TrainControl& control,
                                         std::span<const double> costs) {
  Comm comm(*control.ranks);
  return comm.telling([&] {
    agree_on(options, data, comm);
    comm.agree("checkpoint and resume",
               fmt::format("{}, {}", control.checkpoint.path.empty(), control.resume.empty()));
    comm.agree("checksum of the model to start from",
               control.start == nullptr
                   ? "none"
                   : to_hex(checksum(std::as_bytes(std::span(control.start->weights)))));
    return Trainer(data, options, control, &comm, global_shape(data, comm)).run(costs);
  });
}

std::vector<TrainReport> run(const Dataset& data, const TrainOptions& options,
                             const TrainControl& control, std::span<const double> costs) {
  if (control.start != nullptr && control.start->shared()) {
    const Model start = take(write_out(*control.start));
    TrainControl same = control;
    same.start = &start;
    return run(data, options, same, costs);
  }
  return control.ranks == nullptr || control.ranks->size() == 1
             ? run_alone(data, options, control, costs)
             : run_with_others(data, options, control, costs);
}

}  // namespace

Result<TrainReport> train(const Dataset& data, const TrainOptions& options,
                          const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    if (!options.path.empty()) fail("usage.value", "several costs: only train_path() takes them");
    return std::move(run(data, options, control, std::span(&options.cost, 1)).front());
  });
}

Result<std::vector<TrainReport>> train_path(const Dataset& data, const TrainOptions& options,
                                            const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    return run(data, options, control,
               options.path.empty() ? std::span(&options.cost, 1) : std::span(options.path));
  });
}

}  // namespace hinge
