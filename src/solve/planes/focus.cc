#include "solve/planes/focus.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "objective/loss.h"

namespace hinge {

double NearMargin::moved() const {
  const SignedRows& rows = risk_.rows();
  const Margins& margins = risk_.margins();
  const double sum = rows.add_up(rows.all(), [&](std::uint64_t begin, std::uint64_t end) {
    double part = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      part += (margins.anchor[i] - margins.mark[i]) * (margins.anchor[i] - margins.mark[i]);
    }
    return part;
  });
  const std::uint64_t count = std::max<std::uint64_t>(1, rows.all_rows());
  return std::sqrt(rows.rows().total(sum) / static_cast<double>(count));
}

// Of so many own rows one is in the sample.
std::uint64_t NearMargin::sample_step() const {
  const SignedRows& rows = risk_.rows();
  return std::max<std::uint64_t>(1, rows.size() * rows.places() / PlanesTuning::kWidthSample);
}

double NearMargin::own_width_of(double share) const {
  const std::uint64_t step = sample_step();
  std::vector<double> away;
  for (std::uint64_t i = 0; i < risk_.rows().size(); i += step) {
    const double distance = std::abs(Hinge::slack(risk_.margins().anchor[i]));
    if (!std::isnan(distance)) away.push_back(distance);
  }
  if (away.empty()) return 0;
  const auto last = static_cast<double>(away.size() - 1);
  const auto at = away.begin() + static_cast<std::ptrdiff_t>(share * last);
  std::ranges::nth_element(away, at);
  return *at;
}

// Where rows are shared out: between the least and the most that a rank would say of its own; then
// by counting.
double NearMargin::width_of(double share) const {
  constexpr std::size_t kWidths = PlanesTuning::kWidthsInMessage;
  const double own = own_width_of(share);
  const SignedRows& rows = risk_.rows();
  if (!rows.shared_out()) return own;
  const bool any = rows.size() > 0;
  Rows& places = rows.rows();
  double low = -places.largest(any ? -own : -std::numeric_limits<double>::max()),
         high = places.largest(any ? own : 0.0);
  while (high - low > PlanesTuning::kWidthDoubt * high) {
    double widths[kWidths], counts[kWidths];
    for (std::size_t k = 0; k < kWidths; ++k) {
      widths[k] = low + (high - low) * static_cast<double>(k + 1) / (kWidths + 1);
    }
    count(widths, counts);
    const double wanted = share * static_cast<double>(rows.all_rows());
    const auto enough = static_cast<std::size_t>(
        std::ranges::find_if(counts, [&](double c) { return c >= wanted; }) - counts);
    if (enough > 0) low = widths[enough - 1];
    if (enough < kWidths) high = widths[enough];
  }
  return high;
}

void NearMargin::count(std::span<const double> widths, std::span<double> counts) const {
  const std::uint64_t step = sample_step();
  std::ranges::fill(counts, 0.0);
  for (std::uint64_t i = 0; i < risk_.rows().size(); i += step) {
    const double distance = std::abs(Hinge::slack(risk_.margins().anchor[i]));
    for (std::size_t k = 0; k < widths.size(); ++k) {
      counts[k] += distance <= widths[k] ? static_cast<double>(step) : 0.0;
    }
  }
  risk_.rows().rows().reduce(counts);
}

std::uint64_t NearMargin::narrow(double width) {
  const SignedRows& rows = risk_.rows();
  const std::vector<double>& margins = risk_.margins().anchor;
  const RowBits::Between between = risk_.planes().now().between;
  std::vector<std::uint64_t> list = rows.rows_where([&](std::uint64_t i) {
    // The row between is looked at in any case.
    const bool is_between = i == between.row && between.more != 0;
    return is_between || !(std::abs(Hinge::slack(margins[i])) > width);
  });
  Rows& places = rows.rows();
  const auto found = static_cast<std::uint64_t>(places.total(static_cast<double>(list.size())));
  if (found > 0) risk_.activate(places.cut(std::move(list)), found);
  return found;
}

bool Focus::narrow(bool first_step) {
  if (risk_.planes().layout() == PlaneLayout::rows) return false;
  if (++since_mark_ <= steps_to_wait_) return false;
  // Where nothing has moved yet, at a start, a share of the rows must do.
  const double most = near_.width_of(PlanesTuning::kMaxActiveShare);
  const double width = first_step ? near_.width_of(PlanesTuning::kFirstActiveShare)
                                  : width_ * near_.moved() / stepped_back_;
  risk_.mark();
  since_mark_ = 0;
  stepped_back_ = 1;
  settled_ = settled_ || width <= PlanesTuning::kSettledWidth * most;
  if (!settled_) return false;
  steps_to_wait_ = 0;
  if (!(width > 0)) return false;  // nothing to go by: the last round came to nothing
  return near_.narrow(std::min(width, most)) > 0;
}

void Focus::learn(double step) {
  using Tuning = PlanesTuning;
  stepped_back_ = std::clamp(step, Tuning::kMinStepCounted, 1.0);
  if (step < Tuning::kBadRoundStep && !risk_.planes().by_rows()) {
    steps_to_wait_ = pause_;
    pause_ *= 2;
  }
  const double factor = step < Tuning::kStepOfNarrowRound ? Tuning::kWidthGrowth
                        : step > Tuning::kStepOfWideRound ? 1 / Tuning::kWidthDecay
                                                          : 1.0;
  width_ = std::clamp(factor * width_, Tuning::kMinWidth, Tuning::kMaxWidth);
}

}  // namespace hinge
