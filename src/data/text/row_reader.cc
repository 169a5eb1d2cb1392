// RowReader of hinge/stream.h: the parsers of data sets, one chunk at a time, on what there is.
#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/dataset_builder.h"
#include "data/text/text_chunks.h"
#include "hinge/stream.h"

namespace hinge {

class RowReader::State {
 public:
  State(const std::string& source, const ReadOptions& options, std::uint64_t skip_lines)
      : paths_{source}, options_(options), skip_(skip_lines), wanted_(skip_lines) {
    options_.progress = {};
    rules_.labels = options.labels;
    rules_.real_labels = options.labels && options.real_labels;
    rules_.strict = options.strict;
    rules_.base = options.index_base == IndexBase::one ? 1 : 0;
    rules_.base_is_fixed = options.index_base != IndexBase::automatic;
    feeder_.emplace(paths_, options_, Feeder::Pace::prompt);
  }

  bool next(RowBlock& block) {
    block = {};
    return options_.precision == Precision::f32 ? next(block, f32_) : next(block, f64_);
  }

  std::uint64_t lines() const { return lines_; }
  const Oddities& oddities() const { return oddities_; }

 private:
  template <class Value>
  struct Rows {
    RowBatch<Value> batch;
    std::vector<std::uint64_t> offsets;
    std::vector<double> targets;
  };

  template <class Value>
  bool next(RowBlock& block, std::shared_ptr<Rows<Value>>& rows) {
    // Whoever keeps the rows handed out last keeps their memory.
    if (rows.use_count() != 1) rows = std::make_shared<Rows<Value>>();
    while (true) {
      if (failure_) throw Failure{*std::exchange(failure_, std::nullopt)};
      if (over_) return false;
      if (!feeder_->next(chunk_)) {
        over_ = true;
        check_skipped();
        return false;
      }
      if (skip_ > 0 && !skip()) continue;
      rows->batch.keep_lines = true;
      parse_chunk(chunk_, rules_, options_, options_.on_bad_row ? SIZE_MAX : 1, rows->batch);
      take_errors(rows->batch.errors);
      oddities_.merge(rows->batch, name(), lines_);
      if (!rows->batch.labels.empty()) hand_out(block, rows);
      lines_ += rows->batch.lines;
      if (block.rows.rows() > 0) return true;
    }
  }

  template <class Value>
  void hand_out(RowBlock& block, const std::shared_ptr<Rows<Value>>& rows) const {
    RowBatch<Value>& batch = rows->batch;
    rows->offsets.assign(1, 0);
    rows->offsets.insert(rows->offsets.end(), batch.ends.begin(), batch.ends.end());
    const std::uint64_t features = batch.nonzeros == 0 ? 0 : batch.max_index + std::uint64_t{1};
    const CsrView<Value> view = {batch.labels.size(), features - (features > 0 ? rules_.base : 0),
                                 rows->offsets.data(), batch.columns.data(), batch.values.data()};
    Labels labels(batch.labels);
    if (rules_.real_labels) {
      rows->targets.clear();
      for (const std::int64_t bits : batch.labels) {
        rows->targets.push_back(std::bit_cast<double>(bits));
      }
      labels = Labels(rows->targets);
    }
    block.rows = DatasetBuilder::wrap(view, labels, {}, static_cast<int>(rules_.base), rows);
    for (const std::uint64_t line : batch.row_lines) block.lines.push_back(lines_ + line);
  }

  // Bad rows are told to whoever wants to hear of them, or end the reading after the rows before.
  void take_errors(std::vector<Error>& errors) {
    for (Error& error : errors) {
      error.file = name();
      error.line += lines_;
      if (options_.on_bad_row && error.id != kLineLimit) {
        options_.on_bad_row(error);
      } else {
        failure_ = std::move(error);
        over_ = true;
      }
    }
  }

  // Drops lines at the beginning of the chunk; false if nothing is left of it.
  bool skip() {
    char* const text = chunk_.text.data();
    const char* const end = text + chunk_.size;
    const char* p = text;
    for (; skip_ > 0 && p < end; --skip_, ++lines_) {
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
    }
    const auto dropped = static_cast<std::size_t>(p - text);
    chunk_.size -= dropped;
    chunk_.offset += dropped;
    std::memmove(text, p, chunk_.size + kTextPadding - 1);
    return chunk_.size > 0;
  }

  void check_skipped() const {
    if (skip_ == 0) return;
    fail_file("data.lines", name(),
              fmt::format("{} lines, {} of which shall be passed over", lines_, wanted_),
              "give the input from its first line on");
  }

  std::string name() const { return paths_[0] == "-" ? "<stdin>" : paths_[0]; }

  std::vector<std::string> paths_;
  ReadOptions options_;
  RowRules rules_;
  std::optional<Feeder> feeder_;
  Chunk chunk_;
  std::shared_ptr<Rows<float>> f32_;
  std::shared_ptr<Rows<double>> f64_;
  Oddities oddities_;
  std::uint64_t lines_ = 0;
  std::uint64_t skip_, wanted_;  // lines still to be passed over; of how many
  std::optional<Error> failure_;
  bool over_ = false;
};

RowReader::RowReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowReader::~RowReader() = default;
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;

Result<RowReader> RowReader::open(const std::string& source, const ReadOptions& options,
                                  std::uint64_t skip_lines) {
  return guard([&] { return RowReader(std::make_unique<State>(source, options, skip_lines)); });
}

Result<bool> RowReader::next(RowBlock& block) {
  return guard([&] { return state_->next(block); });
}

std::uint64_t RowReader::lines() const {
  return state_->lines();
}

std::vector<Error> RowReader::warnings() const {
  std::vector<Error> all;
  state_->oddities().warn(all);
  return all;
}

}  // namespace hinge
