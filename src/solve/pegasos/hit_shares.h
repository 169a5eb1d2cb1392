// Dual variables from what was learned: alpha_i = U_i times the mean of the shares that row i was
// learned with at its visits (solve/update.h). With the hinge that is the part of its visits in
// which it was hit, inside the margin; of mistakes alone there are fewer. It lies in its range
// whatever was drawn (docs/pegasos.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/archive.h"
#include "objective/problem.h"
#include "solve/pegasos/last_half.h"
#include "solve/update.h"

namespace hinge {

// Visits and sums of shares as PegasosState has them: counts of hits where shares are 0 or 1.
template <class Loss>
struct ShareCounts {
  using Number = std::conditional_t<kLearnsByHits<Loss>, std::uint32_t, double>;

  std::span<const Number> numbers;
  std::size_t hyperplanes;

  bool known() const { return !numbers.empty(); }
  Number visits(std::uint64_t i) const { return numbers[i * (hyperplanes + 1)]; }
  Number shares(std::uint64_t i, std::size_t c) const {
    return numbers[i * (hyperplanes + 1) + 1 + c];
  }
};

// One number a row, of one of several hyperplanes that lie interleaved.
struct RowNumbers {
  double* numbers;
  std::size_t stride, hyperplane;

  double& operator[](std::uint64_t i) const { return numbers[i * stride + hyperplane]; }
};

// A point that was measured: w, or the best multiple of it.
struct MeasuredPoint {
  double primal = 0;
  double factor = 1;  // by which the point is multiplied
  double bias = 0;    // the best free bias for that
  double slope = 0;   // of the primal by the factor, with a free bias
};

template <class Loss>
class HitShares {
 public:
  using Counts = ShareCounts<Loss>;
  using Number = typename Counts::Number;

  explicit HitShares(const LastHalf& halves) : halves_(halves) {}

  // The steps after which mark() is due.
  std::uint64_t next_mark() const { return halves_.next(); }
  void mark(const Counts& now) {
    before_.swap(mark_);
    mark_.assign(now.numbers.begin(), now.numbers.end());
    marked_ = true;
    halves_.mark();
  }
  // Once mark() was called; a rank may have no rows to count.
  bool marked() const { return marked_; }

  // Replaces the scores of the rows by y alpha, with the shares of about the last half of the
  // steps; if these end now, after so many, the present part must have `least` to stand alone. A
  // row without a visit in that time has its share of all steps; one never visited is judged by its
  // score at the measured point.
  void of_last_half(const Problem& problem, const Counts& now, std::uint64_t steps,
                    std::uint64_t least, const MeasuredPoint& at, RowNumbers rows) const {
    const auto loss = make_loss<Loss>(problem.loss);
    const Counts from = {halves_.both(steps, least) ? before_ : mark_, now.hyperplanes};
    const std::size_t c = rows.hyperplane;
    for (std::uint64_t i = 0; i < problem.y.size(); ++i) {
      double& row = rows[i];
      Number visits = now.visits(i), shares = now.shares(i, c);
      if (from.known() && visits > from.visits(i)) {
        visits -= from.visits(i);
        shares -= from.shares(i, c);
      }
      if (visits == 0) {
        const double score = problem.y[i] * (at.factor * row + at.bias);
        shares = share_at(loss, problem.margin<Loss>(i, score));
        visits = shares != 0 ? 1 : 0;
      }
      row = visits == 0 ? 0.0 : problem.y[i] * variable(shares, problem.upper(i), visits);
    }
  }

  // The same with the shares of all steps, which are better where rows are hardly hit any more. Of
  // rows never visited it leaves what is there.
  static void of_all_steps(const Problem& problem, const Counts& now, RowNumbers rows) {
    for (std::uint64_t i = 0; i < problem.y.size(); ++i) {
      const Number visits = now.visits(i), shares = now.shares(i, rows.hyperplane);
      if (visits > 0) rows[i] = problem.y[i] * variable(shares, problem.upper(i), visits);
    }
  }

  // After so many steps; `size` is that of the counts.
  void archive(Archive& archive, std::uint64_t steps, std::size_t size) {
    halves_.archive(archive, steps);
    archive.require(halves_.next() > steps);
    archive.sized_or_empty(before_, size);
    archive.sized_or_empty(mark_, size);
    if (archive.reading()) marked_ = !mark_.empty();
  }

 private:
  static Number share_at(const Loss& loss, double margin) {
    if constexpr (kLearnsByHits<Loss>) {
      return loss.inside(margin) ? 1 : 0;
    } else {
      return -loss.slope(margin);
    }
  }
  static double variable(Number shares, double upper, Number visits) {
    if constexpr (kLearnsByHits<Loss>) {
      return shares * upper / visits;
    } else {  // differences of sums are rounded
      return upper * std::clamp(shares / visits, Loss::kLowest, Loss::kHighest);
    }
  }

  LastHalf halves_;
  bool marked_ = false;
  std::vector<Number> before_, mark_;  // counts at the last two marks
};

}  // namespace hinge
