// Probabilities of classes, from scores.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "hinge/model.h"
#include "simd/elementary.h"

namespace hinge {
namespace {

// log(1/(1 + e^-s))
double log_of_share(double score) {
  const double rest = elementary::log1p_of_share(elementary::exp(-std::abs(score)));
  return score > 0 ? -rest : score - rest;
}

}  // namespace

bool has_probabilities(const Model& model) {
  return model.origin.loss == LossKind::logistic || model.origin.solver == "liblinear:L1R_LR";
}

Result<std::vector<double>> probabilities(const Model& model, const Predictions& predictions) {
  return guard([&] {
    if (!has_probabilities(model)) {
      fail("usage.value",
           fmt::format("only a model of the logistic loss has probabilities, and this one is of "
                       "the loss {}",
                       to_string(model.origin.loss)),
           "train with --loss logistic, or LIBLINEAR's -s 0");
    }
    const std::size_t labels = model.labels.size(), problems = model.problems.size();
    const std::size_t rows = problems > 0 ? predictions.scores.size() / problems : 0;
    std::vector<double> all(rows * labels);
    if (model.binary()) {
      for (std::size_t i = 0; i < rows; ++i) {
        all[2 * i] = elementary::exp(log_of_share(predictions.scores[i]));
        all[2 * i + 1] = elementary::exp(log_of_share(-predictions.scores[i]));
      }
      return all;
    }
    // Shares may all be tiny: they are compared before they become numbers.
    const std::vector<std::size_t> candidates = model.candidates();
    for (std::size_t i = 0; i < rows; ++i) {
      const double* const scores = predictions.scores.data() + i * problems;
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (const std::size_t k : candidates) most = std::max(most, log_of_share(scores[k]));
      for (const std::size_t k : candidates) {
        all[i * labels + k] = elementary::exp(log_of_share(scores[k]) - most);
        sum += all[i * labels + k];
      }
      for (const std::size_t k : candidates) all[i * labels + k] /= sum;
    }
    return all;
  });
}

}  // namespace hinge
