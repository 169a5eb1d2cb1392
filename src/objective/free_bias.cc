#include "objective/free_bias.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "objective/tuning.h"

namespace hinge {
namespace {

using Tuning = FreeBiasTuning;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
struct PlacedSteps {
  std::span<const double> places, sizes;
  std::span<const std::uint64_t> cuts;
  double size(std::uint64_t k) const { return sizes.empty() ? 1.0 : sizes[k]; }
};

struct Window {
  double from = -kInfinity, to = kInfinity;
};

// Cuts a window down to the bucket with the crossing; leaves it if that is not inside.
Window narrow(const PlacedSteps& steps, double slope, const Window& window, Pool& pool) {
  // By bucket; below and above all of them too.
  using Sums = std::array<double, Tuning::kBuckets + 2>;
  std::vector<Sums> parts(steps.cuts.size() - 1);
  const double scale = static_cast<double>(Tuning::kBuckets) / (window.to - window.from);
  if (!std::isfinite(scale)) return window;  // as narrow as can be
  pool.run(parts.size(), [&](std::size_t block) {
    Sums sums = {};
    for (std::uint64_t k = steps.cuts[block]; k < steps.cuts[block + 1]; ++k) {
      const double bucket = (steps.places[k] - window.from) * scale + 1;
      // What is no number (a forged checkpoint can bring it) has no bucket, but must go somewhere.
      const double known = bucket > 0 ? std::min(bucket, Tuning::kBuckets + 1.0) : 0.0;
      sums[static_cast<std::size_t>(known)] += steps.size(k);
    }
    parts[block] = sums;
  });
  for (std::size_t bucket = 0; bucket < Tuning::kBuckets + 1; ++bucket) {
    for (const Sums& part : parts) slope += part[bucket];
    if (!(slope > 0)) continue;
    if (bucket == 0) break;
    // A little more on either side, for what rounding may have put into the next bucket.
    const auto number = static_cast<double>(bucket);
    return {.from = window.from + (number - 1.01) / scale,
            .to = window.from + (number + 0.01) / scale};
  }
  return window;
}

// The steps in a window, and the slope before them.
std::pair<double, std::vector<SlopeStep>> inside(const PlacedSteps& steps, double slope,
                                                 const Window& window, Pool& pool) {
  struct Part {
    double below = 0;
    std::vector<SlopeStep> near;
  };
  std::vector<Part> parts(steps.cuts.size() - 1);
  pool.run(parts.size(), [&](std::size_t block) {
    Part part;
    for (std::uint64_t from = steps.cuts[block]; from < steps.cuts[block + 1];
         from += Tuning::kStepsAtOnce) {
      const std::uint64_t to = std::min(from + Tuning::kStepsAtOnce, steps.cuts[block + 1]);
      double near = 0;
      for (std::uint64_t k = from; k < to; ++k) {
        const double below = steps.places[k] < window.from ? 1.0 : 0.0;
        near += (steps.places[k] <= window.to ? 1.0 : 0.0) - below;
        part.below += below * steps.size(k);
      }
      if (near == 0) continue;
      for (std::uint64_t k = from; k < to; ++k) {
        if (!(steps.places[k] >= window.from && steps.places[k] <= window.to)) continue;
        part.near.push_back({steps.places[k], steps.size(k), k});
      }
    }
    parts[block] = std::move(part);
  });
  std::vector<SlopeStep> near = std::move(parts[0].near);
  for (std::size_t block = 0; block < parts.size(); ++block) {
    slope += parts[block].below;
    if (block > 0) near.insert(near.end(), parts[block].near.begin(), parts[block].near.end());
  }
  return {slope, std::move(near)};
}

}  // namespace

Crossing find_crossing(double slope, std::vector<SlopeStep>& steps) {
  const auto earlier = [](const SlopeStep& a, const SlopeStep& b) {
    return std::tie(a.place, a.item) < std::tie(b.place, b.item);
  };
  auto first = steps.begin(), last = steps.end();
  while (last - first > 1) {  // the crossing is at one of them; the slope before them is `slope`
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, earlier);
    double risen = 0;
    for (auto it = first; it != middle; ++it) risen += it->size;
    if (slope + risen >= 0) {
      last = middle;
    } else {
      slope += risen;
      first = middle;
    }
  }
  const double share = first->size > 0 ? std::clamp(-slope / first->size, 0.0, 1.0) : 0.0;
  return {.at = first->place, .item = first->item, .share = share};
}

Crossing CrossingSearch::find(std::span<const double> places, std::span<const double> sizes,
                              std::span<const std::uint64_t> cuts, double slope, double guess,
                              Pool& pool) {
  const PlacedSteps steps = {.places = places, .sizes = sizes, .cuts = cuts};
  const auto count = static_cast<double>(places.size());
  for (double half = window_;;
       half = half > 0 && half < Tuning::kWidest ? Tuning::kWiden * half : kInfinity) {
    const bool all = !(half < kInfinity);
    Window window;
    if (!all) window = {.from = guess - half, .to = guess + half};
    if (!all && density_ * 2 * half > count / Tuning::kCrowd) {
      window = narrow(steps, slope, window, pool);
    }
    auto [before, near] = inside(steps, slope, window, pool);
    double risen = 0;
    for (const SlopeStep& step : near) risen += step.size;
    const bool found = !near.empty() && before < 0 && before + risen > 0;
    if (!found && !all) continue;
    // No place is a number, where margins overflowed: nor is this, and solvers look for it.
    if (near.empty()) return {.at = std::numeric_limits<double>::quiet_NaN()};
    const double width = window.to - window.from;
    if (!all && width > 0) density_ = static_cast<double>(near.size()) / width;
    const Crossing crossing = find_crossing(before, near);
    const double far = std::abs(crossing.at - guess);
    window_ = std::max({window_ < kInfinity ? window_ / 2 : Tuning::kFirst, Tuning::kFar * far,
                        density_ > 0 ? Tuning::kLeastSteps / density_ : 0.0});
    return crossing;
  }
}

namespace {

void spread_excess(const Problem& problem, std::span<double> alpha) {
  for (int round = 0; round < Tuning::kSpreads; ++round) {
    double excess = 0, room = 0;
    for (std::uint64_t i = 0; i < alpha.size(); ++i) {
      excess += alpha[i] * problem.y[i];
      room += room_of(alpha[i], problem.upper(i));
    }
    const double each = std::clamp(excess / room, -Tuning::kMostSpread, Tuning::kMostSpread);
    if (!(std::abs(each) > 0)) return;
    for (std::uint64_t i = 0; i < alpha.size(); ++i) {
      alpha[i] -= problem.y[i] * each * room_of(alpha[i], problem.upper(i));
    }
  }
}

}  // namespace

void balance(const Problem& problem, std::span<double> alpha) {
  visit_loss(problem.loss, [&]<class Loss>(const Loss&) {
    if constexpr (!Loss::kQuadraticGain) spread_excess(problem, alpha);
  });
  for (int round = 0; round < Tuning::kBalances; ++round) {
    double sides[2] = {};  // of y = -1 and of y = +1
    for (std::uint64_t i = 0; i < alpha.size(); ++i) sides[problem.y[i] > 0 ? 1 : 0] += alpha[i];
    const int heavier = sides[1] > sides[0] ? 1 : 0;
    double excess = sides[heavier] - sides[1 - heavier];
    if (excess == 0) return;
    if (excess > Tuning::kMaxMoved * sides[heavier]) {
      const double keep = sides[1 - heavier] / sides[heavier];
      for (std::uint64_t i = 0; i < alpha.size(); ++i) {
        if ((problem.y[i] > 0 ? 1 : 0) == heavier) alpha[i] *= keep;
      }
      continue;
    }
    for (std::uint64_t i = 0; i < alpha.size() && excess > 0; ++i) {
      const double highest = problem.highest(i);
      if (!(alpha[i] > 0 && alpha[i] < highest)) continue;
      const bool heavy = (problem.y[i] > 0 ? 1 : 0) == heavier;
      const double before = alpha[i];
      alpha[i] = heavy ? std::max(0.0, before - excess) : std::min(highest, before + excess);
      excess -= std::abs(alpha[i] - before);
    }
    // No row in between, or too few: one at a bound must do.
    for (std::uint64_t i = 0; i < alpha.size() && excess > 0; ++i) {
      if ((problem.y[i] > 0 ? 1 : 0) != heavier) continue;
      const double before = alpha[i];
      alpha[i] = std::max(0.0, before - excess);
      excess -= before - alpha[i];
    }
  }
}

}  // namespace hinge
