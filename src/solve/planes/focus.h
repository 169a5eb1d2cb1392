// Which rows `focus` looks at, and when: a **round** is made on the rows whose margins are within a
// few times what margins moved lately, but never on more than a part of all. The steps of a round
// are the solver's (cutting_plane.cc).
#pragma once

#include <cstdint>
#include <span>

#include "base/archive.h"
#include "solve/planes/risk.h"
#include "solve/planes/tuning.h"

namespace hinge {

// How far the margins at the anchor are from the place where a row changes its status, and which
// rows are near it. All rows must be active, and numbers are of all rows.
class NearMargin {
 public:
  explicit NearMargin(Risk& risk) : risk_(risk) {}

  // The root mean square by which margins of the anchor differ from those at the mark.
  double moved() const;
  // The distance within which about this share of the rows lie; judged by a sample where rows are
  // many.
  double width_of(double share) const;
  // How many rows lie within each of these distances, judged likewise.
  void count(std::span<const double> widths, std::span<double> counts) const;
  // Active are the rows within `width`, which are so many. If there are none, nothing changes.
  // Needs a mark at this anchor.
  std::uint64_t narrow(double width);

 private:
  double own_width_of(double share) const;
  std::uint64_t sample_step() const;

  Risk& risk_;
};

class Focus {
 public:
  explicit Focus(Risk& risk) : risk_(risk), near_(risk) {}

  // The run begins at the anchor; `given`: at one that is worth narrowing at once.
  void begin(bool given) {
    risk_.mark();
    if (given) steps_to_wait_ = 0;
  }
  // Before each step: whether it shall be a round. Then only the rows of the round are active.
  bool narrow(bool first_step);
  // After a round, on all rows again, the best point was at this share of the way it went. One that
  // must be taken back by much had too few rows, one that need not had enough. After a bad one all
  // rows are stepped on for a while, the longer the more often this happens; not where all rows
  // would first have to meet all planes.
  void learn(double step);

  void archive(Archive& archive) {
    archive(width_, stepped_back_, settled_, since_mark_, steps_to_wait_, pause_);
  }

 private:
  Risk& risk_;
  NearMargin near_;
  double width_ = PlanesTuning::kFirstWidth;  // in multiples of the last movement
  double stepped_back_ = 1;                   // the share of that movement that was kept
  bool settled_ = false;          // margins have ceased to move by more than what tells rows apart
  std::uint64_t since_mark_ = 0;  // steps
  std::uint64_t steps_to_wait_ = PlanesTuning::kStepsBetweenRounds;
  std::uint64_t pause_ = PlanesTuning::kStepsBetweenRounds;  // after a bad round
};

}  // namespace hinge
