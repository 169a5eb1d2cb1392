// Small data sets with labels of any kind.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hinge/dataset.h"

namespace hinge::testing {

// Row i is (i + 1) in column i mod 3 and 1 in column 3.
class LabelledArrays {
 public:
  explicit LabelledArrays(std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      columns_.push_back(static_cast<std::uint32_t>(i % 3));
      columns_.push_back(3);
      values_.push_back(static_cast<double>(i + 1));
      values_.push_back(1);
      offsets_.push_back(columns_.size());
    }
  }
  CsrView<double> view() const {
    return {offsets_.size() - 1, 4, offsets_.data(), columns_.data(), values_.data()};
  }

 private:
  std::vector<std::uint64_t> offsets_ = {0};
  std::vector<std::uint32_t> columns_;
  std::vector<double> values_;
};

inline Dataset wrap_labelled(Labels labels, std::shared_ptr<const void> owner) {
  auto arrays = std::make_shared<LabelledArrays>(labels.size());
  const CsrView<double> view = arrays->view();
  auto both = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      std::move(arrays), std::move(owner));
  Result<Dataset> data = Dataset::wrap(view, std::move(labels), {}, std::move(both));
  if (!data.ok()) throw std::runtime_error(to_string(data.error()));
  return *std::move(data);
}

// So many rows with these labels: whole numbers, or real targets.
template <class Label>
Dataset labelled(std::vector<Label> labels) {
  auto owned = std::make_shared<std::vector<Label>>(std::move(labels));
  return wrap_labelled(*owned, owned);
}
// Borrows them.
inline Dataset labelled(Labels labels) {
  return wrap_labelled(std::move(labels), nullptr);
}
inline Dataset named(const std::vector<std::string>& names) {
  return wrap_labelled(Labels::of_names(names).value(), nullptr);
}

}  // namespace hinge::testing
