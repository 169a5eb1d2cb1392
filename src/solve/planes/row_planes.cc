// Notation: H is a point that is kept as a vector (the mark, or where it all began). The anchor is
//   fade H - sum_k gamma_k a_k + sum_i theta_i y_i x_i,
// theta holding what planes that are no more have left in it. Of both, the products with every
// plane are kept up to date by what is known of the rows that flip.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "solve/planes/plane_vectors.h"
#include "solve/planes/tuning.h"

namespace hinge {
namespace {

class RowPlanes final : public PlaneVectors {
 public:
  RowPlanes(SignedRows& rows, std::size_t slots, bool keeps_vectors, const PlaneStatuses& statuses,
            const RowBits& now)
      : PlaneVectors(slots),
        rows_(rows),
        statuses_(statuses),
        now_(now),
        slots_(slots),
        scores_(rows.size() * slots),
        stamp_(rows.size()),
        serial_(slots),
        with_running_(slots),
        with_anchor_(slots),
        with_mark_(slots),
        with_trial_(slots),
        beta_(slots),
        gamma_(slots) {
    if (keeps_vectors) vectors_.resize(slots);
  }

  void begin(std::span<const double> w, std::span<const double> weights) override {
    point_.assign(w.begin(), w.end());
    running_ = rows_.sum(weights);
    running_at_anchor_ = running_at_mark_ = running_at_trial_ = dot(running_, point_);
    segment_.anchor_square = segment_.trial_square = segment_.product = dot(point_, point_);
    trial_ = point_;
  }

  void rebuild(std::span<const double> weights) override { running_ = rows_.sum(weights); }

  void flip(const Flips& flips, const Margins& margins) override {
    if (flips.size() == 0) return;
    bring(flips.rows);
    const std::size_t used = used_slots();
    for (std::size_t k = 0; k < flips.size(); ++k) {
      const std::uint64_t i = flips.rows.list[k];
      const double weight = flips.weights[k];
      rows_.simd().add_dense(weight, scores_of(i), with_running_.data(), used);
      running_at_anchor_ += weight * margins.anchor[i];
      running_at_trial_ += weight * margins.trial[i];
      if (!margins.mark.empty()) running_at_mark_ += weight * margins.mark[i];
    }
    rows_.combine(flips.rows, flips.weights, running_);
  }

  void take(std::size_t slot) override {
    if (!vectors_.empty()) vectors_[slot] = running_;
    newest_ = slot;
    serial_[slot] = ++clock_;
    with_running_[slot] = dot(running_, running_);
    for (std::size_t k = 0; k < slots_; ++k) {
      if (serial_[k] != 0) gram_.set(slot, k, with_running_[k]);
    }
    with_anchor_[slot] = running_at_anchor_;
    with_mark_[slot] = running_at_mark_;
    with_trial_[slot] = running_at_trial_;
  }

  void take(std::size_t slot, std::span<const double> weights) override {
    bring(rows_.all());
    serial_[slot] = ++clock_;
    for (std::size_t k = 0; k < slots_; ++k) {
      double product = 0;
      for (std::uint64_t i = 0; serial_[k] != 0 && i < weights.size(); ++i) {
        if (weights[i] != 0) product += weights[i] * scores_of(i)[k];
      }
      gram_.set(slot, k, product);
    }
    const std::vector<double> a = rows_.sum(weights);
    if (!vectors_.empty()) vectors_[slot] = a;
    gram_.set(slot, slot, dot(a, a));
    with_running_[slot] = dot(running_, a);
    with_anchor_[slot] = with_mark_[slot] = with_trial_[slot] = dot(point_, a);
    score(rows_.all(), slot, a, clock_ - 1);
    for (std::uint64_t i = 0; i < rows_.size(); ++i) stamp_[i] = clock_;
  }

  void merge(std::size_t into, std::size_t from, double u, double v) override {
    fold(into);
    fold(from);
    gram_.merge(into, from, u, v);
    for (std::vector<double>* const products :
         {&with_running_, &with_anchor_, &with_mark_, &with_trial_}) {
      (*products)[into] = u * (*products)[into] + v * (*products)[from];
      (*products)[from] = 0;
    }
    if (newest_ == into || newest_ == from) newest_ = kNone;
    if (!vectors_.empty()) {
      for (std::size_t j = 0; j < running_.size(); ++j) {
        vectors_[into][j] = u * vectors_[into][j] + v * vectors_[from][j];
      }
    }
    serial_[into] = std::max(serial_[into], serial_[from]);
    serial_[from] = 0;
    for (std::uint64_t i = 0; i < rows_.size(); ++i) {
      if (stamp_[i] < serial_[into]) continue;  // has not met both, and will meet the sum
      double* const scores = scores_of(i);
      scores[into] = u * scores[into] + v * scores[from];
    }
    beta_[into] += beta_[from];
    beta_[from] = 0;
  }

  void drop(std::size_t slot) override {
    fold(slot);
    gram_.clear(slot);
    serial_[slot] = 0;
    beta_[slot] = 0;
    with_running_[slot] = with_anchor_[slot] = with_mark_[slot] = with_trial_[slot] = 0;
  }

  void trial(std::span<const double> beta, Margins& margins) override {
    const RowList& rows = margins.active;
    bring(rows);
    trial_.clear();
    std::copy(beta.begin(), beta.end(), beta_.begin());
    const std::size_t used = used_slots();
    double* const trial = margins.trial.data();
    rows_.for_blocks(rows, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = rows.row(k);
        trial[i] = -rows_.simd().dot_dense(beta_.data(), scores_of(i), used);
      }
    });
    for (std::size_t k = 0; k < used; ++k) {
      with_trial_[k] = -rows_.simd().dot_dense(beta_.data(), gram_.row(k), used);
    }
    running_at_trial_ = -dot(beta_, with_running_);
    segment_.trial_square = -dot(beta_, with_trial_);
    segment_.trial_doubt = doubt(used);
    segment_.product = -dot(beta_, with_anchor_);
  }

  Segment segment() const override {
    Segment s = segment_;
    s.square = std::max(0.0, s.anchor_square - 2 * s.product + s.trial_square);
    return s;
  }

  void advance(double t) override {
    const double stay = 1 - t;
    for (std::size_t k = 0; k < slots_; ++k) {
      with_anchor_[k] = stay * with_anchor_[k] + t * with_trial_[k];
    }
    running_at_anchor_ = stay * running_at_anchor_ + t * running_at_trial_;
    if (!trial_.empty()) {  // both are vectors
      for (std::size_t j = 0; j < point_.size(); ++j) point_[j] += t * (trial_[j] - point_[j]);
      segment_.anchor_square = dot(point_, point_);
      segment_.product = dot(point_, trial_);
      return;
    }
    segment_.anchor_square = stay * stay * segment_.anchor_square +
                             2 * t * stay * segment_.product + t * t * segment_.trial_square;
    segment_.product = stay * segment_.product + t * segment_.trial_square;
    fade_ *= stay;
    for (std::size_t k = 0; k < slots_; ++k) gamma_[k] = stay * gamma_[k] + t * beta_[k];
    for (double& x : theta_) x *= stay;
  }

  std::vector<double> anchor() override {
    std::vector<double> w = point_;
    if (at_point()) return w;
    for (double& x : w) x *= fade_;
    std::vector<double> weights(rows_.size());
    statuses_.spread(gamma_, weights, rows_.pool());
    for (std::uint64_t i = 0; i < weights.size(); ++i) {
      weights[i] = rows_.cost(i) * (weights[i] + (theta_.empty() ? 0.0 : theta_[i]));
    }
    rows_.combine(rows_.all(), weights, w);
    return w;
  }

  void at_anchor(const RowList& rows, std::vector<double>& margins) override {
    rows_.margins(rows, anchor(), margins);
  }

  void mark() override {
    settle(anchor());
    with_mark_ = with_anchor_;
    running_at_mark_ = running_at_anchor_;
  }

  void return_to_mark(std::vector<double>& margins) override {
    trial_ = anchor();
    rows_.margins(rows_.all(), trial_, margins);
    settle(std::move(point_));
    with_trial_ = std::exchange(with_anchor_, with_mark_);
    running_at_trial_ = std::exchange(running_at_anchor_, running_at_mark_);
    segment_.trial_square = dot(trial_, trial_);
    segment_.trial_doubt = 0;
    segment_.product = dot(trial_, point_);
  }

  void grow(std::size_t slots) override {
    const std::size_t before = slots_;
    gram_.grow(slots);
    slots_ = slots;
    std::vector<double> scores(rows_.size() * slots);
    for (std::uint64_t i = 0; i < rows_.size(); ++i) {
      std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(i * before), before,
                  scores.begin() + static_cast<std::ptrdiff_t>(i * slots));
    }
    scores_ = std::move(scores);
    serial_.resize(slots);
    if (!vectors_.empty()) vectors_.resize(slots);
    for (std::vector<double>* const numbers : by_slot()) numbers->resize(slots);
  }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    const std::size_t rows = rows_.size(), dimension = rows_.dimension();
    gram_.archive(archive);
    archive.sized(scores_, rows * slots_);
    archive.sized(stamp_, rows);
    archive.sized(serial_, slots_);
    archive(clock_, newest_);
    archive.require(newest_ == kNone || (newest_ < slots_ && taken[newest_]));
    archive.sized(running_, dimension);
    archive.sized(point_, dimension);
    archive.sized_or_empty(trial_, dimension);
    archive.sized(vectors_, vectors_.size());
    for (std::vector<double>* const numbers : by_slot()) archive.sized(*numbers, slots_);
    archive.sized_or_empty(theta_, rows);
    archive(running_at_anchor_, running_at_mark_, running_at_trial_, fade_, segment_);
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      archive.require((serial_[slot] != 0) == taken[slot]);
      archive.require(taken[slot] || (beta_[slot] == 0 && gamma_[slot] == 0));
      archive.require(vectors_.empty() || vectors_[slot].size() == dimension ||
                      (!taken[slot] && vectors_[slot].empty()));
    }
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::array<std::vector<double>*, 6> by_slot() {
    return {&with_running_, &with_anchor_, &with_mark_, &with_trial_, &beta_, &gamma_};
  }
  double* scores_of(std::uint64_t i) { return scores_.data() + i * slots_; }
  double dot(const std::vector<double>& x, const std::vector<double>& y) const {
    return rows_.simd().dot_dense(x.data(), y.data(), x.size());
  }

  // Of sum_jk beta_j beta_k <a_j,a_k>: planes that cancel each other leave their rounding.
  double doubt(std::size_t used) const {
    double sum = 0;
    for (std::size_t j = 0; j < used; ++j) {
      if (beta_[j] == 0) continue;
      double row = 0;
      for (std::size_t k = 0; k < used; ++k) row += beta_[k] * std::abs(gram_(j, k));
      sum += beta_[j] * row;
    }
    return PlanesTuning::kRoundingOfSums * sum;
  }

  // Slots beyond are free.
  std::size_t used_slots() const {
    std::size_t used = slots_;
    while (used > 0 && serial_[used - 1] == 0) --used;
    return used;
  }

  bool at_point() const {
    return fade_ == 1 && theta_.empty() &&
           std::ranges::all_of(gamma_, [](double x) { return x == 0; });
  }
  // The anchor is this vector.
  void settle(std::vector<double> w) {
    point_ = std::move(w);
    fade_ = 1;
    theta_.clear();
    std::ranges::fill(gamma_, 0.0);
    segment_.anchor_square = dot(point_, point_);
  }
  // The part of a plane in the anchor becomes one of rows: the plane will change or go.
  void fold(std::size_t slot) {
    if (gamma_[slot] == 0) return;
    if (theta_.empty()) theta_.resize(rows_.size());
    std::vector<double> coefficients(slots_);
    coefficients[slot] = std::exchange(gamma_[slot], 0.0);
    statuses_.spread(coefficients, theta_, rows_.pool());
  }

  // Scores of these rows at all planes they have not met yet, newest first: the vector of a plane
  // is that of the one after it but for the rows that changed sides.
  void bring(const RowList& rows) {
    std::uint32_t oldest = clock_, newest = 0;
    for (std::uint64_t k = 0; k < rows.size(); ++k) {
      const std::uint32_t stamp = stamp_[rows.row(k)];
      oldest = std::min(oldest, stamp);
      newest = std::max(newest, stamp);
    }
    if (oldest == clock_) return;
    if (rows.cuts.empty()) return bring(rows_.rows().cut(rows.list));
    std::vector<std::size_t> missing;
    for (std::size_t k = 0; k < slots_; ++k) {
      if (serial_[k] > oldest) missing.push_back(k);
    }
    std::ranges::sort(missing, std::ranges::greater(), [&](std::size_t k) { return serial_[k]; });
    std::vector<double> rolled;
    RowBits at;
    for (const std::size_t slot : missing) {
      if (slot == newest_) {
        score(rows, slot, running_, newest);
      } else if (!vectors_.empty()) {
        score(rows, slot, vectors_[slot], newest);
      } else if (statuses_.merged(slot)) {
        std::vector<double> coefficients(slots_), weights(rows_.size());
        coefficients[slot] = 1;
        statuses_.spread(coefficients, weights, rows_.pool());
        for (std::uint64_t i = 0; i < weights.size(); ++i) weights[i] *= -rows_.cost(i);
        score(rows, slot, rows_.sum(weights), newest);
      } else {
        if (rolled.empty()) {
          rolled = running_;
          at = now_;
        }
        roll(rolled, at, statuses_.bits(slot));
        score(rows, slot, rolled, newest);
      }
    }
    for (std::uint64_t k = 0; k < rows.size(); ++k) stamp_[rows.row(k)] = clock_;
  }

  // a, the vector of the statuses `at`, becomes that of `to`.
  void roll(std::vector<double>& a, RowBits& at, const RowBits& to) {
    Flips flips;
    for (std::size_t k = 0; k < at.size(); ++k) {
      for (std::uint64_t word = at.word(k) ^ to.word(k); word != 0; word &= word - 1) {
        const std::uint64_t i = k * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
        flips.add(i, at.get(i) ? rows_.cost(i) : -rows_.cost(i));
      }
    }
    for (const auto& [row, more] :
         {at.between, RowBits::Between{to.between.row, -to.between.more}}) {
      if (more != 0) flips.add(row, more * rows_.cost(row));
    }
    rows_.combine(flips.rows, flips.weights, a);
    at = to;
  }

  // Scores at the plane in `slot`, which is `a`, of the rows that have not met it: all, if not even
  // the newest stamp among them is as late as the plane.
  void score(const RowList& rows, std::size_t slot, const std::vector<double>& a,
             std::uint32_t newest) {
    const std::uint32_t serial = serial_[slot];
    const auto place = [scores = scores_.data() + slot,
                        stride = slots_](std::uint64_t i) -> double& { return scores[i * stride]; };
    if (newest < serial) return rows_.margins_to(rows, a, place);
    std::vector<std::uint64_t> others;
    for (std::uint64_t k = 0; k < rows.size(); ++k) {
      if (stamp_[rows.row(k)] < serial) others.push_back(rows.row(k));
    }
    rows_.margins_to(rows_.rows().cut(std::move(others)), a, place);
  }

  SignedRows& rows_;
  const PlaneStatuses& statuses_;
  const RowBits& now_;
  std::size_t slots_;
  std::vector<double> scores_;         // y_i <x_i, a_k> at i * slots + k
  std::vector<std::uint32_t> stamp_;   // row i has met all planes up to this serial number
  std::vector<std::uint32_t> serial_;  // of the plane in a slot; 0: free
  std::uint32_t clock_ = 0;
  std::size_t newest_ = kNone;                   // the slot whose plane is the running vector
  std::vector<double> running_, point_, trial_;  // trial_ is empty where beta_ says what it is
  std::vector<std::vector<double>> vectors_;     // of the planes, if they are kept
  std::vector<double> with_running_, with_anchor_, with_mark_, with_trial_;  // <., a_k>
  double running_at_mark_ = 0;
  std::vector<double> beta_, gamma_, theta_;
  double fade_ = 1;
  Segment segment_;
};

}  // namespace

std::unique_ptr<PlaneVectors> make_row_planes(SignedRows& rows, std::size_t slots,
                                              bool keeps_vectors, const PlaneStatuses& statuses,
                                              const RowBits& now) {
  return std::make_unique<RowPlanes>(rows, slots, keeps_vectors, statuses, now);
}

}  // namespace hinge
