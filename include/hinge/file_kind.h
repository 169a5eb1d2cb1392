// What an existing file is, told by its content, so that nobody's data is replaced by accident: a
// shell's pattern that names one file more than was meant, a forgotten "<".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hinge/labels.h"
#include "hinge/result.h"

namespace hinge {

enum class FileKind : std::uint8_t {
  absent,
  empty,
  stream,       // a pipe, a device, "-" or a folder: anything that is there and no regular file
  model,        // hinge's or LIBLINEAR's
  checkpoint,   // of a training
  rows,         // libsvm text
  binary_rows,  // a binary data set, or a cache
  predictions,  // lines of a label and of numbers, and no index:value anywhere; predict's CSV, JSON
  trace,        // of a training: JSON, a record a line
  figure,       // SVG
  curves,       // CSV of points, of evaluate
  other,
};

// "a model", "libsvm text": for messages.
std::string_view to_string(FileKind kind);

// Looks at the beginning of the file; through all of it only where it may be predictions. Lines
// that begin with one of these names of classes (prediction_text) are taken for predictions, too;
// without them a list of names is a file of another kind. Fails with io.read.
Result<FileKind> file_kind(const std::string& path, const ClassNames& names = {});

// Whether a file of kind `written` may take the place of what `path` names: of nothing, an empty
// file, a stream, or a file of the same kind. Fails with io.replace, and with io.read.
Result<void> check_replaces(const std::string& path, FileKind written,
                            const ClassNames& names = {});

}  // namespace hinge
