// The numbers Pegasos was tuned to: what each decides, where it was measured and what it gained.
// Figures are those of docs/pegasos.md; where no figure is given, nobody has measured the number by
// itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hinge/options.h"

namespace hinge {

struct PegasosTuning {
  // ---- How long a run lasts, and when it is measured.

  // A run that was asked for neither epochs, steps nor a goal lasts so many epochs. On ccat at C =
  // 1 the gap then is 0.9 %, on a9a 15 %.
  static constexpr std::uint64_t kDefaultEpochs = hinge::kDefaultEpochs;
  // After epoch e primal and bound are measured next 1 + e/8 epochs later, so that measuring, which
  // takes two or three passes, becomes a smaller share of a longer run. It was not measured apart.
  static constexpr std::uint64_t kMeasuringShare = 8;
  // On several ranks, where measuring takes messages besides, it is 1 + e/4 epochs. With batches of
  // all rows, where an epoch is one step, 1 + e/8 took 13 % more messages to a gap of 0.5 on w8a.
  static constexpr std::uint64_t kMeasuringShareOfRanks = 4;
  // A run of more epochs is likely to be interrupted, so its means over the last half are kept
  // ready at all times; the mean of a shorter one begins half-way, which is faster. It was not
  // measured apart.
  static constexpr std::uint64_t kLongRun = 50;
  // With a kernel the clock is asked after steps of about so many values, so that a limit or a
  // signal does not wait for a pass over the rows; but not more often than after the least number
  // of steps, and after the most at the latest. They were not measured apart.
  static constexpr std::uint64_t kKernelValuesBetweenPolls = std::uint64_t{1} << 24;
  static constexpr std::uint64_t kLeastStepsBetweenPolls = 16, kMostStepsBetweenPolls = 256;

  // ---- Which rows are drawn.

  // Runs of neighbouring rows are so short that there are at least so many to draw from (how long
  // they may be otherwise, batches.cc says). It was not measured apart.
  static constexpr std::uint64_t kLeastRuns = 1024;

  // ---- The steps.

  // A free bias moves by this number times the mean of c y over the hits, divided by sqrt(t). It is
  // the width of the margin, between whose sides b has to choose. Between 0.3 and 5 the excess
  // after 20 epochs was 3.6 to 4.0 % on w8a, 0.47 or 0.48 % on a9a and 0.7 to 1.0 % on ccat.
  static constexpr double kFreeBiasStep = 2;
  // Memory of rows is asked for so many rows ahead: that of the row itself, and that of its place,
  // which must be there before. They were not measured apart.
  static constexpr std::size_t kRowAhead = 4, kPlaceAhead = 8;
  // The nearest cache gets only so many cache lines of a row, and the hardware sees what follows.
  // Not measured apart.
  static constexpr std::size_t kNearLinesAhead = 2;
  // |v|^2, which is kept up to date under projection, is computed from v once the steps since then
  // took so many times as long as that. It was not measured apart.
  static constexpr std::uint64_t kSquareShare = 4;
  // The product of all projections is moved into v before it leaves the range of double; and, while
  // points are averaged, before S and v, one growing as the other shrinks, cancel more than about
  // three digits in S v - u. Both follow from the arithmetic.
  static constexpr double kLeastProjection = 1e-100, kLeastProjectionInMean = 1e-3;

  // ---- Primal and bound.

  // Where the gap is above this, the shares of hits in all steps are tried as dual variables beside
  // those of the last half. On digits at C = 1 the last half alone says nothing for four of ten
  // classes.
  static constexpr double kPoorGap = 0.05;
  // With a free bias the best multiple of a point is looked for by so many secants at most, and by
  // no more once they could gain less than this part of the primal. They were not measured apart.
  static constexpr int kMostSecants = 40;
  static constexpr double kLeastSecantGain = 1e-6;
  // With a free bias the bound is lowered by this part of sum alpha, for what rounding leaves of
  // sum alpha y. It follows from the arithmetic: it is far above that and far below any gap asked.
  static constexpr double kUnbalanced = 1e-10;

  // ---- Several ranks.

  // Where columns are so many that a wish to stop does not travel with the sum of a step, it
  // travels with a sum of its own, taken after steps on about so many rows of all ranks, and after
  // so many steps at the latest: a sixteenth of a message a step where batches are small. They were
  // not measured apart.
  static constexpr std::uint64_t kRowsBetweenWishes = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kMostStepsBetweenWishes = 16;
  // The best multiple of a point is looked for up to this factor, in messages until the primal is
  // at most this part of what scaling gains above the least. They were not measured apart.
  static constexpr double kMostMultiple = 1e6, kMultipleDoubt = 1e-9;

  // ---- Kernels (kernel_passes.h).

  // Scores are kept for all rows, rather than computed in blocks when they are asked for, unless a
  // budget keeps no more than one row in so many. It was not measured apart.
  static constexpr std::uint64_t kRowsABudgetRow = 4;
  // A thread takes so many rows of a pass at once, or so many of the rows that a block meets. They
  // were not measured apart.
  static constexpr std::uint64_t kRowsAtOnce = 256, kOthersAtOnce = 512;
  // Threads share the kernel values of a block with at least so many values of the rows it meets.
  // It was not measured apart.
  static constexpr std::uint64_t kWorthSharing = 1 << 14;
};

}  // namespace hinge
