// The numbers that the line search and the best free bias were tuned to. Those that only change how
// soon the answer is found, not what it is, say so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hinge {

// The best bias is found in a window around the last one (free_bias.h), with the same answer
// whatever these are. Not measured apart.
struct FreeBiasTuning {
  // The window is so many times as wide as the last crossing was far from where it was looked for,
  static constexpr double kFar = 3;
  // at first so wide, and holds about so many steps of the slope at least;
  static constexpr double kFirst = 0.01, kLeastSteps = 50;
  // where the crossing is not inside, it becomes so many times as wide, and endless from that width
  // on.
  static constexpr double kWiden = 16, kWidest = 1;
  // Where a window has more steps than one in so many of all they are first put into buckets.
  static constexpr double kCrowd = 10;
  static constexpr std::size_t kBuckets = 128;
  // Steps are counted so many at a time, since mostly none of them is in the window.
  static constexpr std::uint64_t kStepsAtOnce = 64;
  // Dual variables are balanced by moving a few rows where the sides differ by at most this share
  // of the heavier one, else by scaling it; so many times, as sums of what was changed are rounded.
  static constexpr double kMaxMoved = 1e-6;
  static constexpr int kBalances = 3;
  // Where all rows give, so many times, each at most this share of its room. Not measured apart.
  static constexpr int kSpreads = 8;
  static constexpr double kMostSpread = 0.5;
};

// A line search whose rows are shared out among ranks asks for the slope at so many trials a round;
// none takes as many rounds as kMaxRounds. Not measured apart.
struct LineSearchTuning {
  static constexpr std::size_t kTrials = 16;
  static constexpr int kMaxRounds = 60;
};

// A search of smooth losses (smooth_search.h) ends where the slope is this share of what it was, or
// after so many trials. Not measured apart.
struct SmoothSearchTuning {
  static constexpr double kEnough = 1e-9;
  static constexpr int kTrials = 60;
};

}  // namespace hinge
