#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "solve/planes/plane_vectors.h"

namespace hinge {
namespace {

template <class Value>
class ColumnPlanes final : public PlaneVectors {
 public:
  ColumnPlanes(RiskRows<Value>& rows, std::size_t slots, Comm* comm)
      : PlaneVectors(slots),
        rows_(rows),
        comm_(comm),
        running_(rows.passes.dimension()),
        slice_(comm == nullptr ? Comm::Slice{0, size()} : comm->slice(size())),
        planes_(slots),
        taken_(slots) {}

  void begin(std::span<const double> w, std::vector<double> weights) override {
    segment_.reset();
    anchor_.assign(w.begin(), w.end());
    trial_ = mark_ = anchor_;
    rebuild(std::move(weights));
  }

  void rebuild(std::vector<double> weights) override {
    running_ = sum(std::move(weights));
    joined_.clear();
    follow();
  }

  void flip(std::span<const Flip> flips, const double*, const double*, const double*) override {
    std::vector<double> weights(flips.size());
    for (std::size_t k = 0; k < flips.size(); ++k) weights[k] = flips[k].weight;
    rows_.combine(
        flips.size(), [&](std::uint64_t k) { return flips[k].row; }, weights, running_.data());
    follow();
  }

  void take(std::size_t slot) override { keep(slot, comm_ != nullptr ? whole() : running_); }
  void take(std::size_t slot, std::vector<double> weights, const ActiveRows&) override {
    std::vector<double> a = sum(std::move(weights));
    if (comm_ != nullptr) {
      comm_->sum_slice(a);
      a = {a.begin() + static_cast<std::ptrdiff_t>(slice_.begin),
           a.begin() + static_cast<std::ptrdiff_t>(slice_.end)};
    }
    keep(slot, std::move(a));
  }

  void merge(std::size_t into, std::size_t from, double u, double v) override {
    for (std::size_t j = 0; j < slice_.size(); ++j) {
      planes_[into][j] = u * planes_[into][j] + v * planes_[from][j];
    }
    merge_gram(into, from, u, v);
    planes_[from] = {};
    taken_[from] = 0;
  }

  void drop(std::size_t slot) override {
    clear_gram(slot);
    planes_[slot] = {};
    taken_[slot] = 0;
  }

  void trial(std::span<const double> beta, const ActiveRows& rows, double* margins) override {
    constexpr std::size_t kColumns = 2048;  // stay in the nearest cache while planes go by
    const std::size_t blocks = (slice_.size() + kColumns - 1) / kColumns;
    double* const own = trial_.data() + slice_.begin;
    const auto add_up = [&](std::size_t block) {
      const std::size_t begin = block * kColumns, end = std::min(slice_.size(), begin + kColumns);
      std::fill(own + begin, own + end, 0.0);
      for (std::size_t k = 0; k < beta.size(); ++k) {
        if (beta[k] == 0) continue;
        rows_.simd.add_dense(-beta[k], planes_[k].data() + begin, own + begin, end - begin);
      }
    };
    rows_.pool.run(blocks, add_up);
    Segment s = measure(slice_);  // each rank its columns
    if (comm_ != nullptr) {
      double sums[] = {s.anchor_square, s.product, s.trial_square, s.square};
      comm_->share_slices(trial_, sums);
      s = {
          .anchor_square = sums[0], .product = sums[1], .trial_square = sums[2], .square = sums[3]};
    }
    segment_ = s;
    rows_.margins(rows, trial_, margins);
    running_trial_ = dot(running_, trial_);
    trial_rounding_ = 0;  // planes that cancel each other leave theirs
    for (std::size_t k = 0; k < beta.size(); ++k) {
      trial_rounding_ += kRounding * beta[k] * std::sqrt(std::max(0.0, gram(k, k)));
    }
  }

  Segment segment() const override {
    Segment s = segment_ ? *segment_ : measure({0, size()});
    s.trial_doubt = trial_rounding_ * (2 * std::sqrt(s.trial_square) + trial_rounding_);
    return s;
  }

  double running_at_anchor() const override { return running_anchor_; }
  double running_at_trial() const override { return running_trial_; }

  void advance(double t) override {
    segment_.reset();
    for (std::size_t j = 0; j < size(); ++j) anchor_[j] += t * (trial_[j] - anchor_[j]);
    running_anchor_ = dot(running_, anchor_);
  }

  std::vector<double> anchor() override { return anchor_; }
  void at_anchor(const ActiveRows& rows, double* margins) override {
    rows_.margins(rows, anchor_, margins);
  }

  void mark() override { mark_ = anchor_; }
  void widen(const ActiveRows& all, double* margins) override {
    segment_.reset();
    trial_ = std::exchange(anchor_, mark_);
    rows_.margins(all, trial_, margins);
    trial_rounding_ = 0;
    follow();
  }

  void grow(std::size_t slots) override {
    PlaneVectors::grow(slots);
    planes_.resize(slots);
    taken_.resize(slots);
  }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    archive.sized(gram_, slots_ * slots_);
    for (std::vector<double>* const point : {&running_, &anchor_, &trial_, &mark_}) {
      archive.sized(*point, rows_.passes.dimension());
    }
    archive(running_anchor_, running_trial_, trial_rounding_);
    if (archive.reading()) segment_.reset();
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      taken_[slot] = taken[slot];
      archive.sized(planes_[slot], taken[slot] ? slice_.size() : 0);
    }
    if (comm_ == nullptr) return;
    archive.sized_or_empty(whole_, slice_.size());
    archive.sized_or_empty(joined_, size());
  }

 private:
  std::size_t size() const { return running_.size(); }
  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return rows_.simd.dot_dense(x.data(), y.data(), size());
  }
  // Of anchor and trial, as far as these columns go.
  Segment measure(Comm::Slice columns) const {
    const double* const from = anchor_.data() + columns.begin;
    const double* const to = trial_.data() + columns.begin;
    Segment s;
    s.anchor_square = rows_.simd.dot_dense(from, from, columns.size());
    s.trial_square = rows_.simd.dot_dense(to, to, columns.size());
    s.product = rows_.simd.dot_dense(from, to, columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double difference = to[j] - from[j];
      s.square += difference * difference;
    }
    return s;
  }
  void follow() {
    running_anchor_ = dot(running_, anchor_);
    running_trial_ = dot(running_, trial_);
  }

  // The slice of the running vector of all rows. What changed since it was last asked for is
  // joined, which is sparse if few rows changed sides.
  const std::vector<double>& whole() {
    if (joined_.empty()) {
      whole_.assign(slice_.size(), 0.0);
      joined_.assign(size(), 0.0);
    }
    for (std::size_t j = 0; j < size(); ++j) joined_[j] = running_[j] - joined_[j];  // for a moment
    comm_->sum_slice(joined_);
    for (std::size_t j = 0; j < slice_.size(); ++j) whole_[j] += joined_[slice_.begin + j];
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
    taken_[slot] = true;
    std::vector<double> products(slots_);
    const auto product = [&](std::size_t k) {
      if (!taken_[k]) return;
      products[k] = rows_.simd.dot_dense(planes_[slot].data(), planes_[k].data(), slice_.size());
    };
    rows_.pool.run(slots_, product);
    if (comm_ != nullptr) comm_->sum(products);
    for (std::size_t k = 0; k < slots_; ++k) {
      if (taken_[k]) gram(slot, k) = gram(k, slot) = products[k];
    }
  }

  RiskRows<Value>& rows_;
  Comm* const comm_;
  std::vector<double> running_, anchor_, trial_, mark_;
  // Of planes each rank keeps a slice: so adding them up is shared out, too.
  const Comm::Slice slice_;
  // With ranks: the slice of the vector of all rows, and running_ as it was then; empty: not known.
  std::vector<double> whole_, joined_;
  double running_anchor_ = 0, running_trial_ = 0;  // <running, anchor>, <running, trial>
  std::optional<Segment> segment_;                 // but for the doubt; if it was measured
  double trial_rounding_ = 0;                      // in |trial|, about
  std::vector<std::vector<double>> planes_;        // slices, by slot
  std::vector<std::uint8_t> taken_;                // by slot; a slice may be empty
};

}  // namespace

template <class Value>
std::unique_ptr<PlaneVectors> make_column_planes(RiskRows<Value>& rows,
                                                 const RiskOptions& options) {
  return std::make_unique<ColumnPlanes<Value>>(rows, options.slots, options.comm);
}
template std::unique_ptr<PlaneVectors> make_column_planes(RiskRows<float>&, const RiskOptions&);
template std::unique_ptr<PlaneVectors> make_column_planes(RiskRows<double>&, const RiskOptions&);

}  // namespace hinge
