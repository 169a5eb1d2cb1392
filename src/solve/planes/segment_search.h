// The line search of cutting planes: the t >= 0 that minimises a/2 t^2 + b t + R_active(point(t)),
// by margins at the two points alone. Each active row adds c_i max(0, c + t d), which has a
// breakpoint at t = -c/d if that is positive. Steps of the slope are summed in buckets of t, the
// bucket where the minimum lies is found, and only its breakpoints are looked at one by one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "objective/breakpoints.h"
#include "objective/line_search.h"
#include "objective/loss.h"
#include "solve/planes/plane_statuses.h"
#include "solve/planes/signed_rows.h"

namespace hinge {

class SegmentSearch {
 public:
  // What it looks at. `now`: the statuses of the newest plane; `doubt`: as in RiskOptions.
  SegmentSearch(const SignedRows& rows, const Margins& margins, const RowBits& now, double doubt)
      : rows_(rows), margins_(margins), now_(now), doubt_(doubt) {}

  // `plane_slope` = <a, trial - anchor> of the newest plane, as the own rows have it. Where rows
  // are shared out the search takes some messages, and need not be exact (minimum_on_ranks()).
  double minimum(double a, double b, double t_max, double plane_slope) {
    const double t = find(a, b, t_max, plane_slope);
    // As [AS] counts: where F rises from the beginning on, or falls to the end, there is nothing to
    // search.
    if (t > 0 && t < t_max) breakpoints_ += in_range_;
    return t;
  }

  // How many rows had a breakpoint in the range of a search, so far.
  std::uint64_t breakpoints() const { return breakpoints_; }
  void archive(Archive& archive) { archive(breakpoints_); }

 private:
  double find(double a, double b, double t_max, double plane_slope) {
    SlopeSteps all = slope_steps(t_max);
    all.slope() += plane_slope;
    all.slope() += between_slope();
    if (rows_.shared_out()) {
      Rows& places = rows_.rows();
      return minimum_on_ranks({.a = a, .b = b, .t_max = t_max, .doubt = doubt_}, all,
                              [this](std::size_t bucket) { return breakpoints_in(bucket); },
                              {.sum = [&](std::span<double> numbers) { places.reduce(numbers); },
                               .largest = [&](double number) { return places.largest(number); }});
    }
    if (!(b + all.slope() < 0)) return 0;
    const Bucket bucket = find_bucket(a, b, all);
    LineSearch inside(a, bucket.slope);
    if (bucket.step > 0) inside.add_breakpoints(breakpoints_in(bucket.number));
    return std::min(t_max, inside.minimum());
  }

  // The steps and slope of a block of rows.
  struct Part {
    // The last: of rows that have no breakpoint.
    std::array<double, Breakpoints::kBuckets + 1> steps{};
    double slope = 0;
    std::uint64_t breakpoints = 0;
  };

  // What a row adds to the newest plane is c_i max(0, c + t d): the loss, or what the plane has too
  // much of where the row's status is 1.
  struct Ray {
    double c, d;
  };
  Ray ray_of(std::uint64_t i) const {
    const double sign = now_.get(i) ? 1 : -1;
    return {sign * (margins_.anchor[i] - Hinge::breakpoints()[0]),
            sign * (margins_.trial[i] - margins_.anchor[i])};
  }

  // The row between has the breakpoint of its bit.
  double between_slope() const {
    if (!rows_.free_bias()) return 0;
    const auto& [row, more] = now_.between;
    return more * rows_.cost(row) * (margins_.trial[row] - margins_.anchor[row]);
  }

  // The slope of what active rows add, and its steps before t_max.
  SlopeSteps slope_steps(double t_max) {
    const RowList& active = margins_.active;
    bucket_.resize(active.size());
    parts_.resize(std::max(parts_.size(), active.blocks()));
    rows_.for_blocks(active, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      Part& part = parts_[block] = {};
      Breakpoints run;
      for (std::uint64_t from = begin; from < end; from += Breakpoints::kRun) {
        const auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(Breakpoints::kRun, end - from));
        for (std::size_t j = 0; j < size; ++j) {
          const std::uint64_t i = active.row(from + j);
          const auto [c, d] = ray_of(i);
          run.c[j] = c;
          run.d[j] = d;
          run.step[j] = rows_.cost(i);
        }
        for (std::size_t j = size; j < Breakpoints::kRun; ++j)
          run.c[j] = run.d[j] = run.step[j] = 0;
        part.slope += find_breakpoints(run, t_max, rows_.simd());
        for (std::size_t j = 0; j < size; ++j) {
          part.steps[static_cast<std::size_t>(run.bucket[j])] += run.step[j];
          part.breakpoints += run.bucket[j] < Breakpoints::kBuckets ? 1 : 0;
          bucket_[from + j] = static_cast<std::uint8_t>(run.bucket[j]);
        }
      }
    });
    SlopeSteps sum;
    in_range_ = 0;
    for (const Part& part : std::span(parts_).first(active.blocks())) {
      for (std::size_t k = 0; k < SlopeSteps::kBuckets; ++k) sum.in(k) += part.steps[k];
      sum.slope() += part.slope;
      in_range_ += part.breakpoints;
    }
    return sum;
  }

  std::vector<Breakpoint> breakpoints_in(std::size_t bucket) const {
    const RowList& active = margins_.active;
    std::vector<std::vector<Breakpoint>> parts(active.blocks());
    rows_.for_blocks(active, [&](std::size_t block, std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t k = begin; k < end; ++k) {
        if (bucket_[k] != bucket) continue;
        const std::uint64_t i = active.row(k);
        const auto [c, d] = ray_of(i);
        parts[block].push_back({-c / d, rows_.cost(i) * std::abs(d)});
      }
    });
    std::vector<Breakpoint> all;
    for (const std::vector<Breakpoint>& part : parts)
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  const SignedRows& rows_;
  const Margins& margins_;
  const RowBits& now_;
  const double doubt_;
  std::vector<std::uint8_t> bucket_;  // of each active row's breakpoint, in the last search
  std::vector<Part> parts_;           // of the blocks, in the last search; kept for its memory
  std::uint64_t in_range_ = 0;        // rows with a breakpoint in the range of the last search
  std::uint64_t breakpoints_ = 0;
};

}  // namespace hinge
