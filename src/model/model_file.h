// The native model format (docs/formats.md): what model_io.cc needs of it. Throw Failure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/model.h"

namespace hinge {

constexpr std::string_view kModelFormat = "hinge.model";

void write_native(const Model& model, const std::string& path);
void write_native(std::span<const Model> models, const std::string& path);  // as save_models()
std::string native_bytes(const Model& model);  // of the file write_native() would write

// All models of the file, at least one.
std::vector<Model> read_native(const TensorFile& file);

}  // namespace hinge
