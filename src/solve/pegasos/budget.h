// A budget of rows with a coefficient, with a kernel: what gives way when a step adds one too many.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "solve/pegasos/scaled_point.h"

namespace hinge {

// |x_i|^2 of rows, each computed when it is first asked for.
template <class Space>
class RowSquares {
 public:
  explicit RowSquares(const Space& passes) : passes_(passes) {}
  double of(std::uint64_t i) {
    if (squares_.empty()) squares_.assign(passes_.rows().rows, std::nan(""));
    if (std::isnan(squares_[i])) squares_[i] = passes_.square(i);
    return squares_[i];
  }

 private:
  const Space& passes_;
  std::vector<double> squares_;  // of the rows it was asked for, else not a number
};

// Keeps no more rows with a coefficient than the budget allows. The row that contributes least
// goes, and the row most like it stands in for it: a phi(x_j) becomes a K(x_j, x_k)/K(x_k, x_k)
// phi(x_k), with the x_k that comes nearest. That is done to v and u alike, so that a mean over
// past points is one of points so changed.
template <class Space>
class Budget {
 public:
  Budget(Space& passes, std::uint64_t most) : passes_(passes), most_(most) {}

  void keep(ScaledPoint<Space>& point, RowSquares<Space>& squares) {
    const std::size_t stride = passes_.stride();
    while (most_ > 0 && passes_.members().size() > most_) {
      const std::uint32_t least = least_member(point, squares);
      const auto [nearest, factor] = most_like(least, squares);
      double* const v = point.v();
      more_.assign(stride, 0.0);
      for (std::size_t c = 0; c < stride; ++c) more_[c] = factor * v[least * stride + c];
      passes_.remove(least, v + least * stride);
      if (nearest != least) passes_.follow(nearest, more_.data());
      for (std::size_t c = 0; c < stride; ++c) {
        const std::size_t from = least * stride + c, to = nearest * stride + c;
        move(v, from, to, factor);
        if (point.averaging()) move(point.u(), from, to, factor);
      }
    }
  }

 private:
  // The member whose multiple comes nearest to `row`, and that multiple; `row` itself if none does.
  std::pair<std::uint32_t, double> most_like(std::uint32_t row, RowSquares<Space>& squares) {
    const std::span<const double> similar = passes_.with_members(row);
    std::uint32_t nearest = row;
    double factor = 0, most = 0;
    for (std::size_t k = 0; k < similar.size(); ++k) {
      const std::uint32_t j = passes_.members()[k];
      const double square = squares.of(j);
      const double share = similar[k] * similar[k] / square;
      if (j == row || !(square > 0) || !(share > most)) continue;
      most = share;
      nearest = j;
      factor = similar[k] / square;
    }
    return {nearest, factor};
  }

  static void move(double* w, std::size_t from, std::size_t to, double factor) {
    const double value = std::exchange(w[from], 0.0);
    if (to != from) w[to] += factor * value;
  }

  // The row with the smallest part in the point and in the mean, over all hyperplanes: the sum of
  // the squares of its coefficients, times K(x, x). Rather the new row than one as small.
  std::uint32_t least_member(ScaledPoint<Space>& point, RowSquares<Space>& squares) {
    const std::size_t stride = passes_.stride();
    std::uint32_t least = 0;
    double smallest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t j : passes_.members()) {  // the new one is the last
      double part = 0;
      for (std::size_t c = 0; c < point.hyperplanes(); ++c) {
        const auto& scale = point.scale(c);
        const double v = point.v()[j * stride + c];
        part += std::pow(scale.s * v, 2);
        if (point.averaged() > 0) {
          const double sum = scale.sum * v - point.u()[j * stride + c];
          part += std::pow(sum / static_cast<double>(point.averaged()), 2);
        }
      }
      part *= std::abs(squares.of(j));
      if (part > smallest) continue;
      smallest = part;
      least = j;
    }
    return least;
  }

  Space& passes_;
  std::uint64_t most_;  // 0: any number
  std::vector<double> more_;
};

}  // namespace hinge
