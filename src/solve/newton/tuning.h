// The numbers that newton was tuned to. Where a sentence says nothing else the number was set, with
// the others, on covtype, kdd99, a9a, ijcnn1 and a generated set like covtype, and its gain was not
// measured apart. "Work" is about nanoseconds of one core, of which only ratios count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hinge {

struct NewtonTuning {
  // ---- Corners and centres (newton.cc).

  // Half the width of the corner at which a run begins, in margins: the first step is then nearly a
  // ridge regression.
  static constexpr double kFirstHalfWidth = 2;
  // F counts as minimised once its gradient is less than this share of the gap.
  static constexpr double kSolvedShare = 0.1;
  // The steepness grows by this factor each time F is minimised, and never before: sharpened too
  // soon, covtype from a poor start stood at a gap of 2e-5 after 300 steps, and kdd99 at C = 100
  // above 0.7 after 6 s.
  static constexpr double kSharpen = 1 / 0.3;
  // It grows by this factor once sharpening has proved too much.
  static constexpr double kSharpenLess = 2;
  // So many steps for one F show that sharpening was too much.
  static constexpr std::uint64_t kManySteps = 6;
  // After so many steps F is given up, and the steepness falls by the factor below it. (To set the
  // centres back to the middle as well loses what was won: a9a at C = 100 then stops at a gap of
  // 2e-6.)
  static constexpr std::uint64_t kMostSteps = 15;
  static constexpr double kSoften = 4;
  // Beyond this steepness rounding of margins would show in statuses.
  static constexpr double kSteepest = 1e6;
  // Steps on a smooth loss go on with the matrix they have so many times; then it is made anew, and
  // a state can be told. One that finds no way down counts as so many without progress.
  static constexpr std::uint64_t kStepsOfMatrix = 2, kIdleOfNoWay = 300;

  // ---- Where a run begins (newton.cc, part.h).

  // Each sample of the rows has so many times the rows of the one before it, and the least one so
  // many rows, and so many a column. Samples cut the steps on all rows before a gap of 1e-3 on
  // covtype from 11 to 5.
  static constexpr std::uint64_t kSampleRatio = 8;
  static constexpr std::uint64_t kLeastSample = 4000, kLeastSampleByColumns = 20;
  // A sample is solved to a gap of this times columns by rows, but not closer than half the gap
  // that will do, and at least to the second.
  static constexpr double kSampleGap = 0.3, kLargestSampleGap = 0.05;
  // The same with a smooth loss, by what its last step brought P down. With 0.3 and 0.05 w8a, whose
  // samples have 20 rows a column, took 25.7 ms to 1e-4 (squared hinge, C = 1) instead of 21.6, and
  // covtype 138 instead of 130.
  static constexpr double kSmoothSampleGap = 3, kLargestSmoothSampleGap = 0.3;
  // After a sample of k rows with d columns half the width of the corner is this times the root of
  // d / k.
  static constexpr double kSampleHalfWidth = 2;
  // Where the steepness times the mean of U_i |x_i|^2 would be larger than this, statuses must be
  // tiny: centres begin at 0, with the steepness that meets it. The second is for fewer than so
  // many rows a column, which most likely can be separated.
  static constexpr double kLargestCurvature = 1e6, kLargestCurvatureOfFew = 1e2;
  static constexpr std::uint64_t kFewRowsByColumns = 4;
  // That mean is taken of about so many rows.
  static constexpr std::uint64_t kCurvatureRows = 1000;
  // Otherwise centres begin here, in the middle of the hinge's range.
  static constexpr double kFirstCentre = 0.5;

  // ---- Rows near the margin (newton.cc).

  // Below this gap rows near the margin are worked on instead of all: covtype to a gap of 1e-6 in
  // 14 passes. Sooner it is unsafe, since columns that only other rows have run away (P of covtype
  // 304,000 -> 381,000, of kdd99 4,500 -> 1.1 million).
  static constexpr double kNarrowBelow = 1e-3;
  // Rows are near within so many times half the width of the corner.
  static constexpr double kNarrowHalfWidths = 4;
  // They are worked on by themselves if they are at most this share of all.
  static constexpr double kNarrowRows = 0.5;
  // They are solved to this share of the last gap of all rows, but not closer than the second share
  // of the gap that will do.
  static constexpr double kNarrowAim = 0.1, kNarrowAimOfGap = 0.3;
  // They are worked on again if that brought the gap of all rows below this share of what it was,
  // and below so many times kNarrowBelow.
  static constexpr double kNarrowGain = 0.5, kNarrowAgainBelow = 5;

  // ---- What is trusted, and when a run ends (newton.cc).

  // P and D as steps keep them up to date are right to this share of P.
  static constexpr double kTrusted = 1e-11;
  // They are computed from the rows once P is this share of what it was when it last was.
  static constexpr double kFallen = 1e-3;
  // Below so many times the gap that will do, or kFineGap, they are computed from the rows, too.
  static constexpr double kFineTimes = 10;
  static constexpr double kFineGap = 1e-9;
  // A run stalls after so many steps without progress; after the second number where the gap is
  // below kFineGap and little is left to gain. Work on rows near the margin counts as kIdleOfNarrow
  // steps. On some of the rows kIdleOfPart steps without progress end it.
  static constexpr std::uint64_t kIdle = 1000, kIdleFine = 30;
  static constexpr std::uint64_t kIdleOfNarrow = 4, kIdleOfPart = 4 * kMostSteps;
  // Progress is a gap of at most this share of the least before.
  static constexpr double kProgress = 0.999;

  // ---- One step (part.h).

  // Of a smooth loss a step is taken as it is where P is not higher at its end, and its slope there
  // at most this share of what it was at its beginning, and up, not down. Not measured apart.
  static constexpr double kMostRise = 0.5;
  // A search along the step ends where the slope of F is this share of what it was at its
  // beginning. (The lab's first program took 0.3.)
  static constexpr double kSearched = 0.1;
  // Its trials stay this share of the bracket away from either end.
  static constexpr double kSearchEdge = 0.1;
  // It ends after so many trials, whatever was found.
  static constexpr int kSearchTrials = 30;
  // F'' is at least the unit matrix, so that a step of more than this times the gradient's square
  // comes from a factor that rounding has spoilt.
  static constexpr double kSpoilt = 1.5;
  // Changes of statuses are summed so many rows at a time. (24 bytes a row less than keeping them:
  // covtype took 102 MiB at its peak, and takes 90.)
  static constexpr std::size_t kChangesAtOnce = 256;

  // ---- The free bias (part.h).

  // It is where the balance of the classes is off by this share of all costs.
  static constexpr double kBalanced = 1e-15;
  // The first step to it is so many times what would do if the rows between their bounds stayed,
  // between the two limits; each further one is four times as long, and there are at most
  // kBiasSteps. Then come at most kBiasTrials trials between the last two.
  static constexpr double kBiasBeyond = 1.01, kBiasLeast = 1e-12, kBiasMost = 1e12, kBiasWiden = 4;
  static constexpr int kBiasSteps = 200, kBiasTrials = 100;

  // ---- Products with F'' or a matrix (hessian.h, system.h).

  // The work of a row in a product with F'', and of each of its entries without columns and with
  // them.
  static constexpr double kProductRow = 20, kProductFull = 0.35, kProductSparse = 1;
  // And of each number of kProductVectors vectors as long as the columns, and of two a block.
  static constexpr double kProductNumber = 0.35, kProductVectors = 6;
  // Products are worth this share of the work that a matrix and its factor would be.
  static constexpr double kWorthProducts = 0.7;
  // Where a matrix is kept up to date, this share of its rows are taken to join or leave it.
  static constexpr double kFlips = 0.3;
  // Products are tried if at least so many pay, and there are never more than kMostProducts.
  static constexpr std::uint64_t kLeastProducts = 8;
  static constexpr double kMostProducts = 5000;
  // They end at a residual of this share, measured by the inverse of the diagonal. (Measured by
  // its plain length 0.1 proved far too loose on text.)
  static constexpr double kResidual = 0.1;
  // With a smooth loss it becomes this share of what it was, but not less than the second, after a
  // step that leaves more than the third of |F'|^2: where rows can be parted and costs are large,
  // loose ones only follow the steepest of F (250 rows of 1000 columns, C = 1e6: a gap of 0.998
  // after 1002 steps, and no end). No corner is sharpened there that would bring steps to an end.
  static constexpr double kResidualLess = 0.1, kLeastResidual = 1e-12, kSlowFall = 0.25;
  // With a smooth loss and no matrix they end, too, once one more gains less than this share of
  // what they gained on average, and are scaled by the diagonal with so much of it: 1 of I less
  // this share, and this share of the diagonal. At C = 100 ccat took 1,480 passes to a gap of 1e-3
  // in 12 steps without either, and takes 229 in 20; imdb 1,460 in 11, and takes 256 to 1e-4 in 22.
  // The first becomes kResidualLess of what it was after a step that leaves more than kSlowFall of
  // |F'|^2 and brings P down by less than the third. (60 rows of 4,200 columns of scales from 0.01
  // to 100, C = 1000: a gap of 0.88 after 1,002 steps otherwise.)
  static constexpr double kProductGain = 0.1, kOfDiagonal = 0.01, kLittleFall = 1e-3;
  // So many pairs of entries of a row without columns, and with them, are added to the matrix in
  // one unit of work.
  static constexpr double kSumFull = 40, kSumSparse = 4;
  // The work of a factor is the third power of the columns by this, and their square.
  static constexpr double kFactor = 80;
  // With more columns there is no matrix.
  static constexpr std::size_t kMostColumns = 4096;
  // The diagonal of a free bias is raised by the first times itself and at least to the second.
  static constexpr double kBiasFloor = 1e-9, kLeastBiasFloor = 1e-30;

  // ---- Pieces of work that fit the cache, and threads (rows.h, system.cc, cholesky.cc).

  // Rows are kept without columns where more than this share of their entries is not 0.
  static constexpr double kFullShare = 0.4;
  // So many rows are scored, then added, while they are in the cache.
  static constexpr std::size_t kRowsAtOnce = 32;
  // Each block's numbers have lines of memory of their own: threads write to neighbours.
  static constexpr std::size_t kLine = 64;
  // Vectors of blocks are added up so many columns at a time, which changes no result; loops over
  // all rows once a run have blocks of so many. On 16 cores, where one thread did these, imdb to
  // 1e-3 spent 0.25 of 0.34 s in them. Not varied.
  static constexpr std::size_t kColumnsAtATime = 2048;
  static constexpr std::uint64_t kRowsOfBlock = std::uint64_t{1} << 16;
  // Rows are cut into at most so many blocks, of so many entries at least and twice the columns.
  static constexpr std::uint64_t kMostBlocks = 64, kLeastBlock = std::uint64_t{1} << 15;
  // Rows are copied in so many runs, within these limits of rows.
  static constexpr std::uint64_t kCopyRuns = 64, kLeastCopyRun = 256, kMostCopyRun = 4096;
  // So many full rows are multiplied at once.
  static constexpr std::size_t kDepth = 128;
  // Sparse rows are added to parts of the matrix, of so many numbers together, at most so many
  // parts, each of at least so many rows; or if it is too large for that by bands of it.
  static constexpr std::size_t kPartNumbers = 1U << 20U, kMostParts = 8, kPartTerms = 64;
  // With a smooth loss the rows of a part are so many that their work is this times the numbers of
  // the matrix: steps on samples of w8a spent more on parts than on rows.
  static constexpr double kPartWork = 4;
  static constexpr std::size_t kBands = 8;
  // Matrices of fewer columns may have parts, and memory for them.
  static constexpr double kPartsBelow = 1000;
  // Matrices are worked on in tiles of so many rows and columns.
  static constexpr std::size_t kTile = 64;
  // Above this size a matrix has bands, and blocks of a factor are kTile wide; below it so many
  // columns, for the diagonal blocks, done one number after the other, would count.
  static constexpr std::size_t kLargeMatrix = 512, kNarrowBlock = 32;
  // So many entries below a block are worth threads.
  static constexpr std::size_t kWorthThreads = 64 * 1024;

  // ---- What `auto` expects of a run (newton_work()).

  // It takes so many steps, of so many passes each, and this share of the rows joins or leaves the
  // matrix in a step.
  static constexpr double kSteps = 30, kPasses = 3, kNearRows = 0.3;
};

}  // namespace hinge
