// Where the parts of a training come together: a plan, and the schedule that carries it out.
#include "hinge/train.h"

#include <fmt/core.h>

#include <span>
#include <utility>

#include "base/error.h"
#include "files/checksum.h"
#include "hinge/transport.h"
#include "train/plan.h"
#include "train/ranked.h"
#include "train/schedule.h"

namespace hinge {
namespace {

// Calls f with a run of one process.
template <class F>
auto run_alone(const TrainOptions& options, const TrainControl& control, const F& f) {
  try {
    Run run(control, options, nullptr);
    return f(run);
  } catch (const Interrupted&) {
    fail("run.interrupted", "interrupted before there was a model");
  }
}

// Calls f with a run of several ranks, which have agreed on what was asked for; if it fails on one,
// it fails on all.
template <class F>
auto run_with_others(const Dataset& data, const TrainOptions& options, const TrainControl& control,
                     const F& f) {
  Comm comm(*control.ranks);
  return comm.telling([&] {
    agree_on(options, data, comm);
    comm.agree("checkpoint and resume",
               fmt::format("{}, {}", control.checkpoint.path.empty(), control.resume.empty()));
    comm.agree("checksum of the model to start from",
               control.start == nullptr
                   ? "none"
                   : to_hex(checksum(std::as_bytes(std::span(control.start->weights)))));
    Run run(control, options, &comm);
    return f(run);
  });
}

template <class F>
auto with_run(const Dataset& data, const TrainOptions& options, const TrainControl& control,
              const F& f) {
  Model start;
  TrainControl same = control;
  if (control.start != nullptr && control.start->shared()) {
    start = take(write_out(*control.start));
    same.start = &start;
  }
  const bool alone = control.ranks == nullptr || control.ranks->size() == 1;
  return alone ? run_alone(options, same, f) : run_with_others(data, options, same, f);
}

}  // namespace

Result<TrainReport> train(const Dataset& data, const TrainOptions& options,
                          const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    if (!options.path.empty()) fail("usage.value", "several costs: only train_path() takes them");
    return with_run(data, options, control, [&](Run& run) {
      const Plan plan = make_plan(data, options, std::span(&options.cost, 1), run);
      return std::move(schedule(plan, run).front());
    });
  });
}

Result<std::vector<TrainReport>> train_path(const Dataset& data, const TrainOptions& options,
                                            const TrainControl& control) {
  return guard([&] {
    take(validate(options));
    return with_run(data, options, control, [&](Run& run) {
      const Plan plan = make_plan(
          data, options,
          options.path.empty() ? std::span(&options.cost, 1) : std::span(options.path), run);
      return schedule(plan, run);
    });
  });
}

}  // namespace hinge
