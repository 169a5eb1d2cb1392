// What Passes (rows/passes.h) does, in the space of a kernel.
//
// A vector of that space is kept as one coefficient a row: w = sum_j w[j] phi(x_j), several
// hyperplanes interleaved as ever. Scores are sums of kernel values, a row is added to w by adding
// to its coefficient. A bias S is a constant feature here too: K(x, z) + S^2.
//
// One vector is followed: the w of the steps, which begins at 0 and changes by follow(). There are
// two ways, and both give the same results for any number of threads:
//
//   scores   The scores of w on all rows are kept up to date. Looking at a row costs nothing;
//            changing the coefficient of a row takes its kernel values with all rows, which are
//            kept once computed as long as there is memory. How much there is changes no result.
//   blocks   A score is computed when it is asked for, from kernel values of a block of the rows
//            that come next with the rows that have a coefficient: better where a budget keeps
//            these few.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "simd/kernel_block.h"
#include "solve/pegasos/tuning.h"
#include "solve/solver.h"

namespace hinge {

template <class Value>
class KernelPasses {
 public:
  using Rows = CsrView<Value>;
  static constexpr bool kLinear = false;

  KernelPasses(const CsrView<Value>& m, const KernelFunction& kernel, double bias,
               std::size_t hyperplanes, const PegasosSetup& setup, Pool& pool)
      : m_(m),
        kernel_(kernel),
        constant_(bias * bias),
        hyperplanes_(hyperplanes),
        stride_(stride_of(hyperplanes)),
        simd_(*setup.common.simd),
        pool_(pool),
        squares_(squares_of(m)),
        differences_(needs_differences(kernel, *std::ranges::max_element(squares_))),
        block_(kernel, m.features, differences_, simd_),
        place_(m.rows, kNowhere),
        bound_rows_(setup.bound_rows),
        room_(setup.kernel_memory / sizeof(double) / m.rows * m.rows),
        keeps_scores_(setup.kernel_way == KernelWay::scores ||
                      (setup.kernel_way == KernelWay::by_budget &&
                       (setup.pegasos.budget == 0 ||
                        setup.pegasos.budget > m.rows / PegasosTuning::kRowsABudgetRow))) {
    if (keeps_scores_) kept_at_.resize(m.rows, kNotKept);
  }

  const CsrView<Value>& rows() const { return m_; }
  std::size_t stride() const { return stride_; }
  std::size_t dimension() const { return m_.rows; }
  std::size_t size() const { return dimension() * stride_; }
  const Simd& simd() const { return simd_; }

  // |phi(x_i)|^2
  double square(std::uint64_t i) const {
    double value = squares_[i];
    apply_kernel(kernel_, simd_, squares_[i], &squares_[i], &value, 1);
    return value + constant_;
  }

  // |w_c|^2 of each hyperplane.
  void squares(const double* w, double* out) {
    const std::vector<std::uint32_t> used = rows_used(w);
    std::vector<double> scores(used.size() * stride_);
    this->scores(
        used.size(), [&](std::uint64_t k) { return used[k]; }, w, scores.data());
    std::fill_n(out, stride_, 0.0);
    for (std::size_t k = 0; k < used.size(); ++k) {
      for (std::size_t c = 0; c < stride_; ++c) {
        out[c] += w[used[k] * stride_ + c] * scores[k * stride_ + c];
      }
    }
  }

  // The same where the scores of all rows are known.
  void squares(const double* w, const double* scores, double* out) const {
    std::fill_n(out, stride_, 0.0);
    for (std::size_t j = 0; j < size(); j += stride_) {
      for (std::size_t c = 0; c < stride_; ++c) out[c] += w[j + c] * scores[j + c];
    }
  }

  // How much work a score is, and squares(), in the same unit.
  std::uint64_t work(std::uint64_t) const { return 1; }
  std::uint64_t measuring_work() const { return m_.rows; }

  // How many rows may have a dual variable that is not 0, so that proving the bound, which takes
  // the kernel values of all pairs of them, costs no more than finding it did.
  std::uint64_t most_in_bound() const {
    if (keeps_scores_) return m_.rows;
    return std::max(bound_rows_, static_cast<std::uint64_t>(std::sqrt(evaluated_)));
  }

  // The vector that is followed is 0 from now on.
  void begin() {
    for (const std::uint32_t j : members_) place_[j] = kNowhere;
    members_.clear();
    block_rows_.clear();
    if (keeps_scores_) scores_.assign(hyperplanes_ * m_.rows, 0.0);
  }

  // The vector that is followed; kernel values are computed again where they are needed, those of
  // the block at once: in which order they are added up belongs to the state.
  void archive(Archive& archive) {
    const auto exists = [this](std::uint64_t row) { return row < m_.rows; };
    archive(members_);
    if (archive.reading()) {
      std::ranges::fill(place_, kNowhere);
      for (std::size_t k = 0; k < members_.size(); ++k) {
        archive.require(exists(members_[k]) && place_[members_[k]] == kNowhere);
        place_[members_[k]] = static_cast<std::uint32_t>(k);
      }
    }
    if (keeps_scores_) {
      archive.sized(scores_, hyperplanes_ * m_.rows);
      if (archive.reading()) block_rows_.clear();
      return;
    }
    archive(block_rows_, block_members_, evaluated_);
    if (!archive.reading()) return;
    archive.require(block_rows_.size() <= block_.capacity() &&
                    std::ranges::all_of(block_rows_, exists) &&
                    std::ranges::all_of(block_members_, exists));
    const double evaluated = evaluated_;
    if (!block_rows_.empty()) evaluate_block();
    evaluated_ = evaluated;
  }

  // The rows of the next calls of score(), in their order, and which of them will be followed, as
  // far as can be told now.
  template <class Likely>
  void expect(std::span<const std::uint64_t> rows, const Likely& likely) {
    expected_ = rows;
    likely_ = likely;
  }

  // out[c] = <w_c, phi(x_i)>, c < stride, of the vector that is followed: w.
  void score(std::uint64_t i, const double* w, double* out) {
    if (keeps_scores_) {
      for (std::size_t c = 0; c < hyperplanes_; ++c) out[c] = scores_[c * m_.rows + i];
      return;
    }
    auto found = std::ranges::find(block_rows_, i);
    if (found == block_rows_.end()) {
      load_block(i);
      found = block_rows_.begin();
    }
    const auto at = static_cast<std::size_t>(found - block_rows_.begin());
    combine_values(block_members_, block_values_.data() + at * block_members_.size(), w, out);
  }

  // The vector that is followed: rows with a coefficient in it, in no order; what add() will do to
  // it; w_c *= factor; and a row taken out, whose coefficients are a[c].
  std::span<const std::uint32_t> members() const { return members_; }
  void follow(std::uint64_t i, const double* a) {
    if (keeps_scores_) add_to_scores(i, a, 1);
    if (place_[i] != kNowhere) return;
    if (!keeps_scores_ && std::ranges::find(block_rows_, i) == block_rows_.end()) {
      block_rows_.clear();  // its values are no longer all that are needed
    }
    place_[i] = static_cast<std::uint32_t>(members_.size());
    members_.push_back(static_cast<std::uint32_t>(i));
  }
  void follow_factor(std::size_t c, double factor) {
    if (!keeps_scores_) return;
    for (std::uint64_t i = 0; i < m_.rows; ++i) scores_[c * m_.rows + i] *= factor;
  }
  void remove(std::uint32_t i, const double* a) {
    if (keeps_scores_) add_to_scores(i, a, -1);
    const std::uint32_t last = members_.back();
    members_[place_[i]] = last;
    place_[last] = place_[i];
    members_.pop_back();
    place_[i] = kNowhere;
  }

  // K(x_i, x_j) of a member i with the members j, in their order.
  std::span<const double> with_members(std::uint32_t i) {
    similar_.resize(members_.size());
    if (keeps_scores_) {
      const double* const values = values_of(i);
      for (std::size_t k = 0; k < members_.size(); ++k) similar_[k] = values[members_[k]];
      return similar_;
    }
    const auto found = std::ranges::find(block_rows_, i);
    if (found == block_rows_.end()) {
      if (!alone_) alone_.emplace(kernel_, m_.features, differences_, simd_);
      load(*alone_, 1, [i](std::size_t) { return i; });
      evaluate(*alone_, members_, squares_at(members_), 0, members_.size(), similar_.data());
      evaluated_ += static_cast<double>(members_.size());
      return similar_;
    }
    const auto at = static_cast<std::size_t>(found - block_rows_.begin());
    const double* const values = block_values_.data() + at * block_members_.size();
    for (std::size_t k = 0; k < block_members_.size(); ++k) {
      const std::uint32_t place = place_[block_members_[k]];
      if (place != kNowhere) similar_[place] = values[k];
    }
    return similar_;
  }

  // w_c += a[c] phi(x_i)
  void add(std::uint64_t i, const double* a, double* w) const {
    for (std::size_t c = 0; c < stride_; ++c) w[i * stride_ + c] += a[c];
  }

  // out[k * stride + c] = <w_c, phi(x_row(k))> for k < count, of any w
  template <class RowOf>
  void scores(std::uint64_t count, const RowOf& row, const double* w, double* out) {
    const std::vector<std::uint32_t> used = rows_used(w);
    if (keeps_scores_) {
      const std::vector<double> all = scores_of_all(used, w);
      for (std::uint64_t k = 0; k < count; ++k) {
        for (std::size_t c = 0; c < hyperplanes_; ++c) {
          out[k * stride_ + c] = all[c * m_.rows + row(k)];
        }
      }
      return;
    }
    const std::vector<double> used_squares = squares_at(used);
    evaluated_ += static_cast<double>(count) * static_cast<double>(used.size());
    in_pieces(count, PegasosTuning::kRowsAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
      KernelBlock block(kernel_, m_.features, differences_, simd_);
      std::vector<double> values(block.capacity() * used.size());
      for (std::uint64_t k = begin; k < end; k += block.capacity()) {
        const auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(block.capacity(), end - k));
        load(block, size, [&](std::size_t b) { return row(k + b); });
        evaluate(block, used, used_squares, 0, used.size(), values.data());
        for (std::size_t b = 0; b < size; ++b) {
          combine_values(used, values.data() + b * used.size(), w, out + (k + b) * stride_);
        }
      }
    });
  }

  // w_c += sum over k < count of a[k * stride + c] phi(x_row(k))
  template <class RowOf>
  void combine(std::uint64_t count, const RowOf& row, const double* a, double* w) const {
    for (std::uint64_t k = 0; k < count; ++k) add(row(k), a + k * stride_, w);
  }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t kNotKept = std::numeric_limits<std::size_t>::max();

  static std::vector<double> squares_of(const CsrView<Value>& m) {
    std::vector<double> squares(m.rows);
    for (std::uint64_t i = 0; i < m.rows; ++i) squares[i] = square_of(row_of(m, i));
    return squares;
  }

  template <class Work>
  void in_pieces(std::uint64_t count, std::uint64_t piece, const Work& work) {
    pool_.run((count + piece - 1) / piece, [&](std::size_t number) {
      work(number * piece, std::min<std::uint64_t>(count, (number + 1) * piece));
    });
  }

  // sum_k values[k] w[ids[k]]
  void combine_values(std::span<const std::uint32_t> ids, const double* values, const double* w,
                      double* out) const {
    const SparseRow<double> row = {ids.data(), values, ids.size()};
    if (stride_ == 1) {
      *out = simd_.dot(row, w);
    } else {
      simd_.dot_many(row, w, stride_, out);
    }
  }

  bool kept(std::uint64_t i) const { return kept_at_[i] != kNotKept; }
  bool room_for(std::size_t rows) const { return values_.size() + rows * m_.rows <= room_; }

  // Kernel values of row i with all rows: kept ones, those in hand, or computed now, together with
  // those of rows that will probably be asked for next.
  const double* values_of(std::uint64_t i) {
    if (kept(i)) return values_.data() + kept_at_[i];
    auto found = std::ranges::find(block_rows_, i);
    if (found == block_rows_.end()) {
      const std::vector<std::uint64_t> rows =
          upcoming(i, [&](std::uint64_t j) { return kept(j) || !likely_(j); });
      if (room_for(rows.size())) {
        keep(rows);
        return values_.data() + kept_at_[i];
      }
      block_rows_ = rows;
      block_values_.resize(rows.size() * m_.rows);
      evaluate_with_all(rows, block_values_.data());
      found = block_rows_.begin();
    }
    return block_values_.data() + static_cast<std::size_t>(found - block_rows_.begin()) * m_.rows;
  }

  // scores_ of the vector that is followed gains sign * a[c] phi(x_i).
  void add_to_scores(std::uint64_t i, const double* a, double sign) {
    for (std::size_t c = 0; c < hyperplanes_; ++c) {
      if (a[c] == 0) continue;
      simd_.add_dense(sign * a[c], values_of(i), scores_.data() + c * m_.rows, m_.rows);
    }
  }

  // <w_c, phi(x_i)> of all rows at c * rows + i; `used` are the rows that have a coefficient in w.
  std::vector<double> scores_of_all(std::span<const std::uint32_t> used, const double* w) {
    std::vector<double> all(hyperplanes_ * m_.rows);
    std::vector<double> values;
    while (!used.empty()) {
      // As many rows as do not need more than one block to be computed, in their order.
      std::vector<std::uint64_t> missing;
      std::size_t count = 0;
      for (; count < used.size(); ++count) {
        if (kept(used[count])) continue;
        if (missing.size() == block_.capacity()) break;
        missing.push_back(used[count]);
      }
      if (room_for(missing.size())) {
        keep(missing);
        missing.clear();
      }
      values.resize(missing.size() * m_.rows);
      if (!missing.empty()) evaluate_with_all(missing, values.data());
      std::vector<const double*> at;
      const double* next = values.data();
      for (const std::uint32_t j : used.first(count)) {
        at.push_back(kept(j) ? values_.data() + kept_at_[j] : next);
        if (!kept(j)) next += m_.rows;
      }
      in_pieces(m_.rows, PegasosTuning::kRowsAtOnce, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::size_t k = 0; k < count; ++k) {
          for (std::size_t c = 0; c < hyperplanes_; ++c) {
            const double a = w[used[k] * stride_ + c];
            if (a == 0) continue;
            simd_.add_dense(a, at[k] + begin, all.data() + c * m_.rows + begin, end - begin);
          }
        }
      });
      used = used.subspan(count);
    }
    return all;
  }

  std::vector<std::uint32_t> rows_used(const double* w) const {
    std::vector<std::uint32_t> used;
    for (std::uint64_t i = 0; i < m_.rows; ++i) {
      const double* const at = w + i * stride_;
      if (std::any_of(at, at + stride_, [](double x) { return x != 0; })) {
        used.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return used;
  }

  std::vector<double> squares_at(std::span<const std::uint32_t> ids) const {
    std::vector<double> squares;
    squares.reserve(ids.size());
    for (const std::uint32_t j : ids) squares.push_back(squares_[j]);
    return squares;
  }

  template <class NumberAt>
  void load(KernelBlock& block, std::size_t count, const NumberAt& number) const {
    block.load(
        count, [&](std::size_t b) { return row_of(m_, number(b)); },
        [&](std::size_t b) { return differences_ ? 0.0 : squares_[number(b)]; });
  }

  // Kernel values and the constant feature, of the rows of a block with the rows `ids`.
  void evaluate(const KernelBlock& block, std::span<const std::uint32_t> ids,
                std::span<const double> squares, std::size_t begin, std::size_t end,
                double* out) const {
    block.evaluate(
        begin, end, [&](std::size_t k) { return row_of(m_, ids[k]); }, squares.data(), constant_,
        out, ids.size());
  }

  void evaluate_shared(std::span<const std::uint32_t> ids, std::span<const double> squares,
                       double* out) {
    evaluated_ += static_cast<double>(block_.size()) * static_cast<double>(ids.size());
    const std::uint64_t mean = m_.nonzeros() / m_.rows + 1;
    if (ids.size() * mean < PegasosTuning::kWorthSharing) {
      evaluate(block_, ids, squares, 0, ids.size(), out);
      return;
    }
    in_pieces(ids.size(), PegasosTuning::kOthersAtOnce,
              [&](std::uint64_t begin, std::uint64_t end) {
                evaluate(block_, ids, squares, begin, end, out);
              });
  }

  // Row i and those expected after it, as many as a block holds, each once; not those for which
  // skip() holds.
  template <class Skip>
  std::vector<std::uint64_t> upcoming(std::uint64_t i, const Skip& skip) {
    std::vector<std::uint64_t> rows = {i};
    auto next = std::ranges::find(expected_, i);
    if (next != expected_.end()) expected_ = {next, expected_.end()};
    for (; next != expected_.end() && rows.size() < block_.capacity(); ++next) {
      if (!skip(*next) && std::ranges::find(rows, *next) == rows.end()) rows.push_back(*next);
    }
    return rows;
  }

  // Kernel values of these rows, as many as a block holds at most, with all rows.
  void evaluate_with_all(std::span<const std::uint64_t> rows, double* out) {
    if (all_rows_.empty()) {
      all_rows_.resize(m_.rows);
      std::iota(all_rows_.begin(), all_rows_.end(), 0U);
    }
    load(block_, rows.size(), [&](std::size_t b) { return rows[b]; });
    evaluate_shared(all_rows_, squares_, out);
  }

  void keep(std::span<const std::uint64_t> rows) {
    if (rows.empty()) return;
    const std::size_t first = values_.size();
    values_.resize(first + rows.size() * m_.rows);
    evaluate_with_all(rows, values_.data() + first);
    for (std::size_t b = 0; b < rows.size(); ++b) kept_at_[rows[b]] = first + b * m_.rows;
  }

  // Kernel values of row i and of the rows expected after it, with all rows that have a coefficient
  // or may get one meanwhile, which are the rows of the block.
  void load_block(std::uint64_t i) {
    block_rows_ = upcoming(i, [](auto) { return false; });
    block_members_.assign(members_.begin(), members_.end());
    for (const std::uint64_t row : block_rows_) {
      if (place_[row] == kNowhere) block_members_.push_back(static_cast<std::uint32_t>(row));
    }
    evaluate_block();
  }

  void evaluate_block() {
    load(block_, block_rows_.size(), [&](std::size_t b) { return block_rows_[b]; });
    block_values_.resize(block_rows_.size() * block_members_.size());
    evaluate_shared(block_members_, squares_at(block_members_), block_values_.data());
  }

  const CsrView<Value>& m_;
  KernelFunction kernel_;
  double constant_;
  std::size_t hyperplanes_, stride_;
  const Simd& simd_;
  Pool& pool_;
  std::vector<double> squares_;  // |x_i|^2
  bool differences_;
  KernelBlock block_;
  std::optional<KernelBlock> alone_;    // for a row out of turn; made when first needed
  std::vector<std::uint32_t> members_;  // rows with a coefficient in the vector that is followed
  std::vector<std::uint32_t> place_;    // of each row in members_
  std::span<const std::uint64_t> expected_;
  std::function<bool(std::uint64_t)> likely_;
  std::uint64_t bound_rows_;
  std::size_t room_;   // numbers of kernel values that may be kept
  bool keeps_scores_;  // the way that is gone
  // Scores: kernel values of some rows with all rows that are kept, and where those of a row begin;
  // and <w_c, phi(x_i)> of the vector that is followed, at c * rows + i.
  Buffer<double> values_;
  std::vector<std::size_t> kept_at_;
  std::vector<double> scores_;
  std::vector<std::uint32_t> all_rows_;  // 0 .. rows - 1
  // The kernel values in hand: of block_rows_, with all rows (scores) or block_members_ (blocks).
  std::vector<std::uint64_t> block_rows_;
  std::vector<std::uint32_t> block_members_;
  std::vector<double> block_values_;
  std::vector<double> similar_;  // what with_members() returns
  double evaluated_ = 0;         // kernel values
};

}  // namespace hinge
