// The numbers that what stands beside the solvers was tuned to: the choice of `auto`, runs that
// crawl, sweeps, batches, stalls. What each solver was tuned to stands in the tuning.h of its
// folder. "Not measured apart" means that the number was chosen with the code around it and nobody
// has varied it alone since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hinge {

// What `auto` means (choose.cc, where the figures of the measurements stand).
struct ChoiceTuning {
  // Newton is never chosen for more columns: its matrix is too large, and text, which has more,
  // suits descent.
  static constexpr std::uint64_t kMaxColumnsOfNewton = 2500;
  // Several ranks get `focus` up to so many columns, dual descent beyond, where a sum over the
  // ranks as long as the columns costs more than descent's rounds.
  static constexpr std::uint64_t kMaxColumnsOfFocusOnRanks = 200'000;
  // Newton needs at least so many rows a column.
  static constexpr double kLeastRowsPerColumn = 4;
  // Below so many rows a column newton must be worth it by far: C |x|^2 above the first number up
  // to so many columns, above the second beyond.
  static constexpr double kManyRowsPerColumn = 20;
  static constexpr double kColumnsOfFewRows = 500;
  static constexpr double kHardOfFewRows = 30, kHardOfFewRowsAndManyColumns = 1000;
  // From so many rows a column on newton is chosen above this C |x|^2, however many columns.
  static constexpr double kHard = 30;
  // With at least so many rows newton is chosen below that as well: up to the first number of
  // columns above a C |x|^2 that depends on the gap; up to the second where rows are full and the
  // gap is small, from the third number on.
  static constexpr double kManyRows = 5000;
  static constexpr double kFewColumns = 150, kMoreColumns = 300, kHardOfMoreColumns = 1;
  static constexpr double kFullShare = 0.25, kSmallGap = 1e-4;
  // That C |x|^2, for gaps of `kTightGap` or less and for others; and the same with at least
  // `kVeryManyRows` rows, of which steps on samples leave few for all rows.
  static constexpr double kTightGap = 1e-5;
  static constexpr double kHardOfFewColumnsTight = 0.4, kHardOfFewColumns = 2;
  static constexpr double kVeryManyRows = 200'000;
  static constexpr double kHardOfVeryManyRowsTight = 0, kHardOfVeryManyRows = 0.1;
  // The same with smooth losses at gaps of kSmallGap and less, kDefaultGap and less, and others: up
  // to kFewColumns (where newton is always chosen with kVeryManyRows or more), and up to
  // kMoreColumns in sparse and in full rows.
  struct HardOfSmooth {
    std::array<double, 3> few, more, more_full;
  };
  static constexpr HardOfSmooth kHardOfSquared = {
      {0.12, 0.12, 0.12}, {1.2, 2.5, 7}, {0.2, 0.5, 0.5}};
  static constexpr HardOfSmooth kHardOfLogistic = {{0.1, 0.1, 0.1}, {2, 6, 30}, {2, 6, 30}};
  // And with fewer rows than the first, or than the second times the columns, of which newton takes
  // no sample. (The first 8,000 and 16,000 rows of a9a and w8a; 8,000 full rows of 100 columns and
  // 20,000 of 300.)
  static constexpr double kSampledRows = 32'000, kSampledByColumns = 160;
  static constexpr HardOfSmooth kHardOfSquaredUnsampled = {{1.5, 1.5, 1.5}, {4, 8, 12}, {3, 4, 6}};
  static constexpr HardOfSmooth kHardOfLogisticUnsampled = {{2, 4, 8}, {7, 15, 30}, {7, 15, 30}};
};

// When a run takes too long, and when another solver follows (crawl.h). The numbers were chosen on
// nine families of random data and on 120 small sets far from the origin (bench/uncentred.py); no
// run on the sets of the benchmarks ends by them.
struct CrawlTuning {
  // Data that could be less than so many bytes of text (so many a value and a row) is small.
  static constexpr double kSmallText = 1e6, kLeastBytesOfValue = 4, kLeastBytesOfRow = 2;
  // Work, in about nanoseconds, that a run on small data may take for all problems together, but
  // for each at least so many passes; on other data each may take so many.
  static constexpr double kMaxWorkOfSmall = 8e9, kLeastPassesOfSmall = 100, kMaxPasses = 10'000;
  // A run is judged after this share of the work it may take.
  static constexpr double kJudgeAfter = 0.4;
  // Cutting planes come nearer with every step: on small data those that are lost beyond doubt are
  // found out after this share, a tenth of a second.
  static constexpr double kJudgePlanesAfter = 0.0125;
  // Newton follows where descent, after this share of the work that newton would take, is on its
  // way to take so many times as much, but not before it has done any work to speak of.
  static constexpr double kChangeAfter = 0.5, kChangeAbove = 2, kLeastWork = 1e6;
  // Newton may follow where rows or columns are at most so many, and where it takes at most so many
  // bytes, or as many as the rows.
  static constexpr std::uint64_t kMaxSmallerSide = 2500;
  static constexpr double kMaxMemory = 128.0 * 0x1p20;
  // A stall at a smaller gap is rounding, most likely.
  static constexpr double kRoundingGap = 1e-6;
  // The work of a record of a run is at least so many times that of the one before. Not measured
  // apart.
  static constexpr double kApart = 1.05;
};

// Pegasos over several classes, before or instead of another solver (sweep.h).
struct SweepTuning {
  // The share of the time, or of the passes, that the sweep before everything else may take, and
  // its epochs at most. On 60,000 x 784 rows of ten classes more than 5 gained little.
  static constexpr double kShare = 0.2;
  static constexpr std::uint64_t kEpochs = 5;
  // The most classes of one sweep over the rows. Not measured apart.
  static constexpr std::size_t kClasses = 32;
  // Seconds after a signal: until when a sweep goes on, but at least for so many, and until when
  // what it found is looked at. People wait half a second without minding.
  static constexpr double kLastSeconds = 0.25, kLeastSeconds = 0.05, kLastGrace = 0.55;
  // Values that a thread visits in that time, and how many values a visit costs besides.
  static constexpr double kLastWork = 1e8, kVisit = 16;
  // Bytes that a sweep after a signal may take; dual variables that are kept. Not measured apart.
  static constexpr double kMaxBytes = 0x1p30;
  static constexpr std::uint64_t kMaxAlpha = std::uint64_t{32} << 20;
};

// The order in which rows are visited (batches.h).
struct BatchTuning {
  // A run has at most so many rows where labels lie mixed. On ccat, imdb and covtype runs of 64
  // rows gave the same results as runs of one, in about half the time where rows outgrow the
  // caches.
  static constexpr std::uint64_t kMixedRun = 64;
  // A run has at most so many rows where neighbours have the same label; such runs are mixed in
  // windows of about so many bytes, which are to fit a cache. Pegasos then ends, on sorted ccat,
  // imdb and covtype, at gaps at most 7 % above those on mixed rows, in about a third more time.
  static constexpr std::uint64_t kSortedRun = 4, kWindowBytes = 256 << 10;
  // A window has at least and at most so many rows. Not measured apart.
  static constexpr std::uint64_t kLeastWindow = 64, kMaxWindow = 4096;
};

// When a solver makes no more progress (stall_watch.h). Not measured apart.
struct StallTuning {
  // Exact passes without any, and where progress comes in waves.
  static constexpr std::size_t kWindow = 50, kLongWindow = 400;
  // Below this gap progress is rounding where a window leaves more than this share of the gap.
  static constexpr double kRoundingGap = 1e-9, kRoundingLeft = 0.999;
};

// A signal finds a solver anywhere, most often in the middle of a pass, which then ends with
// Interrupted. For so many seconds more it may measure what it has, lest the best be passed over.
constexpr double kLastLook = 0.3;

}  // namespace hinge
