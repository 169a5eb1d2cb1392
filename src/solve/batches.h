// Which rows the steps of a stochastic solver look at: sets A_1, A_2, ... of `batch` rows each, a
// function of (seed, stream) alone.
//
//   permute  every row once an epoch, in an order drawn anew each epoch
//   replace  each set drawn from all rows, without regard to the sets before it
//   order    the rows as they come, over and over
//
// An epoch is ceil(rows / batch) steps. With permute and order the last set of an epoch may be
// short; with replace none is. No set holds a row twice.
//
// Where each rank has some of the rows, a set is one of all ranks, each of which draws a share of
// it: it cuts its own rows into as many parts as an epoch has steps, all of one size, to a row. So
// a row is visited once an epoch whatever the ranks have, and no set is short. Nor is one drawn
// with replacement there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "hinge/dataset.h"
#include "hinge/options.h"

namespace hinge {

// How memory is made to stream although rows come in random order: runs of neighbouring rows are
// shuffled, and then, if asked to mix, the rows of as many runs as a cache holds. Single rows take
// about twice as long to arrive. Rows that lie mixed already need no more than runs; where
// neighbours have the same label (files are often sorted), even runs of 4 would spoil the steps if
// they were not mixed.
struct Neighbours {
  std::uint64_t run = 1;        // rows of a run
  std::uint64_t window = 1024;  // rows drawn at a time, unless a set is larger
  bool mix = false;             // shuffle the rows of a window
};

// What suits these rows; runs have at most `most` rows, and at least one.
Neighbours neighbours_in(const Dataset& data, std::uint64_t most);

struct BatchOptions {
  std::uint64_t rows = 0;   // from which rows are drawn: those of this rank
  std::uint64_t batch = 1;  // rows of a set, on all ranks together: 1 .. rows of all ranks
  Sampling sampling = Sampling::permute;
  std::uint64_t seed = 1, stream = 0;  // ranks draw from different streams
  Neighbours neighbours = {};
  std::uint64_t rows_of_all = 0;  // rows of all ranks; 0: there is one process, and no shares
};

class Batches {
 public:
  explicit Batches(const BatchOptions& options);

  std::uint64_t steps_per_epoch() const { return steps_per_epoch_; }

  // The rows of the next steps, set after set: at least one step, at most `max_steps` (> 0), never
  // beyond the end of an epoch. Valid until the next call. A rank's share of a set may be empty.
  std::span<const std::uint64_t> next(std::uint64_t max_steps);
  // Of the last call: how many steps it handed out, and on how many rows of all ranks.
  std::uint64_t steps() const { return steps_; }
  std::uint64_t rows_of_steps() const { return rows_of_steps_; }

  // About as many rows that come after those, to be asked for from memory in time; none where
  // memory streams. Valid as long.
  std::span<const std::uint64_t> ahead() const { return ahead_; }

  void archive(Archive& archive);  // between two calls of next(), in one process

 private:
  // How many of so many rows, here or of all ranks, an epoch has drawn before a step.
  std::uint64_t rows_before(std::uint64_t step, std::uint64_t rows) const;
  std::uint64_t steps_in(std::size_t rows) const { return (rows + batch_ - 1) / batch_; }
  std::uint64_t rows_of_run(std::uint64_t card) const;
  void draw_window();
  void draw_permuted(std::uint64_t rows);
  void draw_set(std::uint64_t step);

  bool shares_;  // there are ranks
  std::uint64_t rows_, rows_of_all_, batch_, steps_per_epoch_;
  Sampling sampling_;
  std::uint64_t seed_, stream_;
  Neighbours neighbours_;
  std::uint64_t drawn_ = 0, windows_ = 0;        // steps and windows drawn
  std::uint64_t handed_ = 0, window_end_ = 0;    // steps handed out, and by the end of window_
  std::uint64_t steps_ = 0, rows_of_steps_ = 0;  // of the last call of next()
  // permute: numbers of the runs of neighbouring rows, in this epoch's order; replace: all rows.
  std::vector<std::uint64_t> deck_;
  std::uint64_t card_ = 0, row_ = 0;  // permute: the run whose turn it is, and the row in it
  std::vector<std::uint64_t> window_, coming_;  // whole sets: being handed out, and the next ones
  std::size_t used_ = 0;                        // rows of window_ handed out
  std::span<const std::uint64_t> ahead_;
};

}  // namespace hinge
