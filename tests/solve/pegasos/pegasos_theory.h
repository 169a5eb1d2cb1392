// What the tests of the theorems share: rows whose length is known, and what solving them leaves
// above the optimum.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>

#include "pegasos_reference.h"

namespace hinge::testing {

inline constexpr double kMeaningful = 0.05;
inline constexpr int kSeeds = 50;

// A theorem allows for the worst rows there are. On those here much less than its bound is left; a
// method that comes nearer to it has become worse, though the theorem holds. (Means of a
// sanitizer's few runs say nothing of that.)
inline void expect_bounded(double left, double bound, double share = 0.2) {
  EXPECT_LE(left, bound);
  if (slow()) return;
  EXPECT_LE(left, share * bound);
}

// Rows whose length is at most 1, a tenth of the labels wrong.
inline Dataset unit_rows(std::uint64_t rows) {
  const Dataset raw = random_dataset({.rows = rows, .features = 30, .nonzeros = 6, .seed = 8});
  struct Copy {
    Dataset raw;
    std::vector<float> values;
  };
  auto copy = std::make_shared<Copy>();
  copy->raw = raw;
  auto m = std::get<CsrView<float>>(raw.view());
  copy->values.assign(m.values, m.values + m.nonzeros());
  double longest = 0;
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    double square = 0;
    for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
      square += static_cast<double>(m.values[k] * m.values[k]);
    }
    longest = std::max(longest, std::sqrt(square));
  }
  for (float& value : copy->values) value /= static_cast<float>(longest);
  m.values = copy->values.data();
  return Dataset::wrap(m, raw.labels(), {}, copy).value();
}

inline Vector some_costs(std::uint64_t rows) {
  Random random(3);
  Vector costs(rows);
  for (double& c : costs) c = 0.5 + random.uniform();
  return costs;
}

// Real rows where they are present: the first rows of a9a.
inline std::optional<Dataset> real_rows(std::uint64_t rows) {
  const char* const folder = std::getenv("HINGE_SHARED_DATA");
  const std::filesystem::path path =
      std::filesystem::path(folder == nullptr ? "" : folder) / "a9a-train.svm.xz";
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::vector<Error> warnings;
  const Dataset all = read_dataset(path.string(), {}, warnings).value();
  std::vector<std::uint64_t> first(rows);
  std::iota(first.begin(), first.end(), std::uint64_t{0});
  return pick_rows(all, first);
}

// f - f* of the point returned, for each of 50 seeds, with rows drawn as the theorems have it.
inline Vector excesses(const Scaled& s, PegasosOptions options) {
  const double best = optimum(s).f;
  options.sampling = Sampling::replace;
  options.rescale = false;
  Vector all;
  for (std::uint64_t seed = 1; seed <= kSeeds; seed += one_in(10)) {
    all.push_back(s.f(solve(s, {.common = {.seed = seed}, .pegasos = options})[0].w) - best);
    EXPECT_GE(all.back(), -1e-8);
  }
  return all;
}

}  // namespace hinge::testing
