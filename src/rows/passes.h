// Passes over rows for one hyperplane or for several at once.
//
// Vectors of several hyperplanes lie interleaved: entry j of hyperplane c is w[j * stride + c]. The
// entry after the last feature is the weight of the constant feature, if there is one. Results are
// the same to the bit for any number of threads: scores belong to one row each. A sum over many
// rows is one over groups of them, each of which has a vector of its own; how many groups there
// are follows from the rows and from how many are summed, and they are added up in order.
// Where vectors of their own would cost more than they spare, threads share the columns out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/pool.h"
#include "simd/simd.h"

namespace hinge {

template <class Value>
class Passes {
 public:
  using Rows = CsrView<Value>;
  static constexpr bool kLinear = true;  // KernelPasses has the same functions for kernels

  Passes(const CsrView<Value>& m, double bias, std::size_t hyperplanes, const Simd& simd,
         Pool& pool)
      : m_(m), bias_(bias), stride_(stride_of(hyperplanes)), simd_(simd), pool_(pool) {}

  const CsrView<Value>& rows() const { return m_; }
  std::size_t stride() const { return stride_; }
  std::size_t dimension() const { return m_.features + (bias_ != 0 ? 1 : 0); }
  std::size_t size() const { return dimension() * stride_; }  // of a vector for all hyperplanes
  const Simd& simd() const { return simd_; }

  // |x_i|^2, the constant feature included
  double square(std::uint64_t i) const { return square_of(row_of(m_, i)) + bias_ * bias_; }

  // |w_c|^2 of each hyperplane; the second form where the scores of all rows are known.
  void squares(const double* w, double* out) const {
    for (std::size_t c = 0; c < stride_; ++c) {
      double sum = 0;
      for (std::size_t j = c; j < size(); j += stride_) sum += w[j] * w[j];
      out[c] = sum;
    }
  }
  void squares(const double* w, const double*, double* out) const { squares(w, out); }

  // How much work a score is, and squares(), in the same unit.
  std::uint64_t work(std::uint64_t i) const { return m_.offsets[i + 1] - m_.offsets[i]; }
  std::uint64_t measuring_work() const { return dimension(); }

  // How many rows may have a dual variable that is not 0 lest the bound take too long: any number.
  std::uint64_t most_in_bound() const { return m_.rows; }

  // out[c] = <w_c, x_i>, c < stride
  void score(std::uint64_t i, const double* w, double* out) const {
    const SparseRow<Value> row = row_of(m_, i);
    if (stride_ == 1) {
      *out = simd_.dot(row, w);
      if (bias_ != 0) *out += bias_ * w[m_.features];
      return;
    }
    simd_.dot_many(row, w, stride_, out);
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) out[c] += bias_ * w[m_.features * stride_ + c];
  }

  // w_c += a[c] x_i
  void add(std::uint64_t i, const double* a, double* w) const {
    add_part(row_of(m_, i), a, w);
    add_bias(a, w);
  }

  // out[k * stride + c] = <w_c, x_row(k)> for k < count
  template <class RowOf>
  void scores(std::uint64_t count, const RowOf& row, const double* w, double* out) {
    if (!worth_sharing(count)) {
      for (std::uint64_t k = 0; k < count; ++k) {
        if (k % kPollRows == 0) pool_.poll();
        score(row(k), w, out + k * stride_);
      }
      return;
    }
    const std::uint64_t share = (count + kShares - 1) / kShares;
    pool_.run((count + share - 1) / share, [&](std::size_t block) {
      const std::uint64_t end = std::min(count, (block + 1) * share);
      for (std::uint64_t k = block * share; k < end; ++k) score(row(k), w, out + k * stride_);
    });
  }

  // w_c += sum over k < count of a[k * stride + c] x_row(k)
  template <class RowOf>
  void combine(std::uint64_t count, const RowOf& row, const double* a, double* w) {
    const std::size_t groups = groups_of(count), numbers = size();
    const auto begin_of = [&](std::size_t group) { return count * group / groups; };
    if (groups == 1) return add_range(0, count, row, a, w);
    // So many groups at a time have vectors; the first of all is added to w itself.
    const std::size_t wave =
        pool_.threads() == 1 ? 1 : std::clamp<std::size_t>(kNumbersOfGroups / numbers, 1, groups);
    sums_.resize(std::max(sums_.size(), wave * numbers));
    for (std::size_t first = 0; first < groups; first += wave) {
      const std::size_t last = std::min(groups, first + wave);
      const auto sum_of = [&](std::size_t group) {
        return group == 0 ? w : sums_.data() + (group - first) * numbers;
      };
      if (wave == 1) {
        if (first > 0) std::fill_n(sum_of(first), numbers, 0.0);
        add_range(begin_of(first), begin_of(last), row, a, sum_of(first));
      } else {
        pool_.run(last - first, [&](std::size_t k) {
          if (first + k > 0) std::fill_n(sum_of(first + k), numbers, 0.0);
          add_rows(begin_of(first + k), begin_of(first + k + 1), row, a, sum_of(first + k));
        });
      }
      pool_.run((numbers + kNumbersAtATime - 1) / kNumbersAtATime, [&](std::size_t block) {
        const std::size_t from = block * kNumbersAtATime,
                          some = std::min(kNumbersAtATime, numbers - from);
        for (std::size_t group = std::max<std::size_t>(1, first); group < last; ++group) {
          simd_.add_dense(1, sum_of(group) + from, w + from, some);
        }
      });
    }
  }

 private:
  static constexpr std::uint64_t kShares = 64;      // blocks of a shared pass
  static constexpr std::uint64_t kWorth = 1 << 17;  // operations worth waking threads
  static constexpr std::uint64_t kPollRows = 1024;  // between two looks at the stop token
  // A sum is one over at most so many groups of rows, of so many entries for each number of a
  // group's vector, which all together have at most so many a hyperplane. Adding the vectors up
  // takes about a third of a sum of the fewest such entries; with four entries a number 16 threads
  // had six to eight groups of the rows that flip in a step of focus on like ccat.
  static constexpr std::uint64_t kMostGroups = 32, kEntriesANumber = 2,
                                 kNumbersOfGroups = std::uint64_t{1} << 22;
  // Numbers of these vectors that are added up at a time.
  static constexpr std::size_t kNumbersAtATime = 2048;
  // From so many numbers on, where there may be few groups or none, threads own columns instead.
  // One has at least so many entries of a row, on average: each of them looks at every row.
  static constexpr std::uint64_t kNumbersToOwn = std::uint64_t{1} << 19, kEntriesOfOwner = 16;

  std::uint64_t mean_entries() const { return m_.nonzeros() / std::max<std::uint64_t>(1, m_.rows); }
  bool worth_sharing(std::uint64_t count) const {
    return pool_.threads() > 1 && count * (mean_entries() + 1) * stride_ >= kWorth;
  }

  // Of a sum over so many rows: a function of these rows alone, whatever other hyperplanes there
  // are.
  std::size_t groups_of(std::uint64_t count) const {
    const std::uint64_t work = count * (mean_entries() + 1), columns = dimension();
    if (work < kWorth || columns == 0) return 1;
    return std::clamp<std::uint64_t>(
        std::min(work / (kEntriesANumber * columns), kNumbersOfGroups / columns), 1, kMostGroups);
  }

  template <class RowOf>
  void add_rows(std::uint64_t from, std::uint64_t to, const RowOf& row, const double* a,
                double* w) const {
    for (std::uint64_t k = from; k < to; ++k) {
      if (k % kPollRows == 0) pool_.poll();
      if (!zero(a + k * stride_)) add(row(k), a + k * stride_, w);
    }
  }

  // The same by threads that own columns, where that is worth it.
  template <class RowOf>
  void add_range(std::uint64_t begin, std::uint64_t end, const RowOf& row, const double* a,
                 double* w) {
    const bool shared = size() >= kNumbersToOwn && worth_sharing(end - begin);
    if (shared && owners_.empty()) share_columns();
    if (!shared || owners_.size() <= 2) return add_rows(begin, end, row, a, w);
    pool_.run(owners_.size() - 1, [&](std::size_t owner) {
      const std::uint64_t last = owners_[owner + 1];
      for (std::uint64_t k = begin; k < end; ++k) {
        if (k % kPollRows == 0) pool_.poll();
        if (zero(a + k * stride_)) continue;
        const SparseRow<Value> whole = row_of(m_, row(k));
        const auto [from, to] = part_of(row(k), whole, owner);
        add_part({from, whole.values + (from - whole.columns), static_cast<std::size_t>(to - from),
                  whole.run},
                 a + k * stride_, w);
        if (last == m_.features) add_bias(a + k * stride_, w);
      }
    });
  }

  bool zero(const double* a) const {
    for (std::size_t c = 0; c < stride_; ++c) {
      if (a[c] != 0) return false;
    }
    return true;
  }

  void add_part(const SparseRow<Value>& row, const double* a, double* w) const {
    if (stride_ == 1) {
      simd_.add(row, *a, w);
    } else {
      simd_.add_many(row, a, stride_, w);
    }
  }

  void add_bias(const double* a, double* w) const {
    if (bias_ == 0) return;
    for (std::size_t c = 0; c < stride_; ++c) w[m_.features * stride_ + c] += a[c] * bias_;
  }

  // The columns of a row that belong to an owner.
  struct Part {
    const std::uint32_t *from, *to;
  };
  Part part_of(std::uint64_t i, const SparseRow<Value>& row, std::size_t owner) const {
    const std::uint32_t* const end = row.columns + row.size;
    const std::size_t cuts = owners_.size() - 2;  // between owners
    if (splits_.empty()) {
      const std::uint32_t* const from = std::lower_bound(row.columns, end, owners_[owner]);
      return {from, std::lower_bound(from, end, owners_[owner + 1])};
    }
    const std::uint32_t* const split = splits_.data() + i * cuts;
    return {owner == 0 ? row.columns : row.columns + split[owner - 1],
            owner == cuts ? end : row.columns + split[owner]};
  }

  // Ranges of columns with about as many nonzeros each, judged by a sample; and where these part
  // each row, unless that would take much room.
  void share_columns() {
    constexpr std::uint64_t kSample = 4096;
    std::vector<std::uint32_t> sample;
    const std::uint64_t begin = m_.full ? 0 : m_.offsets[0];
    const std::uint64_t entries = m_.full ? m_.features : m_.nonzeros();
    for (std::uint64_t k = 0; k < kSample && entries > 0; ++k) {
      sample.push_back(m_.columns[begin + entries / kSample * k + entries % kSample * k / kSample]);
    }
    std::ranges::sort(sample);
    const std::size_t owners = std::min<std::uint64_t>(static_cast<std::uint64_t>(pool_.threads()),
                                                       mean_entries() / kEntriesOfOwner);
    owners_ = {0};
    for (std::size_t k = 1; k < owners && !sample.empty(); ++k) {
      const std::uint64_t column = sample[sample.size() * k / owners];
      if (column > owners_.back()) owners_.push_back(column);
    }
    owners_.push_back(m_.features);
    const std::size_t cuts = owners_.size() - 2;
    if (cuts == 0 || m_.full || m_.rows > m_.nonzeros() / (8 * cuts)) return;
    std::vector<std::uint32_t> splits(m_.rows * cuts);
    const std::uint64_t share = (m_.rows + kShares - 1) / kShares;
    pool_.run((m_.rows + share - 1) / share, [&](std::size_t block) {
      const std::uint64_t last = std::min(m_.rows, (block + 1) * share);
      for (std::uint64_t i = block * share; i < last; ++i) {
        const SparseRow<Value> row = row_of(m_, i);
        for (std::size_t k = 0; k < cuts; ++k) {
          splits[i * cuts + k] = static_cast<std::uint32_t>(
              std::lower_bound(row.columns, row.columns + row.size, owners_[k + 1]) - row.columns);
        }
      }
    });
    splits_ = std::move(splits);
  }

  const CsrView<Value>& m_;
  double bias_;
  std::size_t stride_;
  const Simd& simd_;
  Pool& pool_;
  std::vector<std::uint32_t> splits_;  // of row i: splits_[i * (owners - 1) + k], or empty
  Buffer<double> sums_;                // of groups of rows
  std::vector<std::uint64_t> owners_;  // owner k has the columns owners_[k] .. owners_[k+1] - 1
};

}  // namespace hinge
