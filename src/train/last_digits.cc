#include "train/last_digits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "objective/loss.h"
#include "proof/outward.h"

namespace hinge {
namespace {

// Rounding is looked at where it makes out this share of the gap that will do. Not measured apart.
constexpr double kWorthMending = 1e-3;

// Descent with twice the digits visits so many values, which takes some tenths of a second, and
// makes so many epochs at most. Not measured apart.
constexpr double kMostVisits = 3e7;
constexpr int kMostEpochs = 2000;

// A number in two doubles, of which the second is what the first has rounded away.
struct TwoDoubles {
  double high = 0, low = 0;
  void add(double a) {
    const ExactSum next = two_sum(high, a);
    high = next.sum;
    low += next.error;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    low += std::fma(a, b, -product);
  }
  double value() const { return high + low; }
};

// Dual coordinate descent (solve/solver.h) in which w and the gradients have twice the digits. A
// variable itself has not: a step that its last digit would spoil is not taken.
template <class Loss, class Value>
class PreciseDescent {
 public:
  PreciseDescent(const Problem& problem, const CsrView<Value>& m, std::vector<double>& alpha)
      : problem_(problem), m_(m), alpha_(alpha), w_(problem.dimension()) {
    for (std::uint64_t i = 0; i < m.rows; ++i) add(i, alpha[i] * problem.y[i]);
  }

  // Visits all rows until an epoch gains less than `enough`.
  void run(double enough, const Pool& pool) {
    const double visits = static_cast<double>(std::max<std::uint64_t>(1, m_.nonzeros()));
    const int epochs = static_cast<int>(std::min<double>(kMostEpochs, kMostVisits / visits));
    for (int epoch = 0; epoch < epochs; ++epoch) {
      pool.poll();
      double gain = 0;
      for (std::uint64_t k = 0; k < m_.rows; ++k) {
        gain += step(epoch % 2 == 0 ? k : m_.rows - 1 - k);
      }
      if (!(gain > enough)) break;
    }
  }

  std::vector<double> w() const {
    std::vector<double> w(w_.size());
    std::ranges::transform(w_, w.begin(), &TwoDoubles::value);
    return w;
  }

 private:
  // Moves a variable to its best place; returns by how much D has grown.
  double step(std::uint64_t i) {
    const double upper = problem_.upper(i), y = problem_.y[i];
    if (upper == 0) return 0;
    TwoDoubles score;
    double square = problem_.bias * problem_.bias;
    const auto visit = [&](double x, const TwoDoubles& w) {
      score.add_product(x, w.high);
      score.low += x * w.low;
    };
    for (std::size_t k = 0; k < m_.size_of(i); ++k) {
      const auto x = static_cast<double>(m_.values_of(i)[k]);
      visit(x, w_[m_.columns_of(i)[k]]);
      square += x * x;
    }
    if (problem_.bias != 0) visit(problem_.bias, w_.back());
    score.add(-y * problem_.template corner<Loss>(i));  // before anything is rounded to a double
    const double gradient = y * score.value();
    if (square == 0) return 0;
    const double next = loss_.dual_step(alpha_[i], upper, gradient, square);
    const ExactSum move = two_sum(next, -alpha_[i]);
    const double gain = gain_of_move(i, next, move.sum, gradient, square);
    if (!(gain > 0)) return 0;
    alpha_[i] = next;
    add(i, y * move.sum);
    if (move.error != 0) add(i, y * move.error);
    return gain;
  }

  // By how much D grows.
  double gain_of_move(std::uint64_t i, double to, double way, double gradient,
                      double square) const {
    const double upper = problem_.upper(i);
    if constexpr (Loss::kKinked) {
      return loss_.dual_gain(to, upper) - loss_.dual_gain(alpha_[i], upper) -
             (gradient + square * way / 2) * way;
    } else {
      const double slope = loss_.full_gradient(gradient, alpha_[i], upper);
      const double curvature = square + loss_.dual_curvature(alpha_[i], upper);
      return -(slope + curvature * way / 2) * way;
    }
  }

  void add(std::uint64_t i, double a) {
    if (a == 0) return;
    for (std::size_t k = 0; k < m_.size_of(i); ++k) {
      w_[m_.columns_of(i)[k]].add_product(a, static_cast<double>(m_.values_of(i)[k]));
    }
    if (problem_.bias != 0) w_.back().add_product(a, problem_.bias);
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  const CsrView<Value>& m_;
  std::vector<double>& alpha_;
  std::vector<TwoDoubles> w_;
};

// The best solution so far: takes one that is offered if it is better; true if it reaches the gap.
class Best {
 public:
  Best(const Problem& problem, double gap, Solution& solution, Proof& proof, Pool& pool)
      : problem_(problem), gap_(gap), solution_(solution), proof_(proof), pool_(pool) {}

  bool offer(std::vector<double> w, const std::vector<double>& alpha) {
    round_as_stored(problem_, w);
    const Proof proof = certify(problem_, w, alpha, pool_, nullptr, gap_);
    if (proof.relative_gap < proof_.relative_gap) {
      solution_.w = std::move(w);
      solution_.alpha = alpha;
      proof_ = proof;
    }
    return proof_.relative_gap <= gap_;
  }

 private:
  const Problem& problem_;
  double gap_;
  Solution& solution_;
  Proof& proof_;
  Pool& pool_;
};

// Rows on the margin miss it by their rounding, which costs U_i times that. A little farther out
// they do not: w is made longer, in its last digits first.
bool clear_margins(Best& best, const Solution& solution) {
  const std::vector<double> from = solution.w;
  const std::vector<double> alpha = solution.alpha;
  for (double more = 0x1p-51; more < 0x1p-12; more *= 16) {
    std::vector<double> w = from;
    for (double& x : w) x *= 1 + more;
    if (best.offer(std::move(w), alpha)) return true;
  }
  return false;
}

std::string why_rounding(const Problem& problem, double gap, const Proof& proof) {
  if (!(proof.plain_rounding > gap * proof.primal)) return "";
  double largest = 0;
  problem.data->visit([&](const auto& m) {
    for (std::uint64_t k = 0; k < m.nonzeros(); ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(m.values[k])));
    }
  });
  const double share = std::min(1.0, proof.plain_rounding / proof.primal);
  return fmt::format(
      "values up to {:.2g} and C = {:g}: rounding alone may be {:.2g} % of the objective; scale "
      "the data",
      largest, problem.cost, 100 * share);
}

}  // namespace

void round_as_stored(const Problem& problem, std::span<double> w) {
  if (problem.bias == 0) return;
  // Until it comes back as it went: once or twice.
  for (int k = 0; k < 64; ++k) {
    const double back = problem.bias * w.back() / problem.bias;
    if (back == w.back()) return;
    w.back() = back;
  }
}

void mend_last_digits(const Problem& problem, double gap, Solution& solution, Proof& proof,
                      Pool& pool) {
  if (solution.alpha.empty() || proof.relative_gap <= gap ||
      !(proof.plain_rounding > kWorthMending * gap * proof.primal)) {
    return;
  }
  Best best(problem, gap, solution, proof, pool);
  if (clear_margins(best, solution) || problem.free_bias) return;
  std::vector<double> alpha = solution.alpha, w;
  problem.data->visit([&]<class Value>(const CsrView<Value>& m) {
    visit_loss(problem.loss, [&]<class Loss>(Loss) {
      PreciseDescent<Loss, Value> descent(problem, m, alpha);
      descent.run(kWorthMending * gap * proof.primal, pool);
      w = descent.w();
    });
  });
  if (best.offer(solution.w, alpha) || best.offer(std::move(w), alpha)) return;
  clear_margins(best, solution);
}

std::string why_stalled(const Problem& problem, const Origin& asked, const Solution& solution,
                        const Proof& proof) {
  const double gap = relative_goal(asked, proof.primal, proof.dual);
  if (gap == 0 && proof.dual > asked.target) {
    return fmt::format("no point has a primal of {:.8g}: the bound is {:.8g}", asked.target,
                       proof.dual);
  }
  std::string why = why_rounding(problem, gap, proof);
  if (!why.empty()) return why;
  if (!solution.stalled) return "the solver saw it reached; the proof, rounded outwards, does not";
  if (solution.passes_left == 0) return "the last steps brought nothing that rounding would show";
  return std::isfinite(solution.passes_left)
             ? fmt::format("at its pace about {:.1g} passes more would be needed",
                           solution.passes_left)
             : "for half of all its passes the gap has not fallen";
}

}  // namespace hinge
