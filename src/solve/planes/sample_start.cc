#include "solve/planes/sample_start.h"

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "rows/memory_rows.h"
#include "solve/planes/tuning.h"

namespace hinge {
namespace {

constexpr std::uint64_t kEvery = PlanesTuning::kSampleEvery;

// One row of each kEvery neighbours.
std::vector<std::uint64_t> choose_rows(std::uint64_t rows, std::uint64_t seed) {
  std::vector<std::uint64_t> list;
  Random random(seed, rows);
  for (std::uint64_t from = 0; from + kEvery <= rows; from += kEvery) {
    list.push_back(from + random.below(kEvery));
  }
  return list;
}

// c_i added up.
double total_cost(std::span<const double> costs, std::uint64_t rows) {
  if (costs.empty()) return static_cast<double>(rows);
  double sum = 0;
  for (const double c : costs) sum += c;
  return sum;
}

}  // namespace

std::uint64_t sample_rows(std::uint64_t rows, std::uint64_t dimension) {
  const std::uint64_t sample = rows / kEvery;
  const bool worth =
      sample >= PlanesTuning::kMinSample && sample / PlanesTuning::kMinSamplePerColumn >= dimension;
  return worth ? sample : 0;
}

Solution solve_sample(const Problem& problem, const Rows& rows, const PlanesSetup& setup,
                      Monitor& monitor, Pool& pool) {
  const std::uint64_t count = problem.data->rows();
  const std::vector<std::uint64_t> list = choose_rows(count, setup.common.seed);
  const MemoryRows sample = rows.select(list);
  std::vector<std::int8_t> y;
  std::vector<double> costs;
  for (const std::uint64_t i : list) {
    y.push_back(problem.y[i]);
    if (!problem.costs.empty()) costs.push_back(problem.costs[i]);
  }
  // A cost that makes up for the rows that are left out.
  const double all = total_cost(problem.costs, count), part = total_cost(costs, list.size());
  Problem smaller = problem;
  smaller.data = &sample.data();
  smaller.y = y;
  smaller.costs = costs;
  if (part > 0) smaller.cost = problem.cost * (all / part);
  Monitor inner = monitor.for_part(PlanesTuning::kSampleGap, kEvery);
  Solution solution = solve_planes(smaller, setup, inner, pool);
  monitor.add_spent(inner);
  if (inner.reason() == StopReason::interrupted) monitor.interrupt();
  return solution;
}

}  // namespace hinge
