#include "solve/dual/centred_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "data/dataset_builder.h"
#include "data/survey.h"
#include "solve/dual/tuning.h"

namespace hinge {
namespace {

// The mean of every row number 0, step, 2 step and so on.
template <class Value>
std::vector<double> mean_of(const CsrView<Value>& m, std::uint64_t step) {
  std::vector<double> mean(m.features);
  for (std::uint64_t i = 0; i < m.rows; i += step) {
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      mean[m.columns_of(i)[k]] += static_cast<double>(m.values_of(i)[k]);
    }
  }
  for (double& x : mean) x /= static_cast<double>((m.rows + step - 1) / step);
  return mean;
}

double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

template <class Value>
Dataset less_mean(const Dataset& data, const CsrView<Value>& m, std::span<const double> mean) {
  DatasetArrays<double> arrays;
  arrays.offsets.resize(m.rows + 1);
  arrays.columns.resize(m.features);
  arrays.values.resize(m.rows * m.features);
  arrays.append_labels(data.row_labels(), 0, data.rows());
  std::iota(arrays.columns.data(), arrays.columns.data() + m.features, 0U);
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    arrays.offsets[i] = i * m.features;
    double* const row = arrays.values.data() + i * m.features;
    for (std::uint64_t j = 0; j < m.features; ++j) row[j] = -mean[j];
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      row[m.columns_of(i)[k]] += static_cast<double>(m.values_of(i)[k]);
    }
  }
  arrays.offsets[m.rows] = m.rows * m.features;
  return DatasetBuilder::build(std::move(arrays), m.features, data.index_base(), true);
}

}  // namespace

double centring_memory(const Dataset& data) {
  const double entries = static_cast<double>(data.rows()) * static_cast<double>(data.features());
  const double bytes = 8 * entries;
  const bool most = static_cast<double>(data.nonzeros()) >= DualTuning::kLeastFilled * entries;
  return most && bytes <= DualTuning::kMostCentredBytes ? bytes : 0;
}

Solution solve_centred(const Problem& problem, const DualSetup& setup, const SolveRows& solve) {
  if (!problem.free_bias || centring_memory(*problem.data) == 0) return solve(problem, setup);
  const auto mean_by = [&](std::uint64_t step) {
    return problem.data->visit([&](const auto& m) { return mean_of(m, step); });
  };
  const double least = DualTuning::kLeastMeanSquare * mean_square(*problem.data);
  const std::uint64_t rows = problem.data->rows();
  std::vector<double> mean = mean_by(rows / DualTuning::kMeanSample + 1);
  if (!(inner(mean, mean) > least)) return solve(problem, setup);
  mean = mean_by(1);
  if (!(inner(mean, mean) > least)) return solve(problem, setup);
  const std::size_t columns = mean.size();
  const Dataset centred =
      problem.data->visit([&](const auto& m) { return less_mean(*problem.data, m, mean); });
  Problem shifted = problem;
  shifted.data = &centred;
  DualSetup on_copy = setup;
  on_copy.float_weights = false;  // of the rows there are
  on_copy.quantised_rows = nullptr;
  std::vector<Start> starts(setup.common.start.begin(), setup.common.start.end());
  for (Start& start : starts) {
    if (!start.w.empty()) start.w.back() += inner(std::span(start.w).first(columns), mean);
  }
  on_copy.common.start = starts;
  Solution solution = solve(shifted, on_copy);
  solution.w.back() -= inner(std::span(solution.w).first(columns), mean);
  return solution;
}

}  // namespace hinge
