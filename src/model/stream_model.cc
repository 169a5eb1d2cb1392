#include "model/stream_model.h"

#include <algorithm>
#include <cmath>

namespace hinge {

bool derive_weights(Model& model) {
  const StreamState& stream = *model.stream;
  const std::size_t labels = model.labels.size(), width = model.width();
  const double tau = static_cast<double>(stream.t0) + static_cast<double>(stream.rows);
  double s = 1 / (stream.lambda * tau);
  if (labels == 1) s = -s;  // the only sums are those of the rest
  model.problems.assign(labels == 2 ? 1 : labels, {});
  model.weights.resize(model.problems.size() * width);
  for (std::size_t k = 0; k < model.weights.size(); ++k) model.weights[k] = s * stream.sums[k];
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    BinaryProblem& problem = model.problems[k];
    problem.label = model.labels[k];
    problem.bias = model.origin.bias_feature * (s * stream.bias_sums[k]);
    problem.certificate.bound = "none";
    problem.iterations = stream.rows;
  }
  const auto finite = [](double x) { return std::isfinite(x); };
  return std::ranges::all_of(model.weights, finite) &&
         std::ranges::all_of(model.problems, finite, &BinaryProblem::bias);
}

}  // namespace hinge
