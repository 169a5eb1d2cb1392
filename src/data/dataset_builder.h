// How readers of this folder make a Dataset out of arrays they own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "hinge/dataset.h"

namespace hinge {

template <class Value>
struct DatasetArrays {
  Buffer<std::uint64_t> offsets;  // rows + 1
  Buffer<std::uint32_t> columns;
  Buffer<Value> values;
  Buffer<std::int64_t> labels;
};

class DatasetBuilder {
 public:
  // The arrays must be what dataset.h promises; they are not checked again.
  template <class Value>
  static Dataset build(DatasetArrays<Value> arrays, std::uint64_t features, int index_base) {
    auto owned = std::make_shared<DatasetArrays<Value>>(std::move(arrays));
    Dataset data;
    data.view_ = CsrView<Value>{owned->labels.size(), features, owned->offsets.data(),
                                owned->columns.data(), owned->values.data()};
    data.labels_ = owned->labels.span();
    data.classes_ = count_classes(data.labels_);
    data.index_base_ = index_base;
    data.owner_ = std::move(owned);
    return data;
  }

  static std::vector<LabelCount> count_classes(std::span<const std::int64_t> labels);
};

// One factor a row from a text file, one number a line. Throws Failure (data.weight, io.*).
std::vector<double> read_weights(const std::string& path, const std::atomic<bool>* stop);

// libsvm text from these files. Throws Failure.
Dataset read_text(const std::vector<std::string>& paths, const ReadOptions& options,
                  std::vector<Error>& warnings);

}  // namespace hinge
