// The schema of a linear model: a weight a feature and hyperplane, or a weight a used column.
#include "model/native_parts.h"

namespace hinge {

void write_linear(Draft& draft, const Model& model) {
  add_common(draft, model);
  add_features(draft, model, "weights", model.weights, model.problems.size());
  add_problems(draft, model);
}

Model read_linear(const TensorFile& file) {
  Model model = read_common(file);
  read_certificates(file, model);
  read_biases(file, model);
  model.weights = read_features(file, "weights", model.problems.size(), model);
  read_witness(file, model);
  return model;
}

}  // namespace hinge
