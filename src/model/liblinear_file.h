// LIBLINEAR's text models as ours, and ours as LIBLINEAR's. docs/formats.md has the grammar.
#pragma once

#include <string>
#include <string_view>

#include "hinge/model.h"

namespace hinge {

// Whether a file that begins with these bytes is one, or was one before it was cut off.
bool begins_like_liblinear(std::string_view head);

// The model in `text`, the whole file; `path` is for messages. Throws Failure (model.*).
Model read_liblinear(std::string_view text, const std::string& path);

// Throws Failure (model.format) if LIBLINEAR has no way to say this. The weights are not looked at.
void check_liblinear(const Model& model);

// Throws Failure (model.format, io.*).
void write_liblinear(const Model& model, const std::string& path);

}  // namespace hinge
