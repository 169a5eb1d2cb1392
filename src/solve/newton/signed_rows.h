// The rows of a part with their labels or targets, costs and bias (part.h), and sums over rows
// whose statuses change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "objective/problem.h"
#include "solve/newton/rows.h"
#include "solve/newton/tuning.h"

namespace hinge {

template <class Value>
class NewtonSignedRows {
 public:
  // `costs`: c_i, or empty: all 1; `targets`: t_i, or empty: none.
  NewtonSignedRows(NewtonRows<Value> rows, std::vector<std::int8_t> y, std::vector<double> costs,
                   std::vector<double> targets, const Problem& problem)
      : rows_(std::move(rows)),
        y_(std::move(y)),
        costs_(std::move(costs)),
        targets_(std::move(targets)),
        bias_(problem.bias),
        features_(problem.data->features()) {}

  const NewtonRows<Value>& rows() const { return rows_; }
  std::uint64_t size() const { return rows_.rows(); }
  std::int8_t y(std::uint64_t i) const { return y_[i]; }
  double cost(std::uint64_t i) const { return costs_.empty() ? 1.0 : costs_[i]; }
  // c_i from row `begin` on; nullptr: all 1.
  const double* costs_from(std::uint64_t begin) const {
    return costs_.empty() ? nullptr : costs_.data() + begin;
  }
  std::span<const double> costs() const { return costs_; }
  double target(std::uint64_t i) const { return targets_.empty() ? 0.0 : targets_[i]; }
  double total_cost() const {
    return costs_.empty() ? static_cast<double>(size())
                          : std::accumulate(costs_.begin(), costs_.end(), 0.0);
  }
  double bias() const { return bias_; }
  std::size_t features() const { return features_; }
  // Whether nothing is in the row, nor a bias.
  bool zero(std::uint64_t i) const { return bias_ == 0 && rows_.zero(i); }

  // Some of these rows, in this order.
  NewtonSignedRows part(std::span<const std::uint64_t> chosen, const Problem& problem,
                        Pool& pool) const {
    std::vector<std::int8_t> y(chosen.size());
    std::vector<double> costs(costs_.empty() ? 0 : chosen.size());
    std::vector<double> targets(targets_.empty() ? 0 : chosen.size());
    for (std::size_t k = 0; k < chosen.size(); ++k) y[k] = y_[chosen[k]];
    for (std::size_t k = 0; k < costs.size(); ++k) costs[k] = costs_[chosen[k]];
    for (std::size_t k = 0; k < targets.size(); ++k) targets[k] = targets_[chosen[k]];
    return {NewtonRows<Value>(rows_, chosen, pool), std::move(y), std::move(costs),
            std::move(targets), problem};
  }

  // out[i] = y_i <s, x_i> of the rows from begin to end.
  void score(const double* s, double* out, std::uint64_t begin, std::uint64_t end) const {
    const double constant = bias_ == 0 ? 0.0 : bias_ * s[features_];
    rows_.scores_of_run(begin, end, s, out + begin);
    for (std::uint64_t i = begin; i < end; ++i) out[i] = y_[i] * (out[i] + constant);
  }

 private:
  NewtonRows<Value> rows_;
  std::vector<std::int8_t> y_;
  std::vector<double> costs_, targets_;
  double bias_;
  std::size_t features_;
};

// What changes of statuses add to v, but for the unit of costs.
struct ChangeOfSum {
  std::vector<double> v;
  std::uint64_t changed = 0;  // statuses; v means nothing while these are none
};

// Sums them up, a few rows at a time.
template <class Value>
class StatusChanges {
 public:
  StatusChanges(const NewtonSignedRows<Value>& rows, ChangeOfSum& sum) : all_(rows), out_(sum) {
    out_.changed = 0;
  }
  void add(std::uint64_t row, double by) {
    if (size_ == kFew) sum_up();
    rows_[size_] = row;
    factors_[size_] = all_.cost(row) * by * all_.y(row);
    sum_ += factors_[size_++];
  }
  void finish() {
    sum_up();
    if (all_.bias() != 0 && out_.changed > 0) out_.v[all_.features()] += all_.bias() * sum_;
  }

 private:
  static constexpr std::size_t kFew = NewtonTuning::kChangesAtOnce;

  void sum_up() {
    if (size_ == 0) return;
    if (out_.changed == 0) std::ranges::fill(out_.v, 0.0);
    all_.rows().add(
        size_, [this](std::uint64_t k) { return rows_[k]; }, factors_, out_.v.data());
    out_.changed += std::exchange(size_, 0);
  }

  const NewtonSignedRows<Value>& all_;
  ChangeOfSum& out_;
  std::size_t size_ = 0;
  double sum_ = 0;
  std::uint64_t rows_[kFew];
  double factors_[kFew];
};

}  // namespace hinge
