#include "train/starts.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "objective/free_bias.h"
#include "proof/witness.h"

namespace hinge {
namespace {

// Moves alpha from the box of one problem into that of another with the same rows: each keeps its
// share of its bound, so that with another C alpha is a multiple of what it was. Rounding may have
// put it beyond its bound.
void fit(std::vector<double>& alpha, const Problem& before, const Problem& now) {
  for (std::uint64_t i = 0; i < alpha.size(); ++i) {
    const double upper = now.upper(i), had = before.upper(i);
    const double moved = had > 0 ? alpha[i] * (upper / had) : 0.0;
    alpha[i] = std::clamp(moved, now.lowest(i), now.highest(i));
  }
}

// The weights of one hyperplane of a model, times `sign`, in the columns of another.
std::vector<double> weights_in_columns(const Model& from, std::size_t plane, double sign,
                                       const Model& model, const Problem& problem) {
  std::vector<double> w(problem.dimension());
  const std::span<const double> weights = from.weights_of(plane);
  for (std::size_t j = 0; j < model.width(); ++j) {
    std::uint64_t column = model.columns.empty() ? j : model.columns[j];
    if (!from.columns.empty()) {
      const auto found = std::ranges::lower_bound(from.columns, column);
      if (found == from.columns.end() || *found != column) continue;
      column = static_cast<std::uint64_t>(found - from.columns.begin());
    }
    if (column < weights.size()) w[j] = sign * weights[column];
  }
  if (problem.bias != 0) w.back() = sign * from.problems[plane].bias / problem.bias;
  return w;
}

// The best dual variables of a smooth loss if w were the optimum: a_i = -l'(z_i).
template <class Loss>
std::vector<double> alpha_at(const Loss& loss, const Problem& problem, std::span<const double> w) {
  std::vector<double> alpha(problem.y.size());
  problem.data->visit([&](const auto& m) {
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      double score = problem.bias != 0 ? problem.bias * w.back() : 0.0;
      for (std::size_t k = 0; k < m.size_of(i); ++k) {
        score += static_cast<double>(m.values_of(i)[k]) * w[m.columns_of(i)[k]];
      }
      const double upper = problem.upper(i), share = -loss.slope(problem.y[i] * score);
      alpha[i] = std::clamp(upper * share, loss.lowest(upper), loss.highest(upper));
    }
  });
  return alpha;
}

}  // namespace

WarmStarts between(const WarmStarts& below, const WarmStarts& above, double cost) {
  const double share = (cost - below.cost) / (above.cost - below.cost);
  const auto mix = [share](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> mixed(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) mixed[k] = (1 - share) * a[k] + share * b[k];
    return mixed;
  };
  WarmStarts all = {.cost = cost, .cut = below.cut || above.cut};
  for (std::size_t k = 0; k < below.start.size(); ++k) {
    const Start &a = below.start[k], &b = above.start[k];
    all.start.push_back({.w = mix(a.w, b.w), .alpha = mix(a.alpha, b.alpha)});
  }
  return all;
}

Start start_after(Start end, double before, const Problem& problem) {
  Problem then = problem;
  then.cost = before;
  fit(end.alpha, then, problem);
  if (problem.free_bias) balance(problem, end.alpha);
  return end;
}

// Labels of the start may stand in another order; the hyperplane of two classes the other way round
// is the negative one.
Start start_at_model(const Plan& plan, int ranks, const Model& model, const Problem& problem,
                     std::size_t k) {
  const Model& from = *plan.start;
  const bool turned = model.binary() && from.labels[0] != model.labels[0];
  const auto at = static_cast<std::size_t>(std::ranges::find(from.labels, model.problems[k].label) -
                                           from.labels.begin());
  const std::size_t plane = model.binary() ? 0 : at;
  Start start = {.w = weights_in_columns(from, plane, turned ? -1 : 1, model, problem),
                 .alpha = {}};
  const Witness& witness = from.problems[plane].witness;
  // Ranks would each have to find theirs in the proof of all rows.
  if (ranks == 1 && !witness.empty() && !turned &&
      from.origin.fingerprint == model.origin.fingerprint) {
    Problem before = problem;
    const std::vector<double> weights = row_costs(plan.data, from.origin.class_weights);
    before.costs = weights;
    before.cost = from.origin.cost;
    before.loss = from.origin.loss;
    start.alpha = expand(before, witness);
    fit(start.alpha, before, problem);
    if (problem.free_bias) balance(problem, start.alpha);
  } else if (plan.traits().alone.starts == Starts::at_proof) {
    visit_loss(problem.loss, [&]<class Loss>(const Loss& loss) {
      if constexpr (Loss::kSmooth) {
        start.alpha = alpha_at(loss, problem, start.w);
      } else {
        fail("model.start", "the model to start from has no proof for these rows",
             "--solver dual begins at a proof; --solver focus begins at any model");
      }
    });
    if (problem.free_bias) balance(problem, start.alpha);
  }
  return start;
}

}  // namespace hinge
