// From a stream to a model, and back.
#include <algorithm>
#include <utility>

#include "data/columns.h"
#include "stream/learner.h"

namespace hinge {
namespace {

// What most have, if most have the same. The model of a stream that knew its labels does not have
// the rest: so begins the one that others are compared with, which changes none of them.
double middle(std::vector<double> sums) {
  const auto at = sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2);
  std::ranges::nth_element(sums, at);
  return *at;
}

}  // namespace

struct StreamLearner::Places {
  std::vector<StreamHyperplanes::Column> columns;  // that have sums
  std::vector<std::uint32_t> rows;                 // of the model, by hyperplane
  std::size_t first = 0;      // hyperplane of the model; the rest may not belong to it
  std::uint64_t entries = 0;  // sums that are not like most of their column
  bool listed = false;        // the model lists its columns
  std::uint32_t shift = 0;    // of their numbers
};

Model StreamLearner::without_sums() const {
  const bool automatic = options_.index_base == IndexBase::automatic;
  const std::uint32_t shift = automatic && !zero_ ? 1 : 0;
  Model model;
  model.labels = labels();
  if (model.binary()) std::swap(model.labels[0], model.labels[1]);
  model.features = features_ == 0 ? 0 : features_ - shift;
  model.index_base = automatic ? static_cast<int>(shift) : static_cast<int>(options_.index_base);
  model.reject = options_.reject;
  model.origin.solver = "stream";
  model.origin.bias_feature = options_.bias;
  model.origin.class_weights = options_.class_weights;
  model.origin.update = options_.update;
  model.origin.loss = options_.loss;
  if (regression()) model.origin.epsilon = options_.epsilon;
  model.origin.precision = options_.precision;
  model.origin.status = StopReason::limit;  // of learning there is no end
  model.stream = StreamState{.lambda = options_.lambda,
                             .t0 = options_.t0,
                             .rows = figures_.rows,
                             .lines = figures_.lines,
                             .loss = figures_.loss,
                             .errors = figures_.errors,
                             .squares = figures_.squares,
                             .rest = open(),
                             .index_base = options_.index_base,
                             .sums = {},
                             .bias_sums = {},
                             .shared = {}};
  return model;
}

Model StreamLearner::without_weights(bool in_memory) const {
  if (figures_.rows == 0) fail("data.empty", "no row has been learned yet");
  const std::size_t count = stream_planes(classes_.size(), open());
  Places places = {.columns = hyperplanes_.columns(),
                   .rows = std::vector<std::uint32_t>(hyperplanes_.count()),
                   .first = open() || !rest_ ? 0U : 1U,
                   .shift = options_.index_base == IndexBase::automatic && !zero_ ? 1U : 0U};
  for (std::size_t k = 0; k < count; ++k) {
    places.rows[classes_.hyperplane_of(k)] = static_cast<std::uint32_t>(k);
  }
  // Columns all of whose sums are 0 leave no trace: the bytes do not tell when a stream was saved.
  if (hyperplanes_.count() > StreamHyperplanes::kFewHyperplanes) {
    StreamHyperplanes::OwnSums own;
    std::erase_if(places.columns, [&](const StreamHyperplanes::Column& column) {
      hyperplanes_.own_sums(column, places.first, own);
      places.entries += own.hyperplanes.size();
      return !own.any();
    });
  }
  Model model = without_sums();
  const std::size_t used = places.columns.size();
  const bool shared = are_shared(count, used, places.entries);
  places.listed = shared || (in_memory ? are_sparse(used, model.features, count)
                                       : used * (8 * count + 4) < model.features * 8 * count);
  if (places.listed) {
    model.columns.reserve(std::max<std::size_t>(1, used));
    for (const auto& column : places.columns) {
      model.columns.push_back(column.number - places.shift);
    }
    if (used == 0) model.columns = {0};  // none would mean all
  }
  for (std::size_t k = 0; k < count; ++k) {
    model.stream->bias_sums.push_back(hyperplanes_.constant(classes_.hyperplane_of(k)));
  }
  shared ? put_shared_sums(places, model) : put_sums(places, model);
  return model;
}

void StreamLearner::put_sums(const Places& places, Model& model) const {
  std::vector<double>& sums = model.stream->sums;
  sums.resize(model.stream->bias_sums.size() * model.width());
  std::vector<double> column(hyperplanes_.count());
  for (std::size_t j = 0; j < places.columns.size(); ++j) {
    const std::size_t at = places.listed ? j : places.columns[j].number - places.shift;
    hyperplanes_.all_sums(places.columns[j], column.data());
    for (std::size_t c = places.first; c < column.size(); ++c) {
      sums[places.rows[c] * model.width() + at] = column[c];
    }
  }
}

void StreamLearner::put_shared_sums(const Places& places, Model& model) const {
  SharedRows& to = model.stream->shared.emplace();
  to.common.reserve(places.columns.size());
  to.ends.reserve(places.columns.size());
  to.rows.reserve(places.entries);
  to.values.reserve(places.entries);
  StreamHyperplanes::OwnSums own;
  std::vector<std::pair<std::uint32_t, double>> ordered;
  for (const StreamHyperplanes::Column& column : places.columns) {
    hyperplanes_.own_sums(column, places.first, own);
    ordered.clear();
    for (std::size_t k = 0; k < own.hyperplanes.size(); ++k) {
      ordered.emplace_back(places.rows[own.hyperplanes[k]], own.sums[k]);
    }
    std::ranges::sort(ordered);
    to.common.push_back(own.common);
    for (const auto& [row, sum] : ordered) {
      to.rows.push_back(row);
      to.values.push_back(sum);
    }
    to.ends.push_back(to.rows.size());
  }
}

Model StreamLearner::snapshot() const {
  Model model = without_weights(true);
  if (!derive_weights(model)) fail("solver.nonfinite", "weights are not finite", "scale the data");
  return model;
}

// Weights are finite (kMaxFactor), and the file does not have them.
void StreamLearner::save(const std::string& path) {
  aside_ = Buffer<std::byte>();
  take(save_model(without_weights(false), path));
}

StreamLearner::StreamLearner(const Model& model, const StreamOptions& options)
    : StreamLearner(options_of(model, options)) {
  const StreamState& s = *model.stream;
  std::vector<std::int64_t> labels = model.labels;
  std::ranges::sort(labels);
  const std::size_t count = stream_planes(labels.size(), s.rest);
  const std::size_t sums = s.shared ? s.shared->common.size() : s.sums.size();
  if (sums != (s.shared ? 1 : count) * model.width() || s.bias_sums.size() != count ||
      s.rows == 0 || s.rows > kMaxSteps - s.t0 || labels.empty() != regression()) {
    fail("model.stream", "the model is not one a stream has made");
  }
  check_classes(labels.size());
  add_hyperplanes(stream_planes(labels.size(), rest_) - hyperplanes_.count());
  classes_.set(labels);
  take_sums(model);
  figures_ = {
      .rows = s.rows, .lines = s.lines, .errors = s.errors, .squares = s.squares, .loss = s.loss};
  set_scale();
}

void StreamLearner::take_sums(const Model& model) {
  const StreamState& s = *model.stream;
  const std::size_t count = s.bias_sums.size();
  const bool shifted = s.index_base == IndexBase::automatic && model.index_base == 1;
  const std::uint32_t shift = shifted ? 1 : 0;
  std::vector<double> column(hyperplanes_.stride());
  for (std::size_t j = 0, entry = 0; j < model.width(); ++j) {
    if (s.shared) {
      std::fill_n(column.begin(), hyperplanes_.count(), s.shared->common[j]);
      for (; entry < s.shared->ends[j]; ++entry) {
        column[classes_.hyperplane_of(s.shared->rows[entry])] = s.shared->values[entry];
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        column[classes_.hyperplane_of(k)] = s.sums[k * model.width() + j];
      }
      if (rest_ && !s.rest) {
        column[0] =
            middle({column.begin() + 1, column.begin() + 1 + static_cast<std::ptrdiff_t>(count)});
      }
    }
    if (std::ranges::all_of(column, [](double v) { return v == 0; })) continue;
    const std::size_t number = model.columns.empty() ? j : model.columns[j];
    hyperplanes_.set(static_cast<std::uint32_t>(number + shift), column.data());
  }
  for (std::size_t k = 0; k < count; ++k) {
    hyperplanes_.set_constant(classes_.hyperplane_of(k), s.bias_sums[k]);
  }
  features_ = model.features == 0 ? 0 : model.features + shift;
  zero_ = s.index_base == IndexBase::automatic && model.index_base == 0;
}

}  // namespace hinge
