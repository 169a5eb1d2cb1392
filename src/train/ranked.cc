#include "train/ranked.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/archive.h"
#include "base/error.h"
#include "data/columns.h"
#include "data/survey.h"
#include "files/checksum.h"
#include "hinge/version.h"

namespace hinge {
namespace {

// How a joined state begins: no solver's does.
constexpr std::uint64_t kJoined = 0x736b6e617220002a;

struct JoinedState {
  std::uint64_t mark = kJoined;
  PartState all;

  void archive(Archive& archive) {
    archive(mark);
    archive.require(mark == kJoined);
    archive(all);
  }
};

// What there is to say of labels that are no whole numbers; of these nothing. By the same label all
// ranks must mean the same class.
std::string other_labels(const Labels& labels) {
  if (labels.kind() == LabelKind::numbers) return "";
  Checksum sum;
  for (const std::string& name : labels.names().list()) {
    sum.add(std::as_bytes(std::span(name.c_str(), name.size() + 1)));  // with the zero at its end
  }
  return fmt::format(", and labels that are {} ({})", to_string(labels.kind()),
                     to_hex(sum.value()));
}

}  // namespace

Result<void> agree(Transport& transport, const Result<void>& mine) {
  return guard([&] {
    Comm comm(transport);
    comm.together([&] { take(mine); });
  });
}

void agree_on(const TrainOptions& options, const Dataset& data, Comm& comm) {
  comm.agree("version", std::string(version()));
  std::string asked;
  for (const auto& [name, value] : describe(options)) asked += fmt::format("--{} {} ", name, value);
  // What describe() leaves out, since it does not change a result, but when ranks would end.
  asked += fmt::format("--time-limit {} --max-passes {} --witness {}", options.time_limit,
                       options.max_passes, options.witness);
  comm.agree("options", asked);
  comm.agree("index base", std::to_string(data.index_base()));
  comm.agree("precision", data.precision() == Precision::f32 ? "f32" : "f64");
  comm.agree("features", std::to_string(data.features()) + other_labels(data.row_labels()));
}

std::vector<std::uint32_t> occurring_columns(const Dataset& data, Pool& pool, Comm& comm) {
  const std::vector<std::uint32_t> mine = occurring_columns(data, pool);
  std::vector<std::uint32_t> all;
  comm.gather(std::as_bytes(std::span(mine)), [&](int, std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> part(bytes.size() / sizeof(std::uint32_t)), joined;
    if (!bytes.empty()) std::memcpy(part.data(), bytes.data(), bytes.size());
    std::ranges::set_union(all, part, std::back_inserter(joined));
    all = std::move(joined);
  });
  const auto bytes = std::as_bytes(std::span(all));
  std::vector<std::byte> shared(bytes.begin(), bytes.end());
  comm.broadcast(shared);
  all.resize(shared.size() / sizeof(std::uint32_t));
  if (!shared.empty()) std::memcpy(all.data(), shared.data(), shared.size());
  return all;
}

bool RankSink::wanted() {
  if (first_ != nullptr && first_->wanted()) comm_.raise(Wish::checkpoint);
  return comm_.raised(Wish::checkpoint);
}

void RankSink::keep(std::vector<std::byte> state, const Progress& last) {
  comm_.lower(Wish::checkpoint);
  JoinedState joined;
  bool complete = true;
  comm_.gather(state, [&](int rank, std::span<const std::byte> bytes) {
    complete = complete && !bytes.empty();
    if (!complete) return;
    PartState part;
    restore(part, bytes);
    if (rank == 0) joined.all.w = std::move(part.w);
    joined.all.alpha.insert(joined.all.alpha.end(), part.alpha.begin(), part.alpha.end());
  });
  if (first_ == nullptr) return;
  if (complete) {
    first_->keep(state_of(joined), last);
  } else {
    first_->lost();
  }
}

void RankSink::lost() {
  keep({}, {});
}

bool is_joined(std::span<const std::byte> state) {
  std::uint64_t mark = 0;
  if (state.size() < sizeof mark) return false;
  std::memcpy(&mark, state.data(), sizeof mark);
  return mark == kJoined;
}

Start part_of(std::span<const std::byte> state, const Problem& problem, const GlobalShape& shape) {
  JoinedState joined;
  restore(joined, state);
  const std::uint64_t rows = problem.y.size();
  std::vector<double>& alpha = joined.all.alpha;
  if (joined.all.w.size() != problem.dimension() || alpha.size() != shape.rows ||
      shape.first_row + rows > shape.rows) {
    fail("checkpoint.content", "a state in the checkpoint is about other data");
  }
  Start start = {std::move(joined.all.w), {}};
  for (std::uint64_t i = 0; i < rows; ++i) {
    start.alpha.push_back(
        std::clamp(alpha[shape.first_row + i], problem.lowest(i), problem.highest(i)));
  }
  return start;
}

Witness join_witness(const Witness& mine, std::uint64_t rows, Comm& comm) {
  struct {
    std::uint64_t rows = 0;
    Witness witness;
    void archive(Archive& archive) {
      archive(rows, witness.states, witness.free, witness.bits, witness.exponent, witness.packed);
    }
  } part{rows, mine};
  Witness all;
  std::uint64_t filled = 0;  // rows
  comm.gather(state_of(part), [&](int, std::span<const std::byte> bytes) {
    restore(part, bytes);
    all.states.resize((filled + part.rows + 3) / 4);
    for (std::uint64_t i = 0; i < part.rows; ++i) {  // two bits a row
      const unsigned state = unsigned{part.witness.states[i / 4]} >> 2 * (i % 4) & 3U;
      std::uint8_t& into = all.states[(filled + i) / 4];
      into = static_cast<std::uint8_t>(into | state << 2 * ((filled + i) % 4));
    }
    filled += part.rows;
    all.bits = part.witness.bits;  // of all ranks
    all.exponent = part.witness.exponent;
    all.packed.insert(all.packed.end(), part.witness.packed.begin(), part.witness.packed.end());
    all.free.insert(all.free.end(), part.witness.free.begin(), part.witness.free.end());
  });
  return all;
}

}  // namespace hinge
