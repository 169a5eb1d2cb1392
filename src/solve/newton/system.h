// The linear system of a Newton step, (I + slope sum_i u_i x_i x_i^T) s = g over some rows: the sum
// is kept and rows join or leave it; factored anew for each step. A bias S is a last coordinate
// that is S in every row; if it is free, I has 0 there.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "objective/problem.h"
#include "simd/simd.h"
#include "solve/newton/rows.h"
#include "solve/newton/tuning.h"

namespace hinge {

class NewtonSystem {
 public:
  // One row of the sum; u < 0: it leaves.
  struct Term {
    std::uint64_t row;
    double u;
  };

  NewtonSystem(const Problem& problem, const Simd& simd, Pool& pool);

  std::size_t size() const { return size_; }  // coordinates, and more up to a multiple of 8
  // Whether there is a matrix at all: it is not where it would be too large. Then only size() may
  // be used.
  bool factors() const { return size_ <= NewtonTuning::kMostColumns; }

  void clear();
  template <class Value>
  void add(const NewtonRows<Value>& rows, std::span<const Term> terms);

  // x <- the solution for the right-hand side x, of size() numbers.
  void solve(double slope, double* x);

  // What sums and factors cost, in about nanoseconds, as measured on one CPU; ratios count. A sum
  // over rows of so many entries each; a factor of n columns.
  static double sum_work(double rows, double width, double n, bool full) {
    return rows *
           (full ? n * n / NewtonTuning::kSumFull : width * width / NewtonTuning::kSumSparse);
  }
  static double factor_work(double n) { return n * n * n / NewtonTuning::kFactor + n * n; }
  // Work of these, and of others who solve the system their way, since this was last asked.
  void add_work(double work) { work_ += work; }
  double take_work() { return std::exchange(work_, 0.0); }

  // About how many bytes it takes at most.
  static double memory(std::uint64_t dimension);

 private:
  template <class Value>
  void add_sparse(const NewtonRows<Value>& rows, std::span<const Term> terms, double* h,
                  std::size_t from, std::size_t to) const;
  template <class Value>
  void add_full(const NewtonRows<Value>& rows, std::span<const Term> terms);
  static std::size_t parts(std::size_t size);
  void clear(double* matrix) const;

  const Simd& simd_;
  Pool& pool_;
  const std::size_t features_, size_;
  const double bias_;
  const bool free_;
  const double least_part_;  // work
  double work_ = 0;
  Buffer<double> sum_, factor_;
  Buffer<double> parts_;               // of sums over sparse rows
  Buffer<double> columns_, weighted_;  // of some full rows
};

}  // namespace hinge
