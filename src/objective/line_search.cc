#include "objective/line_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "objective/tuning.h"

namespace hinge {

double LineSearch::minimum() {
  if (slope_ >= 0) return 0;
  // f' rises from slope_ < 0. `before` is f' without a t just before the breakpoints still in
  // doubt, which are [first, last).
  double before = slope_;
  auto first = breakpoints_.begin(), last = breakpoints_.end();
  double left_end = 0;  // f' < 0 just beyond it
  while (first != last) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last,
                     [](const Breakpoint& x, const Breakpoint& y) { return x.at < y.at; });
    double through = before;  // of all breakpoints up to `middle`, but for its own
    for (auto point = first; point != middle; ++point) through += point->step;
    if (a_ * middle->at + through >= 0) {
      last = middle;
      continue;
    }
    before = through + middle->step;
    left_end = middle->at;
    if (a_ * left_end + before >= 0) return left_end;
    first = middle + 1;
  }
  if (a_ > 0) return std::min(t_max_, std::max(left_end, -before / a_));
  return before < 0 ? t_max_ : left_end;
}

Bucket find_bucket(double a, double b, SlopeSteps steps) {
  Bucket bucket{.slope = b + steps.slope()};
  for (;; ++bucket.number) {
    const std::size_t left = SlopeSteps::kBuckets - bucket.number - 1;
    bucket.step = steps.in(bucket.number);
    bucket.end = static_cast<double>(bucket.number + 1) / static_cast<double>(left);
    if (left == 0 || a * bucket.end + bucket.slope + bucket.step >= 0) return bucket;
    bucket.slope += bucket.step;
    bucket.begin = bucket.end;
  }
}

namespace {

// As find_breakpoints() does.
std::size_t bucket_of(double t) {
  const double place = t / (1 + t) * static_cast<double>(SlopeSteps::kBuckets);
  return place < SlopeSteps::kBuckets ? static_cast<std::size_t>(place) : SlopeSteps::kBuckets - 1;
}

}  // namespace

SlopeSteps LineSearch::slope_steps() const {
  SlopeSteps steps;
  steps.slope() = slope_;
  for (const Breakpoint& point : breakpoints_) steps.in(bucket_of(point.at)) += point.step;
  return steps;
}

std::vector<Breakpoint> LineSearch::breakpoints_in(std::size_t bucket) const {
  std::vector<Breakpoint> found;
  std::ranges::copy_if(breakpoints_, std::back_inserter(found),
                       [=](const Breakpoint& point) { return bucket_of(point.at) == bucket; });
  return found;
}

namespace {

// Where the minimum lies: f' < 0 just beyond `left`, f' >= 0 just beyond `right`.
struct Bracket {
  double left, right;
  double slope;  // f' without a t, just beyond `left`
  double step;   // from there until just beyond `right`
};

// Some trials inside: half of them evenly spread, lest it take long, the others ever closer to
// where f' would be 0 if it were straight, since with many rows it nearly is.
void choose_trials(const Bracket& in, double even, std::vector<double>& trials) {
  const double width = in.right - in.left;
  trials.clear();
  for (std::size_t k = 1; k <= LineSearchTuning::kTrials / 2; ++k) {
    trials.push_back(in.left +
                     width * static_cast<double>(k) / (LineSearchTuning::kTrials / 2 + 1));
  }
  for (const double near : {0.0, 1e-5, 1e-3, 2e-2}) {
    trials.push_back(even + near * width);
    trials.push_back(even - near * width - 1e-9 * width);
  }
  std::erase_if(trials, [&](double t) { return !(t > in.left && t < in.right); });
  std::ranges::sort(trials);
}

// Between two of the trials, or one of them and an end; breakpoints outside are forgotten.
Bracket narrow(const Bracket& in, double a, const std::vector<double>& trials,
               std::vector<Breakpoint>& breakpoints, const Reduction& ranks) {
  const auto place = [&](const Breakpoint& point) {
    return static_cast<std::size_t>(std::ranges::lower_bound(trials, point.at) - trials.begin());
  };
  std::vector<double> steps(trials.size() + 1);
  for (const Breakpoint& point : breakpoints) steps[place(point)] += point.step;
  ranks.sum(steps);
  Bracket out = {in.left, in.right, in.slope, steps[0]};
  std::size_t k = 0;
  for (; k < trials.size() && a * trials[k] + out.slope + steps[k] < 0; ++k) {
    out = {trials[k], in.right, out.slope + steps[k], steps[k + 1]};
  }
  if (k < trials.size()) out.right = trials[k];
  std::erase_if(breakpoints, [&](const Breakpoint& point) { return place(point) != k; });
  return out;
}

}  // namespace

double minimum_on_ranks(const Ray& ray, SlopeSteps steps, const BreakpointsIn& breakpoints_in,
                        const Reduction& ranks) {
  ranks.sum(steps.values);
  const double a = ray.a, steepest = ray.b + steps.slope();
  if (!(steepest < 0)) return 0;
  const Bucket bucket = find_bucket(a, ray.b, steps);
  Bracket in = {bucket.begin, bucket.end, bucket.slope, bucket.step};
  std::vector<Breakpoint> breakpoints;
  if (in.step > 0) breakpoints = breakpoints_in(bucket.number);
  if (in.step > 0 && std::isinf(in.right)) {
    double last = in.left;
    for (const Breakpoint& point : breakpoints) last = std::max(last, point.at);
    in.right = ranks.largest(last);
    if (a * in.right + in.slope + in.step < 0) in = {in.right, ray.t_max, in.slope + in.step, 0};
  }
  std::vector<double> trials;
  for (int round = 0; round < LineSearchTuning::kMaxRounds && in.step > 0; ++round) {
    const double width = in.right - in.left;
    const double at_left = a * in.left + in.slope, at_right = a * in.right + in.slope + in.step;
    // f' may leap at a breakpoint; where it would be 0 if it rose evenly.
    const double even =
        std::clamp(in.left - at_left * (width / (at_right - at_left)), in.left, in.right);
    // On either side of it f cannot fall by more than this.
    const double off = at_right * (even - in.left);
    choose_trials(in, even, trials);
    if (!(off > ray.doubt * -steepest * in.right) || !(width > 1e-15 * in.right) || trials.empty())
      return std::min(ray.t_max, even);
    in = narrow(in, a, trials, breakpoints, ranks);
  }
  if (in.step > 0) return in.left;
  // No breakpoint is left: f is a parabola, or falls for ever.
  return a > 0 ? std::min(ray.t_max, std::max(in.left, -in.slope / a)) : ray.t_max;
}

double minimum_on_ranks(const Ray& ray, const LineSearch& own, Comm& comm) {
  return minimum_on_ranks(ray, own.slope_steps(),
                          [&](std::size_t bucket) { return own.breakpoints_in(bucket); },
                          {.sum = [&](std::span<double> numbers) { comm.sum(numbers); },
                           .largest = [&](double number) { return comm.max(number); }});
}

}  // namespace hinge
