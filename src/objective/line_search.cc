#include "objective/line_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hinge {

double LineSearch::minimum() {
  if (slope_ >= 0) return 0;
  // f' rises from slope_ < 0. `before` is f' without a t just before the bends still in doubt,
  // which are [first, last).
  double before = slope_;
  auto first = bends_.begin(), last = bends_.end();
  double left_end = 0;  // f' < 0 just beyond it
  while (first != last) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, [](const Bend& x, const Bend& y) { return x.at < y.at; });
    double through = before;  // of all bends up to `middle`, but for its own
    for (auto bend = first; bend != middle; ++bend) through += bend->rise;
    if (a_ * middle->at + through >= 0) {
      last = middle;
      continue;
    }
    before = through + middle->rise;
    left_end = middle->at;
    if (a_ * left_end + before >= 0) return left_end;
    first = middle + 1;
  }
  if (a_ > 0) return std::min(t_max_, std::max(left_end, -before / a_));
  return before < 0 ? t_max_ : left_end;
}

Bucket find_bucket(double a, double b, Rises rises) {
  Bucket bucket{.slope = b + rises.slope()};
  for (;; ++bucket.number) {
    const std::size_t left = Rises::kBuckets - bucket.number - 1;
    bucket.rise = rises.in(bucket.number);
    bucket.end = static_cast<double>(bucket.number + 1) / static_cast<double>(left);
    if (left == 0 || a * bucket.end + bucket.slope + bucket.rise >= 0) return bucket;
    bucket.slope += bucket.rise;
    bucket.begin = bucket.end;
  }
}

namespace {

// As find_bends() does.
std::size_t bucket_of(double t) {
  const double place = t / (1 + t) * static_cast<double>(Rises::kBuckets);
  return place < Rises::kBuckets ? static_cast<std::size_t>(place) : Rises::kBuckets - 1;
}

}  // namespace

Rises LineSearch::rises() const {
  Rises rises;
  rises.slope() = slope_;
  for (const Bend& bend : bends_) rises.in(bucket_of(bend.at)) += bend.rise;
  return rises;
}

std::vector<Bend> LineSearch::bends_in(std::size_t bucket) const {
  std::vector<Bend> found;
  std::ranges::copy_if(bends_, std::back_inserter(found),
                       [=](const Bend& bend) { return bucket_of(bend.at) == bucket; });
  return found;
}

namespace {

constexpr std::size_t kSteps = 16;  // asked for in a round
constexpr int kRounds = 60;         // no search takes as many

// Where the minimum lies: f' < 0 just beyond `left`, f' >= 0 just beyond `right`.
struct Bracket {
  double left, right;
  double slope;  // f' without a t, just beyond `left`
  double rise;   // from there until just beyond `right`
};

// Some steps inside: half of them evenly spread, lest it take long, the others ever closer to where
// f' would be 0 if it were straight, since with many rows it nearly is.
void choose_steps(const Bracket& in, double even, std::vector<double>& steps) {
  const double width = in.right - in.left;
  steps.clear();
  for (std::size_t k = 1; k <= kSteps / 2; ++k) {
    steps.push_back(in.left + width * static_cast<double>(k) / (kSteps / 2 + 1));
  }
  for (const double near : {0.0, 1e-5, 1e-3, 2e-2}) {
    steps.push_back(even + near * width);
    steps.push_back(even - near * width - 1e-9 * width);
  }
  std::erase_if(steps, [&](double t) { return !(t > in.left && t < in.right); });
  std::ranges::sort(steps);
}

// Between two of the steps, or one of them and an end; bends outside are forgotten.
Bracket narrow(const Bracket& in, double a, const std::vector<double>& steps,
               std::vector<Bend>& bends, Comm& comm) {
  const auto place = [&](const Bend& bend) {
    return static_cast<std::size_t>(std::ranges::lower_bound(steps, bend.at) - steps.begin());
  };
  std::vector<double> rises(steps.size() + 1);
  for (const Bend& bend : bends) rises[place(bend)] += bend.rise;
  comm.sum(rises);
  Bracket out = {in.left, in.right, in.slope, rises[0]};
  std::size_t k = 0;
  for (; k < steps.size() && a * steps[k] + out.slope + rises[k] < 0; ++k) {
    out = {steps[k], in.right, out.slope + rises[k], rises[k + 1]};
  }
  if (k < steps.size()) out.right = steps[k];
  std::erase_if(bends, [&](const Bend& bend) { return place(bend) != k; });
  return out;
}

}  // namespace

double minimum_on_ranks(const Ray& ray, Rises rises, const BendsIn& bends_in, Comm& comm) {
  comm.sum(rises.values);
  const double a = ray.a, steepest = ray.b + rises.slope();
  if (!(steepest < 0)) return 0;
  const Bucket bucket = find_bucket(a, ray.b, rises);
  Bracket in = {bucket.begin, bucket.end, bucket.slope, bucket.rise};
  std::vector<Bend> bends;
  if (in.rise > 0) bends = bends_in(bucket.number);
  if (in.rise > 0 && std::isinf(in.right)) {
    double last = in.left;
    for (const Bend& bend : bends) last = std::max(last, bend.at);
    in.right = comm.max(last);
    if (a * in.right + in.slope + in.rise < 0) in = {in.right, ray.t_max, in.slope + in.rise, 0};
  }
  std::vector<double> steps;
  for (int round = 0; round < kRounds && in.rise > 0; ++round) {
    const double width = in.right - in.left;
    const double at_left = a * in.left + in.slope, at_right = a * in.right + in.slope + in.rise;
    // f' may leap at a bend; where it would be 0 if it rose evenly.
    const double even =
        std::clamp(in.left - at_left * (width / (at_right - at_left)), in.left, in.right);
    // On either side of it f cannot fall by more than this.
    const double off = at_right * (even - in.left);
    choose_steps(in, even, steps);
    if (!(off > ray.doubt * -steepest * in.right) || !(width > 1e-15 * in.right) || steps.empty())
      return std::min(ray.t_max, even);
    in = narrow(in, a, steps, bends, comm);
  }
  if (in.rise > 0) return in.left;
  // No bend is left: f is a parabola, or falls for ever.
  return a > 0 ? std::min(ray.t_max, std::max(in.left, -in.slope / a)) : ray.t_max;
}

double minimum_on_ranks(const Ray& ray, const LineSearch& own, Comm& comm) {
  return minimum_on_ranks(
      ray, own.rises(), [&](std::size_t bucket) { return own.bends_in(bucket); }, comm);
}

}  // namespace hinge
