// A free bias b in descent. In the dual it is the multiplier of e = sum_i a_i y_i = 0. Epochs let e
// deviate from 0 and have b follow it, b = c + r e (an augmented Lagrangian: as if there were a
// constant feature of square r, and a centre c). Before an exact pass c becomes that b, and e is
// brought back to 0. (Were c the bias that is best for w instead, small r would not converge.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/free_bias.h"
#include "objective/problem.h"
#include "objective/smooth_search.h"
#include "solve/dual/gradients.h"
#include "solve/dual/lane.h"
#include "solve/dual/tuning.h"

namespace hinge {

// Exists for problems without a free bias, too, and does nothing for them.
template <class Loss, class Value>
class DualBias {
 public:
  DualBias(const Problem& problem, Lane<Loss, Value>& lane, Gradients<Loss, Value>& gradients,
           Pool& pool)
      : problem_(problem), lane_(lane), iterate_(lane.iterate), gradients_(gradients), pool_(pool) {
    if constexpr (!Loss::kSmooth) {
      constexpr double kFarInside = -std::numeric_limits<double>::infinity();
      for (std::uint64_t i = 0; is_free() && i < lane.rows(); ++i) {
        if (problem.y[i] > 0) slope_ += loss_.slope(kFarInside) * problem.factor(i);
      }
    }
  }

  bool is_free() const { return problem_.free_bias; }
  // The best bias at the w that was measured last; 0 if there is none that is free.
  double at_w() const { return bias_at_w_; }

  // Chooses r, once the squares of rows are known. Beside short rows or small costs it is large
  // enough that the variables can carry b where it belongs.
  void start() {
    if (!is_free()) return;
    double mean = 0, upper = 0;
    for (const double square : lane_.squares) mean += square;
    mean /= static_cast<double>(lane_.rows());
    for (std::uint64_t i = 0; i < lane_.rows(); ++i) upper += problem_.upper(i);
    iterate_.bias_curvature = std::max(DualTuning::kBiasCurvature * mean,
                                       upper > 0 ? DualTuning::kLeastBiasPull / upper : 1.0);
  }

  // To be called when the variables of a start, whose bias is `bias`, were multiplied by `factor`.
  void begin_at(double bias, double factor) {
    if (!is_free()) return;
    iterate_.label_sum *= factor;
    bias_at_w_ = bias;
    iterate_.bias_centre = bias_at_w_ - iterate_.bias_curvature * iterate_.label_sum;
  }

  // To be called before an exact pass: c becomes b, and e 0.
  void settle() {
    iterate_.bias_centre = iterate_.bias();
    settle_sum();
  }

  // Finds the best bias for a point, at which gradients without one were found.
  void find_best() {
    if constexpr (Loss::kSmooth) {
      find_smooth_best();
    } else {
      find_bent_best();
    }
  }
  void centre_at_best() { iterate_.bias_centre = bias_at_w_; }

  // After `idle` exact passes in which nothing has changed: e and b go round each other, and rounds
  // that come back to where they were end with a stiffer bias.
  void stiffen_after(std::uint64_t idle) {
    if (is_free() && idle > 0 && idle % DualTuning::kIdleMeasures == 0) {
      iterate_.bias_curvature *= DualTuning::kBiasStiffening;
    }
  }

  void archive(Archive& archive) {
    archive(bias_at_w_, iterate_.bias_centre, iterate_.label_sum, iterate_.bias_curvature, search_);
  }

 private:
  void find_bent_best() {
    std::vector<double> places(lane_.rows());  // of the bias, where losses bend
    gradients_.for_blocks([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) places[i] = -problem_.y[i] * gradients_.all()[i];
    });
    bias_at_w_ =
        search_.find(places, problem_.costs, gradients_.cuts(), slope_, bias_at_w_, pool_).at;
  }

  // By Newton's method from the last one on.
  void find_smooth_best() {
    const auto at = [&](double b) -> SlopeAndCurvature {
      std::vector<SlopeAndCurvature> parts(gradients_.cuts().size() - 1);
      gradients_.for_blocks([&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
        SlopeAndCurvature part;
        for (std::uint64_t i = begin; i < end; ++i) {
          const double y = problem_.y[i], factor = problem_.factor(i);
          const double margin = loss_.margin_of(gradients_.all()[i] + y * b);
          part.slope += factor * y * loss_.slope(margin);
          part.curvature += factor * loss_.curvature(margin);
        }
        parts[block] = part;
      });
      SlopeAndCurvature sum;
      for (const SlopeAndCurvature& part : parts) {
        sum.slope += part.slope;
        sum.curvature += part.curvature;
      }
      return sum;
    };
    const double from = bias_at_w_;
    const SlopeAndCurvature here = at(from);
    if (!std::isfinite(here.slope)) {  // margins overflowed, for which solvers look
      bias_at_w_ = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    if (here.slope == 0) return;
    const double sign = here.slope < 0 ? 1 : -1;
    bias_at_w_ += sign * smooth_minimum({-std::abs(here.slope), here.curvature},
                                        std::numeric_limits<double>::infinity(),
                                        [&](double t) -> SlopeAndCurvature {
                                          const SlopeAndCurvature there = at(from + sign * t);
                                          return {sign * there.slope, there.curvature};
                                        });
  }

  // Brings e back to 0 by rows between their bounds: some of them, lest it cost an epoch, each by
  // as much as the others as far as it can; then others. Where that does not do, all rows of the
  // heavier side give in proportion.
  void settle_sum() {
    if constexpr (!Loss::kQuadraticGain) return settle_bent_sum();
    const std::span<const double> alpha = lane_.alpha;
    double& left = iterate_.label_sum;
    double scale = 0;
    std::vector<std::uint64_t> between;
    for (std::uint64_t i = 0; i < alpha.size(); ++i) {
      scale += alpha[i];
      const double upper = problem_.upper(i);
      if (alpha[i] > loss_.lowest(upper) && alpha[i] < loss_.highest(upper)) between.push_back(i);
    }
    const double settled = DualTuning::kSettled * scale;
    const std::size_t step = std::max<std::size_t>(1, between.size() / DualTuning::kSettlingRows);
    for (std::size_t round = 0; round < DualTuning::kSettlingRounds && std::abs(left) > settled;
         ++round) {
      const std::size_t from = round % step;
      if (from >= between.size()) break;
      const double each = left / static_cast<double>((between.size() - from + step - 1) / step);
      for (std::size_t k = from; k < between.size(); k += step) {
        const std::uint64_t i = between[k];
        const double upper = problem_.upper(i), to = alpha[i] - problem_.y[i] * each;
        lane_.move(i, std::clamp(to, loss_.lowest(upper), loss_.highest(upper)));
      }
    }
    if (std::abs(left) > settled) {
      std::vector<double> balanced = lane_.alpha;
      balance(problem_, balanced);
      for (std::uint64_t i = 0; i < alpha.size(); ++i) lane_.move(i, balanced[i]);
    }
    left = 0;
    for (std::uint64_t i = 0; i < alpha.size(); ++i) left += alpha[i] * problem_.y[i];
  }

  // The same where the gain has an infinite slope at the bounds: each row gives by how much its
  // variable changes with the bias, so that all stay inside.
  void settle_bent_sum() {
    const std::span<const double> alpha = lane_.alpha;
    double& left = iterate_.label_sum;
    double scale = 0;
    for (const double a : alpha) scale += a;
    const double settled = DualTuning::kSettled * scale;
    const std::size_t step = std::max<std::size_t>(1, alpha.size() / DualTuning::kSettlingRows);
    for (std::size_t round = 0; round < DualTuning::kSettlingRounds && std::abs(left) > settled;
         ++round) {
      const std::size_t from = round % step;
      double all = 0;
      for (std::size_t i = from; i < alpha.size(); i += step) {
        all += room_of(alpha[i], problem_.upper(i));
      }
      if (!(all > 0)) continue;
      const double each = std::clamp(left / all, -DualTuning::kMostGiven, DualTuning::kMostGiven);
      for (std::size_t i = from; i < alpha.size(); i += step) {
        const double room = room_of(alpha[i], problem_.upper(i));
        lane_.move(i, alpha[i] - problem_.y[i] * each * room);
      }
    }
    if (std::abs(left) > settled) {
      std::vector<double> balanced = lane_.alpha;
      balance(problem_, balanced);
      for (std::uint64_t i = 0; i < alpha.size(); ++i) lane_.move(i, balanced[i]);
    }
    left = 0;
    for (std::uint64_t i = 0; i < alpha.size(); ++i) left += alpha[i] * problem_.y[i];
  }

  const Problem& problem_;
  [[no_unique_address]] const Loss loss_ = make_loss<Loss>(problem_.loss);
  Lane<Loss, Value>& lane_;
  DualPoint& iterate_;
  Gradients<Loss, Value>& gradients_;
  Pool& pool_;
  double bias_at_w_ = 0;
  double slope_ = 0;  // of the loss in a bias so small that no row has bent
  CrossingSearch search_;
};

}  // namespace hinge
