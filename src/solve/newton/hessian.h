// F'' = I + curvature sum_i c_i x_i x_i^T over the rows between their bounds (newton/part.h), and
// the system of a Newton step: solved by products with F'' where that costs less than to build and
// factor it, which depends on columns, rows and how well conditioned it proves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/newton/block_sums.h"
#include "solve/newton/conjugate_gradients.h"
#include "solve/newton/rows.h"
#include "solve/newton/system.h"
#include "solve/newton/tuning.h"

namespace hinge {

template <class Value>
class NewtonHessian {
 public:
  // All must outlive this. `costs`: c_i, or empty: all 1.
  NewtonHessian(const NewtonRows<Value>& rows, std::span<const std::uint64_t> cuts,
                std::span<const double> costs, const Problem& problem, NewtonSystem& system,
                const Simd& simd, Pool& pool, std::uint64_t& touched)
      : rows_(rows),
        cuts_(cuts),
        costs_(costs),
        bias_(problem.bias),
        free_(problem.free_bias),
        features_(problem.data->features()),
        regularised_(problem.regularised()),
        system_(system),
        simd_(simd),
        pool_(pool),
        touched_(touched),
        blocks_(cuts.size() - 1),
        in_sum_(rows.rows()) {
    for (Block& block : blocks_) block.sum.resize(system.size());
  }

  // What follows does not depend on what was, but for how many products it took: so that a run can
  // go on from a state without matrices.
  void forget() {
    sum_is_old_ = true;
    diagonal_.clear();
  }
  void archive(Archive& archive) {
    archive(products_, gain_);
    archive.require(gain_ >= 0 && gain_ < 1);
  }

  // For a loss without corners, whose steps need not be exact: where there is no matrix, products
  // end by what they gain, and columns that bend F little are taken for as bent as I. They gain
  // more where steps are too loose.
  void end_by_gain() { gain_ = system_.factors() ? 0.0 : NewtonTuning::kProductGain; }
  void gain_more() { gain_ *= NewtonTuning::kResidualLess; }

  // The rows now between their bounds.
  template <class Between>
  void list(const Between& between) {
    pool_.run(blocks_.size(), [&](std::size_t b) {
      Block& block = blocks_[b];
      block.terms.clear();
      block.flips.clear();
      for (std::uint64_t i = cuts_[b]; i < cuts_[b + 1]; ++i) {
        const bool in = between(i), was = in_sum_[i] != 0;
        const double c = costs_.empty() ? 1.0 : costs_[i];
        if (in) block.terms.push_back({i, c});
        if (in != was) block.flips.push_back({i, in ? c : -c});
      }
    });
    count_ = 0;
    for (const Block& block : blocks_) count_ += block.terms.size();
  }

  // All rows, each with a weight of its own, for a sum from scratch.
  template <class Weight>
  void weigh(const Weight& weight) {
    forget();
    pool_.run(blocks_.size(), [&](std::size_t b) {
      Block& block = blocks_[b];
      block.terms.clear();
      for (std::uint64_t i = cuts_[b]; i < cuts_[b + 1]; ++i) {
        const double u = weight(i) * (costs_.empty() ? 1.0 : costs_[i]);
        if (u > 0) block.terms.push_back({i, u});
      }
    });
    count_ = 0;
    for (const Block& block : blocks_) count_ += block.terms.size();
  }

  // F'' s = g, exactly (true) or to about such a residual; s is of no use if go() says no.
  template <class Go>
  bool solve(double curvature, double residual, const std::vector<double>& g,
             std::vector<double>& s, const Go& go) {
    if (solve_by_products(curvature, residual, g, s, go) || !go()) return false;
    follow();
    s = g;
    system_.solve(curvature, s.data());
    return true;
  }

 private:
  using Term = NewtonSystem::Term;
  struct alignas(NewtonTuning::kLine) Block {
    std::vector<Term> terms;  // rows between their bounds
    std::vector<Term> flips;  // that the sum lacks, or has too many
    std::vector<double> sum;
  };

  // The sum follows the rows between their bounds: by those that joined and left, or from scratch
  // if these are more.
  void follow() {
    std::size_t flips = 0;
    for (const Block& block : blocks_) flips += block.flips.size();
    const bool anew = std::exchange(sum_is_old_, false) || flips > count_;
    if (anew) system_.clear();
    all_.clear();
    for (const Block& block : blocks_) {
      const std::vector<Term>& terms = anew ? block.terms : block.flips;
      all_.insert(all_.end(), terms.begin(), terms.end());
      for (const Term& flip : block.flips) in_sum_[flip.row] ^= 1U;
    }
    system_.add(rows_, all_);
    touched_ += all_.size();
  }

  // How many products cost less than to build the sum and to factor it. Costs are as in system.h.
  double worth_products() const {
    using Tuning = NewtonTuning;
    if (!system_.factors()) return Tuning::kMostProducts;
    const auto rows = static_cast<double>(count_), n = static_cast<double>(system_.size());
    const double width = rows_.mean_width();
    const double product =
        rows * (Tuning::kProductRow +
                width * (rows_.full() ? Tuning::kProductFull : Tuning::kProductSparse)) +
        n;
    // Where the sum is kept up to date, few rows join or leave it.
    const double terms = rows * (sum_is_old_ ? 1 : Tuning::kFlips);
    const double exact =
        NewtonSystem::sum_work(terms, width, n, rows_.full()) + NewtonSystem::factor_work(n);
    return std::min(Tuning::kMostProducts, Tuning::kWorthProducts * exact / product);
  }

  // False: it does not pay, or did not.
  template <class Go>
  bool solve_by_products(double curvature, double residual, const std::vector<double>& g,
                         std::vector<double>& s, const Go& go) {
    const auto most = static_cast<std::uint64_t>(worth_products());
    if (system_.factors() && most < std::max(NewtonTuning::kLeastProducts, products_)) return false;
    if (diagonal_.empty()) find_diagonal();
    std::vector<double> diagonal(g.size());
    for (std::size_t j = 0; j < g.size(); ++j) {
      diagonal[j] = curvature * diagonal_[j] + (free_ && j == features_ ? 0 : 1);
      if (!(diagonal[j] > 0)) diagonal[j] = 1;
    }
    if (gain_ > 0) {
      for (double& each : diagonal) each += 1 / NewtonTuning::kOfDiagonal - 1;
    }
    const std::uint64_t products = conjugate_gradients(
        [&](const std::vector<double>& x, std::vector<double>& y) { multiply(curvature, x, y); },
        diagonal, g, {.residual = residual, .products = most, .gain = gain_}, go, s);
    products_ = std::min(products, most);
    return products <= most || !system_.factors();
  }

  // y = F'' x
  void multiply(double curvature, const std::vector<double>& x, std::vector<double>& y) {
    // Vectors of conjugate gradients and of each block are as long as the columns.
    system_.add_work(NewtonTuning::kProductNumber * static_cast<double>(x.size()) *
                     (NewtonTuning::kProductVectors + 2 * static_cast<double>(blocks_.size())));
    constexpr std::size_t kRun = NewtonTuning::kRowsAtOnce;
    const double constant = bias_ == 0 ? 0.0 : bias_ * x[features_];
    for_terms([&](std::span<const Term> terms, std::vector<double>& sum) {
      double factors[kRun];
      double all = 0;
      for (std::size_t from = 0; from < terms.size(); from += kRun) {
        const std::size_t run = std::min(kRun, terms.size() - from);
        const auto row = [&](std::uint64_t k) { return terms[from + k].row; };
        rows_.scores(run, row, x.data(), factors);
        for (std::size_t k = 0; k < run; ++k) {
          factors[k] = terms[from + k].u * (factors[k] + constant);
          all += factors[k];
        }
        rows_.add(run, row, factors, sum.data());
      }
      if (bias_ != 0) sum[features_] += bias_ * all;
    });
    for (std::size_t j = 0; j < x.size(); ++j) y[j] = j < regularised_ ? x[j] : 0.0;
    take_sums(curvature, y);
  }

  void find_diagonal() {
    for_terms([&](std::span<const Term> terms, std::vector<double>& sum) {
      for (const Term& term : terms) {
        rows_.add_squares(term.row, term.u, sum.data());
        if (bias_ != 0) sum[features_] += term.u * bias_ * bias_;
      }
    });
    diagonal_.assign(system_.size(), 0.0);
    take_sums(1, diagonal_);
  }

  template <class Add>
  void for_terms(const Add& add) {
    pool_.run(blocks_.size(), [&](std::size_t b) {
      Block& block = blocks_[b];
      if (block.terms.empty()) return;
      std::ranges::fill(block.sum, 0.0);
      add(block.terms, block.sum);
    });
    touched_ += count_;
  }
  void take_sums(double factor, std::vector<double>& to) const {
    add_vectors(
        blocks_,
        [](const Block& block) { return block.terms.empty() ? nullptr : block.sum.data(); }, factor,
        to, simd_, pool_);
  }

  const NewtonRows<Value>& rows_;
  std::span<const std::uint64_t> cuts_;
  std::span<const double> costs_;
  const double bias_;
  const bool free_;
  const std::size_t features_, regularised_;
  NewtonSystem& system_;
  const Simd& simd_;
  Pool& pool_;
  std::uint64_t& touched_;
  std::vector<Block> blocks_;
  std::vector<Term> all_;
  std::uint64_t count_ = 0;           // rows between their bounds
  std::vector<std::uint8_t> in_sum_;  // which are in that of the system,
  bool sum_is_old_ = true;            // unless it is to be made anew
  std::vector<double> diagonal_;      // of the sum, for products; empty: not known
  std::uint64_t products_ = 0;        // that the last solution took
  double gain_ = 0;                   // see end_by_gain()
};

}  // namespace hinge
