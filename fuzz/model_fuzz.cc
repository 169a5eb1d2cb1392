// The model file: a model that loads predicts finite scores or says why not, and is the same model
// when saved and loaded again. One that was learned online can be resumed, and then as well saved.
#include "container_input.h"
#include "fuzz.h"
#include "hinge/model.h"
#include "hinge/stream.h"

#include <cmath>

namespace hinge::fuzz {
namespace {

Result<Model> load(std::string_view bytes) {
  const MemoryFile file(bytes);
  return load_model(file.path());
}

std::string save(const Model& model) {
  return written([&](const std::string& path) {
    const Result<void> done = save_model(model, path);
    require(done.ok(), "not saved: " + (done.ok() ? "" : to_string(done.error())));
  });
}

// Rows with no, some and more features than small models have.
const Dataset& tiny_rows() {
  static const Dataset data = [] {
    static constexpr std::uint64_t kOffsets[] = {0, 0, 2, 5};
    static constexpr std::uint32_t kColumns[] = {0, 3, 1, 2, 999999};
    static constexpr double kValues[] = {1.5, -1e-300, 1e100, 0.1, 7};
    static constexpr std::int64_t kLabels[] = {1, -1, 1};
    const CsrView<double> view{3, 1000000, kOffsets, kColumns, kValues};
    Result<Dataset> wrapped = Dataset::wrap(view, kLabels, {}, nullptr);
    require(wrapped.ok(), "the rows to be predicted");
    return std::move(wrapped).value();
  }();
  return data;
}

void require_predictions(const Model& model) {
  const Result<Predictions> out = predict(model, tiny_rows(), 1);
  if (!out.ok()) {
    require_error(out.error(), {82});
    return;
  }
  const std::size_t rows = tiny_rows().rows();
  require(out->scores.size() == rows * model.problems.size(), "another number of scores");
  for (const double score : out->scores) require(std::isfinite(score), "a score is not finite");
  for (const std::int64_t label : out->labels) {
    require(std::ranges::find(model.labels, label) != model.labels.end(), "an unknown label");
    require(!prediction_text(model.class_names, label).empty(), "a class without a name");
  }
}

bool same_problem(const BinaryProblem& a, const BinaryProblem& b) {
  const Certificate &p = a.certificate, &q = b.certificate;
  return a.label == b.label && a.bias == b.bias && a.iterations == b.iterations &&
         p.primal == q.primal && p.dual == q.dual && p.relative_gap == q.relative_gap &&
         p.bound == q.bound && a.witness.states == b.witness.states &&
         std::ranges::equal(a.witness.free, b.witness.free, [](double x, double y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

bool same_origin(const Origin& a, const Origin& b) {
  const auto same_weight = [](const ClassWeight& x, const ClassWeight& y) {
    return x.label == y.label && x.factor == y.factor;
  };
  return a.solver == b.solver && a.cost == b.cost && a.gap == b.gap &&
         a.bias_feature == b.bias_feature && a.row_weights == b.row_weights && a.seed == b.seed &&
         a.rows == b.rows && a.nonzeros == b.nonzeros && a.precision == b.precision &&
         a.fingerprint == b.fingerprint && a.status == b.status &&
         std::ranges::equal(a.class_weights, b.class_weights, same_weight);
}

bool same_stream(const StreamState& a, const StreamState& b) {
  return a.lambda == b.lambda && a.t0 == b.t0 && a.rows == b.rows && a.lines == b.lines &&
         a.loss == b.loss && a.errors == b.errors && a.squares == b.squares && a.rest == b.rest &&
         a.index_base == b.index_base && a.sums == b.sums && a.bias_sums == b.bias_sums &&
         a.shared == b.shared;
}

// A stream goes on from it and learns the rows, or says why not.
void require_stream(const Model& model) {
  Result<Stream> stream = Stream::resume(model);
  if (!stream.ok()) {
    require_error(stream.error(), {64, 65, 81});
    return;
  }
  std::vector<StreamPrediction> said;
  const Result<void> learned = stream->learn_batch(tiny_rows(), said);
  if (!learned.ok()) require_error(learned.error(), {64, 65, 81, 82});
  const Result<Model> after = stream->snapshot();
  if (!after.ok()) {
    require_error(after.error(), {81, 82});
    return;
  }
  const Result<Model> again = load(save(*after));
  require(again.ok(), "not loaded after learning: " + (again.ok() ? "" : to_string(again.error())));
  require(same_stream(*again->stream, *after->stream), "another stream after learning");
}

void require_same(const Model& a, const Model& b) {
  require(a.labels == b.labels && a.features == b.features && a.index_base == b.index_base &&
              a.reject == b.reject && a.columns == b.columns && a.kernel == b.kernel &&
              a.support.rows() == b.support.rows() && a.support.nonzeros() == b.support.nonzeros(),
          "another model when saved and loaded again");
  require(a.class_names == b.class_names, "other names of classes when saved and loaded again");
  require(a.sections == b.sections, "other sections when saved and loaded again");
  require(a.weights == b.weights, "other weights when saved and loaded again");
  require(same_origin(a.origin, b.origin), "another origin when saved and loaded again");
  require(std::ranges::equal(a.problems, b.problems, same_problem),
          "other hyperplanes when saved and loaded again");
  require(a.stream.has_value() == b.stream.has_value() &&
              (!a.stream || same_stream(*a.stream, *b.stream)),
          "another stream when saved and loaded again");
}

Result<std::vector<Model>> load_all(std::string_view bytes) {
  const MemoryFile file(bytes);
  return load_models(file.path());
}

// Several models of different costs, in one file.
void require_path(const std::vector<Model>& models) {
  const auto save_all = [](const std::vector<Model>& all) {
    return written([&](const std::string& path) {
      const Result<void> done = save_models(all, path);
      require(done.ok(), "not saved: " + (done.ok() ? "" : to_string(done.error())));
    });
  };
  for (const Model& model : models) {
    require(model.weights.size() == model.problems.size() * model.width(), "weights are missing");
    require_predictions(model);
  }
  const std::string first = save_all(models);
  const Result<std::vector<Model>> again = load_all(first);
  require(again.ok(), "not loaded again: " + (again.ok() ? "" : to_string(again.error())));
  require(again->size() == models.size(), "another number of models");
  for (std::size_t k = 0; k < models.size(); ++k) require_same(models[k], (*again)[k]);
  require(save_all(*again) == first, "other bytes when saved once more");
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const hinge::Result<std::vector<hinge::Model>> models = load_all(bytes);
  if (!models.ok()) {
    require_error(models.error(), {80, 81});
    return 0;
  }
  if (models->size() > 1) {
    require_path(*models);
    return 0;
  }
  const hinge::Model* const model = &models->front();
  require(model->shared() || model->weights.size() == model->problems.size() * model->width(),
          "weights are missing");
  require_predictions(*model);
  const std::string first = save(*model);
  const hinge::Result<hinge::Model> again = load(first);
  require(again.ok(), "not loaded again: " + (again.ok() ? "" : to_string(again.error())));
  require_same(*model, *again);
  if (model->stream) require_stream(*model);
  require(save(*again) == first, "other bytes when saved once more");
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  return hinge::fuzz::mutate_container(data, size, max_size, seed);
}
