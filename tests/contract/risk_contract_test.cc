// What a Risk must do wherever its rows are, and those who choose its active rows, against plain
// sums over dense rows. Another place for rows joins with one line in risks().
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solve/planes/any_risk.h"
#include "support.h"

namespace hinge {
namespace {

using testing::AnyRisk;
using testing::MakeRisk;
using testing::random_dataset;
using testing::RandomData;
using Vector = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSame = 1e-10;  // relative: the same but for rounding
constexpr std::size_t kSlots = 6;

struct RiskCase {
  const char* name;
  MakeRisk make;
  bool free_bias = true;  // it can have one
  std::uint64_t sequences = 25;
};
std::vector<RiskCase> risks() {
  return {{"memory", testing::make_risk},
          {"one_rank", testing::make_ranked_risk<1>, false},
          // Each call wakes threads a dozen times.
          {"three_ranks", testing::make_ranked_risk<3>, false, 8}};
}

struct Shape {
  const char* name;
  std::uint64_t rows, features, nonzeros;
  Precision precision = Precision::f32;
  double bias = 0;
  bool weighted = false;
  bool wandering = false;
  bool free_bias = false;
};
ActiveUse use_of(const Shape& shape) {
  return shape.wandering ? ActiveUse::wandering : ActiveUse::narrowed;
}
std::vector<Shape> shapes() {
  return {{"tall", 300, 10, 4},
          {"tall_f64_bias_costs", 200, 12, 5, Precision::f64, 0.7, true},
          {"wide", 70, 40, 6},
          {"wide_f64_bias_costs", 65, 90, 9, Precision::f64, 0.7, true},
          {"wide_costs", 128, 32, 5, Precision::f32, 0, true},
          {"wandering", 70, 40, 6, Precision::f32, 0, false, true},
          {"wandering_f64_bias_costs", 200, 12, 5, Precision::f64, 0.7, true, true},
          {"free_tall", 90, 6, 4, Precision::f32, 0, false, false, true},
          {"free_tall_f64_costs", 80, 5, 5, Precision::f64, 0, true, false, true},
          {"free_wide_costs", 50, 30, 6, Precision::f32, 0, true, false, true},
          {"free_wandering", 60, 30, 6, Precision::f64, 0, true, true, true},
          {"free_no_features_set", 5, 4, 0, Precision::f32, 0, false, false, true},
          {"one_row", 1, 3, 2},
          {"no_features_set", 3, 4, 0, Precision::f32, 0.5}};
}

struct Sample {
  explicit Sample(const Shape& shape, std::uint64_t seed = 1)
      : data(random_dataset({.rows = shape.rows,
                             .features = shape.features,
                             .nonzeros = shape.nonzeros,
                             .noise = 0.2,
                             .seed = seed,
                             .precision = shape.precision})),
        y(signs(data, 1)) {
    Random random(seed + 17);
    if (shape.weighted) {
      costs.resize(data.rows());
      for (double& c : costs) c = random.below(7) == 0 ? 0.0 : 0.25 + random.uniform();
    }
    problem = {.data = &data,
               .y = y,
               .costs = costs,
               .cost = 1,
               .bias = shape.free_bias ? 1.0 : shape.bias,
               .free_bias = shape.free_bias};
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  Dataset data;
  std::vector<std::int8_t> y;
  Vector costs;
  Problem problem;
};

double dot(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}
Vector between(const Vector& from, const Vector& to, double t) {
  Vector w(from.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = from[j] + t * (to[j] - from[j]);
  return w;
}
Vector random_vector(std::size_t size, double scale, Random& random) {
  Vector w(size);
  for (double& x : w) x = scale * (2 * random.uniform() - 1);
  return w;
}

// The rows as a table, and what can be asked of them, by definition.
class Table {
 public:
  explicit Table(const Problem& problem)
      : dimension(problem.regularised()), free_bias(problem.free_bias) {
    problem.data->visit([&](const auto& m) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        Vector row(dimension);
        for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
          row[m.column(k)] = problem.y[i] * static_cast<double>(m.values[k]);
        }
        if (problem.bias != 0 && !free_bias) row.back() = problem.y[i] * problem.bias;
        yx.push_back(std::move(row));
        y.push_back(problem.y[i]);
        cost.push_back(problem.costs.empty() ? 1 : problem.costs[i]);
      }
    });
  }
  std::size_t rows() const { return yx.size(); }
  double margin(std::size_t i, const Vector& w) const { return dot(yx[i], w); }
  double length(std::size_t i) const { return std::sqrt(dot(yx[i], yx[i])); }
  Vector margins(const Vector& w) const {
    Vector z;
    for (std::size_t i = 0; i < rows(); ++i) z.push_back(margin(i, w));
    return z;
  }
  // R(w); of rows that are not active, s_i (1 - z_i) instead.
  double risk(const Vector& w, const std::vector<bool>& active = {}, const Vector& s = {}) const {
    const Vector z = margins(w);
    if (!free_bias) return sum(z, 0, active, s);
    double least = kInfinity;  // at some bend of an active row
    for (std::size_t i = 0; i < rows(); ++i) {
      if (!active.empty() && !active[i]) continue;
      least = std::min(least, sum(z, y[i] * (1 - z[i]), active, s));
    }
    return least;
  }
  // By margins that leave out the bias.
  double sum(const Vector& z, double b, const std::vector<bool>& active, const Vector& s) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows(); ++i) {
      const double inside = 1 - z[i] - y[i] * b;
      sum += cost[i] * (active.empty() || active[i] ? std::max(0.0, inside) : s[i] * inside);
    }
    return sum;
  }
  // With this bias.
  double risk_at(const Vector& w, double b, const std::vector<bool>& active = {},
                 const Vector& s = {}) const {
    return sum(margins(w), b, active, s);
  }
  // The best bias, if there is one only.
  std::optional<double> best_bias(const Vector& w, const std::vector<bool>& active,
                                  const Vector& s) const {
    const Vector z = margins(w);
    const double least = risk(w, active, s), slack = 1e-11 * (1 + std::abs(least));
    double low = kInfinity, high = -kInfinity;
    for (std::size_t i = 0; i < rows(); ++i) {
      const double b = y[i] * (1 - z[i]);
      if (!active[i] || sum(z, b, active, s) > least + slack) continue;
      low = std::min(low, b);
      high = std::max(high, b);
    }
    if (high - low > 1e-12 * (1 + std::abs(low))) return std::nullopt;
    return low;
  }
  // The plane of some statuses.
  Vector slope(const Vector& s) const {
    Vector a(dimension);
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < dimension; ++j) a[j] -= s[i] * cost[i] * yx[i][j];
    }
    return a;
  }
  double offset(const Vector& s) const { return dot(s, cost); }
  // sum_i s_i c_i y_i, which is 0 if there is a free bias.
  double balance(const Vector& s) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows(); ++i) sum += s[i] * cost[i] * y[i];
    return sum;
  }
  // The heavier side gives.
  Vector balanced(Vector s) const {
    if (!free_bias) return s;
    double sides[2] = {};
    for (std::size_t i = 0; i < rows(); ++i) sides[y[i] > 0 ? 1 : 0] += s[i] * cost[i];
    const std::size_t heavier = sides[1] > sides[0] ? 1 : 0;
    for (std::size_t i = 0; i < rows(); ++i) {
      if ((y[i] > 0 ? 1U : 0U) == heavier) s[i] *= sides[1 - heavier] / sides[heavier];
    }
    return s;
  }

  std::size_t dimension;  // without a free bias
  bool free_bias;
  std::vector<Vector> yx;  // y_i x_i
  Vector cost, y;
};

// A risk and the plain reference side by side: every call is made on both and what can be asked is
// compared.
class Pair {
 public:
  Pair(const Sample& sample, MakeRisk make, const RiskOptions& options, Pool& pool)
      : table(sample.problem), risk(make(sample.problem, options, pool)), planes(options.slots) {}

  void begin(const Vector& w) {
    anchor = trial = w;
    active.assign(table.rows(), true);
    now.resize(table.rows());
    for (std::size_t i = 0; i < table.rows(); ++i) now[i] = table.margin(i, w) < 1 ? 1 : 0;
    Vector from = w;
    if (table.free_bias) from.push_back(0.25);
    trial_bias = std::nullopt;
    expect_near(risk->begin(from), table.risk(w), "begin");
    expect_best_bias();
    check();
  }

  void set_trial(const Vector& beta) {
    trial.assign(table.dimension, 0.0);
    for (std::size_t k = 0; k < planes.size(); ++k) {
      if (!planes[k]) continue;
      const Vector a = table.slope(*planes[k]);
      for (std::size_t j = 0; j < trial.size(); ++j) trial[j] -= beta[k] * a[j];
    }
    risk->set_trial(beta);
    trial_weights = beta;
    if (table.free_bias) trial_bias = table.best_bias(trial, active, now);
    check();
  }

  Vector point(double t) const { return between(anchor, trial, t); }
  // The plane of the statuses now, and what active rows add to it.
  double risk_active(const Vector& w) const { return table.risk(w, active, now); }
  // Of the anchor.
  double bias() { return table.free_bias ? risk->anchor().back() : 0; }
  double margin(std::size_t i) { return table.margin(i, anchor) + table.y[i] * bias(); }
  void expect_best_bias() {
    if (!table.free_bias) return;
    expect_near(table.risk_at(anchor, bias(), active, now), risk_active(anchor), "best bias");
  }

  void advance(double t) {
    anchor = point(t);
    risk->advance(t);
    if (t > 0) expect_best_bias();
    check();
  }

  double plane(std::size_t slot, double t) {
    const Vector w = point(t);
    const double b = risk->plane(slot, t);
    // Statuses of active rows are those at the point, but for rows so near the margin that
    // rounding decides; others keep theirs.
    const Vector found = statuses_of(slot);
    int between = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const double z = table.margin(i, w);
      between += found[i] == 0 || found[i] == 1 ? 0 : 1;
      EXPECT_GE(found[i], 0);
      EXPECT_LE(found[i], 1);
      if (!active[i]) {
        EXPECT_EQ(found[i], now[i]) << i;
      } else if (table.free_bias) {
        continue;  // those that touch, below
      } else if (std::abs(1 - z) > 1e-9) {
        EXPECT_EQ(found[i], z < 1 ? 1 : 0) << i;
      }
    }
    EXPECT_LE(between, table.free_bias ? 1 : 0);
    if (table.free_bias) {
      EXPECT_NEAR(table.balance(found), 0, 1e-13 * (1 + table.offset(found)));
      // The row at the bend is looked at in any case, whatever its share came to.
      const Vector z = table.margins(w);
      const double least = risk_active(w) + 1e-10;
      bend_rows.assign(table.rows(), false);
      for (std::size_t i = 0; i < table.rows(); ++i) {
        const double at = table.y[i] * (1 - z[i]);
        bend_rows[i] = active[i] && table.risk_at(w, at, active, now) <= least;
      }
    }
    now = found;
    planes[slot] = found;
    expect_near(b, table.offset(found), "b");
    // It touches R_active at the point, and lies below R elsewhere.
    expect_near(dot(table.slope(found), w) + b, risk_active(w), "plane at its point");
    check();
    return b;
  }

  void plane_of(std::size_t slot, const Vector& any) {
    const Vector statuses = table.balanced(any);
    expect_near(risk->plane_of(slot, statuses), table.offset(statuses), "b of given statuses");
    planes[slot] = statuses;
    check();
  }

  // The trial stays where it is if its weights are in the same proportion; else it is set anew.
  void merge(std::size_t into, std::size_t from, double u, double v) {
    for (std::size_t i = 0; i < table.rows(); ++i) {
      (*planes[into])[i] = u * (*planes[into])[i] + v * (*planes[from])[i];
    }
    planes[from].reset();
    risk->merge(into, from, u, v);
    Vector& beta = trial_weights;
    const double sum = beta.empty() ? 0 : beta[into] + beta[from];
    const bool same = beta.empty() || sum == 0 || std::abs(beta[into] - u * sum) < 1e-15 * sum;
    if (!beta.empty()) beta[into] = sum, beta[from] = 0;
    same ? check() : set_trial(Vector(beta));
  }
  // Weights that keep the trial where it is, if there are any.
  double share(std::size_t into, std::size_t from) const {
    const double sum = trial_weights.empty() ? 0 : trial_weights[into] + trial_weights[from];
    return sum > 0 ? trial_weights[into] / sum : 0.5;
  }

  void grow(std::size_t slots) {
    planes.resize(slots);
    if (!trial_weights.empty()) trial_weights.resize(slots);
    risk->grow(slots);
    check();
  }
  void drop(std::size_t slot) {
    planes[slot].reset();
    risk->drop(slot);
    if (!trial_weights.empty() && std::exchange(trial_weights[slot], 0.0) != 0) {
      set_trial(Vector(trial_weights));
    } else {
      check();
    }
  }

  void rebuild() {
    expect_near(risk->rebuild(), std::max(0.0, risk_active(anchor)), "rebuild");
    check();
  }

  void mark() {
    mark_point = anchor;
    mark_bias = bias();
    risk->mark();
    EXPECT_EQ(risk->moved(), 0.0);
    check();
  }

  // Whether there are rows near the margin.
  bool narrow(double width) {
    std::vector<bool> near(table.rows());
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      near[i] = std::abs(1 - margin(i)) <= width;
      count += near[i] ? 1U : 0U;
    }
    const std::uint64_t found = risk->narrow(width);
    if (found == count + 1 && table.free_bias) {
      // The row at the newest plane's bend; which one does not show where there are several.
      for (std::size_t i = 0; i < table.rows(); ++i) {
        if (!bend_rows[i] || near[i]) continue;
        near[i] = true;
        ++count;
      }
      if (found < count) {
        widen();
        return false;
      }
    }
    EXPECT_EQ(found, count);
    if (found > 0) active = near;
    check();
    return found > 0;
  }

  void widen() {
    trial = anchor;
    trial_bias = bias();
    anchor = mark_point;
    trial_weights.clear();
    active.assign(table.rows(), true);
    risk->return_to_mark();
    check();
  }

  Vector statuses_of(std::size_t slot) {
    Vector one(planes.size());
    one[slot] = 1;
    return risk->statuses(one);
  }

  // Everything that can be asked without changing anything.
  void check() {
    const Segment s = risk->segment();
    const double size = 1 + dot(anchor, anchor) + dot(trial, trial);
    EXPECT_NEAR(s.anchor_square, dot(anchor, anchor), kSame * size);
    EXPECT_NEAR(s.trial_square, dot(trial, trial), kSame * size);
    EXPECT_NEAR(s.product, dot(anchor, trial), kSame * size);
    const Vector zero(anchor.size());
    Vector difference = anchor;
    for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= trial[j];
    EXPECT_NEAR(s.square, dot(difference, difference), kSame * size);
    for (const double t : {0.0, 0.3, 1.0, 1.7}) {
      const double found = risk->value(t);
      expect_near(found, std::max(0.0, risk_active(point(t))), "value");
      EXPECT_LE(found, table.risk(point(t)) * (1 + kSame) + kSame);
    }
    const std::vector<double> w = risk->anchor();
    ASSERT_EQ(w.size(), anchor.size() + (table.free_bias ? 1 : 0));
    for (std::size_t j = 0; j < anchor.size(); ++j)
      EXPECT_NEAR(w[j], anchor[j], kSame * (1 + norm()));
    const std::span<const double> gram = risk->gram();
    std::vector<Vector> a(planes.size());
    double longest = 0;
    for (std::size_t k = 0; k < planes.size(); ++k) {
      a[k] = planes[k] ? table.slope(*planes[k]) : zero;
      longest = std::max(longest, dot(a[k], a[k]));
    }
    for (std::size_t j = 0; j < planes.size(); ++j) {
      for (std::size_t k = 0; k < planes.size(); ++k) {
        const double found = gram[j * planes.size() + k];
        EXPECT_NEAR(found, dot(a[j], a[k]), kSame * (1 + longest)) << j << " " << k;
        EXPECT_EQ(found, gram[k * planes.size() + j]) << "symmetric";
        if (!planes[j] || !planes[k]) {
          EXPECT_EQ(found, 0.0) << "free";
        }
      }
    }
    EXPECT_EQ(risk->active(),
              static_cast<std::uint64_t>(std::count(active.begin(), active.end(), true)));
  }

  // The minimum along the segment: no point of a dense scan is lower, and the slope, by finite
  // differences, changes its sign there.
  void search(double a, double b, double t_max) {
    // Margins are linear along the line, and hundreds of its points are looked at.
    const Vector here = table.margins(point(0)), there = table.margins(point(1));
    const double from = bias();
    const auto f = [&](double t) {
      const double linear = table.free_bias ? from + t * (trial_bias.value_or(0) - from) : 0;
      return a / 2 * t * t + b * t + table.sum(between(here, there, t), linear, active, now);
    };
    const double t = risk->search(a, b, t_max);
    EXPECT_GE(t, 0.0);
    EXPECT_LE(t, t_max);
    if (table.free_bias && !trial_bias) return;
    const double far = std::min(t_max, 1e6);
    if (t > far) {  // falls for ever, or almost
      EXPECT_LE(f(far), f(far / 2) + 1e-10 * (1 + std::abs(f(far))));
      return;
    }
    const double best = f(t), slack = 1e-10 * (1 + std::abs(best) + std::abs(f(0)));
    for (int k = 0; k <= 400; ++k) {
      const double at = std::min(far, 4.0 * k / 400);
      EXPECT_GE(f(at), best - slack) << "at " << at << ", minimum at " << t;
    }
    for (double at = 4; at < far; at *= 1.3) EXPECT_GE(f(at), best - slack) << at;
    const double h = 1e-5 * (1 + t);
    const double scale = 1e-4 * (1 + std::abs(a) + std::abs(b) + std::abs(best));
    if (t + h <= t_max) {
      EXPECT_GE((f(t + h) - f(t)) / h, -scale);
    }
    if (t >= h) {
      EXPECT_LE((f(t) - f(t - h)) / h, scale);
    }
  }

  void exact(const Vector& beta) {
    Vector s(table.rows());
    for (std::size_t k = 0; k < planes.size(); ++k) {
      for (std::size_t i = 0; planes[k] && i < s.size(); ++i) s[i] += beta[k] * (*planes[k])[i];
    }
    const Vector a = table.slope(s), found = risk->statuses(beta);
    for (std::size_t i = 0; i < s.size(); ++i) expect_near(found[i], s[i], "statuses");
    const ExactValues values = risk->exact(beta);
    expect_near(values.risk, table.risk_at(anchor, bias()), "exact risk");
    expect_near(values.b, table.offset(s), "exact b");
    expect_near(values.square, dot(a, a), "exact square");
  }

  // <a,w> + b <= R(w) wherever w is.
  void expect_planes_below(Random& random) {
    for (std::size_t k = 0; k < planes.size(); ++k) {
      if (!planes[k]) continue;
      const Vector a = table.slope(statuses_of(k));
      const double b = table.offset(statuses_of(k));
      for (const double scale : {0.1, 1.0, 10.0}) {
        const Vector w = random_vector(table.dimension, scale, random);
        EXPECT_LE(dot(a, w) + b, table.risk(w) * (1 + 1e-12) + (table.free_bias ? 1e-11 : 0));
      }
    }
  }

  std::optional<std::size_t> slot(bool used, Random& random) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < planes.size(); ++k) {
      if (planes[k].has_value() == used) found.push_back(k);
    }
    if (found.empty()) return std::nullopt;
    return found[random.below(found.size())];
  }
  std::size_t used() const {
    return static_cast<std::size_t>(std::ranges::count_if(planes, [](auto& p) { return !!p; }));
  }
  Vector weights(Random& random) const {
    Vector beta(planes.size());
    for (std::size_t k = 0; k < planes.size(); ++k) {
      if (planes[k] && random.below(3) != 0) beta[k] = random.uniform() / 20;
    }
    return beta;
  }
  bool narrowed() const { return std::ranges::count(active, false) > 0; }

  double norm() const { return std::sqrt(dot(anchor, anchor)); }
  static void expect_near(double found, double wanted, const char* what) {
    EXPECT_NEAR(found, wanted, kSame * (1 + std::abs(wanted))) << what;
  }

  Table table;
  std::unique_ptr<AnyRisk> risk;
  Vector anchor, trial, mark_point;
  Vector trial_weights;              // empty: the trial is no sum of planes
  Vector now;                        // statuses of the newest plane
  std::optional<double> trial_bias;  // if known
  double mark_bias = 0;
  std::vector<bool> bend_rows;  // of the newest plane
  std::vector<bool> active;
  std::vector<std::optional<Vector>> planes;  // statuses, by slot
};

struct Param {
  RiskCase risk;
  Shape shape;
};
std::vector<Param> params(bool wandering_only = false) {
  std::vector<Param> all;
  for (const RiskCase& risk : risks()) {
    for (const Shape& shape : shapes()) {
      if (shape.free_bias && !risk.free_bias) continue;
      // With a free bias no row ceases to be active.
      if ((shape.wandering && !shape.free_bias) || !wandering_only) all.push_back({risk, shape});
    }
  }
  return all;
}
std::string name_of(const ::testing::TestParamInfo<Param>& instance) {
  return std::string(instance.param.risk.name) + "_" + instance.param.shape.name;
}

class RiskContract : public ::testing::TestWithParam<Param> {
 protected:
  RiskOptions options(std::size_t slots = kSlots) const {
    return {.slots = slots, .use = use_of(GetParam().shape)};
  }
  const Sample sample_{GetParam().shape};
  Pool pool_{2};
};

TEST_P(RiskContract, ValuesAtAPoint) {
  Random random(1);
  for (const double scale : {0.0, 0.1, 1.0, 30.0}) {
    Pair pair(sample_, GetParam().risk.make, options(), pool_);
    pair.begin(random_vector(pair.table.dimension, scale, random));
    EXPECT_EQ(pair.risk->active(), sample_.data.rows());
    EXPECT_EQ(pair.risk->segment().square, 0.0);
    Vector anchor = pair.risk->anchor();
    anchor.resize(pair.anchor.size());
    EXPECT_EQ(anchor, pair.anchor);
    if (!GetParam().shape.free_bias) continue;
    EXPECT_EQ(pair.risk->keep_near(0.1, 0.1), sample_.data.rows());
  }
}

TEST_P(RiskContract, PlanesTouchAndLieBelow) {
  Random random(2);
  Pair pair(sample_, GetParam().risk.make, options(), pool_);
  pair.begin(random_vector(pair.table.dimension, 1, random));
  for (std::size_t k = 0; k < kSlots; ++k) {
    pair.plane(k, k == 0 ? 0.0 : 2 * random.uniform());
    pair.expect_planes_below(random);
    pair.set_trial(pair.weights(random));
    pair.exact(pair.weights(random));
    if (k % 2 == 1) pair.advance(random.uniform());
  }
  pair.merge(0, 3, 0.25, 0.75);
  pair.merge(0, 1, 1, 0);
  pair.merge(2, 5, 0.5, 0.5);  // the newest
  pair.expect_planes_below(random);
  pair.drop(0);
  pair.plane(0, 0.5);
  pair.expect_planes_below(random);
}

TEST_P(RiskContract, PlanesOfGivenStatuses) {
  Random random(3);
  Pair pair(sample_, GetParam().risk.make, options(), pool_);
  pair.begin(random_vector(pair.table.dimension, 0.5, random));
  pair.plane(2, 0);
  Vector statuses(sample_.data.rows());
  for (double& s : statuses)
    s = random.below(3) == 0 ? random.uniform() : static_cast<double>(random.below(2));
  pair.plane_of(0, statuses);
  for (double& s : statuses) s = 1;
  pair.plane_of(4, statuses);
  pair.expect_planes_below(random);
  // The newest is the one it was.
  pair.set_trial({0.01, 0, 0.02, 0, 0.005, 0});
  pair.plane(1, 0.7);
  pair.merge(0, 4, 0.3, 0.7);
  pair.set_trial({0.01, 0.02, 0.02, 0, 0, 0});
  pair.advance(0.6);
  pair.exact({0.1, 0.2, 0.3, 0, 0, 0});
}

TEST_P(RiskContract, SearchFindsTheMinimum) {
  Random random(4);
  for (int round = 0; round < 6; ++round) {
    Pair pair(sample_, GetParam().risk.make, options(), pool_);
    pair.begin(random_vector(pair.table.dimension, round % 3 == 0 ? 0.0 : 1.0, random));
    pair.plane(0, 0);
    pair.set_trial({random.uniform(), 0, 0, 0, 0, 0});
    pair.plane(1, random.uniform());
    pair.set_trial({random.uniform() / 10, random.uniform() / 10, 0, 0, 0, 0});
    const Segment s = pair.risk->segment();
    for (const double t_max : {kInfinity, 3.0, 0.5, 1e-3}) {
      pair.search(s.square, s.product - s.anchor_square, t_max);  // as solvers ask, at C = 1
      pair.search(s.square * 100, (s.product - s.anchor_square) * 100, t_max);
      pair.search(s.square / 1e6, (s.product - s.anchor_square) / 1e6, t_max);
      pair.search(0, 0, t_max);
      pair.search(1, -3 * random.uniform(), t_max);
      pair.search(0, -1e-3, t_max);
      pair.search(1e-9, -1, t_max);
      pair.search(random.uniform(), 100, t_max);
    }
  }
}

// Calls in any order that makes sense.
TEST_P(RiskContract, AnySequenceOfCalls) {
  const std::uint64_t all = GetParam().risk.sequences;
  const std::uint64_t sequences = testing::at_length() ? all : all / 4;
  for (std::uint64_t seed = 1; seed <= sequences; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RiskOptions growing = options();
    growing.most_slots = kSlots + 5;
    Pair pair(sample_, GetParam().risk.make, growing, pool_);
    pair.begin(random_vector(pair.table.dimension, random.below(2) == 0 ? 0.0 : 0.7, random));
    pair.plane(0, 0);
    if (random.below(2) == 0) {
      Vector statuses(sample_.data.rows());
      for (double& s : statuses) s = random.uniform();
      pair.plane_of(5, statuses);
    }
    std::string calls;
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      const char call = "tpppttaassmdrxnnwg"[random.below(18)];
      calls += call;
      SCOPED_TRACE(calls);
      switch (call) {
        case 't':
          pair.set_trial(pair.weights(random));
          break;
        case 'p':
          if (const auto slot = pair.slot(false, random)) {
            pair.plane(*slot, 1.5 * random.uniform());
            pair.expect_planes_below(random);
          } else {
            pair.drop(*pair.slot(true, random));
          }
          break;
        case 'a':
          pair.advance(random.below(4) == 0 ? 0.0 : 1.2 * random.uniform());
          break;
        case 's': {
          const Segment s = pair.risk->segment();
          pair.search(s.square, s.product - s.anchor_square, random.below(2) ? kInfinity : 2.0);
          break;
        }
        case 'm':
          if (pair.used() >= 2) {
            const std::size_t into = *pair.slot(true, random);
            std::size_t from = into;
            while (from == into) from = *pair.slot(true, random);
            const double u = random.below(2) == 0 ? random.uniform() : pair.share(into, from);
            pair.merge(into, from, u, 1 - u);
          }
          break;
        case 'd':
          if (pair.used() >= 2) pair.drop(*pair.slot(true, random));
          break;
        case 'r':
          pair.rebuild();
          break;
        case 'x':
          pair.exact(pair.weights(random));
          break;
        case 'g':
          if (pair.planes.size() == kSlots) pair.grow(kSlots + 5);
          break;
        case 'n':
          if (pair.narrowed()) break;
          pair.mark();
          if (pair.narrow(random.uniform())) {
            pair.set_trial(pair.weights(random));
          }
          break;
        default:
          if (pair.narrowed()) pair.widen();
      }
    }
  }
}

// How far margins moved since the mark, and that rows far from their margin do not matter there.
TEST_P(RiskContract, MarkNarrowWiden) {
  Random random(6);
  Pair pair(sample_, GetParam().risk.make, options(), pool_);
  pair.begin(random_vector(pair.table.dimension, 0.5, random));
  pair.plane(0, 0);
  pair.mark();
  pair.set_trial({0.02, 0, 0, 0, 0, 0});
  pair.advance(0.5);
  double sum = 0;
  for (std::size_t i = 0; i < pair.table.rows(); ++i) {
    const double before = pair.table.margin(i, pair.mark_point) + pair.table.y[i] * pair.mark_bias;
    sum += std::pow(pair.margin(i) - before, 2);
  }
  Pair::expect_near(pair.risk->moved(), std::sqrt(sum / static_cast<double>(pair.table.rows())),
                    "moved");
  pair.plane(1, 0);  // statuses of the anchor
  pair.mark();
  const std::uint64_t rows = sample_.data.rows();
  if (!pair.table.free_bias) {
    EXPECT_FALSE(pair.narrow(-1));
  }
  EXPECT_EQ(pair.risk->active(), rows);
  const double width = pair.risk->width_of(0.5);
  const auto within = [&](std::size_t i) {
    return std::abs(1 - pair.margin(i)) <= width * (1 + 1e-12) + 1e-12;
  };
  std::uint64_t near = 0;
  for (std::size_t i = 0; i < pair.table.rows(); ++i) near += within(i) ? 1U : 0U;
  EXPECT_GE(2 * near, rows - 1);
  if (!pair.narrow(0.3)) return;
  Pair::expect_near(pair.risk->value(0), pair.table.risk(pair.anchor), "equality at the anchor");
  const Vector marked = pair.anchor;
  for (int step = 0; step < 4; ++step) {
    pair.set_trial(pair.weights(random));
    pair.advance(0.3);
    pair.plane(2 + static_cast<std::size_t>(step), 0.2);
    pair.expect_planes_below(random);
  }
  const Vector came_to = pair.anchor;
  pair.widen();
  for (std::size_t j = 0; j < marked.size(); ++j) {
    EXPECT_NEAR(pair.risk->anchor()[j], marked[j], 1e-12);
  }
  Pair::expect_near(pair.risk->value(0), pair.table.risk(marked), "back");
  Pair::expect_near(pair.risk->value(1), pair.table.risk(came_to), "where it came to");
  const Segment s = pair.risk->segment();
  pair.search(s.square, s.product - s.anchor_square, kInfinity);
  pair.plane(0, 0.4);
  pair.advance(0.4);
  pair.set_trial(pair.weights(random));
}

// Within the radius, the active rows are all that matters.
class WanderingRiskContract : public RiskContract {};
TEST_P(WanderingRiskContract, KeepNear) {
  Random random(7);
  const std::unique_ptr<AnyRisk> risk = GetParam().risk.make(sample_.problem, options(200), pool_);
  const Table table(sample_.problem);
  Vector w = random_vector(table.dimension, 0.3, random);
  risk->begin(w);
  risk->plane(0, 0);
  bool fewer = false;
  double reach = kInfinity;
  Vector beta(200);
  for (std::size_t step = 1; step < 200; ++step) {
    for (double& b : beta) b = 0;
    for (int k = 0; k < 3; ++k) beta[random.below(step)] += 0.03 * random.uniform();
    risk->set_trial(beta);
    const double distance = std::sqrt(risk->segment().square);
    // Every point within reach has its true value.
    const double most = std::min(reach / distance, 2.0);
    Vector trial(table.dimension);
    for (std::size_t j = 0; j < step; ++j) {
      Vector one(200);
      one[j] = beta[j];
      if (beta[j] == 0) continue;
      const Vector a = table.slope(risk->statuses(one));
      for (std::size_t i = 0; i < a.size(); ++i) trial[i] -= a[i];
    }
    for (const double share : {0.0, 0.5, 0.99, 1.0}) {
      Pair::expect_near(risk->value(share * most), table.risk(between(w, trial, share * most)),
                        "within reach");
    }
    const double go = most * random.uniform() * 0.2, ahead = std::min(go + 0.02, most);
    risk->plane(step, ahead);
    const Vector found = [&] {
      Vector one(200);
      one[step] = 1;
      return risk->statuses(one);
    }();
    const Vector there = between(w, trial, ahead);
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const double z = table.margin(i, there);
      if (std::abs(1 - z) > 1e-8) {
        ASSERT_EQ(found[i], z < 1 ? 1 : 0) << step << " " << i;
      }
    }
    risk->advance(go);
    w = between(w, trial, go);
    reach = random.below(20) == 0 ? kInfinity : (0.04 + 0.1 * random.uniform()) * distance;
    const std::uint64_t active = risk->keep_near(go * distance, reach);
    EXPECT_EQ(active, risk->active());
    std::uint64_t needed = 0;
    for (std::size_t i = 0; i < table.rows(); ++i) {
      const double away = std::abs(1 - table.margin(i, w));
      needed += away < reach * table.length(i) * (1 - 1e-9) ? 1U : 0U;
    }
    EXPECT_GE(active, needed);
    fewer = fewer || active < table.rows();
  }
  EXPECT_TRUE(fewer);
}

// Everything a risk says in a run of calls, as numbers.
Vector words(const Sample& sample, MakeRisk make, RiskOptions options, int threads) {
  Pool pool(threads);
  options.slots = kSlots;
  const std::unique_ptr<AnyRisk> risk = make(sample.problem, options, pool);
  Vector all;
  const auto say = [&](const Vector& more) { all.insert(all.end(), more.begin(), more.end()); };
  Vector weights(kSlots);
  const auto look = [&] {
    const Segment s = risk->segment();
    const ExactValues exact = risk->exact(weights);
    say({s.anchor_square, s.product, s.trial_square, s.square, risk->value(0), risk->value(0.7),
         risk->search(s.square, s.product - s.anchor_square, kInfinity), exact.risk, exact.b,
         exact.square, static_cast<double>(risk->active())});
    say(risk->anchor());
    say({risk->gram().begin(), risk->gram().end()});
    say(risk->statuses(weights));
  };
  Random random(8);
  say({risk->begin(random_vector(sample.problem.dimension(), 0.3, random))});
  const double beta = 0.5 / static_cast<double>(sample.data.rows());
  risk->plane(0, 0);
  for (std::size_t k = 1; k < kSlots; ++k) {
    for (std::size_t j = 0; j < k; ++j) weights[j] = beta * static_cast<double>(j + 1);
    risk->set_trial(weights);
    look();
    say({risk->plane(k, 0.4)});
    risk->advance(0.3);
    if (options.use == ActiveUse::wandering) {
      risk->keep_near(0.3 * std::sqrt(risk->segment().square), 1);
    } else if (k == 2) {
      risk->mark();
      risk->narrow(0.4);
    }
  }
  look();
  if (options.use != ActiveUse::wandering) risk->return_to_mark();
  look();
  risk->merge(0, 1, 0.3, 0.7);
  weights[1] = 0;
  say({risk->rebuild()});
  look();
  return all;
}

TEST_P(RiskContract, SameBitsForAnyThreadsAndInstructionSet) {
  const RiskOptions plain = options();
  const Vector one = words(sample_, GetParam().risk.make, plain, 1);
  for (const int threads : {2, 8}) {
    EXPECT_EQ(words(sample_, GetParam().risk.make, plain, threads), one) << threads;
  }
  for (const Simd* simd : available_simd()) {
    RiskOptions other = plain;
    other.simd = simd;
    EXPECT_EQ(words(sample_, GetParam().risk.make, other, 1), one) << simd->name;
  }
}

// Enough rows that threads are woken.
TEST(RiskBits, SameForAnyThreadsOnManyRows) {
  const Shape large[] = {{"tall", 30000, 60, 12, Precision::f32, 0.5, true},
                         {"wide", 9000, 2500, 30, Precision::f32, 0, true},
                         {"wandering", 30000, 60, 12, Precision::f32, 0, false, true},
                         {"free", 30000, 60, 12, Precision::f32, 0, true, false, true}};
  for (const RiskCase& risk : risks()) {
    for (const Shape& shape : large) {
      if (shape.free_bias && !risk.free_bias) continue;
      const Sample sample(shape);
      const RiskOptions options = {.use = use_of(shape)};
      const Vector one = words(sample, risk.make, options, 1);
      for (const int threads : {2, 8}) {
        if (testing::slow() && threads > 2) continue;
        EXPECT_EQ(words(sample, risk.make, options, threads), one) << shape.name << threads;
      }
    }
  }
}

// Sums, never means: parts of the rows add up.
TEST(RiskParts, AddUpToTheWhole) {
  for (const RiskCase& risk : risks()) {
    for (const Shape& shape : {Shape{"tall", 500, 20, 5}, Shape{"wide", 100, 200, 9}}) {
      const Sample whole(shape);
      Random random(9);
      const Vector w = random_vector(shape.features, 1, random);
      Pool pool(1);
      const auto parts = [&](const std::vector<std::uint64_t>& rows) {
        const Dataset data = testing::pick_rows(whole.data, rows);
        const std::vector<std::int8_t> y = signs(data, 1);
        const Problem problem = {.data = &data, .y = y};
        const std::unique_ptr<AnyRisk> part = risk.make(problem, {.slots = 2}, pool);
        Vector said = {part->begin(w), part->plane(0, 0)};
        part->set_trial(Vector{1, 0});
        part->advance(1);  // the anchor is -a
        const Vector a = part->anchor();
        said.insert(said.end(), a.begin(), a.end());
        const ExactValues exact = part->exact(Vector{1, 0});
        said.push_back(exact.b);
        return said;
      };
      std::vector<std::uint64_t> all, even, odd;
      for (std::uint64_t i = 0; i < shape.rows; ++i) {
        all.push_back(i);
        (i % 3 == 0 ? even : odd).push_back(i);
      }
      const Vector one = parts(all), x = parts(even), y = parts(odd);
      for (std::size_t k = 0; k < one.size(); ++k) {
        EXPECT_NEAR(one[k], x[k] + y[k], 1e-11 * (1 + std::abs(one[k]))) << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryRisk, RiskContract, ::testing::ValuesIn(params()), name_of);
INSTANTIATE_TEST_SUITE_P(EveryRisk, WanderingRiskContract, ::testing::ValuesIn(params(true)),
                         name_of);

}  // namespace
}  // namespace hinge
