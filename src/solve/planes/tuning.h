// The numbers that cutting planes were tuned to. Where a sentence names a measurement it stands in
// docs/cutting-planes.md, or in the commit that brought the number; "not measured apart" means that
// the number was chosen with the code around it and nobody has varied it alone since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace hinge {

struct PlanesTuning {
  // ---- Planes.

  // How many planes are kept unless the user says. ocas on ccat needs 66 iterations to a gap of
  // 1e-3 with 20 planes, 63 with 50 or 100; on covtype 180 with 20, 84 with 100.
  static constexpr std::uint64_t kMaxPlanes = 100;
  // The same for `active`, whose passes are short, so that planes weigh more: this share of the
  // nonzeros in a mean column, and at least the published number; where so few already make long
  // vectors, planes are kept by rows and are as many as for the others. Chosen on ccat (to 1e-5:
  // 0.62 s with 20, 0.58 with 28, 0.72 with 40) and covtype (to 1e-4: 6.3 s with 20, 2.9 with 100);
  // against 20 planes it takes 0.80 of the time on w8a, 0.90 on a9a and 0.98 on rows like cov1, all
  // to 1e-4.
  static constexpr double kPlanesOfActive = 0.25;
  static constexpr std::uint64_t kMinPlanesOfActive = 20;
  // How far beyond the best point, towards w_t, the next plane is laid. [AS] found 0.05 best,
  // [OCAS] used 0.1; ocas on ccat to 1e-3 needs 63 iterations with 0.05, 53 with 0.1, 49 with 0.2.
  static constexpr double kMu = 0.05;
  // The same for `focus` where planes are kept by rows: there it was seen to need fewer planes,
  // each of which costs as much as the rows there are. No figures were kept.
  static constexpr double kMuOfFocusByRows = 0.2;
  // Planes are kept by rows where there are at most so many rows a column, so that planes times
  // rows do not outweigh planes times columns. Not measured apart.
  static constexpr std::uint64_t kMaxRowsPerColumnByRows = 1;
  // The same for `focus`, whose few active rows allow for more. Not measured apart.
  static constexpr std::uint64_t kMaxRowsPerColumnByRowsOfFocus = 4;
  // Planes by rows keep their vectors too where all of them together are at most so many numbers:
  // rows that become active again then meet old planes by one product each. Not measured apart.
  static constexpr std::size_t kMaxNumbersInVectors = std::size_t{1} << 23;

  // ---- The small problem.

  // It is solved to so much of the gap between primal and bound. Not measured apart.
  static constexpr double kQpGapShare = 0.05;
  // A bound of which rounding may have eaten more than this share of the gap is computed once more,
  // from the rows. On real data that does not happen: iterations and passes there were the same
  // before this was watched.
  static constexpr double kMaxUnsureShare = 0.1;
  // A pivot of its factor is at least this part of the largest product of a plane with itself. Less
  // would be rounding; more would dampen steps among planes that are nearly parallel. Not measured
  // apart.
  static constexpr double kQpMinPivot = 1e-14;
  // A factor that lost more than one in so many of its planes since the last call is made anew,
  // which is faster then than to take them out one by one. Not measured apart.
  static constexpr std::size_t kQpLostOneByOne = 4;
  // What rounding does to the sum of the weights, as a share of it: less than that is no slack,
  // which would stand in the way of every Newton step. Not measured apart.
  static constexpr double kQpSumRounding = 1e-13;
  // Newton steps are followed by pair steps so many times at most; of either kind there are as many
  // as there are planes (of Newton steps twice as many) and so many more at a time. Not measured
  // apart.
  static constexpr int kQpRounds = 40;
  static constexpr std::size_t kQpSteps = 20;
  // A Newton step whose slope at its end is more than this share of that at its beginning, either
  // way, is corrected by what the slope says. Not measured apart.
  static constexpr double kQpSlopeLeft = 0.1;
  // Newton steps that no longer raise the value go on while the gap falls to this share of what it
  // was; a round of both kinds of steps while it falls to the second. Not measured apart.
  static constexpr double kQpStepProgress = 0.9, kQpRoundProgress = 0.5;

  // ---- Steps.

  // The longest step, in multiples of w_t - w_b. A step of t multiplies what rounding did to the
  // margins of w_b so far by |1 - t|: a longer one would let it grow. Not measured apart.
  static constexpr double kLongestStep = 2;
  // The three-point search of `ocas3` begins no nearer than this, lest it take long to grow again.
  // Not measured apart.
  static constexpr double kShortestFirstTry = 1e-3;
  // Doublings and halvings of the three-point search, so that it costs four values at most ([A3]).
  static constexpr int kThreePointMoves = 2;
  // `active` goes this share of the way it may go where F falls beyond it ([AS] Algorithm 1).
  static constexpr double kShareOfReach = 0.9;
  // Searches of `focus` look so many times as far as the longest of its last steps, which makes
  // breakpoints beyond of no interest. Not measured apart.
  static constexpr double kSearchRange = 2;
  // The same on the way from a round's beginning, where 1 is the round's end. Not measured apart.
  static constexpr double kSearchRangeBack = 1.25;
  // With a free bias a step that gained less than this share of the gap goes on beyond its minimum
  // while F falls. Without that ocas, active and focus stalled at gaps up to 4 %; the share itself
  // was not measured apart.
  static constexpr double kLittleGain = 0.01;
  // On ranks a search may gain so much less than it could, as a share of that: they need not find
  // the last bit. Not measured apart.
  static constexpr double kSearchDoubt = 1e-4;

  // ---- The end.

  // So many steps without progress mean that rounding has the last word. Not measured apart.
  static constexpr std::uint64_t kPatience = 50;
  // Of the primal: what changes less is no progress. Not measured apart.
  static constexpr double kProgressShare = 1e-15;
  // A primal below the bound by more than this share of it shows that rounding has run away, and
  // is not believed. Not measured apart.
  static constexpr double kContradictionShare = 1e-9;
  // Nanoseconds of a step besides its passes, however few rows there are: measured. Runs are
  // judged by the work they take.
  static constexpr double kStepWork = 4000;

  // ---- Active: which rows.

  // Where more rows than this share are within reach all are active: passes over a list of most
  // rows take longer than over all. While all are, about so many rows, evenly spread, tell whether
  // that has changed. Together they took covtype to 1e-4 from 2.83 s (0.8, one row in sixteen) to
  // 2.57 s, rows like real-sim from 0.292 s to 0.285 s; 0.5 took 2.59 s and 0.269 s, and imdb from
  // 0.368 s to 0.384 s. On rows like cov1, which they were not chosen on, 0.65 takes 0.97 of the
  // time of 0.8.
  static constexpr double kMaxShareOfList = 0.65;
  static constexpr std::uint64_t kReachSample = 4096;

  // ---- Focus: which rows a round is made on, and how long.

  // Steps on all rows before the first thought of narrowing, and after a bad round. Not measured
  // apart.
  static constexpr std::uint64_t kStepsBetweenRounds = 3;
  // Rows within so many times the last movement of the margins are active, at first; the number
  // then follows what rounds achieve, between the two others. Not measured apart; the prototype
  // had 2 to 4.
  static constexpr double kFirstWidth = 3, kMinWidth = 2, kMaxWidth = 20;
  // After a round that had to be taken back by more than `kStepOfNarrowRound` the width grows by
  // the first factor; after one that need not, beyond `kStepOfWideRound`, it shrinks by the
  // second. Not measured apart.
  static constexpr double kStepOfNarrowRound = 0.5, kStepOfWideRound = 0.8;
  static constexpr double kWidthGrowth = 1.5, kWidthDecay = 1.2;
  // A movement that was taken back counts as that much larger, but at most by this factor. Not
  // measured apart.
  static constexpr double kMinStepCounted = 0.1;
  // More rows than this share are not worth narrowing to. Not measured apart.
  static constexpr double kMaxActiveShare = 0.35;
  // At a start, where nothing has moved yet, this share of the rows is active: those nearest to the
  // margin. Not measured apart.
  static constexpr double kFirstActiveShare = 0.25;
  // No round before the width is so many times that of kMaxActiveShare, or less: until then
  // margins move too far to tell rows apart. Not measured apart.
  static constexpr double kSettledWidth = 4;
  // A round ends at this share of the gap of all rows. Not measured apart: the prototype had 0.4.
  static constexpr double kRoundGapShare = 0.2;
  // Or at this share of the gap that will do. Not measured apart.
  static constexpr double kRoundGoalShare = 0.7;
  // Or after so many steps; or when it cost as much as so many steps on all rows. Not measured
  // apart.
  static constexpr double kMaxRoundSteps = 200, kMaxRoundPasses = 6;
  // A round of which less than this share stays is a bad one: steps on all rows follow, twice as
  // many as the time before. Not measured apart.
  static constexpr double kBadRoundStep = 0.3;

  // Rows by which widths are judged, those of all ranks together. On four ranks with 200,000 rows
  // like ccat this took their instructions from 34.3 M to 11.5 M in all widths of a run to 1e-3.
  static constexpr std::uint64_t kWidthSample = std::uint64_t{1} << 16;
  // Ranks look at so many widths in a message, until the one they want is known to this share of
  // it, which is near enough for what it is good for. Not measured apart.
  static constexpr std::size_t kWidthsInMessage = 8;
  static constexpr double kWidthDoubt = 0.01;

  // ---- Focus: the sample it may begin on.

  // One row in so many is in it. Not measured apart.
  static constexpr std::uint64_t kSampleEvery = 8;
  // It must have so many rows, and so many a column, to be worth it. Not measured apart; on
  // covtype, which has 9,700 rows a column, it is what begins the run.
  static constexpr std::uint64_t kMinSample = 4000, kMinSamplePerColumn = 20;
  // The gap to which its problem is solved. Not measured apart.
  static constexpr double kSampleGap = 0.01;

  // ---- Rounding.

  // What rounding does to sums over planes or rows, as a share of the sum of their sizes;
  // generously. Not measured apart.
  static constexpr double kRoundingOfSums = 16 * std::numeric_limits<double>::epsilon();
  // `active` looks at rows a little farther away than the bound asks for, by this share and this
  // margin, for what rounding does to sums and margins. Not measured apart.
  static constexpr double kReachSlack = 1e-9;

  // ---- Blocks: they change no result.

  // Columns of planes that are added up at a time: they stay in the nearest cache while planes go
  // by. Not measured apart.
  static constexpr std::size_t kColumnsAtATime = 2048;
  // Rows of statuses that are added up at a time; a multiple of 64. Not measured apart.
  static constexpr std::uint64_t kStatusesAtATime = std::uint64_t{1} << 14;
};

}  // namespace hinge
