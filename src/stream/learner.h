// What a stream has learned: its classes, a sum for each hyperplane, and figures. One row is one
// step (hinge/stream.h); w = s v, v the sums of StreamHyperplanes, which know no labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "hinge/model.h"
#include "hinge/stream.h"
#include "model/stream_model.h"
#include "objective/loss.h"
#include "simd/simd.h"
#include "solve/update.h"
#include "stream/classes.h"
#include "stream/hyperplanes.h"
#include "stream/stream_options.h"

namespace hinge {

class StreamLearner {
 public:
  explicit StreamLearner(const StreamOptions& options);
  // Goes on where the model ended (snapshot.cc).
  StreamLearner(const Model& model, const StreamOptions& options);

  // Predicts the row, judges the prediction, learns the row. Throws Failure, and has changed
  // nothing then but its memory.
  template <class Value>
  StreamPrediction learn(SparseRow<Value> row, std::int64_t label, double weight) {
    if (regression()) return learn_target(row, static_cast<double>(label), weight);
    const double c = checked_factor(weight * factor(label));
    const bool known = classes_.has(label);
    if (!known) check_new(label);
    // Everything that may fail comes before anything that is seen.
    if (!known) hyperplanes_.reserve(stream_planes(classes_.size() + 1, true));
    fit_scratch();
    std::ranges::fill(factors_, 0.0);  // those of hyperplanes to come
    const auto located = hyperplanes_.locate(row);
    hyperplanes_.scores(located, scores_.data());
    check_finite();
    const StreamPrediction prediction = predicted(scores_.data());
    StreamClasses::Addition added;
    if (!known) added = addition_of(label);
    const double loss = visit_loss(choice(), [&](const auto& one) {
      return measure(one, known ? classes_.all() : added.classes, label, c, row);
    });
    check_sums(loss, 0);
    const bool gains = std::ranges::any_of(factors_, [](double a) { return a != 0; });
    if (gains) {
      hyperplanes_.prepare(located, factors_.data(),
                           hyperplanes_.count() + added.hyperplanes.size());
    }
    set_aside();
    if (!known) add(std::move(added));
    if (gains) hyperplanes_.add(located, factors_.data());
    figures_.errors += prediction.none || prediction.label != label;
    end_step(row, loss);
    return prediction;
  }

  // The same in regression.
  template <class Value>
  StreamPrediction learn_target(SparseRow<Value> row, double target, double weight) {
    const double c = checked_factor(weight);
    const auto located = hyperplanes_.locate(row);
    hyperplanes_.scores(located, scores_.data());
    check_finite();
    const StreamPrediction prediction = predicted(scores_.data());
    const double missed = prediction.score - target, square = missed * missed;
    const double loss = visit_loss(choice(), [&]<class Loss>(const Loss& loss_here) {
      if constexpr (Loss::kRegression) {
        const double keep = 1 - 1 / static_cast<double>(steps() + 1);
        factors_[0] = c * learned_share(loss_here, options_.update,
                                        {.margin = missed,
                                         .shrunk = keep * prediction.score - target,
                                         .rise = rise_of(row, c)});
      }
      return loss_here.value(missed);
    });
    check_sums(loss, square);
    if (factors_[0] != 0) hyperplanes_.prepare(located, factors_.data(), 1);
    set_aside();
    if (factors_[0] != 0) hyperplanes_.add(located, factors_.data());
    figures_.squares += square;
    end_step(row, loss);
    return prediction;
  }

  template <class Value>
  std::vector<StreamPrediction> predict(const CsrView<Value>& m) const {
    std::vector<StreamPrediction> out(m.rows);
    std::vector<double> scores(hyperplanes_.stride());
    std::vector<std::uint32_t> places;
    std::vector<Value> values;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      hyperplanes_.scores(hyperplanes_.find(row_of(m, i), places, values), scores.data());
      out[i] = predicted(scores.data());
    }
    return out;
  }

  // The model as of now; and saved, in memory that was set aside before (snapshot.cc).
  Model snapshot() const;
  void save(const std::string& path);

  const StreamFigures& figures() const { return figures_; }
  StreamFigures& figures() { return figures_; }
  std::vector<std::int64_t> labels() const { return classes_.labels(); }
  bool regression() const { return is_regression(options_.loss); }

 private:
  // Of a model without its sums: where they go.
  struct Places;

  bool open() const { return options_.labels.empty() && !regression(); }  // labels as they come
  LossChoice choice() const { return {options_.loss, options_.epsilon}; }
  std::uint64_t steps() const { return options_.t0 + figures_.rows; }
  double factor(std::int64_t label) const;
  // c, if there may be a step with it.
  double checked_factor(double c) const;
  void check_sums(double loss, double square) const;
  void check_classes(std::size_t count) const;
  void check_new(std::int64_t label) const;
  void check_finite() const;

  // w = s v; before the first step w is 0, whatever s.
  void set_scale() {
    s_ = steps() == 0 ? 0.0 : 1 / (options_.lambda * static_cast<double>(steps()));
  }
  void add_hyperplanes(std::size_t count);
  void fit_scratch();
  // Whatever happens later, what is learned can be saved. The memory is not touched.
  void set_aside();

  // The scores of the present row follow. There is room; the class is there only after add().
  StreamClasses::Addition addition_of(std::int64_t label);
  void add(StreamClasses::Addition added) noexcept;

  StreamPrediction predicted(const double* scores) const;

  // What every step ends with.
  template <class Value>
  void end_step(SparseRow<Value> row, double loss) {
    if (row.size > 0) {
      features_ = std::max(features_, row.columns[row.size - 1] + std::uint64_t{1});
      zero_ = zero_ || row.columns[0] == 0;
    }
    figures_.loss += loss;
    ++figures_.rows;
    set_scale();
  }

  // By how much the margin of the row rises with the share that the next step learns.
  template <class Value>
  double rise_of(SparseRow<Value> row, double c) const {
    const double square = square_of(row) + options_.bias * options_.bias;
    return c * square / (options_.lambda * static_cast<double>(steps() + 1));
  }

  // Sets what each hyperplane gains from the row (a c y, a the share it learns) and returns its
  // loss.
  template <class Loss, class Value>
  double measure(const Loss& loss_here, std::span<const StreamClass> classes, std::int64_t label,
                 double c, SparseRow<Value> row) {
    RowOfStep step;
    if constexpr (!kLearnsByHits<Loss>) step.rise = rise_of(row, c);
    const auto loss_of = [&](std::size_t hyperplane, double y) {
      step.margin = y * (s_ * scores_[hyperplane]);
      if constexpr (kLearnsByHits<Loss>) {
        const bool hit = step.margin < learns_below<Loss>(options_.update);
        factors_[hyperplane] = hit ? c * y : 0.0;
      } else {
        step.shrunk = (1 - 1 / static_cast<double>(steps() + 1)) * step.margin;
        const double share = learned_share(loss_here, options_.update, step);
        factors_[hyperplane] = share != 0 ? share * c * y : 0.0;
      }
      return loss_here.value(step.margin);
    };
    const double rest = rest_ ? loss_of(0, -1) : 0;
    if (classes.size() == 1) return rest;  // the only hyperplane, turned round
    if (classes.size() == 2) {
      return loss_of(classes_.only_hyperplane(), label == classes[1].label ? 1 : -1);
    }
    double loss = 0;
    for (const StreamClass& each : classes) {
      loss += loss_of(each.hyperplane, each.label == label ? 1 : -1);
    }
    return loss;
  }

  // `in_memory`: columns are listed only where they are few among very many, as a model in memory
  // wants it; else where this is smaller, as the file wants it.
  Model without_weights(bool in_memory) const;
  Model without_sums() const;
  void put_sums(const Places& places, Model& model) const;
  void put_shared_sums(const Places& places, Model& model) const;
  void take_sums(const Model& model);

  StreamOptions options_;
  bool rest_;  // there is its hyperplane, for classes to come, or because many are much like it
  StreamHyperplanes hyperplanes_;
  StreamClasses classes_;
  StreamFigures figures_;
  std::uint64_t features_ = 0;  // largest column learned + 1
  bool zero_ = false;           // column 0 has occurred
  double s_ = 0;
  std::vector<double> scores_, factors_;  // of the present row, hyperplanes_.stride() each
  Buffer<std::byte> aside_;               // what saving takes
};

}  // namespace hinge
