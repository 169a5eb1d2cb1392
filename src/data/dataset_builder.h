// How readers of this folder make a Dataset out of arrays they own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "data/survey.h"
#include "files/source.h"
#include "hinge/dataset.h"

namespace hinge {

template <class Value>
struct DatasetArrays {
  Buffer<std::uint64_t> offsets;  // rows + 1
  Buffer<std::uint32_t> columns;  // of full rows: once
  Buffer<Value> values;
  Buffer<std::int64_t> labels;  // of classes; none of real targets
  ClassNames names = {};        // of the classes; empty: labels are whole numbers
  Buffer<double> targets = {};  // in place of labels
  bool real = false;            // labels are targets, even if there are none

  // The labels of `count` rows of other data from row `first` on; its names are for the caller.
  void append_labels(const Labels& all, std::size_t first, std::size_t count) {
    if (all.kind() == LabelKind::targets) {
      real = true;
      targets.append(all.targets().data() + first, count);
    } else {
      labels.append(all.numbers().data() + first, count);
    }
  }
  Labels row_labels() const {
    return real || targets.size() > 0 ? Labels(targets.span()) : Labels(labels.span(), names);
  }
};

class DatasetBuilder {
 public:
  // The arrays must be what dataset.h promises; they are not checked again. Sees whether they are
  // full.
  static Dataset wrap(Dataset::View view, Labels labels, std::span<const double> weights,
                      int index_base, std::shared_ptr<const void> owner);

  template <class Value>
  static Dataset build(DatasetArrays<Value> arrays, std::uint64_t features, int index_base,
                       bool full = false) {
    auto owned = std::make_shared<DatasetArrays<Value>>(std::move(arrays));
    const Labels labels = owned->row_labels();
    const CsrView<Value> view = {labels.size(),         features,
                                 owned->offsets.data(), owned->columns.data(),
                                 owned->values.data(),  full};
    return wrap(view, labels, {}, index_base, owned);
  }

  // The arrays of a data set that build() made of such values and nobody else holds, to make
  // another one of.
  template <class Value>
  static DatasetArrays<Value> take_arrays(Dataset data) {
    return std::move(*std::static_pointer_cast<DatasetArrays<Value>>(
        std::const_pointer_cast<void>(std::move(data.owner_))));
  }

  // What survey() found when the arrays were checked; nullptr: they were not.
  static const Survey* known(const Dataset& data) { return data.survey_.get(); }
};

// What Dataset::wrap() asks of arrays, in parts: offsets first; then rows `from` to `to` - 1, which
// may be looked at in parallel. Throw Failure (data.matrix).
void check_offsets(const Dataset::View& view);
void check_columns(const Dataset::View& view, std::uint64_t from, std::uint64_t to);
void check_values(const Dataset::View& view, std::uint64_t from, std::uint64_t to);

// One factor a row from a text file, one number a line, and no more than there are rows. Throws
// Failure (data.weight, data.weights.count, io.*).
std::vector<double> read_weights(const std::string& path, std::uint64_t rows,
                                 const std::atomic<bool>* stop);

// libsvm text from these files; of each all, or the lines in `ranges`. Throws Failure.
Dataset read_text(const std::vector<std::string>& paths, const ReadOptions& options,
                  std::vector<Error>& warnings, std::vector<ByteRange> ranges = {});

// The same through the cache beside the first file (docs/formats.md).
Dataset read_cached(const std::vector<std::string>& paths, const ReadOptions& options,
                    std::vector<Error>& warnings);

}  // namespace hinge
