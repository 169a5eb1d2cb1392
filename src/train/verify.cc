#include "hinge/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/pool.h"
#include "data/columns.h"
#include "data/survey.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "proof/outward.h"
#include "proof/witness.h"
#include "solve/crawl.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr double kAgreement = 1e-9;
constexpr double kProvedGrace = 0.75;  // seconds after a signal

void check_data(const Model& model, const Dataset& data, Pool& pool) {
  const Origin& origin = model.origin;
  const auto differs = [](const std::string& what) {
    fail("verify.data", "this is not the data the model was trained on: " + what,
         "give the training data in the same row order, with the same --weights");
  };
  if (model.stream) {
    fail("verify.data", "the model was learned online, from rows that nobody kept: it has no proof",
         "to have one, train on the rows");
  }
  if (origin.rows == 0) {
    fail("verify.data", "the model does not say what it was trained on",
         "only a model hinge has trained can be verified");
  }
  if (data.rows() != origin.rows) {
    differs(fmt::format("{} rows instead of {}", data.rows(), origin.rows));
  }
  if (data.features() != model.features) {
    differs(fmt::format("{} features instead of {}", data.features(), model.features));
  }
  if (data.weights().empty() == origin.row_weights) {
    differs(origin.row_weights ? "the model was trained with row weights"
                               : "the model was trained without row weights");
  }
  if (fingerprint(data, pool) != origin.fingerprint) differs("the fingerprint differs");
}

// Columns that occur in the data or have a weight.
std::vector<std::uint32_t> all_columns(const Model& model, const Dataset& data, Pool& pool) {
  const std::vector<std::uint32_t> occurring = occurring_columns(data, pool);
  std::vector<std::uint32_t> all;
  std::ranges::set_union(occurring, model.columns, std::back_inserter(all));
  return all;
}

// The weights of one problem with the weight of the constant feature at the end, as in training.
// `columns` are those of the data; empty: all.
std::vector<double> point(const Model& model, std::span<const std::uint32_t> columns,
                          std::size_t k) {
  const auto weights = model.weights_of(k);
  std::vector<double> w(weights.begin(), weights.end());
  if (!columns.empty()) {
    w.assign(columns.size(), 0.0);
    for (std::size_t j = 0; j < model.columns.size(); ++j) {
      const auto place = std::ranges::lower_bound(columns, model.columns[j]) - columns.begin();
      w[static_cast<std::size_t>(place)] = weights[j];
    }
  }
  const double feature = model.origin.bias_feature;
  if (feature != 0) w.push_back(model.problems[k].bias / feature);
  return w;
}

// The data and the support rows of a model with a kernel, in the same columns: where few among many
// occur, those that do.
std::pair<Dataset, Dataset> in_same_columns(const Dataset& data, const Dataset& support,
                                            Pool& pool) {
  constexpr std::uint64_t kVectors = 32;  // as long as there are columns, in the way of the proof
  if (!are_sparse(data.nonzeros() + support.nonzeros(), data.features(), kVectors)) {
    return {data, support};
  }
  const std::vector<std::uint32_t> ours = occurring_columns(data, pool),
                                   theirs = occurring_columns(support, pool);
  std::vector<std::uint32_t> all;
  std::ranges::set_union(ours, theirs, std::back_inserter(all));
  return {keep_columns(data, all, pool), keep_columns(support, all, pool)};
}

// What the data says of a model: one proof a problem.
class Recount {
 public:
  Recount(const Model& model, const Dataset& original, const VerifyOptions& options, Pool& pool)
      : model_(model), options_(options), pool_(pool) {
    if (!model.kernel.linear()) {
      std::tie(data_, support_) = in_same_columns(original, model.support, pool);
    } else if (!model.columns.empty()) {
      // A model of few columns among many has the columns of its data; weights elsewhere were
      // forged.
      columns_ = all_columns(model, original, pool);
      data_ = keep_columns(original, columns_, pool);
    } else {
      data_ = original;
    }
    costs_ = row_costs(data_, model.origin.class_weights);
    if (model.regression()) targets_ = targets_of(original);
  }

  std::vector<Proof> proofs() const { return model_.kernel.linear() ? one_by_one() : together(); }

 private:
  Problem problem(std::span<const std::int8_t> y) const {
    return {.data = &data_,
            .y = y,
            .costs = costs_,
            .cost = model_.origin.cost,
            .bias = model_.origin.bias_feature,
            .free_bias = model_.origin.free_bias,
            .loss = {model_.origin.loss, model_.origin.epsilon},
            .targets = targets_};
  }

  std::vector<Proof> one_by_one() const {
    std::vector<Proof> found;
    for (std::size_t k = 0; k < model_.problems.size(); ++k) {
      const BinaryProblem& stored = model_.problems[k];
      const std::vector<std::int8_t> y =
          model_.regression() ? signs_of_targets(data_) : signs(data_, stored.label);
      const std::vector<double> a = alpha(problem(y), k);
      // What was found of a bound when a signal came is worth knowing.
      const Pool::Grace grace(pool_, options_.prove ? kProvedGrace : 0);
      const double asked = gap_to_certify(model_.origin, stored.certificate.primal);
      found.push_back(certify(problem(y), point(model_, columns_, k), a, pool_, nullptr, asked));
      if (!a.empty() && stored.witness.empty()) found.back().bound = "proved";
    }
    return found;
  }

  // With a kernel problems share the kernel values.
  std::vector<Proof> together() const {
    std::vector<std::vector<std::int8_t>> y;
    std::vector<Problem> problems;
    std::vector<std::vector<double>> alphas;
    for (std::size_t k = 0; k < model_.problems.size(); ++k) {
      y.push_back(signs(data_, model_.problems[k].label));
      problems.push_back(problem(y.back()));
      alphas.push_back(alpha(problems.back(), k));
    }
    return certify(problems, model_.kernel, support_, model_.weights, alphas, pool_);
  }

  // The dual variables in the model, or, if asked for, new ones.
  std::vector<double> alpha(const Problem& asked, std::size_t k) const {
    const Witness& witness = model_.problems[k].witness;
    if (!witness.empty()) return expand(asked, witness);
    if (!options_.prove) return {};
    if (!model_.kernel.linear()) {
      fail("usage.value", "--prove: finds bounds of models without a kernel only",
           "train again, and keep the proof in the model");
    }
    const Stopwatch clock;
    const std::function<void(const Progress&)> nobody;
    const Limits limits = {.gap = options_.gap / 2,
                           .seconds = std::numeric_limits<double>::infinity(),
                           .stop = options_.stop};
    Monitor monitor(watched(limits, *asked.data, model_.problems.size(), Solver::dual), clock, k,
                    nobody);
    const TrainOptions usual;
    const SolverTask task = {.problems = std::span(&asked, 1),
                             .monitors = std::span(&monitor, 1),
                             .solver = Solver::dual,
                             .asked = usual};
    std::vector<Solution> found = newton_may_follow(*asked.data, asked.dimension())
                                      ? solve_in_turns(task, pool_)
                                      : traits_of(Solver::dual).solve(task, pool_);
    return std::move(found[0].alpha);
  }

  const Model& model_;
  const VerifyOptions& options_;
  Pool& pool_;
  std::vector<std::uint32_t> columns_;
  Dataset data_, support_;
  std::vector<double> costs_, targets_;
};

// The bias is what the constant feature contributes, and nothing of its own.
bool bias_follows(const Model& model, std::size_t k) {
  const double feature = model.origin.bias_feature;
  if (feature == 0) return model.problems[k].bias == 0;
  if (model.kernel.linear()) return true;  // the feature's weight is derived from it
  double sum = 0, size = 0;
  for (const double coefficient : model.weights_of(k)) {
    sum += coefficient;
    size += std::abs(coefficient);
  }
  return std::abs(model.problems[k].bias - feature * feature * sum) <=
         kAgreement * feature * feature * size;
}

// Labels are those of the data, each once, and problems are of them in their order.
std::string wrong_labels(const Model& model, const Dataset& data) {
  if (model.regression()) return "";  // it has none
  std::vector<std::int64_t> labels = model.labels;
  std::ranges::sort(labels);
  if (!std::ranges::equal(labels, data.classes(), {}, {}, &LabelCount::label) ||
      model.class_names != data.class_names()) {
    return "its labels are not the classes of the data";
  }
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    if (model.problems[k].label != model.labels[k]) return "a hyperplane is not that of its label";
  }
  return "";
}

// Why what was stored does not follow from what was found; empty if it does. Both are intervals
// that contain the same numbers, so the stored one must not end before the other has begun; and one
// that is much wider than plain sums make it was not computed from these rows.
std::string wrong_claim(const BinaryProblem& stored, const Proof& found, bool provable) {
  const Certificate& claimed = stored.certificate;
  if (!claimed.known()) return "";  // nothing is claimed
  if (!std::isfinite(found.primal)) return "its primal value is not finite";
  const double slack = kAgreement * std::abs(found.primal) + 4 * found.plain_rounding;
  if (!(claimed.primal >= found.primal_low)) return "its primal value is below that of its weights";
  if (!(claimed.primal <= found.primal + slack)) {
    return "its primal value is not that of its weights";
  }
  if (claimed.bound == "none") {
    return claimed.dual == 0 && claimed.relative_gap == 1 ? "" : "it has a gap without a bound";
  }
  if (!provable) return "it has a bound, which this kernel has not";
  Certificate again = claimed;
  set_gap(again);
  if (!(std::abs(again.relative_gap - claimed.relative_gap) <= kAgreement)) {
    return "its gap is not that of its primal value and its bound";
  }
  // Without its witness a stored bound can only be refuted, by the primal value it must not exceed.
  if (stored.witness.empty()) {
    return claimed.dual <= found.primal ? "" : "its bound is above its primal value";
  }
  if (!(claimed.dual <= std::max(0.0, found.dual_high)))
    return "its bound is above what its proof shows";
  if (!(claimed.dual >= found.dual - slack)) return "its bound is not that of its proof";
  return "";
}

// "Converged" must be what the stored values say.
std::string wrong_status(const Model& model) {
  const Origin& origin = model.origin;
  if (origin.status != StopReason::converged) return "";
  const auto reached = [&](const BinaryProblem& problem) {
    return reaches(problem.certificate, origin);
  };
  if (std::ranges::all_of(model.problems, reached)) return "";
  return origin.any_other() ? "it says that it converged, and has none of what was asked for"
                            : "it says that it converged, and its gap is above the one asked for";
}

}  // namespace

Result<VerifyReport> verify(const Model& model, const Dataset& original,
                            const VerifyOptions& options) {
  return guard([&] {
    take(validate({.gap = options.gap}));
    const PlainArithmetic plain;
    const StopToken stop(options.stop);
    Pool pool(options.threads, &stop);
    check_data(model, original, pool);
    const std::vector<Proof> found = Recount(model, original, options, pool).proofs();
    VerifyReport report;
    const auto note = [&](std::string why) {
      if (report.why.empty()) report.why = std::move(why);
    };
    note(wrong_labels(model, original));
    Model again;
    again.problems.resize(model.problems.size());
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      again.problems[k].certificate = found[k];
      note(wrong_claim(model.problems[k], found[k], model.kernel.positive_definite()));
      if (!bias_follows(model, k)) note("its bias is not what the constant feature contributes");
    }
    note(wrong_status(model));
    report.recomputed = again.certificate();
    report.stored = model.certificate();
    report.agrees = report.why.empty();
    report.proved = report.agrees && report.recomputed.bounded();
    return report;
  });
}

}  // namespace hinge
