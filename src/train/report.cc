// Map: of one model: what happened to its problems, why it ended -> of several.
#include "train/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "proof/certificate.h"
#include "proof/outward.h"

namespace hinge {
namespace {

constexpr std::uint64_t kMaxWitnessBytes = std::uint64_t{256} << 20;

}  // namespace

ModelReport::ModelReport(const Plan& plan, double cost)
    : plan_(plan), report_(plan.report_template) {
  Origin& origin = report_.model.origin;
  const double lambda = plan.options.lambda;
  origin.cost = lambda > 0 ? 1 / (lambda * plan.total) : cost;
  if (!(origin.cost > 0) || !std::isfinite(origin.cost)) {
    fail("usage.value", "lambda and the weights give a cost that is not a finite number > 0");
  }
  const PlainArithmetic plain;
  report_.lambda = 1 / (origin.cost * plan.total);
  report_.problem_seconds.resize(report_.model.problems.size());
}

void ModelReport::add_sweep(std::span<const std::size_t> problems, double seconds,
                            std::uint64_t rows) {
  const std::lock_guard lock(mutex_);
  for (const std::size_t k : problems) {
    report_.problem_seconds[k] += seconds / static_cast<double>(problems.size());
  }
  report_.solve_seconds += seconds;
  report_.rows_touched += rows;
}

void ModelReport::add_solution(std::size_t problem, const Solution& solution,
                               const Monitor& monitor, double seconds) {
  report_.model.problems[problem].iterations = solution.iterations;
  const std::lock_guard lock(mutex_);
  report_.problem_seconds[problem] += seconds;
  report_.solve_seconds += seconds;
  report_.iterations += solution.iterations;
  // A sweep of Pegasos touches a row once for all its classes.
  report_.rows_touched = plan_.traits().sweeps
                             ? std::max(report_.rows_touched, solution.rows_touched)
                             : report_.rows_touched + solution.rows_touched;
  report_.objective_rows += solution.objective_rows;
  report_.search_rows += solution.search_rows;
  report_.objective_seconds += monitor.spent(Monitor::Stage::objective);
  report_.search_seconds += monitor.spent(Monitor::Stage::search);
  stalled_ = stalled_ || solution.stalled;
  if (solution.changed) ++report_.changed;
  cut_short_ = cut_short_ || solution.cut_short;
}

void ModelReport::add_iterations(std::size_t problem, std::uint64_t iterations) {
  report_.model.problems[problem].iterations = iterations;
  const std::lock_guard lock(mutex_);
  report_.iterations += iterations;
}

void ModelReport::add_certify_seconds(double seconds) {
  const std::lock_guard lock(mutex_);
  report_.certify_seconds += seconds;
}

void ModelReport::add_end(std::size_t problem, bool interrupted) {
  const std::lock_guard lock(mutex_);
  const BinaryProblem& ended = report_.model.problems[problem];
  interrupted_ = interrupted_ || !ended.certificate.known() || (interrupted && !converged(ended));
}

void ModelReport::set_interrupted() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
}

void ModelReport::set_stalled(std::string why) {
  const std::lock_guard lock(mutex_);
  stalled_ = true;
  if (why_.empty()) why_ = std::move(why);
}

bool ModelReport::converged(const BinaryProblem& problem) const {
  return reaches(problem.certificate, report_.model.origin);
}

// What was asked for: "0.001", "a gap of 0.001", "a gap of 0.001, or a primal of 3".
std::string ModelReport::goals(bool gap_is_named) const {
  const Goals& asked = plan_.goals;
  return gap_is_named || asked.any_other() ? to_string(asked) : fmt::format("{:.3g}", asked.gap);
}

// ", which 3 of 10 classes reached"
std::string ModelReport::classes_done() const {
  const std::vector<BinaryProblem>& problems = report_.model.problems;
  const auto done =
      std::ranges::count_if(problems, [&](const BinaryProblem& p) { return converged(p); });
  return fmt::format(", which {} of {} classes reached", done, problems.size());
}

TrainReport ModelReport::finish(Comm* comm) {
  Model& model = report_.model;
  const bool good = std::ranges::all_of(
      model.problems, [&](const BinaryProblem& problem) { return converged(problem); });
  report_.status = good           ? StopReason::converged
                   : interrupted_ ? StopReason::interrupted
                                  : StopReason::limit;
  model.origin.status = report_.status;
  if (report_.status == StopReason::limit && (plan_.goals.any() || cut_short_)) explain_limit();
  if (report_.status == StopReason::interrupted) explain_interrupt();
  if (!model.certificate().known()) {
    report_.warnings.push_back(
        make_warning("certificate.skipped",
                     "interrupted; there was no time to compute how good the model is: `hinge "
                     "verify MODEL DATA` does"));
  }
  if (comm != nullptr) {
    double sums[] = {static_cast<double>(report_.rows_touched),
                     static_cast<double>(report_.objective_rows),
                     static_cast<double>(report_.search_rows)};
    comm->sum(sums);
    report_.rows_touched = static_cast<std::uint64_t>(sums[0]);
    report_.objective_rows = static_cast<std::uint64_t>(sums[1]);
    report_.search_rows = static_cast<std::uint64_t>(sums[2]);
  }
  report_.data_passes =
      static_cast<double>(report_.rows_touched) / static_cast<double>(plan_.shape.rows);
  return std::move(report_);
}

void ModelReport::explain_limit() {
  std::string message =
      fmt::format("{} at gap {:.3g}", stalled_ ? "progress ended" : "stopped by a limit",
                  report_.model.certificate().relative_gap);
  const bool several = report_.model.problems.size() > 1;
  if ((!stalled_ || several || why_.empty()) && plan_.goals.any()) {
    message += fmt::format("; {} was asked for", goals(false));
    if (several) message += classes_done();
  }
  if (!plan_.goals.any()) message += ", before all epochs were done";
  if (stalled_ && !why_.empty()) message += ": " + why_;
  report_.why = stalled_ && !why_.empty() ? why_ : message;
  report_.warnings.push_back(
      make_warning(stalled_ ? "solver.stalled" : "solver.limit", std::move(message)));
}

void ModelReport::explain_interrupt() {
  report_.why = "interrupted";
  if (plan_.goals.any()) report_.why += fmt::format("; {} was asked for", goals(true));
  if (plan_.goals.any() && report_.model.problems.size() > 1) {
    report_.why += classes_done();
    report_.warnings.push_back(make_warning("solver.limit", report_.why));
  }
}

// ---- Several models.

void share_seconds(double seconds, std::span<TrainReport* const> reports) {
  double own = 0;
  for (const TrainReport* report : reports) own += report->solve_seconds + report->certify_seconds;
  for (TrainReport* report : reports) {
    report->solve_seconds *= seconds / std::max(1e-9, own);
    report->certify_seconds *= seconds / std::max(1e-9, own);
  }
}

void WitnessBudget::add(TrainReport& last, std::span<TrainReport* const> all) {
  for (const BinaryProblem& problem : last.model.problems) {
    const Witness& witness = problem.witness;
    bytes_ += witness.states.size() + 8 * witness.free.size() + witness.packed.size();
  }
  if (bytes_ <= kMaxWitnessBytes) return;
  for (TrainReport* report : all) {
    for (BinaryProblem& problem : report->model.problems) problem.witness = {};
  }
  if (std::exchange(dropped_, true)) return;
  last.warnings.push_back(make_warning(
      "witness.dropped",
      fmt::format("the proof takes {} MiB and is not kept in the model", bytes_ >> 20)));
}

namespace {

// Models of one run have the same origin, but for the cost.
void note_changed_solvers(std::span<TrainReport> reports) {
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

}  // namespace

void finish_reports(const Plan& plan, Run& run, double prepared,
                    std::vector<TrainReport>& reports) {
  reports.front().prepare_seconds = prepared;
  note_changed_solvers(reports);
  std::vector<Error>& first = reports.front().warnings;
  first.insert(first.begin(), plan.warnings.begin(), plan.warnings.end());
  std::vector<Error>& last = reports.back().warnings;
  const std::size_t costs = plan.cost_path.size();
  if (reports.size() < costs && !run.interrupted()) {
    last.push_back(
        make_warning("solver.limit",
                     fmt::format("the time was up after {} of {} costs: the others have no model",
                                 reports.size(), costs)));
  }
  if (run.checkpoints) run.checkpoints->end(last);
  if (run.comm != nullptr) {
    for (TrainReport& report : reports) report.ranks = run.comm->size();
    reports.back().messages = run.comm->counts().rounds;
    reports.back().bytes_sent = run.comm->counts().bytes;
  }
  if (run.pool.missing() > 0) {
    last.push_back(
        make_warning("system.threads", fmt::format("{} of {} threads could not be started",
                                                   run.pool.missing(), run.pool.threads())));
  }
}

}  // namespace hinge
