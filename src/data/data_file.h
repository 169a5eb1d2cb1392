// The binary data set: our container with the arrays of a Dataset. docs/formats.md has the layout.
#pragma once

#include <string>
#include <string_view>

#include "base/tensor_file.h"
#include "hinge/dataset.h"

namespace hinge {

constexpr std::string_view kDatasetFormat = "hinge.dataset";

// Whether a path is a regular file that begins like our container.
bool is_data_file(const std::string& path);

// Takes a mapped container as a data set: checks all of it in one pass and keeps the mapping.
// Columns are numbered as options.index_base asks. Throws Failure (cache.*, data.index.zero).
Dataset map_dataset(TensorFile file, const ReadOptions& options);

// One of `shares` parts of its rows, of about as many nonzeros each; those of part 0 come first,
// and a part may be empty. Only these rows are looked at: values that make no sense are found, but
// checksums are of whole arrays and are not compared.
Dataset map_share(TensorFile file, const ReadOptions& options, int share, int shares);

// Writes a data set; `more` is added to its metadata. Throws Failure (io.*).
void write_dataset(const Dataset& data, const std::string& path, Metadata more = {},
                   const std::atomic<bool>* stop = nullptr);

}  // namespace hinge
