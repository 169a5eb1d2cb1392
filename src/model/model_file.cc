// The native model format. docs/formats.md describes it; this file is the only one that knows it.
#include "model/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "data/columns.h"
#include "files/tensor_file.h"
#include "hinge/json.h"
#include "hinge/model.h"
#include "hinge/version.h"
#include "model/stream_model.h"

namespace hinge {
namespace {

constexpr int kVersion = 1;
constexpr int kSharedVersion = 2;  // of the model of a stream whose sums are SharedRows

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
  if (o.free_bias) json.add("free_bias", true);
  if (!o.because.empty()) json.add("because", o.because);
  return json;
}

Json kernel_json(const KernelFunction& kernel) {
  return {{"kind", to_string(kernel.kind)},
          {"gamma", kernel.gamma},
          {"degree", kernel.degree},
          {"coef0", kernel.coef0}};
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

constexpr std::string_view kBases[] = {"0", "1", "auto"};  // by IndexBase

Json stream_json(const StreamState& s) {
  return {{"lambda", s.lambda}, {"t0", s.t0},
          {"rows", s.rows},     {"lines", s.lines},
          {"loss", s.loss},     {"errors", s.errors},
          {"rest", s.rest},     {"index_base", kBases[static_cast<std::size_t>(s.index_base)]}};
}

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

// Rows of numbers, one a feature. Few used columns are kept with their numbers, many as they are:
// whichever is smaller.
class FeatureRows {
 public:
  FeatureRows(const Model& model, std::span<const double> numbers, std::size_t rows)
      : numbers_(numbers), rows_(rows), width_(model.features) {
    const std::vector<std::uint8_t> used = used_places(model, numbers, rows);
    const std::size_t count = std::accumulate(used.begin(), used.end(), std::size_t{0});
    sparse_ = count * (8 * rows + 4) < model.features * 8 * rows;
    if (!sparse_) return;
    width_ = count;
    columns_.reserve(count);
    for (std::size_t j = 0; j < used.size(); ++j) {
      if (used[j] != 0) columns_.push_back(static_cast<std::uint32_t>(j));
    }
    if (count < used.size()) {
      packed_.reserve(rows * count);
      for (std::size_t k = 0; k < rows; ++k) {
        const auto row = numbers.subspan(k * model.width(), model.width());
        for (const std::uint32_t j : columns_) packed_.push_back(row[j]);
      }
      numbers_ = packed_;
    }
    if (model.columns.empty()) return;
    for (std::uint32_t& place : columns_) place = model.columns[place];
  }

  void add_to(std::vector<Tensor>& tensors, const char* name) const {
    tensors.push_back(tensor<double>(name, {rows_, width_}, numbers_));
    if (sparse_) tensors.push_back(tensor<std::uint32_t>("columns", {width_}, columns_));
  }

 private:
  std::span<const double> numbers_;
  std::size_t rows_;
  std::uint64_t width_;
  bool sparse_ = false;
  std::vector<std::uint32_t> columns_;
  std::vector<double> packed_;
};

// What every file says besides its tensors.
Metadata common_metadata(const Model& model) {
  Metadata metadata;
  metadata["format"] = kModelFormat;
  metadata["version"] = std::to_string(model.shared() ? kSharedVersion : kVersion);
  metadata["written_by"] = fmt::format("hinge {}", version());
  metadata["status"] = to_string(model.origin.status);
  metadata["labels"] = Json::list_of(model.labels).dump();
  metadata["options"] = options_json(model, model.origin.cost).dump();
  metadata["data"] = data_json(model).dump();
  return metadata;
}

// Where the parts of a file go: their arrays do not outlive the call.
using Sink = std::function<void(std::vector<Tensor>, Metadata)>;

Sink to_file(const std::string& path) {
  return [path](std::vector<Tensor> tensors, Metadata metadata) {
    write_tensor_file(path, std::move(tensors), std::move(metadata));
  };
}

// Sums instead of weights, biases and certificate, which follow from them.
void write_stream(const Model& model, const Sink& sink) {
  const StreamState& stream = *model.stream;
  std::vector<Tensor> tensors;
  tensors.push_back(tensor<double>("stream.bias", {stream.bias_sums.size()}, stream.bias_sums));
  std::optional<FeatureRows> sums;
  if (stream.shared) {
    add_shared(*stream.shared, tensors);
    tensors.push_back(tensor<std::uint32_t>("columns", {model.columns.size()}, model.columns));
  } else {
    sums.emplace(model, stream.sums, stream.bias_sums.size());
    sums->add_to(tensors, "stream.sums");
  }
  Metadata metadata = common_metadata(model);
  metadata["stream"] = stream_json(stream).dump();
  sink(std::move(tensors), std::move(metadata));
}

// The support rows and their coefficients, in place of weights.
std::vector<Tensor> support_tensors(const Model& model) {
  std::vector<Tensor> tensors;
  tensors.push_back(
      tensor<double>("weights", {model.problems.size(), model.width()}, model.weights));
  model.support.visit([&]<class Value>(const CsrView<Value>& m) {
    tensors.push_back(
        tensor<std::uint64_t>("support.offsets", {m.rows + 1}, std::span(m.offsets, m.rows + 1)));
    const std::uint64_t columns = m.full ? m.features : m.nonzeros();
    tensors.push_back(
        tensor<std::uint32_t>("support.columns", {columns}, std::span(m.columns, columns)));
    tensors.push_back(
        tensor<Value>("support.values", {m.nonzeros()}, std::span(m.values, m.nonzeros())));
  });
  return tensors;
}

// `costs`: of several models that share the file, what each has of its own.
void write(const Model& model, const Sink& sink, const Json* costs) {
  const std::size_t problems = model.problems.size();
  std::vector<double> bias, free_values;
  std::vector<std::uint64_t> free_counts;
  std::vector<std::uint8_t> states;
  bool witness = true;
  for (const BinaryProblem& p : model.problems) {
    bias.push_back(p.bias);
    witness = witness && !p.witness.empty();
    free_counts.push_back(p.witness.free.size());
    free_values.insert(free_values.end(), p.witness.free.begin(), p.witness.free.end());
    states.insert(states.end(), p.witness.states.begin(), p.witness.states.end());
  }
  std::vector<Tensor> tensors;
  std::optional<FeatureRows> weights;
  if (model.kernel.linear()) {
    weights.emplace(model, model.weights, problems);
    weights->add_to(tensors, "weights");
  } else {
    tensors = support_tensors(model);
  }
  tensors.push_back(tensor<double>("bias", {problems}, bias));
  if (witness) {
    tensors.push_back(tensor<std::uint64_t>("witness.free_counts", {problems}, free_counts));
    tensors.push_back(tensor<double>("witness.free", {free_values.size()}, free_values));
    tensors.push_back(
        tensor<std::uint8_t>("witness.states", {problems, states.size() / problems}, states));
  }
  Metadata metadata = common_metadata(model);
  metadata["certificate"] = certificate_json(model).dump();
  if (!model.kernel.linear()) metadata["kernel"] = kernel_json(model.kernel).dump();
  if (costs != nullptr) metadata["path"] = costs->dump();
  sink(std::move(tensors), std::move(metadata));
}

void check_finite(const TensorFile& file, std::span<const double> values, std::string_view what) {
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) {
    file.reject("content", fmt::format("{} that are not finite", what));
  }
}

// JSON numbers are taken only as what they must be: 1.5 is not rounded, -1 not wrapped.
template <class Integer>
Integer whole(const TensorFile& file, const Json& value) {
  if (value.holds<std::uint64_t>() && std::in_range<Integer>(value.get<std::uint64_t>())) {
    return static_cast<Integer>(value.get<std::uint64_t>());
  }
  if (!value.holds<std::int64_t>() || !std::in_range<Integer>(value.get<std::int64_t>())) {
    file.reject("header", "a number is not a whole number of the right size");
  }
  return static_cast<Integer>(value.get<std::int64_t>());
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

Precision read_precision(const TensorFile& file, const std::string& text) {
  if (text != "f32" && text != "f64") file.reject("header", "unknown precision");
  return text == "f32" ? Precision::f32 : Precision::f64;
}

KernelFunction kernel_from(const TensorFile& file, const Json& json) {
  KernelFunction kernel;
  const std::string& kind = json.at("kind").get<std::string>();
  for (const KernelKind one : {KernelKind::rbf, KernelKind::poly, KernelKind::sigmoid}) {
    if (kind == to_string(one)) kernel.kind = one;
  }
  if (kernel.linear()) file.reject("header", "unknown kernel");
  kernel.gamma = real(file, json.at("gamma"));
  kernel.degree = whole<int>(file, json.at("degree"));
  kernel.coef0 = real(file, json.at("coef0"));
  if (!(kernel.gamma > 0) || kernel.degree < 1) {
    file.reject("content", "the kernel makes no sense");
  }
  return kernel;
}

void read_stream_metadata(const TensorFile& file, const Json& json, StreamState& stream) {
  stream.lambda = real(file, json.at("lambda"));
  stream.t0 = whole<std::uint64_t>(file, json.at("t0"));
  stream.rows = whole<std::uint64_t>(file, json.at("rows"));
  stream.lines = whole<std::uint64_t>(file, json.at("lines"));
  stream.loss = real(file, json.at("loss"));
  stream.errors = whole<std::uint64_t>(file, json.at("errors"));
  stream.rest = json.at("rest").get<bool>();
  const auto base = std::ranges::find(kBases, json.at("index_base").get<std::string>());
  if (base == std::end(kBases)) file.reject("header", "unknown index base");
  stream.index_base = static_cast<IndexBase>(base - kBases);
}

void read_metadata(const TensorFile& file, Model& model) {
  const auto parse = [&](const char* key) {
    std::optional<Json> value = Json::parse(file.field(key));
    if (!value) file.reject("header", "a metadata field is not JSON");
    return *std::move(value);
  };
  const Json labels = parse("labels");
  for (const Json& label : list(file, labels)) {
    model.labels.push_back(whole<std::int64_t>(file, label));
  }
  const Json options = parse("options");
  Origin& o = model.origin;
  o.status = read_status(file, file.field("status"));
  o.solver = options.at("solver").get<std::string>();
  o.cost = real(file, options.at("cost"));
  o.gap = real(file, options.at("gap"));
  o.bias_feature = real(file, options.at("bias_feature"));
  const std::span<const std::string> names = options.names();
  const auto has = [&](const char* name) { return std::ranges::find(names, name) != names.end(); };
  o.free_bias = has("free_bias") && options.at("free_bias").get<bool>();
  if (has("because")) o.because = options.at("because").get<std::string>();
  for (const Json& pair : list(file, options.at("class_weights"))) {
    o.class_weights.push_back({whole<std::int64_t>(file, pair.at(0)), real(file, pair.at(1))});
  }
  o.row_weights = options.at("row_weights").get<bool>();
  o.seed = whole<std::uint64_t>(file, options.at("seed"));
  model.reject = options.at("reject").get<bool>();

  const Json data = parse("data");
  o.rows = whole<std::uint64_t>(file, data.at("rows"));
  model.features = whole<std::uint64_t>(file, data.at("features"));
  o.nonzeros = whole<std::uint64_t>(file, data.at("nonzeros"));
  model.index_base = whole<int>(file, data.at("index_base"));
  o.precision = read_precision(file, data.at("precision").get<std::string>());
  o.fingerprint = data.at("fingerprint").get<std::string>();

  if (file.has_field("stream")) {
    if (file.has_field("kernel")) file.reject("header", "a stream with a kernel");
    read_stream_metadata(file, parse("stream"), model.stream.emplace());
    return;  // everything else follows from its sums
  }
  if (file.has_field("kernel")) model.kernel = kernel_from(file, parse("kernel"));
  const Json certificate = parse("certificate");
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
}

// The models of a file differ in these, and in their problems.
struct PathEntry {
  double cost;
  StopReason status;
};

std::vector<PathEntry> read_path(const TensorFile& file, const Origin& first) {
  if (!file.has_field("path")) return {{first.cost, first.status}};
  const std::optional<Json> json = Json::parse(file.field("path"));
  if (!json) file.reject("header", "a metadata field is not JSON");
  std::vector<PathEntry> path;
  for (const Json& entry : list(file, *json)) {
    path.push_back(
        {real(file, entry.at("cost")), read_status(file, entry.at("status").get<std::string>())});
  }
  if (path.size() < 2 || path[0].cost != first.cost || path[0].status != first.status ||
      std::ranges::adjacent_find(path, std::greater_equal<>(), &PathEntry::cost) != path.end()) {
    file.reject("content", "the costs of the models make no sense");
  }
  return path;
}

// `models` of them, one after the other.
void check_sense(const TensorFile& file, const Model& model, std::size_t models) {
  const std::size_t classes = model.labels.size();
  std::vector<std::int64_t> sorted = model.labels;
  std::ranges::sort(sorted);
  const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  const std::size_t problems = classes == 2 ? 1 : classes;
  if (classes < (model.stream ? 1 : 2) || !distinct ||
      (!model.stream && model.problems.size() != problems * models)) {
    file.reject("content", "labels and hyperplanes do not fit together");
  }
  for (std::size_t k = 0; k < model.problems.size(); ++k) {
    if (model.problems[k].label != model.labels[k % problems]) {
      file.reject("content", "hyperplanes are not in the order of the labels");
    }
  }
  if (model.features > 0xffffffffU || (model.index_base != 0 && model.index_base != 1)) {
    file.reject("content", "the number of features or the index base makes no sense");
  }
  const Origin& o = model.origin;
  if (!(o.cost > 0) || o.bias_feature < 0 || (o.free_bias && o.bias_feature != 1) ||
      (o.free_bias && (model.stream || !model.kernel.linear())) ||
      std::ranges::any_of(o.class_weights, [](const ClassWeight& w) { return !(w.factor > 0); })) {
    file.reject("content", "the options make no sense");
  }
  // A converted model does not know its data, so it cannot know a bound either; and some kernels
  // have none.
  if ((o.rows == 0 || !model.kernel.positive_definite()) &&
      std::ranges::any_of(model.problems,
                          [](const BinaryProblem& p) { return p.certificate.bounded(); })) {
    file.reject("content", "a bound without rows or a kernel it could follow from");
  }
  for (const BinaryProblem& p : model.problems) {
    const Certificate& c = p.certificate;
    if (!c.known() && (c.primal != 0 || c.dual != 0 || c.relative_gap != 1)) {
      file.reject("content", "values that are said to be unknown");
    }
  }
}

std::uint64_t length(const TensorFile& file, std::string_view name) {
  const auto shape = file.shape(name);
  return shape.empty() ? 0 : shape[0];
}

template <class Value>
Dataset read_support(const TensorFile& file, std::uint64_t features) {
  struct Arrays {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> columns;
    std::vector<Value> values;
    std::vector<std::int64_t> labels;  // a data set has some
  };
  const std::uint64_t ends = length(file, "support.offsets");
  const std::uint64_t nonzeros = length(file, "support.values");
  const bool full = length(file, "support.columns") != nonzeros;  // the columns are there once
  const auto offsets = file.get<std::uint64_t>("support.offsets", std::array{ends});
  const auto columns =
      file.get<std::uint32_t>("support.columns", std::array{full ? features : nonzeros});
  const auto values = file.get<Value>("support.values", std::array{nonzeros});
  if (ends == 0 || offsets.back() != nonzeros) {
    file.reject("content", "support rows do not have the nonzeros they should have");
  }
  auto arrays = std::make_shared<Arrays>();
  arrays->offsets.assign(offsets.begin(), offsets.end());
  arrays->columns.assign(columns.begin(), columns.end());
  arrays->values.assign(values.begin(), values.end());
  arrays->labels.resize(ends - 1);
  const CsrView<Value> view = {
      ends - 1, features, arrays->offsets.data(), arrays->columns.data(), arrays->values.data(),
      full};
  Result<Dataset> support = Dataset::wrap(view, arrays->labels, {}, arrays);
  if (!support.ok()) file.reject("content", "support rows: " + support.error().message);
  return *std::move(support);
}

void read_kernel(const TensorFile& file, Model& model) {
  model.support = file.dtype("support.values") == DType::f32
                      ? read_support<float>(file, model.features)
                      : read_support<double>(file, model.features);
  const auto weights = file.get<double>(
      "weights", std::array<std::uint64_t, 2>{model.problems.size(), model.width()});
  check_finite(file, weights, "coefficients");
  model.weights.assign(weights.begin(), weights.end());
}

// Ascending, within the model.
std::span<const std::uint32_t> read_columns(const TensorFile& file, const Model& model) {
  const std::uint64_t width = length(file, "columns");
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

void read_weights(const TensorFile& file, Model& model) {
  const std::uint64_t problems = model.problems.size();
  const auto bias = file.get<double>("bias", std::array{problems});
  check_finite(file, bias, "biases");
  for (std::size_t k = 0; k < problems; ++k) model.problems[k].bias = bias[k];
  if (model.kernel.linear()) {
    model.weights = read_features(file, "weights", problems, model);
  } else {
    read_kernel(file, model);
  }
}

void read_stream(const TensorFile& file, Model& model) {
  check_stream(file, model);
  StreamState& stream = *model.stream;
  const std::uint64_t planes = stream_planes(model.labels.size(), stream.rest);
  const auto bias = file.get<double>("stream.bias", std::array{planes});
  check_finite(file, bias, "biases");
  stream.bias_sums.assign(bias.begin(), bias.end());
  if (file.field("version") == std::to_string(kSharedVersion)) {
    const std::span<const std::uint32_t> columns = read_columns(file, model);
    if (columns.empty()) file.reject("content", "shared sums without columns");
    model.columns.assign(columns.begin(), columns.end());
    stream.shared = read_shared(file, planes, columns.size());
  } else {
    stream.sums = read_features(file, "stream.sums", planes, model);
  }
  if (!derive_weights(model)) file.reject("content", "weights that are not finite");
}

void read_witness(const TensorFile& file, Model& model) {
  if (!file.has("witness.states")) return;
  const std::uint64_t problems = model.problems.size();
  const std::uint64_t rows = model.origin.rows, width = rows / 4 + (rows % 4 != 0 ? 1 : 0);
  const auto states = file.get<std::uint8_t>("witness.states", std::array{problems, width});
  const auto counts = file.get<std::uint64_t>("witness.free_counts", std::array{problems});
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) {
    if (__builtin_add_overflow(total, count, &total)) file.reject("content", "counts overflow");
  }
  const auto values = file.get<double>("witness.free", std::array{total});
  check_finite(file, values, "dual variables");
  if (model.origin.rows == 0) file.reject("content", "a witness without rows");
  std::size_t next = 0;
  for (std::size_t k = 0; k < problems; ++k) {
    Witness& witness = model.problems[k].witness;
    const auto part = states.subspan(k * width, width);
    witness.states.assign(part.begin(), part.end());
    const auto free = values.subspan(next, counts[k]);
    witness.free.assign(free.begin(), free.end());
    next += counts[k];
  }
}

// Takes the models of one file apart.
std::vector<Model> unstack(Model all, std::span<const PathEntry> path) {
  std::vector<Model> models(path.size());
  if (path.size() == 1) {
    models[0] = std::move(all);
    return models;
  }
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

void write_native(const Model& model, const std::string& path) {
  model.stream ? write_stream(model, to_file(path)) : write(model, to_file(path), nullptr);
}

std::string native_bytes(const Model& model) {
  std::string bytes;
  const Sink sink = [&](std::vector<Tensor> tensors, Metadata metadata) {
    bytes = tensor_file_bytes(std::move(tensors), std::move(metadata));
  };
  model.stream ? write_stream(model, sink) : write(model, sink, nullptr);
  return bytes;
}

// Several models are written like one with the hyperplanes of all.
void write_native(std::span<const Model> models, const std::string& path) {
  if (models.size() == 1) return write_native(models[0], path);
  // What they must have in common.
  const auto common = [&](const Model& model) {
    return Json::list_of(model.labels).dump() + options_json(model, models[0].origin.cost).dump() +
           data_json(model).dump();
  };
  Model all = models[0];
  Json costs = Json::list();
  for (std::size_t k = 0; k < models.size(); ++k) {
    const Model& model = models[k];
    costs.push_back({{"cost", model.origin.cost}, {"status", to_string(model.origin.status)}});
    if (k == 0) continue;
    if (!model.kernel.linear() || model.stream || common(model) != common(models[0]) ||
        model.columns != all.columns || model.problems.size() != models[0].problems.size() ||
        !(model.origin.cost > models[k - 1].origin.cost)) {
      fail("model.format", "one file holds models that differ in their costs, which ascend, only");
    }
    all.problems.insert(all.problems.end(), model.problems.begin(), model.problems.end());
    all.weights.insert(all.weights.end(), model.weights.begin(), model.weights.end());
  }
  write(all, to_file(path), &costs);
}

std::vector<Model> read_native(const TensorFile& file) {
  if (file.field("format") != kModelFormat) file.reject("magic", "this is not a hinge model");
  const bool shared = file.field("version") == std::to_string(kSharedVersion);
  if (!shared && file.field("version") != std::to_string(kVersion)) {
    file.reject("version",
                fmt::format("written by {} in format {}; this hinge reads formats {} and {}",
                            escape(file.field("written_by")), escape(file.field("version")),
                            kVersion, kSharedVersion));
  }
  if (shared) {
    static_cast<void>(file.field("stream"));  // no other model is written so
    file.allow_only({"stream.bias", "columns", "stream.common", "stream.own.ends",
                     "stream.own.planes", "stream.own.sums"});
  } else if (file.has_field("stream")) {
    file.allow_only({"stream.bias", "stream.sums", "columns"});
  } else if (file.has_field("kernel")) {
    file.allow_only({"bias", "weights", "support.offsets", "support.columns", "support.values",
                     "witness.states", "witness.free", "witness.free_counts"});
  } else {
    file.allow_only(
        {"bias", "weights", "columns", "witness.states", "witness.free", "witness.free_counts"});
  }
  Model model;
  std::vector<PathEntry> path;
  try {
    read_metadata(file, model);
    path = read_path(file, model.origin);
  } catch (const std::out_of_range&) {
    file.reject("header", "a metadata field is not what it should be");
  }
  if (path.size() > 1 && (model.stream || !model.kernel.linear())) {
    file.reject("header", "several models of a stream or with a kernel");
  }
  check_sense(file, model, path.size());
  if (model.stream) {
    read_stream(file, model);
  } else {
    read_weights(file, model);
    read_witness(file, model);
  }
  return unstack(std::move(model), path);
}

}  // namespace hinge
