#include "stream/stream_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "model/stream_model.h"
#include "objective/loss.h"

namespace hinge {

std::vector<ClassWeight> merged(std::vector<ClassWeight> weights) {
  std::ranges::stable_sort(weights, {}, &ClassWeight::label);
  std::vector<ClassWeight> out;
  for (const ClassWeight& w : weights) {
    if (!out.empty() && out.back().label == w.label) {
      out.back().factor *= w.factor;
    } else {
      out.push_back(w);
    }
  }
  std::erase_if(out, [](const ClassWeight& w) { return w.factor == 1; });
  return out;
}

void check_options(const StreamOptions& o, const char* id) {
  const auto check = [id](bool good, std::string message) {
    if (!good) fail(id, std::move(message));
  };
  const auto check_factors = [&](const std::vector<ClassWeight>& weights) {
    for (const ClassWeight& w : weights) {
      check(std::isfinite(w.factor) && w.factor > 0, "class weight: expected a factor > 0");
    }
  };
  check(o.lambda > 0 && std::isfinite(o.lambda), "lambda: expected a finite number > 0");
  check(o.bias >= 0 && o.bias <= kMaxBias, "bias: expected a number from 0 to 1e150");
  check(o.epsilon >= 0 && std::isfinite(o.epsilon), "epsilon: expected a finite number >= 0");
  if (is_regression(o.loss)) {
    check(o.class_weights.empty() && o.labels.empty() && !o.reject,
          "class weights, labels and reject: with a loss of regression rows have no classes");
    check(o.update == Update::margin,
          "update: with a loss of regression no row is predicted wrongly, only missed");
  }
  check(o.t0 < kMaxSteps, "t0: expected a whole number below 2^53");
  // The last step there can be must have a size.
  const double last = o.lambda * (static_cast<double>(o.t0) + static_cast<double>(kMaxSteps));
  check(std::isfinite(last) && 1 / last > 0, "lambda and t0: lambda (t0 + 2^53) is not finite");
  check_factors(o.class_weights);
  const std::vector<ClassWeight> weights = merged(o.class_weights);
  check_factors(weights);  // products overflow and vanish
  double most = 1;
  for (const ClassWeight& w : weights) most = std::max(most, w.factor);
  check(most <= kMaxFactor && most / o.lambda <= kMaxFactor,
        fmt::format("lambda and class weights: expected factor/lambda up to 1e130, got {:g}",
                    most / o.lambda));
  std::vector<std::int64_t> labels = o.labels;
  std::ranges::sort(labels);
  check(labels.size() != 1, "labels: expected at least two");
  check(std::ranges::adjacent_find(labels) == labels.end(), "labels: one occurs twice");
}

StreamOptions options_of(const Model& model, const StreamOptions& options) {
  if (!model.stream) {
    fail("model.stream", "the model was not learned online", "give one that a stream has made");
  }
  const StreamState& s = *model.stream;
  StreamOptions all = options;
  all.lambda = s.lambda;
  all.bias = model.origin.bias_feature;
  all.t0 = s.t0;
  all.class_weights = model.origin.class_weights;
  all.update = model.origin.update;
  all.loss = model.origin.loss;
  if (is_regression(all.loss)) all.epsilon = model.origin.epsilon;
  all.labels = s.rest ? std::vector<std::int64_t>{} : model.labels;
  all.reject = model.reject;
  all.index_base = s.index_base;
  all.precision = model.origin.precision;
  check_options(all, "model.content");
  return all;
}

}  // namespace hinge
