// What the schemas of the native model format (docs/formats.md) have in common. Each schema is a
// file:
//
//   native_linear.cc   a weight a feature
//   native_path.cc     several such, of different costs
//   native_kernel.cc   support rows and their coefficients
//   native_stream.cc   sums that a stream goes on from
//
// native_witness.cc has what proves the bounds of each,
// and model_file.cc says which one a model or a file has. Whatever reads throws Failure (model.*),
// or std::out_of_range where JSON is not what it should be, which model_file.cc makes one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/json.h"
#include "hinge/model.h"
#include "model/draft.h"

namespace hinge {

// ---- The schemas. A model comes from its file whole, but for its sections.

void write_linear(Draft& draft, const Model& model);
void write_path(Draft& draft, std::span<const Model> models);  // several, as of save_models()
void write_kernel(Draft& draft, const Model& model);
void write_stream(Draft& draft, const Model& model);

Model read_linear(const TensorFile& file);
std::vector<Model> read_path(const TensorFile& file);
Model read_kernel(const TensorFile& file);
Model read_stream(const TensorFile& file);

// ---- What all of them write and read.

// The fields format, written_by, status, labels, options and data.
void add_common(Draft& draft, const Model& model);
Model read_common(const TensorFile& file);
Json options_json(const Model& model, double cost);  // the cost besides: models may differ in it
Json data_json(const Model& model);

// What a model has learned, a hyperplane each: certificate, bias and witness; of `models` models
// one after the other. Reading the certificates comes first and says how many hyperplanes there
// are.
void add_problems(Draft& draft, const Model& model);
void add_witnesses(Draft& draft, std::span<const BinaryProblem> problems);
void read_certificates(const TensorFile& file, Model& model, std::size_t models = 1);
void read_biases(const TensorFile& file, Model& model);
void read_witness(const TensorFile& file, Model& model);

// Rows of numbers, one a feature: the array `name`, and `columns` where few columns are used. Where
// a file has few among very many, model.columns says which.
void add_features(Draft& draft, const Model& model, const char* name,
                  std::span<const double> numbers, std::size_t rows);
std::vector<double> read_features(const TensorFile& file, std::string_view name, std::uint64_t rows,
                                  Model& model);
std::span<const std::uint32_t> read_columns(const TensorFile& file, const Model& model);

// ---- JSON and arrays, each taken only as what it must be.

Json parse_field(const TensorFile& file, const char* key);
std::span<const Json> list(const TensorFile& file, const Json& value);
double real(const TensorFile& file, const Json& value);  // finite
StopReason read_status(const TensorFile& file, const std::string& status);
void check_finite(const TensorFile& file, std::span<const double> values, std::string_view what);
std::uint64_t first_extent(const TensorFile& file, std::string_view name);  // of the first extent

// 1.5 is not rounded, -1 not wrapped.
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

}  // namespace hinge
