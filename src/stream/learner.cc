#include "stream/learner.h"

#include <fmt/core.h>

#include <limits>

#include "solve/solver.h"

namespace hinge {

StreamLearner::StreamLearner(const StreamOptions& options)
    : options_(options),
      rest_(open() || options.labels.size() > StreamHyperplanes::kFewHyperplanes),
      hyperplanes_(options.bias, rest_, choose_simd(options.instruction_set)),
      classes_(rest_) {
  check_options(options_, "usage.value");
  options_.class_weights = merged(options_.class_weights);
  std::ranges::sort(options_.labels);
  check_classes(options_.labels.size());
  hyperplanes_.set_limit(options_.memory);
  add_hyperplanes(open() ? 1 : stream_planes(options_.labels.size(), rest_));
  classes_.set(options_.labels);
}

double StreamLearner::factor(std::int64_t label) const {
  for (const ClassWeight& w : options_.class_weights) {
    if (w.label == label) return w.factor;
  }
  return 1;
}

void StreamLearner::check_classes(std::size_t count) const {
  if (count <= options_.max_classes) return;
  fail("limit.classes",
       fmt::format("more than {} different labels; at most so many classes are learned",
                   options_.max_classes),
       "are these labels, or numbers to be predicted?");
}

void StreamLearner::check_new(std::int64_t label) const {
  if (!open()) {
    std::string names;
    for (const StreamClass& each : classes_.all()) {
      if (names.size() < 60) names += fmt::format(" {}", each.label);
    }
    fail("data.label.unknown",
         fmt::format("label {} is none of the {} there are:{}", label, classes_.size(), names));
  }
  check_classes(classes_.size() + 1);
}

double StreamLearner::checked_factor(double c) const {
  if (steps() >= kMaxSteps) fail("usage.value", "a stream ends after 2^53 rows");
  if (!(c <= kMaxFactor && c / options_.lambda <= kMaxFactor)) {
    fail("data.weight", "the weight of the row is too large for this lambda");
  }
  return c;
}

void StreamLearner::check_sums(double loss, double square) const {
  if (std::isfinite(figures_.loss + loss) && std::isfinite(figures_.squares + square)) return;
  fail("solver.nonfinite", "the sum of the losses is not finite", "scale the data");
}

void StreamLearner::check_finite() const {
  for (std::size_t c = 0; c < hyperplanes_.count(); ++c) {
    if (std::isfinite(s_ * scores_[c])) continue;
    fail("solver.nonfinite", "the score of the row is not finite", "scale the data");
  }
}

void StreamLearner::add_hyperplanes(std::size_t count) {
  hyperplanes_.reserve(hyperplanes_.count() + count);
  for (std::size_t k = 0; k < count; ++k) hyperplanes_.add_hyperplane();
  fit_scratch();
}

void StreamLearner::fit_scratch() {
  scores_.resize(hyperplanes_.stride());
  factors_.resize(hyperplanes_.stride());
}

void StreamLearner::set_aside() {
  const std::size_t bytes = hyperplanes_.saving_bytes();
  if (bytes <= aside_.size()) return;
  aside_ = Buffer<std::byte>();
  aside_.resize(bytes + bytes / 4);
}

StreamClasses::Addition StreamLearner::addition_of(std::int64_t label) {
  StreamClasses::Addition added = classes_.addition_of(label, hyperplanes_.count());
  for (std::size_t k = 0; k < added.hyperplanes.size(); ++k) {
    const auto& [sign, like] = added.hyperplanes[k];
    scores_[added.before + k] = sign * scores_[like];
  }
  return added;
}

void StreamLearner::add(StreamClasses::Addition added) noexcept {
  for (const auto& [sign, like] : added.hyperplanes) hyperplanes_.add_hyperplane(sign, like);
  classes_.add(std::move(added));
}

StreamPrediction StreamLearner::predicted(const double* scores) const {
  const std::span<const StreamClass> classes = classes_.all();
  StreamPrediction best;
  if (regression()) {
    best = {false, 0, s_ * scores[0]};
  } else if (classes.size() == 1) {
    best = {false, classes[0].label, s_ * -scores[0]};
  } else if (classes.size() == 2) {
    const double score = s_ * scores[classes_.only_hyperplane()];
    best = {false, classes[score > 0 ? 1 : 0].label, score};
  } else if (!classes.empty()) {
    best.score = -std::numeric_limits<double>::infinity();
    for (const StreamClass& each : classes) {
      const double score = s_ * scores[each.hyperplane];
      if (score > best.score) best = {false, each.label, score};
    }
    best.none = options_.reject && !(best.score > 0);
  }
  return best;
}

}  // namespace hinge
