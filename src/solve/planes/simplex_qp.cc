// GramFactor first, then SimplexQp: the point and its gap, pair steps, Newton steps, the loop.
#include "solve/planes/simplex_qp.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "solve/planes/tuning.h"

namespace hinge {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
using Tuning = PlanesTuning;

// Four sums, so that they need not wait for each other.
double dot(const double* x, const double* y, std::size_t size) {
  double sum[4] = {0, 0, 0, 0};
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sum[lane] += x[k + lane] * y[k + lane];
  }
  for (; k < size; ++k) sum[0] += x[k] * y[k];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// y -= a x
void subtract(double a, const double* __restrict x, double* __restrict y, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) y[k] -= a * x[k];
}

}  // namespace

// ---- GramFactor

void GramFactor::grow(std::size_t capacity) {
  if (capacity <= capacity_) return;
  capacity = std::max(capacity, capacity_ + capacity_ / 2 + 16);
  std::vector<double> wider(capacity * capacity);
  for (std::size_t k = 0; k < size(); ++k) {
    std::copy(r_.begin() + static_cast<std::ptrdiff_t>(k * capacity_ + k),
              r_.begin() + static_cast<std::ptrdiff_t>(k * capacity_ + size()),
              wider.begin() + static_cast<std::ptrdiff_t>(k * capacity + k));
  }
  r_.swap(wider);
  capacity_ = capacity;
  ones_.resize(capacity);
  column_.resize(capacity);
  members_.reserve(capacity);
  is_member_.resize(capacity);
}

void GramFactor::clear() {
  members_.clear();
  std::fill(is_member_.begin(), is_member_.end(), std::uint8_t{0});
}

void GramFactor::archive(Archive& archive, std::size_t most) {
  std::vector<Member> members = members_;
  archive(members);
  archive.require(members.size() <= most);
  archive.require(members.empty() || std::isnan(members[0].product));
  if (archive.reading()) {
    clear();
    grow(members.size());
    members_ = std::move(members);
  }
  for (std::size_t k = 0; k < size(); ++k) {
    archive(ones_[k]);
    for (std::size_t i = k; i < size(); ++i) archive(r_[k * capacity_ + i]);
  }
}

void GramFactor::meet(const double* gram, std::size_t stride, std::span<const double> b) {
  grow(b.size());
  std::fill(is_member_.begin(), is_member_.end(), std::uint8_t{0});
  least_ = std::numeric_limits<double>::min();
  for (std::size_t j = 0; j < b.size(); ++j) {
    least_ = std::max(least_, Tuning::kQpMinPivot * gram[j * stride + j]);
  }
  const std::size_t most = size() / Tuning::kQpLostOneByOne + 1;
  std::size_t lost = 0;
  for (std::size_t place = 0; place < size();) {
    Member& wanted = members_[place];
    const auto same = [&](std::size_t plane) {
      return is_member_[plane] == 0 && b[plane] == wanted.b &&
             gram[plane * stride + plane] == wanted.norm &&
             (std::isnan(wanted.product) ||
              gram[plane * stride + members_[place - 1].plane] == wanted.product);
    };
    std::size_t end = std::min(wanted.plane + 1, b.size());
    while (end > 0 && !same(end - 1)) --end;
    if (end == 0) {
      if (++lost > most) return clear();
      rotate_away(place);
      continue;
    }
    wanted.plane = end - 1;
    if (place > 0) wanted.product = gram[wanted.plane * stride + members_[place - 1].plane];
    is_member_[wanted.plane] = 1;
    ++place;
  }
}

void GramFactor::append(const double* gram, std::size_t stride, double b, std::size_t plane) {
  const std::size_t place = size();
  grow(std::max(place, plane) + 1);
  const double* const row = gram + plane * stride;
  for (std::size_t k = 0; k < place; ++k) column_[k] = row[members_[k].plane];
  solve_transposed(column_.data());
  const double norm = row[plane];
  const double rest = norm - dot(column_.data(), column_.data(), place);
  const double pivot = std::sqrt(rest > least_ ? rest : least_);
  double sum = 1;
  for (std::size_t k = 0; k < place; ++k) {
    r_[k * capacity_ + place] = column_[k];
    sum -= column_[k] * ones_[k];
  }
  r_[place * capacity_ + place] = pivot;
  ones_[place] = sum / pivot;
  members_.push_back({plane, b, norm, place > 0 ? row[members_[place - 1].plane] : kUnknown});
  is_member_[plane] = 1;
}

void GramFactor::remove(std::size_t place) {
  is_member_[members_[place].plane] = 0;
  rotate_away(place);
}

// Without its column, R has one entry below the diagonal in each column from there on. Rotations of
// neighbouring rows bring these to zero, from the top.
void GramFactor::rotate_away(std::size_t place) {
  const std::size_t left = size() - 1;
  for (std::size_t k = 0; k <= left; ++k) {
    double* const row = r_.data() + k * capacity_;
    const std::size_t from = std::max(k, place + 1);
    if (from <= left) std::copy(row + from, row + left + 1, row + from - 1);
  }
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
  if (place < left) members_[place].product = kUnknown;  // another one stands before it
  for (std::size_t k = place; k < left; ++k) {
    double* const __restrict upper = r_.data() + k * capacity_;
    double* const __restrict lower = upper + capacity_;
    const double a = upper[k], c = lower[k];
    const double length = std::hypot(a, c);
    const double cosine = length > 0 ? a / length : 1.0, sine = length > 0 ? c / length : 0.0;
    upper[k] = length;
    for (std::size_t i = k + 1; i < left; ++i) {
      const double u = upper[i], l = lower[i];
      upper[i] = cosine * u + sine * l;
      lower[i] = cosine * l - sine * u;
    }
    const double u = ones_[k], l = ones_[k + 1];
    ones_[k] = cosine * u + sine * l;
    ones_[k + 1] = cosine * l - sine * u;
  }
}

void GramFactor::solve_transposed(double* x) const {
  for (std::size_t k = 0; k < size(); ++k) {
    const double* const row = r_.data() + k * capacity_;
    x[k] /= row[k];
    subtract(x[k], row + k + 1, x + k + 1, size() - k - 1);
  }
}

void GramFactor::solve(double* x) const {
  for (std::size_t k = size(); k-- > 0;) {
    const double* const row = r_.data() + k * capacity_;
    x[k] = (x[k] - dot(row + k + 1, x + k + 1, size() - k - 1)) / row[k];
  }
}

// ---- The point and its gap

// A feasible beta near the one given. Where q is negative, or no number, 0 is better; and from
// there on beta' G beta <= 2 b' beta, so nothing overflows that need not.
void SimplexQp::start() {
  double sum = 0;
  for (std::size_t j = 0; j < planes_; ++j) {
    beta_[j] = beta_[j] > 0 ? std::min(beta_[j], total_) : 0.0;
    sum += beta_[j];
  }
  if (sum > total_) {
    const double scale = total_ / sum;
    for (std::size_t j = 0; j < planes_; ++j) beta_[j] *= scale;
  }
  measure();
  if (value() >= 0 && std::isfinite(value()) && std::isfinite(gap())) return;
  std::fill(beta_, beta_ + planes_, 0.0);
  measure();
}

// g from G; the slack from beta, with what rounding did to its sum.
void SimplexQp::measure() {
  double sum = 0;
  for (std::size_t j = 0; j < planes_; ++j) sum += beta_[j];
  if (sum > total_ * (1 + Tuning::kQpSumRounding)) {
    const double scale = total_ / sum;
    for (std::size_t j = 0; j < planes_; ++j) beta_[j] *= scale;
  }
  // A slack of rounding errors would stand in the way of every Newton step.
  slack_ = total_ - sum > Tuning::kQpSumRounding * total_ ? total_ - sum : 0.0;

  std::copy(b_, b_ + planes_, g_.begin());
  double* const __restrict g = g_.data();
  std::size_t used[4];
  std::size_t count = 0;
  for (std::size_t j = 0; j < planes_; ++j) {
    if (beta_[j] == 0) continue;
    used[count++] = j;
    if (count < 4) continue;
    count = 0;  // four rows at a time: g is loaded and stored a quarter as often
    const double *const r0 = row(used[0]), *const r1 = row(used[1]);
    const double *const r2 = row(used[2]), *const r3 = row(used[3]);
    const double x0 = beta_[used[0]], x1 = beta_[used[1]];
    const double x2 = beta_[used[2]], x3 = beta_[used[3]];
    for (std::size_t k = 0; k < planes_; ++k) {
      g[k] -= (x0 * r0[k] + x1 * r1[k]) + (x2 * r2[k] + x3 * r3[k]);
    }
  }
  for (std::size_t k = 0; k < count; ++k) subtract(beta_[used[k]], row(used[k]), g, planes_);

  beta_g_ = dot(beta_, g_.data(), planes_);
  largest_ = 0;
  for (std::size_t j = 0; j < planes_; ++j) largest_ = std::max(largest_, g_[j]);
  fresh_ = true;
}

double SimplexQp::value() const {
  return (dot(b_, beta_, planes_) + beta_g_) / 2;
}

SimplexQp::Height SimplexQp::height() const {
  double terms = 0;
  for (std::size_t j = 0; j < planes_; ++j) {
    terms += beta_[j] * (std::abs(b_[j]) + std::abs(b_[j] - g_[j]));
  }
  return {value(), gap(), 4 * kEpsilon * terms};
}

// Near the top steps ascend by less than rounding: then the smaller gap decides.
bool SimplexQp::not_below(const Height& other) const {
  const Height here = height();
  const double noise = std::max(here.noise, other.noise);
  return here.value >= other.value || (here.value >= other.value - noise && here.gap < other.gap);
}

double SimplexQp::gap() const {
  const double gap = total_ * largest_ - beta_g_;
  return std::isnan(gap) ? kInfinity : std::max(gap, 0.0);
}

// ---- Pair steps

// Moves weight to the plane of the largest gradient, from the one that makes q rise most. False if
// that is nothing.
bool SimplexQp::pair_step() {
  const std::size_t slack = planes_;
  std::size_t to = slack;
  double top = 0;
  for (std::size_t j = 0; j < planes_; ++j) {
    if (g_[j] > top) top = g_[to = j];
  }
  const double* const to_row = to == slack ? nullptr : row(to);
  const double to_norm = to == slack ? 0.0 : to_row[to];

  std::size_t from = slack;
  double best = 0, move = 0, curve = 0;
  const auto consider = [&](std::size_t k, double weight, double slope, double norm,
                            double product) {
    // Rounding may leave less than nothing of the curvature.
    const double c = std::max(to_norm + norm - 2 * product, 4 * kEpsilon * (to_norm + norm));
    const double t = slope < weight * c ? slope / c : weight;
    const double gain = t * (slope - t * c / 2);
    if (!(gain > best)) return;
    best = gain, move = t, curve = c, from = k;
  };
  for (std::size_t k = 0; k < planes_; ++k) {
    const double slope = top - g_[k];
    if (beta_[k] == 0 || !(slope > 0)) continue;
    consider(k, beta_[k], slope, gram_[k * stride_ + k], to == slack ? 0.0 : to_row[k]);
  }
  if (slack_ > 0 && top > 0) consider(slack, slack_, top, 0, 0);
  if (!(best > 0)) return false;

  // sum beta g follows without a pass: (beta + t d)'(g - t G d), d'g = slope, beta'G d = (b - g)'d.
  const double from_g = from == slack ? 0.0 : g_[from], from_b = from == slack ? 0.0 : b_[from];
  const double to_b = to == slack ? 0.0 : b_[to];
  const double slope = top - from_g;
  beta_g_ += move * (slope - ((to_b - from_b) - slope)) - move * move * curve;

  double& given = from == slack ? slack_ : beta_[from];
  double& taken = to == slack ? slack_ : beta_[to];
  given = move < given ? given - move : 0.0;
  taken += move;
  if (to != slack && from != slack) {
    const double* const __restrict x = to_row, * const __restrict y = row(from);
    double* const __restrict g = g_.data();
    for (std::size_t k = 0; k < planes_; ++k) g[k] -= move * (x[k] - y[k]);
  } else if (to != slack) {
    subtract(move, to_row, g_.data(), planes_);
  } else {
    subtract(-move, row(from), g_.data(), planes_);
  }
  fresh_ = false;
  ++steps_;
  return true;
}

// Until the gap is small, `most` steps are done, or pairs do not help.
void SimplexQp::pair_steps(std::size_t most) {
  for (std::size_t step = 0; step < most; ++step) {
    if (!pair_step()) break;
    largest_ = 0;
    for (std::size_t j = 0; j < planes_; ++j) largest_ = std::max(largest_, g_[j]);
    if (gap() <= tolerance_) break;
  }
  if (!fresh_) measure();
}

// ---- Newton steps

// d_ = the step to the largest q over the members' weights and, where it is positive or wants to
// be, the slack's; the others stay 0. False if there is no such step.
//   free slack:  d = G^-1 g              full:  d = G^-1 (g - mu), mu such that sum d = 0
bool SimplexQp::direction() {
  const std::size_t size = factor_.size();
  if (size == 0) return false;
  // A full step does not change if g is shifted by a constant: near the end, where all g are nearly
  // the same, the shifted ones keep their digits.
  const double shift = slack_ > 0 ? 0.0 : beta_g_ / total_;
  for (std::size_t p = 0; p < size; ++p) d_[p] = g_[factor_.member(p)] - shift;
  factor_.solve_transposed(d_.data());
  const double* const ones = factor_.ones();
  const double shifted_sum = dot(ones, d_.data(), size), ones_square = dot(ones, ones, size);
  const double free_sum = shifted_sum + shift * ones_square;
  const bool full = slack_ == 0 && !(free_sum < 0);
  subtract(full ? shifted_sum / ones_square : -shift, ones, d_.data(), size);
  factor_.solve(d_.data());
  double sum = 0;
  for (std::size_t p = 0; p < size; ++p) sum += d_[p];
  d_sum_ = full ? 0.0 : sum;
  if (full) {  // what rounding leaves of the sum goes where it matters least
    std::size_t most = 0;
    for (std::size_t p = 1; p < size; ++p) {
      if (beta_[factor_.member(p)] > beta_[factor_.member(most)]) most = p;
    }
    d_[most] -= sum;
  }
  return std::isfinite(sum);
}

// The slope of q along d_. Without slack, sum d = 0 but for rounding, and shifted g keep more
// digits.
double SimplexQp::slope(double shift) const {
  double sum = 0;
  for (std::size_t p = 0; p < factor_.size(); ++p) sum += d_[p] * (g_[factor_.member(p)] - shift);
  return sum + d_sum_ * shift;
}

// beta = origin + t d
void SimplexQp::move_to(double t) {
  for (std::size_t p = 0; p < factor_.size(); ++p) {
    beta_[factor_.member(p)] = std::max(0.0, origin_[p] + t * d_[p]);
  }
  if (t >= limit_ && wall_ < factor_.size()) beta_[factor_.member(wall_)] = 0;
  measure();
}

// One step along d_, to the largest q or to the boundary, where members leave. False if it would
// not ascend.
bool SimplexQp::newton_step() {
  const std::size_t size = factor_.size();
  const double shift = slack_ > 0 ? 0.0 : beta_g_ / total_;
  const double slope_before = slope(shift);
  if (!(slope_before > 0)) return false;
  ++steps_;
  limit_ = kInfinity;
  for (std::size_t p = 0; p < size; ++p) {
    origin_[p] = beta_[factor_.member(p)];
    if (d_[p] < 0 && origin_[p] < -d_[p] * limit_) limit_ = origin_[p] / -d_[p], wall_ = p;
  }
  if (d_sum_ > 0 && slack_ < d_sum_ * limit_) limit_ = slack_ / d_sum_, wall_ = size;
  if (limit_ == 0 && wall_ < size) {
    factor_.remove(wall_);
    at_wall_ = true;
    return true;
  }

  // As far as the factor says; then g, computed anew, tells how q really bends. The two differ
  // where pivots were held, or rounding has the word.
  const Height before = height();
  double t = std::min(1.0, limit_);
  move_to(t);
  const double slope_after = slope(shift);
  const bool too_far = slope_after < -Tuning::kQpSlopeLeft * slope_before;
  const bool too_short = slope_after > Tuning::kQpSlopeLeft * slope_before && t < limit_;
  if (too_far || too_short) {
    const Height here = height();
    const double fall = slope_before - slope_after;
    const double other = fall > 0 ? std::min(t * (slope_before / fall), limit_) : limit_;
    if (std::isfinite(other)) {
      move_to(other);
      if (not_below(here)) {
        t = other;
      } else {
        move_to(t);
      }
    }
  }
  if (!not_below(before)) {
    move_to(0);
    return false;
  }
  at_wall_ = t >= limit_;
  for (std::size_t p = size; p-- > 0;) {
    if (beta_[factor_.member(p)] == 0) factor_.remove(p);
  }
  return true;
}

// Until the gap is small, `most` steps are done, or rounding is all that moves.
void SimplexQp::newton_steps(std::size_t most) {
  if (!met_) factor_.meet(gram_, stride_, {b_, planes_});
  met_ = true;
  for (std::size_t p = factor_.size(); p-- > 0;) {
    if (beta_[factor_.member(p)] == 0) factor_.remove(p);
  }
  for (std::size_t j = 0; j < planes_; ++j) {
    if (beta_[j] > 0 && !factor_.contains(j)) factor_.append(gram_, stride_, b_[j], j);
  }
  at_wall_ = false;
  double last_value = value(), last_gap = gap();
  for (std::size_t step = 0; step < most; ++step) {
    // A plane may come only after the best point without it was reached, or it could come and go
    // for ever.
    const auto top = static_cast<std::size_t>(
        std::max_element(g_.begin(), g_.begin() + static_cast<std::ptrdiff_t>(planes_)) -
        g_.begin());
    if (!at_wall_ && g_[top] > 0 && !factor_.contains(top)) {
      factor_.append(gram_, stride_, b_[top], top);
    }
    if (!direction() || !newton_step() || gap() <= tolerance_) return;
    if (at_wall_) continue;
    if (!(value() > last_value) && gap() > Tuning::kQpStepProgress * last_gap) return;
    last_value = value(), last_gap = gap();
  }
}

// ---- The loop

QpAnswer SimplexQp::solve(std::span<const double> gram, std::size_t stride,
                          std::span<const double> b, double total, double tolerance,
                          std::span<double> beta) {
  assert(beta.size() == b.size() && stride >= b.size());
  assert(b.empty() || gram.size() >= (b.size() - 1) * stride + b.size());
  assert(total >= 0 && std::isfinite(total));
  gram_ = gram.data(), stride_ = stride, planes_ = b.size(), b_ = b.data();
  total_ = total, tolerance_ = tolerance, beta_ = beta.data();
  steps_ = 0;
  met_ = false;
  if (g_.size() < planes_) {
    for (std::vector<double>* v : {&g_, &begin_, &origin_, &d_})
      v->resize(planes_ + planes_ / 2 + 16);
  }

  start();
  std::copy(beta_, beta_ + planes_, begin_.begin());
  const Height begin = height();
  for (int round = 0; round < Tuning::kQpRounds && gap() > tolerance_; ++round) {
    const double round_value = value(), round_gap = gap();
    newton_steps(2 * planes_ + Tuning::kQpSteps);
    if (gap() <= tolerance_) break;
    // Perhaps it is the factor, after many changes or of planes that only look the same.
    if (round == 0) factor_.clear();
    pair_steps(planes_ + Tuning::kQpSteps);
    if (gap() <= tolerance_) break;
    if (!(value() - round_value > kEpsilon * std::abs(round_value)) &&
        gap() > Tuning::kQpRoundProgress * round_gap)
      break;
  }
  if (!not_below(begin)) {
    std::copy(begin_.begin(), begin_.begin() + static_cast<std::ptrdiff_t>(planes_), beta_);
    measure();
  }
  return {value(), gap(), steps_, gap() > tolerance_};
}

}  // namespace hinge
