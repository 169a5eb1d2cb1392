#include "hinge/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "data/columns.h"
#include "data/problem.h"
#include "proof/certificate.h"
#include "proof/witness.h"
#include "solve/solver.h"

namespace hinge {
namespace {

constexpr double kAgreement = 1e-9;

bool close(double a, double b) {
  return std::abs(a - b) <= kAgreement * std::max({std::abs(a), std::abs(b), 1e-300});
}

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
std::vector<std::uint32_t> all_columns(const Model& model, const Dataset& data) {
  const std::vector<std::uint32_t> occurring = occurring_columns(data);
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

}  // namespace

Result<VerifyReport> verify(const Model& model, const Dataset& original,
                            const VerifyOptions& options) {
  return guard([&] {
    if (!(options.gap > 0 && options.gap <= 1)) {
      fail("usage.value", "gap: expected a number in (0, 1]");
    }
    Pool pool(options.threads);
    check_data(model, original, pool);
    // A model of few columns among many has the columns of its data; weights elsewhere were forged.
    const std::vector<std::uint32_t> columns =
        model.columns.empty() ? std::vector<std::uint32_t>{} : all_columns(model, original);
    const Dataset data = model.columns.empty() ? original : keep_columns(original, columns);
    const std::vector<double> costs = row_costs(data, model.origin.class_weights);
    Model again;
    again.problems.resize(model.problems.size());
    bool agrees = true;
    for (std::size_t k = 0; k < model.problems.size(); ++k) {
      const BinaryProblem& stored = model.problems[k];
      const std::vector<std::int8_t> y = signs(data, stored.label);
      const Problem problem = {.data = &data,
                               .y = y,
                               .costs = costs,
                               .cost = model.origin.cost,
                               .bias = model.origin.bias_feature};
      std::vector<double> alpha;
      if (!stored.witness.empty()) {
        alpha = expand(problem, stored.witness);
      } else if (options.prove) {
        const Stopwatch clock;
        const std::function<void(const Progress&)> nobody;
        Monitor monitor({.gap = options.gap / 2,
                         .seconds = std::numeric_limits<double>::infinity(),
                         .passes = 0,
                         .stop = options.stop},
                        clock, k, nobody);
        alpha = solve_dual(problem, {}, monitor, pool).alpha;
      }
      Certificate& certificate = again.problems[k].certificate;
      certificate = certify(problem, point(model, columns, k), alpha, pool);
      if (!alpha.empty() && stored.witness.empty()) certificate.bound = "proved";
      Certificate claimed = stored.certificate;
      set_gap(claimed);
      agrees =
          agrees && std::abs(claimed.relative_gap - stored.certificate.relative_gap) <= kAgreement;
      // Without its witness a stored bound can only be refuted, by the primal value it must not
      // exceed.
      agrees =
          agrees && close(certificate.primal, stored.certificate.primal) &&
          (stored.witness.empty() ? stored.certificate.dual <= certificate.primal * (1 + kAgreement)
                                  : close(certificate.dual, stored.certificate.dual));
    }
    VerifyReport report;
    report.recomputed = again.certificate();
    report.stored = model.certificate();
    report.agrees = agrees;
    return report;
  });
}

}  // namespace hinge
