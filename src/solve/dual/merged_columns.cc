#include "solve/dual/merged_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "data/dataset_builder.h"
#include "data/survey.h"
#include "solve/dual/tuning.h"

namespace hinge {
namespace {

bool are_suited(const Dataset& data, std::uint64_t columns) {
  return data.precision() == Precision::f32 && data.classes().size() == 2 &&
         columns > DualTuning::kMergeAbove &&
         static_cast<double>(data.nonzeros()) <
             DualTuning::kMostEntriesAColumn * static_cast<double>(columns);
}

}  // namespace

bool may_merge_columns(const Problem& problem, double gap) {
  const Dataset& data = *problem.data;
  if (!are_suited(data, data.features())) return false;
  const double hardness = problem.cost * mean_square(data);
  const bool smooth =
      visit_loss(problem.loss, []<class Loss>(const Loss&) { return Loss::kSmooth; });
  if (gap <= DualTuning::kMergeSmallGap) return !smooth || hardness > DualTuning::kMergeSmoothCost;
  return gap <= DualTuning::kMergeLargeGap && hardness > DualTuning::kMergeCost;
}

double merging_memory(const Dataset& data, std::uint64_t columns, double gap) {
  if (!are_suited(data, columns) || gap > DualTuning::kMergeLargeGap) return 0;
  return 8 * static_cast<double>(data.nonzeros()) + 5 * static_cast<double>(columns) +
         40 * static_cast<double>(data.rows());
}

Solution solve_merged(const Problem& problem, const SolverOptions& options, double gap, Pool& pool,
                      const std::function<Solution(const Problem&)>& solve) {
  if (!options.start.empty() || !may_merge_columns(problem, gap)) return solve(problem);
  std::optional<MergedColumns> columns;
  std::optional<Dataset> merged;
  try {
    std::optional<Pool::Grace> grace;
    if (!options.resume.empty()) grace.emplace(pool, kLastLook);  // lest the state be lost
    columns.emplace(*problem.data, pool);
    if (columns->worth_it()) merged = columns->merge(pool);
  } catch (const Interrupted&) {
    merged.reset();  // the solver sees to it
  }
  if (!merged) {
    columns.reset();
    return solve(problem);
  }
  Problem smaller = problem;
  smaller.data = &*merged;
  Solution solution = solve(smaller);
  solution.w = columns->expand(solution.w);
  return solution;
}

MergedColumns::MergedColumns(const Dataset& data, const Pool& pool)
    : m_(std::get<CsrView<float>>(data.view())), data_(data), number_(m_.features) {
  Buffer<std::uint8_t> rows(m_.features);  // zeros; that have the column: none, one, or more
  for (std::uint64_t i = 0; i < m_.rows; ++i) {
    if (i % DualTuning::kMergePoll == 0) pool.poll();
    for (const std::uint32_t column : std::span(m_.columns_of(i), m_.size_of(i))) {
      rows[column] = static_cast<std::uint8_t>(rows[column] + (rows[column] < 2 ? 1 : 0));
    }
  }
  for (std::uint64_t j = 0; j < m_.features; ++j) {
    number_[j] = rows[j] > 1 ? static_cast<std::uint32_t>(kept_++) : kAlone;
  }
}

bool MergedColumns::worth_it() const {
  return static_cast<double>(kept_ + kParts * m_.rows) <
         DualTuning::kMostColumnsLeft * static_cast<double>(m_.features);
}

MergedColumns::Root MergedColumns::root_of(double sum) {
  auto first = static_cast<float>(std::sqrt(sum));
  const auto square = [](float x) { return static_cast<double>(x) * static_cast<double>(x); };
  if (square(first) > sum) first = std::nextafter(first, 0.0F);
  return {{first, static_cast<float>(std::sqrt(sum - square(first)))}};
}

std::optional<Dataset> MergedColumns::merge(const Pool& pool) {
  roots_.reserve(m_.rows);
  DatasetArrays<float> arrays;
  arrays.offsets.resize(m_.rows + 1);
  arrays.columns.resize(m_.nonzeros() + kParts * m_.rows);
  arrays.values.resize(arrays.columns.size());
  arrays.append_labels(data_.row_labels(), 0, data_.rows());
  std::uint64_t end = 0;
  const auto add = [&](std::uint64_t column, float value) {
    arrays.columns[end] = static_cast<std::uint32_t>(column);
    arrays.values[end++] = value;
  };
  for (std::uint64_t i = 0; i < m_.rows; ++i) {
    if (i % DualTuning::kMergePoll == 0) pool.poll();
    arrays.offsets[i] = end;
    double alone = 0;
    for (std::size_t k = 0; k < m_.size_of(i); ++k) {
      const std::uint32_t number = number_[m_.columns_of(i)[k]];
      const float value = m_.values_of(i)[k];
      if (number == kAlone) {
        alone += static_cast<double>(value) * static_cast<double>(value);
      } else {
        add(number, value);
      }
    }
    if (std::sqrt(alone) > static_cast<double>(std::numeric_limits<float>::max())) return {};
    const Root& root = roots_.emplace_back(root_of(alone));
    for (std::uint64_t part = 0; part < kParts; ++part) {
      if (root.parts[part] > 0) add(kept_ + kParts * i + part, root.parts[part]);
    }
  }
  arrays.offsets[m_.rows] = end;
  arrays.columns.resize(end);
  arrays.values.resize(end);
  return DatasetBuilder::build(std::move(arrays), kept_ + kParts * m_.rows, data_.index_base());
}

// In the columns of a row alone, any w that solves the problem is a multiple of the row.
std::vector<double> MergedColumns::expand(std::span<const double> w) const {
  const std::uint64_t features = kept_ + kParts * m_.rows;
  std::vector<double> out = huge_vector(m_.features + (w.size() - features));
  std::ranges::copy(w.subspan(features), out.begin() + static_cast<std::ptrdiff_t>(m_.features));
  for (std::uint64_t j = 0; j < m_.features; ++j) {
    if (number_[j] != kAlone) out[j] = w[number_[j]];
  }
  for (std::uint64_t i = 0; i < m_.rows; ++i) {
    double along = 0, square = 0;
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const auto value = static_cast<double>(roots_[i].parts[part]);
      along += w[kept_ + kParts * i + part] * value;
      square += value * value;
    }
    for (std::size_t k = 0; along != 0 && k < m_.size_of(i); ++k) {
      const std::uint32_t column = m_.columns_of(i)[k];
      if (number_[column] != kAlone) continue;
      out[column] = along / square * static_cast<double>(m_.values_of(i)[k]);
    }
  }
  return out;
}

}  // namespace hinge
