#include "risk/line_search.h"

#include <algorithm>

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

}  // namespace hinge
