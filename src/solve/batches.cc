#include "solve/batches.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace hinge {
namespace {

constexpr std::uint64_t kChunkRows = 1024;  // handed out at a time, unless a set is larger

// Rows are permuted in runs of neighbours, so that memory streams. Short ones: the order must stay
// random enough for files sorted by label, and a step takes in one row at a time.
constexpr std::uint64_t kMaxRun = 64;
constexpr std::uint64_t kRunsWanted = 1024;

}  // namespace

Batches::Batches(std::uint64_t rows, std::uint64_t batch, Sampling sampling, std::uint64_t seed,
                 std::uint64_t stream)
    : rows_(rows),
      batch_(batch),
      steps_per_epoch_((rows + batch - 1) / batch),
      sampling_(sampling),
      seed_(seed),
      stream_(stream) {
  if (batch_ == rows_) sampling_ = Sampling::order;  // all rows, whichever way they are drawn
  if (sampling_ == Sampling::permute) {
    run_ = std::clamp<std::uint64_t>(rows / kRunsWanted, 1, kMaxRun);
    deck_.resize((rows + run_ - 1) / run_);
  } else if (sampling_ == Sampling::replace && batch_ > 1) {
    deck_.resize(rows);
  }
  std::iota(deck_.begin(), deck_.end(), std::uint64_t{0});
}

std::span<const std::uint64_t> Batches::next(std::uint64_t max_steps) {
  const std::uint64_t epoch = steps_ / steps_per_epoch_, step = steps_ % steps_per_epoch_;
  const std::uint64_t steps = std::min(
      {max_steps, std::max<std::uint64_t>(1, kChunkRows / batch_), steps_per_epoch_ - step});
  const std::uint64_t from = step * batch_, to = std::min(rows_, from + steps * batch_);
  chunk_.clear();
  switch (sampling_) {
    case Sampling::permute:
      if (step == 0) {
        Random(seed_, stream_, epoch).shuffle(std::span(deck_));
        card_ = row_ = 0;
      }
      add_permuted(to - from);
      break;
    case Sampling::replace:
      for (std::uint64_t k = 0; k < steps; ++k) add_drawn(steps_ + k);
      break;
    case Sampling::order:
      for (std::uint64_t i = from; i < to; ++i) chunk_.push_back(i);
      break;
  }
  steps_ += steps;
  return chunk_;
}

void Batches::add_permuted(std::uint64_t rows) {
  while (rows > 0) {
    const std::uint64_t begin = deck_[card_] * run_, end = std::min(rows_, begin + run_);
    for (; begin + row_ < end && rows > 0; ++row_, --rows) chunk_.push_back(begin + row_);
    if (begin + row_ == end) {
      ++card_;
      row_ = 0;
    }
  }
}

// The first cards of a shuffle are a fair draw whatever order the deck was in.
void Batches::add_drawn(std::uint64_t step) {
  Random random(seed_, stream_, step);
  if (batch_ == 1) {
    chunk_.push_back(random.below(rows_));
    return;
  }
  for (std::uint64_t k = 0; k < batch_; ++k) {
    std::swap(deck_[k], deck_[k + random.below(rows_ - k)]);
    chunk_.push_back(deck_[k]);
  }
}

}  // namespace hinge
