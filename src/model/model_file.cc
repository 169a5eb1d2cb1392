// The native model format: which schema a model or a file has (native_parts.h), and its sections.
#include "model/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "data/names_file.h"
#include "model/draft.h"
#include "model/native_parts.h"
#include "model/sections.h"
#include "proof/stored_proof.h"

namespace hinge {
namespace {

constexpr const char* kNameBytes = "bytes";

// ---- Writing.

void add_sections(Draft& draft, const Model& model) {
  if (!model.class_names.empty()) {
    if (model.stream) fail("model.format", "a stream has classes without names");
    NameArrays names = arrays_of(model.class_names);
    const std::size_t bytes = names.bytes.size(), classes = names.ends.size();
    const std::string array = Draft::section_array(kClassNames, kNameBytes);
    draft.add_section(kClassNames, true, "");
    draft.keep(array, {bytes}, std::move(names.bytes));
    draft.keep(array + ".ends", {classes}, std::move(names.ends));
  }
  if (model.origin.loss != LossKind::hinge) {
    if (!model.kernel.linear()) fail("model.format", "a model with a kernel has the hinge loss");
    draft.add_section(kLoss, false, std::string(to_string(model.origin.loss)));
  }
  draft.add_carried(model.sections);
}

int version_of(const Model& model) {
  return model.shared() ? kSharedVersion : kVersion;
}

Draft draft_of(const Model& model) {
  Draft draft;
  if (model.stream) {
    write_stream(draft, model);
  } else if (!model.kernel.linear()) {
    write_kernel(draft, model);
  } else {
    write_linear(draft, model);
  }
  add_sections(draft, model);
  return draft;
}

// ---- Reading.

int check_version(const TensorFile& file) {
  const std::string& stated = file.field("version");
  for (const int known : {kVersion, kSharedVersion, kSectionsVersion}) {
    if (stated == std::to_string(known)) return known;
  }
  file.reject(
      "version",
      fmt::format("written by {} in format {}; this hinge reads formats {} to {}",
                  escape(file.field("written_by")), escape(stated), kVersion, kSectionsVersion));
}

std::vector<Model> one(Model model) {
  std::vector<Model> all;
  all.push_back(std::move(model));
  return all;
}

// Its arrays are looked at first: what does not belong there is told before what is missing.
std::vector<Model> read_schema(const TensorFile& file, int version) {
  const bool stream = file.has_field("stream"), kernel = file.has_field("kernel");
  const std::string_view sections = version == kSectionsVersion ? kSectionPrefix : "";
  const bool shared =
      version == kSharedVersion || (version == kSectionsVersion && file.has("stream.common"));
  if (shared) {
    static_cast<void>(file.field("stream"));  // no other model is written so
    file.allow_only({"stream.bias", "columns", "stream.common", "stream.own.ends",
                     "stream.own.planes", "stream.own.sums"},
                    sections);
  } else if (stream) {
    file.allow_only({"stream.bias", "stream.sums", "columns"}, sections);
  } else if (kernel) {
    file.allow_only({"bias", "weights", "support.offsets", "support.columns", "support.values",
                     "witness.states", "witness.free", "witness.free_counts"},
                    sections);
  } else {
    file.allow_only(
        {"bias", "weights", "columns", "witness.states", "witness.free", "witness.free_counts"},
        sections);
  }
  if (stream && kernel) file.reject("header", "a stream with a kernel");
  const bool path = file.has_field("path");
  if (path && (stream || kernel)) {
    file.reject("header", "several models of a stream or with a kernel");
  }
  if (stream) return one(read_stream(file));
  if (kernel) return one(read_kernel(file));
  return path ? read_path(file) : one(read_linear(file));
}

LossKind read_loss(const TensorFile& file) {
  const std::string& name = file.field(std::string(kSectionPrefix) + kLoss);
  LossKind loss = LossKind::hinge;
  for (const LossKind kind : {LossKind::squared_hinge, LossKind::logistic}) {
    if (name == to_string(kind)) loss = kind;
  }
  if (loss == LossKind::hinge) file.reject("header", "unknown loss");
  if (file.has_field("kernel")) {
    file.reject("content", "a kernel with another loss than the hinge");
  }
  return loss;
}

void check_rounded(const TensorFile& file, LossKind loss) {
  if (file.has_field("stream") || file.has_field("kernel") || !rounds_witness(loss)) {
    file.reject("content",
                "a witness that is rounded, of a model whose values are kept as they are");
  }
}

void check_names(const TensorFile& file, const Model& model) {
  const auto has_name = [&](std::int64_t label) {
    return label >= 0 && static_cast<std::uint64_t>(label) < model.class_names.size();
  };
  if (!std::ranges::all_of(model.labels, has_name) ||
      !std::ranges::all_of(model.origin.class_weights, has_name, &ClassWeight::label)) {
    file.reject("content", "a class without a name");
  }
  if (model.stream) file.reject("content", "a stream whose classes have names");
}

}  // namespace

void write_native(const Model& model, const std::string& path) {
  draft_of(model).write(path, version_of(model));
}

std::string native_bytes(const Model& model) {
  return draft_of(model).bytes(version_of(model));
}

void write_native(std::span<const Model> models, const std::string& path) {
  if (models.size() == 1) return write_native(models[0], path);
  Draft draft;
  write_path(draft, models);
  add_sections(draft, models[0]);
  std::move(draft).write(path, kVersion);
}

std::vector<Model> read_native(const TensorFile& file) {
  if (file.field("format") != kModelFormat) file.reject("magic", "this is not a hinge model");
  const int version = check_version(file);
  try {
    ClassNames names;
    std::vector<ModelSection> rest;
    LossKind loss = LossKind::hinge;
    if (version == kSectionsVersion) {
      static_cast<void>(file.field(kSections));
      Sections sections(file);
      const std::string array = Draft::section_array(kClassNames, kNameBytes);
      if (sections.take(kClassNames, true, {kNameBytes, "bytes.ends"})) {
        names = read_names(file, array);
      }
      if (sections.take(kLoss, false, {})) loss = read_loss(file);
      if (sections.take(kWitness, false, {"states", "values"})) check_rounded(file, loss);
      rest = sections.rest();
    }
    std::vector<Model> models = read_schema(file, version);
    for (Model& model : models) {
      model.class_names = names;
      model.sections = rest;
      model.origin.loss = loss;
      if (!names.empty()) check_names(file, model);
    }
    return models;
  } catch (const std::out_of_range&) {
    file.reject("header", "a metadata field is not what it should be");
  }
}

}  // namespace hinge
