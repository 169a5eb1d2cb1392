// The binary data set: our container with the arrays of a Dataset. docs/formats.md has the layout.
#pragma once

#include <string>
#include <string_view>

#include "files/tensor_file.h"
#include "hinge/dataset.h"

namespace hinge {

constexpr std::string_view kDatasetFormat = "hinge.dataset";

// Whether a path is a regular file that begins like our container.
bool is_data_file(const std::string& path);

// Takes a mapped container as a data set: checks what it uses in one pass and keeps the mapping.
// Columns are numbered as options.index_base asks; of values that are there in both precisions
// those of options.precision are taken. Throws Failure (cache.*, data.index.zero).
Dataset map_dataset(TensorFile file, const ReadOptions& options);

// The same, and floats are made doubles where options.precision asks for them.
Dataset map_as_asked(TensorFile file, const ReadOptions& options);

// One of `shares` parts of its rows, of about as many nonzeros each; those of part 0 come first,
// and a part may be empty. Only these rows are looked at: values that make no sense are found, but
// checksums are of whole arrays and are not compared.
Dataset map_share(TensorFile file, const ReadOptions& options, int share, int shares);

struct DataFileOptions {
  Metadata more = {};                    // added to the metadata
  std::span<const double> doubles = {};  // the values before they were rounded to those of the data
  const std::atomic<bool>* stop = nullptr;
  bool only_owner_writes = false;  // as of OutputFile
};

// Writes a data set. Throws Failure (io.*).
void write_dataset(const Dataset& data, const std::string& path, DataFileOptions options);

}  // namespace hinge
