// Map: margins of anchor and trial, statuses and the active rows are here; planes and how their
// vectors are kept are PlaneVectors' (plane_vectors.h).
//
// With s the statuses now, R_active is the newest plane and what active rows add to it:
//   R_active(w) = <a,w> + b + sum_active c_i max(0, s_i = 1 ? z_i - 1 : 1 - z_i),  z = margin at w.
// So rows that are not active enter by the plane alone, and along a segment only rows that change
// sides bend anything.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "data/survey.h"
#include "objective/free_bias.h"
#include "solve/planes/plane_vectors.h"

namespace hinge {
namespace {

// Planes are kept by rows where there are at most so many rows a column: planes times rows must not
// outweigh planes times columns. Few active rows allow for more.
constexpr std::uint64_t kRowsPerColumn = 1, kRowsPerColumnNarrowed = 4;

// Rows a width is judged by, those of all ranks together.
constexpr std::uint64_t kSample = std::uint64_t{1} << 16;

bool planes_by_rows(std::uint64_t rows, std::uint64_t dimension, const RiskOptions& options) {
  const std::uint64_t most =
      options.use == ActiveUse::narrowed ? kRowsPerColumnNarrowed : kRowsPerColumn;
  return options.use != ActiveUse::wandering && rows <= most * dimension && options.comm == nullptr;
}

template <class Value>
class CpuRisk final : public Risk {
 public:
  CpuRisk(const Problem& problem, const CsrView<Value>& m, const RiskOptions& options, Pool& pool)
      : rows_(problem, m, *options.simd, pool),
        use_(options.use),
        comm_(options.comm),
        all_{.all = true, .list = {}, .cuts = cut_rows(*problem.data)},
        active_(all_),
        now_(m.rows),
        statuses_(m.rows, options.slots),
        anchor_(m.rows),
        trial_(m.rows) {
    by_rows_ = planes_by_rows(m.rows, rows_.passes.dimension(), options);
    vectors_ = by_rows_ ? make_row_planes(rows_, options, statuses_, now_)
                        : make_column_planes(rows_, options);
  }

  double begin(std::span<const double> w) override {
    active_ = all_;
    if (free_bias()) {
      bias_.anchor = bias_.trial = w.back();
      w = w.first(w.size() - 1);
    }
    rows_.margins(all_, {w.begin(), w.end()}, anchor_.data());
    add_bias(all_, bias_.anchor, anchor_);
    trial_ = anchor_;
    set_slope();
    const Inside inside = inside_at(0);
    for (std::uint64_t i = 0; i < rows_.m.rows; ++i) now_.set(i, inside(i, i));
    now_.between = inside.between;
    vectors_->begin(w, weights());
    const double risk = value(0);
    if (free_bias()) shift_anchor(best(0).at);
    return risk;
  }

  void set_trial(std::span<const double> beta) override {
    vectors_->trial(beta, active_, trial_.data());
    objective_ += active_.size();
    known_.t = kNone;
    if (!free_bias()) return;
    bias_.trial = crossing(searches_.trial, 1, bias_.trial).at;
    add_bias(active_, bias_.trial, trial_);
  }

  Segment segment() const override { return vectors_->segment(); }

  double value(double t) override {
    const bool all = active_.all;
    const double shift = free_bias() ? best(t).at : 0;
    const double sum = add_up(active_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active_.row(k);
        const double inside = 1 - at(i, t) - rows_.sign(i) * shift;
        const double loss = all || !now_.get(i) ? inside : -inside;
        part += rows_.cost(i) * std::max(0.0, loss);
      }
      return part;
    });
    if (all) return sum;
    const double from = vectors_->running_at_anchor(), to = vectors_->running_at_trial();
    double between = 0;
    if (free_bias()) {
      const auto& [r, more] = now_.between;  // the sum takes its bit for its status
      between = more * rows_.cost(r) * (1 - at(r, t) - rows_.sign(r) * shift);
    }
    const double value = from + t * (to - from) + b_ - between + sum;
    return comm_ != nullptr ? value : std::max(0.0, value);
  }

  double search(double a, double b, double t_max) override;
  SlopeSteps slope_steps(double t_max) override;
  std::vector<Breakpoint> breakpoints_in(std::size_t bucket) override;

  void advance(double t) override {
    const double shift = free_bias() && t > 0 ? best(t).at : 0;
    vectors_->advance(t);
    bias_.anchor += t * (bias_.trial - bias_.anchor) + shift;  // at once: a signal may come now
    rows_.for_blocks(active_, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active_.row(k);
        anchor_[i] = at(i, t);
      }
    });
    add_bias(active_, shift, anchor_);
    known_.t = kNone;
  }

  std::vector<double> anchor() override {
    std::vector<double> w = vectors_->anchor();
    if (free_bias()) w.push_back(bias_.anchor);
    return w;
  }

  double plane(std::size_t slot, double t) override {
    const Inside inside = inside_at(t);
    std::vector<std::vector<Flip>> parts(active_.blocks());
    rows_.for_blocks(active_, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active_.row(k);
        const bool then = inside(k, i);
        if (then == now_.get(i)) continue;
        parts[block].push_back({i, then ? -rows_.cost(i) : rows_.cost(i)});
      }
    });
    std::vector<Flip> flips;
    for (const std::vector<Flip>& part : parts) flips.insert(flips.end(), part.begin(), part.end());
    std::vector<std::uint64_t> flipped;  // by their bits; rows between change besides
    if (free_bias()) {
      for (const Flip& flip : flips) flipped.push_back(flip.row);
      change(flips, now_.between, 1);
      change(flips, inside.between, -1);
    }
    vectors_->flip(flips, anchor_.data(), trial_.data(), mark_.empty() ? nullptr : mark_.data());
    for (const Flip& flip : flips) {
      if (!free_bias()) now_.flip(flip.row);
      b_ -= flip.weight;
    }
    for (const std::uint64_t i : flipped) now_.flip(i);
    now_.between = inside.between;
    statuses_.set(slot, now_);
    vectors_->take(slot);
    return b_;
  }

  double plane_of(std::size_t slot, std::span<const double> shares) override {
    std::vector<double> weights(shares.begin(), shares.end());
    double b = 0;
    for (std::uint64_t i = 0; i < weights.size(); ++i) {
      b += rows_.cost(i) * weights[i];
      weights[i] *= -rows_.cost(i);
    }
    statuses_.set(slot, shares);
    vectors_->take(slot, std::move(weights), active_);
    return b;
  }

  void merge(std::size_t into, std::size_t from, double u, double v) override {
    vectors_->merge(into, from, u, v);
    statuses_.merge(into, from, u, v, rows_.pool);
  }
  void drop(std::size_t slot) override {
    vectors_->drop(slot);
    statuses_.drop(slot);
  }
  std::span<const double> gram() const override { return vectors_->gram(); }

  std::vector<double> statuses(std::span<const double> beta) override {
    std::vector<double> out(rows_.m.rows);
    statuses_.spread(beta, out, rows_.pool);
    return out;
  }

  double rebuild() override {
    vectors_->rebuild(weights());
    vectors_->at_anchor(active_, anchor_.data());
    add_bias(active_, bias_.anchor, anchor_);
    known_.t = kNone;
    return value(0);
  }

  ExactValues exact(std::span<const double> beta) override {
    ExactValues values;
    const std::vector<double> w = vectors_->anchor();
    values.anchor_square = rows_.simd.dot_dense(w.data(), w.data(), w.size());
    std::vector<double> margins(rows_.m.rows);
    rows_.margins(all_, w, margins.data());
    add_bias(all_, bias_.anchor, margins);
    std::vector<double> weights = statuses(beta);
    values.risk = add_up(all_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        part += rows_.cost(i) * std::max(0.0, 1 - margins[i]);
      }
      return part;
    });
    values.b = add_up(all_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t i = begin; i < end; ++i) part += weights[i] *= rows_.cost(i);
      return part;
    });
    std::vector<double> v(rows_.passes.dimension());
    rows_.combine(
        weights.size(), [](std::uint64_t i) { return i; }, weights, v.data());
    if (comm_ != nullptr) comm_->sum(v);
    values.square = rows_.simd.dot_dense(v.data(), v.data(), v.size());
    return values;
  }

  bool by_rows() const override { return by_rows_; }
  bool narrows_well() const override { return vectors_->narrows_well(); }
  std::uint64_t keep_near(double moved, double radius) override;

  void mark() override {
    mark_ = anchor_;
    bias_.mark = bias_.anchor;
    vectors_->mark();
  }

  double moved() override {
    const double sum = add_up(all_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        part += (anchor_[i] - mark_[i]) * (anchor_[i] - mark_[i]);
      }
      return part;
    });
    return std::sqrt(sum / static_cast<double>(std::max<std::uint64_t>(1, rows_.m.rows)));
  }

  double width_of(double share) const override {
    const std::uint64_t step = sample_step();
    std::vector<double> away;
    for (std::uint64_t i = 0; i < rows_.m.rows; i += step) {
      const double distance = std::abs(1 - anchor_[i]);
      if (!std::isnan(distance)) away.push_back(distance);
    }
    if (away.empty()) return 0;
    const auto last = static_cast<double>(away.size() - 1);
    const auto at = away.begin() + static_cast<std::ptrdiff_t>(share * last);
    std::ranges::nth_element(away, at);
    return *at;
  }

  void near(std::span<const double> widths, std::span<double> counts) const override {
    const std::uint64_t step = sample_step();
    std::ranges::fill(counts, 0.0);
    for (std::uint64_t i = 0; i < rows_.m.rows; i += step) {
      const double distance = std::abs(1 - anchor_[i]);
      for (std::size_t k = 0; k < widths.size(); ++k) {
        counts[k] += distance <= widths[k] ? static_cast<double>(step) : 0.0;
      }
    }
  }

  std::uint64_t narrow(double width) override {
    std::vector<std::vector<std::uint64_t>> parts(all_.blocks());
    rows_.for_blocks(all_, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        // The row between is looked at in any case.
        const bool between = i == now_.between.row && now_.between.more != 0;
        if (between || !(std::abs(1 - anchor_[i]) > width)) parts[block].push_back(i);
      }
    });
    std::vector<std::uint64_t> list;
    for (const std::vector<std::uint64_t>& part : parts) {
      list.insert(list.end(), part.begin(), part.end());
    }
    auto found = static_cast<double>(list.size());
    if (comm_ != nullptr) found = comm_->sum(found);
    if (found == 0) return 0;
    active_ = rows_.cut(std::move(list));
    set_slope();
    return active_.size();
  }

  void widen() override {
    active_ = all_;
    anchor_ = mark_;
    bias_.trial = std::exchange(bias_.anchor, bias_.mark);
    set_slope();
    vectors_->rebuild(weights());
    vectors_->widen(all_, trial_.data());
    add_bias(all_, bias_.trial, trial_);
    objective_ += all_.size();
  }

  void grow(std::size_t slots) override {
    vectors_->grow(slots);
    statuses_.grow(slots);
  }

  void archive(Archive& archive, const std::vector<bool>& taken) override {
    const std::uint64_t rows = rows_.m.rows;
    now_.archive(archive, rows);
    archive.require(now_.size() > 0 || rows == 0);
    statuses_.archive(archive, taken);
    vectors_->archive(archive, taken);
    archive.sized(anchor_, rows);
    archive.sized(trial_, rows);
    archive.sized(mark_, use_ == ActiveUse::narrowed ? rows : 0);
    archive.sized_or_empty(reach_, rows);
    archive(b_, gone_, objective_, search_, rows_.touched);
    archive(bias_.anchor, bias_.trial, bias_.mark, slope_, searches_.trial, searches_.point,
            searches_.plane, known_.t, known_.crossing);
    archive.require(known_.crossing.item < rows || rows == 0);
    archive(active_.all, active_.list);
    if (!archive.reading()) return;
    const std::vector<std::uint64_t>& list = active_.list;
    archive.require(list.empty() || list.back() < rows);
    archive.require(active_.all || !free_bias());
    archive.require(std::ranges::is_sorted(list, std::ranges::less_equal()));
    active_ = active_.all ? all_ : rows_.cut(std::move(active_.list));
    if (!reach_.empty()) measure_lengths();
  }

  std::uint64_t active() const override { return active_.size(); }
  std::uint64_t rows() const override { return rows_.m.rows; }
  RiskCounts counts() const override {
    return {.rows = rows_.touched, .objective = objective_, .search = search_};
  }

 private:
  // Of so many rows one is in the sample.
  std::uint64_t sample_step() const {
    const std::uint64_t ranks = comm_ == nullptr ? 1 : static_cast<std::uint64_t>(comm_->size());
    return std::max<std::uint64_t>(1, rows_.m.rows * ranks / kSample);
  }
  // The margin of row i at point(t).
  double at(std::uint64_t i, double t) const { return anchor_[i] + t * (trial_[i] - anchor_[i]); }

  struct Hinge {
    double c, d;  // cost max(0, c + t d)
  };
  Hinge hinge_of(std::uint64_t i) const {
    const double sign = now_.get(i) ? 1 : -1;
    return {sign * (anchor_[i] - 1), sign * (trial_[i] - anchor_[i])};
  }

  // ---- The free bias; margins have y b in them.
  bool free_bias() const { return rows_.problem.free_bias; }

  void add_bias(const ActiveRows& rows, double b, std::vector<double>& margins) {
    if (b == 0) return;
    rows_.for_blocks(rows, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = rows.row(k);
        margins[i] += rows_.sign(i) * b;
      }
    });
  }
  void shift_anchor(double shift) {
    add_bias(active_, shift, anchor_);
    bias_.anchor += shift;
    known_.t = kNone;
  }

  // Sets the slope of R_active in b where b is small beyond all bends. Statuses of rows that are
  // not active stay, and sum_i s_i c_i y_i = 0 over all; so it follows from the active ones.
  void set_slope() {
    const bool all = active_.all;
    if (!free_bias()) return;
    if (!all && !rows_.problem.costs.empty()) {
      rises_.clear();
      for (const std::uint64_t i : active_.list) rises_.push_back(rows_.cost(i));
    }
    slope_ = add_up(active_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t k = begin; k < end; ++k) {
        const std::uint64_t i = active_.row(k);
        const double status = all ? 0.0 : now_.status(i);
        part -= rows_.cost(i) * (rows_.sign(i) > 0 ? 1 - status : status);
      }
      return part;
    });
    known_.t = kNone;
  }
  // Of the bends at point(t); its item is an entry of the active rows.
  Crossing crossing(CrossingSearch& search, double t, double guess) {
    places_.resize(active_.size());
    const bool all = active_.all;
    const std::int8_t* const y = rows_.problem.y.data();
    const double *const from = anchor_.data(), *const to = trial_.data();
    double* const places = places_.data();
    rows_.for_blocks(active_, [=, this](std::size_t, std::uint64_t begin, std::uint64_t end) {
      const auto place = [=](std::uint64_t i) {
        return y[i] * (1 - (from[i] + t * (to[i] - from[i])));
      };
      if (all) {  // without a look at the list, several at once
        for (std::uint64_t i = begin; i < end; ++i) places[i] = place(i);
      } else {
        for (std::uint64_t k = begin; k < end; ++k) places[k] = place(active_.list[k]);
      }
    });
    std::span<const double> rises = rows_.problem.costs;
    if (!rises.empty() && !active_.all) rises = rises_;
    return search.find(places_, rises, active_.cuts, slope_, guess, rows_.pool);
  }
  // Of point(t), as a shift of what the straight line in b has there.
  Crossing best(double t) {
    if (known_.t != t) known_ = {.t = t, .crossing = crossing(searches_.point, t, 0)};
    return known_.crossing;
  }

  // Statuses at point(t): of row i, which is entry k of the active rows.
  struct Inside {
    const CpuRisk& risk;
    double t;
    Crossing crossing;
    RowBits::Between between;

    bool operator()(std::uint64_t k, std::uint64_t i) const {
      if (!risk.free_bias()) return risk.at(i, t) < 1;
      return (risk.rows_.sign(i) > 0) != crossing.passed(risk.places_[k], k);
    }
  };
  Inside inside_at(double t) {
    Inside inside{*this, t, {}, {}};
    if (!free_bias()) return inside;
    // Mostly near the point that was looked at last.
    inside.crossing = crossing(searches_.plane, t, known_.t == kNone ? 0 : known_.crossing.at);
    const std::uint64_t r = active_.row(inside.crossing.item);
    inside.between = {.row = r, .more = -rows_.sign(r) * inside.crossing.share};
    return inside;
  }
  // The status of a row between becomes its bit, or the other way round.
  void change(std::vector<Flip>& flips, const RowBits::Between& between, double sign) const {
    if (between.more == 0) return;
    const auto place = std::ranges::lower_bound(flips, between.row, {}, &Flip::row);
    const bool there = place != flips.end() && place->row == between.row;
    Flip& flip = there ? *place : *flips.insert(place, {between.row, 0});
    flip.weight += sign * between.more * rows_.cost(between.row);
  }

  // f(first, last) of every block of rows, added up in order.
  template <class F>
  double add_up(const ActiveRows& rows, const F& f) {
    std::vector<double> parts(rows.blocks());
    rows_.for_blocks(rows, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      parts[block] = f(begin, end);
    });
    double sum = 0;
    for (const double part : parts) sum += part;
    return sum;
  }

  void measure_lengths() {
    lengths_.resize(rows_.m.rows);
    for (std::uint64_t i = 0; i < rows_.m.rows; ++i) {
      lengths_[i] = std::sqrt(rows_.passes.square(i));
    }
  }

  // -s_i c_i; b as well.
  std::vector<double> weights() {
    std::vector<double> weights(rows_.m.rows);
    b_ = add_up(all_, [&](std::uint64_t begin, std::uint64_t end) {
      double part = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        const double status = now_.status(i);
        if (status == 0) continue;
        weights[i] = -rows_.cost(i) * status;
        part -= weights[i];
      }
      return part;
    });
    return weights;
  }

  RiskRows<Value> rows_;
  const ActiveUse use_;
  Comm* const comm_;  // of RiskOptions
  const ActiveRows all_;
  ActiveRows active_;
  RowBits now_;  // statuses of the newest plane
  double b_ = 0;
  PlaneStatuses statuses_;
  bool by_rows_ = false;
  std::unique_ptr<PlaneVectors> vectors_;
  std::vector<double> anchor_, trial_, mark_;  // margins, by row; of active rows, but for mark_
  struct {
    double anchor = 0, trial = 0, mark = 0;
  } bias_;  // free, at these points
  double slope_ = 0;
  std::vector<double> places_, rises_;  // of the bends of active rows in b; rises: costs, if any
  struct {
    CrossingSearch trial, point, plane;
  } searches_;
  static constexpr double kNone = -1;
  struct {
    double t = kNone;
    Crossing crossing = {};
  } known_;  // the best bias at the last point(t) that was looked at
  // keep_near: distance to the margin plus how far the anchor had gone when it was measured.
  std::vector<double> lengths_, reach_;
  double gone_ = 0;
  std::vector<std::uint8_t> bucket_;  // of each active row's bend in a line search
  std::uint64_t objective_ = 0, search_ = 0;
};

// Each active row adds c_i max(0, c + t d), which bends at t = -c/d if that is positive. Steps of
// the slope are summed in buckets of t, the bucket where the minimum lies is found, and only its
// bends are looked at one by one.
template <class Value>
double CpuRisk<Value>::search(double a, double b, double t_max) {
  SlopeSteps all = slope_steps(t_max);
  if (!(b + all.slope() < 0)) return 0;
  const Bucket bucket = find_bucket(a, b, all);
  LineSearch inside(a, bucket.slope);
  if (bucket.step > 0) inside.add_breakpoints(breakpoints_in(bucket.number));
  return std::min(t_max, inside.minimum());
}

template <class Value>
SlopeSteps CpuRisk<Value>::slope_steps(double t_max) {
  struct Part {
    std::array<double, Breakpoints::kBuckets + 1> rise{};  // the last: of rows that do not bend
    double slope = 0;
    std::uint64_t bends = 0;
  };
  bucket_.resize(active_.size());
  std::vector<Part> parts(active_.blocks());
  rows_.for_blocks(active_, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
    Part& part = parts[block];
    Breakpoints run;
    for (std::uint64_t from = begin; from < end; from += Breakpoints::kRun) {
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(Breakpoints::kRun, end - from));
      for (std::size_t j = 0; j < size; ++j) {
        const std::uint64_t i = active_.row(from + j);
        const auto [c, d] = hinge_of(i);
        run.c[j] = c;
        run.d[j] = d;
        run.step[j] = rows_.cost(i);
      }
      for (std::size_t j = size; j < Breakpoints::kRun; ++j) run.c[j] = run.d[j] = run.step[j] = 0;
      part.slope += find_breakpoints(run, t_max, rows_.simd);
      for (std::size_t j = 0; j < size; ++j) {
        part.rise[static_cast<std::size_t>(run.bucket[j])] += run.step[j];
        part.bends += run.bucket[j] < Breakpoints::kBuckets ? 1 : 0;
        bucket_[from + j] = static_cast<std::uint8_t>(run.bucket[j]);
      }
    }
  });
  SlopeSteps sum;
  for (const Part& part : parts) {
    for (std::size_t k = 0; k < SlopeSteps::kBuckets; ++k) sum.in(k) += part.rise[k];
    sum.slope() += part.slope;
    search_ += part.bends;
  }
  sum.slope() += vectors_->running_at_trial() - vectors_->running_at_anchor();
  if (free_bias()) {
    const auto& [r, more] = now_.between;  // rows bend as their bits say
    sum.slope() += more * rows_.cost(r) * (trial_[r] - anchor_[r]);
  }
  return sum;
}

template <class Value>
std::vector<Breakpoint> CpuRisk<Value>::breakpoints_in(std::size_t bucket) {
  std::vector<std::vector<Breakpoint>> parts(active_.blocks());
  rows_.for_blocks(active_, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k) {
      if (bucket_[k] != bucket) continue;
      const std::uint64_t i = active_.row(k);
      const auto [c, d] = hinge_of(i);
      parts[block].push_back({-c / d, rows_.cost(i) * std::abs(d)});
    }
  });
  std::vector<Breakpoint> all;
  for (const std::vector<Breakpoint>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

template <class Value>
std::uint64_t CpuRisk<Value>::keep_near(double moved, double radius) {
  if (free_bias()) return active_.size();
  if (reach_.empty()) {
    reach_.resize(rows_.m.rows);
    measure_lengths();
  }
  gone_ += moved;
  // A little more than the bound asks for, for what rounding does to sums and margins.
  constexpr double kSlack = 1e-9;
  for (std::uint64_t k = 0; k < active_.size(); ++k) {
    const std::uint64_t i = active_.row(k);
    const double away = std::max(0.0, std::abs(1 - anchor_[i]) - kSlack);
    reach_[i] =
        lengths_[i] > 0 ? gone_ + away / lengths_[i] : std::numeric_limits<double>::infinity();
  }
  std::vector<std::uint64_t> list, entering;
  auto before = active_.list.begin();
  for (std::uint64_t i = 0; i < rows_.m.rows; ++i) {
    bool was = active_.all;
    if (!was && before != active_.list.end() && *before == i) {
      was = true;
      ++before;
    }
    if (!(reach_[i] - gone_ < radius * (1 + kSlack))) continue;
    list.push_back(i);
    if (!was) entering.push_back(i);
  }
  if (!entering.empty()) vectors_->at_anchor(rows_.cut(std::move(entering)), anchor_.data());
  active_ = list.size() == rows_.m.rows ? all_ : rows_.cut(std::move(list));
  return active_.size();
}

}  // namespace

double cpu_risk_memory(std::uint64_t rows, std::uint64_t dimension, const RiskOptions& options) {
  const auto m = static_cast<double>(rows), d = static_cast<double>(dimension),
             n = static_cast<double>(options.most());
  const bool by_rows = planes_by_rows(rows, dimension, options);
  const double vectors = by_rows && !keeps_vectors(options.most(), dimension) ? 0 : n * d;
  // Scores, vectors and statuses of the planes; margins, weights, lists of rows; vectors that are
  // worked with; inner products and their factor.
  return 8 * (by_rows ? n * m : 0.0) + 8 * vectors + n * m / 8 + 80 * m + 48 * d + 16 * n * n;
}

std::unique_ptr<Risk> make_cpu_risk(const Problem& problem, const RiskOptions& options,
                                    Pool& pool) {
  return problem.data->visit([&]<class Value>(const CsrView<Value>& m) -> std::unique_ptr<Risk> {
    return std::make_unique<CpuRisk<Value>>(problem, m, options, pool);
  });
}

}  // namespace hinge
