// What the Pegasos tests share: data, and the algorithm written out as plainly as the papers do, on
// dense vectors.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "proof/certificate.h"
#include "solve/batches.h"
#include "solve/pegasos/pegasos_state.h"
#include "solve/solver.h"
#include "support.h"

namespace hinge::testing {

using Vector = std::vector<double>;

inline double inner(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}
inline double norm(const Vector& a) {
  return std::sqrt(inner(a, a));
}
inline double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(sum);
}

// One row in eight costs nothing.
inline Vector random_costs(std::uint64_t rows) {
  Random random(5);
  Vector costs(rows);
  for (double& c : costs) c = random.below(8) == 0 ? 0.0 : 0.25 + random.uniform();
  return costs;
}

// A binary problem on a data set, in the scaling of the papers:
//   f(w; A) = lambda/2 |w|^2 + (1/k)(m/W) sum_{i in A} c_i max(0, 1 - y_i <w, x_i>)
class Scaled {
 public:
  // costs: empty = all 1.
  Scaled(Dataset data, double lambda, Vector costs = {}, double bias = 0)
      : data_(std::move(data)),
        y_(signs(data_, data_.classes().back().label)),
        costs_(std::move(costs)) {
    total_ = costs_.empty() ? static_cast<double>(rows()) : 0;
    for (const double c : costs_) total_ += c;
    problem_ = {
        .data = &data_, .y = y_, .costs = costs_, .cost = 1 / (lambda * total_), .bias = bias};
    lambda_ = lambda;
    data_.visit([&](const auto& m) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        Vector x(problem_.dimension());
        for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
          x[m.column(k)] = static_cast<double>(m.values[k]);
        }
        if (bias != 0) x.back() = bias;
        x_.push_back(std::move(x));
      }
    });
  }
  Scaled(const Scaled&) = delete;
  Scaled& operator=(const Scaled&) = delete;

  const Problem& problem() const { return problem_; }
  const CsrView<float>& matrix() const { return std::get<CsrView<float>>(data_.view()); }
  std::uint64_t rows() const { return data_.rows(); }
  double lambda() const { return lambda_; }
  double radius() const { return 1 / std::sqrt(lambda_); }
  const Vector& x(std::uint64_t i) const { return x_[i]; }
  double y(std::uint64_t i) const { return y_[i]; }
  double cost(std::uint64_t i) const { return costs_.empty() ? 1 : costs_[i]; }
  double scale() const { return static_cast<double>(rows()) / total_; }  // m/W

  double f(const Vector& w, std::span<const std::uint64_t> set, double k) const {
    double loss = 0;
    for (const std::uint64_t i : set) loss += cost(i) * std::max(0.0, 1 - y(i) * inner(w, x(i)));
    return lambda_ / 2 * inner(w, w) + scale() / k * loss;
  }
  double f(const Vector& w) const {
    double loss = 0;
    for (std::uint64_t i = 0; i < rows(); ++i) {
      loss += cost(i) * std::max(0.0, 1 - y(i) * inner(w, x(i)));
    }
    return lambda_ / 2 * inner(w, w) + loss / total_;
  }

  // max_i c_i |x_i| m/W, and the constant of the theorems.
  double largest() const {
    double largest = 0;
    for (std::uint64_t i = 0; i < rows(); ++i) {
      largest = std::max(largest, cost(i) * norm(x_[i]) * scale());
    }
    return largest;
  }
  double bound(double steps) const {
    const double c = std::pow(std::sqrt(lambda_) + largest(), 2);
    return c * std::log(steps) / (lambda_ * steps);
  }

 private:
  Dataset data_;
  std::vector<std::int8_t> y_;
  Vector costs_;
  double total_ = 0, lambda_ = 0;
  Problem problem_;
  std::vector<Vector> x_;
};

struct Optimum {
  Vector w;
  double f;  // lambda D, a lower bound within 1e-9 of the optimum
};

inline std::vector<Solution> solve(const Scaled& scaled, const PegasosSetup& setup, double gap = 0,
                                   int threads = 1) {
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  std::vector<Monitor> monitors;
  monitors.emplace_back(Limits{.gap = gap, .seconds = std::numeric_limits<double>::infinity()},
                        clock, 0, nobody);
  Pool pool(threads);
  return solve_pegasos(std::span(&scaled.problem(), 1), setup, monitors, pool);
}

inline Optimum optimum(const Scaled& scaled) {
  const Stopwatch clock;
  const std::function<void(const Progress&)> nobody;
  Monitor monitor({.gap = 1e-9, .seconds = std::numeric_limits<double>::infinity()}, clock, 0,
                  nobody);
  Pool pool(1);
  const Solution solution = solve_dual(scaled.problem(), {}, monitor, pool);
  const Certificate certificate = certify(scaled.problem(), solution.w, solution.alpha, pool);
  EXPECT_LE(certificate.relative_gap, 2e-9);
  return {solution.w, scaled.lambda() * certificate.dual};
}

// The published step on a dense w, for any batch; t counts from 1 (t0 included).
inline void reference_step(const Scaled& s, Vector& w, std::span<const std::uint64_t> set, double k,
                           double t, bool projection, Update update = Update::margin) {
  const double eta = 1 / (s.lambda() * t);
  Vector next = w;
  for (double& x : next) x *= 1 - eta * s.lambda();
  for (const std::uint64_t i : set) {
    const double z = s.y(i) * inner(w, s.x(i));
    if (!(update == Update::mistake ? z <= 0 : z < 1)) continue;
    const double a = eta / k * s.scale() * s.cost(i) * s.y(i);
    for (std::size_t j = 0; j < next.size(); ++j) next[j] += a * s.x(i)[j];
  }
  w = next;
  if (projection && norm(w) > s.radius()) {
    const double factor = s.radius() / norm(w);
    for (double& x : w) x *= factor;
  }
}

// A state on one problem with its passes.
struct SinglePlane {
  SinglePlane(const Scaled& scaled, std::uint64_t batch, bool projection, double t0 = 0,
              std::span<const Start> start = {}, int threads = 1, Update update = Update::margin)
      : pool(threads),
        passes(scaled.matrix(), scaled.problem().bias, 1, best_simd(), pool),
        state({.problems = std::span(&scaled.problem(), 1),
               .batch = batch,
               .update = update,
               .projection = projection,
               .t0 = t0,
               .start = start},
              passes) {}
  Pool pool;
  Passes<float> passes;
  PegasosState<Passes<float>> state;
};

}  // namespace hinge::testing
