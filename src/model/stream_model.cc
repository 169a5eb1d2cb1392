#include "model/stream_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/buffer.h"
#include "base/error.h"

namespace hinge {
namespace {

// f(column, row, value) for every entry.
template <class F>
void each_entry(const SharedRows& shared, F&& f) {
  std::uint64_t k = 0;
  for (std::size_t j = 0; j < shared.common.size(); ++j) {
    for (; k < shared.ends[j]; ++k) f(j, shared.rows[k], shared.values[k]);
  }
}

}  // namespace

double stream_scale(const Model& model) {
  const StreamState& stream = *model.stream;
  const double tau = static_cast<double>(stream.t0) + static_cast<double>(stream.rows);
  const double s = 1 / (stream.lambda * tau);
  return model.labels.size() == 1 ? -s : s;
}

bool derive_weights(Model& model) {
  const StreamState& stream = *model.stream;
  const std::size_t labels = model.labels.size();
  const double s = stream_scale(model);
  model.problems.assign(stream_planes(labels, false), {});
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    BinaryProblem& problem = model.problems[k];
    if (labels > 0) problem.label = model.labels[k];
    problem.bias = model.origin.bias_feature * (s * stream.bias_sums[k]);
    problem.certificate.bound = "none";
    problem.iterations = stream.rows;
  }
  model.weights.resize(stream.shared ? 0 : model.problems.size() * model.width());
  for (std::size_t k = 0; k < model.weights.size(); ++k) model.weights[k] = s * stream.sums[k];
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto stays_finite = [s](double v) { return std::isfinite(s * v); };
  return std::ranges::all_of(model.weights, finite) &&
         std::ranges::all_of(model.problems, finite, &BinaryProblem::bias) &&
         (!stream.shared || (std::ranges::all_of(stream.shared->common, stays_finite) &&
                             std::ranges::all_of(stream.shared->values, stays_finite)));
}

bool are_shared(std::uint64_t planes, std::uint64_t width, std::uint64_t entries) {
  // Few planes are small, or differ; small models stay what every version can read.
  constexpr std::uint64_t kFewPlanes = 16;
  constexpr double kSmall = 0x1p20;
  const double whole = 8.0 * static_cast<double>(planes) * static_cast<double>(width);
  const double shared = 16.0 * static_cast<double>(width) + 12.0 * static_cast<double>(entries);
  return planes > kFewPlanes && whole > kSmall && 2 * shared < whole;
}

std::vector<bool> have_weights(const Model& model) {
  const SharedRows& shared = *model.stream->shared;
  const double s = stream_scale(model);
  const auto counts = [s](double v) { return s * v != 0; };
  // A row without entries has what is common; each entry takes one of these away, or has a weight.
  std::vector<std::int64_t> weights(model.problems.size(),
                                    std::ranges::count_if(shared.common, counts));
  std::vector<bool> any(model.problems.size());
  each_entry(shared, [&](std::size_t j, std::uint32_t row, double value) {
    if (row >= any.size()) return;
    weights[row] -= counts(shared.common[j]) ? 1 : 0;
    if (counts(value)) any[row] = true;
  });
  for (std::size_t k = 0; k < any.size(); ++k) any[k] = any[k] || weights[k] > 0;
  return any;
}

double Model::norm() const {
  double sum = 0;
  for (const double w : weights) sum += w * w;
  if (!shared()) return std::sqrt(sum);
  const double s = stream_scale(*this);
  const SharedRows& rows = *stream->shared;
  std::vector<std::uint64_t> like(rows.common.size(), problems.size());
  each_entry(rows, [&](std::size_t j, std::uint32_t row, double value) {
    if (row >= problems.size()) return;
    --like[j];
    sum += (s * value) * (s * value);
  });
  for (std::size_t j = 0; j < like.size(); ++j) {
    sum += static_cast<double>(like[j]) * ((s * rows.common[j]) * (s * rows.common[j]));
  }
  return std::sqrt(sum);
}

Result<Model> write_out(const Model& model) {
  return guard([&] {
    Model out = model;
    if (!model.shared()) return out;
    StreamState& stream = *out.stream;
    const std::size_t planes = stream.bias_sums.size(), width = out.width();
    const double bytes = 16.0 * static_cast<double>(planes) * static_cast<double>(width);
    if (bytes > 0.9 * static_cast<double>(physical_memory())) {
      fail("memory.model",
           fmt::format("{} hyperplanes of {} weights would need {:.1f} GiB written out", planes,
                       width, bytes / 0x1p30));
    }
    stream.sums.resize(planes * width);
    for (std::size_t k = 0; k < planes; ++k) {
      std::ranges::copy(stream.shared->common,
                        stream.sums.begin() + static_cast<std::ptrdiff_t>(k * width));
    }
    each_entry(*stream.shared, [&](std::size_t j, std::uint32_t row, double value) {
      stream.sums[row * width + j] = value;
    });
    stream.shared.reset();
    derive_weights(out);
    return out;
  });
}

}  // namespace hinge
