// The small quadratic program of a cutting-plane method (docs/math.md):
//
//   max q(beta) = sum_j b_j beta_j - 1/2 beta' G beta,   beta >= 0, sum_j beta_j <= total
//
// G_jk = <a_j, a_k>, one row for each plane. What sum beta lacks of `total` is the weight of one
// more plane, the slack, with a = 0 and b = 0; then the weights always add up to `total`. With g =
// b - G beta, the gradient, and 0 for the slack,
//
//   q* - q(beta) <= gap = total * max(0, max_j g_j) - sum_j beta_j g_j.
//
// Newton steps move all positive weights at once, by a Cholesky factor of their part of G, until
// one becomes zero or q is largest; then the plane of the largest g joins: O(planes^2) a step, and
// one to three of them a call. The factor outlives the call: between two calls few planes come and
// go, and each changes it in O(planes^2). Where rounding stops these steps, pair steps move weight
// from one plane to another, O(planes) each; alone they would zigzag among planes that are nearly
// parallel, and late in a training all are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"

namespace hinge {

struct QpAnswer {
  double value = 0;         // q(beta)
  double gap = 0;           // as above, from g computed anew: q* - q(beta) <= gap but for rounding
  std::uint64_t steps = 0;  // pair steps and Newton steps
  bool stalled = false;     // gap > tolerance, but rounding lets no step ascend, or steps ran out
};

// R'R = the part of G that belongs to a list of planes, its members; they come at the end and leave
// from anywhere. A pivot that rounding has eaten is held above zero, so R always has an inverse:
// along directions in which planes depend on each other it is huge, and a step by it ends where a
// weight becomes zero, as it should.
class GramFactor {
 public:
  std::size_t size() const { return members_.size(); }
  std::size_t member(std::size_t place) const { return members_[place].plane; }
  bool contains(std::size_t plane) const { return is_member_[plane] != 0; }

  // Finds the members again among the planes of another call, by their b and a part of G, also
  // where planes before them were taken out; drops those that are gone.
  void meet(const double* gram, std::size_t stride, std::span<const double> b);
  void clear();
  void append(const double* gram, std::size_t stride, double b, std::size_t plane);
  void remove(std::size_t place);

  // x = R^-T x and x = R^-1 x
  void solve_transposed(double* x) const;
  void solve(double* x) const;
  const double* ones() const { return ones_.data(); }  // R^-T (1, ..., 1)

  void archive(Archive& archive, std::size_t most);  // of at most so many planes

 private:
  struct Member {
    std::size_t plane;
    double b, norm, product;  // G_jj; G_jk with the member before

    void archive(Archive& archive) { archive(plane, b, norm, product); }
  };
  void grow(std::size_t capacity);
  void rotate_away(std::size_t place);

  double least_ = 0;                     // pivot
  std::size_t capacity_ = 0;             // the stride of r_
  std::vector<double> r_;                // upper triangle, by rows
  std::vector<double> ones_;             // goes with R's rows through every rotation
  std::vector<double> column_;           // scratch
  std::vector<Member> members_;          // by column of R
  std::vector<std::uint8_t> is_member_;  // by plane
};

// Owns its memory: calls allocate only when there are more planes than ever before. One thread at a
// time. Answers depend on nothing but the calls made so far, to the last bit.
class SimplexQp {
 public:
  // gram: row j begins at gram[j * stride], stride >= b.size(); symmetric, finite, positive
  // semidefinite but for rounding. With a stride of 512 or 1024 rows compete for the same lines of
  // the cache, and all takes half as long again. total: finite, >= 0. Ends at gap <= tolerance.
  // beta: where to start. What is negative or no number counts as 0, too large a sum is scaled to
  // `total`, and a point with q < 0 is replaced by 0. The answer's q is not lower; where both are
  // the same but for rounding, a few epsilon of sum_j beta_j (|b_j| + |b_j - g_j|), its gap is
  // smaller. sum beta may exceed total by rounding, less than 1e-12 of it. Planes may be appended
  // between calls, and any taken out; the order of the others should stay.
  QpAnswer solve(std::span<const double> gram, std::size_t stride, std::span<const double> b,
                 double total, double tolerance, std::span<double> beta);

  // What one call leaves for the next; of at most so many planes.
  void archive(Archive& archive, std::size_t most) { factor_.archive(archive, most); }

 private:
  struct Height {
    double value, gap, noise;  // what rounding may have done to value
  };
  void start();
  void measure();
  double value() const;
  double gap() const;
  Height height() const;
  bool not_below(const Height& other) const;
  void pair_steps(std::size_t most);
  bool pair_step();
  void newton_steps(std::size_t most);
  bool newton_step();
  bool direction();
  double slope(double shift) const;
  void move_to(double t);
  const double* row(std::size_t plane) const { return gram_ + plane * stride_; }

  // The call's arguments.
  const double* gram_ = nullptr;
  std::size_t stride_ = 0, planes_ = 0;
  const double* b_ = nullptr;
  double total_ = 0, tolerance_ = 0;
  double* beta_ = nullptr;

  std::uint64_t steps_ = 0;
  double slack_ = 0;           // total - sum beta
  double beta_g_ = 0;          // sum_j beta_j g_j
  double largest_ = 0;         // max(0, max_j g_j)
  std::vector<double> g_;      // b - G beta
  bool fresh_ = false;         // g_ was computed from G, not carried along
  std::vector<double> begin_;  // beta as given, repaired

  // A Newton step, by place in the factor.
  GramFactor factor_;
  bool met_ = false;            // factor_ knows the planes of this call
  std::vector<double> origin_;  // beta before it
  std::vector<double> d_;       // direction
  double d_sum_ = 0;            // what the slack loses along it
  double limit_ = 0;            // how far the boundary is
  std::size_t wall_ = 0;        // and which member reaches it; size() means the slack
  bool at_wall_ = false;        // the last step ended there
};

}  // namespace hinge
