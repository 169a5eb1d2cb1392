#include "ranks/comm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/archive.h"

namespace hinge {
namespace {

// Up to so many numbers, of all ranks together so many, every rank sends its own to all and adds up
// by itself: one message to wait for. More are added up in pieces, each rank one, in two: twice the
// waiting, a part of the bytes. A few go to all however many ranks there are, as wishes do.
constexpr std::size_t kSmall = 512, kSmallOfAll = 8192, kFew = 8;
constexpr std::size_t kPiece = std::size_t{1} << 20;    // numbers a rank gets at a time
constexpr std::size_t kMessage = std::size_t{1} << 28;  // bytes of a message, at most

// A value and its place.
constexpr std::uint64_t kEntryBytes = sizeof(std::uint32_t) + sizeof(double);

struct Words {  // of an error
  Error& error;
  void archive(Archive& archive) {
    std::uint8_t severity = static_cast<std::uint8_t>(error.severity);
    archive(error.id, severity, error.file, error.line, error.column, error.offset, error.message,
            error.help, error.rank, error.excerpt, error.caret, error.caret_length);
    archive.require(severity <= static_cast<std::uint8_t>(Severity::note));
    error.severity = static_cast<Severity>(severity);
    std::uint64_t more = error.more.size();
    archive(more);
    archive.require(more <= 100);
    error.more.resize(static_cast<std::size_t>(more));
    for (Error& next : error.more)
      archive(next.id, next.file, next.line, next.column, next.message, next.help, next.rank,
              next.excerpt, next.caret, next.caret_length);
  }
};

void set_rank(Error& error, int rank) {
  error.rank = rank;
  for (Error& next : error.more) next.rank = rank;
}

}  // namespace

std::vector<std::byte> pack(const Error& error) {
  Error copy = error;
  Words words{copy};
  return state_of(words);
}

Error unpack_error(std::span<const std::byte> bytes) {
  Error error;
  Words words{error};
  restore(words, bytes);
  return error;
}

void Comm::check(Transport::Outcome outcome) {
  if (outcome == Transport::Outcome::done) return;
  const bool told = outcome == Transport::Outcome::told;
  if (told) {
    broken_ = true;
    if (!transport_.told().empty()) throw Failure{unpack_error(transport_.told())};
  }
  // The others would notice too, each by itself: told of it, they leave it to one to say.
  const bool lost = told || outcome == Transport::Outcome::lost;
  fail_with(make_error(
      lost ? "mpi.rank-lost" : "mpi.timeout",
      fmt::format("another of {} ranks {}", size(), lost ? "is gone" : "does not answer")));
}

void Comm::exchange(std::span<const std::byte> mine, std::span<std::byte> all) {
  for (std::size_t from = 0; from < mine.size() || from == 0; from += kMessage) {
    const std::size_t size = std::min(kMessage, mine.size() - from);
    if (size == mine.size()) {
      check(transport_.exchange(mine, all));
    } else {
      std::vector<std::byte> part(ranks() * size);
      check(transport_.exchange(mine.subspan(from, size), part));
      for (std::size_t k = 0; k < ranks(); ++k) {
        std::copy_n(part.data() + k * size, size, all.data() + k * mine.size() + from);
      }
    }
    ++counts_.rounds;
    counts_.bytes += size * (ranks() - 1);
  }
}

void Comm::sum(std::span<double> values) {
  if (size() == 1) {
    for (std::size_t k = 0; k < kWishes; ++k) arrived_[k] = std::max(arrived_[k], wishes_[k]);
  } else if (carries_wishes(values.size())) {
    sum_small(values);
  } else {
    sum_large(values);
  }
}

bool Comm::carries_wishes(std::size_t values) const {
  return size() == 1 || values <= std::max(kFew, std::min(kSmall, kSmallOfAll / ranks()));
}

// With the wishes.
void Comm::sum_small(std::span<double> values) {
  std::vector<double> mine(values.begin(), values.end());
  mine.insert(mine.end(), std::begin(wishes_), std::end(wishes_));
  std::vector<double> all(ranks() * mine.size());
  exchange(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  for (std::size_t k = 0; k < mine.size(); ++k) {
    double sum = all[k];
    for (std::size_t r = 1; r < ranks(); ++r) sum += all[r * mine.size() + k];
    mine[k] = sum;
  }
  std::copy_n(mine.begin(), values.size(), values.begin());
  for (std::size_t k = 0; k < kWishes; ++k) {
    arrived_[k] = std::max(arrived_[k], mine[values.size() + k]);
  }
}

// Each rank adds up a piece, in rank order, and hands it out.
void Comm::sum_large(std::span<double> values) {
  std::vector<double> mine, all;
  while (!values.empty()) {
    const std::size_t piece = std::min(kPiece, (values.size() + ranks() - 1) / ranks());
    const std::size_t count = std::min(values.size(), piece * ranks());
    mine.assign(piece * ranks(), 0.0);
    all.resize(piece * ranks());
    std::copy_n(values.begin(), count, mine.begin());
    check(transport_.transpose(mine, all));
    for (std::size_t r = 1; r < ranks(); ++r) {
      for (std::size_t k = 0; k < piece; ++k) all[k] += all[r * piece + k];
    }
    ++counts_.rounds;
    counts_.bytes += sizeof(double) * piece * (ranks() - 1);
    exchange(std::as_bytes(std::span(all).first(piece)), std::as_writable_bytes(std::span(mine)));
    std::copy_n(mine.begin(), count, values.begin());
    values = values.subspan(count);
  }
}

double Comm::sum(double value) {
  sum(std::span(&value, 1));
  return value;
}

std::uint64_t Comm::sum(std::uint64_t value) {
  return static_cast<std::uint64_t>(sum(static_cast<double>(value)));
}

void Comm::sum_sparse(std::span<double> values) {
  const double in_full = 16.0 * static_cast<double>(values.size()) * (size() - 1) / size();
  if (!sum_entries(values, in_full)) sum(values);
}

Comm::Slice Comm::slice(std::size_t size) const {
  const std::size_t piece = (size + ranks() - 1) / ranks(), r = static_cast<std::size_t>(rank());
  return {std::min(size, r * piece), std::min(size, (r + 1) * piece)};
}

void Comm::sum_slice(std::span<double> values) {
  const double in_full = 8.0 * static_cast<double>(values.size()) * (size() - 1) / size();
  if (size() == 1 || values.empty() || sum_entries(values, in_full)) return;
  const std::size_t piece = (values.size() + ranks() - 1) / ranks();
  const Slice own = slice(values.size());
  out_.assign(values.begin(), values.end());
  out_.resize(piece * ranks());
  in_.resize(piece * ranks());
  check(transport_.transpose(out_, in_));
  ++counts_.rounds;
  counts_.bytes += sizeof(double) * piece * (ranks() - 1);
  double* const sum = values.data() + own.begin;
  std::copy_n(in_.data(), own.size(), sum);
  for (std::size_t r = 1; r < ranks(); ++r) {
    const double* const from = in_.data() + r * piece;
    for (std::size_t k = 0; k < own.size(); ++k) sum[k] += from[k];
  }
}

void Comm::share_slices(std::span<double> values, std::span<double> sums) {
  if (size() == 1) return;
  const std::size_t piece = (values.size() + ranks() - 1) / ranks();
  const Slice own = slice(values.size());
  const auto slice = values.subspan(own.begin, own.size());
  out_.assign(sums.begin(), sums.end());
  out_.insert(out_.end(), slice.begin(), slice.end());
  out_.resize(sums.size() + piece);
  in_.resize(out_.size() * ranks());
  exchange(std::as_bytes(std::span(out_)), std::as_writable_bytes(std::span(in_)));
  std::ranges::fill(sums, 0.0);
  for (std::size_t r = 0; r < ranks(); ++r) {
    const double* const from = in_.data() + r * out_.size();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += from[k];
    const std::size_t begin = std::min(values.size(), r * piece);
    std::copy_n(from + sums.size(), std::min(piece, values.size() - begin), values.data() + begin);
  }
}

// The sum, if it takes fewer bytes to send only what is not 0; false if not. Entries go to all
// ranks, padded to the longest list.
bool Comm::sum_entries(std::span<double> values, double bytes_in_full) {
  if (values.size() <= kSmall || size() == 1 || values.size() > UINT32_MAX) return false;
  const auto zeros = static_cast<std::size_t>(std::ranges::count(values, 0.0));
  const double most = max(static_cast<double>(values.size() - zeros));
  if (most * static_cast<double>(kEntryBytes) * (size() - 1) > bytes_in_full) return false;
  const auto length = static_cast<std::size_t>(most);
  std::vector<std::byte> list(length * kEntryBytes), all(ranks() * list.size());
  std::byte* place = list.data();
  const auto put = [&](std::uint32_t column, double value) {
    std::memcpy(place, &column, sizeof column);
    std::memcpy(place + sizeof column, &value, sizeof value);
    place += kEntryBytes;
  };
  std::size_t used = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] == 0) continue;
    put(static_cast<std::uint32_t>(k), values[k]);
    ++used;
  }
  for (; used < length; ++used) put(0, 0.0);  // adds nothing
  if (length > 0) exchange(list, all);
  std::ranges::fill(values, 0.0);
  for (std::size_t k = 0; k < ranks() * length; ++k) {
    std::uint32_t column = 0;
    double value = 0;
    std::memcpy(&column, all.data() + k * kEntryBytes, sizeof column);
    std::memcpy(&value, all.data() + k * kEntryBytes + sizeof column, sizeof value);
    values[column] += value;
  }
  return true;
}

double Comm::max(double value) {
  std::vector<double> all(ranks());
  exchange(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)));
  return *std::ranges::max_element(all);
}

std::vector<std::vector<std::byte>> Comm::gather_all(std::span<const std::byte> mine) {
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(ranks());
  exchange(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::uint64_t most = *std::ranges::max_element(sizes);
  std::vector<std::byte> padded(mine.begin(), mine.end()), all(ranks() * most);
  padded.resize(most);
  if (most > 0) exchange(padded, all);
  std::vector<std::vector<std::byte>> parts;
  for (std::size_t k = 0; k < ranks(); ++k) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(k * most);
    parts.emplace_back(from, from + static_cast<std::ptrdiff_t>(sizes[k]));
  }
  return parts;
}

void Comm::gather(std::span<const std::byte> mine, const Use& use) {
  const auto in_pieces = [](std::uint64_t size, const auto& f) {
    for (std::uint64_t from = 0; from < size; from += kMessage) {
      f(from, std::min<std::uint64_t>(kMessage, size - from));
    }
  };
  std::uint64_t size = mine.size();
  ++counts_.rounds;
  if (!first()) {
    check(transport_.send(0, std::as_bytes(std::span(&size, 1))));
    in_pieces(size, [&](std::uint64_t from, std::uint64_t count) {
      check(transport_.send(0, mine.subspan(from, count)));
    });
    counts_.bytes += size;
    return;
  }
  use(0, mine);
  std::vector<std::byte> bytes;
  for (int k = 1; k < this->size(); ++k) {
    check(transport_.receive(k, std::as_writable_bytes(std::span(&size, 1))));
    bytes.resize(size);
    in_pieces(size, [&](std::uint64_t from, std::uint64_t count) {
      check(transport_.receive(k, std::span(bytes).subspan(from, count)));
    });
    use(k, bytes);
  }
}

void Comm::broadcast(std::vector<std::byte>& bytes) {
  std::uint64_t size = bytes.size();
  ++counts_.rounds;
  if (first()) {
    for (int k = 1; k < this->size(); ++k) {
      check(transport_.send(k, std::as_bytes(std::span(&size, 1))));
      for (std::uint64_t from = 0; from < size; from += kMessage) {
        const std::uint64_t count = std::min<std::uint64_t>(kMessage, size - from);
        check(transport_.send(k, std::span(bytes).subspan(from, count)));
      }
      counts_.bytes += size;
    }
    return;
  }
  check(transport_.receive(0, std::as_writable_bytes(std::span(&size, 1))));
  bytes.resize(size);
  for (std::uint64_t from = 0; from < size; from += kMessage) {
    const std::uint64_t count = std::min<std::uint64_t>(kMessage, size - from);
    check(transport_.receive(0, std::span(bytes).subspan(from, count)));
  }
}

void Comm::relay(const std::function<std::vector<std::byte>(std::span<const std::byte>)>& f) {
  std::vector<std::byte> bytes;
  std::uint64_t size = 0;
  if (rank() > 0) {
    check(transport_.receive(rank() - 1, std::as_writable_bytes(std::span(&size, 1))));
    bytes.resize(size);
    if (size > 0) check(transport_.receive(rank() - 1, bytes));
  }
  bytes = f(bytes);
  size = bytes.size();
  ++counts_.rounds;
  if (rank() + 1 == this->size()) return;
  check(transport_.send(rank() + 1, std::as_bytes(std::span(&size, 1))));
  if (size > 0) check(transport_.send(rank() + 1, bytes));
  counts_.bytes += size;
}

void Comm::agree(const std::string& name, const std::string& value) {
  const std::vector<std::vector<std::byte>> all = gather_all(std::as_bytes(std::span(value)));
  const auto text = [&](std::size_t k) {
    return std::string(reinterpret_cast<const char*>(all[k].data()), all[k].size());
  };
  for (std::size_t k = 1; k < all.size(); ++k) {
    if (all[k] == all[0]) continue;
    broken_ = true;  // everybody knows
    hinge::fail("mpi.inconsistent", fmt::format("{}: {} on rank 0, {} on rank {}", name,
                                                escape(text(0)), escape(text(k)), k));
  }
}

void Comm::together(const std::function<void()>& f) {
  std::optional<Error> error;
  try {
    f();
  } catch (Failure& failure) {
    error = std::move(failure.error);
  } catch (const Interrupted&) {
    error = interrupted_error();
  } catch (const std::bad_alloc&) {
    error = out_of_memory_error();
  }
  const std::vector<std::vector<std::byte>> all =
      gather_all(error ? pack(*error) : std::vector<std::byte>{});
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].empty()) continue;
    broken_ = true;  // everybody knows
    Failure failure{unpack_error(all[k])};
    if (size() > 1) set_rank(failure.error, static_cast<int>(k));
    throw failure;
  }
}

void Comm::fail_with(Error error) {
  fail(error);
  throw Failure{std::move(error)};
}

void Comm::fail(Error& error) noexcept {
  if (broken_ || size() == 1) return;
  broken_ = true;
  set_rank(error, rank());
  try {
    transport_.tell(pack(error));
  } catch (...) {
    transport_.tell({});  // no memory for the words; that a rank gave up must do
  }
}

bool Comm::ask(Wish wish) {
  static_cast<void>(sum(0.0));
  return raised(wish);
}

}  // namespace hinge
