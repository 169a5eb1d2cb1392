// The best primal point among those a solver has met and the lines between them. A dual solver
// comes to the optimum by points whose primal value is far above it; on the line from the best
// point to a new one, margins are linear, and the exact minimum costs no pass over the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/archive.h"
#include "data/problem.h"

namespace hinge {

class BestPoint {
 public:
  explicit BestPoint(const Problem& problem) : problem_(problem) {}

  // A point w with gradient_i = y_i (score of row i) - 1. Where `remember` is set the last few
  // points stay at hand, and lines to them are searched as well.
  void offer(std::span<const double> w, std::span<const double> gradient, bool remember);

  bool empty() const { return best_.w.empty(); }
  double primal() const { return primal_; }  // P of the best point
  std::vector<double> take() { return std::move(best_.w); }

  void archive(Archive& archive);

 private:
  struct Point {
    std::vector<double> w, gradient;
    void archive(Archive& archive) { archive(w, gradient); }
  };
  double value(std::span<const double> w, std::span<const double> gradient) const;
  bool move_along(std::span<const double> w, std::span<const double> gradient, double sign);

  const Problem& problem_;
  Point best_;
  double primal_ = 0;
  double noise_ = 1;  // how far margins and w may be apart, in roundings
  std::deque<Point> past_;
};

}  // namespace hinge
