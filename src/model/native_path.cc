// The schema of several linear models that differ in their costs: written like one model with the
// hyperplanes of all, model by model, and what each has of its own.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "model/native_parts.h"

namespace hinge {
namespace {

// The models of a file differ in these, and in their problems.
struct PathEntry {
  double cost;
  StopReason status;
};

std::vector<PathEntry> read_entries(const TensorFile& file, const Origin& first) {
  const Json json = parse_field(file, "path");
  std::vector<PathEntry> path;
  for (const Json& entry : list(file, json)) {
    path.push_back(
        {real(file, entry.at("cost")), read_status(file, entry.at("status").get<std::string>())});
  }
  if (path.size() < 2 || path[0].cost != first.cost || path[0].status != first.status ||
      std::ranges::adjacent_find(path, std::greater_equal<>(), &PathEntry::cost) != path.end()) {
    file.reject("content", "the costs of the models make no sense");
  }
  return path;
}

// Takes the models of one file apart.
std::vector<Model> unstack(Model all, std::span<const PathEntry> path) {
  std::vector<Model> models(path.size());
  const std::vector<BinaryProblem> problems = std::exchange(all.problems, {});
  const std::vector<double> weights = std::exchange(all.weights, {});
  const auto part = [&]<class T>(const std::vector<T>& whole, std::size_t k) {
    const auto size = static_cast<std::ptrdiff_t>(whole.size() / path.size());
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(k) * size;
    return std::vector<T>(from, from + size);
  };
  for (std::size_t k = 0; k < path.size(); ++k) {
    models[k] = all;
    models[k].origin.cost = path[k].cost;
    models[k].origin.status = path[k].status;
    models[k].problems = part(problems, k);
    models[k].weights = part(weights, k);
  }
  return models;
}

}  // namespace

void write_path(Draft& draft, std::span<const Model> models) {
  // What they must have in common.
  const auto common = [&](const Model& model) {
    return Json::list_of(model.labels).dump() + options_json(model, models[0].origin.cost).dump() +
           data_json(model).dump();
  };
  const auto stacked = std::make_shared<Model>(models[0]);
  Model& all = *stacked;
  Json costs = Json::list();
  for (std::size_t k = 0; k < models.size(); ++k) {
    const Model& model = models[k];
    costs.push_back({{"cost", model.origin.cost}, {"status", to_string(model.origin.status)}});
    if (k == 0) continue;
    if (!model.kernel.linear() || !all.kernel.linear() || model.stream ||
        common(model) != common(models[0]) || model.class_names != all.class_names ||
        model.sections != all.sections || model.columns != all.columns ||
        model.problems.size() != models[0].problems.size() ||
        model.origin.loss != all.origin.loss || model.origin.epsilon != all.origin.epsilon ||
        !(model.origin.cost > models[k - 1].origin.cost)) {
      fail("model.format", "one file holds models that differ in their costs, which ascend, only");
    }
    all.problems.insert(all.problems.end(), model.problems.begin(), model.problems.end());
    all.weights.insert(all.weights.end(), model.weights.begin(), model.weights.end());
  }
  draft.hold(stacked);
  write_linear(draft, all);
  draft.metadata["path"] = costs.dump();
}

std::vector<Model> read_path(const TensorFile& file) {
  Model all = read_common(file);
  const std::vector<PathEntry> path = read_entries(file, all.origin);
  read_certificates(file, all, path.size());
  read_biases(file, all);
  all.weights = read_features(file, "weights", all.problems.size(), all);
  read_witness(file, all);
  return unstack(std::move(all), path);
}

}  // namespace hinge
