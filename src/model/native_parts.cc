// Map: writing (common fields, problems, rows of numbers) -> reading JSON -> reading the same
// again.
#include "model/native_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "data/columns.h"
#include "hinge/version.h"
#include "model/model_file.h"

namespace hinge {

Json options_json(const Model& model, double cost) {
  const Origin& o = model.origin;
  Json weights = Json::list();
  for (const ClassWeight& w : o.class_weights) {
    Json pair = Json::list();
    pair.push_back(w.label);
    pair.push_back(w.factor);
    weights.push_back(std::move(pair));
  }
  Json json = {{"solver", o.solver},
               {"cost", cost},
               {"gap", o.gap},
               {"bias_feature", o.bias_feature},
               {"class_weights", weights},
               {"row_weights", o.row_weights},
               {"seed", o.seed},
               {"reject", model.reject}};
  if (o.gap_absolute > 0) json.add("gap_absolute", o.gap_absolute);
  if (o.gap_per_row > 0) json.add("gap_per_row", o.gap_per_row);
  if (o.target > 0) json.add("target", o.target);
  if (o.free_bias) json.add("free_bias", true);
  if (!o.because.empty()) json.add("because", o.because);
  if (o.lanes > 1) json.add("lanes", o.lanes);
  if (o.update != Update::margin) json.add("update", to_string(o.update));
  return json;
}

Json data_json(const Model& model) {
  const Origin& o = model.origin;
  return {{"rows", o.rows},
          {"features", model.features},
          {"nonzeros", o.nonzeros},
          {"index_base", model.index_base},
          {"precision", o.precision == Precision::f32 ? "f32" : "f64"},
          {"fingerprint", o.fingerprint}};
}

void add_common(Draft& draft, const Model& model) {
  Metadata& metadata = draft.metadata;
  metadata["format"] = kModelFormat;
  metadata["written_by"] = fmt::format("hinge {}", version());
  metadata["status"] = to_string(model.origin.status);
  metadata["labels"] = Json::list_of(model.labels).dump();
  metadata["options"] = options_json(model, model.origin.cost).dump();
  metadata["data"] = data_json(model).dump();
}

namespace {

Json certificate_json(const Model& model) {
  Json list = Json::list();
  for (const BinaryProblem& p : model.problems) {
    list.push_back({{"class", p.label},
                    {"primal", p.certificate.primal},
                    {"dual", p.certificate.dual},
                    {"relative_gap", p.certificate.relative_gap},
                    {"bound", p.certificate.bound},
                    {"iterations", p.iterations}});
  }
  return list;
}

}  // namespace

void add_problems(Draft& draft, const Model& model) {
  std::vector<double> bias;
  for (const BinaryProblem& p : model.problems) bias.push_back(p.bias);
  draft.keep("bias", {model.problems.size()}, std::move(bias));
  add_witnesses(draft, model.problems);
  draft.metadata["certificate"] = certificate_json(model).dump();
}

namespace {

// Which places in the rows of numbers are not 0 in some row (1, else 0). A model that has its own
// list of columns keeps it as it is.
std::vector<std::uint8_t> used_places(const Model& model, std::span<const double> numbers,
                                      std::size_t rows) {
  std::vector<std::uint8_t> used(model.width(), model.columns.empty() ? 0 : 1);
  for (std::size_t k = 0; k < rows && model.columns.empty(); ++k) {
    const double* const row = numbers.data() + k * used.size();
    for (std::size_t j = 0; j < used.size(); ++j) {
      used[j] |= static_cast<std::uint8_t>(std::bit_cast<std::uint64_t>(row[j]) != 0);
    }
  }
  return used;
}

}  // namespace

// Few used columns are kept with their numbers, many as they are: whichever is smaller.
void add_features(Draft& draft, const Model& model, const char* name,
                  std::span<const double> numbers, std::size_t rows) {
  const std::vector<std::uint8_t> used = used_places(model, numbers, rows);
  const std::size_t count = std::accumulate(used.begin(), used.end(), std::size_t{0});
  const bool sparse = count * (8 * rows + 4) < model.features * 8 * rows;
  if (!sparse) return draft.borrow<double>(name, {rows, model.features}, numbers);
  std::vector<std::uint32_t> columns;
  columns.reserve(count);
  for (std::size_t j = 0; j < used.size(); ++j) {
    if (used[j] != 0) columns.push_back(static_cast<std::uint32_t>(j));
  }
  if (count < used.size()) {
    std::vector<double> packed;
    packed.reserve(rows * count);
    for (std::size_t k = 0; k < rows; ++k) {
      const auto row = numbers.subspan(k * model.width(), model.width());
      for (const std::uint32_t j : columns) packed.push_back(row[j]);
    }
    draft.keep(name, {rows, count}, std::move(packed));
  } else {
    draft.borrow<double>(name, {rows, count}, numbers);
  }
  if (!model.columns.empty()) {
    for (std::uint32_t& place : columns) place = model.columns[place];
  }
  draft.keep("columns", {count}, std::move(columns));
}

Json parse_field(const TensorFile& file, const char* key) {
  std::optional<Json> value = Json::parse(file.field(key));
  if (!value) file.reject("header", "a metadata field is not JSON");
  return *std::move(value);
}

void check_finite(const TensorFile& file, std::span<const double> values, std::string_view what) {
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) {
    file.reject("content", fmt::format("{} that are not finite", what));
  }
}

double real(const TensorFile& file, const Json& value) {
  if (value.holds<std::uint64_t>()) return static_cast<double>(value.get<std::uint64_t>());
  if (value.holds<std::int64_t>()) return static_cast<double>(value.get<std::int64_t>());
  if (!value.holds<double>() || !std::isfinite(value.get<double>())) {
    file.reject("header", "a number is not finite");
  }
  return value.get<double>();
}

std::span<const Json> list(const TensorFile& file, const Json& value) {
  if (!value.is_list()) file.reject("header", "a list is missing");
  return value.values();
}

StopReason read_status(const TensorFile& file, const std::string& status) {
  for (const StopReason reason :
       {StopReason::converged, StopReason::limit, StopReason::interrupted}) {
    if (status == to_string(reason)) return reason;
  }
  file.reject("header", "unknown status");
}

std::uint64_t first_extent(const TensorFile& file, std::string_view name) {
  const auto shape = file.shape(name);
  return shape.empty() ? 0 : shape[0];
}

namespace {

Precision read_precision(const TensorFile& file, const std::string& text) {
  if (text != "f32" && text != "f64") file.reject("header", "unknown precision");
  return text == "f32" ? Precision::f32 : Precision::f64;
}

void check_common(const TensorFile& file, const Model& model) {
  std::vector<std::int64_t> sorted = model.labels;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    file.reject("content", "labels and hyperplanes do not fit together");
  }
  if (model.features > 0xffffffffU || (model.index_base != 0 && model.index_base != 1)) {
    file.reject("content", "the number of features or the index base makes no sense");
  }
  const Origin& o = model.origin;
  const double others = std::min({o.gap_absolute, o.gap_per_row, o.target});
  if (!(o.cost > 0) || others < 0 || o.bias_feature < 0 || (o.free_bias && o.bias_feature != 1) ||
      std::ranges::any_of(o.class_weights, [](const ClassWeight& w) { return !(w.factor > 0); })) {
    file.reject("content", "the options make no sense");
  }
}

}  // namespace

Model read_common(const TensorFile& file) {
  Model model;
  const Json labels = parse_field(file, "labels");
  for (const Json& label : list(file, labels)) {
    model.labels.push_back(whole<std::int64_t>(file, label));
  }
  const Json options = parse_field(file, "options");
  Origin& o = model.origin;
  o.status = read_status(file, file.field("status"));
  o.solver = options.at("solver").get<std::string>();
  o.cost = real(file, options.at("cost"));
  o.gap = real(file, options.at("gap"));
  o.bias_feature = real(file, options.at("bias_feature"));
  const std::span<const std::string> names = options.names();
  const auto has = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
  if (has("gap_absolute")) o.gap_absolute = real(file, options.at("gap_absolute"));
  if (has("gap_per_row")) o.gap_per_row = real(file, options.at("gap_per_row"));
  if (has("target")) o.target = real(file, options.at("target"));
  o.free_bias = has("free_bias") && options.at("free_bias").get<bool>();
  if (has("because")) o.because = options.at("because").get<std::string>();
  if (has("lanes")) {
    o.lanes = whole<int>(file, options.at("lanes"));
    if (o.lanes < 1 || o.lanes > kMaxLanes) file.reject("header", "lanes out of range");
  }
  if (has("update")) {
    o.update = Update::mistake;  // the other is not written
    if (options.at("update").get<std::string>() != to_string(o.update)) {
      file.reject("header", "unknown update");
    }
  }
  for (const Json& pair : list(file, options.at("class_weights"))) {
    o.class_weights.push_back({whole<std::int64_t>(file, pair.at(0)), real(file, pair.at(1))});
  }
  o.row_weights = options.at("row_weights").get<bool>();
  o.seed = whole<std::uint64_t>(file, options.at("seed"));
  model.reject = options.at("reject").get<bool>();

  const Json data = parse_field(file, "data");
  o.rows = whole<std::uint64_t>(file, data.at("rows"));
  model.features = whole<std::uint64_t>(file, data.at("features"));
  o.nonzeros = whole<std::uint64_t>(file, data.at("nonzeros"));
  model.index_base = whole<int>(file, data.at("index_base"));
  o.precision = read_precision(file, data.at("precision").get<std::string>());
  o.fingerprint = data.at("fingerprint").get<std::string>();
  check_common(file, model);
  return model;
}

void read_certificates(const TensorFile& file, Model& model, std::size_t models) {
  const Json certificate = parse_field(file, "certificate");
  for (const Json& entry : list(file, certificate)) {
    BinaryProblem p;
    p.label = whole<std::int64_t>(file, entry.at("class"));
    p.certificate.primal = real(file, entry.at("primal"));
    p.certificate.dual = real(file, entry.at("dual"));
    p.certificate.relative_gap = real(file, entry.at("relative_gap"));
    p.certificate.bound = entry.at("bound").get<std::string>();
    p.iterations = whole<std::uint64_t>(file, entry.at("iterations"));
    model.problems.push_back(std::move(p));
  }
  // Models of regression have no labels, and one hyperplane.
  const std::size_t classes = model.labels.size(),
                    problems = classes == 2 || classes == 0 ? 1 : classes;
  if (classes == 1 || model.problems.size() != problems * models) {
    file.reject("content", "labels and hyperplanes do not fit together");
  }
  // A converted model does not know its data, so it cannot know a bound either; and some kernels
  // have none.
  const bool provable = model.origin.rows > 0 && model.kernel.positive_definite();
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    if (model.problems[k].label != (classes == 0 ? 0 : model.labels[k % problems])) {
      file.reject("content", "hyperplanes are not in the order of the labels");
    }
    const Certificate& c = model.problems[k].certificate;
    if (!provable && c.bounded()) {
      file.reject("content", "a bound without rows or a kernel it could follow from");
    }
    if (!c.known() && (c.primal != 0 || c.dual != 0 || c.relative_gap != 1)) {
      file.reject("content", "values that are said to be unknown");
    }
  }
}

void read_biases(const TensorFile& file, Model& model) {
  const std::uint64_t problems = model.problems.size();
  const auto bias = file.get<double>("bias", std::array{problems});
  check_finite(file, bias, "biases");
  for (std::size_t k = 0; k < problems; ++k) model.problems[k].bias = bias[k];
}

// Ascending, within the model.
std::span<const std::uint32_t> read_columns(const TensorFile& file, const Model& model) {
  const std::uint64_t width = first_extent(file, "columns");
  const auto columns = file.get<std::uint32_t>("columns", std::array{width});
  if (std::ranges::adjacent_find(columns, std::greater_equal<>()) != columns.end() ||
      (width > 0 && columns[width - 1] >= model.features)) {
    file.reject("content", "columns that do not ascend or lie outside the model");
  }
  return columns;
}

// `rows` rows of numbers, one a feature. Sets model.columns where these are few among very many.
std::vector<double> read_features(const TensorFile& file, std::string_view name, std::uint64_t rows,
                                  Model& model) {
  if (!file.has("columns")) {
    const auto numbers = file.get<double>(name, std::array{rows, model.features});
    check_finite(file, numbers, "weights");
    return {numbers.begin(), numbers.end()};
  }
  const std::span<const std::uint32_t> columns = read_columns(file, model);
  const std::uint64_t width = columns.size();
  const auto numbers = file.get<double>(name, std::array{rows, width});
  check_finite(file, numbers, "weights");
  // A file of a few bytes may name a feature of any number: a vector of all of them is made only
  // where it is not much larger than what the file holds.
  if (are_sparse(width, model.features, rows)) {
    model.columns.assign(columns.begin(), columns.end());
    if (width > 0) return {numbers.begin(), numbers.end()};
    model.columns = {0};  // no columns would mean all of them
    return std::vector<double>(rows, 0.0);
  }
  std::vector<double> all(rows * model.features, 0.0);
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t j = 0; j < width; ++j) {
      all[k * model.features + columns[j]] = numbers[k * width + j];
    }
  }
  return all;
}

}  // namespace hinge
