// The schema of a model with a kernel: its support rows and their coefficients.
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/native_parts.h"

namespace hinge {
namespace {

Json kernel_json(const KernelFunction& kernel) {
  return {{"kind", to_string(kernel.kind)},
          {"gamma", kernel.gamma},
          {"degree", kernel.degree},
          {"coef0", kernel.coef0}};
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

template <class Value>
Dataset read_support(const TensorFile& file, std::uint64_t features) {
  struct Arrays {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> columns;
    std::vector<Value> values;
    std::vector<std::int64_t> labels;  // a data set has some
  };
  const std::uint64_t ends = first_extent(file, "support.offsets");
  const std::uint64_t nonzeros = first_extent(file, "support.values");
  const bool full =
      first_extent(file, "support.columns") != nonzeros;  // the columns are there once
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

}  // namespace

void write_kernel(Draft& draft, const Model& model) {
  add_common(draft, model);
  draft.borrow<double>("weights", {model.problems.size(), model.width()}, model.weights);
  model.support.visit([&]<class Value>(const CsrView<Value>& m) {
    draft.borrow("support.offsets", {m.rows + 1}, std::span(m.offsets, m.rows + 1));
    const std::uint64_t columns = m.full ? m.features : m.nonzeros();
    draft.borrow("support.columns", {columns}, std::span(m.columns, columns));
    draft.borrow("support.values", {m.nonzeros()}, std::span(m.values, m.nonzeros()));
  });
  add_problems(draft, model);
  draft.metadata["kernel"] = kernel_json(model.kernel).dump();
}

Model read_kernel(const TensorFile& file) {
  Model model = read_common(file);
  model.kernel = kernel_from(file, parse_field(file, "kernel"));
  if (model.origin.free_bias) file.reject("content", "the options make no sense");
  read_certificates(file, model);
  read_biases(file, model);
  model.support = file.dtype("support.values") == DType::f32
                      ? read_support<float>(file, model.features)
                      : read_support<double>(file, model.features);
  const auto weights = file.get<double>(
      "weights", std::array<std::uint64_t, 2>{model.problems.size(), model.width()});
  check_finite(file, weights, "coefficients");
  model.weights.assign(weights.begin(), weights.end());
  read_witness(file, model);
  return model;
}

}  // namespace hinge
