#include "solve/planes/risk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "objective/loss.h"
#include "solve/planes/tuning.h"

namespace hinge {
namespace {

PlaneLayout layout_of(std::uint64_t rows, std::uint64_t places, std::uint64_t dimension,
                      const RiskOptions& options) {
  const std::uint64_t most = options.use == ActiveUse::narrowed
                                 ? PlanesTuning::kMaxRowsPerColumnByRowsOfFocus
                                 : PlanesTuning::kMaxRowsPerColumnByRows;
  const bool few_numbers = options.most() * dimension <= PlanesTuning::kMaxNumbersInVectors;
  if (rows > most * dimension || places > 1) return PlaneLayout::columns;
  // A row that becomes active again would have to meet every plane it missed.
  if (options.use == ActiveUse::wandering && few_numbers) return PlaneLayout::columns;
  return few_numbers ? PlaneLayout::rows_and_vectors : PlaneLayout::rows;
}

// max(0, x), 0 for what is no number.
double positive(double x) {
  return std::max(0.0, x);
}

}  // namespace

Risk::Risk(const Problem& problem, Rows& rows, const RiskOptions& options, Pool& pool)
    : rows_(problem, rows, *options.simd, pool),
      use_(options.use),
      margins_(rows_),
      active_in_all_(rows_.all_rows()),
      planes_(rows_, options.slots,
              layout_of(rows_.size(), rows_.places(), rows_.dimension(), options)),
      best_bias_(rows_, margins_, planes_.now()),
      search_(rows_, margins_, planes_.now(), options.search_doubt) {}

// The statuses at a point: of row i, which is entry k of the active rows.
struct Risk::StatusAt {
  const Risk& risk;
  double t;
  BestBias::Statuses balanced;  // with a free bias

  bool operator()(std::uint64_t k, std::uint64_t i) const {
    if (!risk.rows_.free_bias()) return Hinge::inside(risk.margins_.at(i, t));
    return balanced.bit(k, risk.rows_.sign(i));
  }
};

Risk::StatusAt Risk::statuses_at(double t) {
  return {*this, t, rows_.free_bias() ? best_bias_.statuses(t) : BestBias::Statuses{}};
}

double Risk::begin(std::span<const double> w) {
  const RowList& all = rows_.all();
  margins_.active = all;
  active_in_all_ = rows_.all_rows();
  if (rows_.free_bias()) {
    margins_.bias.anchor = margins_.bias.trial = w.back();
    w = w.first(w.size() - 1);
  }
  rows_.margins(all, w, margins_.anchor);
  add_bias(all, margins_.bias.anchor, margins_.anchor);
  margins_.trial = margins_.anchor;
  if (rows_.free_bias()) best_bias_.follow_active();
  const StatusAt inside = statuses_at(0);
  for (std::uint64_t i = 0; i < rows_.size(); ++i) planes_.now().set(i, inside(i, i));
  planes_.now().between = inside.balanced.between;
  planes_.begin(w);
  const double risk = value(0);
  if (rows_.free_bias()) {
    const double shift = best_bias_.at_point(0);
    add_bias(all, shift, margins_.anchor);
    margins_.bias.anchor += shift;
    best_bias_.forget_point();
  }
  return risk;
}

void Risk::set_trial(std::span<const double> beta) {
  planes_.vectors().trial(beta, margins_);
  objective_ += margins_.active.size();
  best_bias_.forget_point();
  if (!rows_.free_bias()) return;
  margins_.bias.trial = best_bias_.at_trial(margins_.bias.trial);
  add_bias(margins_.active, margins_.bias.trial, margins_.trial);
}

double Risk::value(double t) {
  const RowList& active = margins_.active;
  const RowBits& now = planes_.now();
  const bool all = active.all;
  const double shift = rows_.free_bias() ? best_bias_.at_point(t) : 0;
  const double sum = rows_.add_up(active, [&](std::uint64_t begin, std::uint64_t end) {
    double part = 0;
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t i = active.row(k);
      const double slack = Hinge::slack(margins_.at(i, t)) - rows_.sign(i) * shift;
      part += rows_.cost(i) * positive(all || !now.get(i) ? slack : -slack);
    }
    return part;
  });
  double own = sum;
  if (!all) {
    const double from = planes_.vectors().running_at_anchor(),
                 to = planes_.vectors().running_at_trial();
    double between = 0;
    if (rows_.free_bias()) {
      const auto& [r, more] = now.between;  // the sum takes its bit for its status
      between = more * rows_.cost(r) * (Hinge::slack(margins_.at(r, t)) - rows_.sign(r) * shift);
    }
    own = from + t * (to - from) + planes_.b() - between + sum;
  }
  const double value = rows_.rows().total(own);
  // What is no number must stay so where it can come about, for whoever looks out for it.
  return all && !rows_.shared_out() ? value : positive(value);
}

double Risk::search(double a, double b, double t_max) {
  const PlaneVectors& vectors = planes_.vectors();
  return search_.minimum(a, b, t_max, vectors.running_at_trial() - vectors.running_at_anchor());
}

void Risk::advance(double t) {
  const RowList& active = margins_.active;
  const double shift = rows_.free_bias() && t > 0 ? best_bias_.at_point(t) : 0;
  planes_.vectors().advance(t);
  auto& bias = margins_.bias;
  bias.anchor += t * (bias.trial - bias.anchor) + shift;  // at once: a signal may come now
  rows_.for_blocks(active, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t i = active.row(k);
      margins_.anchor[i] = margins_.at(i, t);
    }
  });
  add_bias(active, shift, margins_.anchor);
  best_bias_.forget_point();
}

std::vector<double> Risk::anchor() {
  std::vector<double> w = planes_.vectors().anchor();
  if (rows_.free_bias()) w.push_back(margins_.bias.anchor);
  return w;
}

double Risk::plane(std::size_t slot, double t) {
  const RowList& active = margins_.active;
  const RowBits& now = planes_.now();
  const StatusAt inside = statuses_at(t);
  if (flips_.size() < active.blocks()) flips_.resize(active.blocks());
  rows_.for_blocks(active, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
    flips_[block].clear();
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t i = active.row(k);
      const bool then = inside(k, i);
      if (then == now.get(i)) continue;
      flips_[block].add(i, then ? -rows_.cost(i) : rows_.cost(i));
    }
  });
  all_flips_.clear();
  for (std::size_t block = 0; block < active.blocks(); ++block) all_flips_.append(flips_[block]);
  return rows_.rows().total(planes_.lay(slot, all_flips_, inside.balanced.between, margins_));
}

double Risk::plane_of(std::size_t slot, std::span<const double> statuses) {
  return rows_.rows().total(planes_.lay_other(slot, statuses));
}

double Risk::rebuild() {
  planes_.rebuild();
  planes_.vectors().at_anchor(margins_.active, margins_.anchor);
  add_bias(margins_.active, margins_.bias.anchor, margins_.anchor);
  best_bias_.forget_point();
  return value(0);
}

ExactValues Risk::exact(std::span<const double> beta) {
  Rows& places = rows_.rows();
  const RowList& all = rows_.all();
  ExactValues values;
  const std::vector<double> w = planes_.vectors().anchor();
  values.anchor_square = rows_.simd().dot_dense(w.data(), w.data(), w.size());
  std::vector<double> margins = huge_vector(rows_.size());
  rows_.margins(all, w, margins);
  add_bias(all, margins_.bias.anchor, margins);
  std::vector<double> weights = planes_.statuses(beta);
  double sums[2];  // of losses, and of b
  sums[0] = rows_.add_up(all, [&](std::uint64_t begin, std::uint64_t end) {
    double part = 0;
    for (std::uint64_t i = begin; i < end; ++i) part += rows_.cost(i) * Hinge::value(margins[i]);
    return part;
  });
  sums[1] = rows_.add_up(all, [&](std::uint64_t begin, std::uint64_t end) {
    double part = 0;
    for (std::uint64_t i = begin; i < end; ++i) part += weights[i] *= rows_.cost(i);
    return part;
  });
  std::vector<double> v = rows_.sum(weights);
  places.reduce(v);
  values.square = rows_.simd().dot_dense(v.data(), v.data(), v.size());
  places.reduce(sums);
  values.risk = sums[0];
  values.b = sums[1];
  return values;
}

void Risk::activate(RowList list, std::uint64_t in_all, std::vector<std::uint64_t> entering) {
  if (!entering.empty()) {
    const RowList rows = rows_.rows().cut(std::move(entering));
    planes_.vectors().at_anchor(rows, margins_.anchor);
  }
  margins_.active = std::move(list);
  active_in_all_ = in_all;
  if (rows_.free_bias()) best_bias_.follow_active();
}

void Risk::mark() {
  rows_.copy(margins_.anchor, margins_.mark);
  margins_.bias.mark = margins_.bias.anchor;
  planes_.vectors().mark();
}

void Risk::return_to_mark() {
  const RowList& all = rows_.all();
  margins_.active = all;
  active_in_all_ = rows_.all_rows();
  rows_.copy(margins_.mark, margins_.anchor);
  margins_.bias.trial = std::exchange(margins_.bias.anchor, margins_.bias.mark);
  if (rows_.free_bias()) best_bias_.follow_active();
  planes_.rebuild();
  planes_.vectors().return_to_mark(margins_.trial);
  add_bias(all, margins_.bias.trial, margins_.trial);
  objective_ += all.size();
}

RiskCounts Risk::counts() const {
  return {.rows = rows_.touched(), .objective = objective_, .search = search_.breakpoints()};
}

void Risk::archive(Archive& archive, const std::vector<bool>& taken) {
  const std::uint64_t rows = rows_.size();
  planes_.archive(archive, taken);
  archive.sized(margins_.anchor, rows);
  archive.sized(margins_.trial, rows);
  archive.sized(margins_.mark, use_ == ActiveUse::narrowed ? rows : 0);
  archive(margins_.bias.anchor, margins_.bias.trial, margins_.bias.mark);
  archive(objective_, search_, rows_, best_bias_);
  RowList& active = margins_.active;
  archive(active.all, active.list, active_in_all_);
  if (!archive.reading()) return;
  archive.require(active.list.empty() || active.list.back() < rows);
  archive.require(active.all || !rows_.free_bias());
  archive.require(std::ranges::is_sorted(active.list, std::ranges::less_equal()));
  active = active.all ? rows_.all() : rows_.rows().cut(std::move(active.list));
  archive.require(rows_.shared_out() || active_in_all_ == active.size());
}

void Risk::add_bias(const RowList& rows, double b, std::vector<double>& margins) const {
  if (b == 0) return;
  rows_.for_blocks(rows, [&](std::size_t, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t k = begin; k < end; ++k) {
      const std::uint64_t i = rows.row(k);
      margins[i] += rows_.sign(i) * b;
    }
  });
}

double risk_memory(std::uint64_t rows, std::uint64_t dimension, const RiskOptions& options) {
  const PlaneLayout layout = layout_of(rows, 1, dimension, options);
  const auto m = static_cast<double>(rows), d = static_cast<double>(dimension),
             n = static_cast<double>(options.most());
  const double scores = layout == PlaneLayout::columns ? 0 : n * m;
  const double vectors = layout == PlaneLayout::rows ? 0 : n * d;
  // Scores, vectors and statuses of the planes; margins, weights, lists of rows; vectors that are
  // worked with; inner products and their factor.
  return 8 * scores + 8 * vectors + n * m / 8 + 88 * m + 48 * d + 16 * n * n;
}

}  // namespace hinge
