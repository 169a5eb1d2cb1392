#include "train/checkpoint_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"

namespace hinge {

CheckpointWriter::CheckpointWriter(const CheckpointControl& control, std::vector<Error>& warnings)
    : path_(checkpoint_file(control.path)),
      seconds_(control.seconds),
      requests_(control.requests),
      file_lock_(path_ + ".lock", warnings) {}

void CheckpointWriter::begin(RunIdentity identity, CheckpointGroups groups) {
  identity_ = std::move(identity);
  groups_ = std::move(groups);
  written_ = clock_.seconds();
}

std::uint64_t CheckpointWriter::requests() const {
  return requests_ == nullptr ? 0 : requests_->load(std::memory_order_relaxed);
}

CheckpointWriter::Sink::Sink(CheckpointWriter& writer, std::size_t group)
    : writer_(writer),
      group_(group),
      kept_(writer.clock_.seconds()),
      answered_(writer.requests()) {}

bool CheckpointWriter::Sink::wanted() {
  return writer_.clock_.seconds() - kept_ >= writer_.seconds_ || writer_.requests() != answered_;
}

// Whether a checkpoint was asked for; it is about to be written.
bool CheckpointWriter::Sink::answer() {
  kept_ = writer_.clock_.seconds();
  return std::exchange(answered_, writer_.requests()) != writer_.requests();
}

void CheckpointWriter::Sink::keep(std::vector<std::byte> state, const Progress& last) {
  const bool asked = answer();
  writer_.set(group_, std::move(state), &last, asked);
}

void CheckpointWriter::Sink::lost() {
  static_cast<void>(answer());
  const std::lock_guard lock(writer_.mutex_);
  writer_.note(out_of_memory_error());
}

void CheckpointWriter::Sink::done(std::vector<std::byte> result) {
  const bool asked = answer();
  writer_.set(group_, std::move(result), nullptr, asked);
}

// `last`: none when the group is done.
void CheckpointWriter::set(std::size_t group, std::vector<std::byte> state, const Progress* last,
                           bool now) {
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(state));
  std::unique_lock lock(mutex_);
  CheckpointGroup& entry = groups_[group];
  entry.state = std::move(bytes);
  entry.done = last == nullptr;
  if (last != nullptr) {
    entry.passes = last->data_passes;
    entry.gap = last->relative_gap;
  }
  fresh_ = true;
  if (now || clock_.seconds() - written_ >= seconds_) write(lock);
}

void CheckpointWriter::note(const Error& trouble) {
  ++troubles_;
  trouble_ = trouble;
}

// The disk is slow: others may keep their states meanwhile.
void CheckpointWriter::write(std::unique_lock<std::mutex>& lock) {
  if (writing_) return;
  writing_ = true;
  fresh_ = false;
  Result<CheckpointGroups> groups = guard([&] { return groups_; });
  lock.unlock();
  const Result<void> saved =
      guard([&] { save_checkpoint(path_, identity_, take(std::move(groups))); });
  lock.lock();
  writing_ = false;
  written_ = clock_.seconds();
  if (!saved.ok()) note(saved.error());
}

void CheckpointWriter::end(std::vector<Error>& warnings) {
  std::unique_lock lock(mutex_);
  if (fresh_ && !std::ranges::all_of(groups_, &CheckpointGroup::done)) write(lock);
  if (!trouble_) return;
  warnings.push_back(make_warning(
      "checkpoint.write", fmt::format("{} checkpoint{} could not be written, training went on: {}",
                                      troubles_, troubles_ == 1 ? "" : "s", trouble_->message)));
}

}  // namespace hinge
