// The schema of a model learned online: the sums its stream goes on from. Weights, biases and
// certificate follow from them, so none of it is stored.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "model/native_parts.h"
#include "model/stream_model.h"

namespace hinge {
namespace {

constexpr std::string_view kBases[] = {"0", "1", "auto"};  // by IndexBase

Json stream_json(const StreamState& s, bool regression) {
  Json json = {
      {"lambda", s.lambda}, {"t0", s.t0},
      {"rows", s.rows},     {"lines", s.lines},
      {"loss", s.loss},     {"errors", s.errors},
      {"rest", s.rest},     {"index_base", kBases[static_cast<std::size_t>(s.index_base)]}};
  if (regression) json.add("squares", s.squares);
  return json;
}

void read_stream_metadata(const TensorFile& file, const Json& json, bool regression,
                          StreamState& stream) {
  if (regression) stream.squares = real(file, json.at("squares"));
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

// What only the model of a stream can get wrong, its arrays aside.
void check_stream(const TensorFile& file, const Model& model) {
  const StreamState& s = *model.stream;
  const Origin& o = model.origin;
  const bool regression = model.labels.empty();
  if (o.free_bias) file.reject("content", "the options make no sense");
  const bool ordered =
      model.binary() ? model.labels[0] > model.labels[1] : std::ranges::is_sorted(model.labels);
  const bool known = regression ? !s.rest
                     : s.rest   ? s.rows >= model.labels.size()
                                : model.labels.size() > 1;
  const double step = 1 / (s.lambda * (static_cast<double>(s.t0) + static_cast<double>(s.rows)));
  if (!ordered || !known || s.rows == 0 || s.t0 >= kMaxSteps || s.rows > kMaxSteps - s.t0 ||
      !(s.lambda > 0) || !(step > 0 && std::isfinite(step)) || !(s.loss >= 0) ||
      !(s.squares >= 0) || s.errors > (regression ? 0 : s.rows) || o.solver != "stream" ||
      o.rows != 0) {
    file.reject("content", "the state of the stream makes no sense");
  }
  // Columns of `auto` that counts from 1 are kept one lower than their numbers.
  const int base = static_cast<int>(s.index_base);
  if (s.index_base == IndexBase::automatic ? model.index_base == 1 && model.features == 0xffffffffU
                                           : model.index_base != base) {
    file.reject("content", "the index base of the stream makes no sense");
  }
}

constexpr const char* kCommon = "stream.common";
constexpr const char* kEnds = "stream.own.ends";
constexpr const char* kPlanes = "stream.own.planes";
constexpr const char* kSums = "stream.own.sums";

SharedRows read_shared(const TensorFile& file, std::uint64_t planes, std::uint64_t width) {
  const auto shape = file.shape(kPlanes);
  const std::uint64_t count = shape.empty() ? 0 : shape[0];
  const auto common = file.get<double>(kCommon, std::array{width});
  const auto ends = file.get<std::uint64_t>(kEnds, std::array{width});
  const auto rows = file.get<std::uint32_t>(kPlanes, std::array{count});
  const auto values = file.get<double>(kSums, std::array{count});
  check_finite(file, common, "sums");
  check_finite(file, values, "sums");
  if (!std::ranges::is_sorted(ends) || (width == 0 ? 0 : ends.back()) != count) {
    file.reject("content", "sums do not belong to columns");
  }
  std::uint64_t k = 0;
  for (const std::uint64_t end : ends) {
    for (const std::uint64_t first = k; k < end; ++k) {
      if (rows[k] < planes && (k == first || rows[k] > rows[k - 1])) continue;
      file.reject("content", "hyperplanes of a column that do not ascend or are not there");
    }
  }
  return {{common.begin(), common.end()},
          {ends.begin(), ends.end()},
          {rows.begin(), rows.end()},
          {values.begin(), values.end()}};
}

}  // namespace

void write_stream(Draft& draft, const Model& model) {
  const StreamState& stream = *model.stream;
  add_common(draft, model);
  draft.borrow<double>("stream.bias", {stream.bias_sums.size()}, stream.bias_sums);
  if (stream.shared) {
    const SharedRows& shared = *stream.shared;
    draft.borrow<double>(kCommon, {shared.common.size()}, shared.common);
    draft.borrow<std::uint64_t>(kEnds, {shared.ends.size()}, shared.ends);
    draft.borrow<std::uint32_t>(kPlanes, {shared.rows.size()}, shared.rows);
    draft.borrow<double>(kSums, {shared.values.size()}, shared.values);
    draft.borrow<std::uint32_t>("columns", {model.columns.size()}, model.columns);
  } else {
    add_features(draft, model, "stream.sums", stream.sums, stream.bias_sums.size());
  }
  draft.metadata["stream"] = stream_json(stream, model.labels.empty()).dump();
}

Model read_stream(const TensorFile& file) {
  Model model = read_common(file);
  read_stream_metadata(file, parse_field(file, "stream"), model.labels.empty(),
                       model.stream.emplace());
  check_stream(file, model);
  StreamState& stream = *model.stream;
  const std::uint64_t planes = stream_planes(model.labels.size(), stream.rest);
  const auto bias = file.get<double>("stream.bias", std::array{planes});
  check_finite(file, bias, "biases");
  stream.bias_sums.assign(bias.begin(), bias.end());
  if (file.has(kCommon)) {
    const std::span<const std::uint32_t> columns = read_columns(file, model);
    if (columns.empty()) file.reject("content", "shared sums without columns");
    model.columns.assign(columns.begin(), columns.end());
    stream.shared = read_shared(file, planes, columns.size());
  } else {
    stream.sums = read_features(file, "stream.sums", planes, model);
  }
  if (!derive_weights(model)) file.reject("content", "weights that are not finite");
  return model;
}

}  // namespace hinge
