// Rows in the memory of this process: a Dataset, with or without a constant feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/pool.h"
#include "hinge/dataset.h"
#include "rows/rows.h"
#include "simd/simd.h"

namespace hinge {

class MemoryRows final : public Rows {
 public:
  // `bias`: the value of the constant feature, 0 for none. Shares the data; `simd` and `pool` must
  // live as long.
  MemoryRows(const Dataset& data, double bias, const Simd& simd, Pool& pool);
  MemoryRows(MemoryRows&&) noexcept;
  ~MemoryRows() override;

  const Dataset& data() const { return data_; }

  RowsShape shape() const override;
  const RowList& blocks() const override { return blocks_; }
  RowList cut(std::vector<std::uint64_t> list) const override;
  void with_block(std::size_t block, const std::function<void(const Dataset::View&)>& f) override;
  MemoryRows select(const std::vector<std::uint64_t>& list) const override;
  void squares(std::span<double> out) override;
  void scores(const RowList& list, std::span<const double> w, std::size_t stride,
              const TakeScores& take) override;
  void combine(const RowList& list, std::span<const double> a, std::size_t stride,
               std::span<double> w) override;
  void gram(const RowList& list, std::span<const double> a, std::span<double> h) override;

 private:
  // Passes over the values as they are, float or double.
  template <class Value>
  class Typed;

  template <class F>
  void with_values(const F& f);  // f(Typed<float>&) or f(Typed<double>&)

  Dataset data_;
  double bias_;
  const Simd& simd_;
  Pool& pool_;
  RowList blocks_;
  std::unique_ptr<Typed<float>> floats_;  // one of the two
  std::unique_ptr<Typed<double>> doubles_;
};

}  // namespace hinge
