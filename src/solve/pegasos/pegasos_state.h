// The steps of Pegasos on one hyperplane or several (one against the rest), and nothing else: which
// rows a step sees, when to stop and what to return is decided elsewhere (pegasos.cc, batches.h).
//
//   step t on the rows A (k of them, tau = t0 + t, lambda = 1/(C sum c_i), U_i = C c_i):
//
//     A+ = rows of A with y <w, x> < 1
//     w <- (1 - 1/tau) w + (m/(k tau)) sum_{A+} U y x
//     w <- min(1, (1/sqrt(lambda))/|w|) w                 with projection
//
// which is the published step of size 1/(lambda tau).
//
// w is kept as s v with s = (m/k) pi/tau, where pi is the product of all projections: then v only
// ever gains U y x / pi for each row of A+, and a step costs O(nonzeros of its rows). So do means
// over steps: with S the running sum of s, sum_t w_t = S v - u, where u gains S U y x / pi.
//
// A free bias b (data/problem.h) is no part of w, nor of |w|: rows are inside where y (<w, x> + b)
// < 1, and with cb the mean of c
//
//     b <- b + (2/(k sqrt(tau))) sum_{A+} (c/cb) y
//
// Nothing pulls b towards 0, so steps of 1/tau would be too short; 2 is the width of the margin,
// between whose sides b has to choose. It only guides the steps: who takes a point finds the best b
// for it.
//
// Every step is counted: visits and hits (inside the margin) a row. The share hits/visits of a row,
// times U, is always a feasible dual variable, whatever was drawn and projected (docs/pegasos.md).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "objective/problem.h"
#include "rows/passes.h"
#include "solve/solver.h"

namespace hinge {

struct PegasosSteps {
  std::span<const Problem> problems;  // the same rows, costs and bias; each its own y
  std::uint64_t batch = 1;            // k: 1 .. rows
  bool projection = false;            // not with a budget
  std::uint64_t budget = 0;           // most rows with a coefficient, with a kernel; 0: any number
  double t0 = 0;                      // > 0 where there is a start
  std::span<const Start> start = {};  // w_1 of each problem; none: 0
};

// Space: Passes, or KernelPasses, where v and u are coefficients of rows.
template <class Space>
class PegasosState {
 public:
  PegasosState(const PegasosSteps& steps, Space& passes)
      : passes_(passes),
        m_(passes.rows()),
        problems_(steps.problems),
        planes_(steps.problems.size()),
        stride_(passes.stride()),
        batch_(steps.batch),
        projection_(steps.projection),
        budget_(steps.budget),
        base_(static_cast<double>(m_.rows) / static_cast<double>(steps.batch)),
        tau_(steps.t0),
        scales_(planes_),
        v_(passes.size()),
        counts_(m_.rows * (planes_ + 1)) {
    const Problem& first = problems_[0];
    lines_ = std::clamp<std::size_t>(m_.nonzeros() / m_.rows / 16 + 1, 1, 16);
    double weight = first.costs.empty() ? static_cast<double>(m_.rows) : 0;
    for (const double c : first.costs) weight += c;
    radius_ = std::sqrt(first.cost * weight);  // 1/sqrt(lambda)
    if (first.free_bias) bias_step_ = 2 * base_ / (first.cost * weight);
    if (planes_ > 1) {
      y_.resize(m_.rows * planes_);
      for (std::size_t c = 0; c < planes_; ++c) {
        for (std::uint64_t i = 0; i < m_.rows; ++i) y_[i * planes_ + c] = problems_[c].y[i];
      }
    }
    if (tau_ > 0) set_scales();
    if constexpr (!Space::kLinear) passes_.begin();
    for (std::size_t c = 0; c < steps.start.size(); ++c) {
      for (std::size_t j = 0; j < passes.dimension(); ++j) {
        v_[j * stride_ + c] = steps.start[c].w[j] / scales_[c].s;
      }
      if (first.free_bias) scales_[c].b = steps.start[c].w.back();
    }
    if (projection_) {
      measure();
      project();
    }
  }

  // One step on each set of `batch` rows; the last set may be short. `ahead` are rows that will be
  // seen soon after.
  void run(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead = {}) {
    if constexpr (Space::kLinear) {
      if (batch_ == 1 && planes_ == 1 && !projection_) {
        if (ahead.empty()) {
          averaging_ ? visit_one<true, false>(rows, ahead) : visit_one<false, false>(rows, ahead);
        } else {
          averaging_ ? visit_one<true, true>(rows, ahead) : visit_one<false, true>(rows, ahead);
        }
        return;
      }
    } else {
      passes_.expect(rows, [this](std::uint64_t i) { return inside(i); });
    }
    if (batch_ == 1) {
      visit(rows, ahead);
    } else {
      for (std::size_t k = 0; k < rows.size(); k += batch_) {
        step(rows.subspan(k, std::min<std::size_t>(batch_, rows.size() - k)));
      }
    }
  }

  // The point reached, for all hyperplanes (interleaved, Passes::size() numbers).
  std::vector<double> point() const {
    return combination([](const Scale& scale) { return std::pair(scale.s, 0.0); });
  }

  // From now on the points are averaged: w as each step meets it.
  void begin_mean() {
    averaging_ = true;
    averaged_ = 0;
    u_.resize(v_.size());
    std::ranges::fill(u_.span(), 0.0);
    settled_.clear();
    for (Scale& scale : scales_) scale.sum = 0;
  }
  bool averaging() const { return averaging_; }
  std::uint64_t averaged() const { return averaged_; }  // steps since begin_mean()

  // The sum of the points the last averaged() steps met.
  std::vector<double> sum() const {
    std::vector<double> all =
        combination([](const Scale& scale) { return std::pair(scale.sum, -1.0); });
    for (std::size_t j = 0; j < settled_.size(); ++j) all[j] += settled_[j];
    return all;
  }

  // visits, then the hits of each hyperplane, row by row; 1 + planes numbers each.
  std::vector<std::uint32_t>& counts() { return counts_; }

  // Between two calls of run().
  void archive(Archive& archive) {
    archive(tau_, averaging_, averaged_, unmeasured_);
    archive.sized(scales_, planes_);
    archive.sized(v_, passes_.size());
    archive.sized(u_, averaging_ ? passes_.size() : u_.size());
    archive.sized_or_empty(settled_, passes_.size());
    archive.sized(counts_, m_.rows * (planes_ + 1));
    if constexpr (!Space::kLinear) passes_.archive(archive);
  }

  double free_bias(std::size_t c) const { return scales_[c].b; }

 private:
  struct Scale {        // of one hyperplane
    double s = 0;       // w = s v
    double pi = 1;      // product of the projections
    double sum = 0;     // of s over the steps being averaged
    double square = 0;  // |v|^2, kept where there is projection
    double b = 0;       // free bias

    void archive(Archive& archive) { archive(s, pi, sum, square, b); }
  };

  // Rows ahead whose beginning is asked for, and whose place is (before the row itself can be).
  static constexpr std::size_t kRowAhead = 4, kOffsetAhead = 8;
  // |v|^2 is computed from v once the steps since then took so many times as long.
  static constexpr std::uint64_t kMeasureEvery = 4;
  // pi is moved into v before it leaves the range of double; and, while points are averaged, before
  // S and v, one growing as the other shrinks, cancel too many digits in S v - u.
  static constexpr double kSmallestPi = 1e-100, kSmallestMeanPi = 1e-3;

  std::int8_t sign(std::uint64_t i, std::size_t c) const {
    return planes_ == 1 ? problems_[0].y[i] : y_[i * planes_ + c];
  }

  // How far b goes in step tau; sum: of y U over the rows inside the margin.
  double bias_move(double sum, double tau) const { return bias_step_ * sum / std::sqrt(tau); }

  void set_scales() {
    for (Scale& scale : scales_) scale.s = base_ * scale.pi / tau_;
  }

  // Asks for the memory of a row: kLevel 2 into a far cache, 3 of its beginning into the nearest,
  // where the hardware sees what follows. As many lines for every row, so that the loop is
  // foreseen; asking for what is not there does no harm. Must be inlined: GCC drops calls that do
  // nothing else.
  template <int kLevel>
  __attribute__((always_inline)) void prefetch(std::uint64_t i) const {
    constexpr std::uint64_t kLine = 64 / sizeof(std::uint32_t);
    __builtin_prefetch(counts_.data() + i * (planes_ + 1), 1, kLevel);
    const std::int8_t* const y = planes_ == 1 ? problems_[0].y.data() + i : y_.data() + i * planes_;
    __builtin_prefetch(y, 0, kLevel);
    if (!problems_[0].costs.empty()) __builtin_prefetch(problems_[0].costs.data() + i, 0, kLevel);
    const std::uint32_t* columns = m_.columns_of(i);
    const auto* values = m_.values_of(i);
    const std::size_t lines = kLevel == 3 ? std::min<std::size_t>(2, lines_) : lines_;
    for (std::size_t k = 0; k < lines; ++k) {
      __builtin_prefetch(columns, 0, kLevel);
      __builtin_prefetch(values, 0, kLevel);
      if (sizeof *values > 4) __builtin_prefetch(values + kLine / 2, 0, kLevel);
      columns += kLine;
      values += kLine;
    }
  }

  // One step for each row: what every run of one problem does all the time, so everything that does
  // not change is out of the loop.
  template <bool kAveraging, bool kScattered>
  void visit_one(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead) {
    const auto m = m_;
    const Problem problem = problems_[0];
    const Simd& simd = passes_.simd();
    const double bias = problem.free_bias ? 0.0 : problem.bias, base = base_;
    double* const v = v_.data();
    double* const u = u_.data();
    std::uint32_t* const counts = counts_.data();
    double tau = tau_, s = scales_[0].s, sum = scales_[0].sum, b = scales_[0].b;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (kScattered) {
        if (j + kOffsetAhead < ahead.size()) {
          __builtin_prefetch(m.offsets + ahead[j + kOffsetAhead]);
        }
        if (j < ahead.size()) prefetch<2>(ahead[j]);
        if (j + kRowAhead < rows.size()) prefetch<3>(rows[j + kRowAhead]);
      }
      const std::uint64_t i = rows[j];
      const auto row = row_of(m, i);
      double score = simd.dot(row, v);
      if (bias != 0) score += bias * v[m.features];
      tau += 1;
      if (kAveraging) sum += s;
      const double y = problem.y[i];
      const bool inside = y * (s * score + b) < 1;
      ++counts[2 * i];
      s = base / tau;
      if (!inside) continue;
      ++counts[2 * i + 1];
      const double factor = y * problem.upper(i);
      simd.add(row, factor, v);
      if (problem.free_bias) b += bias_move(factor, tau);
      if (bias != 0) v[m.features] += factor * bias;
      if (kAveraging) {
        simd.add(row, factor * sum, u);
        if (bias != 0) u[m.features] += factor * sum * bias;
      }
    }
    tau_ = tau;
    scales_[0].s = s;
    scales_[0].sum = sum;
    scales_[0].b = b;
    if (kAveraging) averaged_ += rows.size();
  }

  // One step for each row, whatever was asked for.
  void visit(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> ahead) {
    scores_.resize(stride_);
    factors_.assign(stride_, 0.0);
    more_.assign(stride_, 0.0);
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if constexpr (Space::kLinear) {
        if (j + kOffsetAhead < ahead.size()) {
          __builtin_prefetch(m_.offsets + ahead[j + kOffsetAhead]);
        }
        if (j < ahead.size()) prefetch<2>(ahead[j]);
        if (j + kRowAhead < rows.size()) prefetch<3>(rows[j + kRowAhead]);
      }
      const std::uint64_t i = rows[j];
      passes_.score(i, v_.data(), scores_.data());
      std::uint32_t* const counts = counts_.data() + i * (planes_ + 1);
      ++counts[0];
      tau_ += 1;
      bool hit = false;
      for (std::size_t c = 0; c < planes_; ++c) {
        Scale& scale = scales_[c];
        if (averaging_) scale.sum += scale.s;
        const double y = sign(i, c);
        const bool inside = y * (scale.s * scores_[c] + scale.b) < 1;
        counts[1 + c] += inside ? 1 : 0;
        if (inside && bias_step_ > 0) scale.b += bias_move(y * problems_[0].upper(i), tau_);
        hit = hit || inside;
        factors_[c] = inside ? y * problems_[0].upper(i) / scale.pi : 0;
        scale.s = base_ * scale.pi / tau_;
      }
      if (averaging_) ++averaged_;
      if (projection_) keep_measured(passes_.work(i));
      if (!hit) continue;
      follow(i, factors_.data());
      passes_.add(i, factors_.data(), v_.data());
      if (averaging_) {
        for (std::size_t c = 0; c < planes_; ++c) more_[c] = factors_[c] * scales_[c].sum;
        passes_.add(i, more_.data(), u_.data());
      }
      if (projection_) {
        lengthen(i, scores_.data(), factors_.data());
        project();
      }
      keep_budget();
    }
  }

  // One step on a set of rows.
  void step(std::span<const std::uint64_t> rows) {
    scores_.resize(rows.size() * stride_);
    if constexpr (Space::kLinear) {
      passes_.scores(
          rows.size(), [rows](std::uint64_t k) { return rows[k]; }, v_.data(), scores_.data());
    } else {
      for (std::size_t k = 0; k < rows.size(); ++k) {
        passes_.score(rows[k], v_.data(), scores_.data() + k * stride_);
      }
    }
    tau_ += 1;
    hits_.clear();
    factors_.clear();
    moves_.assign(planes_, 0.0);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::uint64_t i = rows[k];
      std::uint32_t* const counts = counts_.data() + i * (planes_ + 1);
      ++counts[0];
      bool hit = false;
      const std::size_t at = factors_.size();
      factors_.resize(at + stride_);
      for (std::size_t c = 0; c < planes_; ++c) {
        const double y = sign(i, c);
        if (!(y * (scales_[c].s * scores_[k * stride_ + c] + scales_[c].b) < 1)) continue;
        ++counts[1 + c];
        hit = true;
        moves_[c] += y * problems_[0].upper(i);
        factors_[at + c] = y * problems_[0].upper(i) / scales_[c].pi;
      }
      if (hit) {
        hits_.push_back(i);
      } else {
        factors_.resize(at);
      }
    }
    for (std::size_t c = 0; c < planes_ && bias_step_ > 0; ++c) {
      scales_[c].b += bias_move(moves_[c], tau_);
    }
    if (averaging_) {
      for (Scale& scale : scales_) scale.sum += scale.s;
      ++averaged_;
    }
    set_scales();
    add_hits(rows);
  }

  void add_hits(std::span<const std::uint64_t> rows) {
    const auto row = [this](std::uint64_t k) { return hits_[k]; };
    std::uint64_t work = 0;
    for (const std::uint64_t i : rows) work += passes_.work(i);
    if (projection_ && work < passes_.measuring_work()) {
      keep_measured(work);
      scores_.resize(stride_);
      for (std::size_t k = 0; k < hits_.size(); ++k) {
        passes_.score(hits_[k], v_.data(), scores_.data());
        follow(hits_[k], factors_.data() + k * stride_);
        passes_.add(hits_[k], factors_.data() + k * stride_, v_.data());
        lengthen(hits_[k], scores_.data(), factors_.data() + k * stride_);
      }
    } else {
      for (std::size_t k = 0; k < hits_.size(); ++k)
        follow(hits_[k], factors_.data() + k * stride_);
      passes_.combine(hits_.size(), row, factors_.data(), v_.data());
      if (projection_) measure();
    }
    if (averaging_) {
      more_ = factors_;
      for (std::size_t k = 0; k < hits_.size(); ++k) {
        for (std::size_t c = 0; c < planes_; ++c) more_[k * stride_ + c] *= scales_[c].sum;
      }
      passes_.combine(hits_.size(), row, more_.data(), u_.data());
    }
    if (projection_) project();
    keep_budget();
  }

  // Whether a step on row i would find it inside the margin of some hyperplane now.
  bool inside(std::uint64_t i) {
    likely_.resize(stride_);
    passes_.score(i, v_.data(), likely_.data());
    for (std::size_t c = 0; c < planes_; ++c) {
      if (sign(i, c) * (scales_[c].s * likely_[c]) < 1) return true;
    }
    return false;
  }

  void follow(std::uint64_t i, const double* factors) {
    if constexpr (!Space::kLinear) passes_.follow(i, factors);
  }

  // Keeps no more rows with a coefficient than the budget allows. The row that contributes least
  // goes, and the row most like it stands in for it: a phi(x_j) becomes a K(x_j, x_k)/K(x_k, x_k)
  // phi(x_k), with the x_k that comes nearest. That is done to v and u alike, so that a mean over
  // past points is one of points so changed.
  void keep_budget() {
    if constexpr (!Space::kLinear) {
      while (budget_ > 0 && passes_.members().size() > budget_) {
        const std::uint32_t least = least_member();
        const std::span<const double> similar = passes_.with_members(least);
        std::uint32_t nearest = least;
        double factor = 0, most = 0;
        for (std::size_t k = 0; k < similar.size(); ++k) {
          const std::uint32_t j = passes_.members()[k];
          const double share = similar[k] * similar[k] / length(j);
          if (j == least || !(length(j) > 0) || !(share > most)) continue;
          most = share;
          nearest = j;
          factor = similar[k] / length(j);
        }
        more_.assign(stride_, 0.0);
        for (std::size_t c = 0; c < stride_; ++c) more_[c] = factor * v_[least * stride_ + c];
        passes_.remove(least, v_.data() + least * stride_);
        if (nearest != least) passes_.follow(nearest, more_.data());
        for (std::size_t c = 0; c < stride_; ++c) {
          move(v_, least * stride_ + c, nearest * stride_ + c, factor);
          if (averaging_) move(u_, least * stride_ + c, nearest * stride_ + c, factor);
        }
      }
    }
  }

  static void move(Buffer<double>& w, std::size_t from, std::size_t to, double factor) {
    const double value = std::exchange(w[from], 0.0);
    if (to != from) w[to] += factor * value;
  }

  // The row with the smallest part in the point and in the mean, over all hyperplanes: the sum of
  // the squares of its coefficients, times K(x, x). Rather the new row than one as small.
  std::uint32_t least_member() {
    std::uint32_t least = 0;
    double smallest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t j : passes_.members()) {  // the new one is the last
      double part = 0;
      for (std::size_t c = 0; c < planes_; ++c) {
        const Scale& scale = scales_[c];
        const double v = v_[j * stride_ + c];
        part += std::pow(scale.s * v, 2);
        if (averaged_ > 0) {
          const double sum = scale.sum * v - u_[j * stride_ + c];
          part += std::pow(sum / static_cast<double>(averaged_), 2);
        }
      }
      part *= std::abs(length(j));
      if (part > smallest) continue;
      smallest = part;
      least = j;
    }
    return least;
  }

  // |v + a x|^2 = |v|^2 + 2 a <v, x> + a^2 |x|^2, with the scores <v, x> from before x was added.
  void lengthen(std::uint64_t i, const double* scores, const double* factors) {
    const double square = length(i);
    for (std::size_t c = 0; c < planes_; ++c) {
      scales_[c].square += factors[c] * (2 * scores[c] + factors[c] * square);
    }
  }

  // |x_i|^2, computed when it is first asked for.
  double length(std::uint64_t i) {
    if (squares_.empty()) squares_.assign(m_.rows, std::nan(""));
    if (std::isnan(squares_[i])) squares_[i] = passes_.square(i);
    return squares_[i];
  }

  // Rounding of |v|^2 must not pile up. When it is computed anew depends on the rows seen, not on
  // what was done with them, so that it does not depend on the other hyperplanes; and it costs a
  // fraction of the steps.
  void keep_measured(std::uint64_t work) {
    unmeasured_ += work;
    if (unmeasured_ > kMeasureEvery * passes_.measuring_work()) measure();
  }

  void measure() {
    std::vector<double> squares(stride_);
    passes_.squares(v_.data(), squares.data());
    for (std::size_t c = 0; c < planes_; ++c) scales_[c].square = squares[c];
    unmeasured_ = 0;
  }

  void project() {
    for (std::size_t c = 0; c < planes_; ++c) {
      Scale& scale = scales_[c];
      const double length = scale.s * std::sqrt(std::max(0.0, scale.square));
      if (length <= radius_) continue;
      scale.pi *= radius_ / length;
      scale.s = base_ * scale.pi / tau_;
      if (scale.pi < (averaging_ ? kSmallestMeanPi : kSmallestPi)) fold(c);
    }
  }

  // Moves pi into v, and what was averaged so far out of the way.
  void fold(std::size_t c) {
    Scale& scale = scales_[c];
    if (averaging_) {
      settled_.resize(v_.size());
      for (std::size_t j = c; j < v_.size(); j += stride_) {
        settled_[j] += scale.sum * v_[j] - u_[j];
        u_[j] = 0;
      }
      scale.sum = 0;
    }
    for (std::size_t j = c; j < v_.size(); j += stride_) v_[j] *= scale.pi;
    if constexpr (!Space::kLinear) passes_.follow_factor(c, scale.pi);
    scale.square *= scale.pi * scale.pi;
    scale.s /= scale.pi;
    scale.pi = 1;
  }

  // a v + b u for each hyperplane, (a, b) = factors(its scale).
  template <class Factors>
  std::vector<double> combination(Factors factors) const {
    std::vector<double> out(v_.size());
    for (std::size_t c = 0; c < planes_; ++c) {
      const auto [a, b] = factors(scales_[c]);
      for (std::size_t j = c; j < v_.size(); j += stride_) {
        out[j] = a * v_[j] + (b == 0 ? 0.0 : b * u_[j]);
      }
    }
    return out;
  }

  Space& passes_;
  const typename Space::Rows& m_;
  std::span<const Problem> problems_;
  std::size_t planes_, stride_;
  std::uint64_t batch_;
  bool projection_;
  std::uint64_t budget_;
  std::size_t lines_ = 1;  // of memory that the columns of a row take, about
  double radius_ = 0;      // 1/sqrt(lambda)
  double base_;            // m/k
  double bias_step_ = 0;   // 2 m/(k sum_i U_i), with a free bias
  double tau_;             // t0 + steps done
  std::vector<Scale> scales_;
  Buffer<double> v_, u_;         // in huge pages: their entries are met in no order
  std::vector<double> settled_;  // the part of a sum of points that is no longer in S v - u
  bool averaging_ = false;
  std::uint64_t averaged_ = 0;
  std::uint64_t unmeasured_ = 0;  // work of the steps since |v|^2 was last computed from v
  std::vector<std::int8_t> y_;  // of several hyperplanes: of row i and hyperplane c at i planes + c
  std::vector<std::uint32_t> counts_;
  std::vector<double> squares_;      // |x_i|^2 of the rows it was asked for, else not a number
  std::vector<std::uint64_t> hits_;  // of the present step
  std::vector<double> scores_, factors_, more_, likely_, moves_;
};

}  // namespace hinge
