// Streams: which hyperplanes there are, the step, and the way to a model and back. The sums lie in
// StreamPlanes, which knows no labels.
#include "hinge/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/buffer.h"
#include "base/error.h"
#include "data/columns.h"
#include "model/stream_model.h"
#include "solve/solver.h"
#include "stream/stream_planes.h"

namespace hinge {
namespace {

// Of c/lambda and of c. Values are below 1.4e154, or the square of a row overflows; so |w_j|, at
// most c |x_j|/lambda, and sums of 2^53 rows are finite, and a model can always be written.
constexpr double kMaxFactor = 1e130;

// One factor a label, those that are not 1, ascending.
std::vector<ClassWeight> merged(std::vector<ClassWeight> weights) {
  std::ranges::stable_sort(weights, {}, &ClassWeight::label);
  std::vector<ClassWeight> out;
  for (const ClassWeight& w : weights) {
    if (!out.empty() && out.back().label == w.label) {
      out.back().factor *= w.factor;
    } else {
      out.push_back(w);
    }
  }
  std::erase_if(out, [](const ClassWeight& w) { return w.factor == 1; });
  return out;
}

// `id` is the error's: options may be the user's or a model's.
void check_options(const StreamOptions& o, const char* id) {
  const auto check = [id](bool good, std::string message) {
    if (!good) fail(id, std::move(message));
  };
  const auto check_factors = [&](const std::vector<ClassWeight>& weights) {
    for (const ClassWeight& w : weights) {
      check(std::isfinite(w.factor) && w.factor > 0, "class weight: expected a factor > 0");
    }
  };
  check(o.lambda > 0 && std::isfinite(o.lambda), "lambda: expected a finite number > 0");
  check(o.bias >= 0 && o.bias <= kMaxBias, "bias: expected a number from 0 to 1e150");
  check(o.t0 < kMaxSteps, "t0: expected a whole number below 2^53");
  // The last step there can be must have a size.
  const double last = o.lambda * (static_cast<double>(o.t0) + static_cast<double>(kMaxSteps));
  check(std::isfinite(last) && 1 / last > 0, "lambda and t0: lambda (t0 + 2^53) is not finite");
  check_factors(o.class_weights);
  const std::vector<ClassWeight> weights = merged(o.class_weights);
  check_factors(weights);  // products overflow and vanish
  double most = 1;
  for (const ClassWeight& w : weights) most = std::max(most, w.factor);
  check(most <= kMaxFactor && most / o.lambda <= kMaxFactor,
        fmt::format("lambda and class weights: expected factor/lambda up to 1e130, got {:g}",
                    most / o.lambda));
  std::vector<std::int64_t> labels = o.labels;
  std::ranges::sort(labels);
  check(labels.size() != 1, "labels: expected at least two");
  check(std::ranges::adjacent_find(labels) == labels.end(), "labels: one occurs twice");
}

// What most have, if most have the same. The model of a stream that knew its labels does not have
// the rest: so begins the one that others are compared with, which changes none of them.
double middle(std::vector<double> sums) {
  const auto at = sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2);
  std::ranges::nth_element(sums, at);
  return *at;
}

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

class Stream::State {
 public:
  explicit State(const StreamOptions& options)
      : options_(options),
        rest_(options.labels.empty() || options.labels.size() > StreamPlanes::kFewPlanes),
        planes_(options.bias, rest_, choose_simd(options.instruction_set)) {
    check_options(options_, "usage.value");
    options_.class_weights = merged(options_.class_weights);
    std::ranges::sort(options_.labels);
    check_classes(options_.labels.size());
    planes_.set_limit(options_.memory);
    add_planes(open() ? 1 : stream_planes(options_.labels.size(), rest_));
    set_classes(options_.labels);
  }

  State(const Model& model, const StreamOptions& options) : State(options_of(model, options)) {
    const StreamState& s = *model.stream;
    std::vector<std::int64_t> labels = model.labels;
    std::ranges::sort(labels);
    const std::size_t planes = stream_planes(labels.size(), s.rest);
    const std::size_t sums = s.shared ? s.shared->common.size() : s.sums.size();
    if (sums != (s.shared ? 1 : planes) * model.width() || s.bias_sums.size() != planes ||
        s.rows == 0 || s.rows > kMaxSteps - s.t0 || labels.empty()) {
      fail("model.stream", "the model is not one a stream has made");
    }
    check_classes(labels.size());
    add_planes(stream_planes(labels.size(), rest_) - planes_.planes());
    set_classes(labels);
    const bool shifted = s.index_base == IndexBase::automatic && model.index_base == 1;
    const std::uint32_t shift = shifted ? 1 : 0;
    std::vector<double> column(planes_.stride());
    for (std::size_t j = 0, entry = 0; j < model.width(); ++j) {
      if (s.shared) {
        std::fill_n(column.begin(), planes_.planes(), s.shared->common[j]);
        for (; entry < s.shared->ends[j]; ++entry) {
          column[plane_of(s.shared->rows[entry])] = s.shared->values[entry];
        }
      } else {
        for (std::size_t k = 0; k < planes; ++k) {
          column[plane_of(k)] = s.sums[k * model.width() + j];
        }
        if (rest_ && !s.rest) {
          column[0] = middle(
              {column.begin() + 1, column.begin() + 1 + static_cast<std::ptrdiff_t>(planes)});
        }
      }
      if (std::ranges::all_of(column, [](double v) { return v == 0; })) continue;
      const std::size_t number = model.columns.empty() ? j : model.columns[j];
      planes_.set(static_cast<std::uint32_t>(number + shift), column.data());
    }
    for (std::size_t k = 0; k < planes; ++k) planes_.set_constant(plane_of(k), s.bias_sums[k]);
    features_ = model.features == 0 ? 0 : model.features + shift;
    zero_ = s.index_base == IndexBase::automatic && model.index_base == 0;
    figures_ = {.rows = s.rows, .lines = s.lines, .errors = s.errors, .loss = s.loss};
    set_scale();
  }

  template <class Value>
  StreamPrediction learn(SparseRow<Value> row, std::int64_t label, double weight) {
    if (steps() >= kMaxSteps) fail("usage.value", "a stream ends after 2^53 rows");
    const double c = weight * factor(label);
    if (!(c <= kMaxFactor && c / options_.lambda <= kMaxFactor)) {
      fail("data.weight", "the weight of the row is too large for this lambda");
    }
    const bool known = find(label) != nullptr;
    if (!known) check_new(label);
    // Everything that may fail comes before anything that is seen.
    if (!known) planes_.reserve(stream_planes(classes_.size() + 1, true));
    fit_scratch();
    std::ranges::fill(factors_, 0.0);  // those of planes to come
    const auto located = planes_.locate(row);
    planes_.scores(located, scores_.data());
    check_finite();
    const StreamPrediction prediction = predicted(scores_.data());
    NewClass added;
    if (!known) added = new_class(label);
    const double loss = judge(known ? classes_ : added.classes, label, c);
    if (!std::isfinite(figures_.loss + loss)) {
      fail("solver.nonfinite", "the sum of the losses is not finite", "scale the data");
    }
    const bool gains = std::ranges::any_of(factors_, [](double a) { return a != 0; });
    if (gains) planes_.prepare(located, factors_.data(), planes_.planes() + added.planes.size());
    set_aside();
    if (!known) add_class(std::move(added));
    if (gains) planes_.add(located, factors_.data());
    if (row.size > 0) {
      features_ = std::max(features_, row.columns[row.size - 1] + std::uint64_t{1});
      zero_ = zero_ || row.columns[0] == 0;
    }
    figures_.loss += loss;
    figures_.errors += prediction.none || prediction.label != label;
    ++figures_.rows;
    set_scale();
    return prediction;
  }

  template <class Value>
  std::vector<StreamPrediction> predict(const CsrView<Value>& m) const {
    std::vector<StreamPrediction> out(m.rows);
    std::vector<double> scores(planes_.stride());
    std::vector<std::uint32_t> places;
    std::vector<Value> values;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      planes_.scores(planes_.find(row_of(m, i), places, values), scores.data());
      out[i] = predicted(scores.data());
    }
    return out;
  }

  Model snapshot() const;
  void save(const std::string& path);
  const StreamFigures& figures() const { return figures_; }
  StreamFigures& figures() { return figures_; }
  std::vector<std::int64_t> labels() const {
    std::vector<std::int64_t> all;
    for (const Class& each : classes_) all.push_back(each.label);
    return all;
  }

 private:
  // The planes: first, if there is one, the rest; then that of two classes, the positive side being
  // the larger label; or one a class, in the order in which they came.
  struct Class {
    std::int64_t label;
    std::size_t plane;  // of three or more
  };

  static StreamOptions options_of(const Model& model, const StreamOptions& options) {
    if (!model.stream) {
      fail("model.stream", "the model was not learned online", "give one that a stream has made");
    }
    const StreamState& s = *model.stream;
    StreamOptions all = options;
    all.lambda = s.lambda;
    all.bias = model.origin.bias_feature;
    all.t0 = s.t0;
    all.class_weights = model.origin.class_weights;
    all.labels = s.rest ? std::vector<std::int64_t>{} : model.labels;
    all.reject = model.reject;
    all.index_base = s.index_base;
    all.precision = model.origin.precision;
    check_options(all, "model.content");
    return all;
  }

  bool open() const { return options_.labels.empty(); }  // labels as they come

  // Of hyperplane k of a model: there the classes ascend, and the rest, if it has it, comes last.
  std::size_t plane_of(std::size_t k) const {
    if (!rest_) return k;
    if (classes_.size() < 3) return k + 1 == classes_.size() ? 0 : k + 1;
    return k == classes_.size() ? 0 : classes_[k].plane;
  }

  // Whatever happens later, what is learned can be saved. The memory is not touched.
  void set_aside() {
    const std::size_t bytes = planes_.saving_bytes();
    if (bytes <= aside_.size()) return;
    aside_ = Buffer<std::byte>();
    aside_.resize(bytes + bytes / 4);
  }

  // Without weights. `whole`: columns are listed only where they are few among very many, as a
  // model in memory wants it; else where this is smaller, as the file wants it.
  Model without_weights(bool whole) const;

  std::uint64_t steps() const { return options_.t0 + figures_.rows; }

  // w = s v; before the first step w is 0, whatever s.
  void set_scale() {
    s_ = steps() == 0 ? 0.0 : 1 / (options_.lambda * static_cast<double>(steps()));
  }

  void add_planes(std::size_t count) {
    planes_.reserve(planes_.planes() + count);
    for (std::size_t k = 0; k < count; ++k) planes_.add_plane();
    fit_scratch();
  }

  void fit_scratch() {
    scores_.resize(planes_.stride());
    factors_.resize(planes_.stride());
  }

  void set_classes(std::span<const std::int64_t> labels) {
    classes_.clear();
    for (const std::int64_t label : labels) {
      classes_.push_back({label, classes_.size() + (rest_ ? 1 : 0)});
    }
  }

  const Class* find(std::int64_t label) const {
    const auto found = std::ranges::lower_bound(classes_, label, {}, &Class::label);
    return found == classes_.end() || found->label != label ? nullptr : &*found;
  }

  double factor(std::int64_t label) const {
    for (const ClassWeight& w : options_.class_weights) {
      if (w.label == label) return w.factor;
    }
    return 1;
  }

  void check_classes(std::size_t count) const {
    if (count <= options_.max_classes) return;
    fail("limit.classes",
         fmt::format("more than {} different labels; at most so many classes are learned",
                     options_.max_classes),
         "are these labels, or numbers to be predicted?");
  }

  void check_new(std::int64_t label) const {
    if (!open()) {
      std::string names;
      for (const Class& each : classes_) {
        if (names.size() < 60) names += fmt::format(" {}", each.label);
      }
      fail("data.label.unknown",
           fmt::format("label {} is none of the {} there are:{}", label, classes_.size(), names));
    }
    check_classes(classes_.size() + 1);
  }

  void check_finite() const {
    for (std::size_t c = 0; c < planes_.planes(); ++c) {
      if (std::isfinite(s_ * scores_[c])) continue;
      fail("solver.nonfinite", "the score of the row is not finite", "scale the data");
    }
  }

  struct NewClass {
    struct Plane {
      double sign;
      std::size_t like;
    };
    std::vector<Class> classes;  // with the new one
    std::vector<Plane> planes;   // to be added
  };

  // A class begins as if it had been there from the start: all rows so far were others. So its
  // plane is the rest's; of the first two classes one plane is the negative of the other. The
  // scores of the present row follow. There is room; the class is there only after add_class().
  NewClass new_class(std::int64_t label) {
    const std::size_t count = classes_.size();  // so far
    NewClass made = {classes_, {}};
    const auto derive = [&](double sign, std::size_t like) {
      const std::size_t plane = planes_.planes() + made.planes.size();
      scores_[plane] = sign * scores_[like];
      made.planes.push_back({sign, like});
      return plane;
    };
    Class added = {label, 0};
    if (count == 1) added.plane = derive(label > classes_[0].label ? 1 : -1, 0);
    if (count == 2) {
      made.classes[1].plane = 1;
      made.classes[0].plane = derive(-1, 1);
    }
    if (count > 1) added.plane = derive(1, 0);
    made.classes.insert(std::ranges::lower_bound(made.classes, label, {}, &Class::label), added);
    return made;
  }

  void add_class(NewClass made) noexcept {
    for (const NewClass::Plane& plane : made.planes) planes_.add_plane(plane.sign, plane.like);
    classes_ = std::move(made.classes);
  }

  StreamPrediction predicted(const double* scores) const {
    StreamPrediction best;
    if (classes_.size() == 1) {
      best = {false, classes_[0].label, s_ * -scores[0]};
    } else if (classes_.size() == 2) {
      const double score = s_ * scores[rest_ ? 1 : 0];
      best = {false, classes_[score > 0 ? 1 : 0].label, score};
    } else if (!classes_.empty()) {
      best.score = -std::numeric_limits<double>::infinity();
      for (const Class& each : classes_) {
        const double score = s_ * scores[each.plane];
        if (score > best.score) best = {false, each.label, score};
      }
      best.none = options_.reject && !(best.score > 0);
    }
    return best;
  }

  // Sets what each plane gains from the row (y <w, x> < 1: c y, else nothing) and returns its loss.
  double judge(std::span<const Class> classes, std::int64_t label, double c) {
    const auto plane_loss = [&](std::size_t plane, double y) {
      const double margin = y * (s_ * scores_[plane]);
      factors_[plane] = margin < 1 ? c * y : 0.0;
      return margin < 1 ? 1 - margin : 0.0;
    };
    const double rest = rest_ ? plane_loss(0, -1) : 0;
    if (classes.size() == 1) return rest;  // the only plane, turned round
    if (classes.size() == 2) {
      return plane_loss(rest_ ? 1 : 0, label == classes[1].label ? 1 : -1);
    }
    double loss = 0;
    for (const Class& each : classes) loss += plane_loss(each.plane, each.label == label ? 1 : -1);
    return loss;
  }

  StreamOptions options_;
  bool rest_;  // there is its plane, for classes to come, or because many are much like it
  StreamPlanes planes_;
  std::vector<Class> classes_;  // known, ascending by label
  StreamFigures figures_;
  std::uint64_t features_ = 0;  // largest column learned + 1
  bool zero_ = false;           // column 0 has occurred
  double s_ = 0;
  std::vector<double> scores_, factors_;  // of the present row, planes_.stride() each
  Buffer<std::byte> aside_;               // what saving takes
};

Model Stream::State::without_weights(bool whole) const {
  if (figures_.rows == 0) fail("data.empty", "no row has been learned yet");
  const std::size_t planes = stream_planes(classes_.size(), open());
  const std::size_t first = open() || !rest_ ? 0 : 1;  // the rest may not belong to the model
  std::vector<std::uint32_t> rows(planes_.planes());   // of the model, by plane
  for (std::size_t k = 0; k < planes; ++k) rows[plane_of(k)] = static_cast<std::uint32_t>(k);

  // Columns all of whose sums are 0 leave no trace: the bytes do not tell when a stream was saved.
  std::vector<StreamPlanes::Column> used = planes_.columns();
  StreamPlanes::OwnSums own;
  std::uint64_t entries = 0;
  if (planes_.planes() > StreamPlanes::kFewPlanes) {
    std::erase_if(used, [&](const StreamPlanes::Column& column) {
      planes_.own_sums(column, first, own);
      entries += own.planes.size();
      return !own.any();
    });
  }
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
  model.origin.precision = options_.precision;
  model.origin.status = StopReason::limit;  // of learning there is no end
  const bool shared = are_shared(planes, used.size(), entries);
  const bool listed =
      shared || (whole ? are_sparse(used.size(), model.features, planes)
                       : used.size() * (8 * planes + 4) < model.features * 8 * planes);
  if (listed) {
    model.columns.reserve(std::max<std::size_t>(1, used.size()));
    for (const auto& column : used) model.columns.push_back(column.number - shift);
    if (used.empty()) model.columns = {0};  // none would mean all
  }
  StreamState& s = model.stream.emplace();
  s = {.lambda = options_.lambda,
       .t0 = options_.t0,
       .rows = figures_.rows,
       .lines = figures_.lines,
       .loss = figures_.loss,
       .errors = figures_.errors,
       .rest = open(),
       .index_base = options_.index_base,
       .sums = {},
       .bias_sums = std::vector<double>(planes),
       .shared = {}};
  for (std::size_t k = 0; k < planes; ++k) s.bias_sums[k] = planes_.constant(plane_of(k));
  if (!shared) {
    s.sums.resize(planes * model.width());
    std::vector<double> column(planes_.planes());
    for (std::size_t j = 0; j < used.size(); ++j) {
      const std::size_t at = listed ? j : used[j].number - shift;
      planes_.all_sums(used[j], column.data());
      for (std::size_t c = first; c < column.size(); ++c) {
        s.sums[rows[c] * model.width() + at] = column[c];
      }
    }
    return model;
  }
  SharedRows& to = s.shared.emplace();
  to.common.reserve(used.size());
  to.ends.reserve(used.size());
  to.rows.reserve(entries);
  to.values.reserve(entries);
  std::vector<std::pair<std::uint32_t, double>> ordered;
  for (const StreamPlanes::Column& column : used) {
    planes_.own_sums(column, first, own);
    ordered.clear();
    for (std::size_t k = 0; k < own.planes.size(); ++k) {
      ordered.emplace_back(rows[own.planes[k]], own.sums[k]);
    }
    std::ranges::sort(ordered);
    to.common.push_back(own.common);
    for (const auto& [row, sum] : ordered) {
      to.rows.push_back(row);
      to.values.push_back(sum);
    }
    to.ends.push_back(to.rows.size());
  }
  return model;
}

Model Stream::State::snapshot() const {
  Model model = without_weights(true);
  if (!derive_weights(model)) fail("solver.nonfinite", "weights are not finite", "scale the data");
  return model;
}

// Weights are finite (kMaxFactor), and the file does not have them.
void Stream::State::save(const std::string& path) {
  aside_ = Buffer<std::byte>();
  take(save_model(without_weights(false), path));
}

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

Result<void> Stream::learn_batch(const Dataset& rows, std::vector<StreamPrediction>& predictions,
                                 const Range& range) {
  return guard([&] {
    if (rows.label_kind() != LabelKind::numbers) {
      fail("data.label.kind", fmt::format("a stream learns labels that are whole numbers, not {}",
                                          to_string(rows.label_kind())));
    }
    rows.visit([&](const auto& m) {
      const std::uint64_t first = std::min(range.first, m.rows);
      const std::uint64_t last = first + std::min(range.count, m.rows - first);
      for (std::uint64_t i = first; i < last; ++i) {
        const double weight = rows.weights().empty() ? 1.0 : rows.weights()[i];
        predictions.emplace_back();  // first: what was learned must be told
        try {
          predictions.back() = state_->learn(row_of(m, i), rows.labels()[i], weight);
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
