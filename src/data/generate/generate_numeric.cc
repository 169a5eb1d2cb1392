// Rows that are not documents: forest cover (cov1) and embeddings (dense).
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "data/generate/generate_rows.h"

namespace hinge {
namespace {

constexpr int kDecimals = 6;
constexpr double kUnits = 1e6;

// One measurement of a forest cell: `centre + spread z`, cut to [0, 1] and rounded to a multiple of
// 1 / grid. z is bell-shaped, made to follow the elevation by `follow`, and counts `weight` in the
// hidden rule. Where the cut gives 0 the feature is not written, as in the real set.
struct Measurement {
  double grid;
  double centre;
  double spread;
  double follow;
  double weight;
};
constexpr auto kMeasurements = std::to_array<Measurement>({
    {1999, 0.55, 0.14, 0.0, -0.9},  // elevation
    {360, 0.50, 0.22, 0.0, 0.1},    // aspect
    {66, 0.21, 0.06, -0.2, -0.2},   // slope
    {1397, 0.19, 0.11, 0.3, 0.3},   // distance to water
    {774, 0.28, 0.075, 0.1, -0.2},  // height over water
    {7117, 0.33, 0.14, 0.4, 0.4},   // distance to a road
    {254, 0.83, 0.10, 0.1, 0.3},    // light at 9 am
    {254, 0.85, 0.08, 0.2, -0.2},   // light at noon
    {254, 0.56, 0.15, 0.1, 0.1},    // light at 3 pm
    {7173, 0.28, 0.12, 0.1, 0.4},   // distance to past fires
});
constexpr auto kAreaWeights = std::to_array<double>({0.5, -0.1, 0.3, -0.6});
constexpr double kSoilWeight = 2.0;   // soils count from -1 to 1
constexpr double kCoverNoise = 1.1;   // of the rule: what no classifier can know
constexpr double kCoverBias = -0.07;  // makes 48.8 % of the rows positive

// How a soil counts in the hidden rule, -1/2 to 1/2; the same for every seed.
double soil_effect(std::uint64_t soil) {
  return Random(0, kRuleStream, soil).uniform() - 0.5;
}

void append_cover_row(Random random, std::uint64_t features, std::string& out) {
  std::array<double, kMeasurements.size()> z{};
  for (std::size_t j = 0; j < z.size(); ++j) {
    const double follow = kMeasurements[j].follow;
    z[j] = follow * z[0] + std::sqrt(1 - follow * follow) * bell(random);
  }
  // High ground belongs to other areas and has other soils than low ground.
  const std::uint64_t soils = features - kMeasurements.size() - kAreaWeights.size();
  const double height = 0.5 + 0.14 * z[0];
  const double where = std::clamp(0.6 * height + 0.4 * random.uniform(), 0.0, 0.999);
  const auto area = static_cast<std::size_t>(where * 4);
  const double u = random.uniform();
  const double soil_place = height + u * u;
  const auto soil = std::min(
      soils - 1, static_cast<std::uint64_t>((soil_place < 1 ? soil_place : soil_place - 1) *
                                            static_cast<double>(soils)));

  double score = kCoverBias + kAreaWeights[area] + kSoilWeight * soil_effect(soil) +
                 kCoverNoise * bell(random);
  for (std::size_t j = 0; j < z.size(); ++j) score += kMeasurements[j].weight * z[j];
  append_label(score > 0, out);
  for (std::size_t j = 0; j < z.size(); ++j) {
    const auto& [grid, centre, spread, follow, weight] = kMeasurements[j];
    const double value = std::clamp(centre + spread * z[j], 0.0, 1.0);
    const std::int64_t step = to_units(value, grid);
    if (step > 0) {
      append_feature(j + 1, to_units(static_cast<double>(step) / grid, kUnits), kDecimals, out);
    }
  }
  append_feature(z.size() + area + 1, 1, 0, out);
  append_feature(z.size() + kAreaWeights.size() + soil + 1, 1, 0, out);
  out.push_back('\n');
}

// Embeddings. Value j of a row is mean_j + centre_j + (+-shift + z) scale_j before scaling to unit
// norm: a common mean, one of a few centres, a step along the hidden rule, and noise that is wider
// in some columns than in others, as the principal components of real embeddings are.
class DenseRows {
 public:
  DenseRows(std::uint64_t features, std::uint64_t seed)
      : seed_(seed), mean_(features), rule_(features), scale_(features) {
    Random random(seed, kRuleStream);
    const auto d = static_cast<double>(features);
    for (std::size_t j = 0; j < features; ++j) {
      scale_[j] = 1 / std::sqrt(1 + 8 * random.uniform());
      mean_[j] = 0.5 * bell(random) * scale_[j];
      rule_[j] = kSeparation * (random.uniform() < 0.5 ? -1 : 1) * scale_[j] / std::sqrt(d);
    }
    for (std::vector<double>& centre : centres_) {
      for (std::size_t j = 0; j < features; ++j) {
        centre.push_back(mean_[j] + 0.5 * bell(random) * scale_[j]);
      }
    }
  }

  void append(RowRange rows, std::string& out) const {
    std::vector<double> values(mean_.size());
    for (std::uint64_t row = rows.begin; row < rows.end; ++row) append_row(row, values, out);
  }

 private:
  static constexpr double kSeparation = 1.6;  // of a class from the middle, in noise widths
  static constexpr double kFlips = 0.015;

  void append_row(std::uint64_t row, std::vector<double>& values, std::string& out) const {
    Random random(seed_, kRowStream, row);
    const bool positive = random.uniform() < 0.5;
    const double side = positive ? 1 : -1;
    append_label(positive != (random.uniform() < kFlips), out);
    const std::vector<double>& centre = centres_[random.below(centres_.size())];
    double squares = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      values[j] = centre[j] + side * rule_[j] + scale_[j] * bell(random);
      squares += values[j] * values[j];
    }
    const double scale = kUnits / std::sqrt(squares);
    for (std::size_t j = 0; j < values.size(); ++j) {
      append_feature(j + 1, to_units(values[j], scale), kDecimals, out);
    }
    out.push_back('\n');
  }

  std::uint64_t seed_;
  std::vector<double> mean_, rule_, scale_;
  std::array<std::vector<double>, 16> centres_;
};

}  // namespace

RowMaker make_cover_rows(std::uint64_t features, std::uint64_t seed) {
  return [=](RowRange rows, std::string& out) {
    for (std::uint64_t row = rows.begin; row < rows.end; ++row) {
      append_cover_row(Random(seed, kRowStream, row), features, out);
    }
  };
}

RowMaker make_dense_rows(std::uint64_t features, std::uint64_t seed) {
  return [rows = std::make_shared<const DenseRows>(features, seed)](
             RowRange range, std::string& out) { rows->append(range, out); };
}

}  // namespace hinge
