// The public face of streams; what they do is in learner.cc and snapshot.cc.
#include "hinge/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "stream/learner.h"

namespace hinge {
namespace {

template <class Value>
void check_row(std::span<const std::uint32_t> columns, std::span<const Value> values) {
  if (columns.size() != values.size()) fail("data.matrix", "as many columns as values expected");
  double squares = 0;
  for (const Value value : values) squares += value * value;
  if (std::ranges::adjacent_find(columns, std::greater_equal<>()) != columns.end() ||
      (!columns.empty() && columns.back() == UINT32_MAX) || !std::isfinite(squares)) {
    fail("data.matrix", "columns do not ascend, or values are not finite");
  }
}

}  // namespace

class Stream::State final : public StreamLearner {
 public:
  using StreamLearner::StreamLearner;
};

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

Result<Stream> Stream::create(const StreamOptions& options) {
  return guard([&] { return Stream(std::make_unique<State>(options)); });
}

Result<Stream> Stream::resume(const Model& model, const StreamOptions& options) {
  return guard([&] { return Stream(std::make_unique<State>(model, options)); });
}

Result<StreamPrediction> Stream::learn_one(std::span<const std::uint32_t> columns,
                                           std::span<const double> values, std::int64_t label) {
  return guard([&] {
    check_row(columns, values);
    return state_->learn(SparseRow<double>{columns.data(), values.data(), columns.size()}, label,
                         1.0);
  });
}

Result<StreamPrediction> Stream::learn_target(std::span<const std::uint32_t> columns,
                                              std::span<const double> values, double target) {
  return guard([&] {
    if (!state_->regression()) {
      fail("usage.value", "learn_target: a stream of classes learns labels");
    }
    check_row(columns, values);
    if (!std::isfinite(target)) {
      fail("data.label.nonfinite", fmt::format("the target of the row is {}", target));
    }
    return state_->learn_target(SparseRow<double>{columns.data(), values.data(), columns.size()},
                                target, 1.0);
  });
}

Result<void> Stream::learn_batch(const Dataset& rows, std::vector<StreamPrediction>& predictions,
                                 const Range& range) {
  return guard([&] {
    const bool real = rows.label_kind() == LabelKind::targets;
    if (rows.label_kind() == LabelKind::names || (real && !state_->regression())) {
      fail("data.label.kind",
           fmt::format("a stream{} learns labels that are whole numbers, not {}",
                       state_->regression() ? "" : " of classes", to_string(rows.label_kind())));
    }
    rows.visit([&](const auto& m) {
      const std::uint64_t first = std::min(range.first, m.rows);
      const std::uint64_t last = first + std::min(range.count, m.rows - first);
      for (std::uint64_t i = first; i < last; ++i) {
        const double weight = rows.weights().empty() ? 1.0 : rows.weights()[i];
        predictions.emplace_back();  // first: what was learned must be told
        try {
          predictions.back() =
              real ? state_->learn_target(row_of(m, i), rows.row_labels().targets()[i], weight)
                   : state_->learn(row_of(m, i), rows.labels()[i], weight);
        } catch (...) {
          predictions.pop_back();
          throw;
        }
        if (range.stop != nullptr && range.stop->load(std::memory_order_relaxed)) return;
      }
    });
  });
}

Result<std::vector<StreamPrediction>> Stream::predict(const Dataset& rows) const {
  return guard([&] { return rows.visit([&](const auto& m) { return state_->predict(m); }); });
}

Result<Model> Stream::snapshot() const {
  return guard([&] { return state_->snapshot(); });
}

Result<void> Stream::save(const std::string& path) {
  return guard([&] { state_->save(path); });
}

StreamFigures Stream::figures() const {
  return state_->figures();
}

std::vector<std::int64_t> Stream::labels() const {
  return state_->labels();
}

void Stream::set_lines(std::uint64_t lines) {
  state_->figures().lines = lines;
}

}  // namespace hinge
