#include "model/stream_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/buffer.h"
#include "base/error.h"

namespace hinge {
namespace {

constexpr const char* kCommon = "stream.common";
constexpr const char* kEnds = "stream.own.ends";
constexpr const char* kPlanes = "stream.own.planes";
constexpr const char* kSums = "stream.own.sums";

// f(column, row, value) for every entry.
template <class F>
void each_entry(const SharedRows& shared, F&& f) {
  std::uint64_t k = 0;
  for (std::size_t j = 0; j < shared.common.size(); ++j) {
    for (; k < shared.ends[j]; ++k) f(j, shared.rows[k], shared.values[k]);
  }
}

bool all_finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
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
  model.problems.assign(labels == 2 ? 1 : labels, {});
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    BinaryProblem& problem = model.problems[k];
    problem.label = model.labels[k];
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

void check_stream(const TensorFile& file, const Model& model) {
  const StreamState& s = *model.stream;
  const Origin& o = model.origin;
  const bool ordered =
      model.binary() ? model.labels[0] > model.labels[1] : std::ranges::is_sorted(model.labels);
  const bool known = s.rest ? s.rows >= model.labels.size() : model.labels.size() > 1;
  const double step = 1 / (s.lambda * (static_cast<double>(s.t0) + static_cast<double>(s.rows)));
  if (!ordered || !known || s.rows == 0 || s.t0 >= kMaxSteps || s.rows > kMaxSteps - s.t0 ||
      !(s.lambda > 0) || !(step > 0 && std::isfinite(step)) || !(s.loss >= 0) ||
      s.errors > s.rows || o.solver != "stream" || o.rows != 0) {
    file.reject("content", "the state of the stream makes no sense");
  }
  // Columns of `auto` that counts from 1 are kept one lower than their numbers.
  const int base = static_cast<int>(s.index_base);
  if (s.index_base == IndexBase::automatic ? model.index_base == 1 && model.features == 0xffffffffU
                                           : model.index_base != base) {
    file.reject("content", "the index base of the stream makes no sense");
  }
}

void add_shared(const SharedRows& shared, std::vector<Tensor>& tensors) {
  tensors.push_back(tensor<double>(kCommon, {shared.common.size()}, shared.common));
  tensors.push_back(tensor<std::uint64_t>(kEnds, {shared.ends.size()}, shared.ends));
  tensors.push_back(tensor<std::uint32_t>(kPlanes, {shared.rows.size()}, shared.rows));
  tensors.push_back(tensor<double>(kSums, {shared.values.size()}, shared.values));
}

SharedRows read_shared(const TensorFile& file, std::uint64_t planes, std::uint64_t width) {
  const auto shape = file.shape(kPlanes);
  const std::uint64_t count = shape.empty() ? 0 : shape[0];
  const auto common = file.get<double>(kCommon, std::array{width});
  const auto ends = file.get<std::uint64_t>(kEnds, std::array{width});
  const auto rows = file.get<std::uint32_t>(kPlanes, std::array{count});
  const auto values = file.get<double>(kSums, std::array{count});
  if (!all_finite(common) || !all_finite(values)) {
    file.reject("content", "sums that are not finite");
  }
  if (!std::ranges::is_sorted(ends) || (width == 0 ? 0 : ends.back()) != count) {
    file.reject("content", "sums do not belong to columns");
  }
  std::uint64_t k = 0;
  for (const std::uint64_t end : ends) {
    for (const std::uint64_t first = k; k < end; ++k) {
      if (rows[k] < planes && (k == first || rows[k] > rows[k - 1])) continue;
      file.reject("content", "hyperplanes of a column that do not ascend or are not there");
    }
  }
  return {{common.begin(), common.end()},
          {ends.begin(), ends.end()},
          {rows.begin(), rows.end()},
          {values.begin(), values.end()}};
}

}  // namespace hinge
