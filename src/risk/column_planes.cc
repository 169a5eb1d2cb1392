#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "risk/plane_vectors.h"

namespace hinge {
namespace {

template <class Value>
class ColumnPlanes final : public PlaneVectors {
 public:
  using Join = std::function<void(std::span<double>)>;
  ColumnPlanes(RiskRows<Value>& rows, std::size_t slots, const Join& join)
      : PlaneVectors(slots),
        rows_(rows),
        join_(join),
        running_(rows.passes.dimension()),
        planes_(slots) {}

  void begin(std::span<const double> w, std::vector<double> weights) override {
    anchor_.assign(w.begin(), w.end());
    trial_ = mark_ = anchor_;
    rebuild(std::move(weights));
  }

  void rebuild(std::vector<double> weights) override {
    running_ = sum(std::move(weights));
    whole_.clear();
    follow();
  }

  void flip(std::span<const Flip> flips, const double*, const double*, const double*) override {
    std::vector<double> weights(flips.size());
    for (std::size_t k = 0; k < flips.size(); ++k) weights[k] = flips[k].weight;
    rows_.combine(
        flips.size(), [&](std::uint64_t k) { return flips[k].row; }, weights, running_.data());
    follow();
  }

  void take(std::size_t slot) override { keep(slot, join_ ? whole() : running_); }
  void take(std::size_t slot, std::vector<double> weights, const ActiveRows&) override {
    std::vector<double> a = sum(std::move(weights));
    if (join_) join_(a);
    keep(slot, std::move(a));
  }

  void merge(std::size_t into, std::size_t from, double u, double v) override {
    for (std::size_t j = 0; j < size(); ++j) {
      planes_[into][j] = u * planes_[into][j] + v * planes_[from][j];
    }
    merge_gram(into, from, u, v);
    planes_[from] = {};
  }

  void drop(std::size_t slot) override {
    clear_gram(slot);
    planes_[slot] = {};
  }

  void trial(std::span<const double> beta, const ActiveRows& rows, double* margins) override {
    constexpr std::size_t kColumns = 2048;  // stay in the nearest cache while planes go by
    const std::size_t blocks = (size() + kColumns - 1) / kColumns;
    const auto add_up = [&](std::size_t block) {
      const std::size_t begin = block * kColumns, end = std::min(size(), begin + kColumns);
      std::fill(trial_.begin() + static_cast<std::ptrdiff_t>(begin),
                trial_.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
      for (std::size_t k = 0; k < beta.size(); ++k) {
        if (beta[k] == 0) continue;
        rows_.kernels.add_dense(-beta[k], planes_[k].data() + begin, trial_.data() + begin,
                                end - begin);
      }
    };
    rows_.pool.run(blocks, add_up);
    rows_.margins(rows, trial_, margins);
    running_trial_ = dot(running_, trial_);
    trial_rounding_ = 0;  // planes that cancel each other leave theirs
    for (std::size_t k = 0; k < beta.size(); ++k) {
      trial_rounding_ += kRounding * beta[k] * std::sqrt(std::max(0.0, gram(k, k)));
    }
  }

  Segment segment() const override {
    Segment s;
    s.anchor_square = dot(anchor_, anchor_);
    s.trial_square = dot(trial_, trial_);
    s.trial_doubt = trial_rounding_ * (2 * std::sqrt(s.trial_square) + trial_rounding_);
    s.product = dot(anchor_, trial_);
    for (std::size_t j = 0; j < size(); ++j) {
      const double difference = trial_[j] - anchor_[j];
      s.square += difference * difference;
    }
    return s;
  }

  double running_at_anchor() const override { return running_anchor_; }
  double running_at_trial() const override { return running_trial_; }

  void advance(double t) override {
    for (std::size_t j = 0; j < size(); ++j) anchor_[j] += t * (trial_[j] - anchor_[j]);
    running_anchor_ = dot(running_, anchor_);
  }

  std::vector<double> anchor() override { return anchor_; }
  void at_anchor(const ActiveRows& rows, double* margins) override {
    rows_.margins(rows, anchor_, margins);
  }

  void mark() override { mark_ = anchor_; }
  void widen(const ActiveRows& all, double* margins) override {
    trial_ = std::exchange(anchor_, mark_);
    rows_.margins(all, trial_, margins);
    trial_rounding_ = 0;
    follow();
  }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    archive.sized(gram_, slots_ * slots_);
    for (std::vector<double>* const point : {&running_, &anchor_, &trial_, &mark_}) {
      archive.sized(*point, rows_.passes.dimension());
    }
    archive(running_anchor_, running_trial_, trial_rounding_);
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      archive.sized(planes_[slot], taken[slot] ? rows_.passes.dimension() : 0);
    }
    if (!join_) return;
    archive.sized_or_empty(whole_, rows_.passes.dimension());
    archive.sized_or_empty(joined_, whole_.size());
  }

 private:
  std::size_t size() const { return running_.size(); }
  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return rows_.kernels.dot_dense(x.data(), y.data(), size());
  }
  void follow() {
    running_anchor_ = dot(running_, anchor_);
    running_trial_ = dot(running_, trial_);
  }

  // The running vector of all rows. What changed since it was last asked for is joined, which is
  // sparse if few rows changed sides.
  const std::vector<double>& whole() {
    if (whole_.empty()) {
      whole_.assign(size(), 0.0);
      joined_ = whole_;
    }
    std::vector<double> change(size());
    for (std::size_t j = 0; j < size(); ++j) change[j] = running_[j] - joined_[j];
    join_(change);
    for (std::size_t j = 0; j < size(); ++j) whole_[j] += change[j];
    joined_ = running_;
    return whole_;
  }

  std::vector<double> sum(std::vector<double> weights) {
    std::vector<double> a(rows_.passes.dimension());
    rows_.combine(
        weights.size(), [](std::uint64_t i) { return i; }, weights, a.data());
    return a;
  }

  void keep(std::size_t slot, std::vector<double> a) {
    planes_[slot] = std::move(a);
    const auto product = [&](std::size_t k) {
      if (!planes_[k].empty()) gram(slot, k) = gram(k, slot) = dot(planes_[slot], planes_[k]);
    };
    rows_.pool.run(slots_, product);
  }

  RiskRows<Value>& rows_;
  const Join& join_;
  std::vector<double> running_, anchor_, trial_, mark_;
  std::vector<double> whole_,
      joined_;  // with join_, or empty: of all rows; running_ as it was then
  double running_anchor_ = 0, running_trial_ = 0;  // <running, anchor>, <running, trial>
  double trial_rounding_ = 0;                      // in |trial|, about
  std::vector<std::vector<double>> planes_;        // empty: free
};

}  // namespace

template <class Value>
std::unique_ptr<PlaneVectors> make_column_planes(
    RiskRows<Value>& rows, std::size_t slots, const std::function<void(std::span<double>)>& join) {
  return std::make_unique<ColumnPlanes<Value>>(rows, slots, join);
}
template std::unique_ptr<PlaneVectors> make_column_planes(
    RiskRows<float>&, std::size_t, const std::function<void(std::span<double>)>&);
template std::unique_ptr<PlaneVectors> make_column_planes(
    RiskRows<double>&, std::size_t, const std::function<void(std::span<double>)>&);

}  // namespace hinge
