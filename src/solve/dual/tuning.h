// The numbers that dual descent was tuned to: what each decides, where it was measured, what it
// gains. Times and passes are those of the change that brought the number in, on the machine of
// that day. "Not measured apart" says that nobody compared it with others by itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hinge {

struct DualTuning {
  // ---- The order of visits (working_rows.h).

  // Rows are cut into at least so many runs of neighbours, whose order is drawn anew for every
  // epoch; longer runs stream memory better. 804,000 rows like ccat to 1e-4: 4.4 s row by row, 1.7
  // s in runs of 64 (which is as long as a run may be), with as many epochs.
  static constexpr std::uint64_t kRunsToShuffle = 1500;
  // Rows are copied next to each other where they have less than this share of all entries. That
  // a large share gains nothing by it is measured (within noise); the limit itself is not.
  static constexpr double kCopyBelow = 0.2;
  // So many rows are copied by a thread at a time. Not measured apart.
  static constexpr std::size_t kCopyBlock = 1024;
  // So many rows are visited between two questions to the monitor. Not measured apart.
  static constexpr std::uint64_t kRowsBetweenPolls = 256;

  // ---- Which rows are visited.

  // A row at a bound rests where its gradient points outwards by more than so many root mean
  // squares of the projected gradients. 1, 1.5, 2 and 3 are within noise of each other at 1e-3 and
  // 1e-4; 3 takes 10 to 20 % longer on one set of many short texts.
  static constexpr double kRestFactor = 1.5;
  // At least this share of the rows is chosen, by resting only rows farther and farther out: with
  // fewer others are soon missed. With kLeastEpochWork, passes to 1e-3, 1e-4 and 1e-6 at C = 0.01:
  // a9a 5.3, 7.4, 13.8 -> 5.4, 6.7, 11.1, w8a 5.1, 6.1, 9.5 -> 3.2, 4.3, 7.8, ccat 4.1, 6.1, 8.2
  // -> 4.1, 5.2, 5.4; at C = 1 as before.
  static constexpr double kLeastChosen = 0.05;
  // For that the distance is doubled at most so many times. Not measured apart.
  static constexpr int kMostDoublings = 4;
  // Rows that fell asleep leave the list once less than this share of it is awake. Not measured
  // apart.
  static constexpr double kLeastAwake = 0.6;

  // ---- When an exact pass is made.

  // Epochs end after so many, whatever they gain. Not measured apart.
  static constexpr std::uint64_t kMaxEpochs = 40;
  // Epochs go on until they took so many passes over the data themselves: few rows take many
  // epochs. Measured with kLeastChosen.
  static constexpr double kLeastEpochWork = 0.3;
  // The first exact pass after w = 0 is made when the estimated gap is below this share of P.
  // Without it, when the estimate says "done", ccat at 1e-3 takes 1.4 to 1.8 times as long: wrong
  // rows rest, and that is found late.
  static constexpr double kFirstMeasure = 0.06;
  // Later ones are made when the foreseen gap is below this share of the last exact one. With
  // kFastestDecay and an order for every epoch: 0.925 of the passes and 0.94 of the time on the
  // five sets it was tuned on (C = 0.1, 1, 10, three gaps), 0.894 and 0.904 on four others.
  static constexpr double kNextMeasure = 0.05;
  // The same while leaps are made. Not measured apart.
  static constexpr double kNextMeasureOfLeaps = 0.2;
  // An estimate is believed to fall to no less than this share of itself in the next epoch.
  // Measured with kNextMeasure.
  static constexpr double kFastestDecay = 0.2;
  // The foreseen gap is corrected by how far the last one was off, up or down so many times:
  // estimates leave out rows that rest. With leaps of 0.3 passes at least and kMeanAbove, passes at
  // 1e-3, 1e-4, 1e-6 and C = 1: w8a 13.9, 26.0, 63.1 -> 12.2, 20.1, 38.4, a9a 56, 75, 83 -> 50,
  // 64, 72, ccat 9.9, 20.2, 65.5 -> 9.9, 22.9, 69.3.
  static constexpr double kMaxGapCorrection = 5;
  // Where the first epoch leaves fewer than this share of the rows between their bounds, an exact
  // pass follows at once. C = 0.01 at 1e-2 (with squares found on the way): imdb 12.1 -> 8.0 ms,
  // ccat 9.1 -> 8.2; news20 at 1e-3 42 -> 23.
  static constexpr double kFewInside = 0.001;

  // ---- Strides: with w in floats, steps go farther than to the optimum of their variable, and
  // less far in the last epoch before an exact pass. 0.97 of the passes, over seven sets, C = 0.1,
  // 1, 10 and gaps 1e-2, 1e-3, 1e-5. In doubles it is not done: a fit then missed one of scikit-
  // learn's checks by 2e-7.

  static constexpr double kLongStride = 1.25;
  static constexpr double kShortStride = 0.75;
  // Where an epoch brings the estimate down to this share and less, all steps go to the optimum.
  // Not measured apart.
  static constexpr double kFastDecay = 0.4;
  // Short steps are taken to make the gap this share of what is expected of others. Not measured
  // apart.
  static constexpr double kShortStrideGain = 0.8;

  // ---- Low precision (low_precision.h).

  // w is in doubles below this gap. Not measured apart.
  static constexpr double kLowPrecisionAbove = 1e-3;
  // So much of the gap may be what low precision is off by, lest w become double. Not measured
  // apart.
  static constexpr double kMostDrift = 0.01;
  // w becomes double where one exact pass leaves more than this share of the gap before. Not
  // measured apart.
  static constexpr double kLeastFall = 0.7;
  // So many numbers of w are copied by a thread at a time. Not measured apart.
  static constexpr std::size_t kWeightsBlock = std::size_t{1} << 15;

  // ---- Leaps (leaps.h).

  // Leaps begin after so many epochs: the problem is not one of the easy ones. ccat, C = 100, to
  // 1e-4: 2384 -> 205 passes with leaps; C = 1 to 1e-6 238 -> 60.
  static constexpr double kLeapAfter = 20;
  // Of wide data they begin later by so much for each column a nonzero, as they take passes over w:
  // with leaps from 20 epochs on news20 takes 30 passes to 1e-4 instead of 27.
  static constexpr double kLeapWidth = 8;
  // At least so many leaps are made between exact passes, and until they took so many passes
  // themselves. Not measured apart.
  static constexpr std::uint64_t kLeastLeaps = 10;
  static constexpr double kLeastLeapWork = 4;
  // Where the estimated gap is above so many times the best exact one, the mean of w over the leaps
  // is measured in the place of w. ccat, C = 1000, to 1e-3: 1014 -> 844 epochs.
  static constexpr double kMeanAbove = 1;
  // A leap is not made whose gain in D is below this share of |w|^2, times its length: that is
  // rounding.
  static constexpr double kLeapNoise = 2e-15;
  // Two directions whose determinant is below this share are taken for one. Not measured apart.
  static constexpr double kLeastDeterminant = 1e-12;
  // A leap that the bounds leave no gain is made half as long, so many times in all. Not measured
  // apart.
  static constexpr int kLeapTries = 3;

  // ---- The best primal point (best_point.h).

  // Lines are searched where the gap is below so many times the one that will do, and where it is
  // above this share of P; midway the next point will be better anyway. C = 1, seven sets, three
  // gaps: 0.955 of the time for the same passes.
  static constexpr double kSearchWithin = 4;
  static constexpr double kSearchBeyond = 0.2;
  // A line is followed to so many of its lengths. Not measured apart.
  static constexpr double kFarthest = 8;
  // Margins of a point and its w may be so many roundings apart before a move along a line is made
  // shorter, and a move adds this much. Not measured apart.
  static constexpr double kMostNoise = 20;
  static constexpr double kMoveNoise = 0.5;
  // On ranks: a search ends where less than this share of its gain is left, which saves messages.
  // Not measured apart.
  static constexpr double kSearchDoubt = 1e-4;
  // So many rows are summed together, lest numbers that are alike be rounded alike. Not measured
  // apart.
  static constexpr std::size_t kSumBlock = 512;
  // So many rows are measured together, whose numbers stay in the nearest cache. Not measured
  // apart.
  static constexpr std::uint64_t kMeasureBlock = 512;

  // ---- A free bias (dual_bias.h).

  // The curvature r that the bias adds is this share of the mean square of a row. With r = 1 imdb
  // takes 72 epochs to 1e-3 instead of 10.
  static constexpr double kBiasCurvature = 0.03;
  // It is at least so many times the inverse of all costs: beside short rows or small costs the
  // bias would not come to where it belongs (1 in 400 random problems ended at gaps up to 1 %).
  static constexpr double kLeastBiasPull = 1;
  // After so many exact passes without progress r becomes four times as large: rounds that repeat
  // themselves end with that.
  static constexpr std::uint64_t kIdleMeasures = 20;
  static constexpr double kBiasStiffening = 4;
  // The sum of the signed variables is brought back to 0 by about so many rows between their
  // bounds, in so many rounds at most, until this share of all variables is left of it. That some
  // rows do, not all: `auto` with a free bias took 1.78 of the time of none at 1e-3, then 1.54.
  static constexpr std::size_t kSettlingRows = 2000;
  static constexpr std::size_t kSettlingRounds = 8;
  static constexpr double kSettled = 1e-13;
  // With a loss whose variables never are at their bounds none moves by more than this share of
  // what is left to either. Not measured apart.
  static constexpr double kMostGiven = 0.5;

  // ---- Lanes on ranks (join.h). None of these matters much: rounds in all, as a geometric mean
  // over ccat, imdb, w8a, a9a and two generated sets on 3 to 8 ranks (C = 1 and 30, gaps of 1e-3
  // and 1e-5; 12 runs), are told with each.

  // A lane descends for at most so many epochs before it meets the others. Not measured apart.
  static constexpr std::uint64_t kEpochsARound = 20;
  // It ends sooner where the squares of an epoch's projected gradients are down to this share of
  // the first one's. 751 rounds and 991 passes; 748 and 958 at 0.3, 740 and 1029 at 0.03.
  static constexpr double kRoundEndsAt = 0.1;
  // From one join to the next the stiffness of lanes is divided by no less and no more than this.
  // 751 rounds; 749 with 0.7 and 1.3, 742 with 0.8 and 2.
  static constexpr double kLeastStiffening = 0.5;
  static constexpr double kMostStiffening = 1.5;

  // ---- Merged columns (merged_columns.h).

  // Columns are merged of data with more than so many (fewer fit the cache as they are), with fewer
  // than so many entries a column (of others few columns are alone), where at most this share of
  // the columns is left. Not measured apart.
  static constexpr std::uint64_t kMergeAbove = 100'000;
  static constexpr double kMostEntriesAColumn = 5;
  static constexpr double kMostColumnsLeft = 0.5;
  // It is done at gaps up to the small one, or up to the large one where C times the mean square of
  // a row is above kMergeCost: many passes follow then. Word pairs of 20 newsgroups: half as fast
  // again at C = 1 and 1e-6, and at C = 100 and 1e-3; no faster at 1e-2.
  static constexpr double kMergeSmallGap = 1e-5;
  static constexpr double kMergeLargeGap = 1e-3;
  static constexpr double kMergeCost = 10;
  // With a smooth loss it is not done up to this C |x|^2, however small the gap: at C = 0.01
  // news20 takes two epochs to a gap of 1e-7 with the logistic loss, 28 ms without merging and 45
  // with it.
  static constexpr double kMergeSmoothCost = 0.1;
  // So many rows are read between two looks at the stop flag. Not measured apart.
  static constexpr std::uint64_t kMergePoll = 1024;

  // ---- Centred rows (centred_rows.h).

  // The copy has at most so many bytes, and at least this share of the entries must be there. Not
  // measured apart.
  static constexpr double kMostCentredBytes = 256.0 * 0x1p20;
  static constexpr double kLeastFilled = 0.5;
  // It is made where the square of the mean is at least this share of the mean square of rows,
  // which so many rows tell beforehand. Not measured apart.
  static constexpr double kLeastMeanSquare = 0.8;
  static constexpr std::uint64_t kMeanSample = 1000;
};

}  // namespace hinge
