#include "solve/batches.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "base/random.h"
#include "data/survey.h"
#include "solve/tuning.h"

namespace hinge {
namespace {

constexpr std::uint64_t kWindowStream = 0x77696e;

}  // namespace

Neighbours neighbours_in(const Dataset& data, std::uint64_t most) {
  if (labels_lie_mixed(data))
    return {.run = std::clamp<std::uint64_t>(most, 1, BatchTuning::kMixedRun)};
  const std::uint64_t value_bytes = data.precision() == Precision::f32 ? 4 : 8;
  const std::uint64_t rows = std::max<std::uint64_t>(1, data.rows());  // a rank may have none
  const std::uint64_t row_bytes = data.nonzeros() / rows * (4 + value_bytes) + 32;
  return {.run = std::clamp<std::uint64_t>(most, 1, BatchTuning::kSortedRun),
          .window = std::clamp<std::uint64_t>(BatchTuning::kWindowBytes / row_bytes,
                                              BatchTuning::kLeastWindow, BatchTuning::kMaxWindow),
          .mix = true};
}

Batches::Batches(const BatchOptions& options)
    : shares_(options.rows_of_all > 0),
      rows_(options.rows),
      rows_of_all_(shares_ ? options.rows_of_all : options.rows),
      batch_(options.batch),
      steps_per_epoch_((rows_of_all_ + batch_ - 1) / batch_),
      sampling_(options.sampling),
      seed_(options.seed),
      stream_(options.stream),
      neighbours_(options.neighbours) {
  assert(!shares_ || sampling_ != Sampling::replace);
  if (batch_ == rows_of_all_)
    sampling_ = Sampling::order;  // all rows, whichever way they are drawn
  if (sampling_ == Sampling::permute) {
    deck_.resize((rows_ + neighbours_.run - 1) / neighbours_.run);
  } else if (sampling_ == Sampling::replace && batch_ > 1) {
    deck_.resize(rows_);
  }
  std::iota(deck_.begin(), deck_.end(), std::uint64_t{0});
}

std::uint64_t Batches::rows_before(std::uint64_t step, std::uint64_t rows) const {
  if (step >= steps_per_epoch_) return rows;
  if (!shares_) return step * batch_;
  return static_cast<std::uint64_t>(static_cast<double>(rows) * static_cast<double>(step) /
                                    static_cast<double>(steps_per_epoch_));
}

std::span<const std::uint64_t> Batches::next(std::uint64_t max_steps) {
  if (windows_ == 0) draw_window();
  if (handed_ == window_end_) {
    window_.swap(coming_);
    used_ = 0;
    window_end_ = drawn_;
    draw_window();
    // Within a set the order means nothing.
    if (sampling_ == Sampling::permute && neighbours_.mix && batch_ < window_.size()) {
      Random(seed_ ^ kWindowStream, stream_, windows_).shuffle(std::span(window_));
    }
  }
  const std::uint64_t left = window_.size() - used_;
  steps_ = std::min(max_steps, window_end_ - handed_);
  const std::uint64_t step = handed_ % steps_per_epoch_;
  const bool all_left = handed_ + steps_ == window_end_;
  std::uint64_t rows = 0;
  if (!shares_) {
    rows = rows_of_steps_ = all_left ? left : steps_ * batch_;
  } else {
    rows = rows_before(step + steps_, rows_) - rows_before(step, rows_);
    rows_of_steps_ = rows_before(step + steps_, rows_of_all_) - rows_before(step, rows_of_all_);
  }
  handed_ += steps_;
  const auto chunk = std::span<const std::uint64_t>(window_).subspan(used_, rows);
  const bool streams =
      sampling_ == Sampling::order || (sampling_ == Sampling::permute && !neighbours_.mix);
  const std::size_t from = streams ? coming_.size() : std::min(used_, coming_.size());
  ahead_ = std::span<const std::uint64_t>(coming_).subspan(
      from, std::min<std::size_t>(rows, coming_.size() - from));
  used_ += rows;
  return chunk;
}

// The sets of some more steps, none beyond the end of an epoch, into coming_.
void Batches::draw_window() {
  const std::uint64_t epoch = drawn_ / steps_per_epoch_, step = drawn_ % steps_per_epoch_;
  const std::uint64_t steps =
      std::min(std::max<std::uint64_t>(1, neighbours_.window / batch_), steps_per_epoch_ - step);
  const std::uint64_t from = rows_before(step, rows_), to = rows_before(step + steps, rows_);
  coming_.clear();
  switch (sampling_) {
    case Sampling::permute:
      if (step == 0) {
        Random(seed_, stream_, epoch).shuffle(std::span(deck_));
        card_ = row_ = 0;
      }
      draw_permuted(to - from);
      break;
    case Sampling::replace:
      for (std::uint64_t k = 0; k < steps; ++k) draw_set(drawn_ + k);
      break;
    case Sampling::order:
      for (std::uint64_t i = from; i < to; ++i) coming_.push_back(i);
      break;
  }
  drawn_ += steps;
  ++windows_;
}

void Batches::draw_permuted(std::uint64_t rows) {
  const std::uint64_t run = neighbours_.run;
  coming_.resize(rows);
  for (std::uint64_t at = 0; at < rows;) {
    const std::uint64_t begin = deck_[card_] * run + row_;
    const std::uint64_t left = std::min(rows_, (deck_[card_] + 1) * run) - begin;
    const std::uint64_t count = std::min(left, rows - at);
    std::iota(coming_.begin() + static_cast<std::ptrdiff_t>(at),
              coming_.begin() + static_cast<std::ptrdiff_t>(at + count), begin);
    at += count;
    row_ = count == left ? 0 : row_ + count;
    card_ += count == left ? 1 : 0;
  }
}

// The first cards of a shuffle are a fair draw whatever order the deck was in.
void Batches::draw_set(std::uint64_t step) {
  Random random(seed_, stream_, step);
  if (batch_ == 1) {
    coming_.push_back(random.below(rows_));
    return;
  }
  for (std::uint64_t k = 0; k < batch_; ++k) {
    std::swap(deck_[k], deck_[k + random.below(rows_ - k)]);
    coming_.push_back(deck_[k]);
  }
}

std::uint64_t Batches::rows_of_run(std::uint64_t card) const {
  return std::min(rows_, (deck_[card] + 1) * neighbours_.run) - deck_[card] * neighbours_.run;
}

void Batches::archive(Archive& archive) {
  archive.sized(deck_, deck_.size());
  archive(drawn_, windows_, card_, row_, window_, coming_, used_);
  if (!archive.reading()) return;
  archive.require(used_ <= window_.size() && steps_in(coming_.size()) <= drawn_);
  window_end_ = drawn_ - steps_in(coming_.size());
  archive.require(steps_in(window_.size() - used_) <= window_end_);
  handed_ = window_end_ - steps_in(window_.size() - used_);
  // Rows exist, the deck is one, and what is left of it is what is left of the epoch.
  const auto exists = [this](std::uint64_t row) { return row < rows_; };
  archive.require(std::ranges::all_of(window_, exists) && std::ranges::all_of(coming_, exists));
  archive.require((windows_ == 0) == (drawn_ == 0));
  std::vector<bool> seen(deck_.size());
  for (const std::uint64_t card : deck_) {
    archive.require(card < deck_.size() && !seen[card]);
    seen[card] = true;
  }
  const std::uint64_t step = drawn_ % steps_per_epoch_;
  if (sampling_ != Sampling::permute || step == 0) return;  // or the deck is shuffled next
  archive.require(card_ < deck_.size() && row_ < rows_of_run(card_));
  std::uint64_t before = row_;
  for (std::uint64_t k = 0; k < card_; ++k) before += rows_of_run(k);
  archive.require(before == step * batch_);
}

}  // namespace hinge
