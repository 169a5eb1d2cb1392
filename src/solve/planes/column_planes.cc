// Where rows are shared out each rank keeps a slice of every plane, so that adding planes up is
// shared out as the rows are. Of the running vector each has that of its own rows, in full.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "solve/planes/plane_vectors.h"
#include "solve/planes/tuning.h"

namespace hinge {
namespace {

class ColumnPlanes final : public PlaneVectors {
 public:
  ColumnPlanes(SignedRows& rows, std::size_t slots)
      : PlaneVectors(slots),
        rows_(rows),
        places_(rows.rows()),
        running_(rows.dimension()),
        slice_(places_.slice()),
        planes_(slots),
        taken_(slots) {}

  void begin(std::span<const double> w, std::span<const double> weights) override {
    segment_.reset();
    anchor_.assign(w.begin(), w.end());
    trial_ = mark_ = anchor_;
    rebuild(std::move(weights));
  }

  void rebuild(std::span<const double> weights) override {
    running_ = rows_.sum(weights);
    joined_.clear();
    follow();
  }

  void flip(const Flips& flips, const Margins&) override {
    rows_.combine(flips.rows, flips.weights, running_);
    follow();
  }

  void take(std::size_t slot) override { keep(slot, rows_.shared_out() ? join() : running_); }
  void take(std::size_t slot, std::span<const double> weights) override {
    std::vector<double> a = rows_.sum(weights);
    places_.sum_columns(a);
    if (slice_.size() < a.size()) {
      a = {a.begin() + static_cast<std::ptrdiff_t>(slice_.begin),
           a.begin() + static_cast<std::ptrdiff_t>(slice_.end)};
    }
    keep(slot, std::move(a));
  }

  void merge(std::size_t into, std::size_t from, double u, double v) override {
    for (std::size_t j = 0; j < slice_.size(); ++j) {
      planes_[into][j] = u * planes_[into][j] + v * planes_[from][j];
    }
    gram_.merge(into, from, u, v);
    free(from);
  }

  void drop(std::size_t slot) override {
    gram_.clear(slot);
    free(slot);
  }

  void grow(std::size_t slots) override {
    gram_.grow(slots);
    planes_.resize(slots);
    taken_.resize(slots);
  }

  void trial(std::span<const double> beta, Margins& margins) override {
    add_up_trial(beta);
    const Segment own = measure(slice_);
    double sums[] = {own.anchor_square, own.product, own.trial_square, own.square};
    places_.share_columns(trial_, sums);
    segment_ = {
        .anchor_square = sums[0], .product = sums[1], .trial_square = sums[2], .square = sums[3]};
    rows_.margins(margins.active, trial_, margins.trial);
    running_at_trial_ = dot(running_, trial_);
    trial_rounding_ = 0;  // planes that cancel each other leave theirs
    for (std::size_t k = 0; k < beta.size(); ++k) {
      trial_rounding_ +=
          PlanesTuning::kRoundingOfSums * beta[k] * std::sqrt(std::max(0.0, gram_(k, k)));
    }
  }

  Segment segment() const override {
    Segment s = segment_ ? *segment_ : measure({0, size()});
    s.trial_doubt = trial_rounding_ * (2 * std::sqrt(s.trial_square) + trial_rounding_);
    return s;
  }

  void advance(double t) override {
    segment_.reset();
    for (std::size_t j = 0; j < size(); ++j) anchor_[j] += t * (trial_[j] - anchor_[j]);
    running_at_anchor_ = dot(running_, anchor_);
  }

  std::vector<double> anchor() override { return anchor_; }
  void at_anchor(const RowList& rows, std::vector<double>& margins) override {
    rows_.margins(rows, anchor_, margins);
  }

  void mark() override { mark_ = anchor_; }
  void return_to_mark(std::vector<double>& margins) override {
    segment_.reset();
    trial_ = std::exchange(anchor_, mark_);
    rows_.margins(rows_.all(), trial_, margins);
    trial_rounding_ = 0;
    follow();
  }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    gram_.archive(archive);
    for (std::vector<double>* const vector : {&running_, &anchor_, &trial_, &mark_}) {
      archive.sized(*vector, rows_.dimension());
    }
    archive(running_at_anchor_, running_at_trial_, trial_rounding_);
    if (archive.reading()) segment_.reset();
    for (std::size_t slot = 0; slot < planes_.size(); ++slot) {
      taken_[slot] = taken[slot];
      archive.sized(planes_[slot], taken[slot] ? slice_.size() : 0);
    }
    if (!rows_.shared_out()) return;
    archive.sized_or_empty(slice_of_all_, slice_.size());
    archive.sized_or_empty(joined_, size());
  }

 private:
  std::size_t size() const { return running_.size(); }
  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return rows_.simd().dot_dense(x.data(), y.data(), size());
  }
  void free(std::size_t slot) {
    planes_[slot] = {};
    taken_[slot] = 0;
  }

  // This rank's slice of the trial.
  void add_up_trial(std::span<const double> beta) {
    constexpr std::size_t kColumns = PlanesTuning::kColumnsAtATime;
    const std::size_t blocks = (slice_.size() + kColumns - 1) / kColumns;
    double* const own = trial_.data() + slice_.begin;
    rows_.pool().run(blocks, [&](std::size_t block) {
      const std::size_t begin = block * kColumns, end = std::min(slice_.size(), begin + kColumns);
      std::fill(own + begin, own + end, 0.0);
      for (std::size_t k = 0; k < beta.size(); ++k) {
        if (beta[k] == 0) continue;
        rows_.simd().add_dense(-beta[k], planes_[k].data() + begin, own + begin, end - begin);
      }
    });
  }

  // Of anchor and trial, as far as these columns go.
  Segment measure(Rows::Slice columns) const {
    const double* const from = anchor_.data() + columns.begin;
    const double* const to = trial_.data() + columns.begin;
    Segment s;
    s.anchor_square = rows_.simd().dot_dense(from, from, columns.size());
    s.trial_square = rows_.simd().dot_dense(to, to, columns.size());
    s.product = rows_.simd().dot_dense(from, to, columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double difference = to[j] - from[j];
      s.square += difference * difference;
    }
    return s;
  }
  void follow() {
    running_at_anchor_ = dot(running_, anchor_);
    running_at_trial_ = dot(running_, trial_);
  }

  // This rank's slice of the running vector of all rows. Only what changed since this was last
  // asked for is summed, which is sparse if few rows changed sides.
  const std::vector<double>& join() {
    if (joined_.empty()) {
      slice_of_all_.assign(slice_.size(), 0.0);
      joined_.assign(size(), 0.0);
    }
    for (std::size_t j = 0; j < size(); ++j) joined_[j] = running_[j] - joined_[j];  // for a moment
    places_.sum_columns(joined_);
    for (std::size_t j = 0; j < slice_.size(); ++j) slice_of_all_[j] += joined_[slice_.begin + j];
    joined_ = running_;
    return slice_of_all_;
  }

  void keep(std::size_t slot, std::vector<double> a) {
    planes_[slot] = std::move(a);
    taken_[slot] = true;
    std::vector<double> products(planes_.size());
    rows_.pool().run(planes_.size(), [&](std::size_t k) {
      if (!taken_[k]) return;
      products[k] = rows_.simd().dot_dense(planes_[slot].data(), planes_[k].data(), slice_.size());
    });
    places_.reduce(products);
    for (std::size_t k = 0; k < planes_.size(); ++k) {
      if (taken_[k]) gram_.set(slot, k, products[k]);
    }
  }

  SignedRows& rows_;
  Rows& places_;  // the same rows, for what ranks do together
  std::vector<double> running_, anchor_, trial_, mark_;
  const Rows::Slice slice_;
  // Where rows are shared out: the slice of the running vector of all rows, and the one of the own
  // rows as it was then; empty: not known.
  std::vector<double> slice_of_all_, joined_;
  std::optional<Segment> segment_;           // but for the doubt; if it was measured
  double trial_rounding_ = 0;                // in |trial|, about
  std::vector<std::vector<double>> planes_;  // slices, by slot
  std::vector<std::uint8_t> taken_;          // by slot; a slice may be empty
};

}  // namespace

std::unique_ptr<PlaneVectors> make_column_planes(SignedRows& rows, std::size_t slots) {
  return std::make_unique<ColumnPlanes>(rows, slots);
}

}  // namespace hinge
