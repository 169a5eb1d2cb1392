#include "data/columns.h"

#include <algorithm>

#include "base/error.h"
#include "data/dataset_builder.h"

namespace hinge {

std::vector<std::uint32_t> occurring_columns(const Dataset& data) {
  return data.visit([](const auto& m) {
    std::vector<std::uint32_t> columns(m.columns, m.columns + m.nonzeros());
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    columns.shrink_to_fit();
    return columns;
  });
}

Dataset keep_columns(const Dataset& data, std::span<const std::uint32_t> columns) {
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    DatasetArrays<Value> arrays;
    arrays.offsets.resize(m.rows + 1);
    arrays.columns.resize(m.nonzeros());
    arrays.values.resize(m.nonzeros());
    arrays.labels.append(data.labels().data(), data.labels().size());
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      arrays.offsets[i] = kept;
      auto from = columns.begin();  // both ascend
      for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
        from = std::lower_bound(from, columns.end(), m.columns[k]);
        if (from == columns.end()) break;
        if (*from != m.columns[k]) continue;
        arrays.columns[kept] = static_cast<std::uint32_t>(from - columns.begin());
        arrays.values[kept++] = m.values[k];
      }
    }
    arrays.offsets[m.rows] = kept;
    arrays.columns.resize(kept);
    arrays.values.resize(kept);
    Dataset out = DatasetBuilder::build(std::move(arrays), columns.size(), data.index_base());
    if (data.weights().empty()) return out;
    return take(out.with_weights({data.weights().begin(), data.weights().end()}));
  });
}

Dataset keep_rows(const Dataset& data, std::span<const std::uint64_t> rows) {
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    DatasetArrays<Value> arrays;
    std::vector<double> weights;
    std::uint64_t end = 0;
    arrays.offsets.append(&end, 1);
    for (const std::uint64_t i : rows) {
      const std::uint64_t from = m.offsets[i], size = m.offsets[i + 1] - from;
      arrays.columns.append(m.columns + from, size);
      arrays.values.append(m.values + from, size);
      arrays.labels.append(&data.labels()[i], 1);
      end += size;
      arrays.offsets.append(&end, 1);
      if (!data.weights().empty()) weights.push_back(data.weights()[i]);
    }
    Dataset part = DatasetBuilder::build(std::move(arrays), m.features, data.index_base());
    return data.weights().empty() ? part : take(part.with_weights(std::move(weights)));
  });
}

bool are_sparse(std::uint64_t occurring, std::uint64_t columns, std::uint64_t vectors) {
  constexpr std::uint64_t kNoMatter = std::uint64_t{1} << 22;  // 32 MB: not worth the trouble
  return columns > kNoMatter / std::max<std::uint64_t>(vectors, 1) && columns / 4 > occurring;
}

}  // namespace hinge
